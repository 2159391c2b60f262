//! Replays a stored run without model or tools: its run log is sufficient.

use std::collections::BTreeSet;

use wakeful_core::blob::BlobHash;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::proof::replay::{BindingStats, LoggedEvent, Replay, ReplayMismatch};
use wakeful_core::run::RunStatus;
use wakeful_store::rows::RunRow;
use wakeful_store::{Store, StoreError, View};

use super::audit::{self, AuditFinding, Checked, RebuiltRun, RunEvents, check_run};
use super::recorded;
use crate::EngineError;
use crate::run::decode;

/// Run log rows read at once.
const JOURNAL_PAGE: u32 = 500;

/// Events read at once.
const EVENTS_PAGE: u32 = 2_000;

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayResult {
    pub row: RunRow,
    /// The number of transitions that were compared.
    pub transitions: i64,
    /// The number of events that were compared.
    pub events: usize,
    /// How much of the run is bound to the log.
    pub ties: BindingStats,
    /// The first mismatch.
    pub difference: Option<ReplayMismatch>,
    /// Rows and blobs of the run that differ from what was written.
    pub alterations: Vec<AuditFinding>,
}

/// Replays a run and compares every state, effect and event. An open run is compared up to its current
/// state.
pub async fn replay(store: &Store, run: RunKey) -> Result<ReplayResult, EngineError> {
    let found = store.read(move |view| Ok(replay_in(view, run))).await?;
    let (mut replayed, contents) = found?;
    for content in contents {
        replayed.alterations.extend(audit::blob(store, content).await?);
    }
    Ok(replayed)
}

/// Replays a run in one snapshot, and returns the hashes that its run log contains.
fn replay_in(view: &mut View<'_>, run: RunKey) -> Result<(ReplayResult, BTreeSet<BlobHash>), EngineError> {
    let row = view.run(&run)?.ok_or(EngineError::UnknownRun(run))?;
    if view.is_pruned(&run)? {
        return Err(EngineError::RunPruned { run });
    }
    let events = run_events(view, &row.agent_id, &run)?;
    let (ran, _) = again_with(view, &row, &events.told)?;
    let (ties, difference) = match ran.found {
        Ok(ties) => (ties, None),
        Err(difference) => (BindingStats::default(), Some(difference)),
    };
    let alterations = match difference {
        Some(_) => Vec::new(),
        None => altered(view, &row, &events)?,
    };
    let contents = ran.replay.iter().flat_map(Replay::contents).copied().collect();
    let replayed = ReplayResult {
        row,
        transitions: ran.replay.as_ref().map_or(0, Replay::rows),
        events: ran.events,
        ties,
        difference,
        alterations,
    };
    Ok((replayed, contents))
}

/// The rows of a run that do not follow from its run log and events.
fn altered(view: &mut View<'_>, row: &RunRow, events: &RunEvents) -> Result<Vec<AuditFinding>, EngineError> {
    match check_run(view, &row.agent_id, row.run_key, events) {
        Ok(Checked { alterations, .. }) => Ok(alterations),
        Err(error) => Ok(vec![audit::unreadable(&row.run_key, error)?]),
    }
}

/// A run after its replay.
pub(super) struct ReplayedRun {
    /// The final state of the replay; none if a state is unreadable.
    pub(super) replay: Option<Replay>,
    /// The number of events that were compared.
    events: usize,
    /// How much of the run is bound to the log, or the first mismatch.
    pub(super) found: Result<BindingStats, ReplayMismatch>,
}

/// Replays a run with the events of its log.
pub(super) async fn again(store: &Store, row: &RunRow) -> Result<ReplayedRun, EngineError> {
    let row = row.clone();
    let ran = store.read(move |view| {
        let events = run_events(view, &row.agent_id, &row.run_key)?;
        Ok(again_with(view, &row, &events.told))
    });
    Ok(ran.await??.0)
}

/// Replays a run and compares it with the given events; also returns the rows that its run log leads to.
pub(super) fn again_with(
    view: &mut View<'_>,
    row: &RunRow,
    told: &[LoggedEvent],
) -> Result<(ReplayedRun, RebuiltRun), EngineError> {
    let run = row.run_key;
    let mut rebuilt = RebuiltRun::default();
    let turn = match decode(row) {
        Ok(turn) => turn,
        // An ended run is only compared, so an unreadable state does not stop the replay.
        Err(EngineError::InvalidState { why, .. }) => {
            let ran = ReplayedRun {
                replay: None,
                events: 0,
                found: Err(ReplayMismatch::NoState(why)),
            };
            return Ok((ran, rebuilt));
        }
        Err(error) => return Err(error),
    };
    let mut replay = Replay::new(turn);
    let compared = match steps(view, row, &mut replay, &mut rebuilt)? {
        Some(ReplayMismatch::Erased(_)) => return Err(EngineError::RunErased { run }),
        Some(difference) => Err(difference),
        None => replay.end(row.version, &row.state),
    };
    let found = compared.and_then(|()| {
        let ties = replay.compare_events(told)?;
        replay.check_no_extra_events(told)?;
        Ok(ties)
    });
    let ran = ReplayedRun {
        replay: Some(replay),
        events: told.len(),
        found,
    };
    Ok((ran, rebuilt))
}

/// Whether the run can no longer continue.
pub(super) fn has_ended(row: &RunRow) -> bool {
    row.status != RunStatus::Open && row.status != RunStatus::Quarantined
}

fn steps(
    view: &mut View<'_>,
    row: &RunRow,
    replay: &mut Replay,
    rebuilt: &mut RebuiltRun,
) -> Result<Option<ReplayMismatch>, StoreError> {
    let (run, version, mut after) = (row.run_key, row.version, 0);
    loop {
        let page = view.run_log(&run, after, JOURNAL_PAGE)?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        after = last.ordinal;
        for input in &page {
            if input.ordinal > version {
                let rows = input.ordinal;
                return Ok(Some(ReplayMismatch::Length { rows, version }));
            }
            match replay.step(&recorded(input)) {
                Ok(moved) => rebuilt.take(run, &moved, input.at),
                Err(difference) => return Ok(Some(difference)),
            }
        }
    }
}

/// Reads the events of a run.
fn run_events(view: &mut View<'_>, agent: &AgentId, run: &RunKey) -> Result<RunEvents, StoreError> {
    let mut events = RunEvents::default();
    let Some((first, last)) = view.run_span(agent, run)? else {
        return Ok(events);
    };
    let mut after = first.saturating_sub(1);
    while after < last {
        let page = view.events(agent, after, EVENTS_PAGE)?;
        let Some(newest) = page.last() else { break };
        after = newest.seq;
        let own = page.iter().filter(|event| event.run_key == Some(*run));
        own.for_each(|event| events.note(event));
    }
    Ok(events)
}
