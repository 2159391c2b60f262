//! The brake as people use it: set, shown everywhere, kept across restarts, released.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::decision::with_open_run;
use super::home_fixture::{CommandOutput, TestHome, alive, commands, lasting, statuses, wait_until};

fn brake(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["brake"], args, &["--json"]].concat())
}

/// Whether each status output shows the brake.
fn surfaces(world: &TestHome) -> Vec<bool> {
    let status = world.wakeful(&["status"]);
    let json = world.wakeful(&["status", "--json"]).json();
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    let shown = world.wakeful(&["agent", "show", "main"]);
    let list = world.wakeful(&["agent", "list"]);
    let doctor = world.wakeful(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["name"] == "brake")
        .expect("a check");
    vec![
        status.stdout.contains("braked "),
        json["brakes"] != json!([]),
        agent["is_braked"] == Value::Bool(true),
        shown.stdout.contains("held by a brake"),
        list.stdout.contains("BRAKED"),
        check["status"] == "warning",
    ]
}

// Conformance: L-183
#[test]
fn one_command_sets_the_brake_and_every_status_shows_it() {
    let world = TestHome::new();
    with_open_run(&world);
    assert_eq!(surfaces(&world), [false; 6]);
    let said = brake(&world, &["on", "--reason", "it deletes too much"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let on = said.json();
    assert_eq!(
        (&on["is_on"], &on["brakes"][0]["reason"]),
        (&json!(true), &json!("it deletes too much"))
    );
    assert_eq!(on["brakes"][0]["channel"], "cli");
    assert_eq!(surfaces(&world), [true; 6]);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(surfaces(&world), [true; 6], "it holds over a restart");
    let said = world.wakeful(&["daemon", "status"]);
    assert!(said.stdout.contains("braked   everything"), "{said:?}");
    assert_eq!(
        brake(&world, &["on", "--reason", "again"]).json(),
        on,
        "one that is on stays as it was set"
    );
    drop(daemon);
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(brake(&world, &["status"]).json(), on);
    let said = brake(&world, &["off"]);
    assert_eq!(
        (said.code, &said.json()["brakes"]),
        (Some(0), &json!([])),
        "{said:?}"
    );
    assert_eq!(surfaces(&world), [false; 6]);
    assert_eq!(
        brake(&world, &["off"]).code,
        Some(0),
        "to release what is off is nothing wrong"
    );
}

#[test]
fn the_brake_of_one_agent_stops_no_other() {
    let world = TestHome::new();
    let script = world.script(&commands(&["echo one >> world.txt"]));
    for agent in ["main", "other"] {
        world.wakeful(&["agent", "create", agent]);
    }
    let said = brake(&world, &["on", "--agent", "main"]);
    assert_eq!(
        (said.code, &said.json()["is_on"]),
        (Some(0), &json!(false)),
        "{said:?}"
    );
    let run = |agent: &str| world.wakeful(&["run", "do it", "--agent", agent, "--model", &script, "--json"]);
    let said = run("main");
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "braked"),
        "{said:?}"
    );
    assert!(world.lines().is_empty(), "nothing was done");
    assert_eq!(run("other").code, Some(0));
    assert_eq!(world.lines(), ["one"]);
    let said = brake(&world, &["on", "--agent", "nobody"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "agent_unknown"),
        "{said:?}"
    );
    let said = brake(&world, &["off", "--agent", "main"]);
    assert_eq!(said.json()["brakes"], json!([]));
    assert_eq!(run("main").code, Some(0));
}

#[test]
fn a_message_to_a_braked_daemon_is_answered_after_the_release() {
    let world = TestHome::new();
    let script = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    let _daemon = RunningDaemon::serve(&world, &["--model", &script]);
    brake(&world, &["on"]);
    let said = world.wakeful(&[
        "run",
        "do it",
        "--agent",
        "main",
        "--idempotency-key",
        "k",
        "--json",
    ]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "braked"),
        "{said:?}"
    );
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(
        (&agent["pending"], &agent["is_braked"]),
        (&json!(1), &json!(true)),
        "{agent}"
    );
    assert!(world.lines().is_empty(), "nothing was done");
    brake(&world, &["off"]);
    let said = world.wakeful(&[
        "run",
        "do it",
        "--agent",
        "main",
        "--idempotency-key",
        "k",
        "--json",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.lines(), ["one"], "once");
}

#[test]
fn a_brake_stops_the_running_command_and_the_run_continues_later() {
    let world = TestHome::new();
    let word = format!("{}.5", 900_000 + std::process::id() % 90_000);
    let script = world.script(&lasting(&word));
    world.wakeful(&["agent", "create", "main"]);
    let _daemon = RunningDaemon::serve(&world, &["--model", &script]);
    let running = world.start(&["run", "do it", "--agent", "main", "--json"]);
    wait_until(|| alive(&word));
    assert_eq!(brake(&world, &["on"]).code, Some(0));
    let acknowledged = Instant::now();
    wait_until(|| !alive(&word));
    assert!(
        acknowledged.elapsed() < Duration::from_secs(5),
        "{:?}",
        acknowledged.elapsed()
    );
    let held: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(
        (held.code, held.error_code().as_str()),
        (Some(4), "braked"),
        "{held:?}"
    );
    let key = world.open_runs().remove(0);
    brake(&world, &["off"]);
    let shown = || world.wakeful(&["runs", "show", &key, "--json"]).json();
    wait_until(|| shown()["outcome"] != "open");
    let run = shown();
    assert_eq!(
        (&run["outcome"], &run["final_text"]),
        (&json!("completed"), &json!("done")),
        "{run}"
    );
    assert_eq!(
        statuses(&run),
        ["failed"],
        "the command was stopped, and is not done again by itself"
    );
    assert!(world.lines().is_empty());
}

#[test]
fn a_brake_reaches_a_foreground_run_that_holds_the_home() {
    let world = TestHome::new();
    let word = format!("{}.25", 700_000 + std::process::id() % 90_000);
    let script = world.script(&lasting(&word));
    let running = world.start(&["run", "do it", "--json", "--model", &script]);
    wait_until(|| alive(&word));
    let said = brake(&world, &["on", "--reason", "at once"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    wait_until(|| !alive(&word));
    let held: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(
        (held.code, held.error_code().as_str()),
        (Some(4), "braked"),
        "{held:?}"
    );
    brake(&world, &["off"]);
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(said.json()["final_text"], "done", "{said:?}");
    assert!(world.lines().is_empty());
}

#[test]
fn a_brake_without_a_home_creates_none() {
    let world = TestHome::new();
    for args in [["on"].as_slice(), &["off"], &["status"]] {
        let said = brake(&world, args);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "home_missing"),
            "{said:?}"
        );
    }
    assert!(!world.home().exists());
    let long = "x".repeat(501);
    let said = brake(&world, &["on", "--reason", &long]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "reason_too_long"),
        "{said:?}"
    );
}

#[test]
fn an_unknown_agent_has_no_brake_and_held_work_is_not_active() {
    let world = TestHome::new();
    world.orphan("silent.yaml", &["--agent", "main", "--create-agent"]);
    for verb in ["on", "off"] {
        let said = brake(&world, &[verb, "--agent", "nobody"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "agent_unknown"),
            "{said:?}"
        );
        assert!(
            said.stdout.contains("wakeful agent list") || said.stderr.contains("wakeful agent list"),
            "{said:?}"
        );
    }
    assert_eq!(brake(&world, &["on"]).code, Some(0));
    let shown = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(shown["activity"], "waiting", "{shown}");
    let text = world.wakeful(&["status"]).stdout;
    assert!(text.contains("0 running, 1 held by a brake"), "{text}");
    assert!(!text.contains("no process drives"), "{text}");
}

/// Sends a message under a brake in a separate process, and returns its output.
fn said_under_brake(world: &TestHome, script: &str, whom: &[&str]) -> CommandOutput {
    let args = ["run", "do it", "--agent", "main", "--model", script, "--json"];
    let said = world.wakeful(&[&args, whom].concat());
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "braked"),
        "{said:?}"
    );
    assert!(
        said.stderr
            .contains("is queued and starts after the brake is released"),
        "{said:?}"
    );
    assert!(said.stderr.contains("wakeful run --resume"), "{said:?}");
    assert!(world.lines().is_empty(), "nothing was done");
    said
}

#[test]
fn a_message_under_a_brake_without_daemon_is_answered_once_after_release() {
    for whom in [&[][..], &["--agent", "main"]] {
        let world = TestHome::new();
        let script = world.script(&commands(&["echo one >> world.txt"]));
        world.wakeful(&["agent", "create", "main"]);
        assert_eq!(brake(&world, &[&["on"], whom].concat()).code, Some(0));
        let key = ["--idempotency-key", "k"];
        said_under_brake(&world, &script, &key);
        said_under_brake(&world, &script, &key);
        let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
        assert_eq!(agent["pending"], 1, "said twice, it is one message: {agent}");
        let said = world.wakeful(&["run", "--resume", "--json"]);
        assert_eq!(
            (said.code, world.lines()),
            (Some(0), vec![]),
            "the brake is on: {said:?}"
        );
        assert_eq!(brake(&world, &[&["off"], whom].concat()).code, Some(0));
        let said = world.wakeful(&["run", "--resume", "--json"]);
        assert_eq!(
            (said.code, &said.json()["final_text"]),
            (Some(0), &json!("all done")),
            "{said:?}"
        );
        assert_eq!(world.lines(), ["one"]);
        world.wakeful(&["run", "--resume", "--json"]);
        let args = ["run", "do it", "--agent", "main", "--model", &script, "--json"];
        let again = world.wakeful(&[&args[..], &key].concat());
        assert_eq!(
            (again.code, &again.json()["final_text"]),
            (Some(0), &json!("all done"))
        );
        assert_eq!(world.lines(), ["one"], "once");
        let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
        assert_eq!(agent["pending"], 0, "{agent}");
    }
}

#[test]
fn the_same_message_after_the_release_starts_the_held_run() {
    let world = TestHome::new();
    let script = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    brake(&world, &["on"]);
    said_under_brake(&world, &script, &["--idempotency-key", "k"]);
    brake(&world, &["off"]);
    let args = ["run", "do it", "--agent", "main", "--model", &script, "--json"];
    let said = world.wakeful(&[&args[..], &["--idempotency-key", "k"]].concat());
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("all done")),
        "{said:?}"
    );
    let other = ["run", "do that", "--agent", "main", "--model", &script, "--json"];
    let other = world.wakeful(&[&other[..], &["--idempotency-key", "k"]].concat());
    assert_eq!(other.error_code(), "idempotency_conflict");
    assert_eq!(world.lines(), ["one"], "once");
}

#[test]
fn a_daemon_answers_a_message_held_by_a_brake_with_its_model() {
    let world = TestHome::new();
    let script = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    brake(&world, &["on"]);
    said_under_brake(&world, &script, &[]);
    // The daemon's default is another model, which must not answer.
    let _daemon = RunningDaemon::serve(&world, &["--model", "demo"]);
    brake(&world, &["off"]);
    wait_until(|| world.lines() == ["one"]);
}

#[test]
fn a_message_held_by_a_brake_reports_why_it_cannot_start() {
    let world = TestHome::new();
    let model = world.script("repeat_last: true\nrounds:\n  - text: fine\n");
    let run = || {
        let call = [
            "run",
            "hello",
            "--agent",
            "main",
            "--create-agent",
            "--idempotency-key",
            "k",
        ];
        world.wakeful(&[call.as_slice(), &["--model", &model, "--json"]].concat())
    };
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["brake", "on"]);
    assert_eq!(run().error_code(), "braked");
    world.wakeful(&["agent", "pause", "main"]);
    world.wakeful(&["brake", "off"]);
    let said = run();
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "paused"),
        "{said:?}"
    );
}
