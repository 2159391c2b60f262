//! A daemon whose database others write to: what they leave there is found by the look that it takes every second.

use std::sync::Arc;

use wakeful_core::id::RunnerId;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::Halt;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, WriterMode};

use super::{Daemon, First, RETRY_AFTER_MS, Salts, TestEngineFactory, Ticks, governance};

impl Daemon {
    /// Another daemon on the same database, which knows that it is not alone.
    fn joined(&self, first: First) {
        let hub: Arc<Hub> = Arc::default();
        let (_, halt) = Halt::new();
        let shop = TestEngineFactory {
            faults: Arc::clone(&self.faults),
            store: self.store.clone(),
            ticks: Arc::clone(&self.ticks),
            mailer: Arc::clone(&self.mailer),
            first,
            hub: Arc::clone(&hub),
            halt,
        };
        let (service, ..) = Service::new(Options {
            store: self.store.clone(),
            writers: WriterMode::Many,
            runner: RunnerId::new("another"),
            workshop: Arc::new(shop),
            hub,
            halt: Halt::never(),
            clock: Arc::<Ticks>::clone(&self.ticks),
            entropy: Arc::new(Salts),
            governance: governance(),
        });
        tokio::spawn(service.run());
    }
}

#[tokio::test]
async fn a_run_that_rests_ends_within_a_second_after_another_program_asked_for_its_end() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.joined(First::Fails);
    daemon.settle().await;
    // Right after a look: from there it is farthest to the next.
    daemon.pass(2_300).await;
    assert_eq!(
        daemon.status().await,
        "open",
        "it rests until {RETRY_AFTER_MS} ms"
    );
    let (run, asked_ms) = (daemon.run, daemon.ticks.monotonic_ms());
    let at = daemon.ticks.now();
    let asked = daemon.store.write(move |tx| tx.request_cancel(&run, at));
    asked.await.expect("asked for");
    while daemon.status().await == "open" && daemon.ticks.advance() {
        daemon.settle().await;
    }
    assert_eq!(daemon.status().await, "cancelled");
    let late_ms = daemon.ticks.monotonic_ms() - asked_ms;
    assert!(late_ms <= 1_000, "it came {late_ms} ms later");
}
