//! What is said into a run and taken back in the same moment, and what is committed although nobody hears of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::cause::Priority;
use wakeful_core::decision::{APPROVE, Channel, Reply};
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::message::Wishes;
use wakeful_core::step::Status;
use wakeful_core::wake::Control;
use wakeful_ports::journal::Journal;
use wakeful_ports::records::RunFilter;
use wakeful_ports::store::{Store as _, StoreError};
use wakeful_runtime::desk::alert::NewSubscription;
use wakeful_runtime::desk::{AlertClerk, AlertDesk as _, Deciding as _, Desk as _, Post};
use wakeful_runtime::service::Writers;
use wakeful_runtime::{EngineError, Halt};
use wakeful_store::JournalStore;

use super::{Daemon, First, RETRY_AFTER_MS, Salts, Ticks};
use crate::notice::world::on;

fn post(turn: &str, text: &str, priority: Priority) -> Post {
    Post {
        agent: AgentId::parse("main").expect("a name"),
        turn: TurnId::parse(turn).expect("a turn"),
        text: text.into(),
        attachments: Vec::new(),
        wishes: Wishes::default(),
        priority,
    }
}

#[tokio::test]
async fn a_message_is_taken_up_at_once_also_where_its_sender_does_not_hear_that_it_is_taken_in() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.pass(RETRY_AFTER_MS).await;
    assert_eq!(daemon.status().await, "completed");
    daemon.store.loses.store(true, Ordering::Relaxed);
    let said = daemon
        .clerk
        .post(post("turn-2", "once more", Priority::Normal))
        .await;
    assert!(matches!(
        said,
        Err(EngineError::Store(StoreError::Unreachable(_)))
    ));
    daemon.settle().await;
    let runs = daemon.clerk.runs(RunFilter {
        limit: 10,
        ..RunFilter::default()
    });
    assert_eq!(runs.await.expect("runs").len(), 2, "nobody looked");
}

#[tokio::test]
async fn a_change_of_an_agent_is_told_to_others_also_where_nobody_hears_that_it_is_made() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.pass(RETRY_AFTER_MS).await;
    let journal: Arc<dyn Journal> = Arc::new(JournalStore::in_memory("service").expect("a journal"));
    let main = AgentId::parse("main").expect("a name");
    // By a desk of its own, which rings nowhere.
    let alert = AlertClerk {
        store: daemon.store.clone(),
        journal: Arc::clone(&journal),
        clock: Arc::<Ticks>::clone(&daemon.ticks),
        entropy: Arc::new(Salts),
        book: Arc::default(),
        hub: Arc::default(),
    };
    let subscribed = alert.subscribe(NewSubscription {
        subscription_id: None,
        agent_id: main.clone(),
        terms: on("agentChangedNotification"),
    });
    subscribed.await.expect("a subscription");
    let watcher = daemon.clerk.watcher(journal, Arc::default(), Writers::Alone);
    tokio::spawn(async move { watcher.run(&Halt::never(), |why| panic!("{why}")).await });
    daemon.settle().await;
    let tellings = async || {
        daemon
            .store
            .read(|view| view.tellings(10))
            .await
            .expect("tellings")
    };
    assert!(tellings().await.is_empty(), "what was told before is seen to");
    daemon.store.loses.store(true, Ordering::Relaxed);
    let paused = daemon.clerk.set_control(main, Control::Paused).await;
    assert!(paused.is_err(), "nobody hears of it");
    assert_eq!(tellings().await.len(), 1, "and it is made");
    daemon.settle().await;
    assert!(tellings().await.is_empty(), "nobody looked");
}

#[tokio::test]
async fn who_takes_back_an_interjection_while_it_joins_leaves_what_a_tool_did_as_it_is() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let post = post("turn-2", "never mind", Priority::Interject);
    let said = daemon.clerk.post(post).await.expect("posted").run_key;
    let taken = daemon.store.taken_back.lock().map(|mut place| {
        *place = Some((said, Arc::clone(&daemon.mailer)));
    });
    taken.expect("a place");
    let question = daemon.clerk.decisions(true).await.expect("questions").remove(0);
    let reply = Reply {
        option: APPROVE.into(),
        version: None,
        channel: Channel::Page,
        note: None,
    };
    let name = question.inquiry.decision_id.to_string();
    daemon.clerk.answer(name, reply).await.expect("taken");
    daemon.settle().await;
    assert!(
        daemon.store.taken_back.lock().expect("a place").is_none(),
        "it was taken back"
    );
    let report = daemon.clerk.run(daemon.run).await.expect("a report");
    assert_eq!(report.status, "completed");
    let calls: Vec<Status> = report.tool_calls().map(|step| step.status).collect();
    assert_eq!(
        (calls, daemon.mailer.0.load(Ordering::Relaxed)),
        (vec![Status::Ok], 1)
    );
}
