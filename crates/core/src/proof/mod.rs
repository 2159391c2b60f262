//! Proof: whether a log, a run or a bundle is what it says it is. Nothing here reads anything; whoever asks brings the
//! rows.
//!
//! | module | judges |
//! |---|---|
//! | [`chain`] | the events of one agent: each follows from the one before, and nothing is missing |
//! | [`head`] | heads that a device has signed, here or elsewhere |
//! | [`signing`] | the key of a device, and what it is known by |
//! | [`bond`] | what ties a journal to the log |
//! | [`record`] | what binds rows that govern to the log |
//! | [`replay`] | a run: its journal leads to the states, effects and events that are kept |
//! | [`bundle`] | a run that was carried to another machine, with all that proves it |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod bundle;
pub mod chain;
pub mod head;
pub mod log_binding;
pub mod replay;
pub mod row_binding;
pub mod signing;
#[cfg(test)]
mod tests;

/// What was erased.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The event that tells of it; absent when nothing was left to erase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Events that lost what they say.
    pub events: u64,
    /// Transitions that lost what they were told.
    pub transitions: u64,
    /// Contents that are gone. Those that others name as well stay.
    pub blobs: u64,
}
