//! The path of a call with real runs: the order of its checks, the branch of each decision, and what its record says.

use wakeful_core::decision::{DEADLINE_HOURS_DEFAULT, DENY, HOUR_MS};
use wakeful_core::policy::{DenialCategory, GateStage, HostScope, PathAccess, PathScope, PolicyEffect};
use wakeful_core::report::payload::{Payload, PolicyDecided, ToolExecuted};

use wakeful_core::tool::{Connection, ConnectionVerdict, EntityLink};

use super::judged_again::written;
use super::*;

impl Looks {
    pub(super) fn new(setting: &Setting, log: Arc<CallLog>) -> Self {
        Self {
            class: setting.class,
            ending: setting.ending,
            permits: Semaphore::new(setting.fault.iter().len() * fault::PERMITS),
            running: AtomicUsize::new(0),
            running_max: AtomicUsize::new(0),
            begun: Mutex::default(),
            gate: setting.gate,
            target: Mutex::new(setting.target.clone()),
            connections: setting.connections.clone(),
            refuses: setting.refuses,
            log,
            granted: Mutex::default(),
            busy: AtomicUsize::new(setting.busy),
        }
    }
}

impl Daemon {
    /// The payloads of the agent's events.
    pub(super) async fn events(&self) -> Vec<Payload> {
        let agent = AgentId::parse("main").expect("a name");
        let rows = self.api.events.after(agent, 0, 1_000).await.expect("events");
        rows.iter().filter_map(|row| Some(row.body()?.payload)).collect()
    }

    async fn verdicts(&self) -> Vec<PolicyDecided> {
        let events = self.events().await.into_iter();
        let decided = events.filter_map(|event| {
            let Payload::PolicyDecided(decided) = event else {
                return None;
            };
            Some(decided)
        });
        decided.collect()
    }

    /// The stage and the category in the audit record of the only call.
    async fn audited(&self) -> (GateStage, Option<DenialCategory>) {
        let run = self.api.runs.get(self.run).await.expect("a run");
        let mut records = run.tool_calls().filter_map(|step| run.invocation(step));
        let record = records.next().expect("a record");
        (record.stage, record.denial_category)
    }
}

// Conformance: L-114
#[tokio::test]
async fn a_call_is_checked_then_judged_then_performed() {
    let daemon = Daemon::begin(Setting::default()).await;
    daemon.tools.permits.add_permits(1);
    daemon.settle().await;
    let log = daemon.tools.log.0.lock().expect("a list").clone();
    let mut order = Vec::new();
    for entry in log {
        if !order.contains(&entry) {
            order.push(entry);
        }
    }
    assert_eq!(order, ["check", "facts", "contract", "decide", "perform"]);
}

// Conformance: L-114, A-162
#[tokio::test]
async fn bad_arguments_never_reach_the_handler() {
    let daemon = Daemon::begin(Setting {
        gate: GateCase::BadArguments,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(1);
    daemon.settle().await;
    assert_eq!(daemon.begun(), Vec::<u64>::new());
    let (status, steps) = daemon.outcome().await;
    assert_eq!(status, "completed");
    assert_eq!(steps, [(StepStatus::Failed, "invalid_arguments".to_owned())]);
    assert_eq!(daemon.audited().await, (GateStage::Validate, None));
}

// Conformance
#[tokio::test]
async fn each_decision_is_recorded_with_its_steps_and_takes_its_branch() {
    let judged = ["load_policy", "check_constraints", "evaluate_policies", "record"];
    for (effect, target, denies, branch) in [
        (PolicyEffect::Permit, None, None, "perform"),
        (PolicyEffect::Ask, written("/outside/a").pop(), None, "ask_person"),
        (
            PolicyEffect::Deny,
            None,
            Some(DenialMoment::BeforeCommit),
            "refuse",
        ),
    ] {
        let daemon = Daemon::begin(Setting {
            target,
            denies,
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        let verdicts = daemon.verdicts().await;
        let decided = verdicts.last().expect("a verdict");
        assert_eq!(decided.effect, effect);
        let steps: Vec<&str> = decided.steps.iter().map(|step| step.as_str()).collect();
        assert_eq!(steps.split_last(), Some((&branch, &judged[..])));
        let begun = usize::from(effect == PolicyEffect::Permit);
        let asked = usize::from(effect == PolicyEffect::Ask);
        let pending = daemon.api.decisions.list(true).await.expect("read");
        assert_eq!((daemon.begun().len(), pending.len()), (begun, asked), "{effect}");
    }
}

// Conformance: L-167
#[tokio::test]
async fn a_high_risk_write_runs_only_after_it_was_approved() {
    let waiting = async || {
        let daemon = Daemon::begin(Setting {
            target: written("/outside/a").pop(),
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        assert_eq!(daemon.begun(), Vec::<u64>::new(), "blocked until it is decided");
        daemon
    };
    let approved = waiting().await;
    approved.approve(&approved.pending().await).await;
    assert_eq!(approved.begun(), [0]);
    let denied = waiting().await;
    denied.answer(&denied.pending().await, DENY).await;
    assert_eq!(denied.begun(), Vec::<u64>::new());
    assert_eq!(denied.outcome().await.1[0].1, "denied_by_person");
    let expired = waiting().await;
    // Each deadline raises the severity once before the decision is cancelled.
    for _ in 0..4 {
        expired
            .ticks
            .pass(u64::from(DEADLINE_HOURS_DEFAULT) * HOUR_MS + 1);
        expired.settle().await;
    }
    assert_eq!(expired.begun(), Vec::<u64>::new());
    assert_eq!(expired.outcome().await.1[0].1, "decision_timed_out");
}

// Conformance
#[tokio::test]
async fn a_denied_path_and_a_denied_host_are_audited_with_their_entry() {
    let path = Target::Path {
        path: "/etc/passwd".to_owned(),
        access: PathAccess::Read,
        scope: PathScope::Denied,
    };
    let host = Target::Host {
        host: "evil.example".to_owned(),
        port: 443,
        scope: HostScope::Denied,
    };
    for target in [path, host] {
        let daemon = Daemon::begin(Setting {
            target: Some(target.clone()),
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        assert_eq!(daemon.begun(), Vec::<u64>::new());
        let steps = daemon.outcome().await.1;
        assert_eq!(steps, [(StepStatus::Denied, "unsafe_target".to_owned())]);
        let verdicts = daemon.verdicts().await;
        let [denied] = verdicts.as_slice() else {
            panic!("one verdict: {verdicts:?}");
        };
        assert_eq!(
            (denied.effect, denied.rule.as_str()),
            (PolicyEffect::Deny, "unsafe_target")
        );
        assert_eq!(denied.targets, std::slice::from_ref(&target));
        assert_eq!(
            denied.reason,
            format!("{target} is excluded by the entry \"/etc\"")
        );
        assert_eq!(
            daemon.audited().await,
            (GateStage::Policy, Some(DenialCategory::UnsafeTarget))
        );
    }
}

// Conformance: A-177 (the status and the stage of each code),
//     A-178 (the audited stage and category),
//     A-245 (the audited stage and category),
//     L-041 (the category of each code)
#[tokio::test]
async fn a_violation_that_the_tool_finds_is_a_denial() {
    for (code, stage, category) in [
        ("denied_path", GateStage::Sandbox, DenialCategory::UnsafeTarget),
        ("host_not_allowed", GateStage::Sandbox, DenialCategory::OutOfScope),
        (
            "write_quota_exceeded",
            GateStage::Quota,
            DenialCategory::BudgetExceeded,
        ),
    ] {
        let daemon = Daemon::begin(Setting {
            refuses: Some(code),
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        assert_eq!(daemon.outcome().await.1, [(StepStatus::Denied, code.to_owned())]);
        assert_eq!(daemon.audited().await, (stage, Some(category)));
        let events = daemon.events().await;
        let executed = events.iter().find_map(|event| {
            let Payload::ToolExecuted(ToolExecuted { stage, category, .. }) = event else {
                return None;
            };
            Some((*stage, *category))
        });
        assert_eq!(executed, Some((Some(stage), Some(category))));
    }
}

// Conformance: L-131
#[tokio::test]
async fn every_call_leaves_two_messages_and_its_effects_as_links() {
    let daemon = Daemon::begin(Setting {
        calls: 2,
        class: EffectClass::Idempotent,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(2);
    daemon.settle().await;
    let run = daemon.api.runs.get(daemon.run).await.expect("a run");
    let transcript = daemon.api.messages.transcript(run.row.agent_id, None, 100);
    let transcript = transcript.await.expect("a transcript");
    let count = |is: fn(&Block) -> bool| {
        let lines = transcript.lines.iter().filter_map(|line| line.blocks.as_ref());
        lines.flatten().filter(|block| is(block)).count()
    };
    assert_eq!(count(|block| matches!(block, Block::ToolUse(_))), 2);
    assert_eq!(count(|block| matches!(block, Block::ToolResult { .. })), 2);
    let links = daemon.events().await.into_iter().filter_map(|event| {
        let Payload::ToolExecuted(executed) = event else {
            return None;
        };
        Some(executed.links)
    });
    let expected = |id: &str| vec![EntityLink::effect(&ChangedEntity::new("task", id))];
    assert_eq!(links.collect::<Vec<_>>(), [expected("0"), expected("1")]);
}

// Conformance: A-178
#[tokio::test]
async fn each_refused_connection_of_a_command_is_an_event() {
    let connection = |host: &str, verdict, reason: &str| Connection {
        host: host.to_owned(),
        port: 443,
        verdict,
        reason: reason.to_owned(),
        count: 2,
        sent_bytes: 0,
        received_bytes: 0,
    };
    let refused = "the entry \"*.example\" of the denied hosts excludes it";
    let daemon = Daemon::begin(Setting {
        connections: vec![
            connection("ok.test", ConnectionVerdict::Allowed, "ok.test"),
            connection("a.example", ConnectionVerdict::Refused, refused),
            connection("gone.test", ConnectionVerdict::Failed, "no address"),
        ],
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(1);
    daemon.settle().await;
    assert_eq!(
        daemon.outcome().await.1[0].0,
        StepStatus::Ok,
        "the command itself ran"
    );
    let events = daemon.events().await.into_iter();
    let refusals: Vec<_> = events
        .filter_map(|event| {
            let Payload::ConnectionRefused(one) = event else {
                return None;
            };
            Some((one.host, one.port, one.effect, one.reason, one.count))
        })
        .collect();
    let expected = (
        "a.example".to_owned(),
        443,
        PolicyEffect::Deny,
        refused.to_owned(),
        2,
    );
    assert_eq!(refusals, [expected]);
}
