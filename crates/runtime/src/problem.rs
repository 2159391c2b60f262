//! What a person reads when the engine cannot go on: a stable code, a sentence, a way out. The same words for the
//! command line and the API, so that a code looked up once means the same everywhere.

use wakeful_core::decision::Unanswerable;
use wakeful_core::key::RunKey;
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::wake::Refusal;
use wakeful_ports::journal::JournalError;
use wakeful_ports::store::StoreError;

use crate::{EngineError, ScheduleFault};

/// Where the runs are.
const RUNS: &str = "`wakeful runs list` shows the runs there are";

/// What is left of a run that was erased.
const ERASED: &str =
    "`wakeful verify` shows that its place in the log is whole; `wakeful events` shows who erased it and why";

/// What is said to whoever waits for a message in the queue.
const QUEUED: &str = "the daemon answers it: `wakeful daemon start`";

/// A failure in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable word for programs.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The way out.
    pub hint: String,
}

impl Problem {
    fn new(code: &str, message: String, hint: impl Into<String>) -> Self {
        let (code, hint) = (code.to_owned(), hint.into());
        Self { code, message, hint }
    }
}

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        let (code, hint) = match error {
            StoreError::Conflict => ("conflict", "try again"),
            StoreError::FenceLost(_) => (
                "fence_lost",
                "another process goes on with this agent; look with `wakeful runs list`",
            ),
            StoreError::Braked(_) => ("braked", "release the brake with `wakeful brake off`"),
            StoreError::QueueFull(_) => (
                "queue_full",
                "wait until the agent has worked off some, or take some back with `wakeful runs cancel`",
            ),
            StoreError::Full => (
                "disk_full",
                "free some space and run `wakeful run --resume`; nothing was lost",
            ),
            StoreError::ReadOnly => (
                "home_read_only",
                "make the home writable or choose another with --home",
            ),
            StoreError::Corrupt(_) => (
                "database_corrupt",
                "keep the file, move it aside and put a copy from a backup in its place",
            ),
            StoreError::LogRemoved => (
                "log_removed",
                "end what runs with `wakeful daemon stop`, which still saves what it holds; else put agent.sqlite-wal \
                 back, restore a backup, or go on with what is left: `wakeful doctor --fix`",
            ),
            StoreError::Foreign => ("database_foreign", "choose another home with --home"),
            StoreError::NewerSchema { .. } => ("schema_newer", "use the newer wakeful that wrote it"),
            StoreError::OlderSchema { .. } => ("schema_older", "`wakeful run --resume` brings it up to date"),
            StoreError::Absent => (
                "home_missing",
                "`wakeful run \"…\"` makes one, or give another with --home",
            ),
            StoreError::BadAddress(_) => ("database_address", "give a postgres:// URL or key=value words"),
            StoreError::Unreachable(_) => (
                "database_unreachable",
                "check the --database URL and that the server runs; `wakeful run --resume` then finishes what is open",
            ),
            StoreError::Malformed(_) => (
                "database_malformed",
                "the row was not written by this program; restore a backup",
            ),
            StoreError::Closed => ("store_closed", "try again"),
            StoreError::Backend(_) => (
                "storage_failed",
                "see the cause above; `wakeful runs list` shows how far it came, `wakeful run --resume` goes on",
            ),
        };
        Self::new(code, with_causes(error), hint)
    }
}

impl From<&EngineError> for Problem {
    fn from(error: &EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::UnknownAgent(agent) => Self::new(
                "agent_unknown",
                message,
                format!("create it with `wakeful agent create {agent}`"),
            ),
            EngineError::AgentExists(_) => Self::new(
                "agent_exists",
                message,
                "use it with `wakeful run --agent`, or choose another name",
            ),
            EngineError::UnknownRun(_) => Self::new("run_unknown", message, RUNS),
            EngineError::Refused(refusal) => {
                let hint = if let Refusal::RunOpen { run } = refusal {
                    ways_out(*run)
                } else {
                    refusal.way_out().unwrap_or("see `wakeful why-not`").to_owned()
                };
                Self::new(refusal.code(), message, hint)
            }
            EngineError::KeyReused { run } => Self::new(
                "idempotency_conflict",
                message,
                format!("use a new key; `wakeful runs show {run}` shows the run that has this one"),
            ),
            EngineError::Waits { .. } => Self::new("message_queued", message, QUEUED),
            EngineError::AgentBusy { .. } => Self::new(
                "agent_busy",
                message,
                "wait for it to finish, or end its run with `wakeful runs cancel`",
            ),
            EngineError::LeaseLost(_) => Self::new(
                "lease_lost",
                message,
                "check the database connection, then `wakeful run --resume`",
            ),
            EngineError::BudgetExceeded { .. } => Self::new(
                BUDGET_EXCEEDED,
                message,
                "raise the cap with `wakeful budget set USD`, or let the day turn (UTC); then `wakeful run --resume`",
            ),
            EngineError::NoEngine { code, hint, .. } => Self::new(code, message, hint.as_str()),
            EngineError::Panicked(_) => Self::new(
                "turn_panicked",
                message,
                "`wakeful daemon logs` shows where; it is tried again by itself, nothing was lost",
            ),
            EngineError::Schedule(fault) => of_schedule(fault, message),
            EngineError::MachineVersion { .. }
            | EngineError::Undecided { .. }
            | EngineError::Braked { .. }
            | EngineError::CrashLoop { .. }
            | EngineError::Quarantined { .. }
            | EngineError::UnknownDecision(_)
            | EngineError::AmbiguousDecision(_)
            | EngineError::Unanswerable(_)
            | EngineError::NotQuarantined { .. }
            | EngineError::NotEnded { .. }
            | EngineError::RunErased { .. }
            | EngineError::RunPruned { .. }
            | EngineError::Broken { .. } => of_run(error, message),
        }
    }
}

/// What is wrong with one run, or with a question about it. The others are told where they are matched.
fn of_run(error: &EngineError, message: String) -> Problem {
    match error {
        EngineError::MachineVersion { .. } => Problem::new(
            "machine_version_unsupported",
            message,
            "use the wakeful that began the run",
        ),
        EngineError::Undecided { run, .. } => Problem::new(
            "decision_pending",
            message,
            format!("`wakeful decision list` shows what is asked; answer it, or `wakeful runs cancel {run}`"),
        ),
        EngineError::Braked { .. } => Problem::new(
            "braked",
            message,
            "release the brake with `wakeful brake off`; the run goes on where it stands",
        ),
        EngineError::CrashLoop { run, .. } => Problem::new(
            "crash_loop",
            message,
            format!("`wakeful doctor` looks for the cause; `wakeful runs show {run}` shows how far it came"),
        ),
        EngineError::Quarantined { run, .. } => Problem::new(
            "run_quarantined",
            message,
            format!("`wakeful runs retry {run}` tries it again, `wakeful runs abandon {run}` gives it up"),
        ),
        EngineError::UnknownDecision(_) => Problem::new(
            "decision_unknown",
            message,
            "`wakeful decision list` shows those that wait",
        ),
        EngineError::AmbiguousDecision(_) => Problem::new("decision_ambiguous", message, "give more digits"),
        EngineError::Unanswerable(why) => unanswerable(why, message),
        EngineError::NotQuarantined { .. } => Problem::new(
            "run_not_quarantined",
            message,
            "`wakeful runs list --state quarantined` shows those that are",
        ),
        EngineError::NotEnded { run } => Problem::new("run_open", message, ways_out(*run)),
        EngineError::RunErased { .. } => Problem::new("run_erased", message, ERASED),
        EngineError::RunPruned { .. } => Problem::new(
            "run_pruned",
            message,
            "`wakeful retention show` says how long it is kept; a backup from before may have it",
        ),
        EngineError::Broken { run, .. } => Problem::new(
            "run_broken",
            message,
            format!("`wakeful runs show {run}` shows how far it came"),
        ),
        EngineError::Store(_)
        | EngineError::Schedule(_)
        | EngineError::UnknownAgent(_)
        | EngineError::AgentExists(_)
        | EngineError::UnknownRun(_)
        | EngineError::Refused(_)
        | EngineError::KeyReused { .. }
        | EngineError::Waits { .. }
        | EngineError::AgentBusy { .. }
        | EngineError::LeaseLost(_)
        | EngineError::BudgetExceeded { .. }
        | EngineError::NoEngine { .. }
        | EngineError::Panicked(_) => Problem::new("engine_failed", message, "try again"),
    }
}

/// What is wrong with a schedule, or with a wish about one.
fn of_schedule(fault: &ScheduleFault, message: String) -> Problem {
    let (code, hint) = match fault {
        ScheduleFault::Unknown(_) => (
            "schedule_unknown",
            "`wakeful schedule list` shows those there are",
        ),
        ScheduleFault::Exists(_) => ("schedule_exists", "choose another name with --id"),
        ScheduleFault::Bad(_) => (
            "bad_schedule",
            "correct the field that is named; see docs/schedules.md",
        ),
        ScheduleFault::Status { .. } => (
            "schedule_status",
            "active and paused ones change into each other; one that is over is made anew with `wakeful schedule add`",
        ),
        ScheduleFault::Over { .. } => (
            "schedule_over",
            "make a new one with `wakeful schedule add`, or wake the agent with `wakeful message`",
        ),
        ScheduleFault::TooMany(_) => (
            "too_many_schedules",
            "disable some with `wakeful schedule disable`",
        ),
    };
    Problem::new(code, message, hint)
}

fn unanswerable(why: &Unanswerable, message: String) -> Problem {
    let (code, hint) = match why {
        Unanswerable::Closed { .. } => (
            "decision_closed",
            "nothing is left to answer; `wakeful decision show` shows how it ended",
        ),
        Unanswerable::Changed { .. } => (
            "decision_changed",
            "read it again and answer the version that stands",
        ),
        Unanswerable::NoOption { .. } => ("option_unknown", "answer with one of the options"),
        Unanswerable::NoteTooLong => ("note_too_long", "say it in fewer words"),
    };
    Problem::new(code, message, hint)
}

impl From<&JournalError> for Problem {
    fn from(error: &JournalError) -> Self {
        match error {
            JournalError::Refused(refusal) => Self::new(refusal.code(), refusal.to_string(), refusal.hint()),
            JournalError::Missing => Self::new(
                "journal_missing",
                error.to_string(),
                "put db.sqlite back from a backup, or begin a new journal with `wakeful journal adopt`",
            ),
            JournalError::Another => Self::new(
                "journal_another",
                error.to_string(),
                "put the right db.sqlite back, or take this one with `wakeful journal adopt`",
            ),
            JournalError::Store(error) => {
                let problem: Self = error.into();
                let message = format!("the journal: {}", problem.message);
                Self { message, ..problem }
            }
        }
    }
}

/// What can be done about an open run.
#[must_use]
pub fn ways_out(run: RunKey) -> String {
    format!("finish it with `wakeful run --resume`, or end it with `wakeful runs cancel {run}`")
}

/// An error with everything that caused it, outermost first.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
