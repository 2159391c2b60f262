//! Tests of conversations that continue at the provider, and of requests that are sent completely.

use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Role, TranscriptEntry};
use wakeful_core::prompt::ModelRequest;
use wakeful_models::{Credential, HostedModel, HostedOptions, Provider, RequestOptions};
use wakeful_ports::model::{Model as _, NoDeltaSink};

use super::fake_provider::{
    CollectingSink, FakeProvider, FakeReply, KEY, ReceivedRequest, request, response, shaped,
};
use super::response::events;

const JSON: (&str, &str) = ("content-type", "application/json");

/// A text response that the provider stores under this id.
pub(super) fn kept(id: &str, text: &str) -> FakeReply {
    let body = json!({
        "id": id, "status": "completed",
        "output": [
            {"type": "reasoning", "id": format!("rs-{id}"), "summary": [], "encrypted_content": "sealed"},
            {"type": "message", "id": format!("msg-{id}"), "content": [{"type": "output_text", "text": text}]},
        ],
    });
    FakeReply::Bytes(response(200, &[JSON], &body.to_string()))
}

/// The error of a provider that no longer has the previous response.
fn forgotten() -> FakeReply {
    let body = json!({"error": {"type": "invalid_request_error", "code": "previous_response_not_found",
        "param": "previous_response_id", "message": "Previous response with id 'r1' not found."}});
    FakeReply::Bytes(response(400, &[JSON], &body.to_string()))
}

fn said(role: Role, text: &str) -> TranscriptEntry {
    let text = text.to_owned();
    TranscriptEntry {
        role,
        blocks: vec![Block::Text { text }],
    }
}

/// The first request of a conversation that can be continued.
pub(super) fn first() -> ModelRequest {
    let mut first = request(Provider::OpenAi);
    first.cache.prompt_cache_key = "k".to_owned();
    first
}

fn model(fake: &FakeProvider) -> HostedModel {
    let shape = RequestOptions {
        incremental: true,
        ..RequestOptions::default()
    };
    shaped(Provider::OpenAi, &fake.url, shape)
}

/// Sends a request and returns the next one: with the response and a new question.
pub(super) async fn go_on(model: &HostedModel, request: ModelRequest, question: &str) -> ModelRequest {
    let answer = model
        .call(request.clone(), &NoDeltaSink)
        .await
        .expect("an answer");
    let mut next = request;
    next.request += 1;
    next.entries.push(TranscriptEntry {
        role: Role::Assistant,
        blocks: answer.blocks,
    });
    next.entries.push(said(Role::User, question));
    next
}

/// How a request was sent: its previous response, whether it is stored, and its number of items.
pub(super) fn way(asked: &ReceivedRequest) -> (Option<&str>, Option<bool>, usize) {
    let body = &asked.body;
    let previous = body.get("previous_response_id").and_then(Value::as_str);
    let input = body.get("input").and_then(Value::as_array);
    (
        previous,
        body.get("store").and_then(Value::as_bool),
        input.map_or(0, Vec::len),
    )
}

// Conformance: H-143
#[tokio::test]
async fn a_growing_conversation_sends_only_new_items() {
    let fake = FakeProvider::series([kept("r1", "One."), kept("r2", "Two."), kept("r3", "Three.")]).await;
    let model = model(&fake);
    let second = go_on(&model, first(), "And?").await;
    let third = go_on(&model, second, "And then?").await;
    go_on(&model, third, "-").await;
    let asked = fake.asked();
    let ways: Vec<_> = asked.iter().map(way).collect();
    assert_eq!(
        ways,
        [
            (None, Some(true), 1),
            (Some("r1"), Some(true), 1),
            (Some("r2"), Some(true), 1)
        ]
    );
    assert_eq!(asked[2].body["input"][0]["content"][0]["text"], "And then?");
    for name in ["model", "instructions", "tools", "include", "prompt_cache_key"] {
        assert_eq!(asked[1].body[name], asked[0].body[name], "{name}");
        assert!(asked[1].body.get(name).is_some(), "{name}");
    }
}

// Conformance: H-143
#[tokio::test]
async fn a_changed_conversation_is_sent_completely() {
    type Change = fn(&mut ModelRequest);
    let changes: [(&str, Change); 8] = [
        ("no scope", |next| next.cache.prompt_cache_key.clear()),
        ("another key", |next| next.cache.prompt_cache_key.push('x')),
        ("another prompt", |next| next.system[0].text.push('!')),
        ("another tool", |next| {
            next.tools[0].input_schema = json!({"type": "object", "properties": {"a": {}}})
        }),
        ("compacted", |next| drop(next.entries.drain(..1))),
        ("another question", |next| {
            next.entries[0] = said(Role::User, "Hullo?")
        }),
        ("another answer", |next| {
            next.entries[1] = said(Role::Assistant, "Won.")
        }),
        ("nothing new", |next| next.entries.truncate(2)),
    ];
    for (cause, change) in changes {
        let fake = FakeProvider::series([kept("r1", "One."), kept("r2", "Two.")]).await;
        let model = model(&fake);
        let mut next = go_on(&model, first(), "And?").await;
        change(&mut next);
        model.call(next, &NoDeltaSink).await.expect("an answer");
        let asked = fake.asked();
        let (previous, store, items) = way(&asked[1]);
        assert_eq!(previous, None, "{cause}");
        assert_eq!(store, Some(cause != "no scope"), "{cause}");
        assert!(items > 1, "{cause}: {items} items");
    }
}

// Conformance: H-143
#[tokio::test]
async fn a_response_without_id_and_a_failure_cannot_be_continued() {
    let busy = || FakeReply::Bytes(response(503, &[JSON], "{\"error\":{\"message\":\"busy\"}}"));
    for (replies, whole) in [
        (vec![kept("", "One."), kept("r2", "Two.")], 1),
        (vec![kept("r1", "One."), busy(), kept("r3", "Two.")], 2),
    ] {
        let fake = FakeProvider::series(replies).await;
        let model = model(&fake);
        let next = go_on(&model, first(), "And?").await;
        if whole == 2 {
            model
                .call(next.clone(), &NoDeltaSink)
                .await
                .expect_err("it is busy");
            assert_eq!(way(&fake.asked()[1]).0, Some("r1"));
        }
        model.call(next, &NoDeltaSink).await.expect("an answer");
        assert_eq!(way(&fake.asked()[whole]), (None, Some(true), 4));
    }
}

// Conformance: H-143
#[tokio::test]
async fn a_forgotten_conversation_is_resent_within_the_same_attempt() {
    let fake = FakeProvider::series([
        kept("r1", "One."),
        forgotten(),
        kept("r3", "Two."),
        kept("r4", "Three."),
    ])
    .await;
    let model = model(&fake);
    let next = go_on(&model, first(), "And?").await;
    let after = go_on(&model, next, "And then?").await;
    go_on(&model, after, "-").await;
    let asked = fake.asked();
    let ways: Vec<_> = asked.iter().map(way).collect();
    let whole = (None, Some(true), 4);
    assert_eq!(
        ways,
        [
            (None, Some(true), 1),
            (Some("r1"), Some(true), 1),
            whole,
            (Some("r3"), Some(true), 1)
        ]
    );
}

/// A response that has begun may be billed, so the model must not send a second request.
#[tokio::test]
async fn an_error_inside_a_response_is_not_retried() {
    let stream = ("content-type", "text/event-stream");
    let errors = [
        json!({"code": "previous_response_not_found", "message": "gone"}),
        json!({"code": "invalid_encrypted_content", "message": "could not be verified"}),
        json!({"message": "Encrypted content is not supported with this model."}),
    ];
    for error in errors {
        let event = format!("data: {}\n\n", json!({"type": "error", "error": error}));
        let whole = json!({"status": "failed", "error": error}).to_string();
        for refusal in [response(200, &[stream], &event), response(200, &[JSON], &whole)] {
            let replies = [kept("r1", "One."), FakeReply::Bytes(refusal), kept("r3", "Two.")];
            let fake = FakeProvider::series(replies).await;
            let model = model(&fake);
            let next = go_on(&model, first(), "And?").await;
            let failure = model.call(next.clone(), &NoDeltaSink).await;
            assert!(failure.expect_err("a refusal").may_be_billed, "{error}");
            assert_eq!(fake.asked().len(), 2, "{error}");
            model.call(next, &NoDeltaSink).await.expect("the next attempt");
            assert_eq!(way(&fake.asked()[2]), (None, Some(true), 4), "{error}: whole");
        }
    }
}

#[tokio::test]
async fn another_error_status_is_not_retried() {
    let body = "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no such tool\"}}";
    let fake =
        FakeProvider::series([kept("r1", "One."), FakeReply::Bytes(response(400, &[JSON], body))]).await;
    let model = model(&fake);
    let next = go_on(&model, first(), "And?").await;
    let failure = model.call(next, &NoDeltaSink).await.expect_err("a refusal");
    assert_eq!(failure.artifact.kind, "http_400");
    assert_eq!(fake.asked().len(), 2);
}

/// An error after text was streamed must not cause the text to be streamed again.
#[tokio::test]
async fn streamed_text_is_not_streamed_again() {
    let half = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Half\"}\n\n\
                data: {\"type\":\"error\",\"error\":{\"code\":\"previous_response_not_found\",\"message\":\"gone\"}}\n\n";
    let half = FakeReply::Bytes(response(200, &[("content-type", "text/event-stream")], half));
    let fake = FakeProvider::series([kept("r1", "One."), half, kept("r3", "Whole.")]).await;
    let (model, ear) = (model(&fake), CollectingSink::default());
    let next = go_on(&model, first(), "And?").await;
    model.call(next, &ear).await.expect_err("half a reply");
    assert_eq!(ear.0.into_inner().expect("no panic"), "Half");
    assert_eq!(fake.asked().len(), 2);
}

#[tokio::test]
async fn nothing_is_stored_at_the_provider_by_default() {
    let fake = FakeProvider::series([kept("r1", "One."), kept("r2", "Two.")]).await;
    let model = shaped(Provider::OpenAi, &fake.url, RequestOptions::default());
    let next = go_on(&model, first(), "And?").await;
    go_on(&model, next, "-").await;
    let asked = fake.asked();
    let ways: Vec<_> = asked.iter().map(way).collect();
    assert_eq!(ways, [(None, Some(false), 1), (None, Some(false), 4)]);
}

#[tokio::test]
async fn encrypted_thoughts_are_requested_once_from_a_model_without_them() {
    let refusal = "{\"error\":{\"message\":\"Encrypted content is not supported with this model.\",\"param\":\"include\"}}";
    let refusal = FakeReply::Bytes(response(400, &[JSON], refusal));
    let fake = FakeProvider::series([refusal, kept("r1", "One."), kept("r2", "Two.")]).await;
    let model = shaped(Provider::OpenAi, &fake.url, RequestOptions::default());
    let next = go_on(&model, first(), "And?").await;
    go_on(&model, next, "-").await;
    let asked = fake.asked();
    let included: Vec<_> = asked
        .iter()
        .map(|asked| asked.body.get("include").is_some())
        .collect();
    assert_eq!(included, [true, false, false]);
}

/// Thoughts of a provider whose key changed owners, or that were corrupted.
#[tokio::test]
async fn unreadable_thoughts_are_removed_within_the_same_attempt() {
    let refusals = [
        (
            Provider::OpenAi,
            "{\"error\":{\"code\":\"invalid_encrypted_content\",\"message\":\"could not be verified\"}}",
        ),
        (
            Provider::Anthropic,
            "{\"error\":{\"message\":\"messages.1: Invalid `signature` in `thinking` block\"}}",
        ),
        (
            Provider::Gemini,
            "{\"error\":{\"code\":400,\"message\":\"Corrupted thought signature.\"}}",
        ),
    ];
    for (provider, refusal) in refusals {
        let refusal = FakeReply::Bytes(response(400, &[JSON], refusal));
        let stream = response(200, &[("content-type", "text/event-stream")], events(provider));
        let fake = FakeProvider::series([refusal, FakeReply::Bytes(stream)]).await;
        let host = fake.url.trim_start_matches("http://");
        let record = json!({"type": "thinking", "item": {"id": "spoilt"}, "thoughtSignature": "spoilt", "signature": "spoilt"});
        let mut request = request(provider);
        request.entries.push(TranscriptEntry {
            role: Role::Assistant,
            blocks: vec![
                Block::Thinking {
                    provider: format!("{}@{host}", provider.word()),
                    text: String::new(),
                    opaque: record,
                },
                Block::Text {
                    text: "Hm.".to_owned(),
                },
            ],
        });
        request.entries.push(said(Role::User, "And?"));
        let model = shaped(provider, &fake.url, RequestOptions::default());
        model.call(request, &NoDeltaSink).await.expect("an answer");
        let spoilt: Vec<bool> = fake
            .asked()
            .iter()
            .map(|asked| asked.body.to_string().contains("spoilt"))
            .collect();
        assert_eq!(spoilt, [true, false], "{provider:?}");
    }
}

/// A compatible server cannot read the provider's thoughts and must not receive encrypted data for another
/// provider.
#[tokio::test]
async fn thoughts_are_not_sent_to_another_server_of_the_format() {
    let (fake, elsewhere) = (
        FakeProvider::series([kept("r1", "One."), kept("r2", "Two."), kept("r3", "Two.")]).await,
        FakeProvider::series([kept("r4", "Two.")]).await,
    );
    let named = |name: &'static str, fake: &FakeProvider| {
        let options = HostedOptions {
            name,
            base_url: Some(&fake.url),
            credential: Some(Credential::new(KEY).expect("a key")),
            ..HostedOptions::of(Provider::OpenAi, "m-1")
        };
        HostedModel::new(options).expect("a model")
    };
    let next = go_on(&named("mine", &fake), first(), "And?").await;
    for (model, goes) in [
        (named("mine", &fake), true),
        (named("theirs", &fake), false),
        (named("mine", &elsewhere), false),
    ] {
        model.call(next.clone(), &NoDeltaSink).await.expect("an answer");
        let asked = [fake.asked(), elsewhere.asked()].concat();
        let newest = asked.last().expect("a request");
        assert_eq!(newest.body.to_string().contains("sealed"), goes, "{model:?}");
    }
}

// Conformance: H-145
/// Every provider responds with its own thoughts, and the next provider continues from there.
#[tokio::test]
async fn a_conversation_can_change_its_provider_in_any_round() {
    let shape = RequestOptions {
        incremental: true,
        context_management: true,
        ..RequestOptions::default()
    };
    let order = [
        Provider::OpenAi,
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::Gemini,
        Provider::OpenAiChat,
    ];
    let replies = order.map(|provider| match provider {
        Provider::OpenAi | Provider::OpenAiCodex => kept("r1", "One."),
        Provider::Anthropic | Provider::OpenAiChat | Provider::Gemini => FakeReply::Bytes(response(
            200,
            &[("content-type", "text/event-stream")],
            events(provider),
        )),
    });
    // All providers use one address, so that the first is unchanged when it is called again.
    let (fake, mut next) = (FakeProvider::series(replies).await, first());
    for (round, provider) in order.into_iter().enumerate() {
        let words = next.entries.len();
        next = go_on(&shaped(provider, &fake.url, shape), next, "And?").await;
        let asked = fake.asked();
        let body = asked[round].body.to_string();
        assert_eq!(
            asked[round].body.get("previous_response_id"),
            None,
            "{provider:?}"
        );
        assert_eq!(
            body.matches("And?").count(),
            round,
            "{provider:?}: everything that was asked is there"
        );
        assert_eq!(
            body.contains("sealed"),
            round == 2,
            "{provider:?}: thoughts go home"
        );
        assert_eq!(next.entries.len(), words + 2);
    }
}
