//! An action is judged again right before it begins: an approval holds only for the targets that the person saw,
//! and nothing that is denied meanwhile begins after a wait.

use wakeful_core::decision::{APPROVE, AnswerInput, Channel, Decision};
use wakeful_core::policy::{PathAccess, PathScope, RuleName};
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_core::time::Millis;

use super::*;

/// Sets a brake for all agents in memory, as a request that reaches the process before the database.
pub(super) fn brake(store: &Store) {
    let request = StopRequest {
        id: 1,
        target: StopTarget::brake(None),
        reason: "stop".to_owned(),
        channel: Channel::Cli,
        at: Millis(0),
    };
    store.stops().add(request);
}

impl Daemon {
    /// The only pending decision.
    pub(super) async fn pending(&self) -> Decision {
        let pending = self.api.decisions.list(true).await.expect("read");
        let [decision] = pending.as_slice() else {
            panic!("one decision: {pending:?}");
        };
        decision.clone()
    }

    pub(super) async fn approve(&self, decision: &Decision) {
        self.answer(decision, APPROVE).await;
    }

    pub(super) async fn answer(&self, decision: &Decision, option: &str) {
        let answer = AnswerInput {
            option: option.to_owned(),
            version: Some(decision.version),
            channel: Channel::Cli,
            note: None,
        };
        let id = decision.inquiry.decision_id.to_string();
        self.api.decisions.answer(id, answer).await.expect("answered");
        self.settle().await;
    }

    fn link(&self, path: &str) {
        *self.tools.target.lock().expect("a target") = written(path).pop();
    }

    fn deny(&self) {
        self.policy.denies.store(true, Ordering::SeqCst);
    }

    async fn release(&self) {
        self.api
            .brakes
            .release(None, Channel::Cli)
            .await
            .expect("released");
        self.settle().await;
    }
}

pub(super) fn written(path: &str) -> Vec<Target> {
    vec![Target::Path {
        path: path.to_owned(),
        access: PathAccess::Write,
        scope: PathScope::Outside,
    }]
}

#[tokio::test]
async fn an_approval_holds_only_for_the_targets_that_were_shown() {
    for class in [EffectClass::Plain, EffectClass::Idempotent, EffectClass::Saga] {
        let daemon = Daemon::begin(Setting {
            class,
            target: written("/outside/notes").pop(),
            ..Setting::default()
        })
        .await;
        let first = daemon.pending().await;
        assert_eq!(first.inquiry.targets, written("/outside/notes"));
        daemon.link("/outside/keys");
        daemon.tools.permits.add_permits(1);
        daemon.approve(&first).await;
        assert_eq!(daemon.begun(), Vec::<u64>::new(), "{class:?}");
        let second = daemon.pending().await;
        assert_ne!(second.inquiry.decision_id, first.inquiry.decision_id);
        assert_eq!(second.inquiry.targets, written("/outside/keys"));
        daemon.approve(&second).await;
        assert_eq!(daemon.begun(), [0]);
        let granted = daemon.tools.granted.lock().expect("a list").clone();
        assert_eq!(granted, [written("/outside/keys")]);
    }
}

#[tokio::test]
async fn an_action_whose_link_was_swapped_after_its_verdict_asks() {
    let daemon = Daemon::begin(Setting {
        brakes: true,
        ..Setting::default()
    })
    .await;
    daemon.link("/outside/keys");
    daemon.release().await;
    assert_eq!(daemon.begun(), Vec::<u64>::new());
    let asked = daemon.pending().await;
    assert_eq!(
        (asked.inquiry.rule.as_str(), asked.inquiry.targets),
        (RuleName::OutsidePath.as_str(), written("/outside/keys"))
    );
}

#[tokio::test]
async fn a_tool_denied_during_a_wait_is_not_repeated() {
    for class in [EffectClass::Idempotent, EffectClass::Saga] {
        let daemon = Daemon::begin(Setting {
            class,
            busy: 1,
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(2);
        daemon.settle().await;
        assert_eq!(daemon.begun(), [0]);
        daemon.deny();
        daemon.ticks.pass(61_000);
        daemon.settle().await;
        assert_eq!(daemon.begun(), [0], "{class:?}");
        let (status, steps) = daemon.outcome().await;
        assert_eq!(status, "completed");
        assert_eq!(steps, [(StepStatus::Denied, "denied_tool".to_owned())]);
    }
}

#[tokio::test]
async fn a_repeatable_action_is_repeated_after_the_requested_wait() {
    let daemon = Daemon::begin(Setting {
        class: EffectClass::Idempotent,
        busy: 1,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(2);
    daemon.settle().await;
    daemon.ticks.pass(59_000);
    daemon.settle().await;
    assert_eq!(daemon.begun(), [0]);
    daemon.ticks.pass(2_000);
    daemon.settle().await;
    assert_eq!(daemon.begun(), [0, 0]);
    assert_eq!(daemon.outcome().await.1[0].0, StepStatus::Ok);
}

#[tokio::test]
async fn a_tool_denied_during_a_brake_does_not_begin() {
    for class in [EffectClass::Plain, EffectClass::Idempotent, EffectClass::Saga] {
        let daemon = Daemon::begin(Setting {
            class,
            brakes: true,
            ..Setting::default()
        })
        .await;
        daemon.tools.permits.add_permits(1);
        daemon.settle().await;
        assert_eq!(daemon.outcome().await.0, "open");
        daemon.deny();
        daemon.release().await;
        assert_eq!(daemon.begun(), Vec::<u64>::new(), "{class:?}");
        let (status, steps) = daemon.outcome().await;
        assert_eq!(status, "completed");
        assert_eq!(steps, [(StepStatus::Denied, "denied_tool".to_owned())]);
    }
}
