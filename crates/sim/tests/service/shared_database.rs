//! A daemon whose database has other writers: it finds their changes by polling every second.

use std::sync::Arc;

use wakeful_core::id::RunnerId;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::Halt;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, WriterMode};

use super::{Daemon, First, RETRY_AFTER_MS, Salts, TestEngineFactory, Ticks, governance};

impl Daemon {
    /// Starts another daemon on the same database that expects other writers.
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
            engine_factory: Arc::new(shop),
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
async fn a_waiting_run_ends_within_a_second_when_another_process_cancels_it() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.joined(First::Fails);
    daemon.settle().await;
    // Right after a poll, so that the next one is as far away as possible.
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
