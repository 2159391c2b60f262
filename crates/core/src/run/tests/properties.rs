//! Properties that hold for every simulated run.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::generators::any_run;
use super::simulated_run::{PlayedRun, is_open, run_key};
use crate::conversation::{Role, Usage};
use crate::decision::ApprovalOutcome;
use crate::key::{ActionBase, DecisionId, OperationId};
use crate::policy;
use crate::run::{
    DecisionWrite, Effect, InputReads, ReplyCall, RunInput, RunMachine, RunOutcome, STATE_BYTES_MAX,
    StepWrite,
};
use crate::saga;
use crate::step::{CallReads, EffectClass, StepStatus};

/// Returns the calls of every reply with their read sets, in order.
fn calls(played: &PlayedRun) -> impl Iterator<Item = (&ReplyCall, &CallReads)> {
    played.steps.iter().flat_map(|step| match &step.input {
        RunInput::Replied(reply) => reply.calls.iter().zip(&step.reads.calls).collect::<Vec<_>>(),
        RunInput::Admitted { .. }
        | RunInput::AttemptFailed { .. }
        | RunInput::Parked { .. }
        | RunInput::Resumed
        | RunInput::Settled { .. }
        | RunInput::Started { .. }
        | RunInput::Postponed
        | RunInput::Decided { .. }
        | RunInput::ApprovalExpired { .. }
        | RunInput::Cancelled => {
            vec![]
        }
    })
}

/// Returns the steps that a transition adds, except model rounds.
fn puts(writes: &[StepWrite]) -> impl Iterator<Item = (OperationId, ActionBase)> {
    writes.iter().filter_map(|write| match write {
        StepWrite::Put {
            operation_id, base, ..
        } => base.map(|base| (*operation_id, base)),
        StepWrite::Intend(_)
        | StepWrite::Postpone(_)
        | StepWrite::Settle { .. }
        | StepWrite::Saga(_)
        | StepWrite::AwaitApproval(_)
        | StepWrite::Approve(_) => None,
    })
}

const fn operation(effect: &Effect) -> OperationId {
    match effect {
        Effect::CallModel { operation_id, .. } | Effect::Act { operation_id, .. } => *operation_id,
    }
}

fn is_plain(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Act {
            class: EffectClass::Plain,
            ..
        }
    )
}

/// Returns the steps that a transition settles.
fn settled(writes: &[StepWrite]) -> BTreeMap<OperationId, StepStatus> {
    let ends = writes.iter().filter_map(|write| match write {
        StepWrite::Settle {
            operation_id, status, ..
        } => Some((*operation_id, *status)),
        StepWrite::Put { .. }
        | StepWrite::Intend(_)
        | StepWrite::Postpone(_)
        | StepWrite::Saga(_)
        | StepWrite::AwaitApproval(_)
        | StepWrite::Approve(_) => None,
    });
    ends.collect()
}

/// Returns the sagas that a transition begins, and those that it ends.
fn sagas(writes: &[StepWrite]) -> [BTreeSet<OperationId>; 2] {
    let sagas = writes.iter().filter_map(|write| match write {
        StepWrite::Saga(saga) => Some((saga.operation_id, saga.phase == saga::SagaPhase::Intent)),
        StepWrite::Put { .. }
        | StepWrite::Intend(_)
        | StepWrite::Postpone(_)
        | StepWrite::Settle { .. }
        | StepWrite::AwaitApproval(_)
        | StepWrite::Approve(_) => None,
    });
    let (begun, ended): (Vec<_>, Vec<_>) = sagas.partition(|(_, begins)| *begins);
    [begun, ended].map(|some| some.into_iter().map(|(operation_id, _)| operation_id).collect())
}

/// Returns the steps whose intent a transition reverts.
fn postponed(writes: &[StepWrite]) -> BTreeSet<OperationId> {
    let taken_back = writes.iter().filter_map(|write| match write {
        StepWrite::Postpone(operation_id) => Some(*operation_id),
        StepWrite::Put { .. }
        | StepWrite::Intend(_)
        | StepWrite::Settle { .. }
        | StepWrite::Saga(_)
        | StepWrite::AwaitApproval(_)
        | StepWrite::Approve(_) => None,
    });
    taken_back.collect()
}

proptest! {
    /// Recovery must find exactly the sagas that were intended and have no result.
    #[test]
    fn a_saga_begins_with_its_intent_and_ends_with_its_result(world in any_run()) {
        let played = PlayedRun::of(&world);
        let is_saga = |operation: &OperationId| played.steps.iter().flat_map(|step| &step.moved.steps).any(|write| {
            matches!(write, StepWrite::Put { operation_id, class: Some(EffectClass::Saga), .. } if operation_id == operation)
        });
        let mut open = BTreeSet::new();
        for step in &played.steps {
            let [begun, ended] = sagas(&step.moved.steps);
            let intended = step.moved.steps.iter().filter_map(|write| match write {
                StepWrite::Intend(operation_id) => Some(*operation_id),
                StepWrite::Put { .. } | StepWrite::Postpone(_) | StepWrite::Settle { .. } | StepWrite::Saga(_)
                | StepWrite::AwaitApproval(_) | StepWrite::Approve(_) => None,
            });
            prop_assert_eq!(&begun, &intended.filter(is_saga).collect());
            let over: BTreeSet<_> = settled(&step.moved.steps).into_keys().filter(|id| open.contains(id)).collect();
            let taken_back = postponed(&step.moved.steps);
            prop_assert_eq!(&ended, &over);
            open.retain(|id| !ended.contains(id) && !taken_back.contains(id));
            open.extend(begun);
        }
        prop_assert!(open.is_empty(), "a run ended with {open:?}");
    }

    // Conformance: L-069, A-35, A-235
    /// Replay and recovery depend on this: an input read back from the run log must have the same effect as
    /// the original.
    #[test]
    fn a_replayed_run_log_gives_the_same_states_effects_and_events(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut turn = played.steps[0].before.clone();
        for step in &played.steps {
            let stored = serde_json::to_vec(&(&step.input, &step.reads)).expect("json");
            let (input, reads): (RunInput, InputReads) = serde_json::from_slice(&stored).expect("what was stored");
            let moved = turn.apply(&reads, input).expect("an input that fitted before");
            prop_assert_eq!(&moved, &step.moved);
            turn = moved.turn;
        }
        prop_assert_eq!(turn, played.turn);
    }

    /// The simulated run is finite; the test checks that it leaves nothing open.
    #[test]
    fn every_run_ends_with_all_steps_ended_and_a_small_state(world in any_run()) {
        let played = PlayedRun::of(&world);
        prop_assert!(played.rows.values().all(|row| !is_open(row.status)), "{:?}", played.rows);
        prop_assert!(played.turn.pending_effects().is_empty());
        prop_assert!(played.last().effects.is_empty());
        for step in &played.steps {
            let state = serde_json::to_string(&step.moved.turn).expect("json");
            prop_assert!(state.len() <= STATE_BYTES_MAX, "{} bytes", state.len());
        }
    }

    // Conformance: L-146
    /// Providers reject a conversation in which a call has no result or a result has no call.
    #[test]
    fn every_call_has_one_result_in_order_right_after_its_reply(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut entries = played.entries.iter();
        prop_assert_eq!(entries.next().map(|entry| entry.role), Some(Role::User));
        for step in &played.steps {
            let RunInput::Replied(reply) = &step.input else { continue };
            let said = entries.next().expect("the reply itself");
            prop_assert_eq!((said.role, said.content), (Role::Assistant, reply.content));
            for call in &reply.calls {
                let result = entries.next().expect("a result");
                prop_assert_eq!(result.role, Role::Tool);
                prop_assert_eq!(played.answered(result), call.call_id.clone());
            }
        }
        prop_assert!(entries.next().is_none());
    }

    /// A plain action cannot be repeated, so a crash during another action must not interrupt it.
    #[test]
    fn a_plain_action_is_intended_alone_with_nothing_else_open(world in any_run()) {
        for step in &PlayedRun::of(&world).steps {
            for effects in [&step.moved.effects, &step.moved.turn.pending_effects()] {
                prop_assert!(effects.len() <= 1 || !effects.iter().any(is_plain), "{:?}", effects);
            }
        }
    }

    /// A call that fails a check or is denied by policy only produces a result for the model.
    #[test]
    fn a_refused_call_never_becomes_an_effect(world in any_run()) {
        let played = PlayedRun::of(&world);
        let refused: BTreeSet<&str> = calls(&played)
            .filter(|(_, read)| read.fault.is_some() || read.verdict.effect == policy::PolicyEffect::Deny)
            .map(|(call, _)| call.call_id.as_str())
            .collect();
        for effect in played.steps.iter().flat_map(|step| &step.moved.effects) {
            if let Effect::Act { call_id, .. } = effect {
                prop_assert!(!refused.contains(call_id.as_str()), "{} was refused", call_id);
            }
        }
    }

    // Conformance: L-149
    /// No effect is issued without a committed intent, and none is issued twice unless its intent was
    /// reverted before it began. A driver that performs effects as they arrive therefore performs each
    /// once.
    #[test]
    fn every_effect_is_intended_in_its_transition_and_issued_once(world in any_run()) {
        let mut asked = BTreeSet::new();
        for step in &PlayedRun::of(&world).steps {
            let intents = step.moved.steps.iter().filter_map(|write| match write {
                StepWrite::Intend(operation_id) => Some(*operation_id),
                StepWrite::Put { operation_id, status: StepStatus::Intended, .. } => Some(*operation_id),
                StepWrite::Put { .. } | StepWrite::Postpone(_) | StepWrite::Settle { .. } | StepWrite::Saga(_)
                | StepWrite::AwaitApproval(_) | StepWrite::Approve(_) => None,
            });
            let effects: Vec<OperationId> = step.moved.effects.iter().map(operation).collect();
            prop_assert_eq!(intents.collect::<Vec<_>>(), effects.clone());
            for taken_back in postponed(&step.moved.steps) {
                prop_assert!(asked.remove(&taken_back), "{} was never asked for", taken_back);
            }
            for operation in effects {
                prop_assert!(asked.insert(operation), "{} was asked for twice", operation);
            }
        }
    }

    // Conformance: L-149, A-33
    /// A crash loses everything but the stored state. The state then waits for the issued effects without a
    /// result: right after a transition that issued effects, exactly those.
    #[test]
    fn a_restored_state_waits_for_effects_without_a_result(world in any_run()) {
        let mut open: Vec<Effect> = Vec::new();
        for step in &PlayedRun::of(&world).steps {
            let ended = settled(&step.moved.steps);
            let taken_back = postponed(&step.moved.steps);
            open.retain(|effect| !ended.contains_key(&operation(effect)) && !taken_back.contains(&operation(effect)));
            open.extend(step.moved.effects.iter().cloned());
            // An action that started a run ends with that run and is not in progress here.
            let runs: BTreeSet<OperationId> = step.moved.turn.children().into_iter().map(|(one, _)| one).collect();
            open.retain(|effect| !runs.contains(&operation(effect)));
            let stored = serde_json::to_string(&step.moved.turn).expect("json");
            let revived: RunMachine = serde_json::from_str(&stored).expect("what was stored");
            prop_assert_eq!(&revived, &step.moved.turn);
            prop_assert_eq!(&revived.pending_effects(), &open);
            if !step.moved.effects.is_empty() {
                prop_assert_eq!(&revived.pending_effects(), &step.moved.effects);
            }
        }
    }

    // Conformance: L-148
    /// Two intended repetitions stay two actions, and every replica derives the same id for each.
    #[test]
    fn operation_ids_are_unique_and_identical_actions_count_from_zero(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut counts: BTreeMap<ActionBase, u64> = BTreeMap::new();
        let named = played.steps.iter().flat_map(|step| puts(&step.moved.steps));
        let mut seen = BTreeSet::new();
        for ((call, _), (operation_id, base)) in calls(&played).zip(named) {
            prop_assert_eq!(call.parts.base(), base);
            let count = counts.entry(base).or_insert(0);
            prop_assert_eq!(operation_id, OperationId::new(&run_key(), &call.parts.stable_id(*count)));
            prop_assert!(seen.insert(operation_id));
            *count += 1;
        }
        prop_assert_eq!(seen.len(), calls(&played).count());
    }

    /// An action with an unknown outcome is never repeated silently, neither by a later reply nor by a
    /// duplicate in the same plan. A person may approve the repetition.
    #[test]
    fn an_unknown_action_is_repeated_only_with_approval(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut unknown: BTreeSet<ActionBase> = BTreeSet::new();
        let mut approved = BTreeSet::new();
        for step in &played.steps {
            if let RunInput::Decided { decision_id, ruling: ApprovalOutcome::Approved { .. } } = &step.input {
                approved.insert(*decision_id);
            }
            let ended = settled(&step.moved.steps).into_iter();
            let lost = ended.filter(|(_, status)| *status == StepStatus::OutcomeUnknown);
            unknown.extend(lost.filter_map(|(operation, _)| played.rows[&operation].base));
            for effect in &step.moved.effects {
                let base = played.rows[&operation(effect)].base;
                let is_equal = base.is_some_and(|base| unknown.contains(&base));
                let is_meant = approved.contains(&DecisionId::new(&operation(effect), 0));
                prop_assert!(!is_equal || is_meant, "{:?} is repeated", effect);
            }
        }
    }

    /// An action that needs approval begins only after a person approved exactly this action.
    #[test]
    fn an_action_that_needs_approval_begins_only_after_it(world in any_run()) {
        let played = PlayedRun::of(&world);
        let (mut asked, mut approved) = (BTreeSet::new(), BTreeSet::new());
        for step in &played.steps {
            for write in &step.moved.decisions {
                if let DecisionWrite::Ask(inquiry) = write {
                    asked.insert(inquiry.operation_id);
                    approved.remove(&inquiry.operation_id);
                }
            }
            if let RunInput::Decided { decision_id, ruling: ApprovalOutcome::Approved { .. } } = &step.input {
                let of_this = |operation: &&OperationId| (0..3).any(|n| DecisionId::new(operation, n) == *decision_id);
                approved.extend(asked.iter().find(of_this).copied());
            }
            for effect in &step.moved.effects {
                let operation = operation(effect);
                prop_assert!(!asked.contains(&operation) || approved.contains(&operation), "{:?}", effect);
            }
        }
    }

    /// Open decisions of ended runs would only add noise to the person's queue.
    #[test]
    fn a_run_that_ended_has_no_open_decision(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut open = BTreeSet::new();
        for write in played.steps.iter().flat_map(|step| &step.moved.decisions) {
            match write {
                DecisionWrite::Ask(inquiry) => prop_assert!(open.insert(inquiry.decision_id), "asked twice"),
                DecisionWrite::Apply(one) | DecisionWrite::Withdraw(one) => prop_assert!(open.remove(one)),
            }
        }
        prop_assert!(open.is_empty(), "{:?}", open);
    }

    /// The parent waits for each sub-run and receives its result once.
    #[test]
    fn a_sub_run_is_started_once_and_its_result_delivered_once(world in any_run()) {
        let played = PlayedRun::of(&world);
        let (mut started, mut told) = (BTreeSet::new(), BTreeSet::new());
        for step in &played.steps {
            if let RunInput::Started { starts } = &step.input {
                for start in starts {
                    prop_assert!(started.insert(start.operation_id), "started twice");
                }
            }
            // No external effect begins while a sub-run is in progress.
            if !step.moved.turn.children().is_empty() {
                prop_assert!(!step.moved.effects.iter().any(is_plain));
            }
            let ends = settled(&step.moved.steps);
            for operation in ends.keys().filter(|operation| started.contains(*operation)) {
                prop_assert!(told.insert(*operation), "told twice");
            }
        }
        prop_assert_eq!(started, told);
    }

    /// Billing is based on these counters.
    #[test]
    fn rounds_requests_and_tokens_are_the_sums_of_the_inputs(world in any_run()) {
        let played = PlayedRun::of(&world);
        let (mut rounds, mut requests, mut usage) = (0, 0, Usage::default());
        for step in &played.steps {
            match &step.input {
                RunInput::Replied(reply) => {
                    (rounds, requests) = (rounds + 1, requests + 1);
                    usage = usage.plus(reply.usage);
                }
                RunInput::AttemptFailed { .. } => requests += 1,
                RunInput::Admitted { .. }
                | RunInput::Parked { .. }
                | RunInput::Resumed
                | RunInput::Settled { .. }
                | RunInput::Started { .. }
                | RunInput::Postponed
                | RunInput::Decided { .. }
                | RunInput::ApprovalExpired { .. }
                | RunInput::Cancelled => {}
            }
            let turn = &step.moved.turn;
            prop_assert_eq!((turn.rounds, turn.requests, turn.usage), (rounds, requests, usage));
        }
        prop_assert!(rounds <= world.max_rounds.max(1));
        if played.turn.outcome() == Some(&RunOutcome::OutOfRounds) {
            prop_assert_eq!(rounds, world.max_rounds.max(1));
        }
    }
}
