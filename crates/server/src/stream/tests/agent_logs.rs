//! Agents and their logs in an in-memory database. A test decides separately which events are in the store
//! and which are announced on the hub.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use wakeful_core::conversation::Usage;
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::report::payload::RunStarted;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::rows::{Agent, Visibility};
use wakeful_runtime::{Observer as _, OutputStream, StoreError, TextDelta, ToolOutputDelta};
use wakeful_store::{FaultFuture, FaultPoint, Faults, Store};

/// The agents, and the services through which a stream reads them.
pub(super) struct AgentLogs {
    pub(super) runtime: Arc<RuntimeApi>,
    store: Store,
    hub: Arc<Hub>,
    reads: Arc<Reads>,
}

/// Counts the reads of the services, and fails them once the store is closed.
struct Reads {
    hub: Arc<Hub>,
    count: AtomicUsize,
    /// Reads while no stream was subscribed to the hub.
    unheard: AtomicUsize,
    is_closed: AtomicBool,
}

impl Faults for Reads {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        if point == FaultPoint::Read {
            self.count.fetch_add(1, Ordering::Relaxed);
            let unheard = usize::from(self.hub.listeners() == 0);
            self.unheard.fetch_add(unheard, Ordering::Relaxed);
        }
        let is_closed = self.is_closed.load(Ordering::Relaxed);
        Box::pin(std::future::ready(match is_closed {
            true => Err(StoreError::Closed),
            false => Ok(()),
        }))
    }
}

impl AgentLogs {
    /// Listed agents without events.
    pub(super) fn of(agents: &[&str]) -> Self {
        let (store, hub) = (
            Store::in_memory("streams").expect("a store"),
            Arc::new(Hub::new()),
        );
        let reads = Arc::new(Reads {
            hub: Arc::clone(&hub),
            count: AtomicUsize::new(0),
            unheard: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        });
        let context = ApiContext {
            hub: Arc::clone(&hub),
            ..ApiContext::new(
                store.clone().with_faults(Arc::clone(&reads) as _),
                Arc::new(Midnight),
                Arc::new(Ones),
            )
        };
        let logs = Self {
            runtime: Arc::new(RuntimeApi::new(context)),
            store,
            hub,
            reads,
        };
        for agent in agents {
            logs.make(agent, Visibility::Public);
        }
        logs
    }

    pub(super) fn make(&self, agent: &str, visibility: Visibility) {
        let agent = Agent {
            agent_id: super::id(agent),
            visibility,
            lifecycle: Lifecycle::Active,
            control: AgentControl::Running,
            mode: InteractionMode::default(),
            sleep_until: None,
            workspace: "/w".to_owned(),
            model_ref: None,
            settings: wakeful_core::agent_settings::AgentSettings::with_all_categories(),
            created_at: Millis(0),
            usage: Usage::default(),
            model_rounds: 0,
        };
        let made = at_once(self.store.write(move |tx| tx.create_agent(&agent)));
        assert!(made.expect("a store"), "the agent is new");
    }

    /// Appends events to the store without announcing them.
    pub(super) fn append(&self, agent: &str, count: usize) -> Vec<Event> {
        self.append_all(agent, vec![0; count])
    }

    pub(super) fn append_at(&self, agent: &str, at: i64) {
        self.append_all(agent, vec![at]);
    }

    fn append_all(&self, agent: &str, moments: Vec<i64>) -> Vec<Event> {
        let agent = super::id(agent);
        let appended = self.store.write(move |tx| {
            let mut head = tx.lock_head_to_announce(&agent)?.expect("an agent");
            let events = moments.iter().map(|at| {
                let draft = EventDraft::new(RunStarted {
                    run_key: RunKey(Digest::ZERO),
                    model_ref: "m".to_owned(),
                    max_rounds: 1,
                });
                let sealed = SealedEvent::new(draft, Millis(*at), None, [1; 32]).expect("canonical");
                let event = head.chain(&agent, sealed);
                tx.append_event(&agent, &event).map(|()| event)
            });
            let events = events.collect::<Result<Vec<Event>, StoreError>>()?;
            tx.put_head(&agent, &head)?;
            Ok(events)
        });
        at_once(appended).expect("a store")
    }

    pub(super) fn tell(&self, agent: &str, events: &[Event]) {
        self.hub.on_events(&super::id(agent), events);
    }

    /// Writes events as a run does: stores them, then announces them one by one.
    pub(super) fn write(&self, agent: &str, count: usize) {
        for event in self.append(agent, count) {
            self.tell(agent, &[event]);
        }
    }

    pub(super) fn say(&self, agent: &str, text: &str) {
        self.hub.on_text_delta(&TextDelta {
            agent: &super::id(agent),
            run: RunKey(Digest::ZERO),
            attempt: 0,
            chunk: 3,
            text,
        });
    }

    pub(super) fn print(&self, agent: &str, text: &str) {
        self.hub.on_tool_output(&ToolOutputDelta {
            agent: &super::id(agent),
            run: RunKey(Digest::ZERO),
            operation_id: OperationId(Digest::ZERO),
            stream: OutputStream::Stderr,
            chunk: 1,
            text,
        });
    }

    /// Number of reads of the store.
    pub(super) fn reads(&self) -> usize {
        self.reads.count.load(Ordering::Relaxed)
    }

    /// Number of reads while no stream was subscribed.
    pub(super) fn unheard_reads(&self) -> usize {
        self.reads.unheard.load(Ordering::Relaxed)
    }

    pub(super) fn listeners(&self) -> usize {
        self.hub.listeners()
    }

    /// Closes the store.
    pub(super) fn close(&self) {
        self.reads.is_closed.store(true, Ordering::Relaxed);
    }
}

/// Polls a call on the store to completion. An in-memory database answers immediately.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    let mut waiter = Context::from_waker(Waker::noop());
    let answer = match pin!(call).poll(&mut waiter) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    };
    answer.expect("an answer at once")
}

/// A clock that streams never read.
struct Midnight;

impl Clock for Midnight {
    fn now(&self) -> Millis {
        Millis(0)
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, _ms: u64) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

struct Ones;

impl Entropy for Ones {
    fn random_bytes(&self) -> [u8; 32] {
        [1; 32]
    }
}
