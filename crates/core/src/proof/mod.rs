//! Verification of logs, runs and bundles. Nothing here performs I/O; the caller provides the rows.
//!
//! | module | verifies |
//! |---|---|
//! | [`chain`] | the events of one agent: each follows from its predecessor, and nothing is missing |
//! | [`head`] | heads that a device signed, stored here or elsewhere |
//! | [`signing`] | signatures of a device key, and its fingerprint |
//! | [`log_binding`] | the binding of a run log to the event log |
//! | [`row_binding`] | the binding of governing rows to the event log |
//! | [`replay`] | a run: its run log leads to the stored states, effects and events |
//! | [`bundle`] | an exported run, with everything needed to verify it |

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

/// The result of an erasure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The event that records the erasure; absent if there was nothing left to erase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Number of events whose payload was erased.
    pub events: u64,
    /// Number of transitions whose input was erased.
    pub transitions: u64,
    /// Number of deleted blobs. Blobs that are referenced elsewhere are kept.
    pub blobs: u64,
    /// Number of removed audit entries.
    pub audit_entries: u64,
    /// Number of messages to the agent that were removed from the history of `wakeful chat`.
    #[serde(default)]
    pub chat_messages: u64,
}
