//! The journal as people use it, and how damage to its file is handled.

use std::fs;

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, statuses};

const CREATE: &str =
    "rounds:\n  - tools: [{name: journal_create_task, input: {title: \"from an agent\"}}]\n  - text: done\n";

fn titles(world: &TestHome) -> Vec<String> {
    let list = world.wakeful(&["journal", "task", "list", "--json"]).json();
    let tasks = list["tasks"].as_array().expect("tasks").iter();
    tasks
        .map(|task| task["title"].as_str().expect("a title").to_owned())
        .collect()
}

#[test]
fn people_and_agents_write_to_one_journal() {
    let world = TestHome::new();
    assert_eq!(
        world.wakeful(&["journal", "category", "add", "Home"]).code,
        Some(0)
    );
    let added = world.wakeful(&[
        "journal",
        "task",
        "add",
        "from a person",
        "--category",
        "Home",
        "--json",
    ]);
    let id = added.json()["record_id"].as_str().expect("an id").to_owned();
    let run = world.run(CREATE, &[]);
    assert_eq!(statuses(&run.json()), ["ok"], "{run:?}");
    assert_eq!(titles(&world), ["from an agent", "from a person"]);
    assert_eq!(
        world
            .wakeful(&["journal", "note", "add", "call first", "--task", &id[..6]])
            .code,
        Some(0)
    );
    assert_eq!(
        world.wakeful(&["journal", "task", "done", &id[..6]]).code,
        Some(0)
    );
    let shown = world.wakeful(&["journal", "task", "show", &id, "--json"]).json();
    assert_eq!(
        (&shown["task"]["status"], &shown["notes"][0]["text"]),
        (&json!("done"), &json!("call first"))
    );
    let open = world.wakeful(&["journal", "task", "list", "--status", "open"]);
    assert!(
        open.stdout.contains("from an agent") && !open.stdout.contains("from a person"),
        "{open:?}"
    );
}

#[test]
fn a_reused_key_is_the_same_write() {
    let world = TestHome::new();
    let add = |title: &str| {
        world.wakeful(&[
            "journal",
            "task",
            "add",
            title,
            "--idempotency-key",
            "k",
            "--json",
        ])
    };
    assert_eq!(add("Buy milk").json(), add("Buy milk").json());
    assert_eq!(titles(&world), ["Buy milk"]);
    assert_eq!(add("Sell milk").error_code(), "operation_reused");
}

#[test]
fn bad_input_is_reported_with_its_code() {
    let world = TestHome::new();
    world.wakeful(&["journal", "task", "add", "Buy milk"]);
    let long = "x".repeat(201);
    let cases: [(&[&str], &str); 7] = [
        (&["task", "add", " "], "invalid_record"),
        (&["task", "add", &long], "invalid_record"),
        (&["task", "add", "t", "--category", "Nowhere"], "category_unknown"),
        (&["task", "show", "zz"], "bad_record_id"),
        (&["task", "done", "ffffffffffff0000"], "task_unknown"),
        (&["note", "add", ""], "invalid_record"),
        (&["task", "list", "--status", "finished"], "usage"),
    ];
    for (args, code) in cases {
        let said = world.wakeful(&[&["journal"], args, &["--json"]].concat());
        assert_eq!(said.error_code(), code, "{said:?}");
    }
    assert_eq!(titles(&world), ["Buy milk"]);
}

#[test]
fn reading_creates_no_journal() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    assert_eq!(titles(&world), Vec::<String>::new());
    assert!(!world.home().join("db.sqlite").exists());
    assert_eq!(world.wakeful(&["saga", "list"]).code, Some(0));
}

#[test]
fn the_daemon_serves_the_same_journal() {
    let world = TestHome::new();
    world.wakeful(&["journal", "task", "add", "before"]);
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["journal", "task", "add", "through the daemon"]);
    let run = world.run(CREATE, &["--agent", "main", "--create-agent"]);
    assert_eq!(statuses(&run.json()), ["ok"], "{run:?}");
    assert_eq!(titles(&world), ["from an agent", "through the daemon", "before"]);
    let unknown = world.wakeful(&["journal", "task", "done", "ffffffff0000", "--json"]);
    assert_eq!(unknown.error_code(), "task_unknown");
    assert_eq!(
        world.wakeful(&["saga", "list", "--json"]).json(),
        json!({"sagas": []})
    );
    let adopting = world.wakeful(&["journal", "adopt", "--json"]);
    assert_eq!(adopting.error_code(), "daemon_running");
    drop(daemon);
}

// Conformance: L-004
#[test]
fn deleting_the_agents_database_does_not_harm_the_journal() {
    let world = TestHome::new();
    world.run(CREATE, &[]);
    for name in ["agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm"] {
        let _ = fs::remove_file(world.home().join(name));
    }
    world.wakeful(&["agent", "create", "main"]);
    assert_eq!(titles(&world), ["from an agent"]);
    let run = world.run(CREATE, &[]);
    assert_eq!(statuses(&run.json()), ["ok"], "{run:?}");
    assert_eq!(titles(&world).len(), 2);
}

#[test]
fn a_missing_journal_is_reported_and_not_silently_replaced() {
    let world = TestHome::new();
    world.run(CREATE, &[]);
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(world.home().join(name));
    }
    let listed = world.wakeful(&["journal", "task", "list", "--json"]);
    assert_eq!(listed.error_code(), "journal_missing");
    let added = world.wakeful(&["journal", "task", "add", "lost?", "--json"]);
    assert_eq!(added.error_code(), "journal_missing");
    // Agents continue without it and receive an error.
    let run = world.run(CREATE, &[]);
    assert_eq!(
        (run.json()["outcome"].as_str(), statuses(&run.json())),
        (Some("completed"), vec!["failed".to_owned()])
    );
    assert!(
        !world.home().join("db.sqlite").exists(),
        "no empty one took its place"
    );
    let doctor = world.wakeful(&["doctor"]);
    assert!(doctor.stdout.contains("problem  journal"), "{doctor:?}");
    let sagas = world.wakeful(&["saga", "list", "--json"]).json();
    assert_eq!(
        sagas["sagas"][0]["status"], "stuck",
        "whether it was written is unknown: {sagas}"
    );
    // A person adopts a new one; then nothing is left to undo.
    assert_eq!(world.wakeful(&["journal", "adopt"]).code, Some(0));
    world.wakeful(&["run", "--resume"]);
    assert_eq!(
        world.wakeful(&["saga", "list", "--json"]).json(),
        json!({"sagas": []})
    );
    let run = world.run(CREATE, &[]);
    assert_eq!(statuses(&run.json()), ["ok"], "{run:?}");
}

#[test]
fn another_journal_in_its_place_is_detected() {
    let (world, other) = (TestHome::new(), TestHome::new());
    world.wakeful(&["journal", "task", "add", "mine"]);
    other.wakeful(&["journal", "task", "add", "theirs"]);
    fs::copy(other.home().join("db.sqlite"), world.home().join("db.sqlite")).expect("copied");
    for name in ["db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(world.home().join(name));
    }
    let listed = world.wakeful(&["journal", "task", "list", "--json"]);
    assert_eq!(listed.error_code(), "wrong_journal");
    assert_eq!(world.wakeful(&["journal", "adopt"]).code, Some(0));
    assert_eq!(titles(&world), ["theirs"]);
}

#[test]
fn a_damaged_or_newer_journal_is_reported_with_its_own_code() {
    let world = TestHome::new();
    world.wakeful(&["journal", "task", "add", "mine"]);
    let file = world.home().join("db.sqlite");
    let code = |world: &TestHome| -> (String, Value) {
        let said = world.wakeful(&["journal", "task", "list", "--json"]);
        (said.error_code(), said.json()["error"]["message"].clone())
    };
    let newer = rusqlite::Connection::open(&file).expect("opens");
    newer.execute_batch("PRAGMA user_version = 99").expect("a number");
    drop(newer);
    let (found, message) = code(&world);
    assert_eq!(found, "schema_newer");
    assert!(
        message
            .as_str()
            .is_some_and(|message| message.starts_with("the journal: ")),
        "{message}"
    );
    fs::write(
        &file,
        "not a database, and long enough to be looked at as one ".repeat(20),
    )
    .expect("written");
    assert_eq!(code(&world).0, "database_corrupt");
    let run = world.run(CREATE, &[]);
    assert_eq!(
        (run.json()["outcome"].as_str(), statuses(&run.json())),
        (Some("completed"), vec!["failed".to_owned()])
    );
}

/// The first request stays small, even with all tools.
#[test]
fn the_first_request_with_the_journals_tools_stays_small() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let shown = world.wakeful(&["debug", "prompt", "main", "--json"]);
    let shown = shown.json().to_string();
    assert!(
        shown.contains("journal_create_task") && shown.contains("journal_update_task"),
        "{shown}"
    );
}

// Conformance: L-145
#[test]
fn a_result_belongs_to_its_call_and_names_changes_or_errors() {
    let world = TestHome::new();
    let script = format!(
        "rounds:\n  - tools:\n      - {{name: journal_create_task, input: {{title: new}}}}\n      \
         - {{name: journal_update_task, input: {{task_id: \"{}\", status: done}}}}\n  - text: done\n",
        "0".repeat(32)
    );
    let run = world.run(&script, &["--agent", "main", "--create-agent"]).json();
    assert_eq!(statuses(&run), ["ok", "failed"], "{run}");
    let said = world.wakeful(&["transcript", "main", "--json"]).stdout;
    let lines = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let blocks: Vec<Value> = lines
        .flat_map(|line| line["blocks"].as_array().cloned().unwrap_or_default())
        .collect();
    let of = |kind: &str| -> Vec<&Value> { blocks.iter().filter(|block| block["type"] == kind).collect() };
    let (calls, results) = (of("tool_use"), of("tool_result"));
    let ids =
        |blocks: &[&Value]| -> Vec<Value> { blocks.iter().map(|block| block["call_id"].clone()).collect() };
    assert_eq!((calls.len(), ids(&calls)), (2, ids(&results)), "{said}");
    let told = |at: usize| -> Value {
        serde_json::from_str(results[at]["content"].as_str().expect("text")).expect("JSON")
    };
    let (made, refused) = (told(0), told(1));
    let list = world.wakeful(&["journal", "task", "list", "--json"]).json();
    assert_eq!(
        made["changed_entity_ids"],
        serde_json::json!([list["tasks"][0]["task_id"]]),
        "{made}"
    );
    let tokens = made["changed_tokens"].to_string();
    assert!(tokens.contains("TASK") && tokens.contains("created"), "{made}");
    assert_eq!(refused["kind"], "task_unknown", "{refused}");
    assert!(refused["message"].as_str().is_some_and(|words| !words.is_empty()));
}
