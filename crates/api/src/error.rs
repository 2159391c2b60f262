//! The one shape of an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::problem::Problem;

/// What every request that did not succeed is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: Problem,
}
