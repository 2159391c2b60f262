//! The record of what a command of an agent connected to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

string_enum! {
    /// What happened to a connection.
    pub enum ConnectionVerdict {
        /// It was made.
        Allowed = "allowed",
        /// The agent's rules refuse it.
        Refused = "refused",
        /// It was allowed and could not be made.
        Failed = "failed",
    }
}

/// The connections of a command to one host with one result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// The host as the command named it.
    pub host: String,
    /// The port on the host.
    pub port: u16,
    pub verdict: ConnectionVerdict,
    /// The entry of the agent's list that allowed it, or why it was refused or failed.
    pub reason: String,
    /// The number of equal connections.
    pub count: u64,
    /// Bytes that the command sent.
    pub sent_bytes: u64,
    /// Bytes that the command received.
    pub received_bytes: u64,
}
