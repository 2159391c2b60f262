//! How a browser logs in and stays logged in, and how logins are ended.
//!
//! A link that works once leads to the page, which exchanges the link's code for a cookie and a token. Every request of a
//! browser carries both; a stream carries the cookie and a one-use ticket.

mod code;
mod device;
mod list;
mod page;
mod ticket;

use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use subtle::ConstantTimeEq as _;
use utoipa::IntoParams;
use wakeful_api::{EnterLogin, ErrorBody, LoggedIn, LoginLink, LoginList, LoginPage, StreamTicket};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;

use self::code::{CODE_MS, Codes};
use self::list::{LOGIN_MS, LoginRecord, NewLogin, Unsaved, token_hash};
pub(crate) use self::list::{LoginId, Session};
use self::page::LoginPageFile;
use self::ticket::{TICKET_MS, Tickets};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Told;
use crate::guard::{Caller, Peer};

/// The name of the cookie.
pub(crate) const COOKIE: &str = "wakeful_session";

/// The header that carries a login's token.
pub(crate) const TOKEN_HEADER: &str = "x-wakeful-token";

/// Most draws for an id that no other login has. Of 64 logins the second draw nearly always succeeds.
const ID_DRAWS_MAX: usize = 8;

/// What logins need of the binary: files of the home, and the log.
pub trait LoginHost: Send + Sync + 'static {
    /// The saved list of logins; none where there is none.
    fn read_list(&self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces the saved list as a whole, durably, readable by its owner alone.
    fn write_list(&self, list: &[u8]) -> io::Result<()>;

    /// Deletes the saved list. That there is none is no error.
    fn remove_list(&self) -> io::Result<()>;

    /// Writes a new file that a browser of the same user can open, readable by its owner alone. Returns its path.
    fn write_page(&self, name: &str, html: &str) -> io::Result<PathBuf>;

    /// Deletes such a file, if it is still there.
    fn remove_page(&self, path: &FilePath);

    /// Writes a line to the log.
    fn log(&self, line: &str);
}

/// Keeps no logins: for a router that no browser can reach.
pub(crate) struct NoLogins;

impl LoginHost for NoLogins {
    fn read_list(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn write_list(&self, _list: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_list(&self) -> io::Result<()> {
        Ok(())
    }

    fn write_page(&self, _name: &str, _html: &str) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_page(&self, _path: &FilePath) {}

    fn log(&self, _line: &str) {}
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/login-links", post(link))
        .route("/api/login-pages", post(page))
        .route("/api/logins", get(list).delete(revoke_all))
        .route("/api/logins/{login_id}", delete(revoke))
        .route("/api/logout", post(leave))
        .route("/api/stream-tickets", post(ticket))
        .route("/login", post(enter).get(enter_page))
}

/// Codes, logins and tickets.
pub(crate) struct Logins {
    host: Arc<dyn LoginHost>,
    codes: Codes,
    list: list::LoginList,
    tickets: Tickets,
}

/// What a browser shows beside its cookie.
#[derive(Clone, Copy)]
pub(crate) enum SecondProof<'a> {
    /// The token of the login, in a header.
    Token(&'a str),
    /// A one-use ticket, in the address of a stream.
    Ticket(&'a str),
}

impl Logins {
    pub(crate) fn load(host: Arc<dyn LoginHost>, api_token: &str) -> Self {
        Self {
            list: list::LoginList::load(Arc::clone(&host), api_token),
            host,
            codes: Codes::default(),
            tickets: Tickets::default(),
        }
    }

    /// The login that a Cookie header and a second proof show.
    pub(crate) fn find(&self, cookies: &str, proof: SecondProof<'_>, clock: &dyn Clock) -> Option<LoginId> {
        let is_proven = |id: LoginId, expected: &Digest| match proof {
            SecondProof::Token(token) => token_hash(token).as_bytes().ct_eq(expected.as_bytes()).into(),
            SecondProof::Ticket(ticket) => self.tickets.take(ticket, id, clock.ticks_ms()),
        };
        let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
        values.find_map(|value| self.list.find(value, clock.now(), is_proven))
    }

    /// What a stream of a login holds; none when the login has ended.
    pub(crate) fn session(&self, id: LoginId, now: Millis) -> Option<Session> {
        self.list.session(id, now)
    }
}

/// Notes that a login was used, and saves that now and then beside the request.
pub(crate) fn touch(app: &App, id: LoginId) {
    if app.logins.list.touch(id, app.clock.now()) {
        let app = app.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = app.logins.list.save() {
                app.logins.host.log(&error.to_string());
            }
        });
    }
}

fn random(app: &App) -> String {
    Digest::from_bytes(app.entropy.bytes32()).to_string()
}

/// When something ends that works for so long from now.
fn expiry(app: &App, lasts_ms: u64) -> String {
    let lasts_ms = i64::try_from(lasts_ms).unwrap_or(i64::MAX);
    Millis(app.clock.now().0.saturating_add(lasts_ms)).rfc3339()
}

fn link_url(app: &App, code: &str) -> String {
    format!("{}/login#code={code}", app.access.url())
}

fn require_bearer(caller: Caller) -> Result<(), ApiError> {
    if caller == Caller::Bearer {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        "token_required",
        "a login cannot make further logins",
        "`wakeful open` logs a browser in",
    ))
}

/// Makes a link that logs a browser in, once, within a minute. Only with the API's token.
#[utoipa::path(
    post, path = "/api/login-links", tag = "login", operation_id = "create_login_link",
    security(("bearer" = [])),
    responses((status = 201, description = "The link", body = LoginLink)),
)]
pub(crate) async fn link(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<LoginLink>), ApiError> {
    require_bearer(caller)?;
    let code = random(&app);
    app.logins.codes.add(&code, None, app.clock.ticks_ms());
    let link = LoginLink {
        url: link_url(&app, &code),
        expires_at: expiry(&app, CODE_MS),
    };
    Ok((StatusCode::CREATED, Json(link)))
}

/// Writes a login link into a file that only the daemon's user can read, for a browser to open. Only with the API's token.
#[utoipa::path(
    post, path = "/api/login-pages", tag = "login", operation_id = "create_login_page",
    security(("bearer" = [])),
    responses((status = 201, description = "The file", body = LoginPage)),
)]
pub(crate) async fn page(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<LoginPage>), ApiError> {
    require_bearer(caller)?;
    let code = random(&app);
    let name = LoginId::from_bytes(app.entropy.bytes32()).to_string();
    let (host, url) = (Arc::clone(&app.logins.host), link_url(&app, &code));
    let written = blocking(move || LoginPageFile::write(&host, &name, &url)).await?;
    let file = written.map_err(|error| {
        let message = format!("the login page cannot be written: {error}");
        ApiError::unavailable(
            "home_unwritable",
            &message,
            "print a link with `wakeful open --print`",
        )
    })?;
    let path = file.path().display().to_string();
    app.logins.codes.add(&code, Some(file), app.clock.ticks_ms());
    let expires_at = expiry(&app, CODE_MS);
    tokio::spawn(async move {
        app.clock.sleep(CODE_MS).await;
        app.logins.codes.remove_expired(app.clock.ticks_ms());
    });
    Ok((StatusCode::CREATED, Json(LoginPage { path, expires_at })))
}

/// The page, which takes the code of a link from the fragment of its address.
#[utoipa::path(
    get, path = "/login", tag = "login", operation_id = "login_page", security(()),
    responses((status = 200, description = "The page", body = String, content_type = "text/html")),
)]
pub(crate) async fn enter_page(method: Method, uri: Uri) -> Response {
    crate::page::show(method, uri).await
}

/// Exchanges the code of a link for a login: a cookie, and the token that must go with it.
#[utoipa::path(
    post, path = "/login", tag = "login", operation_id = "login", security(()), request_body = EnterLogin,
    responses(
        (status = 200, description = "Logged in; the cookie is in the header", body = LoggedIn),
        (status = 410, description = "The link was used, or is too old", body = ErrorBody),
    ),
)]
pub(crate) async fn enter(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Told(EnterLogin { code }): Told<EnterLogin>,
) -> Result<Response, ApiError> {
    if Digest::from_hex(&code).is_none() {
        let message = "the code of a login link is 64 lower-case hex digits";
        return Err(ApiError::bad("bad_login_code", message, NEW_LINK));
    }
    if !app.logins.codes.take(&code, app.clock.ticks_ms()) {
        crate::guard::count_failure(&app, peer.map(|Extension(peer)| peer))?;
        let message = "the login link was used before, or is older than a minute";
        return Err(ApiError::new(
            StatusCode::GONE,
            "login_link_expired",
            message,
            NEW_LINK,
        ));
    }
    let user_agent = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok());
    let new = NewLogin {
        id: free_id(&app)?,
        name: device::name(user_agent.unwrap_or_default()),
        secret: random(&app),
        token: random(&app),
        created_at: app.clock.now(),
    };
    let (cookie, token) = (new.cookie(), new.token.clone());
    let adding = app.clone();
    blocking(move || adding.logins.list.add(new)).await?;
    let headers = [(header::SET_COOKIE, set_cookie(&app, &cookie, LOGIN_MS / 1_000))];
    Ok((headers, Json(LoggedIn { token })).into_response())
}

const NEW_LINK: &str = "`wakeful open` makes a new one";

/// An id that no login has.
fn free_id(app: &App) -> Result<LoginId, ApiError> {
    let mut draws = (0..ID_DRAWS_MAX).map(|_| LoginId::from_bytes(app.entropy.bytes32()));
    let free = draws.find(|id| !app.logins.list.contains(*id));
    free.ok_or_else(|| ApiError::unavailable("no_login_id", "no free login id was drawn", "try again"))
}

/// Ends the login of this browser and deletes its cookie.
#[utoipa::path(
    post, path = "/api/logout", tag = "login", operation_id = "logout",
    responses((status = 204, description = "The login is ended for good, and the cookie deleted in the browser")),
)]
pub(crate) async fn leave(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, ApiError> {
    if let Caller::Browser(login) = caller {
        end(&app, move |id| id == login).await?;
    }
    let headers = [(header::SET_COOKIE, set_cookie(&app, "", 0))];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

/// Which login.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only the contract is made from it")]
pub(crate) struct LoginParam {
    /// The id of a login.
    #[param(min_length = 8, max_length = 8, pattern = "^[0-9a-f]{8}$")]
    login_id: String,
}

/// The browsers that are logged in.
#[utoipa::path(
    get, path = "/api/logins", tag = "login", operation_id = "logins",
    responses((status = 200, description = "The logins, newest first", body = LoginList)),
)]
pub(crate) async fn list(State(app): State<App>, Extension(caller): Extension<Caller>) -> Json<LoginList> {
    let records = app.logins.list.records(app.clock.now());
    let view = |record: LoginRecord| wakeful_api::Login {
        id: record.id.to_string(),
        name: record.name,
        created_at: record.created_at.rfc3339(),
        last_used_at: record.last_used_at.rfc3339(),
        expires_at: record.expires_at.rfc3339(),
        is_current: caller == Caller::Browser(record.id),
    };
    let logins = records.into_iter().map(view).collect();
    Json(LoginList { logins })
}

/// Ends a login: its requests are refused, its streams end, and a restart does not bring it back.
#[utoipa::path(
    delete, path = "/api/logins/{login_id}", tag = "login", operation_id = "revoke_login", params(LoginParam),
    responses(
        (status = 204, description = "The login is ended"),
        (status = 404, description = "There is no such login", body = ErrorBody),
    ),
)]
pub(crate) async fn revoke(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let hint = "`wakeful login list` shows the logins";
    let Some(chosen) = LoginId::parse(&id) else {
        let message = "the id of a login is 8 lower-case hex digits";
        return Err(ApiError::bad("bad_login_id", message, hint));
    };
    if end(&app, move |id| id == chosen).await? == 0 {
        let message = format!("there is no login {chosen}");
        return Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "login_unknown",
            message,
            hint,
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Ends all logins.
#[utoipa::path(
    delete, path = "/api/logins", tag = "login", operation_id = "revoke_all_logins",
    responses((status = 204, description = "No browser is logged in any more")),
)]
pub(crate) async fn revoke_all(State(app): State<App>) -> Result<StatusCode, ApiError> {
    end(&app, |_| true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a ticket that opens one event stream of this browser, where no header can be sent. Programs need none.
#[utoipa::path(
    post, path = "/api/stream-tickets", tag = "login", operation_id = "create_stream_ticket",
    security(("cookie" = [], "login_token" = [])),
    responses((status = 201, description = "The ticket", body = StreamTicket)),
)]
pub(crate) async fn ticket(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<StreamTicket>), ApiError> {
    let Caller::Browser(login) = caller else {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "login_required",
            "tickets are for browsers that are logged in",
            "send `Authorization: Bearer …` with the stream itself",
        ));
    };
    let ticket = random(&app);
    app.logins.tickets.add(&ticket, login, app.clock.ticks_ms());
    let expires_at = expiry(&app, TICKET_MS);
    Ok((StatusCode::CREATED, Json(StreamTicket { ticket, expires_at })))
}

/// Ends the logins that are chosen. How many there were.
async fn end(app: &App, is_chosen: impl Fn(LoginId) -> bool + Send + 'static) -> Result<usize, ApiError> {
    let ending = app.clone();
    let ended = blocking(move || ending.logins.list.revoke(is_chosen)).await?;
    ended.map_err(|error: Unsaved| {
        let message = format!("ended in this daemon, but {error}; a restart would bring it back");
        let hint = "delete logins.json in the home, or make it writable and try again";
        ApiError::unavailable("login_list_unsaved", &message, hint)
    })
}

/// Does work that waits for a disk on a thread that may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ApiError::unavailable("interrupted", "the work was broken off", "try again"))
}

fn set_cookie(app: &App, value: &str, max_age_s: i64) -> String {
    let secure = if app.access.is_encrypted() { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age_s}{secure}")
}
