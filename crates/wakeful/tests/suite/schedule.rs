//! Schedules as people use them: added, fired by a daemon, shown; and kills around the commit of a firing.

use std::process::Stdio;

use serde_json::Value;

use super::crash::{call, crash_binary};
use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, commands, wait_until};

/// The arguments that every added schedule shares.
const ADD: [&str; 8] = [
    "schedule",
    "add",
    "coach",
    "--message",
    "Look at the day.",
    "--id",
    "daily",
    "--json",
];

fn world_with_agent() -> TestHome {
    let world = TestHome::new();
    let made = world.wakeful(&["agent", "create", "coach"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    world
}

fn history(world: &TestHome) -> Vec<Value> {
    let said = world.wakeful(&["schedule", "history", "daily", "--json"]);
    said.json()["executions"].as_array().expect("records").clone()
}

fn runs(world: &TestHome) -> usize {
    let said = world.wakeful(&["runs", "list", "--json"]);
    said.json()["runs"].as_array().expect("runs").len()
}

#[test]
fn a_schedule_wakes_its_agent_and_its_history_names_the_run() {
    let world = world_with_agent();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let added = world.wakeful(&[&ADD[..], &["--every", "1s", "--once"]].concat());
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(
        added.json()["note"].is_null(),
        "a message is delivered: {added:?}"
    );
    assert_eq!(
        added.json()["upcoming"].as_array().map(Vec::len),
        Some(3),
        "{added:?}"
    );
    wait_until(|| {
        world.lines() == ["one"] && history(&world).iter().any(|one| one["run_status"] == "completed")
    });
    let records = history(&world);
    let outcomes: Vec<_> = records
        .iter()
        .map(|one| one["outcome"].as_str().expect("a word"))
        .collect();
    assert_eq!(outcomes, ["disabled", "run"], "newest first");
    assert_eq!(runs(&world), 1);
    let list = world.wakeful(&["schedule", "list", "--json"]).json();
    assert_eq!(list["schedules"][0]["status"], "disabled");
    let again = world.wakeful(&["schedule", "trigger-now", "daily", "--json"]);
    assert_eq!(
        (again.code, again.error_code().as_str()),
        (Some(1), "schedule_expired")
    );
}

#[test]
fn a_new_schedule_prints_when_it_fires_and_what_it_needs() {
    let world = world_with_agent();
    let mut command = world.command(super::home_fixture::program());
    command
        .env("TZ", ":Europe/Berlin")
        .args(&ADD[..7])
        .args(["--cron", "0 7 * * *"]);
    let said: super::home_fixture::CommandOutput = command.output().expect("starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    for word in ["0 7 * * * Europe/Berlin", "next      ", "then      "] {
        assert!(said.stdout.contains(word), "{word}: {said:?}");
    }
    assert!(said.stderr.contains("only a daemon fires schedules"), "{said:?}");
    for (verb, status) in [("pause", "paused"), ("resume", "active"), ("disable", "disabled")] {
        let said = world.wakeful(&["schedule", verb, "daily", "--json"]);
        assert_eq!(said.json()["status"], status, "{said:?}");
    }
    let said = world.wakeful(&["schedule", "resume", "daily", "--json"]);
    assert_eq!(said.error_code(), "bad_schedule_transition", "{said:?}");
}

#[test]
fn an_invalid_schedule_is_refused_with_the_wrong_field() {
    let world = world_with_agent();
    let cases: [(&[&str], &str); 7] = [
        (&["--cron", "every day", "--zone", "Europe/Berlin"], "`cron`"),
        (&["--cron", "0 7 * * *", "--zone", "Mars/Olympus"], "`time_zone`"),
        (&["--every", "0m"], "`interval_seconds`"),
        (&["--every", "soon"], "--every"),
        (&["--at", "2001-01-01T00:00:00Z"], "`at`"),
        (&["--at", "tomorrow"], "`at`"),
        (&[], "--cron"),
    ];
    for (args, word) in cases {
        let said = world.wakeful(&[&ADD[..], args].concat());
        assert_eq!(said.error_code(), "bad_schedule", "{said:?}");
        assert!(said.stdout.contains(word), "{word}: {said:?}");
    }
    let nobody = world.wakeful(&[
        "schedule",
        "add",
        "nobody",
        "--message",
        "x",
        "--every",
        "1m",
        "--json",
    ]);
    assert_eq!(nobody.error_code(), "agent_unknown", "{nobody:?}");
    let gone = world.wakeful(&["schedule", "pause", "gone", "--json"]);
    assert_eq!(gone.error_code(), "schedule_unknown", "{gone:?}");
    assert_eq!(
        world.wakeful(&["schedule", "list", "--json"]).json()["schedules"],
        serde_json::json!([])
    );
}

// Conformance: L-079, L-084, L-204
#[test]
fn killed_around_the_commit_of_a_firing_there_is_one_run() {
    for (point, records) in [("timer.before_commit", 0), ("timer.after_commit", 2)] {
        let world = world_with_agent();
        let model = world.script(&commands(&["echo one >> world.txt"]));
        let args = ["--every", "1s", "--once", "--always", "--catch-up"];
        let added = call(&world, &[&ADD[..], &args].concat(), None);
        assert_eq!(added.code, Some(0), "{added:?}");
        let mut doomed = world.command(crash_binary());
        doomed
            .args(["serve", "--port", "0", "--model", &model])
            .env("WAKEFUL_FAIL_POINT", format!("{point}:1"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let died = doomed.status().expect("starts");
        assert_eq!(died.code(), None, "{point} was never reached");
        assert_eq!(
            history(&world).len(),
            records,
            "all of it is written at {point}, or nothing"
        );
        let daemon = RunningDaemon::serve(&world, &["--model", &model]);
        wait_until(|| history(&world).iter().any(|one| one["run_status"] == "completed"));
        drop(daemon);
        assert_eq!(world.lines(), ["one"], "{point}");
        assert_eq!(runs(&world), 1, "{point}");
    }
}

// Conformance: L-072, A-79
#[test]
fn two_daemons_on_one_database_deliver_each_firing_once() {
    let world = TestHome::on_postgres();
    let other = TestHome::on(world.shared_database());
    let made = world.wakeful(&["agent", "create", "coach"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let _first = RunningDaemon::serve(&world, &["--model", &model]);
    let _second = RunningDaemon::serve(&other, &["--model", &model]);
    let args = ["--every", "1s", "--always", "--concurrency", "allow"];
    let added = world.wakeful(&[&ADD[..], &args].concat());
    assert_eq!(added.code, Some(0), "{added:?}");
    wait_until(|| {
        history(&world)
            .iter()
            .filter(|one| one["outcome"] == "run")
            .count()
            >= 3
    });
    let paused = world.wakeful(&["schedule", "pause", "daily", "--json"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    let records = history(&world);
    let mut moments: Vec<_> = records
        .iter()
        .map(|one| one["due_at"].as_str().expect("a time"))
        .collect();
    moments.sort_unstable();
    let all = moments.len();
    moments.dedup();
    assert_eq!(moments.len(), all, "{records:?}");
    let fired = records.iter().filter(|one| one["outcome"] == "run").count();
    wait_until(|| runs(&world) == fired && world.open_runs().is_empty());
}

#[test]
fn an_event_fires_its_schedules_once_per_key() {
    let world = world_with_agent();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let guard = r#"{"field": "source", "op": "eq", "value": "event"}"#;
    let args = ["--every", "1d", "--event", "backup.done", "--guard", guard];
    let added = world.wakeful(&[&ADD[..], &args].concat());
    assert_eq!(added.json()["event"], "backup.done", "{added:?}");
    assert_eq!(added.json()["guard"]["value"], "event", "{added:?}");
    let came = |key: &str| {
        let said = world.wakeful(&["schedule", "raise-event", "backup.done", "--key", key, "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let json = said.json();
        assert_eq!(json["executions"][0]["trigger_source"], "event", "{json}");
        (
            json["executions"][0]["outcome"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            json["executions"][0]["reason"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let ran = || ("run".to_owned(), String::new());
    let known = || ("skipped".to_owned(), "already_run".to_owned());
    // It is queued for a daemon, and a repeated delivery is not a new one.
    assert_eq!((came("first"), came("first")), (ran(), known()));
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| history(&world).iter().any(|one| one["run_status"] == "completed"));
    assert_eq!((came("first"), came("second")), (known(), ran()));
    wait_until(|| runs(&world) == 2 && world.open_runs().is_empty());
    let nobody = world.wakeful(&["schedule", "raise-event", "nothing.known"]);
    assert!(
        nobody
            .stdout
            .contains("no active schedule waits for nothing.known"),
        "{nobody:?}"
    );
    let bad = world.wakeful(&["schedule", "raise-event", "No Name", "--json"]);
    assert_eq!(bad.error_code(), "bad_id", "{bad:?}");
    let run = history(&world)[0]["run_key"].as_str().expect("a run").to_owned();
    let why = world.wakeful(&["why", &run]);
    assert!(
        why.stdout
            .contains("event backup.done occurred, which schedule daily waits for"),
        "{why:?}"
    );
    // It no longer has an event or a guard.
    let edited = world.wakeful(&["schedule", "edit", "daily", "--no-event", "--no-guard", "--json"]);
    assert_eq!(
        (&edited.json()["event"], &edited.json()["guard"]),
        (&Value::Null, &Value::Null),
        "{edited:?}"
    );
    let deaf = world.wakeful(&["schedule", "raise-event", "backup.done", "--json"]);
    assert_eq!(deaf.json()["executions"], serde_json::json!([]), "{deaf:?}");
}

#[test]
fn an_unreadable_schedule_is_reported_and_the_others_fire() {
    let world = world_with_agent();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let every = ["--every", "1s", "--once", "--always", "--catch-up"];
    let added = world.wakeful(&[&ADD[..], &every].concat());
    assert_eq!(added.code, Some(0), "{added:?}");
    let broken = [
        "schedule",
        "add",
        "coach",
        "--message",
        "Look.",
        "--id",
        "broken",
        "--every",
        "1s",
    ];
    assert_eq!(world.wakeful(&broken).code, Some(0));
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("a database");
    let broke = database.execute(
        "UPDATE schedule SET pattern = '{}' WHERE schedule_id = 'broken'",
        [],
    );
    assert_eq!(broke.expect("broken"), 1);
    drop(database);
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| history(&world).iter().any(|one| one["run_status"] == "completed"));
    assert_eq!(world.lines(), ["one"]);
    let list = world.wakeful(&["schedule", "list", "--json"]).json();
    let unreadable =
        serde_json::json!([{"schedule_id": "broken", "agent_id": "coach", "column": "schedule.pattern"}]);
    assert_eq!(list["unreadable"], unreadable, "{list}");
    assert_eq!(list["schedules"].as_array().map(Vec::len), Some(1), "{list}");
    let shown = world.wakeful(&["schedule", "list"]).stdout;
    assert!(shown.contains("unreadable: schedule.pattern"), "{shown}");
    let log = world.wakeful(&["events", "coach", "--json"]);
    assert!(log.stdout.contains("schedule_unreadable"), "{log:?}");
}

#[test]
fn a_schedule_that_waits_for_changes_says_so_when_it_is_added() {
    let world = world_with_agent();
    let add = |more: &[&str]| {
        let args = ["schedule", "add", "coach", "--every", "1h", "--json"];
        let said = world.wakeful(&[&args[..], more].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        (said.json()["always"].clone(), said.json()["note"].to_string())
    };
    let (always, note) = add(&[]);
    assert!(always == false && note.contains("nothing_to_do"), "{note}");
    let (always, note) = add(&["--say", "Look.", "--only-if-changed"]);
    assert!(always == false && note.contains("nothing_to_do"), "{note}");
    let (always, note) = add(&["--say", "Look."]);
    assert_eq!((always, note.as_str()), (Value::from(true), "null"));
}
