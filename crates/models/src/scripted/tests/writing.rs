//! Tests that a written script gives the recorded responses again.

use proptest::prelude::*;
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, ToolCall, Usage};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{ModelRequest, PromptCache};
use wakeful_ports::model::{Model as _, ModelResponse, NoDeltaSink};

use crate::{RecordedRound, ScriptWriteError, ScriptedModel, write_script};

/// Requests every round of a script in order.
fn played(text: &str, rounds: usize) -> Vec<Result<ModelResponse, ModelFailure>> {
    let script = ScriptedModel::load(text, "recorded.yaml").expect("it can be loaded");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let ask = |request: usize| {
        let request = ModelRequest {
            model_ref: "scripted:recorded.yaml".into(),
            request: u32::try_from(request).expect("few"),
            system: vec![],
            entries: vec![],
            tools: vec![],
            answer_schema: None,
            cache: PromptCache::none(AgentId::parse("tester").expect("an id")),
        };
        runtime.block_on(script.call(request, &NoDeltaSink))
    };
    (0..rounds).map(ask).collect()
}

fn failure(status: Option<u16>, word: &str, kind: ModelFailureKind) -> ModelFailure {
    let mut artifact = FailureArtifact::new(FailureCategory::Transport, word, "a \"sentence\": of # words");
    artifact.status = status;
    ModelFailure {
        retry_after_ms: Some(7),
        ..ModelFailure::new(kind, artifact)
    }
}

#[test]
fn written_failures_fail_the_same_way_again() {
    use ModelFailureKind::{FailFast, Retryable};
    let failures = [
        failure(Some(429), "http_429", Retryable),
        failure(Some(400), "context_length_exceeded", FailFast),
        failure(Some(503), "overloaded", FailFast),
        failure(None, "timeout", Retryable),
        failure(None, "invalid_response", FailFast),
        failure(None, "context_length_exceeded", FailFast),
    ];
    let recorded: Vec<RecordedRound> = failures.iter().cloned().map(RecordedRound::Failure).collect();
    let text = write_script(&recorded).expect("a script");
    for (failure, again) in failures.iter().zip(played(&text, failures.len())) {
        let again = again.expect_err("a failure");
        assert_eq!(
            (again.kind, again.retry_after_ms, again.artifact.status),
            (failure.kind, failure.retry_after_ms, failure.artifact.status)
        );
        assert_eq!(again.artifact.kind, failure.artifact.kind);
        assert_eq!(again.artifact.summary, failure.artifact.summary);
    }
    // A code that a script cannot hold and a status that is not an error do not prevent writing.
    let odd = failure(Some(200), "Odd Word!", Retryable);
    let text = write_script(&[RecordedRound::Failure(odd)]).expect("a script");
    assert_eq!(
        played(&text, 1)[0].as_ref().expect_err("a failure").artifact.kind,
        "odd_word_"
    );
}

#[test]
fn an_empty_or_oversized_recording_cannot_be_written() {
    assert_eq!(write_script(&[]), Err(ScriptWriteError::Empty));
    let large = RecordedRound::Answer {
        blocks: vec![Block::Text {
            text: "x".repeat(1024 * 1024),
        }],
        usage: Usage::default(),
    };
    assert_eq!(write_script(&vec![large; 8]), Err(ScriptWriteError::TooLong));
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    let deep = RecordedRound::Answer {
        blocks: vec![Block::ToolUse(ToolCall {
            call_id: "c".into(),
            name: "T".into(),
            input: deep,
        })],
        usage: Usage::default(),
    };
    assert!(matches!(write_script(&[deep]), Err(ScriptWriteError::Refused(_))));
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9_f64).prop_map(Value::from),
        "(?s).{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("(?s).{0,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_recording_is_replayed_exactly(
        thinking in proptest::option::of("(?s).{1,20}"),
        text in proptest::option::of("(?s).{1,40}"),
        calls in proptest::collection::vec(("(?s).{0,8}", arguments()), 0..3),
        tokens in 0_u64..5,
    ) {
        let thought = thinking.map(|text| Block::Thinking {
            provider: "scripted".into(), text, opaque: Value::Null,
        });
        let words = text.map(|text| Block::Text { text });
        let calls = calls.into_iter().enumerate().map(|(index, (name, input))| {
            Block::ToolUse(ToolCall { call_id: format!("call_0_{index}"), name, input })
        });
        let blocks: Vec<Block> = thought.into_iter().chain(words).chain(calls).collect();
        let usage = Usage { reasoning_tokens: tokens, ..Usage::of(tokens, 1) };
        let recorded = [RecordedRound::Answer { blocks: blocks.clone(), usage }];
        let script = write_script(&recorded).expect("a script");
        let again = played(&script, 1).remove(0).expect("an answer");
        prop_assert_eq!(again, ModelResponse { blocks, usage });
    }
}
