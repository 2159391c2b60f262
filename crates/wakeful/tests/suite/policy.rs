//! Permission policies from the command line: shown, explained, edited and imported, and in force for the next call.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, program};

const NO_RM: &str = "@id(\"no-rm\")\nforbid (principal, action == Action::\"ExecCommand\", resource)\n\
                     when { context has command && context.command.program == \"rm\" };\n";

fn home_with_agent() -> TestHome {
    let home = TestHome::new();
    let model =
        home.script("rounds: [{ tools: [{ name: ExecCommand, input: { cmd: rm x } }] }, { text: done }]\n");
    let made = home.wakeful(&["agent", "create", "main", "--model", &model]);
    assert_eq!(made.code, Some(0), "{made:?}");
    home
}

fn write_policy(home: &TestHome, text: &str) {
    let folder = home.home().join("policy");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("main.cedar"), text).expect("written");
}

fn explained(home: &TestHome, cmd: &str) -> Value {
    let input = json!({ "cmd": cmd }).to_string();
    let asked = [
        "policy",
        "explain",
        "--agent",
        "main",
        "--tool",
        "ExecCommand",
        "--input",
        &input,
        "--json",
    ];
    let found = home.wakeful(&asked);
    assert_eq!(found.code, Some(0), "{found:?}");
    found.json()
}

#[test]
fn a_typed_policy_applies_to_the_next_call_and_is_explained() {
    let home = home_with_agent();
    assert_eq!(explained(&home, "rm x")["effect"], "permit");
    write_policy(&home, NO_RM);
    let found = explained(&home, "rm x");
    assert_eq!(
        (&found["effect"], &found["rule"]),
        (&json!("deny"), &json!("main.cedar#no-rm"))
    );
    assert_eq!(found["category"], "out_of_scope");
    assert_eq!(
        found["alternatives"],
        json!([{"change": "without the policy main.cedar#no-rm", "effect": "permit"}])
    );
    let run = home.wakeful(&["run", "--agent", "main", "go", "--json"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let key = run.json()["run_key"].as_str().expect("a key").to_owned();
    let recorded = home.wakeful(&["policy", "explain", &key, "--json"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert_eq!(recorded.json()["recorded"]["status"], "denied");
    assert_eq!(recorded.json()["rule"], "main.cedar#no-rm");
}

#[test]
fn a_written_policy_stops_a_command_at_a_listed_host() {
    let home = TestHome::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a server");
    let port = server.local_addr().expect("an address").port();
    let connect = "p=${http_proxy#http://}; exec 3<>/dev/tcp/${p%%:*}/${p##*:}; \
                   printf \"CONNECT $0 HTTP/1.1\\r\\n\\r\\n\" >&3; head -n 1 <&3";
    let cmd = format!("for h in localhost 127.0.0.1; do bash -c '{connect}' $h:{port}; done");
    let script =
        json!({"rounds": [{"tools": [{"name": "ExecCommand", "input": {"cmd": cmd}}]}, {"text": "done"}]});
    let model = home.script(&script.to_string());
    let [a, b] = ["localhost", "127.0.0.1"].map(|host| format!("{host}:{port}"));
    let made = home.wakeful(&[
        "agent",
        "create",
        "main",
        "--model",
        &model,
        "--allow-host",
        &a,
        "--allow-host",
        &b,
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    write_policy(
        &home,
        "@id(\"no-local\")\nforbid (principal, action, resource is Host) when { resource.host == \"127.0.0.1\" };\n",
    );
    let run = home.wakeful(&["run", "--agent", "main", "go", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let transcript = home.wakeful(&["transcript", "main", "--json"]).stdout;
    let words = [
        "200 Connection established",
        "main.cedar#no-local",
        "403 Not allowed by Wakeful",
    ];
    for word in words {
        assert!(transcript.contains(word), "{word}: {transcript}");
    }
}

#[test]
fn a_read_only_run_says_so_and_its_journal_writes_are_denied() {
    let home = home_with_agent();
    let model = home.script(
        "rounds: [{ tools: [{ name: journal_create_task, input: { title: x } }] }, { text: done }]\n",
    );
    let run = home.wakeful(&["run", "--model", &model, "--read-only", "plan", "--json"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let key = run.json()["run_key"].as_str().expect("a key").to_owned();
    let denied = home.wakeful(&["policy", "explain", &key, "--json"]).json();
    assert_eq!(denied["rule"], "read_only_run", "{denied}");
}

#[test]
fn an_invalid_file_is_reported_with_its_line() {
    let home = home_with_agent();
    write_policy(&home, "// one\npermit (principal, action, resource\n");
    let checked = home.wakeful(&["policy", "check", "--json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let problem = &checked.json()["problems"][0];
    assert_eq!(problem["file"], "main.cedar");
    assert!(problem["line"].as_u64() >= Some(2), "{problem}");
    assert_eq!(explained(&home, "ls")["rule"], "policy_error");
}

#[test]
fn an_edit_is_saved_only_if_it_is_valid() {
    let home = home_with_agent();
    let file = home.home().join("policy/main.cedar");
    let edit = |text: &str| {
        let editor = home.path().join("editor.sh");
        std::fs::write(home.path().join("text"), text).expect("written");
        let script = format!("cat {} > \"$1\"\n", home.path().join("text").display());
        std::fs::write(&editor, script).expect("written");
        let editor = format!("sh {}", editor.display());
        let mut command = home.command(program());
        let output = command.args(["policy", "edit"]).env("VISUAL", editor).output();
        CommandOutput::from(output.expect("the program starts"))
    };
    let refused = edit("permit (");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(!file.exists());
    let saved = edit(NO_RM);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), NO_RM);
}

#[test]
fn expected_verdicts_are_compared_and_lists_imported() {
    let home = home_with_agent();
    let settings = home.path().join("settings.json");
    std::fs::write(
        &settings,
        r#"{"permissions": {"deny": ["Bash(rm:*)", "Task"], "defaultMode": "plan"}}"#,
    )
    .expect("written");
    let settings = settings.display().to_string();
    let imported = home.wakeful(&["policy", "import", &settings, "--json"]);
    assert_eq!(imported.code, Some(1), "one entry is not imported: {imported:?}");
    let refused = imported.json()["refused"].clone();
    assert_eq!(
        (&refused[0]["entry"], &refused[1]["entry"]),
        (&"Task".into(), &"defaultMode".into())
    );
    let checked = home.wakeful(&["policy", "check"]);
    assert!(checked.stdout.contains("1 policy is valid"), "{checked:?}");
    let cases = home.path().join("cases.yaml");
    let text = "- {agent: main, tool: ExecCommand, input: {cmd: rm x}, expect: deny}\n\
                - {agent: main, tool: ExecCommand, input: {cmd: ls}, expect: permit}\n";
    std::fs::write(&cases, text).expect("written");
    let tested = home.wakeful(&["policy", "test", &cases.display().to_string()]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    std::fs::write(&cases, text.replace("permit", "ask")).expect("written");
    let tested = home.wakeful(&["policy", "test", &cases.display().to_string()]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
}

/// The events of `main` of one kind.
fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    let said = home
        .wakeful(&["events", "main", "--json", "--limit", "500"])
        .stdout;
    let events = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.filter(|event| event["kind"] == kind).collect()
}

#[test]
fn a_recorded_call_is_explained_beside_todays_verdict() {
    let home = home_with_agent();
    write_policy(&home, NO_RM);
    let run = home.wakeful(&["run", "--agent", "main", "go", "--json"]);
    let key = run.json()["run_key"].as_str().expect("a key").to_owned();
    std::fs::remove_file(home.home().join("policy/main.cedar")).expect("removed");
    let found = home.wakeful(&["policy", "explain", &key, "--json"]).json();
    assert_eq!(
        (&found["effect"], &found["recorded"]["effect"]),
        (&json!("permit"), &json!("deny"))
    );
    let note = found["note"].as_str().expect("a note");
    assert!(
        note.contains("main.cedar#no-rm") && note.contains("permit"),
        "{note}"
    );
}

#[test]
fn gates_and_invalid_arguments_are_explained_with_their_stage() {
    let home = home_with_agent();
    let explain = |tool: &str, input: &str| {
        let asked = [
            "policy", "explain", "--agent", "main", "--tool", tool, "--input", input, "--json",
        ];
        let found = home.wakeful(&asked);
        assert_eq!(found.code, Some(0), "{found:?}");
        found.json()
    };
    let unknown = explain("Nothing", "{}");
    assert_eq!(
        (&unknown["effect"], &unknown["rule"], &unknown["stage"]),
        (&json!("deny"), &json!("unknown_tool"), &json!("scope"))
    );
    let invalid = explain("WriteFile", r#"{"path": 1}"#);
    assert_eq!(
        (&invalid["rule"], &invalid["stage"]),
        (&json!("invalid_arguments"), &json!("validate"))
    );
    let journal = explain("journal_create_task", r#"{"title": "x"}"#);
    assert_eq!(journal["effect"], "permit", "{journal}");
}

#[test]
fn a_change_of_policy_files_is_logged_before_the_next_decision() {
    let home = home_with_agent();
    let run = || {
        let run = home.wakeful(&["run", "--agent", "main", "go", "--json"]);
        assert!(run.json()["run_key"].is_string(), "{run:?}");
    };
    run();
    assert_eq!(events(&home, "policy_changed"), Vec::<Value>::new());
    write_policy(&home, NO_RM);
    run();
    run();
    let changed = events(&home, "policy_changed");
    let [first] = changed.as_slice() else {
        panic!("one change: {changed:?}");
    };
    let decided = events(&home, "policy_decided");
    assert!(first["seq"].as_u64() < decided[1]["seq"].as_u64(), "{first}");
    let first = &first["payload"];
    assert_eq!(first["files"][0]["file"], "main.cedar");
    assert!(
        first["old_version"].is_null() && first["new_version"].is_string(),
        "{first}"
    );
    write_policy(&home, &NO_RM.replace("rm\"", "mv\""));
    run();
    let changed = events(&home, "policy_changed");
    assert_eq!(changed.len(), 2);
    assert_eq!(changed[1]["payload"]["old_version"], first["new_version"]);
    assert_ne!(changed[1]["payload"]["files"], first["files"]);
}

#[test]
fn a_link_that_is_swapped_after_the_approval_asks_again() {
    let home = TestHome::new();
    let model = home.script(
        "rounds: [{ tools: [{ name: WriteFile, input: { path: link/x, content: new } }] }, { text: done }]\n",
    );
    let made = home.wakeful(&["agent", "create", "main", "--model", &model]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let outside = |name: &str| home.path().join(name);
    for name in ["one", "two"] {
        std::fs::create_dir(outside(name)).expect("a folder");
    }
    let link = home.workspace().join("link");
    std::os::unix::fs::symlink(outside("one"), &link).expect("a link");
    let run = home.wakeful(&["run", "--agent", "main", "go", "--json"]);
    let pending = || {
        let list = home.wakeful(&["decision", "list", "--json"]).json();
        assert_eq!(list["decisions"].as_array().map(Vec::len), Some(1), "{list}");
        list["decisions"][0].clone()
    };
    let first = pending();
    assert!(
        first["targets"][0].as_str().expect("a target").contains("/one/x"),
        "{first} {run:?}"
    );
    let approve = |decision: &Value| {
        let id = decision["decision_id"].as_str().expect("an id");
        let answered = home.wakeful(&["decision", "answer", id, "approve"]);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        home.wakeful(&["run", "--resume", "--json"])
    };
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(outside("two"), &link).expect("a link");
    approve(&first);
    assert!(!outside("two/x").exists() && !outside("one/x").exists());
    let second = pending();
    assert!(
        second["targets"][0]
            .as_str()
            .expect("a target")
            .contains("/two/x"),
        "{second}"
    );
    let done = approve(&second);
    assert_eq!(
        std::fs::read_to_string(outside("two/x")).ok().as_deref(),
        Some("new"),
        "{done:?}"
    );
}

// Conformance: A-176
#[test]
fn the_policy_of_an_agent_shows_its_sandbox() {
    let home = home_with_agent();
    let set = [
        "agent",
        "set",
        "main",
        "--allow-read",
        "/srv/{agentId}",
        "--allow-host",
        "example.org",
    ];
    let set = home.wakeful(&set);
    assert_eq!(set.code, Some(0), "{set:?}");
    let shown = home.wakeful(&["policy", "show", "main", "--json"]);
    let sandbox = &shown.json()["sandbox"];
    let files = &sandbox["filesystem_scope"];
    assert_eq!(
        files["allowed_paths"][1],
        json!({"path": "/srv/main", "access": "read"})
    );
    let denied = files["denied_paths"].as_array().expect("a list");
    assert!(denied.contains(&json!(home.home())), "{denied:?}");
    assert_eq!(sandbox["network_scope"]["allowed_hosts"], json!(["example.org"]));
    assert_eq!(
        sandbox["resource_limits"],
        json!({"max_concurrent_tools": 4, "max_tool_execution_ms": 30000})
    );
}
