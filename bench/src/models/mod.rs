//! Measures the cost of model requests: the client compared with the providers' own, and the daemon between
//! a provider and a listener.
//!
//! | module | measures |
//! |---|---|
//! | [`cost`] | processor time per request and per streamed token, compared with the official SDKs |
//! | [`forward`] | the delay of streamed text through the daemon |
//! | [`crowd`] | memory during many concurrent streams |
//! | [`first`] | the size of an agent's first request |
//! | [`word`] | the delay of the first word of `wakeful run` in a terminal |
//!
//! `fake` is the provider, on loopback and the same for all; `client` is our client as a separate process,
//! so that the fake provider's cost is not counted.

pub(crate) mod client;
pub(crate) mod cost;
pub(crate) mod crowd;
mod fake;
pub(crate) mod first;
pub(crate) mod forward;
mod say;
pub(crate) mod word;
