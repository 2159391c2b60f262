//! Garbage collection of unreferenced blobs.
//!
//! Every blob that was not stored recently is a candidate. References are then searched in the rows and in
//! referenced blobs, because the text that a model read references the full output of a tool. Unreferenced
//! candidates are removed unless they were stored again meanwhile. Anything that looks like a hash counts,
//! so that an error keeps too much and never too little.

use std::collections::BTreeSet;

use wakeful_core::blob::{BlobHash, names_in};
use wakeful_store::rows::{BlobRefCursor, DataSize};
use wakeful_store::{StoreError, View};

use super::{RetentionWorker, SLICE_ROWS_MAX};
use crate::Halt;
use crate::missing_blob::{BlobReader, read_or_error};

/// Candidates that are held in memory at once: some tens of megabytes. More are processed in several
/// passes.
pub(super) const CANDIDATES_MAX: usize = 1_000_000;

/// Rows and blobs that are read at once.
const ROWS_PAGE: u32 = 2_000;
pub(super) const CONTENTS_PAGE: u32 = 64;

impl RetentionWorker {
    /// Removes unreferenced blobs last stored before a generation. Returns the removed size.
    pub(super) async fn sweep(&self, below: i64, halt: &Halt) -> Result<DataSize, StoreError> {
        let (mut swept, mut after) = (DataSize::default(), None);
        loop {
            let mut candidates = self.candidates(Some(below), after).await?;
            let Some(last) = candidates.last().copied() else {
                break;
            };
            let is_last = candidates.len() < CANDIDATES_MAX;
            candidates = self.without_named(candidates, read_or_error, halt).await?;
            if halt.is_set() {
                return Ok(swept);
            }
            let unnamed: Vec<BlobHash> = candidates.into_iter().collect();
            for some in unnamed.chunks(SLICE_ROWS_MAX as usize) {
                let some = some.to_vec();
                let removed = self.store.write(move |tx| tx.sweep_blobs(&some, below));
                swept = swept.and(removed.await?);
                tokio::task::yield_now().await;
            }
            if is_last {
                break;
            }
            after = Some(last);
        }
        Ok(swept)
    }

    pub(super) async fn candidates(
        &self,
        below: Option<i64>,
        mut after: Option<BlobHash>,
    ) -> Result<BTreeSet<BlobHash>, StoreError> {
        let mut candidates = BTreeSet::new();
        while candidates.len() < CANDIDATES_MAX {
            let page = self
                .store
                .read(move |view| view.blobs(below, after, ROWS_PAGE))
                .await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            candidates.extend(page);
        }
        Ok(candidates)
    }

    /// The unreferenced candidates. Incomplete, and not to be used, once the process halts.
    pub(super) async fn without_named(
        &self,
        candidates: BTreeSet<BlobHash>,
        reads: BlobReader,
        halt: &Halt,
    ) -> Result<BTreeSet<BlobHash>, StoreError> {
        let candidates = self.without_named_by_rows(candidates, halt).await?;
        self.without_named_by_contents(candidates, reads, halt).await
    }

    async fn without_named_by_rows(
        &self,
        mut candidates: BTreeSet<BlobHash>,
        halt: &Halt,
    ) -> Result<BTreeSet<BlobHash>, StoreError> {
        let mut from = Some(BlobRefCursor::START);
        while let (Some(place), false) = (from, halt.is_set()) {
            let names = self
                .store
                .read(move |view| view.blob_refs(&place, ROWS_PAGE))
                .await?;
            for name in &names.found {
                candidates.remove(name);
            }
            from = names.next;
        }
        Ok(candidates)
    }

    /// Searches every blob that is not a candidate, and then the blobs that those reference, recursively.
    async fn without_named_by_contents(
        &self,
        mut candidates: BTreeSet<BlobHash>,
        reads: BlobReader,
        halt: &Halt,
    ) -> Result<BTreeSet<BlobHash>, StoreError> {
        let mut after = None;
        while !candidates.is_empty() && !halt.is_set() {
            let page = self
                .store
                .read(move |view| view.blobs(None, after, CONTENTS_PAGE))
                .await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            let named = page.into_iter().filter(|hash| !candidates.contains(hash));
            let mut work: Vec<BlobHash> = named.collect();
            while !work.is_empty() {
                let some = work.split_off(work.len().saturating_sub(CONTENTS_PAGE as usize));
                // Moved into the closure and returned: copying a million hashes for every few blobs would
                // be too slow.
                let looked = self
                    .store
                    .read(move |view| Ok((named_by(view, &some, &candidates, reads)?, candidates)));
                let found;
                (found, candidates) = looked.await?;
                work.extend(found.into_iter().filter(|hash| candidates.remove(hash)));
            }
        }
        Ok(candidates)
    }
}

/// Which of the wanted hashes occur in these blobs.
fn named_by(
    view: &mut View<'_>,
    contents: &[BlobHash],
    wanted: &BTreeSet<BlobHash>,
    reads: BlobReader,
) -> Result<BTreeSet<BlobHash>, StoreError> {
    let mut found = BTreeSet::new();
    for hash in contents {
        // A blob that was removed meanwhile references nothing.
        let bytes = reads(view, hash)?;
        found.extend(names_in(&bytes).filter(|name| wanted.contains(name)));
    }
    Ok(found)
}
