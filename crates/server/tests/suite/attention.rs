//! What needs a person, retries and lists of runs over the API.

use serde_json::{Value, json};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_runtime::rows::RunRow;

use super::test_server::TestServer;

fn json(body: &str) -> Value {
    serde_json::from_str(body).expect("JSON")
}

fn key_of(text: &str) -> RunKey {
    RunKey(Digest::from_hex(text).expect("a key"))
}

/// Sends a message, and starts its run with this status.
async fn run_with(world: &TestServer, text: &str, status: RunStatus) -> String {
    let body = json!({ "text": text }).to_string();
    let sent = world.post("/api/agents/main/messages", &body).await;
    let key = json(&sent.body)["run_key"].as_str().expect("a key").to_owned();
    start(world, &key, status).await;
    key
}

/// Starts the run of a queued message with this status.
async fn start(world: &TestServer, key: &str, status: RunStatus) {
    let key = key_of(key);
    let started = world.services.store.write(move |tx| {
        let message = tx.message(&key)?.expect("a message");
        tx.dequeue(&message.agent_id, &key)?;
        tx.create_run(&RunRow {
            run_key: key,
            agent_id: message.agent_id,
            thread_id: message.thread_id,
            machine: "turn".to_owned(),
            machine_version: 2,
            version: 1,
            state: "{}".to_owned(),
            status,
            started_at: message.admitted_at,
            ended_at: (status != RunStatus::Open).then_some(Millis(message.admitted_at.0 + 5)),
            suspension: None,
            fault: None,
        })?;
        if status.is_unsuccessful() {
            tx.flag_failed_run(&key)?;
        }
        Ok(())
    });
    started.await.expect("started");
}

async fn attention(world: &TestServer) -> Vec<Value> {
    let list = json(&world.get("/api/attention").await.body);
    list["items"].as_array().expect("items").clone()
}

#[tokio::test]
async fn a_failure_stays_listed_behind_300_events_of_another_agent() {
    let world = TestServer::new();
    let failed = run_with(&world, "water the plants", RunStatus::Failed).await;
    let created = world.post("/api/agents", r#"{"agent_id":"busy"}"#).await;
    assert!(created.status.is_success(), "{created:?}");
    for number in 0..300 {
        world.time.pass(1_000);
        let verb = if number % 2 == 0 { "pause" } else { "resume" };
        let changed = world.post(&format!("/api/agents/busy/{verb}"), "").await;
        assert_eq!(changed.status, 200, "{changed:?}");
    }
    let newest = json(&world.get("/api/events?limit=200").await.body);
    let is_of_main = |event: &Value| event["agent_id"] == "main";
    assert!(
        !newest["events"]
            .as_array()
            .expect("events")
            .iter()
            .any(is_of_main)
    );
    let items = attention(&world).await;
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(
        (&items[0]["kind"], &items[0]["count"], &items[0]["run_keys"][0]),
        (&json!("failed_runs"), &json!(1), &json!(failed))
    );
    assert_eq!(items[0]["preview"], "water the plants");
}

#[tokio::test]
async fn a_dismissal_covers_equal_older_failures_and_no_newer_one() {
    let world = TestServer::new();
    let mut keys = Vec::new();
    for number in 0..25 {
        world.time.pass(1_000);
        keys.push(run_with(&world, &format!("task {number}"), RunStatus::Failed).await);
    }
    let items = attention(&world).await;
    assert_eq!((items.len(), &items[0]["count"]), (1, &json!(25)));
    let shown = items[0]["run_keys"].clone();
    assert_eq!(shown.as_array().map(Vec::len), Some(20));
    world.time.pass(1_000);
    let newer = run_with(&world, "one more", RunStatus::Failed).await;
    let body = json!({ "run_keys": shown }).to_string();
    let left = world.post("/api/attention/dismiss", &body).await;
    assert_eq!(left.status, 200, "{left:?}");
    let left = json(&left.body)["items"].clone();
    assert_eq!(left[0]["run_keys"], json!([newer]), "{left}");
    assert_eq!(left[0]["count"], 1);
    // Another client sees the same, and the log says so.
    assert_eq!(attention(&world).await.len(), 1);
    let events = json(&world.get("/api/agents/main/events?limit=500").await.body);
    let kinds = events["events"].as_array().expect("events").iter();
    assert_eq!(
        kinds
            .filter(|event| event["kind"] == "attention_dismissed")
            .count(),
        1
    );
}

#[tokio::test]
async fn two_retries_at_once_are_one_run_and_a_later_one_another() {
    let world = TestServer::new();
    let failed = run_with(&world, "try", RunStatus::Failed).await;
    let path = format!("/api/runs/{failed}/retry");
    let (one, two) = tokio::join!(world.post(&path, "{}"), world.post(&path, "{}"));
    let (one, two) = (json(&one.body), json(&two.body));
    assert_eq!(one["run_key"], two["run_key"], "{one} {two}");
    let mut admissions = [one["admission"].to_string(), two["admission"].to_string()];
    admissions.sort_unstable();
    assert_eq!(admissions, ["\"duplicate\"", "\"new\""]);
    assert_eq!(attention(&world).await, Vec::<Value>::new(), "it was run again");
    let again = one["run_key"].as_str().expect("a key").to_owned();
    let other = world.post(&path, r#"{"text":"other"}"#).await;
    assert_eq!(
        other.code(),
        (409, "retry_open".to_owned()),
        "another text is not sent"
    );
    assert!(other.hint().contains(&again), "{other:?}");
    start(&world, &again, RunStatus::Completed).await;
    let third = json(&world.post(&path, "{}").await.body);
    assert_ne!(third["run_key"], one["run_key"]);
    assert_eq!(third["admission"], "new");
    let shown = json(&world.get(&format!("/api/runs/{again}")).await.body);
    assert_eq!(shown["retries"]["run_key"], json!(failed), "{shown}");
    assert_eq!(shown["cause"]["causation_id"], json!(failed));
    let first = json(&world.get(&format!("/api/runs/{failed}")).await.body);
    assert_eq!(first["retried_by"].as_array().map(Vec::len), Some(2), "{first}");
}

#[tokio::test]
async fn a_run_that_has_not_ended_is_not_run_again() {
    let world = TestServer::new();
    let retry = async |key: &str, body: &str| world.post(&format!("/api/runs/{key}/retry"), body).await;
    let open = run_with(&world, "open", RunStatus::Open).await;
    assert_eq!(retry(&open, "{}").await.code(), (409, "run_open".to_owned()));
    let quarantined = run_with(&world, "stuck", RunStatus::Quarantined).await;
    let refused = retry(&quarantined, "{}").await;
    assert_eq!(refused.code(), (409, "run_quarantined".to_owned()));
    assert!(refused.hint().contains("wakeful runs resume"), "{refused:?}");
    let done = run_with(&world, "done", RunStatus::Completed).await;
    let unknown = retry(&done, r#"{"model":"nobody"}"#).await;
    assert_eq!(unknown.code(), (409, "model_unknown".to_owned()));
    for (bad, status) in [(r#"{"text":""}"#, 400), (r#"{"message":"x"}"#, 409)] {
        let found = retry(&done, bad).await.code();
        assert_eq!(found, (status, "bad_field".to_owned()), "{bad}");
    }
    let step = "0".repeat(64);
    let from = format!(r#"{{"from_step":"{step}"}}"#);
    assert_eq!(retry(&done, &from).await.code(), (404, "step_unknown".to_owned()));
    let both = format!(r#"{{"from_step":"{step}","text":"x"}}"#);
    assert_eq!(retry(&done, &both).await.status, 409);
    assert_eq!(
        retry(&"0".repeat(64), "{}").await.code(),
        (404, "run_unknown".to_owned())
    );
    assert_eq!(retry(&done, r#"{"text":"other words"}"#).await.status, 202);
}

#[tokio::test]
async fn runs_are_filtered_and_counted_by_the_server() {
    let world = TestServer::new();
    let failed = run_with(&world, "Water the Plants", RunStatus::Failed).await;
    world.time.pass(60_000);
    run_with(&world, "feed the cat", RunStatus::Completed).await;
    run_with(&world, "water the lawn", RunStatus::Open).await;
    let list = async |query: &str| {
        let found = world.get(&format!("/api/runs?{query}")).await;
        assert_eq!(found.status, 200, "{query}: {found:?}");
        let found = json(&found.body);
        let runs = found["runs"].as_array().expect("runs").iter();
        let runs: Vec<Value> = runs.map(|run| run["preview"].clone()).collect();
        (Value::from(runs), found["counts"].clone())
    };
    let (runs, counts) = list("status=failed").await;
    assert_eq!(runs, json!(["Water the Plants"]));
    assert_eq!(
        (&counts["open"], &counts["completed"], &counts["failed"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(
        list("status=failed,completed").await.0.as_array().map(Vec::len),
        Some(2)
    );
    let (runs, counts) = list("search=WATER&status=open").await;
    assert_eq!(runs, json!(["water the lawn"]));
    assert_eq!((&counts["open"], &counts["failed"]), (&json!(1), &json!(1)));
    assert_eq!(
        list(&format!("search={}", &failed[..8])).await.0,
        json!(["Water the Plants"])
    );
    assert_eq!(list("cause=timer_tick").await.0, json!([]));
    assert_eq!(
        list("cause=operator_prompt").await.0.as_array().map(Vec::len),
        Some(3)
    );
    let (runs, _) = list("until=2026-02-17T16:00:30Z").await;
    assert_eq!(runs, json!(["Water the Plants"]));
    assert_eq!(
        list("since=2026-02-17T16:00:30Z")
            .await
            .0
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let page = json(&world.get("/api/runs?search=water&limit=1").await.body);
    let before = page["next_before"].as_str().expect("a next page");
    let rest = json(
        &world
            .get(&format!("/api/runs?search=water&before={before}"))
            .await
            .body,
    );
    assert_eq!(rest["runs"][0]["preview"], "Water the Plants");
    assert_eq!(
        (&rest["next_before"], &rest["counts"]),
        (&Value::Null, &Value::Null)
    );
    let wrong = world.get("/api/runs?status=done").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert!(wrong.message().contains("out_of_rounds"), "{wrong:?}");
}
