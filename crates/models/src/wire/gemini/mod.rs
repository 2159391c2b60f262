//! The Gemini `generateContent` format.

mod request;
mod response;

pub(super) use request::RequestBody;
pub(super) use response::{StreamDecoder, whole};
