//! A simulated environment of the run machine: models, tools, people and a store. Properties hold for every run.

use std::collections::BTreeMap;

use serde_json::json;

use crate::blob::{Blob, BlobHash};
use crate::budget::{BudgetExceeded, BudgetScope, MicroUsd, SpendTotal, UtcDay};
use crate::conversation::{Block, ToolCall, Usage};
use crate::decision::ApprovalOutcome;
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use crate::id::PolicyVersion;
use crate::key::{ActionBase, DecisionId, Digest, OperationId, RunKey};
use crate::policy;
use crate::provenance::Sources;
use crate::run::{
    AttemptCost, DecisionWrite, Effect, EntryWrite, InputReads, RunInput, RunMachine, RunPhase, StepWrite,
    Transition, reply,
};
use crate::step::{CallReads, EffectClass, PriorActions, StepResult, StepStatus, ToolError, result_blob};

/// Simulated tools with their classes. Plain occurs twice because it is the class with the strictest
/// guarantees.
pub(super) const TOOLS: [(&str, EffectClass); 5] = [
    ("Shell", EffectClass::Plain),
    ("Mail", EffectClass::Plain),
    ("Read", EffectClass::Idempotent),
    ("Note", EffectClass::Internal),
    ("Task", EffectClass::Saga),
];

/// One call of a reply, and the result of its checks.
#[derive(Debug, Clone)]
pub(super) struct AskedDecision {
    pub(super) tool: usize,
    pub(super) argument: u8,
    pub(super) check: Check,
}

/// The result of the checks before the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    Passes,
    Faulty,
    Denied,
    Asks,
}

/// The result of one model request.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Reply {
        calls: Vec<AskedDecision>,
        usage: Usage,
    },
    Fail {
        kind: ModelFailureKind,
        retry_after_ms: Option<u64>,
    },
}

/// How some of the intended actions end: how many at once, and each result.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) at_once: usize,
    pub(super) newest_first: bool,
    pub(super) status: StepStatus,
}

/// Everything that will happen to a run. After the last entry of `asks` the model replies without tools.
#[derive(Debug, Clone)]
pub(super) struct SimulatedRun {
    pub(super) max_rounds: u32,
    pub(super) asks: Vec<Ask>,
    pub(super) ends: Vec<End>,
    pub(super) cancel_after: Option<usize>,
    /// The transition after which a stop arrives, before the intended effects begin.
    pub(super) stop_after: Option<usize>,
    /// The transition after which the budget is exceeded temporarily.
    pub(super) park_after: Option<usize>,
    /// The number of fallback models.
    pub(super) fallbacks: usize,
    /// The answers of people, one per decision.
    pub(super) rulings: Vec<ApprovalOutcome>,
    /// Whether internal actions start runs of other agents.
    pub(super) starts: bool,
}

/// One recorded transition.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) before: RunMachine,
    pub(super) reads: InputReads,
    pub(super) input: RunInput,
    pub(super) moved: Transition,
}

/// The stored row of one step.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) base: Option<ActionBase>,
    pub(super) status: StepStatus,
}

/// A simulated run with everything that was stored.
#[derive(Debug, Clone)]
pub(super) struct PlayedRun {
    pub(super) turn: RunMachine,
    pub(super) steps: Vec<Step>,
    pub(super) rows: BTreeMap<OperationId, Row>,
    pub(super) entries: Vec<EntryWrite>,
    pub(super) blobs: BTreeMap<BlobHash, Vec<u8>>,
}

pub(super) fn run_key() -> RunKey {
    RunKey(Digest::of(b"run"))
}

pub(super) fn body() -> BlobHash {
    BlobHash(Digest::of(b"what was said"))
}

pub(super) fn exceeded() -> BudgetExceeded {
    let spent = SpendTotal {
        settled: MicroUsd(4),
        reserved: MicroUsd(0),
    };
    BudgetExceeded::of_cap(BudgetScope::All, MicroUsd(5), spent, MicroUsd(2)).on(UtcDay(1))
}

/// A call that passes every check.
pub(super) fn call(tool: &str, argument: u8) -> AskedDecision {
    let tool = TOOLS
        .iter()
        .position(|(name, _)| *name == tool)
        .expect("a tool of the world");
    AskedDecision {
        tool,
        argument,
        check: Check::Passes,
    }
}

/// A reply with these calls.
pub(super) fn asks_for(calls: &[AskedDecision]) -> Ask {
    Ask::Reply {
        calls: calls.to_vec(),
        usage: Usage::of(3, 1),
    }
}

pub(super) fn failure(kind: ModelFailureKind, retry_after_ms: Option<u64>) -> ModelFailure {
    ModelFailure {
        retry_after_ms,
        ..ModelFailure::new(
            kind,
            FailureArtifact::new(FailureCategory::Transport, "http", "no"),
        )
    }
}

impl PlayedRun {
    /// A run that has begun.
    pub(super) fn begun(max_rounds: u32) -> Self {
        Self::routed(max_rounds, 0)
    }

    /// A run that has begun and has fallback models.
    pub(super) fn routed(max_rounds: u32, fallbacks: usize) -> Self {
        let names = (1..=fallbacks).map(|n| format!("scripted:fallback{n}")).collect();
        let turn = RunMachine::new(run_key(), "scripted:x".into(), max_rounds).with_fallbacks(names);
        let mut played = Self {
            turn,
            steps: Vec::new(),
            rows: BTreeMap::new(),
            entries: Vec::new(),
            blobs: BTreeMap::new(),
        };
        played.take(RunInput::admitted(body()), InputReads::default());
        played
    }

    /// Parks the run and resumes it.
    pub(super) fn park(&mut self) {
        self.take(RunInput::Parked { exceeded: exceeded() }, InputReads::default());
        assert_eq!(
            self.turn.pending_effects(),
            [],
            "nothing is under way without money"
        );
        self.take(RunInput::Resumed, InputReads::default());
    }

    /// Plays a simulated run to its end.
    pub(super) fn of(world: &SimulatedRun) -> Self {
        let mut played = Self::routed(world.max_rounds, world.fallbacks);
        let (mut asks, mut ends) = (world.asks.iter(), world.ends.iter().cycle());
        let mut rulings = world.rulings.iter().cycle();
        let calls: usize = world.asks.iter().map(Ask::call_count).sum();
        // Each step settles a request or at least one action, or is the cancellation. A stop takes one
        // step, and so does resuming after it. Every call may need an approval, and a second one after it
        // expires. Every call may start a run before it ends.
        let bound = 7 + world.asks.len() + 4 * calls;
        while played.turn.outcome().is_none() {
            assert!(played.steps.len() < bound, "no end after {bound} transitions");
            if world.cancel_after == Some(played.steps.len()) {
                played.take(RunInput::Cancelled, InputReads::default());
                continue;
            }
            let acting = matches!(played.turn.phase, RunPhase::Acting { .. });
            if acting && world.stop_after == Some(played.steps.len()) {
                played.take(RunInput::Postponed, InputReads::default());
                assert_eq!(
                    played.turn.pending_effects(),
                    [],
                    "nothing is under way after a stop"
                );
                played.take(RunInput::Settled { results: vec![] }, InputReads::default());
                continue;
            }
            let modelling = matches!(played.turn.phase, RunPhase::Modelling { .. });
            if modelling && world.park_after == Some(played.steps.len()) {
                played.park();
                continue;
            }
            match &played.turn.phase {
                RunPhase::Modelling { .. } => played.ask(asks.next().unwrap_or(&asks_for(&[]))),
                RunPhase::Acting { .. } if world.starts && played.may_start() => played.start(),
                RunPhase::Acting { .. } if played.turn.waits_on_runs() => {
                    played.end_runs(ends.next().expect("a cycle"));
                }
                RunPhase::Acting { .. } => match played.turn.waits_on() {
                    Some(decision) => played.decide(decision, rulings.next().expect("a cycle").clone()),
                    None => played.end(ends.next().expect("a cycle")),
                },
                RunPhase::Parked { .. } | RunPhase::Ended { .. } => unreachable!("has no outcome"),
            }
        }
        played
    }

    /// Applies the answer or the timeout of a decision. An expired approval is requested again and then
    /// denied.
    pub(super) fn decide(&mut self, decision_id: DecisionId, ruling: ApprovalOutcome) {
        if ruling != ApprovalOutcome::Expired {
            self.take(RunInput::Decided { decision_id, ruling }, InputReads::default());
            return;
        }
        let written = self.steps.iter().flat_map(|step| &step.moved.decisions);
        let mut asked = written.filter_map(|write| match write {
            DecisionWrite::Ask(inquiry) if inquiry.decision_id == decision_id => Some(inquiry.clone()),
            DecisionWrite::Ask(_) | DecisionWrite::Apply(_) | DecisionWrite::Withdraw(_) => None,
        });
        let inquiry = asked.next_back().expect("a question that was asked");
        self.take(RunInput::ApprovalExpired { inquiry }, InputReads::default());
        let again = self.turn.waits_on().expect("it is asked again");
        assert_ne!(again, decision_id, "another question has another name");
        self.decide(again, ApprovalOutcome::Denied { note: None });
    }

    /// The model replies or fails.
    pub(super) fn ask(&mut self, ask: &Ask) {
        let (input, reads) = match ask {
            Ask::Fail { kind, retry_after_ms } => {
                let failure = failure(*kind, *retry_after_ms);
                (
                    RunInput::AttemptFailed {
                        failure,
                        duration_ms: 5,
                        bill: AttemptCost::default(),
                    },
                    InputReads::default(),
                )
            }
            Ask::Reply { calls, usage } => self.reply(calls, *usage),
        };
        self.take(input, reads);
    }

    /// Builds a reply with the reads that the driver would load for it.
    pub(super) fn reply(&mut self, calls: &[AskedDecision], usage: Usage) -> (RunInput, InputReads) {
        let request = self.turn.requests;
        let blocks = calls.iter().enumerate().map(|(index, call)| {
            let (call_id, name) = (format!("c{request}_{index}"), TOOLS[call.tool].0.to_owned());
            Block::ToolUse(ToolCall {
                call_id,
                name,
                input: json!({"n": call.argument}),
            })
        });
        let words = Block::Text {
            text: format!("round {request}"),
        };
        let blocks: Vec<Block> = std::iter::once(words).chain(blocks).collect();
        let (reply, blob) = reply::read(&blocks, usage, &json!({})).expect("a good reply");
        self.keep(&blob);
        let reads = calls.iter().zip(&reply.calls);
        let reads = reads.map(|(call, named)| self.read(call, &named.parts.base()));
        let reads = InputReads {
            calls: reads.collect(),
            ..InputReads::default()
        };
        (RunInput::Replied(reply), reads)
    }

    fn read(&self, call: &AskedDecision, base: &ActionBase) -> CallReads {
        let equal = self.rows.values().filter(|row| row.base.as_ref() == Some(base));
        let unknown = equal.clone().any(|row| row.status == StepStatus::OutcomeUnknown);
        let seen = PriorActions {
            count: u64::try_from(equal.count()).expect("small"),
            unknown,
            newest_unknown: unknown.then_some(OperationId(base.0)),
        };
        let effect = match call.check {
            Check::Denied => policy::PolicyEffect::Deny,
            Check::Asks => policy::PolicyEffect::Ask,
            Check::Passes | Check::Faulty => policy::PolicyEffect::Permit,
        };
        CallReads {
            evidence: None,
            linked_site: None,
            stop: None,
            risk: None,
            class: TOOLS[call.tool].1,
            fault: (call.check == Check::Faulty).then(|| ToolError::new("invalid_arguments", "no", "")),
            verdict: policy::PolicyVerdict {
                effect,
                rule: "rule".into(),
                policy_version: PolicyVersion::new("p1"),
            },
            retry: None,
            seen,
            diff: None,
            targets: Vec::new(),
            constraint: None,
            guardrails: Vec::new(),
        }
    }

    /// Settles some of the intended actions.
    pub(super) fn end(&mut self, end: &End) {
        let mut open = self.turn.pending_effects();
        if end.newest_first {
            open.reverse();
        }
        let results = open
            .iter()
            .take(end.at_once)
            .map(|effect| self.result(effect, end.status))
            .collect();
        self.take(RunInput::Settled { results }, InputReads::default());
    }

    /// Settles all intended actions with the same status.
    pub(super) fn end_all(&mut self, status: StepStatus) {
        self.end(&End {
            at_once: usize::MAX,
            newest_first: false,
            status,
        });
    }

    pub(super) fn result(&mut self, effect: &Effect, status: StepStatus) -> StepResult {
        let Effect::Act {
            operation_id,
            call_id,
            ..
        } = effect
        else {
            panic!("{effect:?} is not an action")
        };
        let blob = result_blob(call_id, status != StepStatus::Ok, "done".into()).expect("canonical");
        self.keep(&blob);
        StepResult {
            sources: Sources::none(),
            operation_id: *operation_id,
            status,
            content: blob.hash(),
            duration_ms: 7,
            exit_status: None,
            sandbox: Some("none".into()),
            code: None,
            error: None,
            refused: Vec::new(),
            changed: Vec::new(),
            written_bytes: None,
            again: None,
        }
    }

    /// Applies one input and stores the transition, as a driver does.
    pub(super) fn take(&mut self, input: RunInput, reads: InputReads) {
        let before = self.turn.clone();
        let moved = before
            .clone()
            .apply(&reads, input.clone())
            .expect("an input that fits");
        moved.steps.iter().for_each(|write| self.write(write));
        moved.blobs.iter().for_each(|blob| self.keep(blob));
        self.entries.extend(moved.entries.iter().cloned());
        self.turn = moved.turn.clone();
        self.steps.push(Step {
            before,
            reads,
            input,
            moved,
        });
    }

    /// Applies a step write with the constraints of the table: a step is added once, begins once and ends
    /// once.
    fn write(&mut self, write: &StepWrite) {
        match write {
            StepWrite::Put {
                operation_id,
                base,
                status,
                ..
            } => {
                let known = self.rows.insert(
                    *operation_id,
                    Row {
                        base: *base,
                        status: *status,
                    },
                );
                assert!(known.is_none(), "step {operation_id} was put twice");
            }
            StepWrite::Intend(id) => self.change(id, StepStatus::Planned, StepStatus::Intended),
            StepWrite::Postpone(id) => self.change(id, StepStatus::Intended, StepStatus::Planned),
            StepWrite::AwaitApproval(id) => {
                self.change(id, StepStatus::Planned, StepStatus::WaitingForApproval);
            }
            StepWrite::Approve(id) => self.change(id, StepStatus::WaitingForApproval, StepStatus::Planned),
            StepWrite::Settle {
                operation_id, status, ..
            } => {
                let row = self.rows.get_mut(operation_id).expect("a step that was put");
                assert!(is_open(row.status), "step {operation_id} ended twice");
                row.status = *status;
            }
            StepWrite::Saga(_) => {}
        }
    }

    fn change(&mut self, id: &OperationId, from: StepStatus, to: StepStatus) {
        let row = self.rows.get_mut(id).expect("a step that was put");
        assert_eq!(row.status, from, "step {id} becomes {to}");
        row.status = to;
    }

    fn keep(&mut self, blob: &Blob) {
        self.blobs.insert(blob.hash(), blob.bytes().to_vec());
    }

    /// Returns the call that a transcript entry answers.
    pub(super) fn answered(&self, entry: &EntryWrite) -> String {
        let bytes = self.blobs.get(&entry.content).expect("contents that were kept");
        let blocks: Vec<Block> = serde_json::from_slice(bytes).expect("blocks");
        match blocks.as_slice() {
            [Block::ToolResult { call_id, .. }] => call_id.clone(),
            other => panic!("{other:?} is not a result"),
        }
    }

    /// Returns the result of a call that the model reads in the newest transcript entries.
    pub(super) fn receipt(&self, call_id: &str) -> serde_json::Value {
        let results = self
            .entries
            .iter()
            .rev()
            .filter(|entry| entry.role == crate::conversation::Role::Tool);
        let entry = results
            .into_iter()
            .find(|entry| self.answered(entry) == call_id)
            .expect("a result");
        let blocks: serde_json::Value = serde_json::from_slice(&self.blobs[&entry.content]).expect("json");
        serde_json::from_str(blocks[0]["content"].as_str().expect("text")).unwrap_or_default()
    }

    pub(super) fn last(&self) -> &Transition {
        &self.steps.last().expect("a transition").moved
    }
}

impl Ask {
    fn call_count(&self) -> usize {
        match self {
            Self::Reply { calls, .. } => calls.len(),
            Self::Fail { .. } => 0,
        }
    }
}

pub(super) const fn is_open(status: StepStatus) -> bool {
    status.is_open()
}
