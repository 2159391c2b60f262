//! Limits: work that a limit does not cover waits durably, and continues when the limit is raised.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, wait_until};

/// Two rounds with one command each, and an answer.
const TWO_COMMANDS: &str = r#"
max_output_tokens: 100
rounds:
  - text: "one"
    usage: { input_tokens: 10, output_tokens: 20 }
    tools: [{ name: ExecCommand, input: { cmd: "echo one >> world.txt" } }]
  - text: "two"
    usage: { input_tokens: 10, output_tokens: 20 }
    tools: [{ name: ExecCommand, input: { cmd: "echo two >> world.txt" } }]
  - text: "done"
    usage: { input_tokens: 10, output_tokens: 20 }
"#;

fn set(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[&["budget", "set", "--json"], args].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

fn is_parked(said: &CommandOutput) -> bool {
    (said.code, said.error_code().as_str()) == (Some(5), "budget_exceeded")
}

/// The reason why the only open run waits.
fn reason(world: &TestHome) -> Value {
    let open = world.open_runs();
    let run = world.wakeful(&["runs", "show", &open[0], "--json"]).json();
    run["parked"].clone()
}

/// Resumes a run that must stop at once. Returns its exit code; a run that goes round in circles is killed.
fn resume_within_bound(world: &TestHome) -> Option<i32> {
    let mut child = world.start(&["run", "--resume", "--json"]);
    let mut code = None;
    let until = std::panic::AssertUnwindSafe(|| {
        wait_until(|| {
            code = child.try_wait().expect("a child");
            code.is_some()
        });
    });
    let _late = std::panic::catch_unwind(until);
    child.kill().expect("ended");
    code.and_then(|status| status.code())
}

/// Runs the command that the reason names, and resumes.
fn raise_and_resume(world: &TestHome) -> CommandOutput {
    let command = reason(world)["command"].as_str().expect("a command").to_owned();
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let raised = world.wakeful(&args);
    assert_eq!(raised.code, Some(0), "{command}: {raised:?}");
    world.wakeful(&["run", "--resume", "--json"])
}

fn limits(world: &TestHome) -> Vec<Value> {
    let listed = world.wakeful(&["budget", "list", "--json"]).json();
    listed["limits"].as_array().cloned().expect("limits")
}

fn used(world: &TestHome, resource: &str) -> (u64, u64) {
    let limits = limits(world);
    let limit = limits.iter().find(|limit| limit["resource"] == resource);
    let limit = limit.expect("a limit");
    (
        limit["used"].as_u64().expect("a number"),
        limit["reserved"].as_u64().expect("a number"),
    )
}

// Conformance: L-168
#[test]
fn a_run_over_its_tool_calls_waits_and_continues_after_a_raise() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    set(&world, &["1", "--resource", "tool_calls", "--agent", "main"]);
    let said = world.run(TWO_COMMANDS, &["--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(world.lines(), ["one"], "the second call has not begun");
    let parked = reason(&world);
    assert_eq!(
        (&parked["scope"], &parked["resource"], &parked["period"]),
        (&json!("agent"), &json!("tool_calls"), &json!("daily"))
    );
    assert_eq!(
        (&parked["max"], &parked["used"], &parked["needed"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(resume_within_bound(&world), Some(5), "it was not raised");
    let done = raise_and_resume(&world);
    assert_eq!(
        (done.code, &done.json()["final_text"]),
        (Some(0), &json!("done")),
        "{done:?}"
    );
    assert_eq!(world.lines(), ["one", "two"]);
    assert_eq!(used(&world, "tool_calls"), (2, 0));
}

// Conformance: L-168, A-180, A-84
#[test]
fn tokens_are_reserved_before_a_request_and_settled_to_what_it_used() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    set(
        &world,
        &[
            "0",
            "--resource",
            "tokens",
            "--agent",
            "main",
            "--period",
            "lifetime",
        ],
    );
    let said = world.run(TWO_COMMANDS, &["--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(world.lines(), [] as [&str; 0], "no request was sent");
    assert_eq!(reason(&world)["until"], Value::Null, "only a person can raise it");
    set(
        &world,
        &[
            "1000000",
            "--resource",
            "tokens",
            "--agent",
            "main",
            "--period",
            "lifetime",
        ],
    );
    let done = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(used(&world, "tokens"), (90, 0));
}

// Conformance: L-168
#[test]
fn a_command_is_stopped_when_the_run_time_is_used_up() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    set(
        &world,
        &[
            "2s",
            "--resource",
            "run_time",
            "--agent",
            "main",
            "--period",
            "monthly",
        ],
    );
    let script = "rounds:\n  - text: one\n    tools: [{ name: ExecCommand, input: { cmd: \"sleep 30; echo slept >> \
        world.txt\" } }]\n  - text: done\n";
    let said = world.run(script, &["--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(world.lines(), [] as [&str; 0]);
    assert_eq!(reason(&world)["resource"], "run_time");
    assert_eq!(used(&world, "run_time"), (2_000, 0));
    let done = raise_and_resume(&world);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn a_file_larger_than_the_written_bytes_left_is_not_written() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    set(&world, &["10", "--resource", "written_bytes", "--agent", "main"]);
    let write = |name: &str, text: &str| {
        format!("{{ name: WriteFile, input: {{ path: {name}, content: \"{text}\" }} }}")
    };
    let script = format!(
        "rounds:\n  - text: one\n    tools: [{}]\n  - text: two\n    tools: [{}]\n  - text: done\n",
        write("small.txt", "12345678"),
        write("large.txt", "123456789")
    );
    let said = world.run(&script, &["--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(used(&world, "written_bytes"), (8, 0));
    assert!(!world.workspace().join("large.txt").exists());
    let done = raise_and_resume(&world);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(used(&world, "written_bytes"), (17, 0));
}

// Conformance: A-181
#[test]
fn a_run_and_its_sub_run_draw_on_one_tree() {
    let world = TestHome::new();
    for agent in ["main", "helper"] {
        world.wakeful(&["agent", "create", agent]);
    }
    let parent = "rounds:\n  - text: asking\n    tools: [{ name: StartRun, input: { agent_id: helper, initial_message: \
        \"What is it?\" } }]\n  - text: done\n";
    let child = "rounds:\n  - text: looking\n    tools: [{ name: ExecCommand, input: { cmd: \"echo child >> world.txt\" \
        } }]\n  - text: forty-two\n";
    let (parent, child) = (
        world.script_named("parent.yaml", parent),
        world.script_named("child.yaml", child),
    );
    for (agent, model, may_start) in [("main", &parent, "helper"), ("helper", &child, "main")] {
        let said = world.wakeful(&["agent", "set", agent, "--model", model, "--may-start", may_start]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    // The parent waits before its first call, so that a limit on its tree can be set.
    set(&world, &["0", "--resource", "tool_calls", "--agent", "main"]);
    let said = world.wakeful(&["run", "do it", "--json", "--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    let root = world.open_runs()[0].clone();
    set(&world, &["1", "--resource", "tool_calls", "--tree", &root]);
    let cleared = world.wakeful(&["budget", "clear", "--resource", "tool_calls", "--agent", "main"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        world.lines(),
        [] as [&str; 0],
        "the start of the child used the only call of the tree"
    );
    assert_eq!(used(&world, "tool_calls"), (0, 1), "the start is in progress");
    set(&world, &["2", "--resource", "tool_calls", "--tree", &root]);
    for _ in 0..3 {
        world.wakeful(&["run", "--resume", "--json"]);
    }
    assert_eq!(world.open_runs(), [] as [String; 0]);
    assert_eq!(world.lines(), ["child"]);
    assert_eq!(used(&world, "tool_calls"), (2, 0));
}

// Conformance: A-182
#[test]
fn an_invalid_limit_is_an_error_that_names_its_field() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    for (args, code, field) in [
        (vec!["-1", "--resource", "tokens"], "bad_amount", "max"),
        (
            vec!["99999999999999999999", "--resource", "tokens"],
            "bad_amount",
            "max",
        ),
        (vec!["1", "--resource", "words"], "invalid_limit", "resource"),
        (
            vec!["1", "--resource", "tokens", "--period", "weekly"],
            "invalid_limit",
            "period",
        ),
        (
            vec![
                "1",
                "--resource",
                "tokens",
                "--agent",
                "main",
                "--session",
                "cli",
                "--period",
                "daily",
            ],
            "invalid_limit",
            "period",
        ),
        (
            vec!["1", "--resource", "tokens", "--run", "abc"],
            "invalid_limit",
            "subject",
        ),
    ] {
        let said = world.wakeful(&[&["budget", "set", "--json"], args.as_slice()].concat());
        assert_eq!(said.error_code(), code, "{args:?}: {said:?}");
        assert!(
            said.stderr.contains(field) || said.stdout.contains(field),
            "{args:?}: {said:?}"
        );
    }
    assert_eq!(limits(&world).len(), 1, "only the default cap exists");
}

#[test]
fn a_limit_is_listed_changed_and_removed_by_its_id() {
    let world = TestHome::new();
    let limit = set(&world, &["2h", "--resource", "run_time", "--period", "yearly"]);
    assert_eq!(
        (&limit["scope"], &limit["max"]),
        (&json!("all"), &json!(7_200_000))
    );
    let id = limit["limit_id"].as_str().expect("an id")[..12].to_owned();
    let changed = set(&world, &["90s", "--limit", &id]);
    assert_eq!(changed["max"], 90_000);
    let shown = world.wakeful(&["budget", "show"]).stdout;
    assert!(
        shown.contains("all agents: 0s of 90s of run time per year used"),
        "{shown}"
    );
    let cleared = world.wakeful(&["budget", "clear", "--limit", &id, "--json"]);
    assert_eq!(cleared.json()["limit_id"], limit["limit_id"]);
    assert_eq!(limits(&world).len(), 1);
    let again = world.wakeful(&["budget", "clear", "--limit", &id, "--json"]);
    assert_eq!(again.error_code(), "limit_unknown", "{again:?}");
}

/// The text of an answer that later requests of its conversation repeat: ten thousand tokens as they are estimated.
const LONG_ANSWER_BYTES: usize = 20_000;

// Conformance: A-84
#[test]
fn a_request_is_estimated_before_its_conversation_is_read() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let long = "x".repeat(LONG_ANSWER_BYTES);
    let script = format!("max_output_tokens: 100\nrounds:\n  - text: \"{long}\"\nrepeat_last: true\n");
    let tokens = |max: &str| set(&world, &[max, "--resource", "tokens", "--agent", "main"]);
    assert_eq!(world.run(&script, &["--agent", "main"]).code, Some(0));
    tokens("0");
    let said = world.run(&script, &["--agent", "main"]);
    assert!(is_parked(&said), "{said:?}");
    let estimated = reason(&world)["needed"].as_u64().expect("a number");
    let key = world.open_runs().remove(0);
    let audited = world.wakeful(&["audit", "list", "--json"]).stdout;
    assert!(
        audited.contains("\"quota\"") && audited.contains("budget_exceeded"),
        "{audited}"
    );
    let run = world.wakeful(&["runs", "show", &key, "--json"]).json();
    let attempts = &run["provider_attempt_timeline"]["attempts"];
    assert_eq!(attempts, &json!([]), "no request was sent: {run}");
    // The estimate fits now, and the complete request does not.
    tokens(&estimated.to_string());
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    let needed = reason(&world)["needed"].as_u64().expect("a number");
    assert!(
        needed >= estimated + LONG_ANSWER_BYTES as u64 / 2,
        "{estimated} {needed}"
    );
    let done = raise_and_resume(&world);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn a_run_with_its_own_limits_waits_and_leaves_no_limit_behind() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let options = ["--agent", "main", "--max-tool-calls", "1", "--max-time", "10m"];
    let said = world.run(TWO_COMMANDS, &options);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(world.lines(), ["one"]);
    let parked = reason(&world);
    assert_eq!(
        (&parked["scope"], &parked["resource"]),
        (&json!("tree"), &json!("tool_calls"))
    );
    let max = |resource: &str| {
        let limits = limits(&world);
        let limit = limits.iter().find(|limit| limit["resource"] == resource);
        limit.map(|limit| limit["max"].clone())
    };
    assert_eq!(max("run_time"), Some(json!(600_000)));
    let done = raise_and_resume(&world);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((max("tool_calls"), max("run_time")), (None, None));
    // Another run of the same agent has none.
    assert_eq!(world.run(TWO_COMMANDS, &["--agent", "main"]).code, Some(0));
}

#[test]
fn a_run_may_cost_what_its_option_says() {
    let world = TestHome::new();
    let priced = "price: { input: 0, output: 10 }\nmax_output_tokens: 1000\nrounds:\n  - text: done\n    usage: { \
        input_tokens: 10, output_tokens: 1000 }\n";
    let said = world.run(priced, &["--max-cost", "0.009"]);
    assert!(is_parked(&said), "{said:?}");
    assert_eq!(reason(&world)["needed"], 10_000);
    let fits = world.run(priced, &["--max-cost", "0.01"]);
    assert_eq!(fits.code, Some(0), "{fits:?}");
    for (option, typed) in [
        ("--max-cost", "-1"),
        ("--max-tokens", "1.5"),
        ("--max-time", "soon"),
        ("--max-tool-calls", ""),
        ("--max-written", "9999999TiB"),
    ] {
        let said = world.run(priced, &[option, typed]);
        assert_eq!(said.error_code(), "bad_amount", "{option}: {said:?}");
        assert!(
            said.stdout.contains(option) || said.stderr.contains(option),
            "{said:?}"
        );
    }
}
