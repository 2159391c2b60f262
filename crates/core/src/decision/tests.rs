use proptest::prelude::*;

use super::*;
use crate::key::{Digest, OperationId};
use crate::step::EffectClass;

const NOW: Millis = Millis(1_000_000);

fn operation() -> OperationId {
    OperationId(Digest::of(b"operation"))
}

fn inquiry(class: EffectClass, again: Option<OperationId>) -> ApprovalRequest {
    ApprovalRequest::new(
        ProposedAction {
            risk: None,
            operation_id: operation(),
            tool: "ExecCommand",
            input: "rm -r build",
            class,
        },
        "ask_tool",
        again,
    )
}

fn asked(patience_ms: Option<u64>) -> Decision {
    let agent = AgentId::parse("main").expect("a name");
    let run = RunKey(Digest::of(b"run"));
    inquiry(EffectClass::Plain, None).asked_by(agent, run, NOW, patience_ms)
}

fn reply(option: &str) -> AnswerInput {
    AnswerInput {
        option: option.to_owned(),
        version: None,
        channel: Channel::Cli,
        note: None,
    }
}

#[test]
fn an_approval_expires_after_a_day() {
    let answered = asked(None).answer(reply(APPROVE), NOW).expect("taken");
    let until = later(NOW, APPROVAL_MS_MAX);
    assert_eq!(
        answered.outcome(NOW),
        Some(ApprovalOutcome::Approved {
            until,
            opens_hosts: false
        })
    );
    assert_eq!(answered.outcome(until), Some(ApprovalOutcome::Expired));
    assert_eq!(answered.version, 2);
}

#[test]
fn a_second_answer_is_rejected_with_the_first_one() {
    let answered = asked(None).answer(reply(DENY), NOW).expect("taken");
    let refused = answered.answer(reply(APPROVE), NOW).expect_err("was taken twice");
    let AnswerError::Closed { status, answer } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(status, DecisionStatus::Answered);
    assert_eq!(answer.expect("the first").option, DENY);
}

#[test]
fn setting_the_clock_back_does_not_prolong_a_wait() {
    let decision = asked(Some(10));
    let until = |decision: &Decision, now| decision.wait(now).map(|wait| wait.until());
    assert_eq!(until(&decision, NOW), Some(decision.deadline_at));
    assert_eq!(
        until(&decision, Millis(-9_999_999)),
        Some(Some(Millis(-9_999_989)))
    );
    assert_eq!(until(&asked(None), NOW), Some(None));
    assert_eq!(
        until(&decision.withdrawn(NOW), NOW),
        None,
        "a closed decision causes no wait"
    );
}

#[test]
fn a_withdrawn_decision_is_asked_again_when_the_run_resumes() {
    assert_eq!(
        asked(None).withdrawn(NOW).outcome(NOW),
        Some(ApprovalOutcome::Expired)
    );
}

#[test]
fn an_answer_to_another_version_is_rejected() {
    let overdue = asked(Some(1))
        .escalate_if_overdue(Millis(NOW.0 + 1))
        .expect("overdue");
    let late = AnswerInput {
        version: Some(1),
        ..reply(APPROVE)
    };
    assert_eq!(
        overdue.answer(late, NOW),
        Err(AnswerError::Changed { found: 2, given: 1 })
    );
}

#[test]
fn an_answer_at_or_after_the_deadline_is_rejected() {
    let decision = asked(Some(10));
    assert!(decision.answer(reply(APPROVE), Millis(NOW.0 + 9)).is_ok());
    let deadline = Millis(NOW.0 + 10);
    for late in [10, 11, 1_000_000] {
        let refused = decision.answer(reply(APPROVE), Millis(NOW.0 + late));
        assert_eq!(refused, Err(AnswerError::Late { deadline }));
    }
}

#[test]
fn an_unknown_option_is_rejected_with_the_known_ones() {
    let error = asked(None).answer(reply("aprove"), NOW).expect_err("taken");
    assert_eq!(
        error.to_string(),
        r#"there is no option "aprove"; options: approve, deny"#
    );
}

#[test]
fn a_note_that_is_too_long_is_rejected() {
    let long = AnswerInput {
        note: Some("x".repeat(NOTE_CHARS_MAX + 1)),
        ..reply(DENY)
    };
    assert_eq!(asked(None).answer(long, NOW), Err(AnswerError::NoteTooLong));
}

#[test]
fn not_repeating_an_action_is_recommended() {
    let again = inquiry(EffectClass::Plain, Some(operation()));
    assert_eq!(again.kind, DecisionKind::OutcomeUnknown);
    assert_eq!(again.recommended_option_id.as_deref(), Some(DENY));
    assert_eq!(again.severity, Severity::High);
}

#[test]
fn decisions_are_sorted_by_overdue_then_severity_then_age() {
    let named = |severity, at, overdue: bool| {
        let mut one = asked(None);
        one.inquiry.severity = severity;
        one.asked_at = Millis(at);
        one.badges = if overdue {
            vec![Badge::TimedOut]
        } else {
            Vec::new()
        };
        one
    };
    let fixture = vec![
        named(Severity::High, 2, false),
        named(Severity::Critical, 3, false),
        named(Severity::Low, 4, true),
        named(Severity::High, 1, false),
    ];
    let order: Vec<i64> = sort_by_urgency(fixture)
        .iter()
        .map(|one| one.asked_at.0)
        .collect();
    assert_eq!(order, [4, 3, 1, 2]);
}

#[test]
fn an_unknown_blast_radius_counts_as_the_largest() {
    assert!(BlastRadius::Unknown > BlastRadius::Large);
    assert_eq!(Severity::Critical.next_level(), None);
    assert_eq!(Severity::Warning.next_level(), Some(Severity::Low));
}

#[test]
fn a_decision_is_read_back_as_it_was_written() {
    let answered = asked(Some(5)).answer(reply(APPROVE), NOW).expect("taken");
    let json = serde_json::to_string(&answered).expect("json");
    assert_eq!(serde_json::from_str::<Decision>(&json).expect("read"), answered);
}

#[test]
fn a_decision_stored_without_channels_accepts_all_of_them() {
    let json = serde_json::to_value(asked(Some(5))).expect("json");
    assert!(json.get("may_answer").is_none(), "{json}");
    let read: Decision = serde_json::from_value(json).expect("read");
    assert_eq!(read.may_answer, Channel::all());
    assert_eq!(
        Channel::all()
            .into_iter()
            .map(Channel::as_str)
            .collect::<Vec<_>>(),
        Channel::WORDS
    );
}

#[test]
fn an_answer_by_another_channel_is_rejected_with_the_permitted_ones() {
    let terms = DecisionPolicy {
        deadline_after_ms: None,
        may_answer: BTreeSet::from([Channel::Cli, Channel::Page]),
    };
    let question = inquiry(EffectClass::Plain, None);
    let agent = AgentId::parse("main").expect("a name");
    let decision = question.asked_by(agent, RunKey(Digest::of(b"run")), NOW, terms);
    let by_api = AnswerInput {
        channel: Channel::Api,
        ..reply(DENY)
    };
    let refused = decision.answer(by_api, NOW).expect_err("taken");
    assert_eq!(
        refused.to_string(),
        "the decision does not accept answers by api; accepted: cli, page"
    );
}

#[test]
fn only_truncated_arguments_are_recognized_as_truncated() {
    let ask = |input: &str| {
        let action = ProposedAction {
            risk: None,
            operation_id: operation(),
            tool: "ExecCommand",
            input,
            class: EffectClass::Plain,
        };
        ApprovalRequest::new(action, "ask_tool", None).is_input_cut()
    };
    let of = |chars: usize| crate::run::preview(&serde_json::json!({"cmd": "x".repeat(chars)}).to_string());
    assert!(!ask(&of(190)));
    assert!(ask(&of(191)));
    assert!(!ask(&serde_json::json!({"cmd": "wait…"}).to_string()));
}

proptest! {
    #[test]
    fn an_answer_is_accepted_only_by_permitted_channels(
        ways in proptest::sample::subsequence(Channel::all().into_iter().collect::<Vec<_>>(), 0..=3),
        channel in proptest::sample::select(Channel::all().into_iter().collect::<Vec<_>>()),
        approve: bool,
    ) {
        let may_answer: BTreeSet<Channel> = ways.into_iter().collect();
        let decision = Decision { may_answer: may_answer.clone(), ..asked(Some(5)) };
        let json = serde_json::to_string(&decision).expect("json");
        let decision: Decision = serde_json::from_str(&json).expect("read");
        let option = if approve { APPROVE } else { DENY };
        let answered = decision.answer(AnswerInput { channel, ..reply(option) }, NOW);
        match answered {
            Ok(answered) => {
                prop_assert!(may_answer.contains(&channel));
                prop_assert_eq!(answered.answer.expect("an answer").channel, channel);
            }
            Err(refused) => {
                prop_assert!(!may_answer.contains(&channel));
                prop_assert_eq!(refused, AnswerError::NotAllowed { channel, may_answer });
            }
        }
    }

    // Conformance: P-243
    #[test]
    fn an_unanswered_decision_never_permits_and_always_ends(patience in 1_u64..10_000_000, steps in 1_usize..20) {
        let mut decision = asked(Some(patience));
        let mut now = NOW;
        for _ in 0..steps {
            now = later(now, patience);
            if let Some(next) = decision.escalate_if_overdue(now) {
                prop_assert!(next.version > decision.version);
                decision = next;
            }
            let permitted = matches!(decision.outcome(now), Some(ApprovalOutcome::Approved { .. }));
            prop_assert!(!permitted);
        }
        if steps >= Severity::ALL.len() {
            prop_assert_eq!(decision.status, DecisionStatus::Cancelled);
            prop_assert_eq!(decision.outcome(now), Some(ApprovalOutcome::TimedOut));
        }
    }

    #[test]
    fn a_closed_decision_never_changes(patience in 1_u64..1_000, approve: bool) {
        let option = if approve { APPROVE } else { DENY };
        let closed = asked(Some(patience)).answer(reply(option), NOW).expect("taken");
        prop_assert_eq!(closed.escalate_if_overdue(Millis(i64::MAX)), None);
    }
}

// Conformance: P-54
#[test]
fn severities_have_an_order_and_distinct_names() {
    let words = ["warning", "low", "medium", "high", "critical"];
    assert_eq!(Severity::ALL.map(Severity::as_str), words);
    assert!(Severity::ALL.is_sorted() && Severity::Warning < Severity::Critical);
    for (level, word) in Severity::ALL.into_iter().zip(words) {
        assert_eq!(Severity::parse(word), Some(level));
        assert_eq!(serde_json::to_value(level).expect("a word"), word);
    }
    for odd in ["", "High", "urgent"] {
        assert_eq!(Severity::parse(odd), None);
        assert!(serde_json::from_value::<Severity>(odd.into()).is_err());
    }
    assert_eq!(Severity::High.next_level(), Some(Severity::Critical));
    assert_eq!(Severity::Critical.next_level(), None);
}

// Conformance: P-55
#[test]
fn an_unknown_blast_radius_reaches_farthest() {
    let words = ["trivial", "small", "medium", "large", "unknown"];
    let read = words.map(|word| serde_json::from_value::<BlastRadius>(word.into()).expect("a radius"));
    assert!(read.is_sorted(), "{read:?}");
    assert!(BlastRadius::Unknown >= BlastRadius::Medium);
    assert!(serde_json::from_value::<BlastRadius>("huge".into()).is_err());
}

// Conformance: P-58
#[test]
fn an_option_is_stored_with_four_fields() {
    let golden = serde_json::json!({
        "id": "approve", "label": "Approve", "description": "It is done.", "tradeoffs": "It cannot be undone.",
    });
    let option: DecisionOption = serde_json::from_value(golden.clone()).expect("an option");
    assert_eq!(serde_json::to_value(&option).expect("JSON"), golden);
    let bare = DecisionOption {
        tradeoffs: None,
        ..option
    };
    let bare = serde_json::to_value(&bare).expect("JSON");
    assert!(bare.get("tradeoffs").is_none(), "{bare}");
}

#[test]
fn a_closed_decision_rejects_answers() {
    let open = asked(Some(1));
    let critical = open.escalate_if_overdue(NOW.max(later(NOW, 1))).expect("raised");
    let cancelled = critical.escalate_if_overdue(later(NOW, 2)).expect("called off");
    assert_eq!(cancelled.status, DecisionStatus::Cancelled);
    let answered = open.answer(reply(DENY), NOW).expect("taken");
    for closed in [cancelled, answered, open.withdrawn(NOW)] {
        let refused = closed.answer(reply(APPROVE), NOW);
        let status = closed.status;
        assert!(
            matches!(refused, Err(AnswerError::Closed { status: found, .. }) if found == status),
            "{refused:?}"
        );
        assert_eq!(closed.escalate_if_overdue(later(NOW, 10_000)), None);
    }
}
