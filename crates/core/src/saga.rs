//! The state machine of a saga, a write that touches both databases.
//!
//! ```text
//! intent ──► journal ──► agent            completed
//!    │          │
//!    └──────────┴──► compensation         compensated, or stuck with a reason until a person decides
//! ```
//!
//! The *intent* commits in `agent.sqlite` before anything is written, so that recovery has a record after a
//! crash right behind the journal's commit. Then the journal commits under the operation id, then the agent
//! database commits the result. The phase `journal` is never stored: it is read from the journal for an
//! operation whose intent is open.

use serde::{Deserialize, Serialize};

use crate::failure::truncate_chars;
use crate::journal::WriteError;
use crate::key::OperationId;

/// Longest stored error text.
pub const ERROR_CHARS_MAX: usize = 300;

/// Error code of a tool that cannot determine whether the journal committed a write.
pub const JOURNAL_UNAVAILABLE: &str = "journal_unavailable";

string_enum! {
    /// How far a write to the journal and its record in the agent database have come.
    #[schemars(rename = "SagaPhase")]
    pub enum SagaPhase {
        /// The intent is committed and the journal write has not been confirmed.
        Intent = "intent",
        /// The journal has committed, the agent database has not.
        Journal = "journal",
        /// Both databases have committed.
        Agent = "agent",
        /// The write is to be undone.
        Compensation = "compensation",
    }
}

string_enum! {
    /// Whether a write to the journal is complete in both databases.
    #[schemars(rename = "SagaStatus")]
    pub enum SagaStatus {
        /// Work remains.
        Open = "open",
        /// Both databases agree.
        Completed = "completed",
        /// The write was undone.
        Compensated = "compensated",
        /// It can be neither completed nor undone; a person decides.
        Stuck = "stuck",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saga {
    /// The action that it belongs to.
    pub operation_id: OperationId,
    pub phase: SagaPhase,
    pub status: SagaStatus,
    pub last_error: Option<String>,
}

/// An input of the saga machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SagaInput {
    /// The journal has committed the write.
    JournalCommitted,
    /// The agent database commits the result, in the transaction that stores this input.
    Settled {
        /// The error code; none on success.
        code: Option<String>,
    },
    /// The action is abandoned: its run ended before it began, or can never continue.
    Abandoned { why: String },
    /// The journal committed the inverse write, or there was nothing to undo and the operation is void.
    Undone,
    /// The write could not be undone.
    UndoFailed { why: String },
    /// A person keeps the journal as it is.
    Kept,
}

/// What recovery does with a saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SagaAction {
    /// The saga has ended.
    Nothing,
    /// The driver of its run continues it.
    Driver,
    /// Its run can never continue, so the write is to be undone.
    GiveUp,
    /// An undo is in progress or was attempted.
    Undo,
}

/// An input that the saga does not accept in its phase. It results only from a bug or from two concurrent
/// recoveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a saga that is {} in phase {} cannot take this", status.as_str(), phase.as_str())]
pub struct UnexpectedSagaInput {
    pub phase: SagaPhase,
    pub status: SagaStatus,
}

impl Saga {
    /// Creates the saga of an action whose intent commits in the same transaction.
    #[must_use]
    pub const fn intended(operation_id: OperationId) -> Self {
        Self {
            operation_id,
            phase: SagaPhase::Intent,
            status: SagaStatus::Open,
            last_error: None,
        }
    }

    /// Returns whether the saga needs no further work.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self.status {
            SagaStatus::Completed | SagaStatus::Compensated => true,
            SagaStatus::Open | SagaStatus::Stuck => false,
        }
    }

    /// Returns who continues the saga. The ordinary driver continues a run that can continue: it finds the
    /// intent without a result and performs it under the same id. Recovery only undoes sagas whose run can
    /// never continue.
    #[must_use]
    pub const fn next_action(&self, run_open: bool) -> SagaAction {
        match (self.phase, self.status) {
            (_, SagaStatus::Completed | SagaStatus::Compensated) => SagaAction::Nothing,
            (
                SagaPhase::Intent | SagaPhase::Journal | SagaPhase::Agent,
                SagaStatus::Open | SagaStatus::Stuck,
            ) => {
                if run_open {
                    SagaAction::Driver
                } else {
                    SagaAction::GiveUp
                }
            }
            (SagaPhase::Compensation, SagaStatus::Open | SagaStatus::Stuck) => SagaAction::Undo,
        }
    }

    /// Applies one input.
    pub fn apply(self, input: SagaInput) -> Result<Self, UnexpectedSagaInput> {
        let misfit = UnexpectedSagaInput {
            phase: self.phase,
            status: self.status,
        };
        let to = |phase, status, error: Option<String>| {
            let last_error = error.map(|error| truncate_chars(&error, ERROR_CHARS_MAX));
            Ok(Self {
                operation_id: self.operation_id,
                phase,
                status,
                last_error,
            })
        };
        match (self.phase, self.status, input) {
            (SagaPhase::Intent | SagaPhase::Journal, SagaStatus::Open, SagaInput::JournalCommitted) => {
                to(SagaPhase::Journal, SagaStatus::Open, None)
            }
            (SagaPhase::Intent | SagaPhase::Journal, SagaStatus::Open, SagaInput::Settled { code }) => {
                match is_certain(code.as_deref()) {
                    true => to(SagaPhase::Agent, SagaStatus::Completed, code),
                    // The run received a failure, so the journal must not keep a write that it may have
                    // committed.
                    false => to(SagaPhase::Compensation, SagaStatus::Open, code),
                }
            }
            (SagaPhase::Intent | SagaPhase::Journal, SagaStatus::Open, SagaInput::Abandoned { why }) => {
                to(SagaPhase::Compensation, SagaStatus::Open, Some(why))
            }
            (SagaPhase::Compensation, SagaStatus::Open | SagaStatus::Stuck, SagaInput::Undone) => to(
                SagaPhase::Compensation,
                SagaStatus::Compensated,
                self.last_error.clone(),
            ),
            (
                SagaPhase::Compensation,
                SagaStatus::Open | SagaStatus::Stuck,
                SagaInput::UndoFailed { why },
            ) => to(SagaPhase::Compensation, SagaStatus::Stuck, Some(why)),
            (SagaPhase::Compensation, SagaStatus::Stuck, SagaInput::Kept) => to(
                SagaPhase::Compensation,
                SagaStatus::Completed,
                self.last_error.clone(),
            ),
            (SagaPhase::Intent | SagaPhase::Journal | SagaPhase::Agent | SagaPhase::Compensation, _, _) => {
                Err(misfit)
            }
        }
    }
}

/// Returns whether the result determines what the journal holds: the write, or nothing after a refusal.
fn is_certain(code: Option<&str>) -> bool {
    code.is_none_or(WriteError::is_code)
}

/// Returns the saga of an intended action that ends with this code.
#[must_use]
pub fn saga_settlement(operation_id: OperationId, code: Option<&str>) -> Saga {
    let intended = Saga::intended(operation_id);
    let code = code.map(str::to_owned);
    // An open intent accepts any result.
    intended
        .clone()
        .apply(SagaInput::Settled { code })
        .unwrap_or(intended)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Digest;

    fn saga() -> Saga {
        Saga::intended(OperationId(Digest::of(b"operation")))
    }

    fn after(inputs: &[SagaInput]) -> Result<Saga, UnexpectedSagaInput> {
        inputs.iter().cloned().try_fold(saga(), Saga::apply)
    }

    fn failed(code: &str) -> SagaInput {
        SagaInput::Settled {
            code: Some(code.into()),
        }
    }

    const OK: SagaInput = SagaInput::Settled { code: None };

    #[test]
    fn a_saga_completes_when_both_databases_commit_in_order() {
        let done = after(&[SagaInput::JournalCommitted, OK]).unwrap();
        assert_eq!(
            (done.phase, done.status),
            (SagaPhase::Agent, SagaStatus::Completed)
        );
        assert_eq!(
            done,
            saga_settlement(done.operation_id, None),
            "the journal's phase is never stored"
        );
    }

    #[test]
    fn a_journal_refusal_completes_a_saga_and_an_unknown_end_does_not() {
        let refused = after(&[failed("task_unknown")]).unwrap();
        assert_eq!(
            (refused.phase, refused.status),
            (SagaPhase::Agent, SagaStatus::Completed)
        );
        assert_eq!(refused.last_error.as_deref(), Some("task_unknown"));
        for code in [JOURNAL_UNAVAILABLE, "cancelled", "halted"] {
            let unknown = after(&[failed(code)]).unwrap();
            assert_eq!(
                (unknown.phase, unknown.status),
                (SagaPhase::Compensation, SagaStatus::Open)
            );
        }
    }

    #[test]
    fn an_abandoned_saga_is_undone_or_stuck_until_a_person_keeps_it() {
        let why = || "the run ended".to_owned();
        let given_up = [SagaInput::Abandoned { why: why() }];
        let undone = after(&[&given_up[..], &[SagaInput::Undone]].concat()).unwrap();
        assert_eq!(undone.status, SagaStatus::Compensated);
        let stuck = [&given_up[..], &[SagaInput::UndoFailed { why: why() }]].concat();
        assert_eq!(after(&stuck).unwrap().status, SagaStatus::Stuck);
        assert!(!after(&stuck).unwrap().is_over());
        let tried_again = after(&[&stuck[..], &[SagaInput::Undone]].concat()).unwrap();
        assert_eq!(tried_again.status, SagaStatus::Compensated);
        let kept = after(&[&stuck[..], &[SagaInput::Kept]].concat()).unwrap();
        assert_eq!(kept.status, SagaStatus::Completed);
        assert!(
            after(&[&given_up[..], &[SagaInput::Kept]].concat()).is_err(),
            "not tried yet"
        );
    }

    #[test]
    fn recovery_leaves_sagas_of_open_runs_to_the_driver() {
        assert_eq!(saga().next_action(true), SagaAction::Driver);
        assert_eq!(saga().next_action(false), SagaAction::GiveUp);
        let unknown = after(&[failed(JOURNAL_UNAVAILABLE)]).unwrap();
        assert_eq!(
            (unknown.next_action(true), unknown.next_action(false)),
            (SagaAction::Undo, SagaAction::Undo)
        );
        assert_eq!(after(&[OK]).unwrap().next_action(false), SagaAction::Nothing);
    }

    fn input() -> impl Strategy<Value = SagaInput> {
        let why = || "why".to_owned();
        prop_oneof![
            Just(SagaInput::JournalCommitted),
            Just(OK),
            Just(failed("task_unknown")),
            Just(failed(JOURNAL_UNAVAILABLE)),
            Just(SagaInput::Abandoned { why: why() }),
            Just(SagaInput::Undone),
            Just(SagaInput::UndoFailed { why: why() }),
            Just(SagaInput::Kept),
        ]
    }

    proptest! {
        /// An ended saga rejects every input, in any order of recovery and driver.
        #[test]
        fn an_ended_saga_accepts_no_input(inputs in proptest::collection::vec(input(), 0..12)) {
            let mut now = saga();
            for input in inputs {
                let before = now.clone();
                match now.clone().apply(input) {
                    Ok(next) => {
                        prop_assert!(!before.is_over(), "{before:?} went on");
                        now = next;
                    }
                    Err(misfit) => prop_assert_eq!((misfit.phase, misfit.status), (before.phase, before.status)),
                }
                let is_over_where_it_may = match (now.phase, now.status) {
                    (SagaPhase::Agent, status) => status == SagaStatus::Completed,
                    (SagaPhase::Intent | SagaPhase::Journal, status) => status == SagaStatus::Open,
                    (SagaPhase::Compensation, _) => true,
                };
                prop_assert!(is_over_where_it_may, "{now:?}");
            }
        }
    }
}
