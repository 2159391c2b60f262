//! The OpenAI Responses format, and the variant of it that Codex uses.

mod request;
mod response;

pub(super) use request::{RequestBody, answered};
pub(super) use response::{StreamDecoder, whole};
