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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::draft::{Draft, Pattern, TimerError};
pub use self::guard::{Asks, Circumstances, GUARD_FIELDS, Guard, LONG_AGO_MS, since_run};
pub use self::tick::{Firing, Settled, Ticked, When, settle};
use crate::id::{AgentId, EventName, RuleId};
use crate::key::{Cause, RunKey, SourceKind};
use crate::schedule::ScheduleError;
use crate::time::Millis;

/// Longest text that a schedule says to its agent.
pub const SAY_BYTES_MAX: usize = 16 * 1024;

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

/// Whether a schedule is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScheduleStatus")]
pub enum Status {
    /// It fires.
    Active,
    /// It does not, until a person lets it.
    Paused,
    /// It never does again: a person said so, or it was for once.
    Disabled,
    /// It has no firing left.
    Expired,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Disabled, Self::Expired];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

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

/// What becomes of a firing while the one before it is still under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// It waits its turn beside the other.
    Allow,
    /// It is skipped.
    #[default]
    Forbid,
    /// It takes the other's place.
    Replace,
}

impl Concurrency {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Forbid, Self::Replace];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Forbid => "forbid",
            Self::Replace => "replace",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// What made a schedule fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerSource {
    /// Its moment came.
    Tick,
    /// A person said so.
    TriggerNow,
    /// Something happened that it waits for.
    Event,
}

impl TriggerSource {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tick, Self::TriggerNow, Self::Event];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::TriggerNow => "trigger_now",
            Self::Event => "event",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// What was decided about a firing, or about the schedule itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ExecutionOutcome")]
pub enum Outcome {
    /// It became a message, whose run tells the rest.
    Run,
    /// It did not; the reason says why.
    Skipped,
    /// It had, and a later one took its place.
    Replaced,
    /// A gate stayed shut; the reason is its code.
    Refused,
    /// The schedule was for once, and is over.
    Disabled,
    /// The schedule has no firing left.
    Expired,
    /// The clock was set back, and the next firing was worked out anew.
    Recomputed,
    /// The schedule cannot be read, and rests until a person has looked at it.
    SetAside,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Run,
        Self::Skipped,
        Self::Replaced,
        Self::Refused,
        Self::Disabled,
        Self::Expired,
        Self::Recomputed,
        Self::SetAside,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Skipped => "skipped",
            Self::Replaced => "replaced",
            Self::Refused => "refused",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::Recomputed => "recomputed",
            Self::SetAside => "set_aside",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// Firings that were missed and are not made up for.
pub const MISSED: &str = "missed";
/// A firing while the one before it was under way.
pub const CONCURRENCY_FORBID: &str = "concurrency_forbid";
/// A firing whose place a later one took.
pub const CONCURRENCY_REPLACE: &str = "concurrency_replace";
/// A firing that had its run before: the clock was set back over it.
pub const ALREADY_RUN: &str = "already_run";
/// A schedule that is over because its agent is gone for good.
pub const AGENT_DESTROYED: &str = "agent_destroyed";
/// A schedule of which something cannot be read.
pub const UNREADABLE: &str = "unreadable";

/// A schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// Its name.
    pub schedule_id: RuleId,
    /// Which pattern it has: another one is another timer.
    pub revision: u32,
    /// Whom it wakes.
    pub agent_id: AgentId,
    /// What people call it.
    pub label: String,
    /// When it fires.
    pub when: When,
    /// What it says to the agent.
    pub say: String,
    /// Whether it is at work.
    pub status: Status,
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
    pub from: Status,
    /// Where it was to go.
    pub to: Status,
}

impl Timer {
    /// What runs are named by: the schedule and its revision.
    #[must_use]
    pub fn timer_id(&self) -> String {
        format!("{}.{}", self.schedule_id, self.revision)
    }

    /// The run of the firing that was meant for a moment.
    #[must_use]
    pub fn run_key(&self, scheduled_at: Millis) -> RunKey {
        let timer = &self.timer_id();
        RunKey::of(self.agent_id.as_str(), &Cause::Timer { timer, scheduled_at })
    }

    /// The run of a firing that an event led to; `key` names its delivery. Whichever pattern the schedule has meanwhile,
    /// the same delivery is the same run.
    #[must_use]
    pub fn run_key_of_event(&self, event: &EventName, key: &str) -> RunKey {
        // A name has no colon, and a timer's has a dot where this has the first one.
        let source = &format!("{}:{event}:{key}", self.schedule_id);
        let kind = SourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &Cause::Source { kind, source })
    }

    /// The run of a firing that somebody asked for by hand; `request` names the wish.
    #[must_use]
    pub fn run_key_by_hand(&self, request: &str) -> RunKey {
        let source = &format!("{}:{request}", self.timer_id());
        let kind = SourceKind::Manual;
        RunKey::of(self.agent_id.as_str(), &Cause::Source { kind, source })
    }

    /// The same schedule with another status. Whoever is let go on begins with what is to come: nobody wanted what would
    /// have been due meanwhile.
    pub fn become_status(&self, to: Status, now: Millis) -> Result<Self, BadTransition> {
        if !self.status.may_become(to) {
            let from = self.status;
            return Err(BadTransition { from, to });
        }
        let mut next = self.clone();
        next.status = to;
        match to {
            Status::Active => {
                next.seen_until = now;
                next.next_execution_at = self.when.first_after(now).ok().flatten();
                if next.next_execution_at.is_none() {
                    next.status = Status::Expired;
                }
            }
            // What was to come is shown again when it is let go on.
            Status::Paused | Status::Disabled | Status::Expired => next.next_execution_at = None,
        }
        Ok(next)
    }

    /// The same schedule with another intent. Another pattern or zone is a new revision and begins now.
    pub fn revised(&self, draft: &Draft, now: Millis) -> Result<Self, TimerError> {
        let fresh = draft.check(now)?;
        let same = fresh.when == self.when;
        let is_active = self.status == Status::Active;
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
    pub fn upcoming(&self, after: Millis, count: usize) -> Result<Vec<Millis>, ScheduleError> {
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
