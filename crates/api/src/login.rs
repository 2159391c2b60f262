//! Logins of browsers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginLink {
    /// Open it in a browser. The code is in the fragment, which browsers do not send to servers.
    pub url: String,
    /// The link stops working at this time.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// A file on the daemon's machine that leads a browser to a login link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginPage {
    /// The file. Only the user that runs the daemon can read it; it is deleted when the link is used or expires.
    pub path: String,
    /// The link in it stops working at this time.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// Exchanges the code of a login link for a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterLogin {
    /// The code of the link.
    #[schema(min_length = 64, max_length = 64, pattern = "^[0-9a-f]{64}$")]
    pub code: String,
}

/// A fresh login. The cookie comes in the response's header.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// The page keeps it in its origin's storage and sends it as `X-Wakeful-Token` beside the cookie. It is not shown again.
    pub token: String,
}

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// Its id, not a secret.
    #[schema(example = "0a1b2c3d", pattern = "^[0-9a-f]{8}$")]
    pub id: String,
    /// Which browser it is, as far as it said.
    #[schema(example = "Chrome on Linux")]
    pub name: String,
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last sent a request, to within an hour.
    #[schema(format = DateTime)]
    pub last_used_at: String,
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// Whether the request for this list came with this login.
    pub is_current: bool,
}

/// The browsers that are logged in, newest first; at most 64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginList {
    pub logins: Vec<Login>,
}

/// A ticket that opens one event stream.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamTicket {
    /// Send it as the parameter `ticket` of the stream, with the cookie of the same login. It works once, within 30 seconds.
    pub ticket: String,
    /// The ticket stops working at this time.
    #[schema(format = DateTime)]
    pub expires_at: String,
}
