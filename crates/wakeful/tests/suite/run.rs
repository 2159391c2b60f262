//! `wakeful run`, `runs`, `agent` and `transcript` in ordinary use.

use serde_json::json;

use super::home_fixture::{TestHome, commands, statuses};

// Conformance: H-022, H-157, A-203
#[test]
fn a_run_reports_everything_that_happened() {
    let world = TestHome::new();
    let script = "
rounds:
  - text: looking
    tools: [{name: ExecCommand, input: {cmd: echo hello}}]
    usage: {input_tokens: 10, output_tokens: 3}
  - text: It says hello.
    usage: {input_tokens: 20, output_tokens: 4}
";
    let said = world.run(script, &[]);
    let run = said.json();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(run["outcome"], "completed");
    assert_eq!(run["final_text"], "It says hello.");
    assert_eq!(run["rounds"], 2);
    assert_eq!(
        run["token_usage"],
        json!({"input_tokens": 30, "output_tokens": 7, "total_tokens": 37})
    );
    assert_eq!(
        (run["denied"].clone(), run["unknown"].clone()),
        (json!([]), json!([]))
    );
    assert_eq!(run["tool_calls"][0]["name"], "ExecCommand");
    assert!(
        run["tool_calls"][0]["sandbox"]
            .as_str()
            .expect("a level")
            .starts_with("enforced"),
        "{said:?}"
    );
    assert!(run.get("failure_artifact").is_none());
    let keys = ["run_key", "agent_id", "duration_ms"];
    assert!(keys.iter().all(|key| run.get(*key).is_some()), "{said:?}");
}

#[test]
fn without_json_the_answer_is_on_stdout_and_progress_on_stderr() {
    let world = TestHome::new();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let said = world.wakeful(&["run", "do it", "--model", &model]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "all done\n"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("ExecCommand") && said.stderr.contains("completed"),
        "{said:?}"
    );
}

#[test]
fn without_configuration_the_demo_answers_and_is_named() {
    let world = TestHome::new();
    let said = world.wakeful(&["run", "show me", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("demo"), "{said:?}");
    assert!(!said.json()["tool_calls"].as_array().expect("calls").is_empty());
}

// Conformance: L-068, L-073, L-075
#[test]
fn the_same_idempotency_key_is_the_same_run_and_acts_once() {
    let world = TestHome::new();
    let script = commands(&["echo one >> world.txt"]);
    let key = ["--agent", "a", "--create-agent", "--idempotency-key", "order-66"];
    let (first, second) = (world.run(&script, &key), world.run(&script, &key));
    assert_eq!(first.json(), second.json());
    assert_eq!(world.lines(), ["one"]);
    let model = world.script(&script);
    let other = [
        "run",
        "something else",
        "--json",
        "--model",
        &model,
        "--agent",
        "a",
        "--idempotency-key",
        "order-66",
    ];
    let said = world.wakeful(&other);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "idempotency_conflict")
    );
    assert_eq!(world.lines(), ["one"]);
}

#[test]
fn equal_calls_in_one_run_stay_separate() {
    let world = TestHome::new();
    let call = "{name: ExecCommand, input: {cmd: \"echo x >> world.txt\"}}";
    let script = format!("rounds:\n  - tools: [{call}, {call}]\n  - tools: [{call}]\n  - text: done\n");
    let run = world.run(&script, &[]).json();
    assert_eq!(world.lines(), ["x", "x", "x"]);
    let mut ids: Vec<_> = run["tool_calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|c| c["operation_id"].clone())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_denied_tool_does_not_act_and_sets_the_exit_status() {
    let world = TestHome::new();
    let said = world.run(
        &commands(&["echo one >> world.txt"]),
        &["--deny-tools", "ExecCommand"],
    );
    let run = said.json();
    assert_eq!(
        (said.code, statuses(&run)),
        (Some(4), vec!["denied".to_owned()]),
        "{said:?}"
    );
    assert_eq!(run["denied"], json!([run["tool_calls"][0]["operation_id"]]));
    assert_eq!(world.lines(), Vec::<String>::new());
}

#[test]
fn an_unknown_tool_is_denied_and_the_run_continues() {
    let world = TestHome::new();
    let said = world.run(
        "rounds:\n  - tools: [{name: LaunchRocket, input: {}}]\n  - text: sorry\n",
        &[],
    );
    assert_eq!(
        (said.code, said.json()["final_text"].as_str()),
        (Some(4), Some("sorry")),
        "{said:?}"
    );
}

#[test]
fn arguments_of_the_wrong_type_fail_before_acting_and_name_the_field() {
    let world = TestHome::new();
    let script = "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: 7}}]\n  - text: ok\n";
    let said = world.run(script, &["--agent", "a", "--create-agent"]);
    assert_eq!(
        (said.code, statuses(&said.json())),
        (Some(0), vec!["failed".to_owned()]),
        "{said:?}"
    );
    let transcript = world.wakeful(&["transcript", "a", "--json"]).stdout;
    assert!(
        transcript.contains("invalid_arguments") && transcript.contains("cmd"),
        "{transcript}"
    );
}

#[test]
fn a_run_that_never_ends_is_out_of_rounds() {
    let world = TestHome::new();
    let script = "repeat_last: true\nrounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"echo x >> world.txt\"}}]\n";
    let said = world.run(script, &["--max-rounds", "3"]);
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(1), Some("out_of_rounds")),
        "{said:?}"
    );
    assert_eq!(world.lines().len(), 3);
}

// Conformance: L-166, H-009, H-029
#[test]
fn a_model_that_fails_permanently_gives_a_failure_artifact() {
    let world = TestHome::new();
    let said = world.run("rounds:\n  - fail: {status: 401}\n  - text: never\n", &[]);
    let run = said.json();
    assert_eq!(
        (said.code, run["outcome"].as_str()),
        (Some(1), Some("failed")),
        "{said:?}"
    );
    assert_eq!(
        (
            run["failure_artifact"]["category"].as_str(),
            run["failure_artifact"]["status"].as_u64()
        ),
        (Some("transport"), Some(401))
    );
    let exhausted = world
        .run(
            "rounds: [{fail: {status: 503}}, {fail: {status: 503}}, {fail: {status: 503}}, {text: never}]\n",
            &[],
        )
        .json();
    assert_eq!(exhausted["failure_artifact"]["metadata"]["attempts"], "3");
    let script_end = world
        .run(
            "rounds: [{tools: [{name: ExecCommand, input: {cmd: 'true'}}]}]\n",
            &[],
        )
        .json();
    assert_eq!(script_end["failure_artifact"]["kind"], "script_exhausted");
}

// Conformance: H-030
#[test]
fn a_transient_failure_is_retried() {
    let world = TestHome::new();
    let said = world.run(
        "rounds:\n  - fail: {status: 429, retry_after_ms: 10}\n  - text: fine\n",
        &[],
    );
    assert_eq!(
        (said.code, said.json()["final_text"].as_str()),
        (Some(0), Some("fine")),
        "{said:?}"
    );
}

// Conformance: H-110, A-63
#[test]
fn a_named_agent_remembers_and_a_temporary_one_is_not_listed() {
    let world = TestHome::new();
    let args = ["--agent", "coach", "--create-agent"];
    world.run("rounds: [{text: first answer}]\n", &args);
    world.run("rounds: [{text: second answer}]\n", &["--agent", "coach"]);
    world.run("rounds: [{text: passing}]\n", &[]);
    let transcript = world.wakeful(&["transcript", "coach"]).stdout;
    assert!(
        transcript.contains("first answer") && transcript.contains("second answer"),
        "{transcript}"
    );
    let agents = |args: &[&str]| {
        world.wakeful(args).json()["agents"]
            .as_array()
            .expect("agents")
            .len()
    };
    assert_eq!(agents(&["agent", "list", "--json"]), 1);
    assert_eq!(agents(&["agent", "list", "--all", "--json"]), 2);
    let agent = world.wakeful(&["agent", "show", "coach", "--json"]).json();
    assert_eq!(
        (agent["visibility"].as_str(), agent["model_rounds"].as_u64()),
        (Some("public"), Some(2))
    );
}

// Conformance: H-109, H-110
#[test]
fn an_agent_is_created_only_on_request() {
    let world = TestHome::new();
    let said = world.run("rounds: [{text: x}]\n", &["--agent", "typo"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "agent_unknown")
    );
    assert_eq!(
        world.wakeful(&["agent", "create", "typo", "--json"]).code,
        Some(0)
    );
    assert_eq!(
        world.wakeful(&["agent", "create", "typo", "--json"]).error_code(),
        "agent_exists"
    );
}

#[test]
fn resume_without_open_runs_succeeds_and_reports_it() {
    let world = TestHome::new();
    let said = world.wakeful(&["run", "--resume"]);
    assert_eq!(said.code, Some(0));
    assert!(said.stdout.contains("nothing to resume"), "{said:?}");
}

#[test]
fn runs_can_be_listed_and_shown_by_their_first_digits() {
    let world = TestHome::new();
    let run = world.run(&commands(&["true"]), &[]).json();
    let key = run["run_key"].as_str().expect("a key");
    let list = world.wakeful(&["runs", "list", "--json"]).json();
    assert_eq!(list["runs"][0]["run_key"], key);
    let shown = world.wakeful(&["runs", "show", &key[..8]]);
    assert!(
        shown.stdout.contains(key) && shown.stdout.contains("registered_tool"),
        "{shown:?}"
    );
    assert_eq!(
        world.wakeful(&["runs", "show", "zz", "--json"]).error_code(),
        "bad_id"
    );
    assert_eq!(
        world
            .wakeful(&["runs", "show", &"0".repeat(64), "--json"])
            .error_code(),
        "run_unknown"
    );
}

// Conformance: P-240
#[test]
fn an_agent_waits_for_a_decision_and_continues_after_the_answer() {
    let world = TestHome::new();
    let activity = || world.wakeful(&["agent", "show", "main", "--json"]).json()["activity"].clone();
    let script = commands(&["echo one >> world.txt"]);
    let asked = world.run(
        &script,
        &["--agent", "main", "--create-agent", "--ask-tools", "ExecCommand"],
    );
    assert_eq!(asked.code, Some(3), "{asked:?}");
    assert_eq!(activity(), "waiting_on_human");
    let waits = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(waits.code, Some(3), "no answer was given: {waits:?}");
    let list = world.wakeful(&["decision", "list", "--json"]).json();
    let id = list["decisions"][0]["decision_id"].as_str().expect("a name");
    let answered = world.wakeful(&["decision", "answer", id, "approve"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert_ne!(activity(), "waiting_on_human");
    assert_eq!(world.lines(), Vec::<String>::new());
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!((activity(), world.lines().len()), ("asleep".into(), 1));
}

#[test]
fn a_misspelt_tool_is_answered_with_the_nearest_name() {
    let world = TestHome::new();
    let said = world.wakeful(&["run", "hi", "--model", "demo", "--deny-tools", "execcommand"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("did you mean ExecCommand?"), "{said:?}");
}
