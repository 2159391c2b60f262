//! The files of the page, embedded at build time.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::ApiError;

// `FILES`: path and contents of every file of the built page, sorted by path.
include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Shown when the program was built without the page.
const ABSENT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Wakeful</title><h1>Wakeful is \
    running</h1><p>This program was built without its page. Build both with <code>make build</code>, or the page with <code>cd \
    web &amp;&amp; npm ci &amp;&amp; npm run build</code> and then the program with <code>cargo build</code>.</p><p>The API is \
    available: <a href=\"/api/openapi.json\">OpenAPI document</a>.</p></html>\n";

const INDEX: &str = "index.html";

/// Serves a file of the page; any other path without a dot gets the page itself, which does its own
/// routing.
pub(crate) async fn show(method: Method, uri: Uri) -> Response {
    let path = uri.path();
    if path == "/api" || path.starts_with("/api/") {
        return ApiError::not_found(path).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        let allow = [(header::ALLOW, "GET, HEAD")];
        return (allow, wrong_method().await).into_response();
    }
    let name = path.trim_start_matches('/');
    match file(name) {
        Some(contents) if name != INDEX => answer(name, contents, caching(name)),
        _ if name.contains('.') && name != INDEX => ApiError::not_found(path).into_response(),
        _ => match file(INDEX) {
            Some(contents) => answer(INDEX, contents, "no-store"),
            None => answer(INDEX, ABSENT.as_bytes(), "no-store"),
        },
    }
}

/// The response to a method that the path does not support. The header `Allow` lists the supported ones.
pub(crate) async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not support this method",
        "the Allow header lists the supported methods",
    )
}

fn file(name: &str) -> Option<&'static [u8]> {
    let found = FILES.binary_search_by(|(path, _)| (*path).cmp(name)).ok()?;
    FILES.get(found).map(|(_, contents)| *contents)
}

/// Names under `assets/` contain a hash of their contents, so these files never change.
fn caching(name: &str) -> &'static str {
    if name.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    }
}

fn answer(name: &str, contents: &'static [u8], caching: &'static str) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    (headers, contents).into_response()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_for_binary_search() {
        assert!(FILES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn only_names_with_a_hash_are_cached_forever() {
        assert!(caching("assets/app-1a2b.js").contains("immutable"));
        assert_eq!(caching("favicon.svg"), "no-cache");
    }
}
