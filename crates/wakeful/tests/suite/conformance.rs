//! Requirements of the conformance tables that no other test covers, without a daemon.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, commands, statuses};

/// The events of an agent, oldest first.
fn events(world: &TestHome, agent: &str, more: &[&str]) -> Vec<Value> {
    let said = world.wakeful(&[&["events", agent, "--json", "--limit", "500"], more].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    said.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

fn completed(said: &CommandOutput) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

// Conformance
#[test]
fn every_call_has_one_policy_decision_before_it_acts() {
    let world = TestHome::new();
    let script = "rounds:\n  - tools:\n      - {name: ExecCommand, input: {cmd: echo one}}\n      \
                  - {name: journal_create_task, input: {title: new}}\n      \
                  - {name: NoSuchTool, input: {}}\n  - text: done\n";
    let said = world.run(
        script,
        &[
            "--agent",
            "main",
            "--create-agent",
            "--deny-tools",
            "journal_create_task",
        ],
    );
    let run = said.json();
    assert_eq!(statuses(&run), ["ok", "denied", "denied"], "{said:?}");
    let events = events(&world, "main", &[]);
    for call in run["tool_calls"].as_array().expect("calls") {
        let operation = &call["operation_id"];
        let of_call = |event: &Value| event["payload"]["operation_id"] == *operation;
        let kinds: Vec<&str> = events
            .iter()
            .filter(|event| of_call(event))
            .map(|event| event["kind"].as_str().expect("a kind"))
            .collect();
        let wanted: &[&str] = match call["status"].as_str() {
            Some("ok") => &["policy_decided", "tool_executed"],
            _ => &["policy_decided"],
        };
        assert_eq!(kinds, wanted, "{call}");
    }
}

// Conformance: A-95
#[test]
fn a_failed_model_request_leaves_no_tool_step() {
    let world = TestHome::new();
    let command = "{name: ExecCommand, input: {cmd: echo one >> world.txt}}";
    let script = format!("rounds:\n  - fail: {{status: 401}}\n  - tools: [{command}]\n  - text: never\n");
    let said = world.run(&script, &["--agent", "main", "--create-agent"]);
    let run = said.json();
    assert_eq!(run["outcome"], "failed", "{said:?}");
    let key = run["run_key"].as_str().expect("a key");
    let shown = world.wakeful(&["runs", "show", key, "--json"]).json();
    let kinds: Vec<&Value> = shown["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| &step["kind"])
        .collect();
    assert_eq!(kinds, [&json!("model")], "{shown}");
    let events = events(&world, "main", &[]);
    assert!(of_kind(&events, "tool_executed").is_empty() && of_kind(&events, "policy_decided").is_empty());
    assert_eq!(world.lines(), Vec::<String>::new());
}

// Conformance: A-96
#[test]
fn one_failed_tool_of_three_keeps_the_other_results() {
    let world = TestHome::new();
    let script = format!(
        "rounds:\n  - tools:\n      - {{name: ExecCommand, input: {{cmd: echo first}}}}\n      \
         - {{name: journal_update_task, input: {{task_id: \"{}\", status: done}}}}\n      \
         - {{name: ExecCommand, input: {{cmd: echo third}}}}\n  - text: went on\n",
        "0".repeat(32)
    );
    let run = completed(&world.run(&script, &["--agent", "main", "--create-agent"]));
    assert_eq!(statuses(&run), ["ok", "failed", "ok"], "{run}");
    assert_eq!(
        (&run["rounds"], &run["final_text"]),
        (&json!(2), &json!("went on")),
        "the model is asked again with all three results"
    );
    let transcript = world.wakeful(&["transcript", "main", "--json"]).stdout;
    for words in ["first", "task_unknown", "third"] {
        assert!(transcript.contains(words), "{words}: {transcript}");
    }
}

// Conformance: H-028
#[test]
fn the_text_of_a_round_is_recorded_apart_from_its_telemetry() {
    let world = TestHome::new();
    let long = format!("begin {}", "x".repeat(100_000));
    let script = format!(
        "rounds:\n  - text: {long}\n    tools: [{{name: ExecCommand, input: {{cmd: echo one}}}}]\n  - text: done\n"
    );
    completed(&world.run(&script, &["--agent", "main", "--create-agent"]));
    let events = events(&world, "main", &[]);
    let recorded = of_kind(&events, "assistant_round_recorded");
    let text = recorded[0]["payload"]["text"].as_str().expect("text");
    assert!(
        text.starts_with("begin x") && text.len() < 5_000,
        "{} bytes",
        text.len()
    );
    assert_eq!(recorded[0]["payload"]["tools"], json!(["ExecCommand"]));
    for telemetry in of_kind(&events, "provider_round_completed") {
        let words = telemetry["payload"].to_string();
        assert!(
            !words.contains("begin") && !words.contains("ExecCommand"),
            "{words}"
        );
    }
}

// Conformance: H-064
#[test]
fn a_display_mode_leaves_out_events_and_changes_none() {
    let world = TestHome::new();
    let args = ["--agent", "main", "--create-agent"];
    completed(&world.run(&commands(&["echo one"]), &args));
    let all = events(&world, "main", &["--display", "debug"]);
    let mut sizes = Vec::new();
    for mode in ["info", "verbose", "debug"] {
        let shown = events(&world, "main", &["--display", mode]);
        assert!(shown.iter().all(|event| all.contains(event)), "{mode}");
        sizes.push(shown.len());
    }
    assert!(0 < sizes[0] && sizes[0] < sizes[2], "{sizes:?}");
}

// Conformance: H-083
#[test]
fn an_entry_of_the_agent_list_stays_small() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "coach"]);
    let entry = || {
        let list = world.wakeful(&["agent", "list", "--json"]).json();
        let mut entry = list["agents"][0].as_object().expect("an entry").clone();
        entry.remove("last_seq");
        entry
    };
    let before = entry();
    std::fs::write(world.workspace().join("AGENTS.md"), "tabs, not spaces").expect("written");
    for args in [
        &["subscribe", "coach", "--on", "TASK"][..],
        &[
            "schedule",
            "add",
            "coach",
            "--every",
            "1h",
            "--message",
            "go",
            "--always",
        ],
        &["agent", "external-trigger", "show", "coach"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    assert_eq!(entry(), before);
    let left_out = ["model_state", "loaded_agents_md", "queue", "runs", "events"];
    assert!(
        left_out.iter().all(|name| !before.contains_key(*name)),
        "{before:?}"
    );
    let one = world.wakeful(&["agent", "show", "coach", "--json"]).json();
    assert!(
        one["model_state"].is_object(),
        "one agent is shown with more: {one}"
    );
}

// Conformance: L-178
#[test]
fn a_started_run_has_the_limits_of_its_own_agent() {
    let world = TestHome::new();
    for agent in ["main", "helper"] {
        world.wakeful(&["agent", "create", agent]);
    }
    let start = |agent: &str| {
        format!("{{ name: StartRun, input: {{ agent_id: {agent}, initial_message: \"Start main.\" }} }}")
    };
    let parent = format!("rounds:\n  - tools: [{}]\n  - text: over\n", start("helper"));
    let child = format!("rounds:\n  - tools: [{}]\n  - text: refused\n", start("main"));
    let (parent, child) = (
        world.script_named("parent.yaml", &parent),
        world.script_named("child.yaml", &child),
    );
    world.wakeful(&[
        "agent",
        "set",
        "main",
        "--model",
        &parent,
        "--may-start",
        "helper,main",
    ]);
    world.wakeful(&["agent", "set", "helper", "--model", &child]);
    let run = completed(&world.wakeful(&["run", "do it", "--json", "--agent", "main"]));
    assert_eq!(statuses(&run), ["ok"], "{run}");
    let runs = world
        .wakeful(&["runs", "list", "--agent", "helper", "--json"])
        .json();
    let key = runs["runs"][0]["run_key"].as_str().expect("a run");
    let child = world.wakeful(&["runs", "show", key, "--json"]).json();
    assert_eq!(
        statuses(&child),
        ["denied"],
        "the parent may, the child may not: {child}"
    );
}

// Conformance: L-127
#[test]
fn no_effect_can_be_stored_without_its_operation_id() {
    let world = TestHome::new();
    let script = "rounds:\n  - tools: [{name: journal_create_task, input: {title: new}}]\n  - text: done\n";
    completed(&world.run(script, &["--agent", "main", "--create-agent"]));
    for (file, table) in [("agent.sqlite", "step"), ("db.sqlite", "change")] {
        let database = rusqlite::Connection::open(world.home().join(file)).expect("opens");
        let count = |sql: &str| {
            database
                .query_row(sql, [], |row| row.get::<_, i64>(0))
                .expect(sql)
        };
        let with_id = format!("SELECT count(*) FROM {table} WHERE operation_id IS NOT NULL");
        let before = count(&with_id);
        assert!(before > 0, "{table}");
        let error = database
            .execute(&format!("UPDATE {table} SET operation_id = NULL"), [])
            .expect_err("an effect without its id");
        assert!(error.to_string().contains("NOT NULL"), "{table}: {error}");
        assert_eq!(count(&with_id), before, "{table}");
    }
}
