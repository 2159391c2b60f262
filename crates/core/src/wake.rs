//! Whether a message becomes a run. Every candidate leaves a record, also when the answer is no, so that
//! "why" and "why not" can be answered afterwards from what was kept.

use serde::{Deserialize, Serialize};

use crate::key::RunKey;

/// What is known of an agent when a message for it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Whether a brake holds it.
    pub is_braked: bool,
    /// Where the agent stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: Control,
    /// A run of this agent that has not ended.
    pub open_run: Option<RunKey>,
}

/// Whether an agent works on what waits for it. A person's word, beside the lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// It does.
    Running,
    /// It keeps what comes and begins nothing.
    Paused,
}

impl Control {
    /// The spelling that is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Running, Self::Paused]
            .into_iter()
            .find(|control| control.as_str() == text)
    }
}

/// Where an agent stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It may be woken.
    Active,
}

impl Lifecycle {
    /// The spelling that is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
        }
    }
}

/// The answer, kept with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The message becomes a run.
    Run,
    /// It does not, for this reason.
    Refused(Refusal),
}

/// Why a wake was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// One run at a time: two runs in one thread would answer each other's questions.
    #[error("the agent has an unfinished run {run}")]
    RunOpen {
        /// The run in the way.
        run: RunKey,
    },
    /// A person paused the agent.
    #[error("the agent is paused")]
    Paused,
    /// A brake holds the agent, or all of them.
    #[error("the agent is braked")]
    Braked,
}

impl Refusal {
    /// The stable word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::RunOpen { .. } => "run_open",
            Self::Paused => "paused",
            Self::Braked => "braked",
        }
    }
}

/// One check on the way to a wake, with its result, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What was checked.
    pub gate: String,
    /// Whether it let the message pass.
    pub passed: bool,
}

/// Decides one candidate: the verdict and every gate that was looked at.
#[must_use]
pub fn decide(candidate: &Candidate) -> (Verdict, Vec<Gate>) {
    let lifecycle_passed = match candidate.lifecycle {
        Lifecycle::Active => true,
    };
    let gates = vec![
        Gate {
            gate: "lifecycle".into(),
            passed: lifecycle_passed,
        },
        Gate {
            gate: "brake".into(),
            passed: !candidate.is_braked,
        },
        Gate {
            gate: "control".into(),
            passed: candidate.control == Control::Running,
        },
        Gate {
            gate: "one_run_at_a_time".into(),
            passed: candidate.open_run.is_none(),
        },
    ];
    let verdict = match (candidate.is_braked, candidate.control, candidate.open_run) {
        (true, _, _) => Verdict::Refused(Refusal::Braked),
        (false, Control::Paused, _) => Verdict::Refused(Refusal::Paused),
        (false, Control::Running, Some(run)) => Verdict::Refused(Refusal::RunOpen { run }),
        (false, Control::Running, None) => Verdict::Run,
    };
    (verdict, gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Digest;

    #[test]
    fn an_agent_with_nothing_open_runs() {
        let (verdict, gates) = decide(&Candidate {
            is_braked: false,
            lifecycle: Lifecycle::Active,
            control: Control::Running,
            open_run: None,
        });
        assert_eq!(verdict, Verdict::Run);
        assert!(gates.iter().all(|gate| gate.passed));
    }

    #[test]
    fn a_paused_agent_begins_nothing() {
        let (verdict, gates) = decide(&Candidate {
            is_braked: false,
            lifecycle: Lifecycle::Active,
            control: Control::Paused,
            open_run: None,
        });
        assert_eq!(verdict, Verdict::Refused(Refusal::Paused));
        let failed: Vec<_> = gates.iter().filter(|gate| !gate.passed).collect();
        assert!(
            matches!(failed.as_slice(), [gate] if gate.gate == "control"),
            "{failed:?}"
        );
    }

    #[test]
    fn a_braked_agent_begins_nothing_whatever_else_holds() {
        let (verdict, gates) = decide(&Candidate {
            is_braked: true,
            lifecycle: Lifecycle::Active,
            control: Control::Paused,
            open_run: None,
        });
        assert_eq!(verdict, Verdict::Refused(Refusal::Braked));
        assert!(gates.iter().any(|gate| gate.gate == "brake" && !gate.passed));
    }

    #[test]
    fn an_agent_with_an_open_run_is_refused_and_the_run_is_named() {
        let run = RunKey(Digest::of(b"open"));
        let (verdict, gates) = decide(&Candidate {
            is_braked: false,
            lifecycle: Lifecycle::Active,
            control: Control::Running,
            open_run: Some(run),
        });
        let Verdict::Refused(refusal) = verdict else {
            panic!("was not refused")
        };
        assert_eq!(refusal.code(), "run_open");
        assert!(refusal.to_string().contains(&run.to_string()), "{refusal}");
        assert_eq!(gates.iter().filter(|gate| !gate.passed).count(), 1);
    }
}
