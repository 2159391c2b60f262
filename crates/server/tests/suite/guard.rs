//! No request is processed before its guards pass.

use std::sync::atomic::Ordering;

use axum::http::Method;
use wakeful_server::DaemonStage;

use super::test_server::{Answer, BEARER, HOST, TestServer, posted, request};

const MESSAGES: &str = "/api/agents/main/messages";
const MESSAGE: &str = r#"{"text":"hello"}"#;

fn refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.code(), (status, code.to_owned()));
}

// Conformance: P-142
#[tokio::test]
async fn the_api_and_the_metrics_need_the_token() {
    let world = TestServer::new();
    for path in [
        "/api/agents",
        "/api/status",
        "/api/nothing",
        "/api",
        "/metrics",
        "/api/events",
    ] {
        let answer = world.send(request(Method::GET, path, &[])).await;
        refused(&answer, 401, "unauthorized");
        assert!(answer.header("www-authenticate").starts_with("Bearer"), "{path}");
    }
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic a-token-that-nobody-could-guess-0",
    ] {
        let answer = world
            .send(request(Method::GET, "/api/agents", &[("authorization", value)]))
            .await;
        refused(&answer, 401, "unauthorized");
    }
    assert_eq!(world.get("/api/agents").await.status, 200);
}

#[tokio::test]
async fn health_contract_and_page_need_no_token() {
    let world = TestServer::new();
    for path in ["/healthz", "/readyz", "/api/openapi.json", "/"] {
        let answer = world.send(request(Method::GET, path, &[])).await;
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_foreign_host_is_refused_even_with_the_token_and_for_health() {
    let world = TestServer::new();
    for path in ["/api/agents", "/healthz", "/"] {
        for host in ["evil.example:7717", "127.0.0.1:80", ""] {
            let mut request = request(Method::GET, path, &[BEARER]);
            request
                .headers_mut()
                .insert("host", host.parse().expect("a value"));
            refused(&world.send(request).await, 421, "host_refused");
        }
        let mut request = request(Method::GET, path, &[BEARER]);
        request.headers_mut().remove("host");
        refused(&world.send(request).await, 421, "host_refused");
    }
}

#[tokio::test]
async fn a_request_line_cannot_hide_a_foreign_host() {
    let world = TestServer::new();
    let request = request(Method::GET, "http://evil.example:7717/api/agents", &[BEARER]);
    refused(&world.send(request).await, 421, "host_refused");
}

#[tokio::test]
async fn a_request_with_two_hosts_is_always_refused() {
    let world = TestServer::new();
    for second in ["evil.example:7717", "localhost:7717", HOST] {
        for path in ["/api/agents", "/healthz", "/"] {
            let answer = world
                .send(request(Method::GET, path, &[BEARER, ("host", second)]))
                .await;
            refused(&answer, 400, "bad_host");
        }
    }
}

#[tokio::test]
async fn a_second_origin_is_refused_next_to_our_own() {
    let world = TestServer::new();
    let ours = format!("http://{HOST}");
    let origins = [("origin", ours.as_str()), ("origin", "http://evil.example")];
    let headers = [BEARER, origins[0], origins[1]];
    refused(
        &world.send(posted(MESSAGES, MESSAGE, &headers)).await,
        403,
        "origin_refused",
    );
}

#[tokio::test]
async fn a_foreign_origin_is_refused_even_with_the_token() {
    let world = TestServer::new();
    for origin in ["http://evil.example", "null", "http://127.0.0.1:3000"] {
        for path in ["/api/agents", "/", "/healthz"] {
            let answer = world
                .send(request(Method::GET, path, &[BEARER, ("origin", origin)]))
                .await;
            refused(&answer, 403, "origin_refused");
        }
        let answer = world
            .send(posted(MESSAGES, MESSAGE, &[BEARER, ("origin", origin)]))
            .await;
        refused(&answer, 403, "origin_refused");
    }
    let ours = format!("http://{HOST}");
    let answer = world
        .send(posted(MESSAGES, MESSAGE, &[BEARER, ("origin", &ours)]))
        .await;
    assert_eq!(answer.status, 202);
    assert_eq!(world.services.storage.writes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn while_the_database_opens_the_api_answers_recovering() {
    let world = TestServer::new();
    world.stage.send_replace(DaemonStage::Recovering);
    for path in ["/api/agents", "/api/runtime/status", "/api/nothing"] {
        let answer = world.get(path).await;
        refused(&answer, 503, "recovering");
        assert_eq!(answer.header("retry-after"), "1");
    }
    refused(
        &world.send(request(Method::GET, "/api/agents", &[])).await,
        401,
        "unauthorized",
    );
    let ready = world.get("/readyz").await;
    assert_eq!(
        (ready.status.as_u16(), ready.body.as_str()),
        (503, r#"{"status":"recovering"}"#)
    );
    assert_eq!(world.get("/healthz").await.status, 200);
    assert!(world.get("/metrics").await.body.contains("wakeful_build_info"));
}

#[tokio::test]
async fn a_stopping_daemon_refuses_requests_with_its_code() {
    let world = TestServer::new();
    let asked = world.post("/api/runtime/shutdown", "").await;
    assert_eq!(
        (asked.status.as_u16(), asked.body.as_str()),
        (202, r#"{"status":"stopping"}"#)
    );
    assert!(world.told.stop.load(Ordering::Relaxed));
    world.stage.send_replace(DaemonStage::Stopping);
    refused(&world.get("/api/agents").await, 503, "stopping");
    assert_eq!(world.get("/readyz").await.body, r#"{"status":"stopping"}"#);
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_have_the_error_format() {
    let world = TestServer::new();
    refused(&world.get("/api/nothing").await, 404, "not_found");
    refused(&world.get("/api").await, 404, "not_found");
    let answer = world
        .send(request(Method::DELETE, "/api/agents", &[BEARER]))
        .await;
    refused(&answer, 405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET,HEAD,POST");
    let answer = world.send(request(Method::POST, "/nowhere", &[])).await;
    refused(&answer, 405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET, HEAD");
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let world = TestServer::new();
    let anonymous = world.send(request(Method::GET, "/api/agents", &[])).await;
    for answer in [world.get("/api/agents").await, world.get("/").await, anonymous] {
        assert!(
            answer
                .header("content-security-policy")
                .starts_with("default-src 'self';"),
            "{answer:?}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}
