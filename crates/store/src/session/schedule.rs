//! Schedules and what became of their firings.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::timer::Timer;
use wakeful_ports::records::{Execution, ExecutionRow, ScheduleFilter};
use wakeful_ports::store::{ScheduleTx, ScheduleView, StoreError};

use super::Session;
use crate::schedule;

impl ScheduleView for Session<'_> {
    fn schedule(&mut self, name: &RuleId) -> Result<Option<Timer>, StoreError> {
        schedule::one(self, name)
    }

    fn schedules(&mut self, filter: &ScheduleFilter) -> Result<Vec<Timer>, StoreError> {
        schedule::list(self, filter)
    }

    fn schedules_of(&mut self, agent: &AgentId) -> Result<u64, StoreError> {
        schedule::count(self, agent)
    }

    fn due_schedules(&mut self, now: Millis, limit: u32) -> Result<Vec<Timer>, StoreError> {
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
}
