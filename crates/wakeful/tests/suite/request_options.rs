//! The effect of settings on requests, and what a whole run sends back to its provider.

use std::fs;

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, program};
use super::provider::{FakeProvider, KEY};
use super::route::write;

/// A run with these settings.
fn run(settings: &str, model: &str) -> CommandOutput {
    let world = TestHome::new();
    // The first setting creates the home, which people should not do by hand.
    let made = world.wakeful(&["config", "set", "server.port", "1"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    fs::write(world.home().join("config.toml"), settings).expect("a file");
    let mut command = world.command(program());
    command.args(["run", "do it", "--json", "--model", model]);
    command.envs([("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)]);
    command.output().expect("the program starts").into()
}

/// A reply that calls a command, and the reply after it, in the Responses format.
fn two_rounds() -> FakeProvider {
    let thought = json!({"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "sealed"});
    let call = json!({"type": "function_call", "id": "fc1", "call_id": "c1", "name": "ExecCommand",
        "arguments": "{\"cmd\": \"true\"}"});
    let message =
        json!({"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Done."}]});
    let reply = |id: &str, output: Value| (200, json!({"id": id, "status": "completed", "output": output}));
    FakeProvider::new(vec![
        reply("r1", json!([thought, call])),
        reply("r2", json!([message])),
    ])
}

#[test]
fn the_settings_of_a_provider_are_sent_to_it() {
    let fake = FakeProvider::new(vec![(
        200,
        json!({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}),
    )]);
    let settings = format!(
        "[providers.anthropic]\nbase_url = \"{}\"\napi_version = \"2026-10-21\"\nauth = \"bearer\"\n\
         max_output_tokens = 77\ncontext_management = true\n",
        fake.url
    );
    let said = run(&settings, "anthropic/m");
    assert_eq!(said.code, Some(0), "{said:?}");
    let (head, body) = fake.asked().remove(0);
    let head = head.to_ascii_lowercase();
    for line in [
        "anthropic-version: 2026-10-21",
        "anthropic-beta: context-management-2025-06-27",
        &format!("authorization: bearer {KEY}"),
    ] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("x-api-key"), "{head}");
    assert_eq!(body["max_tokens"], 77);
    assert_eq!(
        body["context_management"]["edits"][0]["type"],
        "clear_tool_uses_20250919"
    );
    let unknown = run(
        "[providers.anthropic]\napi_version = \"2020-01-01\"\n",
        "anthropic/m",
    );
    assert_ne!(unknown.code, Some(0));
    assert!(
        unknown.stdout.contains("2026-10-21") || unknown.stderr.contains("2026-10-21"),
        "{unknown:?}"
    );
}

#[test]
fn the_thinking_level_is_set_per_model_or_per_provider() {
    let reply = json!({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"});
    let sent = |settings: &str, model: &str| {
        let fake = FakeProvider::new(vec![(200, reply.clone())]);
        let own = format!("[providers.anthropic]\nbase_url = \"{}\"\n{settings}", fake.url);
        let said = run(&own, &format!("anthropic/{model}"));
        assert_eq!(said.code, Some(0), "{said:?}");
        let (_, body) = fake.asked().remove(0);
        (body["thinking"].clone(), body["output_config"].clone())
    };
    let adaptive = (json!({"type": "adaptive"}), json!({"effort": "low"}));
    assert_eq!(sent("thinking = \"low\"\n", "m"), adaptive);
    let own = "thinking = \"low\"\n[models.\"anthropic/m\"]\nthinking = 2000\n";
    let budget = (json!({"type": "enabled", "budget_tokens": 2000}), Value::Null);
    assert_eq!(sent(own, "m"), budget);
    assert_eq!(sent(own, "other"), adaptive, "the provider's holds for the rest");
    assert_eq!(sent("", "m"), (Value::Null, Value::Null));
}

#[test]
fn an_unsupported_thinking_level_is_refused_with_its_setting() {
    let wrong = run("[providers.openai]\nthinking = \"much\"\n", "openai/m");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    for part in ["config_invalid", "line 2", "providers.openai.thinking", "medium"] {
        assert!(wrong.stderr.contains(part), "{part}: {wrong:?}");
    }
    let words = run("[models.\"openai/m\"]\nthinking = 2000\n", "openai/m");
    assert_ne!(words.code, Some(0), "{words:?}");
    for part in [
        "config_invalid",
        "takes one of off, low, medium, high",
        "models.\"openai/m\".thinking",
    ] {
        assert!(words.stderr.contains(part), "{part}: {words:?}");
    }
}

#[test]
fn unsupported_thinking_in_a_route_is_not_reported_as_missing_key() {
    let world = TestHome::new();
    let settings = "[model]\ndefault = \"gemini/gemini-2.5-flash\"\nfallbacks = [\"gemini/gemini-2.5-pro\"]\n\
                    [providers.gemini]\nbase_url = \"http://127.0.0.1:9\"\nkey = \"none\"\nthinking = \"off\"\n\
                    [providers.openai]\nbase_url = \"http://127.0.0.1:9\"\nkey = \"none\"\nthinking = 2000\n";
    write(&world, settings);
    let found = world.wakeful(&["models", "doctor", "--json"]).json();
    let one = |object: &Value, name: &str| {
        let all = object["providers"].as_array().expect("providers").clone();
        all.into_iter()
            .find(|one| one["name"] == name)
            .expect("a provider")
    };
    let gemini = one(&found, "gemini");
    assert_eq!(
        (&gemini["state"], &gemini["code"]),
        (&json!("problem"), &json!("config_invalid"))
    );
    assert!(
        gemini["message"].to_string().contains("gemini-2.5-pro"),
        "{gemini}"
    );
    let listed = world.wakeful(&["models", "list", "--json"]).json();
    let openai = one(&listed, "openai");
    assert_eq!(
        (&openai["key"], &openai["key_problem"]),
        (&json!("not needed"), &Value::Null)
    );
    assert!(openai["problem"].to_string().contains("takes one of"), "{openai}");
    let shown = world.wakeful(&["models", "list"]).stdout;
    assert!(shown.contains("problem   openai: "), "{shown}");
}

#[test]
fn a_run_sends_thoughts_back_unchanged() {
    let fake = two_rounds();
    let said = run(
        &format!("[providers.openai]\nbase_url = \"{}/v1\"\n", fake.url),
        "openai/m",
    );
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Done.")),
        "{said:?}"
    );
    let asked = fake.asked();
    let input = asked[1].1["input"].as_array().expect("items");
    let [.., thought, call, result] = &input[..] else {
        panic!("{input:?}")
    };
    assert_eq!(
        thought,
        &json!({"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "sealed"})
    );
    assert_eq!(
        (&call["type"], &call["id"]),
        (&json!("function_call"), &json!("fc1"))
    );
    assert_eq!(result["type"], "function_call_output");
    assert_eq!(asked[1].1["store"], false);
    // The parts that the provider may cache are the same in both rounds.
    for part in ["instructions", "tools", "prompt_cache_key"] {
        assert!(asked[0].1.get(part).is_some(), "{part}");
        assert_eq!(asked[0].1[part], asked[1].1[part], "{part}");
    }
}

// Conformance: H-143
#[test]
fn a_run_continues_the_conversation_at_the_provider_on_request() {
    let fake = two_rounds();
    let settings = format!(
        "[providers.openai]\nbase_url = \"{}/v1\"\nincremental = true\n",
        fake.url
    );
    let said = run(&settings, "openai/m");
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Done.")),
        "{said:?}"
    );
    let asked = fake.asked();
    assert_eq!(
        (&asked[0].1["store"], asked[0].1.get("previous_response_id")),
        (&json!(true), None)
    );
    assert_eq!(asked[1].1["previous_response_id"], "r1");
    let input = asked[1].1["input"].as_array().expect("items");
    assert_eq!(input.len(), 1, "{input:?}");
    assert_eq!(input[0]["type"], "function_call_output");
}
