//! Browser logins: login, session and logout.

use axum::http::Method;
use serde_json::{Value, json};
use wakeful_server::RateLimits;

use super::test_server::{Answer, HOST, TOKEN, TestServer, posted, request};

const PAUSE: &str = "/api/agents/main/pause";

/// A logged-in browser: the headers that it sends with every request.
pub(super) struct Browser {
    pub(super) cookie: String,
    pub(super) token: String,
}

impl Browser {
    /// Logs in with a fresh link.
    pub(super) async fn enter(world: &TestServer) -> Self {
        let entered = enter(world, &code(world).await).await;
        assert_eq!(entered.status, 200, "{entered:?}");
        let set = entered.header("set-cookie");
        let body: Value = serde_json::from_str(&entered.body).expect("JSON");
        Self {
            cookie: set.split(';').next().unwrap_or_default().to_owned(),
            token: body["token"].as_str().expect("a token").to_owned(),
        }
    }

    /// Its headers, followed by others.
    pub(super) fn headers<'a>(&'a self, others: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [
            ("cookie", self.cookie.as_str()),
            ("x-wakeful-token", self.token.as_str()),
        ];
        [&own, others].concat()
    }

    pub(super) async fn get(&self, world: &TestServer, path: &str) -> Answer {
        world.send(request(Method::GET, path, &self.headers(&[]))).await
    }

    pub(super) async fn ask(&self, world: &TestServer, method: Method, path: &str) -> Answer {
        let headers = self.headers(&[("sec-fetch-site", "same-origin")]);
        world.send(request(method, path, &headers)).await
    }

    /// A fresh ticket for a stream.
    pub(super) async fn ticket(&self, world: &TestServer) -> String {
        let answer = self.ask(world, Method::POST, "/api/stream-tickets").await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        body["ticket"].as_str().expect("a ticket").to_owned()
    }

    /// The login ids, newest first, and the id of this browser's login.
    pub(super) async fn logins(&self, world: &TestServer) -> (Vec<String>, String) {
        let list: Value = serde_json::from_str(&self.get(world, "/api/logins").await.body).expect("JSON");
        let logins = list["logins"].as_array().expect("a list").clone();
        let id = |login: &Value| login["id"].as_str().expect("an id").to_owned();
        let current = logins.iter().find(|login| login["is_current"] == true).map(id);
        (logins.iter().map(id).collect(), current.expect("this login"))
    }
}

/// The code of a fresh link.
pub(super) async fn code(world: &TestServer) -> String {
    let answer = world.post("/api/login-links", "").await;
    assert_eq!(answer.status, 201);
    let link: Value = serde_json::from_str(&answer.body).expect("JSON");
    let url = link["url"].as_str().expect("a URL");
    let code = url.strip_prefix(&format!("http://{HOST}/login#code="));
    code.expect("our address").to_owned()
}

/// Submits a code as the page does.
async fn enter(world: &TestServer, code: &str) -> Answer {
    let body = json!({"code": code}).to_string();
    world.send(posted("/login", &body, &[])).await
}

/// The refusal of a stream that is opened as `EventSource` does: with the cookie and the query only.
pub(super) async fn refused_stream(world: &TestServer, cookie: &str, query: &str) -> Answer {
    let headers = [
        ("cookie", cookie),
        ("accept", "text/event-stream"),
        ("sec-fetch-site", "same-origin"),
    ];
    let path = format!("/api/events?{query}");
    let response = world.open(request(Method::GET, &path, &headers)).await;
    assert_ne!(response.status(), 200, "the stream was opened");
    Answer::read(response).await
}

pub(super) fn refused() -> (u16, String) {
    (401, "unauthorized".to_owned())
}

#[tokio::test]
async fn a_link_can_be_used_for_one_login() {
    let world = TestServer::new();
    let code = code(&world).await;
    let entered = enter(&world, &code).await;
    assert_eq!(entered.status, 200);
    let set = entered.header("set-cookie");
    let (value, attributes) = set.split_once(';').expect("attributes");
    assert!(value.starts_with("wakeful_session=v2."), "{set}");
    assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000");
    let again = enter(&world, &code).await;
    assert_eq!(again.code(), (404, "login_link_expired".to_owned()));
    assert_eq!(again.header("set-cookie"), "");
    let browser = Browser::enter(&world).await;
    assert_eq!(browser.get(&world, "/api/agents").await.status, 200);
}

#[tokio::test]
async fn a_link_expires_after_a_minute() {
    let world = TestServer::new();
    let (first, second) = (code(&world).await, code(&world).await);
    world.time.pass(59_999);
    assert_eq!(enter(&world, &first).await.status, 200);
    world.time.pass(1);
    assert_eq!(enter(&world, &second).await.code().0, 404);
}

#[tokio::test]
async fn a_get_request_does_not_use_up_a_link() {
    let world = TestServer::new();
    let code = code(&world).await;
    for method in [Method::HEAD, Method::GET] {
        assert_eq!(world.send(request(method, "/login", &[])).await.status, 200);
    }
    assert_eq!(enter(&world, &code).await.status, 200);
}

#[tokio::test]
async fn a_login_is_accepted_only_from_our_own_page() {
    let world = TestServer::new();
    let code = code(&world).await;
    let body = json!({"code": code}).to_string();
    for origin in ["null", "http://127.0.0.1:8080", "http://evil.example"] {
        let answer = world.send(posted("/login", &body, &[("origin", origin)])).await;
        assert_eq!(answer.code(), (403, "origin_refused".to_owned()), "{origin}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(world.send(posted("/login", &body, &form)).await.code().0, 415);
    assert_eq!(enter(&world, &code).await.status, 200, "none of them used it up");
}

#[tokio::test]
async fn an_invalid_code_is_refused() {
    let world = TestServer::new();
    for code in ["", "12", &"G".repeat(64)] {
        let answer = enter(&world, code).await;
        assert_eq!(answer.code(), (400, "bad_field".to_owned()), "{code}");
    }
    assert_eq!(enter(&world, &"0".repeat(64)).await.code().0, 404);
}

#[tokio::test]
async fn guessing_codes_is_slowed_down() {
    let world = TestServer::limited(RateLimits {
        client_per_minute: 0,
        messages_per_minute: 0,
        failures_per_minute: 1,
        outside_per_minute: 0,
        outside_turns_per_minute: 0,
    });
    let guess = "1".repeat(64);
    assert_eq!(enter(&world, &guess).await.code().0, 404);
    assert_eq!(
        enter(&world, &guess).await.code(),
        (429, "rate_limited".to_owned())
    );
}

#[tokio::test]
async fn a_login_page_contains_the_link_and_is_deleted_with_it() {
    let world = TestServer::new();
    let write = async || {
        let answer = world.post("/api/login-pages", "").await;
        assert_eq!(answer.status, 201);
        let page: Value = serde_json::from_str(&answer.body).expect("JSON");
        let path = page["path"].as_str().expect("a path").to_owned();
        let html = world.logins.pages.lock().expect("a lock")[std::path::Path::new(&path)].clone();
        let (_, rest) = html.split_once("/login#code=").expect("a link");
        let code = rest[..64].to_owned();
        assert!(!answer.body.contains(&code), "{}", answer.body);
        code
    };
    let count = || world.logins.pages.lock().expect("a lock").len();
    let (used, expiring) = (write().await, write().await);
    assert_eq!(count(), 2);
    assert_eq!(enter(&world, &used).await.status, 200);
    assert_eq!(count(), 1, "deleted when it was used");
    world.time.pass(60_000);
    assert_eq!(enter(&world, &expiring).await.code().0, 404);
    assert_eq!(count(), 0, "deleted when it expired");
}

#[tokio::test]
async fn a_cookie_alone_is_refused() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let headers = [
        ("cookie", browser.cookie.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    for (method, path) in [
        (Method::GET, "/api/agents"),
        (Method::GET, "/metrics"),
        (Method::GET, "/api/events"),
        (Method::GET, "/api/logins"),
        (Method::POST, PAUSE),
        (Method::POST, "/api/stream-tickets"),
        (Method::POST, "/api/logout"),
    ] {
        let answer = world.send(request(method, path, &headers)).await;
        assert_eq!(answer.code(), refused(), "{path}");
    }
    assert_eq!(
        refused_stream(&world, &browser.cookie, "").await.code(),
        refused()
    );
}

#[tokio::test]
async fn a_token_alone_is_refused() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let headers = [("x-wakeful-token", browser.token.as_str())];
    let answer = world.send(request(Method::GET, "/api/agents", &headers)).await;
    assert_eq!(answer.code(), refused());
}

#[tokio::test]
async fn the_token_of_another_login_is_refused() {
    let world = TestServer::new();
    let (mine, other) = (Browser::enter(&world).await, Browser::enter(&world).await);
    let secret = mine.cookie.rsplit_once('.').expect("a secret").1.to_owned();
    for token in [other.token.as_str(), secret.as_str(), "", TOKEN] {
        let headers = [("cookie", mine.cookie.as_str()), ("x-wakeful-token", token)];
        let answer = world.send(request(Method::GET, "/api/agents", &headers)).await;
        assert_eq!(answer.code(), refused(), "{token}");
    }
}

#[tokio::test]
async fn a_modified_cookie_is_refused() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    for at in "wakeful_session=".len()..browser.cookie.len() {
        let mut bytes = browser.cookie.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let forged = Browser {
            cookie: String::from_utf8(bytes).expect("ASCII"),
            token: browser.token.clone(),
        };
        assert_eq!(forged.get(&world, "/api/agents").await.code(), refused(), "{at}");
    }
}

#[tokio::test]
async fn a_browser_write_needs_the_origin_of_our_page() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let with = |headers: &[(&str, &str)]| request(Method::POST, PAUSE, &browser.headers(headers));
    for headers in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
    ] {
        assert_eq!(
            world.send(with(headers)).await.code(),
            (403, "origin_refused".to_owned())
        );
    }
    let ours = format!("http://{HOST}");
    for headers in [
        &[("origin", ours.as_str())][..],
        &[("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(world.send(with(headers)).await.status, 200);
    }
    let form = browser.headers(&[("origin", ours.as_str()), ("content-type", "text/plain")]);
    let answer = world
        .send(posted("/api/agents/main/messages", r#"{"text":"a"}"#, &form))
        .await;
    assert_eq!(answer.code(), (415, "not_json".to_owned()));
}

#[tokio::test]
async fn a_login_cannot_be_used_for_reads_by_a_foreign_page() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    let ours = format!("http://{HOST}");
    for path in ["/api/agents", "/metrics"] {
        let ask = |site: &str| request(Method::GET, path, &browser.headers(&[("sec-fetch-site", site)]));
        for foreign in ["cross-site", "same-site", "", "Same-Origin", "something-new"] {
            let answer = world.send(ask(foreign)).await;
            assert_eq!(
                answer.code(),
                (403, "origin_refused".to_owned()),
                "{path} {foreign}"
            );
        }
        for fine in ["same-origin", "none"] {
            assert_eq!(world.send(ask(fine)).await.status, 200, "{path} {fine}");
        }
        let mut two = ask("same-origin");
        two.headers_mut()
            .append("sec-fetch-site", "cross-site".parse().expect("a value"));
        assert_eq!(world.send(two).await.code().0, 403);
        // Older browsers do not send this header.
        assert_eq!(browser.get(&world, path).await.status, 200);
    }
    let headers = browser.headers(&[("origin", ours.as_str()), ("sec-fetch-site", "cross-site")]);
    let answer = world.send(request(Method::POST, PAUSE, &headers)).await;
    assert_eq!(answer.code(), (403, "origin_refused".to_owned()));
    let headers = browser.headers(&[("sec-fetch-site", "none")]);
    let answer = world.send(request(Method::POST, PAUSE, &headers)).await;
    assert_eq!(answer.code(), (403, "origin_refused".to_owned()));
}

#[tokio::test]
async fn a_login_cannot_create_further_logins() {
    let world = TestServer::new();
    let browser = Browser::enter(&world).await;
    for path in ["/api/login-links", "/api/login-pages"] {
        let answer = browser.ask(&world, Method::POST, path).await;
        assert_eq!(answer.code(), (403, "token_required".to_owned()));
    }
}

#[tokio::test]
async fn a_login_is_invalid_after_logout() {
    let world = TestServer::new();
    let (mine, other) = (Browser::enter(&world).await, Browser::enter(&world).await);
    let left = mine.ask(&world, Method::POST, "/api/logout").await;
    assert_eq!(left.status, 204);
    let deleted = "wakeful_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0";
    assert_eq!(left.header("set-cookie"), deleted);
    for world in [&world, &world.restarted(TOKEN)] {
        assert_eq!(mine.get(world, "/api/agents").await.code(), refused());
        assert_eq!(other.get(world, "/api/agents").await.status, 200);
    }
}

#[tokio::test]
async fn our_cookie_is_found_among_others() {
    let world = TestServer::new();
    let Browser { cookie, token } = Browser::enter(&world).await;
    let cookie = format!("a=b; wakeful_session=old; {cookie}; c");
    let browser = Browser { cookie, token };
    assert_eq!(browser.get(&world, "/api/agents").await.status, 200);
}
