//! Why a run ran, why an agent did not run, and the lifecycle of an agent: through the daemon and in the
//! database alike.

use serde_json::Value;

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, wait_until};

const ANSWER: &str = "rounds:\n  - text: seen\n";

fn must(world: &TestHome, args: &[&str]) {
    let said = world.wakeful(args);
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
}

fn json(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

fn subscribed(world: &TestHome) {
    must(world, &["agent", "create", "coach"]);
    must(world, &["journal", "category", "add", "gym"]);
    must(
        world,
        &[
            "subscribe",
            "coach",
            "--on",
            "TASK",
            "--category",
            "gym",
            "--id",
            "gym",
        ],
    );
}

fn runs(world: &TestHome) -> Vec<Value> {
    let list = json(world, &["runs", "list", "--agent", "coach"]);
    list["runs"].as_array().expect("runs").clone()
}

#[test]
fn a_run_and_a_refused_cause_are_explained_with_and_without_daemon() {
    let world = TestHome::new();
    subscribed(&world);
    let before = world.wakeful(&["why-not", "coach"]);
    assert!(
        before.stdout.contains("nothing has tried to wake it since"),
        "{before:?}"
    );
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    must(
        &world,
        &["journal", "task", "add", "Leg day", "--category", "gym"],
    );
    must(&world, &["journal", "task", "add", "Mow the lawn"]);
    wait_until(|| runs(&world).iter().any(|run| run["status"] == "completed"));
    wait_until(|| json(&world, &["why-not", "coach"])["refused"] != Value::Array(Vec::new()));
    let key = runs(&world)[0]["run_key"].as_str().expect("a key").to_owned();
    let (why, not) = (json(&world, &["why", &key]), json(&world, &["why-not", "coach"]));
    assert_eq!(why["cause"]["kind"], "subscription", "{why}");
    assert_eq!(why["cause"]["source"], "subscription:gym", "{why}");
    assert_eq!(why["cause"]["author"], "person", "{why}");
    let tokens = why["cause"]["tokens"].as_array().expect("tokens");
    assert!(tokens.iter().any(|token| token == "TASK"), "{why}");
    let gates = why["gates"].as_array().expect("gates");
    assert!(gates.iter().any(|gate| gate["gate"] == "predicate"), "{why}");
    assert!(gates.iter().all(|gate| gate["passed"] == true), "{why}");
    assert_eq!(not["refused"][0]["verdict"], "predicate_false", "{not}");
    assert_eq!(not["refusals"][0]["count"], 1, "{not}");
    assert!(not["refused"][0]["hint"].is_string(), "{not}");
    // The key of a cause that never became a run can also be explained.
    let missed = not["refused"][0]["run_key"].as_str().expect("a key").to_owned();
    let missed = world.wakeful(&["why", &missed]);
    assert!(
        missed.stdout.contains("gate     predicate blocked") && missed.stdout.contains("fix      "),
        "{missed:?}"
    );
    daemon.kill();
    assert_eq!(json(&world, &["why", &key]), why, "the database tells the same");
    let words = world.wakeful(&["why", &key[..12]]).stdout;
    assert!(words.contains("matched subscription gym with"), "{words}");
    assert!(words.lines().count() <= 24, "one screen: {words}");
    let later = json(&world, &["why-not", "coach", "--since", "2100-01-01T00:00:00Z"]);
    let summary = later["summary"].as_str().expect("words");
    assert!(
        summary.starts_with("nothing has tried to wake it since"),
        "{summary}"
    );
}

// Conformance: L-070, H-129
#[test]
fn an_agent_passes_its_lifecycle_and_every_wrong_step_is_named() {
    let world = TestHome::new();
    must(&world, &["agent", "create", "coach"]);
    let code = |args: &[&str]| world.wakeful(&[args, &["--json"]].concat()).error_code();
    assert_eq!(
        json(&world, &["agent", "dormant", "coach"])["lifecycle"],
        "dormant"
    );
    let held = json(&world, &["why-not", "coach"]);
    assert_eq!(held["holds"][0]["code"], "dormant", "{held}");
    assert!(
        held["summary"]
            .as_str()
            .expect("words")
            .contains("no subscription and no schedule"),
        "{held}"
    );
    assert_eq!(
        json(&world, &["agent", "activate", "coach"])["lifecycle"],
        "active"
    );
    let mode = json(&world, &["agent", "mode", "coach", "interactive"]);
    assert_eq!(mode["mode"], "interactive");
    assert_eq!(json(&world, &["agent", "stop", "coach"])["control"], "stopped");
    assert_eq!(code(&["message", "coach", "hello"]), "stopped");
    assert_eq!(code(&["agent", "wake", "coach"]), "stopped");
    assert_eq!(json(&world, &["agent", "resume", "coach"])["control"], "running");
    must(&world, &["message", "coach", "hello"]);
    let asleep = json(&world, &["agent", "sleep", "coach", "--for", "2h"]);
    assert!(asleep["sleep_until"].is_string(), "{asleep}");
    assert_eq!(
        json(&world, &["agent", "wake", "coach"])["sleep_until"],
        Value::Null
    );
    assert_eq!(
        code(&["agent", "sleep", "coach", "--until", "2001-01-01"]),
        "bad_time"
    );
    assert_eq!(
        code(&["agent", "sleep", "coach", "--until", "tomorrow"]),
        "bad_time"
    );
    assert_eq!(code(&["agent", "destroy", "coach"]), "confirmation_missing");
    let gone = json(&world, &["agent", "destroy", "coach", "--yes"]);
    assert_eq!(
        (gone["lifecycle"].as_str(), gone["pending"].as_u64()),
        (Some("destroyed"), Some(0))
    );
    for (args, wanted) in [
        (&["agent", "activate", "coach"][..], "bad_lifecycle_transition"),
        (&["agent", "dormant", "coach"], "bad_lifecycle_transition"),
        (&["agent", "mode", "coach", "hybrid"], "destroyed"),
        (&["agent", "pause", "coach"], "destroyed"),
        (&["message", "coach", "hello"], "destroyed"),
        (&["agent", "wake", "nobody"], "agent_unknown"),
        (&["why-not", "nobody"], "agent_unknown"),
        (&["why", "abc"], "run_unknown"),
        (&["why-not", "coach", "--since", "soon"], "bad_time"),
    ] {
        assert_eq!(code(args), wanted, "{args:?}");
    }
    // Its history stays: the queued message has a readable end.
    let events = world.wakeful(&["events", "coach", "--json"]).stdout;
    assert!(
        events.contains("Agent destroyed") && events.contains("\"cancelled\""),
        "{events}"
    );
}

#[test]
fn who_may_wake_an_agent_is_set_at_creation_and_recorded() {
    let world = TestHome::new();
    let made = |name: &str, more: &[&str]| {
        let made = json(&world, &[&["agent", "create", name], more].concat());
        let events = world.wakeful(&["events", name, "--json"]).stdout.replace(' ', "");
        let mode = made["mode"].as_str().expect("a mode").to_owned();
        assert!(events.contains(&format!(r#""mode":"{mode}""#)), "{events}");
        mode
    };
    assert_eq!(made("plain", &[]), "hybrid");
    assert_eq!(made("shy", &["--mode", "interactive"]), "interactive");
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(made("busy", &["--mode", "autonomous"]), "autonomous");
    let bad = world.wakeful(&["agent", "create", "odd", "--mode", "sleepy"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
}
