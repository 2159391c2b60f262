//! `wakeful init`: creates a home, settings and an agent from questions or flags; a second call changes
//! nothing.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::home_fixture::{CommandOutput, TestHome, program};

fn config(world: &TestHome) -> String {
    fs::read_to_string(world.home().join("config.toml")).expect("a file")
}

/// Calls the program at a terminal with these lines as input.
pub(super) fn typed(world: &TestHome, args: &str, lines: &str) -> CommandOutput {
    let mut command = world.command("script".as_ref());
    let call = format!("{} init {args}", program().display());
    command.args(["--quiet", "--return", "--command", &call, "/dev/null"]);
    with_input(command, lines)
}

/// Calls a program with these lines as input.
pub(super) fn with_input(mut command: Command, lines: &str) -> CommandOutput {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("script starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("typed");
    drop(input);
    child.wait_with_output().expect("ends").into()
}

#[test]
fn without_a_terminal_nothing_is_asked_and_defaults_apply() {
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
            "model": "demo",
            "key": null,
            "agent_id": "main",
            "workspace": workspace,
            "agent_created": true,
            "next": "wakeful daemon start && wakeful open",
        })
    );
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(agent["workspace"], json!(workspace));
}

#[test]
fn flags_answer_every_question() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: hello}]\n");
    let said = world.wakeful(&[
        "init",
        "--json",
        "--model",
        &model,
        "--agent",
        "helper",
        "--daily-usd",
        "2.5",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for (key, value) in [
        ("model.default", model.as_str()),
        ("agent.default", "helper"),
        ("budget.daily_usd", "2.5"),
    ] {
        assert_eq!(world.wakeful(&["config", "get", key]).stdout.trim(), value);
    }
}

#[test]
fn a_second_call_changes_nothing_and_reports_it() {
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
    // An integer is a valid cap, and a cap that was removed is not restored.
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
fn an_existing_agent_keeps_its_workspace() {
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
fn a_separate_workspace_is_created_if_the_current_folder_contains_the_home() {
    let world = TestHome::new();
    let mut command = world.command(program());
    command.current_dir(world.path());
    let said: CommandOutput = command.args(["init", "--json"]).output().expect("starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let made = world.path().join("wakeful-work");
    assert_eq!(
        said.json()["workspace"],
        json!(made.canonicalize().expect("made"))
    );
}

#[test]
fn wrong_flags_are_refused_and_create_nothing() {
    for (args, code) in [
        (["--agent", "No Good"], "bad_value"),
        (["--model", "gpt-99"], "bad_value"),
        (["--daily-usd", "-1"], "bad_value"),
        (["--daily-usd", "much"], "bad_value"),
        (["--provider", "a b"], "bad_value"),
        (["--key-file", "/dev/null"], "usage"),
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
fn a_broken_settings_file_is_not_overwritten() {
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
fn a_terminal_gets_questions_and_enter_accepts_the_default() {
    let world = TestHome::new();
    let said = typed(&world, "", "acme\n\n\nNo Good\nhelper\n7\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    for question in [
        "Model provider",
        "is not in the list",
        "Folder",
        "first agent",
        "spending cap",
    ] {
        assert!(
            said.stdout.contains(question),
            "{question} was not asked: {said:?}"
        );
    }
    let text = config(&world);
    for line in ["default = \"helper\"", "daily_usd = 7.0"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn flags_skip_questions_and_an_early_end_creates_nothing() {
    let world = TestHome::new();
    // The end-of-input character.
    let said = typed(&world, "", "\n\u{4}");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stdout.contains("init_aborted") && !world.home().exists(),
        "{said:?}"
    );
    let said = typed(&world, "--agent helper --model demo", "\n\n");
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
fn only_schedules_of_a_new_home_catch_up_by_default() {
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
    // A cap that was removed is not restored.
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

#[test]
fn a_model_that_no_list_confirms_needs_a_flag() {
    let world = TestHome::new();
    let args = ["init", "--yes", "--json", "--model", "openai/nonsense-9"];
    let said = world.wakeful(&args);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_unverified"),
        "{said:?}"
    );
    assert!(!world.home().exists());
    let said = world.wakeful(&[&args[..], &["--no-test"]].concat());
    assert_eq!(
        (said.code, &said.json()["model"]),
        (Some(0), &json!("openai/nonsense-9"))
    );
}
