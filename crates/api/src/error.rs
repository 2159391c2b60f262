//! The one shape of an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every request that did not succeed is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: Problem,
}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A stable word for programs.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"))]
    pub code: String,
    /// One sentence for a person.
    pub message: String,
    /// The way out.
    pub hint: String,
}
