//! The body of every error response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::problem::Problem;

/// The body of every response that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: Problem,
}
