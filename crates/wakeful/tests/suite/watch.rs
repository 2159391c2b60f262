//! From an external file or ref to a run in the daemon: exactly once, regardless of which process is killed
//! in between.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::crash::crash_binary;
use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{TestHome, wait_until};

const ANSWER: &str = "rounds:\n  - text: seen\n";
const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn well(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

/// A test home with a watched folder, and an agent that subscribes to its Markdown files.
fn watched(world: &TestHome) -> PathBuf {
    let folder = world.path().join("notes");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("old.md"), "was there").expect("written");
    well(world, &["agent", "create", "reader"]);
    let path = folder.to_str().expect("UTF-8").to_owned();
    let added = well(world, &["source", "add", "folder", &path, "--id", "notes"]);
    assert_eq!(
        (&added["entries"], &added["kind"]),
        (&1.into(), &"folder".into()),
        "{added}"
    );
    let subscribe = [
        "subscribe",
        "reader",
        "--on",
        "FILE",
        "--where",
        "ext=md",
        "--id",
        "md",
    ];
    well(world, &subscribe);
    folder
}

fn runs(world: &TestHome) -> Vec<Value> {
    let list = well(world, &["runs", "list", "--agent", "reader"]);
    list["runs"].as_array().expect("runs").clone()
}

fn completed(world: &TestHome) -> usize {
    let all = runs(world);
    all.iter().filter(|run| run["status"] == "completed").count()
}

#[test]
fn a_file_written_while_a_daemon_runs_wakes_the_agent_once() {
    let world = TestHome::new();
    let folder = watched(&world);
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    fs::write(folder.join("picture.png"), "no Markdown").expect("written");
    fs::create_dir(folder.join("deep")).expect("a folder");
    fs::write(folder.join("deep/new.md"), "hello").expect("written");
    wait_until(|| completed(&world) == 1);
    let all = runs(&world);
    assert_eq!(all.len(), 1, "{all:?}");
    let key = all[0]["run_key"].as_str().expect("a key");
    let run = well(&world, &["runs", "show", key]).to_string();
    assert!(
        run.contains("deep/new.md (created)") && run.contains("outside"),
        "{run}"
    );
    assert_eq!(
        well(&world, &["source", "scan", "notes"])["changes"],
        0,
        "the change was already delivered"
    );
    assert_eq!(well(&world, &["source", "list"])["sources"][0]["entries"], 3);
    // The initial scan may have found the first file. By now the daemon is watching.
    fs::write(folder.join("deep/new.md"), "hello again").expect("written");
    wait_until(|| completed(&world) == 2);
    assert_eq!(runs(&world).len(), 2);
    daemon.kill();
}

#[test]
fn changes_while_no_daemon_ran_wake_once_when_one_starts() {
    let world = TestHome::new();
    let folder = watched(&world);
    fs::write(folder.join("old.md"), "is another").expect("written");
    assert!(runs(&world).is_empty());
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| completed(&world) == 1);
    daemon.kill();
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    assert_eq!(well(&world, &["source", "scan", "notes"])["changes"], 0);
    assert_eq!(runs(&world).len(), 1, "a restart wakes no agent twice");
    daemon.kill();
}

#[test]
fn a_commit_wakes_the_agents_subscribed_to_the_branch() {
    let world = TestHome::new();
    let repository = world.path().join("code");
    let git = |name: &str, text: &str| {
        let path = repository.join(".git").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    };
    fs::create_dir_all(repository.join(".git/objects")).expect("folders");
    git("HEAD", "ref: refs/heads/main\n");
    git("refs/heads/main", ONE);
    well(&world, &["agent", "create", "reader"]);
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    // Added through the daemon, which watches it from then on.
    let path = repository.to_str().expect("UTF-8");
    let added = well(&world, &["source", "add", "git", path, "--id", "code"]);
    assert_eq!(added["entries"], 2, "{added}");
    well(
        &world,
        &["subscribe", "reader", "--on", "git.ref=refs/heads/main"],
    );
    git("refs/heads/topic", TWO);
    git("refs/heads/main", TWO);
    wait_until(|| completed(&world) == 1);
    let changes = well(&world, &["journal", "changes"]).to_string();
    assert!(
        changes.contains("git.change") && changes.contains("moved"),
        "{changes}"
    );
    well(&world, &["source", "remove", "code"]);
    assert_eq!(
        world.wakeful(&["source", "scan", "code", "--json"]).error_code(),
        "source_unknown"
    );
    assert_eq!(runs(&world).len(), 1);
    daemon.kill();
}

#[test]
fn an_invalid_source_is_reported_with_its_code() {
    let world = TestHome::new();
    let folder = watched(&world);
    let path = folder.to_str().expect("UTF-8");
    let home = world.home();
    let inside = home.to_str().expect("UTF-8");
    fs::create_dir_all(world.path().join("other/.git/refs")).expect("folders");
    let other = world.path().join("other");
    let (other, internals) = (other.to_str().expect("UTF-8"), other.join(".git/refs"));
    let cases: [(&[&str], &str); 8] = [
        (&["add", "folder", "/no/such/folder"], "folder_not_found"),
        (&["add", "git", path], "not_a_repository"),
        (&["add", "folder", inside], "inside_home"),
        (
            &["add", "folder", internals.to_str().expect("UTF-8")],
            "inside_git",
        ),
        (&["add", "folder", path, "--id", "again"], "already_watched"),
        (&["add", "folder", other, "--id", "notes"], "source_exists"),
        (&["add", "folder", other, "--id", "A b"], "bad_id"),
        (&["remove", "nothing"], "source_unknown"),
    ];
    for (args, code) in cases {
        let said = world.wakeful(&[&["source"], args, &["--json"]].concat());
        assert_eq!(said.error_code(), code, "{args:?}: {said:?}");
    }
    let same = well(&world, &["source", "add", "folder", path]);
    assert_eq!(same["source_id"], "notes", "the same one again is the same one");
    for number in 1..64 {
        let one = world.path().join(format!("many/{number}"));
        fs::create_dir_all(&one).expect("folders");
        well(&world, &["source", "add", "folder", one.to_str().expect("UTF-8")]);
    }
    let said = world.wakeful(&["source", "add", "folder", other, "--json"]);
    assert_eq!(said.error_code(), "too_many_sources", "{said:?}");
}

#[test]
fn killed_anywhere_between_a_file_and_its_run_one_run_exists() {
    for point in [
        "outside.before_commit",
        "outside.after_commit",
        "notice.before_commit",
        "notice.after_commit",
        "admit.after_commit",
    ] {
        let world = TestHome::new();
        let folder = watched(&world);
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
        fs::write(folder.join("new.md"), "hello").expect("written");
        wait_until(|| daemon.is_dead());
        let daemon = RunningDaemon::serve(&world, &["--model", &model]);
        wait_until(|| completed(&world) == 1);
        assert_eq!(
            well(&world, &["source", "scan", "notes"])["changes"],
            0,
            "{point}"
        );
        let all = runs(&world);
        assert_eq!(all.len(), 1, "{point}: {all:?}");
        daemon.kill();
    }
}

#[test]
fn a_folder_missing_at_startup_is_watched_when_it_returns() {
    let world = TestHome::new();
    let folder = watched(&world);
    let away = world.path().join("away");
    fs::rename(&folder, &away).expect("moved away");
    let model = world.script(ANSWER);
    let _daemon = RunningDaemon::serve(&world, &["--model", &model]);
    wait_until(|| well(&world, &["source", "list"])["sources"][0]["last_error"].is_string());
    fs::write(away.join("new.md"), "hello").expect("written");
    fs::rename(&away, &folder).expect("moved back");
    wait_until(|| completed(&world) == 1);
    let list = well(&world, &["source", "list"]);
    assert!(list["sources"][0]["last_error"].is_null(), "{list}");
}

#[test]
fn a_secret_in_a_file_name_is_redacted() {
    const SECRET: &str = "s3cret-value-123456";
    let world = TestHome::new();
    let folder = watched(&world);
    let value = world.path().join("value");
    fs::write(&value, SECRET).expect("written");
    let value = value.to_str().expect("UTF-8");
    well(&world, &["secret", "set", "DEPLOY_TOKEN", "--file", value]);
    let model = world.script(ANSWER);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    fs::write(folder.join(format!("dump-{SECRET}.md")), "hello").expect("written");
    wait_until(|| completed(&world) == 1);
    let key = runs(&world)[0]["run_key"].as_str().expect("a key").to_owned();
    let shown = [&["runs", "show", &key][..], &["why", &key], &["events", "reader"]];
    let shown = shown.map(|args| world.wakeful(&[args, &["--json"]].concat()).stdout);
    let shown = shown.concat();
    assert!(shown.contains("dump-[secret DEPLOY_TOKEN].md"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    daemon.kill();
}
