//! Checks that everything else about a run follows from its run log.

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Role;
use wakeful_core::key::OperationId;
use wakeful_core::proof::replay::{LoggedTransition, Replay};
use wakeful_core::report::EventKind;
use wakeful_core::run::{RunStatus, StepWrite, Transition};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_store::rows::RunLogRow;

use super::{Verdict, unless};
use crate::evidence::{Evidence, RunEvidence};

/// The result of applying a run log again.
#[derive(Default)]
struct Rebuilt {
    steps: Vec<(OperationId, String, StepStatus)>,
    entries: Vec<(Role, BlobHash)>,
    events: Vec<EventKind>,
}

/// Applying the inputs and reads of a run log from the start gives the state and effects of every
/// transition, and at the end the stored state, steps, transcript and events.
pub(super) fn replay_gives_the_same_states(evidence: &Evidence) -> Verdict {
    evidence.runs.iter().try_for_each(|run| replay(evidence, run))
}

fn replay(evidence: &Evidence, run: &RunEvidence) -> Verdict {
    let mut replay = Replay::new(run.turn.clone());
    let mut rebuilt = Rebuilt::default();
    for row in &run.journal {
        let moved = replay.step(&recorded(row)).map_err(|error| error.to_string())?;
        rebuilt.take(&moved)?;
    }
    let ended = replay.end(run.row.version, &run.row.state);
    ended.map_err(|error| error.to_string())?;
    rebuilt.compare(evidence, run)
}

fn recorded(row: &RunLogRow) -> LoggedTransition<'_> {
    LoggedTransition {
        ordinal: row.ordinal,
        body: &row.body,
        reads_hash: row.reads_hash,
        state_hash: row.state_hash,
        effects_hash: row.effects_hash,
        at: row.at,
    }
}

impl Rebuilt {
    /// Applies the writes of one transition.
    fn take(&mut self, moved: &Transition) -> Verdict {
        for write in &moved.steps {
            match write {
                StepWrite::Put {
                    operation_id,
                    name,
                    status,
                    ..
                } => self.steps.push((*operation_id, name.clone(), *status)),
                StepWrite::Intend(operation_id) => self.set(*operation_id, StepStatus::Intended)?,
                StepWrite::AwaitApproval(operation_id) => {
                    self.set(*operation_id, StepStatus::WaitingForApproval)?;
                }
                StepWrite::Postpone(operation_id) | StepWrite::Approve(operation_id) => {
                    self.set(*operation_id, StepStatus::Planned)?
                }
                StepWrite::Settle {
                    operation_id, status, ..
                } => self.set(*operation_id, *status)?,
                // The saga status is not part of a run's state.
                StepWrite::Saga(_) => {}
            }
        }
        self.entries
            .extend(moved.entries.iter().map(|entry| (entry.role, entry.content)));
        self.events
            .extend(moved.events.iter().map(wakeful_core::report::EventDraft::kind));
        Ok(())
    }

    fn set(&mut self, operation_id: OperationId, to: StepStatus) -> Verdict {
        let known = self.steps.iter_mut().find(|(id, ..)| *id == operation_id);
        let Some((_, _, status)) = known else {
            return Err(format!("{operation_id} ends before it was planned"));
        };
        *status = to;
        Ok(())
    }

    /// The steps, where plain actions in progress are unknown if a person abandoned the run.
    fn left(&self, run: &RunEvidence) -> Vec<(OperationId, String, StepStatus)> {
        let mut steps = self.steps.clone();
        let is_plain = |id| {
            let mut kept = run.steps.iter();
            kept.any(|step| step.operation_id == id && step.class == Some(EffectClass::Plain))
        };
        for (id, _, status) in steps
            .iter_mut()
            .filter(|_| run.row.status == RunStatus::Abandoned)
        {
            if *status == StepStatus::Intended && is_plain(*id) {
                *status = StepStatus::OutcomeUnknown;
            }
        }
        steps
    }

    /// Compares the result with the stored run.
    fn compare(&self, evidence: &Evidence, run: &RunEvidence) -> Verdict {
        let key = run.row.run_key;
        let steps = run
            .steps
            .iter()
            .map(|step| (step.operation_id, step.name.clone(), step.status));
        let steps: Vec<_> = steps.collect();
        let expected = self.left(run);
        unless(steps == expected, || {
            format!("the steps are {steps:?} and should be {expected:?}")
        })?;
        let entries = evidence.entries.iter().filter(|(row, _)| row.run_key == key);
        let entries: Vec<_> = entries.map(|(row, _)| (row.role, row.content)).collect();
        unless(entries == self.entries, || {
            format!("the transcript is {entries:?} and should be {:?}", self.entries)
        })?;
        // Admission and wake precede the events of the machine.
        let expected = [EventKind::MessageAdmitted, EventKind::WakeDecided]
            .iter()
            .chain(&self.events);
        let expected: Vec<&str> = expected.map(|kind| kind.as_str()).collect();
        // Events of people and deadlines about a run are in the log and not in its machine.
        let others = [
            EventKind::DecisionAnswered,
            EventKind::DecisionEscalated,
            EventKind::RunQuarantined,
            EventKind::QuarantineResolved,
        ];
        let events = evidence.events.iter().filter(|event| event.run_key == Some(key));
        let events = events.filter(|event| others.iter().all(|kind| kind.as_str() != event.kind));
        let events: Vec<&str> = events.map(|event| event.kind.as_str()).collect();
        unless(events == expected, || {
            format!("the events are {events:?} and should be {expected:?}")
        })
    }
}
