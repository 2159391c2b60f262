//! Decisions: created once, answered at most once, applied to their run once.

use wakeful_core::decision::{
    APPROVE, AnswerInput, ApprovalRequest, Channel, DENY, Decision, DecisionStatus, ProposedAction, Severity,
};
use wakeful_core::key::{DecisionId, Digest};
use wakeful_core::run::RunStatus;
use wakeful_core::step::EffectClass;
use wakeful_core::time::Millis;
use wakeful_store::rows::{DecisionFilter, DecisionNotificationRow, HumanBacklog, PruneTarget, RunRow};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

/// A decision of a run, created at this time.
fn question(run: &str, name: &str, at: i64) -> Decision {
    let inquiry = ApprovalRequest::new(
        ProposedAction {
            risk: None,
            operation_id: sample::operation(name),
            tool: "ExecCommand",
            input: "rm -r build – wörtlich",
            class: EffectClass::Plain,
        },
        "ask_tool",
        None,
    );
    let agent = sample::agent_id("main");
    inquiry.asked_by(agent, sample::run_key(run), Millis(at), Some(1_000))
}

fn reply(option: &str, channel: Channel) -> AnswerInput {
    AnswerInput {
        option: option.to_owned(),
        version: Some(1),
        channel,
        note: Some("as you like – ja".to_owned()),
    }
}

async fn ask(store: &Store, run: &str, name: &str, at: i64) -> Decision {
    let (decision, put) = (question(run, name, at), question(run, name, at));
    let asked = store.write(move |tx| tx.put_decision(&put, 0)).await;
    asked.expect("asked");
    decision
}

async fn one(store: &Store, id: DecisionId) -> Option<Decision> {
    store.read(move |view| view.decision(&id)).await.expect("read")
}

async fn list(store: &Store, filter: DecisionFilter) -> Vec<DecisionId> {
    let found = store.read(move |view| view.decisions(&filter)).await;
    found
        .expect("read")
        .iter()
        .map(|one| one.inquiry.decision_id)
        .collect()
}

#[test]
fn a_decision_is_stored_unchanged_and_only_once() {
    everywhere(async |store| {
        let decision = ask(&store, "run", "a", 5).await;
        let id = decision.inquiry.decision_id;
        assert_eq!(one(&store, id).await, Some(decision));
        let again = question("run", "a", 9);
        let again = store.write(move |tx| tx.put_decision(&again, 0)).await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        assert_eq!(one(&store, id).await.map(|one| one.asked_at), Some(Millis(5)));
        assert_eq!(one(&store, DecisionId(Digest::ZERO)).await, None);
    });
}

#[test]
fn of_two_concurrent_answers_exactly_one_is_stored() {
    everywhere(async |store| {
        let asked = ask(&store, "run", "a", 5).await;
        let id = asked.inquiry.decision_id;
        let answer = |option: &str, channel, at| {
            let answered = asked.answer(reply(option, channel), Millis(at)).expect("may be");
            let store = store.clone();
            async move { store.write(move |tx| tx.put_decision(&answered, 1)).await }
        };
        let (yes, no) = tokio::join!(answer(APPROVE, Channel::Page, 6), answer(DENY, Channel::Cli, 7));
        let lost = [&yes, &no]
            .iter()
            .filter(|one| matches!(one, Err(StoreError::Conflict)))
            .count();
        assert_eq!((lost, yes.is_ok() || no.is_ok()), (1, true), "{yes:?} {no:?}");
        let stands = one(&store, id).await.expect("a question");
        let option = stands.answer.as_ref().map(|answer| answer.option.clone());
        assert_eq!(option.as_deref(), Some(if yes.is_ok() { APPROVE } else { DENY }));
        assert_eq!((stands.version, stands.status), (2, DecisionStatus::Answered));
        // A closed decision stays closed, regardless of the version that the caller has read.
        let late = Decision {
            version: 3,
            ..stands.clone()
        };
        let late = store.write(move |tx| tx.put_decision(&late, 2)).await;
        assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
        assert_eq!(one(&store, id).await, Some(stands));
    });
}

// Conformance: P-243
#[test]
fn an_answer_to_a_decision_with_raised_severity_is_a_conflict() {
    everywhere(async |store| {
        let asked = ask(&store, "run", "a", 5).await;
        let raised = asked.escalate_if_overdue(Millis(2_000)).expect("overdue");
        let put = raised.clone();
        store
            .write(move |tx| tx.put_decision(&put, 1))
            .await
            .expect("raised");
        let answered = asked
            .answer(reply(APPROVE, Channel::Api), Millis(9))
            .expect("may be");
        let stale = store.write(move |tx| tx.put_decision(&answered, 1)).await;
        assert!(matches!(stale, Err(StoreError::Conflict)), "{stale:?}");
        let stands = one(&store, asked.inquiry.decision_id).await.expect("a question");
        assert_eq!((stands.version, stands.inquiry.severity), (2, Severity::Critical));
    });
}

#[test]
fn a_run_receives_the_outcome_of_a_decision_once() {
    everywhere(async |store| {
        let first = ask(&store, "run", "a", 5).await;
        let second = ask(&store, "run", "b", 6).await;
        ask(&store, "other", "c", 7).await;
        let rulings = async || {
            let found = store
                .read(|view| view.decisions_to_apply(&sample::run_key("run")))
                .await;
            let found = found.expect("read");
            found
                .iter()
                .map(|one| one.inquiry.decision_id)
                .collect::<Vec<_>>()
        };
        assert_eq!(rulings().await, [], "no decision is answered");
        let closed = [
            second
                .answer(reply(DENY, Channel::Cli), Millis(8))
                .expect("may be"),
            first.withdrawn(Millis(9)),
        ];
        let put = store.write(move |tx| closed.iter().try_for_each(|one| tx.put_decision(one, 1)));
        put.await.expect("closed");
        let (first, second) = (first.inquiry.decision_id, second.inquiry.decision_id);
        assert_eq!(rulings().await, [first, second], "oldest first");
        let apply = async |id| store.write(move |tx| tx.apply_decision(&id)).await;
        apply(first).await.expect("told");
        assert!(matches!(apply(first).await, Err(StoreError::Conflict)));
        assert!(matches!(
            apply(DecisionId(Digest::ZERO)).await,
            Err(StoreError::Conflict)
        ));
        assert_eq!(rulings().await, [second]);
    });
}

#[test]
fn decisions_are_listed_by_status_and_by_run() {
    everywhere(async |store| {
        let old = ask(&store, "run", "a", 5).await;
        let young = ask(&store, "other", "b", 9).await;
        let done = ask(&store, "run", "c", 7).await;
        let answered = done.answer(reply(DENY, Channel::Cli), Millis(8)).expect("may be");
        store
            .write(move |tx| tx.put_decision(&answered, 1))
            .await
            .expect("answered");
        let [old, young, done] = [old, young, done].map(|one| one.inquiry.decision_id);
        let filter = |pending_only, run: Option<&str>, limit| DecisionFilter {
            pending_only,
            run_key: run.map(sample::run_key),
            limit,
        };
        assert_eq!(list(&store, filter(true, None, 9)).await, [old, young]);
        assert_eq!(list(&store, filter(false, None, 9)).await, [young, done, old]);
        assert_eq!(list(&store, filter(false, None, 1)).await, [young]);
        assert_eq!(list(&store, filter(true, Some("run"), 9)).await, [old]);
        assert_eq!(list(&store, filter(false, Some("run"), 9)).await, [old, done]);
        assert_eq!(list(&store, filter(true, Some("nobody"), 9)).await, []);
    });
}

#[test]
fn a_decision_is_found_by_the_prefix_of_its_id() {
    everywhere(async |store| {
        let id = ask(&store, "run", "a", 5).await.inquiry.decision_id;
        for name in [
            "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
        ] {
            ask(&store, "run", name, 6).await;
        }
        let named = async |prefix: &str| {
            let prefix = prefix.to_owned();
            store
                .read(move |view| view.decisions_with_prefix(&prefix))
                .await
                .expect("read")
        };
        let name = id.to_string();
        for digits in [64, 63, 20] {
            assert_eq!(named(&name[..digits]).await, [id], "{digits}");
        }
        assert_eq!(named(&name.to_uppercase()).await, [id]);
        assert_eq!(named("").await.len(), 5, "a few candidates are listed");
        for wrong in ["xyz", &format!("{name}0"), "é"] {
            assert_eq!(named(wrong).await, [], "{wrong}");
        }
    });
}

#[test]
fn a_run_is_found_by_four_digits_of_its_decision() {
    everywhere(async |store| {
        let asked = ask(&store, "run", "a", 5).await.inquiry;
        let id = asked.decision_id.to_string();
        let named = async |digits: usize| {
            let prefix = id[..digits].to_owned();
            let found = store.read(move |view| view.runs_with_prefix(&prefix));
            found.await.expect("read")
        };
        assert_eq!(named(4).await, [sample::run_key("run")]);
        assert_eq!(named(3).await, []);
    });
}

#[test]
fn human_backlog_is_counted_for_all_and_for_each_agent() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            tx.create_agent(&sample::agent("main"))?;
            tx.create_run(&sample::run("run"))?;
            tx.create_run(&sample::run("aside"))?;
            tx.set_run_status(
                &sample::run_key("aside"),
                RunStatus::Quarantined,
                Some("broken"),
                Millis(3),
            )
        });
        assert!(made.await.expect("made"));
        let first = ask(&store, "run", "a", 5).await;
        ask(&store, "run", "b", 6).await;
        let answered = first
            .answer(reply(DENY, Channel::Cli), Millis(8))
            .expect("may be");
        store
            .write(move |tx| tx.put_decision(&answered, 1))
            .await
            .expect("answered");
        let owed = store.read(|view| view.human_backlog()).await.expect("read");
        assert_eq!(
            owed,
            HumanBacklog {
                pending_decisions: 1,
                quarantined_runs: 1
            }
        );
        let seen = store.read(|view| view.overview(&sample::agent_id("main"))).await;
        let seen = seen.expect("read").expect("an agent");
        assert_eq!((seen.pending_decisions, seen.quarantined_runs), (1, 1));
    });
}

#[test]
fn the_last_notification_attempt_is_stored_and_delivered_stays_delivered() {
    everywhere(async |store| {
        let id = ask(&store, "run", "a", 5).await.inquiry.decision_id;
        let row = |way: &str, tries, error: Option<&str>| DecisionNotificationRow {
            decision_id: id,
            severity: Severity::High,
            target: way.to_owned(),
            tries,
            is_done: error.is_none(),
            error: error.map(str::to_owned),
            at: Millis(i64::from(tries)),
        };
        let put = async |row: DecisionNotificationRow| {
            store
                .write(move |tx| tx.put_announcement(&row))
                .await
                .expect("kept");
        };
        let told = async || {
            store
                .read(move |view| view.announcements(&id))
                .await
                .expect("read")
        };
        put(row("webhook", 1, Some("connection refused"))).await;
        put(row("webhook", 2, Some("connection timed out"))).await;
        put(row("command", 1, None)).await;
        assert_eq!(
            told().await,
            [
                row("command", 1, None),
                row("webhook", 2, Some("connection timed out"))
            ]
        );
        put(row("webhook", 3, None)).await;
        put(row("webhook", 4, Some("a second daemon was slower"))).await;
        assert_eq!(told().await, [row("command", 1, None), row("webhook", 3, None)]);
        let raised = DecisionNotificationRow {
            severity: Severity::Critical,
            ..row("webhook", 5, None)
        };
        put(raised.clone()).await;
        assert_eq!(
            told().await.last(),
            Some(&raised),
            "each severity has its own notification"
        );
    });
}

#[test]
fn closed_decisions_are_pruned_with_their_run_and_pending_ones_stay() {
    everywhere(async |store| {
        let (closed, open) = (ask(&store, "run", "a", 5).await, ask(&store, "run", "b", 6).await);
        let other = ask(&store, "other", "c", 7).await;
        let ids = [&closed, &open, &other].map(|one| one.inquiry.decision_id);
        let written = store.write(move |tx| {
            for one in [&closed, &other] {
                let answered = one
                    .answer(reply(DENY, Channel::Api), Millis(9))
                    .expect("an answer");
                tx.put_decision(&answered, one.version)?;
            }
            for decision_id in ids {
                tx.put_announcement(&DecisionNotificationRow {
                    decision_id,
                    severity: Severity::High,
                    target: "desktop".to_owned(),
                    tries: 1,
                    is_done: true,
                    error: None,
                    at: Millis(8),
                })?;
            }
            tx.create_agent(&sample::agent("main"))?;
            let run = RunRow {
                status: RunStatus::Completed,
                ended_at: Some(Millis(20)),
                ..sample::run("run")
            };
            tx.create_run(&run)?;
            let lines = PruneTarget::Lines {
                run_key: run.run_key,
                thread_id: run.thread_id,
                first: 0,
                last: 0,
            };
            let agent = sample::agent_id("main");
            // Prune one at a time; the remainder follows later.
            Ok([1, 1, 9].map(|at_most| tx.prune(&agent, &lines, at_most).map(|taken| taken.is_all)))
        });
        let taken = written.await.expect("pruned").map(|taken| taken.expect("pruned"));
        assert_eq!(taken, [false, true, true]);
        for (id, stays) in ids.into_iter().zip([false, true, true]) {
            assert_eq!(one(&store, id).await.is_some(), stays);
            let told = store
                .read(move |view| view.announcements(&id))
                .await
                .expect("read");
            assert_eq!(told.len(), usize::from(stays));
        }
    });
}
