//! Daily backups: a daemon makes one when something changed, keeps a few, and reports failures.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use serde_json::Value;
use wakeful_core::backup::{file_name, made_at};
use wakeful_core::time::Millis;

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, program, wait_until};

const HELLO: &str = "rounds:\n  - text: hello\n";

const DAY_MS: i64 = 86_400_000;

/// A home with one agent and one run.
fn used_home() -> TestHome {
    let home = TestHome::new();
    assert_eq!(home.wakeful(&["init"]).code, Some(0));
    run(&home);
    home
}

fn run(home: &TestHome) {
    let said = home.run(HELLO, &["--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "the daemon under test compares ages of files with the real clock"
)]
fn clock() -> SystemTime {
    SystemTime::now()
}

fn now() -> Millis {
    let age = clock().duration_since(UNIX_EPOCH).expect("a clock");
    Millis(i64::try_from(age.as_millis()).expect("a time"))
}

fn days_ago(days: i64) -> Millis {
    Millis(now().0 - days * DAY_MS)
}

fn folder(home: &TestHome) -> PathBuf {
    home.home().join("backups")
}

/// Creates a file with the name of a daily backup of that time.
fn earlier_backup(home: &TestHome, made_at: Millis) {
    fs::create_dir_all(folder(home)).expect("a folder");
    fs::write(folder(home).join(file_name(made_at)), "old").expect("a file");
}

/// The times of all daily backups, oldest first.
fn backups(home: &TestHome) -> Vec<Millis> {
    let entries = fs::read_dir(folder(home)).into_iter().flatten();
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut times: Vec<Millis> = names.filter_map(|name| made_at(name.to_str()?)).collect();
    times.sort();
    times
}

fn status(home: &TestHome) -> Value {
    let said = home.wakeful(&["status", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()["backup"].clone()
}

#[test]
fn a_daemon_backs_up_once_a_day_and_only_after_a_change() {
    let home = used_home();
    // Everything happened before the newest backup.
    let database = Connection::open(home.home().join("agent.sqlite")).expect("opens");
    let moved = database.execute("UPDATE event SET at_ms = at_ms - ?1", [3 * DAY_MS]);
    moved.expect("moved");
    drop(database);
    earlier_backup(&home, days_ago(2));
    fs::create_dir(folder(&home).join(".partial")).expect("left by a crash");
    let daemon = RunningDaemon::serve(&home, &[]);
    wait_until(|| !folder(&home).join(".partial").exists());
    let before_run = now();
    run(&home);
    wait_until(|| backups(&home).len() == 2);
    assert!(backups(&home)[1] >= before_run, "an unchanged home was backed up");
    run(&home);
    assert!(daemon.terminate().success());
    assert_eq!(backups(&home).len(), 2);
    // A later daemon has nothing to do either, although there was a change.
    let daemon = RunningDaemon::serve(&home, &[]);
    run(&home);
    assert!(daemon.terminate().success());
    assert_eq!(backups(&home).len(), 2);
}

#[test]
fn an_overdue_backup_is_made_at_start_and_can_be_restored() {
    let home = used_home();
    earlier_backup(&home, days_ago(2));
    assert_eq!(status(&home)["count"], 1);
    let words = home.wakeful(&["status"]).stdout;
    assert!(words.contains("backup   newest is 2 days old"), "{words}");
    let daemon = RunningDaemon::serve(&home, &[]);
    wait_until(|| status(&home)["count"] == 2);
    let words = home.wakeful(&["status"]).stdout;
    assert!(words.contains("backup   newest is 0 minutes old"), "{words}");
    assert!(daemon.terminate().success());
    let file = folder(&home).join(file_name(backups(&home)[1]));
    let mut restore = home.command(program());
    let restore = restore
        .arg("restore")
        .arg(&file)
        .env("WAKEFUL_HOME", home.path().join("other"));
    let output = restore.output().expect("starts");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_oldest_backups_are_removed_and_other_files_stay() {
    let home = used_home();
    for days in 2..6 {
        earlier_backup(&home, days_ago(days));
    }
    fs::write(folder(&home).join("mine.tar"), "mine").expect("a file");
    let keep = ["config", "set", "backup.keep", "2"];
    assert_eq!(home.wakeful(&keep).code, Some(0));
    let before = now();
    let daemon = RunningDaemon::serve(&home, &[]);
    wait_until(|| backups(&home).len() == 2);
    let kept = backups(&home);
    assert!(kept[0] < before && kept[1] >= before, "{kept:?}");
    assert!(folder(&home).join("mine.tar").exists());
    assert!(daemon.terminate().success());
}

#[test]
fn a_failed_backup_is_reported_and_work_continues() {
    let home = used_home();
    fs::write(home.path().join("file"), "").expect("a file");
    let inside = home.path().join("file/backups").display().to_string();
    assert_eq!(
        home.wakeful(&["config", "set", "backup.folder", &inside]).code,
        Some(0)
    );
    let marker = fs::File::options()
        .append(true)
        .open(home.home().join("wakeful-home"));
    let two_days = std::time::Duration::from_secs(2 * 86_400);
    let aged = marker.expect("a marker").set_modified(clock() - two_days);
    aged.expect("a home that is two days old");
    let daemon = RunningDaemon::serve(&home, &[]);
    wait_until(|| status(&home)["problem"]["code"] == "backup_unwritable");
    let words = home.wakeful(&["status"]).stdout;
    assert!(
        words.contains("backup   failed 0 minutes ago: cannot write"),
        "{words}"
    );
    let checks = home.wakeful(&["doctor", "--json"]).json()["checks"].clone();
    let checks = checks.as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["name"] == "backup")
        .expect("a check");
    assert_eq!(check["status"], "warning", "{check}");
    run(&home);
    assert!(daemon.terminate().success());
}

#[test]
fn daily_backups_can_be_turned_off() {
    let home = used_home();
    earlier_backup(&home, days_ago(2));
    let off = ["config", "set", "backup.daily", "false"];
    assert_eq!(home.wakeful(&off).code, Some(0));
    assert_eq!(status(&home)["mode"], "off");
    let daemon = RunningDaemon::serve(&home, &[]);
    run(&home);
    assert!(daemon.terminate().success());
    assert_eq!(backups(&home).len(), 1);
}
