//! The checks that every request passes before it is handled, in this order: host, origin, login, rate
//! limit, the daemon's stage, a free permit. After that a timeout applies.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::error::ApiError;
use crate::event;
use crate::extract::BODY_READ_MS_MAX;
use crate::login::{self, LoginId, SecondProof, TOKEN_HEADER};
pub(crate) use crate::peer::Peer;
use crate::rate::RateKey;
use crate::slots::Slot;

/// Longest time for a response, after the request was received.
const ANSWER_MS_MAX: u64 = 30_000;

/// The metrics label of requests that match no route.
const NO_ROUTE: &str = "other";

/// Sent with every response. The page needs no external resources, and no other site may use ours.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A client with the token.
    Bearer,
    /// A browser that is logged in.
    Browser(LoginId),
    /// This process, which opened the home itself: no token, no rate limit.
    InProcess,
    /// A client that needs no credentials.
    Anonymous,
}

/// What a path requires of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RouteAccess {
    /// Health checks: always answered, without credentials.
    Health,
    /// The page, the login, the OpenAPI document: without credentials.
    Public,
    /// Metrics: for logged-in callers.
    Private,
    /// Triggers: for senders that know a URL, while the daemon serves.
    Trigger,
    /// The API: for logged-in callers, while the daemon serves.
    Api,
}

impl RouteAccess {
    fn of(path: &str) -> Self {
        match path {
            "/healthz" | "/readyz" => Self::Health,
            "/metrics" => Self::Private,
            "/api/openapi.json" => Self::Public,
            "/api" => Self::Api,
            path if path.starts_with("/api/external-triggers/") => Self::Trigger,
            path if path.starts_with("/api/") => Self::Api,
            _ => Self::Public,
        }
    }
}

/// Passes a request on, or responds with the reason for the refusal.
pub(crate) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let door = RouteAccess::of(request.uri().path());
    let mut response = match check(&app, door, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            answer(&app, door, request, next).await
        }
        Err(error) => error.into_response(),
    };
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    app.metrics.answered(route, response.status());
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

fn check(app: &App, door: RouteAccess, request: &Request) -> Result<Caller, ApiError> {
    let headers = request.headers();
    let peer = request.extensions().get::<Peer>().copied();
    if peer == Some(Peer::InProcess) {
        return Ok(Caller::InProcess);
    }
    let origin = check_names(app, request, peer)?;
    let slot = request.extensions().get::<Arc<Slot>>();
    let (caller, key) = match door {
        RouteAccess::Health => return Ok(Caller::Anonymous),
        RouteAccess::Public | RouteAccess::Trigger => (Caller::Anonymous, RateKey::Address(address(peer))),
        RouteAccess::Private | RouteAccess::Api => match log_in(app, request, peer)? {
            Caller::Browser(login) => {
                check_page(request.method(), headers, origin)?;
                login::touch(app, login);
                (Caller::Browser(login), RateKey::Login(login))
            }
            caller @ (Caller::Bearer | Caller::InProcess | Caller::Anonymous) => (caller, token_key(peer)),
        },
    };
    check_slot(caller, slot)?;
    count(app, &key, app.limits.client_per_minute)?;
    if door == RouteAccess::Api || door == RouteAccess::Trigger {
        app.open()?;
    }
    Ok(caller)
}

/// Requests with the token are counted separately for TCP and for the home's socket.
const fn token_key(peer: Option<Peer>) -> RateKey {
    match peer {
        Some(Peer::Local(_)) => RateKey::Local,
        Some(Peer::Network(_) | Peer::InProcess) | None => RateKey::Token,
    }
}

/// A connection with a valid login is kept in preference to others; one without may not use the reserved
/// part.
fn check_slot(caller: Caller, slot: Option<&Arc<Slot>>) -> Result<(), ApiError> {
    match (caller, slot) {
        (Caller::Anonymous, Some(slot)) if !slot.admits_anonymous() => Err(ApiError::too_many_connections()),
        (Caller::Bearer | Caller::Browser(_), Some(slot)) => {
            slot.authenticate();
            Ok(())
        }
        (_, _) => Ok(()),
    }
}

/// Whether the request came from our own page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestOrigin {
    Ours,
    Unsaid,
}

fn check_names(app: &App, request: &Request, peer: Option<Peer>) -> Result<RequestOrigin, ApiError> {
    let headers = request.headers();
    // The home's socket has no host name, and no web page can use it.
    if matches!(peer, Some(Peer::Local(_))) && !headers.contains_key(header::ORIGIN) {
        return Ok(RequestOrigin::Unsaid);
    }
    let mut in_headers = headers.get_all(header::HOST).iter();
    let in_header = in_headers.next().and_then(|host| host.to_str().ok());
    // An intermediary may have checked the other header.
    if in_headers.next().is_some() {
        let message = "the request has more than one Host header";
        return Err(ApiError::bad("bad_host", message, "send exactly one Host header"));
    }
    // If the request line contains the host, it takes precedence.
    let host = request
        .uri()
        .authority()
        .map(axum::http::uri::Authority::as_str)
        .or(in_header);
    let Some(host) = host.filter(|host| app.access.host_is_ours(host)) else {
        return Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host_refused",
            "the Host header does not name this server",
            "use the address that the daemon prints, or add the name to `server.advertise`",
        ));
    };
    let is_ours = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        app.access.origin_is_ours(origin, host)
    };
    let mut origins = headers.get_all(header::ORIGIN).iter().map(is_ours);
    match (origins.next(), origins.all(|is_ours| is_ours)) {
        (None, _) => Ok(RequestOrigin::Unsaid),
        (Some(true), true) => Ok(RequestOrigin::Ours),
        (Some(_), _) => Err(foreign_page()),
    }
}

fn foreign_page() -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "origin_refused",
        "the request comes from a page of another origin",
        "open the page at the address that `wakeful open` prints",
    )
}

/// A browser may send its cookie even if a foreign page caused the request, so a request marked as
/// cross-site is refused. Except for reads, the browser must state that the page was ours; older browsers
/// send nothing with reads.
fn check_page(method: &Method, headers: &HeaderMap, origin: RequestOrigin) -> Result<(), ApiError> {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    let site = FetchSite::of(sites.next());
    if sites.next().is_some() {
        return Err(foreign_page());
    }
    match (site, method.is_safe(), origin) {
        (FetchSite::Ours, _, _)
        | (FetchSite::Unsaid, true, _)
        | (FetchSite::Unsaid, false, RequestOrigin::Ours) => Ok(()),
        (FetchSite::Unsaid, false, RequestOrigin::Unsaid) | (FetchSite::Foreign, _, _) => Err(foreign_page()),
    }
}

/// What a browser reports about the page that caused the request.
enum FetchSite {
    Ours,
    Foreign,
    /// No value, or no page: a person typed the URL.
    Unsaid,
}

impl FetchSite {
    fn of(said: Option<&HeaderValue>) -> Self {
        match said.map(HeaderValue::as_bytes) {
            Some(b"same-origin") => Self::Ours,
            Some(b"none") | None => Self::Unsaid,
            Some(_) => Self::Foreign,
        }
    }
}

fn log_in(app: &App, request: &Request, peer: Option<Peer>) -> Result<Caller, ApiError> {
    let headers = request.headers();
    let authorization = headers.get(header::AUTHORIZATION);
    let mut cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let (caller, shown) = match authorization {
        // A request with a token is judged by the token alone.
        Some(value) => {
            let token = value.to_str().ok().and_then(bearer);
            let is_right = token.is_some_and(|token| app.access.token_is(token));
            (is_right.then_some(Caller::Bearer), true)
        }
        None => {
            let login = second_proof(request)
                .and_then(|proof| cookies.find_map(|cookies| app.logins.find(cookies, proof, &*app.clock)));
            (login.map(Caller::Browser), false)
        }
    };
    let Some(caller) = caller else {
        count(
            app,
            &RateKey::Address(address(peer)),
            app.limits.client_per_minute,
        )?;
        if shown {
            count_failure(app, peer)?;
        }
        return Err(ApiError::unauthorized());
    };
    Ok(caller)
}

/// The second proof of a browser. The cookie alone is not enough, because browsers send cookies to every
/// port of a host. Only a stream may carry a ticket in its URL, because `EventSource` cannot send headers.
fn second_proof(request: &Request) -> Option<SecondProof<'_>> {
    let token = request.headers().get(TOKEN_HEADER);
    if let Some(token) = token {
        return token.to_str().ok().map(SecondProof::Token);
    }
    let route = request.extensions().get::<MatchedPath>()?;
    let is_stream = request.method() == Method::GET
        && event::ROUTES.contains(&route.as_str())
        && event::wants_stream(request.headers());
    let mut pairs = request.uri().query().filter(|_| is_stream)?.split('&');
    pairs
        .find_map(|pair| pair.strip_prefix("ticket="))
        .map(SecondProof::Ticket)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Counts a wrong token or code. A correct one still passes after too many failures: it cannot be guessed,
/// and a faulty script must not lock its owner out.
pub(crate) fn count_failure(app: &App, peer: Option<Peer>) -> Result<(), ApiError> {
    count(app, &failed(peer), app.limits.failures_per_minute)
}

/// The rate key for wrong tokens and codes.
pub(crate) fn failed(peer: Option<Peer>) -> RateKey {
    RateKey::Failed(address(peer))
}

/// Counts one request for a key. The error contains the time to wait and the alternatives.
pub(crate) fn count(app: &App, key: &RateKey, limit: u32) -> Result<(), ApiError> {
    let counted = app.rates.count(key.clone(), limit, app.clock.monotonic_ms());
    counted.map_err(|wait_s| too_many(app, key, wait_s))
}

/// The error for an exceeded rate limit.
pub(crate) fn too_many(app: &App, key: &RateKey, wait_s: u64) -> ApiError {
    app.metrics.rate_limited();
    ApiError::rate_limited(key, wait_s)
}

fn address(peer: Option<Peer>) -> IpAddr {
    match peer {
        Some(Peer::Network(peer)) => peer.ip(),
        Some(Peer::Local(_) | Peer::InProcess) | None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// The permits of a request, held until dropped; none if none is free.
fn places(app: &App, request: &Request) -> Option<[Option<OwnedSemaphorePermit>; 2]> {
    let place = |among: &Arc<Semaphore>| Arc::clone(among).try_acquire_owned().ok();
    match request.extensions().get::<Peer>() {
        Some(Peer::Local(_)) => return Some([Some(place(&app.local_in_flight)?), None]),
        Some(Peer::InProcess) => return Some([None, None]),
        Some(Peer::Network(_)) | None => {}
    }
    let own = match request.extensions().get::<Caller>() {
        Some(Caller::Bearer | Caller::Browser(_) | Caller::InProcess) => None,
        Some(Caller::Anonymous) | None => Some(place(&app.anonymous)?),
    };
    Some([Some(place(&app.in_flight)?), own])
}

/// Handles a request with a permit and a timeout. A stream releases the permit as soon as it starts.
async fn answer(app: &App, door: RouteAccess, request: Request, next: Next) -> Response {
    let place = places(app, &request);
    if place.is_none() && door != RouteAccess::Health {
        let message = "too many requests are in progress";
        return ApiError::unavailable("overloaded", message, "try again in a moment").into_response();
    }
    if request.extensions().get::<Peer>() == Some(&Peer::InProcess) {
        return next.run(request).await;
    }
    // A body has its own timeout; that of the handler starts afterwards.
    let body_ms = if request.method().is_safe() {
        0
    } else {
        BODY_READ_MS_MAX
    };
    let time = Duration::from_millis(ANSWER_MS_MAX.saturating_add(body_ms));
    tokio::time::timeout(time, next.run(request))
        .await
        .unwrap_or_else(|_| {
            let message = "the response took too long; the request may still take effect";
            let hint = "check the result before trying again, or try again with the same key";
            ApiError::unavailable("response_timeout", message, hint).into_response()
        })
}
