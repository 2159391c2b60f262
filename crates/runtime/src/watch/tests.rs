//! Tests when sources are scanned, and how differences are written.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Mutex as Guarded;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use wakeful_core::time::Millis;
use wakeful_core::watch::{EntryChange, EntryState};
use wakeful_ports::journal::JournalFuture;
use wakeful_ports::watch::{ScanFuture, ScanResult};

use super::*;

/// The clock of the test, which advances only when every task waits.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Millis {
        Millis(i64::try_from(self.monotonic_ms()).expect("a small number"))
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).expect("a small number")
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct Zeros;

impl Entropy for Zeros {
    fn random_bytes(&self) -> [u8; 32] {
        [0; 32]
    }
}

/// A scripted scanner and an in-memory source store.
#[derive(Default)]
struct WatcherFixture {
    source: Guarded<Option<Source>>,
    found: Guarded<Vec<SourceChanges>>,
    /// The number of conflicts still to return.
    conflicts: Guarded<u32>,
    /// The results of the next scans; afterwards scans find nothing.
    sights: Guarded<VecDeque<Result<ScanResult, BadSource>>>,
    looks: Guarded<Vec<u64>>,
    stirs: Notify,
    /// Whether every path is already watched.
    is_watched: bool,
    began: Option<Instant>,
}

impl WatcherFixture {
    fn with(source: Source) -> Arc<Self> {
        Arc::new(Self {
            source: Guarded::new(Some(source)),
            began: Some(Instant::now()),
            ..Self::default()
        })
    }

    fn looks(&self) -> Vec<u64> {
        self.looks.lock().expect("a lock").clone()
    }

    fn see(&self, count: usize) {
        let difference = |number: usize| EntryDiff {
            name: number.to_string().into_bytes(),
            now: Some(EntryState {
                mark: vec![1],
                size: 0,
                stamp: None,
            }),
            change: Some(EntryChange::Created),
        };
        let sight = ScanResult {
            differences: (0..count).map(difference).collect(),
            ..ScanResult::default()
        };
        self.sights.lock().expect("a lock").push_back(Ok(sight));
    }
}

impl SourceStore for WatcherFixture {
    fn sources(&self) -> JournalFuture<'_, Vec<SourceStatus>> {
        let source = self.source.lock().expect("a lock").clone();
        let listed = source.map(|source| SourceStatus { source, entries: 0 });
        Box::pin(async move { Ok(listed.into_iter().collect()) })
    }

    fn add_source(&self, source: Source, _at_most: u32) -> JournalFuture<'_, AddSourceOutcome> {
        if self.is_watched {
            return Box::pin(async { Ok(AddSourceOutcome::Watched(notes().source_id)) });
        }
        *self.source.lock().expect("a lock") = Some(source);
        Box::pin(async { Ok(AddSourceOutcome::New) })
    }

    fn remove_source(&self, _source: SourceId) -> JournalFuture<'_, Option<Source>> {
        let gone = self.source.lock().expect("a lock").take();
        Box::pin(async move { Ok(gone) })
    }

    fn entries(
        &self,
        _source: SourceId,
        _after: Option<Vec<u8>>,
        _limit: u32,
    ) -> JournalFuture<'_, Vec<(Vec<u8>, EntryState)>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn record_changes(&self, finding: SourceChanges) -> JournalFuture<'_, bool> {
        let mut conflicts = self.conflicts.lock().expect("a lock");
        let is_found = *conflicts == 0;
        *conflicts = conflicts.saturating_sub(1);
        if is_found {
            self.found.lock().expect("a lock").push(finding);
        }
        Box::pin(async move { Ok(is_found) })
    }

    fn set_last_error(&self, _source: SourceId, trouble: Option<String>) -> JournalFuture<'_, ()> {
        if let Some(source) = self.source.lock().expect("a lock").as_mut() {
            source.last_error = trouble;
        }
        Box::pin(async { Ok(()) })
    }
}

impl SourceScanner for WatcherFixture {
    fn canonical_path(&self, _kind: SourceKind, path: String) -> ScanFuture<'_, String> {
        Box::pin(async move { Ok(path) })
    }

    fn scan(
        &self,
        _source: Source,
        _known: BTreeMap<Vec<u8>, EntryState>,
        _hearing: WatchMode,
        _now: Millis,
    ) -> ScanFuture<'_, ScanResult> {
        let ms = self.began.map_or(0, |began| began.elapsed().as_millis());
        self.looks
            .lock()
            .expect("a lock")
            .push(u64::try_from(ms).expect("small"));
        let sight = self.sights.lock().expect("a lock").pop_front();
        Box::pin(async move { sight.unwrap_or_else(|| Ok(ScanResult::default())) })
    }

    fn unwatch(&self, _source: &SourceId) {}

    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>> {
        Box::pin(async {
            self.stirs.notified().await;
            BTreeSet::from([notes().source_id])
        })
    }
}

fn notes() -> Source {
    Source {
        source_id: SourceId::parse("notes").expect("a name"),
        kind: SourceKind::Folder,
        path: "/notes".into(),
        device: "here".into(),
        created_at: Millis(0),
        version: 3,
        is_fresh: false,
        last_error: None,
    }
}

fn scout(world: &Arc<WatcherFixture>) -> SourceApi {
    SourceApi {
        sources: Arc::clone(world) as _,
        scanner: Arc::clone(world) as _,
        clock: Arc::new(Paused(Instant::now())),
        entropy: Arc::new(Zeros),
        device: "here".into(),
        watch_mode: WatchMode::On,
        turn: Mutex::default(),
    }
}

/// Runs the loop while a future completes.
async fn during(scout: &SourceApi, happens: impl Future<Output = ()>) {
    let (switch, halt) = Halt::new();
    let end = async {
        happens.await;
        switch.set();
    };
    tokio::join!(scout.run(&halt), end);
}

async fn wait(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn rapid_events_lead_to_one_scan_once_the_source_is_quiet() {
    let world = WatcherFixture::with(notes());
    during(&scout(&world), async {
        wait(1_000).await;
        for _ in 0..4 {
            world.stirs.notify_one();
            wait(300).await;
        }
        wait(60_000).await;
    })
    .await;
    // Once at the start, and once half a second after the last event at 1,900.
    assert_eq!(world.looks(), [0, 2_400]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_never_quiet_is_scanned_after_the_maximum_delay() {
    let world = WatcherFixture::with(notes());
    during(&scout(&world), async {
        wait(1_000).await;
        for _ in 0..60 {
            world.stirs.notify_one();
            wait(200).await;
        }
    })
    .await;
    let looks = world.looks();
    assert_eq!(looks.get(..2), Some([0, 6_000].as_slice()), "{looks:?}");
    assert!((3..=4).contains(&looks.len()), "{looks:?}");
}

#[tokio::test(start_paused = true)]
async fn a_source_of_another_device_is_ignored() {
    let elsewhere = Source {
        device: "there".into(),
        ..notes()
    };
    let world = WatcherFixture::with(elsewhere);
    let scout = scout(&world);
    during(&scout, wait(10_000)).await;
    let refused = scout.scan(notes().source_id).await.expect_err("was looked at");
    assert!(
        matches!(refused, WatchError::Bad(BadSource::OtherDevice(_))),
        "{refused:?}"
    );
    assert!(world.looks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn many_changes_are_written_in_bounded_parts_with_increasing_versions() {
    let world = WatcherFixture::with(notes());
    world.see(CHANGES_PER_TX_MAX * 2 + 1);
    let looked = scout(&world).scan(notes().source_id).await.expect("looked at");
    assert_eq!(looked.changes, 513);
    let found = world.found.lock().expect("a lock");
    let parts: Vec<_> = found
        .iter()
        .map(|part| (part.source.version, part.differences.len()))
        .collect();
    assert_eq!(parts, [(3, 256), (4, 256), (5, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_conflicting_scan_is_retried_a_bounded_number_of_times() {
    let world = WatcherFixture::with(notes());
    *world.conflicts.lock().expect("a lock") = 2;
    (0..3).for_each(|_| world.see(1));
    assert_eq!(
        scout(&world)
            .scan(notes().source_id)
            .await
            .expect("looked at")
            .changes,
        1
    );
    assert_eq!(world.looks().len(), 3);
    *world.conflicts.lock().expect("a lock") = u32::MAX;
    (0..CONFLICTS_MAX).for_each(|_| world.see(1));
    let refused = scout(&world)
        .scan(notes().source_id)
        .await
        .expect_err("was written");
    assert!(
        matches!(refused, WatchError::Bad(BadSource::Busy(_))),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_source_reports_its_error_until_readable_and_is_not_added() {
    let world = WatcherFixture::with(notes());
    let gone = || Err(BadSource::NoFolder("/notes".into()));
    world.sights.lock().expect("a lock").push_back(gone());
    let scout = scout(&world);
    assert!(scout.scan(notes().source_id).await.is_err());
    let trouble = || {
        world
            .source
            .lock()
            .expect("a lock")
            .clone()
            .and_then(|source| source.last_error)
    };
    assert!(trouble().is_some_and(|why| why.contains("/notes")));
    scout.scan(notes().source_id).await.expect("looked at");
    assert_eq!(trouble(), None);
    world.sights.lock().expect("a lock").push_back(gone());
    let new = NewSource {
        source_id: None,
        kind: SourceKind::Folder,
        path: "/other".into(),
    };
    assert!(scout.add(new).await.is_err());
    assert_eq!(world.source.lock().expect("a lock").as_ref(), None);
}

#[tokio::test(start_paused = true)]
async fn a_scan_stopped_by_conflicts_is_retried_with_backoff() {
    let world = WatcherFixture::with(notes());
    // Two scans fail with the maximum number of conflicts each; the third succeeds.
    *world.conflicts.lock().expect("a lock") = 2 * CONFLICTS_MAX;
    (0..=2 * CONFLICTS_MAX).for_each(|_| world.see(1));
    during(&scout(&world), wait(600_000)).await;
    let mut looks = world.looks();
    looks.dedup();
    assert_eq!(looks, [0, 1_000, 3_000], "one second, then two, then it is done");
    assert_eq!(world.found.lock().expect("a lock").len(), 1, "it is written once");
}

#[tokio::test(start_paused = true)]
async fn a_source_with_an_interrupted_first_scan_is_completed_after_restart() {
    let fresh = Source {
        is_fresh: true,
        ..notes()
    };
    let world = WatcherFixture::with(fresh);
    world.see(3);
    during(&scout(&world), wait(1_000)).await;
    let found = world.found.lock().expect("a lock");
    let parts: Vec<_> = found
        .iter()
        .map(|part| (part.settles, part.differences.len()))
        .collect();
    assert_eq!(
        parts,
        [(true, 3)],
        "what was there from the beginning is seen, and settled"
    );
}

#[test]
fn the_backoff_of_failed_scans_is_bounded() {
    let waits: Vec<u64> = (0..9)
        .map(|stopped| NextScan::again(0, stopped).at / 1_000)
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
    assert_eq!(NextScan::again(0, u32::MAX).stopped, u32::MAX);
}

#[tokio::test(start_paused = true)]
async fn adding_a_half_created_source_again_completes_it() {
    for (device, settled) in [("here", 1), ("there", 0)] {
        let world = Arc::new(WatcherFixture {
            source: Guarded::new(Some(Source {
                is_fresh: true,
                device: device.into(),
                ..notes()
            })),
            is_watched: true,
            ..WatcherFixture::default()
        });
        world.see(3);
        let again = NewSource {
            source_id: None,
            kind: SourceKind::Folder,
            path: "/notes".into(),
        };
        scout(&world).add(again).await.expect("it is watched");
        let found = world.found.lock().expect("a lock");
        assert_eq!(
            found.iter().filter(|part| part.settles).count(),
            settled,
            "{device}"
        );
    }
}
