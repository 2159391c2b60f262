//! Tests every invariant on tampered evidence: an invariant that cannot fail proves nothing.

use wakeful_core::cause::{DEPTH_MAX, MessageOrigin};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::{Message, ParentRun};
use wakeful_core::report::EventKind;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{ExecutionOutcome, ScheduleReason, TriggerSource};
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;
use wakeful_store::rows::ScheduledExecutionRow;

use super::{ALL, DaemonEvidence, Verdict, judge};
use crate::daemon::play;
use crate::fault_plan::FaultPlan;

/// Evidence that contains what a test tampers with.
fn scene_with(wanted: impl Fn(&DaemonEvidence) -> bool) -> DaemonEvidence {
    let mut scenes = (0..).filter_map(|seed| play(&FaultPlan::drawn_alert(seed)).ok());
    scenes.find(wanted).expect("there are endless seeds")
}

/// The verdict of an invariant on such evidence after a change.
fn tampered(
    name: &str,
    wanted: impl Fn(&DaemonEvidence) -> bool,
    tamper: impl FnOnce(&mut DaemonEvidence),
) -> Verdict {
    let mut scene = scene_with(wanted);
    judge(&scene).expect("nothing is wrong before");
    tamper(&mut scene);
    let invariant = ALL.iter().find(|invariant| invariant.name == name);
    (invariant.expect("an invariant of that name").holds)(&scene)
}

fn has_verdict(scene: &DaemonEvidence, verdict: WakeOutcome) -> bool {
    scene.wakes.values().any(|wake| wake.verdict == verdict)
}

fn first_with(scene: &DaemonEvidence, verdict: WakeOutcome) -> RunKey {
    let mut wakes = scene.wakes.iter();
    *wakes
        .find(|(_, wake)| wake.verdict == verdict)
        .expect("a record")
        .0
}

fn is_woken(message: &Message) -> bool {
    matches!(message.cause.origin, MessageOrigin::Subscription { .. })
}

/// A stored message of a subscription.
fn noticed(scene: &DaemonEvidence) -> Option<(RunKey, Message)> {
    let mut messages = scene.messages.iter().filter(|(_, message)| is_woken(message));
    let found = messages.find(|(_, message)| {
        let MessageOrigin::Subscription {
            subscription, change, ..
        } = &message.cause.origin
        else {
            return false;
        };
        let is_kept = scene
            .subscriptions
            .iter()
            .any(|row| row.subscription_id == *subscription);
        let is_known = scene.notices.iter().any(|notice| notice.key == *change);
        is_kept && is_known && !scene.ledger.dropped.contains(subscription)
    });
    found.map(|(key, message)| (*key, message.clone()))
}

fn other() -> RunKey {
    RunKey(Digest::of(b"another"))
}

#[test]
fn a_message_in_no_state_or_in_two_is_found() {
    let name = "EveryMessageHasItsPlace";
    let ran = |scene: &DaemonEvidence| has_verdict(scene, WakeOutcome::Run);
    let gone = |scene: &mut DaemonEvidence| scene.runs.clear();
    assert!(tampered(name, ran, gone).is_err());
    let twice = |scene: &mut DaemonEvidence| {
        let run = first_with(scene, WakeOutcome::Run);
        scene.queued.insert(run);
    };
    assert!(tampered(name, ran, twice).is_err());
    let absorbed = |scene: &DaemonEvidence| has_verdict(scene, WakeOutcome::Absorbed);
    let by_nobody = |scene: &mut DaemonEvidence| {
        let key = first_with(scene, WakeOutcome::Absorbed);
        scene.wakes.get_mut(&key).expect("its record").absorbed_by = Some(other());
    };
    assert!(tampered(name, absorbed, by_nobody).is_err());
    let forgotten = |scene: &mut DaemonEvidence| {
        let key = first_with(scene, WakeOutcome::Absorbed);
        scene.wakes.get_mut(&key).expect("its record").verdict = WakeOutcome::Queued;
    };
    assert!(tampered(name, absorbed, forgotten).is_err());
    let refused = |scene: &DaemonEvidence| has_verdict(scene, WakeOutcome::OwnWrite);
    let unsaid = |scene: &mut DaemonEvidence| {
        let key = first_with(scene, WakeOutcome::OwnWrite);
        scene.wakes.get_mut(&key).expect("its record").verdict = WakeOutcome::Queued;
    };
    assert!(tampered(name, refused, unsaid).is_err());
}

#[test]
fn a_lost_acknowledged_input_is_found() {
    let name = "NoAcknowledgedInputLost";
    let posted = |scene: &DaemonEvidence| !scene.ledger.posted.is_empty();
    let lost = |scene: &mut DaemonEvidence| {
        let key = *scene.ledger.posted.keys().next().expect("a post");
        scene.messages.remove(&key);
    };
    assert!(tampered(name, posted, lost).is_err());
    let fired = |scene: &DaemonEvidence| fired(scene).is_some();
    let unheard = |scene: &mut DaemonEvidence| {
        let row = fired_row(scene);
        scene.messages.remove(&row.run_key.expect("a run"));
    };
    assert!(tampered(name, fired, unheard).is_err());
}

#[test]
fn a_key_that_runs_twice_is_found() {
    let name = "NoRunKeyRunsTwice";
    let ran = |scene: &DaemonEvidence| !scene.runs.is_empty();
    let again = |scene: &mut DaemonEvidence| {
        let logs = scene.logs.iter_mut().map(|(_, events)| events);
        let mut logs = logs.filter(|events| {
            events
                .iter()
                .any(|event| event.kind == EventKind::RunStarted.as_str())
        });
        let log = logs.next().expect("a log");
        let started = log
            .iter()
            .find(|event| event.kind == EventKind::RunStarted.as_str());
        let started = started.expect("a beginning").clone();
        log.push(started);
    };
    assert!(tampered(name, ran, again).is_err());
    let stray = |scene: &mut DaemonEvidence| {
        scene.ledger.asked.insert(other().to_string(), 1);
    };
    assert!(tampered(name, ran, stray).is_err());
    let twin = |scene: &mut DaemonEvidence| scene.runs.extend(scene.runs.first().cloned());
    assert!(tampered(name, ran, twin).is_err());
}

#[test]
fn a_plain_effect_that_happened_twice_is_found() {
    let acted = |scene: &DaemonEvidence| !scene.ledger.deeds.is_empty();
    let twice = |scene: &mut DaemonEvidence| scene.ledger.deeds.extend(scene.ledger.deeds.first().copied());
    assert!(tampered("NoPlainEffectTwice", acted, twice).is_err());
}

fn is_by_clock(row: &ScheduledExecutionRow) -> bool {
    row.source == TriggerSource::Tick && row.outcome == ExecutionOutcome::Run
}

/// The index of a firing that ran, of a schedule that no script action changed.
fn fired(scene: &DaemonEvidence) -> Option<(usize, usize)> {
    scene
        .schedules
        .iter()
        .enumerate()
        .find_map(|(place, (timer, rows))| {
            let is_untouched = !scene.ledger.touched.contains(&timer.schedule_id);
            let row = rows.iter().position(is_by_clock).filter(|_| is_untouched)?;
            Some((place, row))
        })
}

fn fired_row(scene: &mut DaemonEvidence) -> ScheduledExecutionRow {
    let (place, row) = fired(scene).expect("a firing");
    scene.schedules[place].1[row].clone()
}

#[test]
fn an_undecided_or_twice_decided_firing_is_found() {
    let name = "EveryOccurrenceIsDecidedOnce";
    let wanted = |scene: &DaemonEvidence| fired(scene).is_some();
    let forgotten = |scene: &mut DaemonEvidence| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1.remove(row);
    };
    assert!(tampered(name, wanted, forgotten).is_err());
    let twice = |scene: &mut DaemonEvidence| {
        let (place, row) = fired(scene).expect("a firing");
        let again = scene.schedules[place].1[row].clone();
        scene.schedules[place].1.insert(row, again);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let elsewhere = |scene: &mut DaemonEvidence| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1[row].due_at.0 += 1;
    };
    assert!(tampered(name, wanted, elsewhere).is_err());
    let late = |scene: &mut DaemonEvidence| {
        let (place, _) = fired(scene).expect("a firing");
        scene.schedules[place].0.seen_until = Millis(scene.schedules[place].0.seen_until.0 + 40 * 86_400_000);
    };
    let recurs = |scene: &DaemonEvidence| {
        let is_cron = |place: usize| {
            !matches!(
                scene.schedules[place].0.when,
                wakeful_core::schedule::FiringTime::At { .. }
            )
        };
        fired(scene).is_some_and(|(place, _)| is_cron(place))
    };
    assert!(tampered(name, recurs, late).is_err());
}

#[test]
fn miscounted_missed_firings_are_found() {
    let missed = |scene: &DaemonEvidence| {
        let untouched = scene.schedules.iter();
        let mut untouched = untouched.filter(|(timer, _)| !scene.ledger.touched.contains(&timer.schedule_id));
        untouched.any(|(_, rows)| rows.iter().any(|row| is_missed(row) && row.count < 100))
    };
    let miscounted = |scene: &mut DaemonEvidence| {
        for (_, rows) in &mut scene.schedules {
            rows.iter_mut()
                .filter(|row| is_missed(row))
                .for_each(|row| row.count += 1);
        }
    };
    assert!(tampered("EveryOccurrenceIsDecidedOnce", missed, miscounted).is_err());
}

fn is_missed(row: &ScheduledExecutionRow) -> bool {
    row.reason == Some(ScheduleReason::Missed.into())
}

#[test]
fn a_firing_that_ran_twice_or_under_another_key_is_found() {
    let name = "NoOccurrenceRunsTwice";
    let wanted = |scene: &DaemonEvidence| fired(scene).is_some();
    let twice = |scene: &mut DaemonEvidence| {
        let (place, row) = fired(scene).expect("a firing");
        let mut again = scene.schedules[place].1[row].clone();
        again.run_key = Some(other());
        scene.schedules[place].1.push(again);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let renamed = |scene: &mut DaemonEvidence| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1[row].run_key = Some(other());
    };
    assert!(tampered(name, wanted, renamed).is_err());
}

#[test]
fn a_wake_by_an_agents_own_write_is_found() {
    let wanted = |scene: &DaemonEvidence| noticed(scene).is_some();
    let own = |scene: &mut DaemonEvidence| {
        let (_, message) = noticed(scene).expect("a notice");
        let author = format!("agent:{}", message.agent_id);
        scene
            .notices
            .iter_mut()
            .for_each(|notice| notice.author.clone_from(&author));
    };
    assert!(tampered("NothingWakesOnItsOwnWrite", wanted, own).is_err());
}

#[test]
fn a_notice_that_woke_twice_or_wrongly_is_found() {
    let name = "OneNoticeWakesOncePerSubscription";
    let wanted = |scene: &DaemonEvidence| noticed(scene).is_some();
    let twice = |scene: &mut DaemonEvidence| {
        let (_, message) = noticed(scene).expect("a notice");
        scene.messages.insert(other(), message);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let too_early = |scene: &mut DaemonEvidence| {
        scene
            .subscriptions
            .iter_mut()
            .for_each(|row| row.journal_seq = u64::MAX);
    };
    assert!(tampered(name, wanted, too_early).is_err());
    let unconcerned = |scene: &mut DaemonEvidence| {
        scene.notices.iter_mut().for_each(|notice| notice.tokens.clear());
    };
    assert!(tampered(name, wanted, unconcerned).is_err());
}

#[test]
fn an_undelivered_notice_is_found() {
    let wanted = |scene: &DaemonEvidence| noticed(scene).is_some();
    let unheard = |scene: &mut DaemonEvidence| {
        let (key, _) = noticed(scene).expect("a notice");
        scene.wakes.remove(&key);
    };
    assert!(tampered("EveryNoticeIsAnswered", wanted, unheard).is_err());
}

#[test]
fn a_forged_or_refused_delivery_that_left_a_row_is_found() {
    let name = "RefusedTriggersLeaveNothing";
    let ran = |scene: &DaemonEvidence| !scene.ledger.delivered.is_empty();
    let forged = |scene: &mut DaemonEvidence| {
        let key = *scene.ledger.delivered.keys().next().expect("a delivery");
        scene.ledger.forged.insert(key);
    };
    assert!(tampered(name, ran, forged).is_err());
    let refused = |scene: &mut DaemonEvidence| {
        let key = *scene.ledger.delivered.keys().next().expect("a delivery");
        scene.ledger.delivered.remove(&key);
        scene.ledger.refused.insert(key);
    };
    assert!(tampered(name, ran, refused).is_err());
}

#[test]
fn a_delivery_that_was_accepted_twice_is_found() {
    let ran = |scene: &DaemonEvidence| !scene.ledger.delivered.is_empty();
    let twice = |scene: &mut DaemonEvidence| scene.ledger.delivered.values_mut().for_each(|times| *times = 2);
    assert!(tampered("ADeliveryIsTakenInOnce", ran, twice).is_err());
}

#[test]
fn a_chain_of_wakes_beyond_the_bound_is_found() {
    let any = |scene: &DaemonEvidence| !scene.messages.is_empty();
    let deep = |scene: &mut DaemonEvidence| {
        let message = scene.messages.values_mut().next().expect("a message");
        message.cause.depth = DEPTH_MAX + 1;
    };
    assert!(tampered("NoChainOfWakesIsEndless", any, deep).is_err());
}

#[test]
fn a_start_with_two_runs_or_a_misreported_end_is_found() {
    let name = "EachStartIsOneRunAndToldOnce";
    let parent = |scene: &DaemonEvidence| -> Option<(RunKey, ParentRun)> {
        scene.messages.iter().find_map(|(key, message)| {
            let parent = message.parent.clone()?;
            let is_told = scene
                .said
                .get(&parent.run_key)?
                .concat()
                .contains(&key.to_string());
            is_told.then_some((*key, parent))
        })
    };
    let started = |scene: &DaemonEvidence| parent(scene).is_some();
    let twins = |scene: &mut DaemonEvidence| {
        let (key, _) = parent(scene).expect("a start");
        let message = scene.messages.get(&key).expect("its message").clone();
        scene.messages.insert(other(), message);
    };
    assert!(tampered(name, started, twins).is_err());
    let again = |scene: &mut DaemonEvidence| {
        let (_, parent) = parent(scene).expect("a start");
        let lines = scene.said.get_mut(&parent.run_key).expect("what was said");
        lines.extend(lines.clone());
    };
    assert!(tampered(name, started, again).is_err());
    let unsaid = |scene: &mut DaemonEvidence| {
        let (_, parent) = parent(scene).expect("a start");
        let run = scene
            .runs
            .iter_mut()
            .find(|run| run.row.run_key == parent.run_key);
        run.expect("its run").row.status = RunStatus::Completed;
        scene
            .said
            .get_mut(&parent.run_key)
            .expect("what was said")
            .clear();
    };
    assert!(tampered(name, started, unsaid).is_err());
}

#[test]
fn an_event_that_is_missing_is_found() {
    let any = |scene: &DaemonEvidence| scene.logs.iter().any(|(_, events)| events.len() > 3);
    let missing = |scene: &mut DaemonEvidence| {
        let mut logs = scene.logs.iter_mut();
        let (_, events) = logs.find(|(_, events)| events.len() > 3).expect("a log");
        events.remove(1);
    };
    assert!(tampered("ChainIsWhole", any, missing).is_err());
}

#[test]
fn work_that_never_finishes_is_found() {
    let name = "EverythingComesToRest";
    let any = |scene: &DaemonEvidence| !scene.runs.is_empty();
    let waits = |scene: &mut DaemonEvidence| scene.queued.extend([other()]);
    assert!(tampered(name, any, waits).is_err());
    let untold = |scene: &mut DaemonEvidence| scene.tellings = 1;
    assert!(tampered(name, any, untold).is_err());
    let open = |scene: &mut DaemonEvidence| RunStatus::Open.clone_into(&mut scene.runs[0].row.status);
    assert!(tampered(name, any, open).is_err());
}

#[test]
fn a_port_complaint_is_found() {
    let complained = |scene: &mut DaemonEvidence| scene.ledger.complaints.push("it acts".into());
    assert!(tampered("NoUnexpectedError", |_| true, complained).is_err());
}
