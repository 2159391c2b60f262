//! Compares two simulations of one seed whose faults were harmless: they must agree on everything but
//! times.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Role;
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::step::StepStatus;

use crate::evidence::Evidence;

/// The result of a simulation without times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    states: BTreeMap<RunKey, String>,
    steps: BTreeMap<RunKey, Vec<(OperationId, String, StepStatus, String)>>,
    transcript: Vec<(Role, BlobHash)>,
    events: Vec<(String, Value)>,
    requests: BTreeMap<(u32, u32), BTreeSet<Digest>>,
    done: BTreeSet<OperationId>,
}

impl Summary {
    /// Summarizes evidence.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let states = evidence
            .runs
            .iter()
            .map(|run| (run.row.run_key, run.row.state.clone()));
        let steps = evidence.runs.iter().map(|run| {
            let steps = run.steps.iter();
            let steps = steps.map(|step| {
                (
                    step.operation_id,
                    step.name.clone(),
                    step.status,
                    step.reason.clone(),
                )
            });
            (run.row.run_key, steps.collect())
        });
        let events = evidence.events.iter().map(|event| {
            let payload = event
                .payload
                .as_ref()
                .map_or(b"null".as_slice(), |(payload, _)| payload);
            (event.kind.clone(), timeless(payload))
        });
        Self {
            states: states.collect(),
            steps: steps.collect(),
            transcript: evidence
                .entries
                .iter()
                .map(|(row, _)| (row.role, row.content))
                .collect(),
            events: events.collect(),
            requests: evidence.ledger.requests.clone(),
            done: evidence
                .ledger
                .deeds
                .iter()
                .map(|deed| deed.operation_id)
                .collect(),
        }
    }

    /// The first difference between two summaries.
    pub(crate) fn differs(&self, other: &Self) -> Option<String> {
        let parts = [
            (self.states == other.states, "states"),
            (self.steps == other.steps, "steps"),
            (self.transcript == other.transcript, "transcript"),
            (self.events == other.events, "events"),
            (self.requests == other.requests, "requests"),
            (self.done == other.done, "deeds"),
        ];
        let (_, part) = parts.into_iter().find(|(equal, _)| !equal)?;
        Some(format!("the {part} differ: {self:#?}\nagainst {other:#?}"))
    }
}

/// A payload without durations and without the hashes that cover times.
fn timeless(payload: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(payload).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        for name in ["duration_ms", "log_binding", "row_hash"] {
            members.remove(name);
        }
    }
    value
}
