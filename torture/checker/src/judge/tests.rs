//! For every promise, a history that breaks it and nothing else; those about people, the journal, files and
//! schedules are in the submodule.

use serde_json::{Value, json};

mod aside;

use super::{PROMISES, judge};
use crate::effect_file::EffectFile;
use crate::history::History;

/// A valid history: two messages of one agent, the second sent after the first was acknowledged.
fn sound() -> Vec<Value> {
    let answer = json!({"outcome": "completed", "calls": ["ok", "ok"], "text": "t"});
    vec![
        json!({"event": "sent", "at": 1, "message": "m1", "agent": "a", "actions": ["line", "line"], "text": "t"}),
        json!({"event": "acknowledged", "at": 2, "message": "m1", "run": "r1", "admission": "new"}),
        json!({"event": "sent", "at": 3, "message": "m2", "agent": "a", "actions": ["line", "line"], "text": "t"}),
        json!({"event": "acknowledged", "at": 4, "message": "m2", "run": "r2", "admission": "new"}),
        json!({"event": "told", "run": "r1", "answer": answer}),
        json!({"event": "note", "at": 5, "what": "killed"}),
        json!({"event": "final", "message": "m1", "status": 200, "answer": answer}),
        json!({"event": "final", "message": "m2", "status": 200, "answer": answer}),
        json!({"event": "rest", "agent": "a", "reserved_usd": "0.00"}),
    ]
}

const WORLD: &str = "m1 1\nm1 2\nm2 1\nm2 2\n";

/// Adds a time to each line that has none.
fn stamped(world: &str) -> String {
    let stamp = |line: &str| match line.split(' ').count() {
        2 => format!("{line} 5\n"),
        _ => format!("{line}\n"),
    };
    world.lines().map(stamp).collect()
}

/// The promises that a history and an effect file break, each once.
fn broken(history: &[Value], world: &str) -> Vec<&'static str> {
    let lines: Vec<String> = history.iter().map(Value::to_string).collect();
    let history = History::parse(&lines.join("\n")).expect("a history");
    let faults = judge(&history, &EffectFile::parse(&stamped(world))).faults;
    let mut promises: Vec<_> = faults.iter().map(|fault| fault.promise).collect();
    promises.dedup();
    promises
}

/// The valid history with one line replaced or removed.
fn with(index: usize, line: Option<Value>) -> Vec<Value> {
    let mut history = sound();
    history.splice(index..=index, line);
    history
}

fn last(outcome: &str, calls: &[&str], text: &str) -> Option<Value> {
    let answer = json!({"outcome": outcome, "calls": calls, "text": text});
    Some(json!({"event": "final", "message": "m2", "status": 200, "answer": answer}))
}

#[test]
fn a_valid_history_breaks_no_promise() {
    assert_eq!(broken(&sound(), WORLD), Vec::<&str>::new());
    assert_eq!(
        PROMISES.len(),
        15,
        "a promise without a test here or in the submodule"
    );
}

#[test]
fn a_message_that_is_lost_or_new_again_was_not_kept() {
    let gone = json!({"event": "final", "message": "m2", "status": 404, "answer": null});
    assert_eq!(broken(&with(7, Some(gone)), "m1 1\nm1 2\n"), ["kept"]);
    assert_eq!(broken(&with(7, None), "m1 1\nm1 2\n"), ["kept"]);
    let mut twice = sound();
    twice.insert(
        4,
        json!({"event": "acknowledged", "at": 5, "message": "m2", "run": "r2", "admission": "new"}),
    );
    assert_eq!(broken(&twice, WORLD), ["kept"]);
}

#[test]
fn an_open_run_has_not_ended_and_a_failure_needs_a_cause() {
    assert_eq!(
        broken(&with(7, last("open", &["ok", "ok"], "t")), WORLD),
        ["ended"]
    );
    let failed = with(7, last("failed", &["ok", "ok"], "t"));
    assert_eq!(broken(&failed, WORLD), ["ended"]);
    let mut on_a_bad_disk = failed;
    on_a_bad_disk.push(json!({"event": "faults"}));
    assert_eq!(broken(&on_a_bad_disk, WORLD), Vec::<&str>::new());
    assert_eq!(broken(&with(3, None), WORLD), ["ended"], "never acknowledged");
}

#[test]
fn a_repeated_line_happened_twice() {
    assert_eq!(
        broken(&sound(), "m1 1\nm1 2\nm2 1\nm2 2\nm2 2\n"),
        ["at_most_once"]
    );
    let unknown = with(7, last("completed", &["ok", "outcome_unknown"], "t"));
    assert_eq!(
        broken(&unknown, "m1 1\nm1 2\nm2 1\nm2 2\nm2 2\n"),
        ["at_most_once"]
    );
    assert_eq!(broken(&unknown, WORLD), Vec::<&str>::new());
    assert_eq!(broken(&unknown, "m1 1\nm1 2\nm2 1\n"), Vec::<&str>::new());
}

#[test]
fn an_ok_status_without_a_line_is_found() {
    assert_eq!(broken(&sound(), "m1 1\nm1 2\nm2 1\n"), ["done_is_done"]);
    let short = with(7, last("completed", &["ok"], "t"));
    assert_eq!(broken(&short, "m1 1\nm1 2\nm2 1\n"), ["done_is_done"]);
}

#[test]
fn a_line_without_a_status_is_found() {
    for status in ["failed", "denied", "intended"] {
        let hidden = with(7, last("completed", &["ok", status], "t"));
        assert_eq!(broken(&hidden, WORLD), ["no_silence"], "{status}");
    }
    assert_eq!(broken(&sound(), &format!("{WORLD}m3 1\n")), ["no_silence"]);
    assert_eq!(broken(&sound(), &format!("{WORLD}what\n")), ["no_silence"]);
}

#[test]
fn two_runs_per_message_or_two_messages_per_run_are_found() {
    let again =
        json!({"event": "acknowledged", "at": 5, "message": "m2", "run": "r9", "admission": "duplicate"});
    let mut two = sound();
    two.insert(4, again);
    assert_eq!(broken(&two, WORLD), ["one_run"]);
    let shared = json!({"event": "acknowledged", "at": 4, "message": "m2", "run": "r1", "admission": "new"});
    assert_eq!(broken(&with(3, Some(shared)), WORLD), ["one_run"]);
}

#[test]
fn a_response_that_changes_later_is_found() {
    let told = |run: &str, outcome: &str, calls: &[&str]| {
        let answer = json!({"outcome": outcome, "calls": calls, "text": "t"});
        broken(
            &with(4, Some(json!({"event": "told", "run": run, "answer": answer}))),
            WORLD,
        )
    };
    assert_eq!(told("r1", "failed", &["ok", "ok"]), ["stays_reported"]);
    assert_eq!(told("r1", "open", &["outcome_unknown"]), ["stays_reported"]);
    assert_eq!(told("r1", "open", &["ok", "ok", "ok"]), ["stays_reported"]);
    assert_eq!(told("r8", "open", &[]), ["stays_reported"]);
    assert_eq!(told("r1", "open", &["ok", "intended"]), Vec::<&str>::new());
}

#[test]
fn a_text_other_than_the_one_sent_is_found() {
    assert_eq!(
        broken(&with(7, last("completed", &["ok", "ok"], "u")), WORLD),
        ["whole"]
    );
}

#[test]
fn a_later_message_is_not_handled_first() {
    assert_eq!(broken(&sound(), "m1 1\nm2 1\nm2 2\nm1 2\n"), ["in_order"]);
    assert_eq!(broken(&sound(), "m1 2\nm1 1\nm2 1\nm2 2\n"), ["in_order"]);
    // A message sent before the other was acknowledged may be handled first.
    let sent = json!({"event": "sent", "at": 2, "message": "m2", "agent": "a", "actions": ["line", "line"], "text": "t"});
    assert_eq!(
        broken(&with(2, Some(sent)), "m2 1\nm2 2\nm1 1\nm1 2\n"),
        Vec::<&str>::new()
    );
}

#[test]
fn a_resumed_run_may_be_handled_after_later_messages() {
    let retried = |run: &str| {
        let mut history = sound();
        history.insert(5, json!({"event": "retried", "run": run}));
        history
    };
    let (overtaken, late) = ("m2 1\nm2 2\nm1 1\nm1 2\n", "m1 1\nm2 1\nm2 2\nm1 2\n");
    for world in [overtaken, late, WORLD] {
        assert_eq!(broken(&retried("r1"), world), Vec::<&str>::new(), "{world}");
    }
    // Resuming the second one does not permit it to be first, and each keeps its own order.
    assert_eq!(broken(&retried("r2"), overtaken), ["in_order"]);
    assert_eq!(broken(&retried("r1"), "m2 1\nm2 2\nm1 2\nm1 1\n"), ["in_order"]);
}

#[test]
fn money_reserved_without_a_request_is_found() {
    let kept = json!({"event": "rest", "agent": "a", "reserved_usd": "0.01"});
    assert_eq!(broken(&with(8, Some(kept)), WORLD), ["nothing_left_reserved"]);
}

#[test]
fn an_unknown_line_gives_no_verdict() {
    assert!(History::parse("{\"event\": \"guess\"}").is_err());
    assert!(
        History::parse("{\"event\": \"final\", \"message\": \"m\", \"status\": 200, \"answer\": null}")
            .is_err()
    );
}
