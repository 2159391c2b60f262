//! Tests of thoughts: which are stored, and which are sent back.

use super::answer::streamed;
use super::*;

/// A response with thoughts before a call, whole and streamed.
fn thoughtful(provider: Provider) -> (String, Vec<String>) {
    let (whole, events) = match provider {
        Provider::Anthropic => (
            json!({"content": [
                {"type": "thinking", "thinking": "Hm, so.", "signature": "s1"},
                {"type": "redacted_thinking", "data": "r1"},
                {"type": "text", "text": "Look."},
                {"type": "tool_use", "id": "c1", "name": "Look", "input": {}},
            ], "stop_reason": "tool_use"}),
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm, "}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "so."}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s1"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "r1"}}),
                json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "Look."}}),
                json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "c1", "name": "Look", "input": {}}}),
                json!({"type": "message_stop"}),
            ],
        ),
        Provider::OpenAi | Provider::OpenAiCodex => {
            let output = json!([
                {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "Hm, so."}], "encrypted_content": "e1", "new": 1},
                {"type": "message", "id": "msg1", "content": [{"type": "output_text", "text": "Look."}]},
                {"type": "reasoning", "id": "rs2", "summary": [], "encrypted_content": "e2"},
                {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "Look", "arguments": "{}"},
            ]);
            let items = output.as_array().expect("a list").iter().enumerate();
            let done = items.map(
                |(n, item)| json!({"type": "response.output_item.done", "output_index": n, "item": item}),
            );
            let delta = json!({"type": "response.output_text.delta", "delta": "Look."});
            let end = json!({"type": "response.completed", "response": {"status": "completed"}});
            (
                json!({"status": "completed", "output": output.clone()}),
                [delta].into_iter().chain(done).chain([end]).collect(),
            )
        }
        Provider::OpenAiChat => (
            json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": "Look.", "reasoning": "Hm, so.",
                "reasoning_content": "Hm, so.", "tool_calls": [{"id": "c1", "function": {"name": "Look", "arguments": "{}"}}]}}]}),
            vec![
                json!({"choices": [{"delta": {"reasoning_content": "Hm, "}}]}),
                json!({"choices": [{"delta": {"reasoning": "so."}}]}),
                json!({"choices": [{"delta": {"content": "Look."}}]}),
                json!({"choices": [{"finish_reason": "tool_calls", "delta": {
                    "tool_calls": [{"index": 0, "id": "c1", "function": {"name": "Look", "arguments": "{}"}}]}}]}),
            ],
        ),
        Provider::Gemini => {
            let said = json!({"text": "Look.", "thoughtSignature": "g1"});
            let called =
                json!({"functionCall": {"id": "c1", "name": "Look", "args": {}}, "thoughtSignature": "g2"});
            let hm = |text: &str| json!({"text": text, "thought": true});
            let chunk = |part: &Value| json!({"candidates": [{"content": {"parts": [part]}}]});
            (
                json!({"candidates": [{"content": {"parts": [hm("Hm, so."), said, called]}, "finishReason": "STOP"}]}),
                vec![
                    chunk(&hm("Hm, ")),
                    chunk(&hm("so.")),
                    chunk(&said),
                    chunk(&called),
                    json!({"candidates": [{"finishReason": "STOP"}]}),
                ],
            )
        }
    };
    (whole.to_string(), events.iter().map(Value::to_string).collect())
}

/// A request that contains the response and the result of its call.
fn after(blocks: Vec<Block>) -> ModelRequest {
    ModelRequest {
        system: Vec::new(),
        tools: Vec::new(),
        entries: vec![
            entry(Role::User, vec![text("What is here?")]),
            entry(Role::Assistant, blocks),
            entry(Role::Tool, vec![result("c1", false, "{}")]),
        ],
        ..opening()
    }
}

fn heard_blocks(provider: Provider) -> Vec<Block> {
    let (whole, events) = thoughtful(provider);
    let whole = answer(provider, 0, whole.as_bytes()).expect("an answer").blocks;
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (pieces, told) = streamed(provider, &events);
    assert_eq!(pieces.expect("an answer").blocks, whole, "{provider:?}");
    assert_eq!(told, "Look.", "{provider:?}: thoughts are not streamed");
    let shown = whole.iter().find_map(|block| match block {
        Block::Thinking {
            text,
            provider: whose,
            ..
        } => {
            assert_eq!(whose, provider.word());
            Some(text.as_str())
        }
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::ToolResult { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    assert_eq!(shown, Some("Hm, so."), "{provider:?}");
    whole
}

#[test]
fn thoughts_are_sent_back_to_their_provider_unchanged() {
    for provider in Provider::ALL {
        let body = sent_json(&lowering(provider), &after(heard_blocks(provider)));
        let (pointer, expected) = match provider {
            Provider::Anthropic => (
                "/messages/1/content",
                json!([
                    {"type": "thinking", "thinking": "Hm, so.", "signature": "s1"},
                    {"type": "redacted_thinking", "data": "r1"},
                    {"type": "text", "text": "Look."},
                    {"type": "tool_use", "id": "c1", "name": "Look", "input": {}},
                ]),
            ),
            Provider::OpenAi | Provider::OpenAiCodex => (
                "/input",
                json!([
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is here?"}]},
                    {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "Hm, so."}], "encrypted_content": "e1", "new": 1},
                    {"type": "message", "id": "msg1", "role": "assistant", "content": [{"type": "output_text", "text": "Look."}]},
                    {"type": "reasoning", "id": "rs2", "summary": [], "encrypted_content": "e2"},
                    {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "Look", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "{}"},
                ]),
            ),
            Provider::OpenAiChat => (
                "/messages/1",
                json!({"role": "assistant", "content": "Look.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "Look", "arguments": "{}"}}]}),
            ),
            Provider::Gemini => (
                "/contents/1/parts",
                json!([
                    {"text": "Look.", "thoughtSignature": "g1"},
                    {"functionCall": {"name": "Look", "args": {}}, "thoughtSignature": "g2"},
                ]),
            ),
        };
        assert_eq!(body.pointer(pointer), Some(&expected), "{provider:?}");
    }
}

// Conformance: H-145
#[test]
fn thoughts_are_sent_to_no_other_provider() {
    for thinker in Provider::ALL {
        let blocks = heard_blocks(thinker);
        let bare: Vec<Block> = blocks
            .iter()
            .filter(|block| !matches!(block, Block::Thinking { .. }))
            .cloned()
            .collect();
        for other in Provider::ALL.into_iter().filter(|other| *other != thinker) {
            let with = body(&lowering(other), &after(blocks.clone())).expect("a body");
            let without = body(&lowering(other), &after(bare.clone())).expect("a body");
            assert_eq!(with, without, "{thinker:?} to {other:?}");
        }
    }
}

#[test]
fn a_truncated_or_unsigned_thought_is_not_stored() {
    let kept = |provider, body: Value| {
        answer(provider, 0, body.to_string().as_bytes())
            .expect("an answer")
            .blocks
    };
    let unsigned = json!({"content": [{"type": "thinking", "thinking": "hm", "signature": ""}], "stop_reason": "end_turn"});
    assert_eq!(kept(Provider::Anthropic, unsigned), []);
    let item = json!({"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": null});
    assert_eq!(
        kept(Provider::OpenAi, json!({"status": "completed", "output": [item]})),
        []
    );
    let bare = json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}, "finishReason": "STOP"}]});
    assert_eq!(kept(Provider::Gemini, bare), []);
    let cut = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"half"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    assert_eq!(
        streamed(Provider::Anthropic, &cut).0.expect("an answer").blocks,
        []
    );
}

#[test]
fn a_trailing_thought_is_not_sent() {
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let thoughts: Vec<Block> = heard_blocks(provider).into_iter().take(1).collect();
        assert!(matches!(thoughts[..], [Block::Thinking { .. }]));
        let with = body(&lowering(provider), &after(thoughts)).expect("a body");
        let without = body(&lowering(provider), &after(Vec::new())).expect("a body");
        assert_eq!(with, without, "{provider:?}");
    }
}

#[test]
fn a_signature_between_texts_does_not_split_them() {
    let chunk = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]}).to_string();
    let events = [
        chunk(json!({"text": "Three fi"})),
        chunk(json!({"text": "les", "thoughtSignature": "g1"})),
        chunk(json!({"text": "."})),
        chunk(json!({"text": "", "thoughtSignature": "g2"})),
        json!({"candidates": [{"finishReason": "STOP"}]}).to_string(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (heard, told) = streamed(Provider::Gemini, &events);
    let blocks = heard.expect("an answer").blocks;
    assert_eq!(told, "Three files.");
    assert_eq!(blocks.first(), Some(&text("Three files.")));
    let body = sent_json(&lowering(Provider::Gemini), &after(blocks));
    let expected = json!([
        {"text": "Three files."},
        {"text": "", "thoughtSignature": "g1"},
        {"text": "", "thoughtSignature": "g2"},
    ]);
    assert_eq!(body.pointer("/contents/1/parts"), Some(&expected));
}

#[test]
fn a_call_of_another_model_gets_a_placeholder_signature() {
    let calls = vec![call("c1", "A", json!({})), call("c2", "B", json!({}))];
    let signature = |model| {
        let lowering = Lowering {
            model,
            ..lowering(Provider::Gemini)
        };
        let parts = sent_json(&lowering, &after(calls.clone()))["contents"][1]["parts"].clone();
        assert_eq!(
            parts[1].get("thoughtSignature"),
            None,
            "the second call needs none"
        );
        parts[0].get("thoughtSignature").cloned()
    };
    assert_eq!(
        signature("gemini-3-pro"),
        Some(json!("skip_thought_signature_validator"))
    );
    assert_eq!(signature("gemini-2.5-pro"), None);
}

/// Format, model, thinking setting, and the resulting request fields.
const ASKED: &str = r#"
anthropic claude-opus-5 low {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
anthropic claude-haiku-4-5 medium {"thinking": {"type": "enabled", "budget_tokens": 4096}}
anthropic claude-opus-5 2048 {"thinking": {"type": "enabled", "budget_tokens": 2048}}
anthropic claude-haiku-4-5 off {"thinking": {"type": "disabled"}}
openai m high {"reasoning": {"effort": "high"}}
openai m off {"reasoning": {"effort": "none"}}
openai-codex m low {"reasoning": {"effort": "low"}}
openai-chat m medium {"reasoning_effort": "medium"}
gemini gemini-3-pro high {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}
gemini gemini-2.5-flash low {"generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}}}
gemini gemini-3-pro 512 {"generationConfig": {"thinkingConfig": {"thinkingBudget": 512}}}
gemini gemini-2.5-flash off {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
"#;

#[test]
fn each_format_has_its_own_thinking_fields() {
    for line in ASKED.trim().lines() {
        let parts: Vec<&str> = line.splitn(4, ' ').collect();
        let [format, model, amount, wanted] = parts[..] else {
            panic!("{line}")
        };
        let mut formats = Provider::ALL.into_iter();
        let provider = formats.find(|one| one.word() == format).expect("a format");
        let tokens = || crate::Thinking::Tokens(amount.parse().expect("a number"));
        let thinking = crate::Thinking::parse(amount).unwrap_or_else(tokens);
        let plain = lowering(provider);
        let thinking = thinking.asked_of(provider, model, None);
        let asked = Lowering {
            thinking: Some(thinking.expect("it can be asked for")),
            ..plain
        };
        let (mut without, with) = (sent_json(&plain, &opening()), sent_json(&asked, &opening()));
        let added: serde_json::Map<String, Value> = serde_json::from_str(wanted).expect("fields");
        without.as_object_mut().expect("fields").extend(added);
        assert_eq!(with, without, "{line}");
    }
}

#[test]
fn unsupported_thinking_is_refused_with_the_supported_values() {
    use crate::thinking::Thinking::{High, Tokens};
    let refused = |thinking: crate::Thinking, provider, model, told| {
        let error = thinking.asked_of(provider, model, told).expect_err("refused");
        error.to_string()
    };
    for provider in [Provider::OpenAi, Provider::OpenAiChat, Provider::OpenAiCodex] {
        assert_eq!(
            refused(Tokens(2_000), provider, "m", None),
            "`thinking` is 2000: this format takes one of off, low, medium, high"
        );
    }
    let few = refused(Tokens(1_023), Provider::Anthropic, "m", None);
    assert!(few.contains("1024 tokens or more"), "{few}");
    for (thinking, provider, told) in [
        (Tokens(8_192), Provider::Anthropic, None),
        (Tokens(4_000), Provider::Anthropic, Some(4_000)),
        (High, Provider::Anthropic, Some(1_024)),
        (Tokens(4_000), Provider::Gemini, Some(4_000)),
    ] {
        let many = refused(thinking, provider, "claude-haiku-4-5", told);
        assert!(many.contains("raise `max_output_tokens`"), "{many}");
    }
    assert!(Tokens(50_000).asked_of(Provider::Gemini, "m", None).is_ok());
}

#[test]
fn gemini_thinking_stays_within_the_range_of_each_model() {
    use crate::thinking::Thinking::{High, Low, Off, Tokens};
    use crate::thinking::ThinkingRequest;
    let asked =
        |thinking: crate::Thinking, model, told| thinking.asked_of(Provider::Gemini, model, Some(told));
    for (thinking, model, told, tokens) in [
        (High, "gemini-2.5-flash", 60_000, 24_576),
        (High, "gemini-2.5-flash-lite-preview", 60_000, 24_576),
        (High, "models/gemini-2.5-pro", 60_000, 32_768),
        (Low, "gemini-2.5-pro", 60_000, 15_000),
        (Tokens(128), "gemini-2.5-pro", 60_000, 128),
    ] {
        assert_eq!(
            asked(thinking, model, told),
            Ok(ThinkingRequest::Tokens(tokens)),
            "{thinking} {model}"
        );
    }
    assert_eq!(
        asked(Off, "gemini-2.5-flash", 9_000),
        Ok(ThinkingRequest::Nothing)
    );
    for (thinking, model, why) in [
        (
            Off,
            "gemini-2.5-pro",
            "always thinks, with 128 tokens at least; write 128",
        ),
        (Tokens(127), "gemini-2.5-pro", "takes 128 to 32768 tokens"),
        (Tokens(40_000), "gemini-2.5-pro", "takes 128 to 32768 tokens"),
        (Tokens(30_000), "gemini-2.5-flash", "takes 1 to 24576 tokens"),
    ] {
        let refused = asked(thinking, model, 60_000).expect_err("refused").to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// With a thinking budget, Anthropic refuses to continue after calls that were made without a thought.
#[test]
fn thinking_is_not_requested_after_calls_of_another_model() {
    let asked = |tokens: bool, request: &ModelRequest| {
        let thinking = match tokens {
            true => crate::thinking::ThinkingRequest::Tokens(2_048),
            false => crate::thinking::ThinkingRequest::Effort(crate::thinking::Effort::Low),
        };
        let lowering = Lowering {
            thinking: Some(thinking),
            ..lowering(Provider::Anthropic)
        };
        sent_json(&lowering, request).get("thinking").is_some()
    };
    let thought = |of: &str| Block::Thinking {
        provider: of.to_owned(),
        text: String::new(),
        opaque: json!({"type": "thinking", "thinking": "", "signature": "s"}),
    };
    let entry = |role, blocks| TranscriptEntry { role, blocks };
    let result = || Block::ToolResult {
        call_id: "c".to_owned(),
        is_error: false,
        content: "r".to_owned(),
    };
    let amid = |first: Block| ModelRequest {
        entries: vec![
            entry(Role::User, vec![text("Go.")]),
            entry(Role::Assistant, vec![first, call("c", "Look", json!({}))]),
            entry(Role::Tool, vec![result()]),
        ],
        ..opening()
    };
    assert!(asked(true, &amid(thought("anthropic"))));
    assert!(!asked(true, &amid(thought("openai"))));
    assert!(!asked(true, &amid(text("Hm."))));
    assert!(asked(false, &amid(text("Hm."))), "a word is taken anywhere");
    // A second call of the same turn does not need its own thought.
    let mut second = amid(thought("anthropic"));
    second
        .entries
        .push(entry(Role::Assistant, vec![call("c", "Look", json!({}))]));
    second.entries.push(entry(Role::Tool, vec![result()]));
    assert!(asked(true, &second));
    // The next question ends the restriction.
    let mut next = amid(text("Hm."));
    next.entries.push(entry(Role::Assistant, vec![text("Done.")]));
    next.entries.push(entry(Role::User, vec![text("And now?")]));
    assert!(asked(true, &next));
}
