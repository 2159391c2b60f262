//! The search of the web by a model's provider, from the setting of the agent to the conversation.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome};
use super::provider::FakeProvider;
use super::route::write;

/// A reply with one search.
fn searched() -> (u16, Value) {
    let body = json!({"stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1}}, "content": [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "tides today"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [
            {"type": "web_search_result", "url": "https://a.example/", "title": "A", "encrypted_content": "E=="}]},
        {"type": "text", "text": "High at noon."}]});
    (200, body)
}

fn said() -> (u16, Value) {
    (
        200,
        json!({"stop_reason": "end_turn", "content": [{"type": "text", "text": "You are welcome."}]}),
    )
}

fn set(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["agent", "set", "main"], args].concat())
}

fn run(world: &TestHome, prompt: &str) -> Value {
    let said = world.wakeful(&["run", prompt, "--json", "--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

/// An agent whose provider has a search, at a server with these replies.
fn home(fake: &FakeProvider) -> TestHome {
    let world = TestHome::new();
    let settings = format!(
        "[providers.own]\nkind = \"anthropic\"\nbase_url = \"{}\"\nkey = \"none\"\nweb_search = true\n",
        fake.url
    );
    write(&world, &settings);
    let made = world.wakeful(&["agent", "create", "main", "--model", "own/m", "--no-test"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    world
}

#[test]
fn a_search_is_off_by_default_and_shown_when_it_was_used() {
    let fake = FakeProvider::new(vec![said(), searched(), said()]);
    let world = home(&fake);
    run(&world, "hello");
    let done = set(&world, &["--web-search", "on"]);
    assert!(
        done.code == Some(0) && done.stdout.contains("web search       on"),
        "{done:?}"
    );
    let frame = world.wakeful(&["debug", "prompt", "main", "--json"]).stdout;
    assert!(frame.contains("\"WebSearch\""), "{frame}");
    let answer = run(&world, "when is high tide?");
    assert_eq!(answer["final_text"], "High at noon.");
    run(&world, "thanks");
    let asked: Vec<Value> = fake.asked().into_iter().map(|(_, body)| body).collect();
    let offers = |body: &Value| body["tools"].to_string().contains("web_search_20250305");
    assert_eq!(asked.iter().map(offers).collect::<Vec<_>>(), [false, true, true]);
    let sent = asked[2]["messages"].to_string();
    assert!(
        sent.contains("\"encrypted_content\":\"E==\"") && sent.contains("srv1"),
        "{sent}"
    );
    let shown = world.wakeful(&["transcript", "main"]).stdout;
    assert!(
        shown.contains("(searched the web: tides today)") && shown.contains("(found https://a.example/)"),
        "{shown}"
    );
    let key = answer["run_key"].as_str().expect("a key");
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    assert!(events.contains("\"web_searches\":[\"tides today\"]"), "{events}");
    let steps = world.wakeful(&["runs", "show", key, "--json"]).json();
    assert!(steps.to_string().contains("\"web_searches\":1"), "{steps}");
}

#[test]
fn the_explanation_says_why_a_search_is_not_offered() {
    let fake = FakeProvider::new(vec![said(), said(), said()]);
    let world = home(&fake);
    let explain = || {
        let args = [
            "policy",
            "explain",
            "--agent",
            "main",
            "--tool",
            "WebSearch",
            "--json",
        ];
        let said = world.wakeful(&args).json();
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        (text("effect"), text("rule"), text("note"))
    };
    let (effect, rule, _) = explain();
    assert_eq!((effect.as_str(), rule.as_str()), ("deny", "web_search_off"));
    for (args, effect, rule, note) in [
        (
            ["--web-search", "on"],
            "permit",
            "registered_tool",
            "it is offered",
        ),
        (
            ["--ask-tools", "WebSearch"],
            "ask",
            "ask_tool",
            "it is not offered",
        ),
        (
            ["--deny-tools", "WebSearch"],
            "deny",
            "denied_tool",
            "it is not offered",
        ),
    ] {
        assert_eq!(set(&world, &args).code, Some(0));
        let found = explain();
        assert_eq!((found.0.as_str(), found.1.as_str()), (effect, rule), "{found:?}");
        assert!(found.2.starts_with(note), "{found:?}");
        run(&world, "hello");
    }
    let asked = fake.asked();
    let offers = asked
        .iter()
        .map(|(_, body)| body.to_string().contains("web_search_20250305"));
    assert_eq!(offers.collect::<Vec<_>>(), [true, false, false]);
    for (args, word) in [
        (["--web-search", "maybe"], "--web-search:"),
        (
            ["--tool-quota", "WebSearch=5/day"],
            "tool_quotas.WebSearch: cannot be limited",
        ),
    ] {
        let refused = set(&world, &args);
        assert!(
            refused.code != Some(0) && refused.stderr.contains(word),
            "{refused:?}"
        );
    }
}
