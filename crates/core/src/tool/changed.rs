//! What a tool call changed, and the links from its result to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of changed entities that the result of one call names: as many as a call has targets.
pub const CHANGED_MAX: usize = crate::policy::TARGETS_MAX;

string_enum! {
    /// How a result refers to an entity.
    #[derive(PartialOrd, Ord)]
    pub enum EntityRelation {
        /// The call changed the entity.
        ToolEffect = "tool_effect",
    }
}

/// Something that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedEntity {
    /// The kind, as in the contract of the tool, such as `task` or `file`.
    pub entity_type: String,
    /// The id of a record, or the path of a file.
    pub entity_id: String,
}

impl ChangedEntity {
    #[must_use]
    pub fn new(entity_type: &str, entity_id: &str) -> Self {
        Self {
            entity_type: entity_type.to_owned(),
            entity_id: entity_id.to_owned(),
        }
    }
}

/// A link from the result of a call to an entity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct EntityLink {
    /// What the call did to it.
    pub relation: EntityRelation,
    /// The kind of the entity, such as `task` or `file`.
    pub entity_type: String,
    /// The id of a record, or the path of a file.
    pub entity_id: String,
}

impl EntityLink {
    /// The link to an entity that a call changed.
    #[must_use]
    pub fn effect(changed: &ChangedEntity) -> Self {
        Self {
            relation: EntityRelation::ToolEffect,
            entity_type: changed.entity_type.clone(),
            entity_id: changed.entity_id.clone(),
        }
    }
}
