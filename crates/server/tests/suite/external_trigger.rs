//! The public trigger endpoint: requests that are certain to be refused cause no database read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use wakeful_core::budget::{BudgetResource, BudgetScope, LimitKey};
use wakeful_core::time::Millis;
use wakeful_server::RateLimits;

use super::test_server::{NOON_MS, TestServer, posted};

/// Maximum deliveries per trigger URL and minute of these servers: more than any burst here.
const DELIVERIES: usize = 600;

/// Maximum wrong trigger URLs per client and minute.
const FAILURES: u32 = 3;

/// How often to yield to other tasks before the test gives up.
const ROUNDS_MAX: usize = 10_000;

fn server_with_trigger() -> Arc<TestServer> {
    Arc::new(TestServer::limited(RateLimits {
        failures_per_minute: FAILURES,
        client_per_minute: 0,
        messages_per_minute: 0,
        outside_per_minute: u32::try_from(DELIVERIES).expect("a limit"),
        outside_turns_per_minute: 0,
    }))
}

/// Changes the trigger and returns its new URL.
async fn address(world: &TestServer, deed: &str) -> Option<String> {
    let shown = world
        .post(&format!("/api/agents/main/external-trigger{deed}"), "")
        .await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
    let shown: wakeful_api::ExternalTrigger = serde_json::from_str(&shown.body).expect("a trigger");
    shown.trigger_path
}

async fn call(world: &TestServer, path: &str) -> StatusCode {
    world.send(posted(path, "x", &[])).await.status
}

fn looks(world: &TestServer) -> usize {
    world.services.storage.reads.load(Ordering::Relaxed)
}

fn writes(world: &TestServer) -> usize {
    world.services.storage.writes.load(Ordering::Relaxed)
}

/// Yields until this many reads have started.
async fn until_looked(world: &TestServer, count: usize) {
    let mut rounds = 0..ROUNDS_MAX;
    while looks(world) != count && rounds.next().is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(looks(world), count, "looks that have begun");
}

#[tokio::test]
async fn a_trigger_url_over_its_limit_is_refused_without_a_read() {
    let world = server_with_trigger();
    let first = address(&world, "").await.expect("an address");
    let before = looks(&world);
    for number in 0..DELIVERIES {
        assert_eq!(call(&world, &first).await, StatusCode::ACCEPTED, "{number}");
    }
    let after = looks(&world);
    assert_eq!(after, before + 2 * DELIVERIES, "the trigger and the budget");
    let refused = world.send(posted(&first, "x", &[])).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.body);
    assert_eq!(refused.headers["retry-after"], "60");
    assert_eq!(looks(&world), after, "nothing was read");
    // A replaced URL is unknown at once, regardless of its earlier use.
    let second = address(&world, "/rotate").await.expect("another");
    assert_eq!(call(&world, &first).await, StatusCode::NOT_FOUND);
    for number in 0..DELIVERIES {
        assert_eq!(call(&world, &second).await, StatusCode::ACCEPTED, "{number}");
    }
    assert_eq!(call(&world, &second).await, StatusCode::TOO_MANY_REQUESTS);
    world.time.pass(60_000);
    assert_eq!(
        call(&world, &second).await,
        StatusCode::ACCEPTED,
        "a fresh minute"
    );
    for _ in 1..DELIVERIES {
        call(&world, &second).await;
    }
    assert_eq!(call(&world, &second).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(address(&world, "/revoke").await, None);
    assert_eq!(call(&world, &second).await, StatusCode::NOT_FOUND, "revoked");
}

#[tokio::test(start_paused = true)]
async fn guesses_are_read_one_at_a_time_and_valid_urls_pass() {
    let world = server_with_trigger();
    let right = address(&world, "").await.expect("an address");
    let wrong = |id: u32| format!("/api/external-triggers/trigger-{id}/{}", "0".repeat(64));
    for id in 0..FAILURES {
        assert_eq!(call(&world, &wrong(id)).await, StatusCode::NOT_FOUND);
    }
    assert_eq!(
        call(&world, &right).await,
        StatusCode::ACCEPTED,
        "never seen before"
    );
    let before = looks(&world);
    let still = world.services.storage.reading.write().await;
    let begin = |path: String| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { call(&world, &path).await })
    };
    let guess = begin(wrong(7));
    until_looked(&world, before + 1).await;
    assert_eq!(call(&world, &wrong(8)).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(looks(&world), before + 1, "one look at a time");
    let known = begin(right);
    until_looked(&world, before + 2).await;
    drop(still);
    assert_eq!(known.await.expect("an answer"), StatusCode::ACCEPTED);
    assert_eq!(guess.await.expect("an answer"), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_deliveries_is_written_in_small_batches() {
    /// Maximum number of concurrent deliveries, and of concurrent writes among them.
    const PLACES: usize = 128;
    const AT_ONCE: usize = 8;
    let world = server_with_trigger();
    let path = address(&world, "").await.expect("an address");
    let (looked, written) = (looks(&world), writes(&world));
    let full = world.services.storage.hold_writes().await;
    let begin = || {
        let (world, path) = (Arc::clone(&world), path.clone());
        tokio::spawn(async move { call(&world, &path).await })
    };
    let burst: Vec<_> = (0..PLACES).map(|_| begin()).collect();
    // The trigger and the budget.
    until_looked(&world, looked + 2 * PLACES).await;
    for _ in 0..ROUNDS_MAX {
        tokio::task::yield_now().await;
    }
    assert_eq!(writes(&world), written + AT_ONCE);
    assert_eq!(call(&world, &path).await, StatusCode::SERVICE_UNAVAILABLE);
    world.services.storage.hold_no_more_writes();
    let other = world
        .post("/api/agents/main/messages", r#"{"text":"hello"}"#)
        .await;
    assert_eq!(other.status, StatusCode::ACCEPTED, "{}", other.body);
    drop(full);
    for delivery in burst {
        assert_eq!(delivery.await.expect("an answer"), StatusCode::ACCEPTED);
    }
    assert_eq!(
        call(&world, &path).await,
        StatusCode::ACCEPTED,
        "there is room again"
    );
}

/// Limits `main` to ten tokens, of which this many are used.
async fn use_tokens(world: &TestServer, used: u64) {
    let key = LimitKey::new(BudgetScope::Agent, "main", BudgetResource::Tokens, None).expect("a limit");
    let set = world.services.store.write(move |tx| {
        tx.clear_limit(key.id(), Millis(NOON_MS))?;
        tx.set_limit(&key, 10, used, Millis(NOON_MS))
    });
    set.await.expect("a store");
}

// Conformance: A-212
#[tokio::test]
async fn a_delivery_is_refused_while_the_budget_is_spent() {
    let world = server_with_trigger();
    let path = address(&world, "").await.expect("an address");
    use_tokens(&world, 9).await;
    assert_eq!(
        call(&world, &path).await,
        StatusCode::ACCEPTED,
        "one token is left"
    );
    use_tokens(&world, 10).await;
    let before = writes(&world);
    let long_id = "x".repeat(201);
    let refused = world
        .send(posted(&path, "y", &[("idempotency-key", &long_id)]))
        .await;
    assert_eq!(
        refused.code(),
        (429, "rate_limited".to_owned()),
        "before the rest is validated"
    );
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(writes(&world), before, "no message and no run");
    let told = refused.body.to_ascii_lowercase();
    for word in ["budget", "token", "limit", "quota", "main"] {
        assert!(!told.replace("rate_limited", "").contains(word), "{word}: {told}");
    }
    let wrong = format!("{path}0");
    assert_eq!(call(&world, &wrong).await, StatusCode::NOT_FOUND);
    let own = world
        .post("/api/agents/main/messages", r#"{"text":"from the owner"}"#)
        .await;
    assert_eq!(own.status, 202, "messages of the owner are kept");
    let seen = world.get("/api/budget/limits").await;
    assert!(seen.body.contains("\"used\":10"), "{}", seen.body);
    use_tokens(&world, 0).await;
    assert_eq!(call(&world, &path).await, StatusCode::ACCEPTED);
}
