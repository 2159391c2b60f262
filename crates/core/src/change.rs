//! What a committed write is called on every device, and what it says to the outside.
//!
//! A *change unit* is one record that one transaction of one host wrote. Its key is derived from provenance alone, so
//! that the author and every receiver give it the same name. Whether it was made here or arrived is carried beside the
//! key: inside it, the author would hash `local` and everybody else `sync`, and no two devices would ever agree.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::Incarnation;
use crate::key::{Digest, escape_into};

/// One record that one transaction wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unit {
    /// Who wrote it: the host with its incarnation.
    pub host: Incarnation,
    /// Which transaction of that host. It only ever grows.
    pub counter: u64,
    /// What kind of record.
    pub payload_type: String,
    /// Which record.
    pub payload_id: String,
}

/// The name of a change unit, the same on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitKey(pub Digest);

/// The name of one transaction, whoever saw it and in whatever order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogicalChangeKey(pub Digest);

impl Unit {
    /// The unit's name: the hash of `v2|host|counter|payload type|payload id`.
    #[must_use]
    pub fn key(&self) -> UnitKey {
        let counter = self.counter.to_string();
        let fields = [self.host.as_str(), &counter, &self.payload_type, &self.payload_id];
        let mut text = "v2".to_owned();
        for field in fields {
            text.push('|');
            escape_into(field, &mut text);
        }
        UnitKey(Digest::of(text.as_bytes()))
    }
}

impl LogicalChangeKey {
    /// The name of the transaction that these units are all of: the hash of `v1|` and their sorted keys.
    #[must_use]
    pub fn of<'a>(units: impl IntoIterator<Item = &'a Unit>) -> Self {
        let keys: BTreeSet<UnitKey> = units.into_iter().map(Unit::key).collect();
        let keys: Vec<String> = keys.iter().map(|key| key.0.to_string()).collect();
        Self(Digest::of(format!("v1|{}", keys.join(",")).as_bytes()))
    }
}

/// A typed word of a notice. Only a subtype has a namespace, and every subtype has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    /// A kind of thing changed, such as `TASK`.
    SemanticKey(String),
    /// Within a namespace something of this value changed.
    Subtype {
        /// What the value is a value of.
        namespace: String,
        /// The value.
        value: String,
    },
    /// This very record changed.
    EntityId(String),
}

impl Token {
    /// The token's key: class, namespace or `-`, and value.
    #[must_use]
    pub fn key(&self) -> String {
        let (class, namespace, value) = match self {
            Self::SemanticKey(value) => ("semanticKey", None, value),
            Self::Subtype { namespace, value } => ("subtypeToken", Some(namespace), value),
            Self::EntityId(value) => ("entityId", None, value),
        };
        let mut key = format!("{class}|");
        match namespace {
            Some(namespace) => escape_into(namespace, &mut key),
            None => key.push('-'),
        }
        key.push('|');
        escape_into(value, &mut key);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(counter: u64, payload_id: &str) -> Unit {
        Unit {
            host: Incarnation::new("laptop.1"),
            counter,
            payload_type: "task".into(),
            payload_id: payload_id.into(),
        }
    }

    #[test]
    fn a_unit_is_named_by_its_provenance_alone() {
        // sha256("v2|laptop.1|7|task|a%7Cb")
        let expected = Digest::of(b"v2|laptop.1|7|task|a%7Cb");
        assert_eq!(unit(7, "a|b").key().0, expected);
        assert_eq!(
            unit(1, "x").key().0.to_string(),
            "45c76585876383cf024092e99a8b69d38db05d1b22baf809a3d6fa53b8be7f13",
            "a golden vector that another program computed"
        );
    }

    /// With the origin in the key the author would say `local` and every receiver `sync`.
    #[test]
    fn the_author_and_a_receiver_give_a_unit_the_same_name() {
        let with_origin = |origin: &str| Digest::of(format!("v1|{origin}|laptop.1|7|task|x").as_bytes());
        assert_ne!(
            with_origin("local"),
            with_origin("sync"),
            "the way that does not work"
        );
        let (written, received) = (unit(7, "x"), unit(7, "x"));
        assert_eq!(written.key(), received.key());
    }

    #[test]
    fn neither_order_nor_repetition_changes_the_name_of_a_transaction() {
        let (a, b) = (unit(7, "a"), unit(7, "b"));
        let once = LogicalChangeKey::of([&a, &b]);
        assert_eq!(once, LogicalChangeKey::of([&b, &a, &b]));
        assert_ne!(once, LogicalChangeKey::of([&a]));
        let mut keys = [a.key().0.to_string(), b.key().0.to_string()];
        keys.sort();
        assert_eq!(once.0, Digest::of(format!("v1|{}", keys.join(",")).as_bytes()));
    }

    #[test]
    fn a_token_is_spelled_by_class_namespace_and_value() {
        let subtype = Token::Subtype {
            namespace: "workoutType".into(),
            value: "run".into(),
        };
        assert_eq!(Token::SemanticKey("TASK".into()).key(), "semanticKey|-|TASK");
        assert_eq!(subtype.key(), "subtypeToken|workoutType|run");
        assert_eq!(Token::EntityId("a|b%".into()).key(), "entityId|-|a%7Cb%25");
    }
}
