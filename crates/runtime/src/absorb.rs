//! Finds an agent's next work and absorbs bursts: one run handles several queued messages, and each keeps
//! its own record.

use wakeful_core::blob::Blob;
use wakeful_core::cause::ABSORBED_MAX;
use wakeful_core::conversation::{Block, Role, TranscriptEntry};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::notice::combine_descriptions;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Gate, WakeOutcome};
use wakeful_ports::planted_bugs;
use wakeful_store::rows::{Agent, AgentOverview, QueueRow, WakeRow};
use wakeful_store::{StoreError, Tx, View, WorkQuery};

use crate::EngineError;
use crate::admission::wake_row;
use crate::run::blocks;
use crate::wake::opening;

/// A queued message and its body.
pub(crate) type PendingMessage = (Message, Option<Vec<u8>>);

/// The first transcript entry of a run and the messages it covers.
#[derive(Debug)]
pub(crate) struct FirstEntry {
    pub(crate) entry: TranscriptEntry,
    /// The blob of the entry, if it differs from the body of the run's own message.
    pub(crate) body: Option<Blob>,
    /// The messages that the run absorbs in addition to its own.
    pub(crate) absorbs: Vec<Message>,
}

impl FirstEntry {
    /// An entry that absorbs no other messages.
    pub(crate) const fn plain(entry: TranscriptEntry) -> Self {
        Self {
            entry,
            body: None,
            absorbs: Vec::new(),
        }
    }

    /// An entry that absorbs further messages in queue order, as many as fit.
    pub(crate) fn of(
        message: &Message,
        body: Option<&[u8]>,
        others: Vec<PendingMessage>,
    ) -> Result<Self, EngineError> {
        let own = blocks(message.run_key, body)?;
        let mut texts = Vec::with_capacity(others.len());
        for (other, body) in &others {
            texts.push(text(&blocks(other.run_key, body.as_deref())?));
        }
        let (words, told) = combine_descriptions(&text(&own), texts.iter().map(String::as_str));
        if told == 0 {
            let role = Role::User;
            return Ok(Self::plain(TranscriptEntry { role, blocks: own }));
        }
        let (entry, body) = opening(&words, Vec::new());
        let others = others.into_iter().map(|(message, _)| message);
        Ok(Self {
            entry,
            body: Some(body),
            absorbs: others.take(told).collect(),
        })
    }
}

fn text(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse(_)
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_)
        | Block::ToolResult { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The next work of an agent.
pub(crate) enum AgentWork {
    /// The agent does not exist.
    Unknown,
    /// Continue an open run.
    Run(RunKey),
    /// Start the run of a message.
    Message(Box<NextMessage>),
    /// Nothing may start.
    Nothing,
}

pub(crate) struct NextMessage {
    pub(crate) agent: Agent,
    pub(crate) message: Message,
    pub(crate) body: Option<Vec<u8>>,
    /// Further messages that the run may absorb.
    pub(crate) beside: Vec<PendingMessage>,
}

pub(crate) fn find(view: &mut View<'_>, agent: &AgentId, query: WorkQuery) -> Result<AgentWork, StoreError> {
    if let Some(run) = view.due_run(agent, query)? {
        return Ok(AgentWork::Run(run));
    }
    let Some(overview) = view.overview(agent)? else {
        return Ok(AgentWork::Unknown);
    };
    let mut next = view.next_message(&overview, query.now)?;
    if planted_bugs::is_planted("newest_first") && next.is_some() {
        next = view.queue(agent, 100)?.pop();
    }
    let Some(QueueRow { message, .. }) = next else {
        return Ok(AgentWork::Nothing);
    };
    Ok(AgentWork::Message(Box::new(NextMessage {
        body: view.blob(&message.body)?,
        beside: absorbable(view, &overview, &message, query.now)?,
        agent: overview.agent,
        message,
    })))
}

/// Finds the work for one run: continue it, start it from its message, or nothing if it has ended.
pub(crate) fn find_target(view: &mut View<'_>, run: RunKey) -> Result<AgentWork, StoreError> {
    if let Some(row) = view.run(&run)? {
        let is_open = row.status == RunStatus::Open;
        return Ok(if is_open {
            AgentWork::Run(run)
        } else {
            AgentWork::Nothing
        });
    }
    let Some(QueueRow { message, .. }) = view.queue_row(&run)? else {
        return Ok(AgentWork::Nothing);
    };
    let Some(agent) = view.agent(&message.agent_id)? else {
        return Ok(AgentWork::Unknown);
    };
    Ok(AgentWork::Message(Box::new(NextMessage {
        agent,
        body: view.blob(&message.body)?,
        message,
        beside: Vec::new(),
    })))
}

/// Returns the queued messages that may start now and can be absorbed together with a message.
fn absorbable(
    view: &mut View<'_>,
    agent: &AgentOverview,
    own: &Message,
    now: Millis,
) -> Result<Vec<PendingMessage>, StoreError> {
    if !own.is_absorbed() {
        return Ok(Vec::new());
    }
    // One more, because the run's own message may be among them.
    let most = u32::try_from(ABSORBED_MAX + 1).unwrap_or(u32::MAX);
    let rows = view.absorbable_messages(agent, now, most)?;
    let others = rows.into_iter().map(|row| row.message);
    let others = others.filter(|other| other.run_key != own.run_key);
    let others: Vec<Message> = others.take(ABSORBED_MAX).collect();
    let waiting = others.into_iter().map(|message| {
        let body = view.blob(&message.body)?;
        Ok((message, body))
    });
    waiting.collect()
}

/// Whether all of these messages are still queued. If one is not, the run's prepared first entry is out of
/// date.
pub(crate) fn all_wait(tx: &mut Tx<'_>, absorbs: &[Message]) -> Result<bool, StoreError> {
    for message in absorbs {
        if !tx.is_queued(&message.run_key)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes these messages from the queue and records that this run absorbed them.
pub(crate) fn absorb(tx: &mut Tx<'_>, absorbs: &[Message], by: RunKey, at: Millis) -> Result<(), StoreError> {
    for message in absorbs {
        tx.dequeue(&message.agent_id, &message.run_key)?;
        let gates = known_gates(tx, message, &[])?;
        tx.put_wake(&WakeRow {
            absorbed_by: Some(by),
            ..wake_row(message, WakeOutcome::Absorbed, &gates, at)
        })?;
    }
    Ok(())
}

/// The gates already recorded for a message, followed by these. A gate that was evaluated again replaces
/// its earlier result.
pub(crate) fn known_gates(
    tx: &mut Tx<'_>,
    message: &Message,
    gates: &[Gate],
) -> Result<Vec<Gate>, StoreError> {
    let known = tx.wake(&message.run_key)?;
    let known: Vec<Gate> = known
        .and_then(|wake| serde_json::from_str(&wake.gates).ok())
        .unwrap_or_default();
    let is_old = |one: &Gate| gates.iter().all(|gate| gate.gate != one.gate);
    Ok(known
        .into_iter()
        .filter(is_old)
        .chain(gates.iter().cloned())
        .collect())
}
