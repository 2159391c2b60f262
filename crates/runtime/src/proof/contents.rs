//! Finds the blobs to erase with a run: its transcript entries, the blobs in its run log, and the full
//! outputs that its results reference.

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

/// Blobs searched at once.
const CONTENTS_PAGE: u32 = 64;

/// The blobs of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunContents {
    /// The hashes in the run's rows. Not all of them are blobs: a run log also contains the hashes of
    /// operations and actions.
    pub(super) lines: Vec<BlobHash>,
    /// Full outputs that only these entries reference, each with the entries that do.
    outputs: BTreeMap<BlobHash, BTreeSet<BlobHash>>,
    /// Outputs stored in this generation or later are also used by others; none if there are no outputs.
    pub(super) below: Option<i64>,
}

impl RunContents {
    /// The outputs that are unreferenced once these entries are removed.
    pub(super) fn outputs_after(&self, gone: &[BlobHash]) -> Vec<BlobHash> {
        let outputs = self.outputs.iter();
        let unnamed = outputs.filter(|(_, lines)| lines.iter().all(|line| gone.contains(line)));
        unnamed.map(|(output, _)| *output).collect()
    }
}

/// Finds all blobs of a run.
pub(super) async fn contents(store: &Store, run: &RunRow) -> Result<RunContents, EngineError> {
    let wanted = run.clone();
    let mut lines = store.read(move |view| conversation_blobs(view, &wanted)).await?;
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

/// The blobs of the run's messages and transcript entries.
fn conversation_blobs(view: &mut View<'_>, run: &RunRow) -> Result<BTreeSet<BlobHash>, StoreError> {
    let message = view.message(&run.run_key)?;
    let mut hashes: BTreeSet<BlobHash> = message.map(|message| message.body).into_iter().collect();
    hashes.extend(absorbed_bodies(view, &run.run_key)?);
    let mut after = 0;
    loop {
        let page = view.contents(run, after, PAGE)?;
        let Some((last, _, _)) = page.last() else {
            return Ok(hashes);
        };
        after = *last;
        hashes.extend(page.into_iter().map(|(_, _, hash)| hash));
    }
}

/// The bodies of the other messages that a run absorbed.
fn absorbed_bodies(view: &mut View<'_>, run: &RunKey) -> Result<Vec<BlobHash>, StoreError> {
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

/// Starts a new generation. A blob that is stored again from now on belongs to it, which shows that
/// something else references the blob.
fn begin_generation(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    // When this returns, every blob write in progress has finished.
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
    /// Removes the outputs that are referenced by a row or by a blob outside this run. Anything that looks
    /// like a hash counts, so that no referenced blob is erased.
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

/// Which of the wanted hashes occur in these blobs.
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
