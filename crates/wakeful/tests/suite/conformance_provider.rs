//! Requirements of the conformance tables about requests to a provider and its failures.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::schema::{DEPTH_MAX, SchemaMode, check_strict, emit};
use wakeful_models::Provider;

use super::home_fixture::{CommandOutput, TestHome, program};
use super::provider::FakeProvider;
use super::route::{chat, provider, write};
use super::schema::sent;

/// The tools offered to a provider for an agent that may start runs of another.
fn offered_tools() -> Vec<Value> {
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Hi.")]));
    let settings = format!("[model]\ndefault = \"own/m\"\n{}", provider("own", &fake, ""));
    write(&world, &settings);
    world.wakeful(&["agent", "create", "helper"]);
    world.wakeful(&["agent", "create", "main", "--may-start", "helper"]);
    let said = world.wakeful(&["run", "do it", "--json", "--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let tools = fake.asked()[0].1["tools"].as_array().expect("tools").clone();
    tools.into_iter().map(|tool| tool["function"].clone()).collect()
}

// Conformance: H-046
#[test]
fn a_provider_is_offered_commands_and_none_of_the_retired_readers() {
    let tools = offered_tools();
    let names: BTreeSet<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    assert!(
        names.contains("ExecCommand") && names.contains("StartRun"),
        "{names:?}"
    );
    for retired in ["Read", "Glob", "Grep"] {
        assert!(!names.contains(retired), "{names:?}");
    }
}

// Conformance: H-037
#[test]
fn every_offered_tool_is_strict_and_a_broken_schema_is_found() {
    let tools = offered_tools();
    assert!(tools.len() >= 3, "{tools:?}");
    let specs: Vec<ToolSpec> = tools
        .iter()
        .map(|tool| ToolSpec {
            name: tool["name"].as_str().expect("a name").to_owned(),
            description: tool["description"].as_str().expect("words").to_owned(),
            input_schema: tool["parameters"].clone(),
            freeform: None,
        })
        .collect();
    for provider in [Provider::OpenAi, Provider::OpenAiCodex] {
        for tool in sent(provider, true, specs.clone()) {
            assert_eq!(check_strict(&tool["parameters"]), Ok(()), "{tool}");
        }
    }
    let deepest = json!({"type": "object", "properties": {}});
    let broken = (0..DEPTH_MAX).fold(
        deepest,
        |inner, _| json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
    );
    let found = check_strict(&emit(&broken, SchemaMode::Strict)).expect_err("a schema that cannot be sent");
    assert_eq!(found.why, "it is nested too deep");
}

// Conformance: L-166, A-118
#[test]
fn an_unrecoverable_error_reaches_the_caller_with_step_and_causes() {
    let world = TestHome::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    write(
        &world,
        &format!(
            "[model]\ndefault = \"own/m\"\n[providers.own]\nkind = \"openai-chat\"\nbase_url = \"{url}/v1\"\n"
        ),
    );
    let said = world.wakeful(&["run", "do it", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let run = said.json();
    let failure = &run["failure_artifact"];
    assert_eq!(
        (&failure["kind"], &failure["metadata"]["attempts"]),
        (&json!("connection_failed"), &json!("3")),
        "{failure}"
    );
    let chain = failure["source_chain"].as_array().expect("a chain of causes");
    assert!(
        chain.len() > 1 && failure.to_string().contains("refused"),
        "down to the cause: {failure}"
    );
    let key = run["run_key"].as_str().expect("a key");
    let shown = world.wakeful(&["runs", "show", key, "--json"]).json();
    let reasons: Vec<(&Value, &Value)> = shown["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| (&step["kind"], &step["reason"]))
        .collect();
    assert_eq!(
        reasons,
        [(&json!("model"), &json!("connection_failed")); 3],
        "{shown}"
    );
}

// Conformance: H-052
#[test]
fn an_error_of_a_tool_is_kept_in_three_places() {
    let (world, environment) = (TestHome::new(), "sk-ant-key-of-a-test");
    let edit = json!({"path": "a.txt", "old": "absent", "new": "x"});
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let fake = FakeProvider::new(vec![
        (
            200,
            json!({"content": [{"type": "tool_use", "id": "toolu_1", "name": "EditFile", "input": edit}],
                "stop_reason": "tool_use", "usage": usage}),
        ),
        (
            200,
            json!({"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn", "usage": usage}),
        ),
    ]);
    std::fs::write(world.workspace().join("a.txt"), "present\n").expect("a file");
    let mut command = world.command(program());
    command.args(["run", "do it", "--json", "--model", "anthropic/claude-x"]);
    command.envs([
        ("ANTHROPIC_API_KEY", environment),
        ("ANTHROPIC_BASE_URL", &fake.url),
    ]);
    let run: CommandOutput = command.output().expect("the program starts").into();
    let agent = run.json()["agent_id"].as_str().expect("an agent").to_owned();
    let sent = &fake.asked()[1].1["messages"][2]["content"][0];
    assert!(
        sent["content"].is_string() && sent["is_error"] == true,
        "the provider: {sent}"
    );
    let of_lines = |said: &CommandOutput| -> Vec<Value> {
        let lines = said.stdout.lines().map(serde_json::from_str::<Value>);
        lines.map(|line| line.expect("JSON")).collect()
    };
    let transcript = of_lines(&world.wakeful(&["transcript", &agent, "--json"]));
    let mut blocks = transcript
        .iter()
        .flat_map(|entry| entry["blocks"].as_array().into_iter().flatten());
    let result = blocks
        .find(|block| block["type"] == "tool_result")
        .expect("a result");
    assert_eq!(result["error"]["kind"], "no_match", "the transcript: {result}");
    let events = of_lines(&world.wakeful(&["events", &agent, "--json"]));
    let mut ended = events.iter().filter(|event| event["kind"] == "tool_executed");
    let audit = &ended.next().expect("an event")["payload"];
    assert_eq!(audit["tool_error"]["kind"], "no_match", "the audit: {audit}");
    let flat = audit["error"].as_str().expect("a string");
    assert!(flat.contains("no_match") && !flat.contains('\n'), "{flat}");
}
