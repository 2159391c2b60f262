//! The journal over HTTP: the status of each refusal, tested on a journal with one task.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use wakeful_core::journal::{Author, Category, Mutation, Note, Record, RecordId, RecordKind, Task};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::saga::{Saga, SagaInput};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{
    CommitListener, CommittedChange, Journal, JournalError, JournalFuture, OperationStatus, RecordQuery,
    TaskFilter, UndoOutcome, WriteReceipt, WriteRequest,
};
use wakeful_server::{DaemonStage, ServedHome};

use super::services::at_once;
use super::test_server::TestServer;

fn operation() -> OperationId {
    OperationId(Digest::of(b"operation"))
}

fn task_id() -> RecordId {
    RecordId::derived(RecordKind::Task, &operation())
}

/// A server whose journal has one task.
fn with_task() -> TestServer {
    let world = TestServer::new();
    let written = world.services.journal.write(WriteRequest {
        operation_id: operation(),
        author: Author::Person,
        mutation: Mutation::CreateTask {
            title: "Buy milk".into(),
            details: String::new(),
            category: None,
        },
        at: Millis(1_000),
    });
    at_once(written).expect("a task");
    world
}

/// Stores a write to the journal that could not be undone.
fn keep_stuck_saga(world: &TestServer) {
    let saga = Saga::intended(operation())
        .apply(SagaInput::Abandoned { why: "ended".into() })
        .and_then(|saga| {
            saga.apply(SagaInput::UndoFailed {
                why: "changed".into(),
            })
        });
    let (saga, run) = (saga.expect("a stuck saga"), RunKey(Digest::of(b"run")));
    let put = world
        .services
        .store
        .write(move |tx| tx.begin_saga(&saga, &run, Millis(0)));
    at_once(put).expect("a store");
}

/// The status of a response, and its error code if it failed.
async fn posted(world: &TestServer, path: &str, body: Value) -> (u16, String) {
    let answer = world.post(path, &body.to_string()).await;
    let told: Value = serde_json::from_str(&answer.body).expect("JSON");
    let code = told["error"]["code"].as_str().unwrap_or_default().to_owned();
    (answer.status.as_u16(), code)
}

#[tokio::test]
async fn each_journal_error_has_its_own_status() {
    let world = with_task();
    let (id, nobody) = (task_id().to_string(), "0".repeat(32));
    let at = |id: &str| format!("/api/journal/tasks/{id}");
    let first = posted(
        &world,
        "/api/journal/tasks",
        json!({"title": "first", "key": "used"}),
    );
    assert_eq!(first.await.0, 200);
    let cases = [
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "Buy bread"}),
            (200, ""),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": " "}),
            (400, "invalid_record"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "category_id": nobody}),
            (404, "category_unknown"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "category_id": "home"}),
            (400, "bad_field"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "key": "used"}),
            (409, "operation_reused"),
        ),
        (at(&id), json!({"status": "done"}), (200, "")),
        (at(&id), json!({}), (409, "invalid_record")),
        (at(&nobody), json!({"status": "done"}), (404, "task_unknown")),
        (at("7"), json!({"status": "done"}), (400, "bad_id")),
        (
            "/api/journal/notes".to_owned(),
            json!({"text": ""}),
            (400, "invalid_record"),
        ),
        (
            "/api/journal/categories".to_owned(),
            json!({"name": "Home"}),
            (200, ""),
        ),
    ];
    for (path, body, (status, code)) in cases {
        assert_eq!(
            posted(&world, &path, body.clone()).await,
            (status, code.to_owned()),
            "{path} {body}"
        );
    }
}

#[tokio::test]
async fn an_invalid_write_of_any_kind_names_the_field() {
    let world = with_task();
    let (id, nobody) = (task_id().to_string(), "0".repeat(32));
    let cases = [
        (
            json!({"kind": "create_checklist", "task_id": id, "title": "pack", "items": ["shoes"]}),
            (200, ""),
        ),
        (json!({"kind": "start_time", "task_id": id}), (200, "")),
        (
            json!({"kind": "rate", "record_id": id, "scale": "energy", "value": 4.0}),
            (200, ""),
        ),
        (
            json!({"kind": "rate", "record_id": id, "scale": "energy", "value": 9}),
            (409, "bad_rating"),
        ),
        (
            json!({"kind": "rate", "scale": "energy", "value": 3}),
            (400, "bad_record_id"),
        ),
        (
            json!({"kind": "rate", "date": "yesterday", "scale": "energy", "value": 3}),
            (400, "bad_field"),
        ),
        (
            json!({"kind": "add_time", "task_id": id, "started_at": "9", "ended_at": "10"}),
            (400, "bad_field"),
        ),
        (
            json!({"kind": "create_link", "from_id": id, "to_id": nobody, "link_kind": "likes"}),
            (400, "bad_link_kind"),
        ),
        (
            json!({"kind": "create_link", "from_id": id, "to_id": nobody, "link_kind": "blocks"}),
            (404, "record_unknown"),
        ),
        (
            json!({"kind": "restore", "record_id": id}),
            (409, "record_not_deleted"),
        ),
        (json!({"kind": "restore", "record_id": "7"}), (400, "bad_field")),
        (json!({"kind": "remember", "record_id": id}), (400, "bad_field")),
        (
            json!({"kind": "restore", "record_id": id, "agent_state": {}}),
            (400, "bad_field"),
        ),
        (json!({"kind": "remove", "record_id": id}), (200, "")),
    ];
    for (write, (status, code)) in cases {
        let body = json!({"write": write});
        assert_eq!(
            posted(&world, "/api/journal/writes", body.clone()).await,
            (status, code.to_owned()),
            "{body}"
        );
    }
}

#[tokio::test]
async fn records_of_any_kind_and_changes_are_shown() {
    let world = with_task();
    let (id, nobody) = (task_id().to_string(), "0".repeat(32));
    let shown = world.get(&format!("/api/journal/records/{id}")).await;
    let shown: Value = serde_json::from_str(&shown.body).expect("JSON");
    assert_eq!(
        (&shown["kind"], &shown["title"]),
        (&json!("task"), &json!("Buy milk"))
    );
    assert_eq!(
        world
            .get(&format!("/api/journal/records/{nobody}"))
            .await
            .status
            .as_u16(),
        404
    );
    let no_list = world.get("/api/journal/records?kind=checklist_item").await;
    assert!(
        no_list.body.contains("bad_record_id") && no_list.body.contains("of is not an id"),
        "{}",
        no_list.body
    );
    assert_eq!(
        world.get("/api/journal/changes?after_seq=1").await.body,
        r#"{"changes":[],"last_seq":1}"#
    );
    let changes = world.get("/api/journal/changes?after_seq=0").await.body;
    assert!(changes.contains(&id), "{changes}");
}

#[tokio::test]
async fn a_missing_journal_is_reported_with_a_hint() {
    let world = TestServer::new();
    let open = world.services.open.clone();
    world.stage.send_replace(DaemonStage::Ready(ServedHome {
        journal: Arc::new(open.runtime.journal(Arc::new(MissingJournal))),
        ..open
    }));
    let answer = world.get("/api/journal/notes").await;
    assert_eq!(answer.status.as_u16(), 503);
    assert!(answer.body.contains("journal_missing") && answer.body.contains("wakeful journal adopt"));
}

#[tokio::test]
async fn tasks_are_shown_and_a_stuck_saga_can_be_kept() {
    let world = with_task();
    keep_stuck_saga(&world);
    let list = world.get("/api/journal/tasks?status=open").await;
    assert!(
        list.body.contains("Buy milk") && list.body.contains("1970-01-01T00:00:01.000Z"),
        "{}",
        list.body
    );
    assert_eq!(
        world.get("/api/journal/tasks?status=done").await.body,
        r#"{"tasks":[]}"#
    );
    let sagas = world.get("/api/journal/sagas").await.body;
    assert!(
        sagas.contains(r#""phase":"compensation","status":"stuck","last_error":"changed""#),
        "{sagas}"
    );
    let keep = |id: String| format!("/api/journal/sagas/{id}/resolve");
    let kept = world.post(&keep(operation().to_string()), "{}").await;
    assert_eq!(kept.status.as_u16(), 200, "{}", kept.body);
    let unknown = world.post(&keep("0".repeat(64)), "{}").await;
    assert_eq!(unknown.status.as_u16(), 404);
    assert_eq!(world.post(&keep("7".into()), "{}").await.status.as_u16(), 400);
}

/// A journal whose file is missing, so every call fails.
struct MissingJournal;

fn missing<T: Send + 'static>() -> JournalFuture<'static, T> {
    Box::pin(std::future::ready(Err(JournalError::Missing)))
}

impl Journal for MissingJournal {
    fn write(&self, _: WriteRequest) -> JournalFuture<'_, WriteReceipt> {
        missing()
    }

    fn undo(&self, _: OperationId, _: Millis) -> JournalFuture<'_, UndoOutcome> {
        missing()
    }

    fn operation_status(&self, _: OperationId) -> JournalFuture<'_, OperationStatus> {
        missing()
    }

    fn tasks(&self, _: TaskFilter) -> JournalFuture<'_, Vec<Task>> {
        missing()
    }

    fn notes(&self, _: Option<RecordId>, _: u32) -> JournalFuture<'_, Vec<Note>> {
        missing()
    }

    fn categories(&self) -> JournalFuture<'_, Vec<Category>> {
        missing()
    }

    fn newest_change_not_by(&self, _: Author) -> JournalFuture<'_, Option<(u64, Millis)>> {
        missing()
    }

    fn changes(&self, _: u64, _: u32) -> JournalFuture<'_, Vec<CommittedChange>> {
        missing()
    }

    fn last_seq(&self) -> JournalFuture<'_, u64> {
        missing()
    }

    fn records(&self, _: RecordQuery, _: u32) -> JournalFuture<'_, Vec<Record>> {
        missing()
    }

    fn records_with_prefix(&self, _: String, _: u32) -> JournalFuture<'_, Vec<Record>> {
        missing()
    }

    fn entities(&self, _: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>> {
        missing()
    }

    fn subscribe_commits(&self) -> Box<dyn CommitListener> {
        Box::new(Silence)
    }
}

/// A missing journal emits no changes.
struct Silence;

impl CommitListener for Silence {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}
