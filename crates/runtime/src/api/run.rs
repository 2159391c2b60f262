//! Runs: listing, reading, resuming and abandoning them.

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::report::payload::QuarantineResolved;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::run::RunStatus;
use wakeful_core::wake::{Lifecycle, Refusal, Suspension, Wait};
use wakeful_store::rows::{RunRow, StepRow};
use wakeful_store::{StoreError, Tx};

use super::run_list::{self, ListedRun, RunPage, RunQuery};
use super::shared::{Shared, append};
use super::step_contents::{self, Selection, StepContents};
use crate::stored_run::StoredRun;
use crate::sub_run::{end_children, lock_all, parent_of};
use crate::{EngineError, Observer as _, Stamp, stored_run};

/// A listed row with the first words of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previewed<R> {
    pub row: R,
    /// The beginning of the message; none if it was erased.
    pub preview: Option<String>,
    /// Whether a person erased the contents.
    pub is_erased: bool,
}

/// The result of resuming or abandoning a quarantined run.
enum QuarantineExit {
    /// Contains the agent, the event and the other agents whose runs end with it.
    Done(AgentId, Box<Event>, Vec<AgentId>),
    Not(Box<RunRow>),
    Refused(Refusal),
    Unknown,
}

pub struct RunApi {
    pub(super) shared: Arc<Shared>,
}

impl RunApi {
    async fn leave_quarantine(&self, run: RunKey, status: RunStatus) -> Result<StoredRun, EngineError> {
        let at = self.shared.clock.now();
        let released = QuarantineResolved { run_key: run, status };
        let sealed = self
            .shared
            .seal(EventDraft::new(released.clone()), Some(run), at)?;
        let salt = self.shared.entropy.random_bytes();
        let moved = self
            .shared
            .write(move |tx| leave_quarantine_in(tx, &released, &sealed, Stamp { at, salt }));
        match moved.await? {
            QuarantineExit::Unknown => return Err(EngineError::UnknownRun(run)),
            QuarantineExit::Not(row) => {
                let status = row.status;
                return Err(EngineError::NotQuarantined { run, status });
            }
            QuarantineExit::Refused(refusal) => return Err(refusal.into()),
            QuarantineExit::Done(agent, event, others) => {
                self.shared.hub.on_events(&agent, &[*event]);
                self.shared.work.signal_agent(agent);
                self.shared.signal_all(others);
            }
        }
        stored_run::load(&self.shared.store, run).await
    }

    pub async fn resume(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.leave_quarantine(run, RunStatus::Open).await
    }

    pub async fn abandon(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.leave_quarantine(run, RunStatus::Abandoned).await
    }

    /// Lists runs, newest first.
    pub async fn list(&self, query: RunQuery) -> Result<RunPage, EngineError> {
        match query.agent_id.clone() {
            Some(agent) => {
                let read = self
                    .shared
                    .of_agent(agent, move |view, _| run_list::page(view, &query));
                read.await
            }
            None => {
                let read = self.shared.store.read(move |view| run_list::page(view, &query));
                Ok(read.await?)
            }
        }
    }

    /// Returns one run with its steps, and what each step received and produced.
    pub async fn get(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.with_contents(run, Selection::All).await
    }

    /// Returns one step of a run in full; none if the run has no such step.
    pub async fn step(
        &self,
        run: RunKey,
        operation: OperationId,
    ) -> Result<Option<(StepRow, StepContents)>, EngineError> {
        let mut stored = self.with_contents(run, Selection::One(operation)).await?;
        let contents = stored.contents.remove(&operation).unwrap_or_default();
        let mut steps = stored.steps.into_iter();
        let step = steps.find(|step| step.operation_id == operation);
        Ok(step.map(|step| (step, contents)))
    }

    async fn with_contents(&self, run: RunKey, selection: Selection) -> Result<StoredRun, EngineError> {
        let stored = stored_run::load(&self.shared.store, run).await?;
        let read = self.shared.store.read(move |view| {
            let mut contents = step_contents::read(view, &stored, selection)?;
            for step in &stored.steps {
                if let Some(invocation) = stored.invocation(step) {
                    contents.entry(step.operation_id).or_default().invocation = Some(invocation);
                }
            }
            Ok(StoredRun {
                contents,
                ..stored.clone()
            })
        });
        Ok(read.await?)
    }

    /// Returns the runs whose key starts with these hex digits, or that have a decision or a step whose id
    /// does: a few, and more than one if the prefix is ambiguous. Queued messages and refused causes count.
    pub async fn with_prefix(&self, hex_prefix: String) -> Result<Vec<ListedRun>, EngineError> {
        let found = self.shared.store.read(move |view| {
            let mut rows = Vec::new();
            for key in view.runs_with_prefix(&hex_prefix)? {
                let row = match view.run(&key)? {
                    Some(row) => Some(row),
                    None => match stored_run::cause(view, &key)? {
                        Some(cause) => Some(stored_run::without_run(&cause.message, cause.wake.as_ref())),
                        None => view.wake(&key)?.map(stored_run::refused),
                    },
                };
                rows.extend(row);
            }
            run_list::listed(view, rows)
        });
        Ok(found.await?)
    }
}

/// Resumes a quarantined run, or ends it together with its sub-runs.
fn leave_quarantine_in(
    tx: &mut Tx<'_>,
    released: &QuarantineResolved,
    sealed: &SealedEvent,
    stamp: Stamp,
) -> Result<QuarantineExit, StoreError> {
    let (run, status) = (released.run_key, released.status);
    let Some(row) = tx.run(&run)? else {
        return Ok(QuarantineExit::Unknown);
    };
    let (agent, parent, is_end) = (
        row.agent_id.clone(),
        parent_of(tx, &run)?,
        status == RunStatus::Abandoned,
    );
    // Starting a sub-run needs the same head, and a quarantined run has no driver, so this list is
    // complete.
    let children = if is_end { tx.children(&run)? } else { Vec::new() };
    let concerned = children.into_iter().map(|child| child.agent_id);
    let concerned = concerned.chain(parent.as_ref().map(|parent| parent.agent_id.clone()));
    let mut heads = lock_all(tx, &concerned.chain([agent.clone()]).collect())?;
    let Some(mut head) = heads.remove(&agent) else {
        return Ok(QuarantineExit::Unknown);
    };
    // No other run starts while the head is locked. Two open runs in one thread would consume each other's
    // answers.
    let is_busy = !is_end
        && tx
            .overview(&agent)?
            .is_some_and(|overview| overview.open_run.is_some());
    let is_aside = tx
        .run(&run)?
        .is_some_and(|row| row.status == RunStatus::Quarantined);
    // A resumed run would act for an agent that no longer exists.
    let lifecycle = tx.agent(&agent)?.map(|agent| agent.lifecycle);
    if is_aside && !is_end && lifecycle == Some(Lifecycle::Destroyed) {
        return Ok(QuarantineExit::Refused(Refusal::Destroyed));
    }
    if !is_aside || !tx.set_run_status(&run, status, None, stamp.at)? {
        return Ok(QuarantineExit::Not(Box::new(row)));
    }
    if is_busy {
        let (wait, since) = (Wait::Turn, stamp.at);
        tx.suspend_run(&run, Suspension { wait, since })?;
    }
    let mut others = Vec::new();
    if is_end {
        // The run never continues, so the outcomes of its steps and sub-runs stay unknown.
        tx.mark_steps_unknown(&run)?;
        others = end_children(tx, &run, &mut heads, stamp)?;
    }
    // A resumed run has not ended: its parent checks once and keeps waiting.
    if let Some(parent) = parent {
        tx.make_run_due(&parent.run_key)?;
    }
    let event = append(tx, &agent, &mut head, sealed)?;
    Ok(QuarantineExit::Done(agent, Box::new(event), others))
}
