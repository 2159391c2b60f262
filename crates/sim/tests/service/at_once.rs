//! A process without a daemon: it starts the run of its message with the message, drives that run alone, and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::run::RunStatus;
use wakeful_core::wake::{Control, Refusal};
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{ApiContext, NewAgent, RuntimeApi, StartAtOnce};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, Writers};
use wakeful_runtime::{EngineError, Halt};
use wakeful_store::Store;
use wakeful_store::rows::Visibility;

use super::{Faulty, First, Mailer, RETRY_AFTER_MS, Salts, Shop, TURNS, Ticks, governance, message, post};

/// A service in a process without a daemon, and the API that starts runs for it.
struct Process {
    ticks: Arc<Ticks>,
    store: Store,
    faults: Arc<Faulty>,
    service: Service<Shop>,
    api: RuntimeApi,
    /// The API of a process that only queues messages.
    other: RuntimeApi,
}

impl Process {
    fn new(first: First) -> Self {
        let (ticks, mailer): (Arc<Ticks>, Arc<Mailer>) = Default::default();
        let (store, faults) = Faulty::store();
        let hub: Arc<Hub> = Arc::default();
        let shop = Shop {
            store: store.clone(),
            faults: Arc::clone(&faults),
            ticks: Arc::clone(&ticks),
            mailer,
            first,
            hub: Arc::clone(&hub),
            halt: Halt::never(),
        };
        let (service, api, _) = Service::new(Options {
            store: store.clone(),
            writers: Writers::Alone,
            runner: RunnerId::new("daemon"),
            workshop: Arc::new(shop),
            hub,
            halt: Halt::never(),
            clock: Arc::<Ticks>::clone(&ticks),
            entropy: Arc::new(Salts),
            governance: governance(),
        });
        let api = api.starting_at_once(StartAtOnce {
            starter: service.starter(),
            create: Some(NewAgent {
                agent_id: agent(),
                workspace: "/somewhere".into(),
                visibility: Visibility::Public,
                mode: wakeful_core::wake::Mode::default(),
            }),
        });
        let context = ApiContext::new(store.clone(), Arc::<Ticks>::clone(&ticks), Arc::new(Salts));
        Self {
            ticks,
            store,
            faults,
            service,
            api,
            other: RuntimeApi::alone(context),
        }
    }
}

fn agent() -> AgentId {
    AgentId::parse("main").expect("a name")
}

#[tokio::test]
async fn a_message_and_the_start_of_its_run_are_one_commit() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    assert_eq!(process.faults.writes.load(Ordering::Relaxed), 1);
    let seen = process.store.read(move |view| {
        let status = view.run(&run)?.map(|row| row.status);
        Ok((status, view.is_queued(&run)?))
    });
    assert_eq!(seen.await.expect("read"), (Some(RunStatus::Open), false));
}

#[tokio::test]
async fn a_limited_service_drives_its_run_alone_and_ends() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    let later = post(&process.other, "turn-2").await;
    let loops = tokio::spawn(process.service.limited_to(run).run());
    while !loops.is_finished() {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        if !loops.is_finished() {
            assert!(process.ticks.advance(), "it waits for a time");
        }
    }
    assert!(
        process.ticks.ticks_ms() >= RETRY_AFTER_MS,
        "it slept until the retry"
    );
    let status = async |run| process.api.runs.get(run).await.expect("a run").row.status;
    assert_eq!(status(run).await, RunStatus::Completed);
    assert_eq!(status(later).await, RunStatus::Queued);
}

#[tokio::test]
async fn a_message_that_cannot_start_at_once_is_refused_and_not_queued() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    let behind = process.api.messages.send(message("turn-2")).await;
    let is_behind =
        matches!(&behind, Err(EngineError::Refused(Refusal::RunOpen { run: open })) if *open == run);
    assert!(is_behind, "{behind:?}");
    let paused = process.api.agents.set_control(agent(), Control::Paused).await;
    paused.expect("paused");
    let refused = process.api.messages.send(message("turn-3")).await;
    assert!(
        matches!(refused, Err(EngineError::Refused(Refusal::Paused))),
        "{refused:?}"
    );
    let queued = process.store.read(|view| view.queued(&agent())).await;
    assert_eq!(queued.expect("read"), 0);
}
