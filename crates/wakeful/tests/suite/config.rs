//! Settings: read from three layers, changed in one, and explained when they are wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, program, wait_until};

fn write(world: &TestHome, text: &str) {
    // The first setting creates the home, which people should not do by hand.
    assert_eq!(
        world.wakeful(&["config", "set", "server.port", "1"]).code,
        Some(0)
    );
    fs::write(world.home().join("config.toml"), text).expect("a file");
}

fn text(world: &TestHome) -> String {
    fs::read_to_string(world.home().join("config.toml")).expect("a file")
}

fn with_variable(world: &TestHome, name: &str, value: &str, args: &[&str]) -> CommandOutput {
    let mut command = world.command(program());
    command
        .env(name, value)
        .args(args)
        .output()
        .expect("starts")
        .into()
}

/// The value of one setting and the kind of its origin.
fn value(said: &CommandOutput) -> (Value, Value) {
    let json = said.json();
    (json["value"].clone(), json["origin"]["kind"].clone())
}

#[test]
fn reading_settings_creates_nothing_and_shows_the_defaults() {
    let world = TestHome::new();
    let said = world.wakeful(&["config", "get", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let settings = said.json()["settings"].as_array().expect("settings").clone();
    let mut defaults: Vec<(&str, &Value)> = settings
        .iter()
        .map(|one| (one["key"].as_str().expect("a key"), &one["value"]))
        .collect();
    defaults.sort_by_key(|(name, _)| *name);
    assert_eq!(
        defaults,
        [
            ("agent.default", &json!("main")),
            ("agent.foreign_targets", &json!("ask")),
            ("agent.max_rounds", &json!(50)),
            ("agent.tool_calls_per_minute", &json!(60)),
            ("agent.workspace", &json!(null)),
            ("backup.daily", &json!(true)),
            ("backup.folder", &json!(null)),
            ("backup.keep", &json!(7)),
            ("backup.mib", &json!(8_192)),
            ("budget.daily_usd", &json!(null)),
            ("decisions.deadline_hours", &json!(168)),
            ("log.format", &json!("text")),
            ("log.level", &json!("info")),
            ("model.default", &json!(null)),
            ("notify.desktop", &json!(null)),
            ("notify.webhook", &json!(null)),
            ("notify.webhook_format", &json!(null)),
            ("notify.webhook_key", &json!(null)),
            ("privacy.confirm", &json!("implied")),
            ("provider.name", &json!(null)),
            ("retention.blob_days", &json!(365)),
            ("retention.blob_mib", &json!(4_096)),
            ("retention.event_days", &json!(365)),
            ("retention.event_mib", &json!(1_024)),
            ("retention.trace_days", &json!(90)),
            ("retention.trace_mib", &json!(1_024)),
            ("schedule.catch_up", &json!(false)),
            ("server.address", &json!("127.0.0.1")),
            ("server.advertise", &json!(null)),
            ("server.messages_per_minute", &json!(6_000)),
            ("server.outside_requests_per_minute", &json!(100)),
            ("server.outside_turns_per_minute", &json!(20)),
            ("server.port", &json!(7717)),
            ("server.rate_per_minute", &json!(6_000)),
            ("server.token_file", &json!(null)),
            ("tools.default_output_tokens", &json!(8_000)),
            ("tools.disk_write_mib_max", &json!(10_240)),
            ("tools.disk_write_mib_per_day", &json!(51_200)),
            ("tools.max_output_tokens", &json!(64_000)),
            ("tools.memory_mib_max", &json!(null)),
            ("tools.processes_max", &json!(512)),
        ]
    );
    assert!(settings.iter().all(|one| one["origin"]["kind"] == "default"));
    assert_eq!(
        said.json()["fingerprint"].as_str().expect("a fingerprint").len(),
        64
    );
    assert_eq!(world.wakeful(&["config", "doctor"]).code, Some(0));
    assert!(!world.home().exists(), "looking made something");
}

#[test]
fn the_environment_overrides_the_file_which_overrides_the_defaults() {
    let world = TestHome::new();
    let get = ["config", "get", "server.port", "--json"];
    assert_eq!(value(&world.wakeful(&get)), (json!(7717), json!("default")));
    assert_eq!(
        world.wakeful(&["config", "set", "server.port", "8001"]).code,
        Some(0)
    );
    assert_eq!(value(&world.wakeful(&get)), (json!(8001), json!("file")));
    let said = with_variable(&world, "WAKEFUL_SERVER_PORT", "8002", &get);
    assert_eq!(value(&said), (json!(8002), json!("environment")));
    assert_eq!(said.json()["origin"]["name"], "WAKEFUL_SERVER_PORT");
    let said = with_variable(&world, "WAKEFUL_SERVER_PORT", "", &get);
    assert_eq!(
        value(&said),
        (json!(8001), json!("file")),
        "an empty variable is none"
    );
}

#[test]
fn one_setting_is_printed_bare_for_scripts() {
    let world = TestHome::new();
    let said = world.wakeful(&["config", "get", "server.address"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "127.0.0.1\n"));
    let said = world.wakeful(&["config", "get", "provider.name"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "\n"));
    assert!(said.stderr.contains("provider.name is not set"), "{said:?}");
}

#[test]
fn a_change_keeps_comments_and_order_and_is_private() {
    let world = TestHome::new();
    write(
        &world,
        "# mine\n[budget] # money\ndaily_usd = 3\n\n[server]\nport = 1 # low\n",
    );
    let path = world.home().join("config.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened");
    let said = world.wakeful(&["config", "set", "server.port", "2", "--json"]);
    assert_eq!(said.json()["changed"], true, "{said:?}");
    assert_eq!(
        text(&world),
        "# mine\n[budget] # money\ndaily_usd = 3\n\n[server]\nport = 2 # low\n"
    );
    assert_eq!(
        fs::metadata(&path).expect("a file").permissions().mode() & 0o777,
        0o600
    );
    let said = world.wakeful(&["config", "set", "server.port", "2", "--json"]);
    assert_eq!(said.json()["changed"], false, "{said:?}");
    let said = world.wakeful(&["config", "set", "server.port", "--unset", "--json"]);
    assert_eq!(
        (said.json()["changed"].clone(), said.json()["value"].clone()),
        (json!(true), json!(7717))
    );
    let strays = fs::read_dir(world.home()).expect("a home");
    let strays = strays
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(".new-"));
    assert_eq!(strays.count(), 0, "a passing file was left");
}

#[test]
fn a_change_while_a_daemon_runs_reports_that_a_restart_is_needed() {
    let world = TestHome::new();
    let set = |value| world.wakeful(&["config", "set", "server.port", value]);
    let word = "daemon restart";
    assert!(!set("1").stderr.contains(word), "no daemon is running");
    // This test stands in for a daemon: the record in `run/` names a live process.
    let stat = fs::read_to_string("/proc/self/stat").expect("ourselves");
    let fields = stat.rsplit(')').next().expect("fields");
    let began: u64 = fields
        .split_whitespace()
        .nth(19)
        .and_then(|began| began.parse().ok())
        .expect("a start");
    let record = json!({
        "pid": std::process::id(), "pid_started": began, "http_addr": "127.0.0.1:1", "token_file": "/nowhere",
    });
    fs::create_dir(world.home().join("run")).expect("a folder");
    fs::write(world.home().join("run/daemon.json"), record.to_string()).expect("a record");
    assert!(set("2").stderr.contains(word));
    assert!(!set("2").stderr.contains(word), "nothing was changed");
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let world = TestHome::new();
    write(&world, "");
    let (path, elsewhere) = (world.home().join("config.toml"), world.path().join("mine.toml"));
    fs::rename(&path, &elsewhere).expect("moved");
    std::os::unix::fs::symlink(&elsewhere, &path).expect("linked");
    assert_eq!(
        world.wakeful(&["config", "set", "server.port", "2"]).code,
        Some(0)
    );
    assert!(fs::symlink_metadata(&path).expect("a link").is_symlink());
    assert!(
        fs::read_to_string(elsewhere)
            .expect("a file")
            .contains("port = 2")
    );
}

#[test]
fn concurrent_changes_are_all_kept() {
    let world = TestHome::new();
    write(&world, "");
    let settings = [
        ("server.port", "2"),
        ("server.rate_per_minute", "3"),
        ("agent.default", "a"),
        ("provider.name", "openai"),
        ("budget.daily_usd", "4"),
        ("agent.max_rounds", "5"),
    ];
    let calls = settings.map(|(key, value)| world.start(&["config", "set", key, value]));
    for call in calls {
        assert!(call.wait_with_output().expect("ends").status.success());
    }
    let text = text(&world);
    for (key, _) in settings {
        assert!(text.contains(key.split_once('.').expect("a dot").1), "{text}");
    }
}

#[test]
fn a_wrong_change_is_refused_and_creates_no_home() {
    for (args, code, word) in [
        (
            ["server.prot", "1"],
            "config_key_unknown",
            "did you mean server.port?",
        ),
        (["zebra", "1"], "config_key_unknown", "config get"),
        (
            ["ask_tools", "ExecCommand"],
            "config_key_unknown",
            "agent.ask_tools",
        ),
        (["agent.ask_tools", "[\"ExecCommand\"]"], "bad_value", "commas"),
        (["server.port", "many"], "bad_value", "whole number"),
        (["server.port", "65536"], "bad_value", "65535"),
        (["server.address", "nowhere"], "bad_value", "IP address"),
        (["budget.daily_usd", "-1"], "bad_value", "number from 0"),
        (["model.default", "gpt-99"], "bad_value", "scripted:FILE"),
        (["agent.default", "No Good"], "bad_value", "a-z"),
    ] {
        let world = TestHome::new();
        let said = world.wakeful(&["config", "set", args[0], args[1], "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), code),
            "{said:?}"
        );
        assert!(said.stderr.contains(word), "{word:?} is not in {said:?}");
        assert!(!world.home().exists(), "{said:?}");
    }
    assert_eq!(
        TestHome::new().wakeful(&["config", "set", "server.port"]).code,
        Some(2)
    );
    let said = TestHome::new().wakeful(&["config", "get", "server.prot", "--json"]);
    assert_eq!(said.error_code(), "config_key_unknown");
}

#[test]
fn a_path_is_stored_as_absolute() {
    let world = TestHome::new();
    assert_eq!(
        world.wakeful(&["config", "set", "agent.workspace", "sub"]).code,
        Some(0)
    );
    let said = world.wakeful(&["config", "get", "agent.workspace"]);
    let expected = world.workspace().canonicalize().expect("a folder").join("sub");
    assert_eq!(said.stdout.trim(), expected.display().to_string());
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_never_changed() {
    let world = TestHome::new();
    let wrong = "[server]\nport = 80\nadress = \"::1\"\n";
    write(&world, wrong);
    let said = world.wakeful(&["config", "get", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "config_invalid")
    );
    assert!(
        said.stderr.contains("line 3") && said.stderr.contains("did you mean server.address?"),
        "{said:?}"
    );
    let said = world.wakeful(&["config", "set", "server.port", "81", "--json"]);
    assert_eq!(said.error_code(), "config_invalid");
    assert_eq!(text(&world), wrong);
    // The hint is a call that works.
    let said = world.wakeful(&["config", "set", "server.adress", "--unset"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(text(&world), "[server]\nport = 80\n");
    write(&world, "[server\n");
    let said = world.wakeful(&["config", "set", "server.port", "81", "--json"]);
    assert_eq!(said.error_code(), "config_invalid");
    assert_eq!(text(&world), "[server\n");
}

/// An editor or a full disk may leave a partial file.
#[test]
fn a_partial_file_under_a_live_daemon_is_refused_without_data_loss() {
    let world = TestHome::new();
    write(&world, "[agent]\ndefault = \"main\"\n");
    let whole = text(&world);
    let model = world.script(&commands(&["echo one >> world.txt"]));
    world.wakeful(&["agent", "create", "main"]);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let half = "[agent]\ndefault = \"ma";
    fs::write(world.home().join("config.toml"), half).expect("half of it");
    for args in [
        ["config", "set", "server.port", "2", "--json"].as_slice(),
        &["config", "get", "--json"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "config_invalid"),
            "{said:?}"
        );
        assert!(said.stderr.contains("line 2"), "{said:?}");
    }
    assert_eq!(text(&world), half, "nothing was written over it");
    // The daemon keeps the settings it was started with.
    let said = world.wakeful(&["run", "hello", "--agent", "main", "--json"]);
    assert!(said.code == Some(0) && said.stderr.contains("line 2"), "{said:?}");
    let sent = world.wakeful(&["message", "main", "do it", "--json"]);
    let key = sent.json()["run_key"].as_str().expect("a key").to_owned();
    let show = || world.wakeful(&["runs", "show", &key, "--json"]).json()["outcome"].clone();
    wait_until(|| show() == "completed");
    fs::write(world.home().join("config.toml"), whole).expect("repaired");
    let said = world.wakeful(&["config", "set", "server.port", "2", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(daemon.terminate().success());
    assert_eq!(world.lines(), ["one", "one"]);
}

#[test]
fn a_wrong_variable_is_refused_by_name() {
    let world = TestHome::new();
    let said = with_variable(
        &world,
        "WAKEFUL_SERVER_PORT",
        "many",
        &["config", "get", "--json"],
    );
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "bad_environment")
    );
    assert!(said.stderr.contains("WAKEFUL_SERVER_PORT"), "{said:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let world = TestHome::new();
    write(&world, "");
    let path = world.home().join("config.toml");
    fs::write(&path, [0xff, 0xfe]).expect("no text");
    let said = world.wakeful(&["config", "get", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "config_unreadable")
    );
    assert!(said.stderr.contains("config.toml"), "{said:?}");
    fs::write(&path, "#".repeat(2 << 20)).expect("a large file");
    assert_eq!(
        world.wakeful(&["config", "get", "--json"]).error_code(),
        "config_unreadable"
    );
    fs::remove_file(&path).expect("removed");
    // Reading a pipe without a writer would block forever.
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("starts").success());
    assert_eq!(
        world.wakeful(&["config", "get", "--json"]).error_code(),
        "config_unreadable"
    );
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a folder");
    assert_eq!(
        world.wakeful(&["config", "get", "--json"]).error_code(),
        "config_unreadable"
    );
}

#[test]
fn config_doctor_explains_every_problem() {
    let world = TestHome::new();
    write(
        &world,
        "[server]\nport = \"80\"\nadress = \"::1\"\n[budget]\ndaily_usd = -1\n",
    );
    let mut command = world.command(program());
    command
        .env("WAKEFUL_AGENT", "No Good")
        .env("WAKEFUL_SEVER_PORT", "1");
    let said: CommandOutput = command
        .args(["config", "doctor", "--json"])
        .output()
        .expect("starts")
        .into();
    assert_eq!(said.code, Some(1), "{said:?}");
    let problems = said.json()["problems"].as_array().expect("problems").clone();
    assert_eq!(problems.len(), 5, "{said:?}");
    assert!(
        problems
            .iter()
            .all(|problem| !problem["hint"].as_str().unwrap_or_default().is_empty()),
        "{said:?}"
    );
}

#[test]
fn the_schema_is_printed_and_refuses_unknown_keys() {
    let said = TestHome::new().wakeful(&["config", "schema"]);
    assert_eq!(said.code, Some(0));
    let schema = said.json();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["$defs"]["Server"]["properties"]["port"]["default"], 7717);
    assert_eq!(
        schema["$defs"]["Agent"]["properties"]["max_rounds"]["maximum"],
        100_000
    );
}
