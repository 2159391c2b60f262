//! A slow reference that walks every second or minute and asks the library for its local time. It is
//! compared with the fast implementation on short ranges around every kind of clock change.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use proptest::prelude::*;

use super::*;

/// Time zones, and days around which their clocks change.
const PLACES: [(&str, &str); 12] = [
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Pacific/Apia", "2011-12-30"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Africa/Casablanca", "2026-03-22"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("Asia/Manila", "1844-12-31"),
    ("UTC", "2028-02-28"),
];

/// Whether a field, of the simple kinds generated here, matches a value.
fn means(field: &str, value: i8) -> bool {
    let value = i64::from(value);
    match field.split_once('/') {
        _ if field == "*" => true,
        Some(("*", step)) => value % step.parse::<i64>().expect("a step") == 0,
        Some((from, step)) => {
            let (from, step): (i64, i64) = (from.parse().expect("a start"), step.parse().expect("a step"));
            value >= from && (value - from) % step == 0
        }
        None => field.split(',').any(|item| match item.split_once('-') {
            Some((first, last)) => {
                (first.parse().expect("a number")..=last.parse().expect("a number")).contains(&value)
            }
            None => item.parse::<i64>().expect("a number") == value,
        }),
    }
}

/// Whether a local minute matches, by the literal rule. Days of the month never have steps here.
fn matches(fields: &[String], local: DateTime) -> bool {
    let [minute, hour, day, month, weekday] = fields else {
        panic!("five fields")
    };
    let of_week = local.weekday().to_sunday_zero_offset();
    let by_day = means(day, local.day());
    let by_week = means(weekday, of_week) || (of_week == 0 && means(weekday, 7) && weekday != "*");
    let day_meant = if day != "*" && weekday != "*" {
        by_day || by_week
    } else {
        by_day && by_week
    };
    means(minute, local.minute()) && means(hour, local.hour()) && means(month, local.month()) && day_meant
}

/// Firings within a few days, found minute by minute.
fn firings(fields: &[String], zone: &TimeZone, from: i64, until: i64) -> Vec<Millis> {
    let mut found = BTreeSet::new();
    if fields[1] == "*" {
        // Every instant whose local time matches. Clock changes fall on full minutes on both sides.
        let mut second = from;
        while second <= until {
            let local = zone.to_datetime(Timestamp::from_second(second).expect("a time"));
            if local.second() == 0 && matches(fields, local) {
                found.insert(second);
            }
            second += 60 - i64::from(local.second());
        }
    } else {
        // Every matching local minute, at the instant when the wall clock first shows it.
        let day = 3 * 86_400;
        let mut local = zone
            .to_datetime(Timestamp::from_second(from - day).expect("a time"))
            .date()
            .at(0, 0, 0, 0);
        let end = zone.to_datetime(Timestamp::from_second(until + day).expect("a time"));
        while local < end {
            if matches(fields, local) {
                found.insert(on_the_wall(zone, local));
            }
            local = local.saturating_add(jiff::SignedDuration::from_mins(1));
        }
    }
    found
        .into_iter()
        .filter(|second| (from..=until).contains(second))
        .map(|second| Millis(second * 1000))
        .collect()
}

/// The first instant at which the wall clock shows or passes a local time.
fn on_the_wall(zone: &TimeZone, local: DateTime) -> i64 {
    let ambiguous = zone.to_ambiguous_timestamp(local);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
            ambiguous.earlier().expect("a time").as_second()
        }
        AmbiguousOffset::Gap { .. } => {
            // With the offset before it, the first local time of a gap is the change itself, which counts
            // too.
            let later = ambiguous.later().expect("a time") + jiff::SignedDuration::from_secs(1);
            zone.preceding(later)
                .next()
                .expect("a gap has a change")
                .timestamp()
                .as_second()
        }
    }
}

fn field(least: i64, greatest: i64) -> impl Strategy<Value = String> {
    let one = least..=greatest;
    prop_oneof![
        4 => Just("*".to_owned()),
        4 => one.clone().prop_map(|value| value.to_string()),
        1 => (one.clone(), one.clone()).prop_map(|(a, b)| format!("{a},{b}")),
        1 => (one.clone(), one).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
    ]
}

fn stepped(greatest: i64) -> impl Strategy<Value = String> {
    let step = prop_oneof![Just(7), Just(15), Just(30), Just(1)];
    prop_oneof![
        3 => field(0, greatest),
        1 => step.clone().prop_map(|step| format!("*/{step}")),
        1 => (0..=greatest, step).prop_map(|(from, step)| format!("{from}/{step}")),
    ]
}

/// Fields that often match days around `day`.
fn pattern(day: i64) -> impl Strategy<Value = Vec<String>> {
    let near = (day - 1).max(1)..=(day + 1).min(31);
    let day =
        prop_oneof![6 => Just("*".to_owned()), 2 => near.prop_map(|day| day.to_string()), 1 => field(1, 31)];
    let hour = prop_oneof![2 => Just("*".to_owned()), 6 => (0_i64..4).prop_map(|hour| hour.to_string()), 2 => stepped(23)];
    let weekday = prop_oneof![2 => Just("*".to_owned()), 1 => field(0, 7)];
    (stepped(59), hour, day, Just("*".to_owned()), weekday)
        .prop_map(|(m, h, d, mon, w)| vec![m, h, d, mon, w])
}

/// A time zone, a pattern, and a time within a day of a clock change.
fn case() -> impl Strategy<Value = (&'static str, i64, Vec<String>)> {
    (0..PLACES.len(), -20 * 3600_i64..20 * 3600).prop_flat_map(|(place, shift)| {
        let (zone, day) = PLACES[place];
        let day = Millis::parse(day).expect("a day").0 / 1000;
        let of_month = civil::month_of(day).1;
        pattern(of_month.into()).prop_map(move |fields| (zone, day + shift, fields))
    })
}

proptest! {
    /// The fast implementation finds the same firings as the reference.
    #[test]
    fn a_pattern_fires_as_the_minute_by_minute_reference_does((zone, from, fields) in case()) {
        let schedule = Recurrence::cron(&fields.join(" "), zone).expect("a schedule");
        let until = from + 30 * 3600;
        let slow = firings(&fields, &TimeZone::get(zone).expect("a zone"), from + 1, until);
        let (after, until) = (Millis(from * 1000), Millis(until * 1000));
        let mut fast = Vec::new();
        let mut last = after;
        while let Ok(next) = schedule.next(last, 1)
            && next[0] <= until
        {
            last = next[0];
            fast.push(last);
        }
        prop_assert_eq!(&fast, &slow, "{} in {}", fields.join(" "), zone);
        prop_assert_eq!(schedule.count(after, until), u64::try_from(slow.len()).expect("few"));
        prop_assert_eq!(schedule.newest(after, until), slow.last().copied());
    }

    #[test]
    fn firings_are_strictly_after_and_strictly_increasing((zone, from, fields) in case(), ms in 0_i64..1000) {
        let schedule = Recurrence::cron(&fields.join(" "), zone).expect("a schedule");
        let after = Millis(from * 1000 + ms);
        let next = schedule.next(after, 50).expect("firings");
        prop_assert!(next[0] > after);
        prop_assert!(next.windows(2).all(|two| two[0] < two[1]));
        prop_assert!(next.iter().all(|firing| firing.0 % 1000 == 0));
    }

    // Conformance: A-124
    /// Every firing after `last` and not after `now` either runs or is skipped.
    #[test]
    fn each_due_firing_either_runs_or_is_skipped(
        (zone, from, fields) in case(),
        hours in 0_i64..60,
        every in proptest::option::of(1_u64..100_000),
        window_seconds in 0_u64..200_000,
        runs_max in 0_u64..9,
        on: bool,
    ) {
        let last = Millis(from * 1000);
        let now = Millis(last.0 + hours * 3_600_000 + 1234);
        let schedule = match every {
            Some(seconds) => Recurrence::every(seconds, Millis(from * 1000 - 5_000_000)),
            None => Recurrence::cron(&fields.join(" "), zone),
        };
        let schedule = schedule.expect("a schedule");
        let catch_up = if on {
            CatchUp::On { window_seconds, runs_max }
        } else {
            CatchUp::Off { grace_seconds: window_seconds }
        };
        let due = schedule.due(Some(last), now, catch_up).expect("due");
        let mut windows = Vec::new();
        let mut at = last;
        while let Some(firing) = schedule.first_after(at).filter(|firing| *firing <= now) {
            windows.push(firing);
            at = firing;
        }
        prop_assert_eq!(due.next, schedule.first_after(now).expect("one more"));
        let young = windows.iter().filter(|firing| now.since(**firing) <= window_seconds * 1000).count();
        let runs = young.min(if on { usize::try_from(runs_max).expect("few") } else { 1 });
        prop_assert_eq!(&due.runs[..], &windows[windows.len() - runs..]);
        prop_assert_eq!(due.skipped, u64::try_from(windows.len() - runs).expect("few"));
        prop_assert!(!due.skipped_capped);
    }
}
