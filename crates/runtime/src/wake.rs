//! The wake: the record of every gate, the run and its first state are committed in one transaction.

use std::sync::Arc;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Attachment, Block, Role, TranscriptEntry};
use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Authority, Message};
use wakeful_core::proof::row_binding::attach;
use wakeful_core::provenance::Sources;
use wakeful_core::report::payload::{MessageAdmitted, WakeDecided};
use wakeful_core::report::{Event, EventDraft};
use wakeful_core::run::{Effect, InputReads, RunInput, RunMachine};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Gate, MessageFacts, Refusal, WakeOutcome, WakeVerdict, decide};
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{Agent, Claim, Fence, RunFilter, RunState};
use wakeful_store::{StoreError, Tx};

use crate::absorb::{AgentWork, FirstEntry, absorb, all_wait, find_target, known_gates};
use crate::admission::wake_row;
use crate::run::{Applied, ClaimedRun, PreparedCommit, broken};
use crate::sub_run::restricted;
use crate::{Engine, EngineError, Observer};

/// The resolved options of a run.
#[derive(Debug, Clone)]
pub struct ResolvedOptions {
    pub model_ref: String,
    /// Models that are used in this order if the first one fails permanently.
    pub fallbacks: Vec<String>,
    pub max_rounds: u32,
    /// The folder in which tools work.
    pub workspace: String,
    /// Tools that the message denies. The agent's record may deny more, see [`AgentSettings::rules`].
    pub deny_tools: std::collections::BTreeSet<String>,
    /// Tools for which the message requires a person's approval.
    pub ask_tools: std::collections::BTreeSet<String>,
}

impl ResolvedOptions {
    /// The options with which a run was started.
    pub(crate) fn of(turn: &RunMachine) -> Self {
        Self {
            model_ref: turn.model_ref.clone(),
            fallbacks: turn.fallbacks.clone(),
            max_rounds: turn.max_rounds,
            workspace: turn.workspace.clone(),
            deny_tools: turn.deny_tools.clone(),
            ask_tools: turn.ask_tools.clone(),
        }
    }
}

/// The result of starting the run of a message.
#[derive(Debug)]
pub enum StartOutcome {
    /// A new run, ready to be driven.
    Started(Box<ClaimedRun>),
    /// The message has left the queue: its run has started, or it was cancelled.
    NotQueued(RunKey),
}

/// A committed start of a run.
#[derive(Debug)]
pub(crate) struct StartCommit {
    pub(crate) fence: Fence,
    pub(crate) events: Vec<Event>,
    /// The settings in the agent's record.
    pub(crate) settings: AgentSettings,
}

/// The result of the transaction that starts a run.
pub(crate) enum StartAttempt {
    Claimed(Box<StartCommit>),
    NotQueued,
    Unknown,
    Refused(Refusal),
    Held(RunnerId),
}

/// Everything that the start of a run writes. Prepared before the transaction, because the transaction may
/// be retried.
pub(crate) struct StartWrite {
    message: Message,
    /// The other messages that the run absorbs.
    absorbs: Vec<Message>,
    transition: PreparedCommit,
    runner: RunnerId,
}

/// A prepared start of a run, with the data that its driver needs.
pub struct PreparedStart {
    pub(crate) write: Arc<StartWrite>,
    pub(crate) turn: RunMachine,
    pub(crate) effects: Vec<Effect>,
    pub(crate) entry: TranscriptEntry,
    observer: Arc<dyn Observer>,
}

impl PreparedStart {
    /// The run after its start was committed.
    pub(crate) fn committed(self, commit: StartCommit) -> Box<ClaimedRun> {
        let row = self.write.transition.run.clone();
        self.observer.on_events(&row.agent_id, &commit.events);
        Box::new(ClaimedRun::fresh(row, commit, self))
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Starts the run of a queued message without absorbing others.
    pub async fn wake(&self, run: RunKey, limits: ResolvedOptions) -> Result<StartOutcome, EngineError> {
        let found = self.store.read(move |view| find_target(view, run));
        let AgentWork::Message(next) = found.await? else {
            return Ok(StartOutcome::NotQueued(run));
        };
        let opening = FirstEntry::of(&next.message, next.body.as_deref(), next.beside)?;
        self.start_queued(next.message, opening, limits).await
    }

    /// Starts the run of a queued message. `opening` is its first entry, with the other messages it
    /// absorbs.
    pub(crate) async fn start_queued(
        &self,
        message: Message,
        opening: FirstEntry,
        limits: ResolvedOptions,
    ) -> Result<StartOutcome, EngineError> {
        let (run, agent) = (message.run_key, message.agent_id.clone());
        let prepared = self.prepare(message, opening, limits).await?;
        let write = Arc::clone(&prepared.write);
        fail_point::fail_point("admit.before_commit");
        let found = self.store.write(move |tx| write.commit(tx)).await?;
        fail_point::fail_point("admit.after_commit");
        match found {
            StartAttempt::Claimed(commit) => Ok(StartOutcome::Started(prepared.committed(*commit))),
            StartAttempt::NotQueued => Ok(StartOutcome::NotQueued(run)),
            StartAttempt::Unknown => Err(EngineError::UnknownAgent(agent)),
            StartAttempt::Refused(refusal) => Err(refusal.into()),
            StartAttempt::Held(by) => Err(EngineError::AgentBusy { agent, by }),
        }
    }

    /// Prepares the start of a message's run without absorbing others.
    pub async fn prepare_start(
        &self,
        message: Message,
        entry: TranscriptEntry,
        limits: ResolvedOptions,
    ) -> Result<PreparedStart, EngineError> {
        self.prepare(message, FirstEntry::plain(entry), limits).await
    }

    async fn prepare(
        &self,
        message: Message,
        opening: FirstEntry,
        limits: ResolvedOptions,
    ) -> Result<PreparedStart, EngineError> {
        let (run, now) = (message.run_key, self.clock.now());
        let turn = RunMachine::new(run, limits.model_ref, limits.max_rounds)
            .with_fallbacks(limits.fallbacks)
            .with_workspace(limits.workspace)
            .with_denied_tools(limits.deny_tools)
            .with_ask_tools(limits.ask_tools);
        let FirstEntry { entry, body, absorbs } = opening;
        let mut sources = Sources::of_attachments(&entry.blocks).joined(&message.cause.all_sources());
        for absorbed in &absorbs {
            sources.join(&absorbed.cause.all_sources());
        }
        let turn = RunMachine {
            is_read_only: message.options.is_read_only,
            ..turn
        };
        let turn = turn.caused_by(&message.cause);
        let input = RunInput::Admitted {
            body: body.as_ref().map_or(message.body, Blob::hash),
            history: message.options.history.clone(),
            sources,
            is_instruction: message.authority == Authority::OperatorInstruction && absorbs.is_empty(),
        };
        let mut moved = turn
            .apply(&InputReads::default(), input.clone())
            .map_err(|e| broken(run, &e))?;
        moved.events.insert(0, woken_event(&message, absorbs.len()));
        let (turn, effects) = (moved.turn.clone(), moved.effects.clone());
        let applied = Applied {
            input: &input,
            reads: &InputReads::default(),
            moved,
            blobs: body.into_iter().collect(),
            settings: None,
        };
        let transition = self.first_transition(&message, applied, now).await?;
        let write = StartWrite {
            message,
            absorbs,
            transition,
            runner: self.runner.clone(),
        };
        Ok(PreparedStart {
            write: Arc::new(write),
            turn,
            effects,
            entry,
            observer: Arc::clone(&self.observer),
        })
    }
}

impl StartWrite {
    /// The process that starts the run.
    pub(crate) const fn runner(&self) -> &RunnerId {
        &self.runner
    }

    /// Starts the run of a queued message, or records why it may not start.
    pub(crate) fn commit(&self, tx: &mut Tx<'_>) -> Result<StartAttempt, StoreError> {
        let agent_id = &self.message.agent_id;
        if tx.agent(agent_id)?.is_none() {
            return Ok(StartAttempt::Unknown);
        }
        // Checked before the claim: a message that has started or was cancelled must not disturb the
        // holder.
        if !tx.is_queued(&self.message.run_key)? {
            return Ok(StartAttempt::NotQueued);
        }
        let fence = match tx.claim_head(agent_id, &self.runner)? {
            Claim::Held { by } => return Ok(StartAttempt::Held(by)),
            Claim::Won(fence) => fence,
        };
        // Read again under the lock of the claim, because the agent and its queue may have changed.
        let is_queued = tx.is_queued(&self.message.run_key)?;
        let (Some(agent), true, true) = (tx.agent(agent_id)?, is_queued, all_wait(tx, &self.absorbs)?) else {
            tx.release_head(agent_id, fence)?;
            return Ok(StartAttempt::NotQueued);
        };
        let at = self.transition.run.started_at;
        let (verdict, gates) = judge(tx, &agent, at)?;
        let gates = known_gates(tx, &self.message, &gates)?;
        let outcome = match &verdict {
            WakeVerdict::Run => WakeOutcome::Run,
            WakeVerdict::Refused(refusal) => refusal.outcome(),
        };
        tx.put_wake(&wake_row(&self.message, outcome, &gates, at))?;
        if let WakeVerdict::Refused(refusal) = verdict {
            tx.release_head(agent_id, fence)?;
            return Ok(StartAttempt::Refused(refusal));
        }
        tx.dequeue(agent_id, &self.message.run_key)?;
        let run = &self.transition.run;
        absorb(tx, &self.absorbs, run.run_key, run.started_at)?;
        tx.create_run(run)?;
        for (limit, max) in self.message.options.limits_of(&run.run_key) {
            tx.set_limit(&limit, max, 0, run.started_at)?;
        }
        let events = self.transition.write_rest(tx, fence)?;
        let settings = restricted(tx, agent_id, &run.run_key, agent.settings)?;
        Ok(StartAttempt::Claimed(Box::new(StartCommit {
            fence,
            events,
            settings,
        })))
    }
}

/// Whether a message of an agent may start a run now, and every gate that was evaluated. Requires the
/// agent's locked head.
pub(crate) fn judge(
    tx: &mut Tx<'_>,
    agent: &Agent,
    now: Millis,
) -> Result<(WakeVerdict, Vec<Gate>), StoreError> {
    let open = RunFilter {
        agent_id: Some(agent.agent_id.clone()),
        state: RunState::Open,
        limit: 1,
        ..RunFilter::default()
    };
    let facts = MessageFacts {
        delay: None,
        is_braked: tx.is_braked(&agent.agent_id)?,
        open_run: tx.runs(&open)?.first().map(|run| run.run_key),
    };
    Ok(decide(&agent.availability(), &facts, now))
}

/// A person's message as the first entry of a run, and as the blob that stores it. Attachments precede the
/// text that refers to them, where models read them best.
pub(crate) fn opening(prompt: &str, attachments: Vec<Attachment>) -> (TranscriptEntry, Blob) {
    let words = Block::Text {
        text: prompt.to_owned(),
    };
    let blocks: Vec<Block> = attachments
        .into_iter()
        .map(Block::Attachment)
        .chain([words])
        .collect();
    // Text always has a JSON form.
    let body = Blob::new(serde_json::to_vec(&blocks).unwrap_or_default());
    let role = Role::User;
    (TranscriptEntry { role, blocks }, body)
}

/// The event that a message was queued.
pub(crate) fn admitted_event(message: &Message, prompt: &str) -> EventDraft {
    let cause = &message.cause;
    let mut draft = EventDraft::new(MessageAdmitted {
        run_key: message.run_key,
        kind: message.kind,
        authority: message.authority,
        surface: message.surface,
        context: message.context,
        text: wakeful_core::run::preview(prompt),
        origin: cause.origin.kind(),
        priority: cause.priority,
        correlation_id: Some(cause.correlation_of(&message.run_key)),
        causation_id: cause.causation.clone(),
        source_refs: cause.origin.source_refs(),
    });
    attach(&mut draft, message);
    draft
}

/// The event that a message's run starts.
fn woken_event(message: &Message, absorbed: usize) -> EventDraft {
    EventDraft::new(WakeDecided {
        reason: Some(message.kind),
        absorbed: (absorbed > 0).then_some(absorbed),
        ..WakeDecided::new(message.run_key, WakeOutcome::Run)
    })
}
