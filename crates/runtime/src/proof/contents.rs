//! Which contents go with a run that is erased: what was said in it, what its journal speaks of, and the whole outputs that
//! its results name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wakeful_core::blob::{BlobHash, names_in};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::proof::bundle::artifacts_in;
use wakeful_store::rows::{BlobRefCursor, RetentionStateRow, RunRow};
use wakeful_store::{Store, StoreError, Tx, View};

use crate::EngineError;
use crate::missing_blob::read_or_none;

/// Rows read at once.
const PAGE: u32 = 500;

/// Contents looked through at once.
const CONTENTS_PAGE: u32 = 64;

/// The contents of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunContents {
    /// What its rows name. Hashes that are no contents are among them: a journal names operations and actions alike.
    pub(super) lines: Vec<BlobHash>,
    /// Whole outputs that only these lines name, each with those that do.
    outputs: BTreeMap<BlobHash, BTreeSet<BlobHash>>,
    /// Outputs that were put in this generation or later belong to others as well; none where there are no outputs.
    pub(super) below: Option<i64>,
}

impl RunContents {
    /// The outputs that nothing names any more, now that these lines are gone.
    pub(super) fn outputs_after(&self, gone: &[BlobHash]) -> Vec<BlobHash> {
        let outputs = self.outputs.iter();
        let unnamed = outputs.filter(|(_, lines)| lines.iter().all(|line| gone.contains(line)));
        unnamed.map(|(output, _)| *output).collect()
    }
}

/// Finds them all.
pub(super) async fn contents(store: &Store, run: &RunRow) -> Result<RunContents, EngineError> {
    let wanted = run.clone();
    let mut lines = store.read(move |view| said(view, &wanted)).await?;
    let (key, mut after) = (run.run_key, 0);
    loop {
        let page = store.read(move |view| view.run_log(&key, after, PAGE)).await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        for row in &page {
            let body: Value = serde_json::from_slice(&row.body).unwrap_or_default();
            gather(&body, &mut lines);
        }
    }
    let mut outputs: BTreeMap<BlobHash, BTreeSet<BlobHash>> = BTreeMap::new();
    for line in &lines {
        for output in outputs_of(store, *line).await? {
            outputs.entry(output).or_default().insert(*line);
        }
    }
    outputs.retain(|output, _| !lines.contains(output));
    let mut found = RunContents {
        lines: lines.into_iter().collect(),
        outputs,
        below: None,
    };
    if !found.outputs.is_empty() {
        found.below = Some(store.write(begin_generation).await?);
        found.without_named_by_others(store).await?;
    }
    Ok(found)
}

/// What was said in a run, and to it.
fn said(view: &mut View<'_>, run: &RunRow) -> Result<BTreeSet<BlobHash>, StoreError> {
    let message = view.message(&run.run_key)?;
    let mut hashes: BTreeSet<BlobHash> = message.map(|message| message.body).into_iter().collect();
    hashes.extend(taken_up(view, &run.run_key)?);
    let mut after = 0;
    loop {
        let page = view.contents(run, after, PAGE)?;
        let Some((last, _)) = page.last() else {
            return Ok(hashes);
        };
        after = *last;
        hashes.extend(page.into_iter().map(|(_, hash)| hash));
    }
}

/// What the messages say that a run took up beside its own.
fn taken_up(view: &mut View<'_>, run: &RunKey) -> Result<Vec<BlobHash>, StoreError> {
    let mut bodies = Vec::new();
    for wake in view.absorbed_by(run)? {
        bodies.extend(view.message(&wake.run_key)?.map(|message| message.body));
    }
    Ok(bodies)
}

fn gather(value: &Value, hashes: &mut BTreeSet<BlobHash>) {
    match value {
        Value::String(text) => hashes.extend(Digest::from_hex(text).map(BlobHash)),
        Value::Array(items) => items.iter().for_each(|item| gather(item, hashes)),
        Value::Object(members) => members.values().for_each(|member| gather(member, hashes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

async fn outputs_of(store: &Store, line: BlobHash) -> Result<BTreeSet<BlobHash>, EngineError> {
    let bytes = store.read(move |view| read_or_none(view, &line)).await?;
    Ok(artifacts_in(&bytes))
}

/// From here on whoever puts a content again puts it into a new generation, and by that it is known that somebody else
/// has come to name it.
fn begin_generation(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    // Whoever is putting one at this moment has finished when this returns.
    tx.erase_blobs(&[], None)?;
    let care = tx.retention_state()?;
    let next = RetentionStateRow {
        generation: care.generation.saturating_add(1),
        ..care
    };
    match tx.put_retention_state(&next, care.generation)? {
        true => Ok(next.generation),
        false => Err(StoreError::Conflict),
    }
}

impl RunContents {
    /// Forgets the outputs that anything else names: a row, or a content that is not of this run. Whatever looks like a name
    /// counts, so that nothing is lost that somebody has.
    async fn without_named_by_others(&mut self, store: &Store) -> Result<(), EngineError> {
        let mut from = Some(BlobRefCursor::START);
        while let Some(place) = from {
            let names = store.read(move |view| view.blob_refs(&place, PAGE)).await?;
            for name in &names.found {
                self.outputs.remove(name);
            }
            from = names.next;
        }
        let own: BTreeSet<BlobHash> = self.lines.iter().chain(self.outputs.keys()).copied().collect();
        let mut after = None;
        while !self.outputs.is_empty() {
            let page = store.read(move |view| view.blobs(None, after, CONTENTS_PAGE));
            let page = page.await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            let others: Vec<BlobHash> = page.into_iter().filter(|hash| !own.contains(hash)).collect();
            let wanted: BTreeSet<BlobHash> = self.outputs.keys().copied().collect();
            let named = store.read(move |view| named_by(view, &others, &wanted)).await?;
            self.outputs.retain(|output, _| !named.contains(output));
        }
        Ok(())
    }
}

/// Which of the wanted names stand in these contents.
fn named_by(
    view: &mut View<'_>,
    contents: &[BlobHash],
    wanted: &BTreeSet<BlobHash>,
) -> Result<BTreeSet<BlobHash>, StoreError> {
    let mut found = BTreeSet::new();
    for hash in contents {
        let bytes = read_or_none(view, hash)?;
        found.extend(names_in(&bytes).filter(|name| wanted.contains(name)));
    }
    Ok(found)
}
