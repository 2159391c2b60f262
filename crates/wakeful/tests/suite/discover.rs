//! Commands and their daemon: a daemon that is dead, hangs, stops, restarts or uses another database is
//! distinguished from one that serves.

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{CommandOutput, TestHome, commands, lasting, program, wait_until};
use super::postgres::Database;

/// Maximum time until a command detects that a daemon hangs, on a busy machine.
const FOUND_OUT: Duration = Duration::from_secs(10);

/// Stops the background daemon of a test.
struct StopOnDrop<'a>(&'a TestHome);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.wakeful(&["daemon", "stop"]);
    }
}

fn pid(world: &TestHome) -> Pid {
    let record = std::fs::read(world.home().join("run/daemon.json")).expect("a record");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    let pid = record["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    Pid::from_raw(pid.expect("a number")).expect("a pid")
}

fn start(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["daemon", "start", "--port", "0", "--json"], args].concat())
}

#[test]
fn a_hanging_daemon_is_detected_within_seconds_and_never_reported_as_running() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    kill_process(pid(&world), Signal::STOP).expect("a signal");
    let began = Instant::now();
    for args in [
        &["daemon", "start", "--port", "0", "--json"][..],
        &["status", "--json"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(said.error_code(), "daemon_unreachable", "{said:?}");
        assert!(
            said.json()["error"]["hint"]
                .to_string()
                .contains("daemon restart"),
            "{said:?}"
        );
    }
    let status = world.wakeful(&["daemon", "status", "--json"]).json();
    let health = status["control_health"].as_str().expect("a word");
    assert!(health.starts_with("daemon_unreachable"), "{status}");
    assert!(began.elapsed() < 3 * FOUND_OUT, "{:?}", began.elapsed());
    kill_process(pid(&world), Signal::CONT).expect("a signal");
    assert_eq!(start(&world, &[]).json()["already_running"], true);
    drop(daemon);
}

#[test]
fn a_zombie_daemon_counts_as_dead() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    // Its parent is this test, which reaps it only at the end.
    let _daemon = RunningDaemon::serve(&world, &[]);
    let dead = pid(&world);
    kill_process(dead, Signal::KILL).expect("a signal");
    let stat = format!("/proc/{}/stat", dead.as_raw_nonzero());
    wait_until(|| std::fs::read_to_string(&stat).expect("a number").contains(") Z "));
    let said = start(&world, &[]);
    assert_eq!(said.json()["already_running"], false, "{said:?}");
    assert_ne!(pid(&world), dead);
}

#[test]
fn a_start_waits_for_a_daemon_that_is_stopping() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let slow = world.script(&lasting("1.5"));
    world.wakeful(&["agent", "create", "main"]);
    let daemon = RunningDaemon::serve(&world, &["--model", &slow]);
    world.wakeful(&["message", "main", "do it"]);
    wait_until(|| world.workspace().join("begun").exists());
    let (first, address) = (pid(&world), daemon.address().expect("an address"));
    kill_process(first, Signal::TERM).expect("a signal");
    wait_until(|| !is_ready(&address));
    let said = start(&world, &["--model", &slow]);
    assert_eq!(said.json()["already_running"], false, "{said:?}");
    assert_ne!(pid(&world), first);
}

#[test]
fn a_daemon_is_found_by_its_database_on_a_server() {
    let (world, other) = (TestHome::on_postgres(), Database::create());
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    assert_eq!(world.wakeful(&["open", "--print"]).code, Some(0));
    assert!(!world.wakeful(&["status", "--json"]).json()["daemon"].is_null());
    let sent = world.wakeful(&["message", "main", "do it"]);
    assert!(
        sent.code == Some(0) && !sent.stderr.contains("daemon"),
        "{sent:?}"
    );
    // The same home with a database that its daemon does not use.
    let elsewhere = |args: &[&str]| world.wakeful(&[args, &["--database", &other.url()]].concat());
    assert_eq!(elsewhere(&["agent", "create", "there"]).code, Some(0));
    let status = elsewhere(&["status"]);
    assert!(status.stdout.contains("uses another database"), "{status:?}");
    let sent = elsewhere(&["message", "there", "do it"]);
    assert!(sent.stderr.contains("uses another database"), "{sent:?}");
    let tail = elsewhere(&["tail", "there"]);
    assert!(tail.stderr.contains("uses another database"), "{tail:?}");
    let status = elsewhere(&["daemon", "status", "--json"]).json();
    assert_eq!(status["control_health"], "ok", "{status}");
    assert_eq!(elsewhere(&["open", "--print"]).code, Some(0));
    let stopped = elsewhere(&["daemon", "stop", "--json"]).json();
    assert_eq!(stopped["stopped"], true, "{stopped}");
}

#[test]
fn a_daemon_that_is_opening_its_database_is_waited_for() {
    let world = TestHome::on_postgres();
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    let mut holder = Command::new("psql")
        .args(["-q", "-d", &world.database().url()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("psql");
    let words = holder.stdin.as_mut().expect("a pipe");
    writeln!(
        words,
        "BEGIN; LOCK TABLE wakeful_agents.runner IN ACCESS EXCLUSIVE MODE;"
    )
    .expect("written");
    let held = "SELECT count(*) FROM pg_locks WHERE relation = 'wakeful_agents.runner'::regclass \
        AND granted AND mode = 'AccessExclusiveLock'";
    wait_until(|| world.database().value(held) == "1");
    let daemon = RunningDaemon::of(&world, world.start(&["serve", "--port", "0"]));
    wait_until(|| daemon.address().is_some());
    assert!(!is_ready(&daemon.address().expect("an address")));
    let second = world.wakeful(&["serve", "--port", "0", "--json"]);
    assert_eq!(second.error_code(), "daemon_running", "{second:?}");
    let asking = world.start(&["agent", "list", "--json"]);
    drop(holder.stdin.take());
    holder.wait().expect("gone");
    let said: CommandOutput = asking.wait_with_output().expect("ends").into();
    assert_eq!(said.json()["agents"][0]["agent_id"], "main", "{said:?}");
}

#[test]
fn watching_continues_after_the_daemon_is_restarted() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let slow = world.script(&lasting("0.5"));
    world.wakeful(&["agent", "create", "main"]);
    assert_eq!(start(&world, &["--model", &slow]).code, Some(0));
    let seen = world.path().join("seen");
    let mut tail = world.command(program());
    tail.args(["tail", "main", "--json"])
        .stdout(File::create(&seen).expect("a file"));
    let mut tail = tail.spawn().expect("starts");
    let run = world.start(&["run", "do it", "--agent", "main", "--json"]);
    wait_until(|| world.workspace().join("begun").exists());
    let restarted = world.wakeful(&["daemon", "restart", "--port", "0", "--model", &slow]);
    assert_eq!(restarted.code, Some(0), "{restarted:?}");
    let said: CommandOutput = run.wait_with_output().expect("ends").into();
    assert_eq!(
        (said.code, &said.json()["outcome"]),
        (Some(0), &"completed".into()),
        "{said:?}"
    );
    let end = |text: String| text.contains("run_ended");
    wait_until(|| std::fs::read_to_string(&seen).is_ok_and(end));
    assert_eq!(tail.try_wait().expect("a process of ours"), None, "it continues");
    tail.kill().expect("killed");
    tail.wait().expect("gone");
}

#[test]
fn waiting_for_an_answer_shows_what_is_waited_for() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: done}]\n");
    world.wakeful(&["agent", "create", "main"]);
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["agent", "pause", "main"]);
    world.wakeful(&["message", "main", "first"]);
    let run = world.start(&["run", "second", "--agent", "main", "--json"]);
    let pending = || world.wakeful(&["agent", "show", "main", "--json"]).json()["pending"].clone();
    wait_until(|| pending() == 2);
    world.wakeful(&["agent", "resume", "main"]);
    let said: CommandOutput = run.wait_with_output().expect("ends").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stderr.contains("paused") && said.stderr.contains("agent resume main"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("1 message is ahead in the queue"),
        "{said:?}"
    );
}

/// Finds, shows and cancels a queued message by the first digits of its key.
fn find_what_waits(world: &TestHome) {
    let sent = world.wakeful(&["message", "main", "do it", "--json"]).json();
    let key = sent["run_key"].as_str().expect("a key");
    let digits = key.get(..12).expect("long");
    let outcome = |verb: &str| world.wakeful(&["runs", verb, digits, "--json"]).json()["outcome"].clone();
    assert_eq!(outcome("show"), "queued");
    let of_one = world
        .wakeful(&["runs", "list", "--agent", "main", "--json"])
        .json();
    assert_eq!(of_one["queued"][0]["run_key"], key, "{of_one}");
    let of_all = world.wakeful(&["runs", "list", "--json"]).json();
    assert_eq!(of_all["pending"]["main"], 1, "{of_all}");
    let text = world.wakeful(&["runs", "list", "--agent", "main"]).stdout;
    assert!(text.contains(digits) && text.contains("queued"), "{text}");
    let text = world.wakeful(&["status"]).stdout;
    assert!(
        text.contains("1 message queued") && text.contains("1 queued"),
        "{text}"
    );
    assert_eq!(outcome("cancel"), "cancelled");
    assert_eq!(outcome("show"), "cancelled");
}

#[test]
fn a_queued_message_is_found_by_the_first_digits_of_its_key() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["agent", "pause", "main"]);
    find_what_waits(&world);
    let _daemon = RunningDaemon::serve(&world, &[]);
    find_what_waits(&world);
}

#[test]
fn a_run_without_a_driver_is_not_reported_as_active() {
    let world = TestHome::new();
    world.orphan("silent.yaml", &["--agent", "main", "--create-agent"]);
    let text = world.wakeful(&["status"]).stdout;
    assert!(text.contains("1 run open, no process drives it"), "{text}");
    assert!(text.contains("0 running") && !text.contains("working"), "{text}");
}

#[test]
fn a_command_for_an_agent_creates_no_home() {
    let world = TestHome::new();
    let verbs: [&[&str]; 3] = [
        &["message", "main", "do it", "--json"],
        &["agent", "pause", "main", "--json"],
        &["agent", "resume", "main", "--json"],
    ];
    for verb in verbs {
        let said = world.wakeful(verb);
        assert_eq!(said.error_code(), "home_missing", "{said:?}");
        assert!(!world.home().exists(), "{verb:?}");
    }
    assert_eq!(
        world
            .run(&commands(&["true"]), &["--agent", "main", "--create-agent"])
            .code,
        Some(0)
    );
    let hint = |said: CommandOutput| said.json()["error"]["hint"].as_str().expect("a hint").to_owned();
    let sent = hint(world.wakeful(&["message", "nobody", "do it", "--json"]));
    assert!(
        sent.contains("agent create nobody") && !sent.contains("--create-agent"),
        "{sent}"
    );
    let run = hint(world.run(&commands(&["true"]), &["--agent", "nobody"]));
    assert!(run.contains("--create-agent"), "{run}");
}
