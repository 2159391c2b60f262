//! Storing, pruning, storing again and sweeping in any order and under any clock: referenced contents stay
//! available, the event chain stays valid, and contents of open runs and of the newest runs are kept.

mod cap;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use proptest::prelude::*;
use wakeful_core::blob::{Blob, BlobHash, names_in};
use wakeful_core::conversation::Role;
use wakeful_core::id::{AgentId, SessionId, ThreadId, TurnId};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::{Message, NewMessage};
use wakeful_core::provenance::Sources;
use wakeful_core::report::payload::RunStarted;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::retention::{DAY_MS, EVENTS_KEPT_MIN, RUNS_KEPT_MIN, Retention, RetentionLimit};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, Lifecycle};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::retention::{GcMode, RetentionRound, RetentionWorker};
use wakeful_runtime::{Halt, Observer};
use wakeful_store::rows::{Agent, PackedBlob, RunLogRow, RunRow, TranscriptEntryRow, Visibility};
use wakeful_store::{Store, StoreError, Tx, View};

/// A clock that a test sets.
#[derive(Default)]
struct Set(AtomicI64);

impl Clock for Set {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, _ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// Salts that differ.
#[derive(Default)]
struct Count(AtomicU64);

impl Entropy for Count {
    fn random_bytes(&self) -> [u8; 32] {
        *Digest::of(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes()).as_bytes()
    }
}

struct Nobody;

impl Observer for Nobody {
    fn on_events(&self, _agent: &AgentId, _events: &[Event]) {}

    fn on_spend_settled(&self) {}
}

/// A database and its retention worker.
struct RetentionFixture {
    store: Store,
    clock: Arc<Set>,
    keeper: RetentionWorker,
    agent: AgentId,
    /// The content of every hash.
    contents: BTreeMap<BlobHash, Vec<u8>>,
    /// Packed, and not committed yet.
    under_way: Vec<(u8, Vec<PackedBlob>)>,
    runs: u32,
}

/// A retention of one day.
const A_DAY: Retention = {
    let bounds = RetentionLimit { days: 1, mib: 0 };
    Retention {
        events: bounds,
        traces: bounds,
        blobs: bounds,
    }
};

impl RetentionFixture {
    async fn new() -> Self {
        let store = Store::in_memory("host").expect("a database");
        let clock = Arc::new(Set(AtomicI64::new(20_000 * DAY_MS)));
        let agent = AgentId::parse("main").expect("an id");
        let keeper = RetentionWorker {
            store: store.clone(),
            retention: A_DAY,
            clock: Arc::clone(&clock) as _,
            entropy: Arc::new(Count::default()),
            observer: Arc::new(Nobody),
            snapshots: Arc::new(wakeful_ports::snapshot::NoSnapshots),
        };
        let made = Agent {
            agent_id: agent.clone(),
            visibility: Visibility::Public,
            lifecycle: Lifecycle::Active,
            control: AgentControl::Running,
            mode: wakeful_core::wake::InteractionMode::default(),
            sleep_until: None,
            workspace: "/".into(),
            model_ref: None,
            settings: wakeful_core::agent_settings::AgentSettings::with_all_categories(),
            created_at: clock.now(),
            usage: wakeful_core::conversation::Usage::default(),
            model_rounds: 0,
        };
        store.write(move |tx| tx.create_agent(&made)).await.expect("made");
        Self {
            store,
            clock,
            keeper,
            agent,
            contents: BTreeMap::new(),
            under_way: Vec::new(),
            runs: 0,
        }
    }

    /// The blobs of a run about a topic: few topics, so that runs share contents. The model's input
    /// references the tool's output.
    async fn pack(&mut self, topic: u8) -> Vec<PackedBlob> {
        let output = Blob::new(format!("output {topic} ").repeat(20).into_bytes());
        let result = Blob::new(format!(r#"{{"artifact":"{}"}}"#, output.hash()).into_bytes());
        let prompt = Blob::new(format!("prompt {topic}").into_bytes());
        let mut packed = Vec::new();
        for blob in [prompt, result, output] {
            self.contents.insert(blob.hash(), blob.bytes().to_vec());
            packed.push(self.store.pack(blob).await.expect("packed"));
        }
        packed
    }

    async fn commit(&mut self, packed: Vec<PackedBlob>, is_open: bool) {
        self.runs += 1;
        let (agent, now, number) = (self.agent.clone(), self.clock.now(), self.runs);
        let committed = self
            .store
            .write(move |tx| commit(tx, &agent, (now, number, is_open), &packed));
        committed.await.expect("committed");
    }

    async fn round(&self) -> RetentionRound {
        let halt = Halt::never();
        self.keeper
            .run_round(GcMode::Always, &halt)
            .await
            .expect("a round")
    }

    /// Checks that every hash referenced by a row or by a referenced content resolves to its content.
    async fn check(&self) -> Result<(), TestCaseError> {
        let runs = self.runs;
        let agent = self.agent.clone();
        let found = self
            .store
            .read(move |view| named(view, &agent, runs))
            .await
            .expect("read");
        for (hash, bytes) in found {
            prop_assert_eq!(bytes.as_ref(), self.contents.get(&hash), "{}", hash);
        }
        Ok(())
    }

    fn pass(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }
}

fn key(number: u32) -> RunKey {
    RunKey(Digest::of(format!("run {number}").as_bytes()))
}

fn thread() -> ThreadId {
    ThreadId::new("main:session:cli")
}

/// Commits a whole run in one transaction: message, state, run log, transcript, events.
fn commit(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    (now, number, is_open): (Millis, u32, bool),
    packed: &[PackedBlob],
) -> Result<(), StoreError> {
    packed.iter().try_for_each(|blob| tx.put_blob(blob))?;
    let [prompt, result, _] = packed else {
        panic!("three blobs")
    };
    let turn = TurnId::parse(&number.to_string()).expect("a turn");
    let new = NewMessage {
        agent_id: agent.clone(),
        body: prompt.hash,
        admitted_at: now,
    };
    let message = Message::from_operator(new, &SessionId::new("cli"), &turn);
    let run_key = key(number);
    tx.admit_message(&Message { run_key, ..message })?;
    let status = if is_open {
        RunStatus::Open
    } else {
        RunStatus::Completed
    };
    tx.create_run(&RunRow {
        run_key,
        agent_id: agent.clone(),
        thread_id: thread(),
        machine: "turn".into(),
        machine_version: 2,
        version: 1,
        state: format!(r#"{{"reply":"{}"}}"#, result.hash),
        status,
        started_at: now,
        ended_at: (!is_open).then_some(now),
        suspension: None,
        fault: None,
    })?;
    tx.append_run_log(&RunLogRow {
        run_key,
        ordinal: 1,
        body: format!(r#"[{{"content":"{}"}}]"#, result.hash).into_bytes(),
        reads_hash: Digest::ZERO,
        state_hash: Digest::ZERO,
        effects_hash: Digest::ZERO,
        at: now,
    })?;
    for (role, content) in [(Role::User, prompt.hash), (Role::Tool, result.hash)] {
        let entry = TranscriptEntryRow {
            sources: Sources::none(),
            run_key,
            role,
            content,
            at: now,
        };
        tx.append_entry(&thread(), &entry)?;
    }
    let mut head = tx.lock_head_to_announce(agent)?.expect("a head");
    let started = EventDraft::new(RunStarted {
        run_key,
        model_ref: "scripted:a".to_owned(),
        max_rounds: 1,
    });
    let sealed = SealedEvent::new(started, now, Some(run_key), [1; 32]);
    let event = head.chain(agent, sealed.expect("canonical"));
    tx.append_event(agent, &event)?;
    tx.put_head(agent, &head)
}

type Found = Vec<(BlobHash, Option<Vec<u8>>)>;

/// All referenced hashes: by transcripts and run logs, by the states of open runs, and by contents in turn.
fn named(view: &mut View<'_>, agent: &AgentId, runs: u32) -> Result<Found, StoreError> {
    let entries = view.entries(&thread(), 10_000)?;
    let mut names: Vec<BlobHash> = entries.iter().map(|entry| entry.content).collect();
    for number in 1..=runs {
        for row in view.run_log(&key(number), 0, 10)? {
            names.extend(names_in(&row.body));
        }
        let row = view.run(&key(number))?.expect("runs stay");
        assert_eq!(row.agent_id, *agent);
        let has_lines = entries.iter().any(|entry| entry.run_key == row.run_key);
        if row.status == RunStatus::Open || has_lines {
            names.extend(names_in(row.state.as_bytes()));
            names.extend(view.message(&row.run_key)?.map(|message| message.body));
        }
    }
    let (mut found, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    while let Some(name) = names.pop() {
        if seen.insert(name) {
            let bytes = view.blob(&name)?;
            names.extend(names_in(bytes.as_deref().unwrap_or_default()));
            found.push((name, bytes));
        }
    }
    Ok(found)
}

/// One operation of a test case.
#[derive(Debug, Clone)]
enum Deed {
    /// Adds many runs at once about some topics.
    Runs(u8, u8),
    /// Adds a run that stays open.
    Open(u8),
    /// Packs the blobs of a run that is committed later.
    Pack(u8),
    /// Commits the oldest packed run.
    Commit,
    /// Time passes or jumps.
    Pass(i64),
    /// A round of retention.
    Round,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let hour = DAY_MS / 24;
    let deed = prop_oneof![
        3 => (0_u8..6, 1_u8..12).prop_map(|(topic, times)| Deed::Runs(topic, times)),
        1 => (0_u8..6).prop_map(Deed::Open),
        2 => (0_u8..6).prop_map(Deed::Pack),
        2 => Just(Deed::Commit),
        3 => (0_i64..72).prop_map(move |hours| Deed::Pass(hours * hour)),
        1 => prop_oneof![Just(Deed::Pass(3_650 * DAY_MS)), Just(Deed::Pass(-3_650 * DAY_MS))],
        4 => Just(Deed::Round),
    ];
    proptest::collection::vec(deed, 1..20)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

async fn act(house: &mut RetentionFixture, deed: Deed) {
    match deed {
        Deed::Runs(topic, times) => {
            for number in 0..times {
                let packed = house.pack(topic.wrapping_add(number % 3)).await;
                house.commit(packed, false).await;
                house.pass(1_000);
            }
        }
        Deed::Open(topic) => {
            let packed = house.pack(topic).await;
            house.commit(packed, true).await;
        }
        Deed::Pack(topic) => {
            let packed = house.pack(topic).await;
            house.under_way.push((topic, packed));
        }
        Deed::Commit if !house.under_way.is_empty() => {
            let (_, packed) = house.under_way.remove(0);
            house.commit(packed, false).await;
        }
        Deed::Commit => {}
        Deed::Pass(ms) => house.pass(ms),
        Deed::Round => drop(house.round().await),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn referenced_contents_are_never_swept(deeds in deeds()) {
        block_on(async {
            let mut house = lived_in().await;
            for deed in deeds {
                let is_looked_at = matches!(deed, Deed::Round | Deed::Commit);
                act(&mut house, deed).await;
                if is_looked_at {
                    house.check().await?;
                }
            }
            house.check().await
        })?;
    }
}

/// A fixture with enough runs that some are not among the newest.
async fn lived_in() -> RetentionFixture {
    let mut house = RetentionFixture::new().await;
    act(&mut house, Deed::Runs(100, 1)).await;
    act(&mut house, Deed::Open(150)).await;
    for _ in 0..RUNS_KEPT_MIN {
        act(&mut house, Deed::Runs(200, 1)).await;
    }
    house
}

async fn has(house: &RetentionFixture, hash: BlobHash) -> bool {
    house
        .store
        .read(move |view| view.has_blob(&hash))
        .await
        .expect("read")
}

#[test]
fn unreferenced_contents_are_swept_in_the_end() {
    block_on(async {
        let mut house = lived_in().await;
        let [goes, stays, open] = [
            house.pack(100).await,
            house.pack(200).await,
            house.pack(150).await,
        ];
        for _ in 0..4 {
            house.pass(2 * DAY_MS);
            house.round().await;
        }
        for blob in goes {
            assert!(!has(&house, blob.hash).await, "{}", blob.hash);
        }
        for blob in [stays, open].concat() {
            assert!(has(&house, blob.hash).await, "{}", blob.hash);
        }
        assert!(house.round().await.is_empty(), "there is nothing left to do");
    });
}

#[test]
fn a_clock_jump_of_ten_years_prunes_nothing_at_once() {
    block_on(async {
        let house = lived_in().await;
        let wide = Retention {
            events: RetentionLimit { days: 30, mib: 0 },
            traces: RetentionLimit { days: 30, mib: 0 },
            blobs: RetentionLimit { days: 30, mib: 0 },
        };
        let keeper = RetentionWorker {
            retention: wide,
            ..house.keeper
        };
        let halt = Halt::never();
        let round = async || keeper.run_round(GcMode::Always, &halt).await.expect("a round");
        assert!(round().await.is_empty());
        house.clock.0.fetch_add(3_650 * DAY_MS, Ordering::Relaxed);
        for _ in 0..4 {
            assert!(
                round().await.is_empty(),
                "the clock is set right within the month"
            );
        }
        // After a month of rounds the new time is trusted.
        let mut taken = 0;
        for _ in 0..4 {
            taken += round().await.pruned.values().map(|held| held.rows).sum::<u64>();
        }
        assert!(taken > 0);
    });
}

#[test]
fn every_pruning_is_logged_and_the_newest_events_stay() {
    block_on(async {
        let mut house = RetentionFixture::new().await;
        for _ in 0..11 {
            act(&mut house, Deed::Runs(1, 100)).await;
        }
        house.pass(3 * DAY_MS);
        house.round().await;
        let agent = house.agent.clone();
        let events = house
            .store
            .read(move |view| view.events(&agent, 0, 10_000))
            .await
            .expect("read");
        let erased = events.iter().filter(|event| event.payload.is_none()).count();
        let told: Vec<serde_json::Value> = events
            .iter()
            .filter(|event| event.kind == "data_pruned")
            .filter_map(|event| serde_json::from_slice(&event.payload.as_ref()?.0).ok())
            .collect();
        let sum = |class: &str| -> u64 {
            let of_class = told.iter().filter(|payload| payload["class"] == class);
            of_class.filter_map(|payload| payload["rows"].as_u64()).sum()
        };
        assert_eq!(sum("events"), erased as u64, "{told:?}");
        assert_eq!(u32::try_from(erased), Ok(1_100 - EVENTS_KEPT_MIN));
        assert!(
            events[..erased].iter().all(|event| event.payload.is_none()),
            "the oldest"
        );
        assert_eq!(sum("traces"), u64::from(1_100 - RUNS_KEPT_MIN));
        assert_eq!(sum("blobs"), 2 * u64::from(1_100 - RUNS_KEPT_MIN));
        // Sequence numbers are consecutive, and every header matches the payload that is left.
        assert!(events.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1));
        for event in events
            .iter()
            .filter_map(|event| Some((event, event.payload.as_ref()?)))
        {
            let (event, (payload, salt)) = event;
            assert_eq!(
                wakeful_core::report::payload_hash(salt, payload),
                event.payload_hash
            );
        }
    });
}
