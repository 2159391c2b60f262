//! Anthropic Messages.

mod answer;
mod request;

pub(super) use answer::{Stream, whole};
pub(super) use request::Body;
