//! Verifies a home while its daemon works: rows and events are compared at one point in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;
use wakeful_core::budget::MicroUsd;
use wakeful_core::cause::Priority;
use wakeful_core::id::TurnId;
use wakeful_core::message::RunOptions;
use wakeful_core::time::Millis;
use wakeful_runtime::api::IncomingMessage;
use wakeful_runtime::proof::{AuditFinding, VerifyOptions, verify};
use wakeful_store::{FaultFuture, FaultPoint, Faults, Store};

use super::notice_daemon::{Daemon, Home, agent, on};

/// Scheduling turns that other tasks get before each read.
const TURNS: u32 = 10;

/// Total number of messages sent to the daemon.
const MESSAGES: u64 = 60;

/// A store on which others write between any two reads: settings, and the daemon's own work.
struct Busy(Store, AtomicU64);

impl Faults for Busy {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        Box::pin(async move {
            if point != FaultPoint::Read {
                return Ok(());
            }
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            let set = self
                .0
                .write(move |tx| tx.set_cap(Some(&agent("coach")), Some(MicroUsd(number)), Millis(1)));
            set.await
        })
    }
}

/// A daemon with some history.
async fn running_daemon(home: &Home) -> Daemon {
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    daemon.create("writer").await;
    home.oracle.writes.store(true, Ordering::Relaxed);
    for number in 0..5 {
        work(&daemon, number).await;
    }
    daemon.settle().await;
    daemon
}

/// Sends one more message and changes the settings of its agent.
async fn work(daemon: &Daemon, number: u64) {
    let text = format!("message {number}");
    let post = IncomingMessage {
        thread: None,
        agent: agent("writer"),
        turn: TurnId::parse(&text.replace(' ', "-")).expect("a turn"),
        text,
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::Normal,
    };
    daemon.api.messages.send(post).await.expect("taken in");
    let at = Millis(i64::try_from(number).expect("small"));
    let set = daemon.home.store.write(move |tx| {
        let cap = (!number.is_multiple_of(3)).then_some(MicroUsd(number));
        tx.set_cap(Some(&agent("writer")), cap, at)
    });
    set.await.expect("set");
}

/// Continues the work until after the verification.
fn work_on(daemon: Daemon) -> JoinHandle<()> {
    tokio::spawn(async move {
        for number in 5..MESSAGES {
            work(&daemon, number).await;
            tokio::task::yield_now().await;
        }
    })
}

async fn alterations(home: &Home) -> Vec<AuditFinding> {
    let wanted = VerifyOptions {
        contents: true,
        ..VerifyOptions::default()
    };
    let mut flaws = Vec::new();
    let busy = Arc::new(Busy(home.store.clone(), AtomicU64::default()));
    let store = home.store.clone().with_faults(busy);
    let verified = verify(&store, &wanted, |verdict| flaws.extend(verdict.first_error)).await;
    let verified = verified.expect("verified");
    assert!(flaws.is_empty(), "{flaws:?}");
    assert!(verified.audit.compared.runs > 5, "{:?}", verified.audit.compared);
    verified.audit.alterations
}

async fn home_log_end(home: &Home) -> u64 {
    let end = home
        .store
        .read(|view| view.log_end(&wakeful_core::id::AgentId::home_log()));
    end.await.expect("read").expect("a log").seq
}

#[tokio::test]
async fn a_daemons_writes_during_verification_are_not_reported_as_errors() {
    let home = Home::new();
    let daemon = running_daemon(&home).await;
    let before = home_log_end(&home).await;
    let working = work_on(daemon);
    let found = alterations(&home).await;
    working.abort();
    assert_eq!(found, []);
    let written = home_log_end(&home).await - before;
    assert!(written > 20, "others wrote meanwhile: {written}");
}

#[tokio::test]
async fn an_alteration_is_found_while_a_daemon_works() {
    let home = Home::new();
    let daemon = running_daemon(&home).await;
    let run = daemon.runs("writer").await.pop().expect("a run").run_key;
    let altered = home.store.write(move |tx| {
        let thread = tx.run(&run)?.expect("a run").thread_id;
        let mut entries = tx.entries(&thread, 1_000)?;
        entries.retain(|entry| entry.run_key == run);
        tx.append_entry(&thread, entries.last().expect("an entry"))
    });
    altered.await.expect("altered");
    let working = work_on(daemon);
    let found = alterations(&home).await;
    working.abort();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].place.as_str(), &found[0].row),
        ("transcript_entry", &run.to_string())
    );
}
