//! Sub-runs: parents wait for them and receive their results; nothing is lost or repeated.

use serde_json::{Value, json};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;

use super::crash::call;
use super::daemon::RunningDaemon;
use super::decision::write;
use super::home_fixture::{CommandOutput, SILENT, TestHome, statuses, wait_until};

/// Starts one run of the helper and then reports it.
const PARENT: &str = r#"
rounds:
  - text: "asking the helper"
    tools: [{ name: StartRun, input: { agent_id: helper, initial_message: "What is it?" } }]
  - text: "the helper has spoken"
"#;

const CHILD: &str = "rounds:\n  - text: \"forty-two\"\n";

/// A home in which `main` may start runs of others, and the helper uses a script.
fn write_scripts(world: &TestHome, parent: &str, child: &str) {
    for agent in ["main", "helper", "other"] {
        let said = world.wakeful(&["agent", "create", agent]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let parent = world.script_named("parent.yaml", parent);
    let child = world.script_named("child.yaml", child);
    for (agent, model, may_start) in [("main", parent, "helper,other,main"), ("helper", child, "main")] {
        let said = world.wakeful(&["agent", "set", agent, "--model", &model, "--may-start", may_start]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
}

fn start(world: &TestHome) -> CommandOutput {
    world.wakeful(&[
        "run",
        "do it",
        "--json",
        "--agent",
        "main",
        "--idempotency-key",
        "k",
    ])
}

/// The runs of an agent.
fn runs(world: &TestHome, agent: &str) -> Vec<Value> {
    let list = world
        .wakeful(&["runs", "list", "--agent", agent, "--json"])
        .json();
    list["runs"].as_array().cloned().unwrap_or_default()
}

fn show(world: &TestHome, key: &Value) -> Value {
    world
        .wakeful(&["runs", "show", key.as_str().expect("a key"), "--json"])
        .json()
}

/// The messages that `main` received, as the model reads them.
fn told(world: &TestHome) -> Vec<Value> {
    let said = world.wakeful(&["transcript", "main", "--json"]).stdout;
    let lines = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let blocks = lines.flat_map(|line| line["blocks"].as_array().cloned().unwrap_or_default());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results
        .map(|block| serde_json::from_str(block["content"].as_str().expect("text")).expect("JSON"))
        .collect()
}

/// Checks that there is one child with one result, and that parent and child refer to each other.
fn judge(world: &TestHome, story: &str) {
    let (parents, children) = (runs(world, "main"), runs(world, "helper"));
    assert_eq!(
        (parents.len(), children.len()),
        (1, 1),
        "{story}: {parents:?} {children:?}"
    );
    let (parent, child) = (
        show(world, &parents[0]["run_key"]),
        show(world, &children[0]["run_key"]),
    );
    assert_eq!(
        (&parent["outcome"], &child["outcome"]),
        (&json!("completed"), &json!("completed")),
        "{story}: {parent}"
    );
    assert_eq!(statuses(&parent), ["ok"], "{story}: {parent}");
    assert_eq!(parent["children"][0]["run_key"], child["run_key"], "{story}");
    assert_eq!(child["parent"]["run_key"], parent["run_key"], "{story}");
    let told = told(world);
    assert_eq!(told.len(), 1, "{story}: {told:?}");
    assert_eq!(
        (&told[0]["text"], &told[0]["source"]),
        (&json!("forty-two"), &json!("run")),
        "{story}"
    );
}

// Conformance: L-179, H-157
#[test]
fn a_run_starts_another_waits_for_it_and_reads_its_result() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    let said = start(&world);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.json()["final_text"], "the helper has spoken");
    judge(&world, "alone");
    let child = show(&world, &runs(&world, "helper")[0]["run_key"]);
    assert_eq!(child["cause"]["kind"], "internal_followup");
    assert_eq!(child["cause"]["authority"], "runtime_instruction");
    let text = child["cause"]["text"].as_str().expect("text");
    assert!(
        text.starts_with("[From a run of agent main, not from a person]") && text.ends_with("What is it?"),
        "{text}"
    );
    let verified = world.wakeful(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let key = runs(&world, "main")[0]["run_key"].clone();
    let replayed = world.wakeful(&["replay", key.as_str().expect("a key")]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

#[test]
fn a_daemon_drives_both_and_a_waiting_run_names_the_other() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["agent", "pause", "helper"]).code, Some(0));
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| {
        runs(&world, "main")
            .first()
            .is_some_and(|run| run["waiting_on"].is_array())
    });
    let run = runs(&world, "main")[0].clone();
    let child = show(&world, &run["run_key"])["children"][0].clone();
    assert_eq!(
        (&child["status"], &child["held"]),
        (&json!("queued"), &json!("paused")),
        "{child}"
    );
    let list = world.wakeful(&["runs", "list"]).stdout;
    assert!(list.contains("waiting on run"), "{list}");
    assert_eq!(world.wakeful(&["agent", "resume", "helper"]).code, Some(0));
    wait_until(|| runs(&world, "main")[0]["status"] == "completed");
    judge(&world, "daemon");
    drop(daemon);
}

#[test]
fn the_end_of_a_run_ends_its_sub_runs() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, SILENT);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| {
        runs(&world, "helper")
            .first()
            .is_some_and(|run| run["status"] == "open")
    });
    let key = runs(&world, "main")[0]["run_key"].clone();
    world.wakeful(&["runs", "cancel", key.as_str().expect("a key")]);
    for agent in ["main", "helper"] {
        wait_until(|| runs(&world, agent)[0]["status"] == "cancelled");
    }
    drop(daemon);
}

#[test]
fn a_parent_receives_the_end_of_a_cancelled_sub_run() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, SILENT);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| {
        runs(&world, "helper")
            .first()
            .is_some_and(|run| run["status"] == "open")
    });
    let key = runs(&world, "helper")[0]["run_key"].clone();
    world.wakeful(&["runs", "cancel", key.as_str().expect("a key")]);
    wait_until(|| runs(&world, "main")[0]["status"] == "completed");
    let told = told(&world);
    assert_eq!(
        (&told[0]["kind"], &told[0]["ok"]),
        (&json!("run_cancelled"), &json!(false)),
        "{told:?}"
    );
    // The same for a sub-run that has not started.
    assert_eq!(world.wakeful(&["agent", "pause", "helper"]).code, Some(0));
    assert_eq!(world.wakeful(&["message", "main", "again"]).code, Some(0));
    wait_until(|| runs(&world, "main")[0]["waiting_on"].is_array());
    let key = runs(&world, "main")[0]["waiting_on"][0].clone();
    world.wakeful(&["runs", "cancel", key.as_str().expect("a key")]);
    wait_until(|| runs(&world, "main")[0]["status"] == "completed");
    drop(daemon);
}

/// Starts one run of the helper and one of the other agent.
const BOTH: &str = r#"
rounds:
  - tools:
      - { name: StartRun, input: { agent_id: helper, initial_message: "What is it?" } }
      - { name: StartRun, input: { agent_id: other, initial_message: "And what is that?" } }
  - text: "both have spoken"
"#;

/// `main` waits for a running run of the helper, and for a message to the other agent, which is paused.
/// Returns the three keys.
fn both_started(world: &TestHome) -> [String; 3] {
    assert_eq!(world.wakeful(&["agent", "pause", "other"]).code, Some(0));
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| {
        runs(world, "helper")
            .first()
            .is_some_and(|run| run["status"] == "open")
    });
    let key = |run: &Value| run["run_key"].as_str().expect("a key").to_owned();
    let main = key(&runs(world, "main")[0]);
    let children = show(world, &json!(main))["children"].clone();
    let of = |agent: &str| {
        let mut children = children.as_array().expect("children").iter();
        key(children
            .find(|child| child["agent_id"] == agent)
            .expect("a child"))
    };
    [main.clone(), of("helper"), of("other")]
}

/// The end of a message that never became a run.
fn verdict(world: &TestHome, key: &str) -> Value {
    world.wakeful(&["why", key, "--json"]).json()
}

#[test]
fn cancelling_a_run_cancels_its_queued_sub_runs() {
    let world = TestHome::new();
    write_scripts(&world, BOTH, SILENT);
    let daemon = RunningDaemon::serve(&world, &[]);
    let [main, helper, other] = both_started(&world);
    let why = verdict(&world, &other);
    assert_eq!(
        (&why["status"], &why["verdict"]),
        (&json!("queued"), &json!("queued")),
        "{why}"
    );
    assert_eq!(
        (&why["cause"]["correlation_id"], &why["cause"]["causation_id"]),
        (&json!(main), &json!(main)),
        "{why}"
    );
    world.wakeful(&["runs", "cancel", &main]);
    wait_until(|| runs(&world, "main")[0]["status"] == "cancelled");
    // In the same transaction, although its agent is paused and does not start it.
    let why = verdict(&world, &other);
    assert_eq!(
        (&why["status"], &why["verdict"]),
        (&json!("cancelled"), &json!("cancelled")),
        "{why}"
    );
    let gates = why["gates"].to_string();
    assert!(gates.contains("lifecycle") && gates.contains(&main), "{gates}");
    assert_eq!(
        world.wakeful(&["agent", "show", "other", "--json"]).json()["pending"],
        0
    );
    let events = world.wakeful(&["events", "other", "--json"]).stdout;
    assert!(events.contains("cancelled before its run"), "{events}");
    wait_until(|| show(&world, &json!(helper))["outcome"] == "cancelled");
    let verified = world.wakeful(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    drop(daemon);
}

#[test]
fn abandoning_a_run_ends_its_sub_runs() {
    let world = TestHome::new();
    write_scripts(&world, BOTH, SILENT);
    let daemon = RunningDaemon::serve(&world, &[]);
    let [main, helper, other] = both_started(&world);
    daemon.kill();
    let key = RunKey(Digest::from_hex(&main).expect("a key"));
    write(&world, move |tx| {
        tx.set_run_status(&key, RunStatus::Quarantined, Some("it broke"), Millis(9))
    });
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(show(&world, &json!(helper))["outcome"], "open");
    let said = world.wakeful(&["runs", "abandon", &main, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(verdict(&world, &other)["status"], "cancelled");
    wait_until(|| show(&world, &json!(helper))["outcome"] == "cancelled");
    drop(daemon);
}

// Conformance: L-179
#[test]
fn a_start_passes_the_gates_of_every_message_and_leaves_a_record() {
    for (change, code) in [
        (vec!["dormant", "helper"], "dormant"),
        (vec!["mode", "helper", "interactive"], "interactive_only"),
        (vec!["stop", "helper"], "stopped"),
    ] {
        let world = TestHome::new();
        write_scripts(&world, PARENT, CHILD);
        let said = world.wakeful(&[&["agent"], change.as_slice()].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        start(&world);
        let told = told(&world);
        assert_eq!((told.len(), &told[0]["kind"]), (1, &json!(code)), "{told:?}");
        assert!(runs(&world, "helper").is_empty(), "{code}");
        let why = world.wakeful(&["why-not", "helper", "--json"]).json();
        let refused = why["refused"].as_array().expect("refusals");
        assert_eq!(
            (refused.len(), &refused[0]["verdict"]),
            (1, &json!(code)),
            "{why}"
        );
        let run = runs(&world, "main")[0]["run_key"].clone();
        assert_eq!(refused[0]["cause"]["run_key"], run, "{why}");
        assert_eq!(
            runs(&world, "main")[0]["status"],
            "completed",
            "{code}: it continues"
        );
    }
}

#[test]
fn a_sub_run_waits_for_the_barrier_of_a_sleeping_agent() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = world.wakeful(&["agent", "sleep", "helper", "--for", "1h"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| {
        runs(&world, "main")
            .first()
            .is_some_and(|run| run["waiting_on"].is_array())
    });
    let child = runs(&world, "main")[0]["waiting_on"][0].clone();
    let why = verdict(&world, child.as_str().expect("a key"));
    assert_eq!(
        (&why["status"], why["not_before"].is_string()),
        (&json!("queued"), true),
        "{why}"
    );
    assert!(why["gates"].to_string().contains("asleep until"), "{why}");
    assert_eq!(world.wakeful(&["agent", "wake", "helper"]).code, Some(0));
    wait_until(|| runs(&world, "main")[0]["status"] == "completed");
    judge(&world, "woken");
    drop(daemon);
}

// Conformance: L-179
#[test]
fn a_forbidden_start_is_a_result_with_a_reason() {
    let world = TestHome::new();
    let calls = ["main", "nobody", "helper", "stranger", "other"].map(|agent| {
        format!("{{ name: StartRun, input: {{ agent_id: {agent}, initial_message: \"Go.\" }} }}")
    });
    let parent = format!("rounds:\n  - tools: [{}]\n  - text: done\n", calls.join(", "));
    // The helper starts a run of the agent that waits for it.
    let child = "rounds:\n  - tools: [{ name: StartRun, input: { agent_id: main, initial_message: \"Back.\" } }]\n  - text: no\n";
    write_scripts(&world, &parent, child);
    let said = start(&world);
    assert_eq!(said.code, Some(4), "{said:?}");
    let told = told(&world);
    let kinds: Vec<&str> = told
        .iter()
        .map(|one| one["kind"].as_str().unwrap_or("ok"))
        .collect();
    assert_eq!(
        kinds,
        ["agent_is_itself", "denied_agent", "ok", "denied_agent", "ok"],
        "{told:?}"
    );
    let child = show(&world, &runs(&world, "helper")[0]["run_key"]);
    assert_eq!(statuses(&child), ["failed"], "{child}");
    assert_eq!(child["steps"][1]["reason"], "agent_waits", "{child}");
}

// Conformance: L-180
#[test]
fn an_agent_that_may_start_nothing_has_no_such_tool() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    let model = world.script_named("parent.yaml", PARENT);
    let said = world.wakeful(&["run", "do it", "--json", "--agent", "other", "--model", &model]);
    assert_eq!(
        (said.code, statuses(&said.json())),
        (Some(4), vec!["denied".to_owned()]),
        "{said:?}"
    );
    assert_eq!(runs(&world, "helper").len(), 0);
}

#[test]
fn a_start_that_needs_approval_waits_for_it_first() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    let ask = [
        "run",
        "do it",
        "--json",
        "--agent",
        "main",
        "--ask-tools",
        "StartRun",
    ];
    let said = world.wakeful(&ask);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(3), "decision_pending"),
        "{said:?}"
    );
    assert_eq!(runs(&world, "helper").len(), 0);
    let list = world.wakeful(&["decision", "list", "--json"]).json();
    let id = list["decisions"][0]["decision_id"].as_str().expect("an id");
    assert_eq!(
        world.wakeful(&["decision", "answer", id, "approve"]).code,
        Some(0)
    );
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    judge(&world, "permitted");
}

#[test]
fn without_a_daemon_a_sub_run_precedes_other_queued_messages() {
    let world = TestHome::new();
    write_scripts(&world, PARENT, CHILD);
    assert_eq!(world.wakeful(&["message", "helper", "earlier"]).code, Some(0));
    assert_eq!(start(&world).code, Some(0));
    judge(&world, "ahead");
    let helper = world.wakeful(&["agent", "show", "helper", "--json"]).json();
    assert_eq!(helper["pending"], 1, "it waits for a daemon: {helper}");
}

/// The points around the commits that start and end a run.
const POINTS: [&str; 6] = [
    "transition.before_commit",
    "store.before_commit",
    "store.after_commit",
    "transition.after_commit",
    "admit.before_commit",
    "claim.after_commit",
];

/// Kills the program at every n-th passage of every point, and once more during recovery. At every passage
/// when the environment requests depth.
fn crash_everywhere(world: impl Fn() -> TestHome, stride: usize) {
    let deep = std::env::var_os("WAKEFUL_CRASH_DEEP").is_some();
    let stride = if deep { 1 } else { stride };
    let mut crashes = 0;
    for point in POINTS {
        for passage in (1..40).step_by(stride) {
            let world = world();
            write_scripts(&world, PARENT, CHILD);
            let args = [
                "run",
                "do it",
                "--json",
                "--agent",
                "main",
                "--idempotency-key",
                "k",
            ];
            if call(&world, &args, Some((point, passage))).code.is_some() {
                break;
            }
            crashes += 1;
            let story = format!("{point}:{passage}");
            call(
                &world,
                &["run", "--resume", "--json"],
                Some((point, 1 + passage % 3)),
            );
            world.wakeful(&["run", "--resume", "--json"]);
            let said = start(&world);
            assert_eq!(said.code, Some(0), "{story}: {said:?}");
            judge(&world, &story);
        }
    }
    assert!(crashes * stride >= 20, "only {crashes} crashes");
    eprintln!("{crashes} crashes");
}

#[test]
fn after_any_kill_one_sub_run_exists_and_its_end_arrives_once() {
    crash_everywhere(TestHome::new, 1);
}

#[test]
fn on_postgres_after_any_kill_one_sub_run_ends_once() {
    crash_everywhere(TestHome::on_postgres, 4);
}
