//! Who may answer a decision, its deadline, and what is shown before the answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wakeful_api::{AnswerDecision, Channel};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_ports::tool::{StopSignal, ToolHost as _, ToolRequest};
use wakeful_store::rows::DecisionFilter;
use wakeful_tools::{CommandLimits, DeniedPaths, DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::decision::{ask, with_open_run, write};
use super::home_fixture::{CommandOutput, TestHome, commands, program, wait_until};

/// A command too long to be shown in one line.
fn long_command() -> String {
    format!("{}echo the-tail >> world.txt", "true harmless; ".repeat(60))
}

/// Lets an agent request approval for a command, and returns the id of the decision.
fn asked(world: &TestHome, agent: &str, command: &str) -> (CommandOutput, String) {
    let model = world.script(&commands(&[command]));
    let said = world.wakeful(&[
        "run",
        "do it",
        "--model",
        &model,
        "--agent",
        agent,
        "--create-agent",
        "--ask-tools",
        "ExecCommand",
        "--json",
    ]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(3), "decision_pending"),
        "{said:?}"
    );
    let id = said.json()["decisions"][0]["decision_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    (said, id)
}

fn show(world: &TestHome, id: &str) -> Value {
    world.wakeful(&["decision", "show", id, "--json"]).json()
}

#[test]
fn all_arguments_are_shown_before_a_decision_is_answered() {
    let world = TestHome::new();
    let command = long_command();
    let whole = json!({"cmd": command}).to_string();
    let (said, id) = asked(&world, "main", &command);
    assert_eq!(said.json()["decisions"][0]["is_input_cut"], true, "{said:?}");
    let way = format!("(truncated; see `wakeful decision show {}`)", &id[..12]);
    assert!(said.stderr.contains(&way), "{said:?}");
    let look = |world: &TestHome| {
        let list = world.wakeful(&["decision", "list", "--json"]).json();
        let listed = &list["decisions"][0];
        assert_eq!(listed["is_input_cut"], true, "{listed}");
        assert!(
            !listed["input"].as_str().expect("a text").contains("the-tail"),
            "{listed}"
        );
        let list = world.wakeful(&["decision", "list"]);
        assert!(
            list.stdout
                .contains("`wakeful decision show ID` shows a question in full"),
            "{list:?}"
        );
        let shown = show(world, &id);
        assert_eq!(
            (&shown["input"], &shown["is_input_cut"], &shown["input_gone"]),
            (&json!(whole), &json!(false), &Value::Null)
        );
        let text = world.wakeful(&["decision", "show", &id]);
        assert!(text.stdout.contains(&format!("input     {whole}\n")), "{text:?}");
    };
    look(&world);
    let events = world.wakeful(&["events", "main"]);
    assert!(!events.stdout.contains("the-tail"), "{events:?}");
    assert!(
        events
            .stdout
            .contains("(truncated; the decision shows all of it)"),
        "{events:?}"
    );
    let daemon = RunningDaemon::serve(&world, &[]);
    look(&world);
    assert_eq!(world.lines(), Vec::<String>::new());
    let answered = world.wakeful(&["decision", "answer", &id, "approve", "--version", "1", "--json"]);
    assert_eq!(
        (answered.code, &answered.json()["input"]),
        (Some(0), &json!(whole)),
        "{answered:?}"
    );
    wait_until(|| world.open_runs().is_empty());
    assert_eq!(world.lines(), ["the-tail"], "what was shown is what was done");
    let after = show(&world, &id);
    assert_eq!(
        (&after["input"], &after["is_input_cut"]),
        (&json!(whole), &json!(false)),
        "the run has continued"
    );
    let run = after["run_key"].as_str().expect("a run").to_owned();
    let erased = world.wakeful(&[
        "erase", "--agent", "main", "--run", &run, "--reason", "x", "--json", "--yes",
    ]);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    let after = show(&world, &id);
    assert_eq!(
        (&after["input"], &after["input_gone"]),
        (&json!(""), &json!("erased"))
    );
    let text = world.wakeful(&["decision", "show", &id]);
    assert!(text.stdout.contains("(arguments were erased)"), "{text:?}");
    drop(daemon);
}

#[test]
fn invisible_characters_in_the_arguments_are_spelled_out() {
    let world = TestHome::new();
    let (_, id) = asked(&world, "main", "echo \u{202e}fr- mr\u{202c}");
    let text = world.wakeful(&["decision", "show", &id]).stdout;
    assert!(text.contains(r#"{"cmd":"echo \u202efr- mr\u202c"}"#), "{text}");
}

#[test]
fn an_answer_is_accepted_only_through_the_configured_channels() {
    let world = TestHome::new();
    let set = |key: &str, value: &str| world.wakeful(&["config", "set", key, value, "--json"]);
    assert_eq!(set("decisions.answer_channels", "page").code, Some(0));
    let free = world.wakeful(&["agent", "create", "free", "--answer-channels", "cli,api"]);
    assert_eq!(free.code, Some(0), "{free:?}");
    for (key, odd) in [
        ("decisions.answer_channels", "phone"),
        ("decisions.answer_channels", ""),
    ] {
        let said = set(key, odd);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_value"),
            "{said:?}"
        );
    }
    let (_, held) = asked(&world, "main", "true");
    let (_, free) = asked(&world, "free", "true");
    assert_eq!(show(&world, &held)["may_answer"], json!(["page"]));
    assert_eq!(show(&world, &free)["may_answer"], json!(["cli", "api"]));
    let text = world.wakeful(&["decision", "show", &held]).stdout;
    assert!(text.contains("channels  page\n"), "{text}");
    assert!(
        text.contains("\nanswer it on the page (`wakeful open`); the command line is not accepted"),
        "{text}"
    );
    let refused = |way: &str| {
        let said = world.wakeful(&["decision", "answer", &held, "approve", "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(4), "answer_not_allowed"),
            "{said:?}"
        );
        let message = format!("the decision does not accept answers by {way}; accepted: page");
        assert_eq!(said.json()["error"]["message"], message, "{said:?}");
    };
    refused("cli");
    let _daemon = RunningDaemon::serve(&world, &[]);
    // The socket in the home is the command line as well.
    refused("cli");
    let shown = show(&world, &held);
    assert_eq!(
        (&shown["status"], &shown["version"]),
        (&json!("pending"), &json!(1))
    );
    let said = world.wakeful(&["decision", "answer", &free, "deny", "--json"]);
    assert_eq!(
        (said.code, &said.json()["answer"]["channel"]),
        (Some(0), &json!("cli")),
        "{said:?}"
    );
    assert_eq!(set("decisions.answer_channels", "cli").code, Some(0));
    assert_eq!(
        show(&world, &held)["may_answer"],
        json!(["page"]),
        "what was asked stays as it was asked"
    );
}

#[test]
fn the_instructions_for_answering_fit_the_channel() {
    let world = TestHome::new();
    let mut all = Vec::new();
    for (agent, from) in [
        ("one", "cli"),
        ("two", "api"),
        ("three", "cli,page"),
        ("four", "api,page"),
    ] {
        let set = world.wakeful(&["agent", "create", agent, "--answer-channels", from]);
        assert_eq!(set.code, Some(0), "{set:?}");
        let (said, id) = asked(&world, agent, "true");
        let hint = said.json()["error"]["hint"].as_str().expect("a hint").to_owned();
        all.push((id, hint));
    }
    let shown = |world: &TestHome, id: &str| {
        let text = world.wakeful(&["decision", "show", id]).stdout;
        let (_, way) = text.rsplit_once("\nanswer it ").expect("a way");
        way.trim_end().to_owned()
    };
    let commands = |id: &str| {
        let command = format!("`wakeful decision answer {}", &id[..12]);
        format!("with {command} approve` or {command} deny`")
    };
    let ways = [
        commands(&all[0].0),
        "by api; the command line is not accepted".to_owned(),
        commands(&all[2].0),
        "on the page (`wakeful open`); the command line is not accepted".to_owned(),
    ];
    for ((id, hint), way) in all.iter().zip(&ways) {
        assert_eq!((&shown(&world, id), hint), (way, &format!("answer it {way}")));
    }
    // A daemon changes nothing: the command line reaches it through the socket in the home.
    let _daemon = RunningDaemon::serve(&world, &[]);
    for ((id, _), way) in all.iter().zip(&ways) {
        assert_eq!(&shown(&world, id), way);
    }
}

/// The decision is shown and can be answered although the reply that requested the action is damaged.
#[test]
fn a_damaged_reply_hides_only_the_end_of_the_arguments() {
    let world = TestHome::new();
    let questions = ["one", "two"].map(|agent| asked(&world, agent, &long_command()).1);
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let change = "UPDATE blob SET bytes = x'00', encoding = 'raw'";
    assert!(database.execute(change, []).expect("damage") > 0);
    drop(database);
    let look = |said: &CommandOutput, status: &str| {
        let shown = said.json();
        assert_eq!(
            (said.code, &shown["status"], &shown["input_gone"]),
            (Some(0), &json!(status), &json!("unreadable")),
            "{said:?}"
        );
        assert!(
            shown["input"]
                .as_str()
                .expect("a text")
                .starts_with(r#"{"cmd":"true harmless"#)
        );
    };
    let [one, two] = &questions;
    look(&world.wakeful(&["decision", "show", one, "--json"]), "pending");
    look(
        &world.wakeful(&["decision", "answer", one, "deny", "--json"]),
        "answered",
    );
    let _daemon = RunningDaemon::serve(&world, &[]);
    look(&world.wakeful(&["decision", "show", two, "--json"]), "pending");
    look(
        &world.wakeful(&["decision", "answer", two, "deny", "--json"]),
        "answered",
    );
}

// Conformance: P-240, P-334
#[test]
fn a_tool_is_used_only_after_approval_through_the_api() {
    let world = TestHome::new();
    let activity = |agent: &str| {
        let shown = world.wakeful(&["agent", "show", agent, "--json"]).json();
        shown["activity"].clone()
    };
    let (_, yes) = asked(&world, "one", "echo yes >> world.txt");
    let (_, no) = asked(&world, "two", "echo no >> world.txt");
    let daemon = RunningDaemon::serve(&world, &[]);
    let program = client(&daemon);
    assert_eq!(["one", "two"].map(activity), ["waiting_on_human"; 2]);
    for (id, option) in [(yes, "approve"), (no, "deny")] {
        let answer = input::<AnswerDecision>(json!({"decision_id": id, "option": option}));
        let answered = block_on(program.call(&answer)).expect("answered");
        assert_eq!(answered.answer.map(|answer| answer.channel), Some(Channel::Api));
        let again = world.wakeful(&["decision", "answer", &id, option, "--json"]);
        assert_eq!(again.error_code(), "decision_closed");
    }
    wait_until(|| world.open_runs().is_empty());
    assert_eq!(world.lines(), ["yes"]);
    assert_eq!(["one", "two"].map(activity), ["asleep"; 2]);
}

#[test]
fn the_deadline_of_a_decision_is_a_setting_with_bounds() {
    let world = TestHome::new();
    let patience = |world: &TestHome, id: &str| {
        let filter = DecisionFilter {
            limit: 10,
            ..DecisionFilter::default()
        };
        let all = write(world, move |tx| tx.decisions(&filter));
        let mut all = all.into_iter();
        all.find(|one| one.inquiry.decision_id.to_string() == id)
            .expect("asked")
            .patience_ms
    };
    let hour_ms = 60 * 60 * 1_000;
    let (_, usual) = asked(&world, "usual", "true");
    assert_eq!(patience(&world, &usual), Some(7 * 24 * hour_ms));
    let set = |hours: &str| world.wakeful(&["config", "set", "decisions.deadline_hours", hours, "--json"]);
    assert_eq!(set("2").code, Some(0));
    let (_, soon) = asked(&world, "soon", "true");
    assert_eq!(patience(&world, &soon), Some(2 * hour_ms));
    assert!(show(&world, &soon)["deadline_at"].is_string());
    assert_eq!(set("0").code, Some(0));
    let (_, never) = asked(&world, "never", "true");
    assert_eq!(patience(&world, &never), None);
    assert_eq!(show(&world, &never)["deadline_at"], Value::Null);
    for odd in ["-1", "8785", "soon"] {
        assert_eq!(set(odd).error_code(), "bad_value", "{odd}");
    }
}

/// Commands that try to answer in a person's place and write the response to the world file.
fn tries(world: &TestHome, id: &str) -> Vec<String> {
    let (home, program) = (
        world.home().display().to_string(),
        program().display().to_string(),
    );
    let noted = |call: String| {
        format!("{{ {call}; }} > said; echo \"$? $(grep -o 'caller_is_tool_process' said)\" >> world.txt")
    };
    let answer = format!("{program} decision answer {id} approve --home {home} --json");
    vec![
        noted(answer.clone()),
        noted(format!("{program} brake off --home {home} --json")),
        // A process that loses its parent still belongs to the tool.
        noted(format!(
            "rm -f done; (setsid sh -c '{answer} > orphan; echo $? > code; mv orphan done' &); \
             while [ ! -s done ]; do sleep 0.02; done; cat done; (exit $(cat code))"
        )),
    ]
}

/// A shell command that sends a request to the daemon with the token of the home.
fn posted(daemon: &RunningDaemon<'_>, (path, body): (&str, &str), then: &str) -> String {
    let address = daemon.address().expect("an address");
    let token = daemon.world.home().join("token").display().to_string();
    let request = format!(
        "POST {path} HTTP/1.1\\r\\nHost: {address}\\r\\nAuthorization: Bearer %s\\r\\nContent-Type: application/json\\r\\n\
         Content-Length: {}\\r\\nConnection: close\\r\\n\\r\\n{}",
        body.len(),
        body.replace('"', "\\\"")
    );
    let place = address.replace(':', "/");
    format!(
        "bash -c 'exec 3<>/dev/tcp/{place} || exit 9; printf \"{request}\" \"$(cat {token})\" >&3; {then}'"
    )
}

const ANSWERED_BY_TOOL: &str = "4 caller_is_tool_process";

// Conformance: P-135
#[test]
fn a_command_of_an_agent_cannot_answer_its_own_decision() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let id = ask(&world, &run, "a");
    let daemon = RunningDaemon::serve(&world, &[]);
    let home = world.home();
    let answer = (format!("/api/decisions/{id}/answer"), r#"{"option":"approve"}"#);
    let by_hand = posted(&daemon, (&answer.0, answer.1), "cat <&3");
    let mut all = tries(&world, &id);
    all.extend([
        format!("{by_hand}; echo $? >> world.txt"),
        format!("cat {}/token || echo shut >> world.txt", home.display()),
        format!("ls {} || echo shut >> world.txt", home.display()),
    ]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let model = world.script_named("tries.yaml", &commands(&all));
    // Without this permission the command could not even start the program.
    let program = program().display().to_string();
    let made = world.wakeful(&["agent", "create", "worker", "--allow-read", &program]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = world.wakeful(&["run", "do it", "--agent", "worker", "--model", &model, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let told = [
        ANSWERED_BY_TOOL,
        ANSWERED_BY_TOOL,
        ANSWERED_BY_TOOL,
        "9",
        "shut",
        "shut",
    ];
    assert_eq!(world.lines(), told);
    let shown = show(&world, &id);
    assert_eq!(
        (&shown["status"], &shown["version"]),
        (&json!("pending"), &json!(1)),
        "{shown}"
    );
    let token = std::fs::read_to_string(home.join("token")).expect("a token");
    let events = world.wakeful(&["transcript", "worker", "--json"]);
    assert!(!events.stdout.contains(token.trim()), "{events:?}");
}

/// Runs a command like an agent's tool on a kernel that cannot confine it.
pub(super) fn unconfined(world: &TestHome, no_namespaces: bool, command: &str) {
    let environment = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
    let tools = Tools::new(ToolsOptions {
        program: program().to_owned(),
        program_args_prefix: vec!["sandbox".to_owned()],
        home: world.home(),
        workspace: world.workspace(),
        scratch: world.home().join("scratch"),
        environment,
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Allow,
        pretend: DisabledFeatures {
            no_namespaces,
            no_landlock: true,
            no_seccomp: true,
            ..DisabledFeatures::default()
        },
    });
    let operation_id = OperationId(Digest::of(command.as_bytes()));
    let agent = AgentId::parse("main").expect("a name");
    let act = ToolRequest::new(operation_id, agent, "ExecCommand", json!({"cmd": command}));
    let done = block_on(tools.expect("tools").perform(act, Never));
    assert_eq!(done.sandbox.as_deref(), Some("not_enforced"), "{done:?}");
}

struct Never;

impl StopSignal for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

// Conformance: P-135
#[test]
fn an_unconfined_command_cannot_answer_in_a_persons_place() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let id = ask(&world, &run, "a");
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["brake", "on", "--agent", "main"]).code, Some(0));
    let path = format!("/api/decisions/{id}/answer");
    let (answer, release) = (
        (path.as_str(), r#"{"option":"approve"}"#),
        ("/api/brake/release", r#"{"agent_id":"main"}"#),
    );
    let noted = |what| {
        let asked = posted(&daemon, what, "cat <&3");
        format!(
            "{asked} > said; echo \"$(head -c 12 said) $(grep -o 'caller_is_tool_process' said)\" >> world.txt"
        )
    };
    for no_namespaces in [false, true] {
        let mut all = tries(&world, &id);
        all.extend([answer, release].map(noted));
        // A client that disconnects at once cannot be identified.
        all.extend([answer, release].map(|what| posted(&daemon, what, "exec 3>&-")));
        for command in &all {
            unconfined(&world, no_namespaces, command);
        }
        // In a network namespace of its own, the command cannot even connect.
        let refused = match no_namespaces {
            true => "HTTP/1.1 403 caller_is_tool_process",
            false => " ",
        };
        let told = [[ANSWERED_BY_TOOL; 3].as_slice(), &[refused; 2]].concat();
        assert_eq!(world.lines(), told, "without namespaces: {no_namespaces}");
        std::fs::remove_file(world.workspace().join("world.txt")).expect("told");
    }
    let brakes = world.wakeful(&["brake", "status", "--json"]).json();
    assert_eq!(brakes["brakes"][0]["agent_id"], "main", "{brakes}");
    let said = world.wakeful(&["decision", "answer", &id, "deny", "--version", "1", "--json"]);
    assert_eq!(
        (said.code, &said.json()["answer"]["channel"]),
        (Some(0), &json!("cli")),
        "{said:?}"
    );
    assert_eq!(
        world
            .wakeful(&["brake", "off", "--agent", "main", "--json"])
            .json()["brakes"],
        json!([])
    );
}
