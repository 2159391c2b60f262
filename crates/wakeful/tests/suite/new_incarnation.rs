//! Kills the daemon at every commit between a posted message and its answer. The client keeps the key and
//! posts again until it is acknowledged, as every client should; the world file shows which effects really
//! happened.

use std::process::Stdio;

use serde_json::Value;

use super::crash::crash_binary;
use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, commands, wait_until};

const KEYS: [&str; 2] = ["first", "second"];

/// Where the daemon is killed. The first two points are in the store, below everything else.
const POINTS: [&str; 6] = [
    "store.before_commit",
    "store.after_commit",
    "admit.after_commit",
    "transition.after_commit",
    "act.before_perform",
    "act.after_perform",
];

/// Passages of each point; after them both messages are answered.
const PASSAGES: u32 = 9;

fn post(world: &TestHome, key: &str) -> bool {
    let said = world.wakeful(&["message", "main", "do it", "--idempotency-key", key, "--json"]);
    said.code == Some(0)
}

/// All runs, in full.
fn runs(world: &TestHome) -> Vec<Value> {
    let list = world.wakeful(&["runs", "list", "--json"]).json();
    let lines = list["runs"].as_array().cloned().unwrap_or_default();
    let keys = lines
        .iter()
        .map(|run| run["run_key"].as_str().expect("a key").to_owned());
    keys.map(|key| world.wakeful(&["runs", "show", &key, "--json"]).json())
        .collect()
}

/// Crashes one daemon and starts a second one. Returns true if the point was reached.
fn crash_at(point: &str, passage: u32) -> bool {
    let world = TestHome::new();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    let mut command = world.command(crash_binary());
    command
        .args(["serve", "--port", "0", "--model", &model])
        .env("WAKEFUL_FAIL_POINT", format!("{point}:{passage}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut doomed = RunningDaemon::of(&world, command.spawn().expect("starts"));
    wait_until(|| doomed.is_dead() || doomed.address().is_some());
    // Sent in process if the daemon is already dead: then the message is queued for the next one.
    let acknowledged: Vec<bool> = KEYS.map(|key| post(&world, key)).to_vec();
    let quiet = || {
        runs(&world)
            .iter()
            .filter(|run| run["outcome"] == "completed")
            .count()
            == KEYS.len()
    };
    wait_until(|| doomed.is_dead() || quiet());
    let met = doomed.is_dead();
    if met {
        doomed.wait();
    } else {
        assert!(doomed.terminate().success());
    }
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    for (key, was) in KEYS.iter().zip(acknowledged) {
        let again = world.wakeful(&["message", "main", "do it", "--idempotency-key", key, "--json"]);
        assert_eq!(again.code, Some(0), "{point}:{passage} {again:?}");
        assert!(
            !was || again.json()["admission"] == "duplicate",
            "{point}:{passage}: {key} was acknowledged and lost"
        );
    }
    wait_until(quiet);
    let unknown: usize = runs(&world)
        .iter()
        .map(|run| run["unknown"].as_array().map_or(0, Vec::len))
        .sum();
    let (lines, all) = (world.lines().len(), KEYS.len());
    assert_eq!(runs(&world).len(), all, "{point}:{passage}");
    assert!(lines <= all, "{point}:{passage}: an effect happened twice");
    assert!(
        lines + unknown >= all,
        "{point}:{passage}: an effect is missing and not reported"
    );
    met
}

#[test]
fn killed_at_any_commit_a_daemon_loses_and_repeats_nothing() {
    for point in POINTS {
        let met = (1..=PASSAGES).filter(|passage| crash_at(point, *passage)).count();
        assert!(met > 0, "{point} was never met");
    }
}
