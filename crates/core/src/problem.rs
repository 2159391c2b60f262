//! An error for people and programs. Runtime, API, client and command line share this type, so that a code
//! has one meaning everywhere.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A stable code for programs.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"))]
    pub code: Cow<'static, str>,
    /// One sentence for a person.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// Formats an error with all its causes, outermost first.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
