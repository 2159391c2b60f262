//! OpenAI Responses, and the variant of it that Codex speaks.

mod request;
mod response;

pub(super) use request::{RequestBody, answered};
pub(super) use response::{StreamDecoder, whole};
