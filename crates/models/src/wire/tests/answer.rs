//! Tests of whole and streamed responses.

use std::sync::Mutex;

use wakeful_core::conversation::Usage;

use super::*;

/// Records the text that it receives.
#[derive(Default)]
pub(super) struct CollectingSink(Mutex<String>);

impl DeltaSink for CollectingSink {
    fn on_text(&self, text: &str) {
        self.0.lock().expect("no panic").push_str(text);
    }
}

pub(super) fn streamed(
    provider: Provider,
    events: &[&str],
) -> (Result<ModelResponse, ResponseError>, String) {
    let ear = CollectingSink::default();
    let mut decoder = decoder(provider, 4);
    let taken = events
        .iter()
        .try_fold((), |(), data| decoder.take(data, &ear).map(|_| ()));
    (
        taken.and_then(|()| decoder.end()).map(|heard| heard.answer),
        ear.0.into_inner().expect("no panic"),
    )
}

/// The response without thoughts, which have their own tests.
fn expected() -> ModelResponse {
    ModelResponse {
        blocks: vec![text("Let me look."), call("c1", "Look", json!({"at": "é"}))],
        usage: Usage {
            cached_read_tokens: 20,
            reasoning_tokens: 2,
            ..Usage::of(30, 7)
        },
    }
}

fn thoughtless(answer: Result<ModelResponse, ResponseError>) -> Result<ModelResponse, ResponseError> {
    answer.map(|mut answer| {
        answer
            .blocks
            .retain(|block| !matches!(block, Block::Thinking { .. }));
        answer
    })
}

/// A whole response and the events of the same one; both contain unknown fields.
fn both(provider: Provider) -> (&'static str, Vec<&'static str>) {
    match provider {
        Provider::Anthropic => (
            r#"{"id":"m1","type":"message","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"Let me look."},
                {"type":"tool_use","id":"c1","name":"Look","input":{"at":"é"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,
                "cache_read_input_tokens":20,"cache_creation_input_tokens":null,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}"#,
            vec![
                r#"{"type":"message_start","message":{"id":"m1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":20,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"Look","input":{}}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"at\":"}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" \"é\"}"}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        ),
        Provider::OpenAi | Provider::OpenAiCodex => (
            r#"{"id":"r1","status":"completed","error":null,"output":[{"type":"reasoning","summary":[]},
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look.","annotations":[]}]},
                {"type":"function_call","call_id":"c1","name":"Look","arguments":"{\"at\":\"é\"}"}],"usage":{"input_tokens":30,"output_tokens":7,
                "input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":2}}}"#,
            vec![
                r#"{"type":"response.created","response":{"status":"in_progress","error":null}}"#,
                r#"{"type":"response.output_text.delta","output_index":1,"delta":"Let me "}"#,
                r#"{"type":"response.output_text.delta","output_index":1,"delta":"look."}"#,
                r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call",
                    "call_id":"c1","name":"Look","arguments":"{\"at\":\"é\"}"}}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"Let me look."}]}}"#,
                r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":30,"output_tokens":7,
                "input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":2}}}}"#,
            ],
        ),
        Provider::OpenAiChat => (
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Let me look.","reasoning_content":"hm",
                "tool_calls":[{"id":"c1","type":"function","function":{"name":"Look","arguments":"{\"at\":\"é\"}"}}]},"finish_reason":"tool_calls"}],
                "usage":{"prompt_tokens":30,"completion_tokens":7,
                "prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            vec![
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"Let me "}},{"index":1,"delta":{"content":"other"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"look."}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Look","arguments":""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":\"é\"}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7,
                "prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
                "[DONE]",
            ],
        ),
        Provider::Gemini => (
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Let me look."},
                {"functionCall":{"id":"c1","name":"Look","args":{"at":"é"}},"thoughtSignature":"x"}]},"finishReason":"STOP"}],
                "usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":5,"thoughtsTokenCount":2,
                "cachedContentTokenCount":20}}"#,
            vec![
                r#"{"candidates":[{"content":{"parts":[{"text":"Let me "}]}}],"usageMetadata":{"promptTokenCount":30}}"#,
                r#"{"candidates":[{"content":{"parts":[{"text":"look."}]}}]}"#,
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"Look","args":{"at":"é"}}}]}}]}"#,
                r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":5,"thoughtsTokenCount":2,
                "cachedContentTokenCount":20}}"#,
            ],
        ),
    }
}

#[test]
fn a_streamed_response_equals_the_whole_one() {
    for provider in Provider::ALL {
        let (whole, events) = both(provider);
        assert_eq!(
            thoughtless(answer(provider, 4, whole.as_bytes())),
            Ok(expected()),
            "{provider:?}"
        );
        let (assembled, heard) = streamed(provider, &events);
        assert_eq!(thoughtless(assembled), Ok(expected()), "{provider:?}");
        assert_eq!(heard, "Let me look.", "{provider:?}");
    }
}

#[test]
fn a_stream_that_ends_early_is_truncated() {
    for provider in Provider::ALL {
        let (_, events) = both(provider);
        // The event after which the response is complete: the token count and the last event of Chat
        // Completions may be missing.
        let complete = match provider {
            Provider::OpenAiChat => events.len() - 2,
            Provider::Anthropic | Provider::OpenAi | Provider::OpenAiCodex | Provider::Gemini => events.len(),
        };
        for cut in 0..complete {
            let (assembled, _) = streamed(provider, &events[..cut]);
            assert_eq!(
                assembled,
                Err(ResponseError::Truncated),
                "{provider:?} after {cut}"
            );
        }
        assert!(streamed(provider, &events[..complete]).0.is_ok(), "{provider:?}");
    }
}

#[test]
fn a_cut_or_withheld_response_is_an_error() {
    let stopped = |provider, reason: &str| {
        let body = match provider {
            Provider::Anthropic => json!({"content": [], "stop_reason": reason}),
            Provider::OpenAi | Provider::OpenAiCodex => {
                json!({"status": "incomplete", "output": [], "incomplete_details": {"reason": reason}})
            }
            Provider::OpenAiChat => {
                json!({"choices": [{"message": {"content": "x"}, "finish_reason": reason}]})
            }
            Provider::Gemini => json!({"candidates": [{"finishReason": reason}]}),
        };
        answer(provider, 0, body.to_string().as_bytes()).expect_err("an answer")
    };
    let limits = [
        "max_tokens",
        "max_output_tokens",
        "length",
        "MAX_TOKENS",
        "max_output_tokens",
    ];
    let refusals = [
        "refusal",
        "content_filter",
        "content_filter",
        "SAFETY",
        "content_filter",
    ];
    for (index, provider) in Provider::ALL.into_iter().enumerate() {
        assert_eq!(stopped(provider, limits[index]), ResponseError::OutputLimit);
        assert_eq!(
            stopped(provider, refusals[index]),
            ResponseError::Withheld(refusals[index].to_owned())
        );
    }
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}}).to_string();
    let blocked = answer(Provider::Gemini, 0, blocked.as_bytes());
    assert_eq!(blocked, Err(ResponseError::Withheld("SAFETY".to_owned())));
    let failed = [
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#,
    ];
    let (failed, _) = streamed(Provider::OpenAi, &failed);
    assert!(matches!(failed, Err(ResponseError::Reported(complaint)) if complaint.status() == 500));
}

#[test]
fn an_unknown_finish_reason_does_not_discard_the_response() {
    let gemini = |reason: &str, parts: Value| {
        let body = json!({"candidates": [{"content": {"parts": parts}, "finishReason": reason}]});
        answer(Provider::Gemini, 0, body.to_string().as_bytes())
    };
    let called = gemini(
        "FUNCTION_CALL",
        json!([{"functionCall": {"id": "a", "name": "A"}}]),
    );
    assert_eq!(called.expect("an answer").blocks, [call("a", "A", json!({}))]);
    let held = Err(ResponseError::Withheld("NEW_RULE".to_owned()));
    assert_eq!(gemini("NEW_RULE", json!([])), held);
    let half = gemini("SAFETY", json!([{"text": "half"}]));
    assert_eq!(half, Err(ResponseError::Withheld("SAFETY".to_owned())));
    assert_eq!(gemini("STOP", json!([])).expect("an answer").blocks, []);
    let anthropic = json!({"content": [{"type": "text", "text": "hi"}], "stop_reason": "new_reason"});
    assert!(answer(Provider::Anthropic, 0, anthropic.to_string().as_bytes()).is_ok());
}

#[test]
fn json_that_is_not_a_response_is_invalid() {
    for provider in Provider::ALL {
        for body in [
            "",
            "{}",
            "[]",
            "null",
            "{\"content\":3}",
            "<html>",
            "{\"choices\":[]}",
            "\u{0}",
        ] {
            let invalid = answer(provider, 0, body.as_bytes());
            assert!(
                matches!(invalid, Err(ResponseError::Invalid(_))),
                "{provider:?} {body:?}: {invalid:?}"
            );
        }
        assert!(matches!(
            answer(provider, 0, b"{\"a\":\"\xff\"}"),
            Err(ResponseError::Invalid(_))
        ));
    }
}

#[test]
fn events_that_contradict_each_other_are_invalid() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let grow = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#;
    let other =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}"#;
    let ahead = r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"x"}}]}}]}"#;
    let cases: [(Provider, &[&str]); 4] = [
        (Provider::Anthropic, &[start, start]),
        (Provider::Anthropic, &[grow, start]),
        (Provider::Anthropic, &[start, other]),
        (Provider::OpenAiChat, &[ahead]),
    ];
    for (provider, events) in cases {
        let (invalid, _) = streamed(provider, events);
        assert!(
            matches!(invalid, Err(ResponseError::Invalid(_))),
            "{events:?}: {invalid:?}"
        );
    }
}

/// The random numbers are fixed, so that a failure is reproducible.
#[test]
fn events_in_any_order_give_a_response_or_an_error() {
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    for provider in Provider::ALL {
        let (_, events) = both(provider);
        for _ in 0..300 {
            let picked: Vec<&str> = (0..next(20)).map(|_| events[next(events.len())]).collect();
            let (outcome, heard) = streamed(provider, &picked);
            let calls = outcome.map(|answer| answer.blocks.len()).unwrap_or_default();
            assert!(
                calls <= picked.len() && heard.len() <= picked.len() * 12,
                "{provider:?} {picked:?}"
            );
        }
    }
}

#[test]
fn too_many_blocks_are_refused() {
    let count = |provider, event: &dyn Fn(usize) -> String| {
        let mut decoder = decoder(provider, 0);
        (0..=BLOCKS_MAX).find(|n| decoder.take(&event(*n), &CollectingSink::default()).is_err())
    };
    let anthropic = |n| {
        json!({"type": "content_block_start", "index": n, "content_block": {"type": "text", "text": ""}})
            .to_string()
    };
    let item = json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": ""});
    let openai =
        |n| json!({"type": "response.output_item.done", "output_index": n, "item": item}).to_string();
    let chat = |n| json!({"choices": [{"delta": {"tool_calls": [{"index": n}]}}]}).to_string();
    let gemini =
        |_| json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "n"}}]}}]}).to_string();
    assert_eq!(count(Provider::Anthropic, &anthropic), Some(BLOCKS_MAX));
    assert_eq!(count(Provider::OpenAi, &openai), Some(BLOCKS_MAX));
    assert_eq!(count(Provider::OpenAiChat, &chat), Some(BLOCKS_MAX));
    assert_eq!(count(Provider::Gemini, &gemini), Some(BLOCKS_MAX));
}

#[test]
fn calls_without_ids_get_one_and_odd_arguments_stay_unchanged() {
    let chat = r#"{"choices":[{"message":{"content":"","tool_calls":[{"function":{"name":"A","arguments":{"x":1}}},
        {"id":"","function":{"name":"B","arguments":"{oops"}}]},"finish_reason":"tool_calls"}]}"#;
    let chat = answer(Provider::OpenAiChat, 4, chat.as_bytes()).expect("an answer");
    let expected = [
        call("call-4-0", "A", json!({"x": 1})),
        call("call-4-1", "B", json!("{oops")),
    ];
    assert_eq!(chat.blocks, expected);
    let bare = [
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"A","arguments":"{\"x\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"B","arguments":"{oops"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let (bare, _) = streamed(Provider::OpenAiChat, &bare);
    let expected = [
        call("call-4-0", "A", json!({"x": 1})),
        call("b", "B", json!("{oops")),
    ];
    assert_eq!(bare.expect("an answer").blocks, expected);
    let gemini = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"A"}},{"functionCall":{"name":"A"}}]},"finishReason":"STOP"}]}"#;
    let own = answer(Provider::Gemini, 4, gemini.as_bytes()).expect("an answer");
    assert_eq!(
        own.blocks,
        [call("call-4-0", "A", json!({})), call("call-4-1", "A", json!({}))]
    );
}

// Conformance: H-030
#[test]
fn missing_or_invalid_token_counts_are_zero() {
    for odd in [
        json!(null),
        json!({}),
        json!([]),
        json!("many"),
        json!({"input_tokens": -1, "prompt_tokens": "3", "promptTokenCount": 1.5, "output_tokens": null,
            "prompt_tokens_details": [], "input_tokens_details": {"cached_tokens": {}}}),
    ] {
        for provider in Provider::ALL {
            let (whole, _) = both(provider);
            let mut body: Value = serde_json::from_str(whole).expect("JSON");
            for name in ["usage", "usageMetadata"] {
                if body.get(name).is_some() {
                    body[name] = odd.clone();
                }
            }
            let answer = answer(provider, 4, body.to_string().as_bytes()).expect("an answer");
            assert_eq!(answer.usage, Usage::default(), "{provider:?} {odd}");
        }
    }
}

#[test]
fn a_partial_token_count_never_exceeds_its_total() {
    assert_eq!(
        usage(Usage {
            input_tokens: 10,
            output_tokens: 5,
            cached_read_tokens: 8,
            cached_write_tokens: 9,
            reasoning_tokens: 6,
            web_searches: 0,
        }),
        Usage {
            input_tokens: 10,
            output_tokens: 5,
            cached_read_tokens: 8,
            cached_write_tokens: 2,
            reasoning_tokens: 5,
            web_searches: 0,
        }
    );
    let written = json!({"content": [], "usage": {"input_tokens": 1, "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 4, "output_tokens": 8}});
    let counted = answer(Provider::Anthropic, 0, written.to_string().as_bytes())
        .expect("an answer")
        .usage;
    assert_eq!(
        (
            counted.input_tokens,
            counted.cached_read_tokens,
            counted.cached_write_tokens
        ),
        (7, 4, 2)
    );
}

// Conformance: H-006
#[test]
fn the_last_event_decides_the_outcome_of_a_codex_stream() {
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi."}]}}"#;
    let ended = |event: Value| streamed(Provider::OpenAiCodex, &[item, &event.to_string()]).0;
    let response = |word: &str, rest: Value| json!({"type": format!("response.{word}"), "response": rest});
    for rest in [
        json!({"status": "completed"}),
        json!({"output": []}),
        json!({"output": [], "usage": null}),
    ] {
        let rebuilt = ended(response("completed", rest)).expect("an answer");
        assert_eq!(rebuilt.blocks, [text("Hi.")]);
    }
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "no"});
        match ended(response("failed", json!({"status": "failed", "error": error}))) {
            Err(ResponseError::Reported(complaint)) => (complaint.status(), complaint.is_too_long()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(failed("rate_limit_exceeded"), (429, false));
    assert_eq!(failed("server_is_overloaded"), (503, false));
    assert_eq!(failed("context_length_exceeded"), (400, true));
    assert_eq!(failed("never_seen"), (500, false));
    let incomplete = |reason| {
        ended(response(
            "incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": reason}}),
        ))
    };
    assert_eq!(incomplete("max_output_tokens"), Err(ResponseError::OutputLimit));
    assert_eq!(
        incomplete("content_filter"),
        Err(ResponseError::Withheld("content_filter".to_owned()))
    );
    // The type of the event decides, even without a status.
    assert!(ended(response("failed", json!({}))).is_err());
    assert!(ended(response("incomplete", json!({}))).is_err());
    assert_eq!(
        streamed(Provider::OpenAiCodex, &[item]).0,
        Err(ResponseError::Truncated)
    );
}
