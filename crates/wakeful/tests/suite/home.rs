//! Homes that are missing, foreign, read-only, damaged, newer, full, or in use.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::home_fixture::{TestHome, commands, program};

const HELLO: &str = "rounds: [{text: hello}]\n";

#[test]
fn a_missing_home_is_created_for_a_run_but_not_for_reading() {
    let world = TestHome::new();
    assert_eq!(
        world.wakeful(&["runs", "list", "--json"]).error_code(),
        "home_missing"
    );
    assert!(!world.home().exists(), "looking made something");
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    assert_eq!(world.wakeful(&["runs", "list", "--json"]).code, Some(0));
}

#[test]
fn a_foreign_folder_is_refused_and_left_alone() {
    let world = TestHome::new();
    fs::create_dir(world.home()).expect("a folder");
    fs::write(world.home().join("thesis.txt"), "mine").expect("a file");
    assert_eq!(world.run(HELLO, &[]).error_code(), "not_a_home");
    assert_eq!(fs::read_dir(world.home()).expect("a folder").count(), 1);
}

#[test]
fn a_foreign_database_is_refused_and_left_alone() {
    let world = TestHome::new();
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    let path = world.home().join("agent.sqlite");
    fs::remove_file(&path).expect("removed");
    let foreign = rusqlite::Connection::open(&path).expect("a database");
    foreign
        .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .expect("theirs");
    drop(foreign);
    assert_eq!(world.run(HELLO, &[]).error_code(), "not_a_wakeful_database");
}

#[test]
fn a_damaged_database_is_reported_and_not_changed() {
    let world = TestHome::new();
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    let path = world.home().join("agent.sqlite");
    fs::write(
        &path,
        "this is not a database, no matter how it is read".repeat(100),
    )
    .expect("damage");
    let before = fs::read(&path).expect("bytes");
    let said = world.run(HELLO, &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "database_corrupt")
    );
    assert_eq!(fs::read(&path).expect("bytes"), before);
}

#[test]
fn an_emptied_database_is_damaged_and_not_a_new_home() {
    let world = TestHome::new();
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    let path = world.home().join("agent.sqlite");
    fs::write(&path, "").expect("emptied");
    for args in [
        &["run", "x", "--json"][..],
        &["serve", "--port", "0", "--json"],
        &["runs", "list", "--json"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(said.error_code(), "database_corrupt", "{said:?}");
        let hint = said.json()["error"]["hint"].to_string();
        assert!(
            hint.contains("wakeful restore") && hint.contains("move the file away"),
            "{hint}"
        );
    }
    assert_eq!(
        fs::metadata(&path).expect("the file").len(),
        0,
        "it is left alone"
    );
    fs::remove_file(&path).expect("moved away");
    assert_eq!(world.run(HELLO, &[]).code, Some(0), "the way out leads out");
}

#[test]
fn a_newer_schema_is_refused() {
    let world = TestHome::new();
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    database.pragma_update(None, "user_version", 999).expect("set");
    drop(database);
    assert_eq!(world.run(HELLO, &[]).error_code(), "schema_newer");
    assert_eq!(
        world.wakeful(&["runs", "list", "--json"]).error_code(),
        "schema_newer"
    );
}

/// The application ids and newest schema numbers of files that builds before the first schema wrote.
const DEVELOPMENT: [(&str, &str); 2] = [
    (
        "agent.sqlite",
        "PRAGMA application_id = 0x57414b45; PRAGMA user_version = 15;",
    ),
    (
        "db.sqlite",
        "PRAGMA application_id = 0x57414b4a; PRAGMA user_version = 3;",
    ),
];

#[test]
fn a_home_of_a_development_build_is_refused_and_left_unchanged() {
    for (name, marks) in DEVELOPMENT {
        let world = TestHome::new();
        assert_eq!(world.run(HELLO, &[]).code, Some(0));
        assert_eq!(world.wakeful(&["journal", "task", "add", "x"]).code, Some(0));
        let path = world.home().join(name);
        let database = rusqlite::Connection::open(&path).expect("opens");
        database.execute_batch(marks).expect("marked");
        drop(database);
        let before = fs::read(&path).expect("a database");
        let refused: [&[&str]; 4] = match name {
            "agent.sqlite" => [
                &["agent", "create", "other", "--json"],
                &["runs", "list", "--json"],
                &["brake", "on", "--json"],
                &["backup", "../copy.tar", "--json"],
            ],
            _ => [
                &["journal", "task", "add", "y", "--json"],
                &["journal", "task", "list", "--json"],
                &["journal", "changes", "--json"],
                &["backup", "../copy.tar", "--json"],
            ],
        };
        for args in refused {
            let said = world.wakeful(args);
            assert_eq!(
                (said.code, said.error_code().as_str()),
                (Some(1), "development_home"),
                "{args:?}: {said:?}"
            );
            assert!(said.stderr.contains("--home"), "the way out: {said:?}");
        }
        assert_eq!(fs::read(&path).expect("a database"), before, "{name}");
    }
}

#[test]
fn a_home_that_cannot_be_created_is_named() {
    let world = TestHome::new();
    let file = world.path().join("file");
    fs::write(&file, "").expect("a file");
    let home = file.join("home").display().to_string();
    let said = world.wakeful(&["run", "x", "--json", "--home", &home]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "home_unwritable")
    );
}

#[test]
fn a_read_only_home_is_reported_and_can_still_be_read() {
    let world = TestHome::new();
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    // A read-only mount also stops root, unlike permissions.
    let home = world.home().display().to_string();
    let model = world.script(HELLO);
    let inside =
        format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}' && exec \"$@\"",);
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    let said: super::home_fixture::CommandOutput = command
        .args(["run", "x", "--json", "--model", &model])
        .output()
        .expect("unshare")
        .into();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.error_code(), "home_unwritable", "{said:?}");
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    let said: super::home_fixture::CommandOutput = command
        .args(["runs", "list", "--json"])
        .output()
        .expect("unshare")
        .into();
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_full_disk_acknowledges_nothing_and_the_run_can_be_resumed() {
    let world = TestHome::new();
    // A small separate file system whose blocks really run out.
    let home = world.home().display().to_string();
    fs::create_dir(world.home()).expect("a mount point");
    let model = world.script(&commands(&[
        "echo one >> world.txt",
        "head -c 3000000 /dev/urandom | od -An -tx1; touch waiting; until [ -e full ]; do sleep 0.01; done",
        "echo two >> world.txt",
    ]));
    // A command does not start on a nearly full disk, so another program fills it while one runs, all at
    // once, because the command is stopped as soon as space is short.
    let workspace = world.workspace().display().to_string();
    let fill = format!(
        "until [ -e '{workspace}/waiting' ]; do sleep 0.01; done; fallocate -l $(stat -f -c '%a * %S' '{home}' | xargs expr) '{home}/filler'; \
         touch '{workspace}/full'"
    );
    let inside = format!(
        "mount -t tmpfs -o size=256m,mode=700 none '{home}' && {{ {{ {fill}; }} & }} && \"$@\" >\"$HOME/first\" 2>&1; \
         rm '{home}/filler' && \"$1\" run --resume --json"
    );
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    let said: super::home_fixture::CommandOutput = command
        .args(["run", "x", "--json", "--model", &model])
        .output()
        .expect("unshare")
        .into();
    let first = fs::read_to_string(world.path().join("first")).expect("what the first call said");
    assert!(first.contains("disk_full"), "{first}\n{said:?}");
    assert_eq!(said.json()["outcome"], "completed", "{first}\n{said:?}");
    assert_eq!(world.lines(), ["one", "two"], "{first}\n{said:?}");
}

#[test]
fn two_runs_on_one_home_both_finish_one_after_the_other() {
    let world = TestHome::new();
    let model = world.script("rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"echo x >> world.txt; sleep 0.3\"}}]\n  - text: done\n");
    let start = || {
        world
            .command(program())
            .args(["run", "x", "--model", &model])
            .spawn()
            .expect("starts")
    };
    let mut both = [start(), start()];
    assert!(both.iter_mut().all(|child| child.wait().expect("ends").success()));
    assert_eq!(world.lines(), ["x", "x"]);
}

#[test]
fn a_home_that_stays_busy_is_named_with_its_holder() {
    let world = TestHome::new();
    let model = world.script("rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"touch begun; sleep 60\"}}]\n  - text: done\n");
    let mut holder = world
        .command(program())
        .args(["run", "x", "--model", &model])
        .spawn()
        .expect("starts");
    while !world.workspace().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = world.run(HELLO, &[]);
    assert_eq!((said.code, said.error_code().as_str()), (Some(1), "home_busy"));
    assert!(said.stderr.contains(&holder.id().to_string()), "{said:?}");
    // Read-only commands take no lock.
    assert_eq!(world.wakeful(&["runs", "list", "--json"]).code, Some(0));
    holder.kill().expect("kill -9");
    holder.wait().expect("gone");
}

#[test]
fn an_open_run_of_the_same_agent_is_named_with_a_hint() {
    let world = TestHome::new();
    let model = world.script("rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"touch begun; sleep 60\"}}]\n  - text: done\n");
    let args = ["run", "x", "--model", &model, "--agent", "a", "--create-agent"];
    let mut holder = world.command(program()).args(args).spawn().expect("starts");
    while !world.workspace().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    holder.kill().expect("kill -9");
    holder.wait().expect("gone");
    let said = world.run(HELLO, &["--agent", "a"]);
    assert_eq!((said.code, said.error_code().as_str()), (Some(1), "run_open"));
    let hint = said.json()["error"]["hint"].as_str().expect("a hint").to_owned();
    assert!(
        hint.contains("--resume") && hint.contains("runs cancel"),
        "{said:?}"
    );
    let agent = world.wakeful(&["agent", "show", "a", "--json"]).json();
    assert_eq!(agent["pending"], 0, "what was refused is not queued: {agent}");
}

#[test]
fn several_concurrent_first_calls_share_the_home_they_create() {
    for _ in 0..12 {
        let world = TestHome::new();
        let calls: Vec<_> = (0..6)
            .map(|number| world.start(&["agent", "create", &format!("a{number}"), "--json"]))
            .collect();
        for call in calls {
            let said: super::home_fixture::CommandOutput = call.wait_with_output().expect("ends").into();
            assert_eq!(said.code, Some(0), "{said:?}");
        }
    }
}

#[test]
fn an_empty_folder_that_becomes_a_home_is_made_private() {
    let world = TestHome::new();
    fs::create_dir(world.home()).expect("a folder");
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).expect("open to all");
    assert_eq!(world.run(HELLO, &[]).code, Some(0));
    let mode = fs::metadata(world.home()).expect("a home").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let world = TestHome::new();
    let mut command = world.command(program());
    for name in ["WAKEFUL_HOME", "WAKEFUL_DATABASE", "WAKEFUL_MODEL"] {
        command.env(name, "");
    }
    let said: super::home_fixture::CommandOutput = command
        .args(["run", "x", "--json"])
        .output()
        .expect("starts")
        .into();
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("completed")),
        "{said:?}"
    );
    assert!(said.stderr.contains("demo"), "{said:?}");
    assert!(world.path().join(".wakeful/agent.sqlite").exists() && !world.home().exists());
}
