//! The list of logins: saving, listing and revoking; and the tickets of their streams.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use axum::http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tracing::{Dispatch, Level, dispatcher};

use super::login::{Browser, code, refused, refused_stream};
use super::test_server::{BEARER, TOKEN, TestServer, posted, request};

#[tokio::test]
async fn a_ticket_opens_one_stream_of_its_login() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let ticket = format!("ticket={}", browser.ticket(&world).await);
    let headers = [
        ("cookie", browser.cookie.as_str()),
        ("accept", "text/event-stream"),
    ];
    let path = format!("/api/agents/main/events?after_seq=0&{ticket}");
    let response = world.open(request(Method::GET, &path, &headers)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        refused_stream(&world, &browser.cookie, &ticket).await.code(),
        refused(),
        "it was used"
    );
}

#[tokio::test]
async fn a_ticket_expires_after_half_a_minute() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let ticket = browser.ticket(&world).await;
    world.time.pass(30_000);
    let answer = refused_stream(&world, &browser.cookie, &format!("ticket={ticket}")).await;
    assert_eq!(answer.code(), refused());
}

#[tokio::test]
async fn a_ticket_of_another_login_is_refused() {
    let world = TestServer::new();
    let (mine, other) = (Browser::enter(&world).await, Browser::enter(&world).await);
    let query = format!("ticket={}", other.ticket(&world).await);
    assert_eq!(
        refused_stream(&world, &mine.cookie, &query).await.code(),
        refused()
    );
    let query = format!("ticket={}", other.ticket(&world).await);
    assert_eq!(
        refused_stream(&world, "", &query).await.code(),
        refused(),
        "without a cookie"
    );
}

#[tokio::test]
async fn a_ticket_is_accepted_only_for_streams() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let headers = [
        ("cookie", browser.cookie.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    for (accept, path) in [
        ("application/json", "/api/events"),
        ("text/event-stream", "/api/agents"),
        ("text/event-stream", "/api/logins"),
    ] {
        let path = format!("{path}?ticket={}", browser.ticket(&world).await);
        let headers = [&headers[..], &[("accept", accept)]].concat();
        let answer = world.send(request(Method::GET, &path, &headers)).await;
        assert_eq!(answer.code(), refused(), "{path}");
    }
    let by_program = world.post("/api/stream-tickets", "").await;
    assert_eq!(by_program.code(), (403, "login_required".to_owned()));
}

#[tokio::test]
async fn a_login_survives_a_restart_but_not_a_new_token() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let restarted = world.restarted(TOKEN);
    assert_eq!(browser.get(&restarted, "/api/agents").await.status, 200);
    let rotated = world.restarted(&TOKEN.replace('a', "b"));
    assert_eq!(browser.get(&rotated, "/api/agents").await.code(), refused());
}

#[tokio::test]
async fn a_login_ends_after_thirty_days() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    world.time.pass(30 * 24 * 60 * 60 * 1_000 - 1);
    assert_eq!(browser.get(&world, "/api/agents").await.status, 200);
    world.time.pass(1);
    assert_eq!(browser.get(&world, "/api/agents").await.code(), refused());
}

#[tokio::test]
async fn only_hashes_of_secrets_are_saved() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let saved = world.logins.list.lock().expect("a lock").clone().expect("a list");
    let saved = String::from_utf8(saved).expect("text");
    let secret = browser.cookie.rsplit_once('.').expect("a secret").1;
    assert!(!saved.contains(secret) && !saved.contains(&browser.token) && !saved.contains(TOKEN));
}

#[tokio::test]
async fn logins_are_listed_with_their_browser_and_last_use() {
    let world = TestServer::new();
    let body = json!({"code": code(&world).await}).to_string();
    let firefox = [(
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    )];
    assert_eq!(world.send(posted("/login", &body, &firefox)).await.status, 200);
    world.time.pass(1_000);
    let browser = Browser::enter(&world).await;
    world.time.pass(3_600_000);
    let list: Value = serde_json::from_str(&browser.get(&world, "/api/logins").await.body).expect("JSON");
    let names = |field: &str| [&list["logins"][0][field], &list["logins"][1][field]].map(Value::clone);
    assert_eq!(
        names("name"),
        [json!("Unknown browser"), json!("Firefox on Linux")]
    );
    assert_eq!(names("is_current"), [json!(true), json!(false)]);
    assert_eq!(list["logins"][0]["created_at"], "2026-02-17T16:00:01.000Z");
    assert_eq!(list["logins"][0]["last_used_at"], "2026-02-17T17:00:01.000Z");
    assert_eq!(list["logins"][1]["last_used_at"], "2026-02-17T16:00:00.000Z");
    assert_eq!(list["logins"][1]["expires_at"], "2026-03-19T16:00:00.000Z");
}

#[tokio::test]
async fn a_revoked_login_stays_revoked_after_a_restart() {
    let world = TestServer::new();
    let (mine, other) = (Browser::enter(&world).await, Browser::enter(&world).await);
    let (ids, current) = mine.logins(&world).await;
    let theirs = ids.iter().find(|id| **id != current).expect("the other login");
    let path = format!("/api/logins/{theirs}");
    assert_eq!(mine.ask(&world, Method::DELETE, &path).await.status, 204);
    assert_eq!(
        mine.ask(&world, Method::DELETE, &path).await.code(),
        (404, "login_unknown".to_owned())
    );
    for world in [&world, &world.restarted(TOKEN)] {
        assert_eq!(other.get(world, "/api/agents").await.code(), refused());
        assert_eq!(mine.get(world, "/api/agents").await.status, 200);
    }
    let bad = mine.ask(&world, Method::DELETE, "/api/logins/x").await;
    assert_eq!(bad.code(), (400, "bad_id".to_owned()));
}

#[tokio::test]
async fn all_logins_can_be_revoked_at_once() {
    let world = TestServer::new();
    let browsers = [Browser::enter(&world).await, Browser::enter(&world).await];
    let headers = [BEARER];
    let answer = world.send(request(Method::DELETE, "/api/logins", &headers)).await;
    assert_eq!(answer.status, 204);
    for browser in &browsers {
        assert_eq!(browser.get(&world, "/api/agents").await.code(), refused());
        assert_eq!(
            browser.get(&world.restarted(TOKEN), "/api/agents").await.code(),
            refused()
        );
    }
}

#[tokio::test]
async fn on_a_full_disk_a_revoked_login_does_not_come_back() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    world.logins.is_full.store(true, Ordering::Relaxed);
    assert_eq!(browser.ask(&world, Method::POST, "/api/logout").await.status, 204);
    for world in [&world, &world.restarted(TOKEN)] {
        assert_eq!(browser.get(world, "/api/agents").await.code(), refused());
    }
}

#[tokio::test]
async fn the_streams_of_a_revoked_login_end() {
    let world = TestServer::new();
    let (mine, other) = (Browser::enter(&world).await, Browser::enter(&world).await);
    let follow = async |browser: &Browser| {
        let headers = browser.headers(&[("accept", "text/event-stream")]);
        let response = world.open(request(Method::GET, "/api/events", &headers)).await;
        let mut body = response.into_body();
        assert!(body.frame().await.is_some(), "its first frame");
        body
    };
    let (mut stream, mut going_on) = (follow(&mine).await, follow(&other).await);
    assert_eq!(mine.ask(&world, Method::POST, "/api/logout").await.status, 204);
    assert!(stream.frame().await.is_none());
    let next = tokio::time::timeout(std::time::Duration::from_millis(50), going_on.frame()).await;
    assert!(next.is_err(), "another login's stream continues");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines logged while the future runs, including those of blocking threads.
fn log_of(work: impl Future<Output = ()>) -> Vec<String> {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_writer(move || writer.clone());
    let dispatch = Dispatch::new(lines.with_max_level(Level::WARN).finish());
    let inherited = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_start(move || std::mem::forget(dispatcher::set_default(&inherited)))
        .build()
        .expect("a runtime");
    dispatcher::with_default(&dispatch, || runtime.block_on(work));
    drop(runtime);
    let written = String::from_utf8(log.0.lock().expect("a lock").clone()).expect("text");
    written.lines().map(str::to_owned).collect()
}

#[test]
fn beyond_64_logins_the_least_recently_used_ends() {
    let log = log_of(async {
        let world = TestServer::new();
        let (idle, used) = (Browser::enter(&world).await, Browser::enter(&world).await);
        world.time.pass(3_600_000);
        assert_eq!(used.get(&world, "/api/agents").await.status, 200);
        for _ in 2..65 {
            Browser::enter(&world).await;
        }
        assert_eq!(idle.get(&world, "/api/agents").await.code(), refused());
        assert_eq!(used.get(&world, "/api/agents").await.status, 200);
        assert_eq!(used.logins(&world).await.0.len(), 64);
    });
    assert!(
        matches!(&log[..], [line] if line.contains("was ended: there were more than 64")),
        "{log:?}"
    );
}
