//! `schedule_next` and `schedule_due`: what they answer, and what they refuse.

use serde_json::{Value, json};

use super::{refusal_of, result_of};

#[test]
fn the_next_firings_are_told_in_utc() {
    let next = |schedule: Value, after: &str, count: u64| {
        result_of(json!({"op": "schedule_next", "schedule": schedule, "after": after, "count": count}))["next"].clone()
    };
    // In the night to 29 March 2026 the clocks of Berlin go from 02:00 to 03:00.
    let daily = json!({"cron": "30 2 * * *", "time_zone": "Europe/Berlin"});
    assert_eq!(
        next(daily, "2026-03-27T12:00:00+01:00", 3),
        json!([
            "2026-03-28T01:30:00.000Z",
            "2026-03-29T01:00:00.000Z",
            "2026-03-30T00:30:00.000Z"
        ])
    );
    let every = json!({"interval_seconds": 90, "anchor": "2026-01-01T00:00:00.5Z"});
    assert_eq!(
        next(every.clone(), "2026-01-01T00:00:00.500Z", 2),
        json!(["2026-01-01T00:01:30.500Z", "2026-01-01T00:03:00.500Z"])
    );
    assert_eq!(
        next(every, "2025-01-01T00:00:00Z", 1),
        json!(["2026-01-01T00:00:00.500Z"])
    );
}

#[test]
fn what_is_due_runs_and_the_rest_is_counted() {
    let due = |fields: Value| {
        let mut request = json!({
            "op": "schedule_due", "schedule": {"interval_seconds": 60, "anchor": "2026-01-01T00:00:00Z"}, "now": "2026-01-01T01:00:30Z",
            "allows_catch_up": false, "catch_up_window_seconds": 600, "max_catch_up_runs_per_tick": 2,
        });
        request
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("an object").clone());
        result_of(request)
    };
    let next = "2026-01-01T01:01:00.000Z";
    let nothing = json!({"runs": [], "skipped": 0, "skipped_capped": false, "next": next});
    assert_eq!(due(json!({})), nothing);
    assert_eq!(due(json!({"last": null, "grace_seconds": null})), nothing);
    let last = "2026-01-01T00:50:00Z";
    assert_eq!(
        due(json!({"last": last})),
        json!({"runs": ["2026-01-01T01:00:00.000Z"], "skipped": 9, "skipped_capped": false, "next": next})
    );
    assert_eq!(
        due(json!({"last": last, "grace_seconds": 29})),
        json!({"runs": [], "skipped": 10, "skipped_capped": false, "next": next})
    );
    assert_eq!(
        due(json!({"last": last, "allows_catch_up": true})),
        json!({"runs": ["2026-01-01T00:59:00.000Z", "2026-01-01T01:00:00.000Z"], "skipped": 8, "skipped_capped": false, "next": next})
    );
    let capped = due(json!({"last": "2026-01-01T00:00:00Z", "now": "2027-01-01T00:00:00Z"}));
    assert_eq!(
        (&capped["skipped"], &capped["skipped_capped"]),
        (&json!(100_000), &json!(true))
    );
}

#[test]
fn a_fault_in_a_schedule_names_its_field() {
    let cron = |pattern: &str| json!({"cron": pattern, "time_zone": "UTC"});
    for (schedule, named) in [
        (json!(null), "schedule"),
        (json!({}), "cron"),
        (json!({"cron": "* * * * *"}), "time_zone"),
        (json!({"cron": null, "time_zone": "UTC"}), "cron"),
        (
            json!({"cron": "* * * * *", "time_zone": "europe/berlin"}),
            "time_zone",
        ),
        (
            json!({"cron": "* * * * *", "time_zone": "x".repeat(100_000)}),
            "time_zone",
        ),
        (
            json!({"cron": "* * * * *", "time_zone": "UTC", "interval_seconds": 1, "anchor": "2026-01-01T00:00:00Z"}),
            "interval_seconds",
        ),
        (
            json!({"interval_seconds": 0, "anchor": "2026-01-01T00:00:00Z"}),
            "interval_seconds",
        ),
        (
            json!({"interval_seconds": 1.5, "anchor": "2026-01-01T00:00:00Z"}),
            "interval_seconds",
        ),
        (json!({"interval_seconds": 1}), "anchor"),
        (json!({"interval_seconds": 1, "anchor": "2026-01-01"}), "anchor"),
        (
            json!({"interval_seconds": 1, "anchor": "2026-01-01T00:00:00Z", "x".repeat(100_000): 1}),
            "xxx",
        ),
        (cron("0 0 30 2 *"), "cron"),
        (cron("*/0 * * * *"), "cron"),
        (cron("? * * * *"), "cron"),
        (cron("50-10 * * * *"), "cron"),
        (cron("* * * *"), "cron"),
        (cron(&"1,".repeat(100_000)), "cron"),
    ] {
        let request = json!({"id": 1, "op": "schedule_next", "schedule": schedule, "after": "2026-01-01T00:00:00Z", "count": 1});
        let (code, message) = refusal_of(&request.to_string());
        assert_eq!(code, "bad_request", "{named}: {message}");
        assert!(
            message.contains(named) && message.starts_with("`schedule`") && message.len() < 400,
            "{named}: {message}"
        );
    }
    let wrong = |op: &str, field: &str, value: Value| {
        let mut request = json!({"id": 1, "op": op, "schedule": cron("0 7 * * *")});
        let rest = match op {
            "schedule_next" => json!({"after": "2026-01-01T00:00:00Z", "count": 1}),
            _ => {
                json!({"now": "2026-01-01T00:00:00Z", "allows_catch_up": true, "catch_up_window_seconds": 0, "max_catch_up_runs_per_tick": 0})
            }
        };
        request
            .as_object_mut()
            .expect("an object")
            .extend(rest.as_object().expect("an object").clone());
        request[field] = value;
        let (code, message) = refusal_of(&request.to_string());
        assert!(
            code == "bad_request" && message.starts_with(&format!("`{field}`")),
            "{field}: {code} {message}"
        );
    };
    for (field, value) in [
        ("count", json!(0)),
        ("count", json!(1001)),
        ("count", json!(null)),
        ("after", json!(null)),
        ("now", json!(1)),
    ] {
        wrong("schedule_next", field, value);
    }
    for (field, value) in [
        ("last", json!("")),
        ("now", json!(null)),
        ("allows_catch_up", json!(1)),
        ("allows_catch_up", json!(null)),
        ("catch_up_window_seconds", json!(-1)),
        ("max_catch_up_runs_per_tick", json!(null)),
        ("grace_seconds", json!("60")),
        ("count", json!(1)),
    ] {
        wrong("schedule_due", field, value);
    }
}
