//! Tests of `schedule_next` and `schedule_due`.

use serde_json::{Value, json};

use super::result_of;

#[test]
fn the_next_firings_are_returned_in_utc() {
    let next = |schedule: Value, after: &str, count: u64| {
        result_of(json!({"op": "schedule_next", "schedule": schedule, "after": after, "count": count}))["next"].clone()
    };
    // In the night to 29 March 2026, clocks in Berlin change from 02:00 to 03:00.
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
fn due_firings_run_and_the_rest_are_counted() {
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
