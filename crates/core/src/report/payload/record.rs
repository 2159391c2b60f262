//! What events say about data that was removed, and about rows that govern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Actor;
use crate::decision::Channel;
use crate::key::RunKey;
use crate::proof::row_binding::RowBinding;
use crate::retention::DataClass;

/// A person had contents erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentErased {
    /// Who did.
    pub by: Actor,
    /// How they said so.
    pub channel: Channel,
    /// Why, in their words.
    #[serde(default)]
    pub reason: String,
    /// How many payloads of events.
    #[serde(default)]
    pub events: u64,
    /// How many transitions of the run's log.
    #[serde(default)]
    pub transitions: u64,
    /// How many contents.
    #[serde(default)]
    pub blobs: u64,
    /// What was to be erased.
    #[serde(flatten)]
    pub target: ErasedTarget,
}

/// What a person had erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ErasedTarget {
    /// A run.
    Run {
        /// Which one.
        run_key: RunKey,
    },
    /// Events.
    Events {
        /// The first of them.
        first_seq: u64,
        /// The last of them.
        last_seq: u64,
    },
}

/// Old data was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataPruned {
    /// What kind of data.
    pub class: DataClass,
    /// How many rows.
    pub rows: u64,
    /// How much they held.
    #[serde(default)]
    pub bytes: u64,
    /// The newest moment among them.
    #[serde(default)]
    pub until: String,
}

/// Rows that govern were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowsBound {
    /// What the event says of each row.
    pub records: Vec<RowBinding>,
}
