//! Messages to agents: a repeated delivery is shown once, and absorbed messages are erased with their run.

use std::sync::atomic::Ordering;

use wakeful_core::blob::BlobHash;
use wakeful_core::decision::Channel;
use wakeful_core::id::{TraceId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_runtime::api::TriggerDelivery;
use wakeful_runtime::proof::{ErasureRequest, ErasureTarget, VerifyOptions, verify};

use super::notice_daemon::{Daemon, Home, agent, on};

/// The blob hash of a message's body.
async fn body(daemon: &Daemon, run: RunKey) -> BlobHash {
    let message = daemon.home.store.read(move |view| view.message(&run)).await;
    message.expect("read").expect("a message").body
}

#[tokio::test]
async fn erasing_a_run_erases_the_messages_that_it_absorbed() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    home.oracle.holds.store(true, Ordering::Relaxed);
    home.add_task("the first", None).await;
    daemon.settle().await;
    for number in 0..3 {
        home.add_task(&format!("secret {number}"), None).await;
    }
    daemon.settle().await;
    home.oracle.holds.store(false, Ordering::Relaxed);
    home.oracle.lets.notify_waiters();
    daemon.settle().await;
    let wakes = daemon.wakes("coach").await;
    let absorbed: Vec<_> = wakes.iter().filter(|wake| wake.absorbed_by.is_some()).collect();
    assert_eq!(absorbed.len(), 2);
    let mut bodies = Vec::new();
    for wake in &absorbed {
        bodies.push(body(&daemon, wake.run_key).await);
    }
    let run = absorbed[0].absorbed_by.expect("a run");
    let erase = ErasureRequest {
        agent: agent("coach"),
        what: ErasureTarget::Run(run),
        reason: "it was a secret".to_owned(),
        channel: Channel::Cli,
    };
    let erased = daemon.api.events.erase(erase).await.expect("erased");
    assert!(erased.blobs >= 3, "its own words and both others': {erased:?}");
    for (wake, hash) in absorbed.iter().zip(bodies) {
        let kept = daemon.home.store.read(move |view| view.blob(&hash)).await;
        assert!(
            kept.expect("read").is_none(),
            "the words of a message are still there"
        );
        assert_ne!(body(&daemon, wake.run_key).await, hash, "and so is their name");
    }
    let told = daemon
        .api
        .events
        .after(agent("coach"), 0, 1_000)
        .await
        .expect("events");
    let speaks = |run: &RunKey| {
        let of_run = told.iter().filter(|event| event.run_key.as_ref() == Some(run));
        of_run.filter(|event| event.payload.is_some()).count()
    };
    for wake in &absorbed {
        assert_eq!(speaks(&wake.run_key), 0, "its events still tell of it");
    }
}

#[tokio::test]
async fn erasing_a_run_erases_its_senders_key_and_keeps_the_log_valid() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.create("coach").await;
    let trigger = daemon
        .api
        .triggers
        .get(agent("coach"))
        .await
        .expect("a trigger")
        .row;
    let delivery = TriggerDelivery {
        name: Some(TurnId::parse("secret-name").expect("a name")),
        content_type: Some("secret/kind".into()),
        correlation: Some(TraceId::parse("secret-chain").expect("a name")),
        causation: Some(TraceId::parse("secret-cause").expect("a name")),
        body: b"the build is red".to_vec(),
    };
    let taken = daemon.api.triggers.deliver(trigger, delivery).await;
    let run = taken.expect("taken in").run_key;
    daemon.settle().await;
    let kept = async || {
        let kept = home.store.read(move |view| {
            let (message, wake) = (view.message(&run)?, view.wake(&run)?);
            Ok((message.expect("a message").cause, wake.expect("a record").cause))
        });
        kept.await.expect("read")
    };
    let (message, wake) = kept().await;
    assert!(format!("{message:?}").contains("secret-chain") && message == wake);
    let erase = ErasureRequest {
        agent: agent("coach"),
        what: ErasureTarget::Run(run),
        reason: "it was a secret".to_owned(),
        channel: Channel::Cli,
    };
    daemon.api.events.erase(erase).await.expect("erased");
    let (message, wake) = kept().await;
    assert!(!format!("{message:?}{wake:?}").contains("secret"), "{message:?}");
    assert_eq!(message.origin.source(), wake.origin.source());
    assert_eq!(
        message.origin.kind().as_str(),
        "trigger",
        "where it came from stays"
    );
    let why = daemon.api.runs.why(run).await.expect("an answer");
    assert!(!format!("{why:?}").contains("secret"), "{why:?}");
    let rows = daemon.api.events.after(agent("coach"), 0, 1_000).await;
    let told = rows.expect("events");
    assert!(
        told.iter()
            .all(|row| row.kind == "content_erased" || row.run_key != Some(run) || row.payload.is_none())
    );
    let mut flaws = Vec::new();
    let walked = verify(&home.store, &VerifyOptions::default(), |found| {
        flaws.extend(found.first_error)
    })
    .await;
    assert!(walked.is_ok() && flaws.is_empty(), "{flaws:?}");
}

#[tokio::test]
async fn an_unnamed_delivery_repeated_in_the_next_minute_is_the_same_one() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.create("coach").await;
    let trigger = daemon
        .api
        .triggers
        .get(agent("coach"))
        .await
        .expect("a trigger")
        .row;
    let deliver = || {
        let delivery = TriggerDelivery {
            name: None,
            content_type: None,
            correlation: None,
            causation: None,
            body: b"the build is red".to_vec(),
        };
        daemon.api.triggers.deliver(trigger.clone(), delivery)
    };
    home.ticks.pass(59_990);
    let first = deliver().await.expect("taken in");
    home.ticks.pass(20);
    let again = deliver().await.expect("known");
    assert_eq!((first.is_new, again.is_new), (true, false));
    assert_eq!(first.run_key, again.run_key, "the run that answers it");
    home.ticks.pass(60_000);
    assert!(
        deliver().await.expect("taken in").is_new,
        "a minute later it is news"
    );
}
