//! Guards, events and destroyed agents: what makes a schedule fire, and what prevents a wake.

use serde_json::json;
use wakeful_core::cause::MessageOrigin;
use wakeful_core::id::EventName;
use wakeful_core::journal::Author;
use wakeful_core::schedule::{
    Concurrency, ExecutionOutcome, Guard, Reason, Schedule, ScheduleDraft, ScheduleReason, ScheduleStatus,
    TriggerSource,
};
use wakeful_core::wake::{AgentControl, Lifecycle, Refusal};
use wakeful_runtime::api::{AgentChange, ScheduleEdit};
use wakeful_runtime::{EngineError, ScheduleRefusal};
use wakeful_store::rows::ScheduledExecutionRow;

use super::scheduled_daemon::{BEGIN, HOUR_MS, Says, ScheduledDaemon, agent, every, rule};
use super::{because, run};

fn event(name: &str) -> EventName {
    EventName::parse(name).expect("a name")
}

fn guard(json: &serde_json::Value) -> Guard {
    Guard::parse(json).expect("a guard")
}

/// Delivers an event.
async fn came(house: &ScheduledDaemon, name: &str, key: &str) -> Vec<ScheduledExecutionRow> {
    let fired = house.api.schedules.raise_event(event(name), key.to_owned()).await;
    house.ground.settle().await;
    fired.expect("what became of it")
}

#[tokio::test]
async fn a_guard_that_does_not_hold_skips_the_firing_with_a_reason() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let fresh = json!({"field": "changed", "op": "eq", "value": true});
    house
        .add("guarded", every(3_600), |draft| draft.guard = Some(guard(&fresh)))
        .await;
    let skipped = || because(ExecutionOutcome::Skipped, "guard_false");
    house.ground.pass(2 * HOUR_MS).await;
    assert_eq!(house.outcomes("guarded").await, [skipped(), skipped()]);
    assert_eq!((house.runs().await, house.asked()), (0, 0));
    // A guard refuses like any gate, and the reason is available on request.
    let refused = house
        .ground
        .store
        .read(|view| view.refusals(&agent("main"), wakeful_core::budget::UtcDay::of(BEGIN)))
        .await
        .expect("rows");
    let told: Vec<_> = refused.iter().map(|row| (row.code.as_str(), row.count)).collect();
    assert_eq!(told, [("guard_false", 2)]);
    house.ground.write("gym", Author::Person).await;
    house.ground.pass(HOUR_MS).await;
    assert_eq!(
        house.outcomes("guarded").await.last(),
        Some(&(ExecutionOutcome::Run, None))
    );
    // A firing by hand skips the guard.
    let by_hand = house
        .api
        .schedules
        .trigger_now(rule("guarded"), "now".to_owned())
        .await;
    assert_eq!(by_hand.expect("fired").outcome, ExecutionOutcome::Run);
}

#[tokio::test]
async fn a_guard_alone_decides_whether_work_exists() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let long_ago = json!({"any": [
        {"field": "since_last_run_ms", "op": "gte", "value": 2 * HOUR_MS},
        {"field": "since_last_run_ms", "op": "exists", "value": false},
    ]});
    house
        .add("guarded", every(3_600), |draft| {
            draft.always = false;
            draft.guard = Some(guard(&long_ago));
        })
        .await;
    house.ground.pass(4 * HOUR_MS + 1).await;
    let skipped = || because(ExecutionOutcome::Skipped, "guard_false");
    // Nothing ever changed, and it still wakes, as often as the guard permits.
    assert_eq!(
        house.outcomes("guarded").await,
        [
            (ExecutionOutcome::Run, None),
            skipped(),
            (ExecutionOutcome::Run, None),
            skipped()
        ]
    );
}

/// A daemon in which two agents wait for an event, one schedule for it is paused, and one waits for another
/// event.
async fn waiting() -> ScheduledDaemon {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house.make(&["other"]).await;
    let done = || Some(event("backup.done"));
    house
        .add("first", every(86_400), |draft| {
            draft.event = done();
            draft.always = false;
        })
        .await;
    house
        .add("second", every(86_400), |draft| {
            draft.event = done();
            draft.agent_id = agent("other");
        })
        .await;
    house
        .add("paused", every(86_400), |draft| {
            draft.event = done();
            draft.is_paused = true;
        })
        .await;
    let failed = event("backup.failed");
    house
        .add("deaf", every(86_400), |draft| draft.event = Some(failed))
        .await;
    house
}

// Conformance: A-123
#[tokio::test]
async fn an_event_fires_every_waiting_schedule_once_per_delivery() {
    let house = waiting().await;
    let before = house.timer("first").await.next_execution_at;
    let fired = came(&house, "backup.done", "k").await;
    let told: Vec<_> = fired
        .iter()
        .map(|row| (row.schedule_id.as_str(), row.source, row.outcome))
        .collect();
    // Also without a change: an event is new by itself.
    assert_eq!(
        told,
        [
            ("first", TriggerSource::Event, ExecutionOutcome::Run),
            ("second", TriggerSource::Event, ExecutionOutcome::Run)
        ]
    );
    assert_eq!(house.runs().await, 2);
    assert_eq!(
        house.timer("first").await.next_execution_at,
        before,
        "its time is as it was"
    );
    let first = fired.first().and_then(|row| row.run_key).expect("a run");
    let message = house.ground.store.read(move |view| view.message(&first)).await;
    let origin = message.expect("read").expect("a message").cause.origin;
    assert!(
        matches!(&origin, MessageOrigin::Schedule { event: Some(name), .. } if *name == event("backup.done")),
        "{origin:?}"
    );
    // The same delivery is recognized, also after the schedule got another pattern.
    let edit = ScheduleEdit {
        when: Some(every(7_200)),
        ..ScheduleEdit::default()
    };
    house
        .api
        .schedules
        .edit(rule("first"), edit)
        .await
        .expect("edited");
    for row in came(&house, "backup.done", "k").await {
        assert_eq!(
            (row.outcome, row.reason),
            because(ExecutionOutcome::Skipped, "already_run"),
            "{row:?}"
        );
    }
    assert_eq!(house.runs().await, 2);
    came(&house, "backup.done", "k2").await;
    assert_eq!(house.runs().await, 4, "another delivery is another one");
    assert_eq!(came(&house, "nothing.known", "k").await, []);
}

#[tokio::test]
async fn an_event_follows_the_same_policy_and_history_as_the_clock() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    for policy in Concurrency::ALL {
        house
            .add(policy.as_str(), every(3_600), |draft| {
                draft.concurrency = policy;
                draft.event = Some(event("e"));
            })
            .await;
    }
    let paused = house
        .api
        .agents
        .set_control(agent("main"), AgentControl::Paused)
        .await;
    paused.expect("what comes is kept and nothing begins");
    house.ground.pass(HOUR_MS + 1).await;
    came(&house, "e", "k").await;
    assert_eq!(house.outcomes("allow").await, run(2));
    assert_eq!(
        house.outcomes("forbid").await,
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Skipped, "concurrency_forbid")
        ]
    );
    assert_eq!(
        house.outcomes("replace").await,
        [
            (ExecutionOutcome::Run, None),
            (ExecutionOutcome::Run, None),
            (ExecutionOutcome::Replaced, None)
        ]
    );
    let sources: Vec<_> = house
        .records("allow")
        .await
        .iter()
        .map(|one| one.row.source)
        .collect();
    assert_eq!(sources, [TriggerSource::Tick, TriggerSource::Event]);
    // A delivery that already ran is reported as such, not as a concurrency refusal.
    let again = came(&house, "e", "k").await;
    let reasons: Vec<_> = again
        .iter()
        .map(|row| (row.schedule_id.as_str(), row.reason.map(Reason::as_str)))
        .collect();
    assert_eq!(
        reasons,
        [
            ("allow", Some("already_run")),
            ("forbid", Some("concurrency_forbid")),
            ("replace", Some("already_run"))
        ]
    );
}

#[tokio::test]
async fn a_repeated_delivery_is_recognized_while_its_run_is_open() {
    let house = ScheduledDaemon::fresh(Says::Later).await;
    house
        .add("daily", every(86_400), |draft| draft.event = Some(event("e")))
        .await;
    let first = came(&house, "e", "k").await;
    let again = came(&house, "e", "k").await;
    let other = came(&house, "e", "k2").await;
    let told = |rows: &[ScheduledExecutionRow]| rows.first().and_then(|row| row.reason);
    assert_eq!(
        [told(&first), told(&again), told(&other)],
        [
            None,
            Some(ScheduleReason::AlreadyRun.into()),
            Some(ScheduleReason::ConcurrencyForbid.into())
        ]
    );
    assert_eq!(house.runs().await, 1);
}

/// A daemon in which two schedules wait for an event: one whose guard permits only the clock, and a
/// one-time one.
async fn guarded_and_once(guarded: impl FnOnce(&mut ScheduleDraft)) -> ScheduledDaemon {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let by_clock = json!({"field": "source", "op": "eq", "value": "tick"});
    house
        .add("guarded", every(3_600), |draft| {
            draft.event = Some(event("e"));
            draft.guard = Some(guard(&by_clock));
            guarded(draft);
        })
        .await;
    house
        .add("once", every(3_600), |draft| {
            draft.event = Some(event("e"));
            draft.auto_disable_after_run = true;
        })
        .await;
    house
}

#[tokio::test]
async fn guards_apply_to_events_and_a_one_time_schedule_ends_after_one() {
    let house = guarded_and_once(|_| {}).await;
    came(&house, "e", "k").await;
    assert_eq!(
        house.outcomes("guarded").await,
        [because(ExecutionOutcome::Skipped, "guard_false")]
    );
    assert_eq!(
        house.outcomes("once").await,
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Disabled, "once")
        ]
    );
    assert_eq!(house.timer("once").await.status, ScheduleStatus::Disabled);
    house.ground.pass(HOUR_MS + 1).await;
    assert_eq!(
        house.outcomes("guarded").await.last(),
        Some(&(ExecutionOutcome::Run, None))
    );
    let fired = came(&house, "e", "k3").await;
    assert_eq!(fired.len(), 1, "the other one waits for nothing any more");
}

// Conformance: A-76
#[tokio::test]
async fn a_refused_event_or_manual_firing_keeps_a_one_time_schedule() {
    let house = guarded_and_once(|guarded| guarded.auto_disable_after_run = true).await;
    let before = house.timer("once").await.next_execution_at;
    let control = |control| house.api.agents.set_control(agent("main"), control);
    control(AgentControl::Stopped).await.expect("stopped");
    came(&house, "e", "k").await;
    let wished = house
        .api
        .schedules
        .trigger_now(rule("once"), "now".to_owned())
        .await;
    assert_eq!(wished.expect("told").outcome, ExecutionOutcome::Refused);
    let refused = || because(ExecutionOutcome::Refused, "stopped");
    assert_eq!(house.outcomes("once").await, [refused(), refused()]);
    let timer = house.timer("once").await;
    assert_eq!(
        (timer.status, timer.next_execution_at),
        (ScheduleStatus::Active, before)
    );
    control(AgentControl::Running).await.expect("runs");
    came(&house, "e", "k2").await;
    assert_eq!(
        house.outcomes("guarded").await,
        [refused(), because(ExecutionOutcome::Skipped, "guard_false")]
    );
    assert_eq!(house.timer("guarded").await.status, ScheduleStatus::Active);
    assert_eq!(house.timer("once").await.status, ScheduleStatus::Disabled);
    house.ground.pass(HOUR_MS + 1).await;
    assert_eq!(
        house.outcomes("guarded").await[2..],
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Disabled, "once")
        ]
    );
    assert_eq!(house.runs().await, 2);
}

#[tokio::test]
async fn destroying_an_agent_ends_its_schedules_in_the_same_transaction() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house.add("hourly", every(3_600), |_| {}).await;
    house
        .add("resting", every(3_600), |draft| draft.is_paused = true)
        .await;
    let gone = house
        .api
        .agents
        .change(agent("main"), AgentChange::Life(Lifecycle::Destroyed))
        .await;
    gone.expect("destroyed");
    for id in ["hourly", "resting"] {
        assert_eq!(
            house.outcomes(id).await,
            [because(ExecutionOutcome::Disabled, "agent_destroyed")]
        );
        let timer = house.timer(id).await;
        assert_eq!(
            (timer.status, timer.next_execution_at),
            (ScheduleStatus::Disabled, None)
        );
    }
    house.ground.pass(5 * HOUR_MS).await;
    assert_eq!(
        house.outcomes("hourly").await.len(),
        1,
        "nothing fires into refusals"
    );
    let draft = ScheduleDraft::new(rule("late"), agent("main"), every(60), "Look.".to_owned());
    let refused = house.api.schedules.add(draft).await;
    assert!(
        matches!(refused, Err(EngineError::Refused(Refusal::Destroyed))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_schedule_of_a_destroyed_agent_ends_at_its_next_firing() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let made = house.add("hourly", every(3_600), |_| {}).await;
    let gone = house
        .api
        .agents
        .change(agent("main"), AgentChange::Life(Lifecycle::Destroyed))
        .await;
    gone.expect("destroyed");
    // The state that an older version left: the agent is destroyed, and the schedule is active.
    let ended = house.timer("hourly").await;
    let left = Schedule {
        version: ended.version,
        executions: ended.executions,
        ..made
    };
    let put = house.ground.store.write(move |tx| tx.put_schedule(&left)).await;
    put.expect("written");
    let woken = house.add_for("other", "wakes-the-loop", every(3_600)).await;
    assert_eq!(woken.status, ScheduleStatus::Active);
    house.ground.pass(2 * HOUR_MS + 1).await;
    let told = because(ExecutionOutcome::Disabled, "agent_destroyed");
    assert_eq!(house.outcomes("hourly").await, [told, told]);
    assert_eq!(
        house.outcomes("wakes-the-loop").await,
        run(2),
        "the others continue"
    );
    let by_hand = house
        .api
        .schedules
        .trigger_now(rule("hourly"), "k".to_owned())
        .await;
    assert!(
        matches!(by_hand, Err(EngineError::Schedule(ScheduleRefusal::Over { .. }))),
        "{by_hand:?}"
    );
}
