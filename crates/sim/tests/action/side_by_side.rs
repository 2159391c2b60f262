//! How many actions run at once, under which policy they begin, and how long they may take.

use super::*;

// Conformance: A-177
#[tokio::test]
async fn at_most_four_repeatable_actions_run_at_once() {
    let daemon = Daemon::begin(Setting {
        calls: 6,
        class: EffectClass::Idempotent,
        ending: Ending::Permit,
        denies: None,
        ..Setting::default()
    })
    .await;
    assert_eq!(daemon.begun(), [0, 1, 2, 3]);
    daemon.tools.permits.add_permits(6);
    daemon.settle().await;
    assert_eq!(daemon.tools.running_max.load(Ordering::SeqCst), 4);
    assert_eq!(daemon.begun(), [0, 1, 2, 3, 4, 5]);
    let (status, steps) = daemon.outcome().await;
    assert_eq!((status.as_str(), steps.len()), ("completed", 6));
    assert!(steps.iter().all(|(status, _)| *status == StepStatus::Ok));
}

#[tokio::test]
async fn plain_actions_run_one_at_a_time() {
    let daemon = Daemon::begin(Setting {
        calls: 3,
        class: EffectClass::Plain,
        ending: Ending::Permit,
        denies: None,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(3);
    daemon.settle().await;
    assert_eq!(daemon.tools.running_max.load(Ordering::SeqCst), 1);
    assert_eq!(daemon.begun(), [0, 1, 2]);
}

#[tokio::test]
async fn an_action_judged_by_an_outdated_policy_never_begins() {
    for class in [EffectClass::Plain, EffectClass::Idempotent] {
        for denies in [DenialMoment::BeforeCommit, DenialMoment::AfterCommit] {
            let daemon = Daemon::begin(Setting {
                calls: 1,
                class,
                ending: Ending::Permit,
                denies: Some(denies),
                ..Setting::default()
            })
            .await;
            daemon.tools.permits.add_permits(1);
            daemon.settle().await;
            assert_eq!(daemon.begun(), Vec::<u64>::new());
            let (status, steps) = daemon.outcome().await;
            assert_eq!(status, "completed");
            assert_eq!(steps, [(StepStatus::Denied, "denied_tool".to_owned())]);
        }
    }
}

// Conformance: A-177
#[tokio::test]
async fn a_tool_that_never_ends_is_stopped_after_its_time_limit() {
    for (class, status, reason) in [
        (EffectClass::Idempotent, StepStatus::Failed, "timed_out"),
        (EffectClass::Plain, StepStatus::OutcomeUnknown, "outcome_unknown"),
    ] {
        let daemon = Daemon::begin(Setting {
            calls: 1,
            class,
            ending: Ending::Never,
            denies: None,
            ..Setting::default()
        })
        .await;
        assert_eq!(daemon.begun(), [0]);
        while daemon.ticks.advance() && daemon.outcome().await.0 == "open" {
            daemon.settle().await;
        }
        let (run, steps) = daemon.outcome().await;
        assert_eq!(run, "completed");
        assert_eq!(steps, [(status, reason.to_owned())]);
        let waited_ms = wakeful_ports::clock::Clock::monotonic_ms(&*daemon.ticks);
        let limits = TOOL_MS_MAX..TOOL_MS_MAX + 10_000;
        assert!(limits.contains(&waited_ms), "{waited_ms}");
    }
}
