//! A log and a run, small and whole.

use serde_json::json;

use crate::blob::{Blob, BlobHash};
use crate::budget::{Day, Exceeded, MicroUsd, Scope};
use crate::conversation::Usage;
use crate::failure::{Category, FailureArtifact, ModelFailure, ModelFailureKind};
use crate::id::{AgentId, Incarnation};
use crate::json::{canonical, digest};
use crate::key::{Digest, RunKey};
use crate::proof::chain::{Life, Link, Place, Walk};
use crate::proof::replay::Recorded;
use crate::proof::signing::DeviceKey;
use crate::report::{Draft, Event, Head, Kind, Sealed};
use crate::run::{Bill, Input, Reads, Reply, Turn};
use crate::time::Millis;

pub(super) fn agent() -> AgentId {
    AgentId::parse("main").expect("an id")
}

pub(super) fn key() -> DeviceKey {
    DeviceKey::from_seed(&[3; 32])
}

pub(super) fn run_key() -> RunKey {
    RunKey(Digest::of(b"run"))
}

pub(super) fn lives() -> Vec<Life> {
    vec![Life {
        first_seq: 1,
        incarnation: Incarnation::new("h.1"),
    }]
}

/// Chains drafts of one run.
pub(super) fn log(drafts: Vec<Draft>) -> Vec<Event> {
    let mut head = Head {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new("h.1"),
    };
    let chained = drafts.into_iter().zip(1_u8..).map(|(draft, n)| {
        let sealed = Sealed::new(draft, Millis(i64::from(n)), Some(run_key()), [n; 32]);
        head.chain(&agent(), sealed.expect("canonical"))
    });
    chained.collect()
}

/// A log of so many events that say nothing much.
pub(super) fn plain_log(length: u64) -> Vec<Event> {
    log((1..=length)
        .map(|n| Draft::new(Kind::ToolExecuted, json!({"n": n})))
        .collect())
}

pub(super) fn link(event: &Event) -> Link<'_> {
    let sealed = &event.sealed;
    Link {
        seq: event.seq,
        run_key: sealed.run_key,
        kind: sealed.kind.as_str(),
        at: sealed.at,
        hash: event.hash,
        payload_hash: sealed.payload_hash,
        policy_version: "",
        payload: Some((&sealed.payload, &sealed.salt)),
    }
}

pub(super) fn walk() -> Walk {
    Walk::new(agent(), lives(), Place::BEGINNING)
}

/// A row of a journal that owns what it holds.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) ordinal: i64,
    pub(super) body: Vec<u8>,
    pub(super) hashes: [Digest; 3],
}

impl Row {
    pub(super) fn recorded(&self) -> Recorded<'_> {
        let [reads_hash, state_hash, effects_hash] = self.hashes;
        Recorded {
            ordinal: self.ordinal,
            body: &self.body,
            reads_hash,
            state_hash,
            effects_hash,
        }
    }
}

/// A run of one round: its journal, its last state, and what it told.
pub(super) fn run() -> (Vec<Row>, Turn, Vec<Draft>) {
    let body = Blob::new(PROMPT.to_vec()).hash();
    recorded([Input::Admitted { body }, replied()])
}

/// A run whose first model there was no money for.
pub(super) fn run_without_money() -> (Vec<Row>, Turn, Vec<Draft>) {
    let body = Blob::new(PROMPT.to_vec()).hash();
    let exceeded = Exceeded {
        scope: Scope::All,
        cap: MicroUsd(1),
        spent: MicroUsd(0),
        reserved: MicroUsd(0),
        needed: MicroUsd(2),
        day: Day(0),
    };
    let artifact = FailureArtifact::new(Category::Transport, "budget", "no money");
    let passed_over = Input::AttemptFailed {
        failure: ModelFailure::new(ModelFailureKind::FailFast, artifact),
        duration_ms: 0,
        bill: Bill {
            exceeded: Some(exceeded),
            ..Bill::default()
        },
    };
    recorded([Input::Admitted { body }, passed_over, replied()])
}

/// The same as version 3 of the machine kept it: which model was passed over is in no state.
pub(super) fn run_of_version_three() -> (Vec<Row>, Turn) {
    let (mut rows, mut turn, _) = run_without_money();
    turn.unpaid = None;
    let last = rows.last_mut().expect("a row");
    last.hashes[1] = digest(&turn).expect("canonical");
    (rows, turn)
}

fn replied() -> Input {
    Input::Replied(Reply {
        content: BlobHash(Digest::of(REPLY)),
        preview: "done".to_owned(),
        usage: Usage::of(1, 2),
        duration_ms: 3,
        bill: Bill::default(),
        calls: Vec::new(),
    })
}

fn recorded(inputs: impl IntoIterator<Item = Input>) -> (Vec<Row>, Turn, Vec<Draft>) {
    let mut turn = Turn::new(run_key(), "scripted".to_owned(), 5)
        .falling_back(vec!["demo".to_owned()])
        .in_workspace("/w".to_owned());
    let (mut rows, mut drafts) = (Vec::new(), Vec::new());
    for (input, ordinal) in inputs.into_iter().zip(1..) {
        let reads = Reads::default();
        let moved = turn.apply(&reads, input.clone()).expect("it fits");
        let hashes = [digest(&reads), digest(&moved.turn), digest(&moved.effects)];
        rows.push(Row {
            ordinal,
            body: canonical(&(input, reads)).expect("canonical"),
            hashes: hashes.map(|hash| hash.expect("canonical")),
        });
        drafts.extend(moved.events);
        turn = moved.turn;
    }
    assert!(turn.outcome().is_some(), "{turn:?}");
    (rows, turn, drafts)
}

pub(super) const PROMPT: &[u8] = b"[{\"type\":\"text\",\"text\":\"do it\"}]";
pub(super) const REPLY: &[u8] = b"\xff\x00done";
