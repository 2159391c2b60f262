//! What the steps of a run received and produced: the arguments of its tool calls, their results and the
//! text of its model replies.
//!
//! A step row stores none of it. The transcript does, and an open round keeps its finished results in the
//! machine's state.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::{Block, Role, ToolCall, calls_of, text_of};
use wakeful_core::key::{ActionBase, DecisionId, OperationId};
use wakeful_core::run::{EntryWrite, RunMachine, RunPhase};
use wakeful_core::step::{ActionStatus, StepStatus, action_parts};
use wakeful_core::tool::{Connection, ToolInvocation};
use wakeful_store::rows::{RunRow, StepRow};
use wakeful_store::{StoreError, View};

use crate::step::scope_of;
use crate::stored_run::StoredRun;

/// Maximum number of a run's transcript entries that are read. A call of an open round needs no search.
const SEARCHED_MAX: usize = 2_000;

/// Maximum number of bytes that are read during a search, not counting the last entry.
const SEARCHED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Transcript entries that are read at once.
const PAGE: u32 = 500;

/// Maximum size of each text of a step when all steps of a run are read.
pub const PREVIEW_BYTES_MAX: usize = 16 * 1024;

/// Maximum size of each text of a step when one step is read. Commands keep as much of each output stream.
pub const FULL_BYTES_MAX: usize = 1024 * 1024;

/// What one step received and produced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepContents {
    /// The arguments of a tool call as JSON.
    pub input: Option<BoundedText>,
    /// The standard output of a command, the result of another tool, or the text of a model reply.
    pub output: Option<BoundedText>,
    /// The error output of a command.
    pub error_output: Option<BoundedText>,
    /// What the sandbox enforced and saw, if the step is a command.
    pub sandbox: SandboxReport,
    /// The decision that the call waits for.
    pub decision: Option<DecisionId>,
    /// The audit record of a tool call that has ended.
    pub invocation: Option<ToolInvocation>,
}

/// What the result of a command says about its sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SandboxReport {
    pub confinement: BTreeMap<String, String>,
    pub connections: Vec<Connection>,
    pub findings: Vec<String>,
}

/// A text within a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedText {
    /// The text; if it is truncated, its beginning and its end.
    pub text: String,
    /// The size of the whole text in bytes.
    pub bytes: u64,
    pub is_truncated: bool,
}

impl BoundedText {
    /// Keeps the beginning and the end of a text that is longer than the bound.
    fn new(text: String, bytes_max: usize) -> Self {
        let bytes = text.len();
        if bytes <= bytes_max {
            return Self {
                text,
                bytes: bytes as u64,
                is_truncated: false,
            };
        }
        let half = bytes_max / 2;
        let head = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
        let tail = text.ceil_char_boundary(bytes.saturating_sub(half));
        let tail = text.get(tail..).unwrap_or_default();
        let omitted = bytes - head.len() - tail.len();
        Self {
            text: format!("{head}\n[… {omitted} bytes omitted …]\n{tail}"),
            bytes: bytes as u64,
            is_truncated: true,
        }
    }
}

/// Which steps are read, and how much of each.
#[derive(Debug, Clone, Copy)]
pub(super) enum Selection {
    /// All steps, each within [`PREVIEW_BYTES_MAX`].
    All,
    /// One step within [`FULL_BYTES_MAX`].
    One(OperationId),
}

impl Selection {
    fn includes(self, operation: OperationId) -> bool {
        match self {
            Self::All => true,
            Self::One(wanted) => wanted == operation,
        }
    }

    const fn bytes_max(self) -> usize {
        match self {
            Self::All => PREVIEW_BYTES_MAX,
            Self::One(_) => FULL_BYTES_MAX,
        }
    }
}

/// Reads the contents of a run's steps. Steps whose contents were erased or pruned, or lie beyond the bounds
/// of the search, are missing.
pub(super) fn read(
    view: &mut View<'_>,
    stored: &StoredRun,
    selection: Selection,
) -> Result<BTreeMap<OperationId, StepContents>, StoreError> {
    let (Some(turn), row) = (stored.turn(), &stored.row) else {
        return Ok(BTreeMap::new());
    };
    let mut found = Found {
        selection,
        contents: BTreeMap::new(),
    };
    let is_reply = |step: &&StepRow| step.class.is_none() && step.status == StepStatus::Ok;
    let mut replies = stored.steps.iter().filter(is_reply);
    let mut calls: BTreeMap<String, OperationId> = BTreeMap::new();
    let mut entries = Entries::new(row, turn);
    let history = stored.cause.as_ref().map(|cause| &cause.message.options.history);
    let history = history.map_or(&[][..], Vec::as_slice);
    let is_complete = entries.skip_history(view, history)?;
    // A partly pruned transcript no longer starts with the message, and its replies cannot be counted.
    let mut is_first = history.is_empty();
    while is_complete && let Some(entry) = entries.next(view)? {
        if std::mem::take(&mut is_first) && entry.role != Role::User {
            break;
        }
        match entry.role {
            Role::User => {}
            Role::Assistant => {
                if let Some(reply) = replies.next() {
                    found.reply(reply.operation_id, &entry.blocks);
                }
                for (operation, call) in entry.calls {
                    found.call(operation, &call);
                    calls.insert(call.call_id, operation);
                }
            }
            Role::Tool => {
                for block in &entry.blocks {
                    if let Block::ToolResult { call_id, content, .. } = block
                        && let Some(operation) = calls.get(call_id)
                    {
                        found.result(view, *operation, content)?;
                    }
                }
            }
        }
    }
    if let RunPhase::Acting { actions, .. } = &turn.phase {
        for action in actions {
            match &action.fate {
                ActionStatus::Settled(content) => {
                    for block in blocks(&body(view, content)?) {
                        if let Block::ToolResult { content, .. } = block {
                            found.result(view, action.operation_id, &content)?;
                        }
                    }
                }
                ActionStatus::AwaitingApproval => {
                    let decision = action.question.as_ref().map(|question| question.decision_id);
                    found.at(action.operation_id, |step| step.decision = decision);
                }
                ActionStatus::Waiting | ActionStatus::Intended | ActionStatus::Started(_) => {}
            }
        }
    }
    Ok(found.contents)
}

/// Finds the call of an operation: first in the current reply, then in earlier replies of the run.
pub(super) fn call(
    view: &mut View<'_>,
    row: &RunRow,
    turn: &RunMachine,
    wanted: OperationId,
) -> Result<Option<ToolCall>, StoreError> {
    if let RunPhase::Acting { reply, actions, .. } = &turn.phase
        && let Some(action) = actions.iter().find(|action| action.operation_id == wanted)
    {
        let blocks = blocks(&body(view, reply)?);
        let mut calls = calls_of(&blocks).into_iter();
        return Ok(calls.find(|call| call.call_id == action.call_id).cloned());
    }
    let mut entries = Entries::new(row, turn);
    let message = view.message(&row.run_key)?;
    let history = message.map(|message| message.options.history).unwrap_or_default();
    let is_complete = entries.skip_history(view, &history)?;
    while is_complete && let Some(entry) = entries.next(view)? {
        let mut calls = entry.calls.into_iter();
        if let Some((_, call)) = calls.find(|(operation, _)| *operation == wanted) {
            return Ok(Some(call));
        }
    }
    Ok(None)
}

/// The contents found so far.
struct Found {
    selection: Selection,
    contents: BTreeMap<OperationId, StepContents>,
}

impl Found {
    fn at(&mut self, operation: OperationId, change: impl FnOnce(&mut StepContents)) {
        if self.selection.includes(operation) {
            change(self.contents.entry(operation).or_default());
        }
    }

    fn reply(&mut self, operation: OperationId, blocks: &[Block]) {
        let (text, bytes_max) = (text_of(blocks), self.selection.bytes_max());
        if !text.is_empty() {
            self.at(operation, |step| {
                step.output = Some(BoundedText::new(text, bytes_max));
            });
        }
    }

    fn call(&mut self, operation: OperationId, call: &ToolCall) {
        let bytes_max = self.selection.bytes_max();
        self.at(operation, |step| {
            step.input = Some(BoundedText::new(call.input.to_string(), bytes_max));
        });
    }

    fn result(
        &mut self,
        view: &mut View<'_>,
        operation: OperationId,
        content: &str,
    ) -> Result<(), StoreError> {
        if !self.selection.includes(operation) {
            return Ok(());
        }
        let bytes_max = self.selection.bytes_max();
        let Ok(command) = serde_json::from_str::<CommandResult>(content) else {
            let output = BoundedText::new(content.to_owned(), bytes_max);
            self.at(operation, |step| step.output = Some(output));
            return Ok(());
        };
        let kept = |stream: &str| command.artifacts.iter().find(|kept| kept.stream == stream);
        let (out, err) = (kept("stdout"), kept("stderr"));
        let output = self.stream(view, &command.stdout_preview, out)?;
        let error_output = self.stream(view, &command.stderr_preview, err)?;
        self.at(operation, |step| {
            (step.output, step.error_output) = (output, error_output);
            step.sandbox = command.sandbox;
        });
        Ok(())
    }

    /// The output stream of a command: as the model read it, or as it was kept.
    fn stream(
        &self,
        view: &mut View<'_>,
        preview: &str,
        kept: Option<&KeptStream>,
    ) -> Result<Option<BoundedText>, StoreError> {
        let bytes_max = self.selection.bytes_max();
        let Some(kept) = kept else {
            return Ok((!preview.is_empty()).then(|| BoundedText::new(preview.to_owned(), bytes_max)));
        };
        let whole = match self.selection {
            Selection::All => None,
            Selection::One(_) => Some(body(view, &kept.blob)?).filter(|bytes| !bytes.is_empty()),
        };
        let is_whole = whole.is_some() && kept.bytes == kept.total_bytes;
        let text = whole.map_or_else(
            || preview.to_owned(),
            |whole| String::from_utf8_lossy(&whole).into_owned(),
        );
        let bounded = BoundedText::new(text, bytes_max);
        Ok(Some(BoundedText {
            bytes: kept.total_bytes,
            is_truncated: bounded.is_truncated || !is_whole,
            ..bounded
        }))
    }
}

/// The result of a command, as the tools write it.
#[derive(Deserialize)]
struct CommandResult {
    stdout_preview: String,
    stderr_preview: String,
    #[serde(default)]
    artifacts: Vec<KeptStream>,
    #[serde(flatten)]
    sandbox: SandboxReport,
}

/// An output stream that was kept because the model read only a part of it.
#[derive(Deserialize)]
struct KeptStream {
    blob: BlobHash,
    bytes: u64,
    total_bytes: u64,
    stream: String,
}

/// An entry of a run's transcript.
struct Entry {
    role: Role,
    blocks: Vec<Block>,
    /// The tool calls, each with the operation id that it got when it was planned.
    calls: Vec<(OperationId, ToolCall)>,
}

/// The entries of a run's transcript in order, within the bounds of a search.
struct Entries<'r> {
    row: &'r RunRow,
    scope: Value,
    /// Equal actions so far; the operation id depends on their number.
    seen: BTreeMap<ActionBase, u64>,
    after: i64,
    page: VecDeque<(Role, BlobHash)>,
    searched: SearchBudget,
}

impl<'r> Entries<'r> {
    fn new(row: &'r RunRow, turn: &RunMachine) -> Self {
        Self {
            row,
            scope: scope_of(&turn.workspace),
            seen: BTreeMap::new(),
            after: 0,
            page: VecDeque::new(),
            searched: SearchBudget::default(),
        }
    }

    /// Skips the conversation that the run began with. Returns false if a part of it was pruned: then it cannot
    /// be told apart from the run's own entries.
    fn skip_history(&mut self, view: &mut View<'_>, history: &[EntryWrite]) -> Result<bool, StoreError> {
        for earlier in history {
            if self.next_content(view)? != Some((earlier.role, earlier.content)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_content(&mut self, view: &mut View<'_>) -> Result<Option<(Role, BlobHash)>, StoreError> {
        if self.page.is_empty() {
            let page = view.contents(self.row, self.after, PAGE)?;
            self.after = page.last().map_or(self.after, |(position, _, _)| *position);
            self.page = page.into_iter().map(|(_, role, hash)| (role, hash)).collect();
        }
        Ok(self.page.pop_front())
    }

    fn next(&mut self, view: &mut View<'_>) -> Result<Option<Entry>, StoreError> {
        if !self.searched.has_room() {
            return Ok(None);
        }
        let Some((role, content)) = self.next_content(view)? else {
            return Ok(None);
        };
        let body = body(view, &content)?;
        self.searched.add(body.len());
        let blocks = blocks(&body);
        let calls = calls_of(&blocks).into_iter().filter_map(|call| {
            let parts = action_parts(&call.name, &call.input, &self.scope).ok()?;
            let count = self.seen.entry(parts.base()).or_default();
            let operation = OperationId::new(&self.row.run_key, &parts.stable_id(*count));
            *count += 1;
            Some((operation, call.clone()))
        });
        let calls = calls.collect();
        Ok(Some(Entry { role, blocks, calls }))
    }
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

/// A blob's content; empty if it is missing or damaged, so that a damaged blob does not hide the others.
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
    fn a_search_ends_at_its_entry_and_byte_limits() {
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

    #[test]
    fn a_long_text_keeps_its_beginning_its_end_and_its_size() {
        let short = BoundedText::new("abc".to_owned(), 3);
        assert_eq!(
            (short.text.as_str(), short.bytes, short.is_truncated),
            ("abc", 3, false)
        );
        let long = BoundedText::new("é".repeat(10), 7);
        assert_eq!(
            (long.text.as_str(), long.bytes, long.is_truncated),
            ("é\n[… 16 bytes omitted …]\né", 20, true)
        );
    }
}
