//! For every promise a history that breaks it and nothing else; those of people, the journal, files and the clock in [`aside`].

use serde_json::{Value, json};

mod aside;

use super::{PROMISES, judge};
use crate::effect_file::EffectFile;
use crate::history::History;

/// Two messages of one agent, the second sent when the first was acknowledged, and everything as it should be.
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

/// The lines with a moment each, as far as they have none.
fn stamped(world: &str) -> String {
    let stamp = |line: &str| match line.split(' ').count() {
        2 => format!("{line} 5\n"),
        _ => format!("{line}\n"),
    };
    world.lines().map(stamp).collect()
}

/// The promises that a history and a world break, each once.
fn broken(history: &[Value], world: &str) -> Vec<&'static str> {
    let lines: Vec<String> = history.iter().map(Value::to_string).collect();
    let history = History::parse(&lines.join("\n")).expect("a history");
    let faults = judge(&history, &EffectFile::parse(&stamped(world))).faults;
    let mut promises: Vec<_> = faults.iter().map(|fault| fault.promise).collect();
    promises.dedup();
    promises
}

/// The sound history with one line replaced, or taken out.
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
fn a_history_in_which_everything_went_well_breaks_nothing() {
    assert_eq!(broken(&sound(), WORLD), Vec::<&str>::new());
    assert_eq!(PROMISES.len(), 15, "a promise without a test below or in `aside`");
}

#[test]
fn a_message_that_is_gone_or_new_again_was_not_kept() {
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
fn a_run_that_stays_open_has_not_ended_and_a_failure_needs_a_cause() {
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
fn a_line_that_stands_twice_happened_twice() {
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
fn what_is_called_ok_without_a_line_is_a_lie() {
    assert_eq!(broken(&sound(), "m1 1\nm1 2\nm2 1\n"), ["done_is_done"]);
    let short = with(7, last("completed", &["ok"], "t"));
    assert_eq!(broken(&short, "m1 1\nm1 2\nm2 1\n"), ["done_is_done"]);
}

#[test]
fn a_line_that_nobody_owns_up_to_is_silence() {
    for status in ["failed", "denied", "intended"] {
        let hidden = with(7, last("completed", &["ok", status], "t"));
        assert_eq!(broken(&hidden, WORLD), ["no_silence"], "{status}");
    }
    assert_eq!(broken(&sound(), &format!("{WORLD}m3 1\n")), ["no_silence"]);
    assert_eq!(broken(&sound(), &format!("{WORLD}what\n")), ["no_silence"]);
}

#[test]
fn a_message_with_two_runs_and_a_run_with_two_messages_are_caught() {
    let again = json!({"event": "acknowledged", "at": 5, "message": "m2", "run": "r9", "admission": "known"});
    let mut two = sound();
    two.insert(4, again);
    assert_eq!(broken(&two, WORLD), ["one_run"]);
    let shared = json!({"event": "acknowledged", "at": 4, "message": "m2", "run": "r1", "admission": "new"});
    assert_eq!(broken(&with(3, Some(shared)), WORLD), ["one_run"]);
}

#[test]
fn what_was_told_and_is_no_longer_so_is_caught() {
    let told = |run: &str, outcome: &str, calls: &[&str]| {
        let answer = json!({"outcome": outcome, "calls": calls, "text": "t"});
        broken(
            &with(4, Some(json!({"event": "told", "run": run, "answer": answer}))),
            WORLD,
        )
    };
    assert_eq!(told("r1", "failed", &["ok", "ok"]), ["stays_told"]);
    assert_eq!(told("r1", "open", &["outcome_unknown"]), ["stays_told"]);
    assert_eq!(told("r1", "open", &["ok", "ok", "ok"]), ["stays_told"]);
    assert_eq!(told("r8", "open", &[]), ["stays_told"]);
    assert_eq!(told("r1", "open", &["ok", "intended"]), Vec::<&str>::new());
}

#[test]
fn another_text_than_the_one_that_was_sent_is_caught() {
    assert_eq!(
        broken(&with(7, last("completed", &["ok", "ok"], "u")), WORLD),
        ["whole"]
    );
}

#[test]
fn whoever_came_later_is_not_served_first() {
    assert_eq!(broken(&sound(), "m1 1\nm2 1\nm2 2\nm1 2\n"), ["in_order"]);
    assert_eq!(broken(&sound(), "m1 2\nm1 1\nm2 1\nm2 2\n"), ["in_order"]);
    // Whoever was sent before the other was acknowledged may go first.
    let sent = json!({"event": "sent", "at": 2, "message": "m2", "agent": "a", "actions": ["line", "line"], "text": "t"});
    assert_eq!(
        broken(&with(2, Some(sent)), "m2 1\nm2 2\nm1 1\nm1 2\n"),
        Vec::<&str>::new()
    );
}

#[test]
fn whoever_stood_aside_and_was_tried_again_may_be_served_after_others_that_came_later() {
    let retried = |run: &str| {
        let mut history = sound();
        history.insert(5, json!({"event": "retried", "run": run}));
        history
    };
    let (overtaken, late) = ("m2 1\nm2 2\nm1 1\nm1 2\n", "m1 1\nm2 1\nm2 2\nm1 2\n");
    for world in [overtaken, late, WORLD] {
        assert_eq!(broken(&retried("r1"), world), Vec::<&str>::new(), "{world}");
    }
    // That the second was tried again is no reason for it to go first, and each goes through its own in order.
    assert_eq!(broken(&retried("r2"), overtaken), ["in_order"]);
    assert_eq!(broken(&retried("r1"), "m2 1\nm2 2\nm1 2\nm1 1\n"), ["in_order"]);
}

#[test]
fn money_that_is_put_aside_for_nothing_is_caught() {
    let kept = json!({"event": "rest", "agent": "a", "reserved_usd": "0.01"});
    assert_eq!(broken(&with(8, Some(kept)), WORLD), ["nothing_put_aside"]);
}

#[test]
fn a_line_that_is_not_understood_is_no_verdict() {
    assert!(History::parse("{\"event\": \"guess\"}").is_err());
    assert!(
        History::parse("{\"event\": \"final\", \"message\": \"m\", \"status\": 200, \"answer\": null}")
            .is_err()
    );
}
