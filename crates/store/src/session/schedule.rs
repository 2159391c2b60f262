//! Schedules and what became of their firings.

use wakeful_core::id::{AgentId, EventName, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::timer::Timer;
use wakeful_ports::records::{Execution, ExecutionRow, ScheduleFilter, Schedules};
use wakeful_ports::store::{ScheduleTx, ScheduleView, StoreError};

use super::Session;
use crate::schedule;

impl ScheduleView for Session<'_> {
    fn schedule(&mut self, name: &RuleId) -> Result<Option<Timer>, StoreError> {
        schedule::one(self, name)
    }

    fn schedules(&mut self, filter: &ScheduleFilter) -> Result<Schedules, StoreError> {
        schedule::list(self, filter)
    }

    fn schedules_of(&mut self, agent: &AgentId) -> Result<u64, StoreError> {
        schedule::count(self, agent)
    }

    fn schedules_for(
        &mut self,
        event: &EventName,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Schedules, StoreError> {
        schedule::of_event(self, event, after, limit)
    }

    fn waiting_for(&mut self, event: &EventName) -> Result<u64, StoreError> {
        schedule::count_of_event(self, event)
    }

    fn due_schedules(&mut self, now: Millis, limit: u32) -> Result<Schedules, StoreError> {
        schedule::due(self, now, limit)
    }

    fn next_schedule_due(&mut self) -> Result<Option<Millis>, StoreError> {
        schedule::next_due(self)
    }

    fn executions(&mut self, name: &RuleId, limit: u32) -> Result<Vec<Execution>, StoreError> {
        schedule::executions(self, name, limit)
    }

    fn is_under_way(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        schedule::is_under_way(self, run)
    }
}

impl ScheduleTx for Session<'_> {
    fn create_schedule(&mut self, timer: &Timer) -> Result<bool, StoreError> {
        schedule::create(self, timer)
    }

    fn put_schedule(&mut self, timer: &Timer) -> Result<(), StoreError> {
        schedule::put(self, timer)
    }

    fn append_execution(&mut self, row: &ExecutionRow) -> Result<(), StoreError> {
        schedule::append(self, row)
    }

    fn set_schedule_aside(&mut self, name: &str, at: Millis) -> Result<bool, StoreError> {
        schedule::set_aside(self, name, at)
    }

    fn end_schedules(&mut self, agent: &AgentId, reason: &str, at: Millis) -> Result<u64, StoreError> {
        schedule::end_of_agent(self, agent, reason, at)
    }
}
