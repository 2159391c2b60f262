//! User-facing descriptions of engine errors: the [`Problem`] of each one.

use std::borrow::Cow;

use wakeful_core::decision::AnswerError;
use wakeful_core::key::RunKey;
use wakeful_core::problem::{Problem, with_causes};
use wakeful_core::run::{BUDGET_EXCEEDED, is_newer};
use wakeful_core::wake::Refusal;
use wakeful_ports::snapshot::SnapshotError;

use crate::api::subscription::SubscriptionError;
use crate::{EngineError, ScheduleRefusal};

/// The hint for an erased run.
const ERASED: &str =
    "`wakeful verify` checks that the log is intact; `wakeful events` shows who erased the run and why";

/// The hint for a pruned run.
const PRUNED: &str =
    "`wakeful retention show` shows how long contents are kept; an older backup may still have them";

/// The hint for a run of a newer machine version.
const NEWER: &str = "only the newer wakeful that started it can continue it; update this one";

/// The hint for a lifecycle change that is not allowed.
const LIFECYCLE: &str = "created and dormant agents can become active, active ones dormant, and all can be destroyed; this cannot be undone";

/// The error code of an answer through a channel that the decision does not allow.
pub const ANSWER_NOT_ALLOWED: &str = "answer_not_allowed";

/// The error code of an answer or brake release from a process that an agent's tool started.
pub const CALLER_IS_TOOL_PROCESS: &str = "caller_is_tool_process";

/// The problem of a process started by an agent's tool that tries to act as a person.
#[must_use]
pub fn caller_is_tool_process() -> Problem {
    let message = "this process was started by an agent's tool, and tools may not answer decisions, release brakes or undo runs";
    let hint = "do this on the page, or in your own terminal";
    Problem::new(CALLER_IS_TOOL_PROCESS, message, hint)
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

/// The error code of an engine error.
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
        EngineError::UnknownLimit(_) => "limit_unknown",
        EngineError::Refused(refusal) => refusal.code(),
        EngineError::KeyReused { .. } => "idempotency_conflict",
        EngineError::AgentBusy { .. } => "agent_busy",
        EngineError::LeaseLost(_) => "lease_lost",
        EngineError::BudgetExceeded { .. } => BUDGET_EXCEEDED,
        EngineError::NoEngine { problem, .. } | EngineError::Setting(problem) => return problem.code.clone(),
        EngineError::Panicked(_) => "internal_error",
        EngineError::MachineVersion { .. } => "machine_version_unsupported",
        EngineError::DecisionPending { .. } => "decision_pending",
        EngineError::Braked { .. } => "braked",
        EngineError::CrashLoop { .. } => "crash_loop",
        EngineError::Quarantined { .. } => "run_quarantined",
        EngineError::UnknownDecision(_) => "decision_unknown",
        EngineError::AmbiguousDecision { .. } => "decision_ambiguous",
        EngineError::Unanswerable(why) => unanswerable(why).0,
        EngineError::NotQuarantined { .. } => "run_not_quarantined",
        EngineError::NotEnded { .. } => "run_open",
        EngineError::RetryOpen { .. } => "retry_open",
        EngineError::UnknownStep { .. } => "step_unknown",
        EngineError::NotErasable { .. } => "event_not_erasable",
        EngineError::RunErased { .. } => "run_erased",
        EngineError::RunPruned { .. } => "run_pruned",
        EngineError::InvalidState { .. } => "run_state_invalid",
        EngineError::Snapshot(error) => of_snapshot(error).0,
    };
    fixed.into()
}

/// What to do about an engine error.
fn hint(error: &EngineError) -> String {
    let fixed = match error {
        EngineError::UnknownAgent(agent) => {
            return format!(
                "`wakeful agent list` lists all agents; `wakeful agent create {agent}` creates this one"
            );
        }
        EngineError::KeyReused { run } => {
            return format!("use a new key; `wakeful runs show {run}` shows the run that has this one");
        }
        EngineError::DecisionPending { run, .. } => return pending_hint(*run),
        EngineError::CrashLoop { run, .. } => {
            return format!(
                "`wakeful doctor` looks for the cause; `wakeful runs show {run}` shows the run's progress"
            );
        }
        EngineError::Quarantined { run, .. } => {
            return format!(
                "`wakeful runs resume {run}` resumes it, `wakeful runs abandon {run}` abandons it"
            );
        }
        EngineError::InvalidState { run, .. } => {
            return format!("`wakeful runs show {run}` shows the run's progress");
        }
        EngineError::NotEnded { run } | EngineError::Refused(Refusal::RunOpen { run }) => {
            return open_run_hint(*run);
        }
        EngineError::RetryOpen { retry, .. } => return open_run_hint(*retry),
        EngineError::UnknownStep { run, .. } => {
            return format!("`wakeful runs show {run}` lists its steps");
        }
        EngineError::NoEngine { problem, .. } | EngineError::Setting(problem) => &problem.hint,
        EngineError::Store(error) => return Problem::from(error).hint,
        EngineError::Subscription(_) => "`wakeful subscriptions` lists all subscriptions",
        EngineError::Schedule(_) => "`wakeful schedule list` lists all schedules",
        EngineError::Lifecycle { .. } => LIFECYCLE,
        EngineError::TimeInPast(_) => "use a time in the future",
        EngineError::UnknownTrigger => "`wakeful agent external-trigger show` shows the current URL",
        EngineError::Unanswerable(why) => unanswerable(why).1,
        EngineError::AgentExists(_) => "use it with `wakeful run --agent`, or choose another name",
        EngineError::UnknownRun(_) => "`wakeful runs list` lists all runs",
        EngineError::UnknownLimit(_) => "`wakeful budget list` lists all limits",
        EngineError::Refused(refusal) => refusal.hint().unwrap_or("see `wakeful why-not`"),
        EngineError::AgentBusy { .. } => "wait for it to finish, or end its run with `wakeful runs cancel`",
        EngineError::LeaseLost(_) => "check the database connection, then `wakeful run --resume`",
        EngineError::BudgetExceeded { exceeded, .. } => {
            return format!("{}; then `wakeful run --resume`", exceeded.hint());
        }
        EngineError::Panicked(_) => {
            "`wakeful daemon logs` shows details; it is retried automatically, nothing was lost"
        }
        EngineError::MachineVersion { machine, version, .. } if is_newer(machine, *version) => NEWER,
        EngineError::MachineVersion { .. } => "use the version of wakeful that started the run",
        EngineError::Braked { .. } => {
            "release the brake with `wakeful brake off` (or `wakeful brake off --agent ID`); the run then continues"
        }
        EngineError::UnknownDecision(_) => "`wakeful decision list` lists open decisions",
        EngineError::AmbiguousDecision { .. } => "give more digits",
        EngineError::NotQuarantined { .. } => {
            "`wakeful runs list --status quarantined` lists quarantined runs"
        }
        EngineError::NotErasable { .. } => {
            "without it `wakeful verify` could not tell an erasure from a forgery; choose other events"
        }
        EngineError::RunErased { .. } => ERASED,
        EngineError::RunPruned { .. } => PRUNED,
        EngineError::Snapshot(error) => of_snapshot(error).1,
    };
    fixed.to_owned()
}

fn pending_hint(run: RunKey) -> String {
    format!("`wakeful decision list` lists open decisions; answer it, or `wakeful runs cancel {run}`")
}

/// The code and the hint of an error about snapshots.
const fn of_snapshot(error: &SnapshotError) -> (&'static str, &'static str) {
    match error {
        SnapshotError::Missing(_) => (
            "snapshot_missing",
            "runs that only read have none, and `wakeful retention show` shows how long they are kept",
        ),
        SnapshotError::Unavailable(_) => (
            "snapshot_unavailable",
            "use your own version control, or compare with a backup; `wakeful runs show` lists what the run did",
        ),
        SnapshotError::NoWorkspace(_) => ("workspace_unusable", "create the folder again, then try again"),
        SnapshotError::WorkspaceBusy(_) => (
            "workspace_busy",
            "wait for that run, or end it with `wakeful runs cancel`, then try again",
        ),
        SnapshotError::Locked => ("snapshot_locked", "try again in a moment"),
        SnapshotError::Failed(_) => (
            "snapshot_failed",
            "check that the folder `snapshots` in the home and the workspace can be read and written",
        ),
    }
}

/// The problem of a refused operation on a schedule.
fn of_schedule(fault: &ScheduleRefusal, message: String) -> Problem {
    let (code, hint) = match fault {
        ScheduleRefusal::Unknown(_) => ("schedule_unknown", "`wakeful schedule list` lists all schedules"),
        ScheduleRefusal::Exists(_) => ("schedule_exists", "choose another name with --id"),
        ScheduleRefusal::Bad(_) => (
            "bad_schedule",
            "correct the named field; see `wakeful schedule add --help`",
        ),
        ScheduleRefusal::Status { .. } => (
            "bad_schedule_transition",
            "a schedule can only be paused while active and resumed while paused; to replace an ended one use `wakeful schedule add`",
        ),
        ScheduleRefusal::Over { .. } => (
            "schedule_expired",
            "create a new one with `wakeful schedule add`, or wake the agent with `wakeful message`",
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
            "it is already closed; `wakeful decision show` shows the result",
        ),
        AnswerError::Changed { .. } => (
            "decision_changed",
            "read the decision again and answer the current version",
        ),
        AnswerError::NotAllowed { .. } => (
            ANSWER_NOT_ALLOWED,
            "answer through one of these channels; `decisions.answer_channels` sets those of new decisions",
        ),
        AnswerError::Late { .. } => (
            "decision_expired",
            "read the decision again: it was escalated and needs a new answer, or it was cancelled",
        ),
        AnswerError::NoOption { .. } => ("option_unknown", "answer with one of the options"),
        AnswerError::NoteTooLong => ("note_too_long", "use a shorter note"),
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
                "`wakeful subscriptions` lists all subscriptions",
            ),
            SubscriptionError::Exists(id) => Self::new(
                "subscription_exists",
                message,
                format!("choose another name, or remove it first: `wakeful unsubscribe {id}`"),
            ),
            SubscriptionError::AgentFull(_) => Self::new(
                "too_many_subscriptions",
                message,
                "one subscription may name many tokens; remove some with `wakeful unsubscribe`",
            ),
            SubscriptionError::Full => Self::new(
                "too_many_subscriptions",
                message,
                "remove some with `wakeful unsubscribe`",
            ),
            SubscriptionError::Journal(error) => error.into(),
        }
    }
}

/// The hint for an open run.
#[must_use]
pub fn open_run_hint(run: RunKey) -> String {
    format!("finish it with `wakeful run --resume`, or end it with `wakeful runs cancel {run}`")
}

#[cfg(test)]
mod tests {
    use wakeful_core::budget::{BudgetExceeded, BudgetScope, MicroUsd, SpendTotal};
    use wakeful_core::id::AgentId;
    use wakeful_core::key::Digest;
    use wakeful_core::policy::{DenialCategory, GateStage, HOST_NOT_ALLOWED, refusal_stage};
    use wakeful_core::tool::quota::QuotaExceeded;
    use wakeful_store::StoreError;

    use super::*;

    // Conformance: A-183
    #[test]
    fn exceeded_limits_have_codes_of_their_own() {
        let agent = AgentId::parse("main").expect("a name");
        let nothing = (MicroUsd(0), SpendTotal::default());
        let budget = EngineError::BudgetExceeded {
            agent: agent.clone(),
            run: RunKey(Digest::of(b"run")),
            exceeded: BudgetExceeded::of_cap(BudgetScope::Agent, nothing.0, nothing.1, MicroUsd(1)),
        };
        let queue = EngineError::Store(StoreError::QueueFull(agent));
        let codes = [&budget, &queue].map(|error| Problem::from(error).code.into_owned());
        assert_eq!(codes, ["budget_exceeded", "queue_full"]);
        assert_eq!(Refusal::QueueFull.code(), "queue_full", "a message of a program");
        let quota = QuotaExceeded {
            max: 1,
            period: "within 24 hours",
        };
        let fault = quota.fault("ExecCommand", false);
        assert_eq!(
            (fault.kind.as_str(), fault.category),
            ("tool_quota_exceeded", Some(DenialCategory::BudgetExceeded))
        );
        for code in [
            "outside_workspace",
            "protected_path",
            "denied_path",
            HOST_NOT_ALLOWED,
        ] {
            assert_eq!(refusal_stage(code), Some(GateStage::Sandbox), "{code}");
        }
    }
}
