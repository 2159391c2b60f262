//! The driver: one loop that everything rests on.
//!
//! Perform the pending effects, give their results to the machine, commit what it answers in one transaction,
//! and go on with the effects of that. A crash between any two lines leaves a state whose pending effects the
//! same loop meets again.

mod claim;
mod quarantine;
mod reads;
mod thread;
mod transition;

use std::sync::Arc;

use wakeful_core::conversation::{ToolCall, TranscriptEntry};
use wakeful_core::failure::truncate_chars;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::run::{Effect, InputReads, Interjection, RunInput, RunMachine, is_known};
use wakeful_core::wake::{Suspension, Wait};
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{Fence, RunRow, WakeRow};
use wakeful_store::{Store, StoreError};

pub use claim::claim;
pub use quarantine::{CLAIMS_MAX, describe_fault, is_environment_error, quarantine, run_to_quarantine};
pub(crate) use thread::{Thread, blocks};
pub(crate) use transition::{Applied, CommitOutcome, PreparedCommit};

use self::reads::ActionHistory;
use crate::interject::InterjectionHint;
use crate::step::{EffectResult, Freshness, NextAction};
use crate::sub_run::SubRunMessage;
use crate::wait::Need;
use crate::wake::PreparedStart;
use crate::{Engine, EngineError};

/// How often a transition is tried again when the run was changed behind our back. Only our own mistakes can
/// do that, so a few times are plenty.
const CONFLICTS_MAX: u32 = 3;

/// How long a commit waits for a database that went away. What an action did is known only here until then;
/// longer than this, the lease would not cover it.
const COMMIT_WAIT_MS: u64 = 8_000;

/// How often it tries.
const COMMIT_POLL_MS: u64 = 250;

/// A run that this process may drive.
#[derive(Debug)]
pub struct ClaimedRun {
    /// The run as it is stored.
    pub(crate) row: RunRow,
    pub(crate) machine: RunMachine,
    pub(crate) fence: Fence,
    pub(crate) effects: Vec<Effect>,
    pub(crate) freshness: Freshness,
    /// The transcript as far as the next request needs it; none until it is loaded.
    pub(crate) thread: Option<Thread>,
    /// The tool calls of the newest reply, with their arguments; empty until they are needed after a crash.
    pub(crate) asked: Vec<ToolCall>,
    known: ActionHistory,
    opening: Option<TranscriptEntry>,
    /// The messages of the runs that are to be started next.
    pub(crate) starts: Vec<SubRunMessage>,
    /// Records of starts that may not be made, for the transaction that tells so.
    pub(crate) refused: Vec<WakeRow>,
}

/// Where driving a run has led. A run without money is [`EngineError::BudgetExceeded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveOutcome {
    /// It ended.
    Ended,
    /// The process was asked to stop; the run goes on when it is claimed again.
    Stopped,
    /// A brake holds it; it goes on when that is released and it is claimed again.
    Braked,
    /// It waits; it goes on when it is claimed again after that.
    Waiting(Wait),
}

/// What became of a transition that was tried.
enum TransitAttempt {
    /// It is committed: the run as it stands, its state, and what it intends next.
    Done(Box<(RunRow, RunMachine, Vec<Effect>)>),
    /// Nothing is written: these words belong to it.
    Interjected(Vec<Interjection>),
}

impl ClaimedRun {
    /// A run that has just been admitted by this process.
    pub(crate) fn fresh(row: RunRow, fence: Fence, start: PreparedStart) -> Self {
        Self {
            row,
            machine: start.turn,
            fence,
            effects: start.effects,
            freshness: Freshness::Fresh,
            thread: None,
            asked: Vec::new(),
            known: ActionHistory::nothing_yet(),
            opening: Some(start.entry),
            starts: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The run's name.
    #[must_use]
    pub const fn run_key(&self) -> RunKey {
        self.row.run_key
    }

    /// Whose run it is.
    #[must_use]
    pub const fn agent_id(&self) -> &AgentId {
        &self.row.agent_id
    }

    /// Its state: above all the model and the workspace it was begun with.
    #[must_use]
    pub const fn turn(&self) -> &RunMachine {
        &self.machine
    }
}

/// Gives a claimed run back without driving it. Who lost it meanwhile has nothing to give.
pub async fn release_run(store: &Store, claimed: Box<ClaimedRun>) -> Result<(), EngineError> {
    suspend_run(store, claimed, None).await
}

/// Gives a claimed run back, to be claimed again at once or after what it waits for.
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
        // The head first, as in every transition.
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
    /// Drives a run to its end, or until a stop is asked for: then it stays open at a safe point.
    pub async fn drive(&self, claimed: Box<ClaimedRun>) -> Result<DriveOutcome, EngineError> {
        let run = claimed.run_key();
        let driven = self.drive_loop(claimed).await;
        if driven.as_ref().is_err_and(is_environment_error) {
            // Where this cannot be written either, whoever takes the run up next in this process does it.
            let _ = self.store.write(move |tx| tx.reset_claim_count(&run)).await;
        }
        driven
    }

    async fn drive_loop(&self, mut claimed: Box<ClaimedRun>) -> Result<DriveOutcome, EngineError> {
        let mut conflicts = 0;
        while claimed.machine.outcome().is_none() {
            let performed = match self.perform(&mut claimed).await? {
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
                Ok(()) => conflicts = 0,
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
        Ok(DriveOutcome::Ended)
    }

    /// Applies one input and commits everything it leads to. Where a brake keeps the next action from beginning, what
    /// has ended is committed without it.
    async fn apply_input(
        &self,
        claimed: &mut ClaimedRun,
        performed: EffectResult,
    ) -> Result<(), EngineError> {
        let mut reads = self.reads(claimed, &performed.input).await?;
        let mut words = if performed.input.may_end_round() {
            InterjectionHint::Maybe
        } else {
            InterjectionHint::Known
        };
        // Each reason to try again holds at most once.
        let done = loop {
            let tried = self.try_apply_input(claimed, &performed, &reads, words);
            match tried.await {
                Ok(TransitAttempt::Interjected(interjected)) => {
                    words = InterjectionHint::Known;
                    reads.interjected = interjected;
                }
                Err(EngineError::Store(StoreError::Braked(_))) if !reads.hold => reads.hold = true,
                // A person took back what was said into the run. What an action did is known only here, so the run is
                // not loaded again: it goes on without those words, and what is left of them joins the next round.
                Err(EngineError::Store(StoreError::Conflict)) if !reads.interjected.is_empty() => {
                    reads.interjected.clear();
                }
                Ok(TransitAttempt::Done(done)) => break *done,
                Err(error) => return Err(error),
            }
        };
        let (row, turn, effects) = done;
        let left = turn.pending_effects();
        // What a stop or a brake kept from its turn is still intended, and as fresh or as doubtful as it was.
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
        let (turn, effects, entries) = (moved.turn.clone(), moved.effects.clone(), moved.entries.clone());
        let contents = thread::contents_of(performed.contents.clone(), &moved);
        // What did not join belongs to another run, and its name is not kept in this one.
        let mut reads = reads.clone();
        if moved.joined.is_empty() {
            reads.interjected.clear();
        }
        let applied = Applied {
            input,
            reads: &reads,
            moved,
            blobs: performed.blobs.clone(),
        };
        let transition = Arc::new(self.next_transition(claimed, applied, words).await?);
        fail_point::fail_point("transition.before_commit");
        let committed = self.commit(&transition, claimed.fence).await;
        let written = committed.inspect_err(|error| {
            // It may stand all the same, and then nobody else says so.
            if matches!(error, EngineError::Store(StoreError::Unreachable(_))) {
                self.observer.on_events(&claimed.row.agent_id, &[]);
            }
        })?;
        let events = match written {
            CommitOutcome::Events(events) => events,
            CommitOutcome::Interjected(interjected) => return Ok(TransitAttempt::Interjected(interjected)),
        };
        fail_point::fail_point("transition.after_commit");
        self.observer.on_events(&claimed.row.agent_id, &events);
        // With each of these a request that may have cost something has ended.
        if matches!(
            input,
            RunInput::Replied(_) | RunInput::AttemptFailed { .. } | RunInput::Cancelled
        ) {
            self.observer.on_spend_settled();
        }
        let started = transition.starts.iter().map(|start| &start.message.agent_id);
        for other in started.chain(&transition.ends) {
            // Its log has grown; whoever listens reads what it says.
            self.observer.on_events(other, &[]);
        }
        claimed.refused.clear();
        self.extend_thread(claimed, &entries, &contents).await?;
        Ok(TransitAttempt::Done(Box::new((
            transition.run.clone(),
            turn,
            effects,
        ))))
    }

    /// Commits a transition. A database that went away is waited for within the lease, because the result of an
    /// action that has ended is known only here; and an acknowledgement may be lost although the commit was not.
    /// Then there are no events to show: only the store knows their places.
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

    /// Whether this very transition stands in the journal. No answer counts as no.
    async fn is_committed(&self, transition: &PreparedCommit) -> bool {
        let (run, before) = (transition.run.run_key, transition.run.version - 1);
        let rows = self.store.read(move |view| view.run_log(&run, before, 1)).await;
        rows.is_ok_and(|rows| rows.first().is_some_and(|row| transition.is(row)))
    }
}

/// Reads the state of a run, if this program has its machine.
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

/// A run that cannot go on because of what is stored.
pub(crate) fn broken(run: RunKey, why: &dyn std::error::Error) -> EngineError {
    EngineError::InvalidState {
        run,
        why: truncate_chars(&why.to_string(), BROKEN_CHARS_MAX),
    }
}

/// Longest reason for a broken run: one line on a wide screen, and never a stored text.
const BROKEN_CHARS_MAX: usize = 300;
