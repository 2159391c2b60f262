//! Loads the complete arguments of the action that a decision is about from the model reply that requested
//! it.
//!
//! The decision row stores only one line of the arguments, because it is listed, sent in events and part of
//! the read set. The person who answers needs all of them; they are at most as long as a model reply may
//! be.

use std::collections::BTreeMap;

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::decision::{Decision, InputGone};
use wakeful_core::key::{ActionBase, OperationId};
use wakeful_core::run::{RunMachine, RunPhase};
use wakeful_core::step::action_parts;
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, View};

use crate::run::decode;
use crate::step::scope_of;

/// Maximum number of a run's blobs that are searched for the reply of a finished action. An action that is
/// still pending needs no search.
const SEARCHED_MAX: usize = 2_000;

/// Maximum number of bytes that are read during the search, not counting the last blob.
const SEARCHED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Blob hashes that are read at once.
const PAGE: u32 = 500;

/// The arguments of the action that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionInput {
    /// The complete arguments as JSON.
    Whole(String),
    /// Only their beginning is available, for this reason.
    Gone(InputGone),
}

impl DecisionInput {
    /// The arguments as far as the decision row has them, for callers that cannot read more.
    #[must_use]
    pub fn of_record(decision: &Decision) -> Self {
        let inquiry = &decision.inquiry;
        match (inquiry.input.is_empty(), inquiry.is_input_cut()) {
            (true, _) => Self::Gone(InputGone::Erased),
            (false, true) => Self::Gone(InputGone::Unreadable),
            (false, false) => Self::Whole(inquiry.input.clone()),
        }
    }
}

/// Looks up the arguments of a decision's action.
pub(super) fn arguments(view: &mut View<'_>, decision: &Decision) -> Result<DecisionInput, StoreError> {
    let inquiry = &decision.inquiry;
    if inquiry.input.is_empty() || !inquiry.is_input_cut() {
        return Ok(DecisionInput::of_record(decision));
    }
    let Some(row) = view.run(&decision.run_key)? else {
        return Ok(DecisionInput::Gone(InputGone::Unreadable));
    };
    let found = match decode(&row) {
        Ok(turn) => call(view, &row, &turn, inquiry.operation_id)?,
        Err(_) => None,
    };
    Ok(match found {
        Some(call) => DecisionInput::Whole(call.input.to_string()),
        None if view.is_pruned(&decision.run_key)? => DecisionInput::Gone(InputGone::Pruned),
        None => DecisionInput::Gone(InputGone::Unreadable),
    })
}

/// Finds the tool call of an operation: first in the current reply, then in earlier replies of the run.
fn call(
    view: &mut View<'_>,
    row: &RunRow,
    turn: &RunMachine,
    wanted: OperationId,
) -> Result<Option<ToolCall>, StoreError> {
    if let RunPhase::Acting { reply, actions, .. } = &turn.phase
        && let Some(action) = actions.iter().find(|action| action.operation_id == wanted)
    {
        let body = body(view, reply)?;
        let blocks = blocks(&body);
        let mut calls = calls_of(&blocks).into_iter();
        return Ok(calls.find(|call| call.call_id == action.call_id).cloned());
    }
    earlier(view, row, turn, wanted)
}

/// Searches the run's transcript from the beginning and derives each call's operation id as it was derived
/// when planned.
fn earlier(
    view: &mut View<'_>,
    row: &RunRow,
    turn: &RunMachine,
    wanted: OperationId,
) -> Result<Option<ToolCall>, StoreError> {
    let scope = scope_of(&turn.workspace);
    let mut seen: BTreeMap<ActionBase, u64> = BTreeMap::new();
    let (mut after, mut searched) = (0, SearchBudget::default());
    while searched.has_room() {
        let page = view.contents(row, after, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        for (_, content) in page {
            if !searched.has_room() {
                break;
            }
            let body = body(view, &content)?;
            searched.add(body.len());
            for call in calls_of(&blocks(&body)) {
                let Ok(parts) = action_parts(&call.name, &call.input, &scope) else {
                    continue;
                };
                let count = seen.entry(parts.base()).or_default();
                if OperationId::new(&row.run_key, &parts.stable_id(*count)) == wanted {
                    return Ok(Some(call.clone()));
                }
                *count += 1;
            }
        }
    }
    Ok(None)
}

/// How much of a run was searched.
#[derive(Debug, Default)]
struct SearchBudget {
    contents: usize,
    bytes: usize,
}

impl SearchBudget {
    const fn has_room(&self) -> bool {
        self.contents < SEARCHED_MAX && self.bytes < SEARCHED_BYTES_MAX
    }

    const fn add(&mut self, bytes: usize) {
        self.contents += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A blob's content; empty if it is missing or damaged, so that a damaged blob hides neither the others nor
/// the decision.
fn body(view: &mut View<'_>, content: &BlobHash) -> Result<Vec<u8>, StoreError> {
    match view.blob(content) {
        Ok(body) => Ok(body.unwrap_or_default()),
        Err(StoreError::Corrupt(_) | StoreError::Malformed(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The blocks of a content; empty if it is not a list of blocks.
fn blocks(body: &[u8]) -> Vec<Block> {
    serde_json::from_slice(body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_at_its_blob_and_byte_limits() {
        let mut many = SearchBudget::default();
        (1..SEARCHED_MAX).for_each(|_| many.add(1));
        assert!(many.has_room());
        many.add(1);
        assert!(!many.has_room(), "{many:?}");

        let mut large = SearchBudget::default();
        large.add(SEARCHED_BYTES_MAX - 1);
        assert!(large.has_room());
        large.add(usize::MAX);
        assert!(!large.has_room(), "{large:?}");
    }
}
