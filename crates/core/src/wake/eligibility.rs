//! Whether a message or a run may begin. This is the only place that says so: admission, dispatch and `why-not` bring the
//! facts and read the answer; a database only preselects by columns that have an index.

use super::wait::{Suspension, Wait, is_set_back};
use super::{AgentControl, Gate, InteractionMode, Lifecycle, Refusal};
use crate::budget::MicroUsd;
use crate::cause::{Cause, DEPTH_MAX, MessageOrigin};
use crate::id::AgentId;
use crate::journal::Author;
use crate::key::RunKey;
use crate::time::Millis;

/// What a person settled about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentAvailability {
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what is queued.
    pub control: AgentControl,
    /// Who may wake it.
    pub mode: InteractionMode,
    /// Until when it sleeps.
    pub sleep_until: Option<Millis>,
}

/// Who asks for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A person, whose word passes sleep, dormancy and mode.
    Person,
    /// A schedule, a subscription, a trigger or another run.
    Automatic,
}

/// What was found out about a cause before it becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseFacts {
    /// Who asks.
    pub asker: Asker,
    /// Whether the agent itself made the change.
    pub is_own_write: bool,
    /// How many causes made by agents precede it.
    pub depth: u32,
    /// Whether a changed record matches the subscription's predicate; none where there is no predicate.
    pub predicate: Option<bool>,
    /// Whether the guard holds; none where there is none.
    pub guard: Option<bool>,
    /// Whether its subscription is paused.
    pub is_paused: bool,
    /// Whether there is something to do; none where the run is wanted anyway.
    pub has_work: Option<bool>,
    /// The earliest time that a cooldown or a debounce window allows.
    pub not_before: Option<Millis>,
}

impl CauseFacts {
    /// What a cause itself says about its message to an agent.
    #[must_use]
    pub fn of(cause: &Cause, agent: &AgentId) -> Self {
        let (asker, is_own_write) = match &cause.origin {
            MessageOrigin::Operator => (Asker::Person, false),
            // An agent that woke on its own writes would never sleep.
            MessageOrigin::Subscription { author, .. } => {
                let is_own = Author::parse(author) == Some(Author::Agent(agent.clone()));
                (Asker::Automatic, is_own)
            }
            MessageOrigin::Schedule { .. } | MessageOrigin::Trigger { .. } | MessageOrigin::Run { .. } => {
                (Asker::Automatic, false)
            }
        };
        Self {
            asker,
            is_own_write,
            depth: cause.depth,
            ..Self::AUTOMATIC
        }
    }

    /// Those of any cause that no person is behind and that nothing in itself stands against.
    pub const AUTOMATIC: Self = Self {
        asker: Asker::Automatic,
        is_own_write: false,
        depth: 0,
        predicate: None,
        guard: None,
        is_paused: false,
        has_work: None,
        not_before: None,
    };
}

/// The time until which a queued message is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The time.
    pub until: Millis,
    /// When the message was admitted.
    pub admitted_at: Millis,
}

/// What is known of a queued message and of what else its agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFacts {
    /// Until when it is held back; none where it is not.
    pub delay: Option<Delay>,
    /// Whether a brake holds the agent.
    pub is_braked: bool,
    /// A run of the agent that has not ended.
    pub open_run: Option<RunKey>,
}

/// What is known of an open run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunFacts {
    /// What it waits for; none where it can go on.
    pub suspension: Option<Suspension>,
    /// Whether its end was requested.
    pub is_cancel_requested: bool,
    /// Whether a brake holds its agent.
    pub is_braked: bool,
    /// Whether another open run of its agent does not wait for its turn.
    pub is_other_under_way: bool,
    /// The most that a request of its agent may cost under the caps of the day.
    pub room: MicroUsd,
}

/// What may begin, with the facts that decide.
#[derive(Debug, Clone, Copy)]
pub enum Candidate<'a> {
    /// A cause, which may become a queued message.
    Cause(&'a AgentAvailability, &'a CauseFacts),
    /// A queued message, whose run may start.
    Message(&'a AgentAvailability, &'a MessageFacts),
    /// An open run, which may go on.
    Run(&'a RunFacts),
}

/// What stands against a beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A rule that only somebody's action changes.
    Refusal(Refusal),
    /// The agent sleeps until then.
    Asleep(Millis),
    /// It is held back until then.
    NotBefore(Millis),
    /// The run waits.
    Waiting(Wait),
}

impl Obstacle {
    /// When it is over by itself.
    #[must_use]
    pub const fn until(&self) -> Option<Millis> {
        match self {
            Self::Refusal(_) => None,
            Self::Asleep(until) | Self::NotBefore(until) => Some(*until),
            Self::Waiting(wait) => wait.until(),
        }
    }
}

/// One rule and what it says about a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The stable name of the rule.
    pub gate: &'static str,
    /// What stands against the beginning; none where the rule lets it pass.
    pub obstacle: Option<Obstacle>,
    /// What was found, where a yes or no says too little.
    pub note: Option<String>,
}

impl Check {
    fn refuse(gate: &'static str, refusal: Option<Refusal>) -> Self {
        Self {
            gate,
            note: refusal.as_ref().map(ToString::to_string),
            obstacle: refusal.map(Obstacle::Refusal),
        }
    }

    fn pass(gate: &'static str, note: String) -> Self {
        Self {
            gate,
            obstacle: None,
            note: Some(note),
        }
    }

    fn hold(gate: &'static str, obstacle: Obstacle, note: String) -> Self {
        Self {
            gate,
            obstacle: Some(obstacle),
            note: Some(note),
        }
    }
}

impl From<Check> for Gate {
    fn from(check: Check) -> Self {
        Self {
            gate: check.gate.to_owned(),
            passed: check.obstacle.is_none(),
            detail: check.note,
        }
    }
}

/// Every rule that applies to a candidate, with its answer, in the order in which they are recorded.
#[must_use]
pub fn eligibility(candidate: &Candidate<'_>, now: Millis) -> Vec<Check> {
    match candidate {
        Candidate::Cause(agent, facts) => {
            let mut checks = of_cause(agent, facts);
            checks.extend(delays_of_cause(agent, facts, now));
            checks
        }
        Candidate::Message(agent, facts) => of_message(agent, facts, now),
        Candidate::Run(facts) => of_run(facts, now),
    }
}

/// Whether nothing stands against a candidate.
#[must_use]
pub fn may_begin(candidate: &Candidate<'_>, now: Millis) -> bool {
    eligibility(candidate, now)
        .iter()
        .all(|check| check.obstacle.is_none())
}

/// The rules by which a cause is refused: they hold once, when it arises.
fn of_cause(agent: &AgentAvailability, facts: &CauseFacts) -> Vec<Check> {
    let is_automatic = facts.asker == Asker::Automatic;
    let refusals = [
        ("lifecycle", lifecycle(agent.lifecycle, facts.asker)),
        (
            "control",
            (agent.control == AgentControl::Stopped).then_some(Refusal::Stopped),
        ),
        (
            "mode",
            (agent.mode == InteractionMode::Interactive && is_automatic).then_some(Refusal::InteractiveOnly),
        ),
        ("own_write", facts.is_own_write.then_some(Refusal::OwnWrite)),
        (
            "causal_depth",
            (facts.depth > DEPTH_MAX).then_some(Refusal::CausalDepthExceeded),
        ),
        (
            "predicate",
            (facts.predicate == Some(false)).then_some(Refusal::PredicateFalse),
        ),
        (
            "guard",
            (facts.guard == Some(false)).then_some(Refusal::GuardFalse),
        ),
        // After what is asked of the change: one that is refused here would have woken the agent.
        (
            "subscription",
            facts.is_paused.then_some(Refusal::SubscriptionPaused),
        ),
        (
            "work",
            (facts.has_work == Some(false)).then_some(Refusal::NothingToDo),
        ),
    ];
    let checks = refusals.into_iter();
    checks
        .map(|(gate, refusal)| Check::refuse(gate, refusal))
        .collect()
}

const fn lifecycle(lifecycle: Lifecycle, asker: Asker) -> Option<Refusal> {
    match (lifecycle, asker) {
        (Lifecycle::Destroyed, _) => Some(Refusal::Destroyed),
        (Lifecycle::Dormant, Asker::Automatic) => Some(Refusal::Dormant),
        (Lifecycle::Created, Asker::Automatic) => Some(Refusal::NotActive),
        (Lifecycle::Active, _) | (Lifecycle::Dormant | Lifecycle::Created, Asker::Person) => None,
    }
}

/// What delays a cause that is not refused, and what would have delayed or refused it if no person had asked. A rule that
/// has nothing to say is not recorded.
fn delays_of_cause(agent: &AgentAvailability, facts: &CauseFacts, now: Millis) -> Vec<Check> {
    let mut checks = Vec::new();
    let by_person = facts.asker == Asker::Person;
    if let Some(until) = agent.sleep_until.filter(|until| *until > now) {
        let asleep = format!("asleep until {}", until.rfc3339());
        checks.push(if by_person {
            Check::pass("sleep", format!("{asleep}: passed by the operator"))
        } else {
            Check::hold("sleep", Obstacle::Asleep(until), format!("{asleep}: waits"))
        });
    }
    if by_person && agent.mode == InteractionMode::Autonomous {
        let note = "autonomous: passed by the operator";
        checks.push(Check::pass("mode", note.to_owned()));
    }
    if by_person && matches!(agent.lifecycle, Lifecycle::Dormant | Lifecycle::Created) {
        let note = format!("{}: passed by the operator", agent.lifecycle.as_str());
        checks.push(Check::pass("lifecycle", note));
    }
    if let Some(until) = facts.not_before.filter(|until| *until > now) {
        let note = format!("waits until {}", until.rfc3339());
        checks.push(Check::hold("window", Obstacle::NotBefore(until), note));
    }
    checks
}

/// The rules for a message that was admitted: mode, dormancy and sleep were judged when it came.
fn of_message(agent: &AgentAvailability, facts: &MessageFacts, now: Millis) -> Vec<Check> {
    let control = match agent.control {
        AgentControl::Running => None,
        AgentControl::Paused => Some(Refusal::Paused),
        AgentControl::Stopped => Some(Refusal::Stopped),
    };
    let is_destroyed = agent.lifecycle == Lifecycle::Destroyed;
    // One run at a time: two runs in one thread would answer each other's questions.
    let open_run = facts.open_run.map(|run| Refusal::RunOpen { run });
    let mut checks = vec![
        Check::refuse("lifecycle", is_destroyed.then_some(Refusal::Destroyed)),
        Check::refuse("brake", facts.is_braked.then_some(Refusal::Braked)),
        Check::refuse("control", control),
        Check::refuse("one_run_at_a_time", open_run),
    ];
    if let Some(delay) = facts.delay.filter(|delay| is_delayed(agent, *delay, now)) {
        let note = format!("waits until {}", delay.until.rfc3339());
        checks.push(Check::hold("window", Obstacle::NotBefore(delay.until), note));
    }
    checks
}

/// A window that was measured by a clock which was set back since is over. The end of a sleep is a date that a person set,
/// and stays.
fn is_delayed(agent: &AgentAvailability, delay: Delay, now: Millis) -> bool {
    let is_sleep = agent.sleep_until == Some(delay.until);
    delay.until > now && (is_sleep || !is_set_back(delay.admitted_at, now))
}

/// A run whose end was requested waits for no turn and no release. What else it waited for ended with the request.
fn of_run(facts: &RunFacts, now: Millis) -> Vec<Check> {
    let is_held = facts.is_braked && !facts.is_cancel_requested;
    let waits = facts.suspension.filter(|suspension| match suspension.wait {
        Wait::Due { until } | Wait::Decision { until: Some(until) } => {
            // After a clock was set back, the run is looked at and waits for what is left, no longer than was intended.
            until > now && !is_set_back(suspension.since, now)
        }
        // The amount is what the request may have cost when the run began to wait; at the latest the next day it is
        // calculated anew.
        Wait::Budget { until, needed } => {
            needed > facts.room && until > now && !is_set_back(suspension.since, now)
        }
        Wait::Decision { until: None } | Wait::Children => true,
        Wait::Turn => facts.is_other_under_way && !facts.is_cancel_requested,
    });
    vec![
        Check::refuse("brake", is_held.then_some(Refusal::Braked)),
        Check {
            gate: "wait",
            obstacle: waits.map(|suspension| Obstacle::Waiting(suspension.wait)),
            note: waits.map(|suspension| suspension.wait.kind().to_string()),
        },
    ]
}

#[cfg(test)]
mod tests;
