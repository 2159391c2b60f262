//! Stored states of this machine version. Every program with this version must be able to read them; if one
//! of these tests fails after a release, the machine needs a new version and not a new file.

use std::collections::BTreeSet;

use super::simulated_run::body;
use crate::blob::BlobHash;
use crate::decision::ApprovalOutcome;
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use crate::key::Digest;
use crate::run::{
    AttemptCost, Effect, InputReads, MACHINE_VERSION, MACHINE_VERSION_OLDEST, RunInput, RunMachine,
    RunOutcome, RunPhase,
};
use crate::step::{Action, ActionStatus, EffectClass, PendingApproval, StepResult, StepStatus};
use crate::time::Millis;
use crate::tool::WakeReason;

const UNPAID: &str = include_str!("../golden/turn_v2_unpaid.json");
const UNTRUSTED: &str = include_str!("../golden/turn_v2_untrusted.json");
const DELAYED: &str = include_str!("../golden/turn_v2_delayed.json");
const OVER_LIMIT: &str = include_str!("../golden/turn_v2_over_limit.json");

/// States of one version, one per phase and action status.
struct Golden {
    not_begun: &'static str,
    modelling: &'static str,
    parked: &'static str,
    permitted: &'static str,
    asked: &'static str,
    intended: &'static str,
    started: &'static str,
    completed: &'static str,
    failed: &'static str,
    out_of_rounds: &'static str,
    cancelled: &'static str,
}

const STORED: Golden = Golden {
    not_begun: include_str!("../golden/turn_v2_not_begun.json"),
    modelling: include_str!("../golden/turn_v2_modelling.json"),
    parked: include_str!("../golden/turn_v2_parked.json"),
    permitted: include_str!("../golden/turn_v2_permitted.json"),
    asked: include_str!("../golden/turn_v2_asked.json"),
    intended: include_str!("../golden/turn_v2_intended.json"),
    started: include_str!("../golden/turn_v2_started.json"),
    completed: include_str!("../golden/turn_v2_completed.json"),
    failed: include_str!("../golden/turn_v2_failed.json"),
    out_of_rounds: include_str!("../golden/turn_v2_out_of_rounds.json"),
    cancelled: include_str!("../golden/turn_v2_cancelled.json"),
};

impl Golden {
    const fn all(&self) -> [&'static str; 11] {
        [
            self.not_begun,
            self.modelling,
            self.parked,
            self.permitted,
            self.asked,
            self.intended,
            self.started,
            self.completed,
            self.failed,
            self.out_of_rounds,
            self.cancelled,
        ]
    }
}

fn decode(text: &str) -> RunMachine {
    serde_json::from_str(text).expect("a state that was stored")
}

fn is_read_and_written_as_it_was(text: &str) {
    let stored: serde_json::Value = serde_json::from_str(text).expect("json");
    assert_eq!(serde_json::to_value(decode(text)).expect("json"), stored);
}

// Conformance: A-35
#[test]
fn stored_states_are_read_and_written_unchanged() {
    const {
        assert!(
            MACHINE_VERSION == 2 && MACHINE_VERSION_OLDEST == 2,
            "a new version needs golden states of its own"
        )
    };
    let all = [&STORED.all()[..], &[UNPAID, UNTRUSTED, DELAYED, OVER_LIMIT]].concat();
    all.into_iter().for_each(is_read_and_written_as_it_was);
}

#[test]
fn the_stored_states_cover_every_feature_of_a_state() {
    let all = [&STORED.all()[..], &[UNPAID, UNTRUSTED, DELAYED, OVER_LIMIT]].concat();
    let turns = all.into_iter().map(decode);
    let shown: BTreeSet<&str> = turns.flat_map(|turn| shown(&turn)).collect();
    assert_eq!(shown, BTreeSet::from(EVERYTHING));
}

const EVERYTHING: [&str; 41] = [
    "tool_rates",
    "delayed_tool",
    "answer_repairs",
    "fallbacks",
    "candidate",
    "deny_tools",
    "ask_tools",
    "sources",
    "has_acted_untrusted",
    "linked_reads",
    "open_hosts",
    "action.sources",
    "wake_reason",
    "read_only",
    "cost",
    "unpaid",
    "missed",
    "missed.exceeded",
    "delay_ms",
    "acting.exceeded",
    "doubted",
    "question",
    "question.until",
    "retry",
    "failures",
    "not_begun",
    "modelling",
    "parked",
    "waiting",
    "asked",
    "intended",
    "started",
    "settled",
    "internal",
    "idempotent",
    "plain",
    "saga",
    "completed",
    "failed",
    "out_of_rounds",
    "cancelled",
];

/// Returns the names of the features that a state uses. A new feature fails to compile here until it is
/// named, and then the test reports it missing from the stored file.
fn shown(turn: &RunMachine) -> BTreeSet<&'static str> {
    let RunMachine {
        run_key: _,
        model_ref: _,
        fallbacks,
        candidate,
        max_rounds: _,
        deny_tools,
        ask_tools,
        sources,
        has_acted_untrusted,
        has_open_hosts,
        linked_reads,
        tool_rates,
        wake_reason,
        is_read_only,
        workspace: _,
        rounds: _,
        requests: _,
        usage: _,
        cost,
        unpaid,
        answer_repairs,
        phase,
    } = turn;
    let mut shown = only(&[
        ("fallbacks", !fallbacks.is_empty()),
        ("candidate", *candidate > 0),
        ("deny_tools", !deny_tools.is_empty()),
        ("ask_tools", !ask_tools.is_empty()),
        ("sources", !sources.is_empty()),
        ("has_acted_untrusted", *has_acted_untrusted),
        ("linked_reads", !linked_reads.is_empty()),
        ("tool_rates", !tool_rates.is_empty()),
        ("open_hosts", *has_open_hosts),
        ("wake_reason", *wake_reason != WakeReason::UserInitiated),
        ("read_only", *is_read_only),
        ("cost", cost.0 > 0),
        ("unpaid", unpaid.is_some()),
        ("answer_repairs", *answer_repairs > 0),
    ]);
    shown.extend(shown_of_phase(phase));
    shown
}

fn shown_of_phase(phase: &RunPhase) -> BTreeSet<&'static str> {
    let mut shown = BTreeSet::new();
    match phase {
        RunPhase::Modelling {
            attempt,
            delay_ms: _,
            missed,
        } => shown.extend(only(&[
            ("not_begun", *attempt == 0),
            ("modelling", *attempt > 0),
            ("missed", !missed.is_empty()),
            (
                "missed.exceeded",
                missed.iter().any(|model| model.exceeded.is_some()),
            ),
        ])),
        RunPhase::Parked { missed, .. } => {
            shown.extend(only(&[("parked", true), ("missed", !missed.is_empty())]))
        }
        RunPhase::Acting {
            reply: _,
            actions,
            delay_ms,
            delayed_tool,
            exceeded,
        } => {
            shown.extend(only(&[
                ("delay_ms", *delay_ms > 0),
                ("delayed_tool", delayed_tool.is_some()),
            ]));
            shown.extend(exceeded.map(|_| "acting.exceeded"));
            shown.extend(actions.iter().flat_map(shown_of_action));
        }
        RunPhase::Ended { outcome, reply: _ } => {
            shown.insert(outcome.status().as_str());
        }
    }
    shown
}

fn shown_of_action(action: &Action) -> BTreeSet<&'static str> {
    let Action {
        operation_id: _,
        call_id: _,
        tool: _,
        base: _,
        class,
        fate,
        doubted,
        question,
        retry,
        failures,
        sources,
    } = action;
    let until = question.as_ref().and_then(|question| {
        let PendingApproval {
            decision_id: _,
            asked: _,
            until,
            targets: _,
        } = question;
        *until
    });
    let fate = match fate {
        ActionStatus::Waiting => "waiting",
        ActionStatus::AwaitingApproval => "asked",
        ActionStatus::Intended => "intended",
        ActionStatus::Started(_) => "started",
        ActionStatus::Settled(_) => "settled",
    };
    only(&[
        (class.as_str(), true),
        (fate, true),
        ("doubted", *doubted),
        ("question", question.is_some()),
        ("question.until", until.is_some()),
        ("retry", retry.is_some()),
        ("failures", *failures > 0),
        ("action.sources", !sources.is_empty()),
    ])
}

fn only(words: &[(&'static str, bool)]) -> BTreeSet<&'static str> {
    let there = words.iter().filter(|(_, is_there)| *is_there);
    there.map(|(word, _)| *word).collect()
}

/// Returns the calls of a state whose actions are intended.
fn pending(turn: &RunMachine) -> Vec<(String, EffectClass)> {
    let pending = turn.pending_effects().into_iter();
    let acts = pending.map(|effect| match effect {
        Effect::Act { call_id, class, .. } => (call_id, class),
        Effect::CallModel { .. } => panic!("not an action"),
    });
    acts.collect()
}

fn take(text: &str, input: RunInput) -> RunMachine {
    decode(text)
        .apply(&InputReads::default(), input)
        .expect("it fits")
        .turn
}

/// Settles every action in progress of a state successfully.
fn settle(text: &str) -> RunMachine {
    let turn = decode(text);
    let RunPhase::Acting { actions, .. } = &turn.phase else {
        panic!("it does not act")
    };
    let under_way = actions
        .iter()
        .filter(|action| matches!(action.fate, ActionStatus::Intended | ActionStatus::Started(_)));
    let results = under_way.map(|action| StepResult {
        sources: crate::provenance::Sources::none(),
        operation_id: action.operation_id,
        status: StepStatus::Ok,
        content: BlobHash(Digest::of(b"result")),
        duration_ms: 1,
        exit_status: None,
        sandbox: None,
        code: None,
        error: None,
        refused: Vec::new(),
        changed: Vec::new(),
        written_bytes: None,
        again: None,
    });
    let results = results.collect();
    take(text, RunInput::Settled { results })
}

#[test]
fn a_stored_run_continues_from_its_stored_state() {
    let begun = take(STORED.not_begun, RunInput::admitted(body()));
    assert_eq!(begun.pending_effects().len(), 1);
    assert_eq!(decode(STORED.modelling).active_model(), "scripted:z");
    let cancelled = take(STORED.modelling, RunInput::Cancelled);
    assert_eq!(cancelled.outcome(), Some(&RunOutcome::Cancelled));
    let resumed = take(STORED.parked, RunInput::Resumed);
    assert_eq!(
        (resumed.active_model(), resumed.pending_effects().len()),
        ("scripted:y", 1)
    );
    let until = Millis(1_771_344_000_000);
    assert!(decode(STORED.permitted).expired_approval(until).is_some());
    let begun = take(STORED.permitted, RunInput::Settled { results: vec![] });
    assert_eq!(
        pending(&take(OVER_LIMIT, RunInput::Resumed)),
        pending(&begun),
        "the limit was raised"
    );
    assert_eq!(pending(&begun), [("c1_1".to_owned(), EffectClass::Plain)]);
    let decision_id = decode(STORED.asked).waits_on().expect("it waits for an answer");
    let ruling = ApprovalOutcome::Approved {
        until,
        opens_hosts: false,
    };
    let answered = take(STORED.asked, RunInput::Decided { decision_id, ruling });
    assert_eq!(pending(&answered), [("c1_1".to_owned(), EffectClass::Plain)]);
    assert_eq!(decode(STORED.intended).phase.delay_ms(), 200);
    let both = [("c1_0", EffectClass::Saga), ("c1_1", EffectClass::Idempotent)];
    let both = both.map(|(call, class)| (call.to_owned(), class));
    assert_eq!(pending(&decode(STORED.intended)), both);
    assert_eq!(
        pending(&settle(STORED.intended)),
        [("c1_2".to_owned(), EffectClass::Plain)]
    );
    assert!(decode(STORED.started).waits_on_runs());
    assert!(!settle(STORED.started).waits_on_runs());
    assert_eq!(decode(STORED.completed).outcome(), Some(&RunOutcome::Completed));
    assert!(matches!(
        decode(STORED.failed).outcome(),
        Some(RunOutcome::Failed(_))
    ));
    assert_eq!(
        decode(STORED.out_of_rounds).outcome(),
        Some(&RunOutcome::OutOfRounds)
    );
    assert_eq!(decode(STORED.cancelled).outcome(), Some(&RunOutcome::Cancelled));
}

#[test]
fn a_stored_state_returns_to_a_skipped_model_when_another_fails() {
    let turn = decode(UNPAID);
    assert_eq!(turn.active_model(), "scripted:fallback1");
    let artifact = FailureArtifact::new(FailureCategory::Transport, "away", "the model is away");
    let failed = RunInput::AttemptFailed {
        failure: ModelFailure::new(ModelFailureKind::FailFast, artifact),
        duration_ms: 1,
        bill: AttemptCost::default(),
    };
    let waits = turn.apply(&InputReads::default(), failed).expect("fits").turn;
    assert!(
        matches!(waits.phase, RunPhase::Parked { .. }),
        "{:?}",
        waits.phase
    );
    assert_eq!(waits.active_model(), "scripted:demo");
}
