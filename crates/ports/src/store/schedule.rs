//! Schedules and what became of their firings.

use wakeful_core::id::{AgentId, EventName, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::timer::Timer;

use super::StoreError;
use crate::records::{Execution, ExecutionRow, ScheduleFilter, Schedules};

/// What is read about schedules.
pub trait ScheduleView {
    /// One schedule.
    fn schedule(&mut self, schedule: &RuleId) -> Result<Option<Timer>, StoreError>;
    /// Schedules by name.
    fn schedules(&mut self, filter: &ScheduleFilter) -> Result<Schedules, StoreError>;
    /// Active schedules that wait for an event, by name, after one.
    fn schedules_for(
        &mut self,
        event: &EventName,
        after: Option<&RuleId>,
        limit: u32,
    ) -> Result<Schedules, StoreError>;
    /// How many schedules that are not disabled wait for an event.
    fn waiting_for(&mut self, event: &EventName) -> Result<u64, StoreError>;
    /// How many schedules of an agent are not disabled.
    fn schedules_of(&mut self, agent: &AgentId) -> Result<u64, StoreError>;
    /// Active schedules that want to be looked at: those that are due, the longest due first, and those that were last
    /// looked at in a future that a clock which was set back has not reached again.
    fn due_schedules(&mut self, now: Millis, limit: u32) -> Result<Schedules, StoreError>;
    /// When the next active schedule is due; none where none is.
    fn next_schedule_due(&mut self) -> Result<Option<Millis>, StoreError>;
    /// What became of a schedule's firings, newest first.
    fn executions(&mut self, schedule: &RuleId, limit: u32) -> Result<Vec<Execution>, StoreError>;
    /// Whether a run that a schedule asked for is under way: its message waits, its run is open, or an open run has taken
    /// it up.
    fn is_under_way(&mut self, run: &RunKey) -> Result<bool, StoreError>;
}

/// What is written about schedules.
pub trait ScheduleTx {
    /// Keeps a new schedule. False when the name is taken.
    fn create_schedule(&mut self, timer: &Timer) -> Result<bool, StoreError>;
    /// Stores a schedule that was changed; its version is the one that was read, and is counted on here.
    /// [`StoreError::Conflict`] when somebody else changed it since.
    fn put_schedule(&mut self, timer: &Timer) -> Result<(), StoreError>;
    /// Keeps a record. The oldest beyond a bound goes.
    fn append_execution(&mut self, row: &ExecutionRow) -> Result<(), StoreError>;
    /// Lets an active schedule rest of which something cannot be read, with a record. False where it is not active any
    /// more. Its name is taken as it stands there: that may be what cannot be read.
    fn set_schedule_aside(&mut self, schedule: &str, at: Millis) -> Result<bool, StoreError>;
    /// Ends all schedules of an agent for good, also those that cannot be read, each with a record; and says how many.
    fn end_schedules(&mut self, agent: &AgentId, reason: &str, at: Millis) -> Result<u64, StoreError>;
}
