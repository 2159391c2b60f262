//! A cap on contents takes what brings it under the cap, the oldest first, and not a run more. What was taken away and
//! is not swept yet is on the disk still, and is taken away all the same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::retention::{DAY_MS, RUNS_KEPT_MIN, Retention, RetentionLimit};
use wakeful_runtime::Halt;
use wakeful_runtime::retention::{GcMode, RetentionWorker};
use wakeful_store::rows::{PackedBlob, PackedBody};

use super::{RetentionFixture, block_on, key};

const HOUR_MS: i64 = DAY_MS / 24;

/// The smallest cap there is.
const CAP_BYTES: u64 = 1 << 20;

/// Nothing is ever too old, and one mebibyte of contents is enough.
const A_MEBIBYTE: Retention = {
    let unbounded = RetentionLimit { days: 0, mib: 0 };
    Retention {
        events: unbounded,
        traces: unbounded,
        blobs: RetentionLimit { days: 0, mib: 1 },
    }
};

/// A house whose runs, and what each of them names, are known to the test.
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

    /// A run that has ended, about some topic, with so much output.
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

    /// The runs that have lost what they said.
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

    /// How much is named by the runs that have lost nothing, if those given have.
    fn named(&self, pruned: &BTreeSet<u32>) -> u64 {
        let whole = (1..)
            .zip(&self.runs)
            .filter(|(number, _)| !pruned.contains(number));
        let named: BTreeSet<BlobHash> = whole.flat_map(|(_, names)| *names).collect();
        named.iter().filter_map(|hash| self.sizes.get(hash)).sum()
    }

    /// What was taken is the oldest there was, and without the last of it too much would have been left.
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

/// Bytes that cannot be packed any smaller.
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
fn what_went_for_the_sake_of_a_cap_does_not_go_again_before_it_is_swept() {
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
fn a_large_output_takes_no_other_run_along() {
    block_on(async {
        let mut capped = Capped::new().await;
        capped.run(0, 700).await;
        for topic in 1..80 {
            capped.run(topic, 8).await;
        }
        let (standing, _) = capped.house.keeper.usage().await.expect("looked at");
        let due = standing.iter().map(|standing| standing.due.bytes).max();
        assert!(due >= Some(700 * 1024), "what would go is told: {standing:?}");
        assert_eq!(capped.round(GcMode::Always).await, BTreeSet::from([1]));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    // Large and old ones that make up the most of it, and as many small ones as always stay.
    #[test]
    fn a_round_takes_no_more_than_what_brings_contents_under_their_cap(
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
            // In the end it is kept to, as far as the newest runs let it.
            while !capped.round(GcMode::WhereDue).await.is_empty() {}
            let pruned = capped.pruned().await;
            let is_all = pruned.len() + RUNS_KEPT_MIN as usize >= capped.runs.len();
            prop_assert!(is_all || capped.named(&pruned) <= CAP_BYTES);
            Ok(())
        })?;
    }
}
