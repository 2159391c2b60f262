//! The scheduler in virtual time: due firings run once, missed ones are recorded, and a changed clock
//! causes no repetition.

mod daily;
mod event;
mod overlap;
mod quiet;
pub(crate) mod scheduled_daemon;

use wakeful_core::cause::MessageOrigin;
use wakeful_core::journal::Author;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{ExecutionOutcome, FiringTime, Reason, ScheduleStatus};
use wakeful_core::time::Millis;
use wakeful_core::wake::AgentControl;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::{EngineError, ScheduleRefusal};

use self::scheduled_daemon::{
    BEGIN, HOUR_MS, MINUTE_MS, Says, ScheduleFixture, ScheduledDaemon, agent, every, rule,
};

const TEN_YEARS_MS: i64 = 3_652 * 24 * 3_600_000;

fn time(text: &str) -> Millis {
    Millis::parse_rfc3339(text).expect("a time")
}

fn run(count: usize) -> Vec<(ExecutionOutcome, Option<Reason>)> {
    vec![(ExecutionOutcome::Run, None); count]
}

fn because(outcome: ExecutionOutcome, reason: &str) -> (ExecutionOutcome, Option<Reason>) {
    (outcome, Some(Reason::parse(reason).expect("a reason")))
}

// Conformance: A-123
#[tokio::test]
async fn a_schedule_wakes_its_agent_at_each_firing() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house.add("hourly", every(3_600), |_| {}).await;
    house.ground.pass(3 * HOUR_MS + 1).await;
    assert_eq!(house.outcomes("hourly").await, run(3));
    assert_eq!((house.runs().await, house.asked()), (3, 3));
    let records = house.records("hourly").await;
    for (place, one) in (1_i64..).zip(&records) {
        let due_at = Millis(BEGIN.0 + place * 3_600_000);
        assert_eq!(one.row.due_at, due_at);
        assert_eq!(one.row.run_key, Some(house.timer("hourly").await.run_key(due_at)));
        assert_eq!(one.run_status.map(RunStatus::as_str), Some("completed"));
        assert!(!one.row.is_catch_up && one.run_ended_at.is_some());
    }
}

// Conformance: A-128
#[tokio::test]
async fn a_firing_is_recorded_with_its_time_cause_and_run() {
    let house = ScheduledDaemon::fresh(Says::No).await;
    house.add("hourly", every(3_600), |_| {}).await;
    house.ground.pass(HOUR_MS + 1).await;
    let records = house.records("hourly").await;
    let [one] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(
        one.run_status.map(RunStatus::as_str),
        Some("failed"),
        "the run failed, and the record says so"
    );
    let run = one.row.run_key.expect("a run");
    let message = house.ground.store.read(move |view| view.message(&run)).await;
    let cause = message.expect("read").expect("a message").cause;
    let origin = MessageOrigin::Schedule {
        event: None,
        schedule: rule("hourly"),
        scheduled_at: one.row.due_at,
        is_catch_up: false,
        is_by_hand: false,
    };
    assert_eq!(cause.origin, origin);
}

// Conformance: L-021, L-078, L-204
#[tokio::test]
async fn a_timer_only_agent_is_reloaded_after_a_restart() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house
        .add("soon", every(60), |draft| draft.auto_disable_after_run = true)
        .await;
    house.add("later", every(3_600), |_| {}).await;
    let ground = house.kill().await;
    ground.pass(90_000).await;
    // One became due while no daemon ran, by half a minute; the other is still in the future.
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    ground.settle().await;
    assert_eq!(
        house.outcomes("soon").await,
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Disabled, "once")
        ]
    );
    assert_eq!(house.runs().await, 1);
    ground.pass(HOUR_MS).await;
    assert_eq!(house.outcomes("later").await, run(1));
}

// Conformance: L-080, A-128
#[tokio::test]
async fn after_ten_missed_intervals_there_is_one_catch_up_or_none() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house
        .add("kept", every(3_600), |draft| draft.allows_catch_up = true)
        .await;
    house.add("lost", every(3_600), |_| {}).await;
    let ground = house.kill().await;
    ground.pass(10 * HOUR_MS + 30 * MINUTE_MS).await;
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    ground.settle().await;
    let kept = house.records("kept").await;
    let [missed, caught_up] = kept.as_slice() else {
        panic!("{kept:?}")
    };
    assert_eq!(
        (missed.row.outcome, missed.row.count),
        (ExecutionOutcome::Skipped, 9)
    );
    assert_eq!(missed.row.due_at, Millis(BEGIN.0 + 3_600_000));
    assert_eq!(caught_up.row.outcome, ExecutionOutcome::Run);
    assert!(caught_up.row.is_catch_up);
    assert_eq!(caught_up.row.due_at, Millis(BEGIN.0 + 36_000_000), "the newest");
    assert_eq!(
        house.outcomes("lost").await,
        [because(ExecutionOutcome::Skipped, "missed")]
    );
    assert_eq!(house.runs().await, 1);
    let next = house.timer("lost").await.next_execution_at;
    assert_eq!(next, Some(Millis(BEGIN.0 + 11 * 3_600_000)));
}

#[tokio::test]
async fn a_month_old_message_is_not_replayed() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let at = Millis(BEGIN.0 + 1_000);
    house
        .add("reminder", FiringTime::At { at }, |draft| {
            draft.allows_catch_up = true
        })
        .await;
    let ground = house.kill().await;
    ground.pass(31 * 24 * HOUR_MS).await;
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    ground.settle().await;
    let expected = [
        because(ExecutionOutcome::Skipped, "missed"),
        because(ExecutionOutcome::Disabled, "once"),
    ];
    assert_eq!(house.outcomes("reminder").await, expected);
    assert_eq!(house.runs().await, 0);
}

#[tokio::test]
async fn without_a_change_a_schedule_wakes_no_agent() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house
        .add("hourly", every(3_600), |draft| draft.always = false)
        .await;
    let nothing = || because(ExecutionOutcome::Refused, "nothing_to_do");
    house.ground.pass(2 * HOUR_MS).await;
    assert_eq!(house.outcomes("hourly").await, [nothing(), nothing()]);
    // The agent's own write does not count as a change for it.
    house.ground.write("mine", Author::Agent(agent("main"))).await;
    house.ground.pass(HOUR_MS).await;
    assert_eq!(house.outcomes("hourly").await.last(), Some(&nothing()));
    assert_eq!((house.runs().await, house.asked()), (0, 0));
    house.ground.write("gym", Author::Person).await;
    house.ground.pass(HOUR_MS).await;
    assert_eq!(
        house.outcomes("hourly").await.last(),
        Some(&(ExecutionOutcome::Run, None))
    );
    // The change was seen by now.
    house.ground.pass(HOUR_MS).await;
    assert_eq!(house.outcomes("hourly").await.last(), Some(&nothing()));
    assert_eq!(house.runs().await, 1);
    // A firing by hand wakes in any case.
    let fired = house
        .api
        .schedules
        .trigger_now(rule("hourly"), "now".to_owned())
        .await;
    assert_eq!(fired.expect("fired").outcome, ExecutionOutcome::Run);
    house.ground.settle().await;
    assert_eq!(house.runs().await, 2);
}

// Conformance: L-081
#[tokio::test]
async fn a_clock_set_back_ten_years_repeats_and_delays_no_firing() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let when = FiringTime::Cron {
        cron: "0 * * * *".to_owned(),
        time_zone: "UTC".to_owned(),
    };
    house.add("hourly", when, |_| {}).await;
    house.ground.pass(2 * HOUR_MS + 1).await;
    assert_eq!(house.runs().await, 2);
    house.ground.wall.set(Millis(BEGIN.0 - TEN_YEARS_MS));
    house.ground.pass(2 * MINUTE_MS).await;
    assert_eq!(
        house.outcomes("hourly").await.last(),
        Some(&(ExecutionOutcome::Recomputed, None))
    );
    house.ground.pass(HOUR_MS).await;
    assert_eq!(house.runs().await, 3, "it fires in that time as in any other");
    // After the correction, the firings that ran do not run again.
    house.ground.wall.set(Millis(BEGIN.0 + 30 * 60_000));
    house.ground.pass(MINUTE_MS).await;
    house.ground.wall.set(Millis(BEGIN.0 + 30 * 60_000 - 120_000));
    house.ground.pass(HOUR_MS).await;
    assert_eq!(
        house.outcomes("hourly").await.last(),
        Some(&because(ExecutionOutcome::Skipped, "already_run"))
    );
    assert_eq!(house.runs().await, 3);
    house.ground.pass(2 * HOUR_MS).await;
    assert_eq!(
        house.runs().await,
        4,
        "the moment after the last one that ran is new"
    );
}

// Conformance: L-081
#[tokio::test]
async fn a_clock_jump_ahead_causes_one_catch_up_and_continues() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house
        .add("kept", every(3_600), |draft| draft.allows_catch_up = true)
        .await;
    house.ground.wall.set(Millis(BEGIN.0 + 5 * 3_600_000 + 1_800_000));
    house.ground.pass(MINUTE_MS + 1).await;
    assert_eq!(
        house.outcomes("kept").await,
        [
            because(ExecutionOutcome::Skipped, "missed"),
            (ExecutionOutcome::Run, None)
        ]
    );
    house.ground.pass(HOUR_MS).await;
    assert_eq!(house.runs().await, 2);
}

#[tokio::test]
async fn a_schedule_checked_in_a_false_future_does_not_sleep_until_then() {
    let ground = ScheduleFixture::at(Millis(BEGIN.0 + TEN_YEARS_MS));
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    house.make(&["main"]).await;
    house.add("hourly", every(3_600), |_| {}).await;
    let ground = house.kill().await;
    // The machine restarts with the correct time.
    ground.wall.set(BEGIN);
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    ground.pass(HOUR_MS + 1).await;
    assert_eq!(
        house.outcomes("hourly").await,
        [
            (ExecutionOutcome::Recomputed, None),
            (ExecutionOutcome::Run, None)
        ]
    );
}

// Conformance: L-082
#[tokio::test]
async fn a_local_time_holds_across_daylight_saving_changes() {
    let when = || FiringTime::Cron {
        cron: "30 2 * * *".to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
    };
    for (begin, firings) in [
        (
            "2026-03-28T00:00:00Z",
            [
                "2026-03-28T01:30:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-30T00:30:00Z",
            ],
        ),
        (
            "2026-10-24T00:00:00Z",
            [
                "2026-10-24T00:30:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z",
            ],
        ),
    ] {
        let house = ScheduledDaemon::open(&ScheduleFixture::at(time(begin)), Says::Done).await;
        house.make(&["main"]).await;
        house.add("early", when(), |_| {}).await;
        house.ground.pass(71 * HOUR_MS).await;
        let records = house.records("early").await;
        let due: Vec<Millis> = records.iter().map(|one| one.row.due_at).collect();
        assert_eq!(due, firings.map(time));
        assert_eq!(house.runs().await, 3);
    }
}

// Conformance: L-082, A-73
#[tokio::test]
async fn another_zone_keeps_the_local_time_and_is_another_schedule() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let daily = |time_zone: &str| FiringTime::Cron {
        cron: "0 7 * * *".to_owned(),
        time_zone: time_zone.to_owned(),
    };
    house.add("daily", daily("Europe/Berlin"), |_| {}).await;
    let edit = wakeful_runtime::api::ScheduleEdit {
        when: Some(daily("Asia/Tokyo")),
        ..Default::default()
    };
    let edited = house
        .api
        .schedules
        .edit(rule("daily"), edit)
        .await
        .expect("edited");
    assert_eq!(
        (edited.revision, edited.next_execution_at),
        (2, Some(time("2026-03-01T22:00:00Z")))
    );
    house.ground.pass(17 * HOUR_MS).await;
    let records = house.records("daily").await;
    let due: Vec<_> = records
        .iter()
        .map(|one| (one.row.revision, one.row.due_at))
        .collect();
    assert_eq!(
        due,
        [(2, time("2026-03-01T22:00:00Z"))],
        "nothing at 07:00 in Berlin"
    );
}

// Conformance
#[tokio::test]
async fn a_one_time_schedule_ends_after_success_failure_and_skip() {
    for says in [Says::Done, Says::No] {
        let house = ScheduledDaemon::fresh(says).await;
        house
            .add("once", every(3_600), |draft| draft.auto_disable_after_run = true)
            .await;
        house.ground.pass(3 * HOUR_MS).await;
        assert_eq!(
            house.outcomes("once").await,
            [
                (ExecutionOutcome::Run, None),
                because(ExecutionOutcome::Disabled, "once")
            ]
        );
        let once = house.timer("once").await;
        assert_eq!(
            (once.status, once.next_execution_at),
            (ScheduleStatus::Disabled, None)
        );
    }
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house
        .add("skipped", every(3_600), |draft| {
            draft.auto_disable_after_run = true;
            draft.always = false;
        })
        .await;
    house.ground.pass(3 * HOUR_MS).await;
    let expected = [
        because(ExecutionOutcome::Refused, "nothing_to_do"),
        because(ExecutionOutcome::Disabled, "once"),
    ];
    assert_eq!(house.outcomes("skipped").await, expected);
    let by_hand = house
        .api
        .schedules
        .trigger_now(rule("skipped"), "now".to_owned())
        .await;
    assert!(
        matches!(by_hand, Err(EngineError::Schedule(ScheduleRefusal::Over { .. }))),
        "{by_hand:?}"
    );
}

// Conformance: A-73
#[tokio::test]
async fn a_resumed_schedule_skips_missed_firings_and_refusals_are_recorded() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house.add("hourly", every(3_600), |_| {}).await;
    let set = house
        .api
        .schedules
        .set_status(rule("hourly"), ScheduleStatus::Paused)
        .await;
    assert_eq!(set.expect("paused").next_execution_at, None);
    house.ground.pass(5 * HOUR_MS).await;
    assert_eq!(house.outcomes("hourly").await, []);
    let set = house
        .api
        .schedules
        .set_status(rule("hourly"), ScheduleStatus::Active)
        .await;
    assert_eq!(
        set.expect("active").next_execution_at,
        Some(Millis(BEGIN.0 + 6 * 3_600_000))
    );
    house
        .api
        .agents
        .set_control(agent("main"), AgentControl::Stopped)
        .await
        .expect("stopped");
    house.ground.pass(HOUR_MS + 1).await;
    assert_eq!(
        house.outcomes("hourly").await,
        [because(ExecutionOutcome::Refused, "stopped")]
    );
    let set = house
        .api
        .schedules
        .set_status(rule("hourly"), ScheduleStatus::Disabled)
        .await;
    assert_eq!(set.expect("disabled").status, ScheduleStatus::Disabled);
    let again = house
        .api
        .schedules
        .set_status(rule("hourly"), ScheduleStatus::Active)
        .await;
    assert!(
        matches!(again, Err(EngineError::Schedule(ScheduleRefusal::Status { .. }))),
        "{again:?}"
    );
}

// Conformance
#[tokio::test]
async fn the_same_manual_firing_is_one_run() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    house.add("daily", every(86_400), |_| {}).await;
    let before = house.timer("daily").await.next_execution_at;
    let wish = || house.api.schedules.trigger_now(rule("daily"), "k".to_owned());
    let first = wish().await.expect("fired");
    house.ground.settle().await;
    let second = wish().await.expect("known");
    assert_eq!(
        (first.outcome, first.source.as_str()),
        (ExecutionOutcome::Run, "trigger_now")
    );
    assert_eq!(
        (second.outcome, second.reason),
        because(ExecutionOutcome::Skipped, "already_run")
    );
    assert_eq!(first.run_key, second.run_key);
    assert_eq!(house.runs().await, 1);
    assert_eq!(
        house.timer("daily").await.next_execution_at,
        before,
        "what is to come stays"
    );
    assert!(house.ground.wall.now() >= BEGIN);
}
