//! Triggers of systems outside, and what came by them.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;

use super::StoreError;
use crate::records::TriggerRow;

/// What is read about triggers.
pub trait TriggerView {
    /// One trigger.
    fn trigger(&mut self, trigger: &RuleId) -> Result<Option<TriggerRow>, StoreError>;
    /// The trigger of an agent.
    fn trigger_of(&mut self, agent: &AgentId) -> Result<Option<TriggerRow>, StoreError>;
    /// What the addresses of triggers are made with; none before the first of them.
    fn trigger_secret(&mut self) -> Result<Option<Digest>, StoreError>;
    /// When a delivery was taken in before, as far as that is remembered.
    fn delivered_at(&mut self, trigger: &RuleId, delivery: &str) -> Result<Option<Millis>, StoreError>;
}

/// What is written about triggers.
pub trait TriggerTx {
    /// Keeps a trigger as it now stands.
    fn put_trigger(&mut self, row: &TriggerRow) -> Result<(), StoreError>;
    /// Keeps a secret where there is none. The first one stands.
    fn put_trigger_secret(&mut self, secret: &Digest, at: Millis) -> Result<(), StoreError>;
    /// Remembers a delivery.
    fn note_delivery(&mut self, trigger: &RuleId, delivery: &str, at: Millis) -> Result<(), StoreError>;
    /// Forgets deliveries that came before a moment, and those beyond so many.
    fn forget_deliveries(&mut self, trigger: &RuleId, before: Millis, most: u32) -> Result<(), StoreError>;
}
