//! Subscriptions, how far changes have become wakes, and what agents tell one another.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use super::StoreError;
use crate::records::{AlertRow, Cursor, Place, Subscribed, SubscriptionRow, TellingRow};

/// What is read about subscriptions and notices.
pub trait AlertView {
    /// How far changes have become wakes.
    fn alert(&mut self) -> Result<AlertRow, StoreError>;
    /// One subscription.
    fn subscription(&mut self, subscription: &RuleId) -> Result<Option<SubscriptionRow>, StoreError>;
    /// Subscriptions of one agent or of all by name, after one.
    fn subscriptions(
        &mut self,
        agent: Option<&AgentId>,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionRow>, StoreError>;
    /// The run that an operation is a step of.
    fn run_of_operation(&mut self, operation: &OperationId) -> Result<Option<RunKey>, StoreError>;
    /// What agents' doings say and nobody has seen to yet, oldest first.
    fn tellings(&mut self, limit: u32) -> Result<Vec<TellingRow>, StoreError>;
}

/// What is written about subscriptions and notices.
pub trait AlertTx {
    /// Lets nobody else change subscriptions until this transaction ends. Whoever announces the change as well calls this
    /// before it locks an agent's head: notices lock in this order, and who locks in another waits for ever.
    fn lock_subscriptions(&mut self) -> Result<(), StoreError>;
    /// Keeps a subscription, within the bounds. `of_agent` and `in_all` say how many there may be. Its version is the one
    /// that the subscriptions have then, whatever the row says.
    fn put_subscription(
        &mut self,
        row: &SubscriptionRow,
        of_agent: u64,
        in_all: u64,
    ) -> Result<Subscribed, StoreError>;
    /// Takes a subscription away; the version that the subscriptions have then. None when there was none.
    fn drop_subscription(&mut self, subscription: &RuleId) -> Result<Option<u64>, StoreError>;
    /// Puts a subscription aside, or takes it up again from the newest change on that the row names; the version that the
    /// subscriptions have then, which is also its own where it is taken up. None when there is none.
    fn set_active(&mut self, row: &SubscriptionRow) -> Result<Option<u64>, StoreError>;
    /// Notes from when on the newest message of a subscription may begin.
    fn set_last_due(&mut self, subscription: &RuleId, due: Millis) -> Result<(), StoreError>;
    /// Moves the cursor on the journal's outbox; [`StoreError::Conflict`] when it or the subscriptions are not as they
    /// were seen. Locks them until the transaction ends.
    fn move_cursor(&mut self, seen: &AlertRow, next: &Cursor) -> Result<(), StoreError>;
    /// Puts what an agent's doing says into the outbox, where somebody subscribes to such. Whether it did. It is told under
    /// the version that the subscriptions have now, whatever the row says.
    fn tell(&mut self, row: &TellingRow) -> Result<bool, StoreError>;
    /// Notes that a telling was seen to up to a candidate, or takes it away where that was the last;
    /// [`StoreError::Conflict`] when somebody else has.
    fn see_to_telling(&mut self, seen: &TellingRow, next: Option<&Place>) -> Result<(), StoreError>;
}
