//! What the transaction of one transition writes. States, inputs, events and blobs are encoded and compressed
//! before the transaction; inside it, the events are linked to the log's head.

use std::collections::BTreeMap;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::Usage;
use wakeful_core::decision::{DecisionPolicy, DecisionStatus};
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::json::NotCanonical;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::notice::AgentNotice;
use wakeful_core::proof::log_binding::attach_log_binding;
use wakeful_core::report::{Event, EventDraft, LogHead, SealedEvent};
use wakeful_core::run::{
    BudgetStop, DecisionWrite, Effect, InputReads, Interjection, MACHINE, MACHINE_VERSION, RunInput,
    RunMachine, RunStatus, Transition,
};
use wakeful_core::saga::{Saga, SagaPhase};
use wakeful_core::time::Millis;
use wakeful_core::tool::QuotaReads;
use wakeful_core::wake::{Suspension, Wait};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{
    AgentOutboxRow, Fence, PackedBlob, RunLogRow, RunRow, TranscriptEntryRow, WakeRow,
};
use wakeful_store::{StoreError, Tx};

use super::encoding::{entry_row, journal, within_bounds};
use super::step_change::{StepChange, step_change};
use super::{ClaimedRun, broken, quota};
use crate::budget::BudgetChange;
use crate::interject::{self, InterjectionHint};
use crate::judgement::Judgement;
use crate::proof::recorded;
use crate::sub_run::{self, LockedHeads, SubRunMessage};
use crate::wait::{Need, TransitionEvents, attach_records};
use crate::{Engine, EngineError, Stamp};

/// An input, its read set and the resulting transition.
pub(crate) struct Applied<'a> {
    pub(crate) input: &'a RunInput,
    pub(crate) reads: &'a InputReads,
    pub(crate) moved: Transition,
    /// Blobs to store in addition to those of the transition itself.
    pub(crate) blobs: Vec<Blob>,
    /// The settings in the agent's record that the input was applied with; none for the start of a run, which
    /// does not depend on them.
    pub(crate) settings: Option<&'a AgentSettings>,
}

/// Everything that one transition writes.
pub(crate) struct PreparedCommit {
    pub(crate) run: RunRow,
    journal: RunLogRow,
    steps: Vec<StepChange>,
    thread: ThreadId,
    entries: Vec<TranscriptEntryRow>,
    pub(crate) events: Vec<SealedEvent>,
    blobs: Vec<PackedBlob>,
    /// The tokens of the model reply, if the input is one.
    usage: Usage,
    /// 1 if the input is a model reply, otherwise 0.
    rounds: u64,
    /// Whether an action starts with the transition: then no brake may be set.
    begins: bool,
    /// The settings that the agent's record must have; none if no effect starts with the transition.
    settings: Option<AgentSettings>,
    /// The version of the policy files to record, if they changed since the last decision for the agent.
    pub(crate) policy_files: Option<String>,
    /// The policy that must still be in force; none if no action starts with the transition.
    judgement: Option<Judgement>,
    /// The uses of tools with a quota as they were counted. If an action starts with the transition, they must
    /// still be the same.
    quotas: BTreeMap<String, QuotaReads>,
    /// What the transition settles and reserves under limits; none while no limit is set.
    budget: Option<BudgetChange>,
    decisions: Vec<DecisionWrite>,
    /// What the run needs before it can continue afterwards.
    need: Need,
    terms: DecisionPolicy,
    /// The sub-runs to start.
    pub(crate) starts: Vec<SubRunMessage>,
    /// Records of refused sub-runs.
    refused: Vec<WakeRow>,
    /// Whether the transition starts a model request that interjections would join. If any are queued,
    /// nothing is written, and the transition is computed again with them.
    listens: bool,
    /// The interjections that join the run.
    joined: Vec<RunKey>,
    /// The agents of the sub-runs that end with this run when it is cancelled.
    pub(crate) ends: Vec<AgentId>,
    /// The salt for the events of other agents when this run is cancelled.
    salt: [u8; 32],
    /// The notice of the run's end for other agents.
    end_notice: Option<AgentNotice>,
}

/// The result of a commit.
pub(crate) enum CommitOutcome {
    /// The transition is written; these are its events.
    Events(Vec<Event>),
    /// Nothing is written, because these queued interjections must be included first.
    Interjected(Vec<Interjection>),
    /// Nothing is written, because the agent's record has these settings now.
    Reconfigured(Box<AgentSettings>),
    /// Nothing is written, because the policy has another version now.
    PolicyChanged,
    /// Nothing is written, because a tool with a quota was used since its uses were counted.
    QuotaUsed,
    /// Nothing is written, because a person set the first limit since the run was read.
    FirstLimit,
    /// Nothing is written, because a limit does not cover every action that would begin.
    OverBudget(BudgetStop),
}

impl PreparedCommit {
    /// Whether a row of the run log records this transition. Used after a commit whose response was lost.
    pub(crate) fn is(&self, row: &RunLogRow) -> bool {
        *row == self.journal
    }

    /// Whether it may release what waiting runs need.
    pub(crate) fn releases_budget(&self) -> bool {
        self.budget.as_ref().is_some_and(BudgetChange::settles)
    }

    /// Writes the next state of a run and everything that belongs to it.
    pub(crate) fn write(&self, tx: &mut Tx<'_>, fence: Fence) -> Result<CommitOutcome, StoreError> {
        // The head is locked first in every transition: a runner that lost its lease stops here.
        let others = sub_run::agents_to_lock(tx, &self.run, &self.starts)?;
        let mut heads = LockedHeads::lock(tx, &self.run.agent_id, fence, &others)?;
        // The eligibility rule decided whether the run may continue; this decides whether an action may
        // start. A brake set since then prevents the intent from being committed, and the results are
        // committed without it.
        if self.begins && tx.is_braked(&self.run.agent_id)? {
            return Err(StoreError::Braked(self.run.agent_id.clone()));
        }
        // The rules that permit the next effect must still be those of the agent's record.
        if let Some(used) = &self.settings
            && let Some(current) = sub_run::settings_of_run(tx, &self.run.agent_id, &self.run.run_key)?
            && current != *used
        {
            return Ok(CommitOutcome::Reconfigured(Box::new(current)));
        }
        if self.judgement.as_ref().is_some_and(|used| !used.is_current()) {
            return Ok(CommitOutcome::PolicyChanged);
        }
        if self.begins && quota::is_used_since(tx, &self.run, &self.quotas)? {
            return Ok(CommitOutcome::QuotaUsed);
        }
        if self.listens {
            let words = interject::waiting(tx, &self.run.agent_id, &self.run.thread_id)?;
            if !words.is_empty() {
                return Ok(CommitOutcome::Interjected(words));
            }
        }
        if self.begins && self.budget.is_none() && tx.has_limits()? {
            return Ok(CommitOutcome::FirstLimit);
        }
        if let Some(change) = &self.budget
            && let Some(stop) = change.write(tx)?
        {
            return Ok(CommitOutcome::OverBudget(stop));
        }
        if self.run.status != RunStatus::Open {
            tx.settle_holds_of_run(&self.run.run_key, self.journal.at)?;
            if self.budget.is_some() {
                self.clear_own_limits(tx)?;
            }
        }
        for write in &self.decisions {
            self.write_decision(tx, write)?;
        }
        let since = self.journal.at;
        let wait = self.need.wait(tx, &self.run.run_key, since)?;
        let run = RunRow {
            suspension: wait.map(|wait| Suspension { wait, since }),
            ..self.run.clone()
        };
        tx.put_state(&run, run.version - 1)?;
        sub_run::start_in(tx, &run, &mut heads, &self.starts)?;
        self.refused
            .iter()
            .try_for_each(|refused| tx.record_refusal(refused))?;
        interject::absorb_interjections(tx, &self.joined, run.run_key, self.journal.at)?;
        if run.status != RunStatus::Open {
            let (at, salt) = (self.journal.at, self.salt);
            sub_run::ended(tx, &run, &mut heads.others, Stamp { at, salt })?;
            if run.status.is_unsuccessful() {
                tx.flag_failed_run(&run.run_key)?;
            }
        }
        self.write_with(tx, heads.own, fence).map(CommitOutcome::Events)
    }

    /// Removes the limits that the run's message set for it.
    fn clear_own_limits(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let run = &self.run.run_key;
        let Some(message) = tx.message(run)? else {
            return Ok(());
        };
        for (limit, _) in message.options.limits_of(run) {
            tx.clear_limit(limit.id(), self.journal.at)?;
        }
        Ok(())
    }

    fn write_decision(&self, tx: &mut Tx<'_>, write: &DecisionWrite) -> Result<(), StoreError> {
        let (agent, run, at) = (self.run.agent_id.clone(), self.run.run_key, self.journal.at);
        match write {
            DecisionWrite::Ask(inquiry) => {
                let asked = (**inquiry).clone().asked_by(agent, run, at, self.terms.clone());
                tx.put_decision(&asked, 0)
            }
            DecisionWrite::Apply(id) => tx.apply_decision(id),
            DecisionWrite::Withdraw(id) => {
                let open = tx
                    .decision(id)?
                    .filter(|one| one.status == DecisionStatus::Pending);
                match open {
                    Some(decision) => tx.put_decision(&decision.withdrawn(at), decision.version),
                    // A person answered at the same moment; the action does not begin anyway.
                    None => Ok(()),
                }
            }
        }
    }

    /// Writes everything except the run's row, which the same transaction has just inserted.
    pub(crate) fn write_rest(&self, tx: &mut Tx<'_>, fence: Fence) -> Result<Vec<Event>, StoreError> {
        let head = tx.lock_head(&self.run.agent_id, fence)?;
        self.write_with(tx, head, fence)
    }

    /// Creates the saga of an action with its intent, and advances it with the result.
    fn write_saga(&self, tx: &mut Tx<'_>, saga: &Saga) -> Result<(), StoreError> {
        match saga.phase {
            SagaPhase::Intent => tx.begin_saga(saga, &self.run.run_key, self.journal.at),
            SagaPhase::Journal | SagaPhase::Agent | SagaPhase::Compensation => {
                tx.advance_saga(&Saga::intended(saga.operation_id), saga, self.journal.at)
            }
        }
    }

    /// Appends the notice of a run's end, to which other agents may subscribe.
    fn append_agent_notices(&self, tx: &mut Tx<'_>, events: &[Event]) -> Result<(), StoreError> {
        let (Some(last), Some(telling)) = (events.last(), &self.end_notice) else {
            return Ok(());
        };
        let (agent, at) = (self.run.agent_id.clone(), self.journal.at);
        tx.append_agent_notice(&AgentOutboxRow::new(agent, last.seq, telling.clone(), at))?;
        Ok(())
    }

    /// Writes everything except the run's row, under the locked head.
    fn write_with(&self, tx: &mut Tx<'_>, mut head: LogHead, fence: Fence) -> Result<Vec<Event>, StoreError> {
        self.blobs.iter().try_for_each(|blob| tx.put_blob(blob))?;
        tx.append_run_log(&self.journal)?;
        for step in &self.steps {
            match step {
                StepChange::Put(row) => tx.put_step(row)?,
                StepChange::Intend(operation) => tx.intend_step(operation)?,
                StepChange::Postpone(operation) => tx.postpone_step(operation)?,
                StepChange::AwaitApproval(operation) => tx.await_step_approval(operation)?,
                StepChange::Approve(operation) => tx.approve_step(operation)?,
                StepChange::Settle(end) => tx.settle_step(end)?,
                StepChange::Saga(saga) => self.write_saga(tx, saga)?,
            }
        }
        self.entries
            .iter()
            .try_for_each(|entry| tx.append_entry(&self.thread, entry))?;
        let agent = &self.run.agent_id;
        let events = self.events.iter().map(|sealed| head.chain(agent, sealed.clone()));
        let events: Vec<Event> = events.collect();
        events
            .iter()
            .try_for_each(|event| tx.append_event(agent, event))?;
        tx.put_head(agent, &head)?;
        if let Some(version) = &self.policy_files {
            tx.set_policy_files(agent, version)?;
        }
        self.append_agent_notices(tx, &events)?;
        if self.run.status != RunStatus::Open {
            // The claim is released with the last transition, so that no other runner waits for the lease
            // of an idle one.
            tx.release_head(agent, fence)?;
        }
        if self.rounds > 0 {
            tx.add_usage(agent, self.usage, self.rounds)?;
        }
        Ok(events)
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Prepares the first transition of a run.
    pub(crate) async fn first_transition(
        &self,
        message: &Message,
        applied: Applied<'_>,
        now: Millis,
    ) -> Result<PreparedCommit, EngineError> {
        let run = RunRow {
            run_key: message.run_key,
            agent_id: message.agent_id.clone(),
            thread_id: message.thread_id.clone(),
            machine: MACHINE.to_owned(),
            machine_version: MACHINE_VERSION,
            version: 0,
            state: String::new(),
            status: RunStatus::Open,
            started_at: now,
            ended_at: None,
            suspension: None,
            fault: None,
        };
        self.transition(run, applied).await
    }

    /// Prepares the transition that follows an input.
    pub(crate) async fn next_transition(
        &self,
        claimed: &ClaimedRun,
        mut applied: Applied<'_>,
        words: InterjectionHint,
    ) -> Result<PreparedCommit, EngineError> {
        let change = self.policy_change(claimed, &applied.moved.events);
        let (change, policy_files) = change.unzip();
        // The files come before the decisions that were made with them.
        let change = change.map(EventDraft::new);
        applied.moved.events.splice(0..0, change);
        let input = applied.input;
        let judgement = self.judgement(claimed, &applied.moved.turn);
        let budget = self.budget_change(claimed, input, &applied.moved);
        let listens = words == InterjectionHint::Maybe && starts_work(&applied.moved.effects).1;
        let transition = self.transition(claimed.row.clone(), applied);
        let transition = transition.await?;
        let transition = PreparedCommit {
            listens,
            policy_files,
            budget,
            judgement: judgement.filter(|_| transition.begins),
            ..transition
        };
        Ok(match input {
            RunInput::Started { .. } => PreparedCommit {
                starts: claimed.starts.clone(),
                ..transition
            },
            RunInput::Settled { .. } => PreparedCommit {
                refused: claimed.refused.clone(),
                ..transition
            },
            RunInput::Cancelled => PreparedCommit {
                ends: children_of(&claimed.machine),
                salt: self.entropy.random_bytes(),
                ..transition
            },
            RunInput::Admitted { .. }
            | RunInput::Replied(_)
            | RunInput::AttemptFailed { .. }
            | RunInput::Parked { .. }
            | RunInput::Resumed
            | RunInput::Postponed
            | RunInput::Decided { .. }
            | RunInput::ApprovalExpired { .. } => transition,
        })
    }

    async fn transition(&self, before: RunRow, applied: Applied<'_>) -> Result<PreparedCommit, EngineError> {
        let (now, run_key) = (self.transition_time(&before), before.run_key);
        let (journal, state) = journal(&before, &applied, now).map_err(|e| broken(run_key, &e))?;
        let Applied {
            input,
            reads,
            moved,
            mut blobs,
            settings,
        } = applied;
        let terms = self.decision_policy(settings);
        let usage = replied_usage(input);
        within_bounds(run_key, &state)?;
        let mut events = moved.events;
        attach_log_binding(&run_key, &recorded(&journal), &mut events);
        let written = TransitionEvents::new(&moved.decisions, &mut events, now);
        attach_records(&before, &terms, written);
        let seal = |draft| SealedEvent::new(draft, now, Some(run_key), self.entropy.random_bytes());
        let events: Result<Vec<SealedEvent>, NotCanonical> = events.into_iter().map(seal).collect();
        let events = events.map_err(|e| broken(run_key, &e))?;
        blobs.extend(moved.blobs);
        let mut packed = Vec::with_capacity(blobs.len());
        for blob in blobs {
            packed.push(self.store.pack(blob).await?);
        }
        let (begins, _) = starts_work(&moved.effects);
        let need = Need::of(&moved.turn, now);
        let suspension = suspension(&need, now);
        let outcome = moved.turn.outcome().map(wakeful_core::run::RunOutcome::status);
        let entries = moved.entries.iter().map(|entry| entry_row(run_key, entry, now));
        Ok(PreparedCommit {
            steps: moved
                .steps
                .into_iter()
                .map(|write| step_change(run_key, write, input, now))
                .collect(),
            journal,
            thread: before.thread_id.clone(),
            entries: entries.collect(),
            events,
            blobs: packed,
            usage: usage.unwrap_or_default(),
            rounds: u64::from(usage.is_some()),
            begins,
            settings: settings.filter(|_| !moved.effects.is_empty()).cloned(),
            judgement: None,
            policy_files: None,
            quotas: reads.quotas.clone(),
            budget: None,
            decisions: moved.decisions,
            need,
            starts: Vec::new(),
            refused: Vec::new(),
            listens: false,
            joined: moved.joined,
            ends: Vec::new(),
            salt: [0; 32],
            terms,
            end_notice: outcome.map(|status| AgentNotice::run_ended(&before.agent_id, &run_key, status)),
            run: RunRow {
                machine_version: MACHINE_VERSION,
                suspension,
                version: before.version + 1,
                state,
                ended_at: outcome.is_some().then_some(now),
                status: outcome.unwrap_or(RunStatus::Open),
                ..before
            },
        })
    }
}

/// The wait that is known before the transaction. Other waits are checked inside it.
const fn suspension(need: &Need, now: Millis) -> Option<Suspension> {
    match need {
        Need::Time(until) => Some(Suspension {
            wait: Wait::Due { until: *until },
            since: now,
        }),
        Need::Rate(until) => Some(Suspension {
            wait: Wait::Rate { until: *until },
            since: now,
        }),
        Need::Nothing | Need::Answer(_) | Need::Runs(_) | Need::Budget(_) => None,
    }
}

/// The agents of unfinished sub-runs.
fn children_of(turn: &RunMachine) -> Vec<AgentId> {
    let children = turn.children().into_iter();
    children.map(|(_, child)| child.agent_id).collect()
}

/// Whether an action, and whether a model request, is among these effects.
fn starts_work(effects: &[Effect]) -> (bool, bool) {
    let is_act = |effect: &Effect| match effect {
        Effect::Act { .. } => true,
        Effect::CallModel { .. } => false,
    };
    (effects.iter().any(is_act), !effects.iter().all(is_act))
}

fn replied_usage(input: &RunInput) -> Option<Usage> {
    match input {
        RunInput::Replied(reply) => Some(reply.usage),
        RunInput::Admitted { .. }
        | RunInput::AttemptFailed { .. }
        | RunInput::Parked { .. }
        | RunInput::Resumed
        | RunInput::Settled { .. }
        | RunInput::Started { .. }
        | RunInput::Postponed
        | RunInput::Decided { .. }
        | RunInput::ApprovalExpired { .. }
        | RunInput::Cancelled => None,
    }
}
