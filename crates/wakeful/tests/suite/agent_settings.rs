//! Settings of an agent and of the home that change while a daemon works.

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, wait_until};

/// One reply that requests two commands: the first waits for a file, the second leaves one.
const TWO: &str = r#"
rounds:
  - tools:
      - { name: ExecCommand, input: { cmd: "touch begun; while [ ! -e go ]; do sleep 0.05; done" } }
      - { name: ExecCommand, input: { cmd: "touch second" } }
  - text: "done"
"#;

fn send(home: &TestHome) -> String {
    let sent = home.wakeful(&["message", "main", "do it", "--json"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.json()["run_key"].as_str().expect("a key").to_owned()
}

fn decisions(home: &TestHome) -> usize {
    let list = home.wakeful(&["decision", "list", "--json"]).json();
    list["decisions"].as_array().map_or(0, Vec::len)
}

fn outcome(home: &TestHome, run: &str) -> Value {
    home.wakeful(&["runs", "show", run, "--json"]).json()["outcome"].clone()
}

/// A daemon whose agent performs the first of two planned commands.
fn between_two_commands(home: &TestHome) -> String {
    let run = send(home);
    wait_until(|| home.workspace().join("begun").exists());
    run
}

fn agent_with_script(home: &TestHome, script: &str) {
    let model = home.script(script);
    let made = home.wakeful(&["agent", "create", "main", "--model", &model]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

#[test]
fn a_tool_on_the_ask_list_asks_before_the_next_planned_action() {
    let home = TestHome::new();
    agent_with_script(&home, TWO);
    let _daemon = RunningDaemon::serve(&home, &[]);
    let run = between_two_commands(&home);
    let set = home.wakeful(&["agent", "set", "main", "--ask-tools", "ExecCommand"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    std::fs::write(home.workspace().join("go"), "").expect("the signal");
    wait_until(|| decisions(&home) == 1);
    assert!(!home.workspace().join("second").exists(), "it ran unasked");
    let list = home.wakeful(&["decision", "list", "--json"]).json();
    let id = list["decisions"][0]["decision_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    home.wakeful(&["decision", "answer", &id, "approve"]);
    wait_until(|| home.workspace().join("second").exists());
    wait_until(|| outcome(&home, &run) == json!("completed"));
    let verified = home.wakeful(&["verify", "--json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_denied_tool_is_refused_at_the_next_planned_action() {
    let home = TestHome::new();
    agent_with_script(&home, TWO);
    let _daemon = RunningDaemon::serve(&home, &[]);
    let run = between_two_commands(&home);
    home.wakeful(&["agent", "set", "main", "--deny-tools", "ExecCommand"]);
    std::fs::write(home.workspace().join("go"), "").expect("the signal");
    wait_until(|| outcome(&home, &run) == json!("completed"));
    assert!(
        !home.workspace().join("second").exists(),
        "it ran although it is denied"
    );
}

#[test]
fn a_changed_file_applies_at_once_and_a_broken_one_is_reported() {
    let home = TestHome::new();
    agent_with_script(
        &home,
        "rounds:\n  - tools: [{ name: ExecCommand, input: { cmd: \"touch ran\" } }]\n  - text: x\n",
    );
    let _daemon = RunningDaemon::serve(&home, &[]);
    let set = home.wakeful(&["config", "set", "agent.ask_tools", "ExecCommand"]);
    assert!(set.stderr.contains("from the next step on"), "{set:?}");
    let settings = home.wakeful(&["agent", "show", "main", "--json"]).json()["settings"].clone();
    assert_eq!(settings["ask_tools_of_all_agents"], json!(["ExecCommand"]));
    std::fs::write(
        home.home().join("config.toml"),
        "[agent]\nask_tools = [\"ExecCommand\"]\n[agents.main]\nask_tools = []\n",
    )
    .expect("settings");
    send(&home);
    wait_until(|| decisions(&home) == 1);
    assert!(!home.workspace().join("ran").exists(), "it ran unasked");
    let problem = home.wakeful(&["status", "--json"]).json()["daemon"]["settings_problem"].clone();
    assert_eq!(
        (&problem["code"], &problem["line"]),
        (&json!("setting_moved"), &json!(4)),
        "{problem}"
    );
    std::fs::write(home.home().join("config.toml"), "[log]\nlevel = \"debug\"\n").expect("settings");
    let status = home.wakeful(&["status", "--json"]).json()["daemon"].clone();
    assert_eq!(status.get("settings_problem"), None, "{status}");
    assert_eq!(status["needs_restart"], json!(["log.level"]), "{status}");
}

#[test]
fn a_setting_is_cleared_by_name_without_a_daemon_and_with_one() {
    let home = TestHome::new();
    agent_with_script(&home, TWO);
    let cleared = || {
        let set = [
            "agent",
            "set",
            "main",
            "--ask-tools",
            "ExecCommand",
            "--max-rounds",
            "3",
            "--daily-usd",
            "1",
        ];
        assert_eq!(home.wakeful(&set).code, Some(0));
        let clear = [
            "agent",
            "set",
            "main",
            "--ask-tools",
            "none",
            "--max-rounds",
            "default",
            "--daily-usd",
            "none",
        ];
        let shown = home.wakeful(&[&clear[..], &["--json"]].concat()).json();
        assert_eq!(shown["ask_tools"], json!([]), "{shown}");
        assert_eq!(
            (shown.get("max_rounds"), shown.get("daily_usd")),
            (None, None),
            "{shown}"
        );
    };
    cleared();
    let _daemon = RunningDaemon::serve(&home, &[]);
    cleared();
}

#[test]
fn an_unknown_agent_in_the_settings_is_refused_and_found() {
    let home = TestHome::new();
    agent_with_script(&home, TWO);
    let set = home.wakeful(&["config", "set", "agents.ghost.models", "demo", "--json"]);
    assert_eq!(
        (set.code, set.error_code().as_str()),
        (Some(2), "agent_unknown"),
        "{set:?}"
    );
    std::fs::write(
        home.home().join("config.toml"),
        "[agents.ghost]\nmodels = [\"demo\"]\n",
    )
    .expect("settings");
    let doctor = home.wakeful(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().expect("checks");
    let found = checks
        .iter()
        .find(|check| check["name"] == "agents")
        .expect("a finding");
    assert!(found["message"].to_string().contains("ghost"), "{found}");
}

// Conformance: A-51, L-113
#[test]
fn quotas_and_capabilities_are_set_shown_and_refused_by_name() {
    let home = TestHome::new();
    agent_with_script(&home, TWO);
    let set = |args: &[&str]| home.wakeful(&[&["agent", "set", "main"], args].concat());
    let settings = || home.wakeful(&["agent", "show", "main", "--json"]).json()["settings"].clone();
    let done = set(&[
        "--tool-quota",
        "ExecCommand=5/day",
        "--tool-quota",
        "ExecCommand=2/session",
        "--capability",
        "fileRead",
        "--capability",
        "commandRun",
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.stdout.contains("ExecCommand 2/session and 5/day"),
        "{done:?}"
    );
    let quota = json!({"ExecCommand": {"max_per_session": 2, "max_per_day": 5}});
    let shown = settings();
    assert_eq!(shown["tool_quotas"], quota);
    assert_eq!(shown["capabilities"], json!(["fileRead", "commandRun"]));
    for (flag, value, word) in [
        ("--tool-quota", "Exec=5/day", "tool_quotas:"),
        ("--tool-quota", "ExecCommand=0/day", "tool_quotas.ExecCommand:"),
        ("--tool-quota", "ExecCommand=5/week", "--tool-quota:"),
        ("--capability", "fly", "--capability:"),
        (
            "--capability",
            "agentStart",
            "capabilities: leaves the agent without any tool",
        ),
    ] {
        let refused = set(&[flag, value]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains(word), "{refused:?}");
    }
    assert_eq!(settings(), shown, "a refused change changes nothing");
    let reset = set(&["--tool-quota", "none", "--capability", "all"]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let shown = settings();
    assert_eq!(
        (&shown["tool_quotas"], &shown["capabilities"]),
        (&json!({}), &Value::Null)
    );
}

#[test]
fn an_agent_is_shown_with_each_fact_once() {
    let world = TestHome::new();
    let create = [
        "agent",
        "create",
        "main",
        "--description",
        "Reviews code.",
        "--model",
        "demo",
    ];
    world.wakeful(&[&create[..], &["--fallbacks", "demo"]].concat());
    let shown = world.wakeful(&["agent", "show", "main"]);
    let names = shown.stdout.lines().filter(|line| !line.is_empty());
    let names: Vec<&str> = names.filter_map(|line| line.get(..15)).map(str::trim).collect();
    let unique: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(names.len(), unique.len(), "{shown:?}");
    let workspace = world
        .workspace()
        .canonicalize()
        .expect("a folder")
        .display()
        .to_string();
    for fact in ["Reviews code.", workspace.as_str(), "demo"] {
        assert_eq!(shown.stdout.matches(fact).count(), 1, "{fact}: {shown:?}");
    }
}
