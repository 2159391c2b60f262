//! The script of a daemon scenario. Each action is a function of the seed and its number, so that omitting
//! one does not change the others.

use serde_json::json;
use wakeful_core::id::{AgentId, BadId, RuleId, TurnId};
use wakeful_core::schedule::{Concurrency, FiringTime, ScheduleDraft, ScheduleStatus};
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle};

use crate::rng::Rng;

/// The agents of every daemon scenario.
pub(crate) const AGENTS: [&str; 3] = ["ada", "ben", "cyd"];

/// Maximum number of script actions of a seed.
pub(crate) const MOVES_MAX: u32 = 14;

/// Minimum number of script actions of a seed.
const MOVES_MIN: u32 = 4;

/// Maximum number of records that a person writes in one action.
const BURST_MAX: u32 = 5;

/// Start times of scenarios: some in the middle of the year, some shortly before a daylight-saving change.
const BEGINNINGS: [&str; 6] = [
    "2026-06-10T08:00:00Z",
    // Berlin skips an hour at 01:00Z in March, and repeats one in October.
    "2026-03-28T20:00:00Z",
    "2026-10-24T20:00:00Z",
    // New York skips an hour at 07:00Z.
    "2026-03-08T03:00:00Z",
    // Lord Howe repeats half an hour at 15:00Z.
    "2026-04-04T10:00:00Z",
    // A leap day is near.
    "2028-02-28T20:00:00Z",
];

const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

/// Cron expressions, some of them in hours that are skipped or repeated.
const CRONS: [&str; 7] = [
    "0 7 * * *",
    "30 2 * * *",
    "15 1 * * *",
    "0 */4 * * *",
    "45 1-3 * * *",
    "0 0 29 2 *",
    "0 12 * * MON",
];

const INTERVALS_SECONDS: [u64; 5] = [3_600, 5_400, 4 * 3_600, 6 * 3_600, 86_400];

const PASSES_MS: [u64; 10] = [
    1_000,
    70_000,
    70_000,
    20 * 60_000,
    61 * 60_000,
    61 * 60_000,
    3 * 3_600_000,
    3 * 3_600_000,
    7 * 3_600_000,
    25 * 3_600_000,
];

/// The tokens of subscriptions.
const TOKENS: [&str; 7] = [
    "TASK",
    "NOTE",
    "CATEGORY",
    "task.status=done",
    "RUN",
    "run.status=completed",
    "agentChangedNotification",
];

/// One action of a script.
#[derive(Debug, Clone)]
pub(crate) enum ScriptAction {
    /// A person sends a message; a turn id may repeat.
    Say(AgentId, TurnId),
    /// A person writes several records to the journal in a row.
    Write(Vec<Wrote>),
    Subscribe(AgentId, RuleId, Box<SubscriptionSpec>),
    Unsubscribe(RuleId),
    /// An external system calls a trigger.
    Deliver(AgentId, Called),
    RotateTrigger(AgentId),
    RevokeTrigger(AgentId),
    Plan(Box<ScheduleDraft>),
    Stand(RuleId, ScheduleStatus),
    TriggerNow(RuleId, u32),
    /// Time passes.
    Pass(u64),
    /// The wall clock is set.
    SetClock(Rng),
    Control(AgentId, AgentControl),
    Mode(AgentId, InteractionMode),
    Life(AgentId, Lifecycle),
    /// The agent gets a sleep barrier for this long.
    Sleep(AgentId, i64),
    Wake(AgentId),
    Brake(Option<AgentId>),
    Release(Option<AgentId>),
    /// A person cancels the newest open run or queued message.
    Cancel(AgentId),
    /// The daemon is stopped and started again.
    Restart,
}

/// One record that a person writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrote {
    Task,
    Note,
    Category,
    /// The newest task is completed.
    Done,
}

/// How an external system calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Called {
    /// At the valid URL with this delivery name; a repeated name is the same delivery.
    Named(u32),
    /// At the valid URL without a delivery name.
    Unnamed(u32),
    /// At a URL from before the trigger's secret was rotated.
    Outdated(u32),
    /// At the URL of a trigger that does not exist.
    Invented(u32),
}

/// The script of a seed.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    seed: u64,
}

impl Script {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The number of script actions.
    pub(crate) fn moves(&self) -> u32 {
        MOVES_MIN + self.at("moves").below(MOVES_MAX - MOVES_MIN + 1)
    }

    /// The start time of the clocks.
    pub(crate) fn beginning(&self) -> Millis {
        let chosen = one_of(&mut self.at("beginning"), &BEGINNINGS);
        Millis::parse_rfc3339(chosen).unwrap_or(Millis(0))
    }

    pub(crate) fn at(&self, place: &str) -> Rng {
        Rng::at(self.seed, place)
    }

    /// One script action. The first ones create the objects that later ones use.
    pub(crate) fn one(&self, number: u32) -> Result<ScriptAction, BadId> {
        let mut chance = self.at(&format!("move/{number}"));
        let agent = agent(&mut chance)?;
        let kind = if number < 3 {
            chance.below(40)
        } else {
            chance.below(100)
        };
        Ok(match kind {
            0..14 => {
                ScriptAction::Subscribe(agent, rule("s", chance.below(5))?, Box::new(terms(&mut chance)))
            }
            14..30 => ScriptAction::Plan(Box::new(self.draft(&mut chance, agent)?)),
            30..37 => ScriptAction::Deliver(agent, called(&mut chance)),
            37..41 => ScriptAction::Say(agent, TurnId::parse(&format!("turn-{}", chance.below(4)))?),
            41..60 => ScriptAction::Write(burst(&mut chance)),
            60..74 => ScriptAction::Pass(one_of(&mut chance, &PASSES_MS)),
            74..79 => ScriptAction::SetClock(chance),
            79..81 => ScriptAction::RotateTrigger(agent),
            81 => ScriptAction::RevokeTrigger(agent),
            82 => ScriptAction::Unsubscribe(rule("s", chance.below(5))?),
            83..85 => ScriptAction::Stand(rule("t", chance.below(4))?, one_of(&mut chance, &STATUSES)),
            85..87 => ScriptAction::TriggerNow(rule("t", chance.below(4))?, chance.below(2)),
            87..90 => ScriptAction::Control(agent, one_of(&mut chance, &AgentControl::ALL)),
            90 => ScriptAction::Mode(agent, one_of(&mut chance, &InteractionMode::ALL)),
            91 => ScriptAction::Life(
                agent,
                one_of(&mut chance, &[Lifecycle::Active, Lifecycle::Dormant]),
            ),
            92..94 => ScriptAction::Sleep(agent, i64::from(1 + chance.below(600)) * 1_000),
            94 => ScriptAction::Wake(agent),
            95 => ScriptAction::Brake(chance.one_in(2).then_some(agent)),
            96 => ScriptAction::Release(chance.one_in(2).then_some(agent)),
            97 => ScriptAction::Cancel(agent),
            _ => ScriptAction::Restart,
        })
    }

    fn draft(&self, chance: &mut Rng, agent: AgentId) -> Result<ScheduleDraft, BadId> {
        let beginning = self.beginning();
        let when = match chance.below(5) {
            0..3 => FiringTime::Cron {
                cron: one_of(chance, &CRONS).to_owned(),
                time_zone: one_of(chance, &ZONES).to_owned(),
            },
            3 => FiringTime::Every {
                interval_seconds: one_of(chance, &INTERVALS_SECONDS),
                anchor: Millis(beginning.0 - i64::from(chance.below(7_200_000))),
            },
            _ => FiringTime::At {
                at: Millis(beginning.0 + i64::from(chance.below(48 * 3_600_000))),
            },
        };
        let name = rule("t", chance.below(4))?;
        let mut draft = ScheduleDraft::new(name, agent, when, "Look at the day.".to_owned());
        draft.concurrency = one_of(chance, &Concurrency::ALL);
        draft.allows_catch_up = chance.one_in(2);
        draft.max_catch_up_runs_per_tick = u64::from(1 + chance.below(3));
        draft.catch_up_window_seconds = one_of(chance, &[120, 7_200, 86_400, 40 * 86_400]);
        draft.always = !chance.one_in(3);
        draft.auto_disable_after_run |= chance.one_in(8);
        Ok(draft)
    }
}

const STATUSES: [ScheduleStatus; 3] = [
    ScheduleStatus::Paused,
    ScheduleStatus::Active,
    ScheduleStatus::Disabled,
];

/// A random element of an array.
#[expect(clippy::indexing_slicing, reason = "the index is below the length")]
pub(crate) fn one_of<T: Copy, const N: usize>(chance: &mut Rng, all: &[T; N]) -> T {
    const { assert!(N > 0, "there must be something to choose from") };
    let places = u32::try_from(N).unwrap_or(u32::MAX);
    all[usize::try_from(chance.below(places)).unwrap_or(0)]
}

fn agent(chance: &mut Rng) -> Result<AgentId, BadId> {
    AgentId::parse(one_of(chance, &AGENTS))
}

fn rule(kind: &str, number: u32) -> Result<RuleId, BadId> {
    RuleId::parse(&format!("{kind}{number}"))
}

fn burst(chance: &mut Rng) -> Vec<Wrote> {
    let count = 1 + chance.below(BURST_MAX);
    let writes = (0..count).map(|_| match chance.below(10) {
        0..5 => Wrote::Task,
        5..7 => Wrote::Note,
        7..9 => Wrote::Done,
        _ => Wrote::Category,
    });
    writes.collect()
}

fn called(chance: &mut Rng) -> Called {
    let number = chance.below(3);
    match chance.below(10) {
        0..5 => Called::Named(number),
        5..7 => Called::Unnamed(number),
        7..9 => Called::Outdated(number),
        _ => Called::Invented(number),
    }
}

fn terms(chance: &mut Rng) -> SubscriptionSpec {
    let words = 1 + chance.below(2);
    let any = (0..words).map(|_| one_of(chance, &TOKENS).to_owned()).collect();
    let all = if chance.one_in(8) {
        vec!["TASK".to_owned()]
    } else {
        Vec::new()
    };
    let predicate = chance
        .one_in(6)
        .then(|| json!({"field": "title", "op": "ne", "value": "task 1"}));
    let guard = match chance.below(10) {
        0 => Some(json!({"field": "queued", "op": "lt", "value": 3})),
        1 => Some(json!({"field": "author", "op": "eq", "value": "person"})),
        2 => Some(json!({"field": "since_last_run_ms", "op": "gt", "value": 60_000})),
        _ => None,
    };
    let window_ms = |chance: &mut Rng| match chance.below(6) {
        0 => u64::from(1 + chance.below(240_000)),
        _ => 0,
    };
    SubscriptionSpec {
        any,
        all,
        predicate,
        guard,
        cooldown_ms: window_ms(chance),
        debounce_ms: window_ms(chance),
        message: "see to it".to_owned(),
    }
}
