use serde_json::json;

use super::sample::{agent, key, link, lives, log, plain_log, tool_executed, walk};
use crate::decision::Channel;
use crate::id::Incarnation;
use crate::key::Digest;
use crate::proof::chain::{ChainPosition, ChainVerifier, IncarnationStart, VerifyError};
use crate::proof::head::{SignedHead, read_heads};
use crate::proof::signing::{DeviceKey, Fingerprint};
use crate::report::payload::{Actor, ContentErased, DataPruned, ErasedTarget, RunStarted};
use crate::report::{Event, EventDraft, EventKind};
use crate::retention::DataClass;
use crate::time::Millis;

fn walked(events: &[Event]) -> Result<ChainVerifier, VerifyError> {
    let mut walk = walk();
    events
        .iter()
        .try_for_each(|event| walk.link(&link(event)))
        .map(|()| walk)
}

fn end(events: &[Event]) -> ChainPosition {
    events
        .last()
        .map_or(ChainPosition::BEGINNING, |event| ChainPosition {
            seq: event.seq,
            hash: event.hash,
        })
}

fn sign(event: &Event) -> SignedHead {
    SignedHead::sign(&key(), agent(), end(std::slice::from_ref(event)), Millis(9))
}

#[test]
fn an_unchanged_log_is_valid() {
    let events = plain_log(5);
    let mut walk = walked(&events).expect("sound");
    walk.end(end(&events)).expect("whole");
    walk.head(&sign(&events[4])).expect("signed");
    assert_eq!((walk.seen().events, walk.seen().erased), (5, 0));
    assert_eq!(
        walk.seen().signers.iter().next(),
        Some((&key().public(), &5)),
        "who signed, and how far"
    );
}

#[test]
fn any_change_is_reported_at_its_event() {
    let good = plain_log(4);
    let changed = |change: fn(&mut Event)| {
        let mut events = good.clone();
        change(&mut events[2]);
        walked(&events).map(drop).expect_err("changed")
    };
    let hash = |flaw: VerifyError| assert!(matches!(flaw, VerifyError::Hash { seq: 3, .. }), "{flaw:?}");
    hash(changed(|event| event.sealed.kind = EventKind::RunEnded));
    hash(changed(|event| event.sealed.at = Millis(99)));
    hash(changed(|event| event.sealed.payload_hash = Digest::ZERO));
    hash(changed(|event| event.hash = Digest::ZERO));
    let payload = changed(|event| event.sealed.payload = b"{\"n\":4}".to_vec());
    assert!(
        matches!(payload, VerifyError::Payload { seq: 3, .. }),
        "{payload:?}"
    );
    let salt = changed(|event| event.sealed.salt = [0; 32]);
    assert_eq!((salt.code(), salt.seq()), ("payload_changed", Some(3)));
}

#[test]
fn missing_repeated_and_reordered_events_are_distinguished() {
    let good = plain_log(4);
    let order = |order: &[usize]| {
        let events: Vec<Event> = order.iter().map(|n| good[*n].clone()).collect();
        walked(&events).map(drop).expect_err("another order")
    };
    let (expected, found) = (2, 3);
    assert_eq!(order(&[0, 2, 3]), VerifyError::Missing { expected, found });
    assert_eq!(order(&[0, 2, 1, 3]), VerifyError::Missing { expected, found });
    let (expected, found) = (2, 1);
    assert_eq!(order(&[0, 0]), VerifyError::Misplaced { expected, found });
    // Two events whose numbers are swapped as well.
    let mut swapped = good.clone();
    swapped.swap(1, 2);
    (swapped[1].seq, swapped[2].seq) = (2, 3);
    assert_eq!(walked(&swapped).map(drop).expect_err("swapped").seq(), Some(2));
}

#[test]
fn a_truncated_log_contradicts_its_head_and_every_signed_one() {
    let good = plain_log(4);
    let mut short = walked(&good[..2]).expect("a sound beginning");
    let (last, head) = (2, 4);
    assert_eq!(short.end(end(&good)), Err(VerifyError::Short { last, head }));
    // An attacker who truncates the log can also move its head back, but not the signed one.
    assert_eq!(short.end(end(&good[..2])), Ok(()));
    let key = key().public().fingerprint();
    assert_eq!(
        short.head(&sign(&good[3])),
        Err(VerifyError::Truncated { seq: 4, key, last })
    );
    // Another log of the same length with its own head.
    let mut other = walked(&plain_log(4)).expect("sound");
    let mut forged = sign(&good[3]);
    forged.chain_hash = Digest::ZERO;
    assert_eq!(other.head(&forged), Err(VerifyError::Signature { seq: 4, key }));
    let resigned = SignedHead::sign(
        &super::sample::key(),
        agent(),
        ChainPosition {
            seq: 4,
            hash: Digest::ZERO,
        },
        Millis(1),
    );
    assert!(matches!(
        other.head(&resigned),
        Err(VerifyError::Signed { seq: 4, .. })
    ));
}

#[test]
fn no_part_of_a_signed_head_can_be_changed() {
    let head = sign(&plain_log(1)[0]);
    assert!(head.is_sound());
    let stranger = DeviceKey::from_seed(&[4; 32]).public();
    let changed = [
        SignedHead {
            seq: 2,
            ..head.clone()
        },
        SignedHead {
            chain_hash: Digest::ZERO,
            ..head.clone()
        },
        SignedHead {
            signed_at: Millis(10),
            ..head.clone()
        },
        SignedHead {
            public_key: stranger,
            ..head.clone()
        },
        SignedHead {
            agent_id: crate::id::AgentId::parse("other").expect("an id"),
            ..head.clone()
        },
    ];
    for head in changed {
        assert!(!head.is_sound(), "{head:?}");
    }
    let shown = format!("{:?}", key());
    assert!(!shown.contains("03030303") && shown.contains(&key().public().fingerprint().to_string()));
    let text = key().public().fingerprint().to_string();
    assert_eq!(
        (text.len(), Fingerprint::from_hex(&text)),
        (32, Some(key().public().fingerprint()))
    );
}

#[test]
fn erased_payloads_are_counted_and_must_be_recorded() {
    let mut drafts: Vec<EventDraft> = (1..=3).map(tool_executed).collect();
    drafts.push(EventDraft::new(ContentErased {
        by: Actor::Operator,
        channel: Channel::Cli,
        reason: String::new(),
        events: 1,
        transitions: 0,
        blobs: 0,
        audit_entries: 0,
        target: ErasedTarget::Events {
            first_seq: 2,
            last_seq: 2,
        },
    }));
    let events = log(drafts);
    let erasing = |gone: &[u64]| {
        let mut walk = walk();
        for event in &events {
            let mut link = link(event);
            link.payload = link.payload.filter(|_| !gone.contains(&link.seq));
            walk.link(&link)?;
        }
        walk.end(end(&events)).map(|()| walk.seen().erased)
    };
    assert_eq!(erasing(&[2]), Ok(1));
    let (gone, recorded) = (2, 1);
    assert_eq!(erasing(&[1, 2]), Err(VerifyError::Unrecorded { gone, recorded }));
}

#[test]
fn pruned_payloads_must_be_recorded_too() {
    let pruned = |class| {
        let draft = EventDraft::new(DataPruned {
            class,
            rows: 1,
            bytes: 0,
            until: String::new(),
        });
        let events = log(vec![tool_executed(1), draft]);
        let mut walk = walk();
        for event in &events {
            let mut link = link(event);
            link.payload = link.payload.filter(|_| link.seq > 1);
            walk.link(&link)?;
        }
        walk.end(end(&events))
    };
    assert_eq!(pruned(DataClass::Events), Ok(()));
    let (gone, recorded) = (1, 0);
    assert_eq!(
        pruned(DataClass::Traces),
        Err(VerifyError::Unrecorded { gone, recorded }),
        "of another class"
    );
}

#[test]
fn a_start_event_is_stored_under_its_run() {
    let mut events = log(vec![EventDraft::new(RunStarted {
        run_key: super::sample::run_key(),
        model_ref: "scripted:a".to_owned(),
        max_rounds: 5,
    })]);
    walked(&events).expect("its own run");
    events[0].sealed.run_key = None;
    assert_eq!(walked(&events).map(drop), Err(VerifyError::Run { seq: 1 }));
}

#[test]
fn a_log_continues_across_incarnations() {
    let mut head = crate::report::LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new("h.1"),
    };
    let sealed = plain_log(1)[0].sealed.clone();
    let first = head.chain(&agent(), sealed.clone());
    head.incarnation = Incarnation::new("h.2");
    let second = head.chain(&agent(), sealed);
    let mut lives = lives();
    let mut walk = ChainVerifier::new(agent(), lives.clone(), ChainPosition::BEGINNING);
    walk.link(&link(&first)).expect("the first life");
    assert!(matches!(
        walk.link(&link(&second)),
        Err(VerifyError::Hash { seq: 2, .. })
    ));
    lives.push(IncarnationStart {
        first_seq: 2,
        incarnation: Incarnation::new("h.2"),
    });
    let mut walk = ChainVerifier::new(agent(), lives, ChainPosition::BEGINNING);
    walk.link(&link(&first)).expect("the first life");
    walk.link(&link(&second)).expect("the second life");
    let mut nobody = ChainVerifier::new(agent(), Vec::new(), ChainPosition::BEGINNING);
    assert_eq!(
        nobody.link(&link(&first)),
        Err(VerifyError::Incarnation { seq: 1 })
    );
}

#[test]
fn heads_are_parsed_in_every_printed_form() {
    let heads: Vec<SignedHead> = plain_log(2).iter().map(sign).collect();
    let list = serde_json::to_value(&heads).expect("JSON");
    assert_eq!(read_heads(list.clone()), Some(heads.clone()));
    assert_eq!(
        read_heads(json!({"heads": list, "ok": true})),
        Some(heads.clone())
    );
    assert_eq!(read_heads(json!({"proof": {"heads": list}})), Some(heads.clone()));
    let one = serde_json::to_value(&heads[0]).expect("JSON");
    assert_eq!(read_heads(one), heads.first().cloned().map(|head| vec![head]));
    for bad in [
        json!([]),
        json!({}),
        json!("x"),
        json!({"heads": 1}),
        json!([{"seq": 1}]),
    ] {
        assert_eq!(read_heads(bad.clone()), None, "{bad}");
    }
}
