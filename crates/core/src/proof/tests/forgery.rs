//! Attempts to forge a bundle without the key.

use serde_json::{Value, json};

use super::bundle::{blob, bundle, check, counted, events, lines, opening, rich, with_message};
use super::sample::{OUTPUT, PROMPT, REPLY, Recorder, chained, lives, run, run_key};
use crate::blob::{Blob, BlobHash};
use crate::key::{Digest, RunKey};
use crate::proof::bundle::{BlobBody, BundleChecker, BundleError, BundleLine, WithheldReason, artifacts_in};
use crate::proof::chain::{ChainPosition, IncarnationStart, VerifyError};
use crate::proof::replay::ReplayMismatch;
use crate::run::{InputReads, MACHINE_VERSION, RunInput};

#[test]
fn no_line_of_a_bundle_can_be_removed_repeated_or_moved() {
    let whole = rich();
    check(&whole).expect("whole");
    let found = |mut lines: Vec<BundleLine>, what: String| {
        counted(&mut lines);
        check(&lines).err().unwrap_or_else(|| panic!("{what}"));
    };
    for place in 0..whole.len() {
        let mut fewer = whole.clone();
        fewer.remove(place);
        found(fewer, format!("line {place} is gone"));
        let mut more = whole.clone();
        more.insert(place, whole[place].clone());
        found(more, format!("line {place} is there twice"));
        for other in [0, place / 2, place.saturating_sub(1)]
            .into_iter()
            .filter(|other| *other < place)
        {
            let mut swapped = whole.clone();
            swapped.swap(place, other);
            found(swapped, format!("lines {place} and {other} changed places"));
        }
    }
}

/// The unsigned fields, as listed in `docs/proof.md`.
const UNSIGNED: [&str; 2] = ["/opening/exported_at", "/opening/again/machine_version"];

/// The paths of all values in a line.
fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
    all.push(path.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                paths(member, &format!("{path}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                paths(item, &format!("{path}/{place}"), all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Alternative values for a value.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(0), json!("x")],
        Value::Bool(is) => vec![json!(!is)],
        Value::Number(number) => vec![
            json!(number.as_i64().expect("a number") + 1),
            json!(number.as_i64().expect("a number") - 1),
        ],
        Value::String(text) => {
            let mut last = text.clone();
            let digit = if last.pop() == Some('0') { '1' } else { '0' };
            last.push(digit);
            let swapped = text.replace("completed", "cancelled").replace('1', "2");
            vec![json!(last), json!(swapped), Value::Null]
        }
        Value::Array(items) => {
            let mut fewer = items.clone();
            fewer.pop();
            let more = [items.clone(), items.clone()].concat();
            vec![json!(fewer), json!(more), Value::Null]
        }
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("more".to_owned(), json!(1));
            vec![json!(more), Value::Null]
        }
    }
}

#[test]
fn any_change_in_a_bundle_is_rejected_or_reported() {
    let whole = rich();
    let texts: Vec<Value> = whole.iter().map(|line| json!(line)).collect();
    let spelled = |value: &Value| {
        // In the field order of the format, if it still parses as a line.
        let line: Result<BundleLine, _> = serde_json::from_value(value.clone());
        let line = line.ok().filter(|line| json!(line) == *value);
        let line = line.map(|line| serde_json::to_vec(&line).expect("JSON"));
        line.unwrap_or_else(|| serde_json::to_vec(value).expect("JSON"))
    };
    let (mut tried, mut told) = (0, 0);
    // Events are all alike, so a few of them suffice.
    let alike = 4..8;
    for (place, line) in texts
        .iter()
        .enumerate()
        .filter(|(place, _)| !alike.contains(place))
    {
        let mut all = Vec::new();
        paths(line, "", &mut all);
        for path in all {
            let value = line.pointer(&path).expect("it is there");
            let mut changed: Vec<Value> = others(value)
                .into_iter()
                .filter(|other| other != value)
                .map(|other| {
                    let mut line = line.clone();
                    *line.pointer_mut(&path).expect("it is there") = other;
                    line
                })
                .collect();
            if let Some((parent, name)) = path.rsplit_once('/') {
                let mut without = line.clone();
                if let Some(Value::Object(members)) = without.pointer_mut(parent) {
                    members.remove(name);
                    changed.push(without);
                }
            }
            for changed in changed {
                tried += 1;
                let mut lines: Vec<Vec<u8>> = texts.iter().map(spelled).collect();
                lines[place] = spelled(&changed);
                let mut check = BundleChecker::default();
                let read = lines.iter().try_for_each(|line| check.line(line));
                let proven = read.and_then(|()| check.finish());
                let is_told = match &proven {
                    Err(_) => true,
                    // Omitted parts are counted.
                    Ok(proven) if proven.withheld > 0 => {
                        told += 1;
                        path.ends_with("/payload")
                    }
                    Ok(_) => UNSIGNED.contains(&path.as_str()),
                };
                assert!(is_told, "line {place} {path}: {changed} gives {proven:?}");
            }
        }
    }
    assert!(tried > 400 && told < 5, "{tried} tried, {told} told");
}

#[test]
fn a_bundle_of_an_unknown_machine_version_is_not_replayed() {
    let again = |version| {
        let mut lines = lines();
        let again = opening(&mut lines).again.as_mut().expect("a journal");
        again.machine_version = version;
        check(&lines)
    };
    again(MACHINE_VERSION).expect("the same run");
    let found = again(MACHINE_VERSION + 1).expect_err("not here");
    assert!(matches!(found, BundleError::Machine { .. }), "{found:?}");
}

/// The run log of another run with the same key, which differs only in text that no event contains.
fn other_journal() -> (Vec<BundleLine>, Vec<BundleLine>) {
    let mine = lines();
    let (rows, ..) = run();
    let text = String::from_utf8(rows[1].body.clone()).expect("text");
    let said = blob(b"something that was never said");
    let text = text.replace(&Digest::of(REPLY).to_string(), &said.hash.to_string());
    let (input, reads): (RunInput, InputReads) = serde_json::from_str(&text).expect("an input");
    let mut recorder = Recorder::new();
    let body = Blob::new(PROMPT.to_vec()).hash();
    recorder.take(RunInput::admitted(body), InputReads::default());
    recorder.take(input, reads);
    let (rows, turn, drafts) = recorder.end();
    let events = chained(with_message(drafts), [9; 32]);
    let said: &[u8] = b"something that was never said";
    (mine, bundle((&rows, &turn, &events), &[PROMPT, said]))
}

/// Combines the log of one bundle with the rest of another.
fn crossed(log: &[BundleLine], rest: &[BundleLine]) -> Vec<BundleLine> {
    let is_log = |line: &&BundleLine| matches!(line, BundleLine::Event(_) | BundleLine::Head(_));
    let first = rest.first();
    let log = log.iter().filter(is_log);
    let rest = rest.iter().skip(1).filter(|line| !is_log(line));
    first.into_iter().chain(log).chain(rest).cloned().collect()
}

// Conformance: L-163
#[test]
fn a_signed_log_does_not_prove_another_run_log() {
    let (mine, other) = other_journal();
    check(&other).expect("sound by itself");
    let found = check(&crossed(&mine, &other)).expect_err("forged");
    assert!(
        matches!(found, BundleError::Difference(ReplayMismatch::Event { .. })),
        "{found:?}"
    );
    // Removing the contradicting lines does not help either.
    let mut silent = crossed(&mine, &other);
    events(&mut silent).for_each(|event| event.payload = None);
    let found = check(&silent).expect_err("forged");
    assert!(matches!(found, BundleError::Unbound(_)), "{found:?}");
    let count = mine
        .iter()
        .filter(|line| matches!(line, BundleLine::Event(_)))
        .count();
    for silenced in 1..count {
        let mut silent = crossed(&mine, &mine);
        let event = events(&mut silent).nth(silenced).expect("an event");
        event.payload = None;
        let found = check(&silent).expect_err("nothing holds it");
        assert!(matches!(found, BundleError::Unbound(_)), "{silenced}: {found:?}");
    }
}

#[test]
fn a_log_alone_proves_only_its_events() {
    let alone = |change: &dyn Fn(&mut Vec<BundleLine>)| {
        let mut lines = rich();
        opening(&mut lines).again = None;
        lines.retain(|line| !matches!(line, BundleLine::Journal(_) | BundleLine::Blob(_)));
        counted(&mut lines);
        change(&mut lines);
        check(&lines)
    };
    let proven = alone(&|_| ()).expect("a log");
    assert_eq!(
        (proven.run_key, proven.outcome, proven.replayed),
        (Some(run_key()), Some(crate::run::RunStatus::Completed), false)
    );
    let other = RunKey(Digest::of(b"other"));
    let found = alone(&|lines| opening(lines).run_key = other).expect_err("another run");
    assert!(
        matches!(found, BundleError::Flaw(VerifyError::Run { .. })),
        "{found:?}"
    );
    let proven = alone(&|lines| {
        opening(lines).run_key = other;
        events(lines).for_each(|event| event.payload = None);
    });
    let proven = proven.expect("a log");
    assert_eq!(
        (proven.run_key, proven.outcome),
        (None, None),
        "the run and its outcome are unknown"
    );
    // Unreferenced blobs are rejected.
    for more in [4, 9] {
        let line = rich().into_iter().rev().nth(more).expect("a line");
        let found = alone(&|lines| {
            let end = lines.len() - 1;
            lines.insert(end, line.clone());
            counted(lines);
        });
        let found = found.expect_err("more than the log");
        assert!(
            matches!(found, BundleError::Unnamed(_) | BundleError::Line { .. }),
            "{found:?}"
        );
    }
}

#[test]
fn a_bundle_contains_exactly_the_blobs_of_its_run() {
    let without = |gone: &[u8]| {
        let mut lines = rich();
        let hash = Blob::new(gone.to_vec()).hash();
        lines.retain(|line| !matches!(line, BundleLine::Blob(blob) if blob.hash == hash));
        counted(&mut lines);
        check(&lines).expect_err("something is missing")
    };
    for gone in [PROMPT, OUTPUT, REPLY] {
        let found = without(gone);
        assert!(matches!(found, BundleError::Missing(_)), "{found:?}");
    }
    let mut more = rich();
    let Some(place) = more.iter().position(|line| matches!(line, BundleLine::Blob(_))) else {
        panic!("no contents")
    };
    let mut blobs: Vec<BundleLine> = more.drain(place..more.len() - 1).collect();
    blobs.push(BundleLine::Blob(blob(b"never said")));
    blobs.sort_by_key(|line| match line {
        BundleLine::Blob(blob) => Some(blob.hash),
        BundleLine::Opening(_)
        | BundleLine::Event(_)
        | BundleLine::Head(_)
        | BundleLine::Journal(_)
        | BundleLine::Closing(_) => None,
    });
    more.splice(place..place, blobs);
    counted(&mut more);
    let found = check(&more).expect_err("something else");
    assert!(matches!(found, BundleError::Unnamed(_)), "{found:?}");
    // A withheld blob is reported and counted; blobs that only it references are omitted.
    let mut withheld = rich();
    for line in &mut withheld {
        if let BundleLine::Blob(blob) = line
            && blob.hash == BlobHash(Digest::of(OUTPUT))
        {
            blob.body = BlobBody::Withheld(WithheldReason::Secret);
        }
    }
    assert_eq!(check(&withheld).expect("proven").withheld, 1);
}

#[test]
fn only_results_reference_full_outputs() {
    let hash = Digest::of(OUTPUT);
    let named = json!({"artifacts": [{"blob": hash}]}).to_string();
    let line = |block: Value| serde_json::to_vec(&[block]).expect("JSON");
    let result = json!({"type": "tool_result", "call_id": "c", "is_error": false, "content": named});
    assert_eq!(artifacts_in(&line(result)).first(), Some(&BlobHash(hash)));
    let said = json!({"type": "text", "text": named});
    assert!(artifacts_in(&line(said)).is_empty());
    assert!(artifacts_in(b"\xff").is_empty());
}

#[test]
fn the_first_events_of_a_run_cannot_be_omitted() {
    let mut lines = rich();
    let BundleLine::Event(first) = lines.remove(1) else {
        panic!("no event")
    };
    opening(&mut lines).after = ChainPosition {
        seq: first.seq,
        hash: first.hash,
    };
    opening(&mut lines).lives[0].first_seq = first.seq + 1;
    counted(&mut lines);
    let found = check(&lines).expect_err("its message is missing");
    assert!(matches!(found, BundleError::Line { line: 2, .. }), "{found:?}");
}

#[test]
fn every_listed_incarnation_wrote_some_events() {
    let with = |change: &dyn Fn(&mut Vec<IncarnationStart>)| {
        let mut lines = lines();
        change(&mut opening(&mut lines).lives);
        check(&lines)
    };
    with(&|_| ()).expect("as it was");
    let late = IncarnationStart {
        first_seq: 99,
        ..lives()[0].clone()
    };
    for found in [
        with(&|lives| lives.push(late.clone())),
        with(&|lives| lives.insert(0, late.clone())),
        with(&Vec::clear),
        with(&|lives| lives[0].first_seq = 0),
    ] {
        let found = found.expect_err("a life that wrote nothing");
        assert!(
            matches!(found, BundleError::Flaw(VerifyError::Incarnation { .. })),
            "{found:?}"
        );
    }
}
