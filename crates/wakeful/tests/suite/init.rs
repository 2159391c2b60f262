//! The first minute: a home, settings and an agent, by questions or by flags, and the second time nothing.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::home_fixture::{CommandOutput, TestHome, program};

fn config(world: &TestHome) -> String {
    fs::read_to_string(world.home().join("config.toml")).expect("a file")
}

/// Calls the program at a terminal, where somebody types these lines.
fn typed(world: &TestHome, args: &str, lines: &str) -> CommandOutput {
    let mut command = world.command("script".as_ref());
    let call = format!("{} init {args}", program().display());
    command
        .args(["--quiet", "--return", "--command", &call, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("script starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("typed");
    drop(input);
    child.wait_with_output().expect("ends").into()
}

#[test]
fn without_a_terminal_nothing_is_asked_and_defaults_hold() {
    let world = TestHome::new();
    let said = world.wakeful(&["init", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let workspace = world.workspace().canonicalize().expect("a folder");
    assert_eq!(
        said.json(),
        json!({
            "home": world.home().canonicalize().expect("a home"),
            "config": world.home().canonicalize().expect("a home").join("config.toml"),
            "config_changed": true,
            "agent_id": "main",
            "workspace": workspace,
            "agent_created": true,
            "next": ["wakeful serve", "wakeful open", "wakeful run \"Show me what you can do\""],
        })
    );
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(agent["workspace"], json!(workspace));
}

#[test]
fn flags_settle_everything() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: hello}]\n");
    let said = world.wakeful(&[
        "init",
        "--json",
        "--provider",
        "acme",
        "--model",
        &model,
        "--agent",
        "helper",
        "--daily-usd",
        "2.5",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for (key, value) in [
        ("provider.name", "acme"),
        ("model.default", model.as_str()),
        ("agent.default", "helper"),
        ("budget.daily_usd", "2.5"),
    ] {
        assert_eq!(world.wakeful(&["config", "get", key]).stdout.trim(), value);
    }
}

#[test]
fn the_second_time_changes_nothing_and_says_so() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init", "--agent", "helper"]).code, Some(0));
    let before = config(&world);
    let said = world.wakeful(&["init", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        (
            &said.json()["config_changed"],
            &said.json()["agent_created"],
            &said.json()["agent_id"]
        ),
        (&json!(false), &json!(false), &json!("helper"))
    );
    assert!(said.stderr.contains("nothing was changed"), "{said:?}");
    assert_eq!(config(&world), before);
    // A whole number for the cap is as good, and whoever took the cap away is not given it back.
    for text in [
        before.replace("5.0", "5"),
        before.replace("daily_usd = 5.0\n", ""),
    ] {
        fs::write(world.home().join("config.toml"), &text).expect("written");
        assert_eq!(world.wakeful(&["init"]).code, Some(0));
        assert_eq!(config(&world), text);
    }
}

#[test]
fn an_agent_that_is_there_keeps_its_workspace() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    let other = world.path().join("other");
    fs::create_dir(&other).expect("a folder");
    let said = world.wakeful(&["init", "--json", "--workspace", &other.display().to_string()]);
    assert_eq!(said.json()["config_changed"], true, "{said:?}");
    assert_eq!(said.json()["workspace"], json!(world.workspace()), "{said:?}");
    assert!(said.stderr.contains("keeps its workspace"), "{said:?}");
}

#[test]
fn where_the_current_folder_holds_the_home_a_folder_beside_it_is_made() {
    let world = TestHome::new();
    let mut command = world.command(program());
    command.current_dir(world.path());
    let said: CommandOutput = command.args(["init", "--json"]).output().expect("starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let made = world.path().join("wakeful-workspace");
    assert_eq!(
        said.json()["workspace"],
        json!(made.canonicalize().expect("made"))
    );
}

#[test]
fn wrong_flags_are_refused_and_make_nothing() {
    for (args, code) in [
        (["--agent", "No Good"], "bad_value"),
        (["--model", "gpt-99"], "bad_value"),
        (["--daily-usd", "-1"], "bad_value"),
        (["--daily-usd", "much"], "bad_value"),
        (["--provider", "a b"], "bad_value"),
        (["--workspace", "/nowhere/at/all"], "workspace_unusable"),
        (["--workspace", "/"], "workspace_overlaps_home"),
    ] {
        let world = TestHome::new();
        let said = world.wakeful(&["init", "--json", args[0], args[1]]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert_eq!(said.error_code(), code, "{said:?}");
        assert!(!world.home().exists(), "{said:?}");
    }
}

#[test]
fn a_broken_file_of_settings_is_not_written_over() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init"]).code, Some(0));
    fs::write(world.home().join("config.toml"), "[server\n").expect("broken");
    let said = world.wakeful(&["init", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "config_invalid")
    );
    assert_eq!(config(&world), "[server\n");
}

#[test]
fn at_a_terminal_five_questions_are_asked_and_enter_takes_the_default() {
    let world = TestHome::new();
    let said = typed(&world, "", "acme\n\n\nNo Good\nhelper\n7\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    for question in ["provider", "Model", "Folder", "first agent", "spending cap"] {
        assert!(
            said.stdout.contains(question),
            "{question} was not asked: {said:?}"
        );
    }
    let text = config(&world);
    for line in ["name = \"acme\"", "default = \"helper\"", "daily_usd = 7.0"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn at_a_terminal_nothing_is_asked_that_was_said_and_an_early_end_makes_nothing() {
    let world = TestHome::new();
    // The sign for the end of input.
    let said = typed(&world, "", "acme\n\u{4}");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stdout.contains("init_aborted") && !world.home().exists(),
        "{said:?}"
    );
    let said = typed(&world, "--agent helper --provider acme", "\n\n\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stdout.contains("Folder for") && !said.stdout.contains("Name of the first agent"),
        "{said:?}"
    );
    let said = typed(&world, "--yes", "");
    assert_eq!(
        (said.code, said.stdout.contains("Folder for")),
        (Some(0), false),
        "{said:?}"
    );
}

#[test]
fn schedules_of_a_new_home_make_up_for_what_they_miss_and_those_of_others_do_not() {
    let add = |world: &TestHome, id: &str, more: &[&str]| {
        let args = [
            "schedule",
            "add",
            "main",
            "--every",
            "1h",
            "--message",
            "Look.",
            "--json",
            "--id",
            id,
        ];
        let said = world.wakeful(&[&args[..], more].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.json()["allows_catch_up"].clone()
    };
    let new = TestHome::new();
    assert_eq!(new.wakeful(&["init", "--yes"]).code, Some(0));
    assert_eq!(
        new.wakeful(&["config", "get", "schedule.catch_up"]).stdout.trim(),
        "true"
    );
    assert_eq!(add(&new, "unsaid", &[]), true);
    assert_eq!(add(&new, "refused", &["--catch-up=false"]), false);
    // Whoever took it away is not given it back.
    assert_eq!(
        new.wakeful(&["config", "set", "schedule.catch_up", "false"]).code,
        Some(0)
    );
    assert_eq!(new.wakeful(&["init", "--yes"]).code, Some(0));
    assert_eq!(add(&new, "later", &[]), false);
    let plain = TestHome::new();
    assert_eq!(plain.wakeful(&["agent", "create", "main"]).code, Some(0));
    assert_eq!(add(&plain, "unsaid", &[]), false);
    assert_eq!(add(&plain, "wanted", &["--catch-up"]), true);
}
