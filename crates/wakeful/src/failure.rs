//! Every failure a person sees has a stable code, one sentence, and where there is one a way out.

use serde_json::json;
use wakeful_core::id::BadId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::UnknownTool;
use wakeful_core::wake::Refusal;
use wakeful_ports::store::StoreError;
use wakeful_runtime::EngineError;

/// The exit status of a failure that is not the caller's form.
pub(crate) const FAILED: u8 = 1;

/// The exit status of a wrong call.
pub(crate) const USAGE: u8 = 2;

/// A failure on its way to a person.
#[derive(Debug)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
    hint: String,
    exit: u8,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            exit: FAILED,
        }
    }

    pub(crate) fn usage(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: USAGE,
            ..Self::new(code, message, hint)
        }
    }

    /// Wraps an error of the operating system, with what was being attempted.
    pub(crate) fn io(code: &'static str, attempt: &str, error: &std::io::Error, hint: &str) -> Self {
        Self::new(code, format!("{attempt}: {error}"), hint)
    }

    /// A run that a signal has stopped: it is whole and can go on.
    pub(crate) fn interrupted(run: RunKey, exit: u8) -> Self {
        let message = format!("stopped by a signal; run {run} is left open");
        Self {
            exit,
            ..Self::new("interrupted", message, ways_out(run))
        }
    }

    /// The same failure as the reason why a call as a whole is wrong.
    pub(crate) fn into_usage(self) -> Self {
        Self { exit: USAGE, ..self }
    }

    pub(crate) const fn exit(&self) -> u8 {
        self.exit
    }

    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }

    /// One object for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (false, Some(members)) = (self.hint.is_empty(), error.as_object_mut()) {
            members.insert("hint".into(), json!(self.hint));
        }
        json!({"error": error})
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

impl From<BadId> for Failure {
    fn from(error: BadId) -> Self {
        Self::usage("bad_id", error.to_string(), "choose another name")
    }
}

impl From<UnknownTool> for Failure {
    fn from(error: UnknownTool) -> Self {
        Self::usage(
            "unknown_tool",
            format!("--deny-tools: {error}"),
            "give names from the list, separated by commas",
        )
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match &error {
            StoreError::Conflict => ("conflict", "try again"),
            StoreError::FenceLost(_) => (
                "fence_lost",
                "another process goes on with this agent; look with `wakeful runs list`",
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
        Self::new(code, with_causes(&error), hint)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::UnknownAgent(agent) => Self::new(
                "agent_unknown",
                message,
                format!("create it with `wakeful agent create {agent}` or add --create-agent"),
            ),
            EngineError::UnknownRun(_) => Self::new(
                "run_unknown",
                message,
                "`wakeful runs list` shows the runs there are",
            ),
            EngineError::Refused(refusal) => match refusal {
                Refusal::RunOpen { run } => Self::new(refusal.code(), message, ways_out(run)),
            },
            EngineError::KeyReused { run } => Self::new(
                "idempotency_conflict",
                message,
                format!("use a new key; `wakeful runs show {run}` shows the run that has this one"),
            ),
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
            EngineError::MachineVersion { .. } => Self::new(
                "machine_version_unsupported",
                message,
                "use the wakeful that began the run",
            ),
            EngineError::Broken { run, .. } => Self::new(
                "run_broken",
                message,
                format!("`wakeful runs show {run}` shows how far it came"),
            ),
        }
    }
}

/// What can be done about an open run.
fn ways_out(run: RunKey) -> String {
    format!("finish it with `wakeful run --resume`, or end it with `wakeful runs cancel {run}`")
}

/// An error with everything that caused it, outermost first.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
