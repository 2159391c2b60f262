//! The daemon as a service: the unit is written, left alone, and removed; systemd is called only on
//! request.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};

fn unit(world: &TestHome) -> PathBuf {
    world.path().join(".config/systemd/user/wakeful.service")
}

/// Calls the program in a test home whose `systemctl` records its arguments.
fn with_systemctl(world: &TestHome, ending: &str, args: &[&str]) -> CommandOutput {
    let bin = world.path().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}/asked'\n{ending}\n",
        world.path().display()
    );
    let path = bin.join("systemctl");
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may run");
    with_path(world, &format!("{}:/usr/bin:/bin", bin.display()), args)
}

fn with_path(world: &TestHome, path: &str, args: &[&str]) -> CommandOutput {
    let mut command = world.command(program());
    command
        .env("PATH", path)
        .args(args)
        .output()
        .expect("starts")
        .into()
}

fn asked(world: &TestHome) -> Vec<String> {
    let text = fs::read_to_string(world.path().join("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn printing_writes_nothing() {
    let world = TestHome::new();
    let said = with_systemctl(&world, "", &["service", "install", "--print"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let line = format!(
        "ExecStart=:\"{}\" serve --home \"{}\"",
        program().display(),
        world.home().display()
    );
    for wanted in [
        line.as_str(),
        "Type=notify",
        "Restart=on-failure",
        "KillMode=mixed",
        "TimeoutStopSec=20",
        "Delegate=pids memory",
    ] {
        assert!(
            said.stdout.lines().any(|line| line == wanted),
            "{wanted} is not in {said:?}"
        );
    }
    assert!(!unit(&world).exists() && !world.home().exists() && asked(&world).is_empty());
}

#[test]
fn a_unit_is_installed_once_and_removed_once() {
    let world = TestHome::new();
    let install = ["service", "install", "--json"];
    let said = with_systemctl(&world, "", &install);
    assert_eq!(
        (said.code, said.json()["changed"].as_bool()),
        (Some(0), Some(true))
    );
    let text = fs::read_to_string(unit(&world)).expect("a unit");
    assert_eq!(
        text,
        with_systemctl(&world, "", &["service", "install", "--print"]).stdout
    );
    let said = with_systemctl(&world, "", &install);
    assert_eq!(said.json()["changed"], false, "{said:?}");
    assert!(asked(&world).is_empty(), "systemd was asked without --now");
    let said = with_systemctl(&world, "", &["service", "uninstall", "--json"]);
    assert_eq!(said.json()["removed"], true, "{said:?}");
    assert!(!unit(&world).exists());
    let said = with_systemctl(&world, "", &["service", "uninstall", "--json"]);
    assert_eq!(
        (said.code, said.json()["removed"].as_bool()),
        (Some(0), Some(false))
    );
}

#[test]
fn systemd_is_called_on_request() {
    let world = TestHome::new();
    let said = with_systemctl(&world, "", &["service", "install", "--now", "--json"]);
    assert_eq!(
        (said.code, said.json()["started"].as_bool()),
        (Some(0), Some(true))
    );
    assert_eq!(
        asked(&world),
        ["--user daemon-reload", "--user enable --now wakeful.service"]
    );
    let said = with_systemctl(&world, "", &["service", "uninstall", "--now", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        asked(&world)[2..],
        ["--user disable --now wakeful.service", "--user daemon-reload"]
    );
}

#[test]
fn a_failing_or_missing_systemd_is_reported_and_the_unit_is_written() {
    let world = TestHome::new();
    let said = with_systemctl(
        &world,
        "echo no bus >&2; exit 1",
        &["service", "install", "--now", "--json"],
    );
    assert_eq!(
        (said.code, said.json()["started"].as_bool()),
        (Some(1), Some(false))
    );
    assert!(
        said.stderr.contains("no bus") && unit(&world).exists(),
        "{said:?}"
    );
    let world = TestHome::new();
    let said = with_path(&world, "/nowhere", &["service", "install", "--now", "--json"]);
    assert!(
        said.stderr.contains("systemctl was not found") && unit(&world).exists(),
        "{said:?}"
    );
}

#[test]
fn the_unit_folder_follows_the_environment() {
    let world = TestHome::new();
    let mut command = world.command(program());
    command.env("XDG_CONFIG_HOME", world.path().join("elsewhere"));
    let said: CommandOutput = command
        .args(["service", "install"])
        .output()
        .expect("starts")
        .into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        world
            .path()
            .join("elsewhere/systemd/user/wakeful.service")
            .exists()
    );
    assert!(!unit(&world).exists());
}

#[test]
fn a_foreign_unit_is_left_alone() {
    let world = TestHome::new();
    fs::create_dir_all(unit(&world).parent().expect("a folder")).expect("made");
    fs::write(unit(&world), "[Service]\nExecStart=/mine\n").expect("theirs");
    for verb in ["install", "uninstall"] {
        let said = with_systemctl(&world, "", &["service", verb, "--now", "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "service_unit_not_ours")
        );
    }
    assert!(
        fs::read_to_string(unit(&world))
            .expect("theirs")
            .contains("/mine")
    );
    assert!(asked(&world).is_empty());
}

#[test]
fn the_status_shows_the_unit_and_whether_it_runs() {
    let world = TestHome::new();
    let status = ["service", "status", "--json"];
    let ending = "case \"$2\" in is-active) echo inactive; exit 3;; is-enabled) echo enabled;; esac";
    let said = with_systemctl(&world, ending, &status);
    let json = said.json();
    assert_eq!(
        [&json["state"], &json["active"], &json["enabled"]],
        ["absent", "inactive", "enabled"]
    );
    with_systemctl(&world, "", &["service", "install"]);
    assert_eq!(with_systemctl(&world, ending, &status).json()["state"], "current");
    let other = world.path().join("other").display().to_string();
    let said = with_systemctl(&world, ending, &["service", "status", "--json", "--home", &other]);
    assert_eq!(said.json()["state"], "different", "{said:?}");
    let said = with_path(&world, "/nowhere", &status);
    assert_eq!(
        (said.code, said.json()["active"].as_str()),
        (Some(0), Some("unknown"))
    );
}

#[test]
fn systemd_accepts_the_unit_for_a_home_with_an_odd_name() {
    let world = TestHome::new();
    let home = world.path().join("a b%h$c\"d").display().to_string();
    let said = world.wakeful(&["service", "install", "--print", "--home", &home]);
    let path = world.path().join("wakeful.service");
    fs::write(&path, &said.stdout).expect("a unit");
    let verify = std::process::Command::new("systemd-analyze")
        .args(["verify", "--user"])
        .arg(&path)
        .env("XDG_RUNTIME_DIR", world.path())
        .output();
    // Skipped without systemd; the quoting has its own property test.
    if let Ok(verify) = verify {
        let complaints = String::from_utf8_lossy(&verify.stderr).into_owned();
        assert!(!complaints.contains("wakeful.service:"), "{complaints}");
    }
}

#[test]
fn a_ready_daemon_notifies_its_service_manager() {
    let world = TestHome::new();
    let path = world.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let mut serve = world.command(program());
    serve.env("NOTIFY_SOCKET", &path).args(["serve", "--port", "0"]);
    let serve = serve.stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = RunningDaemon::of(&world, serve.spawn().expect("starts"));
    let mut text = [0; 64];
    let length = manager.recv(&mut text).expect("a notification");
    assert_eq!(&text[..length], b"READY=1");
    assert!(daemon.terminate().success());
}
