//! Brakes, runs that wait for a time, and quarantined runs.

use wakeful_core::decision::Channel;
use wakeful_core::message::RunOptions;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Suspension, Wait};
use wakeful_store::rows::{BrakeRow, RunFilter, RunRow, RunState};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

const NOW: Millis = Millis(1_771_344_000_000);

fn brake(agent: Option<&str>, reason: &str) -> BrakeRow {
    BrakeRow {
        agent_id: agent.map(sample::agent_id),
        reason: reason.to_owned(),
        channel: Channel::Page,
        at: NOW,
    }
}

async fn set(store: &Store, row: BrakeRow) -> bool {
    store.write(move |tx| tx.put_brake(&row)).await.expect("written")
}

async fn lift(store: &Store, agent: Option<&'static str>) -> bool {
    let lifted = store.write(move |tx| tx.release_brake(agent.map(sample::agent_id).as_ref()));
    lifted.await.expect("written")
}

async fn holds(store: &Store, agent: &'static str) -> bool {
    let holds = store.read(move |view| view.is_braked(&sample::agent_id(agent)));
    holds.await.expect("read")
}

async fn with_work(store: &Store, now: Millis) -> Vec<String> {
    let found = store
        .read(move |view| view.agents_with_work(sample::work_at(now)))
        .await;
    found.expect("read").iter().map(ToString::to_string).collect()
}

/// Creates an agent with an open run that waits.
async fn waiting(store: &Store, agent: &'static str, wait: Option<Wait>) {
    let made = store.write(move |tx| {
        tx.create_agent(&sample::agent(agent))?;
        tx.create_run(&RunRow {
            agent_id: sample::agent_id(agent),
            suspension: wait.map(|wait| Suspension { wait, since: NOW }),
            ..sample::run(agent)
        })
    });
    made.await.expect("made");
}

const fn due(until: Millis) -> Wait {
    Wait::Due { until }
}

async fn row(store: &Store, run: &'static str) -> RunRow {
    let found = store.read(move |view| view.run(&sample::run_key(run))).await;
    found.expect("read").expect("a run")
}

#[test]
fn a_brake_applies_to_one_agent_or_all_and_is_not_overwritten() {
    everywhere(async |store| {
        assert!(!holds(&store, "main").await);
        assert!(set(&store, brake(Some("main"), "it runs wild – sofort")).await);
        assert!(
            !set(&store, brake(Some("main"), "another reason")).await,
            "it is on"
        );
        assert_eq!(
            (holds(&store, "main").await, holds(&store, "other").await),
            (true, false)
        );
        assert!(set(&store, brake(None, "")).await);
        assert!(holds(&store, "other").await);
        let brakes = store.read(|view| view.brakes()).await.expect("read");
        assert_eq!(
            brakes,
            [brake(None, ""), brake(Some("main"), "it runs wild – sofort")],
            "that of all first"
        );
        assert!(lift(&store, None).await);
        assert!(!lift(&store, None).await, "it was off already");
        assert_eq!(
            (holds(&store, "main").await, holds(&store, "other").await),
            (true, false)
        );
        assert!(lift(&store, Some("main")).await);
        assert!(!holds(&store, "main").await);
    });
}

#[test]
fn a_braked_agent_has_no_work_except_cancellations() {
    everywhere(async |store| {
        waiting(&store, "a", None).await;
        waiting(&store, "b", None).await;
        let message = sample::message("t1", "hello").through_api(RunOptions::default());
        let queued = store.write(move |tx| {
            tx.create_agent(&sample::agent("main"))?;
            tx.admit_message(&message)?;
            tx.enqueue(&message, 1, None)
        });
        queued.await.expect("queued");
        assert_eq!(with_work(&store, NOW).await, ["a", "b", "main"]);
        set(&store, brake(Some("a"), "")).await;
        assert_eq!(with_work(&store, NOW).await, ["b", "main"]);
        set(&store, brake(None, "")).await;
        assert_eq!(with_work(&store, NOW).await, Vec::<String>::new());
        let cancel = store
            .write(|tx| tx.request_cancel(&sample::run_key("b"), NOW))
            .await;
        cancel.expect("asked for");
        assert_eq!(with_work(&store, NOW).await, ["b"]);
        lift(&store, None).await;
        assert_eq!(with_work(&store, NOW).await, ["b", "main"]);
        let seen = store.read(|view| view.overview(&sample::agent_id("a"))).await;
        assert!(seen.expect("read").expect("an agent").is_braked);
    });
}

#[test]
fn a_waiting_run_is_work_when_it_is_due() {
    everywhere(async |store| {
        waiting(&store, "later", Some(due(Millis(NOW.0 + 5_000)))).await;
        waiting(&store, "soon", Some(due(Millis(NOW.0 + 1_000)))).await;
        waiting(&store, "never", Some(Wait::Children)).await;
        let next = async || store.read(|view| view.next_due(NOW)).await.expect("read");
        assert_eq!(with_work(&store, NOW).await, Vec::<String>::new());
        assert_eq!(next().await, Some(Millis(NOW.0 + 1_000)));
        assert_eq!(with_work(&store, Millis(NOW.0 + 1_000)).await, ["soon"]);
        assert_eq!(with_work(&store, Millis(NOW.0 + 9_000)).await, ["later", "soon"]);
        store
            .write(|tx| tx.make_run_due(&sample::run_key("never")))
            .await
            .expect("roused");
        assert_eq!(with_work(&store, NOW).await, ["never"]);
        let aside = store.write(|tx| {
            for run in ["later", "soon"] {
                tx.set_run_status(&sample::run_key(run), RunStatus::Quarantined, Some("broken"), NOW)?;
            }
            Ok(())
        });
        aside.await.expect("moved");
        assert_eq!(next().await, None, "no run waits for a time");
    });
}

#[test]
fn a_clock_set_back_ten_years_does_not_keep_a_run_waiting() {
    everywhere(async |store| {
        let ten_years = Millis(NOW.0 - 315_576_000_000);
        waiting(&store, "a", Some(due(Millis(NOW.0 + 1_000)))).await;
        waiting(&store, "b", Some(Wait::Children)).await;
        assert_eq!(with_work(&store, NOW).await, Vec::<String>::new());
        assert_eq!(
            with_work(&store, ten_years).await,
            ["a"],
            "runs that wait for sub-runs still do"
        );
        let ahead = Millis(NOW.0 + 315_576_000_000);
        assert_eq!(with_work(&store, ahead).await, ["a"]);
    });
}

#[test]
fn claims_are_counted_until_the_next_transition() {
    everywhere(async |store| {
        waiting(&store, "a", None).await;
        let count = async || {
            let counted = store.write(|tx| tx.count_claim(&sample::run_key("a"))).await;
            counted.expect("counted")
        };
        assert_eq!((count().await, count().await, count().await), (1, 2, 3));
        let moved = RunRow {
            version: 1,
            ..row(&store, "a").await
        };
        store
            .write(move |tx| tx.put_state(&moved, 0))
            .await
            .expect("moved");
        assert_eq!(count().await, 1);
        let nobody = store.write(|tx| tx.count_claim(&sample::run_key("nobody"))).await;
        assert_eq!(nobody.expect("counted"), 0);
    });
}

#[test]
fn a_quarantined_run_stays_until_it_is_resumed_or_abandoned() {
    everywhere(async |store| {
        waiting(&store, "a", Some(Wait::Children)).await;
        let aside = async |status: RunStatus, fault: Option<&'static str>| {
            let moved = store.write(move |tx| tx.set_run_status(&sample::run_key("a"), status, fault, NOW));
            moved.await.expect("written")
        };
        assert!(aside(RunStatus::Quarantined, Some("it broke off five times")).await);
        assert!(
            !aside(RunStatus::Quarantined, None).await,
            "it is already quarantined"
        );
        let standing = row(&store, "a").await;
        assert_eq!(standing.fault.as_deref(), Some("it broke off five times"));
        assert_eq!((standing.ended_at, standing.suspension), (Some(NOW), None));
        assert_eq!(with_work(&store, NOW).await, Vec::<String>::new());
        let moved = RunRow {
            version: 1,
            ..standing
        };
        let moved = store.write(move |tx| tx.put_state(&moved, 0)).await;
        assert!(
            matches!(moved, Err(StoreError::Conflict)),
            "a quarantined run makes no transition"
        );
        assert!(aside(RunStatus::Open, None).await);
        let back = row(&store, "a").await;
        assert_eq!((back.status, back.ended_at), (RunStatus::Open, None));
        assert_eq!(with_work(&store, NOW).await, ["a"]);
        assert!(aside(RunStatus::Quarantined, Some("again")).await);
        assert!(aside(RunStatus::Abandoned, None).await);
        for status in [RunStatus::Open, RunStatus::Quarantined, RunStatus::Abandoned] {
            assert!(
                !aside(status, None).await,
                "what has ended stays as it is: {status}"
            );
        }
        assert_eq!(row(&store, "a").await.fault.as_deref(), Some("again"));
    });
}

#[test]
fn quarantined_runs_are_listed_separately() {
    everywhere(async |store| {
        waiting(&store, "a", None).await;
        waiting(&store, "b", None).await;
        waiting(&store, "c", None).await;
        let moved = store.write(|tx| {
            tx.set_run_status(&sample::run_key("a"), RunStatus::Quarantined, Some("x"), NOW)?;
            tx.set_run_status(&sample::run_key("b"), RunStatus::Quarantined, Some("y"), NOW)
        });
        assert!(moved.await.expect("moved"));
        let listed = async |agent: Option<&'static str>, state| {
            let filter = RunFilter {
                agent_id: agent.map(sample::agent_id),
                state,
                limit: 9,
                ..RunFilter::default()
            };
            let found = store.read(move |view| view.runs(&filter)).await.expect("read");
            let mut names: Vec<String> = found.iter().map(|row| row.agent_id.to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(listed(None, RunState::Quarantined).await, ["a", "b"]);
        assert_eq!(listed(Some("b"), RunState::Quarantined).await, ["b"]);
        assert_eq!(
            listed(Some("c"), RunState::Quarantined).await,
            Vec::<String>::new()
        );
        assert_eq!(listed(None, RunState::Open).await, ["c"]);
        assert_eq!(listed(None, RunState::Any).await, ["a", "b", "c"]);
    });
}
