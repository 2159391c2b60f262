//! Compares rows with the events about them: events are collected while the log is read, and checked once
//! they are complete.

use std::collections::BTreeMap;

use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::Message;
use wakeful_core::proof::row_binding::without_row_hash;
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::{
    DecisionAnswered, DecisionAsked, DecisionEscalated, EventBody, Payload, WakeDecided,
};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;
use wakeful_store::rows::EventRow;
use wakeful_store::{Store, StoreError, View};

use super::run::{RunEvents, check};
use super::{AuditFinding, AuditReport, entries};
use crate::EngineError;

/// Events whose rows are compared in one snapshot.
const EVENTS_PER_SNAPSHOT: u32 = 500;

/// Unfinished runs that are compared in one snapshot.
const RUNS_PER_SNAPSHOT: usize = 50;

/// Maximum number of started, unfinished runs of one agent whose events are held in memory. One runs at a
/// time, the others wait for approvals or timers. Runs beyond this number are not compared.
const RUNS_AT_ONCE_MAX: usize = 10_000;

/// A comparison of rows with events.
#[derive(Debug)]
enum RowCheck {
    /// A message was admitted with this hash.
    Message(RunKey, Option<Digest>),
    /// A wake was decided.
    Wake(WakeDecided, Millis),
    /// A run has ended, or the end of the log is reached.
    Run(RunKey, Box<RunEvents>),
}

/// The progress of comparing rows with one log across snapshots.
struct LogComparison {
    agent: AgentId,
    /// The last event that was read.
    after: u64,
    /// The last event of the log when the comparison started.
    end: u64,
    /// The collected events of runs that have not ended.
    runs: BTreeMap<RunKey, RunEvents>,
    /// The runs that had not ended at the end of the log and are still to be compared.
    open: Option<Vec<RunKey>>,
    audit: AuditReport,
}

impl LogComparison {
    /// Continues in one snapshot. Returns whether anything is left to compare.
    fn advance(&mut self, view: &mut View<'_>) -> Result<bool, EngineError> {
        loop {
            let events = view.events(&self.agent, self.after, EVENTS_PER_SNAPSHOT)?;
            let is_end = events.len() < EVENTS_PER_SNAPSHOT as usize;
            let end = events
                .last()
                .filter(|_| !is_end)
                .map_or(u64::MAX, |event| event.seq);
            let range = entries::Range {
                after: self.after,
                end,
            };
            let entries = entries::compare(view, &self.agent, range, &events);
            self.audit.take(&self.agent, entries.map_err(EngineError::from))?;
            self.after = events.last().map_or(self.after, |event| event.seq);
            for event in &events {
                for task in self.take(event) {
                    self.audit.perform(view, &self.agent, task)?;
                }
            }
            if is_end {
                break;
            }
            // Events added since the start are read in one snapshot, because a busy writer could add them
            // faster than they are read.
            if self.after < self.end {
                return Ok(true);
            }
        }
        let known = || self.runs.keys().copied().collect();
        let mut open: Vec<RunKey> = self.open.take().unwrap_or_else(known);
        let now = open.split_off(open.len().saturating_sub(RUNS_PER_SNAPSHOT));
        for run in now {
            if let Some(events) = self.runs.remove(&run) {
                let task = RowCheck::Run(run, Box::new(events));
                self.audit.perform(view, &self.agent, task)?;
            }
        }
        let is_left = !open.is_empty();
        self.open = Some(open);
        Ok(is_left)
    }

    /// Adds an event and returns the checks that are now possible.
    fn take(&mut self, event: &EventRow) -> Vec<RowCheck> {
        let Some(run) = event.run_key else {
            return Vec::new();
        };
        let body = event.body();
        let kind = EventKind::parse(&event.kind);
        if kind == Some(EventKind::RunStarted) && self.runs.len() < RUNS_AT_ONCE_MAX {
            self.runs.entry(run).or_default();
        }
        if let Some(events) = self.runs.get_mut(&run) {
            events.note(event);
        }
        let is_end = match (kind, body.as_ref().map(|body| &body.payload)) {
            (Some(EventKind::RunEnded), _) => true,
            (_, Some(Payload::QuarantineResolved(released))) => released.status == RunStatus::Abandoned,
            _ => false,
        };
        let mut tasks: Vec<RowCheck> = body
            .and_then(|body| task(run, body, event.at))
            .into_iter()
            .collect();
        if is_end && let Some(events) = self.runs.remove(&run) {
            tasks.push(RowCheck::Run(run, Box::new(events)));
        }
        tasks
    }
}

fn task(run: RunKey, body: EventBody, at: Millis) -> Option<RowCheck> {
    if let Payload::MessageAdmitted(_) = body.payload {
        Some(RowCheck::Message(run, body.row_hash))
    } else if let Payload::WakeDecided(decided) = body.payload {
        Some(RowCheck::Wake(decided, at))
    } else {
        None
    }
}

impl RunEvents {
    /// Adds an event of the run.
    pub(in crate::proof) fn note(&mut self, event: &EventRow) {
        let payload = event.payload.as_ref().map(|(payload, _)| payload);
        let plain = payload.map(|payload| match without_row_hash(payload) {
            Some((plain, _)) => Digest::of(&plain),
            None => Digest::of(payload),
        });
        self.told.push((event.kind.clone(), plain));
        let body = event.body();
        match EventKind::parse(&event.kind) {
            Some(EventKind::RunStarted) => {
                self.started_at = Some(event.at);
                self.row_hash = body.as_ref().and_then(|body| body.row_hash);
            }
            // The payload below contains the outcome, unless it was erased.
            Some(EventKind::RunEnded | EventKind::QuarantineResolved) => self.ended = Some((None, event.at)),
            Some(EventKind::RunQuarantined) => self.ended = Some((Some(RunStatus::Quarantined), event.at)),
            _ => {}
        }
        match body.map(|body| (body.payload, body.row_hash)) {
            Some((Payload::RunEnded(ended), _)) => self.ended = Some((Some(ended.outcome), event.at)),
            Some((Payload::QuarantineResolved(released), _)) => {
                self.ended = Some((Some(released.status), event.at))
            }
            Some((Payload::RunQuarantined(quarantined), _)) => self.fault = Some(quarantined.fault.to_json()),
            Some((
                Payload::DecisionAsked(DecisionAsked { decision_id, .. })
                | Payload::DecisionEscalated(DecisionEscalated { decision_id, .. })
                | Payload::DecisionAnswered(DecisionAnswered { decision_id, .. }),
                row_hash,
            )) => {
                self.decided.insert(decision_id, row_hash);
            }
            _ => {}
        }
    }
}

impl AuditReport {
    /// Compares the log after an event with the stored rows.
    pub(in crate::proof) async fn log(
        &mut self,
        store: &Store,
        agent: &AgentId,
        after: u64,
    ) -> Result<(), EngineError> {
        let name = agent.clone();
        let end = store.read(move |view| view.log_end(&name)).await?;
        let mut comparison = LogComparison {
            agent: agent.clone(),
            after,
            end: end.map_or(0, |end| end.seq),
            runs: BTreeMap::new(),
            open: None,
            audit: std::mem::take(self),
        };
        let mut is_left = true;
        while is_left {
            let part = store.read(move |view| {
                let advanced = comparison.advance(view);
                Ok((comparison, advanced))
            });
            let (back, advanced) = part.await?;
            comparison = back;
            is_left = advanced?;
        }
        *self = comparison.audit;
        Ok(())
    }

    /// Performs one check.
    fn perform(&mut self, view: &mut View<'_>, agent: &AgentId, task: RowCheck) -> Result<(), EngineError> {
        match task {
            RowCheck::Message(run, hash) => {
                self.compared.messages += 1;
                let found = message(view, agent, run, hash);
                self.take(&run, found.map_err(EngineError::from))
            }
            RowCheck::Wake(decided, at) => {
                let found = wake(view, agent, &decided, at);
                self.take(&decided.run_key, found.map_err(EngineError::from))
            }
            RowCheck::Run(run, events) => {
                let checked = check(view, agent, run, &events);
                let found = checked.map(|checked| {
                    self.compared.count(checked.extent);
                    checked.alterations
                });
                self.take(&run, found)
            }
        }
    }
}

/// Compares a message with the event that admitted it.
fn message(
    view: &mut View<'_>,
    agent: &AgentId,
    run: RunKey,
    hash: Option<Digest>,
) -> Result<Vec<AuditFinding>, StoreError> {
    let altered = |column: &str, what: &str| Ok(vec![AuditFinding::new(column, &run, what)]);
    let Some(message) = view.message(&run)? else {
        return altered("message.run_key", "the log has a message that does not exist");
    };
    if message.agent_id != *agent {
        return altered("message.agent_id", "the message is in the log of another agent");
    }
    if let Some(column) = waiting_wake(view, &message)? {
        return altered(column, "does not match the wake record of a queued message");
    }
    // The event's payload may be erased.
    let Some(hash) = hash else { return Ok(Vec::new()) };
    let found =
        wakeful_core::json::digest(&message).map_err(|_| StoreError::Malformed("message.body_hash"))?;
    if found == hash {
        return Ok(Vec::new());
    }
    altered("message", "does not match the message in the log")
}

/// The column in which the wake record of a queued message differs from its source. The record has no event
/// of its own.
fn waiting_wake(view: &mut View<'_>, message: &Message) -> Result<Option<&'static str>, StoreError> {
    let Some(row) = view.wake(&message.run_key)? else {
        return Ok(None);
    };
    let source = view.wake_source(&message.run_key)?;
    let is_waiting = row.verdict == WakeOutcome::Queued;
    let compared = [
        (source == Some(row.cause.origin.source()), "wake.source"),
        (row.agent_id == message.agent_id, "wake.agent_id"),
        (!is_waiting || row.at == message.admitted_at, "wake.at_ms"),
        (!is_waiting || row.cause == message.cause, "wake.cause"),
        (!is_waiting || row.absorbed_by.is_none(), "wake.absorbed_by"),
        (!is_waiting || view.is_queued(&message.run_key)?, "wake.verdict"),
    ];
    let wrong = compared.into_iter().find(|(is_same, _)| !is_same);
    Ok(wrong.map(|(_, column)| column))
}

/// Compares a wake record with its event. A later verdict replaces an earlier refusal.
fn wake(
    view: &mut View<'_>,
    agent: &AgentId,
    woken: &WakeDecided,
    at: Millis,
) -> Result<Vec<AuditFinding>, StoreError> {
    let altered = |column: &str, what: &str| Ok(vec![AuditFinding::new(column, &woken.run_key, what)]);
    let Some(row) = view.wake(&woken.run_key)? else {
        return altered("wake.run_key", "the log has a wake record that does not exist");
    };
    let is_final = |verdict| matches!(verdict, WakeOutcome::Run | WakeOutcome::Absorbed);
    if is_final(row.verdict) && !is_final(woken.verdict) {
        return Ok(Vec::new());
    }
    if row.agent_id != *agent {
        return altered("wake.agent_id", "it is in the log of another agent");
    }
    if row.verdict != woken.verdict {
        return altered("wake.verdict", "does not match the verdict in the log");
    }
    if row.at != at {
        return altered("wake.at_ms", "does not match the time in the log");
    }
    if row.absorbed_by != woken.absorbed_by {
        return altered("wake.absorbed_by", "does not match the run in the log");
    }
    let absorbed = view.absorbed_by(&woken.run_key)?;
    if woken.verdict == WakeOutcome::Run && absorbed.len() < woken.absorbed.unwrap_or(0) {
        return altered(
            "wake.absorbed_by",
            "the log has more messages that this run absorbed",
        );
    }
    match view.message(&woken.run_key)? {
        Some(message) if message.cause != row.cause => {
            altered("wake.cause", "does not match the cause of its message")
        }
        _ => Ok(Vec::new()),
    }
}
