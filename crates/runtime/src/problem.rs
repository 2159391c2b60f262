//! What a person reads when the engine cannot go on: the [`Problem`] of each of its errors.

use std::borrow::Cow;

use wakeful_core::decision::AnswerError;
use wakeful_core::key::RunKey;
use wakeful_core::problem::{Problem, with_causes};
use wakeful_core::run::{BUDGET_EXCEEDED, is_newer};
use wakeful_core::wake::Refusal;

use crate::api::subscription::SubscriptionError;
use crate::{EngineError, ScheduleRefusal};

/// What is left of a run that was erased.
const ERASED: &str =
    "`wakeful verify` shows that its place in the log is whole; `wakeful events` shows who erased it and why";

/// How long what a run was told is kept.
const PRUNED: &str = "`wakeful retention show` says how long it is kept; a backup from before may have it";

/// How a run comes by money.
const RAISE: &str =
    "raise the cap with `wakeful budget set USD`, or let the day turn (UTC); then `wakeful run --resume`";

/// Whose a run of a newer machine is.
const NEWER: &str = "the newer wakeful that began it goes on with it, and this one leaves it alone; bring this one up to date";

/// How agents live.
const LIFECYCLE: &str = "created and dormant become active, active becomes dormant, all may be destroyed; nothing comes back from that";

/// The code of an answer that comes by a way that the decision does not take.
pub const ANSWER_NOT_ALLOWED: &str = "answer_not_allowed";

/// The code of an answer, or a hand on the brake, that comes from a process of an agent's own tool.
pub const DESCENDS_FROM_TOOL: &str = "caller_is_tool_process";

/// A process that an agent's tool started wants to decide in a person's place.
#[must_use]
pub fn descends_from_tool() -> Problem {
    let message = "an agent's tool started this, and no tool answers a decision or releases a brake";
    let hint = "a person does that: on the page, or in a terminal of their own";
    Problem::new(DESCENDS_FROM_TOOL, message, hint)
}

impl From<&EngineError> for Problem {
    fn from(error: &EngineError) -> Self {
        if let EngineError::Subscription(error) = error {
            return error.into();
        }
        if let EngineError::Schedule(fault) = error {
            return of_schedule(fault, error.to_string());
        }
        Self::new(code(error), with_causes(error), hint(error))
    }
}

/// The word for an error of the engine.
fn code(error: &EngineError) -> Cow<'static, str> {
    let fixed = match error {
        EngineError::Store(error) => return Problem::from(error).code,
        EngineError::Subscription(_) => "subscription_refused",
        EngineError::Schedule(_) => "schedule_refused",
        EngineError::Lifecycle { .. } => "bad_lifecycle_transition",
        EngineError::TimeInPast(_) => "bad_time",
        EngineError::UnknownTrigger => "external_trigger_unknown",
        EngineError::UnknownAgent(_) => "agent_unknown",
        EngineError::AgentExists(_) => "agent_exists",
        EngineError::UnknownRun(_) => "run_unknown",
        EngineError::Refused(refusal) => refusal.code(),
        EngineError::KeyReused { .. } => "idempotency_conflict",
        EngineError::AgentBusy { .. } => "agent_busy",
        EngineError::LeaseLost(_) => "lease_lost",
        EngineError::BudgetExceeded { .. } => BUDGET_EXCEEDED,
        EngineError::NoEngine { problem, .. } => return problem.code.clone(),
        EngineError::Panicked(_) => "internal_error",
        EngineError::MachineVersion { .. } => "machine_version_unsupported",
        EngineError::DecisionPending { .. } => "decision_pending",
        EngineError::Braked { .. } => "braked",
        EngineError::CrashLoop { .. } => "crash_loop",
        EngineError::Quarantined { .. } => "run_quarantined",
        EngineError::UnknownDecision(_) => "decision_unknown",
        EngineError::AmbiguousDecision(_) => "decision_ambiguous",
        EngineError::Unanswerable(why) => unanswerable(why).0,
        EngineError::NotQuarantined { .. } => "run_not_quarantined",
        EngineError::NotEnded { .. } => "run_open",
        EngineError::NotErasable { .. } => "event_not_erasable",
        EngineError::RunErased { .. } => "run_erased",
        EngineError::RunPruned { .. } => "run_pruned",
        EngineError::InvalidState { .. } => "run_state_invalid",
    };
    fixed.into()
}

/// The way out of an error of the engine.
fn hint(error: &EngineError) -> String {
    let fixed = match error {
        EngineError::UnknownAgent(agent) => {
            return format!(
                "`wakeful agent list` shows those there are; `wakeful agent create {agent}` makes it"
            );
        }
        EngineError::KeyReused { run } => {
            return format!("use a new key; `wakeful runs show {run}` shows the run that has this one");
        }
        EngineError::DecisionPending { run, .. } => {
            return format!(
                "`wakeful decision list` shows what is asked; answer it, or `wakeful runs cancel {run}`"
            );
        }
        EngineError::CrashLoop { run, .. } => {
            return format!(
                "`wakeful doctor` looks for the cause; `wakeful runs show {run}` shows how far it came"
            );
        }
        EngineError::Quarantined { run, .. } => {
            return format!(
                "`wakeful runs resume {run}` tries it again, `wakeful runs abandon {run}` gives it up"
            );
        }
        EngineError::InvalidState { run, .. } => {
            return format!("`wakeful runs show {run}` shows how far it came");
        }
        EngineError::NotEnded { run } | EngineError::Refused(Refusal::RunOpen { run }) => {
            return ways_out(*run);
        }
        EngineError::NoEngine { problem, .. } => &problem.hint,
        EngineError::Store(error) => return Problem::from(error).hint,
        EngineError::Subscription(_) => "`wakeful subscriptions` shows those there are",
        EngineError::Schedule(_) => "`wakeful schedule list` shows those there are",
        EngineError::Lifecycle { .. } => LIFECYCLE,
        EngineError::TimeInPast(_) => "give a moment that is still to come",
        EngineError::UnknownTrigger => {
            "`wakeful agent external-trigger show` tells the address that holds now"
        }
        EngineError::Unanswerable(why) => unanswerable(why).1,
        EngineError::AgentExists(_) => "use it with `wakeful run --agent`, or choose another name",
        EngineError::UnknownRun(_) => "`wakeful runs list` shows the runs there are",
        EngineError::Refused(refusal) => refusal.hint().unwrap_or("see `wakeful why-not`"),
        EngineError::AgentBusy { .. } => "wait for it to finish, or end its run with `wakeful runs cancel`",
        EngineError::LeaseLost(_) => "check the database connection, then `wakeful run --resume`",
        EngineError::BudgetExceeded { .. } => RAISE,
        EngineError::Panicked(_) => {
            "`wakeful daemon logs` shows where; it is tried again by itself, nothing was lost"
        }
        EngineError::MachineVersion { machine, version, .. } if is_newer(machine, *version) => NEWER,
        EngineError::MachineVersion { .. } => "use the wakeful that began the run",
        EngineError::Braked { .. } => {
            "release the brake with `wakeful brake off`; the run goes on where it stands"
        }
        EngineError::UnknownDecision(_) => "`wakeful decision list` shows those that wait",
        EngineError::AmbiguousDecision(_) => "give more digits",
        EngineError::NotQuarantined { .. } => "`wakeful runs list --state quarantined` shows those that are",
        EngineError::NotErasable { .. } => {
            "without it `wakeful verify` could not tell an erasure from a forgery; name other events"
        }
        EngineError::RunErased { .. } => ERASED,
        EngineError::RunPruned { .. } => PRUNED,
    };
    fixed.to_owned()
}

/// What is wrong with a schedule, or with a wish about one.
fn of_schedule(fault: &ScheduleRefusal, message: String) -> Problem {
    let (code, hint) = match fault {
        ScheduleRefusal::Unknown(_) => (
            "schedule_unknown",
            "`wakeful schedule list` shows those there are",
        ),
        ScheduleRefusal::Exists(_) => ("schedule_exists", "choose another name with --id"),
        ScheduleRefusal::Bad(_) => (
            "bad_schedule",
            "correct the field that is named; see docs/schedules.md",
        ),
        ScheduleRefusal::Status { .. } => (
            "bad_schedule_transition",
            "active and paused ones change into each other; one that is over is made anew with `wakeful schedule add`",
        ),
        ScheduleRefusal::Over { .. } => (
            "schedule_expired",
            "make a new one with `wakeful schedule add`, or wake the agent with `wakeful message`",
        ),
        ScheduleRefusal::TooMany(_) | ScheduleRefusal::EventFull(_) => (
            "too_many_schedules",
            "disable some with `wakeful schedule disable`",
        ),
    };
    Problem::new(code, message, hint)
}

const fn unanswerable(why: &AnswerError) -> (&'static str, &'static str) {
    match why {
        AnswerError::Closed { .. } => (
            "decision_closed",
            "nothing is left to answer; `wakeful decision show` shows how it ended",
        ),
        AnswerError::Changed { .. } => (
            "decision_changed",
            "read it again and answer the version that stands",
        ),
        AnswerError::NotAllowed { .. } => (
            ANSWER_NOT_ALLOWED,
            "answer it by one of these ways; `decisions.answer_channels` says which new decisions take",
        ),
        AnswerError::Late { .. } => (
            "decision_expired",
            "read it again: it grew more severe and can be answered anew, or it was called off",
        ),
        AnswerError::NoOption { .. } => ("option_unknown", "answer with one of the options"),
        AnswerError::NoteTooLong => ("note_too_long", "say it in fewer words"),
    }
}

impl From<&SubscriptionError> for Problem {
    fn from(error: &SubscriptionError) -> Self {
        let message = error.to_string();
        match error {
            SubscriptionError::Terms(bad) => bad.into(),
            SubscriptionError::Unknown(_) => Self::new(
                "subscription_unknown",
                message,
                "`wakeful subscriptions` shows those there are",
            ),
            SubscriptionError::Exists(id) => Self::new(
                "subscription_exists",
                message,
                format!("choose another name, or take it away first: `wakeful unsubscribe {id}`"),
            ),
            SubscriptionError::AgentFull(_) => Self::new(
                "too_many_subscriptions",
                message,
                "one subscription may name many tokens; take some away with `wakeful unsubscribe`",
            ),
            SubscriptionError::Full => Self::new(
                "too_many_subscriptions",
                message,
                "take some away with `wakeful unsubscribe`",
            ),
            SubscriptionError::Journal(error) => error.into(),
        }
    }
}

/// What can be done about an open run.
#[must_use]
pub fn ways_out(run: RunKey) -> String {
    format!("finish it with `wakeful run --resume`, or end it with `wakeful runs cancel {run}`")
}
