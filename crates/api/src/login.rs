//! Logins of browsers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::endpoint::{Access, endpoints};
use crate::text::{DateTime, Hex};

endpoints! { "login":
    /// Makes a link that logs a browser in, once, within a minute. Only with the API's token.
    CreateLoginLink {} = Post "/api/login-links" -> LoginLink { 201 "The link" } with { access: Access::Program }
    /// Writes a login link into a file that only the daemon's user can read, for a browser to open. Only with the API's token.
    CreateLoginPage {} = Post "/api/login-pages" -> LoginPage { 201 "The file" } with { access: Access::Program }
    /// The page, which takes the code of a link from the fragment of its address.
    GetLoginPage {} = Get "/login" -> String { 200 "The page" } with { access: Access::Public, media: &["text/html"] }
    /// Exchanges the code of a link for a login: a cookie, and the token that must go with it.
    EnterLogin = Post "/login" -> LoginGrant {
        200 "Logged in; the cookie is in the header",
        404 "The link was used, or is too old (`login_link_expired`)",
    } with { access: Access::Public }
    /// Ends the login of this browser and deletes its cookie.
    LogOut {} = Post "/api/logout" -> () { 204 "The login is ended for good, and the cookie deleted in the browser" }
    /// The browsers that are logged in.
    ListLogins {} = Get "/api/logins" -> LoginList { 200 "The logins, newest first" }
    /// Ends a login: its requests are refused, its streams end, and a restart does not bring it back.
    RevokeLogin { login_id: Hex<8, 8> } = Delete "/api/logins/{login_id}" -> () { 204 "The login is ended" }
    /// Ends all logins.
    RevokeAllLogins {} = Delete "/api/logins" -> () { 204 "No browser is logged in any more" }
    /// Makes a ticket that opens one event stream of this browser, where no header can be sent. Programs need none.
    CreateStreamTicket {} = Post "/api/stream-tickets" -> StreamTicket { 201 "The ticket" } with { access: Access::Browser }
}

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginLink {
    /// Open it in a browser. The code is in the fragment, which browsers do not send to servers.
    pub url: String,
    /// The link stops working at this time.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}

/// A file on the daemon's machine that leads a browser to a login link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginPage {
    /// The file. Only the user that runs the daemon can read it; it is deleted when the link is used or expires.
    pub path: String,
    /// The link in it stops working at this time.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}

/// Exchanges the code of a login link for a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterLogin {
    /// The code of the link.
    pub code: Hex<64, 64>,
}

/// A fresh login. The cookie comes in the response's header.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginGrant {
    /// The page keeps it in its origin's storage and sends it as `X-Wakeful-Token` beside the cookie. It is not shown again.
    pub token: String,
}

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Login {
    /// Its id, not a secret.
    #[schemars(regex(pattern = "^[0-9a-f]{8}$"))]
    pub id: String,
    /// Which browser it is, as far as it said.
    pub name: String,
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// When it last sent a request, to within an hour.
    #[schemars(with = "DateTime")]
    pub last_used_at: String,
    #[schemars(with = "DateTime")]
    pub expires_at: String,
    /// Whether the request for this list came with this login.
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
    /// Send it as the parameter `ticket` of the stream, with the cookie of the same login. It works once, within 30 seconds.
    pub ticket: String,
    /// The ticket stops working at this time.
    #[schemars(with = "DateTime")]
    pub expires_at: String,
}
