//! Rows in every table of a home that only providers, daemons and external systems cause.

use std::collections::BTreeMap;

use wakeful_core::audit::ConsentRecord;
use wakeful_core::budget::{
    BudgetPeriod, BudgetResource, BudgetScope, Demand, LimitKey, MicroUsd, UtcDay, check, reserve_all,
};
use wakeful_core::cause::{Cause, MessageOrigin};
use wakeful_core::decision::{Channel, Severity};
use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, PolicyVersion, RuleId, ThreadId};
use wakeful_core::key::{
    DecisionId, Digest, OperationId, RunKey, RunKeySource as KeyCause, RunKeySourceKind,
};
use wakeful_core::message::{Message, NewMessage};
use wakeful_core::notice::AgentNotice;
use wakeful_core::proof::row_binding::attach;
use wakeful_core::report::payload::{Actor, ContentErased, ErasedTarget, MessageAdmitted};
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::saga::{Saga, SagaPhase, SagaStatus};
use wakeful_core::schedule::{ExecutionOutcome, ScheduleReason, TriggerSource};
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;
use wakeful_store::rows::{
    AgentOutboxRow, BudgetOwner, DecisionNotificationRow, ExternalTriggerRow, Hold, PrivacyReceiptRow,
    Reservation, ScheduledExecutionRow, WakeRow,
};
use wakeful_store::{StoreError, Tx};

fn agent() -> AgentId {
    AgentId::parse("main").expect("a name")
}

fn rule(name: &str) -> RuleId {
    RuleId::parse(name).expect("a name")
}

/// A limit, and a reservation under it.
fn hold(tx: &mut Tx<'_>, run: RunKey, operation: OperationId) -> Result<(), StoreError> {
    let limit = LimitKey::new(
        BudgetScope::Agent,
        "main",
        BudgetResource::Tokens,
        Some(BudgetPeriod::Lifetime),
    );
    let limit = limit.expect("a limit");
    tx.set_limit(&limit, 900, 0, Millis(1))?;
    let owner = BudgetOwner {
        run_key: run,
        root_run: run,
        agent_id: agent(),
        thread_id: ThreadId::of_run(&agent(), &run),
    };
    let mut pools = tx.lock_limits(&owner, Millis(1))?;
    let demands = [Demand::exactly(BudgetResource::Tokens, 5)];
    let grants = check(&pools, &demands).expect("it fits");
    reserve_all(&mut pools, &grants);
    let hold = Hold {
        operation_id: operation,
        grants,
    };
    tx.hold(&run, &pools, &[hold])
}

/// Rows that only providers, daemons and external systems cause.
pub(super) fn rest(tx: &mut Tx<'_>, run: RunKey) -> Result<(), StoreError> {
    let operation = OperationId(Digest::of(b"a request"));
    let day = UtcDay(20_000);
    tx.lock_spending(day)?;
    tx.reserve(&Reservation {
        operation_id: operation,
        run_key: run,
        agent_id: agent(),
        day,
        model_ref: "some:model".to_owned(),
        rule: "all_gates".to_owned(),
        policy_version: PolicyVersion::new("v1"),
        amount: MicroUsd(900),
    })?;
    tx.settle_spend(&operation, Some(MicroUsd(700)))?;
    hold(tx, run, operation)?;
    tx.put_receipt(&PrivacyReceiptRow {
        provider: "some".to_owned(),
        policy_version: PolicyVersion::new("v1"),
        channel: Channel::Cli.into(),
        at: Millis(1),
    })?;
    tx.request_cancel(&run, Millis(2))?;
    tx.put_announcement(&DecisionNotificationRow {
        decision_id: DecisionId(Digest::of(b"a decision")),
        severity: Severity::High,
        target: "desktop".to_owned(),
        tries: 1,
        is_done: false,
        error: Some("no response".to_owned()),
        at: Millis(3),
    })?;
    let (begun, compensating) = (Saga::intended(operation), compensating(operation));
    tx.begin_saga(&begun, &run, Millis(4))?;
    tx.advance_saga(&begun, &compensating, Millis(4))?;
    tx.set_journal_host("a journal", Millis(4))?;
    tx.record_refusal(&WakeRow {
        run_key: RunKey(Digest::of(b"a refusal")),
        agent_id: agent(),
        verdict: WakeOutcome::Paused,
        gates: "[]".to_owned(),
        cause: Cause::default(),
        absorbed_by: None,
        at: Millis(5),
    })?;
    for target in [
        ErasedTarget::Run {
            run_key: RunKey(Digest::of(b"a run without entries")),
        },
        ErasedTarget::Events {
            first_seq: 90_000,
            last_seq: 90_001,
        },
    ] {
        consent(tx, target)?;
    }
    outside(tx)
}

/// An erasure that found nothing to remove, with the consent to it.
fn consent(tx: &mut Tx<'_>, target: ErasedTarget) -> Result<(), StoreError> {
    let (agent_id, at) = (agent(), Millis(9));
    let mut head = tx.lock_head_to_announce(&agent_id)?.expect("a head");
    let (reason, channel) = ("a reason".to_owned(), Channel::Cli);
    tx.erase_audit_entries(&ConsentRecord {
        consent_id: ConsentRecord::id_of(&agent_id, head.next_seq),
        agent_id: agent_id.clone(),
        purpose: reason.clone(),
        target,
        channel,
        at,
        used_seq: head.next_seq,
    })?;
    let erased = EventDraft::new(ContentErased {
        by: Actor::Operator,
        channel,
        reason,
        events: 0,
        transitions: 0,
        blobs: 0,
        audit_entries: 0,
        target,
    });
    let sealed = SealedEvent::new(erased, at, None, [7; 32]).expect("canonical");
    tx.append_event(&agent_id, &head.chain(&agent_id, sealed))?;
    tx.put_head(&agent_id, &head)
}

/// A delivery with the message that it caused.
fn deliver(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let (trigger, delivery, at) = (rule("trigger-1"), "a delivery".to_owned(), Millis(7));
    let (kind, source) = (RunKeySourceKind::Trigger, delivery.as_str());
    let run = RunKey::of(agent().as_str(), &KeyCause::Source { kind, source });
    let cause = Cause {
        origin: MessageOrigin::Trigger {
            trigger: trigger.clone(),
            delivery: delivery.clone(),
            content_type: None,
        },
        ..Cause::default()
    };
    let body = tx.queue(&AgentId::parse("idle").expect("a name"), 1)?[0]
        .message
        .body;
    let new = NewMessage {
        agent_id: agent(),
        body,
        admitted_at: at,
    };
    let message = Message::from_cause(new, run, cause);
    let mut draft = EventDraft::new(MessageAdmitted {
        run_key: run,
        kind: message.kind,
        authority: message.authority,
        surface: message.surface,
        context: message.context,
        text: String::new(),
        origin: message.cause.origin.kind(),
        priority: message.cause.priority,
        correlation_id: None,
        causation_id: None,
        source_refs: BTreeMap::new(),
    });
    attach(&mut draft, &message);
    let sealed = SealedEvent::new(draft, at, Some(run), [7; 32]).expect("canonical");
    let mut head = tx.lock_head_to_announce(&agent())?.expect("a head");
    tx.admit_message(&message)?;
    tx.enqueue(&message, head.next_seq, None)?;
    let event = head.chain(&agent(), sealed);
    tx.append_event(&agent(), &event)?;
    tx.put_head(&agent(), &head)?;
    tx.record_delivery(&trigger, &delivery, at)
}

fn compensating(operation_id: OperationId) -> Saga {
    Saga {
        operation_id,
        phase: SagaPhase::Compensation,
        status: SagaStatus::Open,
        last_error: Some("a reason".to_owned()),
    }
}

fn outside(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.put_trigger_secret(&Digest::of(b"a secret"), Millis(6))?;
    tx.put_trigger(&ExternalTriggerRow {
        trigger_id: rule("trigger-1"),
        agent_id: agent(),
        generation: 1,
        status: TriggerStatus::Active,
        delivered: 1,
        last_at: Some(Millis(6)),
        created_at: Millis(6),
    })?;
    deliver(tx)?;
    tx.append_execution(&ScheduledExecutionRow {
        schedule_id: rule("daily"),
        seq: 1,
        revision: 1,
        due_at: Millis(8),
        count: 1,
        is_capped: false,
        source: TriggerSource::Tick,
        outcome: ExecutionOutcome::Disabled,
        reason: Some(ScheduleReason::Once.into()),
        run_key: None,
        is_catch_up: false,
        at: Millis(8),
    })?;
    // The newest event of an agent that a person changed.
    let changed = AgentId::parse("idle").expect("a name");
    let newest = tx.events_before(&changed, u64::MAX, 1)?.pop().expect("an event");
    let notice = AgentOutboxRow::new(
        changed.clone(),
        newest.seq,
        AgentNotice::agent_changed(&changed),
        newest.at,
    );
    tx.append_agent_notice(&notice).map(drop)
}
