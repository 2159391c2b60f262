//! Every invariant on a world that was tampered with: one that nothing can break would prove nothing.

use wakeful_core::cause::{DEPTH_MAX, Origin};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::{Message, Parent};
use wakeful_core::report::Kind;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::timer::{Outcome, ScheduleReason, TriggerSource};
use wakeful_core::wake::WakeOutcome;
use wakeful_store::rows::ExecutionRow;

use super::{ALL, Scene, Verdict, judge};
use crate::alert::play;
use crate::schedule::Schedule;

/// A world that has what a test wants to tamper with.
fn scene_with(wanted: impl Fn(&Scene) -> bool) -> Scene {
    let mut scenes = (0..).filter_map(|seed| play(&Schedule::drawn_alert(seed)).ok());
    scenes.find(wanted).expect("there are endless seeds")
}

/// What an invariant says to such a world after it was changed.
fn tampered(name: &str, wanted: impl Fn(&Scene) -> bool, tamper: impl FnOnce(&mut Scene)) -> Verdict {
    let mut scene = scene_with(wanted);
    judge(&scene).expect("nothing is wrong before");
    tamper(&mut scene);
    let invariant = ALL.iter().find(|invariant| invariant.name == name);
    (invariant.expect("an invariant of that name").holds)(&scene)
}

fn has_verdict(scene: &Scene, verdict: WakeOutcome) -> bool {
    scene.wakes.values().any(|wake| wake.verdict == verdict)
}

fn first_with(scene: &Scene, verdict: WakeOutcome) -> RunKey {
    let mut wakes = scene.wakes.iter();
    *wakes
        .find(|(_, wake)| wake.verdict == verdict)
        .expect("a record")
        .0
}

fn is_woken(message: &Message) -> bool {
    matches!(message.cause.origin, Origin::Subscription { .. })
}

/// A message of a subscription that is still there.
fn noticed(scene: &Scene) -> Option<(RunKey, Message)> {
    let mut messages = scene.messages.iter().filter(|(_, message)| is_woken(message));
    let found = messages.find(|(_, message)| {
        let Origin::Subscription {
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
fn a_message_that_is_nowhere_or_in_two_places_is_found() {
    let name = "EveryMessageHasItsPlace";
    let ran = |scene: &Scene| has_verdict(scene, WakeOutcome::Run);
    let gone = |scene: &mut Scene| scene.runs.clear();
    assert!(tampered(name, ran, gone).is_err());
    let twice = |scene: &mut Scene| {
        let run = first_with(scene, WakeOutcome::Run);
        scene.queued.insert(run);
    };
    assert!(tampered(name, ran, twice).is_err());
    let absorbed = |scene: &Scene| has_verdict(scene, WakeOutcome::Absorbed);
    let by_nobody = |scene: &mut Scene| {
        let key = first_with(scene, WakeOutcome::Absorbed);
        scene.wakes.get_mut(&key).expect("its record").absorbed_by = Some(other());
    };
    assert!(tampered(name, absorbed, by_nobody).is_err());
    let forgotten = |scene: &mut Scene| {
        let key = first_with(scene, WakeOutcome::Absorbed);
        scene.wakes.get_mut(&key).expect("its record").verdict = WakeOutcome::Queued;
    };
    assert!(tampered(name, absorbed, forgotten).is_err());
    let refused = |scene: &Scene| has_verdict(scene, WakeOutcome::OwnWrite);
    let unsaid = |scene: &mut Scene| {
        let key = first_with(scene, WakeOutcome::OwnWrite);
        scene.wakes.get_mut(&key).expect("its record").verdict = WakeOutcome::Queued;
    };
    assert!(tampered(name, refused, unsaid).is_err());
}

#[test]
fn an_input_that_was_acknowledged_and_is_gone_is_found() {
    let name = "NoAcknowledgedInputLost";
    let posted = |scene: &Scene| !scene.ledger.posted.is_empty();
    let lost = |scene: &mut Scene| {
        let key = *scene.ledger.posted.keys().next().expect("a post");
        scene.messages.remove(&key);
    };
    assert!(tampered(name, posted, lost).is_err());
    let fired = |scene: &Scene| fired(scene).is_some();
    let unheard = |scene: &mut Scene| {
        let row = fired_row(scene);
        scene.messages.remove(&row.run_key.expect("a run"));
    };
    assert!(tampered(name, fired, unheard).is_err());
}

#[test]
fn a_key_that_runs_twice_is_found() {
    let name = "NoRunKeyRunsTwice";
    let ran = |scene: &Scene| !scene.runs.is_empty();
    let again = |scene: &mut Scene| {
        let logs = scene.logs.iter_mut().map(|(_, events)| events);
        let mut logs =
            logs.filter(|events| events.iter().any(|event| event.kind == Kind::RunStarted.as_str()));
        let log = logs.next().expect("a log");
        let started = log.iter().find(|event| event.kind == Kind::RunStarted.as_str());
        let started = started.expect("a beginning").clone();
        log.push(started);
    };
    assert!(tampered(name, ran, again).is_err());
    let stray = |scene: &mut Scene| {
        scene.ledger.asked.insert(other().to_string(), 1);
    };
    assert!(tampered(name, ran, stray).is_err());
    let twin = |scene: &mut Scene| scene.runs.extend(scene.runs.first().cloned());
    assert!(tampered(name, ran, twin).is_err());
}

#[test]
fn a_plain_effect_that_happened_twice_is_found() {
    let acted = |scene: &Scene| !scene.ledger.deeds.is_empty();
    let twice = |scene: &mut Scene| scene.ledger.deeds.extend(scene.ledger.deeds.first().copied());
    assert!(tampered("NoPlainEffectTwice", acted, twice).is_err());
}

fn is_by_clock(row: &ExecutionRow) -> bool {
    row.source == TriggerSource::Tick && row.outcome == Outcome::Run
}

/// The place of a firing that ran, of a schedule that nobody touched.
fn fired(scene: &Scene) -> Option<(usize, usize)> {
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

fn fired_row(scene: &mut Scene) -> ExecutionRow {
    let (place, row) = fired(scene).expect("a firing");
    scene.schedules[place].1[row].clone()
}

#[test]
fn a_moment_that_nobody_decided_about_or_two_did_is_found() {
    let name = "EveryOccurrenceIsDecidedOnce";
    let wanted = |scene: &Scene| fired(scene).is_some();
    let forgotten = |scene: &mut Scene| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1.remove(row);
    };
    assert!(tampered(name, wanted, forgotten).is_err());
    let twice = |scene: &mut Scene| {
        let (place, row) = fired(scene).expect("a firing");
        let again = scene.schedules[place].1[row].clone();
        scene.schedules[place].1.insert(row, again);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let elsewhere = |scene: &mut Scene| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1[row].due_at.0 += 1;
    };
    assert!(tampered(name, wanted, elsewhere).is_err());
    let late = |scene: &mut Scene| {
        let (place, _) = fired(scene).expect("a firing");
        scene.schedules[place].0.seen_until = Millis(scene.schedules[place].0.seen_until.0 + 40 * 86_400_000);
    };
    let recurs = |scene: &Scene| {
        let is_cron = |place: usize| {
            !matches!(
                scene.schedules[place].0.when,
                wakeful_core::timer::When::At { .. }
            )
        };
        fired(scene).is_some_and(|(place, _)| is_cron(place))
    };
    assert!(tampered(name, recurs, late).is_err());
}

#[test]
fn moments_that_were_missed_and_miscounted_are_found() {
    let missed = |scene: &Scene| {
        let untouched = scene.schedules.iter();
        let mut untouched = untouched.filter(|(timer, _)| !scene.ledger.touched.contains(&timer.schedule_id));
        untouched.any(|(_, rows)| rows.iter().any(|row| is_missed(row) && row.count < 100))
    };
    let miscounted = |scene: &mut Scene| {
        for (_, rows) in &mut scene.schedules {
            rows.iter_mut()
                .filter(|row| is_missed(row))
                .for_each(|row| row.count += 1);
        }
    };
    assert!(tampered("EveryOccurrenceIsDecidedOnce", missed, miscounted).is_err());
}

fn is_missed(row: &ExecutionRow) -> bool {
    row.reason == Some(ScheduleReason::Missed.into())
}

#[test]
fn a_moment_that_ran_twice_or_under_another_name_is_found() {
    let name = "NoOccurrenceRunsTwice";
    let wanted = |scene: &Scene| fired(scene).is_some();
    let twice = |scene: &mut Scene| {
        let (place, row) = fired(scene).expect("a firing");
        let mut again = scene.schedules[place].1[row].clone();
        again.run_key = Some(other());
        scene.schedules[place].1.push(again);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let renamed = |scene: &mut Scene| {
        let (place, row) = fired(scene).expect("a firing");
        scene.schedules[place].1[row].run_key = Some(other());
    };
    assert!(tampered(name, wanted, renamed).is_err());
}

#[test]
fn a_wake_by_ones_own_write_is_found() {
    let wanted = |scene: &Scene| noticed(scene).is_some();
    let own = |scene: &mut Scene| {
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
fn a_notice_that_woke_twice_or_should_not_have_is_found() {
    let name = "OneNoticeWakesOncePerSubscription";
    let wanted = |scene: &Scene| noticed(scene).is_some();
    let twice = |scene: &mut Scene| {
        let (_, message) = noticed(scene).expect("a notice");
        scene.messages.insert(other(), message);
    };
    assert!(tampered(name, wanted, twice).is_err());
    let too_early = |scene: &mut Scene| {
        scene
            .subscriptions
            .iter_mut()
            .for_each(|row| row.journal_seq = u64::MAX);
    };
    assert!(tampered(name, wanted, too_early).is_err());
    let unconcerned = |scene: &mut Scene| {
        scene.notices.iter_mut().for_each(|notice| notice.tokens.clear());
    };
    assert!(tampered(name, wanted, unconcerned).is_err());
}

#[test]
fn a_notice_that_nobody_heard_of_is_found() {
    let wanted = |scene: &Scene| noticed(scene).is_some();
    let unheard = |scene: &mut Scene| {
        let (key, _) = noticed(scene).expect("a notice");
        scene.wakes.remove(&key);
    };
    assert!(tampered("EveryNoticeIsAnswered", wanted, unheard).is_err());
}

#[test]
fn a_forged_or_refused_delivery_that_left_something_is_found() {
    let name = "RefusedTriggersLeaveNothing";
    let ran = |scene: &Scene| !scene.ledger.delivered.is_empty();
    let forged = |scene: &mut Scene| {
        let key = *scene.ledger.delivered.keys().next().expect("a delivery");
        scene.ledger.forged.insert(key);
    };
    assert!(tampered(name, ran, forged).is_err());
    let refused = |scene: &mut Scene| {
        let key = *scene.ledger.delivered.keys().next().expect("a delivery");
        scene.ledger.delivered.remove(&key);
        scene.ledger.refused.insert(key);
    };
    assert!(tampered(name, ran, refused).is_err());
}

#[test]
fn a_delivery_that_was_taken_in_twice_is_found() {
    let ran = |scene: &Scene| !scene.ledger.delivered.is_empty();
    let twice = |scene: &mut Scene| scene.ledger.delivered.values_mut().for_each(|times| *times = 2);
    assert!(tampered("ADeliveryIsTakenInOnce", ran, twice).is_err());
}

#[test]
fn a_chain_of_wakes_beyond_the_bound_is_found() {
    let any = |scene: &Scene| !scene.messages.is_empty();
    let deep = |scene: &mut Scene| {
        let message = scene.messages.values_mut().next().expect("a message");
        message.cause.depth = DEPTH_MAX + 1;
    };
    assert!(tampered("NoChainOfWakesIsEndless", any, deep).is_err());
}

#[test]
fn a_start_with_two_runs_or_an_end_that_was_told_twice_or_never_is_found() {
    let name = "EachStartIsOneRunAndToldOnce";
    let parent = |scene: &Scene| -> Option<(RunKey, Parent)> {
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
    let started = |scene: &Scene| parent(scene).is_some();
    let twins = |scene: &mut Scene| {
        let (key, _) = parent(scene).expect("a start");
        let message = scene.messages.get(&key).expect("its message").clone();
        scene.messages.insert(other(), message);
    };
    assert!(tampered(name, started, twins).is_err());
    let again = |scene: &mut Scene| {
        let (_, parent) = parent(scene).expect("a start");
        let lines = scene.said.get_mut(&parent.run_key).expect("what was said");
        lines.extend(lines.clone());
    };
    assert!(tampered(name, started, again).is_err());
    let unsaid = |scene: &mut Scene| {
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
    let any = |scene: &Scene| scene.logs.iter().any(|(_, events)| events.len() > 3);
    let missing = |scene: &mut Scene| {
        let mut logs = scene.logs.iter_mut();
        let (_, events) = logs.find(|(_, events)| events.len() > 3).expect("a log");
        events.remove(1);
    };
    assert!(tampered("ChainIsWhole", any, missing).is_err());
}

#[test]
fn what_never_comes_to_rest_is_found() {
    let name = "EverythingComesToRest";
    let any = |scene: &Scene| !scene.runs.is_empty();
    let waits = |scene: &mut Scene| scene.queued.extend([other()]);
    assert!(tampered(name, any, waits).is_err());
    let untold = |scene: &mut Scene| scene.tellings = 1;
    assert!(tampered(name, any, untold).is_err());
    let open = |scene: &mut Scene| RunStatus::Open.clone_into(&mut scene.runs[0].row.status);
    assert!(tampered(name, any, open).is_err());
}

#[test]
fn a_complaint_of_a_port_is_found() {
    let complained = |scene: &mut Scene| scene.ledger.complaints.push("it acts".into());
    assert!(tampered("NobodyComplains", |_| true, complained).is_err());
}
