//! Commits whose response is lost because the connection to the database was cut. The daemon is the only
//! writer and does not poll, so the writing call must trigger a check itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::journal::{Author, Mutation, person_operation_id};
use wakeful_core::message::RunOptions;
use wakeful_core::wake::AgentControl;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::{Journal, WriteRequest};
use wakeful_runtime::api::RunQuery;
use wakeful_runtime::api::subscription::NewSubscription;
use wakeful_runtime::api::{ApiContext, IncomingMessage, RuntimeApi};
use wakeful_runtime::service::WriterMode;
use wakeful_runtime::{EngineError, Halt};
use wakeful_store::{JournalStore, StoreError};

use super::{Daemon, First, RETRY_AFTER_MS, Salts, Ticks};
use crate::notice::notice_daemon::on;

fn main() -> AgentId {
    AgentId::parse("main").expect("a name")
}

impl Daemon {
    /// A daemon whose agent subscribes to a token, with its watcher and the journal.
    async fn watched(first: First, word: &str) -> (Self, Arc<dyn Journal>) {
        let daemon = Self::begin(first).await;
        let journal: Arc<dyn Journal> = Arc::new(JournalStore::in_memory("service").expect("a journal"));
        // Through its own runtime, which notifies no daemon.
        let context = ApiContext::new(
            daemon.store.clone(),
            Arc::<Ticks>::clone(&daemon.ticks),
            Arc::new(Salts),
        );
        let alert = RuntimeApi::without_service(context).subscriptions(Arc::clone(&journal), Arc::default());
        let subscribed = alert.add(NewSubscription {
            subscription_id: None,
            agent_id: main(),
            spec: on(word),
        });
        subscribed.await.expect("a subscription");
        let watcher = daemon
            .api
            .notice_dispatcher(Arc::clone(&journal), Arc::default(), WriterMode::Alone);
        tokio::spawn(async move { watcher.run(&Halt::never()).await });
        daemon.pass(RETRY_AFTER_MS).await;
        assert_eq!(daemon.tellings().await, 0, "earlier notices are dispatched");
        (daemon, journal)
    }

    /// The number of agent notices that are not dispatched.
    async fn tellings(&self) -> usize {
        let tellings = self.store.read(|view| view.agent_outbox(10)).await;
        tellings.expect("tellings").len()
    }

    async fn runs(&self) -> usize {
        let all = RunQuery {
            limit: 10,
            ..RunQuery::default()
        };
        self.api.runs.list(all).await.expect("runs").runs.len()
    }
}

#[tokio::test]
async fn a_message_starts_at_once_although_its_commit_response_was_lost() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.pass(RETRY_AFTER_MS).await;
    assert_eq!(daemon.status().await, "completed");
    daemon.faults.loses.store(1, Ordering::Relaxed);
    let said = daemon.api.messages.send(IncomingMessage {
        thread: None,
        agent: main(),
        turn: TurnId::parse("turn-2").expect("a turn"),
        text: "once more".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::Normal,
    });
    assert!(matches!(
        said.await,
        Err(EngineError::Store(StoreError::Unreachable(_)))
    ));
    daemon.settle().await;
    assert_eq!(daemon.runs().await, 2, "no check happened");
}

#[tokio::test]
async fn an_agent_change_notifies_others_although_its_commit_response_was_lost() {
    let (daemon, _) = Daemon::watched(First::Fails, "agentChangedNotification").await;
    daemon.faults.loses.store(1, Ordering::Relaxed);
    let paused = daemon.api.agents.set_control(main(), AgentControl::Paused).await;
    assert!(paused.is_err(), "the response is lost");
    assert_eq!(daemon.tellings().await, 1, "and it is made");
    daemon.settle().await;
    assert_eq!(daemon.tellings().await, 0, "no check happened");
}

#[tokio::test]
async fn a_notice_wakes_its_agent_although_the_watchers_response_was_lost() {
    let (daemon, journal) = Daemon::watched(First::Fails, "TASK").await;
    daemon.faults.loses.store(1, Ordering::Relaxed);
    let written = journal.write(WriteRequest {
        operation_id: person_operation_id("leg day"),
        author: Author::Person,
        mutation: Mutation::CreateTask {
            title: "Leg day".into(),
            details: String::new(),
            category: None,
        },
        at: daemon.ticks.now(),
    });
    written.await.expect("written");
    daemon.settle().await;
    assert_eq!(daemon.runs().await, 2, "no check happened");
}

#[tokio::test]
async fn the_end_of_a_run_notifies_others_despite_a_long_outage() {
    let (daemon, _) = Daemon::watched(First::WantsTool, "RUN").await;
    // The responses of the cancellation and the claim arrive, that of the end is lost.
    daemon.faults.loses.store(3, Ordering::Relaxed);
    daemon.faults.leaves.store(true, Ordering::Relaxed);
    daemon.api.runs.cancel(daemon.run).await.expect("asked for");
    daemon.settle().await;
    daemon.pass(10_000).await;
    daemon.faults.away.store(false, Ordering::Relaxed);
    assert_eq!(daemon.status().await, "cancelled");
    assert_eq!(daemon.tellings().await, 1, "the end stands");
    daemon.pass(2_000).await;
    assert_eq!(daemon.tellings().await, 0, "no check happened");
}
