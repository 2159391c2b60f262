//! Every failure that a person sees has a stable code, one sentence and, where possible, a hint.

use std::borrow::Cow;
use std::io::ErrorKind;

use serde_json::json;
use wakeful_core::id::BadId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::UnknownTool;
use wakeful_core::problem::Problem;
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::suggestion::nearest;
use wakeful_ports::journal::JournalError;
use wakeful_runtime::EngineError;
use wakeful_runtime::problem::{ANSWER_NOT_ALLOWED, CALLER_IS_TOOL_PROCESS, open_run_hint};
use wakeful_store::StoreError;

/// The exit status of a failure other than wrong usage.
pub(crate) const FAILED: u8 = 1;

/// The exit status of wrong usage.
pub(crate) const USAGE: u8 = 2;

/// The exit status when a run waits for a decision.
pub(crate) const UNDECIDED: u8 = 3;

/// The exit status when a brake or a policy rule denies the command.
pub(crate) const DENIED: u8 = 4;

/// The exit status when a run waits for budget.
pub(crate) const OUT_OF_MONEY: u8 = 5;

/// The exit status when verification fails.
pub(crate) const UNVERIFIED: u8 = 6;

/// The error code of a full disk.
pub(crate) const DISK_FULL: &str = "disk_full";

const FREE_SPACE: &str = "free some space, then try again; no acknowledged data is lost";

/// A failure to show to a person.
#[derive(Debug)]
pub(crate) struct Failure {
    problem: Problem,
    exit: u8,
    /// An additional field of the JSON form.
    beside: Option<(&'static str, serde_json::Value)>,
}

impl Failure {
    pub(crate) fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            problem: Problem::new(code, message, hint),
            exit: FAILED,
            beside: None,
        }
    }

    /// Adds a field to the JSON form.
    pub(crate) fn with_field(self, name: &'static str, value: serde_json::Value) -> Self {
        Self {
            beside: Some((name, value)),
            ..self
        }
    }

    pub(crate) fn usage(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: USAGE,
            ..Self::new(code, message, hint)
        }
    }

    /// Wraps an operating system error with the attempted operation. A full disk always has the same code
    /// and hint, wherever it is detected.
    pub(crate) fn io(code: &'static str, attempt: &str, error: &std::io::Error, hint: &str) -> Self {
        let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        let (code, hint) = if is_full {
            (DISK_FULL, FREE_SPACE)
        } else {
            (code, hint)
        };
        Self::new(code, format!("{attempt}: {error}"), hint)
    }

    /// A run that a signal has stopped. It is intact and can be resumed.
    pub(crate) fn interrupted(run: RunKey, exit: u8) -> Self {
        let message = format!("stopped by a signal; run {run} is left open");
        Self {
            exit,
            ..Self::new("interrupted", message, open_run_hint(run))
        }
    }

    /// Turns this failure into a usage error.
    pub(crate) fn into_usage(self) -> Self {
        Self { exit: USAGE, ..self }
    }

    /// Names the option that the failure is about.
    pub(crate) fn about(self, option: &str) -> Self {
        let message = format!("{option}: {}", self.problem.message);
        let problem = Problem {
            message,
            ..self.problem
        };
        Self { problem, ..self }
    }

    pub(crate) fn with_exit(self, exit: u8) -> Self {
        Self { exit, ..self }
    }

    pub(crate) const fn exit(&self) -> u8 {
        self.exit
    }

    pub(crate) fn code(&self) -> &str {
        &self.problem.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.problem.message
    }

    pub(crate) fn hint(&self) -> &str {
        &self.problem.hint
    }

    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.problem.message = message;
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = hint.into();
        self
    }

    /// The failure as a JSON object.
    pub(crate) fn json(&self) -> serde_json::Value {
        let mut error = json!(self.problem);
        if let (true, Some(members)) = (self.hint().is_empty(), error.as_object_mut()) {
            members.remove("hint");
        }
        let mut object = json!({"error": error});
        if let (Some((name, value)), Some(members)) = (&self.beside, object.as_object_mut()) {
            members.insert((*name).to_owned(), value.clone());
        }
        object
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Problem { code, message, hint } = &self.problem;
        write!(f, "error[{code}]: {message}")?;
        if hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {hint}")
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
        let hint = match nearest(&error.tool, error.known.split(", ")) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "use names from the list, separated by commas".to_owned(),
        };
        Self::usage("unknown_tool", error.to_string(), hint)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Problem::from(&error).into()
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Problem::from(&error).into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Problem::from(&error).into()
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        failure.problem
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit = match &*problem.code {
            BUDGET_EXCEEDED => OUT_OF_MONEY,
            "decision_pending" => UNDECIDED,
            // A wrong value on the command line, found by the process that serves the request.
            "unknown_tool" | "model_unknown" | "bad_answer_schema" => USAGE,
            "braked" | ANSWER_NOT_ALLOWED | CALLER_IS_TOOL_PROCESS => DENIED,
            _ => FAILED,
        };
        Self {
            problem,
            exit,
            beside: None,
        }
    }
}
