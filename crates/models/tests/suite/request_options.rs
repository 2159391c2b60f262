//! Tests of request options as they arrive at the server.

use serde_json::{Value, json};
use wakeful_core::conversation::{Role, ToolSpec, TranscriptEntry};
use wakeful_core::tool::WEB_SEARCH;
use wakeful_models::{
    Credential, HostedModel, HostedModelError, HostedOptions, KeyHeader, Provider, RequestOptions,
};
use wakeful_ports::model::{Model as _, NoDeltaSink};

use super::fake_provider::{FakeProvider, FakeReply, KEY, ReceivedRequest, request, response, shaped};
use super::response::events;

async fn asked(provider: Provider, shape: RequestOptions<'_>) -> ReceivedRequest {
    let fake = FakeProvider::stream(events(provider)).await;
    let mut request = request(provider);
    request.cache.prompt_cache_key = "k".to_owned();
    let answer = shaped(provider, &fake.url, shape)
        .call(request, &NoDeltaSink)
        .await;
    answer.expect("an answer");
    fake.asked().remove(0)
}

#[tokio::test]
async fn anthropic_accepts_both_api_versions_and_both_key_headers() {
    let newer = RequestOptions {
        api_version: Some("2026-10-21"),
        auth: Some(KeyHeader::Bearer),
        ..RequestOptions::default()
    };
    let asked = asked(Provider::Anthropic, newer).await;
    assert_eq!(asked.header("anthropic-version").as_deref(), Some("2026-10-21"));
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}")));
    assert_eq!(asked.header("x-api-key"), None);
    assert_eq!(asked.head.matches("anthropic-version").count(), 1);
}

#[test]
fn an_unsupported_api_version_is_refused_with_the_supported_ones() {
    for (provider, version) in [
        (Provider::Anthropic, "2020-01-01"),
        (Provider::Anthropic, ""),
        (Provider::OpenAi, "2023-06-01"),
    ] {
        let options = HostedOptions {
            credential: Some(Credential::new(KEY).expect("a key")),
            shape: RequestOptions {
                api_version: Some(version),
                ..RequestOptions::default()
            },
            ..HostedOptions::of(provider, "m")
        };
        let error = HostedModel::new(options).expect_err("refused");
        assert!(matches!(error, HostedModelError::ApiVersion { .. }), "{error}");
        let shown = error.to_string();
        assert!(
            shown.contains("2023-06-01") && shown.contains("2026-10-21"),
            "{shown}"
        );
    }
}

// Conformance: H-144
#[tokio::test]
async fn context_management_is_used_only_when_enabled() {
    let beta = |asked: &ReceivedRequest| asked.header("anthropic-beta");
    let off = asked(Provider::Anthropic, RequestOptions::default()).await;
    assert_eq!((beta(&off), off.body.get("context_management")), (None, None));
    let managed = RequestOptions {
        context_management: true,
        ..RequestOptions::default()
    };
    let on = asked(Provider::Anthropic, managed).await;
    assert_eq!(beta(&on).as_deref(), Some("context-management-2025-06-27"));
    let edits = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    assert_eq!(on.body.get("context_management"), Some(&edits));
    let elsewhere = asked(Provider::OpenAi, managed).await;
    assert_eq!(
        (beta(&elsewhere), elsewhere.body.get("context_management")),
        (None, None)
    );
    let counted = wakeful_models::clearable(&request(Provider::Anthropic).entries);
    assert_eq!(
        serde_json::to_value(counted).expect("JSON"),
        json!({"results": 0, "bytes": 0})
    );
}

#[tokio::test]
async fn compatible_servers_receive_a_prompt_cache_key_only_when_enabled() {
    let key = |asked: ReceivedRequest| {
        asked
            .body
            .get("prompt_cache_key")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let unset = asked(Provider::OpenAiChat, RequestOptions::default()).await;
    assert_eq!(unset.body["tools"][0]["function"].get("strict"), None);
    assert_eq!(key(unset), None);
    let set = RequestOptions {
        prompt_cache_key: Some(true),
        max_output_tokens: Some(9),
        ..RequestOptions::default()
    };
    let told = asked(Provider::OpenAiChat, set).await;
    assert_eq!(told.body["max_tokens"], 9);
    assert_eq!(key(told).as_deref(), Some("k"));
    let unset = RequestOptions {
        prompt_cache_key: Some(false),
        ..RequestOptions::default()
    };
    assert_eq!(key(asked(Provider::OpenAi, unset).await), None);
    assert_eq!(
        key(asked(Provider::OpenAi, RequestOptions::default()).await).as_deref(),
        Some("k")
    );
}

#[tokio::test]
async fn a_search_is_kept_for_the_server_that_performed_it() {
    let reply = json!({"stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1}}, "content": [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "tides"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
        {"type": "text", "text": "High."}]});
    let whole = || {
        FakeReply::Bytes(response(
            200,
            &[("content-type", "application/json")],
            &reply.to_string(),
        ))
    };
    let fake = FakeProvider::series([whole(), whole()]).await;
    let searching = RequestOptions {
        web_search: Some(true),
        ..RequestOptions::default()
    };
    let model = shaped(Provider::Anthropic, &fake.url, searching);
    assert!(model.profile("any").searches_web);
    let unset = shaped(Provider::Anthropic, &fake.url, RequestOptions::default());
    assert!(
        !unset.profile("any").searches_web,
        "another server may not know the tool"
    );
    let mut request = request(Provider::Anthropic);
    request.tools.push(ToolSpec {
        name: WEB_SEARCH.to_owned(),
        ..request.tools[0].clone()
    });
    let answer = model
        .call(request.clone(), &NoDeltaSink)
        .await
        .expect("an answer");
    assert_eq!(answer.usage.web_searches, 1);
    request.entries.push(TranscriptEntry {
        role: Role::Assistant,
        blocks: answer.blocks,
    });
    model.call(request, &NoDeltaSink).await.expect("an answer");
    let asked = fake.asked();
    assert_eq!(asked[0].body["tools"][1]["type"], "web_search_20250305");
    assert_eq!(asked[1].body["messages"][1]["content"][0], reply["content"][0]);
    assert_eq!(asked[1].body["messages"][1]["content"][1], reply["content"][1]);
}
