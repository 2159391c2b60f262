//! The settings of an agent over the API.

use serde_json::{Value, json};

use super::test_server::{Answer, TestServer};

const SETTINGS: &str = "/api/agents/main/settings";

fn body(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).expect("JSON")
}

#[tokio::test]
async fn settings_change_field_by_field_and_each_change_is_an_event() {
    let server = TestServer::new();
    let change = json!({"ask_tools": ["ExecCommand"], "description": "cleans up", "daily_usd": "2.50",
        "instructions": "be brief", "max_rounds": 5.0, "model": "demo"});
    let set = server.post(SETTINGS, &change.to_string()).await;
    assert_eq!(set.status, 200, "{set:?}");
    let second = server
        .post(SETTINGS, r#"{"description":null,"max_rounds":null}"#)
        .await;
    let settings = body(&server.get(SETTINGS).await);
    assert_eq!(body(&second), settings);
    assert_eq!(settings["ask_tools"], json!(["ExecCommand"]));
    assert_eq!(settings["instructions"], "be brief");
    assert_eq!(settings["daily_usd"], "2.50");
    assert_eq!(settings["description"], "");
    assert_eq!(settings["allowed_category_ids"], json!(["*"]));
    assert_eq!(settings.get("max_rounds"), None);
    let events = body(&server.get("/api/agents/main/events").await);
    let changes: Vec<&Value> = events["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["payload"]["change"] == "settings")
        .map(|event| &event["payload"]["changed"])
        .collect();
    assert_eq!(changes.len(), 2, "{events}");
    assert_eq!(changes[1], &json!({"description": "", "max_rounds": null}));
    assert!(!changes[0].to_string().contains("brief"), "{changes:?}");
}

#[tokio::test]
async fn an_agent_is_created_with_its_settings() {
    let server = TestServer::new();
    let new = json!({"agent_id": "coach", "deny_tools": ["ExecCommand"], "daily_usd": "1.00", "may_start": ["main"]});
    let made = server.post("/api/agents", &new.to_string()).await;
    assert_eq!(made.status, 201, "{made:?}");
    let settings = body(&server.get("/api/agents/coach/settings").await);
    assert_eq!(settings["deny_tools"], json!(["ExecCommand"]));
    assert_eq!(settings["may_start"], json!(["main"]));
    assert_eq!(settings["daily_usd"], "1.00");
    assert_eq!(settings["allowed_category_ids"], json!(["*"]));
}

#[tokio::test]
async fn an_invalid_setting_changes_nothing_and_names_its_field() {
    let server = TestServer::new();
    let before = body(&server.get(SETTINGS).await);
    for (change, status, code, field) in [
        (json!({"model": "nobody"}), 409, "model_unknown", "model"),
        (
            json!({"fallbacks": ["nobody"]}),
            409,
            "model_unknown",
            "fallbacks",
        ),
        (json!({"may_start": ["ghost"]}), 409, "bad_setting", "may_start"),
        (
            json!({"allowed_category_ids": ["ghost"]}),
            409,
            "bad_setting",
            "allowed_category_ids",
        ),
        (json!({"max_rounds": 0}), 409, "bad_setting", "max_rounds"),
        (json!({"capabilities": []}), 409, "bad_setting", "capabilities"),
        (
            json!({"deny_tools": ["ExecCommand"]}),
            409,
            "bad_setting",
            "deny_tools",
        ),
        (
            json!({"tool_quotas": {"Ghost": {"max_per_day": 1}}}),
            409,
            "bad_setting",
            "tool_quotas",
        ),
        (
            json!({"answer_channels": []}),
            409,
            "bad_setting",
            "answer_channels",
        ),
        (
            json!({"description": "x".repeat(501)}),
            409,
            "bad_setting",
            "description",
        ),
        (json!({"daily_usd": "much"}), 400, "bad_field", "daily_usd"),
        (json!({"ask_tool": ["ExecCommand"]}), 400, "bad_field", "ask_tool"),
    ] {
        let change = json!({"description": "changed"}).as_object().map(|base| {
            let mut all = base.clone();
            all.extend(change.as_object().cloned().unwrap_or_default());
            Value::Object(all)
        });
        let answer = server
            .post(SETTINGS, &change.expect("a change").to_string())
            .await;
        assert_eq!(answer.code(), (status, code.to_owned()), "{field}");
        let message = body(&answer)["error"]["message"].to_string();
        assert!(message.contains(field), "{message}");
    }
    assert_eq!(body(&server.get(SETTINGS).await), before);
    let unknown = server.post("/api/agents/ghost/settings", "{}").await;
    assert_eq!(unknown.code(), (404, "agent_unknown".to_owned()));
}

#[tokio::test]
async fn a_setting_of_the_home_is_checked_for_its_name_and_agent() {
    let server = TestServer::new();
    for (name, status, code) in [
        ("server.prt", 409, "config_key_unknown"),
        ("notify.command", 403, "setting_needs_command_line"),
        ("providers.mine.base_url", 403, "setting_needs_command_line"),
        ("providers.mine.\"base_url\"", 403, "setting_needs_command_line"),
        ("\"notify\".command", 403, "setting_needs_command_line"),
        ("providers.mine.key", 403, "setting_needs_command_line"),
        ("secrets.mine.key", 403, "setting_needs_command_line"),
        ("notify.webhook_key", 403, "setting_needs_command_line"),
        ("agents.ghost.models", 404, "agent_unknown"),
    ] {
        let change = json!({"name": name, "value": "x"});
        let answer = server.post("/api/settings", &change.to_string()).await;
        assert_eq!(answer.code(), (status, code.to_owned()));
    }
    let change = json!({"name": "agents.main.models", "value": null});
    let answer = server.post("/api/settings", &change.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
