//! Rate limits, concurrency limits and timeouts.

use std::sync::atomic::Ordering;

use axum::http::Method;
use serde_json::Value;
use wakeful_core::rate::{OUTSIDE_REQUESTS_PER_MINUTE, OUTSIDE_TURNS_PER_MINUTE};
use wakeful_server::RateLimits;

use super::test_server::{BEARER, TestServer, posted, request};

const MESSAGE: &str = r#"{"text":"hello"}"#;
const OFF: RateLimits = RateLimits {
    client_per_minute: 0,
    messages_per_minute: 0,
    failures_per_minute: 0,
    outside_per_minute: 0,
    outside_turns_per_minute: 0,
};

// Conformance: A-211
#[tokio::test]
async fn a_client_over_its_rate_limit_gets_a_retry_time() {
    let world = TestServer::limited(RateLimits {
        client_per_minute: 2,
        ..OFF
    });
    for _ in 0..2 {
        assert_eq!(world.get("/api/agents").await.status, 200);
    }
    let answer = world.get("/api/agents").await;
    assert_eq!(answer.code(), (429, "rate_limited".to_owned()));
    assert_eq!(answer.header("retry-after"), "60");
    assert!(answer.hint().contains("`server.rate_per_minute`"), "{answer:?}");
    assert_eq!(world.get("/healthz").await.status, 200, "health is never refused");
    world.time.pass(60_000);
    assert_eq!(world.get("/api/agents").await.status, 200);
}

#[tokio::test]
async fn messages_over_the_rate_limit_are_refused_before_the_body_is_read() {
    let world = TestServer::limited(RateLimits {
        messages_per_minute: 1,
        ..OFF
    });
    assert_eq!(world.post("/api/agents/main/messages", MESSAGE).await.status, 202);
    let answer = world.post("/api/agents/main/messages", "no JSON at all").await;
    assert_eq!(answer.code(), (429, "rate_limited".to_owned()));
    assert!(
        answer.hint().contains("`server.messages_per_minute`"),
        "{answer:?}"
    );
    assert_eq!(
        world.post("/api/agents/other/messages", MESSAGE).await.code().0,
        404
    );
    assert_eq!(world.services.storage.writes.load(Ordering::Relaxed), 2);
    assert!(
        world
            .get("/metrics")
            .await
            .body
            .contains("wakeful_rate_limited_total 1\n")
    );
}

#[tokio::test]
async fn guessing_is_slowed_down_and_the_right_token_still_passes() {
    let world = TestServer::limited(RateLimits {
        failures_per_minute: 3,
        ..OFF
    });
    let guess = || request(Method::GET, "/api/agents", &[("authorization", "Bearer wrong")]);
    for _ in 0..3 {
        assert_eq!(world.send(guess()).await.code().0, 401);
    }
    let slowed = world.send(guess()).await;
    assert_eq!(slowed.code(), (429, "rate_limited".to_owned()));
    assert_eq!(
        slowed.hint(),
        "wait a minute; then use the daemon's token, or open a new link from `wakeful open`"
    );
    assert_eq!(world.get("/api/agents").await.status, 200);
    let nothing = world.send(request(Method::GET, "/api/agents", &[])).await;
    assert_eq!(nothing.code().0, 401, "who shows nothing guesses nothing");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_takes_too_long_times_out() {
    let world = TestServer::new();
    let _held = world.services.storage.hold_writes().await;
    let began = tokio::time::Instant::now();
    let answer = world.post("/api/agents/main/messages", MESSAGE).await;
    assert_eq!(
        began.elapsed().as_secs(),
        60,
        "as long as a body and an answer may take"
    );
    assert_eq!(answer.code(), (503, "response_timeout".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn requests_over_the_limit_are_refused_but_health_responds() {
    let world = TestServer::new();
    let _held = world.services.storage.hold_writes().await;
    let post = || Box::pin(world.post("/api/agents/main/messages", MESSAGE));
    let mut many: Vec<_> = (0..256).map(|_| post()).collect();
    for request in &mut many {
        assert!(futures_poll(request.as_mut()).await.is_none(), "it waits");
    }
    let answer = world.get("/api/agents").await;
    assert_eq!(answer.code(), (503, "overloaded".to_owned()));
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(
        world.send(request(Method::GET, "/healthz", &[])).await.status,
        200
    );
    drop(many);
    assert_eq!(
        world
            .send(request(Method::GET, "/api/agents", &[BEARER]))
            .await
            .status,
        200
    );
}

/// Polls a future once.
pub(super) async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

// Conformance: A-211
#[tokio::test]
async fn outside_callers_may_cause_twenty_turns_a_minute() {
    let world = TestServer::limited(RateLimits {
        outside_turns_per_minute: OUTSIDE_TURNS_PER_MINUTE,
        ..OFF
    });
    let path = trigger(&world).await;
    let deliver = async |number: u32| world.send(posted(&path, &format!("body {number}"), &[])).await;
    for number in [0, 0].into_iter().chain(1..OUTSIDE_TURNS_PER_MINUTE) {
        assert_eq!(deliver(number).await.status, 202, "a repetition causes no turn");
    }
    let refused = deliver(OUTSIDE_TURNS_PER_MINUTE).await;
    assert_eq!(refused.code(), (429, "rate_limited".to_owned()));
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(refused.hint(), "wait for the time in Retry-After");
    let own = world
        .post("/api/agents/main/messages", r#"{"text":"from the owner"}"#)
        .await;
    assert_eq!(own.status, 202, "the owner's clients have their own rate");
    world.time.pass(60_000);
    assert_eq!(deliver(OUTSIDE_TURNS_PER_MINUTE).await.status, 202);
}

// Conformance: A-211
#[tokio::test]
async fn the_hundred_and_first_request_of_an_outside_caller_is_refused() {
    let world = TestServer::limited(RateLimits {
        outside_per_minute: OUTSIDE_REQUESTS_PER_MINUTE,
        ..OFF
    });
    let path = trigger(&world).await;
    for number in 0..OUTSIDE_REQUESTS_PER_MINUTE {
        assert_eq!(world.send(posted(&path, "x", &[])).await.status, 202, "{number}");
    }
    let refused = world.send(posted(&path, "x", &[])).await;
    assert_eq!(refused.code(), (429, "rate_limited".to_owned()));
    assert_eq!(refused.header("retry-after"), "60");
}

async fn trigger(world: &TestServer) -> String {
    let shown = world.post("/api/agents/main/external-trigger", "").await;
    let shown: Value = serde_json::from_str(&shown.body).expect("JSON");
    shown["trigger_path"].as_str().expect("a path").to_owned()
}
