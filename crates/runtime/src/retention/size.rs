//! Measures how much space blobs use, and how much of it each run accounts for.
//!
//! Pruned data stays on disk until garbage collection, which takes hours. If it were counted, every round
//! until then would prune as much again. Therefore only referenced blobs count.

use std::collections::BTreeSet;

use wakeful_core::blob::{BlobHash, names_in};
use wakeful_core::retention::DataClass;
use wakeful_store::StoreError;
use wakeful_store::rows::{DataSize, PruneCandidate, PruneTarget};

use super::gc::CONTENTS_PAGE;
use super::{RetentionWorker, SLICE_ROWS_MAX};
use crate::Halt;
use crate::missing_blob::read_or_none;

/// The size of a class and its excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassLoad {
    /// The total size on disk.
    pub(super) held: DataSize,
    /// Referenced bytes above the limit.
    pub(super) excess: u64,
    /// Whether the size on disk exceeds the limit, referenced or not.
    pub(super) is_over: bool,
}

impl RetentionWorker {
    /// Measures a class. References are searched only if the size on disk exceeds the limit.
    pub(super) async fn load(&self, class: DataClass, halt: &Halt) -> Result<ClassLoad, StoreError> {
        let held = self.store.read(move |view| view.data_size(class)).await?;
        let bounds = self.retention.of(class);
        let is_over = bounds.excess(held.bytes) > 0;
        let unnamed = match (class, is_over) {
            (DataClass::Blobs, true) => self.unnamed(halt).await?.bytes,
            (DataClass::Events | DataClass::Traces | DataClass::Blobs, _) => 0,
        };
        let excess = bounds.excess(held.bytes.saturating_sub(unnamed));
        Ok(ClassLoad {
            held,
            excess,
            is_over,
        })
    }

    /// The size of unreferenced blobs on disk. A lost blob references nothing, so the result may be too
    /// large and too little is pruned, never too much.
    async fn unnamed(&self, halt: &Halt) -> Result<DataSize, StoreError> {
        let (mut sum, mut after) = (DataSize::default(), None);
        while !halt.is_set() {
            let candidates = self.candidates(None, after).await?;
            after = candidates.last().copied();
            if after.is_none() {
                break;
            }
            let unnamed = self.without_named(candidates, read_or_none, halt).await?;
            let unnamed: Vec<BlobHash> = unnamed.into_iter().collect();
            for some in unnamed.chunks(SLICE_ROWS_MAX as usize) {
                let some = some.to_vec();
                let held = self.store.read(move |view| view.blobs_size(&some)).await?;
                sum = sum.and(held);
            }
        }
        Ok(sum)
    }

    /// Measures, from the oldest run on, how much each run adds to those before it, until the total is
    /// sufficient. Other runs may reference the same blobs, so the result is never too small and one round
    /// may prune too little.
    pub(super) async fn measure(
        &self,
        oldest: &mut [PruneCandidate],
        enough: u64,
        halt: &Halt,
    ) -> Result<(), StoreError> {
        let (mut seen, mut sum) = (BTreeSet::new(), 0_u64);
        for aged in oldest {
            if sum >= enough || halt.is_set() {
                break;
            }
            aged.size.bytes = self.named_by_run(aged, &mut seen).await?;
            sum = sum.saturating_add(aged.size.bytes);
        }
        Ok(())
    }

    /// The size of the blobs that a run references, directly or indirectly, and that were not counted yet.
    async fn named_by_run(
        &self,
        aged: &PruneCandidate,
        seen: &mut BTreeSet<BlobHash>,
    ) -> Result<u64, StoreError> {
        let old: PruneTarget = aged.what.clone();
        let names = self.store.read(move |view| view.blob_refs_of(&old)).await?;
        let mut work: Vec<BlobHash> = names.into_iter().filter(|name| seen.insert(*name)).collect();
        let mut bytes = 0_u64;
        while !work.is_empty() {
            let some = work.split_off(work.len().saturating_sub(CONTENTS_PAGE as usize));
            let looked = self.store.read(move |view| {
                let held = view.blobs_size(&some)?;
                let mut found = Vec::new();
                for hash in &some {
                    found.extend(names_in(&read_or_none(view, hash)?));
                }
                Ok((held, found))
            });
            let (held, found) = looked.await?;
            bytes = bytes.saturating_add(held.bytes);
            work.extend(found.into_iter().filter(|name| seen.insert(*name)));
        }
        Ok(bytes)
    }
}
