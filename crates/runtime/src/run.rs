//! The driver: the loop that performs the effects of a run.
//!
//! It performs the pending effects, applies their results to the machine, commits the transition in one
//! transaction, and continues with the resulting effects. A crash at any point leaves a state whose pending
//! effects the same loop performs again.

mod claim;
mod encoding;
mod quarantine;
mod quota;
mod reads;
mod step_change;
mod thread;
mod transition;

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::{ToolCall, TranscriptEntry};
use wakeful_core::failure::truncate_chars;
use wakeful_core::guardrail::GuardrailTrip;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{BudgetStop, Effect, InputReads, Interjection, RunInput, RunMachine, is_known};
use wakeful_core::wake::{Suspension, Wait};
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{BudgetOwner, Fence, RunRow, WakeRow};
use wakeful_store::{Store, StoreError};

pub use claim::claim;
pub use quarantine::{CLAIMS_MAX, describe_fault, is_environment_error, quarantine, run_to_quarantine};
pub(crate) use thread::{Thread, blocks};
pub(crate) use transition::{Applied, CommitOutcome, PreparedCommit};

use self::reads::ActionHistory;
use crate::budget::owner_of;
use crate::hook::{HookState, denials};
use crate::interject::InterjectionHint;
use crate::step::{EffectResult, Freshness, NextAction};
use crate::sub_run::SubRunMessage;
use crate::wait::Need;
use crate::wake::{PreparedStart, StartCommit};
use crate::{Engine, EngineError};

/// Maximum number of retries of a transition when the run was changed concurrently. Only a bug causes that,
/// so a few retries are enough.
const CONFLICTS_MAX: u32 = 3;

/// How long a commit waits for an unreachable database. Until the commit, only this process has the result
/// of an action. Shorter than the time for which a process trusts its lease (`LEASE_TRUST_MS` of the store).
const COMMIT_WAIT_MS: u64 = 8_000;

/// Interval between two attempts to commit.
const COMMIT_POLL_MS: u64 = 250;

/// A run that this process may drive.
#[derive(Debug)]
pub struct ClaimedRun {
    pub(crate) row: RunRow,
    pub(crate) machine: RunMachine,
    pub(crate) fence: Fence,
    /// The settings in the agent's record, as this driver last read them. A transaction that starts an effect
    /// compares them with the record.
    pub(crate) settings: AgentSettings,
    pub(crate) effects: Vec<Effect>,
    pub(crate) freshness: Freshness,
    /// The part of the transcript that the next request needs; none until it is loaded.
    pub(crate) thread: Option<Thread>,
    /// The tool calls of the newest reply with their arguments; empty until they are needed after a crash.
    pub(crate) asked: Vec<ToolCall>,
    /// The actions of the run so far, to recognize repeated ones without a query.
    known: ActionHistory,
    /// The version of the policy that judged the planned actions; none after the run was claimed.
    pub(crate) judged_by: Option<PolicyVersion>,
    /// The actions that were judged again because their targets changed after their intent.
    pub(crate) judged_again: BTreeSet<OperationId>,
    /// The version of the policy files that the agent's log records; none until it is read.
    pub(crate) recorded_files: Option<String>,
    /// The first transcript entry of a run that this process started; none after it was moved to `thread`.
    opening: Option<TranscriptEntry>,
    /// The messages of the sub-runs to start next.
    pub(crate) starts: Vec<SubRunMessage>,
    /// Records of refused sub-runs, for the transaction that reports them.
    pub(crate) refused: Vec<WakeRow>,
    /// What hooks did since the last input, and what they led to.
    pub(crate) hooks: HookState,
    /// The guardrails that messages and replies tripped since the last input.
    pub(crate) tripped: Vec<GuardrailTrip>,
    /// Whether an action may have written since the state of the workspace was recorded.
    pub(crate) has_written: bool,
    /// Who draws on the budget; none while no limit is set.
    pub(crate) budget: Option<BudgetOwner>,
}

/// The outcome of driving a run. A run over budget is [`EngineError::BudgetExceeded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveOutcome {
    Ended,
    /// The process is halting; the run continues when it is claimed again.
    Stopped,
    /// A brake holds the run; it continues when the brake is released and it is claimed again.
    Braked,
    /// The run was released; it continues when the wait is over and it is claimed again.
    Waiting(Wait),
}

/// The result of one attempt to apply and commit an input.
enum TransitAttempt {
    /// Committed: the run's row, its state and its next effects.
    Done(Box<(RunRow, RunMachine, Vec<Effect>)>),
    /// Nothing is written, because these interjections must be included first.
    Interjected(Vec<Interjection>),
    /// Nothing is written, because the settings in the agent's record changed to these.
    Reconfigured(Box<AgentSettings>),
    /// Nothing is written, because the policy changed.
    PolicyChanged,
    /// Nothing is written, because another run of the agent used a tool with a quota.
    QuotaUsed,
    /// Nothing is written, because a person set the first limit since the run was read.
    FirstLimit,
    /// Nothing is written, because a limit does not cover every action that would begin.
    OverBudget(BudgetStop),
}

impl ClaimedRun {
    /// A run that this process has just started.
    pub(crate) fn fresh(row: RunRow, commit: StartCommit, start: PreparedStart) -> Self {
        Self {
            row,
            machine: start.turn,
            fence: commit.fence,
            settings: commit.settings,
            effects: start.effects,
            freshness: Freshness::Fresh,
            thread: None,
            asked: Vec::new(),
            known: ActionHistory::nothing_yet(),
            judged_by: None,
            judged_again: BTreeSet::new(),
            recorded_files: None,
            opening: Some(start.entry),
            starts: Vec::new(),
            refused: Vec::new(),
            hooks: HookState::default(),
            tripped: Vec::new(),
            has_written: false,
            budget: None,
        }
    }

    #[must_use]
    pub const fn run_key(&self) -> RunKey {
        self.row.run_key
    }

    #[must_use]
    pub const fn agent_id(&self) -> &AgentId {
        &self.row.agent_id
    }

    /// The first transcript entry, if this process started the run and its conversation is not loaded yet.
    pub(crate) const fn opening(&self) -> Option<&TranscriptEntry> {
        self.opening.as_ref()
    }

    /// The run's state, including its model and workspace.
    #[must_use]
    pub const fn turn(&self) -> &RunMachine {
        &self.machine
    }
}

/// Releases a claimed run without driving it. Has no effect if the claim was lost.
pub async fn release_run(store: &Store, claimed: Box<ClaimedRun>) -> Result<(), EngineError> {
    suspend_run(store, claimed, None).await
}

/// Releases a claimed run, to be claimed again at once or when its wait is over.
async fn suspend_run(
    store: &Store,
    claimed: Box<ClaimedRun>,
    suspension: Option<Suspension>,
) -> Result<(), EngineError> {
    let ClaimedRun {
        row,
        fence,
        machine: turn,
        ..
    } = *claimed;
    let needs = suspension.map(|suspended| {
        let Suspension { wait, since } = suspended;
        (Need::of_wait(wait, &turn, since), since)
    });
    let given = store.write(move |tx| {
        // Lock the head first, as in every transition.
        match tx.lock_head(&row.agent_id, fence) {
            Ok(_) => {}
            Err(StoreError::FenceLost(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        tx.reset_claim_count(&row.run_key)?;
        if let Some((need, since)) = &needs
            && let Some(wait) = need.wait(tx, &row.run_key, *since)?
        {
            let since = *since;
            tx.suspend_run(&row.run_key, Suspension { wait, since })?;
        }
        tx.release_head(&row.agent_id, fence)
    });
    Ok(given.await?)
}

async fn release(store: &Store, agent: AgentId, fence: Fence) -> Result<(), EngineError> {
    Ok(store.write(move |tx| tx.release_head(&agent, fence)).await?)
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Drives a run to its end, or until the process halts; the run then stays open at a safe point.
    pub async fn drive(&self, claimed: Box<ClaimedRun>) -> Result<DriveOutcome, EngineError> {
        let run = claimed.run_key();
        let driven = self.drive_loop(claimed).await;
        if driven.as_ref().is_err_and(is_environment_error) {
            // If this write fails too, the next claim of the run in this process resets the count.
            let _ = self.store.write(move |tx| tx.reset_claim_count(&run)).await;
        }
        driven
    }

    async fn drive_loop(&self, mut claimed: Box<ClaimedRun>) -> Result<DriveOutcome, EngineError> {
        let mut conflicts = 0;
        while claimed.machine.outcome().is_none() {
            let next = self.perform_and_record(&mut claimed).await?;
            self.record_unless_acting(&mut claimed, &next).await;
            let performed = match next {
                NextAction::Input(performed) => *performed,
                NextAction::Stop => {
                    suspend_run(&self.store, claimed, None).await?;
                    return Ok(DriveOutcome::Stopped);
                }
                NextAction::Brake => {
                    suspend_run(&self.store, claimed, None).await?;
                    return Ok(DriveOutcome::Braked);
                }
                NextAction::Wait(suspension) => {
                    suspend_run(&self.store, claimed, Some(suspension)).await?;
                    return Ok(DriveOutcome::Waiting(suspension.wait));
                }
                NextAction::OverBudget(exceeded) => {
                    let (agent, run) = (claimed.row.agent_id.clone(), claimed.run_key());
                    let (wait, since) = (Wait::for_budget(&exceeded), self.clock.now());
                    suspend_run(&self.store, claimed, Some(Suspension { wait, since })).await?;
                    return Err(EngineError::BudgetExceeded { agent, run, exceeded });
                }
            };
            match self.apply_input(&mut claimed, performed).await {
                Ok(()) => {
                    conflicts = 0;
                    self.run_denial_hooks(&mut claimed).await;
                }
                Err(EngineError::Store(StoreError::Conflict)) if conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    let run = claimed.run_key();
                    let again = claim(&self.store, &self.runner, run).await?;
                    let Some(again) = again else {
                        return Ok(DriveOutcome::Ended);
                    };
                    claimed = again;
                }
                Err(error) => return Err(error),
            }
        }
        self.record_after(&mut claimed).await;
        Ok(DriveOutcome::Ended)
    }

    /// Applies one input and commits the transition. If a brake prevents the next action from starting, the
    /// result is committed without that action.
    async fn apply_input(
        &self,
        claimed: &mut ClaimedRun,
        performed: EffectResult,
    ) -> Result<(), EngineError> {
        let mut reads = self.reads(claimed, &performed.input).await?;
        reads.guardrails = std::mem::take(&mut claimed.tripped);
        reads.hooks = claimed.hooks.take_executed();
        let mut words = if performed.input.may_end_round() {
            InterjectionHint::Maybe
        } else {
            InterjectionHint::Known
        };
        // Each reason to retry occurs at most once, except that a person may change settings repeatedly.
        let done = loop {
            let tried = self.try_apply_input(claimed, &performed, &reads, words);
            match tried.await {
                Ok(TransitAttempt::Interjected(interjected)) => {
                    words = InterjectionHint::Known;
                    reads.interjected = interjected;
                }
                Ok(TransitAttempt::Reconfigured(settings)) => {
                    claimed.settings = *settings;
                    reads = self.read_again(claimed, &performed.input, reads).await?;
                }
                Ok(TransitAttempt::FirstLimit) => {
                    let row = claimed.row.clone();
                    claimed.budget = self.store.read(move |view| owner_of(view, &row)).await?;
                }
                // Fewer actions are covered each time.
                Ok(TransitAttempt::OverBudget(stop)) => reads.budget = Some(stop),
                Ok(TransitAttempt::PolicyChanged | TransitAttempt::QuotaUsed) => {
                    reads = self.read_again(claimed, &performed.input, reads).await?;
                }
                Err(EngineError::Store(StoreError::Braked(_))) if !reads.hold => reads.hold = true,
                // A person withdrew an interjection. Only this process has the result of the action, so the
                // run is not loaded again: it continues without the interjections, and those still queued
                // join the next round.
                Err(EngineError::Store(StoreError::Conflict)) if !reads.interjected.is_empty() => {
                    reads.interjected.clear();
                }
                Ok(TransitAttempt::Done(done)) => break *done,
                Err(error) => return Err(error),
            }
        };
        let (row, turn, effects) = done;
        let left = turn.pending_effects();
        // Effects that a halt or a brake prevented stay intended, with the same freshness.
        if effects.is_empty() && !left.is_empty() {
            claimed.effects = left;
        } else {
            (claimed.effects, claimed.freshness) = (effects, Freshness::Fresh);
        }
        (claimed.row, claimed.machine) = (row, turn);
        Ok(())
    }

    async fn try_apply_input(
        &self,
        claimed: &mut ClaimedRun,
        performed: &EffectResult,
        reads: &InputReads,
        words: InterjectionHint,
    ) -> Result<TransitAttempt, EngineError> {
        let input = &performed.input;
        let moved = claimed.machine.clone().apply(reads, input.clone());
        let moved = moved.map_err(|e| broken(claimed.run_key(), &e))?;
        let denials = denials(&moved.events);
        let (turn, effects, entries) = (moved.turn.clone(), moved.effects.clone(), moved.entries.clone());
        let contents = thread::contents_of(performed.contents.clone(), &moved);
        // An interjection that did not join belongs to another run, and its key is not stored in this one.
        let mut reads = reads.clone();
        if moved.joined.is_empty() {
            reads.interjected.clear();
        }
        let applied = Applied {
            input,
            reads: &reads,
            moved,
            blobs: performed.blobs.clone(),
            settings: Some(&claimed.settings),
        };
        let transition = Arc::new(self.next_transition(claimed, applied, words).await?);
        fail_point::fail_point("transition.before_commit");
        let committed = self.commit(&transition, claimed.fence).await;
        let written = committed.inspect_err(|error| {
            // The commit may have succeeded, and no other notification would report it.
            if matches!(error, EngineError::Store(StoreError::Unreachable(_))) {
                self.observer.on_events(&claimed.row.agent_id, &[]);
            }
        })?;
        let events = match written {
            CommitOutcome::Events(events) => events,
            CommitOutcome::Interjected(interjected) => return Ok(TransitAttempt::Interjected(interjected)),
            CommitOutcome::Reconfigured(settings) => return Ok(TransitAttempt::Reconfigured(settings)),
            CommitOutcome::PolicyChanged => return Ok(TransitAttempt::PolicyChanged),
            CommitOutcome::QuotaUsed => return Ok(TransitAttempt::QuotaUsed),
            CommitOutcome::FirstLimit => return Ok(TransitAttempt::FirstLimit),
            CommitOutcome::OverBudget(stop) => return Ok(TransitAttempt::OverBudget(stop)),
        };
        fail_point::fail_point("transition.after_commit");
        self.observer.on_events(&claimed.row.agent_id, &events);
        // Each of these inputs ends a request that may have cost money.
        let is_end = matches!(
            input,
            RunInput::Replied(_) | RunInput::AttemptFailed { .. } | RunInput::Cancelled
        );
        if is_end || transition.releases_budget() {
            self.observer.on_spend_settled();
        }
        let started = transition.starts.iter().map(|start| &start.message.agent_id);
        for other in started.chain(&transition.ends) {
            // The other agent's log has new events; listeners read them from the store.
            self.observer.on_events(other, &[]);
        }
        claimed.refused.clear();
        claimed.hooks.denials = denials;
        if let Some(version) = &transition.policy_files {
            claimed.recorded_files = Some(version.clone());
        }
        self.extend_thread(claimed, &entries, &contents).await?;
        Ok(TransitAttempt::Done(Box::new((
            transition.run.clone(),
            turn,
            effects,
        ))))
    }

    /// Commits a transition. It waits for an unreachable database within the lease, because only this
    /// process has the result of a finished action. An acknowledgement may be lost although the commit
    /// succeeded; then no events are returned, because only the store has their sequence numbers.
    async fn commit(
        &self,
        transition: &Arc<PreparedCommit>,
        fence: Fence,
    ) -> Result<CommitOutcome, EngineError> {
        let mut waited_ms = 0;
        loop {
            let attempt = Arc::clone(transition);
            let written = self.store.write(move |tx| attempt.write(tx, fence)).await;
            let error = match written {
                Ok(written) => return Ok(written),
                Err(error) => error,
            };
            let lost = matches!(error, StoreError::Unreachable(_));
            let may_be_there = lost || (waited_ms > 0 && matches!(error, StoreError::Conflict));
            if !may_be_there || waited_ms >= COMMIT_WAIT_MS || !self.store.holds_lease() {
                return Err(error.into());
            }
            waited_ms += COMMIT_POLL_MS;
            self.clock.sleep(COMMIT_POLL_MS).await;
            if self.is_committed(transition).await {
                return Ok(CommitOutcome::Events(Vec::new()));
            }
        }
    }

    /// Whether the run log contains this transition; false if the log cannot be read.
    async fn is_committed(&self, transition: &PreparedCommit) -> bool {
        let (run, before) = (transition.run.run_key, transition.run.version - 1);
        let rows = self.store.read(move |view| view.run_log(&run, before, 1)).await;
        rows.is_ok_and(|rows| rows.first().is_some_and(|row| transition.is(row)))
    }
}

/// Decodes the state of a run, if this program has its machine version.
pub fn decode(row: &RunRow) -> Result<RunMachine, EngineError> {
    if !is_known(&row.machine, row.machine_version) {
        return Err(unsupported(row));
    }
    serde_json::from_str(&row.state).map_err(|e| broken(row.run_key, &e))
}

fn unsupported(row: &RunRow) -> EngineError {
    EngineError::MachineVersion {
        run: row.run_key,
        machine: row.machine.clone(),
        version: row.machine_version,
    }
}

/// The error of a run whose stored data is invalid.
pub(crate) fn broken(run: RunKey, why: &dyn std::error::Error) -> EngineError {
    EngineError::InvalidState {
        run,
        why: truncate_chars(&why.to_string(), BROKEN_CHARS_MAX),
    }
}

/// Maximum length of the reason: one line on a wide screen. It never contains stored text.
const BROKEN_CHARS_MAX: usize = 300;
