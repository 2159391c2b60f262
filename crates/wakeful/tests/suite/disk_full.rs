//! A disk that is full before anything begins. It is called so by whoever meets it, nothing is acknowledged, and what is
//! there can be read and copied to another disk.

use std::fs;

use serde_json::json;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, program};

const HELLO: &str = "rounds:\n  - text: hello\n";

/// A home with a run, a large output and a journal, on which nothing works any more.
fn lived_in() -> TestHome {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let said = world.run(&commands(&["seq 1 200000"]), &["--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let task = world.wakeful(&["journal", "task", "add", "buy milk"]);
    assert_eq!(task.code, Some(0), "{task:?}");
    world
}

/// Words of a shell in a world whose home is a file system of its own, on which not a byte is free. `$1` is the program.
fn on_a_full_disk(world: &TestHome, words: &str) -> CommandOutput {
    let (home, aside) = (world.home(), world.path().join("aside"));
    if !aside.exists() {
        fs::rename(&home, &aside).expect("moved aside");
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
fn whoever_writes_is_told_that_the_disk_is_full_and_the_way_out() {
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
fn a_full_disk_can_still_be_read_and_work_goes_on_when_there_is_room() {
    let world = lived_in();
    for verb in [
        "verify",
        "runs list",
        "status",
        "transcript main",
        "journal task list",
    ] {
        // Twice: what the first look leaves must not stand in the way of the second.
        let said = on_a_full_disk(&world, &format!("\"$1\" {verb} >/dev/null; \"$1\" {verb} --json"));
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (Some(0), ""),
            "{verb}: {said:?}"
        );
    }
    // Once there is room again everything goes on.
    let model = world.script(HELLO);
    let words = format!(
        "\"$1\" run x --agent main --model '{model}' >/dev/null 2>&1; \"$1\" verify >/dev/null; \
         rm \"$HOME/home/filler\"; \"$1\" run x --agent main --model '{model}' --json"
    );
    let said = on_a_full_disk(&world, &words);
    assert_eq!(said.json()["outcome"], "completed", "{said:?}");
}

#[test]
fn a_full_home_is_copied_to_another_disk_and_nothing_is_restored_onto_a_full_one() {
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
fn a_daemon_whose_storage_refuses_says_so_until_a_write_has_worked_again() {
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
    assert!(words.contains("health    wal_missing"), "{words}");
    // Put back before anything else was lost, it is the same file, and whoever asks finds that out: no message would come to
    // a daemon that says it cannot be used.
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
