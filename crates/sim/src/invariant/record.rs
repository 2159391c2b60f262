//! Invariants about stored data: inputs, transcripts, the event chain, counters.

use std::collections::{BTreeSet, VecDeque};

use wakeful_core::conversation::{Block, Role, Usage, calls_of};
use wakeful_core::id::{AgentId, Incarnation, PolicyVersion};
use wakeful_core::key::Digest;
use wakeful_core::report::{EventKind, LogHead, SealedEvent, payload_hash};
use wakeful_core::run::{InputReads, RunInput};
use wakeful_store::rows::EventRow;

use super::{Verdict, unless};
use crate::evidence::{Evidence, Moment};

/// Every acknowledged run stays stored and ends, and no run exists without an ask.
pub(super) fn no_acknowledged_input_lost(evidence: &Evidence) -> Verdict {
    for key in &evidence.ledger.acknowledged {
        let Some(run) = evidence.runs.iter().find(|run| run.row.run_key == *key) else {
            return Err(format!("the run {key} is lost"));
        };
        let woken = run.wake.as_ref().map(|wake| wake.verdict.as_str());
        unless(run.message.is_some() && woken == Some("run"), || {
            format!("the run {key} has no message or was not woken: {woken:?}")
        })?;
        unless(evidence.moment == Moment::Midway || !run.is_open(), || {
            format!("{key} never ended")
        })?;
    }
    let at_most = usize::try_from(evidence.script.ask_count()).unwrap_or(usize::MAX);
    let (asked, runs) = (evidence.ledger.acknowledged.len(), evidence.runs.len());
    let is_right = match evidence.moment {
        Moment::Midway => runs <= at_most,
        Moment::End => runs == asked && runs == at_most,
    };
    unless(is_right, || format!("{runs} runs for {asked} of {at_most} asks"))
}

/// A run that ended has no open step, and has an end time.
pub(super) fn nothing_is_left_open(evidence: &Evidence) -> Verdict {
    for run in evidence.runs.iter().filter(|run| !run.is_quarantined()) {
        let (says_open, is_open) = (run.is_open(), run.turn.outcome().is_none());
        unless(
            says_open == is_open && says_open == run.row.ended_at.is_none(),
            || format!("{} has the status {}", run.row.run_key, run.row.status),
        )?;
        let left = run.steps.iter().find(|step| step.status.is_open());
        if let (Some(left), false) = (left, is_open) {
            return Err(format!("the run has ended, and this step has not: {left:?}"));
        }
    }
    Ok(())
}

/// Sequence numbers have no gap, each hash covers the previous one, and each payload matches its salted
/// hash.
pub(super) fn chain_is_whole(evidence: &Evidence) -> Verdict {
    let Some(agent) = evidence.agent.as_ref().map(|agent| &agent.agent_id) else {
        return unless(evidence.events.is_empty(), || {
            "events without an agent".to_owned()
        });
    };
    let head = chain(agent, &evidence.incarnation, &evidence.events)?;
    unless(
        evidence.head.as_ref().is_none_or(|stored| *stored == head),
        || format!("the head is {:?} and should be {head:?}", evidence.head),
    )
}

/// The head to which an agent's log leads, if it is a valid chain.
pub(crate) fn chain(
    agent: &AgentId,
    incarnation: &Incarnation,
    events: &[EventRow],
) -> Result<LogHead, String> {
    let mut head = LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: incarnation.clone(),
    };
    for row in events {
        let event = head.chain(agent, sealed(row)?);
        unless((event.seq, event.hash) == (row.seq, row.hash), || {
            format!(
                "event {} should be {} with the hash {}",
                row.seq, event.seq, event.hash
            )
        })?;
    }
    Ok(head)
}

/// The event before it was chained, checked against the hash of its payload.
fn sealed(row: &EventRow) -> Result<SealedEvent, String> {
    let Some((payload, salt)) = row.payload.clone() else {
        return Err(format!("event {} lost its payload", row.seq));
    };
    unless(payload_hash(&salt, &payload) == row.payload_hash, || {
        format!("the payload of event {} does not match its hash", row.seq)
    })?;
    let kind: EventKind =
        serde_json::from_value(row.kind.as_str().into()).map_err(|error| error.to_string())?;
    let version = Some(row.policy_version.as_str()).filter(|version| !version.is_empty());
    Ok(SealedEvent {
        kind,
        at: row.at,
        run_key: row.run_key,
        payload,
        salt,
        payload_hash: row.payload_hash,
        audit: None,
        policy_version: version.map(PolicyVersion::new),
    })
}

/// Each call has exactly one result, in the order of the calls, before the next message.
pub(super) fn transcript_is_whole(evidence: &Evidence) -> Verdict {
    let entries = evidence
        .entries
        .iter()
        .map(|(row, blocks)| (row.role, blocks.as_slice()));
    let open = open_calls(entries)?;
    // Results are written when the last one is available, so only the newest reply of an open run may lack
    // them.
    let may_be_open = evidence
        .runs
        .iter()
        .any(|run| run.is_open() || run.is_quarantined());
    unless(open.is_empty() || may_be_open, || {
        format!("the calls {open:?} have no result")
    })
}

/// The calls at the end of a conversation that have no result yet. Every earlier call must have one.
pub(crate) fn open_calls<'a>(
    entries: impl Iterator<Item = (Role, &'a [Block])>,
) -> Result<VecDeque<String>, String> {
    let mut open: VecDeque<String> = VecDeque::new();
    for (role, blocks) in entries {
        match (role, blocks) {
            (Role::Tool, [Block::ToolResult { call_id, .. }, images @ ..])
                if images.iter().all(|image| matches!(image, Block::Attachment(_))) =>
            {
                let expected = open.pop_front();
                unless(expected.as_ref() == Some(call_id), || {
                    format!("{call_id} has a result where {expected:?} should have one")
                })?;
            }
            (Role::Tool, other) => return Err(format!("{other:?} is not a result")),
            (Role::User | Role::Assistant, _) => {
                unless(open.is_empty(), || format!("the calls {open:?} have no result"))?;
                open = calls_of(blocks)
                    .into_iter()
                    .map(|call| call.call_id.clone())
                    .collect();
            }
        }
    }
    Ok(open)
}

/// Only durable events are shown to a person.
pub(super) fn shown_is_committed(evidence: &Evidence) -> Verdict {
    let kept: BTreeSet<Digest> = evidence.events.iter().map(|event| event.payload_hash).collect();
    let ghost = evidence.ledger.shown.iter().find(|shown| !kept.contains(shown));
    ghost.map_or(Ok(()), |ghost| {
        Err(format!("an event was shown and is not stored: {ghost}"))
    })
}

/// The usage of an agent is the sum of the replies in its run logs, each counted once.
pub(super) fn counters_add_up(evidence: &Evidence) -> Verdict {
    let (mut rounds, mut usage) = (0_u64, Usage::default());
    for row in evidence.runs.iter().flat_map(|run| &run.journal) {
        let (input, _): (RunInput, InputReads) =
            serde_json::from_slice(&row.body).map_err(|error| error.to_string())?;
        if let RunInput::Replied(reply) = input {
            (rounds, usage) = (rounds + 1, usage.plus(reply.usage));
        }
    }
    let counted = evidence
        .agent
        .as_ref()
        .map(|agent| (agent.model_rounds, agent.usage));
    unless(counted.unwrap_or_default() == (rounds, usage), || {
        format!("counted {counted:?}, and the run logs have {rounds} rounds and {usage:?}")
    })
}
/// The cost of replies and of requests with an unknown end is spent, and at the end nothing is reserved.
pub(super) fn money_adds_up(evidence: &Evidence) -> Verdict {
    let known: u64 = evidence.runs.iter().map(|run| run.turn.cost.0).sum();
    let settled: u64 = evidence.spent.iter().map(|day| day.settled.0).sum();
    let reserved: u64 = evidence.spent.iter().map(|day| day.reserved.0).sum();
    unless(settled >= known, || {
        format!("{settled} is less than the {known} that replies cost")
    })?;
    let is_over = evidence.moment == Moment::End;
    unless(!is_over || reserved == 0, || format!("{reserved} stay reserved"))
}
