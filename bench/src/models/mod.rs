//! What asking a model costs: the client beside the providers' own, the daemon between a provider and a listener.
//!
//! | module | measures |
//! |---|---|
//! | [`cost`] | processor time per request and per streamed token, beside the official SDKs |
//! | [`forward`] | how late the first words reach whoever listens to the daemon |
//! | [`crowd`] | memory while many streams run at once |
//! | [`first`] | the size of an agent's first request |
//!
//! `fake` is the provider, on loopback and the same for everybody; `client` is our client as a process of its own, so that
//! what the fake uses is not counted.

pub(crate) mod client;
pub(crate) mod cost;
pub(crate) mod crowd;
mod fake;
pub(crate) mod first;
pub(crate) mod forward;
mod say;
