//! The end of sub-runs: which parent is notified, and which runs end with them.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::conversation::{Block, text_of};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::{Message, ParentRun};
use wakeful_core::provenance::{SourceKind, Sources};
use wakeful_core::report::payload::WakeDecided;
use wakeful_core::report::{Event, EventDraft, LogHead, SealedEvent};
use wakeful_core::run::{RunMachine, RunOutcome, RunPhase, RunStatus};
use wakeful_core::step::ChildRun;
use wakeful_core::sub_run::SubRunResult;
use wakeful_core::wake::{Gate, WakeOutcome};
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, Tx, View};

use super::SubRunMessage;
use crate::Stamp;
use crate::absorb::known_gates;
use crate::admission::wake_row;
use crate::api::append;
use crate::run::decode;

/// The other agents whose heads a transition must lock.
pub(crate) fn agents_to_lock(
    tx: &mut Tx<'_>,
    run: &RunRow,
    starts: &[SubRunMessage],
) -> Result<BTreeSet<AgentId>, StoreError> {
    let mut agents: BTreeSet<AgentId> = starts
        .iter()
        .map(|start| start.message.agent_id.clone())
        .collect();
    if run.status != RunStatus::Open {
        agents.extend(parent_of(tx, &run.run_key)?.map(|parent| parent.agent_id));
    }
    if run.status == RunStatus::Cancelled {
        agents.extend(tx.children(&run.run_key)?.into_iter().map(|child| child.agent_id));
    }
    Ok(agents)
}

/// The run that waits for this one.
pub(crate) fn parent_of(view: &mut View<'_>, run: &RunKey) -> Result<Option<ParentRun>, StoreError> {
    Ok(view.message(run)?.and_then(|message| message.parent))
}

/// Handles the end of a run: its parent becomes due, and if a person ended it, its unfinished sub-runs end
/// too. Requires the heads of all of them.
pub(crate) fn ended(
    tx: &mut Tx<'_>,
    run: &RunRow,
    heads: &mut BTreeMap<AgentId, LogHead>,
    stamp: Stamp,
) -> Result<(), StoreError> {
    if let Some(parent) = parent_of(tx, &run.run_key)? {
        tx.make_run_due(&parent.run_key)?;
    }
    if run.status == RunStatus::Cancelled {
        end_children(tx, &run.run_key, heads, stamp)?;
    }
    Ok(())
}

/// Ends the unfinished sub-runs of a run that a person ended: a queued message is withdrawn at once; a
/// started run is asked to end, and ends its own sub-runs. One reply starts a bounded number of sub-runs,
/// and all of them have ended before the next request. Requires the locked heads; returns the agents.
pub(crate) fn end_children(
    tx: &mut Tx<'_>,
    run: &RunKey,
    heads: &mut BTreeMap<AgentId, LogHead>,
    stamp: Stamp,
) -> Result<Vec<AgentId>, StoreError> {
    let mut whose = Vec::new();
    for child in tx.children(run)? {
        if has_ended(tx, &child.run_key)? {
            continue;
        }
        let message = tx.message(&child.run_key)?;
        let waits = tx.is_queued(&child.run_key)?;
        match (message, heads.get_mut(&child.agent_id)) {
            (Some(message), Some(head)) if waits => {
                // The salts are derived from one salt and the run keys.
                let salt = Digest::of(&[stamp.salt, *child.run_key.0.as_bytes()].concat());
                let salt = *salt.as_bytes();
                let sealed = called_off(child.run_key, Stamp { salt, ..stamp })?;
                let gate = Gate::new("parent", false).with(format!("its parent run {run} was ended"));
                let withdrawal = Withdrawal {
                    message: &message,
                    sealed: &sealed,
                    gates: &[gate],
                };
                withdrawal.write(tx, head)?;
            }
            (_, _) => tx.request_cancel(&child.run_key, stamp.at)?,
        }
        whose.push(child.agent_id);
    }
    Ok(whose)
}

/// A message that is permanently removed from the queue.
pub(crate) struct Withdrawal<'a> {
    pub(crate) message: &'a Message,
    /// The event that records the removal.
    pub(crate) sealed: &'a SealedEvent,
    /// Every gate that was evaluated.
    pub(crate) gates: &'a [Gate],
}

impl Withdrawal<'_> {
    /// Removes the message from the queue. Requires the agent's locked head.
    pub(crate) fn write(&self, tx: &mut Tx<'_>, head: &mut LogHead) -> Result<Event, StoreError> {
        let Self {
            message,
            sealed,
            gates,
        } = self;
        tx.dequeue(&message.agent_id, &message.run_key)?;
        let event = append(tx, &message.agent_id, head, sealed)?;
        let gates = known_gates(tx, message, gates)?;
        tx.put_wake(&wake_row(message, WakeOutcome::Cancelled, &gates, sealed.at))?;
        Ok(event)
    }
}

/// The event of a withdrawn message.
fn called_off(run: RunKey, stamp: Stamp) -> Result<SealedEvent, StoreError> {
    let decided = WakeDecided::new(run, WakeOutcome::Cancelled);
    let sealed = stamp.seal(EventDraft::new(decided), Some(run));
    sealed.map_err(|_| StoreError::Malformed("an event"))
}

/// Whether a sub-run has ended or will never start.
pub(crate) fn has_ended(view: &mut View<'_>, run: &RunKey) -> Result<bool, StoreError> {
    match view.run(run)? {
        Some(row) => Ok(row.status.is_ended()),
        None => Ok(!view.is_queued(run)?),
    }
}

/// Whether none of these runs has ended.
pub(crate) fn all_under_way(view: &mut View<'_>, runs: &[RunKey]) -> Result<bool, StoreError> {
    for run in runs {
        if has_ended(view, run)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How a sub-run ended.
pub(super) struct EndedSubRun {
    pub(super) result: SubRunResult,
    pub(super) duration_ms: u64,
    /// The untrusted sources of its result.
    pub(super) sources: Sources,
}

/// How a sub-run ended; none while it is unfinished.
pub(super) fn ending(view: &mut View<'_>, child: &ChildRun) -> Result<Option<EndedSubRun>, StoreError> {
    if !has_ended(view, &child.run_key)? {
        return Ok(None);
    }
    let (run_key, agent_id) = (child.run_key, child.agent_id.clone());
    let Some(row) = view.run(&run_key)? else {
        let verdict = view.wake(&run_key)?.map(|wake| wake.verdict);
        let outcome = verdict.map_or(RunStatus::Gone, RunStatus::of_message);
        let result = SubRunResult {
            agent_id,
            run_key,
            outcome,
            failure: None,
            text: String::new(),
        };
        return Ok(Some(EndedSubRun {
            result,
            duration_ms: 0,
            sources: Sources::none(),
        }));
    };
    // An unreadable state belongs to an abandoned run: it has no final reply.
    let turn = decode(&row);
    let is_untrusted = turn.as_ref().map_or(true, RunMachine::is_untrusted);
    let (failure, reply) = match turn.map(|turn| turn.phase) {
        Ok(RunPhase::Ended { outcome, reply }) => (failure_kind(&outcome), reply),
        Ok(RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Acting { .. }) | Err(_) => {
            (None, None)
        }
    };
    let body = reply.map(|hash| view.blob(&hash)).transpose()?.flatten();
    let blocks = body.and_then(|body| serde_json::from_slice::<Vec<Block>>(&body).ok());
    let since = view
        .message(&run_key)?
        .map_or(row.started_at, |message| message.admitted_at);
    let duration_ms = row.ended_at.map_or(0, |ended| ended.since(since));
    let result = SubRunResult {
        agent_id,
        run_key,
        outcome: row.status,
        failure,
        text: blocks.map(|blocks| text_of(&blocks)).unwrap_or_default(),
    };
    Ok(Some(EndedSubRun {
        result,
        duration_ms,
        sources: match is_untrusted {
            true => Sources::of(SourceKind::Run, &run_key.to_string()),
            false => Sources::none(),
        },
    }))
}

fn failure_kind(outcome: &RunOutcome) -> Option<String> {
    match outcome {
        RunOutcome::Failed(artifact) => Some(artifact.kind.clone()),
        RunOutcome::Completed | RunOutcome::OutOfRounds | RunOutcome::Cancelled => None,
    }
}
