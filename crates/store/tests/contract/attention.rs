//! What lists of runs show, and which runs need a person.

use wakeful_core::message::MessageKind;
use wakeful_core::run::RunStatus;
use wakeful_core::step::StepStatus;
use wakeful_core::time::Millis;
use wakeful_store::Store;
use wakeful_store::rows::{
    Agent, RunCounts, RunFilter, RunRow, RunState, StatusCounts, StatusCountsFilter, StepRow, StepSettlement,
    Visibility,
};

use crate::fixture::{everywhere, sample};

fn ended(name: &str, status: RunStatus, at: i64) -> RunRow {
    RunRow {
        status,
        started_at: Millis(at),
        ended_at: Some(Millis(at + 1)),
        ..sample::run(name)
    }
}

async fn create(store: &Store, runs: Vec<RunRow>) {
    let created = store.write(move |tx| runs.iter().try_for_each(|run| tx.create_run(run)));
    created.await.expect("created");
}

async fn flagged(store: &Store) -> (Vec<&'static str>, u64) {
    let (runs, total) = store
        .read(|view| view.runs_needing_attention(10))
        .await
        .expect("read");
    let name = |run: &RunRow| {
        ["a", "b", "c"]
            .into_iter()
            .find(|name| sample::run_key(name) == run.run_key)
    };
    (runs.iter().filter_map(name).collect(), total)
}

#[test]
fn a_failed_run_of_a_public_agent_needs_attention_until_dismissed() {
    everywhere(async |store| {
        let private = Agent {
            visibility: Visibility::Private,
            ..sample::agent("private")
        };
        let agents = [sample::agent("main"), private];
        let made = store.write(move |tx| {
            agents
                .iter()
                .try_for_each(|agent| tx.create_agent(agent).map(drop))
        });
        made.await.expect("agents");
        let hidden = RunRow {
            agent_id: sample::agent_id("private"),
            ..ended("c", RunStatus::Failed, 3)
        };
        let runs = vec![
            ended("a", RunStatus::Failed, 1),
            ended("b", RunStatus::OutOfRounds, 2),
            hidden,
        ];
        create(&store, runs).await;
        assert_eq!(flagged(&store).await, (vec![], 0));
        let flag = store.write(|tx| {
            ["a", "b", "c"]
                .iter()
                .try_for_each(|name| tx.flag_failed_run(&sample::run_key(name)))
        });
        flag.await.expect("flagged");
        assert_eq!(flagged(&store).await, (vec!["b", "a"], 2));
        let dismiss = async || {
            store
                .write(|tx| tx.dismiss_run(&sample::run_key("b")))
                .await
                .expect("written")
        };
        assert!(dismiss().await, "it needed attention");
        assert!(!dismiss().await, "it does not any more");
        assert_eq!(flagged(&store).await, (vec!["a"], 1));
    });
}

#[test]
fn an_unknown_outcome_needs_attention() {
    everywhere(async |store| {
        create(&store, vec![sample::run("a"), sample::run("b"), sample::run("c")]).await;
        let intended = StepRow {
            status: StepStatus::Intended,
            ..sample::step("b", "left")
        };
        let written = store.write(move |tx| {
            for run in ["a", "c"] {
                tx.put_step(&sample::step(run, run))?;
            }
            tx.put_step(&intended)?;
            tx.settle_step(&sample::end("c", StepStatus::Ok))?;
            tx.settle_step(&sample::end("a", StepStatus::OutcomeUnknown))?;
            tx.mark_steps_unknown(&sample::run_key("b"))
        });
        written.await.expect("written");
        let (mut names, total) = flagged(&store).await;
        names.sort_unstable();
        assert_eq!((names, total), (vec!["a", "b"], 2));
    });
}

#[test]
fn the_counts_of_a_run_follow_from_its_steps() {
    everywhere(async |store| {
        let written = store.write(|tx| {
            let ends = [
                ("ok", StepStatus::Ok, Some(0)),
                ("exit", StepStatus::Ok, Some(3)),
                ("failed", StepStatus::Failed, None),
                ("unknown", StepStatus::OutcomeUnknown, None),
            ];
            for (name, status, exit_status) in ends {
                tx.put_step(&sample::step("run", name))?;
                tx.settle_step(&StepSettlement {
                    exit_status,
                    ..sample::end(name, status)
                })?;
            }
            let denied = StepRow {
                status: StepStatus::Denied,
                call: Some(sample::call(Some(sample::call_end(StepStatus::Denied)))),
                ..sample::step("run", "denied")
            };
            tx.put_step(&denied)?;
            let model = StepRow {
                class: None,
                base: None,
                call: None,
                status: StepStatus::Ok,
                ..sample::step("run", "model")
            };
            tx.put_step(&model)?;
            tx.put_step(&sample::step("other", "planned"))
        });
        written.await.expect("written");
        // More keys than one statement has.
        let mut keys: Vec<_> = (0..40).map(|n| sample::run_key(&format!("none {n}"))).collect();
        keys.extend([sample::run_key("run"), sample::run_key("other")]);
        let counts = store
            .read(move |view| view.run_counts(&keys))
            .await
            .expect("read");
        let of = |name: &str| counts.get(&sample::run_key(name)).copied();
        assert_eq!(counts.len(), 2);
        let expected = RunCounts {
            model_rounds: 1,
            tool_calls: 5,
            denied: 1,
            failed: 2,
            unknown: 1,
            ..RunCounts::default()
        };
        assert_eq!(of("run"), Some(expected));
        assert_eq!(of("other").map(|counts| counts.tool_calls), Some(1));
    });
}

#[test]
fn runs_are_counted_per_status_by_agent_cause_and_time() {
    everywhere(async |store| {
        let message = sample::message("t", "body");
        let of_message = RunRow {
            run_key: message.run_key,
            ..ended("unused", RunStatus::Failed, 9)
        };
        let other = RunRow {
            agent_id: sample::agent_id("other"),
            ..ended("b", RunStatus::Failed, 2)
        };
        let runs = vec![
            ended("a", RunStatus::Completed, 1),
            other,
            sample::run("c"),
            of_message,
        ];
        create(&store, runs).await;
        store
            .write(move |tx| tx.admit_message(&message).map(drop))
            .await
            .expect("admitted");
        let count = async |filter: StatusCountsFilter| {
            let counts = store.read(move |view| view.status_counts(&filter)).await;
            counts.expect("read")
        };
        let all = StatusCounts {
            open: 1,
            completed: 1,
            failed: 2,
            ..StatusCounts::default()
        };
        assert_eq!(count(StatusCountsFilter::default()).await, all);
        let of_agent = StatusCountsFilter {
            agent_id: Some(sample::agent_id("other")),
            ..StatusCountsFilter::default()
        };
        assert_eq!(count(of_agent).await.failed, 1);
        let early = StatusCountsFilter {
            since: Some(Millis(2)),
            until: Some(Millis(8)),
            ..StatusCountsFilter::default()
        };
        assert_eq!(
            (count(early.clone()).await.failed, count(early).await.completed),
            (1, 0)
        );
        let prompts = StatusCountsFilter {
            cause: Some(MessageKind::OperatorPrompt),
            ..StatusCountsFilter::default()
        };
        let counted = count(prompts).await;
        assert_eq!((counted.failed, counted.open, counted.completed), (1, 0, 0));
    });
}

#[test]
fn unsuccessful_runs_are_listed_up_to_a_time() {
    everywhere(async |store| {
        let runs = vec![
            ended("a", RunStatus::Failed, 1),
            ended("b", RunStatus::Completed, 2),
            ended("c", RunStatus::Cancelled, 3),
        ];
        create(&store, runs).await;
        let list = async |until: Option<i64>| {
            let filter = RunFilter {
                state: RunState::Unsuccessful,
                until: until.map(Millis),
                limit: 10,
                ..RunFilter::default()
            };
            let runs = store.read(move |view| view.runs(&filter)).await.expect("read");
            runs.iter().map(|run| run.status).collect::<Vec<_>>()
        };
        assert_eq!(list(None).await, [RunStatus::Cancelled, RunStatus::Failed]);
        assert_eq!(list(Some(2)).await, [RunStatus::Failed]);
        assert_eq!(list(Some(3)).await.len(), 2);
    });
}

#[test]
fn the_retries_of_a_run_are_found_by_its_key() {
    everywhere(async |store| {
        let first = sample::message("t", "body");
        let contents = wakeful_core::message::RetryContents::Same;
        let again = first.retry(contents, 0, Millis(9));
        let messages = [first.clone(), again.clone(), first.retry(contents, 1, Millis(10))];
        let admitted = store.write(move |tx| {
            messages
                .iter()
                .try_for_each(|message| tx.admit_message(message).map(drop))
        });
        admitted.await.expect("admitted");
        let key = first.run_key;
        assert_eq!(
            store
                .read(move |view| view.retries(&key))
                .await
                .expect("read")
                .len(),
            2
        );
        let key = again.run_key;
        assert_eq!(
            store.read(move |view| view.message(&key)).await.expect("read"),
            Some(again)
        );
    });
}
