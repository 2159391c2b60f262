//! How a browser comes in, stays and leaves.

use axum::http::Method;
use wakeful_server::Limits;

use super::world::{Answer, HOST, TOKEN, World, posted, request};

const PAUSE: &str = "/api/agents/main/pause";

async fn link(world: &World) -> String {
    let answer = world.post("/api/login-links", "").await;
    assert_eq!(answer.status, 201);
    let link: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let url = link["url"].as_str().expect("a URL").to_owned();
    url.strip_prefix(&format!("http://{HOST}"))
        .expect("our address")
        .to_owned()
}

async fn open(world: &World, link: &str) -> Answer {
    world.send(request(Method::GET, link, &[])).await
}

/// What a browser sends back.
pub(super) async fn cookie(world: &World) -> String {
    let entered = open(world, &link(world).await).await;
    let set = entered.header("set-cookie").to_owned();
    set.split(';').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_link_becomes_a_cookie_once() {
    let world = World::new();
    let link = link(&world).await;
    let entered = open(&world, &link).await;
    assert_eq!((entered.status.as_u16(), entered.header("location")), (303, "/"));
    let set = entered.header("set-cookie");
    let (value, attributes) = set.split_once(';').expect("attributes");
    assert!(value.starts_with("wakeful_session=v1."), "{set}");
    assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000");
    let again = open(&world, &link).await;
    assert_eq!((again.status.as_u16(), again.header("set-cookie")), (410, ""));
    assert!(again.header("content-type").starts_with("text/html") && again.body.contains("wakeful open"));
    let answer = world
        .send(request(Method::GET, "/api/agents", &[("cookie", value)]))
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_link_is_worth_nothing_after_two_minutes() {
    let world = World::new();
    let link = link(&world).await;
    world.time.pass(120_000);
    assert_eq!(open(&world, &link).await.status, 410);
}

#[tokio::test]
async fn looking_at_a_link_does_not_use_it_up() {
    let world = World::new();
    let link = link(&world).await;
    assert_eq!(world.send(request(Method::HEAD, &link, &[])).await.status, 204);
    assert_eq!(open(&world, &link).await.status, 303);
}

#[tokio::test]
async fn what_is_no_code_is_refused_with_a_page() {
    let world = World::new();
    for path in ["/login", "/login?code=", "/login?code=12", "/login?code=1&x=2"] {
        let answer = open(&world, path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.body.contains("<h1>Not logged in</h1>"), "{path}");
    }
    assert_eq!(
        open(&world, &format!("/login?code={}", "0".repeat(64)))
            .await
            .status,
        410
    );
}

#[tokio::test]
async fn guessing_codes_is_slowed_down() {
    let world = World::limited(Limits {
        client_per_minute: 0,
        turns_per_minute: 0,
        failures_per_minute: 1,
    });
    let guess = format!("/login?code={}", "1".repeat(64));
    assert_eq!(open(&world, &guess).await.status, 410);
    assert_eq!(
        open(&world, &guess).await.code(),
        (429, "rate_limited".to_owned())
    );
}

#[tokio::test]
async fn a_cookie_outlives_the_daemon_but_not_its_token() {
    let world = World::new();
    let cookie = cookie(&world).await;
    let ask = || request(Method::GET, "/api/agents", &[("cookie", &cookie)]);
    assert_eq!(World::new().send(ask()).await.status, 200, "after a restart");
    let limits = Limits {
        client_per_minute: 0,
        turns_per_minute: 0,
        failures_per_minute: 0,
    };
    let rotated = World::with_token(&TOKEN.replace('a', "b"), limits);
    assert_eq!(rotated.send(ask()).await.code().0, 401);
    world.time.pass(30 * 24 * 60 * 60 * 1_000);
    assert_eq!(world.send(ask()).await.code().0, 401, "after a month");
}

#[tokio::test]
async fn a_browser_changes_nothing_unless_it_says_that_the_page_was_ours() {
    let world = World::new();
    let cookie = cookie(&world).await;
    let with = |headers: &[(&str, &str)]| {
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        request(Method::POST, PAUSE, &all)
    };
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
    let form = [
        ("cookie", cookie.as_str()),
        ("origin", ours.as_str()),
        ("content-type", "text/plain"),
    ];
    let answer = world
        .send(posted("/api/agents/main/messages", r#"{"text":"a"}"#, &form))
        .await;
    assert_eq!(answer.code(), (415, "not_json".to_owned()));
}

#[tokio::test]
async fn with_a_cookie_not_even_reading_is_for_a_page_that_is_not_ours() {
    let world = World::new();
    let cookie = cookie(&world).await;
    let ours = format!("http://{HOST}");
    for path in ["/api/agents", "/metrics"] {
        let ask = |site: &str| {
            let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", site)];
            request(Method::GET, path, &headers)
        };
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
        // Older browsers do not send it.
        let silent = request(Method::GET, path, &[("cookie", &cookie)]);
        assert_eq!(world.send(silent).await.status, 200);
    }
    let headers = [
        ("cookie", cookie.as_str()),
        ("origin", ours.as_str()),
        ("sec-fetch-site", "cross-site"),
    ];
    let answer = world.send(request(Method::POST, PAUSE, &headers)).await;
    assert_eq!(answer.code(), (403, "origin_refused".to_owned()));
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "none")];
    let answer = world.send(request(Method::POST, PAUSE, &headers)).await;
    assert_eq!(answer.code(), (403, "origin_refused".to_owned()));
}

#[tokio::test]
async fn a_login_cannot_make_further_logins() {
    let world = World::new();
    let cookie = cookie(&world).await;
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let answer = world
        .send(request(Method::POST, "/api/login-links", &headers))
        .await;
    assert_eq!(answer.code(), (403, "token_required".to_owned()));
}

#[tokio::test]
async fn after_a_logout_the_cookie_is_worth_nothing() {
    let world = World::new();
    let (mine, other) = (cookie(&world).await, cookie(&world).await);
    let headers = [("cookie", mine.as_str()), ("sec-fetch-site", "same-origin")];
    let left = world.send(request(Method::POST, "/api/logout", &headers)).await;
    assert_eq!(left.status, 204);
    let deleted = "wakeful_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0";
    assert_eq!(left.header("set-cookie"), deleted);
    let ask = |cookie: &str| request(Method::GET, "/api/agents", &[("cookie", cookie)]);
    assert_eq!(world.send(ask(&mine)).await.code().0, 401);
    assert_eq!(world.send(ask(&other)).await.status, 200);
}

#[tokio::test]
async fn our_cookie_is_found_among_others() {
    let world = World::new();
    let cookie = format!("a=b; wakeful_session=old; {}; c", cookie(&world).await);
    let answer = world
        .send(request(Method::GET, "/api/agents", &[("cookie", &cookie)]))
        .await;
    assert_eq!(answer.status, 200);
}
