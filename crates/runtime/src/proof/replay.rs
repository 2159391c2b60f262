//! Running a recorded run again, with neither model nor tools: its journal is all that it needs.

use wakeful_core::key::RunKey;
use wakeful_core::proof::replay::{Difference, Replay, Ties, Told};
use wakeful_ports::records::{RUN_OPEN, RUN_QUARANTINED, RunRow};
use wakeful_ports::store::{Store, StoreError, View};

use super::audit::{self, Alteration, Compared, Noted, Rebuilt, check_run};
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
    /// Rows and contents of it that are not as they were written.
    pub alterations: Vec<Alteration>,
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
    let noted = noted(store, &row).await?;
    let (ran, _) = again_with(store, &row, &noted.told).await?;
    let (ties, difference) = match ran.found {
        Ok(ties) => (ties, None),
        Err(difference) => (Ties::default(), Some(difference)),
    };
    let mut alterations = match difference {
        Some(_) => Vec::new(),
        None => altered(store, &row, &noted).await?,
    };
    for content in ran.replay.iter().flat_map(Replay::contents) {
        alterations.extend(audit::blob(store, *content).await?);
    }
    Ok(Replayed {
        row,
        transitions: ran.replay.as_ref().map_or(0, Replay::rows),
        events: ran.events,
        ties,
        difference,
        alterations,
    })
}

/// Rows of a run that its journal and the log do not lead to.
async fn altered<S: Store>(store: &S, row: &RunRow, noted: &Noted) -> Result<Vec<Alteration>, EngineError> {
    let whose = (&row.agent_id, row.run_key);
    match check_run(store, whose, noted, &mut Compared::default()).await {
        Ok(found) => Ok(found),
        Err(error) => Ok(vec![audit::unreadable(&row.run_key, error)?]),
    }
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

/// Runs a run again, with the events that its log has.
pub(super) async fn again<S: Store>(store: &S, row: &RunRow) -> Result<Ran, EngineError> {
    let noted = noted(store, row).await?;
    Ok(again_with(store, row, &noted.told).await?.0)
}

/// What the log says of one run.
async fn noted<S: Store>(store: &S, row: &RunRow) -> Result<Noted, EngineError> {
    let (agent, run) = (row.agent_id.clone(), row.run_key);
    Ok(store.read(move |view| told(view, &agent, &run)).await?)
}

/// Runs a run again and compares it with events; also says which rows its journal leads to.
pub(super) async fn again_with<S: Store>(
    store: &S,
    row: &RunRow,
    told: &[Told],
) -> Result<(Ran, Rebuilt), EngineError> {
    let run = row.run_key;
    let mut rebuilt = Rebuilt::default();
    let turn = match decode(row) {
        Ok(turn) => turn,
        // What is kept of an ended run is compared, not gone on with.
        Err(EngineError::Broken { why, .. }) => {
            let ran = Ran {
                replay: None,
                events: 0,
                found: Err(Difference::NoState(why)),
            };
            return Ok((ran, rebuilt));
        }
        Err(error) => return Err(error),
    };
    let mut replay = Replay::new(turn);
    let compared = match steps(store, row, &mut replay, &mut rebuilt).await? {
        Some(Difference::Erased(_)) => return Err(EngineError::RunErased { run }),
        Some(difference) => Err(difference),
        None => replay.end(row.version, &row.state),
    };
    let found = compared.and_then(|()| {
        let ties = replay.told(told)?;
        // Whoever drives it may have told more since its row was read.
        if has_ended(row) {
            replay.told_no_more(told)?;
        }
        Ok(ties)
    });
    let ran = Ran {
        replay: Some(replay),
        events: told.len(),
        found,
    };
    Ok((ran, rebuilt))
}

/// Whether nobody goes on with a run.
pub(super) fn has_ended(row: &RunRow) -> bool {
    row.status != RUN_OPEN && row.status != RUN_QUARANTINED
}

async fn steps<S: Store>(
    store: &S,
    row: &RunRow,
    replay: &mut Replay,
    rebuilt: &mut Rebuilt,
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
            match replay.step(&recorded(input)) {
                Ok(moved) => rebuilt.take(run, &moved, input.at),
                Err(difference) => return Ok(Some(difference)),
            }
        }
    }
}

/// What the log tells of a run.
fn told(view: &mut dyn View, agent: &wakeful_core::id::AgentId, run: &RunKey) -> Result<Noted, StoreError> {
    let mut noted = Noted::default();
    let Some((first, last)) = view.run_span(agent, run)? else {
        return Ok(noted);
    };
    let mut after = first.saturating_sub(1);
    while after < last {
        let page = view.events(agent, after, EVENTS_PAGE)?;
        let Some(newest) = page.last() else { break };
        after = newest.seq;
        let own = page.iter().filter(|event| event.run_key == Some(*run));
        own.for_each(|event| noted.note(event));
    }
    Ok(noted)
}
