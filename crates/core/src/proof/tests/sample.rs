//! A small complete log and run for tests.

use serde_json::json;

use crate::blob::{Blob, BlobHash};
use crate::budget::{BudgetExceeded, BudgetScope, MicroUsd, SpendTotal, UtcDay};
use crate::conversation::Usage;
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use crate::id::{AgentId, Incarnation, PolicyVersion};
use crate::json::{canonical, digest};
use crate::key::{ActionParts, Digest, OperationId, RunKey};
use crate::policy::{PolicyEffect, PolicyVerdict};
use crate::proof::chain::{ChainPosition, ChainVerifier, ChainedEvent, IncarnationStart};
use crate::proof::log_binding::attach_log_binding;
use crate::proof::replay::LoggedTransition;
use crate::proof::signing::DeviceKey;
use crate::report::payload::ToolExecuted;
use crate::report::{Event, EventDraft, LogHead, SealedEvent};
use crate::run::{AttemptCost, InputReads, ModelReply, ReplyCall, RunInput, RunMachine};
use crate::step::{CallReads, EffectClass, PriorActions, StepResult, StepStatus, result_blob};
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

pub(super) fn lives() -> Vec<IncarnationStart> {
    vec![IncarnationStart {
        first_seq: 1,
        incarnation: Incarnation::new("h.1"),
    }]
}

/// Chains the events of one run.
pub(super) fn log(drafts: Vec<EventDraft>) -> Vec<Event> {
    chained(drafts, [0; 32])
}

/// Chains the events with another salt.
pub(super) fn chained(drafts: Vec<EventDraft>, salt: [u8; 32]) -> Vec<Event> {
    let mut head = LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new("h.1"),
    };
    let chained = drafts.into_iter().zip(1_u8..).map(|(draft, n)| {
        let mut salt = salt;
        salt[0] ^= n;
        let sealed = SealedEvent::new(draft, Millis(i64::from(n)), Some(run_key()), salt);
        head.chain(&agent(), sealed.expect("canonical"))
    });
    chained.collect()
}

/// A log of `length` simple events.
pub(super) fn plain_log(length: u64) -> Vec<Event> {
    log((1..=length).map(tool_executed).collect())
}

/// The event of an action with this duration.
pub(super) fn tool_executed(duration_ms: u64) -> EventDraft {
    EventDraft::new(ToolExecuted {
        operation_id: OperationId(Digest::ZERO),
        tool: "Exec".to_owned(),
        status: StepStatus::Ok,
        duration_ms,
        exit_status: None,
        sandbox: None,
        code: None,
        stage: None,
        category: None,
        tool_error: None,
        error: None,
        links: Vec::new(),
        attempt: None,
        again_in_ms: None,
    })
}

pub(super) fn link(event: &Event) -> ChainedEvent<'_> {
    let sealed = &event.sealed;
    ChainedEvent {
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

pub(super) fn walk() -> ChainVerifier {
    ChainVerifier::new(agent(), lives(), ChainPosition::BEGINNING)
}

/// An owned row of the run log.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) ordinal: i64,
    pub(super) body: Vec<u8>,
    pub(super) hashes: [Digest; 3],
    pub(super) at: Millis,
}

impl Row {
    pub(super) fn recorded(&self) -> LoggedTransition<'_> {
        let [reads_hash, state_hash, effects_hash] = self.hashes;
        LoggedTransition {
            ordinal: self.ordinal,
            body: &self.body,
            reads_hash,
            state_hash,
            effects_hash,
            at: self.at,
        }
    }
}

/// A run of one round: its run log, last state and events.
pub(super) fn run() -> (Vec<Row>, RunMachine, Vec<EventDraft>) {
    let body = Blob::new(PROMPT.to_vec()).hash();
    recorded([RunInput::admitted(body), replied()])
}

/// A run whose first model exceeds the budget.
pub(super) fn run_without_money() -> (Vec<Row>, RunMachine, Vec<EventDraft>) {
    let body = Blob::new(PROMPT.to_vec()).hash();
    let nothing = SpendTotal::default();
    let exceeded = BudgetExceeded::of_cap(BudgetScope::All, MicroUsd(1), nothing, MicroUsd(2)).on(UtcDay(0));
    let artifact = FailureArtifact::new(FailureCategory::Transport, "budget", "no money");
    let passed_over = RunInput::AttemptFailed {
        failure: ModelFailure::new(ModelFailureKind::FailFast, artifact),
        duration_ms: 0,
        bill: AttemptCost {
            exceeded: Some(exceeded),
            ..AttemptCost::default()
        },
    };
    recorded([RunInput::admitted(body), passed_over, replied()])
}

fn replied() -> RunInput {
    RunInput::Replied(ModelReply {
        violations: Vec::new(),
        content: BlobHash(Digest::of(REPLY)),
        preview: "done".to_owned(),
        usage: Usage::of(1, 2),
        duration_ms: 3,
        bill: AttemptCost::default(),
        calls: Vec::new(),
        web_searches: Vec::new(),
    })
}

fn recorded(inputs: impl IntoIterator<Item = RunInput>) -> (Vec<Row>, RunMachine, Vec<EventDraft>) {
    let mut recorder = Recorder::new();
    for input in inputs {
        recorder.take(input, InputReads::default());
    }
    recorder.end()
}

/// Records a run while it is driven.
pub(super) struct Recorder {
    turn: RunMachine,
    rows: Vec<Row>,
    drafts: Vec<EventDraft>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        let turn = RunMachine::new(run_key(), "scripted".to_owned(), 5)
            .with_fallbacks(vec!["demo".to_owned()])
            .with_workspace("/w".to_owned());
        let (rows, drafts) = (Vec::new(), Vec::new());
        Self { turn, rows, drafts }
    }

    pub(super) fn take(&mut self, input: RunInput, reads: InputReads) {
        let ordinal = i64::try_from(self.rows.len()).expect("few") + 1;
        let mut moved = self.turn.clone().apply(&reads, input.clone()).expect("it fits");
        let hashes = [digest(&reads), digest(&moved.turn), digest(&moved.effects)];
        let row = Row {
            ordinal,
            body: canonical(&(input, reads)).expect("canonical"),
            hashes: hashes.map(|hash| hash.expect("canonical")),
            at: Millis(ordinal * 10),
        };
        attach_log_binding(&run_key(), &row.recorded(), &mut moved.events);
        self.rows.push(row);
        self.drafts.extend(moved.events);
        self.turn = moved.turn;
    }

    pub(super) fn end(self) -> (Vec<Row>, RunMachine, Vec<EventDraft>) {
        assert!(self.turn.outcome().is_some(), "{:?}", self.turn);
        (self.rows, self.turn, self.drafts)
    }
}

/// The read set of a permitted call.
fn permitted() -> CallReads {
    CallReads {
        evidence: None,
        linked_site: None,
        stop: None,
        risk: None,
        class: EffectClass::Plain,
        fault: None,
        verdict: PolicyVerdict {
            effect: PolicyEffect::Permit,
            rule: "default".to_owned(),
            policy_version: PolicyVersion::new("1"),
        },
        retry: None,
        seen: PriorActions::default(),
        diff: None,
        targets: Vec::new(),
        constraint: None,
        guardrails: Vec::new(),
    }
}

/// A run with one command, of which the model read only the beginning: its run log, last state, events and
/// all transcript entries.
pub(super) fn run_with_output() -> (Vec<Row>, RunMachine, Vec<EventDraft>, Vec<Vec<u8>>) {
    let mut recorder = Recorder::new();
    let body = Blob::new(PROMPT.to_vec()).hash();
    recorder.take(RunInput::admitted(body), InputReads::default());
    let asked = b"[{\"type\":\"text\",\"text\":\"let me see\"}]";
    let call = ReplyCall {
        call_id: "call-1".to_owned(),
        parts: ActionParts {
            tool: "ExecCommand".to_owned(),
            arguments: Digest::of(b"arguments"),
            scope: Digest::of(b"scope"),
            targets: Digest::of(b"targets"),
        },
        preview: "ls".to_owned(),
        original_input: None,
    };
    let RunInput::Replied(reply) = replied() else {
        unreachable!("a reply")
    };
    let asking = ModelReply {
        violations: Vec::new(),
        content: BlobHash(Digest::of(asked)),
        preview: "let me see".to_owned(),
        calls: vec![call],
        ..reply
    };
    let reads = InputReads {
        calls: vec![permitted()],
        ..InputReads::default()
    };
    recorder.take(RunInput::Replied(asking), reads);
    let pending = recorder.turn.pending_effects();
    let [crate::run::Effect::Act { operation_id, .. }] = pending.as_slice() else {
        panic!("{pending:?}")
    };
    let artifact = json!({"stdout_preview": "a", "artifacts": [{"blob": Digest::of(OUTPUT), "bytes": 9}]});
    let content = result_blob("call-1", false, artifact.to_string()).expect("canonical");
    let result = StepResult {
        sources: crate::provenance::Sources::none(),
        operation_id: *operation_id,
        status: StepStatus::Ok,
        content: content.hash(),
        duration_ms: 4,
        exit_status: None,
        sandbox: None,
        code: None,
        error: None,
        refused: Vec::new(),
        changed: Vec::new(),
        written_bytes: None,
        again: None,
    };
    let results = vec![result];
    recorder.take(RunInput::Settled { results }, InputReads::default());
    recorder.take(replied(), InputReads::default());
    let (rows, turn, drafts) = recorder.end();
    let contents = [PROMPT, asked, content.bytes(), OUTPUT, REPLY];
    (rows, turn, drafts, contents.map(<[u8]>::to_vec).to_vec())
}

pub(super) const OUTPUT: &[u8] = b"all of it";
pub(super) const PROMPT: &[u8] = b"[{\"type\":\"text\",\"text\":\"do it\"}]";
pub(super) const REPLY: &[u8] = b"\xff\x00done";
