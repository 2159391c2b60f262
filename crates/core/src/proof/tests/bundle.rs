use super::sample::{PROMPT, REPLY, agent, key, lives, log, plain_log, run, run_key};
use crate::blob::Blob;
use crate::key::Digest;
use crate::proof::bundle::{
    BlobBody, BlobLine, Check, Closing, EventLine, FORMAT, FORMAT_VERSION, JournalLine, Line, Opening,
    Proven, Unproven,
};
use crate::proof::chain::{Flaw, Place};
use crate::proof::head::SignedHead;
use crate::proof::replay::Difference;
use crate::report::Event;
use crate::run::{MACHINE, MACHINE_VERSION};
use crate::time::Millis;

fn event(event: &Event) -> Line {
    let sealed = &event.sealed;
    let payload = String::from_utf8(sealed.payload.clone()).expect("text");
    Line::Event(EventLine {
        seq: event.seq,
        own: true,
        kind: sealed.kind.as_str().to_owned(),
        at: sealed.at,
        hash: event.hash,
        payload_hash: sealed.payload_hash,
        policy_version: String::new(),
        payload: Some((payload, Digest::from_bytes(sealed.salt))),
    })
}

fn blob(bytes: &[u8]) -> Line {
    let hash = Blob::new(bytes.to_vec()).hash();
    let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = std::str::from_utf8(bytes).map(|text| BlobBody::Text(text.to_owned()));
    let body = text.unwrap_or_else(|_| BlobBody::Hex(hex()));
    Line::Blob(BlobLine { hash, body })
}

fn lines() -> Vec<Line> {
    let (rows, turn, drafts) = run();
    let events = log(drafts);
    let last = events.last().expect("events");
    let state = serde_json::to_string(&turn).expect("JSON");
    let opening = Opening {
        format: FORMAT.to_owned(),
        version: FORMAT_VERSION,
        agent_id: agent(),
        run_key: run_key(),
        outcome: "completed".to_owned(),
        machine: MACHINE.to_owned(),
        machine_version: MACHINE_VERSION,
        transitions: 2,
        state: Some(state),
        after: Place::BEGINNING,
        lives: lives(),
        exported_at: Millis(0),
    };
    let mut lines = vec![Line::Opening(Box::new(opening))];
    lines.extend(events.iter().map(event));
    let head = SignedHead::sign(&key(), agent(), (last.seq, last.hash), Millis(5));
    lines.push(Line::Head(head));
    lines.extend(rows.iter().map(|row| {
        let [reads_hash, state_hash, effects_hash] = row.hashes;
        Line::Journal(JournalLine {
            ordinal: row.ordinal,
            body: String::from_utf8(row.body.clone()).expect("text"),
            reads_hash,
            state_hash,
            effects_hash,
            at: Millis(1),
        })
    }));
    lines.extend([blob(PROMPT), blob(REPLY)]);
    lines.push(Line::Closing(Closing {
        events: u64::try_from(events.len()).expect("few"),
        journal: 2,
        blobs: 2,
    }));
    lines
}

fn check(lines: &[Line]) -> Result<Proven, Unproven> {
    let mut check = Check::default();
    for line in lines {
        check.line(&serde_json::to_vec(line).expect("JSON"))?;
    }
    check.finish()
}

fn changed(change: impl Fn(&mut Vec<Line>)) -> Unproven {
    let mut lines = lines();
    change(&mut lines);
    check(&lines).expect_err("a changed bundle")
}

#[test]
fn a_bundle_proves_its_run_and_says_who_signed_it() {
    let proven = check(&lines()).expect("proven");
    assert_eq!(
        (proven.run_key, proven.outcome.as_str()),
        (run_key(), "completed")
    );
    assert_eq!(proven.fingerprints(), [key().public().fingerprint()]);
    assert!(proven.replayed && proven.withheld == 0, "{proven:?}");
}

#[test]
fn a_bundle_that_is_cut_off_anywhere_proves_nothing() {
    let lines = lines();
    for length in 0..lines.len() {
        check(&lines[..length]).expect_err("cut off");
    }
    assert!(matches!(check(&lines[..0]), Err(Unproven::Foreign)));
    assert!(matches!(changed(|lines| drop(lines.pop())), Unproven::Cut));
    for gone in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(gone);
        check(&fewer).expect_err("a line is missing");
    }
}

#[test]
fn no_two_lines_of_a_bundle_can_change_places() {
    let lines = lines();
    // The order of the contents alone means nothing.
    for place in 0..lines.len() - 3 {
        let mut swapped = lines.clone();
        swapped.swap(place, place + 1);
        check(&swapped).expect_err("another order");
    }
}

#[test]
fn what_was_changed_in_a_bundle_is_named() {
    let of_event = |lines: &mut Vec<Line>, change: fn(&mut EventLine)| {
        let Some(Line::Event(event)) = lines.get_mut(1) else {
            panic!("no event")
        };
        change(event);
    };
    let found = changed(|lines| of_event(lines, |event| event.kind = "run_ended".to_owned()));
    assert!(
        matches!(found, Unproven::Flaw(Flaw::Hash { seq: 1, .. })),
        "{found:?}"
    );
    let found = changed(|lines| of_event(lines, |event| event.own = false));
    assert!(matches!(found, Unproven::Flaw(Flaw::Run { seq: 1 })), "{found:?}");
    let found = changed(|lines| {
        for line in lines {
            if let Line::Blob(blob) = line {
                blob.body = BlobBody::Text("another answer".to_owned());
            }
        }
    });
    assert!(matches!(found, Unproven::Blob(_)), "{found:?}");
    let found = changed(|lines| {
        for line in lines {
            if let Line::Journal(row) = line {
                row.effects_hash = Digest::ZERO;
            }
        }
    });
    assert!(
        matches!(found, Unproven::Difference(Difference::Hash { .. })),
        "{found:?}"
    );
    let found = changed(|lines| lines.retain(|line| !matches!(line, Line::Head(_))));
    assert!(matches!(found, Unproven::Unsigned), "{found:?}");
    let of_opening = |lines: &mut Vec<Line>, change: fn(&mut Opening)| {
        let Some(Line::Opening(opening)) = lines.first_mut() else {
            panic!("no opening")
        };
        change(opening);
    };
    let found = changed(|lines| of_opening(lines, |opening| opening.version = 2));
    assert!(matches!(found, Unproven::Newer { found: 2 }), "{found:?}");
    let found = changed(|lines| of_opening(lines, |opening| opening.machine_version = 99));
    assert!(
        matches!(found, Unproven::Machine { version: 99, .. }),
        "{found:?}"
    );
    let found = changed(|lines| of_opening(lines, |opening| opening.outcome = "failed".to_owned()));
    assert!(
        matches!(found, Unproven::Difference(Difference::State)),
        "{found:?}"
    );
}

#[test]
fn the_log_of_one_run_does_not_prove_another() {
    // A whole and signed log of somebody's, under a journal that it knows nothing of.
    let other = plain_log(4);
    let found = changed(|lines| {
        let last = other.last().expect("events");
        lines.retain(|line| !matches!(line, Line::Event(_) | Line::Head(_)));
        let head = SignedHead::sign(&key(), agent(), (last.seq, last.hash), Millis(5));
        lines.splice(1..1, other.iter().map(event).chain([Line::Head(head)]));
        if let Some(Line::Closing(closing)) = lines.last_mut() {
            closing.events = 4;
        }
    });
    assert!(
        matches!(found, Unproven::Difference(Difference::Event { .. })),
        "{found:?}"
    );
}

#[test]
fn what_is_no_bundle_is_told_as_such() {
    for text in [
        "",
        "hello",
        "{}",
        "{\"rounds\": []}",
        "{\"opening\": {\"format\": \"other\", \"version\": 1}}",
    ] {
        let mut check = Check::default();
        let found = check.line(text.as_bytes()).expect_err("no bundle");
        assert!(matches!(found, Unproven::Foreign), "{text}: {found:?}");
    }
    let mut check = Check::default();
    let newer = br#"{"opening": {"format": "wakeful.bundle", "version": 7, "more": 1}}"#;
    assert!(matches!(check.line(newer), Err(Unproven::Newer { found: 7 })));
}
