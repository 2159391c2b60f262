//! Causes: what waits and from when on, what was refused, and how agents stand.

use wakeful_core::budget::Day;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Mode};

use super::StoreError;
use crate::records::{QueueRow, RefusalRow, WakeFilter, WakeRow};

/// What is read about causes.
pub trait CauseView {
    /// The message whose turn it is, if one may begin now.
    fn next_message(&mut self, agent: &AgentId, now: Millis) -> Result<Option<QueueRow>, StoreError>;
    /// The messages that may begin now and that one run may take up together, in their order.
    fn absorbable(&mut self, agent: &AgentId, now: Millis, limit: u32) -> Result<Vec<QueueRow>, StoreError>;
    /// When the next message that waits for a moment to come may begin; none where none does.
    fn next_message_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError>;
    /// How many messages of an agent wait.
    fn queued(&mut self, agent: &AgentId) -> Result<u64, StoreError>;
    /// Wake records of an agent, newest first.
    fn wakes(&mut self, filter: &WakeFilter) -> Result<Vec<WakeRow>, StoreError>;
    /// What a run took up beside its own message, oldest first. At most [`ROWS_MAX`](super::ROWS_MAX).
    fn absorbed_by(&mut self, run: &RunKey) -> Result<Vec<WakeRow>, StoreError>;
    /// Refusals of an agent by day, from one day on, newest day first. At most [`ROWS_MAX`](super::ROWS_MAX).
    fn refusals(&mut self, agent: &AgentId, from: Day) -> Result<Vec<RefusalRow>, StoreError>;
    /// When the agent's newest run began: a time to come where the clock was set back since.
    fn last_run_at(&mut self, agent: &AgentId) -> Result<Option<Millis>, StoreError>;
}

/// What is written about causes.
pub trait CauseTx {
    /// Counts a refusal, and keeps its wake record while there are few of its kind that day.
    fn refuse(&mut self, wake: &WakeRow) -> Result<(), StoreError>;
    /// Moves an agent on in its life. False when there is no such agent.
    fn set_lifecycle(&mut self, agent: &AgentId, lifecycle: Lifecycle) -> Result<bool, StoreError>;
    /// Settles who may wake an agent. False when there is no such agent.
    fn set_mode(&mut self, agent: &AgentId, mode: Mode) -> Result<bool, StoreError>;
    /// Lets an agent sleep until a moment, or takes the barrier away. False when there is no such agent.
    fn set_sleep(&mut self, agent: &AgentId, until: Option<Millis>) -> Result<bool, StoreError>;
    /// What waits for the end of a barrier, if there was one, waits for the end of another.
    fn hold_again(
        &mut self,
        agent: &AgentId,
        before: Option<Millis>,
        until: Millis,
    ) -> Result<(), StoreError>;
    /// Whatever waits for a moment may begin at once: the barrier that held it is gone.
    fn release_held(&mut self, agent: &AgentId) -> Result<(), StoreError>;
}
