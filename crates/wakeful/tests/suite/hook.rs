//! Hooks and guardrails around real runs: what they block, change and record, and in which order.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, commands, statuses, wait_until};

/// A home with the agent `main`, whose model runs these commands and then answers.
fn home_with(cmds: &[&str]) -> TestHome {
    home_of_script(&commands(cmds))
}

fn home_of_script(script: &str) -> TestHome {
    let home = TestHome::new();
    let model = home.script(script);
    let workspace = home.workspace().display().to_string();
    let made = home.wakeful(&[
        "agent",
        "create",
        "main",
        "--model",
        &model,
        "--workspace",
        &workspace,
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    home
}

fn write_hooks(home: &TestHome, events: &Value) {
    std::fs::write(
        home.home().join("hooks.json"),
        json!({ "hooks": events }).to_string(),
    )
    .expect("written");
}

fn command(text: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": text, "timeout": 2}]}])
}

fn run(home: &TestHome) -> CommandOutput {
    home.wakeful(&["run", "--agent", "main", "go", "--json"])
}

/// The events of the log with their payloads, in order.
fn events(home: &TestHome) -> Vec<Value> {
    let said = home
        .wakeful(&["events", "main", "--json", "--limit", "500"])
        .stdout;
    said.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn of_kind(home: &TestHome, kind: &str) -> Vec<Value> {
    let found = events(home).into_iter().filter(|event| event["kind"] == kind);
    found.map(|event| event["payload"].clone()).collect()
}

fn verified(home: &TestHome, key: &str) {
    for args in [vec!["verify", "--json"], vec!["replay", key, "--json"]] {
        let checked = home.wakeful(&args);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
}

// Conformance: A-172
#[test]
fn a_hook_may_change_the_arguments_of_a_call() {
    let home = home_with(&["echo original >> world.txt"]);
    let answer = json!({"hookSpecificOutput": {"updatedInput": {"cmd": "echo changed >> world.txt"}}});
    write_hooks(
        &home,
        &json!({"PreToolUse": command(&format!("echo '{answer}'"))}),
    );
    let ran = run(&home);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.lines(), ["changed"]);
    let [hook] = of_kind(&home, "hook_executed").try_into().expect("one hook");
    assert_eq!(
        (&hook["hook_event"], &hook["result"]),
        (&json!("PreToolUse"), &json!("changed"))
    );
    let decided = &of_kind(&home, "policy_decided")[0];
    assert!(
        decided["input"].as_str().expect("an input").contains("changed"),
        "{decided}"
    );
    verified(&home, ran.json()["run_key"].as_str().expect("a key"));
}

#[test]
fn changed_arguments_are_judged_by_the_policy() {
    let home = home_with(&["echo one >> world.txt"]);
    let policy = "@id(\"no-rm\")\nforbid (principal, action == Action::\"ExecCommand\", resource)\n\
                  when { context has command && context.command.program == \"rm\" };\n";
    std::fs::create_dir_all(home.home().join("policy")).expect("a folder");
    std::fs::write(home.home().join("policy/main.cedar"), policy).expect("written");
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"cmd": "rm world.txt"}}});
    write_hooks(
        &home,
        &json!({"PreToolUse": command(&format!("touch asked; echo '{answer}'"))}),
    );
    let ran = run(&home);
    assert_eq!(statuses(&ran.json()), ["denied"], "{ran:?}");
    let decided = &of_kind(&home, "policy_decided")[0];
    assert_eq!(decided["rule"], "main.cedar#no-rm");
    assert!(home.workspace().join("asked").exists() && home.lines().is_empty());
}

// Conformance: A-172
#[test]
fn a_hook_that_blocks_hangs_floods_or_lies_stops_the_call() {
    for (hook, words) in [
        ("echo not here >&2; exit 2", "not here"),
        (
            "echo '{\"decision\": \"block\", \"reason\": \"not so\"}'",
            "not so",
        ),
        ("sleep 60", "did not end in time"),
        ("yes", "wrote more than allowed"),
        ("echo yes", "not the JSON"),
        ("exit 7", "exit 7"),
    ] {
        let home = home_with(&["echo one >> world.txt"]);
        write_hooks(&home, &json!({"PreToolUse": command(hook)}));
        let ran = run(&home);
        assert_eq!(statuses(&ran.json()), ["denied"], "{hook}: {ran:?}");
        assert!(home.lines().is_empty(), "{hook}");
        let decided = &of_kind(&home, "policy_decided")[0];
        assert_eq!(
            (&decided["code"], &decided["stage"]),
            (&json!("hook_blocked"), &json!("hooks"))
        );
        assert!(
            decided["reason"].as_str().expect("a reason").contains(words),
            "{decided}"
        );
    }
}

#[test]
fn a_broken_hook_file_stops_calls_until_it_is_valid() {
    let home = home_with(&["echo one >> world.txt", "echo two >> world.txt"]);
    std::fs::write(home.home().join("hooks.json"), "{").expect("written");
    let ran = run(&home);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(home.lines().is_empty());
    let checked = home.wakeful(&["hooks", "check", "--json"]);
    assert_eq!(
        (checked.code, checked.json()["problems"][0]["file"].clone()),
        (Some(1), json!("hooks.json"))
    );
    let listed = home.wakeful(&["hooks", "list", "--json"]);
    assert_eq!(listed.json()["problems"][0]["file"], "hooks.json", "{listed:?}");
}

#[test]
fn a_hook_may_require_an_approval_of_the_changed_call() {
    let home = home_with(&["echo one >> world.txt"]);
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it writes",
        "updatedInput": {"cmd": "echo changed >> world.txt"}}});
    write_hooks(
        &home,
        &json!({"PreToolUse": command(&format!("echo '{answer}'"))}),
    );
    let ran = run(&home);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let [asked] = of_kind(&home, "decision_asked").try_into().expect("a decision");
    assert_eq!(asked["rule"], "hook");
    assert!(
        asked["input"].as_str().expect("an input").contains("changed"),
        "{asked}"
    );
    assert!(home.lines().is_empty());
}

// Conformance: A-171
#[test]
fn a_denial_is_recorded_before_its_hooks_and_nothing_is_executed() {
    let home = home_with(&["echo one >> world.txt"]);
    let denies = home.wakeful(&["agent", "set", "main", "--deny-tools", "ExecCommand"]);
    assert_eq!(denies.code, Some(0), "{denies:?}");
    write_hooks(
        &home,
        &json!({"PreToolUse": command("touch before"), "PermissionDenied": command("cat > denied.json")}),
    );
    let ran = run(&home);
    assert_eq!(statuses(&ran.json()), ["denied"], "{ran:?}");
    let kinds: Vec<String> = events(&home)
        .iter()
        .map(|event| event["kind"].as_str().expect("a kind").to_owned())
        .collect();
    let at = |kind: &str| kinds.iter().position(|found| found == kind);
    assert!(
        at("policy_decided").expect("decided") < at("hook_executed").expect("a hook"),
        "{kinds:?}"
    );
    assert_eq!(at("tool_executed"), None);
    let [hook] = of_kind(&home, "hook_executed").try_into().expect("one hook");
    assert_eq!(hook["hook_event"], "PermissionDenied");
    assert_eq!(
        hook["operation_id"],
        of_kind(&home, "policy_decided")[0]["operation_id"]
    );
    let seen = std::fs::read_to_string(home.workspace().join("denied.json")).expect("the input of the hook");
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!(
        (&seen["tool_name"], &seen["hook_event_name"]),
        (&json!("ExecCommand"), &json!("PermissionDenied"))
    );
    assert!(home.lines().is_empty() && !home.workspace().join("before").exists());
    verified(&home, ran.json()["run_key"].as_str().expect("a key"));
}

// Conformance: A-172
#[test]
fn a_call_whose_hooks_were_skipped_is_blocked_if_it_is_permitted_later() {
    let home = home_of_script(
        r#"
rounds:
  - tools:
      - { name: ExecCommand, input: { cmd: "touch made" } }
      - { name: ExecCommand, input: { cmd: "true" } }
  - text: done
"#,
    );
    let folder = home.home().join("policy");
    std::fs::create_dir_all(&folder).expect("a folder");
    let policy = folder.join("main.cedar");
    let no_touch = "forbid (principal, action == Action::\"ExecCommand\", resource)\n\
                   when { context has command && context.command.program == \"touch\" };\n";
    std::fs::write(&policy, no_touch).expect("written");
    // The hook before the second call removes the rule that denied the first.
    let removes = format!("echo '// no rule' > '{}'", policy.display());
    write_hooks(&home, &json!({"PreToolUse": command(&removes)}));
    let ran = run(&home);
    assert!(!home.workspace().join("made").exists(), "{ran:?}");
    let decided = &of_kind(&home, "policy_decided")[0];
    assert_eq!(
        (&decided["rule"], &decided["stage"]),
        (&json!("hook_blocked"), &json!("hooks"))
    );
}

// Conformance: A-172
#[test]
fn hooks_run_at_the_start_after_calls_and_at_the_end() {
    let home = home_with(&["echo one >> world.txt; echo hidden"]);
    write_hooks(
        &home,
        &json!({
            "SessionStart": command("cat > start.json"),
            "UserPromptSubmit": command("cat > prompt.json"),
            "PostToolUse": command("grep -q hidden && { echo keep it >&2; exit 2; }"),
            "Stop": command("cat > stop.json"),
        }),
    );
    let ran = run(&home);
    assert_eq!(home.lines(), ["one"], "{ran:?}");
    let results: Vec<Value> = of_kind(&home, "hook_executed")
        .iter()
        .map(|hook| json!([hook["hook_event"], hook["result"]]))
        .collect();
    let expected = json!([
        ["SessionStart", "passed"],
        ["UserPromptSubmit", "passed"],
        ["PostToolUse", "blocked"],
        ["Stop", "passed"],
    ]);
    assert_eq!(json!(results), expected);
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(home.workspace().join(name)).expect(name);
        serde_json::from_str(&text).expect("JSON")
    };
    assert_eq!(read("prompt.json")["prompt"], "go");
    assert_eq!(read("stop.json")["last_assistant_message"], "all done");
    assert_eq!(of_kind(&home, "tool_executed")[0]["code"], "result_withheld");
    let transcript = home.wakeful(&["transcript", "main", "--json"]).stdout;
    assert!(
        transcript.contains("keep it") && !transcript.contains("hidden\\\\n"),
        "{transcript}"
    );
    verified(&home, ran.json()["run_key"].as_str().expect("a key"));
}

#[test]
fn a_message_that_a_hook_blocks_is_not_sent() {
    let home = home_with(&["echo one >> world.txt"]);
    write_hooks(
        &home,
        &json!({"UserPromptSubmit": command("echo private >&2; exit 2")}),
    );
    let ran = run(&home);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let [error] = of_kind(&home, "runtime_error").try_into().expect("an error");
    assert_eq!(error["failure_artifact"]["kind"], "hook_blocked");
    assert!(of_kind(&home, "assistant_round_recorded").is_empty());
}

#[test]
fn hooks_are_imported_checked_and_tried() {
    let home = home_with(&[]);
    let settings = home.path().join("settings.json");
    let theirs = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "x"}]}],
    }});
    std::fs::write(&settings, theirs.to_string()).expect("written");
    let file = settings.display().to_string();
    let imported = home.wakeful(&["hooks", "import", &file, "--json"]);
    assert_eq!(imported.json()["hooks"], 1, "{imported:?}");
    assert_eq!(imported.json()["refused"][0]["event"], "Notification");
    let again = home.wakeful(&["hooks", "import", &file, "--json"]);
    assert_eq!(again.error_code(), "already_imported");
    assert_eq!(home.wakeful(&["hooks", "check"]).code, Some(0));
    let listed = home.wakeful(&["hooks", "list", "main", "--json"]).json();
    assert_eq!(listed["hooks"][0]["matcher"], "ExecCommand");
    let tried = home.wakeful(&["hooks", "test", "PreToolUse", "--json"]).json();
    assert_eq!(
        (&tried["hooks"][0]["result"], &tried["hooks"][0]["blocks"]),
        (&json!("blocked"), &json!(true))
    );
    let other = home
        .wakeful(&["hooks", "test", "PreToolUse", "--tool", "ReadFile", "--json"])
        .json();
    assert_eq!(other["hooks"], json!([]));
}

fn guard(home: &TestHome, policy: &Value) {
    let file = home.path().join("guardrails.json");
    std::fs::write(&file, policy.to_string()).expect("written");
    let set = home.wakeful(&[
        "agent",
        "set",
        "main",
        "--guardrails",
        &file.display().to_string(),
    ]);
    assert_eq!(set.code, Some(0), "{set:?}");
}

// Conformance: P-20
#[test]
fn a_tool_guardrail_that_blocks_denies_the_call_and_others_do_not() {
    let home = home_with(&["echo one >> world.txt", "echo two >> world.txt"]);
    guard(
        &home,
        &json!({"tool_guardrails": [
            {"name": "no-two", "description": "two is private", "action": "block", "phrases": ["ECHO  two"]},
            {"name": "echo", "action": "warn", "phrases": ["echo"]},
            {"name": "shell", "action": "log", "tools": ["ExecCommand"]},
        ]}),
    );
    let ran = run(&home);
    assert_eq!(statuses(&ran.json()), ["ok", "denied"], "{ran:?}");
    assert_eq!(home.lines(), ["one"]);
    let decided = &of_kind(&home, "policy_decided")[1];
    assert_eq!(
        (&decided["code"], &decided["stage"]),
        (&json!("guardrail"), &json!("policy"))
    );
    assert!(
        decided["reason"].as_str().expect("a reason").contains("no-two"),
        "{decided}"
    );
    let tripped: Vec<Value> = of_kind(&home, "guardrail")
        .iter()
        .map(|event| json!([event["guardrail"], event["action"]]))
        .collect();
    let expected = json!([
        ["echo", "warn"],
        ["shell", "log"],
        ["no-two", "block"],
        ["echo", "warn"],
        ["shell", "log"]
    ]);
    assert_eq!(json!(tripped), expected);
    let input = json!({"cmd": "echo two"}).to_string();
    let explained = home.wakeful(&[
        "policy",
        "explain",
        "--agent",
        "main",
        "--tool",
        "ExecCommand",
        "--input",
        &input,
        "--json",
    ]);
    assert_eq!(explained.json()["rule"], "guardrail", "{explained:?}");
    verified(&home, ran.json()["run_key"].as_str().expect("a key"));
}

// Conformance: P-20
#[test]
fn a_guardrail_for_messages_or_replies_ends_the_run() {
    for (policy, rounds) in [
        (
            json!({"input_guardrails": [{"name": "g", "action": "block", "phrases": ["Go"]}]}),
            0,
        ),
        (
            json!({"output_guardrails": [{"name": "g", "action": "block", "phrases": ["all done"]}]}),
            1,
        ),
    ] {
        let home = home_with(&[]);
        guard(&home, &policy);
        let ran = run(&home);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        let [error] = of_kind(&home, "runtime_error").try_into().expect("an error");
        assert_eq!(error["failure_artifact"]["kind"], "guardrail");
        assert_eq!(of_kind(&home, "assistant_round_recorded").len(), rounds);
        let [tripped] = of_kind(&home, "guardrail").try_into().expect("one guardrail");
        assert_eq!(tripped["action"], "block");
        verified(&home, ran.json()["run_key"].as_str().expect("a key"));
    }
}

// Conformance: P-20
#[test]
fn a_guardrail_that_warns_or_logs_lets_the_run_continue() {
    let home = home_with(&[]);
    guard(
        &home,
        &json!({
            "input_guardrails": [{"name": "in", "action": "log", "phrases": ["go"]}],
            "output_guardrails": [{"name": "out", "action": "warn", "phrases": ["all done"]}],
        }),
    );
    let ran = run(&home);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tripped = of_kind(&home, "guardrail");
    let names: Vec<&Value> = tripped.iter().map(|event| &event["guardrail"]).collect();
    assert_eq!(names, ["in", "out"]);
    let shown = home.wakeful(&["agent", "show", "main", "--json"]);
    assert!(shown.stdout.contains("input_guardrails"), "{shown:?}");
    let none = home.wakeful(&["agent", "set", "main", "--guardrails", "none", "--json"]);
    assert_eq!(none.json()["guardrails"], json!({}), "{none:?}");
}

#[test]
fn the_brake_ends_a_running_hook_and_its_call_is_not_performed() {
    let home = home_with(&["echo one >> world.txt"]);
    let slow = json!([{"hooks": [{"type": "command", "command": "echo $$ > pid; sleep 50", "timeout": 60}]}]);
    write_hooks(&home, &json!({ "PreToolUse": slow }));
    let mut running = home.start(&["run", "--agent", "main", "go", "--json"]);
    let pid = home.workspace().join("pid");
    wait_until(|| std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let braked = home.wakeful(&["brake", "on", "--json"]);
    assert_eq!(braked.code, Some(0), "{braked:?}");
    let pid = std::fs::read_to_string(&pid).expect("a pid");
    wait_until(|| !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
    let ended = running.wait().expect("an end");
    assert_ne!(ended.code(), Some(0));
    assert!(home.lines().is_empty());
    assert!(of_kind(&home, "policy_decided").is_empty());
}
