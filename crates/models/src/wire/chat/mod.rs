//! OpenAI Chat Completions, as OpenAI and the many who imitate it speak it.

mod request;
mod response;

pub(super) use request::RequestBody;
pub(super) use response::{StreamDecoder, whole};
