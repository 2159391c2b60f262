//! Names of committed changes, which are equal on every device, and the notices that describe them to
//! subscribers.
//!
//! A *change unit* is one record that one transaction of one host wrote. Its key is derived only from its
//! provenance, so the author and every receiver compute the same key. Whether the change is local or
//! received is stored beside the key: inside it, the author would hash `local` and every receiver `sync`,
//! and no two devices would agree.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::Incarnation;
use crate::journal::RecordKind;
use crate::key::{Digest, escape_into};
use crate::watch::EntryKind;

string_union! {
    /// The type of a changed record.
    #[schemars(rename = "JournalChangeKind")]
    pub enum ChangeKind {
        /// A record of the journal.
        Record(RecordKind),
        /// An entry of a watched source.
        Entry(EntryKind),
    }
}

/// One record that one transaction wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeUnit {
    /// The host that wrote it, with its incarnation.
    pub host: Incarnation,
    /// The number of the transaction on that host. It only increases.
    pub counter: u64,
    pub payload_type: ChangeKind,
    pub payload_id: String,
}

/// The key of a change unit, equal on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeUnitKey(pub Digest);

/// The key of one transaction, independent of the device and the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogicalChangeKey(pub Digest);

impl ChangeUnit {
    /// Computes the key: the hash of `v2|host|counter|payload type|payload id`.
    #[must_use]
    pub fn key(&self) -> ChangeUnitKey {
        let payload_type = self.payload_type.as_str();
        ChangeUnitKey::of(&self.host, self.counter, payload_type, &self.payload_id)
    }
}

impl ChangeUnitKey {
    /// Computes the key of a unit of any payload type, including types that the journal does not store.
    #[must_use]
    pub fn of(host: &Incarnation, counter: u64, payload_type: &str, payload_id: &str) -> Self {
        let counter = counter.to_string();
        let fields = [host.as_str(), &counter, payload_type, payload_id];
        let mut text = "v2".to_owned();
        for field in fields {
            text.push('|');
            escape_into(field, &mut text);
        }
        Self(Digest::of(text.as_bytes()))
    }
}

impl LogicalChangeKey {
    /// Computes the key of the transaction that wrote these units: the hash of `v1|` and their sorted keys.
    #[must_use]
    pub fn of<'a>(units: impl IntoIterator<Item = &'a ChangeUnit>) -> Self {
        Self::of_keys(&units.into_iter().map(ChangeUnit::key).collect())
    }

    /// Computes the same key from the keys of the units.
    #[must_use]
    pub fn of_keys(keys: &BTreeSet<ChangeUnitKey>) -> Self {
        let keys: Vec<String> = keys.iter().map(|key| key.0.to_string()).collect();
        Self(Digest::of(format!("v1|{}", keys.join(",")).as_bytes()))
    }
}

/// Whether a transaction was committed here or received. It is stored beside the keys and never hashed into
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOrigin {
    /// Committed on this device.
    Local,
    /// Received from another device.
    Sync,
}

/// The description of one committed transaction for subscribers.
///
/// A notice never covers a time window: windows differ between devices, so two devices that batched the
/// same units differently would compute different keys and run twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    key: LogicalChangeKey,
    units: BTreeSet<ChangeUnitKey>,
    tokens: BTreeSet<Token>,
    origin: ChangeOrigin,
}

/// Why units do not belong to one transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChangeUnits {
    /// There are no units.
    #[error("a notice needs a change unit; a transaction that wrote nothing has no notice")]
    Nothing,
    /// Several transactions wrote them.
    #[error("the change units belong to several transactions; create one notice for each")]
    Several,
}

impl Notice {
    /// Creates the notice of the transaction that wrote these units.
    pub fn of<'a>(
        units: impl IntoIterator<Item = &'a ChangeUnit>,
        tokens: impl IntoIterator<Item = Token>,
        origin: ChangeOrigin,
    ) -> Result<Self, BadChangeUnits> {
        let mut transaction: Option<(&Incarnation, u64)> = None;
        let mut keys = BTreeSet::new();
        for unit in units {
            let of_unit = (&unit.host, unit.counter);
            if *transaction.get_or_insert(of_unit) != of_unit {
                return Err(BadChangeUnits::Several);
            }
            keys.insert(unit.key());
        }
        if keys.is_empty() {
            return Err(BadChangeUnits::Nothing);
        }
        Ok(Self {
            key: LogicalChangeKey::of_keys(&keys),
            units: keys,
            tokens: tokens.into_iter().collect(),
            origin,
        })
    }

    /// The key of the transaction, equal on every device.
    #[must_use]
    pub const fn key(&self) -> LogicalChangeKey {
        self.key
    }

    /// The sorted keys of its units.
    #[must_use]
    pub const fn units(&self) -> &BTreeSet<ChangeUnitKey> {
        &self.units
    }

    #[must_use]
    pub const fn tokens(&self) -> &BTreeSet<Token> {
        &self.tokens
    }

    #[must_use]
    pub const fn origin(&self) -> ChangeOrigin {
        self.origin
    }
}

/// A typed word of a notice. Every subtype has a namespace, and no other token has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    /// A kind of record changed, such as `TASK`.
    SemanticKey(String),
    /// A value within a namespace changed.
    Subtype { namespace: String, value: String },
    /// One particular record changed.
    EntityId(String),
}

string_enum! {
    /// The three classes of tokens, the least specific first.
    #[derive(PartialOrd, Ord)]
    pub enum TokenClass {
        /// A kind of record.
        SemanticKey = "semanticKey",
        /// A value within a namespace.
        Subtype = "subtypeToken",
        /// One record.
        EntityId = "entityId",
    }
}

/// Why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("the value of a token must not be empty")]
    EmptyValue,
    /// A subtype has no namespace.
    #[error("a token of class subtypeToken needs a namespace")]
    NamespaceMissing,
    /// A token of another class has a namespace.
    #[error("only a token of class subtypeToken has a namespace")]
    NamespaceMisplaced,
}

impl Token {
    /// Builds a token from its parts.
    pub fn new(class: TokenClass, namespace: Option<&str>, value: &str) -> Result<Self, BadToken> {
        if value.is_empty() {
            return Err(BadToken::EmptyValue);
        }
        let value = value.to_owned();
        match (class, namespace) {
            (TokenClass::Subtype, Some(namespace)) => Ok(Self::Subtype {
                namespace: namespace.to_owned(),
                value,
            }),
            (TokenClass::SemanticKey, None) => Ok(Self::SemanticKey(value)),
            (TokenClass::EntityId, None) => Ok(Self::EntityId(value)),
            (TokenClass::Subtype, None) => Err(BadToken::NamespaceMissing),
            (TokenClass::SemanticKey | TokenClass::EntityId, Some(_)) => Err(BadToken::NamespaceMisplaced),
        }
    }

    #[must_use]
    pub const fn class(&self) -> TokenClass {
        match self {
            Self::SemanticKey(_) => TokenClass::SemanticKey,
            Self::Subtype { .. } => TokenClass::Subtype,
            Self::EntityId(_) => TokenClass::EntityId,
        }
    }

    /// The record id, if it is a token of a single record.
    #[must_use]
    pub fn entity_id(&self) -> Option<&str> {
        match self {
            Self::EntityId(id) => Some(id),
            Self::SemanticKey(_) | Self::Subtype { .. } => None,
        }
    }

    /// The token's key: class, namespace or `-`, and value.
    #[must_use]
    pub fn key(&self) -> String {
        let (namespace, value) = match self {
            Self::SemanticKey(value) | Self::EntityId(value) => (None, value),
            Self::Subtype { namespace, value } => (Some(namespace), value),
        };
        let mut key = format!("{}|", self.class().as_str());
        match namespace {
            Some(namespace) => escape_into(namespace, &mut key),
            None => key.push('-'),
        }
        key.push('|');
        escape_into(value, &mut key);
        key
    }

    /// Parses a token's key.
    #[must_use]
    pub fn parse_key(key: &str) -> Option<Self> {
        let mut parts = key.split('|');
        let (class, namespace, value) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let class = TokenClass::parse(class)?;
        let namespace = match class {
            TokenClass::Subtype => Some(unescape(namespace)),
            TokenClass::SemanticKey | TokenClass::EntityId => None,
        };
        Self::new(class, namespace.as_deref(), &unescape(value)).ok()
    }

    /// Parses a token as people write it: `TASK`, `task.status=done`, or `id:` and a record id.
    pub fn parse_word(word: &str) -> Result<Self, BadToken> {
        if let Some(id) = word.strip_prefix("id:") {
            return Self::new(TokenClass::EntityId, None, id);
        }
        match word.split_once('=') {
            Some(("", _)) => Err(BadToken::NamespaceMissing),
            Some((namespace, value)) => Self::new(TokenClass::Subtype, Some(namespace), value),
            None => Self::new(TokenClass::SemanticKey, None, word),
        }
    }

    /// Formats the token as people write it.
    #[must_use]
    pub fn to_word(&self) -> String {
        match self {
            Self::SemanticKey(value) => value.clone(),
            Self::Subtype { namespace, value } => format!("{namespace}={value}"),
            Self::EntityId(id) => format!("id:{id}"),
        }
    }
}

/// Reverses [`escape_into`].
fn unescape(field: &str) -> String {
    field.replace("%7C", "|").replace("%25", "%")
}

#[cfg(test)]
mod tests;
