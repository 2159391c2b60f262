//! Running a recorded run again, with neither model nor tools: its journal is all that it needs.

use wakeful_core::key::{Digest, RunKey};
use wakeful_core::proof::replay::{Difference, Replay, Told};
use wakeful_ports::records::{EventRow, RunRow};
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
    let mut replay = Replay::new(decode(&row)?);
    let difference = match steps(store, &row, &mut replay).await? {
        Some(difference) => Some(difference),
        None => replay.end(row.version, &row.state).err(),
    };
    if let Some(Difference::Erased(_)) = difference {
        return Err(EngineError::RunErased { run });
    }
    let agent = row.agent_id.clone();
    let told = store.read(move |view| told(view, &agent, &run)).await?;
    let difference = difference.or_else(|| replay.told(&told).err());
    Ok(Replayed {
        row,
        transitions: replay.rows(),
        events: told.len(),
        difference,
    })
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
        // Whoever drives it may have gone on since its row was read.
        for row in page.iter().filter(|row| row.ordinal <= version) {
            if let Err(difference) = replay.step(&recorded(row)) {
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
