//! The results of every tool, of a success and of a failure, fit the schemas of the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};

use serde_json::{Value, json};
use wakeful_core::answer_schema::AnswerSchema;

use super::home_fixture::TestHome;

/// The schemas of a tool.
fn schemas() -> BTreeMap<String, Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/agent_tools/agent_tool_output_schemas.json"
    );
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// A page that is served once. Returns its host and port.
fn page() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello"
            );
        }
    });
    format!("localhost:{port}")
}

fn id(world: &TestHome, args: &[&str]) -> String {
    let said = world.wakeful(&[&["journal"], args, &["--json"]].concat());
    said.json()["record_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{args:?}: {said:?}"))
        .to_owned()
}

/// One record of each kind. Returns the task.
fn journal(world: &TestHome) -> String {
    id(world, &["category", "add", "work"]);
    let task = id(world, &["task", "add", "Report", "--category", "work"]);
    let other = id(world, &["task", "add", "Other"]);
    id(world, &["checklist", "add", &task, "parts", "one"]);
    id(world, &["time", "start", &task]);
    id(world, &["time", "stop"]);
    id(
        world,
        &[
            "plan",
            "block",
            "add",
            "2026-02-18",
            "09:00Z",
            "10:00Z",
            "--task",
            &task,
        ],
    );
    id(world, &["rate", "3", "--record", &task, "--scale", "energy"]);
    id(world, &["link", "add", &task, "derived_from", &other]);
    task
}

/// The calls of each tool: one that succeeds and one that fails.
fn calls(task: &str, host: &str) -> Vec<(&'static str, Value, Value)> {
    let patch = |old: &str| format!("*** Begin Patch\n*** Update File: p\n-{old}\n+new\n*** End Patch\n");
    let none = || json!({"limit": 0});
    vec![
        (
            "ExecCommand",
            json!({"cmd": "seq 1 20000; echo err >&2; exit 3"}),
            json!({"cmd": "sleep 9", "timeout_ms": 300}),
        ),
        (
            "ReadFile",
            json!({"path": "a", "limit": 1}),
            json!({"path": "missing"}),
        ),
        ("ReadFile", json!({"path": "i.png"}), json!({"path": "."})),
        (
            "WriteFile",
            json!({"path": "w", "content": "x"}),
            json!({"path": "a/b", "content": "x"}),
        ),
        (
            "EditFile",
            json!({"path": "a", "old": "one", "new": "1"}),
            json!({"path": "a", "old": "zzz", "new": "1"}),
        ),
        (
            "ApplyPatch",
            json!({"patch": patch("old")}),
            json!({"patch": patch("zzz")}),
        ),
        (
            "ListFiles",
            json!({"max_output_tokens": 1}),
            json!({"path": "missing"}),
        ),
        ("SearchFiles", json!({"pattern": "two"}), json!({"pattern": "("})),
        (
            "WebFetch",
            json!({"url": format!("http://{host}/")}),
            json!({"url": "http://elsewhere.example/"}),
        ),
        (
            "journal_create_task",
            json!({"title": "new"}),
            json!({"title": ""}),
        ),
        (
            "journal_update_task",
            json!({"task_id": task, "status": "done"}),
            json!({"task_id": "0".repeat(32), "title": "x"}),
        ),
        ("journal_list_tasks", json!({}), none()),
        (
            "journal_get_task",
            json!({"task_id": task}),
            json!({"task_id": "0".repeat(32)}),
        ),
        ("journal_list_categories", json!({}), json!({"x": 1})),
        ("journal_list_checklists", json!({}), none()),
        ("journal_list_time_entries", json!({}), none()),
        ("journal_list_day_plans", json!({}), none()),
        ("journal_list_ratings", json!({}), none()),
        ("journal_list_links", json!({}), none()),
        (
            "StartRun",
            json!({"agent_id": "helper", "initial_message": "Go."}),
            json!({"agent_id": "unknown", "initial_message": "Go."}),
        ),
    ]
}

/// The results of the calls in one run, as the model reads them.
fn results(world: &TestHome, calls: &[(&'static str, Value, Value)], host: &str) -> Vec<Value> {
    let rounds = calls.iter().flat_map(|(tool, good, bad)| {
        [good, bad].map(|input| json!({"tools": [{"name": tool, "input": input}]}))
    });
    let rounds: Vec<Value> = rounds.chain([json!({"text": "done"})]).collect();
    let model = world.script(&json!({ "rounds": rounds }).to_string());
    world.wakeful(&[
        "agent",
        "create",
        "helper",
        "--model",
        &world.script_named("helper.yaml", "rounds:\n  - text: hi\n"),
    ]);
    let made = world.wakeful(&[
        "agent",
        "create",
        "main",
        "--may-start",
        "helper",
        "--allow-host",
        host,
        "--permission-mode",
        "permissive",
        // Every call is performed, also those after the page has been read.
        "--foreign-targets",
        "allow",
        "--model",
        &model,
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = world.wakeful(&["run", "work", "--json", "--agent", "main"]);
    assert_eq!(said.json()["final_text"], "done", "{said:?}");
    let lines = world
        .wakeful(&["transcript", "main", "--limit", "200", "--json"])
        .stdout;
    let blocks = lines.lines().flat_map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["blocks"].as_array().cloned().unwrap_or_default()
    });
    let results = blocks.filter(|block| block["type"] == "tool_result");
    let read = |block: Value| serde_json::from_str(block["content"].as_str().expect("text")).expect("JSON");
    results.map(read).collect()
}

// Conformance: A-162
#[test]
fn the_results_of_every_tool_fit_the_schemas_of_its_contract() {
    let world = TestHome::new();
    let folder = world.workspace();
    fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [
        ("a", &b"one\ntwo\n"[..]),
        ("p", b"old\n"),
        ("i.png", b"\x89PNG\r\n\x1a\n"),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
    let (task, host, schemas) = (journal(&world), page(), schemas());
    let calls = calls(&task, &host);
    let tools: BTreeSet<&str> = calls.iter().map(|(tool, ..)| *tool).collect();
    // The model's provider performs its search, which has no result here.
    let has_result = |tool: &&str| *tool != "WebSearch";
    let expected = schemas.keys().map(String::as_str).filter(has_result);
    assert_eq!(tools, expected.collect::<BTreeSet<_>>());
    let results = results(&world, &calls, &host);
    assert_eq!(results.len(), 2 * calls.len());
    let mut problems = Vec::new();
    for ((tool, ..), pair) in calls.iter().zip(results.chunks(2)) {
        assert_eq!(schemas[*tool]["failureMode"], "return");
        for (form, result) in ["success", "failure"].into_iter().zip(pair) {
            let schema = AnswerSchema::new(schemas[*tool][form].clone()).expect(tool);
            if let Err(violations) = schema.check(&result.to_string()) {
                problems.push(format!("{tool} {form}: {violations:?}: {result}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
