//! Configured providers, key handles, routes, and the commands that show them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, program};
use super::provider::{FakeProvider, KEY, holds_key};

pub(super) fn write(world: &TestHome, text: &str) {
    // The first setting creates the home, which people should not do by hand.
    let made = world.wakeful(&["config", "set", "server.port", "1"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    fs::write(world.home().join("config.toml"), text).expect("a file");
}

pub(super) fn call(world: &TestHome, args: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
    let mut command = world.command(program());
    command.args(args).envs(environment.iter().copied());
    command.output().expect("the program starts").into()
}

pub(super) fn chat(text: &str) -> (u16, Value) {
    let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
    (
        200,
        json!({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    )
}

fn refusal(status: u16) -> (u16, Value) {
    (status, json!({"error": {"message": format!("no, {KEY}")}}))
}

/// A configured provider that uses Chat Completions at this address.
pub(super) fn provider(name: &str, fake: &FakeProvider, more: &str) -> String {
    format!(
        "[providers.{name}]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\n{more}\n",
        fake.url
    )
}

// Conformance: H-007, H-008, H-012
#[test]
fn a_route_continues_with_the_next_model_and_records_why() {
    let (world, first, last) = (
        TestHome::new(),
        FakeProvider::new(vec![refusal(401)]),
        FakeProvider::new(vec![chat("Hi.")]),
    );
    write(
        &world,
        &[
            "[model]\ndefault = \"first/m\"\nfallbacks = [\"nowhere/m\", \"keyless/m\", \"last/m\"]\n"
                .to_owned(),
            provider("first", &first, "key = \"env:FIRST_KEY\""),
            provider("last", &last, ""),
            "[providers.keyless]\nkind = \"anthropic\"\nkey = \"env:NOT_SET\"\n".to_owned(),
        ]
        .concat(),
    );
    let made = world.wakeful(&["agent", "create", "main"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = call(
        &world,
        &["run", "do it", "--json", "--agent", "main"],
        &[("FIRST_KEY", KEY)],
    );
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Hi.")),
        "{said:?}"
    );
    assert_eq!((first.asked().len(), last.asked().len()), (1, 1));
    assert!(first.asked()[0].0.contains(KEY) && !last.asked()[0].0.contains(KEY));
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    let rounds: Vec<Value> = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["kind"] == "provider_round_completed")
        .map(|event| event["payload"].clone())
        .collect();
    let seen: Vec<(&str, &str, bool)> = rounds
        .iter()
        .map(|round| {
            (
                round["model_ref"].as_str().unwrap_or_default(),
                round["failure_kind"].as_str().unwrap_or("-"),
                round["advanced_to_fallback"].as_bool().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("first/m", "http_401", true),
            ("nowhere/m", "unsupported_transport", true),
            ("keyless/m", "secret_unavailable", true),
            ("last/m", "-", false),
        ],
        "{events}"
    );
    let diagnostics = &rounds[0]["transport_diagnostics"];
    assert_eq!(
        (&diagnostics["stage"], &diagnostics["status"]),
        (&json!("first_byte"), &json!(401))
    );
    assert_eq!(rounds[1]["transport_diagnostics"]["stage"], "gate");
    assert!(!events.contains(KEY) && !holds_key(world.path()));
}

#[test]
fn a_named_route_has_fallbacks_and_a_named_model_has_none() {
    let (world, away, here) = (
        TestHome::new(),
        FakeProvider::new(vec![refusal(400)]),
        FakeProvider::new(vec![chat("Hi.")]),
    );
    write(
        &world,
        &[
            "[model]\nfallbacks = [\"here/m\"]\n[routes.cheap]\nmodels = [\"away/m\", \"here/m\"]\n"
                .to_owned(),
            provider("away", &away, ""),
            provider("here", &here, ""),
        ]
        .concat(),
    );
    let said = call(&world, &["run", "do it", "--model", "route:cheap"], &[]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "Hi.\n"), "{said:?}");
    let alone = TestHome::new();
    let away = FakeProvider::new(vec![refusal(400)]);
    write(
        &alone,
        &[
            "[model]\nfallbacks = [\"demo\"]\n".to_owned(),
            provider("away", &away, ""),
        ]
        .concat(),
    );
    let said = call(&alone, &["run", "do it", "--json", "--model", "away/m"], &[]);
    assert_eq!(
        (said.code, &said.json()["failure_artifact"]["kind"]),
        (Some(1), &json!("http_400")),
        "{said:?}"
    );
    let said = call(&alone, &["run", "x", "--json", "--model", "route:gone"], &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_unknown"),
        "{said:?}"
    );
    let said = call(&alone, &["run", "x", "--json", "--model", "nobody/m"], &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_unknown"),
        "{said:?}"
    );
}

#[test]
fn a_key_in_the_environment_selects_its_provider() {
    let message = json!({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"});
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![(200, message)]));
    let environment = [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", fake.url.as_str()),
        ("OPENAI_API_KEY", "sk-other"),
    ];
    let said = call(&world, &["run", "do it"], &environment);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "Hi.\n"), "{said:?}");
    assert!(
        said.stderr.contains("anthropic/claude") && said.stderr.contains("ANTHROPIC_API_KEY"),
        "{said:?}"
    );
    assert!(!format!("{said:?}").contains(KEY));
    let said = call(&TestHome::new(), &["run", "do it"], &[]);
    assert!(said.code == Some(0) && said.stderr.contains("demo"), "{said:?}");
    let listed = call(&world, &["models", "list", "--json"], &[("GEMINI_API_KEY", KEY)]).json();
    assert_eq!(listed["default"]["why"], "because GEMINI_API_KEY is set");
}

// Conformance: L-158
#[test]
fn a_key_is_read_from_a_private_file() {
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Hi.")]));
    let path = world.path().join("key");
    fs::write(&path, format!("{KEY}\n")).expect("a key");
    let handle = format!("key = \"file:{}\"", path.display());
    write(&world, &provider("mine", &fake, &handle));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("permissions");
    let args = ["run", "do it", "--json", "--model", "mine/m"];
    let said = call(&world, &args, &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "secret_exposed"),
        "{said:?}"
    );
    assert!(
        said.stdout.contains("chmod 600") && !said.stdout.contains(KEY),
        "{said:?}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
    let said = call(&world, &args, &[]);
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Hi.")),
        "{said:?}"
    );
    assert!(fake.asked()[0].0.contains(&format!("Bearer {KEY}")));
    fs::remove_file(&path).expect("removed");
    assert!(!holds_key(world.path()) && !format!("{said:?}").contains(KEY));
    let said = call(
        &world,
        &["config", "set", "providers.mine.key", KEY, "--json"],
        &[],
    );
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "bad_value"),
        "{said:?}"
    );
    assert!(!format!("{said:?}").contains(KEY) && said.stdout.contains("env:NAME"));
}

/// Uses a fake of the keyring's program.
#[test]
fn a_key_is_read_from_the_keyring() {
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Hi.")]));
    write(&world, &provider("mine", &fake, "key = \"keyring:wakeful/mine\""));
    let args = ["run", "do it", "--json", "--model", "mine/m"];
    let nowhere = world.path().join("nowhere").display().to_string();
    let said = call(&world, &args, &[("PATH", &nowhere)]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "secret_unavailable"),
        "{said:?}"
    );
    let tools = world.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    let tool = tools.join("secret-tool");
    fs::write(
        &tool,
        format!("#!/bin/sh\n[ \"$*\" = 'lookup service wakeful account mine' ] && echo {KEY}\n"),
    )
    .expect("a tool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o700)).expect("permissions");
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let said = call(&world, &args, &[("PATH", &path)]);
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Hi.")),
        "{said:?}"
    );
    assert!(fake.asked()[0].0.contains(KEY));
}

#[test]
fn an_agent_has_its_own_model_and_list_of_permitted_models() {
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Mine.")]));
    let agents = "[agents.coach]\nmodels = [\"mine/*\"]\n";
    write(&world, &[agents.to_owned(), provider("mine", &fake, "")].concat());
    let made = call(
        &world,
        &["agent", "create", "coach", "--model", "mine/m", "--no-test"],
        &[],
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = call(&world, &["run", "do it", "--agent", "coach"], &[]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "Mine.\n"),
        "{said:?}"
    );
    let said = call(
        &world,
        &["run", "do it", "--json", "--agent", "coach", "--model", "demo"],
        &[],
    );
    let kind = &said.json()["failure_artifact"]["kind"];
    assert_eq!(
        (said.code, kind),
        (Some(4), &json!("disallowed_provider_model")),
        "{said:?}"
    );
}

/// The models of a list with the basis of their prices.
fn bases(list: &Value) -> Vec<String> {
    let rows = list["prices"].as_array().expect("prices");
    let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| format!("{} {}", word(row, "model_ref"), word(row, "basis")))
        .collect()
}

#[test]
fn the_list_shows_where_keys_are_stored_and_never_the_keys() {
    let world = TestHome::new();
    write(
        &world,
        "[model]\ndefault = \"anthropic/claude-sonnet-4-5\"\nfallbacks = [\"ollama/llama3.2\", \"mine/x\"]\n\
         [providers.mine]\nkind = \"openai\"\nkey = \"env:MY_KEY\"\n[routes.r]\nmodels = [\"openai/gpt-who\", \"gate/gpt-5\"]\n\
         [providers.gate]\nkind = \"openai\"\nkey = \"env:MY_KEY\"\nbase_url = \"http://localhost:1/v1\"\n\
         [prices.\"mine/x\"]\ninput = 1\noutput = 2\n[prices.\"mine/y\"]\ninput = 0\noutput = 0\n",
    );
    let environment = [
        ("ANTHROPIC_API_KEY", KEY),
        ("MY_KEY", KEY),
        ("OPENAI_API_KEY", KEY),
    ];
    let said = call(&world, &["models", "list", "--json"], &environment);
    assert_eq!(said.code, Some(0), "{said:?}");
    let list = said.json();
    let one = |name: &str| {
        let all = list["providers"].as_array().expect("providers");
        all.iter()
            .find(|row| row["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(
        (
            &one("anthropic")["key"],
            &one("anthropic")["key_source"],
            &one("anthropic")["host"]
        ),
        (
            &json!("present"),
            &json!("ANTHROPIC_API_KEY"),
            &json!("api.anthropic.com")
        )
    );
    assert_eq!(
        (&one("mine")["key"], &one("mine")["key_source"]),
        (&json!("present"), &json!("env:MY_KEY"))
    );
    assert_eq!(
        (&one("gemini")["key"], &one("gemini")["key_problem"]),
        (&json!("absent"), &json!("secret_unavailable"))
    );
    assert_eq!(
        (&one("ollama")["key"], &one("ollama")["host"]),
        (&json!("not needed"), &json!("127.0.0.1:11434"))
    );
    assert_eq!(one("openrouter")["key"], "absent");
    assert_eq!(
        bases(&list),
        [
            "anthropic/claude-sonnet-4-5 listed",
            "gate/gpt-5 listed",
            "mine/x configured",
            "mine/y free",
            "ollama/llama3.2 free",
            "openai/gpt-who assumed",
        ]
    );
    let text = call(&world, &["models", "list"], &environment);
    assert!(
        text.stdout.contains("2026-05-22") && text.stdout.contains("route:r"),
        "{text:?}"
    );
    assert!(!format!("{said:?}{text:?}").contains(KEY));
}

#[test]
fn a_probe_reports_what_it_found_and_what_is_unknown() {
    let call_tool = json!({"choices": [{"message": {"tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "probe_echo", "arguments": "{\"word\":\"pong\"}"}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3}});
    let told = json!({"id": "m", "max_model_len": 8_192});
    let (world, fake) = (
        TestHome::new(),
        FakeProvider::new(vec![(200, told), chat("pong"), (200, call_tool)]),
    );
    let price = "[prices.\"mine/m\"]\ninput = 10\noutput = 10\n";
    write(&world, &[provider("mine", &fake, ""), price.to_owned()].concat());
    let said = call(&world, &["models", "probe", "mine/m", "--json"], &[]);
    let found = said.json();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(found["streaming"]["found"], false, "the fake answers all at once");
    assert_eq!(
        (&found["tools"]["found"], &found["vision"]["found"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        (&found["context_tokens"], &found["requests"]),
        (&json!(8_192), &json!(2))
    );
    assert_eq!(found["cost_usd"], "0.00017");
    assert_eq!(found["token_usage"]["input_tokens"], 12);
    // Its cost counts towards the day: with a lower cap no model is called.
    write(
        &world,
        &[
            provider("mine", &fake, ""),
            price.to_owned(),
            "[budget]\ndaily_usd = 0.0002\n".to_owned(),
        ]
        .concat(),
    );
    let said = call(&world, &["models", "probe", "mine/m", "--json"], &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "budget_exceeded"),
        "{said:?}"
    );
}

// Conformance: H-015
#[test]
fn doctor_checks_providers_without_spending() {
    let (world, fine, broken) = (
        TestHome::new(),
        FakeProvider::new(vec![(200, json!({"data": []}))]),
        FakeProvider::new(vec![refusal(401)]),
    );
    write(
        &world,
        &[
            provider("fine", &fine, ""),
            provider("broken", &broken, "key = \"env:MY_KEY\""),
        ]
        .concat(),
    );
    let said = call(&world, &["models", "doctor", "--json"], &[("MY_KEY", KEY)]);
    let found = said.json();
    assert_eq!((said.code, &found["problems"]), (Some(1), &json!(1)), "{said:?}");
    assert_eq!(found["retry_policy"]["max_retries"], 2);
    let state = |name: &str| {
        let all = found["providers"].as_array().expect("providers");
        let row = all
            .iter()
            .find(|row| row["name"] == name)
            .cloned()
            .unwrap_or_default();
        (
            row["state"].as_str().unwrap_or_default().to_owned(),
            row["code"].clone(),
        )
    };
    assert_eq!(state("fine"), ("ok".to_owned(), json!(null)));
    assert_eq!(state("broken"), ("problem".to_owned(), json!("http_401")));
    assert_eq!(
        state("anthropic"),
        ("unused".to_owned(), json!("secret_unavailable"))
    );
    assert!(
        fine.asked()[0].0.starts_with("GET /v1/models "),
        "{:?}",
        fine.asked()
    );
    assert!(!format!("{said:?}").contains(KEY));
}
