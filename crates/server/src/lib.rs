//! The HTTP server of a daemon: the API, the page, the login.
//!
//! | module | does |
//! |---|---|
//! | `app` | the shared state, and assembly of the router |
//! | `guard` | the checks that every request passes before it is handled |
//! | `access` | which hosts, origins and tokens are accepted |
//! | `rate` | rate limits |
//! | `login` | one-time links, and the browser logins that they create |
//! | `agent`, `message`, `run`, `decision`, `brake`, `budget`, `event`, `transcript`, `runtime` | the routes, one noun each |
//! | `erasure`, `journal`, `journal_record`, `provider`, `schedule`, `secret`, `source`, `subscription`, `trust`, `external_trigger`, `why` | more routes |
//! | `stream` | event streams |
//! | `metrics` | metrics for Prometheus |
//! | `page` | the embedded files of the page |
//! | [`view`] | converts the runtime's values to API types |
//! | `route`, `extract` | serving declared endpoints, reading their input |
//! | `error` | the error response |
//! | `openapi` | the OpenAPI document, generated from the declared endpoints |
//! | `serve` | listeners: bounded accept and graceful shutdown |
//! | `slots`, `connection`, `peer` | which connections are kept, serving one of them, identifying its peer |
//! | `descriptor` | how many connections the system allows |
//!
//! *Invariants:* a handler contains no rule and no query; a request is handled only after its guards let it
//! pass; every error response has one shape; an idle server has no timer.
#![forbid(unsafe_code)]

mod access;
mod agent;
mod agent_settings;
mod app;
mod attention;
mod audit;
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
#[cfg(test)]
mod page_check;
mod peer;
mod policy;
mod provider;
mod rate;
mod redaction;
mod route;
mod run;
mod run_change;
mod runtime;
mod schedule;
mod secret;
mod serve;
mod settings;
mod slots;
mod source;
mod stream;
mod subscription;
mod transcript;
mod trust;
pub mod view;
mod why;

pub use access::{Access, TOKEN_CHARS_MIN, WeakToken};
pub use app::{
    DaemonFacts, DaemonStage, Host, InProcess, MissingKey, Options, RateLimits, ServedHome, in_process,
    router,
};
pub use axum::Router;
pub use login::LoginHost;
pub use openapi::openapi_json;
pub use peer::{LocalPeer, Peer};
pub use policy::ExplainedCall;
pub use provider::{HostFuture, ProviderHost};
pub use secret::SecretHost;
pub use serve::{ServerEnd, serve, serve_at_most, serve_local};
pub use trust::FolderHost;
