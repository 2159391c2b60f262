//! Compares a run with its run log and the agent's log: its row, steps, transcript entries and decisions
//! must follow from its inputs.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::{Role, Usage};
use wakeful_core::decision::{Decision, DecisionStatus};
use wakeful_core::id::AgentId;
use wakeful_core::json;
use wakeful_core::key::{DecisionId, Digest, OperationId, RunKey};
use wakeful_core::proof::replay::{LoggedEvent, ReplayMismatch};
use wakeful_core::provenance::Sources;
use wakeful_core::run::{DecisionWrite, MACHINE, RunStatus, StepWrite, Transition};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_store::rows::{DecisionRow, PlacedEntry, RunPruneState, RunRow, StepRow};
use wakeful_store::{StoreError, View};

use super::AuditFinding;
use crate::EngineError;
use crate::proof::replay::again_with;
use crate::wait::run_record;

/// Rows read at once.
const PAGE: u32 = 1_000;

/// The events of a run.
#[derive(Debug, Default)]
pub(in crate::proof) struct RunEvents {
    /// The run's events, as far as they can be compared.
    pub(in crate::proof) told: Vec<LoggedEvent>,
    pub(super) started_at: Option<Millis>,
    /// The hash of the run's fixed properties at its start, if the log has one.
    pub(super) row_hash: Option<Digest>,
    /// How and when the run ended or was quarantined.
    pub(super) ended: Option<(Option<RunStatus>, Millis)>,
    /// Why the run was quarantined.
    pub(super) fault: Option<String>,
    /// The newest hash of each decision, if the log has one.
    pub(super) decided: BTreeMap<DecisionId, Option<Digest>>,
}

/// The rows that a run log leads to.
#[derive(Debug, Default)]
pub(in crate::proof) struct RebuiltRun {
    steps: Vec<StepRow>,
    entries: Vec<(Role, BlobHash, Millis, Sources)>,
    asked: BTreeSet<DecisionId>,
    applied: BTreeSet<DecisionId>,
}

impl RebuiltRun {
    /// Adds the rows that one transition writes.
    pub(in crate::proof) fn take(&mut self, run: RunKey, moved: &Transition, at: Millis) {
        for write in &moved.steps {
            self.step(run, write, at);
        }
        let entries = moved.entries.iter();
        self.entries
            .extend(entries.map(|entry| (entry.role, entry.content, at, entry.sources.clone())));
        for write in &moved.decisions {
            match write {
                DecisionWrite::Ask(inquiry) => _ = self.asked.insert(inquiry.decision_id),
                DecisionWrite::Apply(id) => _ = self.applied.insert(*id),
                DecisionWrite::Withdraw(_) => {}
            }
        }
    }

    fn step(&mut self, run_key: RunKey, write: &StepWrite, put_at: Millis) {
        match write {
            StepWrite::Put {
                operation_id,
                name,
                class,
                base,
                status,
                reason,
                call,
            } => self.steps.push(StepRow {
                operation_id: *operation_id,
                run_key,
                ordinal: i64::try_from(self.steps.len())
                    .unwrap_or(i64::MAX)
                    .saturating_add(1),
                name: storable(name),
                class: *class,
                base: *base,
                status: *status,
                reason: storable(reason),
                put_at,
                duration_ms: None,
                sandbox: None,
                exit_status: None,
                usage: Usage::default(),
                attempt: None,
                call: call.clone(),
            }),
            StepWrite::Intend(id) => self.set(*id, |step| step.status = StepStatus::Intended),
            StepWrite::Postpone(id) | StepWrite::Approve(id) => {
                self.set(*id, |step| step.status = StepStatus::Planned);
            }
            StepWrite::AwaitApproval(id) => {
                self.set(*id, |step| step.status = StepStatus::WaitingForApproval);
            }
            StepWrite::Settle {
                operation_id,
                status,
                duration_ms,
                sandbox,
                exit_status,
                reason,
                usage,
                attempt,
                end,
            } => self.set(*operation_id, |step| {
                step.status = *status;
                step.duration_ms = Some(*duration_ms);
                step.sandbox.clone_from(sandbox);
                step.exit_status = *exit_status;
                step.usage = *usage;
                step.attempt = attempt.as_deref().cloned();
                if let Some(call) = &mut step.call {
                    call.end = end.or(call.end);
                }
                if let Some(reason) = reason {
                    step.reason = storable(reason);
                }
            }),
            StepWrite::Saga(_) => {}
        }
    }

    fn set(&mut self, id: OperationId, change: impl FnOnce(&mut StepRow)) {
        let known = self.steps.iter_mut().find(|step| step.operation_id == id);
        known.map(change);
    }
}

/// The store removes NUL characters from text.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

struct RunRows {
    steps: Vec<StepRow>,
    entries: Vec<PlacedEntry>,
    decisions: Vec<DecisionRow>,
}

/// How much of a run could be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proof) enum Extent {
    /// The run was replayed.
    Whole,
    /// The contents were erased or pruned.
    Gone,
    /// The run cannot be replayed.
    Nothing,
}

/// The result of checking a run.
pub(in crate::proof) struct Checked {
    pub(in crate::proof) extent: Extent,
    pub(in crate::proof) alterations: Vec<AuditFinding>,
}

impl Checked {
    const fn new(extent: Extent, alterations: Vec<AuditFinding>) -> Self {
        Self { extent, alterations }
    }
}

/// Compares a run with its events and with the replay of its run log, in one snapshot.
pub(in crate::proof) fn check(
    view: &mut View<'_>,
    agent: &AgentId,
    run: RunKey,
    events: &RunEvents,
) -> Result<Checked, EngineError> {
    let mut found = Vec::new();
    let (Some(row), Some(marks)) = (view.run(&run)?, view.run_prune_state(&run)?) else {
        let what = "the log has a run that does not exist";
        found.push(AuditFinding::new("run.run_key", &run, what));
        return Ok(Checked::new(Extent::Nothing, found));
    };
    let message = view.message(&run)?;
    if message.is_none_or(|message| message.thread_id != row.thread_id) {
        let what = "does not match the thread of its message";
        found.push(AuditFinding::new("run.thread_id", &run, what));
    }
    found.extend(columns(&row, agent, events, marks));
    if marks.pruned > 0 {
        return Ok(Checked::new(Extent::Gone, found));
    }
    let (ran, rebuilt) = match again_with(view, &row, &events.told) {
        Ok(ran) => ran,
        Err(EngineError::RunErased { .. }) => return Ok(Checked::new(Extent::Gone, found)),
        Err(EngineError::MachineVersion { .. }) => {
            let what = "names a machine that this program does not have";
            found.push(AuditFinding::new("run.machine_version", &run, what));
            return Ok(Checked::new(Extent::Nothing, found));
        }
        Err(error) => return Err(error),
    };
    match ran.found {
        Err(difference) => found.push(AuditFinding::new(
            place(&difference),
            &run,
            difference.to_string(),
        )),
        Ok(_) => found.extend(rebuilt.compare(&row, &rows(view, &row)?, events)),
    }
    Ok(Checked::new(Extent::Whole, found))
}

/// Compares the columns of a run that its events contain.
fn columns(row: &RunRow, agent: &AgentId, events: &RunEvents, marks: RunPruneState) -> Vec<AuditFinding> {
    let ended = events
        .ended
        .filter(|(status, _)| *status != Some(RunStatus::Open));
    let (status, ended_at) = match ended {
        Some((status, at)) => (status, Some(at)),
        None => (Some(RunStatus::Open), None),
    };
    let is_whole = marks.journal_rows > 0 && marks.journal_rows == row.version;
    let is_open = row.status == RunStatus::Open && ended.is_none();
    let compared = [
        (row.agent_id == *agent, "run.agent_id"),
        (row.machine == MACHINE, "run.machine"),
        (is_as_begun(row, events), "run.machine_version"),
        (events.started_at == Some(row.started_at), "run.started_at_ms"),
        // The payload with the outcome may be erased.
        (status.is_none_or(|status| status == row.status), "run.status"),
        (ended_at == row.ended_at || is_open, "run.ended_at_ms"),
        (
            row.fault == events.fault || events.told.iter().any(|(_, payload)| payload.is_none()),
            "run.fault",
        ),
        (marks.pruned == 0 || !is_whole, "run.prune_level"),
    ];
    let wrong = compared.into_iter().filter(|(is_same, _)| !is_same);
    let what = "does not match the run's events in the log";
    wrong
        .map(|(_, column)| AuditFinding::new(column, &row.run_key, what))
        .collect()
}

/// Whether the run matches the hash recorded at its start. The other fields in that hash are also compared
/// individually.
fn is_as_begun(row: &RunRow, events: &RunEvents) -> bool {
    let Some(hash) = events.row_hash else {
        return true;
    };
    json::digest(&run_record(row)).is_ok_and(|found| found == hash)
}

fn rows(view: &mut View<'_>, run: &RunRow) -> Result<RunRows, StoreError> {
    let mut steps: Vec<StepRow> = Vec::new();
    loop {
        let after = steps.last().map_or(0, |step| step.ordinal);
        let page = view.steps(&run.run_key, after, PAGE)?;
        if page.is_empty() {
            break;
        }
        steps.extend(page);
    }
    let mut entries: Vec<PlacedEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |entry| entry.position);
        let page = view.placed_entries(run, after, PAGE)?;
        if page.is_empty() {
            break;
        }
        entries.extend(page);
    }
    Ok(RunRows {
        steps,
        entries,
        decisions: view.decisions_of_run(&run.run_key)?,
    })
}

impl RebuiltRun {
    fn compare(mut self, row: &RunRow, rows: &RunRows, events: &RunEvents) -> Vec<AuditFinding> {
        if row.status == RunStatus::Abandoned {
            // The outcomes of these steps stay unknown.
            let left = self
                .steps
                .iter_mut()
                .filter(|step| step.status == StepStatus::Intended && step.class == Some(EffectClass::Plain));
            left.for_each(|step| step.status = StepStatus::OutcomeUnknown);
        }
        let run = row.run_key;
        let mut found: Vec<AuditFinding> = Vec::new();
        if self.steps.len() != rows.steps.len() {
            let what = "the run log leads to another number of steps";
            found.push(AuditFinding::new("step.run_key", &run, what));
        }
        for (step, expected) in rows.steps.iter().zip(&self.steps) {
            let differing = differing(step, expected);
            found.extend(differing.into_iter().map(|column| {
                let what = "does not match the run log";
                AuditFinding::new(column, &step.operation_id, what)
            }));
        }
        let entries = rows.entries.iter().map(|placed| &placed.entry);
        let entries: Vec<_> = entries
            .map(|entry| (entry.role, entry.content, entry.at, entry.sources.clone()))
            .collect();
        if entries != self.entries {
            let what = "the transcript of the run does not match its run log";
            found.push(AuditFinding::new("transcript_entry", &run, what));
        }
        found.extend(self.decisions(run, &rows.decisions, events));
        found
    }

    fn decisions(&self, run: RunKey, rows: &[DecisionRow], events: &RunEvents) -> Vec<AuditFinding> {
        let mut found = Vec::new();
        let kept: BTreeSet<DecisionId> = rows.iter().map(|row| row.decision.inquiry.decision_id).collect();
        if !self.asked.iter().all(|id| kept.contains(id)) {
            let what = "the log has a decision that does not exist";
            found.push(AuditFinding::new("decision.decision_id", &run, what));
        }
        for DecisionRow { decision, is_applied } in rows {
            let id = decision.inquiry.decision_id;
            let altered =
                |column: &str| AuditFinding::new(column, &id, "does not match the decision in the log");
            if !self.asked.contains(&id) {
                found.push(altered("decision.decision_id"));
            } else if *is_applied != self.applied.contains(&id) {
                found.push(altered("decision.is_applied"));
            } else if !is_decided(decision, events) {
                found.push(altered("decision.body"));
            }
        }
        found
    }
}

/// Whether a decision matches its hash in the log. The withdrawal of a decision is recorded only by the end
/// of its run, so a withdrawn decision is compared as it was before.
fn is_decided(decision: &Decision, events: &RunEvents) -> bool {
    let Some(Some(hash)) = events.decided.get(&decision.inquiry.decision_id) else {
        return true;
    };
    let before = match decision.status {
        DecisionStatus::Withdrawn => Decision {
            status: DecisionStatus::Pending,
            version: decision.version.saturating_sub(1),
            closed_at: None,
            ..decision.clone()
        },
        DecisionStatus::Pending | DecisionStatus::Answered | DecisionStatus::Cancelled => decision.clone(),
    };
    json::digest(&before).is_ok_and(|found| found == *hash)
}

/// The columns of a step that differ from the expected ones.
fn differing(step: &StepRow, expected: &StepRow) -> Vec<&'static str> {
    let compared = [
        (step.operation_id == expected.operation_id, "step.operation_id"),
        (step.ordinal == expected.ordinal, "step.ordinal"),
        (step.name == expected.name, "step.name"),
        (step.class == expected.class, "step.class"),
        (step.base == expected.base, "step.action_base"),
        (step.status == expected.status, "step.status"),
        (step.reason == expected.reason, "step.reason"),
        (step.put_at == expected.put_at, "step.created_at_ms"),
        (step.duration_ms == expected.duration_ms, "step.duration_ms"),
        (step.sandbox == expected.sandbox, "step.sandbox"),
        (step.exit_status == expected.exit_status, "step.exit_status"),
        (
            step.usage.input_tokens == expected.usage.input_tokens,
            "step.input_tokens",
        ),
        (
            step.usage.output_tokens == expected.usage.output_tokens,
            "step.output_tokens",
        ),
        (step.attempt == expected.attempt, "step.attempt"),
        (step.call == expected.call, "step.call_id"),
    ];
    let wrong = compared.into_iter().filter(|(is_same, _)| !is_same);
    wrong.map(|(_, column)| column).collect()
}

/// The column that corresponds to a mismatch.
const fn place(difference: &ReplayMismatch) -> &'static str {
    match difference {
        ReplayMismatch::Erased(_) | ReplayMismatch::Unreadable { .. } | ReplayMismatch::Refused { .. } => {
            "run_log.input"
        }
        ReplayMismatch::Misplaced { .. } | ReplayMismatch::Length { .. } => "run_log.ordinal",
        ReplayMismatch::Hash { .. } => "run_log",
        ReplayMismatch::State | ReplayMismatch::NoState(_) => "run.state",
        ReplayMismatch::Event { .. } | ReplayMismatch::EventMissing { .. } => "run_log.input",
    }
}
