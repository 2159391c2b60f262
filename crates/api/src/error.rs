//! The one shape of an error.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What every request that did not succeed is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: Problem,
}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A stable word for programs.
    #[schema(example = "agent_unknown", pattern = "^[a-z][a-z0-9_]*$")]
    pub code: String,
    /// One sentence for a person.
    pub message: String,
    /// The way out.
    pub hint: String,
}
