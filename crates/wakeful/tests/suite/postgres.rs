//! A PostgreSQL database for one test, created on the server that the check script started.

use std::io::Write as _;
use std::process::Command;

use serde_json::json;

use super::home_fixture::{TestHome, commands, statuses, wait_until};

/// A database that is dropped at the end.
pub(super) struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Creates a database. A missing server fails the test and never skips it.
    pub(super) fn create() -> Self {
        let server = std::env::var_os("WAKEFUL_TEST_POSTGRES").and_then(|server| server.into_string().ok());
        let server = server.expect(
            "WAKEFUL_TEST_POSTGRES is not set: run this by `scripts/check test`, which starts a server",
        );
        Self::create_on(server)
    }

    /// Creates a database on another server.
    pub(super) fn create_on(server: String) -> Self {
        let unique = tempfile::Builder::new()
            .prefix("wakeful_cli_")
            .rand_bytes(10)
            .tempdir()
            .expect("a name");
        let name = unique
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .to_lowercase();
        let database = Self { server, name };
        database.sql(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// The address for the program: later words override earlier ones.
    pub(super) fn url(&self) -> String {
        let server: Vec<&str> = self
            .server
            .split_whitespace()
            .filter(|word| !word.starts_with("dbname="))
            .collect();
        format!("{} dbname={}", server.join(" "), self.name)
    }

    /// The single value that a query returns.
    pub(super) fn value(&self, query: &str) -> String {
        let done = Command::new("psql")
            .args(["-qAt", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", query])
            .output();
        let done = done.expect("psql");
        assert!(
            done.status.success(),
            "{query}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn sql(&self, statement: &str) {
        let done = Command::new("psql")
            .args(["-q", "-d", &self.server, "-c", statement])
            .output()
            .expect("psql");
        assert!(
            done.status.success(),
            "{statement}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.sql(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

// Conformance: A-147
#[test]
fn a_run_on_postgres_gives_the_same_result_as_on_sqlite() {
    let (here, there) = (TestHome::new(), TestHome::on_postgres());
    let script = commands(&["echo one >> world.txt", "cat world.txt"]);
    let key = ["--agent", "a", "--create-agent", "--idempotency-key", "k"];
    let (here_said, there_said) = (here.run(&script, &key), there.run(&script, &key));
    let (mut one, mut other) = (here_said.json(), there_said.json());
    for run in [&mut one, &mut other] {
        let members = run.as_object_mut().expect("an object");
        members.remove("duration_ms");
        // The attempts are compared without their times and without the paths of the scripts, which differ.
        let timeline = members.remove("provider_attempt_timeline").expect("a timeline");
        let attempts = timeline["attempts"].as_array().expect("attempts").iter();
        let gist = attempts.map(|one| {
            json!([
                one["operation_id"],
                one["outcome"],
                one["rule"],
                one["token_usage"]
            ])
        });
        members.insert("attempts".to_owned(), gist.collect());
        // Operation ids depend on the scope, and the two workspaces differ.
        let calls = members["tool_calls"].as_array_mut().expect("calls");
        calls
            .iter_mut()
            .for_each(|call| drop(call.as_object_mut().expect("a call").remove("operation_id")));
    }
    assert_eq!(one, other, "{here_said:?}\n{there_said:?}");
    assert_eq!(
        (here.lines(), there.lines()),
        (vec!["one".to_owned()], vec!["one".to_owned()])
    );
    assert!(!there.home().join("agent.sqlite").exists());
}

// Conformance: A-26
#[test]
fn on_postgres_a_second_process_cannot_drive_the_same_agent() {
    let world = TestHome::on_postgres();
    let slow = world.script("rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"touch begun; sleep 20\"}}]\n  - text: done\n");
    let args = ["run", "first", "--model", &slow, "--agent", "a", "--create-agent"];
    let mut first = world
        .command(super::home_fixture::program())
        .args(args)
        .spawn()
        .expect("starts");
    while !world.workspace().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = world.wakeful(&["run", "second", "--json", "--model", &slow, "--agent", "a"]);
    assert_eq!(
        (second.code, second.error_code().as_str()),
        (Some(1), "agent_busy")
    );
    first.kill().expect("kill -9");
    first.wait().expect("gone");
    // A dead lease holder on the same machine is detected, so its lease does not have to expire.
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(statuses(&resumed.json()), ["outcome_unknown"]);
}

#[test]
fn an_unreachable_database_is_reported_without_the_password() {
    let world = TestHome::new();
    let url = "postgres://someone:s3cret@127.0.0.1:1/none";
    let said = world.wakeful(&["run", "x", "--json", "--database", url]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "database_unreachable")
    );
    assert!(
        !said.stdout.contains("s3cret") && !said.stderr.contains("s3cret"),
        "{said:?}"
    );
}

#[test]
fn reading_a_postgres_database_creates_nothing_and_registers_no_runner() {
    let world = TestHome::on_postgres();
    let looks = [
        &["runs", "list", "--json"][..],
        &["runs", "show", "00", "--json"],
        &["agent", "list", "--json"],
        &["agent", "show", "a", "--json"],
        &["transcript", "a", "--json"],
    ];
    for look in looks {
        let said = world.wakeful(look);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "database_empty"),
            "{look:?} {said:?}"
        );
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'wakeful_agents'";
    assert_eq!(
        (world.home().exists(), world.database().value(schemas).as_str()),
        (false, "0")
    );
    let run = world
        .run("rounds: [{text: hello}]\n", &["--agent", "a", "--create-agent"])
        .json();
    std::fs::remove_dir_all(world.home()).expect("removed");
    for look in [
        &["runs", "list"][..],
        &["runs", "show", run["run_key"].as_str().expect("a key")],
        &["agent", "list"],
        &["agent", "show", "a"],
        &["transcript", "a"],
    ] {
        let said = world.wakeful(look);
        assert_eq!(said.code, Some(0), "{look:?} {said:?}");
    }
    assert!(!world.home().exists(), "looking made a home");
    assert_eq!(
        world
            .database()
            .value("SELECT count(*) FROM wakeful_agents.runner"),
        "0"
    );
}

#[test]
fn a_failed_call_leaves_no_runner_behind() {
    let world = TestHome::on_postgres();
    let said = world.run("rounds: [{text: hello}]\n", &["--agent", "typo"]);
    assert_eq!(said.error_code(), "agent_unknown", "{said:?}");
    assert_eq!(world.wakeful(&["agent", "create", "a"]).code, Some(0));
    assert_eq!(
        world.wakeful(&["agent", "create", "a", "--json"]).error_code(),
        "agent_exists"
    );
    assert_eq!(
        world.wakeful(&["runs", "cancel", "00", "--json"]).error_code(),
        "run_unknown"
    );
    assert_eq!(
        world
            .database()
            .value("SELECT count(*) FROM wakeful_agents.runner"),
        "0"
    );
}

#[test]
fn a_failed_close_is_a_note_and_does_not_replace_the_report() {
    let world = TestHome::on_postgres();
    assert_eq!(world.wakeful(&["agent", "create", "a"]).code, Some(0));
    world.database().value(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no goodbye'; END $$; \
         CREATE TRIGGER refuse BEFORE DELETE ON wakeful_agents.runner FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let said = world.run("rounds: [{text: hello}]\n", &["--agent", "a"]);
    assert_eq!(
        (said.code, said.json()["final_text"].as_str()),
        (Some(0), Some("hello")),
        "{said:?}"
    );
    assert!(said.stderr.contains("not closed cleanly"), "{said:?}");
}

#[test]
fn a_workspace_around_the_home_is_refused_with_a_separate_database() {
    let world = TestHome::on_postgres();
    let around = world.path().display().to_string();
    let said = world.wakeful(&[
        "run",
        "x",
        "--json",
        "--agent",
        "a",
        "--create-agent",
        "--workspace",
        &around,
    ]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "workspace_overlaps_home"),
        "{said:?}"
    );
    assert!(!world.home().exists(), "a wrong call made a home");
}

// Conformance
#[test]
fn a_takeover_during_the_end_of_a_run_uses_the_new_state() {
    let world = TestHome::on_postgres();
    let script = |delay_ms: u32| {
        format!("price: {{ input: 1, output: 1 }}\nrounds:\n  - text: late\n    delay_ms: {delay_ms}\n")
    };
    let model = world.script(&script(60_000));
    let mut first = world.start(&[
        "run",
        "do it",
        "--model",
        &model,
        "--agent",
        "a",
        "--create-agent",
    ]);
    let requests = || {
        world
            .database()
            .value("SELECT coalesce(sum(requests), 0) FROM wakeful_agents.spend_day WHERE agent_id = 'a'")
    };
    let has_schema =
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'wakeful_agents' AND tablename = 'spend_day'";
    wait_until(|| world.database().value(has_schema) == "1" && requests() == "1");
    first.kill().expect("kill -9");
    first.wait().expect("gone");
    world.script(&script(0));
    let free = "UPDATE wakeful_agents.agent_head SET runner_id = NULL; DELETE FROM wakeful_agents.runner";
    world.database().value(free);
    // Another process holds the head, and ends the run while the second one already waits for it.
    let mut other = Command::new("psql");
    let mut other = other
        .args(["-qAt", "-d", &world.database().url()])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("psql");
    let mut says = other.stdin.take().expect("a pipe");
    writeln!(says, "BEGIN; SELECT 1 FROM wakeful_agents.agent_head FOR UPDATE;").expect("said");
    let locks = "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND relation = 'wakeful_agents.agent_head'::regclass";
    wait_until(|| world.database().value(locks) == "1");
    let second = world.start(&["run", "--resume", "--json"]);
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    wait_until(|| world.database().value(waiting) == "1");
    writeln!(
        says,
        "UPDATE wakeful_agents.run SET status = 'cancelled', ended_at_ms = started_at_ms, version = version + 1; COMMIT;"
    )
    .expect("said");
    drop(says);
    other.wait().expect("ends");
    second.wait_with_output().expect("ends");
    let held = "SELECT count(*) FROM wakeful_agents.agent_head WHERE runner_id IS NOT NULL";
    assert_eq!(
        (requests().as_str(), world.database().value(held).as_str()),
        ("1", "0")
    );
}
