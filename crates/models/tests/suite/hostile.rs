//! Tests of malicious or broken servers.

use serde_json::Value;
use wakeful_core::conversation::calls_of;
use wakeful_core::failure::ModelFailure;
use wakeful_core::failure::ModelFailureKind::{self, FailFast, Retryable};
use wakeful_models::Provider;
use wakeful_ports::model::ModelResponse;

use super::fake_provider::{FakeProvider, FakeReply, ask, fail, response};
use super::response::events;

const STREAM: (&str, &str) = ("content-type", "text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");
const MIB: usize = 1024 * 1024;

fn word(failure: &ModelFailure) -> (ModelFailureKind, &str) {
    (failure.kind, failure.artifact.kind.as_str())
}

#[tokio::test]
async fn a_truncated_stream_can_be_retried() {
    for provider in Provider::ALL {
        let whole = events(provider);
        let half: String = whole.chars().take(whole.chars().count() / 2).collect();
        let closed = fail(provider, FakeReply::Bytes(response(200, &[STREAM], &half))).await;
        assert_eq!(word(&closed), (Retryable, "truncated_stream"), "{provider:?}");
        let promised = response(200, &[STREAM, ("content-length", "100000")], &half);
        let broken = fail(provider, FakeReply::Bytes(promised)).await;
        assert_eq!(word(&broken), (Retryable, "connection_lost"), "{provider:?}");
        let chunked = format!("{:x}\r\n{half}\r\n", half.len());
        let chunked = response(200, &[STREAM, ("transfer-encoding", "chunked")], &chunked);
        let broken = fail(provider, FakeReply::Bytes(chunked)).await;
        assert_eq!(word(&broken), (Retryable, "connection_lost"), "{provider:?}");
    }
}

// Conformance: H-011
#[tokio::test]
async fn a_response_of_another_content_type_is_invalid() {
    for content_type in ["text/html", "application/octet-stream", "text/event-streams", ""] {
        let reply = response(200, &[("content-type", content_type)], events(Provider::OpenAi));
        let failure = fail(Provider::OpenAi, FakeReply::Bytes(reply)).await;
        assert_eq!(word(&failure), (FailFast, "invalid_response"), "{content_type}");
    }
    for body in ["", "<html>", "{\"half\":", "{}"] {
        for provider in Provider::ALL {
            let failure = fail(provider, FakeReply::Bytes(response(200, &[JSON], body))).await;
            assert_eq!(
                word(&failure),
                (FailFast, "invalid_response"),
                "{provider:?} {body}"
            );
        }
    }
}

#[tokio::test]
async fn an_endless_line_is_refused_at_its_limit() {
    let head = response(200, &[STREAM], "data: ");
    for provider in Provider::ALL {
        let fake = FakeProvider::new(FakeReply::Forever(head.clone(), vec![b'x'; MIB])).await;
        let failure = ask(provider, &fake).await.0.expect_err("a bound");
        assert_eq!(word(&failure), (FailFast, "invalid_response"));
        // The size limit plus the socket buffers, and not the gigabyte that could follow.
        assert!(fake.written() <= 24 * MIB, "{}", fake.written());
    }
}

#[tokio::test]
async fn an_endless_response_is_refused_at_its_limit() {
    let comment = format!(": {}\n\n", "x".repeat(MIB)).into_bytes();
    let cases = [(STREAM, "", comment), (JSON, "[", vec![b' '; MIB])];
    for (kind, begin, again) in cases {
        let fake = FakeProvider::new(FakeReply::Forever(response(200, &[kind], begin), again)).await;
        let failure = ask(Provider::OpenAiChat, &fake).await.0.expect_err("a bound");
        assert_eq!(word(&failure), (FailFast, "invalid_response"));
        assert!(fake.written() <= 64 * MIB, "{}", fake.written());
    }
}

#[tokio::test]
async fn endless_headers_are_refused() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let again = format!("x-{}: y\r\n", "x".repeat(1_000)).into_bytes();
    let fake = FakeProvider::new(FakeReply::Forever(head, again)).await;
    let failure = ask(Provider::Gemini, &fake).await.0.expect_err("a bound");
    assert_eq!(failure.kind, Retryable);
    assert!(fake.written() <= 16 * MIB, "{}", fake.written());
}

// Conformance: H-010
#[tokio::test]
async fn a_server_that_sends_nothing_times_out() {
    let failure = fail(Provider::Anthropic, FakeReply::Silence(Vec::new())).await;
    assert_eq!(word(&failure), (Retryable, "timeout"));
    assert_eq!(
        failure.artifact.metadata.get("stage").map(String::as_str),
        Some("first_byte")
    );
}

#[tokio::test]
async fn a_server_that_falls_silent_times_out() {
    let half = response(200, &[STREAM], "data: {\"type\":\"ping\"}\n\ndata: {");
    let failure = fail(Provider::Anthropic, FakeReply::Silence(half)).await;
    assert_eq!(word(&failure), (Retryable, "timeout"));
    assert_eq!(
        failure.artifact.metadata.get("stage").map(String::as_str),
        Some("next_byte")
    );
}

#[tokio::test]
async fn an_error_without_a_complete_body_is_still_reported() {
    let head = response(429, &[JSON, ("retry-after", "2"), ("content-length", "99")], "{");
    let failure = fail(Provider::OpenAi, FakeReply::Silence(head)).await;
    assert_eq!(word(&failure), (Retryable, "http_429"));
    assert_eq!(failure.retry_after_ms, Some(2_000));
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_invalid() {
    for kind in [STREAM, JSON] {
        let mut bytes = response(200, &[kind], "data: {\"type\":\"");
        bytes.extend(b"\xff\xfe\"}\n\n");
        let failure = fail(Provider::Anthropic, FakeReply::Bytes(bytes)).await;
        assert_eq!(word(&failure), (FailFast, "invalid_response"));
    }
}

#[tokio::test]
async fn reordered_events_are_invalid_and_repeated_ends_are_ignored() {
    let whole = events(Provider::Anthropic);
    let mut shuffled: Vec<&str> = whole.split_inclusive("\n\n").collect();
    shuffled.swap(1, 2);
    let reply = response(200, &[STREAM], &shuffled.concat());
    let failure = fail(Provider::Anthropic, FakeReply::Bytes(reply)).await;
    assert_eq!(word(&failure), (FailFast, "invalid_response"));
    let mut doubled: Vec<&str> = whole.split_inclusive("\n\n").collect();
    doubled.insert(1, doubled[1]);
    let reply = response(200, &[STREAM], &doubled.concat());
    let failure = fail(Provider::Anthropic, FakeReply::Bytes(reply)).await;
    assert_eq!(word(&failure), (FailFast, "invalid_response"));
    let ends = format!("{whole}{}", shuffled.last().expect("an end"));
    assert!(
        ask(Provider::Anthropic, &FakeProvider::stream(&ends).await)
            .await
            .0
            .is_ok()
    );
}

/// Repeats one event at every position of every stream. Most formats do not number text, so repeated text
/// appears twice; but a tool call has either the original arguments or invalid ones.
#[tokio::test]
async fn a_repeated_event_does_not_change_tool_arguments() {
    let inputs = |answer: &ModelResponse| {
        let calls = calls_of(&answer.blocks).into_iter();
        calls.map(|call| call.input.clone()).collect::<Vec<_>>()
    };
    for provider in Provider::ALL {
        let parts: Vec<&str> = events(provider).split_inclusive("\n\n").collect();
        let good = ask(provider, &FakeProvider::stream(events(provider)).await)
            .await
            .0
            .expect("an answer");
        for index in 0..parts.len() {
            let mut doubled = parts.clone();
            doubled.insert(index, parts[index]);
            match ask(provider, &FakeProvider::stream(&doubled.concat()).await)
                .await
                .0
            {
                Err(failure) => assert_eq!(
                    word(&failure),
                    (FailFast, "invalid_response"),
                    "{provider:?} {index}"
                ),
                Ok(answer) => {
                    let same = |input: &Value| input.is_string() || inputs(&good).contains(input);
                    assert!(
                        inputs(&answer).iter().all(same),
                        "{provider:?} {index}: {answer:?}"
                    );
                    // In these formats, complete items count and not their deltas.
                    let whole = matches!(provider, Provider::OpenAi | Provider::OpenAiCodex);
                    assert!(!whole || answer == good, "{provider:?} {index}");
                }
            }
        }
    }
}

/// Swaps two neighbouring events at every position of every stream.
#[tokio::test]
async fn swapped_events_never_give_a_partial_response() {
    for provider in Provider::ALL {
        let parts: Vec<&str> = events(provider).split_inclusive("\n\n").collect();
        let good = ask(provider, &FakeProvider::stream(events(provider)).await)
            .await
            .0
            .expect("an answer");
        for index in 1..parts.len() {
            let mut swapped = parts.clone();
            swapped.swap(index - 1, index);
            match ask(provider, &FakeProvider::stream(&swapped.concat()).await)
                .await
                .0
            {
                Err(failure) => {
                    let known = [(FailFast, "invalid_response"), (Retryable, "truncated_stream")];
                    assert!(
                        known.contains(&word(&failure)),
                        "{provider:?} {index}: {failure:?}"
                    );
                }
                // No block was lost.
                Ok(answer) => assert!(answer.blocks.len() >= good.blocks.len(), "{provider:?} {index}"),
            }
        }
    }
}

#[tokio::test]
async fn numbered_text_is_streamed_once() {
    let delta = |n: u32, text: &str| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\"delta\":\"{text}\"}}\n\n"
        )
    };
    let end =
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n";
    let stream = [
        delta(4, "one "),
        delta(4, "one "),
        delta(5, "two"),
        delta(4, "one "),
    ]
    .concat();
    let (answer, heard) = ask(
        Provider::OpenAi,
        &FakeProvider::stream(&format!("{stream}{end}")).await,
    )
    .await;
    assert!(answer.is_ok());
    assert_eq!(heard, "one two");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for provider in Provider::ALL {
        for status in [301, 302, 303, 307, 308] {
            let elsewhere = FakeProvider::stream(events(provider)).await;
            let location = format!("{}/v1/responses", elsewhere.url);
            let reply = response(status, &[("location", &location)], "");
            let failure = fail(provider, FakeReply::Bytes(reply)).await;
            assert_eq!(word(&failure), (FailFast, "redirect_refused"));
            assert!(elsewhere.asked().is_empty());
        }
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_can_be_retried() {
    for bytes in [
        &b""[..],
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ] {
        let failure = fail(Provider::Gemini, FakeReply::Bytes(bytes.to_vec())).await;
        assert_eq!(word(&failure), (Retryable, "connection_lost"), "{bytes:?}");
    }
}
