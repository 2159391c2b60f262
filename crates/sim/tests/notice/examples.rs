//! Worked examples: typical subscriptions with their near misses, and autonomous runs beside others.

use std::sync::atomic::Ordering;

use serde_json::json;
use wakeful_core::cause::Priority;
use wakeful_core::id::TurnId;
use wakeful_core::journal::{Mutation, TaskStatus};
use wakeful_core::message::RunOptions;
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_runtime::api::IncomingMessage;

use super::notice_daemon::{Daemon, Home, agent, on};

/// The number of runs of each of these agents.
async fn ran(daemon: &Daemon, names: &[&str]) -> Vec<usize> {
    daemon.settle().await;
    let mut ran = Vec::new();
    for name in names {
        ran.push(daemon.runs(name).await.len());
    }
    ran
}

// Conformance: L-058
#[tokio::test]
async fn each_example_wakes_once_and_its_near_miss_does_not() {
    let home = Home::new();
    let daemon = home.serve();
    let gym = home.write(Mutation::CreateCategory { name: "gym".into() }).await;
    let garden = Mutation::CreateCategory {
        name: "garden".into(),
    };
    let garden = home.write(garden).await;
    let (mine, other) = (
        home.add_task("mine", None).await,
        home.add_task("other", None).await,
    );
    // A task of a category; an answer to one task; a kind with its own value.
    let predicate = Some(json!({"field": "category", "op": "eq", "value": "gym"}));
    daemon
        .subscribed(
            "coach",
            SubscriptionSpec {
                predicate,
                ..on("TASK")
            },
        )
        .await;
    let all = vec![format!("id:{mine}")];
    daemon
        .subscribed("reader", SubscriptionSpec { all, ..on("NOTE") })
        .await;
    let all = vec!["task.status=done".to_owned()];
    daemon
        .subscribed("judge", SubscriptionSpec { all, ..on("TASK") })
        .await;
    let names = ["coach", "reader", "judge"];
    let note = |task| Mutation::CreateNote {
        text: "an answer".into(),
        task: Some(task),
    };
    let status = |status| Mutation::UpdateTask {
        task: mine.clone(),
        title: None,
        details: None,
        status: Some(status),
        category: None,
    };
    home.add_task("Mow", Some(&garden)).await;
    home.write(note(other)).await;
    home.write(status(TaskStatus::Dropped)).await;
    assert_eq!(ran(&daemon, &names).await, [0, 0, 0], "near misses");
    home.add_task("Leg day", Some(&gym)).await;
    assert_eq!(ran(&daemon, &names).await, [1, 0, 0]);
    home.write(note(mine.clone())).await;
    assert_eq!(ran(&daemon, &names).await, [1, 1, 0]);
    home.write(status(TaskStatus::Done)).await;
    assert_eq!(ran(&daemon, &names).await, [1, 1, 1]);
}

// Conformance: L-063, A-62
#[tokio::test]
async fn runs_of_one_agent_never_overlap_and_those_of_two_agents_do() {
    let home = Home::new();
    let daemon = home.serve();
    for name in ["a", "b"] {
        daemon.subscribed(name, on("TASK")).await;
    }
    home.oracle.holds.store(true, Ordering::Relaxed);
    home.add_task("one", None).await;
    daemon.settle().await;
    assert_eq!(home.oracle.heard().len(), 2, "both are asked while both wait");
    home.add_task("two", None).await;
    daemon.settle().await;
    assert_eq!(home.oracle.heard().len(), 2, "no second one starts");
    for name in ["a", "b"] {
        let runs = daemon.runs(name).await;
        assert!(runs.len() == 1 && runs[0].status.as_str() == "open", "{runs:?}");
        assert_eq!(daemon.queue(name).await.len(), 1);
    }
    home.oracle.holds.store(false, Ordering::Relaxed);
    home.oracle.lets.notify_waiters();
    daemon.settle().await;
    for name in ["a", "b"] {
        let runs = daemon.runs(name).await;
        assert!(
            runs.len() == 2 && runs.iter().all(|run| run.status.as_str() == "completed"),
            "{runs:?}"
        );
    }
}

// Conformance: L-068
#[tokio::test]
async fn prompted_and_autonomous_runs_leave_the_same_call_and_result_pairs() {
    let home = Home::new();
    let daemon = home.serve();
    home.oracle.writes.store(true, Ordering::Relaxed);
    daemon.subscribed("coach", on("NOTE")).await;
    let (text, task) = ("by itself".into(), None);
    home.write(Mutation::CreateNote { text, task }).await;
    daemon.settle().await;
    let post = IncomingMessage {
        thread: None,
        agent: agent("coach"),
        turn: TurnId::parse("t1").expect("a turn"),
        text: "by a person".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::default(),
    };
    daemon.api.messages.send(post).await.expect("posted");
    daemon.settle().await;
    let mut steps = Vec::new();
    for run in daemon.runs("coach").await {
        let report = daemon.api.runs.get(run.run_key).await.expect("a report");
        let one = |step: &wakeful_store::rows::StepRow| (step.name.clone(), step.status);
        steps.push(report.steps.iter().map(one).collect::<Vec<_>>());
    }
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0], steps[1]);
    assert_eq!(steps[0].len(), 3, "asked, called, asked again: {:?}", steps[0]);
}

// Conformance: L-060
#[tokio::test]
async fn long_messages_are_absorbed_up_to_the_size_limit() {
    let home = Home::new();
    let daemon = home.serve();
    let terms = SubscriptionSpec {
        message: "x".repeat(4_000),
        ..on("TASK")
    };
    daemon.subscribed("coach", terms).await;
    home.oracle.holds.store(true, Ordering::Relaxed);
    for number in 0..31 {
        home.add_task(&format!("task {number}"), None).await;
        daemon.settle().await;
    }
    home.oracle.holds.store(false, Ordering::Relaxed);
    home.oracle.lets.notify_waiters();
    daemon.settle().await;
    assert!(daemon.queue("coach").await.is_empty());
    let heard = home.oracle.heard();
    assert_eq!(heard.len(), 3, "64 KiB hold about fifteen of them");
    for number in 0..31 {
        let told = heard
            .iter()
            .filter(|told| told.contains(&format!("task {number}\\")));
        assert_eq!(told.count(), 1, "task {number}");
    }
    let wakes = daemon.wakes("coach").await;
    let count = |verdict: &str| {
        wakes
            .iter()
            .filter(|wake| wake.verdict.as_str() == verdict)
            .count()
    };
    assert_eq!((count("run"), count("absorbed")), (3, 28), "each has its record");
}
