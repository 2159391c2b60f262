//! Removal of old data, and reports about homes after an unclean stop, a wrong clock or deleted files.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, wait_until};

const HELLO: &str = "rounds:\n  - text: hello\n";

const TEN_YEARS: i64 = 10 * 365 * 86_400_000;

fn behind(world: &TestHome) -> Connection {
    Connection::open(world.home().join("agent.sqlite")).expect("opens")
}

/// Moves all times in the database into the past, which has the effect of a clock that jumps ahead.
fn earlier(world: &TestHome, ms: i64) {
    behind(world)
        .execute_batch(&format!(
            "UPDATE event SET at_ms = at_ms - {ms};
            UPDATE run SET started_at_ms = started_at_ms - {ms}, ended_at_ms = ended_at_ms - {ms};
            UPDATE transcript_entry SET at_ms = at_ms - {ms}; UPDATE run_log SET at_ms = at_ms - {ms};
            UPDATE retention_state SET age_clock_ms = age_clock_ms - {ms} WHERE age_clock_ms > 0;"
        ))
        .expect("moved");
}

fn count(world: &TestHome, query: &str) -> i64 {
    behind(world)
        .query_row(query, [], |row| row.get(0))
        .expect("counted")
}

/// Copies of the newest run, each slightly newer than the one before, with their own run log and transcript
/// entry.
const COPIES: &str = "
    CREATE TEMP TABLE one AS SELECT * FROM run ORDER BY started_at_ms DESC LIMIT 1;
    CREATE TEMP TABLE copy AS
        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
        SELECT i, CAST(printf('%032d', i) AS BLOB) AS run_key FROM n;
    INSERT INTO run (run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms)
        SELECT copy.run_key, agent_id, thread_id, machine, machine_version, version, state, status,
            started_at_ms + i, ended_at_ms + i FROM one, copy;
    INSERT INTO run_log (run_key, ordinal, input, reads_hash, state_hash, effects_hash, at_ms)
        SELECT copy.run_key, ordinal, input, reads_hash, state_hash, effects_hash, at_ms + i
        FROM run_log, copy WHERE run_log.run_key = (SELECT run_key FROM one);
    INSERT INTO transcript_entry (thread_id, position, run_key, role, content_hash, at_ms, sources)
        SELECT thread_id, position + i, copy.run_key, role, content_hash, at_ms + i, sources
        FROM (SELECT * FROM transcript_entry ORDER BY position DESC LIMIT 1), copy;";

/// Fifty-two runs of one agent, the first with a large output.
fn busy() -> TestHome {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    for script in [&commands(&["seq 1 200000"]), HELLO] {
        let said = world.run(script, &["--agent", "main"]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    behind(&world).execute_batch(COPIES).expect("copied");
    world
}

fn check(said: &CommandOutput, name: &str) -> (String, String, String) {
    let checks = said.json()["checks"].as_array().expect("checks").clone();
    let worst = checks
        .iter()
        .filter(|check| check["name"] == name)
        .max_by_key(|check| check["status"] != "ok");
    let member = |member: &str| {
        let found = worst.unwrap_or_else(|| panic!("no check {name}: {said:?}"));
        found[member].as_str().unwrap_or_default().to_owned()
    };
    (member("status"), member("message"), member("hint"))
}

#[test]
fn retention_periods_are_shown_and_new_data_stays() {
    let world = TestHome::new();
    assert_eq!(
        world.run(HELLO, &["--agent", "main", "--create-agent"]).code,
        Some(0)
    );
    let shown = world.wakeful(&["retention", "show", "--json"]).json();
    let bounds: Vec<(&str, u64, u64)> = shown["classes"]
        .as_array()
        .expect("classes")
        .iter()
        .map(|class| {
            let number = |name: &str| class[name].as_u64().expect("a number");
            (
                class["class"].as_str().expect("a class"),
                number("days"),
                number("mib"),
            )
        })
        .collect();
    assert_eq!(
        bounds,
        [
            ("events", 365, 1_024),
            ("traces", 90, 1_024),
            ("blobs", 365, 4_096)
        ]
    );
    assert_eq!(shown["last_at"], Value::Null);
    let ran = world.wakeful(&["retention", "run", "--json"]).json();
    assert_eq!(
        (&ran["pruned"]["events"]["rows"], &ran["done"]),
        (&0.into(), &true.into())
    );
    let words = world.wakeful(&["retention", "show"]).stdout;
    assert!(
        words.contains("nothing is due") && words.contains("last       20"),
        "{words}"
    );
}

#[test]
fn old_data_is_removed_and_the_newest_fifty_runs_stay_complete() {
    let world = busy();
    earlier(&world, 400 * 86_400_000);
    // Ages are measured by a monotonic clock, so the test sets that clock.
    let now = "CAST(strftime('%s','now') AS INTEGER) * 1000";
    let stood =
        format!("UPDATE retention_state SET age_clock_ms = {now}, generation = 9, generation_at_ms = 0");
    behind(&world).execute_batch(&stood).expect("set");
    let would = world.wakeful(&["retention", "run", "--dry-run", "--json"]).json();
    assert_eq!(
        would["classes"][2]["due_rows"].as_u64(),
        Some(2 + 4),
        "lines of two runs: {would}"
    );
    assert_eq!(
        count(&world, "SELECT COUNT(*) FROM run WHERE prune_level > 0"),
        0,
        "looking changes nothing"
    );
    let ran = world.wakeful(&["retention", "run", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(count(&world, "SELECT COUNT(*) FROM run WHERE prune_level = 2"), 2);
    assert_eq!(count(&world, "SELECT COUNT(DISTINCT run_key) FROM run_log"), 50);
    assert!(ran.json()["swept"]["rows"].as_u64() > Some(0), "{ran:?}");
    assert_eq!(
        count(&world, "SELECT COUNT(*) FROM blob WHERE encoding = 'file'"),
        0,
        "the large output"
    );
    // A run without its contents can still be shown, and the agent continues to work.
    let keys = world.wakeful(&["runs", "list", "--json"]).json();
    let oldest = keys["runs"]
        .as_array()
        .and_then(|runs| runs.last().cloned())
        .expect("a run");
    let shown = world.wakeful(&[
        "runs",
        "show",
        oldest["run_key"].as_str().expect("a key"),
        "--json",
    ]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(world.wakeful(&["transcript", "main", "--json"]).code, Some(0));
    assert_eq!(world.run(HELLO, &["--agent", "main"]).code, Some(0));
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    assert_eq!(
        events.matches("\"kind\":\"data_pruned\"").count(),
        2,
        "traces and blobs; events are few"
    );
    assert_eq!(world.wakeful(&["doctor", "--json"]).json()["problems"], 0);
}

#[test]
fn a_daemon_runs_retention_after_its_first_commit() {
    let world = busy();
    earlier(&world, 400 * 86_400_000);
    let now = "CAST(strftime('%s','now') AS INTEGER) * 1000";
    behind(&world)
        .execute_batch(&format!("UPDATE retention_state SET age_clock_ms = {now}"))
        .expect("set");
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(
        count(&world, "SELECT COUNT(*) FROM run WHERE prune_level > 0"),
        0,
        "an idle daemon looks at nothing"
    );
    assert_eq!(world.run(HELLO, &["--agent", "main"]).code, Some(0));
    wait_until(|| count(&world, "SELECT pruned_at_ms > 0 FROM retention_state") == 1);
    assert_eq!(
        count(&world, "SELECT COUNT(*) FROM run WHERE prune_level = 2"),
        3,
        "with the new one there are 53"
    );
    daemon.terminate();
}

#[test]
fn a_clock_that_jumps_ten_years_ahead_removes_nothing() {
    let world = busy();
    assert_eq!(world.wakeful(&["retention", "run"]).code, Some(0));
    earlier(&world, TEN_YEARS);
    let ran = world.wakeful(&["retention", "run", "--json"]).json();
    for class in ["events", "traces", "blobs"] {
        assert_eq!(ran["pruned"][class]["rows"], 0, "{ran}");
    }
    let (status, message, hint) = check(&world.wakeful(&["doctor", "--json"]), "clock");
    assert!(
        status == "warning" && message.contains("ahead") && hint.contains("correct the clock"),
        "{message} {hint}"
    );
    assert_eq!(
        world.run(HELLO, &["--agent", "main"]).code,
        Some(0),
        "work continues"
    );
}

#[test]
fn a_clock_set_back_ten_years_is_reported_and_work_continues() {
    let world = TestHome::new();
    assert_eq!(
        world.run(HELLO, &["--agent", "main", "--create-agent"]).code,
        Some(0)
    );
    earlier(&world, -TEN_YEARS);
    let (status, message, hint) = check(&world.wakeful(&["doctor", "--json"]), "clock");
    assert!(
        status == "warning" && message.contains("was set back") && hint.contains("correct the clock"),
        "{message} {hint}"
    );
    assert_eq!(world.run(HELLO, &["--agent", "main"]).code, Some(0));
    let open = world.orphan("silent.yaml", &["--agent", "main"]);
    let ended = world.wakeful(&["runs", "cancel", &open]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_removed_log_stops_every_command_and_doctor_fixes_it() {
    let world = TestHome::new();
    assert_eq!(
        world.run(HELLO, &["--agent", "main", "--create-agent"]).code,
        Some(0)
    );
    world.orphan("silent.yaml", &["--agent", "main"]);
    let home = world.home();
    let log = home.join("agent.sqlite-wal");
    let kept = fs::read(&log).expect("a log");
    fs::remove_file(&log).expect("removed");
    for args in [
        &["run", "--resume", "--json"][..],
        &["runs", "list", "--json"],
        &["status", "--json"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "wal_missing"),
            "{said:?}"
        );
    }
    let said = world.wakeful(&["doctor", "--json"]);
    let (status, _, hint) = check(&said, "log");
    assert!(status == "problem" && hint.contains("--fix"), "{said:?}");
    // After the log is restored, nothing is lost.
    fs::write(&log, kept).expect("put back");
    assert_eq!(world.open_runs().len(), 1);
    fs::remove_file(&log).expect("removed");
    // Without the log, work continues with the remaining data only after an explicit fix.
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(check(&said, "log").0, "fixed", "{said:?}");
    assert_eq!(world.run(HELLO, &["--agent", "main"]).code, Some(0));
}

#[test]
fn a_daemon_whose_log_was_removed_acknowledges_nothing() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.run(HELLO, &["--agent", "main"]).code, Some(0));
    fs::remove_file(world.home().join("agent.sqlite-wal")).expect("removed");
    let refused = world.wakeful(&["message", "main", "second", "--json"]);
    assert_eq!(
        (refused.code, refused.error_code().as_str()),
        (Some(1), "wal_missing"),
        "{refused:?}"
    );
    // The daemon saves acknowledged data when it stops cleanly.
    assert!(daemon.terminate().success());
    let runs = world.wakeful(&["runs", "list", "--json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
}

#[test]
fn an_unclean_stop_is_distinguished_from_a_clean_one() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    assert_eq!(check(&world.wakeful(&["doctor", "--json"]), "stop").0, "ok");
    world.orphan("silent.yaml", &["--agent", "main"]);
    fs::create_dir(world.home().join("scratch/left")).expect("a folder");
    let said = world.wakeful(&["doctor", "--json"]);
    let (status, message, hint) = check(&said, "stop");
    assert!(
        status == "warning" && message.contains("was interrupted") && hint.contains("--resume"),
        "{said:?}"
    );
    assert_eq!(check(&said, "scratch").0, "warning");
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(check(&said, "scratch").0, "fixed", "{said:?}");
    assert!(!world.home().join("scratch/left").exists());
    let open = world.open_runs();
    assert_eq!(world.wakeful(&["runs", "cancel", &open[0]]).code, Some(0));
    assert_eq!(check(&world.wakeful(&["doctor", "--json"]), "stop").0, "ok");
}

#[test]
fn damaged_pages_and_lost_or_orphaned_files_are_found() {
    let world = TestHome::new();
    let said = world.run(
        &commands(&["seq 1 200000"]),
        &["--agent", "main", "--create-agent"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = world.wakeful(&["doctor", "--deep", "--json"]);
    assert_eq!(
        (check(&said, "pages").0, check(&said, "blobs").0),
        ("ok".into(), "ok".into()),
        "{said:?}"
    );
    let blobs = world.home().join("blobs");
    let orphan = blobs.join("ab").join(format!("ab{}", "0".repeat(62)));
    fs::create_dir_all(blobs.join("ab")).expect("a folder");
    fs::write(&orphan, "left by a commit that never came").expect("a file");
    assert_eq!(check(&world.wakeful(&["doctor", "--json"]), "blobs").0, "warning");
    assert_eq!(world.wakeful(&["retention", "run"]).code, Some(0));
    assert!(orphan.exists(), "it is young");
    let name: String = behind(&world)
        .query_row(
            "SELECT lower(hex(hash)) FROM blob WHERE encoding = 'file'",
            [],
            |row| row.get(0),
        )
        .expect("a blob");
    fs::remove_file(blobs.join(&name[..2]).join(&name)).expect("removed");
    // Lost files do not prevent the size report, even above a limit.
    let capped = ["config", "set", "retention.blob_mib", "1"];
    assert_eq!(world.wakeful(&capped).code, Some(0));
    let shown = world.wakeful(&["retention", "show"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let said = world.wakeful(&["doctor", "--json"]);
    assert!(
        said.code == Some(1) && check(&said, "blobs").2.contains("backup"),
        "{said:?}"
    );
    let target = world.path().join("backup.tar").display().to_string();
    assert_eq!(
        world.wakeful(&["backup", &target, "--json"]).error_code(),
        "blob_missing"
    );
    // A page of zeros in place of a table page.
    let page = count(
        &world,
        "SELECT rootpage FROM sqlite_schema WHERE name = 'run_log'",
    );
    let path = world.home().join("agent.sqlite");
    let mut bytes = fs::read(&path).expect("read");
    let from = (usize::try_from(page).expect("a page") - 1) * 4_096;
    bytes[from..from + 4_096].fill(0x5a);
    fs::write(&path, bytes).expect("written");
    let said = world.wakeful(&["doctor", "--json"]);
    let (status, _, hint) = check(&said, "pages");
    assert!(status == "problem" && hint.contains("backup"), "{said:?}");
    assert_eq!(
        world.wakeful(&["backup", &target, "--json"]).error_code(),
        "database_corrupt"
    );
    let run = world.run(HELLO, &["--agent", "main"]);
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (Some(1), "database_corrupt"),
        "{run:?}"
    );
}
