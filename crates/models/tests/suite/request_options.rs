//! Tests of request options as they arrive at the server.

use serde_json::{Value, json};
use wakeful_models::{
    Credential, HostedModel, HostedModelError, HostedOptions, KeyHeader, Provider, RequestOptions,
};
use wakeful_ports::model::{Model as _, NoDeltaSink};

use super::fake_provider::{FakeProvider, KEY, ReceivedRequest, request, shaped};
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
