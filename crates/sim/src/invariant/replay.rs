//! That the journal is the truth: everything else about a run follows from it.

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Role;
use wakeful_core::json::digest;
use wakeful_core::key::OperationId;
use wakeful_core::report::Kind;
use wakeful_core::run::{Input, Moved, Reads, StepWrite, Turn};
use wakeful_core::step::Status;
use wakeful_ports::records::JournalRow;

use super::{Verdict, unless};
use crate::evidence::{Evidence, RunEvidence};

/// What a journal leads to when it is applied again.
#[derive(Default)]
struct Rebuilt {
    steps: Vec<(OperationId, String, Status)>,
    entries: Vec<(Role, BlobHash)>,
    events: Vec<Kind>,
}

/// The inputs and reads of a journal, applied from the beginning, give the state and the effects of every
/// transition, and in the end the stored state, steps, transcript and events.
pub(super) fn replay_gives_the_same_states(evidence: &Evidence) -> Verdict {
    evidence.runs.iter().try_for_each(|run| replay(evidence, run))
}

fn replay(evidence: &Evidence, run: &RunEvidence) -> Verdict {
    let mut turn = beginning(run);
    let mut rebuilt = Rebuilt::default();
    for (row, ordinal) in run.journal.iter().zip(1..) {
        let moved = apply(turn, row, ordinal)?;
        rebuilt.take(&moved)?;
        turn = moved.turn;
    }
    let length = i64::try_from(run.journal.len()).unwrap_or(i64::MAX);
    unless(length == run.row.version, || {
        format!("{length} journal rows for version {}", run.row.version)
    })?;
    let state = serde_json::to_string(&turn).map_err(|error| error.to_string())?;
    unless(state == run.row.state, || {
        format!("the stored state is {} and should be {state}", run.row.state)
    })?;
    rebuilt.compare(evidence, run)
}

/// The turn before its first input. What it was limited to is carried in every later state.
fn beginning(run: &RunEvidence) -> Turn {
    let Turn {
        run_key,
        model_ref,
        max_rounds,
        deny_tools,
        ask_tools,
        workspace,
        ..
    } = run.turn.clone();
    Turn::new(run_key, model_ref, max_rounds)
        .in_workspace(workspace)
        .denying(deny_tools)
        .asking(ask_tools)
}

fn apply(turn: Turn, row: &JournalRow, ordinal: i64) -> Result<Moved, String> {
    let (input, reads): (Input, Reads) =
        serde_json::from_slice(&row.body).map_err(|error| error.to_string())?;
    let hash_of =
        |value: Result<_, wakeful_core::json::NotCanonical>| value.map_err(|error| error.to_string());
    let reads_hash = hash_of(digest(&reads))?;
    let moved = turn
        .apply(&reads, input)
        .map_err(|error| format!("transition {ordinal}: {error}"))?;
    let hashes = (
        reads_hash,
        hash_of(digest(&moved.turn))?,
        hash_of(digest(&moved.effects))?,
    );
    let kept = (row.reads_hash, row.state_hash, row.effects_hash);
    unless(row.ordinal == ordinal && hashes == kept, || {
        format!(
            "transition {ordinal} leads elsewhere than its row {}: {moved:?}",
            row.ordinal
        )
    })?;
    Ok(moved)
}

impl Rebuilt {
    /// Takes up what one transition writes.
    fn take(&mut self, moved: &Moved) -> Verdict {
        for write in &moved.steps {
            match write {
                StepWrite::Put {
                    operation_id,
                    name,
                    status,
                    ..
                } => self.steps.push((*operation_id, name.clone(), *status)),
                StepWrite::Intend(operation_id) => self.set(*operation_id, Status::Intended)?,
                StepWrite::Postpone(operation_id) => self.set(*operation_id, Status::Planned)?,
                StepWrite::Settle {
                    operation_id, status, ..
                } => self.set(*operation_id, *status)?,
            }
        }
        self.entries
            .extend(moved.entries.iter().map(|entry| (entry.role, entry.content)));
        self.events.extend(moved.events.iter().map(|draft| draft.kind));
        Ok(())
    }

    fn set(&mut self, operation_id: OperationId, to: Status) -> Verdict {
        let known = self.steps.iter_mut().find(|(id, ..)| *id == operation_id);
        let Some((_, _, status)) = known else {
            return Err(format!("{operation_id} ends before it was put down"));
        };
        *status = to;
        Ok(())
    }

    /// Compares with what the store has of the run.
    fn compare(&self, evidence: &Evidence, run: &RunEvidence) -> Verdict {
        let key = run.row.run_key;
        let steps = run
            .steps
            .iter()
            .map(|step| (step.operation_id, step.name.clone(), step.status));
        let steps: Vec<_> = steps.collect();
        unless(steps == self.steps, || {
            format!("the steps are {steps:?} and should be {:?}", self.steps)
        })?;
        let entries = evidence.entries.iter().filter(|(row, _)| row.run_key == key);
        let entries: Vec<_> = entries.map(|(row, _)| (row.role, row.content)).collect();
        unless(entries == self.entries, || {
            format!("the transcript is {entries:?} and should be {:?}", self.entries)
        })?;
        // Admission and wake stand before what the machine itself shows.
        let expected = [Kind::MessageAdmitted, Kind::WakeDecided]
            .iter()
            .chain(&self.events);
        let expected: Vec<&str> = expected.map(|kind| kind.as_str()).collect();
        // What people and deadlines do about a run stands in the log and not in its machine.
        let others = [
            Kind::DecisionAnswered,
            Kind::DecisionEscalated,
            Kind::RunQuarantined,
            Kind::RunReleased,
        ];
        let events = evidence.events.iter().filter(|event| event.run_key == Some(key));
        let events = events.filter(|event| others.iter().all(|kind| kind.as_str() != event.kind));
        let events: Vec<&str> = events.map(|event| event.kind.as_str()).collect();
        unless(events == expected, || {
            format!("the events are {events:?} and should be {expected:?}")
        })
    }
}
