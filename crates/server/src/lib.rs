//! The HTTP face of a daemon: the API, the page, the login.
//!
//! | module | does |
//! |---|---|
//! | `guard` | what every request passes before anything is done for it |
//! | `access` | which hosts, origins and tokens are ours |
//! | `rate` | how often somebody may ask |
//! | `login` | one-time links and the cookies they become |
//! | `agent`, `message`, `run`, `decision`, `brake`, `budget`, `event`, `transcript`, `runtime` | the routes, one noun each |
//! | `proof`, `journal`, `record`, `schedule`, `subscription` | more routes |
//! | `stream` | events as they happen |
//! | `metrics` | numbers for Prometheus |
//! | `page` | the control room's files, embedded |
//! | [`view`] | from the runtime's values to what goes over the wire |
//! | `route`, `extract` | how a declared endpoint is served, how its input is read |
//! | `openapi` | the contract, made from the declared endpoints |
//! | `serve` | listeners: connections are accepted within bounds, and ended gracefully |
//! | `slots`, `connection`, `peer` | which connections are kept, what one of them says, who is at its other end |
//! | `descriptor` | how many connections the system allows |
//!
//! *Invariants:* a handler holds no rule and no query; nothing is done for a request before its guards let it pass;
//! every answer that is not a success has one shape; an idle server has no timer.
#![forbid(unsafe_code)]

mod access;
mod agent;
mod app;
mod brake;
mod budget;
mod connection;
mod decision;
mod descriptor;
mod erasure;
mod error;
mod event;
mod external_trigger;
mod extract;
mod guard;
mod journal;
mod journal_record;
mod login;
mod message;
mod metrics;
mod openapi;
mod page;
mod peer;
mod rate;
mod route;
mod run;
mod runtime;
mod schedule;
mod serve;
mod slots;
mod source;
mod stream;
mod subscription;
mod transcript;
pub mod view;
mod why;

pub use access::{Access, TOKEN_CHARS_MIN, WeakToken};
pub use app::{
    DaemonFacts, DaemonStage, Host, InProcess, Options, RateLimits, ServedHome, in_process, router,
};
pub use axum::Router;
pub use login::LoginHost;
pub use openapi::openapi_json;
pub use peer::{LocalPeer, Peer};
pub use serve::{ServerEnd, serve, serve_at_most, serve_local};
