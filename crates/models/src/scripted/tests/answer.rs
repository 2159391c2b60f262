//! Tests of the responses of a script.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use wakeful_core::budget::PriceBasis;
use wakeful_core::conversation::{Block, ToolCall, Usage, calls_of, text_of};
use wakeful_core::failure::{FailureCategory, ModelFailureKind};
use wakeful_core::inference::DataBoundary;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse, NoDeltaSink};

use crate::{DELAY_MS_MAX, Models, ScriptedModel, TOOLS_PER_ROUND_MAX};

/// The example in the documentation of the format.
const EXAMPLE: &str = r#"
repeat_last: false            # optional
rounds:                       # one entry per model request, in order
  - text: "Let me look."
    delay_ms: 50              # optional, beside text, tools or fail
    tools:
      - { name: ExecCommand, input: { cmd: "ls" } }
  - fail: { status: 429, retry_after_ms: 10 }   # this attempt fails and uses up its entry
  - text: "Three files."
    usage: { input_tokens: 120, output_tokens: 8 }
"#;

fn load(text: &str) -> ScriptedModel {
    ScriptedModel::load(text, "test.yaml").expect("a good script")
}

fn request(request: u32) -> ModelRequest {
    ModelRequest {
        model_ref: "scripted:test.yaml".into(),
        request,
        system: vec![],
        entries: vec![],
        tools: vec![],
        answer_schema: None,
        cache: wakeful_core::prompt::PromptCache::none(
            wakeful_core::id::AgentId::parse("tester").expect("an id"),
        ),
    }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.into() }
}

fn tool(call_id: &str, name: &str, input: serde_json::Value) -> Block {
    Block::ToolUse(ToolCall {
        call_id: call_id.into(),
        name: name.into(),
        input,
    })
}

// Conformance: H-030
#[tokio::test(start_paused = true)]
async fn the_documented_example_answers_as_documented() {
    let model = load(EXAMPLE);
    let first = model.call(request(0), &NoDeltaSink).await.expect("an answer");
    let blocks = vec![
        text("Let me look."),
        tool("call_0_0", "ExecCommand", json!({"cmd": "ls"})),
    ];
    assert_eq!(
        first,
        ModelResponse {
            blocks,
            usage: Usage::default()
        }
    );
    let failure = model
        .call(request(1), &NoDeltaSink)
        .await
        .expect_err("a failed attempt");
    assert_eq!(
        (failure.kind, failure.retry_after_ms),
        (ModelFailureKind::Retryable, Some(10))
    );
    let artifact = failure.artifact;
    assert_eq!(
        (artifact.category, artifact.kind.as_str(), artifact.status),
        (FailureCategory::Transport, "http_429", Some(429))
    );
    assert_eq!(
        (artifact.provider.as_deref(), artifact.model_ref.as_deref()),
        (Some("scripted"), Some("scripted:test.yaml"))
    );
    let last = model.call(request(2), &NoDeltaSink).await.expect("an answer");
    let usage = Usage::of(120, 8);
    assert_eq!(
        last,
        ModelResponse {
            blocks: vec![text("Three files.")],
            usage
        }
    );
}

#[tokio::test]
async fn the_request_number_alone_selects_the_entry() {
    let model = load("rounds: [{text: a}, {text: b}, {text: c}]");
    let mut said = vec![];
    for number in [2, 0, 0, 1, 2] {
        // A clone does not share any position with the original, and neither does a resumed process.
        let answer = model
            .clone()
            .call(request(number), &NoDeltaSink)
            .await
            .expect("an answer");
        said.push(text_of(&answer.blocks));
    }
    assert_eq!(said, ["c", "a", "a", "b", "c"]);
}

#[tokio::test]
async fn a_request_past_the_end_fails_permanently_with_a_hint() {
    let model = load("rounds: [{text: a}]");
    for number in [1, 2, u32::MAX] {
        let failure = model
            .call(request(number), &NoDeltaSink)
            .await
            .expect_err("an end");
        assert_eq!(
            (failure.kind, failure.artifact.kind.as_str()),
            (ModelFailureKind::FailFast, "script_exhausted")
        );
        assert!(
            failure.artifact.summary.contains("repeat_last"),
            "{}",
            failure.artifact.summary
        );
        assert!(
            failure.artifact.summary.contains("test.yaml"),
            "{}",
            failure.artifact.summary
        );
    }
}

#[tokio::test]
async fn a_repeated_last_round_has_new_call_ids() {
    let model = load("repeat_last: true\nrounds: [{text: a}, {tools: [{name: T}, {name: U, input: [1]}]}]");
    for number in [1, 2, 90_000] {
        let answer = model
            .call(request(number), &NoDeltaSink)
            .await
            .expect("an answer");
        let expected = [
            tool(&format!("call_{number}_0"), "T", json!({})),
            tool(&format!("call_{number}_1"), "U", json!([1])),
        ];
        assert_eq!(answer.blocks, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn responses_and_failures_take_the_scripted_delay() {
    let model = load(&format!(
        "rounds: [{{text: a, delay_ms: 1500}}, {{fail: {{status: 500}}, delay_ms: {DELAY_MS_MAX}}}, {{text: b}}]"
    ));
    for (number, delay_ms) in [(0, 1_500), (1, DELAY_MS_MAX), (2, 0)] {
        let began = Instant::now();
        let _ = model.call(request(number), &NoDeltaSink).await;
        assert_eq!(
            began.elapsed(),
            Duration::from_millis(delay_ms),
            "request {number}"
        );
    }
}

#[tokio::test]
async fn a_failure_has_the_scripted_message_and_the_kind_of_its_status() {
    let model = load("rounds: [{fail: {status: 401, message: no key}}, {fail: {status: 503}}]");
    let refused = model.call(request(0), &NoDeltaSink).await.expect_err("a failure");
    assert_eq!(
        (refused.kind, refused.artifact.summary.as_str()),
        (ModelFailureKind::FailFast, "no key")
    );
    let busy = model.call(request(1), &NoDeltaSink).await.expect_err("a failure");
    assert_eq!(
        (busy.kind, busy.retry_after_ms),
        (ModelFailureKind::Retryable, None)
    );
    assert!(busy.artifact.summary.contains("503"), "{}", busy.artifact.summary);
}

#[tokio::test]
async fn arguments_reach_the_tool_unchanged() {
    let model = load(concat!(
        "rounds:\n  - tools:\n      - name: T\n        input:\n",
        "          { s: yes, n: 3, f: 1.5, b: true, z: ~, q: \"0\", deep: [{ k: \"two\\nlines\" }] }\n",
    ));
    let answer = model.call(request(0), &NoDeltaSink).await.expect("an answer");
    let [call] = calls_of(&answer.blocks)[..] else {
        panic!("{answer:?}")
    };
    // `yes` is a string; YAML 1.1 would parse it as true.
    let expected =
        json!({"s": "yes", "n": 3, "f": 1.5, "b": true, "z": null, "q": "0", "deep": [{"k": "two\nlines"}]});
    assert_eq!(call.input, expected);
}

#[tokio::test]
async fn a_scripted_response_may_be_empty() {
    let answer = load("rounds: [{text: \"\"}]")
        .call(request(0), &NoDeltaSink)
        .await
        .expect("an answer");
    assert_eq!(answer.blocks, []);
}

#[tokio::test]
async fn a_round_with_the_most_tool_calls_is_accepted() {
    let tools = "{name: T},".repeat(TOOLS_PER_ROUND_MAX);
    let answer = load(&format!("rounds: [{{tools: [{tools}]}}]"))
        .call(request(0), &NoDeltaSink)
        .await
        .expect("an answer");
    assert_eq!(calls_of(&answer.blocks).len(), TOOLS_PER_ROUND_MAX);
}

#[tokio::test]
async fn all_kinds_of_models_are_called_the_same_way() {
    let models = Models::new(vec![(request(0).model_ref, load("rounds: [{text: a}]").into())]);
    assert_eq!(
        models
            .call(request(0), &NoDeltaSink)
            .await
            .expect("an answer")
            .blocks,
        [text("a")]
    );
    assert!(models.call(request(1), &NoDeltaSink).await.is_err());
}

/// Runs the demo's commands in an empty folder, like the shell tool.
#[tokio::test(start_paused = true)]
async fn the_demo_leaves_one_line_per_step_and_ends_with_a_sentence() {
    let demo = ScriptedModel::demo().expect("the demo loads");
    let folder = tempfile::tempdir().expect("a folder");
    let (mut outputs, mut round) = (vec![], 0);
    let last = loop {
        let answer = demo.call(request(round), &NoDeltaSink).await.expect("an answer");
        let calls = calls_of(&answer.blocks);
        if calls.is_empty() {
            break text_of(&answer.blocks);
        }
        for call in calls {
            assert_eq!(call.name, "ExecCommand");
            let command = call.input["cmd"].as_str().expect("a command");
            let done = Command::new("sh")
                .args(["-c", command])
                .current_dir(folder.path())
                .output()
                .expect("sh");
            assert!(done.status.success(), "{command}: {done:?}");
            outputs.push(String::from_utf8(done.stdout).expect("text"));
        }
        round += 1;
    };
    assert_eq!(round, 3);
    let log = std::fs::read_to_string(folder.path().join("wakeful-demo.log")).expect("the log");
    let expected = "step 1: looked around\nstep 2: wrote the report\nstep 3: read it back\n";
    assert_eq!(log, expected);
    assert_eq!(outputs[0], "wakeful-demo.log\n");
    assert!(outputs[2].contains("- wakeful-demo.log"), "{outputs:?}");
    assert!(last.contains("wakeful-demo-report.md"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn the_demo_can_be_stopped_while_it_runs() {
    let demo = ScriptedModel::demo().expect("the demo loads");
    let began = Instant::now();
    for number in 0..4 {
        demo.call(request(number), &NoDeltaSink).await.expect("an answer");
    }
    let took = began.elapsed();
    assert!(
        (Duration::from_millis(300)..Duration::from_millis(1_500)).contains(&took),
        "{took:?}"
    );
}

/// Records each text with the time at which it arrived.
struct CollectingSink {
    began: Instant,
    heard: std::sync::Mutex<Vec<(Duration, String)>>,
}

impl DeltaSink for CollectingSink {
    fn on_text(&self, text: &str) {
        let mut heard = self.heard.lock().expect("no panic");
        heard.push((self.began.elapsed(), text.to_owned()));
    }
}

async fn heard(script: &str) -> Vec<(Duration, String)> {
    let ears = CollectingSink {
        began: Instant::now(),
        heard: std::sync::Mutex::default(),
    };
    let _ = load(script).call(request(0), &ears).await;
    ears.heard.into_inner().expect("no panic")
}

#[tokio::test(start_paused = true)]
async fn text_is_streamed_in_pieces_spread_over_the_delay() {
    let pieces = heard("rounds:\n  - text: \"one two  three\\nfour\"\n    delay_ms: 400\n").await;
    let text: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    assert_eq!(text, "one two  three\nfour");
    let times: Vec<u128> = pieces.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [80, 160, 240, 320, 400]);
}

#[tokio::test(start_paused = true)]
async fn a_long_text_is_streamed_in_a_bounded_number_of_pieces() {
    let long = "wörd ".repeat(5_000);
    let pieces = heard(&format!("rounds:\n  - text: {long:?}\n")).await;
    assert!((2..=64).contains(&pieces.len()), "{}", pieces.len());
    let text: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    assert_eq!(text, long);
}

#[tokio::test(start_paused = true)]
async fn a_round_without_text_and_a_failing_round_stream_nothing() {
    assert_eq!(
        heard("rounds:\n  - fail: {status: 500}\n    delay_ms: 10\n").await,
        []
    );
    let tools = "rounds:\n  - tools: [{name: T, input: {}}]\n    delay_ms: 10\n";
    assert_eq!(heard(tools).await, []);
}

#[tokio::test]
async fn a_round_counts_all_token_kinds_and_puts_thinking_first() {
    let model = load(
        "rounds:\n  - thinking: hm\n    text: yes\n    usage: { input_tokens: 10, output_tokens: 5, \
         cached_read_tokens: 4, cached_write_tokens: 3, reasoning_tokens: 2 }\n",
    );
    let answer = model.call(request(0), &NoDeltaSink).await.expect("an answer");
    let thought = Block::Thinking {
        provider: "scripted".into(),
        text: "hm".into(),
        opaque: json!(null),
    };
    assert_eq!(answer.blocks, [thought, text("yes")]);
    let usage = Usage {
        cached_read_tokens: 4,
        cached_write_tokens: 3,
        reasoning_tokens: 2,
        ..Usage::of(10, 5)
    };
    assert_eq!(answer.usage, usage);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_may_fail_after_some_text() {
    let model = load(
        "rounds:\n  - fail: { kind: stream_cut, message: gone, after: \"one two\" }\n    delay_ms: 100\n  \
         - fail: { status: 400, kind: context_length_exceeded }\n  - fail: { kind: context_length_exceeded }\n  \
         - fail: { status: 503, retry: false }\n  - fail: { kind: odd, retry: false }\n",
    );
    let ears = CollectingSink {
        began: Instant::now(),
        heard: std::sync::Mutex::default(),
    };
    let failure = model.call(request(0), &ears).await.expect_err("it breaks");
    let heard = ears.heard.lock().expect("no panic").clone();
    let expected =
        [(50, "one "), (100, "two")].map(|(ms, text)| (Duration::from_millis(ms), text.to_owned()));
    assert_eq!(heard, expected);
    assert_eq!(
        (failure.kind, failure.may_be_billed, failure.artifact.status),
        (ModelFailureKind::Retryable, true, None)
    );
    assert_eq!(
        (failure.artifact.kind.as_str(), failure.artifact.summary.as_str()),
        ("stream_cut", "gone")
    );
    for (index, kind, category) in [
        (1, "context_length_exceeded", FailureCategory::Transport),
        (2, "context_length_exceeded", FailureCategory::Protocol),
        (3, "http_503", FailureCategory::Transport),
        (4, "odd", FailureCategory::Protocol),
    ] {
        let failure = model
            .call(request(index), &NoDeltaSink)
            .await
            .expect_err("it fails");
        assert_eq!(failure.kind, ModelFailureKind::FailFast, "{index}");
        assert_eq!(failure.artifact.kind, kind);
        assert_eq!(failure.artifact.category, category);
        assert!(!failure.may_be_billed);
    }
}

#[test]
fn a_script_may_set_its_price_and_data_boundary() {
    let free = load("rounds: [{text: a}]").profile("x");
    assert_eq!(
        (free.boundary, free.price, free.output_tokens_max),
        (DataBoundary::Process, None, 8_192)
    );
    let dear = load(
        "price: { input: 3, output: 15.25, cached_read: 0.3 }\nmax_output_tokens: 100\nboundary: outside\n\
         rounds: [{text: a}]",
    );
    let dear = dear.profile("x");
    assert_eq!(
        (dear.boundary, dear.output_tokens_max),
        (DataBoundary::Outside, 100)
    );
    let (price, basis) = dear.price.expect("a price");
    assert_eq!(basis, PriceBasis::Configured);
    assert_eq!(
        [price.input, price.output, price.cached_read, price.cached_write].map(|price| price.0),
        [3_000_000, 15_250_000, 300_000, 3_000_000]
    );
}
