//! Requests for streams, and their maximum number.

use super::test_server::TestServer;

const EVENTS: &str = "/api/agents/main/events";

/// More than the maximum number of open streams.
const ATTEMPTS_MAX: usize = 2_049;

#[tokio::test]
async fn last_event_id_has_precedence_over_the_query() {
    let world = TestServer::new();
    // The log is empty, so every number except 0 is beyond its end.
    let behind = format!("{EVENTS}?after_seq=7");
    assert!(world.follow(&behind, &[("last-event-id", "0")]).await.is_ok());
    let refused = world.follow(&behind, &[]).await.expect_err("beyond the end");
    assert_eq!(refused.code(), (404, "bad_cursor".to_owned()));
    let ahead = format!("{EVENTS}?after_seq=0");
    let refused = world.follow(&ahead, &[("last-event-id", "7")]).await;
    let refused = refused.expect_err("beyond the end");
    assert_eq!(refused.code(), (404, "bad_cursor".to_owned()));
}

#[tokio::test]
async fn a_stream_refuses_before_seq() {
    let world = TestServer::new();
    let path = format!("{EVENTS}?before_seq=7");
    let refused = world.follow(&path, &[]).await.expect_err("a page");
    assert_eq!(refused.code(), (400, "bad_query".to_owned()));
    assert_eq!(world.get(&path).await.status, 200);
}

#[tokio::test]
async fn streams_over_the_limit_are_refused_until_one_ends() {
    let world = TestServer::new();
    let mut open = Vec::new();
    let refused = loop {
        // The limit depends on how many files this machine lets a process open.
        assert!(open.len() < ATTEMPTS_MAX, "streams without an end");
        match world.follow("/api/events", &[]).await {
            Ok(stream) => open.push(stream),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.code(), (503, "too_many_streams".to_owned()));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(
        world.get("/api/agents").await.status,
        200,
        "only streams are too many"
    );
    open.pop();
    assert!(world.follow("/api/events", &[]).await.is_ok());
}
