//! Tests of servers that repeat the key.

use serde_json::json;
use wakeful_core::conversation::{Block, text_of};
use wakeful_models::{Provider, RequestOptions};
use wakeful_ports::model::{Model as _, NoDeltaSink};

use super::continuation::{first, go_on, kept, way};
use super::fake_provider::{FakeProvider, KEY, ask, hosted, request, shaped};
use super::response::{events, whole};

/// Inserts the key into the text and the arguments of a response.
fn indiscreet(reply: &str) -> String {
    reply
        .replace("looking.", KEY)
        .replace("\\\".\\\"", &format!("\\\"{KEY}\\\""))
        .replace("\"at\":\".\"", &format!("\"at\":\"{KEY}\""))
}

#[tokio::test]
async fn a_repeated_key_is_neither_stored_nor_streamed() {
    for provider in Provider::ALL {
        let stream = FakeProvider::stream(&indiscreet(events(provider))).await;
        let (streamed, heard) = ask(provider, &stream).await;
        assert_eq!(heard, "Wait — [hidden]", "{provider:?}");
        let at_once = FakeProvider::whole(&indiscreet(&whole(provider))).await;
        for answer in [streamed, ask(provider, &at_once).await.0] {
            let blocks = answer.expect("an answer").blocks;
            assert!(!format!("{blocks:?}").contains(KEY), "{provider:?} {blocks:?}");
            assert_eq!(text_of(&blocks), "Wait — [hidden]", "{provider:?}");
            let Some(Block::ToolUse(call)) = blocks.last() else {
                panic!("{provider:?}: a call")
            };
            assert_eq!(call.input, json!({"at": "[hidden]"}), "{provider:?}");
        }
    }
}

#[tokio::test]
async fn a_key_is_redacted_in_thoughts_names_and_fields() {
    let body = json!({"stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": format!("Is it {KEY}?"), "signature": "s"},
        {"type": "thinking", "thinking": "No.", "signature": "s"},
        {"type": "tool_use", "id": KEY, "name": KEY, "input": {KEY: [{"a": KEY}]}},
    ]});
    let (answer, _) = ask(Provider::Anthropic, &FakeProvider::whole(&body.to_string()).await).await;
    let blocks = answer.expect("an answer").blocks;
    assert!(!format!("{blocks:?}").contains(KEY), "{blocks:?}");
    let records = blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, opaque, .. } => Some((text.as_str(), opaque.is_null())),
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::ToolResult { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    // The provider would refuse a modified record, so the thought is not sent back.
    assert_eq!(
        records.collect::<Vec<_>>(),
        [("Is it [hidden]?", true), ("No.", false)]
    );
}

/// The stream passes the pieces on as they arrive; the stored response is redacted as a whole.
#[tokio::test]
async fn a_key_split_into_two_pieces_is_not_stored() {
    let (head, tail) = KEY.split_at(5);
    let chunk = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let stream = [&chunk(head), &chunk(tail), end].concat();
    let (answer, _) = ask(Provider::OpenAiChat, &FakeProvider::stream(&stream).await).await;
    assert_eq!(text_of(&answer.expect("an answer").blocks), "[hidden]");
}

#[tokio::test]
async fn a_conversation_continues_after_a_response_with_the_key() {
    let fake = FakeProvider::series([kept("r1", KEY), kept("r2", "Two.")]).await;
    let shape = RequestOptions {
        incremental: true,
        ..RequestOptions::default()
    };
    let model = shaped(Provider::OpenAi, &fake.url, shape);
    let next = go_on(&model, first(), "And?").await;
    assert!(!format!("{next:?}").contains(KEY));
    go_on(&model, next, "-").await;
    assert_eq!(way(&fake.asked()[1]), (Some("r1"), Some(true), 1));
}

#[tokio::test]
async fn a_response_without_the_key_is_unchanged() {
    let fake = FakeProvider::stream(events(Provider::OpenAi)).await;
    let model = hosted(Provider::OpenAi, &fake.url);
    let answer = model.call(request(Provider::OpenAi), &NoDeltaSink).await;
    assert_eq!(text_of(&answer.expect("an answer").blocks), "Wait — looking.");
}
