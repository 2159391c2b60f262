//! Triggers of systems outside, and what came by them.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;

use super::{Tx, View};
use crate::StoreError;
use crate::rows::TriggerRow;
use crate::trigger;

impl View<'_> {
    /// One trigger.
    pub fn trigger(&mut self, trigger: &RuleId) -> Result<Option<TriggerRow>, StoreError> {
        trigger::one(&mut self.sql, trigger)
    }

    /// The trigger of an agent.
    pub fn trigger_of(&mut self, agent: &AgentId) -> Result<Option<TriggerRow>, StoreError> {
        trigger::of_agent(&mut self.sql, agent)
    }

    /// What the addresses of triggers are made with; none before the first of them.
    pub fn trigger_secret(&mut self) -> Result<Option<Digest>, StoreError> {
        trigger::secret(&mut self.sql)
    }

    /// When a delivery was taken in before, as far as that is remembered.
    pub fn delivered_at(&mut self, trigger: &RuleId, delivery: &str) -> Result<Option<Millis>, StoreError> {
        trigger::delivered_at(&mut self.sql, trigger, delivery)
    }
}

impl Tx<'_> {
    /// Keeps a trigger as it now stands.
    pub fn put_trigger(&mut self, row: &TriggerRow) -> Result<(), StoreError> {
        trigger::put(&mut self.sql, row)
    }

    /// Keeps a secret where there is none. The first one stands.
    pub fn put_trigger_secret(&mut self, secret: &Digest, at: Millis) -> Result<(), StoreError> {
        trigger::put_secret(&mut self.sql, secret, at)
    }

    /// Remembers a delivery.
    pub fn note_delivery(&mut self, trigger: &RuleId, delivery: &str, at: Millis) -> Result<(), StoreError> {
        trigger::note(&mut self.sql, trigger, delivery, at)
    }

    /// Forgets deliveries that came before a moment, and those beyond so many.
    pub fn forget_deliveries(
        &mut self,
        trigger: &RuleId,
        before: Millis,
        most: u32,
    ) -> Result<(), StoreError> {
        trigger::forget(&mut self.sql, trigger, before, most)
    }
}
