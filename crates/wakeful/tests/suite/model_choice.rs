//! Choosing a model: a provider that lists its models must have it. Adding a provider: only a new one, with its
//! own key. The provider is a fake server on this machine.

use std::fs;

use serde_json::{Value, json};
use wakeful_api::client::ClientError;
use wakeful_api::{AddProvider, ChangeSetting, CreateAgent};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome};
use super::init::typed;
use super::provider::{FakeProvider, KEY, holds_key};

fn models(names: &[&str]) -> (u16, Value) {
    let list: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    (200, json!({"data": list}))
}

/// A home whose Ollama is at this address.
fn home_with_ollama(url: &str) -> TestHome {
    let home = TestHome::new();
    fs::create_dir(home.home()).expect("a home");
    let text = format!("[providers.ollama]\nbase_url = \"{url}/v1\"\n");
    fs::write(home.home().join("config.toml"), text).expect("settings");
    home
}

fn assert_refused(said: &CommandOutput, nearest: &str) {
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_unknown"),
        "{said:?}"
    );
    assert!(said.stderr.contains(nearest), "{said:?}");
}

#[test]
fn a_model_that_its_provider_does_not_list_is_refused_everywhere() {
    let fake = FakeProvider::new(vec![models(&["llama3:8b", "qwen3:4b"]); 8]);
    let home = home_with_ollama(&fake.url);
    let create = |model: &str| home.wakeful(&["agent", "create", "main", "--json", "--model", model]);
    assert_refused(
        &create("ollama/nonsense"),
        "use one of: ollama/llama3:8b, ollama/qwen3:4b",
    );
    assert_refused(&create("ollama/lama3:8b"), "did you mean ollama/llama3:8b?");
    assert_eq!(
        home.wakeful(&["agent", "list", "--json"]).json()["agents"],
        json!([])
    );
    let made = create("ollama/llama3");
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""), "{made:?}");
    for args in [
        &["agent", "set", "main", "--json", "--fallbacks", "ollama/nonsense"][..],
        &["agent", "model", "main", "ollama/nonsense", "--json"],
        &["config", "set", "model.default", "ollama/nonsense", "--json"],
    ] {
        assert_refused(&home.wakeful(args), "nonsense");
    }
    let anyway = [
        "agent",
        "set",
        "main",
        "--model",
        "ollama/nonsense",
        "--no-test",
        "--json",
    ];
    let anyway = home.wakeful(&anyway);
    assert_eq!(anyway.json()["model"], "ollama/nonsense", "{anyway:?}");
    // A model that does not change is not tested again.
    let same = home.wakeful(&["agent", "set", "main", "--model", "ollama/nonsense"]);
    assert_eq!(same.code, Some(0), "{same:?}");
}

#[test]
fn a_model_of_a_provider_that_is_away_is_set_with_a_warning() {
    let home = home_with_ollama("http://127.0.0.1:1");
    for args in [
        &["agent", "create", "main", "--model", "ollama/llama3"][..],
        &["config", "set", "model.default", "ollama/llama3"],
    ] {
        let said = home.wakeful(args);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stderr.contains("ollama/llama3 is not verified"), "{said:?}");
    }
}

#[test]
fn init_asks_again_for_a_model_that_it_cannot_verify() {
    let fake = FakeProvider::new(vec![models(&["llama3:8b"])]);
    let home = home_with_ollama(&fake.url);
    let said = typed(&home, "--model ollama/nonsense", "ollama/llama3:8b\n\n\n\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("ollama has no model nonsense"), "{said:?}");
    let chosen = home.wakeful(&["config", "get", "model.default"]);
    assert_eq!(chosen.stdout.trim(), "ollama/llama3:8b");
    let away = home_with_ollama("http://127.0.0.1:1");
    let said = typed(&away, "--model ollama/first", "n\nollama/second\ny\n\n\n\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    let chosen = away.wakeful(&["config", "get", "model.default"]);
    assert_eq!(chosen.stdout.trim(), "ollama/second", "{said:?}");
}

/// Adds a provider over TCP, as the page does.
fn add(fields: &Value) -> AddProvider {
    let mut all = json!({"provider": "work", "kind": "anthropic"});
    let members = all.as_object_mut().expect("an object");
    members.extend(fields.as_object().expect("an object").clone());
    input(all)
}

fn code<T: std::fmt::Debug>(refused: Result<T, ClientError>) -> String {
    format!("{:?}", refused.expect_err("refused"))
}

#[test]
fn a_provider_is_added_over_http_and_its_first_request_works() {
    let answer = json!({"content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 2, "output_tokens": 1}});
    let refusal = json!({"error": {"type": "authentication_error", "message": "invalid key"}});
    let fake = FakeProvider::new(vec![
        (401, refusal),
        models(&["m-1"]),
        models(&["m-1"]),
        (200, answer),
    ]);
    let home = TestHome::new();
    fs::create_dir(home.home()).expect("a home");
    let daemon = RunningDaemon::serve(&home, &[]);
    let client = client(&daemon);
    let with_key = || add(&json!({"base_url": fake.url, "key": KEY}));
    block_on(async {
        let insecure = add(&json!({"base_url": "http://models.example.org/v1", "skip_test": true}));
        assert!(code(client.call(&insecure).await).contains("insecure_url"));
        assert!(code(client.call(&with_key()).await).contains("key_refused"));
        assert!(!holds_key(&home.home()), "nothing is stored");
        let added = client.call(&with_key()).await.expect("added");
        assert!(added.provider.has_key && added.test.is_some_and(|test| test.is_ok));
        let agent = json!({"agent_id": "main", "model": "work/m-1"});
        client.call(&input::<CreateAgent>(agent)).await.expect("an agent");
    });
    let ran = home.wakeful(&["run", "--agent", "main", "hi", "--json"]);
    assert_eq!(ran.json()["final_text"], "hello", "{ran:?}");
    let asked = fake.asked();
    let last = asked.last().expect("a request");
    assert!(last.0.contains(&format!("x-api-key: {KEY}")), "{last:?}");
    let settings = fs::read_to_string(home.home().join("config.toml")).expect("settings");
    assert!(!settings.contains(KEY), "{settings}");
}

#[test]
fn the_address_of_a_provider_with_a_key_is_not_changed_over_http() {
    let home = TestHome::new();
    fs::create_dir(home.home()).expect("a home");
    let text = "[providers.work]\nkind = \"anthropic\"\nbase_url = \"https://models.example.org\"\nkey = \"env:WORK_KEY\"\n\n\
        [notify]\nwebhook = \"https://ntfy.example.org/topic\"\nwebhook_key = \"env:WORK_KEY\"\n";
    let file = home.home().join("config.toml");
    fs::write(&file, text).expect("settings");
    let daemon = RunningDaemon::serve(&home, &[]);
    let client = client(&daemon);
    let elsewhere = async |provider: &str| {
        let fields = json!({"provider": provider, "base_url": "https://evil.example.org", "skip_test": true});
        client.call(&add(&fields)).await
    };
    let set = async |name: &str, value: Value| {
        let change = json!({"name": name, "value": value});
        client.call(&input::<ChangeSetting>(change)).await
    };
    block_on(async {
        for provider in ["work", "anthropic"] {
            let refused = code(elsewhere(provider).await);
            assert!(refused.contains("provider_exists"), "{provider}: {refused}");
        }
        // A new provider gets no existing key, neither by its place nor under a name in quotes.
        elsewhere("evil").await.expect("a new provider without a key");
        for (name, value) in [
            ("providers.evil.key", json!("env:WORK_KEY")),
            ("providers.evil.\"key\"", json!("env:WORK_KEY")),
            ("providers.work.base_url", json!("https://evil.example.org")),
            ("providers.work.\"base_url\"", json!("https://evil.example.org")),
            ("providers.\"work\".base_url", Value::Null),
            ("notify.webhook", json!("https://evil.example.org")),
            ("notify.webhook_key", json!("env:OTHER_KEY")),
        ] {
            let refused = code(set(name, value).await);
            assert!(
                refused.contains("setting_needs_command_line"),
                "{name}: {refused}"
            );
        }
    });
    let after = fs::read_to_string(&file).expect("settings");
    let added = "[providers.evil]\nkind = \"anthropic\"\nbase_url = \"https://evil.example.org\"\n\n";
    assert_eq!(after.replace(added, ""), text, "nothing else changed");
}
