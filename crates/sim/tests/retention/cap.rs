//! A cap on contents prunes only as many runs as needed, the oldest first. Contents that were pruned and
//! are not swept yet still occupy the disk, but count as removed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::retention::{DAY_MS, RUNS_KEPT_MIN, Retention, RetentionLimit};
use wakeful_runtime::Halt;
use wakeful_runtime::retention::{GcMode, RetentionWorker};
use wakeful_store::rows::{PackedBlob, PackedBody};

use super::{RetentionFixture, block_on, key};

const HOUR_MS: i64 = DAY_MS / 24;

/// The smallest possible cap.
const CAP_BYTES: u64 = 1 << 20;

/// No age limit, and a cap of one mebibyte on contents.
const A_MEBIBYTE: Retention = {
    let unbounded = RetentionLimit { days: 0, mib: 0 };
    Retention {
        events: unbounded,
        traces: unbounded,
        blobs: RetentionLimit { days: 0, mib: 1 },
    }
};

/// A fixture whose runs and their blobs are known to the test.
struct Capped {
    house: RetentionFixture,
    /// By number, which is also their order of age.
    runs: Vec<[BlobHash; 3]>,
    sizes: BTreeMap<BlobHash, u64>,
}

impl Capped {
    async fn new() -> Self {
        let house = RetentionFixture::new().await;
        let keeper = RetentionWorker {
            retention: A_MEBIBYTE,
            ..house.keeper
        };
        Self {
            house: RetentionFixture { keeper, ..house },
            runs: Vec::new(),
            sizes: BTreeMap::new(),
        }
    }

    /// Adds an ended run about a topic, with this much output.
    async fn run(&mut self, topic: u8, kib: usize) {
        let output = Blob::new(noise(topic, kib));
        let result = Blob::new(format!(r#"{{"topic":{topic},"artifact":"{}"}}"#, output.hash()).into_bytes());
        let prompt = Blob::new(format!("prompt {topic} {kib}").into_bytes());
        let mut packed = Vec::new();
        for blob in [prompt, result, output] {
            packed.push(self.house.store.pack(blob).await.expect("packed"));
        }
        self.sizes
            .extend(packed.iter().map(|blob| (blob.hash, size(blob))));
        let names: Vec<BlobHash> = packed.iter().map(|blob| blob.hash).collect();
        self.runs.push(names.try_into().expect("three"));
        self.house.commit(packed, false).await;
        self.house.pass(1_000);
    }

    async fn round(&self, sweep: GcMode) -> BTreeSet<u32> {
        let before = self.pruned().await;
        let round = self.house.keeper.run_round(sweep, &Halt::never()).await;
        assert!(round.expect("a round").is_done);
        self.pruned().await.difference(&before).copied().collect()
    }

    /// The runs whose contents were pruned.
    async fn pruned(&self) -> BTreeSet<u32> {
        let runs = self.house.runs;
        let pruned = self.house.store.read(move |view| {
            let mut pruned = BTreeSet::new();
            for number in 1..=runs {
                if view.is_pruned(&key(number))? {
                    pruned.insert(number);
                }
            }
            Ok(pruned)
        });
        pruned.await.expect("read")
    }

    /// How many bytes the other runs reference, given the pruned ones.
    fn named(&self, pruned: &BTreeSet<u32>) -> u64 {
        let whole = (1..)
            .zip(&self.runs)
            .filter(|(number, _)| !pruned.contains(number));
        let named: BTreeSet<BlobHash> = whole.flat_map(|(_, names)| *names).collect();
        named.iter().filter_map(|hash| self.sizes.get(hash)).sum()
    }

    /// Checks that the pruned runs are the oldest, and that without the last one the cap would be exceeded.
    async fn judge(&self, taken: &BTreeSet<u32>) -> Result<(), TestCaseError> {
        let mut pruned = self.pruned().await;
        let oldest: BTreeSet<u32> = (1..).take(pruned.len()).collect();
        prop_assert_eq!(&pruned, &oldest);
        if let Some(last) = taken.last() {
            pruned.remove(last);
            prop_assert!(self.named(&pruned) > CAP_BYTES, "run {} went for nothing", last);
        }
        Ok(())
    }
}

fn size(blob: &PackedBlob) -> u64 {
    match &blob.body {
        PackedBody::Raw(bytes) | PackedBody::Lz4(bytes) => bytes.len() as u64,
        PackedBody::File(_) => blob.size,
    }
}

/// Incompressible bytes.
fn noise(topic: u8, kib: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(topic) << 40;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(kib * 128).flatten().collect()
}

#[test]
fn contents_pruned_for_a_cap_are_not_counted_again_before_sweeping() {
    block_on(async {
        let mut capped = Capped::new().await;
        for topic in 0..120 {
            capped.run(topic, 10).await;
        }
        let first = capped.round(GcMode::WhereDue).await;
        assert!((15..=20).contains(&first.len()), "{first:?}");
        assert!(capped.named(&first) <= CAP_BYTES);
        for _ in 0..3 {
            assert_eq!(capped.round(GcMode::WhereDue).await, BTreeSet::new());
        }
        for _ in 0..3 {
            capped.house.pass(HOUR_MS);
            assert_eq!(
                capped.round(GcMode::WhereDue).await,
                BTreeSet::new(),
                "nor when it is"
            );
        }
        let held = capped
            .house
            .store
            .read(|view| view.data_size(wakeful_core::retention::DataClass::Blobs));
        assert!(held.await.expect("read").bytes <= CAP_BYTES);
    });
}

#[test]
fn a_large_output_does_not_prune_other_runs() {
    block_on(async {
        let mut capped = Capped::new().await;
        capped.run(0, 700).await;
        for topic in 1..80 {
            capped.run(topic, 8).await;
        }
        let (standing, _) = capped.house.keeper.usage().await.expect("looked at");
        let due = standing.iter().map(|standing| standing.due.bytes).max();
        assert!(
            due >= Some(700 * 1024),
            "the status shows what is due: {standing:?}"
        );
        assert_eq!(capped.round(GcMode::Always).await, BTreeSet::from([1]));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    // Large old runs that make up most of the contents, and as many small ones as are always retained.
    // Conformance: L-173
    #[test]
    fn a_round_prunes_only_what_the_cap_requires(
        old in proptest::collection::vec(0_u8..60, 30..60),
        rounds in proptest::collection::vec((0_i64..4, any::<bool>(), proptest::collection::vec(0_u8..60, 0..6)), 1..6),
    ) {
        block_on(async {
            let mut capped = Capped::new().await;
            for topic in old {
                capped.run(topic, 10 + usize::from(topic)).await;
            }
            for number in 0..RUNS_KEPT_MIN {
                capped.run(100, 1 + number as usize % 5).await;
            }
            for (hours, is_asked_for, new) in rounds {
                capped.house.pass(hours * HOUR_MS);
                let sweep = if is_asked_for { GcMode::Always } else { GcMode::WhereDue };
                let taken = capped.round(sweep).await;
                capped.judge(&taken).await?;
                for topic in new {
                    capped.run(topic, 10 + usize::from(topic)).await;
                }
            }
            // In the end the cap holds, as far as the newest runs permit.
            while !capped.round(GcMode::WhereDue).await.is_empty() {}
            let pruned = capped.pruned().await;
            let is_all = pruned.len() + RUNS_KEPT_MIN as usize >= capped.runs.len();
            prop_assert!(is_all || capped.named(&pruned) <= CAP_BYTES);
            Ok(())
        })?;
    }
}
