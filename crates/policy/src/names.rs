//! The entity types of requests, and names as Cedar text.

use std::str::FromStr as _;

use cedar_policy::{EntityId, EntityTypeName, EntityUid, ParseErrors};

/// The entity types, parsed once.
#[derive(Debug, Clone)]
pub(crate) struct EntityNames {
    action: EntityTypeName,
    agent: EntityTypeName,
    call: EntityTypeName,
    path: EntityTypeName,
    host: EntityTypeName,
    secret: EntityTypeName,
}

/// What a request is about: its resource's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    /// A call without targets.
    Call,
    Path,
    Host,
    Agent,
    Secret,
}

impl ResourceKind {
    pub(crate) const ALL: [Self; 5] = [Self::Call, Self::Path, Self::Host, Self::Agent, Self::Secret];
}

impl EntityNames {
    pub(crate) fn new() -> Result<Self, ParseErrors> {
        Ok(Self {
            action: EntityTypeName::from_str("Action")?,
            agent: EntityTypeName::from_str("Agent")?,
            call: EntityTypeName::from_str("Call")?,
            path: EntityTypeName::from_str("Path")?,
            host: EntityTypeName::from_str("Host")?,
            secret: EntityTypeName::from_str("Secret")?,
        })
    }

    pub(crate) const fn type_of(&self, kind: ResourceKind) -> &EntityTypeName {
        match kind {
            ResourceKind::Call => &self.call,
            ResourceKind::Path => &self.path,
            ResourceKind::Host => &self.host,
            ResourceKind::Agent => &self.agent,
            ResourceKind::Secret => &self.secret,
        }
    }

    /// An entity of a resource's type. The id is a value and is never parsed.
    pub(crate) fn resource(&self, kind: ResourceKind, id: &str) -> EntityUid {
        uid(self.type_of(kind), id)
    }

    pub(crate) fn agent(&self, id: &str) -> EntityUid {
        uid(&self.agent, id)
    }

    pub(crate) fn action(&self, tool: &str) -> EntityUid {
        uid(&self.action, tool)
    }

    /// A text as a Cedar string literal, escaped by Cedar itself.
    pub(crate) fn quoted(&self, text: &str) -> String {
        let uid = self.action(text).to_string();
        uid.strip_prefix("Action::").unwrap_or_default().to_owned()
    }
}

fn uid(name: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(name.clone(), EntityId::new(id))
}
