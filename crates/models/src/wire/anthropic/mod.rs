//! The Anthropic Messages format.

mod request;
mod response;

pub(crate) use request::OUTPUT_TOKENS_MAX;
pub(super) use request::RequestBody;
pub(super) use response::{StreamDecoder, whole};
