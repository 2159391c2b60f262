//! Quotas of tools, with real runs on a real store.

use wakeful_core::budget::{BudgetPeriod, BudgetResource, BudgetScope, LimitKey};
use wakeful_core::key::{ActionBase, Digest};
use wakeful_core::policy::{DenialCategory, GateStage};
use wakeful_core::run::{MACHINE, MACHINE_VERSION, RunStatus};
use wakeful_core::time::Millis;
use wakeful_core::tool::CallRecord;
use wakeful_core::tool::invocation::{CallEnd, TrailStep};
use wakeful_runtime::api::NewLimit;
use wakeful_store::rows::{RunRow, StepRow};
use wakeful_store::{StoreError, Tx};

use super::*;

const DENIED: (StepStatus, &str) = (StepStatus::Denied, "tool_quota_exceeded:Look");

fn per_day(max: u32) -> ToolQuota {
    ToolQuota {
        max_per_session: None,
        max_per_day: Some(max),
    }
}

fn per_session(max: u32) -> ToolQuota {
    ToolQuota {
        max_per_session: Some(max),
        max_per_day: None,
    }
}

/// A daemon whose agent requests two calls per run, side by side if the class permits it.
async fn with_quota(class: EffectClass, quota: ToolQuota) -> Daemon {
    let daemon = Daemon::begin(Setting {
        calls: 2,
        class,
        quota: Some(quota),
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(99);
    daemon.settle().await;
    daemon
}

fn statuses(outcome: &(String, Vec<(StepStatus, String)>)) -> Vec<(StepStatus, &str)> {
    assert_eq!(outcome.0, "completed");
    let steps = outcome.1.iter();
    steps.map(|(status, reason)| (*status, reason.as_str())).collect()
}

// Conformance
#[tokio::test]
async fn parallel_calls_and_later_runs_share_a_quota() {
    for class in [EffectClass::Idempotent, EffectClass::Plain] {
        for quota in [per_day(3), per_session(3)] {
            let daemon = with_quota(class, quota).await;
            let first = daemon.outcome().await;
            assert!(
                first.1.iter().all(|(status, _)| *status == StepStatus::Ok),
                "{first:?}"
            );
            let second = send(&daemon.api, "turn-2").await;
            daemon.settle().await;
            let second = daemon.outcome_of(second).await;
            let [(StepStatus::Ok, _), denied] = statuses(&second)[..] else {
                panic!("one use is left: {second:?}");
            };
            assert_eq!(denied, DENIED);
            assert_eq!(daemon.begun().len(), 3);
        }
    }
}

// Conformance: A-165
#[tokio::test]
async fn a_call_over_its_quota_leaves_no_handler_result_or_counters() {
    let daemon = with_quota(EffectClass::Idempotent, per_day(1)).await;
    let run = daemon.api.runs.get(daemon.run).await.expect("a run");
    let found: Vec<_> = run.tool_calls().filter_map(|step| run.invocation(step)).collect();
    let [performed, denied] = found.as_slice() else {
        panic!("two records: {found:?}");
    };
    assert_eq!(performed.trail, TrailStep::ALL);
    assert_eq!(denied.stage, GateStage::Quota);
    assert_eq!(denied.denial_category, Some(DenialCategory::BudgetExceeded));
    let left = [
        TrailStep::Policy,
        TrailStep::Quota,
        TrailStep::Audit,
        TrailStep::ToolInvocation,
    ];
    assert_eq!(denied.trail, left);
}

// Conformance: A-163
#[tokio::test]
async fn a_use_counts_for_24_hours() {
    let daemon = with_quota(EffectClass::Idempotent, per_day(2)).await;
    for (turn, hours_until_next) in [("turn-2", 23), ("turn-3", 1)] {
        let denied = send(&daemon.api, turn).await;
        daemon.settle().await;
        assert_eq!(
            statuses(&daemon.outcome_of(denied).await),
            [DENIED, DENIED],
            "{turn}"
        );
        daemon.ticks.pass(hours_until_next * 60 * 60 * 1_000);
    }
    daemon.ticks.pass(1);
    let permitted = send(&daemon.api, "turn-4").await;
    daemon.settle().await;
    let permitted = daemon.outcome_of(permitted).await;
    assert!(
        permitted.1.iter().all(|(status, _)| *status == StepStatus::Ok),
        "{permitted:?}"
    );
}

// Conformance: A-244
#[tokio::test]
async fn budgets_and_quotas_hold_until_their_boundary() {
    let one_call = async |quota| {
        let daemon = Daemon::begin(Setting {
            class: EffectClass::Idempotent,
            quota,
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(99);
        daemon.settle().await;
        daemon
    };
    let next = async |daemon: &Daemon, turn| {
        let run = send(&daemon.api, turn).await;
        daemon.settle().await;
        run
    };
    const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

    let limited = one_call(Some(per_day(2))).await;
    next(&limited, "turn-2").await;
    assert_eq!(limited.begun().len(), 2, "the quota permits two uses");
    let third = next(&limited, "turn-3").await;
    assert_eq!(statuses(&limited.outcome_of(third).await), [DENIED]);
    limited.ticks.pass(DAY_MS + 1);
    next(&limited, "turn-4").await;
    assert_eq!(limited.begun().len(), 3, "a day later");

    let limited = one_call(None).await;
    let set = limited.api.budgets.set_limit(NewLimit {
        scope: BudgetScope::Agent,
        subject: Some("main".to_owned()),
        resource: BudgetResource::ToolCalls,
        period: Some(BudgetPeriod::Daily),
        max: 1,
    });
    set.await.expect("a limit");
    next(&limited, "turn-2").await;
    assert_eq!(limited.begun().len(), 2, "the budget covers one call");
    let third = next(&limited, "turn-3").await;
    assert_eq!(limited.begun().len(), 2, "the next one waits");
    assert_eq!(limited.outcome_of(third).await.0, "open");
    limited.ticks.pass(DAY_MS);
    limited.settle().await;
    assert_eq!(limited.begun().len(), 3, "on the next day it continues");
    assert_eq!(limited.outcome_of(third).await.0, "completed");
}

/// Writes a use of the tool in another run of the agent.
fn use_elsewhere(store: &Store) {
    let (run_key, operation_id) = (RunKey(Digest::of(b"other")), OperationId(Digest::of(b"other")));
    let content = wakeful_core::blob::BlobHash(Digest::of(b"result"));
    let run = RunRow {
        run_key,
        agent_id: AgentId::parse("main").expect("a name"),
        thread_id: wakeful_core::id::ThreadId::new("main/other"),
        machine: MACHINE.to_owned(),
        machine_version: MACHINE_VERSION,
        version: 1,
        state: "{}".to_owned(),
        status: RunStatus::Completed,
        started_at: Millis(0),
        ended_at: Some(Millis(1)),
        suspension: None,
        fault: None,
    };
    let step = StepRow {
        attempt: None,
        operation_id,
        run_key,
        ordinal: -1,
        name: TOOL.to_owned(),
        class: Some(EffectClass::Idempotent),
        base: Some(ActionBase(Digest::of(b"base"))),
        status: StepStatus::Ok,
        reason: String::new(),
        put_at: Millis(1),
        duration_ms: Some(1),
        sandbox: None,
        exit_status: None,
        usage: Usage::default(),
        call: Some(CallRecord {
            call_id: "other".to_owned(),
            input: Digest::of(b"input"),
            policy_version: PolicyVersion::new("policy-1-x"),
            end: Some(CallEnd::performed(StepStatus::Ok, None, content)),
        }),
    };
    write_elsewhere(store, move |tx| {
        tx.create_run(&run)?;
        tx.put_step(&step)
    });
}

/// Commits as another process would, while this one is inside a verdict.
fn write_elsewhere(store: &Store, act: impl Fn(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static) {
    let store = store.clone();
    let write = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(store.write(act)).expect("written");
    };
    std::thread::spawn(write).join().expect("written");
}

// Conformance: A-163, L-160
#[tokio::test]
async fn a_use_between_the_count_and_the_intents_is_noticed() {
    for (is_used, begun) in [(false, 2), (true, 1)] {
        let daemon = Daemon::begin(Setting {
            calls: 2,
            class: EffectClass::Idempotent,
            quota: Some(per_day(2)),
            during_verdict: is_used.then_some(use_elsewhere),
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(2);
        daemon.settle().await;
        assert_eq!(daemon.begun().len(), begun);
        assert_eq!(statuses(&daemon.outcome().await)[1] == DENIED, is_used);
    }
}

/// Sets the first limit of the home: no calls at all.
fn allow_no_calls(store: &Store) {
    let key = LimitKey::new(BudgetScope::All, "", BudgetResource::ToolCalls, None).expect("a limit");
    write_elsewhere(store, move |tx| tx.set_limit(&key, 0, 0, Millis(0)));
}

#[tokio::test]
async fn the_first_limit_applies_to_a_reply_that_has_arrived() {
    for (is_limited, begun) in [(false, 1), (true, 0)] {
        let daemon = Daemon::begin(Setting {
            during_verdict: is_limited.then_some(allow_no_calls),
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        assert_eq!(daemon.begun().len(), begun);
        assert_eq!(daemon.outcome().await.0 == "open", is_limited);
    }
}
