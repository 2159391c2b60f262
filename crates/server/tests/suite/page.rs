//! The page and its files.

use axum::http::Method;

use super::test_server::{TestServer, request};

#[tokio::test]
async fn the_page_is_served_for_its_paths_and_missing_files_are_404() {
    let world = TestServer::new();
    let get = |path: &str| request(Method::GET, path, &[]);
    let page = world.send(get("/")).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    for path in ["/index.html", "/agents/main", "/runs/12"] {
        let answer = world.send(get(path)).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body),
            (200, &page.body),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    for path in [
        "/missing.js",
        "/assets/missing.js",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
    ] {
        assert_eq!(
            world.send(get(path)).await.code(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    let head = world.send(request(Method::HEAD, "/", &[])).await;
    assert_eq!((head.status.as_u16(), head.body.as_str()), (200, ""));
}
