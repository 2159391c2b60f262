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
    std::fs::write(&settings, r#"{"permissions": {"deny": ["Bash(rm:*)", "Task"]}}"#).expect("written");
    let settings = settings.display().to_string();
    let imported = home.wakeful(&["policy", "import", &settings, "--json"]);
    assert_eq!(imported.code, Some(1), "one entry is not imported: {imported:?}");
    assert_eq!(imported.json()["refused"][0]["entry"], "Task");
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
