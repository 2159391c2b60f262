//! Collects ledger and store contents after a fault or at the end: all that an invariant may inspect.

use wakeful_core::budget::UtcDay;
use wakeful_core::conversation::Block;
use wakeful_core::decision::Decision;
use wakeful_core::id::Incarnation;
use wakeful_core::key::OperationId;
use wakeful_core::message::Message;
use wakeful_core::run::{RunMachine, RunStatus};
use wakeful_store::rows::{
    Agent, DecisionFilter, EventRow, LockedHead, RunFilter, RunLogRow, RunRow, RunState, SpendDay, StepRow,
    TranscriptEntryRow, WakeRow,
};
use wakeful_store::{ROWS_MAX, StoreError, View};

use crate::environment::{Environment, read, write};
use crate::ledger::Ledger;
use crate::person::POISON;
use crate::script::Script;

/// The evidence of one simulation.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    /// Whether everything has ended.
    pub(crate) moment: Moment,
    pub(crate) ledger: Ledger,
    pub(crate) agent: Option<Agent>,
    pub(crate) incarnation: Incarnation,
    pub(crate) events: Vec<EventRow>,
    pub(crate) runs: Vec<RunEvidence>,
    pub(crate) entries: Vec<(TranscriptEntryRow, Vec<Block>)>,
    /// The cost of every day.
    pub(crate) spent: Vec<SpendDay>,
    /// The head of the agent's log; only at the end, because reading it requires a claim.
    pub(crate) head: Option<LockedHead>,
    pub(crate) script: Script,
}

/// When the evidence was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After a fault.
    Midway,
    /// After the last ask was answered.
    End,
}

/// One run with everything that belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct RunEvidence {
    pub(crate) row: RunRow,
    pub(crate) turn: RunMachine,
    pub(crate) message: Option<Message>,
    pub(crate) wake: Option<WakeRow>,
    pub(crate) steps: Vec<StepRow>,
    pub(crate) journal: Vec<RunLogRow>,
    pub(crate) decisions: Vec<Decision>,
    /// Whether its cancellation was requested.
    pub(crate) is_called_off: bool,
}

impl RunEvidence {
    /// Whether it is quarantined, or was abandoned from quarantine.
    pub(crate) fn is_quarantined(&self) -> bool {
        self.row.status == RunStatus::Quarantined || self.row.status == RunStatus::Abandoned
    }

    pub(crate) fn is_open(&self) -> bool {
        self.row.status == RunStatus::Open
    }

    /// The tool calls among its steps.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &StepRow> {
        self.steps.iter().filter(|step| step.class.is_some())
    }
}

impl Evidence {
    /// Collects the evidence.
    pub(crate) fn take(world: &Environment, script: &Script, moment: Moment) -> Result<Self, StoreError> {
        let asked = script.clone();
        let head = match moment {
            Moment::Midway => None,
            Moment::End => head(world, script)?,
        };
        let ledger = world.ledger();
        read(&world.store, move |view| {
            let filter = RunFilter {
                until: None,
                agent_id: None,
                state: RunState::Any,
                limit: ROWS_MAX,
                before: None,
            };
            let runs = view.runs(&filter)?;
            let runs = runs
                .into_iter()
                .map(|row| load(view, row, &ledger))
                .collect::<Result<_, _>>()?;
            let agent = view.agent(&asked.agent)?;
            let events = view.events(&asked.agent, 0, ROWS_MAX)?;
            Ok(Self {
                moment,
                ledger,
                agent,
                incarnation: view.incarnation()?,
                events,
                runs,
                entries: entries(view, &asked)?,
                spent: view.spend_days(None, UtcDay(i64::MIN))?,
                head,
                script: asked,
            })
        })
    }

    pub(crate) fn step(&self, operation_id: OperationId) -> Option<(&RunEvidence, &StepRow)> {
        let steps = self
            .runs
            .iter()
            .flat_map(|run| run.steps.iter().map(move |step| (run, step)));
        steps
            .into_iter()
            .find(|(_, step)| step.operation_id == operation_id)
    }
}

/// Loads a run with everything that belongs to it.
pub(crate) fn load(view: &mut View<'_>, mut row: RunRow, ledger: &Ledger) -> Result<RunEvidence, StoreError> {
    let run = row.run_key;
    // A corrupted state is replaced by the one before the corruption: the run log does not contain the
    // corruption.
    if row.state == POISON
        && let Some(poison) = ledger.poisons.get(&run)
    {
        row.state.clone_from(&poison.state);
    }
    let decisions = DecisionFilter {
        pending_only: false,
        run_key: Some(run),
        limit: ROWS_MAX,
    };
    Ok(RunEvidence {
        turn: serde_json::from_str(&row.state).map_err(|_| StoreError::Malformed("run.state"))?,
        message: view.message(&run)?,
        wake: view.wake(&run)?,
        steps: view.steps(&run, 0, ROWS_MAX)?,
        journal: view.run_log(&run, 0, ROWS_MAX)?,
        decisions: view.decisions(&decisions)?,
        is_called_off: view.cancel_requested(&run)?,
        row,
    })
}

fn entries(
    view: &mut View<'_>,
    script: &Script,
) -> Result<Vec<(TranscriptEntryRow, Vec<Block>)>, StoreError> {
    let mut entries = Vec::new();
    for row in view.entries(&script.thread(), ROWS_MAX)? {
        let bytes = view
            .blob(&row.content)?
            .ok_or(StoreError::Malformed("transcript_entry.content_hash"))?;
        let blocks = serde_json::from_slice(&bytes).map_err(|_| StoreError::Malformed("blob"))?;
        entries.push((row, blocks));
    }
    Ok(entries)
}

/// The head as the next process would find it.
fn head(world: &Environment, script: &Script) -> Result<Option<LockedHead>, StoreError> {
    let agent = script.agent.clone();
    write(&world.store, move |tx| {
        if tx.agent(&agent)?.is_none() {
            return Ok(None);
        }
        match tx.claim_head(&agent, &wakeful_core::id::RunnerId::new("judge"))? {
            wakeful_store::rows::Claim::Won(fence) => tx.lock_head(&agent, fence).map(Some),
            wakeful_store::rows::Claim::Held { .. } => Ok(None),
        }
    })
}
