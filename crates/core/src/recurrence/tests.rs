//! Unit tests of patterns, time zones and arithmetic.

use serde_json::json;

use super::*;

fn time(text: &str) -> Millis {
    Millis::parse_rfc3339(text).expect("a time")
}

/// The first firings of a pattern after a time, as text.
fn next(pattern: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = Recurrence::cron(pattern, zone).expect("a schedule");
    let firings = schedule.next(time(after), count).expect("firings");
    firings
        .into_iter()
        .map(|firing| firing.rfc3339().replace(":00.000Z", "Z"))
        .collect()
}

fn refused(pattern: &str) -> RecurrenceError {
    Recurrence::cron(pattern, "UTC").expect_err(pattern)
}

#[test]
fn a_skipped_time_fires_once_when_the_gap_ends() {
    let spring = "2026-03-08T00:00:00-05:00";
    assert_eq!(
        next("30 2 * * *", "America/New_York", spring, 2),
        ["2026-03-08T07:00Z", "2026-03-09T06:30Z"],
        "at three o'clock, and half past two the day after"
    );
    assert_eq!(
        next("*/10 2,3 * * *", "America/New_York", spring, 3),
        ["2026-03-08T07:00Z", "2026-03-08T07:10Z", "2026-03-08T07:20Z"],
        "six times fall into the gap, and one of them is three o'clock itself"
    );
    assert_eq!(
        next("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 1),
        ["2026-10-03T15:30Z"],
        "half an hour is missing there"
    );
}

#[test]
fn a_repeated_time_fires_at_its_first_occurrence() {
    let autumn = "2026-11-01T00:00:00-04:00";
    assert_eq!(
        next("30 1 * * *", "America/New_York", autumn, 2),
        ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]
    );
    let between = "2026-11-01T05:45:00Z";
    assert_eq!(
        next("30 1 * * *", "America/New_York", between, 1),
        ["2026-11-02T06:30Z"]
    );
}

#[test]
fn an_open_hour_refers_to_elapsed_time() {
    let autumn = "2026-11-01T00:45:00-04:00";
    assert_eq!(
        next("30 * * * *", "America/New_York", autumn, 3),
        ["2026-11-01T05:30Z", "2026-11-01T06:30Z", "2026-11-01T07:30Z"],
        "half past one comes twice"
    );
    assert_eq!(
        next("30 */1 * * *", "America/New_York", autumn, 3),
        ["2026-11-01T05:30Z", "2026-11-01T07:30Z", "2026-11-01T08:30Z"],
        "every hour of the clock on the wall is another pattern"
    );
    let spring = "2026-03-08T01:45:00-05:00";
    assert_eq!(
        next("30 * * * *", "America/New_York", spring, 1),
        ["2026-03-08T07:30Z"]
    );
    assert_eq!(
        next("@hourly", "America/New_York", autumn, 1),
        ["2026-11-01T05:00Z"]
    );
}

#[test]
fn a_skipped_day_fires_once_when_the_next_starts() {
    // Samoa skipped 30 December 2011.
    let before = "2011-12-29T20:00:00-10:00";
    assert_eq!(
        next("0 7 30 12 *", "Pacific/Apia", before, 1),
        ["2011-12-30T10:00Z"]
    );
    assert_eq!(
        next("0 7,9,20 * * *", "Pacific/Apia", before, 2),
        ["2011-12-30T10:00Z", "2011-12-30T17:00Z"],
        "three times of that day fall together, and the next is seven on the 31st"
    );
    assert_eq!(
        next("0 * 30 12 *", "Pacific/Apia", before, 1),
        ["2012-12-29T10:00Z"],
        "time that passes has no such day"
    );
}

#[test]
fn seven_in_the_morning_stays_seven_when_the_clocks_change() {
    let before = "2026-03-28T00:00:00+01:00";
    let firings = next("0 7 * * *", "Europe/Berlin", before, 3);
    assert_eq!(
        firings,
        ["2026-03-28T06:00Z", "2026-03-29T05:00Z", "2026-03-30T05:00Z"]
    );
    assert_eq!(
        next("0 7 * * *", "Asia/Calcutta", before, 1),
        ["2026-03-28T01:30Z"],
        "a link, and half an hour"
    );
}

#[test]
fn fields_are_parsed() {
    let after = "2026-01-01T00:00:00Z";
    assert_eq!(
        next("10-20/5 0 1 * *", "UTC", after, 3),
        ["2026-01-01T00:10Z", "2026-01-01T00:15Z", "2026-01-01T00:20Z"]
    );
    assert_eq!(
        next("40/10 0 1 * *", "UTC", after, 2),
        ["2026-01-01T00:40Z", "2026-01-01T00:50Z"]
    );
    assert_eq!(next("0 0 * feb-Mar *", "UTC", after, 1), ["2026-02-01T00:00Z"]);
    assert_eq!(next(" 0\t 0   1 JAN * ", "UTC", after, 1), ["2027-01-01T00:00Z"]);
    assert_eq!(
        next("30 0 0 1 1 *", "UTC", after, 1),
        ["2026-01-01T00:00:30.000Z"]
    );
    assert_eq!(next("@yearly", "UTC", after, 1), ["2027-01-01T00:00Z"]);
    assert_eq!(next("@weekly", "UTC", after, 1), ["2026-01-04T00:00Z"]);
    assert_eq!(next("0 0 * * 7", "UTC", after, 1), ["2026-01-04T00:00Z"]);
    assert_eq!(
        next("0 0 * * fri-7", "UTC", after, 3),
        ["2026-01-02T00:00Z", "2026-01-03T00:00Z", "2026-01-04T00:00Z"]
    );
    assert_eq!(
        next("0 0 * * 5/1", "UTC", after, 3),
        ["2026-01-02T00:00Z", "2026-01-03T00:00Z", "2026-01-09T00:00Z"]
    );
    assert_eq!(
        next("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1),
        ["2104-02-29T00:00Z"],
        "no leap day in 2100"
    );
}

#[test]
fn a_day_matches_either_of_two_day_fields() {
    let after = "2026-01-01T00:00:00Z";
    assert_eq!(
        next("0 0 13 * fri", "UTC", after, 3),
        ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-13T00:00Z"]
    );
    assert_eq!(
        next("0 0 */1 * fri", "UTC", after, 2),
        ["2026-01-02T00:00Z", "2026-01-03T00:00Z"],
        "not exactly a star"
    );
    assert_eq!(next("0 0 30 2 mon", "UTC", after, 1), ["2026-02-02T00:00Z"]);
}

#[test]
fn an_invalid_pattern_is_rejected_with_its_field() {
    let unreadable = [
        "",
        "* * * *",
        "* * * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * 0 *",
        "* * * * 8",
        "5-1 * * * *",
        "* * * * fri-sun",
        "* * * * 7/2",
        "*/0 * * * *",
        "1/0 * * * *",
        "? * * * *",
        "* * L * *",
        "* * 1W * *",
        "* * * * 1#2",
        ", * * * *",
        "1, * * * *",
        "-1 * * * *",
        "1- * * * *",
        "+1 * * * *",
        "*/ * * * *",
        "*-5 * * * *",
        "1/2/3 * * * *",
        "1-2-3 * * * *",
        "* * * january *",
        "jan * * * *",
        "* * * * m\u{f6}n",
        "@annually",
        "@DAILY",
        "*\n* * * *",
        "99999999999999999999999 * * * *",
    ];
    for pattern in unreadable {
        assert!(
            matches!(refused(pattern), RecurrenceError::Pattern(_)),
            "{pattern:?}"
        );
    }
    assert!(refused("* * * 13 *").to_string().contains("month"));
}

#[test]
fn an_impossible_day_is_rejected_at_once() {
    for pattern in ["0 0 30 2 *", "* * 31 4,6,9,11 *", "0 0 30-31 feb *"] {
        assert_eq!(refused(pattern), RecurrenceError::Impossible, "{pattern}");
    }
}

#[test]
fn a_time_zone_name_must_match_exactly() {
    for zone in [
        "UTC",
        "Etc/UTC",
        "US/Eastern",
        "Europe/Kyiv",
        "Europe/Kiev",
        "GMT",
        "Etc/GMT+5",
        "America/Argentina/Ushuaia",
    ] {
        assert!(Recurrence::cron("@daily", zone).is_ok(), "{zone}");
    }
    for zone in [
        "",
        "utc",
        "europe/berlin",
        "Europe/berlin",
        "EUROPE/BERLIN",
        "Mars/Olympus",
        "Etc/Unknown",
        "+01:00",
        "Europe",
        "CEST",
    ] {
        let error = Recurrence::cron("@daily", zone).expect_err(zone);
        assert_eq!(error, RecurrenceError::Zone(zone.into()));
    }
}

#[test]
fn a_schedule_has_exactly_one_kind() {
    let cron = json!({"cron": "@daily", "time_zone": "Europe/Berlin"});
    let interval = json!({"interval_seconds": 60, "anchor": "2026-01-01T00:00:00Z"});
    assert!(Recurrence::parse(&cron).is_ok() && Recurrence::parse(&interval).is_ok());
    let both = json!({"cron": "@daily", "time_zone": "UTC", "interval_seconds": 60, "anchor": "2026-01-01T00:00:00Z"});
    assert_eq!(Recurrence::parse(&both).err(), Some(RecurrenceError::Kind));
    assert_eq!(Recurrence::parse(&json!({})).err(), Some(RecurrenceError::Kind));
    let bad = [
        ("time_zone", json!({"cron": "@daily"})),
        ("time_zone", json!({"cron": "@daily", "time_zone": null})),
        ("cron", json!({"cron": 5, "time_zone": "UTC"})),
        (
            "anchor",
            json!({"cron": "@daily", "time_zone": "UTC", "anchor": "2026-01-01T00:00:00Z"}),
        ),
        (
            "time_zone",
            json!({"interval_seconds": 60, "anchor": "2026-01-01T00:00:00Z", "time_zone": "UTC"}),
        ),
        (
            "interval_seconds",
            json!({"interval_seconds": 0, "anchor": "2026-01-01T00:00:00Z"}),
        ),
        (
            "interval_seconds",
            json!({"interval_seconds": -5, "anchor": "2026-01-01T00:00:00Z"}),
        ),
        (
            "interval_seconds",
            json!({"interval_seconds": 1.5, "anchor": "2026-01-01T00:00:00Z"}),
        ),
        ("anchor", json!({"interval_seconds": 60})),
        ("anchor", json!({"interval_seconds": 60, "anchor": "2026-01-01"})),
        (
            "wobble",
            json!({"cron": "@daily", "time_zone": "UTC", "wobble": 1}),
        ),
        ("schedule", json!("@daily")),
    ];
    for (field, value) in bad {
        let error = Recurrence::parse(&value).expect_err("not of this form");
        assert!(
            matches!(&error, RecurrenceError::Form { field: named, .. } if named == field),
            "{error}"
        );
    }
}

#[test]
fn an_interval_fires_at_its_anchor_and_never_before() {
    let schedule = Recurrence::every(90, time("2026-01-01T00:00:00.250Z")).expect("a schedule");
    let firings = |after: &str| {
        schedule
            .next(time(after), 2)
            .expect("firings")
            .into_iter()
            .map(Millis::rfc3339)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        firings("0000-01-01T00:00:00Z"),
        ["2026-01-01T00:00:00.250Z", "2026-01-01T00:01:30.250Z"]
    );
    assert_eq!(
        firings("2026-01-01T00:00:00.250Z"),
        ["2026-01-01T00:01:30.250Z", "2026-01-01T00:03:00.250Z"]
    );
    let rare = Recurrence::every((1 << 53) - 1, time("2026-01-01T00:00:00Z")).expect("a schedule");
    assert_eq!(
        rare.next(time("2026-01-01T00:00:00Z"), 1),
        Err(RecurrenceError::Exhausted)
    );
    assert!(rare.next(time("2025-01-01T00:00:00Z"), 1).is_ok());
}

// Conformance: A-125
/// After a downtime of five windows, none, one or three firings run, depending on the catch-up setting.
#[test]
fn missed_firings_run_according_to_the_catch_up_setting() {
    let schedule = Recurrence::cron("0 * * * *", "UTC").expect("a schedule");
    let (last, now) = (time("2026-01-01T00:00:00Z"), time("2026-01-01T05:30:00Z"));
    let due = |catch_up| {
        let due = schedule.due(Some(last), now, catch_up).expect("due");
        assert_eq!(due.next, time("2026-01-01T06:00:00Z"));
        (
            due.runs
                .into_iter()
                .map(|run| run.rfc3339()[11..13].to_owned())
                .collect::<Vec<_>>()
                .join(" "),
            due.skipped,
        )
    };
    let on = |window_seconds, runs_max| CatchUp::On {
        window_seconds,
        runs_max,
    };
    assert_eq!(due(CatchUp::Off { grace_seconds: 60 }), (String::new(), 5));
    assert_eq!(
        due(CatchUp::Off { grace_seconds: 1800 }),
        ("05".into(), 4),
        "exactly as old is not older"
    );
    assert_eq!(due(on(86_400, 1)), ("05".into(), 4));
    assert_eq!(due(on(86_400, 3)), ("03 04 05".into(), 2));
    assert_eq!(due(on(5_400, 3)), ("04 05".into(), 3), "the rest is too old");
    assert_eq!(due(on(u64::MAX, u64::MAX)), ("01 02 03 04 05".into(), 0));
}

// Conformance: A-124
#[test]
fn a_first_evaluation_or_a_clock_set_back_finds_nothing_due() {
    let schedule = Recurrence::cron("@hourly", "UTC").expect("a schedule");
    let (now, later) = (time("2026-01-01T05:30:00Z"), time("2026-01-01T09:00:00Z"));
    let grace = CatchUp::Off { grace_seconds: 60 };
    let never = schedule.due(None, now, grace).expect("due");
    assert_eq!(
        (never.runs.len(), never.skipped, never.next),
        (0, 0, time("2026-01-01T06:00:00Z"))
    );
    let back = schedule.due(Some(later), now, grace).expect("due");
    assert_eq!(
        (back.runs.len(), back.skipped, back.next),
        (0, 0, time("2026-01-01T10:00:00Z"))
    );
}

/// Ten years of seconds are 315 million firings; they are counted up to the limit and not listed.
#[test]
fn ten_missed_years_of_seconds_are_counted_without_walking() {
    let (last, now) = (time("2016-01-01T00:00:00Z"), time("2026-01-01T00:00:00Z"));
    let catch_up = CatchUp::On {
        window_seconds: u64::MAX,
        runs_max: 2,
    };
    for schedule in [
        Recurrence::cron("* * * * * *", "America/New_York").expect("a schedule"),
        Recurrence::every(1, last).expect("a schedule"),
    ] {
        let due = schedule.due(Some(last), now, catch_up).expect("due");
        assert_eq!(due.runs, [Millis(now.0 - 1000), now]);
        assert_eq!((due.skipped, due.skipped_capped), (SKIPPED_MAX, true));
        let all = CatchUp::On {
            window_seconds: u64::MAX,
            runs_max: u64::MAX,
        };
        assert_eq!(schedule.due(Some(last), now, all), Err(RecurrenceError::TooMany));
        let few = schedule
            .due(Some(Millis(now.0 - 100_002_000)), now, catch_up)
            .expect("due");
        assert_eq!(
            (few.skipped, few.skipped_capped),
            (SKIPPED_MAX, false),
            "exactly as many as the bound"
        );
    }
}

#[test]
fn the_limits_of_time_give_a_result_or_an_error() {
    let schedule = Recurrence::cron("@yearly", "Europe/Berlin").expect("a schedule");
    assert_eq!(
        next("@yearly", "Europe/Berlin", "9998-06-01T00:00:00Z", 1),
        ["9998-12-31T23:00Z"]
    );
    assert_eq!(
        schedule.next(time("9999-06-01T00:00:00Z"), 2),
        Err(RecurrenceError::Exhausted)
    );
    assert_eq!(
        next("0 0 31 12 *", "UTC", "9999-06-01T00:00:00Z", 1),
        ["9999-12-31T00:00Z"]
    );
    assert_eq!(
        next("59 59 23 31 12 *", "UTC", "9999-12-31T00:00:00Z", 1),
        ["9999-12-31T23:59:59.000Z"]
    );
    assert_eq!(
        next("0 0 1 1 *", "UTC", "0000-01-01T00:00:00Z", 1),
        ["0001-01-01T00:00Z"]
    );
    let patterns = ["* * * * * *", "0 0 29 2 *", "30 2 * * *", "@hourly"];
    let zones = [
        "America/New_York",
        "Pacific/Kiritimati",
        "Asia/Manila",
        "Pacific/Apia",
    ];
    let grace = CatchUp::Off {
        grace_seconds: u64::MAX,
    };
    for extreme in [
        Millis(i64::MIN),
        Millis::MIN,
        Millis(-1),
        Millis(0),
        Millis::MAX,
        Millis(i64::MAX),
    ] {
        for schedule in patterns
            .iter()
            .flat_map(|pattern| zones.map(|zone| Recurrence::cron(pattern, zone)))
        {
            let schedule = schedule.expect("a schedule");
            let _ = schedule.next(extreme, 3);
            let _ = schedule.due(Some(Millis::MIN), extreme, grace);
            let _ = schedule.due(Some(extreme), Millis(0), grace);
        }
        let interval = Recurrence::every(u64::MAX, extreme).expect("a schedule");
        let _ = interval.next(extreme, 3);
        let _ = interval.due(Some(Millis(i64::MIN)), Millis(i64::MAX), grace);
    }
}

#[test]
fn a_thousand_leap_days_are_found_quickly() {
    let schedule = Recurrence::cron("0 0 29 2 *", "America/New_York").expect("a schedule");
    let firings = schedule
        .next(time("2026-01-01T00:00:00Z"), 1000)
        .expect("firings");
    assert_eq!(firings.len(), 1000);
    assert!(
        firings
            .last()
            .is_some_and(|last| last.rfc3339().contains("-02-29T05:00:00.000Z"))
    );
}
