//! Subscriptions, how far changes have become wakes, and what agents tell one another.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;
use wakeful_ports::records::{AlertRow, Cursor, Place, Subscribed, SubscriptionRow, TellingRow};
use wakeful_ports::store::{AlertTx, AlertView, StoreError};

use super::Session;
use crate::alert;

impl AlertView for Session<'_> {
    fn alert(&mut self) -> Result<AlertRow, StoreError> {
        alert::alert(self)
    }

    fn subscription(&mut self, subscription: &RuleId) -> Result<Option<SubscriptionRow>, StoreError> {
        alert::one(self, subscription)
    }

    fn subscriptions(
        &mut self,
        agent: Option<&AgentId>,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        alert::list(self, agent, after, limit)
    }

    fn run_of_operation(&mut self, operation: &OperationId) -> Result<Option<RunKey>, StoreError> {
        alert::run_of(self, operation)
    }

    fn tellings(&mut self, limit: u32) -> Result<Vec<TellingRow>, StoreError> {
        alert::tellings(self, limit)
    }
}

impl AlertTx for Session<'_> {
    fn lock_subscriptions(&mut self) -> Result<(), StoreError> {
        alert::lock(self)
    }

    fn put_subscription(
        &mut self,
        row: &SubscriptionRow,
        of_agent: u64,
        in_all: u64,
    ) -> Result<Subscribed, StoreError> {
        alert::put(self, row, of_agent, in_all)
    }

    fn drop_subscription(&mut self, subscription: &RuleId) -> Result<Option<u64>, StoreError> {
        alert::drop_one(self, subscription)
    }

    fn set_active(&mut self, row: &SubscriptionRow) -> Result<Option<u64>, StoreError> {
        alert::set_active(self, row)
    }

    fn set_last_due(&mut self, subscription: &RuleId, due: Millis) -> Result<(), StoreError> {
        alert::set_last_due(self, subscription, due)
    }

    fn move_cursor(&mut self, seen: &AlertRow, next: &Cursor) -> Result<(), StoreError> {
        alert::move_cursor(self, seen, next)
    }

    fn tell(&mut self, row: &TellingRow) -> Result<bool, StoreError> {
        alert::tell(self, row)
    }

    fn see_to_telling(&mut self, seen: &TellingRow, next: Option<&Place>) -> Result<(), StoreError> {
        alert::see_to(self, seen, next)
    }
}
