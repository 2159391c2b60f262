//! Schedules and what became of their firings.

use wakeful_core::id::{AgentId, EventName, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::timer::Timer;

use super::{Tx, View};
use crate::StoreError;
use crate::rows::{Execution, ExecutionRow, ScheduleFilter, Schedules};
use crate::schedule;

impl View<'_> {
    /// One schedule.
    pub fn schedule(&mut self, name: &RuleId) -> Result<Option<Timer>, StoreError> {
        schedule::one(&mut self.sql, name)
    }

    /// Schedules by name.
    pub fn schedules(&mut self, filter: &ScheduleFilter) -> Result<Schedules, StoreError> {
        schedule::list(&mut self.sql, filter)
    }

    /// How many schedules of an agent are not disabled.
    pub fn schedules_of(&mut self, agent: &AgentId) -> Result<u64, StoreError> {
        schedule::count(&mut self.sql, agent)
    }

    /// Active schedules that wait for an event, by name, after one.
    pub fn schedules_for(
        &mut self,
        event: &EventName,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Schedules, StoreError> {
        schedule::of_event(&mut self.sql, event, after, limit)
    }

    /// How many schedules that are not disabled wait for an event.
    pub fn waiting_for(&mut self, event: &EventName) -> Result<u64, StoreError> {
        schedule::count_of_event(&mut self.sql, event)
    }

    /// Active schedules that want to be looked at: those that are due, the longest due first, and those that were last
    /// looked at in a future that a clock which was set back has not reached again.
    pub fn due_schedules(&mut self, now: Millis, limit: u32) -> Result<Schedules, StoreError> {
        schedule::due(&mut self.sql, now, limit)
    }

    /// When the next active schedule is due; none where none is.
    pub fn next_schedule_due(&mut self) -> Result<Option<Millis>, StoreError> {
        schedule::next_due(&mut self.sql)
    }

    /// What became of a schedule's firings, newest first.
    pub fn executions(&mut self, name: &RuleId, limit: u32) -> Result<Vec<Execution>, StoreError> {
        schedule::executions(&mut self.sql, name, limit)
    }

    /// Whether a run that a schedule asked for is under way: its message waits, its run is open, or an open run has taken
    /// it up.
    pub fn is_under_way(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        schedule::is_under_way(&mut self.sql, run)
    }
}

impl Tx<'_> {
    /// Keeps a new schedule. False when the name is taken.
    pub fn create_schedule(&mut self, timer: &Timer) -> Result<bool, StoreError> {
        schedule::create(&mut self.sql, timer)
    }

    /// Stores a schedule that was changed; its version is the one that was read, and is counted on here.
    /// [`StoreError::Conflict`] when somebody else changed it since.
    pub fn put_schedule(&mut self, timer: &Timer) -> Result<(), StoreError> {
        schedule::put(&mut self.sql, timer)
    }

    /// Keeps a record. The oldest beyond a bound goes.
    pub fn append_execution(&mut self, row: &ExecutionRow) -> Result<(), StoreError> {
        schedule::append(&mut self.sql, row)
    }

    /// Lets an active schedule rest of which something cannot be read, with a record. False where it is not active any
    /// more. Its name is taken as it stands there: that may be what cannot be read.
    pub fn set_schedule_aside(&mut self, name: &str, at: Millis) -> Result<bool, StoreError> {
        schedule::set_aside(&mut self.sql, name, at)
    }

    /// Ends all schedules of an agent for good, also those that cannot be read, each with a record; and says how many.
    pub fn end_schedules(&mut self, agent: &AgentId, reason: &str, at: Millis) -> Result<u64, StoreError> {
        schedule::end_of_agent(&mut self.sql, agent, reason, at)
    }
}
