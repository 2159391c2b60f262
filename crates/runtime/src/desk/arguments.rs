//! What a question is about, in full: the arguments of the action as the reply has them that asked for it.
//!
//! The record of a question has only as much of them as one line shows, because it is listed, told in events and part of
//! what a machine decides on. Whoever answers is shown all of them; they are at most as long as a reply may be.

use std::collections::BTreeMap;

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::decision::Decision;
use wakeful_core::key::{ActionBase, OperationId};
use wakeful_core::run::{Phase, Turn};
use wakeful_core::step::action_parts;
use wakeful_ports::records::RunRow;
use wakeful_ports::store::{StoreError, View};

use crate::run::decode;
use crate::step::scope_of;

/// Contents of a run that are searched for the reply of an action that is over. A run that waits needs no search.
const SEARCHED_MAX: usize = 2_000;

/// Contents that are named at once.
const PAGE: u32 = 500;

/// The arguments of the action that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// All of them, as JSON.
    Whole(String),
    /// Only how they begin, and why.
    Gone(Gone),
}

/// Why the arguments are not there in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// A person had them erased.
    Erased,
    /// Their time was over.
    Pruned,
    /// The reply that holds them was not found, or cannot be read.
    Unreadable,
}

/// Looks for the arguments of a question's action.
pub(super) fn arguments(view: &mut dyn View, decision: &Decision) -> Result<Arguments, StoreError> {
    let inquiry = &decision.inquiry;
    if inquiry.input.is_empty() {
        return Ok(Arguments::Gone(Gone::Erased));
    }
    if !inquiry.is_input_cut() {
        return Ok(Arguments::Whole(inquiry.input.clone()));
    }
    let Some(row) = view.run(&decision.run_key)? else {
        return Ok(Arguments::Gone(Gone::Unreadable));
    };
    let found = match decode(&row) {
        Ok(turn) => call(view, (&row, &turn), inquiry.operation_id)?,
        Err(_) => None,
    };
    Ok(match found {
        Some(call) => Arguments::Whole(call.input.to_string()),
        None if view.is_pruned(&decision.run_key)? => Arguments::Gone(Gone::Pruned),
        None => Arguments::Gone(Gone::Unreadable),
    })
}

/// The call of an operation: in the reply that is acted on, and else in an earlier one of the run.
fn call(
    view: &mut dyn View,
    (row, turn): (&RunRow, &Turn),
    wanted: OperationId,
) -> Result<Option<ToolCall>, StoreError> {
    if let Phase::Acting { reply, actions, .. } = &turn.phase
        && let Some(action) = actions.iter().find(|action| action.operation_id == wanted)
    {
        let blocks = blocks(view, reply)?;
        let mut calls = calls_of(&blocks).into_iter();
        return Ok(calls.find(|call| call.call_id == action.call_id).cloned());
    }
    earlier(view, (row, turn), wanted)
}

/// Goes through what was said in a run from its beginning, and names each call as it was named when it was planned.
fn earlier(
    view: &mut dyn View,
    (row, turn): (&RunRow, &Turn),
    wanted: OperationId,
) -> Result<Option<ToolCall>, StoreError> {
    let scope = scope_of(&turn.workspace);
    let mut seen: BTreeMap<ActionBase, u64> = BTreeMap::new();
    let (mut after, mut searched) = (0, 0);
    while searched < SEARCHED_MAX {
        let page = view.contents(row, after, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        searched += page.len();
        for (_, content) in page {
            for call in calls_of(&blocks(view, &content)?) {
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

/// What a content says; nothing where it is gone or says something else.
fn blocks(view: &mut dyn View, content: &BlobHash) -> Result<Vec<Block>, StoreError> {
    let body = view.blob(content)?.unwrap_or_default();
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
