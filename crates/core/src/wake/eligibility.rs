//! Eligibility: the only rules that decide whether a message or a run may start. Admission, dispatch and
//! `why-not` supply the facts and read the result; a database only preselects rows by indexed columns.

use super::wait::{Suspension, Wait, is_set_back};
use super::{AgentControl, Gate, InteractionMode, Lifecycle, Refusal};
use crate::cause::{Cause, DEPTH_MAX, MessageOrigin};
use crate::id::AgentId;
use crate::journal::Author;
use crate::key::RunKey;
use crate::time::Millis;

/// The settings of an agent that decide whether it may be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentAvailability {
    pub lifecycle: Lifecycle,
    /// Whether it works on its queue.
    pub control: AgentControl,
    /// Which causes may wake it.
    pub mode: InteractionMode,
    /// The end of its sleep.
    pub sleep_until: Option<Millis>,
}

/// Who requests a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A person, who overrides sleep, dormancy and mode.
    Person,
    /// A schedule, a subscription, a trigger or another run.
    Automatic,
}

/// The facts about a cause before it becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseFacts {
    pub asker: Asker,
    /// Whether the agent made the change itself.
    pub is_own_write: bool,
    /// The causal depth.
    pub depth: u32,
    /// Whether a changed record matches the subscription's predicate; none without a predicate.
    pub predicate: Option<bool>,
    /// Whether the guard holds; none without a guard.
    pub guard: Option<bool>,
    /// Whether its subscription is paused.
    pub is_paused: bool,
    /// Whether there is work to do; none if the run starts in any case.
    pub has_work: Option<bool>,
    /// The earliest time that a cooldown or a debounce window allows.
    pub not_before: Option<Millis>,
}

impl CauseFacts {
    /// Returns the facts that follow from the cause itself.
    #[must_use]
    pub fn of(cause: &Cause, agent: &AgentId) -> Self {
        let (asker, is_own_write) = match &cause.origin {
            MessageOrigin::Operator => (Asker::Person, false),
            // An agent that is woken by its own writes would never sleep.
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

    /// The facts of an automatic cause without any obstacle.
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

/// The time until which a queued message is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    pub until: Millis,
    pub admitted_at: Millis,
}

/// The facts about a queued message and the other work of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFacts {
    /// None if the message is not delayed.
    pub delay: Option<Delay>,
    /// Whether a brake applies to the agent.
    pub is_braked: bool,
    /// The open run of the agent.
    pub open_run: Option<RunKey>,
}

/// The facts about an open run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunFacts {
    /// What it waits for; none if it can continue.
    pub suspension: Option<Suspension>,
    /// Whether its cancellation was requested.
    pub is_cancel_requested: bool,
    /// Whether a brake applies to its agent.
    pub is_braked: bool,
    /// Whether another open run of its agent is in progress.
    pub is_other_under_way: bool,
    /// How much of what it waits for is left: under its limit, or under the daily caps for a request of its agent.
    pub room: u64,
}

/// What may start, with the facts that decide.
#[derive(Debug, Clone, Copy)]
pub enum Candidate<'a> {
    /// A cause that may become a queued message.
    Cause(&'a AgentAvailability, &'a CauseFacts),
    /// A queued message whose run may start.
    Message(&'a AgentAvailability, &'a MessageFacts),
    /// An open run that may continue.
    Run(&'a RunFacts),
}

/// Why a candidate may not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A rule that only a person's action changes.
    Refusal(Refusal),
    /// The agent sleeps until this time.
    Asleep(Millis),
    /// The message is delayed until this time.
    NotBefore(Millis),
    /// The run waits for this.
    Waiting(Wait),
}

impl Obstacle {
    /// Returns when it ends by itself.
    #[must_use]
    pub const fn until(&self) -> Option<Millis> {
        match self {
            Self::Refusal(_) => None,
            Self::Asleep(until) | Self::NotBefore(until) => Some(*until),
            Self::Waiting(wait) => wait.until(),
        }
    }
}

/// The result of one rule for a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The stable name of the rule.
    pub gate: &'static str,
    /// None if the rule passes.
    pub obstacle: Option<Obstacle>,
    /// What was found, if the result needs an explanation.
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

/// Evaluates every rule that applies to a candidate. The results are in the order in which they are
/// recorded.
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

/// Returns whether no rule blocks a candidate.
#[must_use]
pub fn may_begin(candidate: &Candidate<'_>, now: Millis) -> bool {
    eligibility(candidate, now)
        .iter()
        .all(|check| check.obstacle.is_none())
}

/// The rules that refuse a cause. They are evaluated once, when it arises.
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
        // Evaluated after the conditions on the change, so that this refusal means that the change would
        // have woken the agent.
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

/// The delays of a cause that is not refused, and the rules that a person's request overrides. Rules that
/// do not apply are not recorded.
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

/// The rules for an admitted message. Mode, dormancy and sleep were evaluated at admission.
fn of_message(agent: &AgentAvailability, facts: &MessageFacts, now: Millis) -> Vec<Check> {
    let control = match agent.control {
        AgentControl::Running => None,
        AgentControl::Paused => Some(Refusal::Paused),
        AgentControl::Stopped => Some(Refusal::Stopped),
    };
    let is_destroyed = agent.lifecycle == Lifecycle::Destroyed;
    // An agent has one run at a time: two runs in one transcript would answer each other's questions.
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

/// A window that was measured before the clock was set back is over. The end of a sleep is a date that a
/// person set, and stays valid.
fn is_delayed(agent: &AgentAvailability, delay: Delay, now: Millis) -> bool {
    let is_sleep = agent.sleep_until == Some(delay.until);
    delay.until > now && (is_sleep || !is_set_back(delay.admitted_at, now))
}

/// The rules for an open run. A run whose cancellation was requested does not wait for its turn or for the
/// release of a brake; its other waits ended with the request.
fn of_run(facts: &RunFacts, now: Millis) -> Vec<Check> {
    let is_held = facts.is_braked && !facts.is_cancel_requested;
    let waits = facts.suspension.filter(|suspension| match suspension.wait {
        Wait::Due { until } | Wait::Rate { until } | Wait::Decision { until: Some(until) } => {
            // After the clock was set back, the run is evaluated again and waits for the remaining time,
            // never longer than intended.
            until > now && !is_set_back(suspension.since, now)
        }
        // The amount is what the step may use at most, as it was when the wait began. It is computed again in the
        // next period at the latest.
        Wait::Budget { until, needed, .. } => {
            let is_in_period = until.is_none_or(|until| until > now);
            needed > facts.room && is_in_period && !is_set_back(suspension.since, now)
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
