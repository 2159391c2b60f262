//! The head signer, with a clock that only the test advances.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use wakeful_core::conversation::Usage;
use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::key::Digest;
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::report::payload::RunEnded;
use wakeful_core::report::{Event, EventDraft, LogHead, SealedEvent};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::api::{ApiContext, NewAgent, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::proof::{EVENTS_BETWEEN, HeadSigner, SIGN_AFTER_MS, VerifyOptions, verify};
use wakeful_runtime::{Halt, Observer as _};
use wakeful_store::Store;

/// A clock whose waits end when the test ends them.
#[derive(Default)]
struct Stopped {
    sleeping: AtomicU64,
    wake: Notify,
}

impl Clock for Stopped {
    fn now(&self) -> Millis {
        Millis(1)
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        assert_eq!(ms, SIGN_AFTER_MS);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        Box::pin(self.wake.notified())
    }
}

struct Salt;

impl Entropy for Salt {
    fn random_bytes(&self) -> [u8; 32] {
        [5; 32]
    }
}

fn agent() -> AgentId {
    AgentId::parse("main").expect("an id")
}

/// This many committed events: only their number matters here.
fn events(count: u64) -> Vec<Event> {
    let draft = EventDraft::new(RunEnded {
        outcome: RunStatus::Completed,
        rounds: 0,
        token_usage: Usage::default(),
        cost_microusd: None,
        run_key: None,
    });
    let sealed = SealedEvent::new(draft, Millis(0), None, [0; 32]).expect("canonical");
    let mut head = LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new("h.1"),
    };
    (0..count).map(|_| head.chain(&agent(), sealed.clone())).collect()
}

async fn signed(store: &Store) -> usize {
    let heads = store.read(|view| view.signed_heads(&agent(), 0, 100)).await;
    heads.expect("read").len()
}

async fn create(store: &Store, name: &str) {
    let context = ApiContext::new(store.clone(), Arc::new(Stopped::default()), Arc::new(Salt));
    let api = RuntimeApi::without_service(context);
    let new = NewAgent::new(AgentId::parse(name).expect("an id"), "/w".to_owned());
    api.agents.create(new).await.expect("made");
}

/// Lets every runnable task continue.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(work);
}

#[test]
fn heads_are_signed_after_many_events_or_idle_time_without_idle_timers() {
    block_on(async {
        let store = Store::in_memory("host").expect("a database");
        create(&store, "main").await;
        let (clock, hub) = (Arc::new(Stopped::default()), Arc::new(Hub::new()));
        let (switch, halt) = Halt::new();
        let notary = HeadSigner {
            store: store.clone(),
            key: DeviceKey::from_seed(&[1; 32]),
            clock: Arc::clone(&clock) as _,
            hub: Arc::clone(&hub),
        };
        let running = tokio::spawn(async move {
            notary.run(&halt).await;
            notary
        });
        settle().await;
        assert_eq!(
            (clock.sleeping.load(Ordering::SeqCst), signed(&store).await),
            (0, 0),
            "it rests"
        );
        hub.on_events(&agent(), &events(1));
        settle().await;
        assert_eq!(
            (clock.sleeping.load(Ordering::SeqCst), signed(&store).await),
            (1, 0),
            "one is little"
        );
        hub.on_events(&agent(), &events(EVENTS_BETWEEN - 1));
        settle().await;
        assert_eq!(
            (clock.sleeping.load(Ordering::SeqCst), signed(&store).await),
            (1, 1),
            "many are enough"
        );
        // The log has not changed since, so nothing needs to be signed when the timer expires.
        hub.on_events(&agent(), &events(1));
        settle().await;
        clock.wake.notify_one();
        settle().await;
        assert_eq!(
            (clock.sleeping.load(Ordering::SeqCst), signed(&store).await),
            (2, 1)
        );
        create(&store, "second").await;
        switch.set();
        let notary = running.await.expect("it ends");
        assert_eq!(
            notary.sign().await.expect("signed"),
            2,
            "what is left is signed at the end: the new agent's log, and the home's"
        );
        let mut verdicts = Vec::new();
        let found = verify(&store, &VerifyOptions::default(), |verdict| {
            verdicts.push(verdict)
        })
        .await;
        assert!(found.expect("walked").is_found);
        assert_eq!(verdicts.len(), 3, "the home has a log as well");
        for verdict in verdicts {
            assert_eq!((verdict.first_error, verdict.seen.signers.len()), (None, 1));
        }
    });
}
