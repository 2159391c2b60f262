//! A daemon from its start to the requested stop.

use std::sync::Arc;

use tokio::task::JoinHandle;
use wakeful_core::id::RunnerId;
use wakeful_runtime::api::RuntimeApi;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, StuckAgents, WriterMode};
use wakeful_runtime::{Halt, HaltSwitch};
use wakeful_store::Store;

use super::{Daemon, Faulty, First, Mailer, Salts, TestEngineFactory, Ticks, governance};

/// The halt switch of a daemon, and its task.
pub(super) type Life = (HaltSwitch, JoinHandle<()>);

impl Daemon {
    /// Starts a daemon.
    pub(super) fn serve(
        (store, faults): (&Store, &Arc<Faulty>),
        (ticks, mailer): (&Arc<Ticks>, &Arc<Mailer>),
        first: First,
    ) -> (Life, RuntimeApi, StuckAgents) {
        let (hub, (switch, halt)): (Arc<Hub>, _) = (Arc::default(), Halt::new());
        let shop = TestEngineFactory {
            store: store.clone(),
            faults: Arc::clone(faults),
            ticks: Arc::clone(ticks),
            mailer: Arc::clone(mailer),
            first,
            hub: Arc::clone(&hub),
            halt: halt.clone(),
        };
        let (service, api, stuck) = Service::new(Options {
            store: store.clone(),
            // The daemon is the only writer and is notified of everything, so it has no polling timer.
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(shop),
            hub,
            halt,
            clock: Arc::<Ticks>::clone(ticks),
            entropy: Arc::new(Salts),
            governance: governance(),
        });
        ((switch, tokio::spawn(service.run())), api, stuck)
    }
}
