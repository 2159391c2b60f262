//! Schedules: the agent they wake, their firing times, their message, and the effect of a clock tick on
//! them.
//!
//! A *timer* is one revision of a schedule. A new pattern or time zone makes a new timer, because firing
//! times are part of run keys. The caller passes the current time. `seen_until` is the time up to which
//! every firing has been decided, so that no firing between it and now is lost and none before it is
//! decided twice.
//!
//! | module | contents |
//! |---|---|
//! | `draft` | validation of a requested schedule, field by field |
//! | `guard` | the condition under which a firing wakes the agent |
//! | `tick` | due firings, missed firings, and the next firing |

mod draft;
mod guard;
mod tick;

#[cfg(test)]
mod tests;

pub use self::draft::{ScheduleDraft, ScheduleError, SchedulePattern};
pub use self::guard::{FiringCondition, GUARD_FIELDS, Guard, LONG_AGO_MS, ScheduleFacts, since_run};
pub use self::tick::{Firing, FiringPlan, FiringTime, TickResult, settle};
use crate::id::{AgentId, EventName, RuleId};
use crate::key::{RunKey, RunKeySource, RunKeySourceKind};
use crate::recurrence::RecurrenceError;
use crate::time::Millis;
use crate::wake::WakeOutcome;

/// The text of a firing without a message.
const CHANGED: &str = "Something changed since your last run. Look at it.";

/// The note of a schedule that needs something to do.
const ONLY_IF_CHANGED: &str = "a firing is skipped as nothing_to_do if nothing in the journal changed since the agent's \
    last run and no message is queued; to fire each time, use `--always true` of `wakeful schedule edit`";

/// Longest message that a firing delivers to the agent.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

pub const LABEL_CHARS_MAX: usize = 200;

/// Default maximum age of a missed firing that is still delivered: a day.
pub const CATCH_UP_WINDOW_SECONDS_DEFAULT: u64 = 86_400;

/// Largest catch-up window: about a year.
pub const CATCH_UP_WINDOW_SECONDS_MAX: u64 = 366 * 86_400;

/// Default number of missed firings that run at once.
pub const CATCH_UP_RUNS_DEFAULT: u64 = 1;

/// Largest number of missed firings that run at once.
pub const CATCH_UP_RUNS_MAX: u64 = 100;

/// Largest number of schedules per agent, not counting disabled ones.
pub const SCHEDULES_MAX: u64 = 1_000;

/// Largest number of schedules per event, not counting disabled ones.
pub const SCHEDULES_OF_EVENT_MAX: u64 = 1_000;

/// Largest number of execution records kept per schedule. Older records are only counted.
pub const EXECUTIONS_KEPT_MAX: u64 = 1_000;

/// How late a firing may be and still count as on time: as long as a clock change may stay undetected.
pub const GRACE_SECONDS: u64 = 60;

/// A clock that moves back by at most this much was corrected and not set back; computed times stay valid.
pub const SET_BACK_MS: i64 = 60_000;

string_enum! {
    /// Whether a schedule fires.
    #[schemars(rename = "ScheduleStatus")]
    pub enum ScheduleStatus {
        /// It fires when it is due.
        Active = "active",
        /// It does not fire until a person resumes it.
        Paused = "paused",
        /// It never fires again: a person disabled it, or it was for a single firing.
        Disabled = "disabled",
        /// It has no firing left.
        Expired = "expired",
    }
}

impl ScheduleStatus {
    /// Returns whether this status may change to `next`.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Active => matches!(next, Self::Paused | Self::Disabled | Self::Expired),
            Self::Paused => matches!(next, Self::Active | Self::Disabled),
            Self::Expired => matches!(next, Self::Disabled),
            Self::Disabled => false,
        }
    }
}

string_enum! {
    /// What happens to a firing while the previous one is in progress.
    #[derive(Default)]
    pub enum Concurrency {
        /// It is queued.
        Allow = "allow",
        /// It is skipped.
        #[default]
        Forbid = "forbid",
        /// It replaces the previous one.
        Replace = "replace",
    }
}

string_enum! {
    /// What caused a firing.
    pub enum TriggerSource {
        /// Its time came.
        Tick = "tick",
        /// A person triggered it.
        TriggerNow = "trigger_now",
        /// The event that it waits for occurred.
        Event = "event",
    }
}

string_enum! {
    /// The outcome of a firing, or a change of the schedule itself.
    #[schemars(rename = "ExecutionOutcome")]
    pub enum ExecutionOutcome {
        /// It became a message; its run has the details.
        Run = "run",
        /// It did not become a message; the reason is recorded.
        Skipped = "skipped",
        /// It became a message, and a later firing replaced it.
        Replaced = "replaced",
        /// A gate refused it; the reason is the gate's code.
        Refused = "refused",
        /// The schedule was for a single firing and is disabled.
        Disabled = "disabled",
        /// The schedule has no firing left.
        Expired = "expired",
        /// The clock was set back, and the next firing was computed again.
        Recomputed = "recomputed",
        /// The schedule cannot be read and stays inactive until a person fixes it.
        Unreadable = "unreadable",
    }
}

string_enum! {
    /// Why a schedule did not fire, or ended.
    pub enum ScheduleReason {
        /// The firings were missed, and catch-up does not cover them.
        Missed = "missed",
        /// The previous firing was in progress.
        ConcurrencyForbid = "concurrency_forbid",
        /// A later firing replaced it.
        ConcurrencyReplace = "concurrency_replace",
        /// The firing already has a run: the clock was set back, or the request was repeated.
        AlreadyRun = "already_run",
        /// The agent of the schedule was destroyed.
        AgentDestroyed = "agent_destroyed",
        /// The stored schedule is malformed.
        Unreadable = "unreadable",
        /// This version cannot read the schedule's pattern.
        PatternUnreadable = "pattern_unreadable",
        /// The schedule has no firing left.
        Exhausted = "exhausted",
        /// The schedule was for a single firing.
        Once = "once",
    }
}

string_union! {
    /// Why a firing did not become a run, or why a schedule ended.
    #[schemars(rename = "ExecutionReason")]
    pub enum Reason {
        /// A reason of the schedule itself.
        Schedule(ScheduleReason),
        /// The rule by which the wake was refused.
        Refusal(WakeOutcome),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub schedule_id: RuleId,
    /// The number of its pattern; each pattern is a separate timer.
    pub revision: u32,
    /// The agent that it wakes.
    pub agent_id: AgentId,
    /// The display name.
    pub label: String,
    pub when: FiringTime,
    /// The message that a firing delivers to the agent; may be empty.
    pub message: String,
    pub status: ScheduleStatus,
    /// What happens to a firing while the previous one is in progress.
    pub concurrency: Concurrency,
    /// Whether missed firings are delivered later.
    pub allows_catch_up: bool,
    /// Whether it is disabled after its first firing, regardless of the outcome.
    pub auto_disable_after_run: bool,
    /// The maximum age of a missed firing that is still delivered.
    pub catch_up_window_seconds: u64,
    /// The maximum number of missed firings that run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether it wakes the agent even if nothing changed.
    pub always: bool,
    /// The condition under which a firing wakes the agent. A guard replaces the check for work.
    pub guard: Option<Guard>,
    /// An event that also makes it fire.
    pub event: Option<EventName>,
    /// The nominal time of the newest firing.
    pub last_execution_at: Option<Millis>,
    /// The nominal time of the next firing.
    pub next_execution_at: Option<Millis>,
    /// The time up to which every firing has been decided.
    pub seen_until: Millis,
    /// The newest run that it requested.
    pub last_run: Option<RunKey>,
    /// Total number of execution records, including deleted ones.
    pub executions: u64,
    /// Incremented with every change; a writer must present the version that it read.
    pub version: u64,
    pub created_at: Millis,
}

/// A status change that is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schedule that is {} cannot become {}", from.as_str(), to.as_str())]
pub struct BadTransition {
    pub from: ScheduleStatus,
    pub to: ScheduleStatus,
}

impl Schedule {
    /// Returns the text that a firing delivers.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.message.as_str() {
            "" => CHANGED,
            message => message,
        }
    }

    /// Returns what a person should know about when it wakes the agent; none if each firing does.
    #[must_use]
    pub const fn note(&self) -> Option<&'static str> {
        match self.asks(TriggerSource::Tick) {
            FiringCondition::Nothing | FiringCondition::Guard(_) => None,
            FiringCondition::Work => Some(ONLY_IF_CHANGED),
        }
    }

    /// Returns the name used in run keys: the schedule and its revision.
    #[must_use]
    pub fn timer_id(&self) -> String {
        format!("{}.{}", self.schedule_id, self.revision)
    }

    /// Returns the run key of the firing with this nominal time.
    #[must_use]
    pub fn run_key(&self, scheduled_at: Millis) -> RunKey {
        let timer = &self.timer_id();
        RunKey::of(
            self.agent_id.as_str(),
            &RunKeySource::Timer { timer, scheduled_at },
        )
    }

    /// Returns the run key of a firing caused by an event; `key` names the delivery. The pattern is not
    /// part of it, so the same delivery is always the same run.
    #[must_use]
    pub fn run_key_of_event(&self, event: &EventName, key: &str) -> RunKey {
        // Names contain no colon, and a timer id has a dot in the position of the first colon, so the two
        // forms never collide.
        let source = &format!("{}:{event}:{key}", self.schedule_id);
        let kind = RunKeySourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &RunKeySource::Source { kind, source })
    }

    /// Returns the run key of a manual firing; `request` names the request.
    #[must_use]
    pub fn run_key_by_hand(&self, request: &str) -> RunKey {
        let source = &format!("{}:{request}", self.timer_id());
        let kind = RunKeySourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &RunKeySource::Source { kind, source })
    }

    /// Returns the schedule with another status. A resumed schedule continues with future firings; firings
    /// that were due while it was paused are dropped.
    pub fn become_status(&self, to: ScheduleStatus, now: Millis) -> Result<Self, BadTransition> {
        if !self.status.may_become(to) {
            let from = self.status;
            return Err(BadTransition { from, to });
        }
        let mut next = self.clone();
        next.status = to;
        match to {
            ScheduleStatus::Active => {
                next.seen_until = now;
                next.next_execution_at = self.when.first_after(now).ok().flatten();
                if next.next_execution_at.is_none() {
                    next.status = ScheduleStatus::Expired;
                }
            }
            // The next firing is computed again when the schedule is resumed.
            ScheduleStatus::Paused | ScheduleStatus::Disabled | ScheduleStatus::Expired => {
                next.next_execution_at = None
            }
        }
        Ok(next)
    }

    /// Returns the schedule with the fields of a new draft. Another pattern or time zone is a new revision
    /// that begins now.
    pub fn revised(&self, draft: &ScheduleDraft, now: Millis) -> Result<Self, ScheduleError> {
        let fresh = draft.check(now)?;
        let same = fresh.when == self.when;
        let is_active = self.status == ScheduleStatus::Active;
        Ok(Self {
            schedule_id: self.schedule_id.clone(),
            agent_id: self.agent_id.clone(),
            revision: self.revision.saturating_add(u32::from(!same)),
            status: self.status,
            next_execution_at: match (is_active, same) {
                (false, _) => None,
                (true, true) => self.next_execution_at,
                (true, false) => fresh.next_execution_at,
            },
            seen_until: if same { self.seen_until } else { now },
            last_execution_at: self.last_execution_at,
            last_run: self.last_run,
            executions: self.executions,
            version: self.version,
            created_at: self.created_at,
            ..fresh
        })
    }

    /// Returns at most `count` firings after a time.
    pub fn upcoming(&self, after: Millis, count: usize) -> Result<Vec<Millis>, RecurrenceError> {
        let mut firings = Vec::new();
        let mut last = after;
        while firings.len() < count
            && let Some(firing) = self.when.first_after(last)?
        {
            firings.push(firing);
            last = firing;
        }
        Ok(firings)
    }
}
