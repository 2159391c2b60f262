//! From a change in one terminal to a run in the daemon: exactly once, regardless of which process is
//! killed in between.

use serde_json::Value;

use super::crash::crash_binary;
use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{TestHome, wait_until};

const ANSWER: &str = "rounds:\n  - text: seen\n";

/// A test home with an agent that subscribes to the gym.
fn subscribed(world: &TestHome) {
    for args in [
        &["agent", "create", "coach"][..],
        &["journal", "category", "add", "gym"],
        &["journal", "category", "add", "garden"],
        &[
            "subscribe",
            "coach",
            "--on",
            "TASK",
            "--category",
            "gym",
            "--message",
            "plan the week",
            "--id",
            "gym",
        ],
    ] {
        let said = world.wakeful(args);
        assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    }
}

fn runs(world: &TestHome) -> Vec<Value> {
    let list = world
        .wakeful(&["runs", "list", "--agent", "coach", "--json"])
        .json();
    list["runs"].as_array().expect("runs").clone()
}

fn completed(world: &TestHome) -> usize {
    runs(world)
        .iter()
        .filter(|run| run["status"] == "completed")
        .count()
}

#[test]
fn a_task_added_in_one_terminal_wakes_the_subscribed_agent_once() {
    let world = TestHome::new();
    subscribed(&world);
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["journal", "task", "add", "Mow the lawn", "--category", "garden"]);
    world.wakeful(&["journal", "task", "add", "Leg day", "--category", "gym"]);
    wait_until(|| completed(&world) == 1);
    let all = runs(&world);
    assert_eq!(all.len(), 1, "{all:?}");
    let key = all[0]["run_key"].as_str().expect("a key");
    let run = world.wakeful(&["runs", "show", key, "--json"]).json().to_string();
    assert!(run.contains("Leg day") && run.contains("plan the week"), "{run}");
    let listed = world
        .wakeful(&["subscriptions", "--agent", "coach", "--json"])
        .json();
    assert_eq!(listed["subscriptions"][0]["subscription_id"], "gym", "{listed}");
    // A unique prefix is enough.
    assert_eq!(world.wakeful(&["unsubscribe", "gy"]).code, Some(0));
    assert_eq!(
        world.wakeful(&["unsubscribe", "gym", "--json"]).error_code(),
        "subscription_unknown"
    );
    world.wakeful(&["journal", "task", "add", "Arm day", "--category", "gym"]);
    daemon.kill();
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    assert_eq!(runs(&world).len(), 1, "no agent is subscribed any more");
    daemon.kill();
}

// Conformance: L-062
#[test]
fn changes_while_no_daemon_ran_wake_when_one_starts() {
    let world = TestHome::new();
    subscribed(&world);
    world.wakeful(&["journal", "task", "add", "Leg day", "--category", "gym"]);
    assert!(runs(&world).is_empty());
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| completed(&world) == 1);
    daemon.kill();
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    assert_eq!(runs(&world).len(), 1, "a restart wakes no agent twice");
    daemon.kill();
}

#[test]
fn two_daemons_on_one_database_wake_an_agent_once_for_each_change() {
    let world = TestHome::on_postgres();
    subscribed(&world);
    let beside = TestHome::on(world.shared_database());
    let model = world.script(ANSWER);
    let daemons = [&world, &beside].map(|world| RunningDaemon::serve(world, &["--model", &model]));
    for done in 1..=3 {
        world.wakeful(&["journal", "task", "add", "Leg day", "--category", "gym"]);
        wait_until(|| completed(&world) == done);
    }
    assert_eq!(runs(&world).len(), 3);
    daemons.into_iter().for_each(RunningDaemon::kill);
}

#[test]
fn a_daemon_without_subscriptions_creates_no_journal() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "coach"]);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert!(
        world
            .wakeful(&["subscriptions"])
            .stdout
            .contains("there are no subscriptions")
    );
    daemon.kill();
    assert!(!world.home().join("db.sqlite").exists());
}

#[test]
fn bad_subscriptions_are_reported_with_their_code() {
    let world = TestHome::new();
    subscribed(&world);
    let long = "x".repeat(5_000);
    let cases: [(&[&str], &str); 10] = [
        (&["coach"], "tokens_missing"),
        (&["coach", "--on", "=x"], "bad_api_token"),
        (&["coach", "--on", "TASK", "--predicate", "{"], "bad_predicate"),
        (
            &["coach", "--on", "TASK", "--predicate", "{\"field\": 7}"],
            "bad_predicate",
        ),
        (&["coach", "--on", "TASK", "--where", "status"], "bad_predicate"),
        (&["coach", "--on", "TASK", "--cooldown", "30d"], "bad_cooldown"),
        (&["coach", "--on", "TASK", "--message", &long], "message_too_long"),
        (&["coach", "--on", "TASK", "--id", "A b"], "bad_id"),
        (&["coach", "--on", "TASK", "--id", "gym"], "subscription_exists"),
        (&["nobody", "--on", "TASK"], "agent_unknown"),
    ];
    for (args, code) in cases {
        let said = world.wakeful(&[&["subscribe"], args, &["--json"]].concat());
        assert_eq!(said.error_code(), code, "{args:?}: {said:?}");
    }
    assert_eq!(
        world
            .wakeful(&["subscribe", "coach", "--on", "TASK", "--cooldown", "soon"])
            .code,
        Some(2)
    );
}

#[test]
fn killed_anywhere_between_change_and_run_exactly_one_run_exists() {
    let points = [
        "journal.before_commit",
        "journal.after_commit",
        "notice.before_commit",
        "notice.after_commit",
        "admit.before_commit",
        "admit.after_commit",
        "model.before_ask",
        "model.after_answer",
        "transition.after_commit",
    ];
    for point in points {
        let world = TestHome::new();
        subscribed(&world);
        let model = world.script(ANSWER);
        let mut command = world.command(crash_binary());
        command.args(["serve", "--port", "0", "--model", &model]);
        command.env("WAKEFUL_FAIL_POINT", point);
        let child = command
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let mut daemon = RunningDaemon::of(&world, child);
        wait_until(|| daemon.address().is_some_and(|address| is_ready(&address)));
        let add = [
            "journal",
            "task",
            "add",
            "Leg day",
            "--category",
            "gym",
            "--idempotency-key",
            "k",
        ];
        world.wakeful(&add);
        wait_until(|| daemon.is_dead());
        let daemon = RunningDaemon::serve(&world, &["--model", &model]);
        // The person cannot know whether it was written, and repeats it with the same key.
        assert_eq!(world.wakeful(&add).code, Some(0), "{point}");
        wait_until(|| completed(&world) == 1);
        let all = runs(&world);
        assert_eq!(all.len(), 1, "{point}: {all:?}");
        daemon.kill();
    }
}

#[test]
fn a_subscription_is_paused_and_resumed_with_and_without_a_daemon() {
    let world = TestHome::new();
    subscribed(&world);
    let turned = |verb: &str| {
        let said = world.wakeful(&["subscriptions", verb, "gym", "--json"]);
        assert_eq!(said.code, Some(0), "{verb}: {said:?}");
        said.json()["is_active"].clone()
    };
    assert_eq!(turned("pause"), false);
    let listed = world.wakeful(&["subscriptions"]).stdout;
    assert!(
        listed.contains("gym   wakes coach on TASK, where category=gym"),
        "{listed}"
    );
    assert!(listed.trim_end().ends_with(", paused"), "{listed}");
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["journal", "task", "add", "Leg day", "--category", "gym"]);
    let why_not = || world.wakeful(&["why-not", "coach"]).stdout;
    wait_until(|| why_not().contains("subscription_paused"));
    let told = why_not();
    assert!(
        told.contains("would have matched") && told.contains("`wakeful subscriptions resume`"),
        "{told}"
    );
    assert_eq!(turned("resume"), true);
    world.wakeful(&["journal", "task", "add", "Arm day", "--category", "gym"]);
    wait_until(|| completed(&world) == 1);
    assert_eq!(runs(&world).len(), 1, "what was missed is not made up for");
    let log = world.wakeful(&["events", "coach", "--json"]).stdout;
    assert!(
        log.contains("Subscription paused: gym") && log.contains("Subscription resumed: gym"),
        "{log}"
    );
    let code = |id: &str| {
        world
            .wakeful(&["subscriptions", "pause", id, "--json"])
            .error_code()
    };
    assert_eq!(code("nobody"), "subscription_unknown");
    assert_eq!(code("A b"), "bad_id");
    let both = ["subscriptions", "--agent", "coach", "pause", "gym", "--json"];
    assert_eq!(world.wakeful(&both).error_code(), "usage");
    daemon.kill();
}

#[test]
fn edited_terms_apply_at_once_and_are_reported_like_new_ones() {
    let world = TestHome::new();
    subscribed(&world);
    let edit = |args: &[&str]| world.wakeful(&[&["subscriptions", "edit", "gy"], args].concat());
    let said = edit(&["--category", "gmy", "--cooldown", "10m"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("did you mean gym?"), "{said:?}");
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let said = edit(&["--category", "garden", "--cooldown", "0s", "--message", "mow it"]);
    assert_eq!(
        said.stdout.trim(),
        "gym   wakes coach on TASK, where category=garden, message \"mow it\"",
        "{said:?}"
    );
    world.wakeful(&["journal", "task", "add", "Leg day", "--category", "gym"]);
    world.wakeful(&["journal", "task", "add", "Mow the lawn", "--category", "garden"]);
    wait_until(|| completed(&world) == 1);
    let all = runs(&world);
    assert_eq!(all.len(), 1, "{all:?}");
    let key = all[0]["run_key"].as_str().expect("a key");
    let run = world.wakeful(&["runs", "show", key, "--json"]).json().to_string();
    assert!(run.contains("Mow the lawn") && run.contains("mow it"), "{run}");
    let log = world.wakeful(&["events", "coach", "--json"]).stdout;
    assert!(log.contains("Subscription changed: gym"), "{log}");
    let said = edit(&["--no-where", "--on", "NOTE", "--json"]).json();
    assert!(said["predicate"].is_null() && said["any"][0] == "NOTE", "{said}");
    assert_eq!(edit(&["--no-on", "--json"]).error_code(), "tokens_missing");
    assert_eq!(edit(&["--no-where", "--category", "gym"]).code, Some(2));
    daemon.kill();
}

#[test]
fn subscribing_to_an_unknown_token_or_without_a_daemon_is_reported() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "coach"]);
    world.wakeful(&["journal", "category", "add", "gym"]);
    let said = world.wakeful(&[
        "subscribe",
        "--on",
        "task",
        "--on",
        "NOTE",
        "--category",
        "gmy",
        "coach",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("wakes coach on task or NOTE"), "{said:?}");
    for warning in [
        "there is no kind \"task\", so nothing matches it; did you mean TASK?",
        "there is no category \"gmy\", so nothing matches it; did you mean gym?",
    ] {
        assert!(said.stderr.contains(warning), "{said:?}");
    }
    let said = world.wakeful(&["subscribe", "--on", "task.bogus=1", "coach", "--json"]);
    assert!(
        said.json()["warnings"].to_string().contains("task.bogus"),
        "{said:?}"
    );
    let said = world.wakeful(&[
        "subscribe",
        "--on",
        "TASK",
        "--category",
        "gym",
        "coach",
        "--json",
    ]);
    assert!(said.json()["warnings"].is_null(), "{said:?}");
    assert!(said.stderr.contains("wakeful daemon start"), "{said:?}");
    let none = world.wakeful(&["subscriptions", "--agent", "coach"]).stdout;
    assert!(!none.contains("has no subscriptions"), "{none}");
}
