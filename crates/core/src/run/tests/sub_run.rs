//! Sub-runs: start, wait, result and cancellation.

use super::simulated_run::{AskedDecision, End, PlayedRun, asks_for, call};
use crate::conversation::Usage;
use crate::id::AgentId;
use crate::key::{Digest, OperationId, RunKey};
use crate::report::EventKind;
use crate::run::{
    Effect, InputReads, RunInput, RunMachine, RunOutcome, RunPhase, SubRunStart, UnexpectedInput,
};
use crate::step::{ActionStatus, ChildRun, EffectClass, StepStatus};
use crate::sub_run::{START_RUN, STARTS_PER_ROUND_MAX};

const WAITING: &str = include_str!("../golden/turn_v2_started.json");

/// A run that has started one sub-run per call of its reply.
fn waiting(calls: &[AskedDecision]) -> PlayedRun {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(calls));
    played.start();
    played
}

fn one_end(status: StepStatus) -> End {
    End {
        at_once: 1,
        newest_first: false,
        status,
    }
}

impl PlayedRun {
    /// Returns whether the next action starts a sub-run.
    pub(super) fn may_start(&self) -> bool {
        let next = self.turn.pending_effects().into_iter().next();
        next.is_some_and(|effect| is_internal(&effect))
    }

    /// Starts sub-runs for the intended internal actions, up to the first action of another class.
    pub(super) fn start(&mut self) {
        let pending = self.turn.pending_effects().into_iter();
        let starts = pending.take_while(is_internal).map(|effect| match effect {
            Effect::Act { operation_id, .. } => started(operation_id),
            Effect::CallModel { .. } => unreachable!("not an action"),
        });
        let starts = starts.collect();
        self.take(RunInput::Started { starts }, InputReads::default());
    }

    /// Ends some of the started sub-runs.
    pub(super) fn end_runs(&mut self, end: &End) {
        let mut children = self.turn.children();
        if end.newest_first {
            children.reverse();
        }
        let status = if end.status == StepStatus::Ok {
            StepStatus::Ok
        } else {
            StepStatus::Failed
        };
        let results = children.into_iter().take(end.at_once).map(|(operation_id, _)| {
            let call_id = self.turn.call_id(operation_id).expect("a call").to_owned();
            let effect = Effect::Act {
                operation_id,
                position: 0,
                call_id,
                class: EffectClass::Internal,
            };
            self.result(&effect, status)
        });
        let results = results.collect();
        self.take(RunInput::Settled { results }, InputReads::default());
    }
}

fn started(operation_id: OperationId) -> SubRunStart {
    let agent_id = AgentId::parse("helper").expect("an id");
    let run_key = RunKey::of_spawn(&agent_id, &operation_id);
    SubRunStart {
        operation_id,
        child: ChildRun { agent_id, run_key },
        depth: 1,
    }
}

fn is_internal(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Act {
            class: EffectClass::Internal,
            ..
        }
    )
}

// Conformance: A-32
#[test]
fn a_run_waits_for_its_sub_run_and_continues_with_the_result() {
    let mut played = waiting(&[call("Note", 0)]);
    assert!(played.turn.waits_on_runs());
    assert_eq!(played.turn.pending_effects(), [], "nothing is under way here");
    assert!(
        played
            .last()
            .events
            .iter()
            .any(|event| event.kind() == EventKind::SubRunStarted)
    );
    played.end_runs(&one_end(StepStatus::Ok));
    assert!(!played.turn.waits_on_runs());
    assert!(matches!(played.turn.phase, RunPhase::Modelling { .. }));
}

#[test]
fn sub_runs_started_together_block_every_other_action() {
    let mut played = waiting(&[call("Note", 0), call("Note", 1), call("Shell", 0)]);
    assert_eq!(played.turn.children().len(), 2);
    played.end_runs(&one_end(StepStatus::Failed));
    assert_eq!(
        (played.turn.children().len(), played.turn.pending_effects().len()),
        (1, 0)
    );
    played.end_runs(&one_end(StepStatus::Ok));
    assert_eq!(
        played.turn.pending_effects().len(),
        1,
        "now the command may begin"
    );
}

#[test]
fn actions_intended_with_a_start_continue_while_the_run_waits() {
    let played = waiting(&[call("Note", 0), call("Task", 0)]);
    assert_eq!(played.turn.pending_effects().len(), 1);
    assert!(!played.turn.waits_on_runs(), "there is something to do");
}

#[test]
fn cancelling_a_waiting_run_leaves_a_result_for_every_call() {
    let mut played = waiting(&[call("Note", 0), call("Shell", 0)]);
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Cancelled));
    assert_eq!(played.receipt("c0_0")["kind"], "cancelled");
    assert!(
        played.receipt("c0_0")["message"]
            .as_str()
            .is_some_and(|said| said.contains("the one it started"))
    );
    assert!(
        played.receipt("c0_1")["message"]
            .as_str()
            .is_some_and(|said| said.contains("before this action began"))
    );
}

#[test]
fn an_unintended_or_repeated_start_is_rejected() {
    let foreign = started(OperationId(Digest::of(b"another")));
    let played = waiting(&[call("Note", 0)]);
    let (operation_id, _) = played.turn.children()[0].clone();
    for start in [foreign, started(operation_id)] {
        let input = RunInput::Started { starts: vec![start] };
        let misfit = played.turn.clone().apply(&InputReads::default(), input);
        assert!(
            matches!(misfit, Err(UnexpectedInput::ForeignOperation(_))),
            "{misfit:?}"
        );
    }
}

#[test]
fn one_reply_starts_a_bounded_number_of_runs() {
    let mut played = PlayedRun::begun(9);
    let calls: Vec<AskedDecision> = (0..=STARTS_PER_ROUND_MAX).map(|_| call("Note", 0)).collect();
    let (RunInput::Replied(mut reply), reads) = played.reply(&calls, Usage::default()) else {
        panic!("no reply")
    };
    for call in &mut reply.calls {
        call.parts.tool = START_RUN.to_owned();
    }
    played.take(RunInput::Replied(reply), reads);
    assert_eq!(played.turn.pending_effects().len(), STARTS_PER_ROUND_MAX);
    played.start();
    for _ in 0..STARTS_PER_ROUND_MAX {
        played.end_runs(&one_end(StepStatus::Ok));
    }
    let last = format!("c0_{STARTS_PER_ROUND_MAX}");
    assert_eq!(played.receipt(&last)["kind"], "too_many_runs");
}

#[test]
fn a_stored_state_that_waits_for_a_sub_run_continues() {
    let turn: RunMachine = serde_json::from_str(WAITING).expect("a state that was stored");
    let stored: serde_json::Value = serde_json::from_str(WAITING).expect("json");
    assert_eq!(serde_json::to_value(&turn).expect("json"), stored);
    assert!(turn.waits_on_runs());
    let RunPhase::Acting { actions, .. } = &turn.phase else {
        panic!("does not act")
    };
    assert!(matches!(actions[0].fate, ActionStatus::Started(_)));
    let cancelled = turn
        .apply(&InputReads::default(), RunInput::Cancelled)
        .expect("fits");
    assert_eq!(cancelled.turn.outcome(), Some(&RunOutcome::Cancelled));
}
