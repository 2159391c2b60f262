//! Schedules as records: whose they are, when they are due, what they say, and what a tick of the clock makes of them.
//!
//! A schedule keeps its intent, and a *timer* is one revision of it: another pattern or zone is another timer, because its
//! moments name runs. Where the clock stands is told from outside; `seen_until` is the moment up to which every firing has
//! been decided, so that nothing between it and now is forgotten and nothing before it is decided twice.
//!
//! | module | knows |
//! |---|---|
//! | `draft` | what may be asked for, field by field |
//! | `guard` | what must hold for a firing to wake anybody |
//! | `tick` | what is due, what was missed, what comes next |

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

/// Longest text that a schedule says to its agent.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// Longest label.
pub const LABEL_CHARS_MAX: usize = 200;

/// How old a missed firing may be and still be made up for, where nobody says otherwise: a day.
pub const CATCH_UP_WINDOW_SECONDS_DEFAULT: u64 = 86_400;

/// The widest such window: a year.
pub const CATCH_UP_WINDOW_SECONDS_MAX: u64 = 366 * 86_400;

/// Missed firings that run at once, where nobody says otherwise.
pub const CATCH_UP_RUNS_DEFAULT: u64 = 1;

/// Most of them.
pub const CATCH_UP_RUNS_MAX: u64 = 100;

/// Schedules that one agent may have that are not disabled.
pub const SCHEDULES_MAX: u64 = 1_000;

/// Schedules that may wait for one event and are not disabled.
pub const SCHEDULES_OF_EVENT_MAX: u64 = 1_000;

/// Records of what became of firings that are kept of one schedule, the newest. The others are counted.
pub const EXECUTIONS_KEPT_MAX: u64 = 1_000;

/// How late a firing may be and still count as on time: as long as a clock that was set may go unnoticed.
pub const GRACE_SECONDS: u64 = 60;

/// A clock that goes back by no more than this is corrected and not set: moments stay as they were worked out.
pub const SET_BACK_MS: i64 = 60_000;

string_enum! {
    /// Whether a schedule is at work.
    #[schemars(rename = "ScheduleStatus")]
    pub enum ScheduleStatus {
        /// It fires.
        Active = "active",
        /// It does not, until a person lets it.
        Paused = "paused",
        /// It never does again: a person said so, or it was for once.
        Disabled = "disabled",
        /// It has no firing left.
        Expired = "expired",
    }
}

impl ScheduleStatus {
    /// Whether it may become the other.
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
    /// What becomes of a firing while the one before it is still under way.
    #[derive(Default)]
    pub enum Concurrency {
        /// It waits its turn beside the other.
        Allow = "allow",
        /// It is skipped.
        #[default]
        Forbid = "forbid",
        /// It takes the other's place.
        Replace = "replace",
    }
}

string_enum! {
    /// What made a schedule fire.
    pub enum TriggerSource {
        /// Its moment came.
        Tick = "tick",
        /// A person said so.
        TriggerNow = "trigger_now",
        /// Something happened that it waits for.
        Event = "event",
    }
}

string_enum! {
    /// What was decided about a firing, or about the schedule itself.
    #[schemars(rename = "ExecutionOutcome")]
    pub enum ExecutionOutcome {
        /// It became a message, whose run tells the rest.
        Run = "run",
        /// It did not; the reason says why.
        Skipped = "skipped",
        /// It had, and a later one took its place.
        Replaced = "replaced",
        /// A gate stayed shut; the reason is its code.
        Refused = "refused",
        /// The schedule was for once, and is over.
        Disabled = "disabled",
        /// The schedule has no firing left.
        Expired = "expired",
        /// The clock was set back, and the next firing was worked out anew.
        Recomputed = "recomputed",
        /// The schedule cannot be read, and rests until a person has looked at it.
        Unreadable = "unreadable",
    }
}

string_enum! {
    /// Why a schedule itself did not fire, or ended.
    pub enum ScheduleReason {
        /// The firings were missed, and catch-up does not cover them.
        Missed = "missed",
        /// The firing before it was under way.
        ConcurrencyForbid = "concurrency_forbid",
        /// A later firing replaced it.
        ConcurrencyReplace = "concurrency_replace",
        /// The firing has a run already: the clock was set back, or the request was repeated.
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
    /// Why a firing became no run, or why a schedule ended.
    #[schemars(rename = "ExecutionReason")]
    pub enum Reason {
        /// The schedule's own reason.
        Schedule(ScheduleReason),
        /// The rule by which the wake was refused.
        Refusal(WakeOutcome),
    }
}

/// A schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its name.
    pub schedule_id: RuleId,
    /// Which pattern it has: another one is another timer.
    pub revision: u32,
    /// Whom it wakes.
    pub agent_id: AgentId,
    /// What people call it.
    pub label: String,
    /// When it fires.
    pub when: FiringTime,
    /// What it says to the agent.
    pub message: String,
    /// Whether it is at work.
    pub status: ScheduleStatus,
    /// What becomes of a firing while the one before it is under way.
    pub concurrency: Concurrency,
    /// Whether missed firings are made up for.
    pub allows_catch_up: bool,
    /// Whether it is over after its first firing, whatever became of it.
    pub auto_disable_after_run: bool,
    /// How old a missed firing may be and still be made up for.
    pub catch_up_window_seconds: u64,
    /// How many of them run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether it wakes the agent also when nothing changed.
    pub always: bool,
    /// What must hold for a firing to wake the agent. Where there is one, it alone says whether there is something to do.
    pub guard: Option<Guard>,
    /// What it waits for beside its time.
    pub event: Option<EventName>,
    /// The moment that the newest firing was meant for.
    pub last_execution_at: Option<Millis>,
    /// The moment that the next firing is meant for.
    pub next_execution_at: Option<Millis>,
    /// Up to when every firing has been decided.
    pub seen_until: Millis,
    /// The newest run that it asked for.
    pub last_run: Option<RunKey>,
    /// How many records of it were ever made.
    pub executions: u64,
    /// Counts its changes: whoever writes shows the one that was read.
    pub version: u64,
    /// When it was made.
    pub created_at: Millis,
}

/// A status that cannot be had from where a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schedule that is {} cannot become {}", from.as_str(), to.as_str())]
pub struct BadTransition {
    /// Where it stands.
    pub from: ScheduleStatus,
    /// Where it was to go.
    pub to: ScheduleStatus,
}

impl Schedule {
    /// What runs are named by: the schedule and its revision.
    #[must_use]
    pub fn timer_id(&self) -> String {
        format!("{}.{}", self.schedule_id, self.revision)
    }

    /// The run of the firing that was meant for a moment.
    #[must_use]
    pub fn run_key(&self, scheduled_at: Millis) -> RunKey {
        let timer = &self.timer_id();
        RunKey::of(
            self.agent_id.as_str(),
            &RunKeySource::Timer { timer, scheduled_at },
        )
    }

    /// The run of a firing that an event led to; `key` names its delivery. Whichever pattern the schedule has meanwhile,
    /// the same delivery is the same run.
    #[must_use]
    pub fn run_key_of_event(&self, event: &EventName, key: &str) -> RunKey {
        // A name has no colon, and a timer's has a dot where this has the first one.
        let source = &format!("{}:{event}:{key}", self.schedule_id);
        let kind = RunKeySourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &RunKeySource::Source { kind, source })
    }

    /// The run of a firing that somebody asked for by hand; `request` names the wish.
    #[must_use]
    pub fn run_key_by_hand(&self, request: &str) -> RunKey {
        let source = &format!("{}:{request}", self.timer_id());
        let kind = RunKeySourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &RunKeySource::Source { kind, source })
    }

    /// The same schedule with another status. Whoever is let go on begins with what is to come: nobody wanted what would
    /// have been due meanwhile.
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
            // What was to come is shown again when it is let go on.
            ScheduleStatus::Paused | ScheduleStatus::Disabled | ScheduleStatus::Expired => {
                next.next_execution_at = None
            }
        }
        Ok(next)
    }

    /// The same schedule with another intent. Another pattern or zone is a new revision and begins now.
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

    /// The first firings after a moment, at most so many.
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
