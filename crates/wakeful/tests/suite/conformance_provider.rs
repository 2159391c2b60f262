//! Requirements of the conformance tables about requests to a provider and its failures.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::schema::{DEPTH_MAX, SchemaMode, check_strict, emit};
use wakeful_models::Provider;

use super::home_fixture::TestHome;
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
