//! A write that touches both databases, as a machine.
//!
//! ```text
//! intent ──► journal ──► agent            completed
//!    │          │
//!    └──────────┴──► compensation         compensated, or stuck with a reason until a person decides
//! ```
//!
//! The *intent* commits in `agent.sqlite` before anything is written, so that a crash right after the journal's commit
//! leaves something to recover from. Then the journal commits under the operation id, then the agent's side commits the
//! result. `journal` is never stored: it is what the journal itself says about an operation whose intent is open.

use serde::{Deserialize, Serialize};

use crate::failure::truncate_chars;
use crate::journal::WriteError;
use crate::key::OperationId;

/// Longest reason that is kept.
pub const ERROR_CHARS_MAX: usize = 300;

/// The word by which a tool says that nobody knows whether the journal took a write.
pub const JOURNAL_UNAVAILABLE: &str = "journal_unavailable";

string_enum! {
    /// How far a saga is.
    #[schemars(rename = "SagaPhase")]
    pub enum SagaPhase {
        /// It is about to write.
        Intent = "intent",
        /// The journal has it, the agent's side does not.
        Journal = "journal",
        /// Both have it.
        Agent = "agent",
        /// It is to be taken back.
        Compensation = "compensation",
    }
}

string_enum! {
    /// Whether a saga is over.
    #[schemars(rename = "SagaStatus")]
    pub enum SagaStatus {
        /// Something is left to do.
        Open = "open",
        /// Both sides have the same to say.
        Completed = "completed",
        /// It was taken back.
        Compensated = "compensated",
        /// It can be neither finished nor taken back; a person decides.
        Stuck = "stuck",
    }
}

/// Where one saga stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saga {
    /// The action that it carries out.
    pub operation_id: OperationId,
    /// How far it is.
    pub phase: SagaPhase,
    /// Whether it is over.
    pub status: SagaStatus,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// What happens to a saga.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SagaInput {
    /// The journal has committed the write.
    JournalCommitted,
    /// The agent's side commits the result, in the transaction that stores this; a code says what went wrong.
    Settled {
        /// The word of what went wrong; none when it did what was asked.
        code: Option<String>,
    },
    /// The action is called off: its run ends before it began, or can never go on.
    Abandoned {
        /// Why.
        why: String,
    },
    /// The inverse is committed in the journal, or there was nothing to invert and the operation is void.
    Undone,
    /// It could not be taken back.
    UndoFailed {
        /// Why.
        why: String,
    },
    /// A person says that the journal is right as it is.
    Kept,
}

/// What is to be done about a saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SagaAction {
    /// Nothing: it is over.
    Nothing,
    /// The driver of its run goes on with it.
    Driver,
    /// Its run can never go on: it is to be taken back.
    GiveUp,
    /// It is being taken back, or was tried to.
    Undo,
}

/// An input that the saga cannot take where it stands. Only a mistake of ours, or two recoveries at once, make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a saga that is {} in phase {} cannot take this", status.as_str(), phase.as_str())]
pub struct UnexpectedSagaInput {
    /// How far it was.
    pub phase: SagaPhase,
    /// Whether it was over.
    pub status: SagaStatus,
}

impl Saga {
    /// The saga of an action whose intent commits in the same transaction.
    #[must_use]
    pub const fn intended(operation_id: OperationId) -> Self {
        Self {
            operation_id,
            phase: SagaPhase::Intent,
            status: SagaStatus::Open,
            last_error: None,
        }
    }

    /// Whether somebody has to look at it again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self.status {
            SagaStatus::Completed | SagaStatus::Compensated => true,
            SagaStatus::Open | SagaStatus::Stuck => false,
        }
    }

    /// Who has to see to it. A run that can go on is driven on by the ordinary driver, which meets the intent without a
    /// result and carries it out under the same id; recovery only takes back what nobody will ever go on with.
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

    /// Takes an input.
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
                    // The run was told of a failure, so the journal must not keep what it may have.
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

/// Whether the result of an action says for certain what the journal holds: the write, or, after a refusal, nothing.
fn is_certain(code: Option<&str>) -> bool {
    code.is_none_or(WriteError::is_code)
}

/// The saga of an action that was intended and now ends with this code.
#[must_use]
pub fn saga_settlement(operation_id: OperationId, code: Option<&str>) -> Saga {
    let intended = Saga::intended(operation_id);
    let code = code.map(str::to_owned);
    // An open intent takes a result, whatever it is.
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
    fn both_sides_in_order_complete_it() {
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
    fn a_refusal_of_the_journal_completes_it_and_an_unknown_end_does_not() {
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
    fn what_is_given_up_is_undone_or_stuck_until_a_person_keeps_it() {
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
            "nobody tried yet"
        );
    }

    #[test]
    fn recovery_leaves_to_the_driver_what_the_driver_will_finish() {
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
        /// Whatever recovery and driver do, and in whatever order: an end is an end.
        #[test]
        fn a_saga_that_is_over_takes_nothing_more(inputs in proptest::collection::vec(input(), 0..12)) {
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
