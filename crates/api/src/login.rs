//! Endpoints and types for browser logins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::endpoint::{Access, endpoints};
use crate::text::{DateTime, Hex};

endpoints! { "login":
    /// Creates a link that logs a browser in.
    ///
    /// The link works once, within one minute. Requires the API token.
    CreateLoginLink {} = Post "/api/login-links" -> LoginLink { 201 "The link" } with { access: Access::Program }
    /// Writes a login link to a file that only the daemon's user can read, for a browser to open. Requires
    /// the API token.
    CreateLoginPage {} = Post "/api/login-pages" -> LoginPage { 201 "The file" } with { access: Access::Program }
    /// Retrieves the login page, which reads the code of a login link from the fragment of its URL.
    GetLoginPage {} = Get "/login" -> String { 200 "The page" } with { access: Access::Public, media: &["text/html"] }
    /// Exchanges the code of a login link for a login: a cookie, and the token that must be sent with it.
    EnterLogin = Post "/login" -> LoginGrant {
        200 "The browser is logged in; the response header contains the cookie",
        404 "The link was used or has expired (`login_link_expired`)",
    } with { access: Access::Public }
    /// Logs this browser out and deletes its cookie.
    LogOut {} = Post "/api/logout" -> () { 204 "The login is ended, and the cookie is deleted in the browser" }
    /// Lists the browsers that are logged in.
    ListLogins {} = Get "/api/logins" -> LoginList { 200 "The logins, newest first" }
    /// Revokes a login.
    ///
    /// Its requests are refused and its streams end. A restart does not restore it.
    RevokeLogin { login_id: Hex<8, 8> } = Delete "/api/logins/{login_id}" -> () { 204 "The login is revoked" }
    /// Revokes all logins.
    RevokeAllLogins {} = Delete "/api/logins" -> () { 204 "All logins are revoked" }
    /// Creates a ticket for one event stream of this browser.
    ///
    /// Browsers cannot send headers with an event stream and use a ticket instead. Programs do not need
    /// one.
    CreateStreamTicket {} = Post "/api/stream-tickets" -> StreamTicket { 201 "The ticket" } with { access: Access::Browser }
}

/// A link that logs a browser in once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginLink {
    /// The URL to open in a browser. The code is in the fragment, which browsers do not send to servers.
    pub url: String,
    /// When the link expires.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}

/// A file on the daemon's machine that opens a login link in a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginPage {
    /// The path of the file. Only the user that runs the daemon can read it; it is deleted when the link is
    /// used or expires.
    pub path: String,
    /// When the link in the file expires.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}

/// Exchanges the code of a login link for a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterLogin {
    /// The code of the login link.
    pub code: Hex<64, 64>,
}

/// A new login. The response header contains the cookie.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginGrant {
    /// The login token. The page stores it in its origin's storage and sends it as `X-Wakeful-Token` with
    /// the cookie. It is not shown again.
    pub token: String,
}

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Login {
    /// The login's id, which is not a secret.
    #[schemars(regex(pattern = "^[0-9a-f]{8}$"))]
    pub id: String,
    /// The name of the browser, as far as it identified itself.
    pub name: String,
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// When the browser last sent a request, accurate to one hour.
    #[schemars(with = "DateTime")]
    pub last_used_at: String,
    #[schemars(with = "DateTime")]
    pub expires_at: String,
    /// Whether the current request uses this login.
    pub is_current: bool,
}

/// The browsers that are logged in, newest first; at most 64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginList {
    pub logins: Vec<Login>,
}

/// A ticket that opens one event stream.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTicket {
    /// The ticket. Send it as the parameter `ticket` of the stream, with the cookie of the same login. It
    /// works once, within 30 seconds.
    pub ticket: String,
    /// When the ticket expires.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}
