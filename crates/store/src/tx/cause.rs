//! Causes: what waits and from when on, what was refused, and how agents stand.

use wakeful_core::budget::Day;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Mode};

use super::{Tx, View};
use crate::StoreError;
use crate::rows::{Overview, QueueRow, RefusalRow, WakeFilter, WakeRow};
use crate::{agent, dispatch, queue, run, wake};

impl View<'_> {
    /// The next message of an agent that may begin now.
    pub fn next_message(&mut self, agent: &Overview, now: Millis) -> Result<Option<QueueRow>, StoreError> {
        Ok(dispatch::messages(&mut self.sql, agent, now, 1)?.pop())
    }

    /// The messages that may begin now and that one run may take up together, in their order.
    pub fn absorbable(
        &mut self,
        agent: &Overview,
        now: Millis,
        limit: u32,
    ) -> Result<Vec<QueueRow>, StoreError> {
        let mut rows = dispatch::messages(&mut self.sql, agent, now, limit)?;
        rows.retain(|row| row.message.cause.origin.is_absorbed());
        Ok(rows)
    }

    /// When the next message that waits for a moment to come may begin; none where none does.
    pub fn next_message_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        queue::next_due(&mut self.sql, now)
    }

    /// How many messages of an agent wait.
    pub fn queued(&mut self, agent: &AgentId) -> Result<u64, StoreError> {
        queue::count(&mut self.sql, agent)
    }

    /// Wake records of an agent, newest first.
    pub fn wakes(&mut self, filter: &WakeFilter) -> Result<Vec<WakeRow>, StoreError> {
        wake::list(&mut self.sql, filter)
    }

    /// What a run took up beside its own message, oldest first. At most [`ROWS_MAX`](super::ROWS_MAX).
    pub fn absorbed_by(&mut self, run: &RunKey) -> Result<Vec<WakeRow>, StoreError> {
        wake::absorbed_by(&mut self.sql, run)
    }

    /// Refusals of an agent by day, from one day on, newest day first. At most [`ROWS_MAX`](super::ROWS_MAX).
    pub fn refusals(&mut self, agent: &AgentId, from: Day) -> Result<Vec<RefusalRow>, StoreError> {
        wake::refusals(&mut self.sql, agent, from)
    }

    /// When the agent's newest run began: a time to come where the clock was set back since.
    pub fn last_run_at(&mut self, agent: &AgentId) -> Result<Option<Millis>, StoreError> {
        run::last_began(&mut self.sql, agent)
    }
}

impl Tx<'_> {
    /// Counts a refusal, and keeps its wake record while there are few of its kind that day.
    pub fn refuse(&mut self, wake: &WakeRow) -> Result<(), StoreError> {
        wake::refuse(&mut self.sql, wake)
    }

    /// Moves an agent on in its life. False when there is no such agent.
    pub fn set_lifecycle(&mut self, agent: &AgentId, lifecycle: Lifecycle) -> Result<bool, StoreError> {
        agent::set_lifecycle(&mut self.sql, agent, lifecycle)
    }

    /// Settles who may wake an agent. False when there is no such agent.
    pub fn set_mode(&mut self, agent: &AgentId, mode: Mode) -> Result<bool, StoreError> {
        agent::set_mode(&mut self.sql, agent, mode)
    }

    /// Lets an agent sleep until a moment, or takes the barrier away. False when there is no such agent.
    pub fn set_sleep(&mut self, agent: &AgentId, until: Option<Millis>) -> Result<bool, StoreError> {
        agent::set_sleep(&mut self.sql, agent, until)
    }

    /// What waits for the end of a barrier, if there was one, waits for the end of another.
    pub fn hold_again(
        &mut self,
        agent: &AgentId,
        before: Option<Millis>,
        until: Millis,
    ) -> Result<(), StoreError> {
        queue::delay(&mut self.sql, agent, before, until)
    }

    /// Whatever waits for a moment may begin at once: the barrier that held it is gone.
    pub fn release_held(&mut self, agent: &AgentId) -> Result<(), StoreError> {
        queue::release(&mut self.sql, agent)
    }
}
