//! Anthropic Messages.

mod answer;
mod request;

pub(super) use answer::{Stream, whole};
pub(super) use request::Body;
pub(crate) use request::OUTPUT_TOKENS_MAX;
