//! A disk that is already full. Every command reports it, nothing is acknowledged, and existing data can be
//! read and copied to another disk.

use std::fs;

use serde_json::json;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, program};

const HELLO: &str = "rounds:\n  - text: hello\n";

/// A home with a run, a large output and a journal, and no running process.
fn lived_in() -> TestHome {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let said = world.run(&commands(&["seq 1 200000"]), &["--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let task = world.wakeful(&["journal", "task", "add", "buy milk"]);
    assert_eq!(task.code, Some(0), "{task:?}");
    world
}

/// Runs a shell script in a test home on its own file system without a free byte. `$1` is the program.
fn on_a_full_disk(world: &TestHome, words: &str) -> CommandOutput {
    let (home, aside) = (world.home(), world.path().join("aside"));
    if !aside.exists() {
        fs::rename(&home, &aside).expect("moved away");
        fs::create_dir(&home).expect("a mount point");
    }
    let (home, aside) = (home.display(), aside.display());
    let inside = format!(
        "mount -t tmpfs -o size=8m,mode=700 none '{home}' && cp -a '{aside}/.' '{home}' && \
         {{ cat /dev/zero >'{home}/filler' 2>/dev/null; {words}; }}"
    );
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    command.output().expect("unshare").into()
}

#[test]
fn every_write_reports_the_full_disk_with_a_hint() {
    let world = lived_in();
    let model = world.script(HELLO);
    let run = format!("run x --agent main --model '{model}'");
    for verb in [
        &run,
        "run --resume",
        "message main x",
        "agent create other",
        "retention run",
        "journal task add x",
    ] {
        let said = on_a_full_disk(&world, &format!("\"$1\" {verb} --json"));
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "disk_full"),
            "{verb}: {said:?}"
        );
        assert!(said.stderr.contains("free some space"), "{verb}: {said:?}");
    }
}

#[test]
fn a_full_disk_can_be_read_and_work_continues_with_free_space() {
    let world = lived_in();
    for verb in [
        "verify",
        "runs list",
        "status",
        "transcript main",
        "journal task list",
    ] {
        // Twice: the first read must not leave anything that makes the second one fail.
        let said = on_a_full_disk(&world, &format!("\"$1\" {verb} >/dev/null; \"$1\" {verb} --json"));
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (Some(0), ""),
            "{verb}: {said:?}"
        );
    }
    // Once there is space again, work continues.
    let model = world.script(HELLO);
    let words = format!(
        "\"$1\" run x --agent main --model '{model}' >/dev/null 2>&1; \"$1\" verify >/dev/null; \
         rm \"$HOME/home/filler\"; \"$1\" run x --agent main --model '{model}' --json"
    );
    let said = on_a_full_disk(&world, &words);
    assert_eq!(said.json()["outcome"], "completed", "{said:?}");
}

#[test]
fn a_full_home_can_be_backed_up_but_not_restored_onto() {
    let world = lived_in();
    let target = world.path().join("backup.tar").display().to_string();
    let said = on_a_full_disk(&world, &format!("\"$1\" backup '{target}' --json"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let other = world.path().join("other").display().to_string();
    let restored = world.wakeful(&["restore", &target, "--home", &other, "--json"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let tasks = world.wakeful(&["journal", "task", "list", "--home", &other]);
    assert!(tasks.stdout.contains("buy milk"), "{tasks:?}");
    let said = on_a_full_disk(
        &world,
        &format!("\"$1\" restore '{target}' --home \"$HOME/home/new\" --json"),
    );
    assert_eq!(said.error_code(), "disk_full", "{said:?}");
    let said = on_a_full_disk(&world, "\"$1\" backup \"$HOME/home/backup.tar\" --json");
    assert_eq!(said.error_code(), "disk_full", "{said:?}");
    assert!(said.stderr.contains("another disk"), "{said:?}");
}

#[test]
fn a_daemon_reports_failing_storage_until_a_write_succeeds() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let daemon = RunningDaemon::serve(&world, &[]);
    let health = || world.wakeful(&["daemon", "status", "--json"]).json();
    assert_eq!(health()["control_health"], "ok");
    let (log, away) = (world.home().join("agent.sqlite-wal"), world.path().join("away"));
    fs::rename(&log, &away).expect("moved away");
    let refused = world.wakeful(&["message", "main", "hello", "--json"]);
    assert_eq!(refused.error_code(), "wal_missing", "{refused:?}");
    let status = health();
    assert_eq!(status["readiness"], "failing", "{status}");
    assert_eq!(status["storage"]["code"], "wal_missing", "{status}");
    let words = world.wakeful(&["daemon", "status"]).stdout;
    assert!(words.contains("health   wal_missing"), "{words}");
    // The log is back before anything else was lost, so it is the same file. The health check must detect
    // that itself, because clients send no message to a daemon that reports itself unusable.
    fs::rename(&away, &log).expect("put back");
    let status = health();
    assert_eq!(
        (&status["readiness"], &status["control_health"]),
        (&json!("ready"), &json!("ok")),
        "{status}"
    );
    assert_eq!(world.wakeful(&["message", "main", "again"]).code, Some(0));
    daemon.terminate();
}
