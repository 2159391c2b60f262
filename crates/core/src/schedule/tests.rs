use proptest::prelude::*;

use super::*;
use crate::recurrence::RecurrenceError;

/// 2026-03-01T06:00:00Z.
const BEGIN: Millis = Millis(1_772_344_800_000);
const HOUR_MS: i64 = 3_600_000;
const TEN_YEARS_MS: i64 = 3_652 * 24 * HOUR_MS;

fn at(text: &str) -> Millis {
    Millis::parse_rfc3339(text).expect("a time")
}

fn draft(when: FiringTime) -> ScheduleDraft {
    let (id, agent) = (
        RuleId::parse("daily").expect("id"),
        AgentId::parse("coach").expect("id"),
    );
    ScheduleDraft::new(id, agent, when, "Look at the day.".to_owned())
}

fn hourly() -> FiringTime {
    FiringTime::Every {
        interval_seconds: 3_600,
        anchor: BEGIN,
    }
}

fn berlin(cron: &str) -> FiringTime {
    FiringTime::Cron {
        cron: cron.to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
    }
}

fn timer(when: FiringTime) -> Schedule {
    draft(when).check(BEGIN).expect("a schedule")
}

fn later(ms: i64) -> Millis {
    Millis(BEGIN.0 + ms)
}

// Conformance
#[test]
fn optional_fields_have_defaults() {
    let timer = timer(hourly());
    assert_eq!(timer.status, ScheduleStatus::Active);
    assert_eq!(timer.concurrency, Concurrency::Forbid);
    assert!(!timer.allows_catch_up && !timer.auto_disable_after_run && timer.always);
    assert_eq!(timer.catch_up_window_seconds, 86_400);
    assert_eq!(timer.max_catch_up_runs_per_tick, 1);
    assert_eq!(timer.next_execution_at, Some(later(HOUR_MS)));
    assert_eq!((timer.last_execution_at, timer.revision), (None, 1));
}

// Conformance
#[test]
fn each_invalid_field_is_named() {
    let good = draft(hourly());
    let every = |interval_seconds| FiringTime::Every {
        interval_seconds,
        anchor: BEGIN,
    };
    let zone = FiringTime::Cron {
        cron: "0 7 * * *".to_owned(),
        time_zone: "Berlin".to_owned(),
    };
    let with = |change: fn(&mut ScheduleDraft)| {
        let mut draft = good.clone();
        change(&mut draft);
        draft
    };
    let cases = [
        (with(|draft| draft.label = String::new()), "label"),
        (with(|draft| draft.label = "a\nb".to_owned()), "label"),
        (with(|draft| draft.label = "x".repeat(201)), "label"),
        (with(|draft| draft.message = " \n".to_owned()), "say"),
        (
            with(|draft| draft.message = "x".repeat(MESSAGE_BYTES_MAX + 1)),
            "say",
        ),
        (
            with(|draft| draft.catch_up_window_seconds = 0),
            "catch_up_window_seconds",
        ),
        (
            with(|draft| draft.catch_up_window_seconds = u64::MAX),
            "catch_up_window_seconds",
        ),
        (
            with(|draft| draft.max_catch_up_runs_per_tick = 0),
            "max_catch_up_runs_per_tick",
        ),
        (
            with(|draft| draft.max_catch_up_runs_per_tick = 101),
            "max_catch_up_runs_per_tick",
        ),
        (draft(FiringTime::At { at: BEGIN }), "at"),
        (draft(every(0)), "interval_seconds"),
        (draft(berlin("every day")), "cron"),
        (draft(berlin("0 0 31 2 *")), "cron"),
        (draft(zone), "time_zone"),
    ];
    for (draft, field) in cases {
        let error = draft.check(BEGIN).expect_err(field).to_string();
        assert!(error.contains(&format!("`{field}`")), "{field}: {error}");
    }
    assert!(good.check(BEGIN).is_ok());
}

// Conformance: A-198
#[test]
fn a_schedule_has_exactly_one_pattern() {
    let pattern = |cron, time_zone, interval_seconds, anchor, at| SchedulePattern {
        cron,
        time_zone,
        interval_seconds,
        anchor,
        at,
    };
    let (cron, zone, time) = (
        Some("0 7 * * *"),
        Some("Europe/Berlin"),
        Some("2026-04-01T00:00:00Z"),
    );
    assert_eq!(
        pattern(cron, zone, None, None, None).read(BEGIN),
        Ok(berlin("0 7 * * *"))
    );
    assert_eq!(
        pattern(None, None, Some(3_600), None, None).read(BEGIN),
        Ok(hourly())
    );
    let moment = at("2026-04-01T00:00:00Z");
    assert_eq!(
        pattern(None, None, None, None, time).read(BEGIN),
        Ok(FiringTime::At { at: moment })
    );
    for (given, field) in [
        (pattern(None, None, None, None, None), "pattern"),
        (pattern(cron, zone, Some(5), None, None), "pattern"),
        (pattern(None, None, Some(5), None, time), "pattern"),
        (pattern(cron, None, None, None, None), "time_zone"),
        (pattern(None, zone, Some(5), None, None), "time_zone"),
        (pattern(cron, zone, None, time, None), "anchor"),
        (pattern(None, None, Some(5), Some("noon"), None), "anchor"),
        (pattern(None, None, None, None, Some("tomorrow")), "at"),
    ] {
        let error = given.read(BEGIN).expect_err(field).to_string();
        assert!(error.starts_with(&format!("`{field}`")), "{field}: {error}");
    }
}

// Conformance: A-75
#[test]
fn a_status_changes_only_as_the_matrix_allows() {
    use ScheduleStatus::{Active, Disabled, Expired, Paused};
    let allowed = [
        (Active, Paused),
        (Active, Disabled),
        (Active, Expired),
        (Paused, Active),
        (Paused, Disabled),
        (Expired, Disabled),
    ];
    for from in ScheduleStatus::ALL {
        for to in ScheduleStatus::ALL {
            let timer = Schedule {
                status: from,
                ..timer(hourly())
            };
            let moved = timer.become_status(to, BEGIN);
            assert_eq!(moved.is_ok(), allowed.contains(&(from, to)), "{from:?} to {to:?}");
            if let Ok(moved) = moved {
                assert_eq!(moved.status, to);
                assert_eq!(moved.next_execution_at.is_some(), to == Active);
            }
        }
    }
}

#[test]
fn a_resumed_schedule_continues_with_future_firings() {
    let paused = timer(hourly())
        .become_status(ScheduleStatus::Paused, later(1))
        .expect("paused");
    let tick = paused.tick(later(5 * HOUR_MS)).expect("a tick");
    assert!(tick.firings.is_empty() && tick.timer == paused);
    let again = paused
        .become_status(ScheduleStatus::Active, later(5 * HOUR_MS + 1))
        .expect("active");
    assert_eq!(again.next_execution_at, Some(later(6 * HOUR_MS)));
    let tick = again.tick(later(5 * HOUR_MS + 2)).expect("a tick");
    assert_eq!((tick.firings.len(), tick.missed), (0, 0));
}

#[test]
fn only_another_pattern_or_zone_makes_another_timer() {
    let daily = timer(berlin("0 7 * * *"));
    let same = draft(berlin("0 7 * * *"));
    let louder = ScheduleDraft {
        message: "Now!".to_owned(),
        ..same.clone()
    };
    let revised = daily.revised(&louder, later(5)).expect("revised");
    assert_eq!((revised.revision, revised.message.as_str()), (1, "Now!"));
    assert_eq!(revised.next_execution_at, daily.next_execution_at);
    let elsewhere = FiringTime::Cron {
        cron: "0 7 * * *".to_owned(),
        time_zone: "Asia/Tokyo".to_owned(),
    };
    let moved = daily.revised(&draft(elsewhere), later(5)).expect("revised");
    assert_eq!(moved.revision, 2);
    assert_eq!(
        moved.next_execution_at,
        Some(at("2026-03-01T22:00:00Z")),
        "07:00 in Tokyo"
    );
    assert_ne!(moved.run_key(BEGIN), daily.run_key(BEGIN));
    assert_eq!(daily.timer_id(), "daily.1");
}

#[test]
fn a_wall_clock_time_fires_once_across_daylight_saving_changes() {
    let daily = timer(berlin("30 2 * * *"));
    // 02:30 does not exist on 29 March, so the firing is at 03:00; it occurs twice on 25 October, and the
    // first one counts.
    for (day, firing) in [
        ("2026-03-28T00:00:00Z", "2026-03-28T01:30:00Z"),
        ("2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"),
        ("2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"),
        ("2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"),
        ("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
    ] {
        assert_eq!(
            daily.upcoming(at(day), 1).expect("firings"),
            [at(firing)],
            "{day}"
        );
    }
}

// Conformance: A-125
#[test]
fn after_five_missed_firings_the_configured_number_runs() {
    let after_five = later(5 * HOUR_MS + 120_000);
    for (allows_catch_up, at_most, runs) in [(false, 1, 0), (true, 1, 1), (true, 3, 3), (true, 100, 5)] {
        let timer = Schedule {
            allows_catch_up,
            max_catch_up_runs_per_tick: at_most,
            ..timer(hourly())
        };
        let tick = timer.tick(after_five).expect("a tick");
        assert_eq!(tick.firings.len(), runs);
        assert_eq!(tick.missed, 5 - runs as u64);
        assert!(tick.firings.iter().all(|firing| firing.is_catch_up));
        assert_eq!(tick.timer.next_execution_at, Some(later(6 * HOUR_MS)));
        let newest = (runs > 0).then_some(later(5 * HOUR_MS));
        assert_eq!(tick.firings.last().map(|firing| firing.due_at), newest);
        assert_eq!(tick.missed_from, (tick.missed > 0).then_some(later(HOUR_MS)));
    }
}

#[test]
fn a_slightly_late_firing_is_on_time_and_an_old_one_dropped() {
    let one = timer(hourly());
    let tick = one.tick(later(HOUR_MS + 59_000)).expect("a tick");
    assert_eq!(
        tick.firings,
        [Firing {
            due_at: later(HOUR_MS),
            is_catch_up: false
        }]
    );
    let daily = Schedule {
        allows_catch_up: true,
        ..timer(FiringTime::At { at: later(HOUR_MS) })
    };
    let late = daily.tick(later(24 * HOUR_MS)).expect("a tick");
    assert_eq!((late.firings.len(), late.missed), (1, 0));
    assert!(late.firings.iter().all(|firing| firing.is_catch_up));
    let month = daily.tick(later(30 * 24 * HOUR_MS)).expect("a tick");
    assert_eq!((month.firings.len(), month.missed), (0, 1));
    assert_eq!(month.timer.status, ScheduleStatus::Disabled);
}

#[test]
fn a_single_firing_schedule_is_disabled_after_a_firing_or_miss() {
    let once = Schedule {
        auto_disable_after_run: true,
        ..timer(hourly())
    };
    for now in [later(HOUR_MS), later(3 * HOUR_MS + 120_000)] {
        let tick = once.tick(now).expect("a tick");
        assert_eq!(
            (tick.timer.status, tick.timer.next_execution_at),
            (ScheduleStatus::Disabled, None)
        );
    }
    let before = once.tick(later(1)).expect("a tick");
    assert_eq!(before.timer.status, ScheduleStatus::Active);
    // A schedule for one time expires even without `auto_disable_after_run`, because no firing is left.
    let moment = Schedule {
        auto_disable_after_run: false,
        ..timer(FiringTime::At { at: later(5) })
    };
    assert_eq!(
        moment.tick(later(5)).expect("a tick").timer.status,
        ScheduleStatus::Expired
    );
}

#[test]
fn a_clock_set_back_ten_years_fires_nothing_and_recomputes_the_next() {
    let mut timer = timer(hourly());
    timer.when = berlin("0 * * * *");
    timer = timer.tick(later(HOUR_MS)).expect("a tick").timer;
    let back = later(-TEN_YEARS_MS);
    let tick = timer.tick(back).expect("a tick");
    assert!(tick.was_set_back && tick.firings.is_empty() && tick.missed == 0);
    let next = tick.timer.next_execution_at.expect("a next one");
    assert!(next > back && next.since(back) <= 3_600_000, "{next:?}");
    // After the clock moves forward again, at most one firing is a catch-up, and the others are counted.
    let forth = tick.timer.tick(later(2 * HOUR_MS + 120_000)).expect("a tick");
    assert_eq!((forth.firings.len(), forth.missed > 80_000), (0, true));
}

#[test]
fn a_clock_corrected_by_seconds_changes_nothing() {
    let timer = timer(hourly()).tick(later(HOUR_MS)).expect("a tick").timer;
    let tick = timer.tick(later(HOUR_MS - 59_000)).expect("a tick");
    assert_eq!(tick.timer, timer);
    assert!(!tick.was_set_back && tick.firings.is_empty());
}

#[test]
fn each_concurrency_policy_handles_a_firing_in_progress() {
    let firing = |ms| Firing {
        due_at: later(ms),
        is_catch_up: false,
    };
    let two = || vec![firing(1), firing(2)];
    let allow = settle(Concurrency::Allow, two(), true);
    assert_eq!((allow.fire, allow.skip.len(), allow.replaces), (two(), 0, false));
    let forbid = settle(Concurrency::Forbid, two(), true);
    assert_eq!((forbid.fire.len(), forbid.replaces), (0, false));
    assert!(
        forbid
            .skip
            .iter()
            .all(|(_, reason)| *reason == ScheduleReason::ConcurrencyForbid)
    );
    let free = settle(Concurrency::Forbid, two(), false);
    assert_eq!(free.fire, [firing(2)]);
    assert_eq!(free.skip, [(firing(1), ScheduleReason::ConcurrencyForbid)]);
    let replace = settle(Concurrency::Replace, two(), true);
    assert_eq!((replace.fire, replace.replaces), (vec![firing(2)], true));
    assert_eq!(replace.skip, [(firing(1), ScheduleReason::ConcurrencyReplace)]);
    assert!(!settle(Concurrency::Replace, Vec::new(), true).replaces);
}

#[test]
fn an_unreadable_pattern_is_an_error() {
    let broken = Schedule {
        when: berlin("no pattern"),
        ..timer(hourly())
    };
    assert!(matches!(broken.tick(later(1)), Err(RecurrenceError::Pattern(_))));
}

proptest! {
    // Conformance: A-124
    /// For any sequence of ticks, forward and back: no time fires twice unless the clock was set back over
    /// it, and each firing between two ticks has run or was counted as missed.
    #[test]
    fn every_firing_is_decided_once(
        seconds in 30_u64..100_000, steps in prop::collection::vec(1_i64..400_000_000, 1..40),
        allows_catch_up: bool, at_most in 1_u64..6,
    ) {
        let when = FiringTime::Every { interval_seconds: seconds, anchor: BEGIN };
        let mut one = Schedule { allows_catch_up, max_catch_up_runs_per_tick: at_most, ..timer(when) };
        let (mut now, mut decided, mut seen) = (BEGIN, 0_u64, std::collections::BTreeSet::new());
        for step in steps {
            now = Millis(now.0 + step);
            let tick = one.tick(now).expect("a tick");
            prop_assert!(!tick.is_capped);
            for firing in &tick.firings {
                prop_assert!(seen.insert(firing.due_at), "twice");
                prop_assert!(firing.due_at <= now && firing.due_at > one.seen_until);
            }
            decided += tick.missed + tick.firings.len() as u64;
            one = tick.timer;
            prop_assert!(one.next_execution_at.expect("a next one") > now);
        }
        prop_assert_eq!(decided, now.since(BEGIN) / (seconds * 1000));
    }

    /// After any clock jump, a tick never delays a schedule for longer than its interval.
    #[test]
    fn the_next_firing_is_never_farther_away_than_the_interval(
        seconds in 60_u64..10_000, jumps in prop::collection::vec(-TEN_YEARS_MS..TEN_YEARS_MS, 1..20),
    ) {
        let when = FiringTime::Every { interval_seconds: seconds, anchor: Millis(0) };
        let mut one = timer(when);
        for jump in jumps {
            let now = Millis((BEGIN.0 + jump).max(1));
            one = one.tick(now).expect("a tick").timer;
            let next = one.next_execution_at.expect("a next one");
            prop_assert!(next.since(now) <= seconds * 1000 + 60_000, "{next:?} {now:?}");
        }
    }
}

#[test]
fn a_delivery_is_the_same_run_for_any_pattern() {
    let event = |name: &str| EventName::parse(name).expect("a name");
    let (first, done) = (timer(hourly()), event("backup.done"));
    let draft = ScheduleDraft {
        event: Some(done.clone()),
        ..draft(berlin("0 7 * * *"))
    };
    let second = first.revised(&draft, BEGIN).expect("revised");
    assert_eq!((second.revision, second.event.as_ref()), (2, Some(&done)));
    let run = first.run_key_of_event(&done, "k");
    assert_eq!(run, second.run_key_of_event(&done, "k"));
    let others = [
        first.run_key_of_event(&done, "other"),
        first.run_key_of_event(&event("backup.failed"), "k"),
        first.run_key_by_hand("k"),
        first.run_key_by_hand("backup.done:k"),
        first.run_key(BEGIN),
    ];
    assert!(!others.contains(&run));
}

#[test]
fn the_words_of_statuses_outcomes_policies_and_causes_are_fixed() {
    fn words<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Copy + std::fmt::Debug>(
        all: &[T],
        word: fn(T) -> &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Vec<&'static str> {
        for one in all {
            let json = serde_json::json!(word(*one));
            assert_eq!(serde_json::to_value(one).ok().as_ref(), Some(&json));
            assert_eq!(serde_json::from_value::<T>(json).ok().as_ref(), Some(one));
            assert_eq!(parse(word(*one)).as_ref(), Some(one));
        }
        for bad in ["", "Active", "ScheduleActive", "ran", "cron_tick"] {
            assert_eq!(parse(bad), None, "{bad}");
            assert!(
                serde_json::from_value::<T>(serde_json::json!(bad)).is_err(),
                "{bad}"
            );
        }
        all.iter().map(|one| word(*one)).collect()
    }
    assert_eq!(
        words(
            &ScheduleStatus::ALL,
            ScheduleStatus::as_str,
            ScheduleStatus::parse
        ),
        ["active", "paused", "disabled", "expired"]
    );
    assert_eq!(
        words(&Concurrency::ALL, Concurrency::as_str, Concurrency::parse),
        ["allow", "forbid", "replace"]
    );
    assert_eq!(
        words(&TriggerSource::ALL, TriggerSource::as_str, TriggerSource::parse),
        ["tick", "trigger_now", "event"]
    );
    assert_eq!(
        words(
            &ExecutionOutcome::ALL,
            ExecutionOutcome::as_str,
            ExecutionOutcome::parse
        ),
        [
            "run",
            "skipped",
            "replaced",
            "refused",
            "disabled",
            "expired",
            "recomputed",
            "unreadable"
        ]
    );
}
