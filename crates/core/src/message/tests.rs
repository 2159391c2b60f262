use super::*;
use crate::change::LogicalChangeKey;
use crate::conversation::Role;
use crate::id::RuleId;
use crate::key::Digest;

fn message(text: &str, at: i64) -> Message {
    let agent = AgentId::parse("main").expect("id");
    let turn = TurnId::parse("t").expect("id");
    let new = NewMessage {
        agent_id: agent,
        body: BlobHash(Digest::of(text.as_bytes())),
        admitted_at: Millis(at),
    };
    Message::from_operator(new, &SessionId::new("cli"), &turn)
}

#[test]
fn the_same_text_at_another_time_is_the_same_message() {
    assert!(message("a", 1).is_same_as(&message("a", 2)));
    assert!(!message("a", 1).is_same_as(&message("b", 1)));
    assert_eq!(message("a", 1).run_key, message("b", 2).run_key);
}

// Conformance: H-133
#[test]
fn only_an_interjection_without_options_joins_a_run() {
    let said = message("a", 1).through_api(RunOptions::default());
    let thread = said.thread_id.clone();
    assert!(!said.may_join(&thread), "it did not ask for it");
    let urgent = said.with_priority(Priority::Interject);
    assert!(urgent.may_join(&thread));
    let another = ThreadId::of_run(&urgent.agent_id, &urgent.run_key);
    assert!(!urgent.may_join(&another), "that is another conversation");
    let with_wishes = Message {
        options: RunOptions {
            max_rounds: Some(3),
            ..RunOptions::default()
        },
        ..urgent.clone()
    };
    assert!(!with_wishes.may_join(&thread));
    let signal = Message {
        authority: Authority::IntegrationSignal,
        ..urgent
    };
    assert!(
        !signal.may_join(&thread),
        "what others call urgent is only first in line"
    );
}

/// One origin of each kind that the program creates.
fn origins() -> [MessageOrigin; 4] {
    let rule = || RuleId::parse("rule").expect("id");
    [
        MessageOrigin::Subscription {
            subscription: rule(),
            change: LogicalChangeKey(Digest::of(b"change")),
            seq: 1,
            tokens: Vec::new(),
            author: "person".into(),
        },
        MessageOrigin::Schedule {
            schedule: rule(),
            scheduled_at: Millis(0),
            is_catch_up: false,
            is_by_hand: false,
            event: None,
        },
        MessageOrigin::Run {
            run: RunKey(Digest::of(b"run")),
        },
        MessageOrigin::Trigger {
            trigger: rule(),
            delivery: "operator_instruction".into(),
            content_type: None,
        },
    ]
}

/// Kind, authority, surface and context in their stored form.
fn written(message: &Message) -> String {
    let json = serde_json::to_value(message).expect("json");
    let word = |field: &str| json[field].as_str().expect("a word").to_owned();
    ["kind", "authority", "surface", "context"].map(word).join(" ")
}

// Conformance: H-126
#[test]
fn the_authority_follows_from_the_origin() {
    let agent = AgentId::parse("main").expect("id");
    let (run, body) = (RunKey(Digest::of(b"run")), BlobHash(Digest::of(b"x")));
    let came = origins().map(|origin| {
        let cause = Cause {
            origin,
            ..Cause::default()
        };
        let new = NewMessage {
            agent_id: agent.clone(),
            body,
            admitted_at: Millis(0),
        };
        written(&Message::from_cause(new, run, cause))
    });
    let wanted = [
        "notice runtime_instruction runtime_system runtime_owned",
        "timer_tick runtime_instruction timer_scheduler runtime_owned",
        "internal_followup runtime_instruction runtime_system runtime_owned",
        "hint integration_signal http_callback_wake external_trigger_capability",
    ];
    assert_eq!(came, wanted);
    let said = [
        message("a", 1),
        message("a", 1).through_cli(RunOptions::default()),
        message("a", 1).through_api(RunOptions::default()),
    ];
    let wanted = [
        "operator_prompt operator_instruction run_once local_process",
        "operator_prompt operator_instruction cli_prompt local_process",
        "operator_prompt operator_instruction http_control_prompt control_authenticated",
    ];
    assert_eq!(said.each_ref().map(written), wanted);
}

#[test]
fn a_message_round_trips_with_all_fields_and_with_few() {
    let least = message("a", 1);
    let json = serde_json::to_value(&least).expect("json");
    for optional in ["parent", "correlation", "causation"] {
        assert!(json.get(optional).is_none() && json["cause"].get(optional).is_none());
    }
    let parent = ParentRun {
        run_key: RunKey(Digest::of(b"parent")),
        agent_id: AgentId::parse("other").expect("id"),
        operation_id: OperationId(Digest::of(b"operation")),
        depth: 1,
    };
    let first = TraceId::parse("order 66").expect("a name");
    let new = NewMessage {
        agent_id: AgentId::parse("main").expect("id"),
        body: BlobHash(Digest::of(b"x")),
        admitted_at: Millis(1),
    };
    let all = Message::from_run(new, parent.clone(), first.clone());
    assert_eq!(
        (all.cause.correlation.as_ref(), all.cause.causation.as_ref()),
        (Some(&first), Some(&TraceId::of(&parent.run_key.0)))
    );
    for message in [least, all] {
        let json = serde_json::to_value(&message).expect("json");
        let read: Message = serde_json::from_value(json.clone()).expect("a message");
        assert_eq!(read, message);
        let mut strange = json;
        strange["kind"] = "task_result".into();
        assert!(
            serde_json::from_value::<Message>(strange).is_err(),
            "an unknown kind"
        );
    }
}

#[test]
fn the_same_text_through_another_surface_is_the_same_message() {
    let wishes = RunOptions {
        max_rounds: Some(3),
        ..RunOptions::default()
    };
    let by_api = message("a", 1).through_api(wishes);
    assert!(by_api.is_same_as(&message("a", 2)) && message("a", 2).is_same_as(&by_api));
    assert!(!by_api.is_same_as(&message("b", 2)));
    let with_other_wishes = message("a", 1).through_api(RunOptions::default());
    assert!(
        !by_api.is_same_as(&with_other_wishes),
        "one door, one key, two wishes"
    );
}

#[test]
fn a_retry_keeps_the_authority_unless_a_person_wrote_the_text() {
    let trigger = MessageOrigin::Trigger {
        trigger: RuleId::parse("ci").expect("a name"),
        delivery: "1".into(),
        content_type: None,
    };
    let cause = Cause {
        origin: trigger,
        ..Cause::default()
    };
    let first = message("from outside", 1);
    let new = NewMessage {
        agent_id: first.agent_id.clone(),
        body: first.body,
        admitted_at: first.admitted_at,
    };
    let first = Message::from_cause(new, first.run_key, cause);
    let again = first.retry(RetryContents::Same, 0, Millis(9));
    assert_eq!(
        (again.authority, again.kind, again.body),
        (Authority::IntegrationSignal, MessageKind::Hint, first.body)
    );
    assert_eq!(
        (again.retry_of, again.thread_id.clone()),
        (Some(first.run_key), first.thread_id.clone())
    );
    assert_eq!(again.cause.causation, Some(TraceId::of(&first.run_key.0)));
    assert!(!again.is_absorbed() && first.is_absorbed());
    let other = BlobHash(Digest::of(b"by a person"));
    let written = first.retry(RetryContents::Written(other), 0, Millis(9));
    assert_eq!(
        (written.authority, written.body),
        (Authority::OperatorInstruction, other)
    );
    assert!(written.cause.is_external(), "the chain stays external");
    assert!(!first.keeps_attachments() && message("a", 1).keeps_attachments());
    assert_eq!(written.run_key, again.run_key, "one retry at a time");
}

#[test]
fn a_retry_with_a_history_has_its_own_conversation() {
    let first = message("a", 1);
    let content = first.body;
    let history = vec![EntryWrite {
        sources: crate::provenance::Sources::none(),
        role: Role::User,
        content,
    }];
    let from = Message {
        options: RunOptions {
            history: history.clone(),
            ..first.options.clone()
        },
        ..first.clone()
    };
    let branch = from.retry(RetryContents::Same, 0, Millis(9));
    assert_ne!(branch.thread_id, first.thread_id);
    let name = branch.thread_id.session().map(|session| session.to_string());
    assert!(name.is_some_and(|name| name.starts_with("from-") && SessionId::parse(&name).is_ok()));
    assert_eq!(branch.options.history, history);
    // Running the branch again is another branch: its own conversation already contains what followed.
    let again = branch.retry(RetryContents::Same, 0, Millis(10));
    assert_ne!(again.thread_id, branch.thread_id);
}
