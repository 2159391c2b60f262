//! Tests of caches, output limits and other optimisations.

use std::collections::BTreeSet;

use super::*;

/// A run with everything that a cache could use: blocks of every stability, a key, tools, thoughts and
/// results.
fn cached(rounds: usize) -> ModelRequest {
    let block = |text: &str, stability, cache_breakpoint| PromptBlock {
        text: text.to_owned(),
        stability,
        source: BlockSource::Contract,
        cache_breakpoint,
    };
    let mut request = opening();
    request.system = vec![
        block("one", Stability::Stable, true),
        block("two", Stability::Stable, true),
        block("three", Stability::AgentScoped, true),
        block("four", Stability::AgentScoped, false),
        block("five", Stability::TurnScoped, true),
    ];
    request.cache.prompt_cache_key = "k-1".to_owned();
    for round in 0..rounds {
        let id = format!("c{round}");
        let called = vec![text("Let me look."), call(&id, "Look", json!({"at": round}))];
        request.entries.push(entry(Role::Assistant, called));
        request
            .entries
            .push(entry(Role::Tool, vec![result(&id, false, "{\"files\":3}")]));
    }
    request
}

/// Returns the optimisations that a body uses.
fn used(body: &Value) -> BTreeSet<ProviderPromptCapability> {
    use ProviderPromptCapability::{
        ContextManagement, IncrementalResponses, PromptCacheBlocks, PromptCacheKey,
    };
    let marks = [
        ("\"cache_control\"", PromptCacheBlocks),
        ("\"prompt_cache_key\"", PromptCacheKey),
        ("\"previous_response_id\"", IncrementalResponses),
        ("\"context_management\"", ContextManagement),
    ];
    let text = body.to_string();
    let shown = marks.into_iter().filter(|(mark, _)| text.contains(mark));
    shown.map(|(_, capability)| capability).collect()
}

// Conformance: H-142
#[test]
fn every_format_declares_its_capabilities() {
    let declared = |provider: Provider| serde_json::to_value(provider.capabilities()).expect("JSON");
    assert_eq!(
        declared(Provider::Anthropic),
        json!(["prompt_cache_blocks", "context_management"])
    );
    assert_eq!(
        declared(Provider::OpenAi),
        json!(["prompt_cache_key", "incremental_responses"])
    );
    assert_eq!(declared(Provider::OpenAiChat), json!(["prompt_cache_key"]));
    assert_eq!(declared(Provider::OpenAiCodex), json!(["prompt_cache_key"]));
    assert_eq!(declared(Provider::Gemini), json!(["full_request_only"]));
}

// Conformance: H-142
#[test]
fn an_undeclared_optimisation_is_never_used() {
    for provider in Provider::ALL {
        let all = Lowering {
            uses: &ProviderPromptCapability::ALL,
            thread: ProviderThread::Continues {
                response_id: "resp_1",
                items: 1,
            },
            ..lowering(provider)
        };
        let declared: BTreeSet<_> = provider.capabilities().iter().copied().collect();
        let declared: BTreeSet<_> = declared
            .into_iter()
            .filter(|capability| *capability != ProviderPromptCapability::FullRequestOnly)
            .collect();
        assert_eq!(used(&sent_json(&all, &cached(1))), declared, "{provider:?}");
        let none = Lowering { uses: &[], ..all };
        assert_eq!(
            used(&sent_json(&none, &cached(1))),
            BTreeSet::new(),
            "{provider:?}"
        );
    }
}

/// Collects the texts that are marked, in the order of the wire.
fn marked(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.get("cache_control") == Some(&json!({"type": "ephemeral"})) {
                let words = ["text", "content", "thinking"]
                    .iter()
                    .find_map(|name| fields.get(*name)?.as_str());
                found.push(words.unwrap_or_default().to_owned());
            }
            // The order of the wire.
            for name in ["system", "messages", "content"] {
                fields
                    .get(name)
                    .into_iter()
                    .for_each(|value| marked(value, found));
            }
        }
        Value::Array(list) => list.iter().for_each(|value| marked(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

// Conformance: H-144
#[test]
fn anthropic_requests_mark_each_stability_and_the_newest_block() {
    let marks = |request: &ModelRequest| {
        let mut found = Vec::new();
        marked(&sent_json(&lowering(Provider::Anthropic), request), &mut found);
        found
    };
    assert_eq!(marks(&cached(0)), ["two", "three", "five", "What is here?"]);
    assert_eq!(marks(&cached(2)), ["two", "three", "five", "{\"files\":3}"]);
    let mut bare = cached(2);
    bare.system
        .iter_mut()
        .for_each(|block| block.cache_breakpoint = false);
    assert_eq!(marks(&bare), [""; 0], "no cache was requested");
    let mut thinking = cached(0);
    let opaque = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    thinking.entries.push(entry(
        Role::Assistant,
        vec![
            text("So:"),
            thought(Provider::Anthropic, "hm".to_owned(), opaque),
            text("x"),
        ],
    ));
    assert_eq!(marks(&thinking).last().map(String::as_str), Some("x"));
}

/// Returns a body without cache marks, which are not part of the cached text.
fn unmarked(provider: Provider, request: &ModelRequest) -> String {
    let bytes = body(&lowering(provider), request).expect("a body");
    let text = String::from_utf8(bytes).expect("text");
    text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

#[test]
fn the_cached_prefix_is_byte_identical_in_all_rounds() {
    for provider in Provider::ALL {
        let mut before = unmarked(provider, &cached(0));
        for round in 1..6 {
            let after = unmarked(provider, &cached(round));
            let same = before
                .bytes()
                .zip(after.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            // Everything except the brackets after the last block and, in some formats, the flags after
            // them.
            let rest = before.get(same..).expect("text");
            assert!(
                !rest.contains("text") && rest.len() < 70,
                "{provider:?} {round}: {rest}"
            );
            assert!(
                before.get(..same).expect("text").contains("What is here?"),
                "{provider:?}"
            );
            before = after;
        }
    }
}

/// The hashes are fixed here, so that the test fails if another process or machine gives other bytes.
#[test]
fn the_cached_prefix_is_byte_identical_in_all_processes() {
    let hashes = Provider::ALL.map(|provider| {
        let bytes = body(&lowering(provider), &cached(2)).expect("a body");
        format!(
            "{} {} {}",
            provider.word(),
            bytes.len(),
            wakeful_core::key::Digest::of(&bytes)
        )
    });
    insta::assert_snapshot!(hashes.join("\n"), @"
    anthropic 1072 b6d72953d7e7d85ccd145cb54213a5c10abecb6c3417b75e0d951df126e14188
    openai 933 a8165f444b8a998d7618591cd7e0e6cf61b09736e157fef46e6b0ae3ad67ecd5
    openai-chat 816 44f527e7110aea28ab3091b01056630d0fe5ca6ec910154c32c856016965ae7e
    gemini 762 5d5298a0546cdc37d2e6fb47e0accef4f25077495625d0cf836c2684bae44024
    openai-codex 921 3f1fea750ba79999e1d44e2bc4eafb11314b57118cbcdb204f8788d1e1a64450
    ");
}

// Conformance: H-143
#[test]
fn a_cache_key_is_sent_only_where_it_is_supported() {
    for provider in [Provider::OpenAi, Provider::OpenAiChat, Provider::OpenAiCodex] {
        assert_eq!(
            sent_json(&lowering(provider), &cached(0))["prompt_cache_key"],
            "k-1"
        );
        assert_eq!(
            sent_json(&lowering(provider), &opening()).get("prompt_cache_key"),
            None
        );
    }
}

#[test]
fn each_format_has_its_own_output_limit_field() {
    for provider in Provider::ALL {
        let limited = Lowering {
            output_tokens_max: Some(77),
            ..lowering(provider)
        };
        let elsewhere = Lowering {
            own_server: false,
            ..limited
        };
        let at = |lowering: &Lowering<'_>, pointer: &str| {
            sent_json(lowering, &opening()).pointer(pointer).cloned()
        };
        let (pointer, default) = match provider {
            Provider::Anthropic => ("/max_tokens", Some(json!(8_192))),
            Provider::OpenAi | Provider::OpenAiCodex => ("/max_output_tokens", None),
            Provider::OpenAiChat => ("/max_completion_tokens", None),
            Provider::Gemini => ("/generationConfig/maxOutputTokens", None),
        };
        let expected = (provider != Provider::OpenAiCodex).then(|| json!(77));
        assert_eq!(at(&limited, pointer), expected, "{provider:?}");
        assert_eq!(at(&lowering(provider), pointer), default, "{provider:?}");
        if provider == Provider::OpenAiChat {
            assert_eq!(at(&elsewhere, "/max_tokens"), Some(json!(77)));
            assert_eq!(at(&elsewhere, pointer), None);
        }
    }
}

// Conformance: H-144
#[test]
fn old_tool_results_are_counted_and_cleared_only_on_request() {
    let on = Lowering {
        uses: &ProviderPromptCapability::ALL,
        ..lowering(Provider::Anthropic)
    };
    let edits = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    let cleared = sent_json(&on, &cached(5));
    assert_eq!(cleared["context_management"], edits);
    // The conversation itself is sent completely in both cases.
    assert_eq!(
        cleared["messages"],
        sent_json(&lowering(Provider::Anthropic), &cached(5))["messages"]
    );
    let results = |rounds| clearable(&cached(rounds).entries);
    assert_eq!(results(TOOL_RESULTS_KEPT), Clearable::default());
    let old = Clearable {
        results: 2,
        bytes: 2 * "{\"files\":3}".len(),
    };
    assert_eq!(results(TOOL_RESULTS_KEPT + 2), old);
}
