//! Signed heads. The hash chain detects partial changes, but a program that can write the log can replace
//! it entirely. A signed head fixes the log up to one event; stored elsewhere, it also protects against the
//! device itself.

use serde::{Deserialize, Serialize};

use super::chain::ChainPosition;
use super::signing::{DeviceKey, PublicKey, Signature};
use crate::id::AgentId;
use crate::key::{Digest, derived_hash};
use crate::time::Millis;

/// Maximum number of heads read from one file: far more than there are agents.
pub const HEADS_MAX: usize = 100_000;

/// A device's signed statement of an agent's log up to one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    pub agent_id: AgentId,
    /// The last event that it covers.
    pub seq: u64,
    /// The hash of that event.
    pub chain_hash: Digest,
    #[serde(with = "rfc3339")]
    pub signed_at: Millis,
    /// The key of the signing device.
    pub public_key: PublicKey,
    /// The signature of all other fields.
    pub signature: Signature,
}

impl SignedHead {
    /// Signs the log of an agent up to one event.
    #[must_use]
    pub fn sign(key: &DeviceKey, agent_id: AgentId, place: ChainPosition, at: Millis) -> Self {
        let public_key = key.public();
        let signature = key.sign(&statement(&agent_id, &place, at, &public_key));
        Self {
            agent_id,
            seq: place.seq,
            chain_hash: place.hash,
            signed_at: at,
            public_key,
            signature,
        }
    }

    /// Whether the signature is valid for the named key.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let place = ChainPosition {
            seq: self.seq,
            hash: self.chain_hash,
        };
        let statement = statement(&self.agent_id, &place, self.signed_at, &self.public_key);
        self.public_key.has_signed(&statement, &self.signature)
    }
}

/// The signed statement: `H("head", agent, seq, chain hash, time, public key)`, as 32 bytes.
fn statement(agent: &AgentId, place: &ChainPosition, at: Millis, key: &PublicKey) -> Digest {
    let fields = [
        agent.as_str(),
        &place.seq.to_string(),
        &place.hash.to_string(),
        &at.rfc3339(),
        &key.to_string(),
    ];
    derived_hash("head", &fields)
}

/// Parses heads in any form in which they may be stored: one head, a list, or the output of `wakeful status
/// --json` or `wakeful verify --json` that contains the list. Returns `None` for anything else, including
/// an empty list.
#[must_use]
pub fn read_heads(value: serde_json::Value) -> Option<Vec<SignedHead>> {
    use serde_json::Value;
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut members) => {
            let inner = members.get_mut("proof").and_then(Value::as_object_mut);
            let heads = inner.and_then(|inner| inner.remove("heads"));
            match heads.or_else(|| members.remove("heads")) {
                Some(Value::Array(list)) => list,
                Some(_) => return None,
                None => vec![Value::Object(members)],
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    if list.is_empty() || list.len() > HEADS_MAX {
        return None;
    }
    list.into_iter()
        .map(|head| serde_json::from_value(head).ok())
        .collect()
}

/// Formats times as RFC 3339 in outputs and files.
pub(super) mod rfc3339 {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::Millis;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
    pub(in crate::proof) fn serialize<S: Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.rfc3339())
    }

    pub(in crate::proof) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Millis, D::Error> {
        let text = String::deserialize(deserializer)?;
        Millis::parse(&text).ok_or_else(|| serde::de::Error::custom("expected a time in RFC 3339"))
    }
}
