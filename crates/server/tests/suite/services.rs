//! The real services on in-memory databases with one agent, and control over their storage.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use std::task::{Context, Poll, Waker};

use tokio::sync::{Mutex, RwLock, RwLockWriteGuard};
use wakeful_core::conversation::Usage;
use wakeful_core::decision::{ApprovalRequest, Decision, ProposedAction};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::step::EffectClass;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::watch::WatchMode;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::rows::{Agent, Visibility};
use wakeful_runtime::service::StuckAgents;
use wakeful_runtime::watch::SourceApi;
use wakeful_runtime::{EngineDefaults, StoreError};
use wakeful_server::ServedHome;
use wakeful_store::{FaultFuture, FaultPoint, Faults, JournalStore, Store};

use super::source::FolderScript;
use super::test_server::NOON_MS;

/// The only agent.
pub(super) const MAIN: &str = "main";

/// The device whose sources are watched.
const DEVICE: &str = "here";

/// The backend of a test server: in-memory databases and the controls of a test.
pub(super) struct InMemoryServices {
    /// The services, as a daemon passes them to its server.
    pub(super) open: ServedHome,
    /// The agent database, bypassing the storage under test.
    pub(super) store: Store,
    pub(super) journal: JournalStore,
    /// Where commits are announced.
    pub(super) hub: Arc<Hub>,
    /// The storage as seen by the services.
    pub(super) storage: Arc<Storage>,
    /// The scripted contents of watched folders.
    pub(super) folders: Arc<FolderScript>,
}

impl InMemoryServices {
    /// Creates the services with an agent that has no events and no work.
    pub(super) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        let store = Store::in_memory("server").expect("a store");
        let journal = JournalStore::in_memory("server").expect("a journal");
        let main = agent();
        let made = at_once(store.write(move |tx| tx.create_agent(&main)));
        assert!(made.expect("a store"), "the agent is new");
        let (hub, storage) = (Arc::new(Hub::new()), Arc::new(Storage::default()));
        let folders: Arc<FolderScript> = Arc::default();
        let context = ApiContext {
            store: store.clone().with_faults(Arc::clone(&storage) as _),
            clock,
            entropy,
            hub: Arc::clone(&hub),
            governance: EngineDefaults {
                catches_up_by_default: true,
                ..EngineDefaults::default()
            },
            snapshots: Arc::new(wakeful_ports::snapshot::NoSnapshots),
        };
        Self {
            open: open(context, &journal, &folders),
            store,
            journal,
            hub,
            storage,
            folders,
        }
    }

    /// Creates a pending decision of the agent.
    pub(super) fn ask(&self) -> Decision {
        let kept = question();
        at_once(self.store.write(move |tx| tx.put_decision(&kept, 0))).expect("a store");
        question()
    }
}

fn open(context: ApiContext, journal: &JournalStore, folders: &Arc<FolderScript>) -> ServedHome {
    let runtime = Arc::new(RuntimeApi::new(context.clone()));
    ServedHome {
        stuck: StuckAgents::default(),
        journal: Arc::new(runtime.journal(Arc::new(journal.clone()))),
        subscriptions: Arc::new(runtime.subscriptions(Arc::new(journal.clone()), Arc::default())),
        runtime,
        sources: Arc::new(SourceApi {
            sources: Arc::new(journal.clone()),
            scanner: Arc::clone(folders) as _,
            clock: context.clock,
            entropy: context.entropy,
            device: DEVICE.to_owned(),
            watch_mode: WatchMode::Off,
            turn: Mutex::default(),
        }),
    }
}

/// Controls and observes the agent storage in a test.
#[derive(Default)]
pub(super) struct Storage {
    /// Number of reads started.
    pub(super) reads: AtomicUsize,
    /// Number of transactions started.
    pub(super) writes: AtomicUsize,
    /// Reads wait while a test holds the write lock.
    pub(super) reading: RwLock<()>,
    /// Transactions that started while `is_slow` wait as long as a test holds the write lock.
    writing: RwLock<()>,
    /// Whether transactions wait for `writing`.
    is_slow: AtomicBool,
    /// Number of reads that still succeed; `None` means all.
    reads_left: std::sync::Mutex<Option<usize>>,
}

impl Storage {
    /// Makes new transactions wait until the guard is dropped.
    pub(super) async fn hold_writes(&self) -> RwLockWriteGuard<'_, ()> {
        self.is_slow.store(true, Ordering::Relaxed);
        self.writing.write().await
    }

    /// Lets new transactions proceed; those already waiting keep waiting.
    pub(super) fn hold_no_more_writes(&self) {
        self.is_slow.store(false, Ordering::Relaxed);
    }

    /// Makes all reads after this many fail.
    pub(super) fn fail_reads_after(&self, count: usize) {
        *self.reads_left.lock().expect("a lock") = Some(count);
    }

    fn use_read(&self) -> Result<(), StoreError> {
        match self.reads_left.lock().expect("a lock").as_mut() {
            None => Ok(()),
            Some(0) => Err(StoreError::Closed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }
}

impl Faults for Storage {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        Box::pin(async move {
            match point {
                FaultPoint::Read => {
                    self.reads.fetch_add(1, Ordering::Relaxed);
                    let _open = self.reading.read().await;
                    self.use_read()
                }
                FaultPoint::BeforeCommit => {
                    self.writes.fetch_add(1, Ordering::Relaxed);
                    if self.is_slow.load(Ordering::Relaxed) {
                        let _open = self.writing.read().await;
                    }
                    Ok(())
                }
                // Simulates a client that disconnects between the commit and the following work.
                FaultPoint::AfterCommit => {
                    tokio::task::yield_now().await;
                    Ok(())
                }
                FaultPoint::Pack => Ok(()),
            }
        })
    }
}

/// Polls a call on an in-memory database, which answers immediately.
pub(super) fn at_once<T>(call: impl Future<Output = T>) -> T {
    let mut waiter = Context::from_waker(Waker::noop());
    let answer = match pin!(call).poll(&mut waiter) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    };
    answer.expect("an answer at once")
}

fn agent() -> Agent {
    Agent {
        agent_id: main(),
        visibility: Visibility::Public,
        lifecycle: Lifecycle::Active,
        control: AgentControl::Running,
        mode: InteractionMode::default(),
        sleep_until: None,
        workspace: "/tmp".to_owned(),
        model_ref: None,
        settings: wakeful_core::agent_settings::AgentSettings::with_all_categories(),
        created_at: Millis(0),
        usage: Usage::default(),
        model_rounds: 0,
    }
}

pub(super) fn main() -> AgentId {
    AgentId::parse(MAIN).expect("an id")
}

fn question() -> Decision {
    let operation = OperationId(Digest::of(b"operation"));
    let inquiry = ApprovalRequest::new(
        ProposedAction {
            risk: None,
            operation_id: operation,
            tool: "ExecCommand",
            input: "rm -r build",
            class: EffectClass::Plain,
        },
        "ask_tool",
        None,
    );
    let (run, asked_at) = (RunKey(Digest::of(b"run")), Millis(NOON_MS));
    inquiry.asked_by(main(), run, asked_at, Some(1_000))
}

/// An entropy source that returns different bytes each time.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Entropy for Counter {
    fn random_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bytes
    }
}
