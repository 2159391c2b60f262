//! OpenAI Chat Completions, as OpenAI and the many who imitate it speak it.

mod answer;
mod request;

pub(super) use answer::{Stream, whole};
pub(super) use request::Body;
