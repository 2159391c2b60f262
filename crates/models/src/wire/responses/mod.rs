//! OpenAI Responses, and the variant of it that Codex speaks.

mod answer;
mod request;

pub(super) use answer::{Stream, whole};
pub(super) use request::{Body, answered};
