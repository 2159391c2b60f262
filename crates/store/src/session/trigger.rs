//! Triggers of systems outside, and what came by them.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_ports::records::TriggerRow;
use wakeful_ports::store::{StoreError, TriggerTx, TriggerView};

use super::Session;
use crate::trigger;

impl TriggerView for Session<'_> {
    fn trigger(&mut self, trigger: &RuleId) -> Result<Option<TriggerRow>, StoreError> {
        trigger::one(self, trigger)
    }

    fn trigger_of(&mut self, agent: &AgentId) -> Result<Option<TriggerRow>, StoreError> {
        trigger::of_agent(self, agent)
    }

    fn trigger_secret(&mut self) -> Result<Option<Digest>, StoreError> {
        trigger::secret(self)
    }

    fn delivered_at(&mut self, trigger: &RuleId, delivery: &str) -> Result<Option<Millis>, StoreError> {
        trigger::delivered_at(self, trigger, delivery)
    }
}

impl TriggerTx for Session<'_> {
    fn put_trigger(&mut self, row: &TriggerRow) -> Result<(), StoreError> {
        trigger::put(self, row)
    }

    fn put_trigger_secret(&mut self, secret: &Digest, at: Millis) -> Result<(), StoreError> {
        trigger::put_secret(self, secret, at)
    }

    fn note_delivery(&mut self, trigger: &RuleId, delivery: &str, at: Millis) -> Result<(), StoreError> {
        trigger::note(self, trigger, delivery, at)
    }

    fn forget_deliveries(&mut self, trigger: &RuleId, before: Millis, most: u32) -> Result<(), StoreError> {
        trigger::forget(self, trigger, before, most)
    }
}
