//! Promises to people: a brake holds, and an answer is final.

use std::collections::{BTreeMap, BTreeSet};

use super::Case;

/// How long after the acknowledgement of a brake something may still begin.
const BRAKE_NS: u64 = 100_000_000;

/// Additional tolerance: an action that began in time records its time only after the shell has started, on
/// a busy machine.
const MEASURING_NS: u64 = 400_000_000;

/// A braked agent does nothing until the release is requested.
pub(super) fn braked(case: &mut Case<'_>) {
    for (agent, what, moment) in acts(case) {
        let holds = |brake: &&crate::history::Brake| {
            let from = brake.from_ns.saturating_add(BRAKE_NS + MEASURING_NS);
            brake.is_of(agent) && moment > from && brake.until_ns.is_none_or(|until| moment < until)
        };
        if let Some(brake) = case.history.brakes.iter().find(holds) {
            let late = (moment - brake.from_ns) / 1_000_000;
            case.broken(format!(
                "{what} of {agent} happened {late} ms after it was braked"
            ));
        }
    }
}

/// All effects: the agent, a description, and the time.
fn acts<'a>(case: &Case<'a>) -> Vec<(&'a str, String, u64)> {
    let (history, world) = (case.history, case.world);
    let mut acts = Vec::new();
    for (message, action) in world.effects() {
        let Some(sent) = history.messages.get(message) else {
            continue;
        };
        let moments = world.places_of(message, action).iter();
        acts.extend(moments.map(|(_, moment)| (sent.agent.as_str(), format!("{message} {action}"), *moment)));
    }
    for task in &history.tasks {
        let message = task.title.split(' ').next().unwrap_or_default();
        if let Some(sent) = history.messages.get(message) {
            acts.push((&sent.agent, format!("the task {}", task.title), task.created_ns));
        }
    }
    if let Some(schedule) = &history.schedule {
        let ticks = world.ticks.iter();
        acts.extend(ticks.map(|moment| (schedule.agent.as_str(), "a tick".to_owned(), *moment)));
    }
    acts
}

/// A question has one answer, which is the accepted one; an action without approval does not happen.
pub(super) fn answered_once(case: &mut Case<'_>) {
    let history = case.history;
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (decision, option) in &history.answered {
        if let Some(first) = taken.insert(decision, option) {
            case.broken(format!("{decision} accepted {first} and then {option}"));
        }
    }
    let mut approved: BTreeSet<(&str, usize)> = BTreeSet::new();
    for decided in &history.decided {
        let (id, option) = (decided.decision.as_str(), decided.option.as_deref());
        let message = history.messages.get(&decided.message);
        let is_retried = message.is_some_and(|message| history.is_retried(message));
        // A quarantined run has no open question; when resumed, it asks again.
        let is_withdrawn = is_retried && decided.state == "withdrawn";
        if decided.state != "answered" && !is_withdrawn {
            case.broken(format!("{id} ended in the state {}", decided.state));
        }
        if let Some(first) = taken.remove(id)
            && option != Some(first)
        {
            case.broken(format!("{id} was answered with {first} and shows {option:?}"));
        }
        if option == Some("approve") {
            approved.insert((&decided.message, decided.action));
        }
    }
    for decision in taken.into_keys() {
        case.broken(format!("{decision} was answered and is lost"));
    }
    for (name, message, answer) in case.answered().filter(|(_, message, _)| message.asks) {
        for number in 1..=message.actions.len() {
            let is_line = message.actions.get(number - 1) == Some(&crate::history::Action::Line);
            let happened = case.world.times(name, number) > 0;
            let is_ok = answer.calls.get(number - 1).is_some_and(|status| status == "ok");
            if is_line && (happened || is_ok) && !approved.contains(&(name.as_str(), number)) {
                case.broken(format!(
                    "{name} {number} happened or has the status ok and was not approved"
                ));
            }
        }
    }
}
