//! The record of what a command of an agent connected to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

/// Most refused connections of one action that are stored with its result: as many as a result lists.
pub const REFUSED_CONNECTIONS_MAX: usize = 64;

/// The hosts that a command reached, in its result. It lists as many as a result does; a command that reached
/// more has reached some of them.
#[must_use]
pub fn reached_hosts(receipt: &str) -> Vec<String> {
    let reached = connections(receipt).into_iter();
    let reached = reached.filter(|connection| connection.verdict == ConnectionVerdict::Allowed);
    reached
        .map(|connection| format!("{}:{}", connection.host, connection.port))
        .collect()
}

fn connections(receipt: &str) -> Vec<Connection> {
    #[derive(Deserialize)]
    struct Receipt {
        #[serde(default)]
        connections: Vec<Connection>,
    }
    let found = serde_json::from_str::<Receipt>(receipt).map(|receipt| receipt.connections);
    found.unwrap_or_default()
}

/// A receipt that replaces the result of a command, with the connections of the result: what the command reached is
/// known even if its result is withheld.
#[must_use]
pub fn with_connections_of(result: &str, receipt: String) -> String {
    let found = connections(result);
    match serde_json::from_str(&receipt) {
        Ok(Value::Object(mut fields)) if !found.is_empty() => {
            fields.insert("connections".to_owned(), json!(found));
            Value::Object(fields).to_string()
        }
        Ok(_) | Err(_) => receipt,
    }
}

/// The refused connections in the result of a command.
#[must_use]
pub fn refused_connections(receipt: &str) -> Vec<Connection> {
    let mut found = connections(receipt);
    found.retain(|connection| connection.verdict == ConnectionVerdict::Refused);
    found.truncate(REFUSED_CONNECTIONS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_that_replaces_a_result_keeps_the_connections() {
        let made = json!({"host": "a.example", "port": 443, "verdict": "allowed", "reason": "listed", "count": 1,
            "sent_bytes": 0, "received_bytes": 9});
        let result = json!({"stdout_preview": "hidden", "connections": [made]}).to_string();
        let receipt = with_connections_of(&result, json!({"kind": "withheld"}).to_string());
        assert_eq!(reached_hosts(&receipt), ["a.example:443"]);
        assert!(!receipt.contains("hidden"), "{receipt}");
        assert_eq!(with_connections_of("{}", "{}".to_owned()), "{}");
    }
}
