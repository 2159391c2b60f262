//! What the events of a log say of rows: collected on the way, and checked when all of it was seen.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, Digest, RunKey};
use wakeful_core::proof::record::{RECORD_HASH, without_record_hash};
use wakeful_core::report::Kind;
use wakeful_core::time::Millis;
use wakeful_ports::records::{EventRow, RUN_ABANDONED};
use wakeful_ports::store::{Store, StoreError, View};

use super::run::{Noted, check};
use super::{Alteration, Audit};
use crate::EngineError;

/// Runs of one agent whose events are held at once. One run is under way at a time; the others wait.
const RUNS_AT_ONCE_MAX: usize = 10_000;

/// Something to compare with rows.
#[derive(Debug)]
pub(in crate::proof) enum Task {
    /// A message was admitted, with this hash.
    Message(RunKey, Option<Digest>),
    /// A message became a run, or did not.
    Wake(Woken),
    /// A run has ended, or the log has.
    Run(RunKey, Box<Noted>),
}

/// What a log says of a wake record.
#[derive(Debug)]
pub(in crate::proof) struct Woken {
    run: RunKey,
    verdict: String,
    absorbed_by: Option<RunKey>,
    /// How many other messages the run took up when it began.
    absorbs: usize,
    at: Millis,
}

/// What a walk has seen of runs that have not ended.
#[derive(Debug, Default)]
pub(in crate::proof) struct LogWatch {
    runs: BTreeMap<RunKey, Noted>,
}

impl LogWatch {
    /// Takes an event, and says what can be compared now.
    pub(in crate::proof) fn take(&mut self, event: &EventRow) -> Vec<Task> {
        let Some(run) = event.run_key else {
            return Vec::new();
        };
        let payload = event.payload.as_ref().map(|(payload, _)| payload.as_slice());
        let value: Option<Value> = payload.and_then(|payload| serde_json::from_slice(payload).ok());
        let mut tasks = Vec::new();
        let has_room = self.runs.len() < RUNS_AT_ONCE_MAX || self.runs.contains_key(&run);
        if has_room {
            self.runs.entry(run).or_default().note(event);
        }
        let kind = Kind::parse(&event.kind);
        if let (Some(kind), Some(value)) = (kind, &value) {
            tasks.extend(task(kind, run, value, event.at));
        }
        let is_end = match (kind, &value) {
            (Some(Kind::RunEnded), _) => true,
            (Some(Kind::RunReleased), Some(value)) => value["status"] == RUN_ABANDONED,
            _ => false,
        };
        if is_end && let Some(noted) = self.runs.remove(&run) {
            tasks.push(Task::Run(run, Box::new(noted)));
        }
        tasks
    }

    /// What is left at the end of the log: runs that have not ended.
    pub(in crate::proof) fn rest(self) -> Vec<Task> {
        let runs = self.runs.into_iter();
        runs.map(|(run, noted)| Task::Run(run, Box::new(noted))).collect()
    }
}

fn task(kind: Kind, run: RunKey, value: &Value, at: Millis) -> Option<Task> {
    if kind == Kind::MessageAdmitted {
        return Some(Task::Message(run, digest(value, RECORD_HASH)));
    }
    if kind != Kind::WakeDecided {
        return None;
    }
    let absorbs = value.get("absorbed").and_then(Value::as_u64);
    Some(Task::Wake(Woken {
        run: digest(value, "run_key").map_or(run, RunKey),
        verdict: value.get("verdict")?.as_str()?.to_owned(),
        absorbed_by: digest(value, "absorbed_by").map(RunKey),
        absorbs: absorbs.and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
        at,
    }))
}

pub(super) fn digest(value: &Value, name: &str) -> Option<Digest> {
    Digest::from_hex(value.get(name)?.as_str()?)
}

impl Noted {
    /// Takes an event of the run.
    pub(in crate::proof) fn note(&mut self, event: &EventRow) {
        let payload = event.payload.as_ref().map(|(payload, _)| payload);
        let value: Option<Value> = payload.and_then(|payload| serde_json::from_slice(payload).ok());
        let value = value.as_ref();
        let plain = payload.map(|payload| match without_record_hash(payload) {
            Some((plain, _)) => Digest::of(&plain),
            None => Digest::of(payload),
        });
        self.told.push((event.kind.clone(), plain));
        match Kind::parse(&event.kind) {
            Some(Kind::RunStarted) => self.started_at = Some(event.at),
            Some(Kind::RunEnded) => {
                let outcome = value.and_then(|value| value["outcome"].as_str());
                self.ended = Some((outcome.map(str::to_owned), event.at));
            }
            Some(Kind::RunReleased) => {
                let status = value.and_then(|value| value["status"].as_str());
                self.ended = Some((status.map(str::to_owned), event.at));
            }
            Some(Kind::RunQuarantined) => {
                let fault = value.map(|value| json!({"code": value["code"], "why": value["why"]}));
                self.fault = fault.map(|fault| fault.to_string());
                self.ended = Some((Some("quarantined".to_owned()), event.at));
            }
            Some(Kind::DecisionAsked | Kind::DecisionEscalated | Kind::DecisionAnswered) => {
                let id = value.and_then(|value| digest(value, "decision_id"));
                let hash = value.and_then(|value| digest(value, RECORD_HASH));
                if let Some(id) = id {
                    self.decided.insert(DecisionId(id), hash);
                }
            }
            _ => {}
        }
    }
}

impl Audit {
    /// Compares what a log says with the rows that are kept.
    pub(in crate::proof) async fn perform<S: Store>(
        &mut self,
        store: &S,
        agent: &AgentId,
        task: Task,
    ) -> Result<(), EngineError> {
        match task {
            Task::Message(run, hash) => {
                self.compared.messages += 1;
                let name = agent.clone();
                let found = store.read(move |view| message(view, &name, run, hash)).await;
                self.take(&run, found.map_err(EngineError::from))
            }
            Task::Wake(woken) => {
                let (run, name) = (woken.run, agent.clone());
                let found = store.read(move |view| wake(view, &name, &woken)).await;
                self.take(&run, found.map_err(EngineError::from))
            }
            // The log may have begun in the middle of it.
            Task::Run(_, noted) if noted.started_at.is_none() => Ok(()),
            Task::Run(run, noted) => {
                let found = check(store, (agent, run), &noted, &mut self.compared).await;
                self.take(&run, found)
            }
        }
    }
}

/// A message against the event that admitted it.
fn message(
    view: &mut dyn View,
    agent: &AgentId,
    run: RunKey,
    hash: Option<Digest>,
) -> Result<Vec<Alteration>, StoreError> {
    let altered = |column: &str, what: &str| Ok(vec![Alteration::new(column, &run, what)]);
    let Some(message) = view.message(&run)? else {
        return altered("message.run_key", "the log tells of a message that is not there");
    };
    if message.agent_id != *agent {
        return altered(
            "message.agent_id",
            "the message stands in the log of another agent",
        );
    }
    // An earlier program did not bind messages.
    let Some(hash) = hash else { return Ok(Vec::new()) };
    let found = wakeful_core::json::digest(&message).map_err(|_| StoreError::Malformed("message.body"))?;
    if found == hash {
        return Ok(Vec::new());
    }
    altered("message", "it is not the message that the log tells of")
}

/// A wake record against the event that tells of it. A later verdict takes the place of an earlier refusal.
fn wake(view: &mut dyn View, agent: &AgentId, woken: &Woken) -> Result<Vec<Alteration>, StoreError> {
    let altered = |column: &str, what: &str| Ok(vec![Alteration::new(column, &woken.run, what)]);
    let Some(row) = view.wake(&woken.run)? else {
        return altered("wake.run_key", "the log tells of a wake record that is not there");
    };
    let is_final = |verdict: &str| ["run", "absorbed"].contains(&verdict);
    if is_final(&row.verdict) && !is_final(&woken.verdict) {
        return Ok(Vec::new());
    }
    if row.agent_id != *agent {
        return altered("wake.agent_id", "it stands in the log of another agent");
    }
    if row.verdict != woken.verdict {
        return altered("wake.verdict", "it is not the verdict that the log tells of");
    }
    if row.at != woken.at {
        return altered("wake.at_ms", "it is not the time that the log tells of");
    }
    if row.absorbed_by != woken.absorbed_by {
        return altered("wake.absorbed_by", "it is not the run that the log tells of");
    }
    let absorbed = view.absorbed_by(&woken.run)?;
    if woken.verdict == "run" && absorbed.len() < woken.absorbs {
        return altered(
            "wake.absorbed_by",
            "the log tells of more messages that this run took up",
        );
    }
    match view.message(&woken.run)? {
        Some(message) if message.cause != row.cause => {
            altered("wake.cause", "it is not the cause of its message")
        }
        _ => Ok(Vec::new()),
    }
}
