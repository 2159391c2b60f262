//! Steps from the plan to their end.

use wakeful_core::conversation::Usage;
use wakeful_core::id::ThreadId;
use wakeful_core::key::ActionBase;
use wakeful_core::run::RunStatus;
use wakeful_core::step::{EffectClass, PriorActions, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::tool::QuotaUse;
use wakeful_store::rows::{RunRow, StepRow, StepSettlement};
use wakeful_store::{Store, StoreError, ToolUseElsewhere, ToolUseQuery};

use crate::fixture::{everywhere, sample};

async fn put(store: &Store, steps: Vec<StepRow>) {
    let put = store.write(move |tx| steps.iter().try_for_each(|step| tx.put_step(step)));
    put.await.expect("put down");
}

async fn steps(store: &Store, run: &'static str) -> Vec<StepRow> {
    store
        .read(move |view| view.steps(&sample::run_key(run), 0, 100))
        .await
        .expect("read")
}

#[test]
fn steps_are_read_back_unchanged_with_ordinals_from_one() {
    everywhere(async |store| {
        let model = StepRow {
            name: "openai/gpt".into(),
            class: None,
            base: None,
            call: None,
            status: StepStatus::Intended,
            usage: Usage::of(1, 2),
            ..sample::step("run", "model")
        };
        let tool = StepRow {
            class: Some(EffectClass::Idempotent),
            status: StepStatus::Denied,
            call: Some(sample::call(Some(sample::call_end(StepStatus::Denied)))),
            reason: "rule «no network» – §3".into(),
            duration_ms: Some(0),
            sandbox: Some("none".into()),
            ..sample::step("run", "tool")
        };
        put(
            &store,
            vec![model.clone(), sample::step("other", "x"), tool.clone()],
        )
        .await;
        let expected = [StepRow { ordinal: 1, ..model }, StepRow { ordinal: 2, ..tool }];
        assert_eq!(steps(&store, "run").await, expected);
    });
}

#[test]
fn statements_of_one_transaction_run_in_order() {
    everywhere(async |store| {
        let written = store.write(|tx| {
            for number in 0..50 {
                let step = StepRow {
                    status: StepStatus::Planned,
                    ..sample::step("run", &format!("op-{number}"))
                };
                tx.put_step(&step)?;
                tx.intend_step(&step.operation_id)?;
                tx.postpone_step(&step.operation_id)?;
                tx.intend_step(&step.operation_id)?;
            }
            Ok(())
        });
        written.await.expect("each finds what the one before it wrote");
        let steps = steps(&store, "run").await;
        assert_eq!(steps.len(), 50);
        assert!(steps.iter().all(|step| step.status == StepStatus::Intended));
    });
}

#[test]
fn steps_are_read_in_pages() {
    everywhere(async |store| {
        let all = (1..=5).map(|n| sample::step("run", &n.to_string()));
        put(&store, all.collect()).await;
        let page = async |after, limit| {
            let steps = store.read(move |view| view.steps(&sample::run_key("run"), after, limit));
            steps
                .await
                .expect("read")
                .iter()
                .map(|step| step.ordinal)
                .collect::<Vec<_>>()
        };
        assert_eq!(page(0, 2).await, [1, 2]);
        assert_eq!(page(2, 2).await, [3, 4]);
        assert_eq!(page(4, 2).await, [5]);
        assert!(page(5, 2).await.is_empty());
    });
}

// Conformance: L-150, A-147, A-201
#[test]
fn an_operation_is_stored_once() {
    everywhere(async |store| {
        put(&store, vec![sample::step("run", "op")]).await;
        let again = store.write(|tx| tx.put_step(&sample::step("run", "op"))).await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        let elsewhere = store.write(|tx| tx.put_step(&sample::step("other", "op"))).await;
        assert!(matches!(elsewhere, Err(StoreError::Conflict)), "{elsewhere:?}");
        assert_eq!(steps(&store, "run").await.len(), 1);
    });
}

// Conformance: A-197
#[test]
fn a_tool_call_without_any_one_link_is_refused() {
    everywhere(async |store| {
        let ended = sample::call(Some(sample::call_end(StepStatus::Denied)));
        let denied = StepRow {
            status: StepStatus::Denied,
            call: Some(ended.clone()),
            ..sample::step("run", "denied")
        };
        put(&store, vec![denied.clone()]).await;
        let [kept] = steps(&store, "run").await.try_into().expect("one step");
        assert_eq!(kept.call, Some(ended));
        // The session and the agent come from the run, whose key is never null.
        let partial = |call| StepRow {
            call,
            ..sample::step("run", "partial")
        };
        let without_result = StepRow {
            status: StepStatus::Ok,
            ..partial(Some(sample::call(None)))
        };
        let without_category = StepRow {
            status: StepStatus::Denied,
            ..partial(Some(sample::call(Some(sample::call_end(StepStatus::Ok)))))
        };
        for row in [partial(None), without_result, without_category] {
            let refused = store.write(move |tx| tx.put_step(&row)).await;
            assert!(refused.is_err(), "{refused:?}");
        }
        put(&store, vec![sample::step("run", "open")]).await;
        let unrecorded = StepSettlement {
            end: None,
            ..sample::end("open", StepStatus::Ok)
        };
        let refused = store.write(move |tx| tx.settle_step(&unrecorded)).await;
        assert!(refused.is_err(), "{refused:?}");
    });
}

#[test]
fn a_name_invented_by_a_model_can_always_be_stored() {
    everywhere(async |store| {
        let strange = StepRow {
            name: "a\0b".into(),
            reason: "\0".into(),
            ..sample::step("run", "op")
        };
        put(&store, vec![strange]).await;
        let [kept] = steps(&store, "run").await.try_into().expect("one step");
        assert_eq!(
            (kept.name.as_str(), kept.reason.as_str()),
            ("a\u{fffd}b", "\u{fffd}")
        );
    });
}

#[test]
fn only_a_planned_step_becomes_intended() {
    everywhere(async |store| {
        put(&store, vec![sample::step("run", "op")]).await;
        let intend = async || store.write(|tx| tx.intend_step(&sample::operation("op"))).await;
        intend().await.expect("intended");
        assert_eq!(steps(&store, "run").await[0].status, StepStatus::Intended);
        let again = intend().await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        let unknown = store.write(|tx| tx.intend_step(&sample::operation("none"))).await;
        assert!(matches!(unknown, Err(StoreError::Conflict)), "{unknown:?}");
    });
}

#[test]
fn a_step_ends_once() {
    everywhere(async |store| {
        put(
            &store,
            vec![sample::step("run", "planned"), sample::step("run", "intended")],
        )
        .await;
        store
            .write(|tx| tx.intend_step(&sample::operation("intended")))
            .await
            .expect("intended");
        for (index, name) in ["planned", "intended"].into_iter().enumerate() {
            let settle = async |status| {
                store
                    .write(move |tx| tx.settle_step(&sample::end(name, status)))
                    .await
            };
            settle(StepStatus::Ok).await.expect("ended");
            let second = settle(StepStatus::OutcomeUnknown).await;
            assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
            let end = sample::end(name, StepStatus::Ok);
            let expected = StepRow {
                ordinal: i64::try_from(index).expect("small") + 1,
                status: StepStatus::Ok,
                duration_ms: Some(end.duration_ms),
                sandbox: end.sandbox,
                exit_status: end.exit_status,
                usage: end.usage,
                call: Some(sample::call(end.end)),
                ..sample::step("run", name)
            };
            assert_eq!(steps(&store, "run").await[index], expected);
        }
    });
}

#[test]
fn a_step_stores_the_reason_given_at_its_end() {
    everywhere(async |store| {
        for (name, given, kept) in [
            ("without", None, "default"),
            (
                "with",
                Some("the person said «stop» – §3"),
                "the person said «stop» – §3",
            ),
            ("strange", Some("\0"), "\u{fffd}"),
        ] {
            put(&store, vec![sample::step(name, name)]).await;
            let end = StepSettlement {
                reason: given.map(str::to_owned),
                ..sample::end(name, StepStatus::Failed)
            };
            store.write(move |tx| tx.settle_step(&end)).await.expect("ended");
            assert_eq!(steps(&store, name).await[0].reason, kept, "{name}");
        }
    });
}

#[test]
fn an_unknown_step_cannot_end() {
    everywhere(async |store| {
        let ended = store
            .write(|tx| tx.settle_step(&sample::end("none", StepStatus::Ok)))
            .await;
        assert!(matches!(ended, Err(StoreError::Conflict)), "{ended:?}");
    });
}

#[test]
fn equal_actions_are_counted_within_their_run() {
    everywhere(async |store| {
        let base = ActionBase(sample::digest("base"));
        let seen = async || {
            store
                .read(move |view| view.prior_actions(&sample::run_key("run"), &base))
                .await
                .expect("read")
        };
        assert_eq!(seen().await, PriorActions::default());
        let other_base = Some(ActionBase(sample::digest("other")));
        let different = StepRow {
            base: other_base,
            ..sample::step("run", "different")
        };
        let model = StepRow {
            base: None,
            ..sample::step("run", "model")
        };
        let mine = [
            sample::step("run", "1"),
            sample::step("run", "2"),
            sample::step("other", "3"),
        ];
        put(&store, [different, model].into_iter().chain(mine).collect()).await;
        assert_eq!(
            seen().await,
            PriorActions {
                count: 2,
                unknown: false,
                newest_unknown: None,
            }
        );
        let settled = store.write(|tx| tx.settle_step(&sample::end("1", StepStatus::OutcomeUnknown)));
        settled.await.expect("ended");
        assert_eq!(
            seen().await,
            PriorActions {
                count: 2,
                unknown: true,
                newest_unknown: Some(sample::operation("1")),
            }
        );
    });
}

/// Runs of two agents and two sessions, with uses of a tool at several times.
async fn tool_uses(store: &Store) {
    let run = |name: &str, agent: &str, thread: &str, ended_at: Option<i64>| RunRow {
        agent_id: sample::agent_id(agent),
        thread_id: ThreadId::new(thread),
        status: ended_at.map_or(RunStatus::Open, |_| RunStatus::Completed),
        ended_at: ended_at.map(Millis),
        ..sample::run(name)
    };
    let runs = [
        run("old", "main", "main/main", Some(1_000)),
        run("ended", "main", "main/main", Some(9_000)),
        run("open", "main", "main/other", None),
        run("foreign", "other", "other/main", Some(9_000)),
    ];
    let step = |run: &'static str, number: i64, status: StepStatus| StepRow {
        status,
        put_at: Millis(number),
        call: Some(sample::call(
            (!status.is_open()).then(|| sample::call_end(status)),
        )),
        ..sample::step(run, &format!("{run}-{number}"))
    };
    let steps = [
        step("old", 900, StepStatus::Ok),
        step("ended", 4_000, StepStatus::Ok),
        step("ended", 6_001, StepStatus::Failed),
        step("ended", 6_002, StepStatus::Denied),
        step("ended", 6_003, StepStatus::Planned),
        step("open", 5_000, StepStatus::Ok),
        step("open", 6_004, StepStatus::Intended),
        step("open", 6_005, StepStatus::OutcomeUnknown),
        step("foreign", 6_006, StepStatus::Ok),
        StepRow {
            name: "WebFetch".into(),
            ..step("open", 6_007, StepStatus::Ok)
        },
    ];
    let written = store.write(move |tx| {
        runs.iter().try_for_each(|run| tx.create_run(run))?;
        steps.iter().try_for_each(|step| tx.put_step(step))
    });
    written.await.expect("written");
}

// Conformance: A-163
#[test]
fn uses_of_a_tool_are_counted_by_session_and_day() {
    everywhere(async |store| {
        tool_uses(&store).await;
        for (thread, since, session, day) in [
            (Some("main/main"), 5_000, 3, 3),
            (Some("main/other"), 5_000, 3, 3),
            // The day begins after its first millisecond.
            (Some("main/main"), 4_999, 3, 4),
            (None, 6_004, 0, 1),
            // The session of another agent is none of its own.
            (Some("other/main"), 6_005, 0, 0),
        ] {
            let count = store.read(move |view| {
                view.tool_use(ToolUseQuery {
                    agent_id: &sample::agent_id("main"),
                    tool: "ExecCommand",
                    thread: thread.map(ThreadId::new).as_ref(),
                    since: Millis(since),
                })
            });
            let expected = QuotaUse {
                current_session_count: session,
                current_day_count: day,
            };
            assert_eq!(count.await.expect("counted"), expected, "{thread:?} {since}");
        }
    });
}

#[test]
fn uses_of_a_tool_by_other_runs_are_counted_since_a_time() {
    everywhere(async |store| {
        tool_uses(&store).await;
        for (run, since, expected) in [
            ("open", 5_000, 1),
            ("open", 3_999, 2),
            ("ended", 5_000, 2),
            ("ended", 4_999, 3),
            ("another", 5_000, 3),
            ("another", 6_005, 0),
        ] {
            let count = store.read(move |view| {
                view.tool_use_elsewhere(ToolUseElsewhere {
                    agent_id: &sample::agent_id("main"),
                    tool: "ExecCommand",
                    run_key: &sample::run_key(run),
                    since: Millis(since),
                })
            });
            assert_eq!(count.await.expect("counted"), expected, "{run} {since}");
        }
    });
}
