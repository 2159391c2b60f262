use std::collections::{BTreeMap, BTreeSet};

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

/// Writes these contents to a slot file one after the other. Returns the file and its readable contents.
fn written(contents: &[Vec<StopRequest>]) -> (Vec<u8>, StopSlot) {
    let (mut file, mut newest) = (vec![0; SLOT_BYTES], StopSlot::default());
    for requests in contents {
        newest = StopSlot {
            generation: newest.generation + 1,
            requests: requests.clone(),
        };
        put(&mut file, &newest, SLOT_HALF_BYTES);
    }
    (file, newest)
}

/// Writes the first `bytes` bytes of a slot's half.
fn put(file: &mut [u8], slot: &StopSlot, bytes: usize) {
    let at = usize::try_from(half_of(slot.generation)).expect("small");
    let half = slot.half().expect("it fits");
    file[at..at + bytes].copy_from_slice(&half[..bytes]);
}

fn targets(slot: &StopSlot) -> Vec<(u64, StopTarget)> {
    let named = slot.requests.iter();
    named
        .map(|request| (request.id, request.target.clone()))
        .collect()
}

proptest! {
    #[test]
    fn a_slot_returns_what_was_written_last(contents in vec(vec(request(), 0..5), 0..6)) {
        let (file, newest) = written(&contents);
        let read = StopSlot::read(&file);
        prop_assert_eq!(targets(&read), targets(&newest));
        prop_assert_eq!(read.generation, newest.generation);
    }

    #[test]
    fn a_torn_write_leaves_the_old_or_the_new_contents(
        contents in vec(vec(request(), 0..5), 1..6),
        next in vec(request(), 0..5),
        bytes in 0..=SLOT_HALF_BYTES,
    ) {
        let (mut file, before) = written(&contents);
        let after = StopSlot { generation: before.generation + 1, requests: next };
        put(&mut file, &after, bytes);
        let read = targets(&StopSlot::read(&file));
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
        let read = targets(&StopSlot::read(&file));
        let before = &contents[contents.len() - 2];
        let before: Vec<_> = before.iter().map(|one| (one.id, one.target.clone())).collect();
        prop_assert!(read == targets(&newest) || read == before);
    }

    #[test]
    fn exactly_the_pending_requests_are_in_force(
        own in vec(request(), 0..6),
        slot in vec(request(), 0..6),
    ) {
        let mut pending = PendingStops::default();
        pending.merge_slot(slot.clone(), 0);
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
        pending.merge_slot(slot.clone(), 0);
        for one in &own {
            pending.hold(one.clone());
        }
        let stored: BTreeSet<Option<AgentId>> = stored
            .iter()
            .map(|n| AgentId::parse(&format!("agent{n}")).ok())
            .collect();
        let unstored = pending.unstored_brakes(&stored);
        let scopes: Vec<_> = unstored.iter().filter_map(|one| one.target.scope().map(|scope| scope.cloned())).collect();
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

/// An event for the requests of one process and its slot.
#[derive(Debug, Clone)]
enum Happening {
    /// This process holds a request and begins to store it.
    Held(StopTarget),
    /// Another process adds a request to the slot.
    Left(StopTarget),
    /// This process begins to read the slot; it receives the contents at the next `ReadEnds`.
    ReadBegins,
    ReadEnds,
    Kept,
    /// The database has stored a request that this process began to store.
    Stored(prop::sample::Index),
    /// Another process has stored or released the slot's requests for a target.
    EndedElsewhere(StopTarget),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        target().prop_map(Happening::Held),
        target().prop_map(Happening::Left),
        Just(Happening::ReadBegins),
        Just(Happening::ReadEnds),
        Just(Happening::Kept),
        any::<prop::sample::Index>().prop_map(Happening::Stored),
        target().prop_map(Happening::EndedElsewhere),
    ]
}

/// A process with its slot, and the requests that must be in force because they were made and have not
/// ended.
#[derive(Default)]
struct Process {
    pending: PendingStops,
    slot: StopSlot,
    /// By target, the newest request that this process holds and that was not merged with the slot's.
    held: BTreeMap<StopTarget, u64>,
    storing: Vec<BTreeSet<u64>>,
    reading: Option<Reading>,
    next_id: u64,
}

/// A started read of the slot: its contents, and the number of holds before it.
struct Reading {
    slot: Vec<StopRequest>,
    holds: u64,
    held: BTreeMap<StopTarget, u64>,
}

impl Process {
    fn request(&mut self, target: &StopTarget) -> StopRequest {
        self.next_id += 1;
        StopRequest {
            target: target.clone(),
            ..brake(self.next_id)
        }
    }

    fn has(&self, target: &StopTarget) -> bool {
        self.slot.requests.iter().any(|request| request.target == *target)
    }

    fn begin_to_read(&mut self) {
        self.reading = Some(Reading {
            slot: self.slot.requests.clone(),
            holds: self.pending.holds(),
            held: self.held.clone(),
        });
    }

    fn end_reading(&mut self) {
        let Some(read) = self.reading.take() else { return };
        let has = |target: &StopTarget| read.slot.iter().any(|request| request.target == *target);
        self.held
            .retain(|target, id| !has(target) || read.held.get(target) != Some(id));
        self.pending.merge_slot(read.slot, read.holds);
    }

    /// A write by this process also reads the slot, which makes older reads obsolete.
    fn read(&mut self) {
        self.begin_to_read();
        self.end_reading();
    }

    fn end(&mut self, ids: &BTreeSet<u64>) {
        self.slot.requests.retain(|request| !ids.contains(&request.id));
        self.read();
        self.pending.end(ids);
        self.held.retain(|_, id| !ids.contains(id));
    }

    fn meet(&mut self, happening: &Happening) {
        match happening {
            Happening::Held(target) => {
                let request = self.request(target);
                self.held.insert(target.clone(), request.id);
                self.storing.extend(self.pending.hold(request));
            }
            Happening::Left(target) => {
                let request = self.request(target);
                self.slot.requests.push(request);
            }
            Happening::ReadBegins => self.begin_to_read(),
            Happening::ReadEnds => self.end_reading(),
            Happening::Kept => {
                let unkept = self.pending.unkept().cloned().collect();
                assert!(self.slot.take_in(unkept).is_empty(), "few requests fit");
                self.read();
            }
            Happening::Stored(_) if self.storing.is_empty() => {}
            Happening::Stored(which) => {
                let ids = self.storing.remove(which.index(self.storing.len()));
                self.end(&ids);
            }
            Happening::EndedElsewhere(target) => {
                self.slot.requests.retain(|request| request.target != *target);
            }
        }
    }

    fn is_in_force(&self, target: &StopTarget) -> bool {
        self.pending
            .all()
            .any(|pending| pending.request().is_some_and(|one| one.target == *target))
    }
}

fn every_target() -> Vec<StopTarget> {
    let agents = (0..4).map(|n| StopTarget::Agent(AgentId::parse(&format!("agent{n}")).expect("an id")));
    let runs = (0..4).map(|n| StopTarget::Run(RunKey(Digest::of(&[n]))));
    agents.chain(runs).chain([StopTarget::All]).collect()
}

proptest! {
    #[test]
    fn a_request_that_has_not_ended_is_in_force(happenings in vec(happening(), 0..20)) {
        let mut process = Process::default();
        for happening in &happenings {
            process.meet(happening);
            for target in process.held.keys() {
                prop_assert!(process.is_in_force(target), "{target:?} after {happening:?}");
            }
        }
        process.read();
        for target in every_target() {
            let is_wanted = process.held.contains_key(&target) || process.has(&target);
            prop_assert_eq!(process.is_in_force(&target), is_wanted);
        }
    }

    #[test]
    fn ending_every_pending_request_leaves_none(happenings in vec(happening(), 0..20)) {
        let mut process = Process::default();
        happenings.iter().for_each(|happening| process.meet(happening));
        process.read();
        let pending: Vec<Pending> = process.pending.all().cloned().collect();
        let targets: BTreeSet<_> = pending.iter().filter_map(|one| Some(one.request()?.target.clone())).collect();
        prop_assert_eq!(targets.len(), pending.len(), "one request for each target");
        for one in pending {
            process.end(&one.ids());
        }
        prop_assert!(process.pending.is_empty());
        prop_assert!(process.slot.requests.is_empty());
    }

    #[test]
    fn a_slot_accepts_brakes_regardless_of_cancelled_runs(
        cancelled in 0_u8..100,
        agents in 0_u8..12,
        reason in ".{0,120}",
    ) {
        let long = |n| AgentId::parse(&format!("a{n:0>63}")).expect("an id");
        let requests = |targets: Vec<StopTarget>| -> Vec<StopRequest> {
            let ids = (0..).map(|n: u64| u64::MAX - n);
            let requests = targets.into_iter().zip(ids);
            requests.map(|(target, id)| StopRequest { target, reason: reason.clone(), at: Millis(i64::MIN), ..brake(id) }).collect()
        };
        let mut slot = StopSlot::default();
        let runs = requests((0..cancelled).map(|n| StopTarget::Run(RunKey(Digest::of(&[n])))).collect());
        let left_out = slot.take_in(runs);
        prop_assert_eq!(slot.requests.len() + left_out.len(), usize::from(cancelled));
        let before = slot.requests.clone();
        let brakes = requests((0..agents).map(|n| StopTarget::Agent(long(n))).collect());
        let left_out = slot.take_in(brakes);
        prop_assert!(left_out.len() <= usize::from(agents.saturating_sub(8)));
        prop_assert!(slot.take_in(requests(vec![StopTarget::All])).is_empty(), "the global brake always fits");
        prop_assert!(slot.requests.starts_with(&before), "nothing that was kept leaves");
        prop_assert!(slot.half().is_ok());
    }

    #[test]
    fn brakes_come_first_where_not_all_requests_fit(cancelled in 50_u8..100, at in any::<prop::sample::Index>()) {
        let mut requests: Vec<StopRequest> = (0..cancelled)
            .map(|n| StopRequest { target: StopTarget::Run(RunKey(Digest::of(&[n]))), ..brake(u64::from(n)) })
            .collect();
        let agent = StopTarget::Agent(AgentId::parse("main").expect("an id"));
        requests.insert(at.index(requests.len()), StopRequest { target: agent.clone(), ..brake(1_001) });
        requests.insert(at.index(requests.len()), brake(1_000));
        let mut slot = StopSlot::default();
        let left_out = slot.take_in(requests);
        prop_assert!(!left_out.is_empty() && left_out.iter().all(|one| one.target.scope().is_none()));
        let first: Vec<_> = slot.requests.iter().take(2).map(|one| one.target.clone()).collect();
        prop_assert_eq!(first, [StopTarget::All, agent]);
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
    assert_eq!(StopSlot::read(&file).requests, [StopRequest::unreadable_slot()]);
    assert_eq!(StopSlot::read(&[]), StopSlot::default());
    assert_eq!(StopSlot::read(&[0; 100]), StopSlot::default());
}

#[test]
fn a_stored_request_ends_when_it_leaves_the_slot() {
    let mut pending = PendingStops::default();
    let is_kept = |pending: &PendingStops| pending.all().all(Pending::is_kept);
    pending.hold(brake(7));
    assert!(!is_kept(&pending));
    pending.merge_slot(vec![brake(7)], pending.holds());
    assert!(is_kept(&pending));
    pending.merge_slot(Vec::new(), pending.holds());
    assert!(pending.is_empty(), "another process stored or released it");
}

#[test]
fn a_full_slot_drops_reasons_before_it_refuses() {
    let many = |count: u8, reason: &str| StopSlot {
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
    let few = StopSlot::read(&many(2, &long).half().expect("fits"));
    assert_eq!(few.requests[0].reason.chars().count(), SLOT_REASON_CHARS_MAX);
    let crowded = StopSlot::read(&many(40, &long).half().expect("fits without reasons"));
    assert_eq!(crowded.requests.len(), 40);
    assert_eq!(many(200, "").half(), Err(SlotFull));
}

#[test]
fn the_end_of_an_earlier_request_does_not_end_a_later_one() {
    let mut pending = PendingStops::default();
    let earlier = pending.hold(brake(1)).expect("room");
    let later = pending.hold(brake(2)).expect("room");
    pending.end(&earlier);
    assert!(!pending.is_empty(), "a release may lie between the two");
    pending.end(&later);
    assert!(pending.is_empty());
}
