//! A process without a daemon: it starts the run of its message with the message, drives that run alone, and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, Refusal};
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{ApiContext, NewAgent, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, WriterMode};
use wakeful_runtime::{EngineError, Halt};
use wakeful_store::Store;

use super::{
    Faulty, First, Mailer, RETRY_AFTER_MS, Salts, TURNS, TestEngineFactory, Ticks, governance, message, post,
};

/// A service in a process without a daemon, and the API that starts runs for it.
struct Process {
    ticks: Arc<Ticks>,
    store: Store,
    faults: Arc<Faulty>,
    service: Service<TestEngineFactory>,
    api: RuntimeApi,
    /// The API of a process that only queues messages.
    other: RuntimeApi,
}

impl Process {
    fn new(first: First) -> Self {
        let (ticks, mailer): (Arc<Ticks>, Arc<Mailer>) = Default::default();
        let (store, faults) = Faulty::store();
        let hub: Arc<Hub> = Arc::default();
        let shop = TestEngineFactory {
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
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(shop),
            hub,
            halt: Halt::never(),
            clock: Arc::<Ticks>::clone(&ticks),
            entropy: Arc::new(Salts),
            governance: governance(),
        });
        let api = api.starting_at_once(service.start_at_once(Some(new_agent())));
        let context = ApiContext::new(store.clone(), Arc::<Ticks>::clone(&ticks), Arc::new(Salts));
        Self {
            ticks,
            store,
            faults,
            service,
            api,
            other: RuntimeApi::without_service(context),
        }
    }
}

fn new_agent() -> NewAgent {
    NewAgent::new(agent(), "/somewhere".into())
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
    let driving = tokio::spawn(process.service.drive(run));
    while !has_ended(&driving).await {
        assert!(process.ticks.advance(), "it waits for a time");
    }
    assert!(
        process.ticks.monotonic_ms() >= RETRY_AFTER_MS,
        "it slept until the retry"
    );
    let status = async |run| process.api.runs.get(run).await.expect("a run").row.status;
    assert_eq!(status(run).await, RunStatus::Completed);
    assert_eq!(status(later).await, RunStatus::Queued);
}

async fn has_ended<T>(task: &tokio::task::JoinHandle<T>) -> bool {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    task.is_finished()
}

#[tokio::test]
async fn a_limited_service_notices_a_cancellation_by_another_process_while_waiting() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    let driving = tokio::spawn(process.service.drive(run));
    assert!(!has_ended(&driving).await, "it waits for the retry");
    process.other.runs.cancel(run).await.expect("requested");
    while !has_ended(&driving).await {
        assert!(process.ticks.advance(), "it waits for a time");
    }
    assert!(process.ticks.monotonic_ms() < RETRY_AFTER_MS / 10);
    let stored = process.api.runs.get(run).await.expect("a run");
    assert_eq!(stored.row.status, RunStatus::Cancelled);
}

#[tokio::test]
async fn a_limited_service_does_not_wait_for_a_message_whose_agent_sleeps() {
    let process = Process::new(First::Fails);
    let created = process.other.agents.create(new_agent()).await;
    created.expect("an agent");
    let later = post(&process.other, "turn-1").await;
    let delayed = process.store.write(move |tx| {
        let row = tx.queue_row(&later)?.expect("it waits");
        tx.dequeue(&agent(), &later)?;
        let until = Millis(row.message.admitted_at.0 + RETRY_AFTER_MS.cast_signed());
        tx.enqueue(&row.message, row.seq, Some(until))
    });
    delayed.await.expect("delayed");
    let driving = tokio::spawn(process.service.drive(later));
    assert!(has_ended(&driving).await, "it ends at once");
}

#[tokio::test]
async fn a_limited_service_gives_up_when_the_database_stays_away() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    process.faults.away.store(true, Ordering::Relaxed);
    let driving = tokio::spawn(process.service.drive(run));
    let mut looks = 0;
    while !has_ended(&driving).await {
        assert!(process.ticks.advance(), "it waits for a time");
        looks += 1;
    }
    assert!(looks > 1, "it tries more than once");
    assert!(driving.await.expect("no panic").is_err());
}

#[tokio::test]
async fn a_message_that_cannot_start_at_once_is_refused_and_not_queued() {
    let process = Process::new(First::Fails);
    let run = post(&process.api, "turn-1").await;
    let behind = process.api.messages.send(message("turn-2")).await;
    let is_behind =
        matches!(&behind, Err(EngineError::Refused(Refusal::RunOpen { run: open })) if *open == run);
    assert!(is_behind, "{behind:?}");
    let paused = process
        .api
        .agents
        .set_control(agent(), AgentControl::Paused)
        .await;
    paused.expect("paused");
    let refused = process.api.messages.send(message("turn-3")).await;
    assert!(
        matches!(refused, Err(EngineError::Refused(Refusal::Paused))),
        "{refused:?}"
    );
    let queued = process.store.read(|view| view.queued(&agent())).await;
    assert_eq!(queued.expect("read"), 0);
}
