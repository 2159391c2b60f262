//! Tests that journal tools stay within the agent's categories.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use wakeful_core::id::AgentId;
use wakeful_core::journal::{Category, Note, Record, Task};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{
    CommitListener, CommittedChange, JournalFuture, RecordQuery, TaskFilter, UndoOutcome,
};
use wakeful_ports::tool::{CallGrant, OutputSink};

use super::*;

const WORK: &str = "11111111111111111111111111111111";
const HOME: &str = "22222222222222222222222222222222";
const TASK: &str = "33333333333333333333333333333333";

/// A journal with one task, which counts the writes that reach it and performs none.
struct OneTask {
    category: Option<&'static str>,
    status: OperationStatus,
    writes: AtomicUsize,
}

fn nothing<T: Send + 'static>() -> JournalFuture<'static, T> {
    Box::pin(std::future::ready(Err(JournalError::Missing)))
}

impl Journal for OneTask {
    fn write(&self, _: WriteRequest) -> JournalFuture<'_, WriteReceipt> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        nothing()
    }

    fn undo(&self, _: OperationId, _: Millis) -> JournalFuture<'_, UndoOutcome> {
        nothing()
    }

    fn operation_status(&self, _: OperationId) -> JournalFuture<'_, OperationStatus> {
        Box::pin(std::future::ready(Ok(self.status)))
    }

    fn tasks(&self, _: TaskFilter) -> JournalFuture<'_, Vec<Task>> {
        let task = Task {
            id: record_id(TASK),
            title: "private title".to_owned(),
            category: self.category.map(record_id),
            details: String::new(),
            status: TaskStatus::Open,
            created_at: Millis(0),
            updated_at: Millis(0),
            version: 1,
            removed_at: None,
        };
        Box::pin(std::future::ready(Ok(vec![task])))
    }

    fn notes(&self, _: Option<RecordId>, _: u32) -> JournalFuture<'_, Vec<Note>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn categories(&self) -> JournalFuture<'_, Vec<Category>> {
        let category = |id| Category {
            id: record_id(id),
            name: "a name".to_owned(),
            created_at: Millis(0),
            version: 1,
            removed_at: None,
        };
        Box::pin(std::future::ready(Ok(vec![category(WORK), category(HOME)])))
    }

    fn newest_change_not_by(&self, _: Author) -> JournalFuture<'_, Option<(u64, Millis)>> {
        nothing()
    }

    fn changes(&self, _: u64, _: u32) -> JournalFuture<'_, Vec<CommittedChange>> {
        nothing()
    }

    fn last_seq(&self) -> JournalFuture<'_, u64> {
        nothing()
    }

    fn records(&self, _: RecordQuery, _: u32) -> JournalFuture<'_, Vec<Record>> {
        nothing()
    }

    fn records_with_prefix(&self, _: String, _: u32) -> JournalFuture<'_, Vec<Record>> {
        nothing()
    }

    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>> {
        let fields = json!({ "category_id": self.category });
        let found = ids.into_iter().map(|id| (id, fields.clone())).collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn subscribe_commits(&self) -> Box<dyn CommitListener> {
        unreachable!("a tool does not subscribe")
    }
}

fn request(tool: &str, input: Value) -> ToolRequest {
    ToolRequest {
        operation_id: OperationId(Digest::of(b"one")),
        tool: tool.to_owned(),
        input,
        agent_id: AgentId::parse("main").expect("a name"),
        at: Millis(0),
        grant: CallGrant::default(),
        scope: wakeful_core::sandbox_scope::SandboxScope::default(),
        hosts: wakeful_ports::tool::HostPolicy::default(),
        paths: wakeful_ports::tool::PathPolicy::default(),
        access: AgentAccessScope {
            allowed_category_ids: [WORK.to_owned()].into(),
            ..AgentAccessScope::default()
        },
        is_read_only: false,
        is_untrusted: false,
        run_key: None,
        output: OutputSink::default(),
        written: wakeful_ports::tool::WriteMeter::default(),
    }
}

/// The code of a call in the category `WORK` alone, and how many writes reached the journal.
async fn performed(journal: OneTask, tool: &str, input: Value) -> (String, usize) {
    let journal = Arc::new(journal);
    let outcome = perform(Arc::<OneTask>::clone(&journal), request(tool, input)).await;
    let code = outcome.code.expect("the journal is missing");
    (code, journal.writes.load(Ordering::SeqCst))
}

/// The outcome of a reading in the category `WORK` alone.
async fn read(journal: OneTask, tool: &str, input: Value) -> ToolOutcome {
    let limits = crate::options::OutputLimits::default();
    crate::journal_reading::perform(Arc::new(journal), request(tool, input), limits).await
}

fn record_id(hex: &str) -> RecordId {
    RecordId::parse("id", hex).expect("an id")
}

const fn task_in(category: Option<&'static str>) -> OneTask {
    OneTask {
        category,
        status: OperationStatus::Unknown,
        writes: AtomicUsize::new(0),
    }
}

// Conformance: L-124
#[tokio::test]
async fn a_write_needs_the_old_and_the_new_category_in_scope() {
    let denied = (OUT_OF_SCOPE.to_owned(), 0);
    let update = |to: Option<&str>| json!({ "task_id": TASK, "title": "new", "category_id": to });
    for (from, to, is_allowed) in [
        (Some(WORK), Some(WORK), true),
        (Some(WORK), None, true),
        (Some(WORK), Some(HOME), false),
        (Some(HOME), Some(WORK), false),
        (Some(HOME), Some(HOME), false),
        (None, None, false),
    ] {
        let found = performed(task_in(from), UPDATE_TASK, update(to)).await;
        assert_eq!(found != denied, is_allowed, "{from:?} to {to:?}: {found:?}");
        assert_eq!(found.1, usize::from(is_allowed), "{from:?} to {to:?}");
    }
    for (category, is_allowed) in [(Some(WORK), true), (Some(HOME), false), (None, false)] {
        let input = json!({ "title": "new", "category_id": category });
        let found = performed(task_in(None), CREATE_TASK, input).await;
        assert_eq!(found != denied, is_allowed, "{category:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_performed_write_is_reported_after_the_scope_was_narrowed() {
    let journal = OneTask {
        status: OperationStatus::Written,
        ..task_in(Some(HOME))
    };
    let input = json!({ "task_id": TASK, "title": "new" });
    let (code, writes) = performed(journal, UPDATE_TASK, input).await;
    assert_ne!(code, OUT_OF_SCOPE);
    assert_eq!(writes, 1, "the journal returns the first receipt");
}

#[tokio::test]
async fn a_category_outside_scope_is_never_read() {
    for (category, is_shown) in [(Some(WORK), true), (Some(HOME), false), (None, false)] {
        let found = read(task_in(category), "journal_list_tasks", json!({})).await;
        let found: Value = serde_json::from_str(&found.content).expect("JSON");
        let shown = found["tasks"].as_array().map(Vec::len);
        assert_eq!(shown, Some(usize::from(is_shown)), "{category:?}: {found}");
        let one = read(task_in(category), "journal_get_task", json!({ "task_id": TASK })).await;
        assert_eq!(one.code.is_none(), is_shown, "{category:?}: {one:?}");
        assert!(is_shown || !one.content.contains("private title"), "{one:?}");
    }
    let found = read(task_in(None), "journal_list_categories", json!({})).await;
    assert!(
        found.content.contains(WORK) && !found.content.contains(HOME),
        "{found:?}"
    );
}
