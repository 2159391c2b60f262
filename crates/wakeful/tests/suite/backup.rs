//! Backups as people make and use them: made while a daemon runs, complete or not at all, and restored as a
//! new incarnation.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, program};

/// A home with an agent, two runs, a large output, settings, a token and guidance for the agent.
fn lived_in() -> TestHome {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let script = commands(&["echo hello", "seq 1 60000 | sha256sum; seq 1 200000"]);
    for _ in 0..2 {
        let said = world.run(&script, &["--agent", "main"]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let own = world.home().join("agents/main");
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("AGENTS.md"), "Be kind.").expect("words");
    let token = world.home().join("token");
    fs::write(&token, "0123456789abcdef".repeat(4)).expect("a token");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).expect("private");
    world
}

fn file(world: &TestHome) -> String {
    world.path().join("backup.tar").display().to_string()
}

fn backed_up(world: &TestHome) -> CommandOutput {
    let said = world.wakeful(&["backup", &file(world), "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said
}

/// The path of a second home beside the first.
fn other(world: &TestHome) -> PathBuf {
    world.path().join("other")
}

fn at(world: &TestHome, home: &Path, args: &[&str]) -> CommandOutput {
    let mut command = world.command(program());
    command.env("WAKEFUL_HOME", home).args(args);
    command.output().expect("starts").into()
}

fn restored(world: &TestHome, home: &Path) -> CommandOutput {
    let said = at(world, home, &["restore", &file(world), "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said
}

/// Runs and transcript of a home, as the commands print them.
fn seen(world: &TestHome, home: &Path) -> (Value, String) {
    let runs = at(world, home, &["runs", "list", "--json"]);
    let said = at(world, home, &["transcript", "main", "--json"]);
    assert_eq!((runs.code, said.code), (Some(0), Some(0)), "{runs:?} {said:?}");
    (runs.json(), said.stdout)
}

/// Every file below a folder except the lock, with its bytes.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.clone(), fs::read(&path).expect("read"))),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_restore_brings_back_everything_but_secrets_as_a_new_incarnation() {
    let world = lived_in();
    let made = backed_up(&world).json();
    assert_eq!(
        (&made["schema"], &made["with_secrets"]),
        (&Value::from(wakeful_store::SCHEMA), &Value::from(false))
    );
    let told = restored(&world, &other(&world)).json();
    assert_eq!(
        (&told["agents"], &told["open_runs"], &told["kept_aside"]),
        (&1.into(), &0.into(), &Value::Null)
    );
    assert_ne!(told["incarnation"], made["incarnation"]);
    assert_eq!(seen(&world, &other(&world)), seen(&world, &world.home()));
    for name in ["config.toml", "agents/main/AGENTS.md"] {
        let [here, there] = [world.home(), other(&world)].map(|home| fs::read(home.join(name)).expect(name));
        assert_eq!(here, there, "{name}");
    }
    assert!(!other(&world).join("token").exists());
    let doctor = at(&world, &other(&world), &["doctor", "--json"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let events = at(&world, &other(&world), &["events", "main", "--json"]);
    assert!(
        events
            .stdout
            .lines()
            .last()
            .is_some_and(|line| line.contains("restored")),
        "{events:?}"
    );
    // Work continues in the restored home.
    let model = world.script("rounds:\n  - text: here again\n");
    let again = at(
        &world,
        &other(&world),
        &["run", "and now", "--agent", "main", "--model", &model],
    );
    assert_eq!(
        (again.code, again.stdout.trim()),
        (Some(0), "here again"),
        "{again:?}"
    );
    let alone: Vec<_> = fs::read_dir(world.path())
        .expect("a folder")
        .map(|e| e.expect("one").file_name())
        .collect();
    assert!(
        alone
            .iter()
            .all(|name| !name.to_string_lossy().starts_with(".wakeful")),
        "nothing is left: {alone:?}"
    );
}

#[test]
fn a_second_database_is_part_of_a_home_and_its_new_incarnation() {
    let world = lived_in();
    let task = world.wakeful(&["journal", "task", "add", "mine"]);
    assert_eq!(task.code, Some(0), "{task:?}");
    backed_up(&world);
    let told = restored(&world, &other(&world)).json();
    let tasks = at(&world, &other(&world), &["journal", "task", "list"]);
    assert!(tasks.stdout.contains("mine"), "{tasks:?}");
    let life: i64 = rusqlite::Connection::open(other(&world).join("db.sqlite"))
        .expect("opens")
        .query_row("SELECT incarnation FROM host", [], |row| row.get(0))
        .expect("read");
    let told = told["incarnation"].as_str().expect("an incarnation");
    assert!(told.ends_with(&format!(".{life}")), "{told} {life}");
}

#[test]
fn secrets_are_in_a_backup_only_on_request() {
    let world = lived_in();
    let said = world.wakeful(&["backup", &file(&world), "--with-secrets"]);
    assert!(
        said.code == Some(0) && said.stdout.contains("keep the file as safe"),
        "{said:?}"
    );
    restored(&world, &other(&world));
    assert!(other(&world).join("token").exists());
    let mode = fs::metadata(file(&world)).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_backup_is_made_while_a_daemon_works() {
    let world = lived_in();
    let daemon = RunningDaemon::serve(&world, &[]);
    let model = world.script_named("slow.yaml", &commands(&["echo one >> world.txt"; 12]));
    let mut run = world.start(&["run", "busy", "--agent", "main", "--model", &model, "--json"]);
    for number in 0..3 {
        let target = world.path().join(format!("{number}.tar")).display().to_string();
        let said = world.wakeful(&["backup", &target]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let home = world.path().join(format!("home{number}"));
        let said = at(&world, &home, &["restore", &target, "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(at(&world, &home, &["doctor", "--json"]).json()["problems"], 0);
    }
    assert!(run.wait().expect("ends").success());
    daemon.terminate();
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let world = lived_in();
    fs::write(file(&world), "mine").expect("a file");
    let said = world.wakeful(&["backup", &file(&world), "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "backup_exists")
    );
    assert_eq!(fs::read(file(&world)).expect("read"), b"mine");
    let nowhere = world.wakeful(&["backup", "/nonexistent/backup.tar", "--json"]);
    assert_eq!(
        (nowhere.code, nowhere.error_code().as_str()),
        (Some(1), "backup_unwritable")
    );
}

#[test]
fn a_backup_without_a_home_or_of_a_server_is_refused() {
    let world = TestHome::new();
    assert_eq!(
        world.wakeful(&["backup", &file(&world), "--json"]).error_code(),
        "home_missing"
    );
    assert!(!world.home().exists() && !Path::new(&file(&world)).exists());
    for (verb, code) in [("backup", "backup_postgres"), ("restore", "restore_postgres")] {
        let said = world.wakeful(&[
            verb,
            &file(&world),
            "--database",
            "postgres://localhost/none",
            "--json",
        ]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), code),
            "{said:?}"
        );
    }
}

#[test]
fn a_damaged_truncated_foreign_or_newer_backup_is_refused() {
    let world = lived_in();
    backed_up(&world);
    let whole = fs::read(file(&world)).expect("read");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let newer = String::from_utf8_lossy(&whole[512..2_048])
        .find("\"format\": 2")
        .expect("a format")
        + 512;
    let (mut from_the_future, mut from_development) = (whole.clone(), whole.clone());
    from_the_future[newer + 10] = b'9';
    from_development[newer + 10] = b'1';
    let cases = [
        (flipped, "backup_damaged"),
        (whole[..whole.len() / 2].to_vec(), "backup_damaged"),
        (whole[..whole.len() - 512].to_vec(), "backup_damaged"),
        (b"not a backup".to_vec(), "not_a_backup"),
        (from_the_future, "backup_newer"),
        (from_development, "development_home"),
    ];
    for (bytes, code) in cases {
        fs::write(file(&world), bytes).expect("written");
        let said = at(&world, &other(&world), &["restore", &file(&world), "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), code),
            "{said:?}"
        );
        assert!(
            said.json()["error"]["hint"]
                .as_str()
                .is_some_and(|hint| !hint.is_empty()),
            "{said:?}"
        );
        assert!(!other(&world).exists(), "{code}");
        // With `--replace` the existing home is not touched either.
        let before = tree(&world.home());
        let said = world.wakeful(&["restore", &file(&world), "--replace", "--json"]);
        assert_eq!(said.error_code(), code);
        assert_eq!(tree(&world.home()), before, "{code}");
    }
    let said = at(&world, &other(&world), &["restore", "/nonexistent", "--json"]);
    assert_eq!(said.error_code(), "backup_unreadable");
}

#[test]
fn a_home_with_data_is_replaced_only_on_request_and_kept() {
    let world = lived_in();
    backed_up(&world);
    let said = world.wakeful(&["restore", &file(&world), "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "home_not_empty")
    );
    let later = world.run("rounds:\n  - text: later\n", &["--agent", "main"]);
    assert_eq!(later.code, Some(0), "{later:?}");
    let told = world.wakeful(&["restore", &file(&world), "--replace", "--json"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let aside = PathBuf::from(told.json()["kept_aside"].as_str().expect("a path"));
    let count = |home: &Path| seen(&world, home).0["runs"].as_array().expect("runs").len();
    assert_eq!((count(&world.home()), count(&aside)), (2, 3));
    // A folder that is not a Wakeful home is not moved.
    fs::create_dir(other(&world)).expect("a folder");
    fs::write(other(&world).join("thesis.txt"), "mine").expect("a file");
    let said = at(
        &world,
        &other(&world),
        &["restore", &file(&world), "--replace", "--json"],
    );
    assert_eq!(said.error_code(), "not_a_home");
    assert!(other(&world).join("thesis.txt").exists());
}

#[test]
fn a_home_in_which_a_daemon_works_is_not_replaced() {
    let world = lived_in();
    backed_up(&world);
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = world.wakeful(&["restore", &file(&world), "--replace", "--json"]);
    assert_eq!(said.error_code(), "home_busy", "{said:?}");
    daemon.terminate();
}

#[test]
fn a_full_disk_leaves_neither_a_backup_nor_a_home() {
    let world = lived_in();
    let small = world.path().join("small");
    fs::create_dir(&small).expect("a mount point");
    let inside = format!(
        "mount -t tmpfs -o size=100k,mode=700 none '{0}' && \"$@\" backup '{0}/backup.tar' --json; ls -A '{0}' >&2",
        small.display()
    );
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    let said: CommandOutput = command.output().expect("unshare").into();
    assert_eq!(said.error_code(), "disk_full", "{said:?}");
    assert!(!said.stderr.contains("backup"), "something was left: {said:?}");
    backed_up(&world);
    let inside = format!(
        "mount -t tmpfs -o size=100k,mode=700 none '{0}' && \"$@\" restore '{1}' --home '{0}/home' --json; ls -A '{0}' >&2",
        small.display(),
        file(&world)
    );
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program());
    let said: CommandOutput = command.output().expect("unshare").into();
    assert_eq!(said.error_code(), "disk_full", "{said:?}");
    let left = |line: &str| line.starts_with(".wakeful-restore") || line == "home";
    assert!(!said.stderr.lines().any(left), "{said:?}");
}

#[test]
fn open_runs_of_a_backup_are_counted_with_a_hint() {
    let world = TestHome::new();
    world.orphan("silent.yaml", &["--agent", "main", "--create-agent"]);
    backed_up(&world);
    let said = at(&world, &other(&world), &["restore", &file(&world)]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stdout.contains("open runs 1") && said.stdout.contains("wakeful runs cancel"),
        "{said:?}"
    );
    let run = at(&world, &other(&world), &["runs", "list", "--open", "--json"]);
    assert_eq!(run.json()["runs"].as_array().map(Vec::len), Some(1));
    let resumed = at(&world, &other(&world), &["doctor", "--json"]);
    assert_eq!(resumed.json()["problems"], 0, "{resumed:?}");
}

/// Writes another schema number or application id into a database.
fn marked(path: &Path, pragma: &str) {
    let database = rusqlite::Connection::open(path).expect("opens");
    database.execute_batch(pragma).expect("marked");
}

#[test]
fn a_foreign_or_newer_journal_is_neither_copied_nor_restored() {
    let world = lived_in();
    assert_eq!(world.wakeful(&["journal", "task", "add", "x"]).code, Some(0));
    let journal = world.home().join("db.sqlite");
    let sound = fs::read(&journal).expect("a journal");
    let cases = [
        ("PRAGMA user_version = 99", "schema_newer", "backup_newer"),
        (
            "PRAGMA application_id = 3",
            "not_a_wakeful_database",
            "not_a_backup",
        ),
        // The agents' database belongs to Wakeful but is not a journal.
        (
            "PRAGMA application_id = 0x574b4641",
            "not_a_wakeful_database",
            "not_a_backup",
        ),
        (
            "PRAGMA application_id = 0x57414b4a",
            "development_home",
            "development_home",
        ),
    ];
    for (pragma, refused, unusable) in cases {
        marked(&journal, pragma);
        let said = world.wakeful(&["backup", &file(&world), "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), refused),
            "{pragma}: {said:?}"
        );
        assert!(said.stderr.contains("the journal"), "{said:?}");
        assert!(!Path::new(&file(&world)).exists(), "{pragma}");
        fs::write(&journal, &sound).expect("put back");
        // A backup of a sound home whose journal was exchanged afterwards, with matching checksums.
        backed_up(&world);
        let forged = forged(&world, &|folder| marked(&folder.join("db.sqlite"), pragma));
        let said = at(&world, &other(&world), &["restore", &forged, "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), unusable),
            "{pragma}: {said:?}"
        );
        assert!(
            said.stderr.contains("db.sqlite") && !other(&world).exists(),
            "{said:?}"
        );
        fs::remove_file(file(&world)).expect("removed");
    }
}

/// A backup that was unpacked, changed, and packed again with matching checksums.
fn forged(world: &TestHome, change: &dyn Fn(&Path)) -> String {
    let folder = world.path().join("forged");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    let sh = |words: &str| {
        let done = std::process::Command::new("sh")
            .args(["-c", words])
            .current_dir(&folder)
            .status();
        assert!(done.expect("sh").success(), "{words}");
    };
    sh(&format!(
        "tar -xf '{0}' && tar -tf '{0}' | grep -v SHA256SUMS >../names",
        file(world)
    ));
    change(&folder);
    sh("awk '{print $2}' SHA256SUMS | xargs -d '\\n' sha256sum >sums && mv sums SHA256SUMS");
    sh("tar -b 1 --format=ustar --owner=0 --group=0 -cf ../forged.tar $(cat ../names) SHA256SUMS");
    world.path().join("forged.tar").display().to_string()
}
