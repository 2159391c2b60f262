//! How a browser logs in and stays logged in, and how logins are ended.
//!
//! A one-time link opens the page, which exchanges the link's code for a cookie and a token. Every request
//! of a browser carries both; a stream carries the cookie and a one-use ticket.

mod code;
mod device;
mod list;
mod page;
mod ticket;

use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;
use wakeful_api::{
    CreateLoginLink, CreateLoginPage, CreateStreamTicket, EnterLogin, GetLoginPage, ListLogins, LogOut,
    LoginGrant, LoginLink, LoginList, LoginPage, RevokeAllLogins, RevokeLogin, StreamTicket,
};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;

use self::code::{CODE_MS, Codes};
use self::list::{LOGIN_MS, LoginRecord, LoginSaveError, NewLogin, token_hash};
pub(crate) use self::list::{LoginId, LoginSession};
use self::page::LoginPageFile;
use self::ticket::{TICKET_MS, Tickets};
use crate::app::App;
use crate::error::ApiError;
use crate::guard::Caller;
use crate::route::{Call, Routes};

pub(crate) const COOKIE: &str = "wakeful_session";

/// The header that carries the token of a login.
pub(crate) const TOKEN_HEADER: &str = "x-wakeful-token";

/// Most attempts to draw an unused id. With 64 logins the second attempt nearly always succeeds.
const ID_DRAWS_MAX: usize = 8;

/// What logins need from the binary: files in the home.
pub trait LoginHost: Send + Sync + 'static {
    /// The saved list of logins; none if it does not exist.
    fn read_list(&self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces the saved list atomically and durably, readable only by its owner.
    fn write_list(&self, list: &[u8]) -> io::Result<()>;

    /// Deletes the saved list. A missing list is not an error.
    fn remove_list(&self) -> io::Result<()>;

    /// Writes a new file that a browser of the same user can open, readable only by its owner. Returns its
    /// path.
    fn write_page(&self, name: &str, html: &str) -> io::Result<PathBuf>;

    /// Deletes such a file, if it still exists.
    fn remove_page(&self, path: &FilePath);
}

/// Stores no logins: for a router that no browser can reach.
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
}

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(link)
        .add(page)
        .respond(enter_page)
        .respond(enter)
        .respond(leave)
        .add(list)
        .add(revoke)
        .add(revoke_all)
        .add(ticket)
}

/// Codes, logins and tickets.
pub(crate) struct Logins {
    host: Arc<dyn LoginHost>,
    codes: Codes,
    list: list::LoginStore,
    tickets: Tickets,
}

/// The second proof of a browser, in addition to its cookie.
#[derive(Clone, Copy)]
pub(crate) enum SecondProof<'a> {
    /// The token of the login, in a header.
    Token(&'a str),
    /// A one-use ticket, in the URL of a stream.
    Ticket(&'a str),
}

impl Logins {
    pub(crate) fn load(host: Arc<dyn LoginHost>, api_token: &str) -> Self {
        Self {
            list: list::LoginStore::load(Arc::clone(&host), api_token),
            host,
            codes: Codes::default(),
            tickets: Tickets::default(),
        }
    }

    /// The login that a Cookie header and a second proof identify.
    pub(crate) fn find(&self, cookies: &str, proof: SecondProof<'_>, clock: &dyn Clock) -> Option<LoginId> {
        let is_proven = |id: LoginId, expected: &Digest| match proof {
            SecondProof::Token(token) => token_hash(token).as_bytes().ct_eq(expected.as_bytes()).into(),
            SecondProof::Ticket(ticket) => self.tickets.take(ticket, id, clock.monotonic_ms()),
        };
        let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
        values.find_map(|value| self.list.find(value, clock.now(), is_proven))
    }

    /// The session that a stream holds; none if the login has ended.
    pub(crate) fn session(&self, id: LoginId, now: Millis) -> Option<LoginSession> {
        self.list.session(id, now)
    }
}

/// Records the use of a login, and occasionally saves it in the background.
pub(crate) fn touch(app: &App, id: LoginId) {
    if app.logins.list.touch(id, app.clock.now()) {
        let app = app.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = app.logins.list.save() {
                tracing::warn!(%error, "the last use of a login could not be saved");
            }
        });
    }
}

fn random(app: &App) -> String {
    Digest::from_bytes(app.entropy.random_bytes()).to_string()
}

/// The expiry time of something that is valid for this duration from now.
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
        "a logged-in browser cannot create further logins",
        "log a browser in with `wakeful open`",
    ))
}

async fn link(app: Call, _: CreateLoginLink) -> Result<LoginLink, ApiError> {
    require_bearer(app.caller())?;
    let code = random(&app);
    app.logins.codes.add(&code, None, app.clock.monotonic_ms());
    Ok(LoginLink {
        url: link_url(&app, &code),
        expires_at: expiry(&app, CODE_MS),
    })
}

async fn page(call: Call, _: CreateLoginPage) -> Result<LoginPage, ApiError> {
    require_bearer(call.caller())?;
    let app = call.app;
    let code = random(&app);
    let name = LoginId::from_bytes(app.entropy.random_bytes()).to_string();
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
    app.logins.codes.add(&code, Some(file), app.clock.monotonic_ms());
    let expires_at = expiry(&app, CODE_MS);
    tokio::spawn(async move {
        app.clock.sleep(CODE_MS).await;
        app.logins.codes.remove_expired(app.clock.monotonic_ms());
    });
    Ok(LoginPage { path, expires_at })
}

async fn enter_page(call: Call, _: GetLoginPage) -> Result<Response, ApiError> {
    Ok(crate::page::show(call.head.method, call.head.uri).await)
}

async fn enter(call: Call, asked: EnterLogin) -> Result<Response, ApiError> {
    let app = &call.app;
    if !app
        .logins
        .codes
        .take(asked.code.as_str(), app.clock.monotonic_ms())
    {
        crate::guard::count_failure(app, call.peer())?;
        let message = "the login link was already used, or is older than a minute";
        return Err(ApiError::unknown("login_link_expired", message, NEW_LINK));
    }
    let user_agent = call
        .headers()
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok());
    let new = NewLogin {
        id: free_id(app)?,
        name: device::name(user_agent.unwrap_or_default()),
        secret: random(app),
        token: random(app),
        created_at: app.clock.now(),
    };
    let (cookie, token) = (new.cookie(), new.token.clone());
    let adding = app.clone();
    blocking(move || adding.logins.list.add(new)).await?;
    let headers = [(header::SET_COOKIE, set_cookie(app, &cookie, LOGIN_MS / 1_000))];
    Ok((headers, Json(LoginGrant { token })).into_response())
}

const NEW_LINK: &str = "create a new link with `wakeful open`";

/// An unused login id.
fn free_id(app: &App) -> Result<LoginId, ApiError> {
    let mut draws = (0..ID_DRAWS_MAX).map(|_| LoginId::from_bytes(app.entropy.random_bytes()));
    let free = draws.find(|id| !app.logins.list.contains(*id));
    free.ok_or_else(|| ApiError::unavailable("login_id_exhausted", "no free login id was found", "try again"))
}

async fn leave(app: Call, _: LogOut) -> Result<Response, ApiError> {
    if let Caller::Browser(login) = app.caller() {
        end(&app, move |id| id == login).await?;
    }
    let headers = [(header::SET_COOKIE, set_cookie(&app, "", 0))];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

async fn list(app: Call, _: ListLogins) -> Result<LoginList, ApiError> {
    let caller = app.caller();
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
    Ok(LoginList { logins })
}

async fn revoke(app: Call, asked: RevokeLogin) -> Result<(), ApiError> {
    let id = asked.login_id.as_str();
    let chosen = LoginId::parse(id);
    if end(&app, move |id| Some(id) == chosen).await? == 0 {
        let hint = "list the logins with `wakeful login list`";
        return Err(ApiError::unknown(
            "login_unknown",
            format!("login {id} does not exist"),
            hint,
        ));
    }
    Ok(())
}

async fn revoke_all(app: Call, _: RevokeAllLogins) -> Result<(), ApiError> {
    end(&app, |_| true).await?;
    Ok(())
}

async fn ticket(app: Call, _: CreateStreamTicket) -> Result<StreamTicket, ApiError> {
    let Caller::Browser(login) = app.caller() else {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "login_required",
            "tickets are for browsers that are logged in",
            "send `Authorization: Bearer …` with the stream itself",
        ));
    };
    let ticket = random(&app);
    app.logins.tickets.add(&ticket, login, app.clock.monotonic_ms());
    let expires_at = expiry(&app, TICKET_MS);
    Ok(StreamTicket { ticket, expires_at })
}

/// Ends the chosen logins. Returns how many there were.
async fn end(app: &App, is_chosen: impl Fn(LoginId) -> bool + Send + 'static) -> Result<usize, ApiError> {
    let ending = app.clone();
    let ended = blocking(move || ending.logins.list.revoke(is_chosen)).await?;
    ended.map_err(|error: LoginSaveError| {
        let message = format!("ended in this daemon, but {error}; a restart would restore the ended logins");
        let hint = "delete logins.json in the home, or make it writable and try again";
        ApiError::unavailable("login_save_failed", &message, hint)
    })
}

/// Runs blocking work on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ApiError::unavailable("interrupted", "the operation was interrupted", "try again"))
}

fn set_cookie(app: &App, value: &str, max_age_s: i64) -> String {
    let secure = if app.access.is_encrypted() { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age_s}{secure}")
}
