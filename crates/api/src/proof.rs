//! What may be taken out of the log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::message::whole;

/// Contents to erase, of a run or of some events, and why. They must have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseContent {
    /// The run whose contents go: what was said in it, what it was told, what its events say. Or else `first_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub run_key: Option<String>,
    /// The first event whose contents go.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1)]
    pub first_seq: Option<u64>,
    /// The last event whose contents go; the first, where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1)]
    pub last_seq: Option<u64>,
    /// Why. It stays in the log.
    #[schema(
        min_length = 1,
        max_length = 500,
        example = "a name that was not ours to keep"
    )]
    pub reason: String,
}

/// What was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Erasure {
    /// The event that tells of it; absent when nothing was left to erase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub seq: Option<u64>,
    /// Events that lost what they say.
    pub events: u64,
    /// Transitions that lost what they were told.
    pub transitions: u64,
    /// Contents that are gone. Those that others name as well stay.
    pub blobs: u64,
}
