//! Event payloads about removed data and about governing rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Actor;
use crate::decision::Channel;
use crate::key::RunKey;
use crate::proof::row_binding::RowBinding;
use crate::retention::DataClass;

/// A person erased contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentErased {
    /// Who erased them.
    pub by: Actor,
    /// Channel through which the erasure was requested.
    pub channel: Channel,
    /// Reason given by the person.
    #[serde(default)]
    pub reason: String,
    /// Number of erased event payloads.
    #[serde(default)]
    pub events: u64,
    /// Number of erased transitions of the run log.
    #[serde(default)]
    pub transitions: u64,
    /// Number of deleted blobs.
    #[serde(default)]
    pub blobs: u64,
    /// Number of removed audit entries.
    #[serde(default)]
    pub audit_entries: u64,
    /// The erased run or events.
    #[serde(flatten)]
    pub target: ErasedTarget,
}

/// The target of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ErasedTarget {
    /// One run.
    Run {
        /// Key of the run.
        run_key: RunKey,
    },
    /// A range of events.
    Events {
        /// First event of the range.
        first_seq: u64,
        /// Last event of the range.
        last_seq: u64,
    },
}

/// Retention removed old data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataPruned {
    /// Class of the data.
    pub class: DataClass,
    /// Number of removed rows.
    pub rows: u64,
    /// Size of the removed rows in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Time of the newest removed row.
    #[serde(default)]
    pub until: String,
}

/// Rows that the log covers changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowsBound {
    /// The hash of each changed row.
    pub records: Vec<RowBinding>,
}
