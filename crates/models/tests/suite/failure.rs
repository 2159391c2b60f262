//! Tests of providers that respond with an error.

use serde_json::json;
use wakeful_core::failure::ModelFailureKind::{FailFast, Retryable};
use wakeful_core::failure::SUMMARY_CHARS_MAX;
use wakeful_models::Provider;
use wakeful_ports::model::Model as _;

use super::fake_provider::{FakeReply, KEY, fail, hosted, request, response};

const JSON: (&str, &str) = ("content-type", "application/json");

// Conformance: H-010, H-011
#[tokio::test]
async fn the_status_decides_whether_an_attempt_is_retried() {
    let cases = [
        (429, Retryable),
        (500, Retryable),
        (503, Retryable),
        (529, Retryable),
        (400, FailFast),
        (401, FailFast),
        (403, FailFast),
        (404, FailFast),
        (422, FailFast),
    ];
    for (status, kind) in cases {
        for provider in Provider::ALL {
            // The error repeats the key, as some servers do.
            let body = json!({"error": {"type": "some_error", "message": format!("no, {KEY}")}}).to_string();
            let bytes = response(status, &[JSON, ("retry-after", "3")], &body);
            let failure = fail(provider, FakeReply::Bytes(bytes)).await;
            assert_eq!((failure.kind, failure.artifact.status), (kind, Some(status)));
            assert_eq!(failure.artifact.kind, format!("http_{status}"));
            assert_eq!(failure.retry_after_ms, Some(3_000));
            assert!(failure.artifact.summary.contains("no, [hidden]"), "{failure:?}");
            let names_key = provider
                .key_variables()
                .iter()
                .all(|name| failure.artifact.summary.contains(name));
            assert_eq!(names_key, matches!(status, 401 | 403));
        }
    }
}

#[tokio::test]
async fn an_unparsed_error_is_shown_in_part_and_without_the_key() {
    // The key is at the position where the text is truncated.
    let page = format!("<html>{}{KEY}{}", "x".repeat(190), "y".repeat(100_000));
    let failure = fail(Provider::OpenAi, FakeReply::Bytes(response(502, &[], &page))).await;
    assert!(failure.artifact.summary.chars().count() < 300, "{failure:?}");
    assert!(!failure.artifact.summary.contains("sk-"), "{failure:?}");
}

#[tokio::test]
async fn no_error_of_a_provider_contains_the_key() {
    let code = json!({"error": {"code": KEY, "message": "no"}});
    let reason = json!({"status": "incomplete", "incomplete_details": {"reason": KEY}});
    for (status, body, kind) in [(400, code, "http_400"), (200, reason, "reply_withheld")] {
        let reply = FakeReply::Bytes(response(status, &[JSON], &body.to_string()));
        assert_eq!(fail(Provider::OpenAi, reply).await.artifact.kind, kind);
    }
}

/// Half a key would not be recognized and would not be redacted.
#[tokio::test]
async fn the_key_is_redacted_before_a_text_is_truncated() {
    for before in SUMMARY_CHARS_MAX - 60..SUMMARY_CHARS_MAX {
        let reason = format!("{}{KEY}", "x".repeat(before));
        let body = json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
        let failure = fail(
            Provider::OpenAi,
            FakeReply::Bytes(response(200, &[JSON], &body.to_string())),
        );
        let summary = failure.await.artifact.summary;
        assert!(!summary.contains("sk-"), "{summary}");
    }
}

#[tokio::test]
async fn a_retry_date_is_compared_with_the_clock_of_the_server() {
    let headers = [
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"),
    ];
    let failure = fail(Provider::Anthropic, FakeReply::Bytes(response(429, &headers, ""))).await;
    assert_eq!(failure.retry_after_ms, Some(10_000));
}

#[tokio::test]
async fn a_request_that_is_too_long_has_one_code_for_all_providers() {
    let bodies = [
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}),
        json!({"error": {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}}),
        json!({"error": {"code": "context_length_exceeded", "message": "maximum context length is 8 tokens"}}),
        json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}),
    ];
    for (provider, body) in Provider::ALL.into_iter().zip(bodies) {
        let reply = FakeReply::Bytes(response(400, &[JSON], &body.to_string()));
        let failure = fail(provider, reply).await;
        assert_eq!(failure.kind, FailFast);
        assert_eq!(failure.artifact.kind, "context_length_exceeded");
        assert_eq!(failure.artifact.status, Some(400));
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_counts_as_its_status() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}}}"#;
    let invalid = r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#;
    let unavailable = r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"later"}}"#;
    let cases = [
        (Provider::Anthropic, overloaded, Retryable, 529),
        (Provider::OpenAi, failed, Retryable, 429),
        (Provider::OpenAiChat, invalid, FailFast, 400),
        (Provider::Gemini, unavailable, Retryable, 503),
    ];
    for (provider, event, kind, status) in cases {
        let events = format!("data: {event}\n\n");
        let reply = FakeReply::Bytes(response(200, &[("content-type", "text/event-stream")], &events));
        let failure = fail(provider, reply).await;
        assert_eq!((failure.kind, failure.artifact.status), (kind, Some(status)));
    }
}

// Conformance: H-010
#[tokio::test]
async fn a_failed_connection_can_be_retried() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let model = hosted(Provider::Anthropic, &format!("http://{address}"));
    let asked = model.call(request(Provider::Anthropic), &wakeful_ports::model::NoDeltaSink);
    let failure = asked.await.expect_err("no server listens");
    assert_eq!(
        (failure.kind, failure.artifact.kind.as_str()),
        (Retryable, "connection_failed")
    );
    assert_eq!(
        failure.artifact.metadata.get("stage").map(String::as_str),
        Some("connect")
    );
    assert!(!failure.artifact.source_chain.is_empty());
}
