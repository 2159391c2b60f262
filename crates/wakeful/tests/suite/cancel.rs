//! Cancelling a run: one that is being driven, one without a driver, and one that waits behind another run.

use super::home_fixture::{CommandOutput, TestHome, alive, lasting, wait_until};

#[test]
fn cancelling_reaches_the_command_that_is_running() {
    let world = TestHome::new();
    let word = format!("{}.5", 800_000 + std::process::id() % 100_000);
    let model = world.script(&lasting(&word));
    let running = world.start(&["run", "do it", "--json", "--model", &model]);
    wait_until(|| world.workspace().join("begun").exists());
    let key = world.open_runs().remove(0);
    let cancelled = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(
        (cancelled.code, cancelled.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{cancelled:?}"
    );
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(1), Some("cancelled")),
        "{said:?}"
    );
    assert!(!alive(&word));
    let again = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(
        (again.code, again.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{again:?}"
    );
    assert!(again.stderr.contains("already ended"), "{again:?}");
}

// Conformance: A-34
#[test]
fn a_run_without_a_driver_can_be_cancelled() {
    let world = TestHome::new();
    let key = world.orphan("script.yaml", &[]);
    let said = world.wakeful(&["runs", "cancel", &key[..10], "--json"]);
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{said:?}"
    );
}

#[test]
fn a_run_whose_workspace_and_script_are_missing_can_be_cancelled() {
    let world = TestHome::new();
    let gone = world.path().join("gone");
    std::fs::create_dir(&gone).expect("a workspace");
    let key = world.orphan("gone.yaml", &["--workspace", &gone.display().to_string()]);
    std::fs::remove_dir_all(&gone).expect("removed");
    std::fs::remove_file(world.path().join("gone.yaml")).expect("removed");
    let temporary = world.path().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let mut command = world.command(super::home_fixture::program());
    command
        .env("TMPDIR", &temporary)
        .args(["runs", "cancel", &key, "--json"]);
    let said: CommandOutput = command.output().expect("starts").into();
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{said:?}"
    );
    assert_eq!(
        std::fs::read_dir(&temporary).expect("a folder").count(),
        0,
        "something was left behind"
    );
}

#[test]
fn cancelling_beside_another_run_names_the_holder_and_stores_the_request() {
    let world = TestHome::new();
    let key = world.orphan("silent.yaml", &["--agent", "a", "--create-agent"]);
    let model = world.script(&lasting("60"));
    let mut holder = world.start(&["run", "x", "--model", &model, "--agent", "b", "--create-agent"]);
    wait_until(|| world.workspace().join("begun").exists());
    let said = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "cancel_pending"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains(&format!("process {}", holder.id()))
            && said.stderr.contains("the cancellation request is stored"),
        "{said:?}"
    );
    holder.kill().expect("kill -9");
    holder.wait().expect("gone");
    // The next driver handles the request before it calls the model.
    let resumed = world.wakeful(&["run", "--resume", "--json", "--agent", "a"]);
    assert_eq!(resumed.json()["outcome"], "cancelled", "{resumed:?}");
}

#[test]
fn cancelling_beside_another_run_takes_effect_once_the_home_is_free() {
    let world = TestHome::new();
    let key = world.orphan("silent.yaml", &["--agent", "a", "--create-agent"]);
    let model = world.script(&lasting("1.5"));
    let mut holder = world.start(&["run", "x", "--model", &model, "--agent", "b", "--create-agent"]);
    wait_until(|| world.workspace().join("begun").exists());
    let said = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{said:?}"
    );
    assert!(holder.wait().expect("ends").success());
}

#[test]
fn cancelling_on_postgres_waits_for_the_driver_and_leaves_no_runner_behind() {
    let world = TestHome::on_postgres();
    let orphan = world.orphan("silent.yaml", &["--agent", "a", "--create-agent"]);
    let said = world.wakeful(&["runs", "cancel", &orphan, "--json"]);
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{said:?}"
    );
    let model = world.script(&lasting("60"));
    let running = world.start(&[
        "run",
        "x",
        "--json",
        "--model",
        &model,
        "--agent",
        "b",
        "--create-agent",
    ]);
    wait_until(|| world.workspace().join("begun").exists());
    let key = world.open_runs().remove(0);
    let said = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(
        (said.code, said.json()["outcome"].as_str()),
        (Some(0), Some("cancelled")),
        "{said:?}"
    );
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(said.json()["outcome"], "cancelled", "{said:?}");
    assert_eq!(
        world
            .database()
            .value("SELECT count(*) FROM wakeful_agents.runner"),
        "0"
    );
}

#[test]
fn clearing_a_queue_cancels_only_the_messages_of_this_agent() {
    let world = TestHome::new();
    let send = |agent: &str| {
        world.wakeful(&["agent", "create", agent]);
        let sent = world.wakeful(&["message", agent, "later", "--json"]).json();
        sent["run_key"].as_str().expect("a key").to_owned()
    };
    let (first, other) = (send("main"), send("other"));
    let cleared = world.wakeful(&["agent", "clear-queue", "main", "--json"]).json();
    assert_eq!(cleared["pending"], 0, "{cleared}");
    let outcome = |run: &str| world.wakeful(&["runs", "show", run, "--json"]).json()["outcome"].clone();
    assert_eq!(
        (outcome(&first), outcome(&other)),
        ("cancelled".into(), "queued".into())
    );
}
