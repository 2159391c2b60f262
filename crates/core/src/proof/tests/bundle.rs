use std::collections::BTreeMap;

use super::sample::{
    PROMPT, REPLY, Row, agent, key, lives, log, run, run_key, run_with_output, tool_executed,
};
use crate::blob::Blob;
use crate::cause::{OriginKind, Priority};
use crate::json::canonical_text;
use crate::key::Digest;
use crate::message::{AdmissionContext, Authority, DeliverySurface, MessageKind};
use crate::proof::bundle::{
    BlobBody, BlobLine, BundleChecker, BundleError, BundleFooter, BundleHeader, BundleLine, EventLine,
    FORMAT, FORMAT_VERSION, ReplayInfo, RunLogLine, VerifiedBundle,
};
use crate::proof::chain::{ChainPosition, VerifyError};
use crate::proof::head::SignedHead;
use crate::proof::replay::ReplayMismatch;
use crate::report::payload::MessageAdmitted;
use crate::report::{Event, EventDraft};
use crate::run::{MACHINE, MACHINE_VERSION, RunMachine, RunStatus};
use crate::time::Millis;

fn end(last: &Event) -> ChainPosition {
    ChainPosition {
        seq: last.seq,
        hash: last.hash,
    }
}

pub(super) fn event(event: &Event) -> BundleLine {
    let sealed = &event.sealed;
    let payload = String::from_utf8(sealed.payload.clone()).expect("text");
    let policy_version = sealed.policy_version.as_ref();
    BundleLine::Event(EventLine {
        seq: event.seq,
        own: true,
        kind: sealed.kind.as_str().to_owned(),
        at: sealed.at,
        hash: event.hash,
        payload_hash: sealed.payload_hash,
        policy_version: policy_version.map_or_else(String::new, |version| version.as_str().to_owned()),
        payload: Some((payload, Digest::from_bytes(sealed.salt))),
    })
}

pub(super) fn blob(bytes: &[u8]) -> BlobLine {
    let hash = Blob::new(bytes.to_vec()).hash();
    let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = std::str::from_utf8(bytes).map(|text| BlobBody::Text(text.to_owned()));
    let body = text.unwrap_or_else(|_| BlobBody::Hex(hex()));
    BlobLine { hash, body }
}

/// Prepends the admission of a message to a run's events.
pub(super) fn with_message(drafts: Vec<EventDraft>) -> Vec<EventDraft> {
    let admitted = EventDraft::new(MessageAdmitted {
        run_key: run_key(),
        kind: MessageKind::OperatorPrompt,
        authority: Authority::OperatorInstruction,
        surface: DeliverySurface::RunOnce,
        context: AdmissionContext::LocalProcess,
        text: "do it".to_owned(),
        origin: OriginKind::Operator,
        priority: Priority::Normal,
        correlation_id: None,
        causation_id: None,
        source_refs: BTreeMap::new(),
    });
    [vec![admitted], drafts].concat()
}

/// Builds the bundle of a run.
pub(super) fn bundle(
    (rows, turn, events): (&[Row], &RunMachine, &[Event]),
    contents: &[&[u8]],
) -> Vec<BundleLine> {
    let last = events.last().expect("events");
    let count = |length: usize| u64::try_from(length).expect("few");
    let opening = BundleHeader {
        format: FORMAT.to_owned(),
        version: FORMAT_VERSION,
        agent_id: agent(),
        run_key: run_key(),
        again: Some(ReplayInfo {
            machine: MACHINE.to_owned(),
            machine_version: MACHINE_VERSION,
            transitions: i64::try_from(rows.len()).expect("few"),
            state: canonical_text(turn).expect("canonical"),
        }),
        after: ChainPosition::BEGINNING,
        lives: lives(),
        exported_at: Millis(0),
    };
    let mut lines = vec![BundleLine::Opening(Box::new(opening))];
    lines.extend(events.iter().map(event));
    let head = SignedHead::sign(&key(), agent(), end(last), Millis(5));
    lines.push(BundleLine::Head(head));
    lines.extend(rows.iter().map(|row| {
        let [reads_hash, state_hash, effects_hash] = row.hashes;
        BundleLine::Journal(RunLogLine {
            ordinal: row.ordinal,
            body: String::from_utf8(row.body.clone()).expect("text"),
            reads_hash,
            state_hash,
            effects_hash,
            at: row.at,
        })
    }));
    let mut blobs: Vec<BlobLine> = contents.iter().map(|bytes| blob(bytes)).collect();
    blobs.sort_by_key(|blob| blob.hash);
    lines.extend(blobs.into_iter().map(BundleLine::Blob));
    lines.push(BundleLine::Closing(BundleFooter {
        events: count(events.len()),
        journal: count(rows.len()),
        blobs: count(contents.len()),
    }));
    lines
}

pub(super) fn lines() -> Vec<BundleLine> {
    let (rows, turn, drafts) = run();
    bundle((&rows, &turn, &log(with_message(drafts))), &[PROMPT, REPLY])
}

/// A bundle with a command whose output the model read only in part.
pub(super) fn rich() -> Vec<BundleLine> {
    let (rows, turn, drafts, contents) = run_with_output();
    let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    bundle((&rows, &turn, &log(with_message(drafts))), &contents)
}

/// Updates the line counts, as a forger would.
pub(super) fn counted(lines: &mut [BundleLine]) {
    let mut found = BundleFooter::default();
    for line in lines {
        match line {
            BundleLine::Event(_) => found.events += 1,
            BundleLine::Journal(_) => found.journal += 1,
            BundleLine::Blob(_) => found.blobs += 1,
            BundleLine::Closing(closing) => *closing = found,
            BundleLine::Opening(_) | BundleLine::Head(_) => {}
        }
    }
}

pub(super) fn opening(lines: &mut [BundleLine]) -> &mut BundleHeader {
    let Some(BundleLine::Opening(opening)) = lines.first_mut() else {
        panic!("no opening")
    };
    opening
}

pub(super) fn events(lines: &mut [BundleLine]) -> impl Iterator<Item = &mut EventLine> {
    lines.iter_mut().filter_map(|line| match line {
        BundleLine::Event(event) => Some(event),
        BundleLine::Opening(_)
        | BundleLine::Head(_)
        | BundleLine::Journal(_)
        | BundleLine::Blob(_)
        | BundleLine::Closing(_) => None,
    })
}

pub(super) fn check(lines: &[BundleLine]) -> Result<VerifiedBundle, BundleError> {
    let mut check = BundleChecker::default();
    for line in lines {
        check.line(&serde_json::to_vec(line).expect("JSON"))?;
    }
    check.finish()
}

fn changed(change: impl Fn(&mut Vec<BundleLine>)) -> BundleError {
    let mut lines = lines();
    change(&mut lines);
    check(&lines).expect_err("a changed bundle")
}

#[test]
fn a_bundle_proves_its_run_and_names_its_signers() {
    let proven = check(&lines()).expect("proven");
    assert_eq!(
        (proven.run_key, proven.outcome),
        (Some(run_key()), Some(RunStatus::Completed))
    );
    assert_eq!(proven.fingerprints(), [key().public().fingerprint()]);
    assert!(proven.replayed && proven.withheld == 0, "{proven:?}");
    let proven = check(&rich()).expect("proven");
    assert!(proven.replayed && proven.lines.blobs == 5, "{proven:?}");
}

#[test]
fn a_truncated_bundle_proves_nothing() {
    let lines = lines();
    for length in 0..lines.len() {
        check(&lines[..length]).expect_err("cut off");
    }
    assert!(matches!(check(&lines[..0]), Err(BundleError::Foreign)));
    assert!(matches!(changed(|lines| drop(lines.pop())), BundleError::Cut));
    for gone in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(gone);
        check(&fewer).expect_err("a line is missing");
    }
}

#[test]
fn a_change_in_a_bundle_is_named() {
    let of_event = |lines: &mut Vec<BundleLine>, change: fn(&mut EventLine)| {
        change(events(lines).nth(1).expect("an event"));
    };
    let found = changed(|lines| of_event(lines, |event| event.kind = "run_ended".to_owned()));
    assert!(
        matches!(found, BundleError::Flaw(VerifyError::Hash { seq: 2, .. })),
        "{found:?}"
    );
    let found = changed(|lines| of_event(lines, |event| event.own = false));
    assert!(matches!(found, BundleError::Line { line: 3, .. }), "{found:?}");
    let found = changed(|lines| {
        for line in lines {
            if let BundleLine::Blob(blob) = line {
                blob.body = BlobBody::Text("another answer".to_owned());
            }
        }
    });
    assert!(matches!(found, BundleError::Blob(_)), "{found:?}");
    let found = changed(|lines| {
        for line in lines {
            if let BundleLine::Journal(row) = line {
                row.effects_hash = Digest::ZERO;
            }
        }
    });
    assert!(
        matches!(found, BundleError::Difference(ReplayMismatch::Hash { .. })),
        "{found:?}"
    );
    let found = changed(|lines| lines.retain(|line| !matches!(line, BundleLine::Head(_))));
    assert!(matches!(found, BundleError::Unsigned), "{found:?}");
    let found = changed(|lines| opening(lines).version = 3);
    assert!(matches!(found, BundleError::Version { found: 3 }), "{found:?}");
}

#[test]
fn the_log_of_one_run_does_not_prove_another() {
    // A complete, signed log of another run, combined with an unrelated run log.
    let mut drafts = with_message(Vec::new());
    drafts.extend((1..=3).map(tool_executed));
    let other = log(drafts);
    let found = changed(|lines| {
        let last = other.last().expect("events");
        lines.retain(|line| !matches!(line, BundleLine::Event(_) | BundleLine::Head(_)));
        let head = SignedHead::sign(&key(), agent(), end(last), Millis(5));
        lines.splice(1..1, other.iter().map(event).chain([BundleLine::Head(head)]));
        if let Some(BundleLine::Closing(closing)) = lines.last_mut() {
            closing.events = 4;
        }
    });
    assert!(
        matches!(found, BundleError::Difference(ReplayMismatch::Event { .. })),
        "{found:?}"
    );
}

#[test]
fn a_file_in_another_format_is_reported_as_such() {
    for text in [
        "",
        "hello",
        "{}",
        "{\"rounds\": []}",
        "{\"opening\": {\"format\": \"other\", \"version\": 1}}",
    ] {
        let mut check = BundleChecker::default();
        let found = check.line(text.as_bytes()).expect_err("no bundle");
        assert!(matches!(found, BundleError::Foreign), "{text}: {found:?}");
    }
    let mut check = BundleChecker::default();
    let newer = br#"{"opening": {"format": "wakeful.bundle", "version": 7, "more": 1}}"#;
    assert!(matches!(
        check.line(newer),
        Err(BundleError::Version { found: 7 })
    ));
}
