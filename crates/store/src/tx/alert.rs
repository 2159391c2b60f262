//! Subscriptions, how far changes have become wakes, and what agents tell one another.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use super::{Tx, View};
use crate::StoreError;
use crate::alert;
use crate::rows::{AlertRow, Cursor, Place, Subscribed, SubscriptionRow, TellingRow};

impl View<'_> {
    /// How far changes have become wakes.
    pub fn alert(&mut self) -> Result<AlertRow, StoreError> {
        alert::alert(&mut self.sql)
    }

    /// One subscription.
    pub fn subscription(&mut self, subscription: &RuleId) -> Result<Option<SubscriptionRow>, StoreError> {
        alert::one(&mut self.sql, subscription)
    }

    /// Subscriptions of one agent or of all by name, after one.
    pub fn subscriptions(
        &mut self,
        agent: Option<&AgentId>,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        alert::list(&mut self.sql, agent, after, limit)
    }

    /// The run that an operation is a step of.
    pub fn run_of_operation(&mut self, operation: &OperationId) -> Result<Option<RunKey>, StoreError> {
        alert::run_of(&mut self.sql, operation)
    }

    /// What agents' doings say and nobody has seen to yet, oldest first.
    pub fn tellings(&mut self, limit: u32) -> Result<Vec<TellingRow>, StoreError> {
        alert::tellings(&mut self.sql, limit)
    }
}

impl Tx<'_> {
    /// Lets nobody else change subscriptions until this transaction ends. Whoever announces the change as well calls this
    /// before it locks an agent's head: notices lock in this order, and who locks in another waits for ever.
    pub fn lock_subscriptions(&mut self) -> Result<(), StoreError> {
        alert::lock(&mut self.sql)
    }

    /// Keeps a subscription, within the bounds. `of_agent` and `in_all` say how many there may be. Its version is the one
    /// that the subscriptions have then, whatever the row says.
    pub fn put_subscription(
        &mut self,
        row: &SubscriptionRow,
        of_agent: u64,
        in_all: u64,
    ) -> Result<Subscribed, StoreError> {
        alert::put(&mut self.sql, row, of_agent, in_all)
    }

    /// Takes a subscription away; the version that the subscriptions have then. None when there was none.
    pub fn drop_subscription(&mut self, subscription: &RuleId) -> Result<Option<u64>, StoreError> {
        alert::drop_one(&mut self.sql, subscription)
    }

    /// Puts a subscription aside, or takes it up again from the newest change on that the row names; the version that the
    /// subscriptions have then, which is also its own where it is taken up. None when there is none.
    pub fn set_active(&mut self, row: &SubscriptionRow) -> Result<Option<u64>, StoreError> {
        alert::set_active(&mut self.sql, row)
    }

    /// Notes from when on the newest message of a subscription may begin.
    pub fn set_last_due(&mut self, subscription: &RuleId, due: Millis) -> Result<(), StoreError> {
        alert::set_last_due(&mut self.sql, subscription, due)
    }

    /// Moves the cursor on the journal's outbox; [`StoreError::Conflict`] when it or the subscriptions are not as they
    /// were seen. Locks them until the transaction ends.
    pub fn move_cursor(&mut self, seen: &AlertRow, next: &Cursor) -> Result<(), StoreError> {
        alert::move_cursor(&mut self.sql, seen, next)
    }

    /// Puts what an agent's doing says into the outbox, where somebody subscribes to such. Whether it did. It is told under
    /// the version that the subscriptions have now, whatever the row says.
    pub fn tell(&mut self, row: &TellingRow) -> Result<bool, StoreError> {
        alert::tell(&mut self.sql, row)
    }

    /// Notes that a telling was seen to up to a candidate, or takes it away where that was the last;
    /// [`StoreError::Conflict`] when somebody else has.
    pub fn see_to_telling(&mut self, seen: &TellingRow, next: Option<&Place>) -> Result<(), StoreError> {
        alert::see_to(&mut self.sql, seen, next)
    }
}
