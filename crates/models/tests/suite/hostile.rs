//! Servers that mean harm, or are broken as if they did.

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
async fn a_stream_that_stops_half_way_may_be_tried_again() {
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

#[tokio::test]
async fn a_response_of_another_kind_is_invalid() {
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
async fn a_line_without_end_is_given_up_at_its_bound() {
    let head = response(200, &[STREAM], "data: ");
    for provider in Provider::ALL {
        let fake = FakeProvider::new(FakeReply::Forever(head.clone(), vec![b'x'; MIB])).await;
        let failure = ask(provider, &fake).await.0.expect_err("a bound");
        assert_eq!(word(&failure), (FailFast, "invalid_response"));
        // What the bound is, and what the sockets hold on top of it: nothing of the gigabyte that may follow.
        assert!(fake.written() <= 24 * MIB, "{}", fake.written());
    }
}

#[tokio::test]
async fn a_response_without_end_is_given_up_at_its_bound() {
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
async fn headers_without_end_are_given_up() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let again = format!("x-{}: y\r\n", "x".repeat(1_000)).into_bytes();
    let fake = FakeProvider::new(FakeReply::Forever(head, again)).await;
    let failure = ask(Provider::Gemini, &fake).await.0.expect_err("a bound");
    assert_eq!(failure.kind, Retryable);
    assert!(fake.written() <= 16 * MIB, "{}", fake.written());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let failure = fail(Provider::Anthropic, FakeReply::Silence(Vec::new())).await;
    assert_eq!(word(&failure), (Retryable, "timeout"));
    assert_eq!(
        failure.artifact.metadata.get("stage").map(String::as_str),
        Some("first_byte")
    );
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up_in_time() {
    let half = response(200, &[STREAM], "data: {\"type\":\"ping\"}\n\ndata: {");
    let failure = fail(Provider::Anthropic, FakeReply::Silence(half)).await;
    assert_eq!(word(&failure), (Retryable, "timeout"));
    assert_eq!(
        failure.artifact.metadata.get("stage").map(String::as_str),
        Some("next_byte")
    );
}

#[tokio::test]
async fn an_error_whose_sentence_never_comes_is_told_nevertheless() {
    let head = response(429, &[JSON, ("retry-after", "2"), ("content-length", "99")], "{");
    let failure = fail(Provider::OpenAi, FakeReply::Silence(head)).await;
    assert_eq!(word(&failure), (Retryable, "http_429"));
    assert_eq!(failure.retry_after_ms, Some(2_000));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_invalid() {
    for kind in [STREAM, JSON] {
        let mut bytes = response(200, &[kind], "data: {\"type\":\"");
        bytes.extend(b"\xff\xfe\"}\n\n");
        let failure = fail(Provider::Anthropic, FakeReply::Bytes(bytes)).await;
        assert_eq!(word(&failure), (FailFast, "invalid_response"));
    }
}

#[tokio::test]
async fn events_in_another_order_are_invalid_and_repeated_ends_harmless() {
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

/// An event twice, at every place of every stream. Words have no number in most formats, so that twice is twice; but what
/// a tool is asked for is what was written, or no arguments at all.
#[tokio::test]
async fn an_event_that_comes_twice_asks_no_tool_for_anything_else() {
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
                    // Here whole items count, and not the pieces on the way to them.
                    let whole = matches!(provider, Provider::OpenAi | Provider::OpenAiCodex);
                    assert!(!whole || answer == good, "{provider:?} {index}");
                }
            }
        }
    }
}

/// Two neighbours in each other's place, at every place of every stream.
#[tokio::test]
async fn events_in_each_others_place_give_no_answer_with_half_of_it() {
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
                // Nothing was lost on the way.
                Ok(answer) => assert!(answer.blocks.len() >= good.blocks.len(), "{provider:?} {index}"),
            }
        }
    }
}

#[tokio::test]
async fn words_with_a_number_are_told_once() {
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
async fn nobody_is_followed_to_another_address() {
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
async fn what_is_no_http_may_be_tried_again() {
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
