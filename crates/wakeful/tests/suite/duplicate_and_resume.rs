//! Repeated messages and interrupted runs.

use super::home_fixture::{CommandOutput, SILENT, TestHome, commands, lasting, program, wait_until};

#[test]
fn the_same_key_without_an_agent_is_the_same_run() {
    let world = TestHome::new();
    let script = commands(&["echo one >> world.txt"]);
    let key = ["--idempotency-key", "order-66"];
    let (first, second) = (world.run(&script, &key), world.run(&script, &key));
    assert_eq!(first.json(), second.json());
    assert_eq!(world.lines(), ["one"]);
    let model = world.script(&script);
    let other = [
        "run",
        "something else",
        "--json",
        "--model",
        &model,
        "--idempotency-key",
        "order-66",
    ];
    assert_eq!(world.wakeful(&other).error_code(), "idempotency_conflict");
    world.run(&script, &["--idempotency-key", "order-67"]);
    assert_eq!(world.lines(), ["one", "one"]);
}

#[test]
fn a_repeated_key_continues_an_open_run_with_its_original_options() {
    let world = TestHome::new();
    let key = ["--agent", "a", "--create-agent", "--idempotency-key", "k"];
    let run = world.orphan("first.yaml", &key);
    world.script_named("first.yaml", &commands(&["echo one >> world.txt"]));
    let elsewhere = world.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let model = world.script_named("second.yaml", "rounds: [{text: from another model}]\n");
    let mut args = vec!["run", "do it", "--json", "--model", &model, "--max-rounds", "7"];
    let folder = elsewhere.display().to_string();
    args.extend(["--workspace", &folder, "--deny-tools", "ExecCommand"]);
    args.extend(key);
    let said = world.wakeful(&args);
    assert_eq!(
        (
            said.code,
            said.json()["run_key"].as_str(),
            said.json()["final_text"].as_str()
        ),
        (Some(0), Some(run.as_str()), Some("all done")),
        "{said:?}"
    );
    assert_eq!(world.lines(), ["one"]);
    assert_eq!(std::fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    for word in ["model", "workspace", "max-rounds", "deny-tools"] {
        assert!(
            said.stderr.contains(&format!("keeps its original {word}:")),
            "{word}: {said:?}"
        );
    }
}

#[test]
fn one_bad_run_does_not_block_resuming_the_others() {
    let world = TestHome::new();
    let gone = world.path().join("gone");
    std::fs::create_dir(&gone).expect("a workspace");
    let without_script = world.orphan("one.yaml", &[]);
    let without_workspace = world.orphan("two.yaml", &["--workspace", &gone.display().to_string()]);
    let without_state = world.orphan("three.yaml", &[]);
    let good = world.orphan("four.yaml", &[]);
    std::fs::remove_file(world.path().join("one.yaml")).expect("removed");
    std::fs::remove_dir(&gone).expect("removed");
    damage(&world, &without_state);
    world.script_named("four.yaml", &commands(&["echo one >> world.txt"]));
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (
            said.code,
            said.json()["run_key"].as_str(),
            said.json()["outcome"].as_str()
        ),
        (Some(1), Some(good.as_str()), Some("completed")),
        "{said:?}"
    );
    assert_eq!(world.lines(), ["one"]);
    let told = [
        (&without_script, "script_unreadable"),
        (&without_workspace, "workspace_unusable"),
        (&without_state, "run_state_invalid"),
    ];
    for (run, code) in told {
        let line = said
            .stderr
            .lines()
            .find(|line| line.contains(run.as_str()) && line.contains(code));
        assert!(line.is_some(), "{code}: {said:?}");
    }
    let again = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (again.code, again.json()),
        (
            Some(1),
            serde_json::json!({"resumed": 0, "driven_elsewhere": 0, "failed": 2})
        ),
        "a run that cannot continue is quarantined: {again:?}"
    );
    world.script_named("one.yaml", "rounds: [{text: back}]\n");
    let back = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (back.code, back.json()["final_text"].as_str()),
        (Some(1), Some("back")),
        "{back:?}"
    );
}

#[test]
fn a_run_with_an_unreadable_state_is_shown_from_its_rows() {
    let world = TestHome::new();
    let run = world.orphan("one.yaml", &[]);
    damage(&world, &run);
    let shown = world.wakeful(&["runs", "show", &run, "--json"]);
    let full = shown.json();
    assert_eq!(
        (shown.code, full["outcome"].as_str(), full["unreadable"].as_str()),
        (Some(0), Some("open"), Some("run_state_invalid")),
        "{shown:?}"
    );
    assert_eq!(full["steps"].as_array().map(Vec::len), Some(1), "{shown:?}");
    let text = world.wakeful(&["runs", "show", &run]);
    assert!(
        text.stdout.contains("cannot be read (run_state_invalid)"),
        "{text:?}"
    );
}

fn damage(world: &TestHome, run: &str) {
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let change = format!("UPDATE run SET state = '{{}}' WHERE hex(run_key) = upper('{run}')");
    assert_eq!(database.execute(&change, []).expect("damage"), 1);
}

#[test]
fn options_that_a_run_already_has_are_refused_on_resume() {
    let world = TestHome::new();
    for given in [
        ["--model", "demo"],
        ["--max-rounds", "3"],
        ["--workspace", "."],
        ["--deny-tools", "ExecCommand"],
    ] {
        let said = world.wakeful(&[&["run", "--resume", "--json"], &given[..]].concat());
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "usage"),
            "{given:?} {said:?}"
        );
    }
    assert!(!world.home().exists());
    // Environment variables apply to every call, so they do not conflict with `--resume`.
    let mut command = world.command(program());
    let said: CommandOutput = command
        .env("WAKEFUL_MODEL", "demo")
        .args(["run", "--resume", "--json"])
        .output()
        .expect("starts")
        .into();
    assert_eq!(
        (said.code, said.json()["resumed"].as_u64()),
        (Some(0), Some(0)),
        "{said:?}"
    );
}

#[test]
fn runs_driven_by_other_processes_are_counted() {
    let world = TestHome::on_postgres();
    let model = world.script(&lasting("60"));
    let mut running = world.start(&["run", "x", "--model", &model]);
    wait_until(|| world.workspace().join("begun").exists());
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (said.code, said.json()),
        (Some(0), serde_json::json!({"resumed": 0, "driven_elsewhere": 1})),
        "{said:?}"
    );
    let said = world.wakeful(&["run", "--resume"]);
    assert!(
        said.stdout.contains("1 run is being driven by other processes"),
        "{said:?}"
    );
    running.kill().expect("kill -9");
    running.wait().expect("gone");
}

#[test]
fn a_resumed_run_keeps_its_model_when_the_environment_names_another() {
    let world = TestHome::new();
    world.orphan("first.yaml", &[]);
    world.script_named("first.yaml", "rounds: [{text: its own}]\n");
    let other = world.script_named("other.yaml", SILENT);
    let mut command = world.command(program());
    let said: CommandOutput = command
        .env("WAKEFUL_MODEL", other)
        .args(["run", "--resume", "--json"])
        .output()
        .expect("starts")
        .into();
    assert_eq!(
        (said.code, said.json()["final_text"].as_str()),
        (Some(0), Some("its own")),
        "{said:?}"
    );
}

#[test]
fn a_run_without_a_daemon_starts_no_other_queued_message() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    assert_eq!(world.wakeful(&["message", "main", "earlier"]).code, Some(0));
    let said = world.run(&commands(&["echo one >> world.txt"]), &["--agent", "main"]);
    assert_eq!(
        (said.code, world.lines()),
        (Some(0), vec!["one".to_owned()]),
        "{said:?}"
    );
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(resumed.json()["resumed"], 0, "{resumed:?}");
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(agent["pending"], 1, "it waits for a daemon: {agent}");
}
