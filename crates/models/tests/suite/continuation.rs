//! Conversations that go on at the provider, and what makes them be sent whole.

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

/// A reply in words that the provider keeps under this id.
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

/// Says that it does not know what it was told to go on from.
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

/// The first request of a conversation that has a scope.
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

/// Asks, and gives the request that follows: the answer as it came, and a new question.
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

/// How a request was sent: what it goes on from, whether it is kept, and how many items it has.
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

#[tokio::test]
async fn a_conversation_that_only_grows_sends_what_is_new() {
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

#[tokio::test]
async fn whatever_is_not_exactly_more_of_the_same_is_sent_whole() {
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

#[tokio::test]
async fn an_answer_without_an_id_and_a_failure_leave_nothing_to_go_on_from() {
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

#[tokio::test]
async fn what_the_provider_has_forgotten_is_sent_whole_within_the_same_attempt() {
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

/// A response that has begun may be paid for: whether another is asked for is then not ours to say.
#[tokio::test]
async fn a_refusal_inside_a_response_is_a_failure_and_no_second_request() {
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
async fn a_refusal_of_another_kind_is_a_failure_and_no_second_request() {
    let body = "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no such tool\"}}";
    let fake =
        FakeProvider::series([kept("r1", "One."), FakeReply::Bytes(response(400, &[JSON], body))]).await;
    let model = model(&fake);
    let next = go_on(&model, first(), "And?").await;
    let failure = model.call(next, &NoDeltaSink).await.expect_err("a refusal");
    assert_eq!(failure.artifact.kind, "http_400");
    assert_eq!(fake.asked().len(), 2);
}

/// A refusal that comes when words were told already must not have them told twice.
#[tokio::test]
async fn words_that_were_told_are_not_told_again() {
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
async fn nothing_is_kept_at_the_provider_unless_asked_for() {
    let fake = FakeProvider::series([kept("r1", "One."), kept("r2", "Two.")]).await;
    let model = shaped(Provider::OpenAi, &fake.url, RequestOptions::default());
    let next = go_on(&model, first(), "And?").await;
    go_on(&model, next, "-").await;
    let asked = fake.asked();
    let ways: Vec<_> = asked.iter().map(way).collect();
    assert_eq!(ways, [(None, Some(false), 1), (None, Some(false), 4)]);
}

#[tokio::test]
async fn a_model_without_thoughts_is_asked_for_them_once() {
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

/// Thoughts of a provider whose key has changed hands, or that were spoilt on the way.
#[tokio::test]
async fn thoughts_that_cannot_be_read_are_left_out_within_the_same_attempt() {
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

/// A server that imitates a provider could not read its thoughts, and is not shown what was sealed for somebody else.
#[tokio::test]
async fn thoughts_go_to_nobody_else_who_speaks_the_same_format() {
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

/// Every provider answers with thoughts of its own, and every other goes on from there.
#[tokio::test]
async fn a_conversation_changes_its_provider_at_any_round() {
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
    // One address, so that the first is still the same when its turn comes again.
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
