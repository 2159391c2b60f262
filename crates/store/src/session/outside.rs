//! Triggers of systems outside, and what came by them.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_ports::records::TriggerRow;
use wakeful_ports::store::{OutsideTx, OutsideView, StoreError};

use super::Session;
use crate::outside;

impl OutsideView for Session<'_> {
    fn trigger(&mut self, trigger: &RuleId) -> Result<Option<TriggerRow>, StoreError> {
        outside::one(self, trigger)
    }

    fn trigger_of(&mut self, agent: &AgentId) -> Result<Option<TriggerRow>, StoreError> {
        outside::of_agent(self, agent)
    }

    fn trigger_secret(&mut self) -> Result<Option<Digest>, StoreError> {
        outside::secret(self)
    }

    fn is_delivered(&mut self, trigger: &RuleId, delivery: &str) -> Result<bool, StoreError> {
        outside::is_delivered(self, trigger, delivery)
    }
}

impl OutsideTx for Session<'_> {
    fn put_trigger(&mut self, row: &TriggerRow) -> Result<(), StoreError> {
        outside::put(self, row)
    }

    fn put_trigger_secret(&mut self, secret: &Digest) -> Result<(), StoreError> {
        outside::put_secret(self, secret)
    }

    fn note_delivery(&mut self, trigger: &RuleId, delivery: &str, at: Millis) -> Result<(), StoreError> {
        outside::note(self, trigger, delivery, at)
    }

    fn forget_deliveries(&mut self, trigger: &RuleId, before: Millis, most: u32) -> Result<(), StoreError> {
        outside::forget(self, trigger, before, most)
    }
}
