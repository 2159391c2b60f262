//! How a browser comes in: a link that works once becomes a cookie that lasts a month.

mod code;
mod cookie;

use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::LoginLink;
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;

use self::code::{CODE_MS, Codes};
pub(crate) use self::cookie::Login;
use self::cookie::{Cookies, LOGIN_S};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;
use crate::guard::{Caller, Peer};

/// The name of the cookie.
pub(crate) const COOKIE: &str = "wakeful_session";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/login-links", post(link))
        .route("/api/logout", post(leave))
        // Whatever looks at a link before a person opens it must not use it up.
        .route("/login", get(enter).head(|| async { StatusCode::NO_CONTENT }))
}

/// Codes and cookies.
pub(crate) struct Logins {
    codes: Codes,
    cookies: Cookies,
}

impl Logins {
    pub(crate) fn new(token: &str) -> Self {
        Self {
            codes: Codes::default(),
            cookies: Cookies::new(token),
        }
    }

    /// The login that a Cookie header proves.
    pub(crate) fn read(&self, cookies: &str, now: Millis) -> Option<Login> {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find_map(|(name, value)| (name == COOKIE).then(|| self.cookies.read(value, now))?)
    }
}

/// A code to log in with.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Code {
    /// The code of a link.
    #[param(min_length = 64, max_length = 64, pattern = "^[0-9a-f]{64}$")]
    code: String,
}

/// Makes a link that logs a browser in, once, within two minutes. Only for whoever holds the token.
#[utoipa::path(
    post, path = "/api/login-links", tag = "login", operation_id = "create_login_link",
    security(("bearer" = [])),
    responses((status = 201, description = "The link", body = LoginLink)),
)]
pub(crate) async fn link(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<LoginLink>), ApiError> {
    if caller != Caller::Bearer {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "token_required",
            "a login cannot make further logins",
            "`wakeful open` prints a link",
        ));
    }
    let code = Digest::from_bytes(app.entropy.bytes32()).to_string();
    app.logins.codes.add(&code, app.clock.ticks_ms());
    let lasts_ms = i64::try_from(CODE_MS).unwrap_or(i64::MAX);
    let expires_at = Millis(app.clock.now().0.saturating_add(lasts_ms)).rfc3339();
    let url = format!("{}/login?code={code}", app.access.url());
    Ok((StatusCode::CREATED, Json(LoginLink { url, expires_at })))
}

/// Exchanges the code of a link for a cookie, and shows the page.
#[utoipa::path(
    get, path = "/login", tag = "login", operation_id = "login", security(()), params(Code),
    responses(
        (status = 303, description = "Logged in; go on to the page"),
        (status = 400, description = "That is no code", body = String, content_type = "text/html"),
        (status = 410, description = "The link was used, or is too old", body = String, content_type = "text/html"),
    ),
)]
pub(crate) async fn enter(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    asked: Result<Asked<Code>, ApiError>,
) -> Result<Response, ApiError> {
    let code = asked.ok().map(|Asked(Code { code })| code);
    let Some(code) = code.filter(|code| Digest::from_hex(code).is_some()) else {
        return Ok(refused(StatusCode::BAD_REQUEST, "This link is not whole"));
    };
    if !app.logins.codes.take(&code, app.clock.ticks_ms()) {
        crate::guard::count_failure(&app, peer.map(|Extension(peer)| peer))?;
        return Ok(refused(
            StatusCode::GONE,
            "This link was used before, or is older than two minutes",
        ));
    }
    let id = Digest::from_bytes(app.entropy.bytes32());
    let value = app.logins.cookies.issue(id, app.clock.now());
    let headers = [
        (header::SET_COOKIE, set_cookie(&app, &value, LOGIN_S)),
        (header::LOCATION, "/".to_owned()),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Logs this browser out and has it delete its cookie.
///
/// A copy of the cookie that was taken before is refused until the daemon restarts; only a new token ends it for good.
#[utoipa::path(
    post, path = "/api/logout", tag = "login", operation_id = "logout",
    responses((status = 204, description = "The cookie is deleted in the browser, and refused as long as this daemon lives")),
)]
pub(crate) async fn leave(State(app): State<App>, Extension(caller): Extension<Caller>) -> Response {
    if let Caller::Browser(login) = caller {
        app.logins.cookies.revoke(login, app.clock.now());
    }
    let headers = [(header::SET_COOKIE, set_cookie(&app, "", 0))];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn set_cookie(app: &App, value: &str, max_age_s: i64) -> String {
    let secure = if app.access.is_encrypted() { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age_s}{secure}")
}

/// A page and not JSON: whoever follows a link sits before a browser. It leads nowhere by itself, so nothing loops.
fn refused(status: StatusCode, why: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Wakeful: not logged in</title>\
        <h1>Not logged in</h1><p>{why}.</p><p>Get a new one with <code>wakeful open</code>. If this browser is \
        logged in already, <a href=\"/\">go on to the page</a>.</p></html>\n"
    );
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}
