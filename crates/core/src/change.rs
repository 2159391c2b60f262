//! What a committed write is called on every device, and what it says to the outside.
//!
//! A *change unit* is one record that one transaction of one host wrote. Its key is derived from provenance alone, so
//! that the author and every receiver give it the same name. Whether it was made here or arrived is carried beside the
//! key: inside it, the author would hash `local` and everybody else `sync`, and no two devices would ever agree.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::Incarnation;
use crate::journal::RecordKind;
use crate::key::{Digest, escape_into};
use crate::watch::EntryKind;

string_union! {
    /// What a change unit is about.
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
    /// Who wrote it: the host with its incarnation.
    pub host: Incarnation,
    /// Which transaction of that host. It only ever grows.
    pub counter: u64,
    /// What kind of record.
    pub payload_type: ChangeKind,
    /// Which record.
    pub payload_id: String,
}

/// The name of a change unit, the same on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeUnitKey(pub Digest);

/// The name of one transaction, whoever saw it and in whatever order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogicalChangeKey(pub Digest);

impl ChangeUnit {
    /// The unit's name: the hash of `v2|host|counter|payload type|payload id`.
    #[must_use]
    pub fn key(&self) -> ChangeUnitKey {
        let payload_type = self.payload_type.as_str();
        ChangeUnitKey::of(&self.host, self.counter, payload_type, &self.payload_id)
    }
}

impl ChangeUnitKey {
    /// The name of a unit of any payload type, also one that the journal does not store.
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
    /// The name of the transaction that these units are all of: the hash of `v1|` and their sorted keys.
    #[must_use]
    pub fn of<'a>(units: impl IntoIterator<Item = &'a ChangeUnit>) -> Self {
        Self::of_keys(&units.into_iter().map(ChangeUnit::key).collect())
    }

    /// The same for units of which only the keys are known.
    #[must_use]
    pub fn of_keys(keys: &BTreeSet<ChangeUnitKey>) -> Self {
        let keys: Vec<String> = keys.iter().map(|key| key.0.to_string()).collect();
        Self(Digest::of(format!("v1|{}", keys.join(",")).as_bytes()))
    }
}

/// Whether a transaction was committed here or arrived. It stands beside the keys and never inside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOrigin {
    /// This device wrote it.
    Local,
    /// Another device wrote it.
    Sync,
}

/// What one committed transaction tells the outside.
///
/// It is never built from a window of time: windows differ between devices, and two devices that cut the same units
/// into different batches would name different changes and run twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    key: LogicalChangeKey,
    units: BTreeSet<ChangeUnitKey>,
    tokens: BTreeSet<Token>,
    origin: ChangeOrigin,
}

/// Units that are not those of one transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChangeUnits {
    /// There is no unit.
    #[error("a notice needs a change unit; a transaction that wrote nothing tells nothing")]
    Nothing,
    /// They were written by two transactions.
    #[error("the change units are of several transactions; each makes a notice of its own")]
    Several,
}

impl Notice {
    /// The notice of the one transaction that wrote these units.
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

    /// The transaction's name, the same on every device.
    #[must_use]
    pub const fn key(&self) -> LogicalChangeKey {
        self.key
    }

    /// The names of its units, sorted.
    #[must_use]
    pub const fn units(&self) -> &BTreeSet<ChangeUnitKey> {
        &self.units
    }

    /// What it says.
    #[must_use]
    pub const fn tokens(&self) -> &BTreeSet<Token> {
        &self.tokens
    }

    /// Where the transaction was committed.
    #[must_use]
    pub const fn origin(&self) -> ChangeOrigin {
        self.origin
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

string_enum! {
    /// The three classes of tokens, the one that tells least first.
    #[derive(PartialOrd, Ord)]
    pub enum TokenClass {
        /// A kind of thing.
        SemanticKey = "semanticKey",
        /// A value within a namespace.
        Subtype = "subtypeToken",
        /// One record.
        EntityId = "entityId",
    }
}

/// Why something is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// It says nothing.
    #[error("the value of a token must not be empty")]
    EmptyValue,
    /// A subtype without its namespace.
    #[error("a token of class subtypeToken needs a namespace")]
    NamespaceMissing,
    /// A namespace where there is none.
    #[error("only a token of class subtypeToken has a namespace")]
    NamespaceMisplaced,
}

impl Token {
    /// A token of its parts, if they make one.
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

    /// Its class.
    #[must_use]
    pub const fn class(&self) -> TokenClass {
        match self {
            Self::SemanticKey(_) => TokenClass::SemanticKey,
            Self::Subtype { .. } => TokenClass::Subtype,
            Self::EntityId(_) => TokenClass::EntityId,
        }
    }

    /// The record it names, if it names one.
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

    /// Reads a token's key.
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

    /// Reads the word by which a person names a token: `TASK`, `task.status=done`, or `id:` and a record.
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

    /// The word by which a person names it.
    #[must_use]
    pub fn to_word(&self) -> String {
        match self {
            Self::SemanticKey(value) => value.clone(),
            Self::Subtype { namespace, value } => format!("{namespace}={value}"),
            Self::EntityId(id) => format!("id:{id}"),
        }
    }
}

/// What [`escape_into`] made of a field, as it was.
fn unescape(field: &str) -> String {
    field.replace("%7C", "|").replace("%25", "%")
}

#[cfg(test)]
mod tests;
