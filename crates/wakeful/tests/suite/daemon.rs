//! The daemon as people use it: started, stopped, killed, queried; and every other command as its client.

use std::process::Child;

use serde_json::Value;

use super::home_fixture::{SILENT, TestHome, commands, lasting, wait_until};

/// A daemon that is killed at the end of the test.
pub(super) struct RunningDaemon<'a> {
    pub(super) world: &'a TestHome,
    child: Option<Child>,
}

impl<'a> RunningDaemon<'a> {
    /// Serves in the foreground on a free port.
    pub(super) fn serve(world: &'a TestHome, args: &[&str]) -> Self {
        let child = world.start(&[&["serve", "--port", "0"], args].concat());
        let daemon = Self::of(world, child);
        wait_until(|| daemon.address().is_some_and(|address| is_ready(&address)));
        daemon
    }

    /// A daemon that was started in another way and may be in any stage.
    pub(super) fn of(world: &'a TestHome, child: Child) -> Self {
        Self {
            world,
            child: Some(child),
        }
    }

    /// Waits until the daemon exits by itself.
    pub(super) fn wait(mut self) {
        self.child.take().expect("running").wait().expect("gone");
    }

    /// The processor time it has used, in clock ticks.
    pub(super) fn processor_ticks(&self) -> u64 {
        let pid = self.child.as_ref().expect("running").id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let fields: Vec<&str> = fields.split_whitespace().collect();
        fields[11].parse::<u64>().expect("ticks") + fields[12].parse::<u64>().expect("ticks")
    }

    pub(super) fn is_dead(&mut self) -> bool {
        let child = self.child.as_mut().expect("not waited for");
        child.try_wait().expect("a process of ours").is_some()
    }

    /// The address on which it listens.
    pub(super) fn address(&self) -> Option<String> {
        let record = std::fs::read(self.world.home().join("run/daemon.json")).ok()?;
        let record: Value = serde_json::from_slice(&record).ok()?;
        Some(record["http_addr"].as_str()?.to_owned())
    }

    /// Sends `SIGTERM` and returns the exit status.
    pub(super) fn terminate(mut self) -> std::process::ExitStatus {
        let mut child = self.child.take().expect("running");
        let pid = i32::try_from(child.id()).expect("a pid");
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).expect("a pid"),
            rustix::process::Signal::TERM,
        )
        .expect("a signal");
        child.wait().expect("ends")
    }

    /// Sends `SIGKILL`.
    pub(super) fn kill(mut self) {
        let mut child = self.child.take().expect("running");
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
}

impl Drop for RunningDaemon<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a daemon serves at an address.
pub(super) fn is_ready(address: &str) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut stream) = std::net::TcpStream::connect(address) else {
        return false;
    };
    let asked = write!(
        stream,
        "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    let mut answer = String::new();
    asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
}

/// The outcome of a run, as `runs show` prints it.
fn outcome(world: &TestHome, key: &str) -> String {
    let run = world.wakeful(&["runs", "show", key, "--json"]).json();
    run["outcome"].as_str().unwrap_or_default().to_owned()
}

// Conformance: A-34
#[test]
fn every_command_gives_the_same_result_with_and_without_a_daemon() {
    let world = TestHome::new();
    let script = commands(&["echo one >> world.txt"]);
    let alone = world.run(
        &script,
        &["--agent", "main", "--create-agent", "--idempotency-key", "k1"],
    );
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let key = alone.json()["run_key"].as_str().expect("a key").to_owned();
    let ask = |args: &[&str]| world.wakeful(args).json();
    let verbs: [&[&str]; 5] = [
        &["runs", "list", "--json"],
        &["runs", "show", key.get(..12).expect("long"), "--json"],
        &["agent", "show", "main", "--json"],
        &["agent", "list", "--json"],
        &["events", "main", "--limit", "1", "--json"],
    ];
    let before = verbs.map(ask);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(verbs.map(ask), before);
    let again = world.run(&script, &["--agent", "main", "--idempotency-key", "k1"]);
    assert_eq!(
        again.json(),
        alone.json(),
        "the same key is the same run, with or without a daemon"
    );
    let second = world.run(&script, &["--agent", "main"]);
    assert_eq!((second.code, world.lines().len()), (Some(0), 2), "{second:?}");
    let transcript = world.wakeful(&["transcript", "main"]);
    assert!(transcript.stdout.contains("all done"), "{transcript:?}");
    drop(daemon);
    assert_eq!(
        outcome(&world, second.json()["run_key"].as_str().expect("a key")),
        "completed"
    );
}

#[test]
fn a_temporary_agent_and_a_denied_tool_work_through_the_daemon() {
    let world = TestHome::new();
    let _daemon = RunningDaemon::serve(&world, &[]);
    let denied = world.run(&commands(&["touch never"]), &["--deny-tools", "ExecCommand"]);
    assert_eq!(denied.code, Some(4), "{denied:?}");
    assert!(!world.workspace().join("never").exists());
    let unknown = world.run("rounds: [{text: x}]\n", &["--agent", "nobody"]);
    assert_eq!(
        (unknown.code, unknown.error_code().as_str()),
        (Some(1), "agent_unknown"),
        "{unknown:?}"
    );
    let refused = world.run("rounds: [{text: x}]\n", &["--allow-unsandboxed"]);
    assert_eq!(
        (refused.code, refused.error_code().as_str()),
        (Some(2), "set_by_daemon"),
        "{refused:?}"
    );
}

// Conformance: A-32
#[test]
fn a_queued_message_is_answered_once_when_a_daemon_starts() {
    let world = TestHome::new();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    let sent = world.wakeful(&["message", "main", "do it", "--idempotency-key", "k", "--json"]);
    assert_eq!(sent.json()["admission"], "new", "{sent:?}");
    let key = sent.json()["run_key"].as_str().expect("a key").to_owned();
    let again = world.wakeful(&["message", "main", "do it", "--idempotency-key", "k", "--json"]);
    assert_eq!(
        (&again.json()["admission"], &again.json()["run_key"]),
        (&"duplicate".into(), &key.clone().into())
    );
    let other = world.wakeful(&[
        "message",
        "main",
        "something else",
        "--idempotency-key",
        "k",
        "--json",
    ]);
    assert_eq!(other.error_code(), "idempotency_conflict", "{other:?}");
    assert_eq!(outcome(&world, &key), "queued");
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| outcome(&world, &key) == "completed");
    assert_eq!(world.lines(), ["one"]);
}

#[test]
fn a_second_daemon_is_refused_and_names_the_first() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let second = world.wakeful(&["serve", "--port", "0", "--json"]);
    assert_eq!(
        (second.code, second.error_code().as_str()),
        (Some(1), "daemon_running"),
        "{second:?}"
    );
    let message = second.json()["error"]["message"].to_string();
    assert!(
        message.contains(&daemon.address().expect("an address")),
        "{message}"
    );
}

#[test]
fn a_used_port_and_an_open_address_without_a_token_are_refused() {
    let world = TestHome::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let said = world.wakeful(&["serve", "--port", &port, "--json"]);
    assert_eq!(said.error_code(), "port_in_use", "{said:?}");
    let said = world.wakeful(&["serve", "--host", "0.0.0.0", "--port", "0", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "token_required"),
        "{said:?}"
    );
    let said = world.wakeful(&["serve", "--token", "short", "--json"]);
    assert_eq!(said.error_code(), "bad_api_token", "{said:?}");
    assert!(!world.home().exists());
}

#[test]
fn stopped_by_a_signal_a_daemon_loses_and_repeats_nothing() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    // The first is running when the signal arrives, the others are queued.
    let slow = world.script(&lasting("0.3"));
    let daemon = RunningDaemon::serve(&world, &["--model", &slow]);
    for _ in 0..3 {
        world.wakeful(&["message", "main", "do it"]);
    }
    wait_until(|| world.workspace().join("begun").exists());
    assert!(daemon.terminate().success());
    assert!(!world.home().join("run/daemon.json").exists(), "it says goodbye");
    let _daemon = RunningDaemon::serve(&world, &["--model", &slow]);
    let ended = || world.wakeful(&["runs", "list", "--json"]).json();
    let all = |list: &Value| {
        list["runs"]
            .as_array()
            .is_some_and(|runs| runs.iter().filter(|run| run["status"] == "completed").count() == 3)
    };
    wait_until(|| all(&ended()));
    assert_eq!(world.lines(), ["one", "one", "one"]);
}

// Conformance: H-073, H-091
#[test]
fn a_killed_daemon_leaves_stale_files_that_block_nothing() {
    let world = TestHome::new();
    let silent = world.script(SILENT);
    let daemon = RunningDaemon::serve(&world, &["--model", &silent]);
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["message", "main", "do it"]);
    wait_until(|| !world.open_runs().is_empty());
    daemon.kill();
    let status = world.wakeful(&["daemon", "status", "--json"]).json();
    assert_eq!(
        (&status["running"], &status["stale_files"]),
        (&false.into(), &true.into())
    );
    assert_eq!(
        world.wakeful(&["agent", "list"]).code,
        Some(0),
        "verbs work in process again"
    );
    let quick = world.script_named("quick.yaml", "rounds: [{text: quick}]\n");
    let _daemon = RunningDaemon::serve(&world, &["--model", &quick]);
    // The run keeps the model it was started with, and is resumed.
    assert_eq!(world.open_runs().len(), 1);
    let cancelled = world.wakeful(&["runs", "cancel", &world.open_runs().remove(0), "--json"]);
    assert_eq!(cancelled.json()["outcome"], "cancelled", "{cancelled:?}");
}

#[test]
fn a_queued_message_can_be_cancelled() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["agent", "pause", "main"]);
    let _daemon = RunningDaemon::serve(&world, &[]);
    let sent = world.wakeful(&["message", "main", "do it", "--json"]).json();
    let key = sent["run_key"].as_str().expect("a key");
    assert_eq!(outcome(&world, key), "queued", "a paused agent keeps what comes");
    let cancelled = world.wakeful(&["runs", "cancel", key, "--json"]);
    assert_eq!(cancelled.json()["outcome"], "cancelled", "{cancelled:?}");
    let agent = world.wakeful(&["agent", "resume", "main", "--json"]).json();
    assert_eq!(
        (&agent["pending"], &agent["control"]),
        (&0.into(), &"running".into())
    );
    assert_eq!(
        world.wakeful(&["runs", "list", "--json"]).json()["runs"],
        serde_json::json!([])
    );
}

#[test]
fn stuck_work_is_reported_with_a_hint_and_continues_when_possible() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: here again}]\n");
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let gone = world.path().join("work/gone");
    std::fs::create_dir(&gone).expect("a folder");
    world.wakeful(&[
        "agent",
        "create",
        "main",
        "--workspace",
        gone.to_str().expect("text"),
    ]);
    std::fs::remove_dir(&gone).expect("removed");
    world.wakeful(&["message", "main", "do it"]);
    let status = || world.wakeful(&["status", "--json"]).json();
    wait_until(|| status()["daemon"]["stuck"][0]["agent_id"] == "main");
    assert_eq!(status()["agents"][0]["activity"], "stuck");
    assert_eq!(status()["daemon"]["stuck"][0]["code"], "workspace_unusable");
    std::fs::create_dir(&gone).expect("there again");
    // Any event makes the daemon check again.
    world.wakeful(&["message", "main", "and this"]);
    wait_until(|| status()["agents"][0]["activity"] == "asleep");
    assert_eq!(status()["daemon"]["stuck"], serde_json::json!([]));
    drop(daemon);
}

// Conformance
#[test]
fn two_daemons_on_one_database_run_each_message_once() {
    let one = TestHome::on_postgres();
    let other = TestHome::on(one.shared_database());
    let model = one.script(&commands(&["echo one >> world.txt"]));
    let _daemons = [
        RunningDaemon::serve(&one, &["--model", &model]),
        RunningDaemon::serve(&other, &["--model", &model]),
    ];
    one.wakeful(&["agent", "create", "main"]);
    for _ in 0..4 {
        let sent = other.wakeful(&["message", "main", "do it", "--json"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let all = || {
        let list = one.wakeful(&["runs", "list", "--json"]).json();
        let runs = list["runs"].as_array().cloned().unwrap_or_default();
        runs.iter().filter(|run| run["status"] == "completed").count()
    };
    wait_until(|| all() == 4);
    assert_eq!(one.lines().len(), 4);
}
