//! Tests of responses over HTTP: whole, streamed and with tool calls.

use serde_json::json;
use wakeful_core::conversation::{Block, ToolCall, Usage};
use wakeful_models::{BadUrl, HostedModel, HostedModelError, HostedOptions, Provider};
use wakeful_ports::model::{DeltaSink, Model as _, ModelResponse, NoDeltaSink};

use super::fake_provider::{FakeProvider, FakeReply, KEY, ask, hosted, request, response};

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Wait — "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"looking."}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"Look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":\".\"}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;

const OPENAI: &str = r#"event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"Wait — "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"looking."}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed","output":[
data: {"type":"message","content":[{"type":"output_text","text":"Wait — looking."}]},
data: {"type":"function_call","call_id":"c1","name":"Look","arguments":"{\"at\":\".\"}"}],
data: "usage":{"input_tokens":9,"output_tokens":5}}}

"#;

const CHAT: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"Wait — "}}]}

data: {"choices":[{"index":0,"delta":{"content":"looking."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Look","arguments":"{\"at\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\".\"}"}}]},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}

data: [DONE]

"#;

const GEMINI: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Wait — "}]}}]}

data: {"candidates":[{"content":{"parts":[{"text":"looking."},
data: {"functionCall":{"id":"c1","name":"Look","args":{"at":"."}}}]},"finishReason":"STOP"}],
data: "usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5}}

"#;

pub(super) fn events(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => ANTHROPIC,
        Provider::OpenAi | Provider::OpenAiCodex => OPENAI,
        Provider::OpenAiChat => CHAT,
        Provider::Gemini => GEMINI,
    }
}

pub(super) fn whole(provider: Provider) -> String {
    let body = match provider {
        Provider::Anthropic => json!({
            "content": [{"type": "text", "text": "Wait — looking."}, {"type": "tool_use", "id": "c1", "name": "Look", "input": {"at": "."}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 5},
        }),
        Provider::OpenAi | Provider::OpenAiCodex => json!({
            "status": "completed", "error": null, "usage": {"input_tokens": 9, "output_tokens": 5},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Wait — looking."}]},
                {"type": "function_call", "call_id": "c1", "name": "Look", "arguments": "{\"at\":\".\"}"}],
        }),
        Provider::OpenAiChat => json!({
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"content": "Wait — looking.",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "Look", "arguments": "{\"at\":\".\"}"}}]}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5},
        }),
        Provider::Gemini => json!({
            "candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Wait — looking."},
                {"functionCall": {"id": "c1", "name": "Look", "args": {"at": "."}}}]}}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5},
        }),
    };
    body.to_string()
}

fn expected() -> ModelResponse {
    let call = ToolCall {
        call_id: "c1".to_owned(),
        name: "Look".to_owned(),
        input: json!({"at": "."}),
    };
    let text = "Wait — looking.".to_owned();
    ModelResponse {
        blocks: vec![Block::Text { text }, Block::ToolUse(call)],
        usage: Usage::of(9, 5),
    }
}

// Conformance: H-005
#[tokio::test]
async fn a_whole_response_equals_the_streamed_one() {
    for provider in Provider::ALL {
        let (answer, heard) = ask(provider, &FakeProvider::whole(&whole(provider)).await).await;
        assert_eq!((answer, heard.as_str()), (Ok(expected()), ""), "{provider:?}");
        let (answer, heard) = ask(provider, &FakeProvider::stream(events(provider)).await).await;
        assert_eq!(
            (answer, heard.as_str()),
            (Ok(expected()), "Wait — looking."),
            "{provider:?}"
        );
    }
}

#[tokio::test]
async fn a_stream_may_arrive_in_pieces_of_any_size() {
    for provider in Provider::ALL {
        let bytes = response(200, &[("content-type", "text/event-stream")], events(provider));
        // Pieces of seven bytes split every line break, multi-byte character and event sooner or later.
        let fake = FakeProvider::new(FakeReply::Pieces(bytes, 7)).await;
        assert_eq!(ask(provider, &fake).await.0, Ok(expected()), "{provider:?}");
    }
}

// Conformance: H-005
#[tokio::test]
async fn each_provider_receives_its_key_in_its_own_header() {
    let places = [
        ("POST /v1/messages HTTP/1.1", "x-api-key", KEY.to_owned()),
        (
            "POST /v1/responses HTTP/1.1",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            "POST /v1/chat/completions HTTP/1.1",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            "POST /v1beta/models/m-1:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
        (
            "POST /v1/responses HTTP/1.1",
            "authorization",
            format!("Bearer {KEY}"),
        ),
    ];
    for (provider, (line, header, value)) in Provider::ALL.into_iter().zip(places) {
        let fake = FakeProvider::stream(events(provider)).await;
        ask(provider, &fake).await.0.expect("an answer");
        let [asked] = &fake.asked()[..] else {
            panic!("one request")
        };
        assert_eq!(asked.head.lines().next(), Some(line));
        assert_eq!(asked.header(header), Some(value), "{provider:?}");
        assert_eq!(asked.head.matches(KEY).count(), 1, "{provider:?}");
        assert_eq!(asked.header("content-type").as_deref(), Some("application/json"));
        assert_eq!(asked.header("accept-encoding").as_deref(), Some("identity"));
        let version = (provider == Provider::Anthropic).then(|| "2023-06-01".to_owned());
        assert_eq!(asked.header("anthropic-version"), version);
        let body = hosted(provider, &fake.url)
            .body(&request(provider))
            .expect("a body");
        assert_eq!(
            asked.body,
            serde_json::from_slice::<serde_json::Value>(&body).expect("JSON")
        );
        assert!(!asked.body.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn a_private_server_is_called_without_a_key() {
    let fake = FakeProvider::stream(CHAT).await;
    let options = HostedOptions {
        base_url: Some(&fake.url),
        ..HostedOptions::of(Provider::OpenAiChat, "m-1")
    };
    let model = HostedModel::new(options).expect("a model");
    let answer = model.call(request(Provider::OpenAiChat), &NoDeltaSink).await;
    assert_eq!(answer, Ok(expected()));
    assert_eq!(fake.asked()[0].header("authorization"), None);
}

#[test]
fn a_missing_key_or_unsafe_address_is_refused_before_sending() {
    for provider in Provider::ALL {
        let options = |base_url| HostedOptions {
            base_url,
            ..HostedOptions::of(provider, "m-1")
        };
        let missing = HostedModel::new(options(None)).expect_err("no key");
        let variables = provider.key_variables();
        assert!(
            variables.iter().all(|name| missing.to_string().contains(name)),
            "{missing}"
        );
        let unsafe_ = HostedModel::new(options(Some("http://example.org/v1"))).expect_err("plain http");
        let insecure = HostedModelError::Url {
            provider: provider.word().to_owned(),
            source: BadUrl::Insecure {
                host: "example.org".to_owned(),
            },
        };
        assert_eq!(unsafe_, insecure);
    }
    assert!(!format!("{:?}", hosted(Provider::OpenAi, "http://127.0.0.1:1")).contains(KEY));
}

/// Notifies once when text was received.
struct First(tokio::sync::Notify);

impl DeltaSink for First {
    fn on_text(&self, _text: &str) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn text_is_streamed_early_and_a_dropped_attempt_disconnects() {
    let chunk = b"data: {\"choices\":[{\"delta\":{\"content\":\"on and \"}}]}\n\n".to_vec();
    let head = response(200, &[("content-type", "text/event-stream")], "");
    let fake = FakeProvider::new(FakeReply::Forever(head, chunk)).await;
    let (model, first) = (
        hosted(Provider::OpenAiChat, &fake.url),
        First(tokio::sync::Notify::new()),
    );
    tokio::select! {
        answer = model.call(request(Provider::OpenAiChat), &first) => panic!("it never ends: {answer:?}"),
        () = first.0.notified() => {}
    }
    fake.ended().await;
}

#[tokio::test]
async fn data_after_the_end_of_a_stream_is_ignored() {
    for provider in [
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::OpenAiChat,
        Provider::OpenAiCodex,
    ] {
        let twice = format!("{0}{0}data: garbage\n\n", events(provider));
        let (answer, heard) = ask(provider, &FakeProvider::stream(&twice).await).await;
        assert_eq!((answer, heard.as_str()), (Ok(expected()), "Wait — looking."));
    }
}
