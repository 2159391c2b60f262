use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::key::Digest;

fn target() -> impl Strategy<Value = StopTarget> {
    prop_oneof![
        Just(StopTarget::All),
        (0_u8..4).prop_map(|n| StopTarget::Agent(AgentId::parse(&format!("agent{n}")).expect("an id"))),
        (0_u8..4).prop_map(|n| StopTarget::Run(RunKey(Digest::of(&[n])))),
    ]
}

fn request() -> impl Strategy<Value = StopRequest> {
    (1_u64.., target(), ".{0,120}", any::<i64>()).prop_map(|(id, target, reason, at)| StopRequest {
        id,
        target,
        reason,
        channel: Channel::Api,
        at: Millis(at),
    })
}

/// A slot file after each of these contents was written in turn, and the contents as they can be read.
fn written(contents: &[Vec<StopRequest>]) -> (Vec<u8>, Slot) {
    let (mut file, mut newest) = (vec![0; SLOT_BYTES], Slot::default());
    for requests in contents {
        newest = Slot {
            generation: newest.generation + 1,
            requests: requests.clone(),
        };
        put(&mut file, &newest, SLOT_HALF_BYTES);
    }
    (file, newest)
}

/// Writes the first bytes of a slot's half.
fn put(file: &mut [u8], slot: &Slot, bytes: usize) {
    let at = usize::try_from(half_of(slot.generation)).expect("small");
    let half = slot.half().expect("it fits");
    file[at..at + bytes].copy_from_slice(&half[..bytes]);
}

fn targets(slot: &Slot) -> Vec<(u64, StopTarget)> {
    let named = slot.requests.iter();
    named
        .map(|request| (request.id, request.target.clone()))
        .collect()
}

proptest! {
    #[test]
    fn a_slot_says_what_was_written_last(contents in vec(vec(request(), 0..5), 0..6)) {
        let (file, newest) = written(&contents);
        let read = Slot::read(&file);
        prop_assert_eq!(targets(&read), targets(&newest));
        prop_assert_eq!(read.generation, newest.generation);
    }

    #[test]
    fn a_torn_write_leaves_what_was_said_before_or_after(
        contents in vec(vec(request(), 0..5), 1..6),
        next in vec(request(), 0..5),
        bytes in 0..=SLOT_HALF_BYTES,
    ) {
        let (mut file, before) = written(&contents);
        let after = Slot { generation: before.generation + 1, requests: next };
        put(&mut file, &after, bytes);
        let read = targets(&Slot::read(&file));
        prop_assert!(read == targets(&before) || read == targets(&after));
    }

    #[test]
    fn damage_never_reads_as_fewer_brakes_than_the_other_half_or_all(
        contents in vec(vec(request(), 0..5), 2..6),
        at in 0..SLOT_BYTES,
        bit in 0_u8..8,
    ) {
        let (mut file, newest) = written(&contents);
        file[at] ^= 1 << bit;
        let read = targets(&Slot::read(&file));
        let before = &contents[contents.len() - 2];
        let before: Vec<_> = before.iter().map(|one| (one.id, one.target.clone())).collect();
        prop_assert!(read == targets(&newest) || read == before);
    }

    #[test]
    fn whatever_is_pending_is_in_force_and_nothing_else(
        own in vec(request(), 0..6),
        slot in vec(request(), 0..6),
    ) {
        let mut pending = PendingStops::default();
        pending.slot_says(slot.clone());
        for request in &own {
            prop_assert!(pending.hold(request.clone()).is_some());
        }
        let wanted: BTreeSet<StopTarget> = own.iter().chain(&slot).map(|one| one.target.clone()).collect();
        for n in 0..4 {
            let agent = AgentId::parse(&format!("agent{n}")).expect("an id");
            let is_braked = wanted.contains(&StopTarget::All) || wanted.contains(&StopTarget::Agent(agent.clone()));
            prop_assert_eq!(pending.is_braked(&agent), is_braked);
            let run = RunKey(Digest::of(&[n]));
            prop_assert_eq!(pending.is_cancelled(&run), wanted.contains(&StopTarget::Run(run)));
        }
    }

    #[test]
    fn stored_and_pending_brakes_name_each_scope_once(
        own in vec(request(), 0..6),
        slot in vec(request(), 0..6),
        stored in proptest::collection::btree_set(0_u8..4, 0..4),
    ) {
        let mut pending = PendingStops::default();
        pending.slot_says(slot.clone());
        for one in &own {
            pending.hold(one.clone());
        }
        let stored: BTreeSet<Option<AgentId>> = stored
            .iter()
            .map(|n| AgentId::parse(&format!("agent{n}")).ok())
            .collect();
        let beside = pending.brakes_beside(&stored);
        let scopes: Vec<_> = beside.iter().filter_map(|one| one.target.scope().map(|scope| scope.cloned())).collect();
        let distinct: BTreeSet<_> = scopes.iter().cloned().collect();
        prop_assert_eq!(distinct.len(), scopes.len());
        prop_assert!(distinct.is_disjoint(&stored));
        for request in own.iter().chain(&slot) {
            if let Some(scope) = request.target.scope().map(|scope| scope.cloned()) {
                prop_assert!(stored.contains(&scope) || distinct.contains(&scope));
            }
        }
    }
}

fn brake(id: u64) -> StopRequest {
    StopRequest {
        id,
        target: StopTarget::All,
        reason: String::new(),
        channel: Channel::Cli,
        at: Millis(1),
    }
}

#[test]
fn a_slot_without_a_readable_half_brakes_everything() {
    let (mut file, _) = written(&[vec![brake(1)], vec![]]);
    file[10] ^= 1;
    file[SLOT_HALF_BYTES + 10] ^= 1;
    assert_eq!(Slot::read(&file).requests, [StopRequest::unreadable_slot()]);
    assert_eq!(Slot::read(&[]), Slot::default());
    assert_eq!(Slot::read(&[0; 100]), Slot::default());
}

#[test]
fn a_kept_request_ends_when_the_slot_no_longer_has_it() {
    let mut pending = PendingStops::default();
    pending.hold(brake(7));
    assert!(!pending.is_kept(7));
    pending.slot_says(vec![brake(7)]);
    assert!(pending.is_kept(7));
    pending.slot_says(Vec::new());
    assert!(pending.is_empty(), "another process stored or released it");
}

#[test]
fn a_slot_that_is_full_drops_reasons_before_it_refuses() {
    let many = |count: u8, reason: &str| Slot {
        generation: 1,
        requests: (0..count)
            .map(|n| StopRequest {
                target: StopTarget::Run(RunKey(Digest::of(&[n]))),
                reason: reason.to_owned(),
                ..brake(u64::from(n) + u64::MAX / 2)
            })
            .collect(),
    };
    let long = "x".repeat(200);
    let few = Slot::read(&many(2, &long).half().expect("fits"));
    assert_eq!(few.requests[0].reason.chars().count(), SLOT_REASON_CHARS_MAX);
    let crowded = Slot::read(&many(40, &long).half().expect("fits without reasons"));
    assert_eq!(crowded.requests.len(), 40);
    assert_eq!(many(200, "").half(), Err(SlotFull));
}
