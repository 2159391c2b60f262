//! What is committed although nobody hears of it: the line to the database was cut before the answer came. The daemon is
//! the only writer and takes no look by itself, so whoever wrote has to bring one about.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::journal::{Author, Mutation, person_operation_id};
use wakeful_core::message::RunOptions;
use wakeful_core::wake::AgentControl;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::{Journal, WriteRequest};
use wakeful_runtime::api::subscription::NewSubscription;
use wakeful_runtime::api::{ApiContext, IncomingMessage, RuntimeApi};
use wakeful_runtime::service::WriterMode;
use wakeful_runtime::{EngineError, Halt};
use wakeful_store::rows::RunFilter;
use wakeful_store::{JournalStore, StoreError};

use super::{Daemon, First, RETRY_AFTER_MS, Salts, Ticks};
use crate::notice::notice_daemon::on;

fn main() -> AgentId {
    AgentId::parse("main").expect("a name")
}

impl Daemon {
    /// One whose agent wants to know of something, with whoever watches for that, and the journal.
    async fn watched(first: First, word: &str) -> (Self, Arc<dyn Journal>) {
        let daemon = Self::begin(first).await;
        let journal: Arc<dyn Journal> = Arc::new(JournalStore::in_memory("service").expect("a journal"));
        // By a runtime of its own, which rings nowhere.
        let context = ApiContext::new(
            daemon.store.clone(),
            Arc::<Ticks>::clone(&daemon.ticks),
            Arc::new(Salts),
        );
        let alert = RuntimeApi::without_service(context).subscriptions(Arc::clone(&journal), Arc::default());
        let subscribed = alert.add(NewSubscription {
            subscription_id: None,
            agent_id: main(),
            terms: on(word),
        });
        subscribed.await.expect("a subscription");
        let watcher = daemon
            .api
            .notice_dispatcher(Arc::clone(&journal), Arc::default(), WriterMode::Alone);
        tokio::spawn(async move { watcher.run(&Halt::never()).await });
        daemon.pass(RETRY_AFTER_MS).await;
        assert_eq!(daemon.tellings().await, 0, "what was told before is seen to");
        (daemon, journal)
    }

    /// What agents' doings say and nobody has seen to.
    async fn tellings(&self) -> usize {
        let tellings = self.store.read(|view| view.agent_outbox(10)).await;
        tellings.expect("tellings").len()
    }

    async fn runs(&self) -> usize {
        let all = RunFilter {
            limit: 10,
            ..RunFilter::default()
        };
        self.api.runs.list(all).await.expect("runs").len()
    }
}

#[tokio::test]
async fn a_message_is_taken_up_at_once_also_where_its_sender_does_not_hear_that_it_is_taken_in() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.pass(RETRY_AFTER_MS).await;
    assert_eq!(daemon.status().await, "completed");
    daemon.faults.loses.store(1, Ordering::Relaxed);
    let said = daemon.api.messages.send(IncomingMessage {
        agent: main(),
        turn: TurnId::parse("turn-2").expect("a turn"),
        text: "once more".into(),
        attachments: Vec::new(),
        wishes: RunOptions::default(),
        priority: Priority::Normal,
    });
    assert!(matches!(
        said.await,
        Err(EngineError::Store(StoreError::Unreachable(_)))
    ));
    daemon.settle().await;
    assert_eq!(daemon.runs().await, 2, "nobody looked");
}

#[tokio::test]
async fn a_change_of_an_agent_is_told_to_others_also_where_nobody_hears_that_it_is_made() {
    let (daemon, _) = Daemon::watched(First::Fails, "agentChangedNotification").await;
    daemon.faults.loses.store(1, Ordering::Relaxed);
    let paused = daemon.api.agents.set_control(main(), AgentControl::Paused).await;
    assert!(paused.is_err(), "nobody hears of it");
    assert_eq!(daemon.tellings().await, 1, "and it is made");
    daemon.settle().await;
    assert_eq!(daemon.tellings().await, 0, "nobody looked");
}

#[tokio::test]
async fn whom_a_notice_wakes_begins_also_where_the_watcher_does_not_hear_that_it_arrived() {
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
    assert_eq!(daemon.runs().await, 2, "nobody looked");
}

#[tokio::test]
async fn the_end_of_a_run_is_told_to_others_also_where_the_database_is_away_for_long_after_it() {
    let (daemon, _) = Daemon::watched(First::WantsTool, "RUN").await;
    // The wish for its end and the claim are heard of, the end is not.
    daemon.faults.loses.store(3, Ordering::Relaxed);
    daemon.faults.leaves.store(true, Ordering::Relaxed);
    daemon.api.runs.cancel(daemon.run).await.expect("asked for");
    daemon.settle().await;
    daemon.pass(10_000).await;
    daemon.faults.away.store(false, Ordering::Relaxed);
    assert_eq!(daemon.status().await, "cancelled");
    assert_eq!(daemon.tellings().await, 1, "the end stands");
    daemon.pass(2_000).await;
    assert_eq!(daemon.tellings().await, 0, "nobody looked");
}
