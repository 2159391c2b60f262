//! Running a recorded run again, with neither model nor tools: its journal is all that it needs.

use wakeful_core::key::{Digest, RunKey};
use wakeful_core::proof::replay::{Difference, Replay, Ties, Told};
use wakeful_ports::records::{EventRow, RUN_OPEN, RUN_QUARANTINED, RunRow};
use wakeful_ports::store::{Store, StoreError, View};

use super::recorded;
use crate::EngineError;
use crate::run::decode;

/// Journal rows read at once.
const JOURNAL_PAGE: u32 = 500;

/// Events read at once.
const EVENTS_PAGE: u32 = 2_000;

/// What came of a run that was run again.
#[derive(Debug)]
pub struct Replayed {
    /// Which run.
    pub row: RunRow,
    /// Transitions that were compared.
    pub transitions: i64,
    /// Events of it that were compared.
    pub events: usize,
    /// How firmly the log holds it.
    pub ties: Ties,
    /// Where it first led elsewhere.
    pub difference: Option<Difference>,
}

/// Runs a recorded run again and compares every state, every effect and every event. A run that is still open is compared
/// as far as it has come.
pub async fn replay<S: Store>(store: &S, run: RunKey) -> Result<Replayed, EngineError> {
    let found = store.read(move |view| Ok((view.run(&run)?, view.is_pruned(&run)?)));
    let (row, is_pruned) = found.await?;
    let row = row.ok_or(EngineError::UnknownRun(run))?;
    if is_pruned {
        return Err(EngineError::RunPruned { run });
    }
    let ran = again(store, &row).await?;
    let (ties, difference) = match ran.found {
        Ok(ties) => (ties, None),
        Err(difference) => (Ties::default(), Some(difference)),
    };
    Ok(Replayed {
        row,
        transitions: ran.replay.as_ref().map_or(0, Replay::rows),
        events: ran.events,
        ties,
        difference,
    })
}

/// A run after it was run again.
pub(super) struct Ran {
    /// Where it came to; none when its state cannot be read.
    pub(super) replay: Option<Replay>,
    /// Events of it that were compared.
    events: usize,
    /// How firmly the log holds it, or where it first led elsewhere.
    pub(super) found: Result<Ties, Difference>,
}

/// Runs a run again.
pub(super) async fn again<S: Store>(store: &S, row: &RunRow) -> Result<Ran, EngineError> {
    let (run, agent) = (row.run_key, row.agent_id.clone());
    let turn = match decode(row) {
        Ok(turn) => turn,
        // What is kept of an ended run is compared, not gone on with.
        Err(EngineError::Broken { why, .. }) => {
            return Ok(Ran {
                replay: None,
                events: 0,
                found: Err(Difference::NoState(why)),
            });
        }
        Err(error) => return Err(error),
    };
    let mut replay = Replay::new(turn);
    let compared = match steps(store, row, &mut replay).await? {
        Some(Difference::Erased(_)) => return Err(EngineError::RunErased { run }),
        Some(difference) => Err(difference),
        None => replay.end(row.version, &row.state),
    };
    let told = store.read(move |view| told(view, &agent, &run)).await?;
    let found = compared.and_then(|()| {
        let ties = replay.told(&told)?;
        // Whoever drives it may have told more since its row was read.
        if has_ended(row) {
            replay.told_no_more(&told)?;
        }
        Ok(ties)
    });
    Ok(Ran {
        replay: Some(replay),
        events: told.len(),
        found,
    })
}

/// Whether nobody goes on with a run.
pub(super) fn has_ended(row: &RunRow) -> bool {
    row.status != RUN_OPEN && row.status != RUN_QUARANTINED
}

async fn steps<S: Store>(
    store: &S,
    row: &RunRow,
    replay: &mut Replay,
) -> Result<Option<Difference>, EngineError> {
    let (run, version, mut after) = (row.run_key, row.version, 0);
    loop {
        let page = store
            .read(move |view| view.journal(&run, after, JOURNAL_PAGE))
            .await?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        after = last.ordinal;
        for input in &page {
            if input.ordinal > version {
                // Whoever drives it may have gone on since its row was read; with one that has ended nobody goes on.
                let rows = input.ordinal;
                let longer = has_ended(row).then_some(Difference::Length { rows, version });
                return Ok(longer);
            }
            if let Err(difference) = replay.step(&recorded(input)) {
                return Ok(Some(difference));
            }
        }
    }
}

/// What the log tells of a run.
fn told(
    view: &mut dyn View,
    agent: &wakeful_core::id::AgentId,
    run: &RunKey,
) -> Result<Vec<Told>, StoreError> {
    let Some((first, last)) = view.run_span(agent, run)? else {
        return Ok(Vec::new());
    };
    let (mut told, mut after) = (Vec::new(), first.saturating_sub(1));
    while after < last {
        let page = view.events(agent, after, EVENTS_PAGE)?;
        let Some(newest) = page.last() else { break };
        after = newest.seq;
        let own = page.iter().filter(|event| event.run_key == Some(*run));
        told.extend(own.map(digest));
    }
    Ok(told)
}

fn digest(event: &EventRow) -> Told {
    let payload = event.payload.as_ref();
    (
        event.kind.clone(),
        payload.map(|(payload, _)| Digest::of(payload)),
    )
}
