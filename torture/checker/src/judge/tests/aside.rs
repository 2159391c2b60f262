//! Histories about brakes, answers, the journal, files and schedules.

use serde_json::{Value, json};

use super::{WORLD, broken, sound};

/// A millisecond in the unit of the effect file.
const MS: u64 = 1_000_000;

/// The valid history with further lines.
fn also(lines: &[Value]) -> Vec<Value> {
    [sound(), lines.to_vec()].concat()
}

/// One message, acknowledged and ended with this outcome.
fn message(extra: &Value, actions: &Value, outcome: &str, calls: &Value) -> Vec<Value> {
    let mut sent =
        json!({"event": "sent", "at": 9, "message": "m3", "agent": "b", "actions": actions, "text": "t"});
    for (name, value) in extra.as_object().into_iter().flatten() {
        sent[name] = value.clone();
    }
    let answer = json!({"outcome": outcome, "calls": calls, "text": "t"});
    vec![
        sent,
        json!({"event": "acknowledged", "at": 10, "message": "m3", "run": "r3", "admission": "new"}),
        json!({"event": "final", "message": "m3", "status": 200, "answer": answer}),
    ]
}

fn held(agent: Option<&str>, from_ms: u64, until_ms: u64) -> [Value; 2] {
    [
        json!({"event": "braked", "agent": agent, "ns": from_ms * MS}),
        json!({"event": "release", "agent": agent, "ns": until_ms * MS}),
    ]
}

#[test]
fn an_action_begun_under_a_brake_is_found_with_some_tolerance() {
    let world = |ms: u64| format!("m1 1 1\nm1 2 1\nm2 1 1\nm2 2 {}\n", ms * MS);
    for agent in [None, Some("a")] {
        let history = also(&held(agent, 1_000, 3_000));
        assert_eq!(broken(&history, &world(2_000)), ["braked"], "{agent:?}");
        assert_eq!(broken(&history, &world(1_501)), ["braked"]);
        for fine in [999, 1_500, 3_001] {
            assert_eq!(broken(&history, &world(fine)), Vec::<&str>::new(), "{fine}");
        }
    }
    assert_eq!(
        broken(&also(&held(Some("b"), 1_000, 3_000)), &world(2_000)),
        Vec::<&str>::new()
    );
    let for_ever = also(&held(None, 1_000, 3_000)[..1]);
    assert_eq!(broken(&for_ever, &world(9_000)), ["braked"]);
    let unset = also(&held(None, 1_000, 3_000)[1..]);
    let lines: Vec<String> = unset.iter().map(Value::to_string).collect();
    assert!(
        crate::history::History::parse(&lines.join("\n")).is_err(),
        "a release of nothing"
    );
}

#[test]
fn a_task_written_under_a_brake_is_found() {
    let mut history = also(&message(
        &json!({}),
        &json!(["task"]),
        "completed",
        &json!(["ok"]),
    ));
    history.extend(held(Some("b"), 1_000, 3_000));
    history.push(json!({"event": "task", "title": "m3 1", "version": 1, "created_ns": 2_000 * MS}));
    assert_eq!(broken(&history, WORLD), ["braked"]);
}

#[test]
fn an_action_stopped_by_a_brake_may_have_its_line() {
    let stopped = message(
        &json!({}),
        &json!(["line"]),
        "completed",
        &json!(["failed:braked"]),
    );
    let world = format!("{WORLD}m3 1 5\n");
    assert_eq!(
        broken(&also(&stopped), &world),
        ["no_silence"],
        "no brake was set"
    );
    let history = [also(&stopped), held(None, 1, 2).to_vec()].concat();
    assert_eq!(broken(&history, &world), Vec::<&str>::new());
}

/// A message whose one line needs an approval, with the answers and the state of the question.
fn asked(status: &str, answers: &[&str], state: &str, option: Option<&str>) -> Vec<Value> {
    let mut history = also(&message(
        &json!({"asks": true}),
        &json!(["line"]),
        "completed",
        &json!([status]),
    ));
    history.extend(
        answers
            .iter()
            .map(|option| json!({"event": "answered", "decision": "d", "option": option})),
    );
    history.push(json!({"event": "decided", "decision": "d", "message": "m3", "action": 1, "state": state, "option": option}));
    history
}

#[test]
fn a_question_has_one_answer_and_only_an_approval_acts() {
    let (with, without) = (format!("{WORLD}m3 1 5\n"), WORLD);
    let yes = asked("ok", &["approve"], "answered", Some("approve"));
    assert_eq!(broken(&yes, &with), Vec::<&str>::new());
    let no = asked("denied", &["deny"], "answered", Some("deny"));
    assert_eq!(broken(&no, without), Vec::<&str>::new());
    // An answer without an acknowledgement may have been accepted.
    let unheard = asked("denied", &[], "answered", Some("deny"));
    assert_eq!(broken(&unheard, without), Vec::<&str>::new());

    let acted = asked("ok", &["deny"], "answered", Some("deny"));
    assert_eq!(broken(&acted, &with), ["answered_once"]);
    let twice = asked("ok", &["approve", "deny"], "answered", Some("deny"));
    assert!(broken(&twice, &with).contains(&"answered_once"));
    let same_twice = asked("ok", &["approve", "approve"], "answered", Some("approve"));
    assert_eq!(broken(&same_twice, &with), ["answered_once"]);
    let other = asked("ok", &["deny"], "answered", Some("approve"));
    assert_eq!(broken(&other, &with), ["answered_once"]);
    let open = asked("denied", &[], "pending", None);
    assert_eq!(broken(&open, without), ["answered_once"]);
    let mut gone = asked("ok", &["approve"], "answered", Some("approve"));
    gone.pop();
    assert_eq!(broken(&gone, &with), ["answered_once"]);
}

#[test]
fn only_a_resumed_run_may_have_a_withdrawn_question() {
    let world = format!("{WORLD}m3 1 5\n");
    let mut anew = asked("ok", &["approve"], "answered", Some("approve"));
    let old = |message: &str, state: &str| json!({"event": "decided", "decision": "c", "message": message, "action": 1, "state": state, "option": null});
    anew.push(old("m3", "withdrawn"));
    assert_eq!(
        broken(&anew, &world),
        ["answered_once"],
        "it was never quarantined"
    );
    anew.push(json!({"event": "retried", "run": "r3"}));
    assert_eq!(broken(&anew, &world), Vec::<&str>::new());

    // Questions of other runs are not withdrawn, none of this run stays open, and a withdrawn question does
    // not approve.
    let others = [anew.clone(), vec![old("m1", "withdrawn")]].concat();
    assert_eq!(broken(&others, &world), ["answered_once"]);
    let open = [anew, vec![old("m3", "pending")]].concat();
    assert_eq!(broken(&open, &world), ["answered_once"]);
    let mut never = asked("ok", &[], "withdrawn", None);
    never.push(json!({"event": "retried", "run": "r3"}));
    assert_eq!(broken(&never, &world), ["answered_once"]);
    let mut taken = asked("denied", &["deny"], "withdrawn", None);
    taken.push(json!({"event": "retried", "run": "r3"}));
    assert_eq!(
        broken(&taken, WORLD),
        ["answered_once"],
        "an answer that was taken is gone"
    );
}

#[test]
fn a_task_exists_once_if_its_status_is_ok_and_otherwise_not() {
    let task = |title: &str| json!({"event": "task", "title": title, "version": 1, "created_ns": 1});
    let with = |status: &str, tasks: &[Value]| {
        let mut history = also(&message(
            &json!({}),
            &json!(["task"]),
            "completed",
            &json!([status]),
        ));
        history.extend(tasks.iter().cloned());
        broken(&history, WORLD)
    };
    assert_eq!(with("ok", &[task("m3 1")]), Vec::<&str>::new());
    assert_eq!(with("failed:cancelled", &[]), Vec::<&str>::new());
    assert_eq!(with("ok", &[]), ["written_once"]);
    assert_eq!(with("ok", &[task("m3 1"), task("m3 1")]), ["written_once"]);
    assert_eq!(
        with("failed:cancelled", &[task("m3 1")]),
        ["written_once"],
        "not taken back"
    );
    assert_eq!(
        with("ok", &[task("m3 1"), task("m9 1")]),
        ["written_once"],
        "of an unknown message"
    );
}

#[test]
fn a_change_of_the_shared_task_counts_once() {
    let changed = |version: u64| {
        let mut history = also(&message(
            &json!({}),
            &json!(["change", "change"]),
            "completed",
            &json!(["ok", "ok"]),
        ));
        history.push(json!({"event": "task", "title": "shared", "version": version, "created_ns": 1}));
        broken(&history, WORLD)
    };
    assert_eq!(changed(3), Vec::<&str>::new());
    assert_eq!(changed(2), ["written_once"]);
    assert_eq!(changed(4), ["written_once"]);
}

#[test]
fn a_cancelled_run_has_ended_and_others_have_not() {
    let cancelled = |extra: &Value| {
        let lines = message(extra, &json!(["task"]), "cancelled", &json!(["failed:cancelled"]));
        broken(&also(&lines), WORLD)
    };
    assert_eq!(cancelled(&json!({"cancels": true})), Vec::<&str>::new());
    assert_eq!(cancelled(&json!({})), ["ended"]);
}

#[test]
fn a_file_is_reported_once() {
    let put = |file: &str| json!({"event": "put", "file": file});
    let told = |outcome: &str, files: &[&str], more: usize| json!({"event": "noticed", "run": "r", "outcome": outcome, "files": files, "more": more});
    let with = |lines: &[Value]| broken(&also(lines), WORLD);
    let fine = [
        put("f1"),
        put("f2"),
        told("completed", &["f1"], 0),
        told("absorbed", &["f2"], 0),
    ];
    assert_eq!(with(&fine), Vec::<&str>::new());
    assert_eq!(
        with(&[put("f1"), put("f2"), told("completed", &["f1"], 1)]),
        Vec::<&str>::new()
    );
    assert_eq!(
        with(&[put("f1"), put("f2"), told("completed", &["f1"], 0)]),
        ["noticed_once"]
    );
    assert_eq!(
        with(&[
            put("f1"),
            told("completed", &["f1"], 0),
            told("completed", &["f1"], 0)
        ]),
        ["noticed_once"]
    );
    assert_eq!(with(&[put("f1"), told("open", &["f1"], 0)]), ["noticed_once"]);
    assert_eq!(with(&[told("completed", &["f1"], 0)]), ["noticed_once"]);
}

/// A schedule with an interval of one second, with the records of its firings in seconds.
fn fired(records: &[(u64, u64, &str)], calls: &[&str]) -> Vec<Value> {
    let mut history = also(&[json!({
        "event": "schedule", "agent": "t", "interval_ms": 1_000, "from_ms": 100_000, "until_ms": 105_500,
    })]);
    for (second, count, outcome) in records {
        let answer = json!({"outcome": "completed", "calls": calls, "text": "t"});
        let (run, answer) = match *outcome {
            "run" => (json!(format!("run-{second}")), answer),
            _ => (Value::Null, Value::Null),
        };
        history.push(json!({
            "event": "fired", "due_ms": second * 1_000, "count": count, "outcome": outcome, "run": run, "answer": answer,
        }));
    }
    history
}

#[test]
fn each_firing_has_one_record_and_at_most_one_run() {
    let lines = |count: usize| format!("{WORLD}{}", "tick 1 5\n".repeat(count));
    let fine = [
        (101, 1, "run"),
        (102, 2, "skipped"),
        (104, 1, "run"),
        (105, 1, "skipped"),
    ];
    assert_eq!(broken(&fired(&fine, &["ok"]), &lines(2)), Vec::<&str>::new());
    assert_eq!(
        broken(&fired(&fine, &["outcome_unknown"]), &lines(1)),
        Vec::<&str>::new()
    );
    assert_eq!(
        broken(&fired(&fine, &["ok"]), &lines(3)),
        ["fired_once"],
        "a line too many"
    );
    assert_eq!(
        broken(&fired(&fine, &["ok"]), &lines(1)),
        ["fired_once"],
        "a line too few"
    );
    let gap = [(101, 1, "run"), (103, 1, "run")];
    assert_eq!(broken(&fired(&gap, &["ok"]), &lines(2)), ["fired_once"]);
    let twice = [(101, 1, "run"), (101, 1, "skipped")];
    assert_eq!(broken(&fired(&twice, &["ok"]), &lines(1)), ["fired_once"]);
    let mut open = fired(&fine, &["ok"]);
    let last = open
        .iter_mut()
        .rfind(|line| line["outcome"] == "run")
        .expect("a run");
    last["answer"]["outcome"] = "open".into();
    assert_eq!(broken(&open, &lines(2)), ["fired_once"]);
    let mut late = fired(&[], &[]);
    late.last_mut().expect("a schedule")["until_ms"] = 108_000.into();
    assert_eq!(broken(&late, &lines(0)), ["fired_once"], "it never fired");
}
