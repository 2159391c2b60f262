//! Every invalid request gets an error of the same shape that names the invalid part.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::Method;

use super::test_server::{BEARER, TestServer, posted, request};

const MESSAGES: &str = "/api/agents/main/messages";

// Conformance: A-04
#[tokio::test]
async fn an_invalid_body_is_refused_and_the_field_named() {
    let world = TestServer::new();
    let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(256 * 1024 + 1));
    for (body, code, named) in [
        ("", "bad_json", "JSON"),
        ("{", "bad_json", "JSON"),
        (r#"{"text":"a"} {}"#, "bad_json", "JSON"),
        (r#"{"text":1}"#, "bad_field", "text"),
        (r#"{}"#, "bad_field", "text"),
        (r#"["a"]"#, "bad_field", "object"),
        (r#"{"text":""}"#, "bad_field", "text"),
        (long.as_str(), "bad_field", "text"),
        (r#"{"text":"a","colour":"red"}"#, "bad_field", "colour"),
        (r#"{"text":"a","max_rounds":0}"#, "bad_field", "max_rounds"),
        (r#"{"text":"a","max_rounds":-1}"#, "bad_field", "max_rounds"),
        (r#"{"text":"a","model":""}"#, "bad_field", "model"),
        (r#"{"text":"a","key":""}"#, "bad_field", "idempotency key"),
        (r#"{"text":"a","key":"a\u0000b"}"#, "bad_field", "idempotency key"),
    ] {
        let answer = world.post(MESSAGES, body).await;
        assert_eq!(answer.code(), (400, code.to_owned()), "{body:.80}");
        assert!(
            answer.message().contains(named),
            "{} for {body:.80}",
            answer.message()
        );
    }
    let laden = r#"{"text":"a","attachments":[{"name":"a/b","media_type":"text/plain","data":"YWFh"}]}"#;
    let answer = world.post(MESSAGES, laden).await;
    assert_eq!(answer.code(), (409, "bad_attachment".to_owned()));
    assert!(answer.message().contains("a/b"), "{}", answer.message());
    assert_eq!(world.services.storage.writes.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_message_cannot_set_its_authority_or_its_correlation() {
    let world = TestServer::new();
    for (field, value) in [
        ("authority", r#""operator_instruction""#),
        ("origin", r#"{"kind":"operator"}"#),
        ("trust", r#""trusted_operator""#),
        ("surface", r#""run_once""#),
        ("context", r#""local_process""#),
        ("kind", r#""operator_prompt""#),
        ("correlation_id", r#""c1""#),
        ("causation_id", r#""c1""#),
        ("source_refs", "{}"),
        ("work_item_id", r#""w1""#),
        ("metadata", r#"{"workItemId":"w1"}"#),
    ] {
        let answer = world
            .post(MESSAGES, &format!(r#"{{"text":"a","{field}":{value}}}"#))
            .await;
        assert_eq!(answer.code(), (400, "bad_field".to_owned()), "{field}");
        assert!(answer.message().contains(field), "{}", answer.message());
    }
    let strange = world.post(MESSAGES, r#"{"text":"a","priority":"soon"}"#).await;
    assert_eq!(strange.code(), (400, "bad_field".to_owned()));
    assert_eq!(world.services.storage.writes.load(Ordering::Relaxed), 0);
    for priority in [
        r#""interject""#,
        r#""next""#,
        r#""normal""#,
        r#""background""#,
        "null",
    ] {
        let body = format!(r#"{{"text":"a","priority":{priority}}}"#);
        assert_eq!(world.post(MESSAGES, &body).await.status, 202, "{priority}");
    }
}

#[tokio::test]
async fn a_body_is_limited_to_one_mebibyte_plus_attachments() {
    let world = TestServer::new();
    let mebibytes = |path, count: usize| {
        let mut request = posted(path, "", &[BEARER]);
        *request.body_mut() = Body::from("x".repeat(count * 1024 * 1024 + 1));
        world.send(request)
    };
    let too_large = (413, "body_too_large".to_owned());
    assert_eq!(mebibytes("/api/agents", 1).await.code(), too_large);
    assert_eq!(mebibytes(MESSAGES, 1).await.code(), (400, "bad_json".to_owned()));
    assert_eq!(mebibytes(MESSAGES, 28).await.code(), too_large);
}

#[tokio::test]
async fn a_body_needs_the_json_content_type() {
    let world = TestServer::new();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let answer = world
            .send(posted(
                MESSAGES,
                r#"{"text":"a"}"#,
                &[BEARER, ("content-type", kind)],
            ))
            .await;
        assert_eq!(answer.code(), (415, "not_json".to_owned()), "{kind}");
    }
    let kind = ("content-type", "Application/JSON; charset=utf-8");
    let answer = world
        .send(posted(MESSAGES, r#"{"text":"a"}"#, &[BEARER, kind]))
        .await;
    assert_eq!(answer.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_times_out() {
    let world = TestServer::new();
    let mut request = posted(MESSAGES, "", &[BEARER]);
    *request.body_mut() = Body::new(Never);
    let began = tokio::time::Instant::now();
    assert_eq!(
        world.send(request).await.code(),
        (408, "request_timeout".to_owned())
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

/// A body that never arrives.
struct Never;

impl hyper::body::Body for Never {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test]
async fn an_idempotency_key_in_two_places_must_be_the_same() {
    let world = TestServer::new();
    let body = r#"{"text":"a","key":"k"}"#;
    let both = |key| posted(MESSAGES, body, &[BEARER, ("idempotency-key", key)]);
    assert_eq!(
        world.send(both("other")).await.code(),
        (409, "idempotency_keys_differ".to_owned())
    );
    let agreed = world.send(both("k")).await;
    let in_body = world.post(MESSAGES, body).await;
    let in_header = world
        .send(posted(
            MESSAGES,
            r#"{"text":"a"}"#,
            &[BEARER, ("idempotency-key", "k")],
        ))
        .await;
    let known = agreed
        .body
        .replace(r#""admission":"new""#, r#""admission":"duplicate""#);
    assert_eq!((agreed.status.as_u16(), &known), (202, &in_body.body));
    assert_eq!(in_header.body, in_body.body);
    let fresh = world.post(MESSAGES, r#"{"text":"a"}"#).await;
    assert_ne!(fresh.body, in_body.body);
}

#[tokio::test]
async fn a_server_error_is_distinguished_from_an_invalid_request() {
    let world = TestServer::new();
    let answer = world.post(MESSAGES, r#"{"text":"a","model":"nobody"}"#).await;
    assert_eq!(answer.code(), (409, "model_unknown".to_owned()));
    let answer = world.post("/api/agents", r#"{"agent_id":"main"}"#).await;
    assert_eq!(answer.code(), (409, "agent_exists".to_owned()));
}

#[tokio::test]
async fn ids_and_numbers_in_paths_and_queries_are_checked() {
    let world = TestServer::new();
    let key = "0".repeat(64);
    for (path, status, code) in [
        ("/api/agents/Main/status", 400, "bad_id"),
        ("/api/agents/%FF/status", 400, "bad_id"),
        ("/api/agents/a%2Fb/status", 400, "bad_id"),
        ("/api/agents/other/status", 404, "agent_unknown"),
        ("/api/agents/other/state", 404, "agent_unknown"),
        ("/api/agents/other/events", 404, "agent_unknown"),
        ("/api/agents/other/transcript", 404, "agent_unknown"),
        ("/api/agents/other/threads", 404, "agent_unknown"),
        ("/api/runs/12", 400, "bad_id"),
        (&format!("/api/runs/{key}"), 404, "run_unknown"),
        (&format!("/api/runs/{}", key.replace('0', "F")), 400, "bad_id"),
        (&format!("/api/runs/{key}/steps/{key}"), 404, "run_unknown"),
        (&format!("/api/runs/{key}/steps/12"), 400, "bad_id"),
        ("/api/runs?limit=0", 400, "bad_query"),
        ("/api/runs?limit=501", 400, "bad_query"),
        ("/api/runs?limit=many", 400, "bad_query"),
        ("/api/runs?limit=1&limit=2", 400, "bad_query"),
        ("/api/runs?colour=red", 400, "bad_query"),
        ("/api/runs?before=12", 400, "bad_query"),
        ("/api/runs?agent_id=Main", 400, "bad_query"),
        ("/api/agents/main/events?after_seq=-1", 400, "bad_query"),
        (
            "/api/agents/main/events?after_seq=18446744073709551615",
            400,
            "bad_query",
        ),
        ("/api/agents/main/transcript?limit=501", 400, "bad_query"),
        ("/api/agents/main/transcript?thread=a%20b", 400, "bad_query"),
    ] {
        assert_eq!(world.get(path).await.code(), (status, code.to_owned()), "{path}");
    }
    let named = world.get("/api/runs?limit=many").await.message();
    assert!(named.contains("limit"), "{named}");
    for path in [
        "/api/runs?limit=500&status=open",
        "/api/agents/main/events?after_seq=1&before_seq=2",
        "/api/status",
        "/api/state",
        "/api/runtime/status",
    ] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn pausing_needs_no_body() {
    let world = TestServer::new();
    let answer = world
        .send(request(Method::POST, "/api/agents/main/pause", &[BEARER]))
        .await;
    assert!(answer.body.contains(r#""control":"paused""#), "{answer:?}");
}

#[tokio::test]
async fn metrics_have_the_prometheus_text_format() {
    let world = TestServer::new();
    world.post(MESSAGES, r#"{"text":"a"}"#).await;
    world.get("/api/nothing").await;
    let numbers = world.get("/metrics").await;
    assert_eq!(
        numbers.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for line in [
        r#"wakeful_build_info{version="0.1.0"} 1"#,
        r#"wakeful_http_requests_total{route="/api/agents/{agent_id}/messages",status="2xx"} 1"#,
        r#"wakeful_http_requests_total{route="other",status="4xx"} 1"#,
        "wakeful_messages_accepted_total 1",
        r#"wakeful_agents{activity="queued"} 1"#,
        "wakeful_event_streams 0",
    ] {
        assert!(
            numbers.body.lines().any(|found| found == line),
            "{line} in\n{}",
            numbers.body
        );
    }
}
