//! The journal over HTTP: what each refusal is as a status. Behind it stands a journal with one task.

use serde_json::{Value, json};
use wakeful_core::change::Unit;
use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::journal::{
    Category, Kind, Mutation, Note, Record, RecordId, Refusal, Task, TaskStatus, rule, told,
};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::saga::{Input, Saga};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{Change, JournalError, Listing, Receipt, TaskFilter};
use wakeful_runtime::desk::JournalDesk;
use wakeful_runtime::desk::journal::Told;
use wakeful_runtime::rows::SagaRow;

use super::world::World;

/// A journal with one task, which is gone when notes are asked for.
pub(super) struct OneTask;

fn operation() -> OperationId {
    OperationId(Digest::of(b"operation"))
}

fn task() -> Task {
    Task {
        id: RecordId::derived(Kind::Task, &operation()),
        category: None,
        title: "Buy milk".into(),
        details: String::new(),
        status: TaskStatus::Open,
        created_at: Millis(0),
        updated_at: Millis(1_000),
        version: 1,
        removed_at: None,
    }
}

fn stuck() -> SagaRow {
    let saga = Saga::intended(operation())
        .apply(Input::GivenUp { why: "ended".into() })
        .and_then(|saga| {
            saga.apply(Input::NotUndone {
                why: "changed".into(),
            })
        });
    SagaRow {
        saga: saga.expect("a stuck saga"),
        run_key: RunKey(Digest::of(b"run")),
        agent_id: AgentId::parse("main").ok(),
        run_open: false,
        updated_at: Millis(0),
    }
}

impl JournalDesk for OneTask {
    fn write(&self, mutation: Mutation, key: Option<String>) -> Told<'_, Receipt> {
        Box::pin(async move {
            if key.as_deref() == Some("used") {
                return Err(Refusal::OperationReused.into());
            }
            let reads = rule::Reads {
                records: [(task().id, Record::Task(task()))].into(),
                members: Vec::new(),
            };
            let mut written = rule::apply(&mutation, &reads, &operation(), Millis(5))?;
            let written = written.swap_remove(0);
            let unit = Unit {
                host: Incarnation::new("host.1"),
                counter: 1,
                payload_type: "task".into(),
                payload_id: written.after.id().to_string(),
            };
            Ok(Receipt {
                kind: written.after.kind(),
                record_id: written.after.id().clone(),
                version: written.after.version(),
                tokens: Vec::new(),
                unit,
                also: Vec::new(),
            })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> Told<'_, Vec<Task>> {
        let fits = |task: &Task| {
            let prefix = filter.id_prefix.as_deref().unwrap_or_default();
            task.id.as_str().starts_with(prefix) && filter.status.is_none_or(|status| status == task.status)
        };
        let tasks = Some(task()).filter(fits).into_iter().collect();
        Box::pin(async move { Ok(tasks) })
    }

    fn notes(&self, _task: Option<RecordId>, _limit: u32) -> Told<'_, Vec<Note>> {
        Box::pin(async { Err(JournalError::Missing) })
    }

    fn categories(&self) -> Told<'_, Vec<Category>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn records(&self, _listing: Listing, _limit: u32) -> Told<'_, Vec<Value>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn found(&self, id_prefix: String, _limit: u32) -> Told<'_, Vec<Value>> {
        let found = task().id.as_str().starts_with(&id_prefix);
        let entity = told::entity(&Record::Task(task()), &told::Around::new());
        Box::pin(async move { Ok(found.then_some(entity).into_iter().collect()) })
    }

    fn changes(&self, after_seq: u64, _limit: u32) -> Told<'_, (Vec<Change>, u64)> {
        Box::pin(async move { Ok((Vec::new(), after_seq)) })
    }

    fn sagas(&self) -> Told<'_, Vec<SagaRow>> {
        Box::pin(async { Ok(vec![stuck()]) })
    }

    fn keep(&self, wanted: OperationId) -> Told<'_, Option<OperationId>> {
        Box::pin(async move { Ok((wanted == operation()).then_some(wanted)) })
    }
}

/// The status of an answer, and its code when it is no success.
async fn posted(world: &World, path: &str, body: Value) -> (u16, String) {
    let answer = world.post(path, &body.to_string()).await;
    let told: Value = serde_json::from_str(&answer.body).expect("JSON");
    let code = told["error"]["code"].as_str().unwrap_or_default().to_owned();
    (answer.status.as_u16(), code)
}

#[tokio::test]
async fn each_refusal_of_the_journal_has_the_status_that_says_what_to_do() {
    let world = World::new();
    let (id, nobody) = (task().id.to_string(), "0".repeat(32));
    let at = |id: &str| format!("/api/journal/tasks/{id}");
    let cases = [
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "Buy bread"}),
            (200, ""),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": " "}),
            (422, "invalid_record"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "category_id": nobody}),
            (404, "category_unknown"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "category_id": "home"}),
            (422, "bad_record_id"),
        ),
        (
            "/api/journal/tasks".to_owned(),
            json!({"title": "t", "key": "used"}),
            (409, "operation_reused"),
        ),
        (at(&id), json!({"status": "done"}), (200, "")),
        (at(&id), json!({}), (422, "invalid_record")),
        (at(&nobody), json!({"status": "done"}), (404, "task_unknown")),
        (at("7"), json!({"status": "done"}), (422, "bad_record_id")),
        (
            "/api/journal/notes".to_owned(),
            json!({"text": ""}),
            (422, "invalid_record"),
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
async fn a_write_of_any_kind_is_told_by_the_field_that_is_wrong() {
    let world = World::new();
    let (id, nobody) = (task().id.to_string(), "0".repeat(32));
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
        (json!({"kind": "remove", "record_id": id}), (200, "")),
        (
            json!({"kind": "rate", "record_id": id, "scale": "energy", "value": 9}),
            (422, "bad_rating"),
        ),
        (
            json!({"kind": "rate", "scale": "energy", "value": 3}),
            (422, "bad_record_id"),
        ),
        (
            json!({"kind": "rate", "date": "yesterday", "scale": "energy", "value": 3}),
            (422, "bad_day"),
        ),
        (
            json!({"kind": "add_time", "task_id": id, "started_at": "9", "ended_at": "10"}),
            (422, "bad_time"),
        ),
        (
            json!({"kind": "create_link", "from_id": id, "to_id": nobody, "link_kind": "likes"}),
            (422, "bad_link_kind"),
        ),
        (
            json!({"kind": "create_link", "from_id": id, "to_id": nobody, "link_kind": "blocks"}),
            (404, "record_unknown"),
        ),
        (
            json!({"kind": "restore", "record_id": id}),
            (409, "record_present"),
        ),
        (
            json!({"kind": "restore", "record_id": "7"}),
            (422, "bad_record_id"),
        ),
        (json!({"kind": "remember", "record_id": id}), (400, "bad_field")),
        (
            json!({"kind": "restore", "record_id": id, "agent_state": {}}),
            (400, "bad_field"),
        ),
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
    let world = World::new();
    let (id, nobody) = (task().id.to_string(), "0".repeat(32));
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
        no_list.body.contains("bad_record_id") && no_list.body.contains("of is no id"),
        "{}",
        no_list.body
    );
    assert_eq!(
        world.get("/api/journal/changes?after_seq=7").await.body,
        r#"{"changes":[],"last_seq":7}"#
    );
}

#[tokio::test]
async fn a_journal_that_is_gone_is_told_with_the_way_out() {
    let answer = World::new().get("/api/journal/notes").await;
    assert_eq!(answer.status.as_u16(), 503);
    assert!(answer.body.contains("journal_missing") && answer.body.contains("wakeful journal adopt"));
}

#[tokio::test]
async fn tasks_are_shown_and_a_stuck_saga_can_be_kept() {
    let world = World::new();
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
    let keep = |id: String| format!("/api/journal/sagas/{id}/keep");
    let kept = world.post(&keep(operation().to_string()), "{}").await;
    assert_eq!(kept.status.as_u16(), 200, "{}", kept.body);
    let unknown = world.post(&keep("0".repeat(64)), "{}").await;
    assert_eq!(unknown.status.as_u16(), 404);
    assert_eq!(world.post(&keep("7".into()), "{}").await.status.as_u16(), 400);
}
