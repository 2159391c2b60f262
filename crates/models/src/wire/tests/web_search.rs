//! Tests of the providers' own search of the web.

use wakeful_core::conversation::{Usage, WebSearch};
use wakeful_core::tool::{WEB_SEARCH, WEB_SEARCHES_MAX};

use super::answer::streamed;
use super::*;

/// The formats that have a search.
const SEARCHING: [Provider; 4] = [
    Provider::Anthropic,
    Provider::OpenAi,
    Provider::OpenAiCodex,
    Provider::Gemini,
];

fn searching(provider: Provider) -> Lowering<'static> {
    Lowering {
        web_search: true,
        ..lowering(provider)
    }
}

/// The first request of a run whose agent may search.
fn offering() -> ModelRequest {
    let mut request = opening();
    request.tools.push(ToolSpec {
        name: WEB_SEARCH.to_owned(),
        description: "Searches.".to_owned(),
        input_schema: json!({"type": "object"}),
        freeform: None,
    });
    request
}

#[test]
fn a_search_is_offered_in_the_notation_of_each_format() {
    for provider in SEARCHING {
        let body = sent_json(&searching(provider), &offering());
        match provider {
            Provider::Anthropic => {
                let expected = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": WEB_SEARCHES_MAX});
                assert_eq!(body["tools"][1], expected);
            }
            Provider::OpenAi | Provider::OpenAiCodex => {
                assert_eq!(body["tools"][1], json!({"type": "web_search"}));
                let is_bounded = body["max_tool_calls"] == json!(WEB_SEARCHES_MAX);
                assert_eq!(is_bounded, provider == Provider::OpenAi, "{body}");
            }
            Provider::OpenAiChat => {}
            Provider::Gemini => {
                assert_eq!(body["tools"][0]["googleSearch"], json!({}));
                assert_eq!(
                    body["toolConfig"],
                    json!({"includeServerSideToolInvocations": true})
                );
            }
        }
        assert!(
            !body.to_string().contains(WEB_SEARCH),
            "it is no function: {body}"
        );
    }
}

#[test]
fn a_provider_without_search_is_offered_none() {
    for provider in Provider::ALL {
        let plain = body(&lowering(provider), &opening()).expect("a body");
        let without = body(&lowering(provider), &offering()).expect("a body");
        assert_eq!(without, plain, "{provider:?}");
        let not_asked_for = body(&searching(provider), &opening()).expect("a body");
        assert_eq!(not_asked_for, plain, "{provider:?}");
    }
    let chat = body(&searching(Provider::OpenAiChat), &offering()).expect("a body");
    assert_eq!(
        chat,
        body(&lowering(Provider::OpenAiChat), &opening()).expect("a body")
    );
}

/// The parts of a reply with one search, as the provider writes them.
fn parts(provider: Provider) -> Value {
    match provider {
        Provider::Anthropic => json!([
            {"type": "text", "text": "I look it up."},
            {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "tides"}, "caller": {"type": "direct"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [
                {"type": "web_search_result", "url": "https://a.example/", "title": "A", "encrypted_content": "E=="}]},
            {"type": "text", "text": "High at "},
            {"type": "text", "text": "noon", "citations": [{"url": "https://a.example/"}]},
            {"type": "text", "text": "."},
        ]),
        Provider::OpenAi | Provider::OpenAiCodex | Provider::OpenAiChat => json!([
            {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"type": "search", "query": "tides",
                "sources": [{"type": "url", "url": "https://a.example/"}]}},
            {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "High at noon.", "annotations": []}]},
        ]),
        Provider::Gemini => json!([
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["tides"]}, "id": "g1"}, "thoughtSignature": "s1"},
            {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "x"}, "id": "g1"}, "thoughtSignature": "s2"},
            {"text": "High at noon."},
        ]),
    }
}

/// The reply at once.
fn whole(provider: Provider) -> String {
    let parts = parts(provider);
    let body = match provider {
        Provider::Anthropic => json!({"content": parts, "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 5, "server_tool_use": {"web_search_requests": 1}}}),
        Provider::OpenAi | Provider::OpenAiCodex | Provider::OpenAiChat => {
            json!({"status": "completed", "output": parts, "usage": {"input_tokens": 9, "output_tokens": 5}})
        }
        Provider::Gemini => json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP",
            "groundingMetadata": {"webSearchQueries": ["tides"], "groundingChunks": [{"web": {"uri": "https://a.example/"}}]}}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5}}),
    };
    body.to_string()
}

/// The events of the streamed reply.
fn events(provider: Provider) -> Vec<Value> {
    let whole: Value = serde_json::from_str(&whole(provider)).expect("JSON");
    let parts = parts(provider);
    let parts = parts.as_array().expect("a list").iter();
    match provider {
        Provider::Anthropic => {
            let parts = parts.enumerate().flat_map(|(index, part)| {
                let mut start = part.clone();
                // The arguments follow in pieces.
                let input = start.get_mut("input").map(Value::take);
                let input = input.map(|input| {
                    json!({"type": "content_block_delta", "index": index,
                        "delta": {"type": "input_json_delta", "partial_json": input.to_string()}})
                });
                let start = json!({"type": "content_block_start", "index": index, "content_block": start});
                std::iter::once(start).chain(input)
            });
            let end = [
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": whole["usage"].clone()}),
                json!({"type": "message_stop"}),
            ];
            parts.chain(end).collect()
        }
        Provider::OpenAi | Provider::OpenAiCodex | Provider::OpenAiChat => {
            let done = parts.enumerate().map(
                |(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            );
            let last = json!({"type": "response.completed", "response": {"status": "completed", "usage": whole["usage"].clone()}});
            done.chain([last]).collect()
        }
        Provider::Gemini => {
            let chunks = parts.map(|part| json!({"candidates": [{"content": {"parts": [part]}}]}));
            let mut last = whole.clone();
            last["candidates"][0]["content"] = json!({"parts": []});
            chunks.chain([last]).collect()
        }
    }
}

fn searches(blocks: &[Block]) -> Vec<&WebSearch> {
    wakeful_core::conversation::searches_of(blocks).collect()
}

#[test]
fn a_search_in_a_reply_is_kept_and_counted() {
    for provider in SEARCHING {
        let at_once = answer(provider, 0, whole(provider).as_bytes()).expect("a reply");
        let events: Vec<String> = events(provider).iter().map(Value::to_string).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let stream = streamed(provider, &events).0.expect("a reply");
        assert_eq!(stream.blocks, at_once.blocks, "{provider:?}");
        assert_eq!(stream.usage, at_once.usage, "{provider:?}");
        let usage = Usage {
            web_searches: 1,
            ..Usage::of(9, 5)
        };
        assert_eq!(at_once.usage, usage, "{provider:?}");
        let found = searches(&at_once.blocks);
        let queries: Vec<&str> = found.iter().map(|search| search.query.as_str()).collect();
        assert_eq!(queries.concat(), "tides", "{provider:?}");
        let sources: Vec<&String> = found.iter().flat_map(|search| &search.sources).collect();
        assert_eq!(sources, ["https://a.example/"], "{provider:?}");
        let mut texts = at_once.blocks.iter().filter_map(|block| {
            let Block::Text { text } = block else { return None };
            Some(text.as_str())
        });
        // Citations do not split sentences.
        assert_eq!(texts.next_back(), Some("High at noon."), "{provider:?}");
    }
}

#[test]
fn the_next_request_contains_the_search_exactly_as_received() {
    for provider in SEARCHING {
        let mut blocks = answer(provider, 0, whole(provider).as_bytes())
            .expect("a reply")
            .blocks;
        for block in &mut blocks {
            if let Block::WebSearch(search) = block {
                search.provider = provider.word().to_owned();
            }
        }
        let mut next = offering();
        next.entries.push(entry(Role::Assistant, blocks));
        next.entries.push(entry(Role::User, vec![text("And the moon?")]));
        let body = sent_json(&searching(provider), &next);
        let items = match provider {
            Provider::Anthropic => &body["messages"][1]["content"],
            Provider::OpenAi | Provider::OpenAiCodex | Provider::OpenAiChat => &body["input"],
            Provider::Gemini => &body["contents"][1]["parts"],
        };
        let items = items.as_array().expect("items");
        let received = parts(provider);
        let received = received.as_array().expect("a list").iter();
        let is_search = |part: &&Value| !part.to_string().contains("High at") && part.get("text").is_none();
        let received: Vec<&Value> = received
            .filter(is_search)
            .filter(|part| part.get("citations").is_none())
            .collect();
        let kept: Vec<&Value> = items.iter().filter(|item| received.contains(item)).collect();
        assert_eq!(kept, received, "{provider:?}: {body}");
        // Another server cannot read it.
        for other in Provider::ALL.into_iter().filter(|other| *other != provider) {
            let body = sent_json(&searching(other), &next).to_string();
            assert!(!body.contains("a.example"), "{provider:?} {other:?}: {body}");
            assert!(body.contains("High at noon."), "{provider:?} {other:?}: {body}");
        }
    }
}

#[test]
fn a_schema_is_not_enforced_beside_the_search_of_anthropic() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let schema = wakeful_core::answer_schema::AnswerSchema::parse(&schema.to_string()).expect("a schema");
    for (provider, is_kept) in [(Provider::Anthropic, false), (Provider::OpenAi, true)] {
        let request = ModelRequest {
            answer_schema: Some(schema.clone()),
            ..offering()
        };
        let body = sent_json(&searching(provider), &request).to_string();
        assert_eq!(body.contains("json_schema"), is_kept, "{provider:?}: {body}");
        let body = sent_json(&lowering(provider), &request).to_string();
        assert!(body.contains("json_schema"), "{provider:?}: {body}");
    }
}

#[test]
fn a_paused_reply_is_not_taken_for_an_answer() {
    let paused = whole(Provider::Anthropic).replace("end_turn", "pause_turn");
    let error = answer(Provider::Anthropic, 0, paused.as_bytes()).expect_err("a reply");
    assert!(matches!(error, ResponseError::Invalid(_)), "{error:?}");
}
