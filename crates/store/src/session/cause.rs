//! Causes: what waits and from when on, what was refused, and how agents stand.

use wakeful_core::budget::Day;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Mode};
use wakeful_ports::records::{QueueRow, RefusalRow, WakeFilter, WakeRow};
use wakeful_ports::store::{CauseTx, CauseView, StoreError};

use super::Session;
use crate::{agent, queue, run, wake};

impl CauseView for Session<'_> {
    fn next_message(&mut self, agent: &AgentId, now: Millis) -> Result<Option<QueueRow>, StoreError> {
        Ok(queue::ready(self, agent, now, 1)?.pop())
    }

    fn absorbable(&mut self, agent: &AgentId, now: Millis, limit: u32) -> Result<Vec<QueueRow>, StoreError> {
        let mut rows = queue::ready(self, agent, now, limit)?;
        rows.retain(|row| row.message.cause.origin.is_absorbed());
        Ok(rows)
    }

    fn next_message_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        queue::next_due(self, now)
    }

    fn queued(&mut self, agent: &AgentId) -> Result<u64, StoreError> {
        queue::count(self, agent)
    }

    fn wakes(&mut self, filter: &WakeFilter) -> Result<Vec<WakeRow>, StoreError> {
        wake::list(self, filter)
    }

    fn absorbed_by(&mut self, run: &RunKey) -> Result<Vec<WakeRow>, StoreError> {
        wake::absorbed_by(self, run)
    }

    fn refusals(&mut self, agent: &AgentId, from: Day) -> Result<Vec<RefusalRow>, StoreError> {
        wake::refusals(self, agent, from)
    }

    fn last_run_at(&mut self, agent: &AgentId) -> Result<Option<Millis>, StoreError> {
        run::last_began(self, agent)
    }
}

impl CauseTx for Session<'_> {
    fn refuse(&mut self, wake: &WakeRow) -> Result<(), StoreError> {
        wake::refuse(self, wake)
    }

    fn set_lifecycle(&mut self, agent: &AgentId, lifecycle: Lifecycle) -> Result<bool, StoreError> {
        agent::set_lifecycle(self, agent, lifecycle)
    }

    fn set_mode(&mut self, agent: &AgentId, mode: Mode) -> Result<bool, StoreError> {
        agent::set_mode(self, agent, mode)
    }

    fn set_sleep(&mut self, agent: &AgentId, until: Option<Millis>) -> Result<bool, StoreError> {
        agent::set_sleep(self, agent, until)
    }

    fn hold_again(
        &mut self,
        agent: &AgentId,
        before: Option<Millis>,
        until: Millis,
    ) -> Result<(), StoreError> {
        queue::hold_again(self, agent, before, until)
    }

    fn release_held(&mut self, agent: &AgentId) -> Result<(), StoreError> {
        queue::release(self, agent)
    }
}
