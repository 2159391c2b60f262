//! Running a recorded run again, with neither model nor tools: its journal is all that it needs.

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

/// Journal rows read at once.
const JOURNAL_PAGE: u32 = 500;

/// Events read at once.
const EVENTS_PAGE: u32 = 2_000;

/// What came of a run that was run again.
#[derive(Debug)]
pub struct ReplayResult {
    /// Which run.
    pub row: RunRow,
    /// Transitions that were compared.
    pub transitions: i64,
    /// Events of it that were compared.
    pub events: usize,
    /// How firmly the log holds it.
    pub ties: BindingStats,
    /// Where it first led elsewhere.
    pub difference: Option<ReplayMismatch>,
    /// Rows and contents of it that are not as they were written.
    pub alterations: Vec<AuditFinding>,
}

/// Runs a recorded run again and compares every state, every effect and every event. A run that is still open is compared
/// as far as it has come.
pub async fn replay(store: &Store, run: RunKey) -> Result<ReplayResult, EngineError> {
    let found = store.read(move |view| Ok(replay_in(view, run))).await?;
    let (mut replayed, contents) = found?;
    for content in contents {
        replayed.alterations.extend(audit::blob(store, content).await?);
    }
    Ok(replayed)
}

/// Replays a run as of one moment, and says which contents its journal names.
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

/// Rows of a run that its journal and the log do not lead to.
fn altered(view: &mut View<'_>, row: &RunRow, events: &RunEvents) -> Result<Vec<AuditFinding>, EngineError> {
    match check_run(view, &row.agent_id, row.run_key, events) {
        Ok(Checked { alterations, .. }) => Ok(alterations),
        Err(error) => Ok(vec![audit::unreadable(&row.run_key, error)?]),
    }
}

/// A run after it was run again.
pub(super) struct ReplayedRun {
    /// Where it came to; none when its state cannot be read.
    pub(super) replay: Option<Replay>,
    /// Events of it that were compared.
    events: usize,
    /// How firmly the log holds it, or where it first led elsewhere.
    pub(super) found: Result<BindingStats, ReplayMismatch>,
}

/// Runs a run again, with the events that its log has.
pub(super) async fn again(store: &Store, row: &RunRow) -> Result<ReplayedRun, EngineError> {
    let row = row.clone();
    let ran = store.read(move |view| {
        let events = run_events(view, &row.agent_id, &row.run_key)?;
        Ok(again_with(view, &row, &events.told))
    });
    Ok(ran.await??.0)
}

/// Runs a run again and compares it with events; also says which rows its journal leads to.
pub(super) fn again_with(
    view: &mut View<'_>,
    row: &RunRow,
    told: &[LoggedEvent],
) -> Result<(ReplayedRun, RebuiltRun), EngineError> {
    let run = row.run_key;
    let mut rebuilt = RebuiltRun::default();
    let turn = match decode(row) {
        Ok(turn) => turn,
        // What is kept of an ended run is compared, not gone on with.
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

/// Whether nobody goes on with a run.
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

/// What the log tells of a run.
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
