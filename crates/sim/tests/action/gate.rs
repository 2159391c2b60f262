//! The gates before the policy, with real runs: a stopped call leaves one result and one complete record.

use std::collections::BTreeMap;

use wakeful_core::conversation::Role;
use wakeful_core::decision::{BlastRadius, Severity};
use wakeful_core::need_to_know::{Boundary, CategoryRules, NeedToKnow};
use wakeful_core::policy::{DenialCategory, GateStage, RuleName, UNCLASSIFIED_TOOL};
use wakeful_core::tool::ToolInvocation;
use wakeful_core::tool::invocation::ComplianceStatus;

use wakeful_store::rows::DecisionFilter;

use super::*;

/// The permissions of an agent, with the rules of a category that lists no argument.
pub(super) fn inference(
    gate: GateCase,
    open: (InferencePermissions, PolicyVersion),
) -> (InferencePermissions, PolicyVersion) {
    let (mut permissions, version) = open;
    if gate == GateCase::UnlistedArgument {
        let rules = CategoryRules {
            models: None,
            fields: [(Boundary::Tool, BTreeMap::new())].into(),
        };
        permissions.need_to_know = NeedToKnow([("health".to_owned(), rules)].into());
    }
    (permissions, version)
}

/// A run whose calls were stopped or performed.
struct Finished {
    daemon: Daemon,
    statuses: Vec<StepStatus>,
    reasons: Vec<String>,
    invocations: Vec<ToolInvocation>,
}

async fn finished(setting: Setting) -> Finished {
    let calls = setting.calls;
    let daemon = Daemon::begin(setting).await;
    daemon.tools.permits.add_permits(calls);
    daemon.settle().await;
    let (status, steps) = daemon.outcome().await;
    assert_eq!(status, "completed");
    let run = daemon.api.runs.get(daemon.run).await.expect("a run");
    let invocations = run.tool_calls().filter_map(|step| run.invocation(step)).collect();
    let (statuses, reasons) = steps.into_iter().unzip();
    Finished {
        daemon,
        statuses,
        reasons,
        invocations,
    }
}

impl Finished {
    /// The number of tool results in the transcript.
    async fn results(&self) -> usize {
        let run = self.daemon.api.runs.get(self.daemon.run).await.expect("a run");
        let thread = run.row.thread_id.clone();
        let entries = self.daemon.store.read(move |view| view.entries(&thread, 100));
        let entries = entries.await.expect("read");
        entries.iter().filter(|entry| entry.role == Role::Tool).count()
    }
}

// Conformance: L-117, L-122, L-125
#[tokio::test]
async fn a_call_outside_scope_or_reason_is_denied_before_the_policy() {
    for (gate, reason, stage) in [
        (GateCase::NoCategory, "out_of_scope", GateStage::Scope),
        (GateCase::OtherReason, "wake_reason", GateStage::WakeReason),
        (GateCase::NoContract, "unknown_tool", GateStage::Scope),
    ] {
        for class in EffectClass::ALL
            .into_iter()
            .filter(|class| *class != EffectClass::Internal)
        {
            let run = finished(Setting {
                class,
                gate,
                ..Setting::default()
            })
            .await;
            assert_eq!(run.daemon.begun(), Vec::<u64>::new());
            assert_eq!(
                (run.statuses.as_slice(), run.reasons[0].as_str()),
                (&[StepStatus::Denied][..], reason)
            );
            let [invocation] = run.invocations.as_slice() else {
                panic!("one record: {:?}", run.invocations);
            };
            assert_eq!(invocation.stage, stage);
            assert_eq!(invocation.denial_category, Some(DenialCategory::OutOfScope));
            assert_eq!(invocation.has_compliance_status, ComplianceStatus::NonCompliant);
            assert_eq!(run.results().await, 1, "one result for the model");
        }
    }
}

// Conformance: L-159
#[tokio::test]
async fn an_argument_that_is_not_listed_reaches_no_tool() {
    let run = finished(Setting {
        gate: GateCase::UnlistedArgument,
        ..Setting::default()
    })
    .await;
    assert_eq!(run.daemon.begun(), Vec::<u64>::new());
    assert_eq!(
        (run.statuses.as_slice(), run.reasons[0].as_str()),
        (&[StepStatus::Denied][..], "overshared_payload_blocked")
    );
    let [invocation] = run.invocations.as_slice() else {
        panic!("one record: {:?}", run.invocations);
    };
    assert_eq!(
        (invocation.stage, invocation.denial_category),
        (GateStage::Scope, Some(DenialCategory::OversharedPayloadBlocked))
    );
}

// Conformance: L-113
#[tokio::test]
async fn a_tool_outside_the_capabilities_is_denied_and_not_offered() {
    for (gate, offered, status) in [
        (GateCase::None, 1, StepStatus::Ok),
        (GateCase::NoCapability, 0, StepStatus::Denied),
    ] {
        let run = finished(Setting {
            gate,
            ..Setting::default()
        })
        .await;
        assert_eq!(run.daemon.offered.lock().expect("a list").len(), offered);
        assert_eq!(run.statuses, [status]);
        if status == StepStatus::Denied {
            assert_eq!(run.reasons, ["missing_capability"]);
            assert_eq!(run.daemon.begun(), Vec::<u64>::new());
            assert_eq!(run.invocations[0].stage, GateStage::Scope);
        }
    }
}

#[tokio::test]
async fn every_call_has_one_record_whether_performed_or_denied() {
    let performed = finished(Setting {
        calls: 3,
        class: EffectClass::Idempotent,
        ..Setting::default()
    })
    .await;
    assert_eq!(performed.invocations.len(), 3);
    for one in &performed.invocations {
        assert_eq!(one.has_compliance_status, ComplianceStatus::Compliant);
        assert_eq!((one.stage, one.trail.len()), (GateStage::Record, 7));
    }
    let by_policy = finished(Setting {
        denies: Some(DenialMoment::BeforeCommit),
        ..Setting::default()
    })
    .await;
    let [denied] = by_policy.invocations.as_slice() else {
        panic!("one record: {:?}", by_policy.invocations);
    };
    assert_eq!(denied.stage, GateStage::Policy);
    assert_eq!(denied.denial_category, Some(DenialCategory::OutOfScope));
}

// Conformance: P-119
#[tokio::test]
async fn a_tool_without_risk_classification_asks_in_every_mode() {
    for mode in PermissionMode::ALL {
        let daemon = Daemon::begin(Setting {
            class: EffectClass::Idempotent,
            gate: GateCase::Unclassified,
            mode,
            ..Setting::default()
        })
        .await;
        assert_eq!(daemon.begun(), Vec::<u64>::new());
        let (_, steps) = daemon.outcome().await;
        // The mode `restrictive` asks before every call, so its own rule is the one that asks.
        let rule = match mode {
            PermissionMode::Restrictive => RuleName::RestrictiveMode.as_str(),
            PermissionMode::Permissive | PermissionMode::Standard => UNCLASSIFIED_TOOL,
        };
        assert_eq!(steps, [(StepStatus::WaitingForApproval, rule.to_owned())]);
        let pending = daemon.store.read(|view| {
            view.decisions(&DecisionFilter {
                pending_only: true,
                run_key: None,
                limit: 10,
            })
        });
        let pending = pending.await.expect("read");
        let [decision] = pending.as_slice() else {
            panic!("one decision: {pending:?}");
        };
        let risk = (decision.inquiry.severity, decision.inquiry.blast_radius);
        assert_eq!(risk, (Severity::High, BlastRadius::Unknown));
    }
}
