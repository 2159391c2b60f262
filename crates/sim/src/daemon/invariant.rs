//! The invariants of every daemon scenario, independent of the injected faults.

mod occurrence;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::cause::{DEPTH_MAX, MessageOrigin};
use wakeful_core::key::{RunKey, RunKeySource};
use wakeful_core::report::EventKind;
use wakeful_core::run::RunStatus;
use wakeful_core::sub_run::START_RUN;
use wakeful_core::wake::{Refusal, WakeOutcome};

use super::evidence::DaemonEvidence;
use crate::evidence::Moment;
use crate::invariant::{Invariant, Verdict, Violation, chain, named, unless};

pub(crate) const ALL: [Invariant<DaemonEvidence>; 16] = [
    named("EveryMessageHasItsPlace", every_message_has_its_place),
    named("NoAcknowledgedInputLost", no_acknowledged_input_lost),
    named("NoRunKeyRunsTwice", no_run_key_runs_twice),
    named("NoPlainEffectTwice", no_plain_effect_twice),
    named(
        "EveryOccurrenceIsDecidedOnce",
        occurrence::every_occurrence_is_decided_once,
    ),
    named("NoOccurrenceRunsTwice", occurrence::no_occurrence_runs_twice),
    named("NothingWakesOnItsOwnWrite", nothing_wakes_on_its_own_write),
    named(
        "OneNoticeWakesOncePerSubscription",
        one_notice_wakes_once_per_subscription,
    ),
    named("EveryNoticeIsAnswered", every_notice_is_answered),
    named("RefusedTriggersLeaveNothing", refused_triggers_leave_nothing),
    named("ADeliveryIsTakenInOnce", a_delivery_is_taken_in_once),
    named("NoChainOfWakesIsEndless", no_chain_of_wakes_is_endless),
    named(
        "EachStartIsOneRunAndToldOnce",
        each_start_is_one_run_and_told_once,
    ),
    named("ChainIsWhole", chain_is_whole),
    named("EverythingComesToRest", everything_comes_to_rest),
    named("NoUnexpectedError", no_unexpected_error),
];

/// Checks every invariant.
pub(crate) fn judge(scene: &DaemonEvidence) -> Result<(), Violation> {
    for Invariant { name, holds, .. } in ALL {
        holds(scene).map_err(|what| Violation {
            invariant: name,
            what,
            story: Vec::new(),
        })?;
    }
    Ok(())
}

/// Reasons for which only a sub-run can be refused.
const STARTS_REFUSED: [WakeOutcome; 4] = [
    WakeOutcome::AgentIsItself,
    WakeOutcome::AgentWaits,
    WakeOutcome::QueueFull,
    WakeOutcome::TooDeep,
];

/// An admitted message is queued, in a run, absorbed by one, or has a reported outcome; a refused message
/// has a reason.
fn every_message_has_its_place(scene: &DaemonEvidence) -> Verdict {
    for key in scene.messages.keys() {
        let verdict = scene.wakes.get(key).map(|wake| wake.verdict);
        let taken_up_by = scene.wakes.get(key).and_then(|wake| wake.absorbed_by);
        let has_place = match (scene.queued.contains(key), scene.run(*key).is_some()) {
            (true, true) => false,
            (true, false) => verdict != Some(WakeOutcome::Run) && verdict != Some(WakeOutcome::Absorbed),
            (false, true) => verdict == Some(WakeOutcome::Run),
            (false, false) => match verdict {
                Some(WakeOutcome::Absorbed) => taken_up_by.is_some_and(|by| scene.run(by).is_some()),
                Some(WakeOutcome::Cancelled | WakeOutcome::Replaced) => true,
                Some(_) | None => false,
            },
        };
        unless(has_place, || {
            let waits = scene.queued.contains(key);
            format!("{key} is in no valid state: {verdict:?}, absorbed by {taken_up_by:?}, queued: {waits}")
        })?;
    }
    let refused = scene
        .wakes
        .iter()
        .filter(|(key, _)| !scene.messages.contains_key(key));
    for (key, wake) in refused {
        let is_refusal =
            Refusal::of_code(wake.verdict.as_str()).is_some() || STARTS_REFUSED.contains(&wake.verdict);
        unless(is_refusal, || {
            format!(
                "{key} was never admitted, and its record has the verdict {}",
                wake.verdict
            )
        })?;
    }
    Ok(())
}

/// Every input that was acknowledged is stored.
fn no_acknowledged_input_lost(scene: &DaemonEvidence) -> Verdict {
    let delivered = scene.ledger.delivered.keys();
    for key in scene.ledger.posted.keys().chain(delivered) {
        unless(scene.messages.contains_key(key), || format!("{key} is lost"))?;
    }
    let fired = scene.schedules.iter().flat_map(|(_, rows)| rows);
    for row in fired.filter(|row| row.outcome == wakeful_core::schedule::ExecutionOutcome::Run) {
        let is_there = row.run_key.is_some_and(|key| scene.messages.contains_key(&key));
        unless(is_there, || {
            format!("a firing is recorded as run and has no message: {row:?}")
        })?;
    }
    Ok(())
}

/// A run key starts and ends once, and no model request belongs to an unknown run.
fn no_run_key_runs_twice(scene: &DaemonEvidence) -> Verdict {
    let mut seen: BTreeMap<(RunKey, &str), u32> = BTreeMap::new();
    for event in scene.logs.iter().flat_map(|(_, events)| events) {
        let counts = [EventKind::RunStarted, EventKind::RunEnded]
            .iter()
            .any(|kind| kind.as_str() == event.kind);
        if let Some(run) = event.run_key.filter(|_| counts) {
            *seen.entry((run, event.kind.as_str())).or_default() += 1;
        }
    }
    for ((run, kind), times) in seen {
        unless(times == 1, || format!("{kind} of {run}: {times} times"))?;
    }
    let keys: BTreeSet<String> = scene.runs.iter().map(|run| run.row.run_key.to_string()).collect();
    let stray = scene.ledger.asked.keys().find(|asked| !keys.contains(*asked));
    unless(stray.is_none(), || {
        format!("the model was asked for {stray:?}, which is not a run")
    })?;
    unless(keys.len() == scene.runs.len(), || {
        "two runs have one key".to_owned()
    })
}

fn no_plain_effect_twice(scene: &DaemonEvidence) -> Verdict {
    let mut done = BTreeSet::new();
    let twice = scene.ledger.deeds.iter().find(|deed| !done.insert(**deed));
    unless(twice.is_none(), || format!("{twice:?} took effect twice"))
}

/// No agent is woken by its own write, independent of the author that the message names.
fn nothing_wakes_on_its_own_write(scene: &DaemonEvidence) -> Verdict {
    let authors: BTreeMap<_, _> = scene
        .notices
        .iter()
        .map(|notice| (notice.key, notice.author.as_str()))
        .collect();
    for (key, message) in &scene.messages {
        let MessageOrigin::Subscription { change, author, .. } = &message.cause.origin else {
            continue;
        };
        let wrote = authors.get(change).copied().unwrap_or(author);
        unless(wrote != format!("agent:{}", message.agent_id), || {
            format!("{key} wakes {} by its own write", message.agent_id)
        })?;
    }
    Ok(())
}

/// A subscription creates one message per notice, only from matching notices, and none from before its
/// creation.
fn one_notice_wakes_once_per_subscription(scene: &DaemonEvidence) -> Verdict {
    let mut seen = BTreeSet::new();
    for (key, message) in &scene.messages {
        let MessageOrigin::Subscription {
            subscription, change, ..
        } = &message.cause.origin
        else {
            continue;
        };
        unless(seen.insert((subscription, *change)), || {
            format!("{subscription} created two messages from one notice, one of them {key}")
        })?;
        let named = RunKeySource::Subscription {
            subscription: subscription.as_str(),
            change: *change,
        };
        unless(*key == RunKey::of(message.agent_id.as_str(), &named), || {
            format!("{key} is not derived from its subscription and notice")
        })?;
        let notice = scene.notices.iter().find(|notice| notice.key == *change);
        let rows = scene
            .subscriptions
            .iter()
            .filter(|row| row.subscription_id == *subscription);
        let row = rows
            .into_iter()
            .find(|_| !scene.ledger.dropped.contains(subscription));
        let (Some(notice), Some(row)) = (notice, row) else {
            continue;
        };
        let filter = row.spec.filter().map_err(|error| error.to_string())?;
        let concerns = notice.seq > row.journal_seq && filter.admits(&notice.tokens);
        unless(concerns && row.agent_id == message.agent_id, || {
            format!("{subscription} does not match {notice:?}")
        })?;
    }
    Ok(())
}

/// At the end, every notice that matches a subscription is a message or a recorded refusal; of very many
/// refusals in a day, the rest is counted.
fn every_notice_is_answered(scene: &DaemonEvidence) -> Verdict {
    if scene.moment == Moment::Midway {
        return Ok(());
    }
    let kept = scene
        .subscriptions
        .iter()
        .filter(|row| !scene.ledger.dropped.contains(&row.subscription_id));
    for row in kept {
        let filter = row.spec.filter().map_err(|error| error.to_string())?;
        let concern =
            |notice: &&super::evidence::Notice| notice.seq > row.journal_seq && filter.admits(&notice.tokens);
        let source = format!("subscription:{}", row.subscription_id);
        let mut only_counted = scene.only_counted.get(&source).copied().unwrap_or(0);
        for notice in scene.notices.iter().filter(concern) {
            let named = RunKeySource::Subscription {
                subscription: row.subscription_id.as_str(),
                change: notice.key,
            };
            let key = RunKey::of(row.agent_id.as_str(), &named);
            if !scene.wakes.contains_key(&key) && only_counted > 0 {
                only_counted -= 1;
                continue;
            }
            unless(scene.wakes.contains_key(&key), || {
                format!("{} did not receive {notice:?}", row.subscription_id)
            })?;
        }
    }
    Ok(())
}

/// A delivery with an invalid URL leaves no row; a delivery refused because of the agent's state is not
/// admitted.
fn refused_triggers_leave_nothing(scene: &DaemonEvidence) -> Verdict {
    let ledger = &scene.ledger;
    for key in &ledger.forged {
        let is_anywhere = scene.messages.contains_key(key) || scene.wakes.contains_key(key);
        unless(!is_anywhere && scene.run(*key).is_none(), || {
            format!("a forged delivery left a row: {key}")
        })?;
    }
    let refused = ledger.refused.iter();
    let refused = refused.filter(|key| !ledger.delivered.contains_key(key) && !ledger.unheard.contains(key));
    for key in refused {
        unless(!scene.messages.contains_key(key), || {
            format!("a refused delivery was admitted: {key}")
        })?;
    }
    Ok(())
}

/// A repeated delivery is the same message.
fn a_delivery_is_taken_in_once(scene: &DaemonEvidence) -> Verdict {
    let mut often = scene.ledger.delivered.iter();
    let twice = often.find(|(_, times)| **times > 1);
    unless(twice.is_none(), || {
        format!("a delivery was accepted as new more than once: {twice:?}")
    })
}

fn no_chain_of_wakes_is_endless(scene: &DaemonEvidence) -> Verdict {
    let mut messages = scene.messages.iter();
    let deep = messages.find(|(_, message)| message.cause.depth > DEPTH_MAX);
    unless(deep.is_none(), || {
        format!("the causal depth of {deep:?} exceeds the bound")
    })
}

/// A start leads to at most one run, and its end is reported to the starting run once.
fn each_start_is_one_run_and_told_once(scene: &DaemonEvidence) -> Verdict {
    let mut started = BTreeMap::new();
    for (key, message) in &scene.messages {
        let Some(parent) = &message.parent else { continue };
        let other = started.insert(parent.operation_id, key);
        unless(other.is_none(), || {
            format!("one start, two runs: {key} and {other:?}")
        })?;
    }
    let is_open = |run: &RunKey| {
        scene
            .run(*run)
            .is_some_and(|run| run.row.status == RunStatus::Open)
    };
    for (run, lines) in scene.said.iter().filter(|(run, _)| !is_open(run)) {
        let children = scene.messages.iter().filter(|(_, message)| {
            let parent = message.parent.as_ref();
            parent.is_some_and(|parent| parent.run_key == *run)
        });
        let is_cancelled = scene
            .run(*run)
            .is_none_or(|run| run.row.status == RunStatus::Cancelled);
        for (child, _) in children {
            let word = child.to_string();
            let times: usize = lines.iter().map(|line| line.matches(&word).count()).sum();
            unless(times == 1 || (times == 0 && is_cancelled), || {
                format!("the end of {child} was reported {times} times to {run}")
            })?;
        }
    }
    Ok(())
}

fn chain_is_whole(scene: &DaemonEvidence) -> Verdict {
    let mut logs = scene.logs.iter();
    logs.try_for_each(|(agent, events)| chain(agent, &scene.incarnation, events).map(drop))
}

/// At the end no message is queued, no run is open or quarantined, and every notice is dispatched.
fn everything_comes_to_rest(scene: &DaemonEvidence) -> Verdict {
    if scene.moment == Moment::Midway {
        return Ok(());
    }
    unless(scene.queued.is_empty(), || {
        format!("these are still queued: {:?}", scene.queued)
    })?;
    unless(scene.tellings == 0, || {
        format!("{} agent notices are not dispatched", scene.tellings)
    })?;
    for run in &scene.runs {
        let is_over = run.row.status != RunStatus::Open && run.row.status != RunStatus::Quarantined;
        unless(is_over, || format!("{} is {}", run.row.run_key, run.row.status))?;
        let left = run.steps.iter().find(|step| step.status.is_open());
        unless(left.is_none(), || {
            format!("the run has ended, and this step has not: {left:?}")
        })?;
        let starts = run.steps.iter().filter(|step| step.name == START_RUN);
        unless(
            starts.count() == 0 || scene.said.contains_key(&run.row.run_key),
            || "the conversation of a run that started sub-runs is missing".to_owned(),
        )?;
    }
    Ok(())
}

fn no_unexpected_error(scene: &DaemonEvidence) -> Verdict {
    let first = scene.ledger.complaints.first();
    first.map_or(Ok(()), |complaint| Err(complaint.clone()))
}
