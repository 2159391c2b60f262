//! Problems are found, explained and, on request, fixed; a check changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::home_fixture::{CommandOutput, TestHome, lasting, program, wait_until};

/// A home after `wakeful init`.
fn settled() -> TestHome {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    world
}

/// Status and hint of one check.
fn check(said: &CommandOutput, name: &str) -> (String, String) {
    let checks = said.json()["checks"].as_array().expect("checks").clone();
    let worst = checks
        .iter()
        .filter(|check| check["name"] == name)
        .max_by_key(|check| check["status"] != "ok");
    let member = |member: &str| {
        worst.unwrap_or_else(|| panic!("no check {name}: {said:?}"))[member]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (member("status"), member("hint"))
}

fn doctor(world: &TestHome) -> CommandOutput {
    world.wakeful(&["doctor", "--json"])
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn open_to_all(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

/// The pid of a process that is certainly dead.
fn dead() -> u32 {
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().expect("starts");
    child.wait().expect("ends");
    child.id()
}

#[test]
fn an_initialized_home_has_no_problem() {
    let world = settled();
    let said = doctor(&world);
    assert_eq!(said.code, Some(0), "{said:?}");
    let checks = said.json()["checks"].as_array().expect("checks").clone();
    let names: Vec<&str> = checks
        .iter()
        .map(|check| check["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "home",
            "permissions",
            "config",
            "lock",
            "run",
            "scratch",
            "log",
            "stop",
            "key",
            "database",
            "runs",
            "brake",
            "decisions",
            "workspace",
            "sagas",
            "journal",
            "blobs",
            "clock",
            "pages",
            "backup",
            "sandbox",
            "limits",
            "space"
        ]
    );
    assert!(checks.iter().all(|check| check["status"] == "ok"), "{said:?}");
    assert_eq!(said.json()["problems"], 0);
}

#[test]
fn a_missing_home_is_a_problem_with_a_hint_and_not_created() {
    let world = TestHome::new();
    for args in [&["doctor", "--json"][..], &["doctor", "--fix", "--json"]] {
        let said = world.wakeful(args);
        assert_eq!(said.code, Some(1), "{said:?}");
        let (status, hint) = check(&said, "home");
        assert!(status == "problem" && hint.contains("wakeful init"), "{said:?}");
        assert!(!world.home().exists());
    }
}

#[test]
fn a_home_that_cannot_be_written_to_is_a_problem() {
    let world = settled();
    let home = world.home().display().to_string();
    // A read-only mount also stops root, unlike permissions.
    let inside =
        format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}' && exec \"$@\"");
    let mut command = world.command("unshare".as_ref());
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &inside, "sh"])
        .arg(program())
        .args(["doctor", "--json"]);
    let said: CommandOutput = command.output().expect("unshare").into();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(check(&said, "permissions").0, "problem", "{said:?}");
}

#[test]
fn a_foreign_folder_is_named_and_left_alone() {
    let world = TestHome::new();
    fs::create_dir(world.home()).expect("a folder");
    fs::write(world.home().join("thesis.txt"), "mine").expect("a file");
    open_to_all(&world.home(), 0o755);
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(check(&said, "home").0, "problem", "{said:?}");
    assert_eq!(
        (
            mode(&world.home()),
            fs::read_dir(world.home()).expect("it").count()
        ),
        (0o755, 1)
    );
}

#[test]
fn files_open_to_others_are_made_private_on_request() {
    let world = settled();
    let (config, token) = (world.home().join("config.toml"), world.home().join("token"));
    fs::write(&token, "secret").expect("a token");
    open_to_all(&world.home(), 0o755);
    open_to_all(&config, 0o644);
    open_to_all(&token, 0o640);
    let said = doctor(&world);
    assert_eq!(said.code, Some(1), "{said:?}");
    for name in ["permissions", "config", "token"] {
        let (status, hint) = check(&said, name);
        assert!(
            status == "problem" && hint.contains("doctor --fix"),
            "{name}: {said:?}"
        );
    }
    assert_eq!(
        (mode(&world.home()), mode(&config), mode(&token)),
        (0o755, 0o644, 0o640)
    );
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(
        (said.code, said.json()["fixed"].as_u64()),
        (Some(0), Some(3)),
        "{said:?}"
    );
    assert_eq!(
        (mode(&world.home()), mode(&config), mode(&token)),
        (0o700, 0o600, 0o600)
    );
    assert_eq!(doctor(&world).json()["fixed"], 0);
}

#[test]
fn records_of_dead_processes_are_removed_and_others_stay() {
    let world = settled();
    let run = world.home().join("run");
    fs::create_dir(&run).expect("a folder");
    let dead = dead();
    let living = std::process::id();
    for (name, text) in [
        ("dead.pid", format!("{dead}\n")),
        ("dead.json", format!("{{\"pid\":{dead},\"port\":1}}")),
        // The pid is alive but belongs to another process now.
        ("reused.json", format!("{{\"pid\":{living},\"pid_started\":1}}")),
        ("living.pid", living.to_string()),
        ("living.json", format!("{{\"pid\":{living}}}")),
        ("other.txt", "no note".to_owned()),
    ] {
        fs::write(run.join(name), text).expect("a note");
    }
    let said = doctor(&world);
    assert_eq!(
        (said.code, said.json()["problems"].as_u64()),
        (Some(1), Some(3)),
        "{said:?}"
    );
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(
        (said.code, said.json()["fixed"].as_u64()),
        (Some(0), Some(3)),
        "{said:?}"
    );
    let mut left: Vec<_> = fs::read_dir(&run)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["living.json", "living.pid", "other.txt"]);
}

#[test]
fn wrong_settings_are_problems() {
    let world = settled();
    fs::write(
        world.home().join("config.toml"),
        "[server]\nprot = 1\nport = \"x\"\n",
    )
    .expect("written");
    let said = doctor(&world);
    let (status, hint) = check(&said, "config");
    assert!(
        said.code == Some(1) && status == "problem" && hint.contains("config doctor"),
        "{said:?}"
    );
}

#[test]
fn a_token_file_that_was_named_and_is_missing_is_a_problem() {
    let world = settled();
    let set = ["config", "set", "server.token_file", "/nowhere/token"];
    assert_eq!(world.wakeful(&set).code, Some(0));
    assert_eq!(check(&doctor(&world), "token").0, "problem");
}

#[test]
fn a_damaged_database_is_a_problem_and_is_not_touched() {
    let world = settled();
    let path = world.home().join("agent.sqlite");
    fs::write(&path, "this is not a database".repeat(500)).expect("damage");
    let before = fs::read(&path).expect("bytes");
    let said = world.wakeful(&["doctor", "--fix", "--json"]);
    let (status, hint) = check(&said, "database");
    assert!(
        said.code == Some(1) && status == "problem" && hint.contains("backup"),
        "{said:?}"
    );
    assert_eq!(fs::read(&path).expect("bytes"), before);
}

#[test]
fn a_home_without_a_database_has_no_problem() {
    let world = TestHome::new();
    assert_eq!(
        world.wakeful(&["config", "set", "server.port", "1"]).code,
        Some(0)
    );
    let said = doctor(&world);
    assert_eq!(
        (said.code, check(&said, "database").0.as_str()),
        (Some(0), "warning"),
        "{said:?}"
    );
    assert!(!world.home().join("agent.sqlite").exists(), "looking made one");
}

#[test]
fn a_missing_workspace_is_a_problem_of_its_agent() {
    let world = settled();
    let gone = world.path().join("gone");
    fs::create_dir(&gone).expect("a folder");
    let create = [
        "agent",
        "create",
        "lost",
        "--workspace",
        &gone.display().to_string(),
    ];
    assert_eq!(world.wakeful(&create).code, Some(0));
    fs::remove_dir(&gone).expect("removed");
    let said = doctor(&world);
    assert_eq!(
        (said.code, check(&said, "workspace").0.as_str()),
        (Some(1), "problem")
    );
    assert!(said.stdout.contains("agent lost"), "{said:?}");
}

#[test]
fn a_run_interrupted_by_a_crash_is_a_warning() {
    let world = settled();
    let model = world.script(&lasting("60"));
    let mut driver = world
        .command(program())
        .args(["run", "x", "--model", &model])
        .spawn()
        .expect("starts");
    wait_until(|| world.workspace().join("begun").exists());
    let said = doctor(&world);
    let words = said.json()["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .find(|check| check["name"] == "lock")
        .map(|check| check["message"].clone());
    assert!(
        matches!(words, Some(Value::String(words)) if words.contains(&driver.id().to_string())),
        "{said:?}"
    );
    assert_eq!(
        (said.code, check(&said, "runs").0.as_str()),
        (Some(0), "ok"),
        "{said:?}"
    );
    driver.kill().expect("kill -9");
    driver.wait().expect("gone");
    let said = doctor(&world);
    assert_eq!(check(&said, "runs").0, "warning", "{said:?}");
    assert!(
        said.code == Some(0) && check(&said, "runs").1.contains("run --resume"),
        "{said:?}"
    );
}

#[test]
fn a_server_that_does_not_answer_is_a_problem() {
    let world = settled();
    let nobody = "postgres://nobody@127.0.0.1:1/none";
    let said = world.wakeful(&["doctor", "--json", "--database", nobody]);
    let (status, hint) = check(&said, "database");
    assert!(
        said.code == Some(1) && status == "problem" && !hint.is_empty(),
        "{said:?}"
    );
}

#[test]
fn checking_a_server_leaves_nothing_there() {
    let world = TestHome::on_postgres();
    let said = doctor(&world);
    assert_eq!(
        check(&said, "database").0,
        "warning",
        "nothing is there yet: {said:?}"
    );
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let said = doctor(&world);
    assert_eq!(
        (said.code, check(&said, "database").0.as_str()),
        (Some(0), "ok"),
        "{said:?}"
    );
    world.orphan("silent.yaml", &[]);
    assert_eq!(check(&doctor(&world), "runs").0, "warning");
}

#[test]
fn the_text_output_names_the_check_and_the_hint() {
    let world = TestHome::new();
    let said = world.wakeful(&["doctor"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.contains("problem  home") && said.stdout.contains("hint: create one with `wakeful init`"),
        "{said:?}"
    );
}
