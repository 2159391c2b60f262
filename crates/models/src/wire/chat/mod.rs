//! The OpenAI Chat Completions format, which many other servers support.

mod request;
mod response;

pub(super) use request::RequestBody;
pub(super) use response::{StreamDecoder, whole};
