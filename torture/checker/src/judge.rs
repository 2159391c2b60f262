//! The promises, one function each, checked against the responses and the effects: those about messages
//! here, those about brakes and answers in [`person`], those about the journal, files and schedules in
//! [`around`].

mod around;
mod person;

use std::collections::BTreeMap;

use serde_json::json;

use crate::effect_file::EffectFile;
use crate::history::{Action, Admission, Answer, History, Message};

/// Maximum number of broken promises that are listed; the rest is counted.
const SHOWN_MAX: usize = 20;

/// One broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) promise: &'static str,
    /// What was found.
    pub(crate) what: String,
}

/// The result of a check.
#[derive(Debug)]
pub(crate) struct Verdict {
    messages: usize,
    acknowledged: usize,
    effects: usize,
    unknown: usize,
    failed: usize,
    pub(crate) faults: Vec<Fault>,
}

impl Verdict {
    /// The result as one line of JSON.
    pub(crate) fn line(&self) -> String {
        let mut broken: BTreeMap<&str, usize> = PROMISES.iter().map(|(name, _)| (*name, 0)).collect();
        for fault in &self.faults {
            *broken.entry(fault.promise).or_default() += 1;
        }
        let shown = self.faults.iter().take(SHOWN_MAX);
        let shown: Vec<String> = shown
            .map(|fault| format!("{}: {}", fault.promise, fault.what))
            .collect();
        json!({
            "messages": self.messages, "acknowledged": self.acknowledged, "effects": self.effects,
            "unknown": self.unknown, "failed": self.failed, "broken": broken, "faults": shown,
        })
        .to_string()
    }
}

/// The inputs of a check, and the broken promises found so far.
struct Case<'a> {
    history: &'a History,
    world: &'a EffectFile,
    faults: Vec<Fault>,
    promise: &'static str,
}

/// Checks one promise and records where it is broken.
type Promise = fn(&mut Case<'_>);

/// All promises by name.
const PROMISES: &[(&str, Promise)] = &[
    ("kept", kept),
    ("ended", ended),
    ("at_most_once", at_most_once),
    ("done_is_done", done_is_done),
    ("no_silence", no_silence),
    ("one_run", one_run),
    ("stays_reported", stays_reported),
    ("whole", whole),
    ("in_order", in_order),
    ("nothing_left_reserved", nothing_left_reserved),
    ("braked", person::braked),
    ("answered_once", person::answered_once),
    ("written_once", around::written_once),
    ("noticed_once", around::noticed_once),
    ("fired_once", around::fired_once),
];

/// Checks every promise.
pub(crate) fn judge(history: &History, world: &EffectFile) -> Verdict {
    let mut case = Case {
        history,
        world,
        faults: Vec::new(),
        promise: "",
    };
    for (name, promise) in PROMISES {
        case.promise = name;
        promise(&mut case);
    }
    let answers = || history.messages.values().filter_map(answer);
    let calls = |status: &str| {
        let calls = answers().flat_map(|answer| &answer.calls);
        calls.filter(|call| *call == status).count()
    };
    let acknowledged = history
        .messages
        .values()
        .filter(|message| !message.acknowledged.is_empty());
    Verdict {
        messages: history.messages.len(),
        acknowledged: acknowledged.count(),
        effects: world.lines(),
        unknown: calls("outcome_unknown"),
        failed: answers().filter(|answer| answer.outcome == "failed").count(),
        faults: case.faults,
    }
}

/// The program's last response about a message.
fn answer(message: &Message) -> Option<&Answer> {
    message.last.as_ref().and_then(|(_, answer)| answer.as_ref())
}

impl<'a> Case<'a> {
    fn broken(&mut self, what: String) {
        self.faults.push(Fault {
            promise: self.promise,
            what,
        });
    }

    fn messages(&self) -> impl Iterator<Item = (&'a String, &'a Message)> + use<'a> {
        self.history.messages.iter()
    }

    /// The messages with a response at the end.
    fn answered(&self) -> impl Iterator<Item = (&'a String, &'a Message, &'a Answer)> + use<'a> {
        self.messages()
            .filter_map(|(name, message)| Some((name, message, answer(message)?)))
    }
}

/// A message that was acknowledged is never lost.
fn kept(case: &mut Case<'_>) {
    for (name, message) in case.messages() {
        if message.acknowledged.is_empty() {
            continue;
        }
        match &message.last {
            Some((200, Some(_))) => {}
            Some((status, _)) => case.broken(format!(
                "{name} was acknowledged, and reading it returns {status}"
            )),
            None => case.broken(format!(
                "{name} was acknowledged, and no program could be asked for it"
            )),
        }
        let news = message
            .acknowledged
            .iter()
            .filter(|(_, _, admission)| *admission == Admission::New);
        if news.count() > 1 {
            case.broken(format!(
                "{name} was accepted as new again after its acknowledgement"
            ));
        }
    }
}

/// Every message ends, and successfully if only crashes happened.
fn ended(case: &mut Case<'_>) {
    for (name, message) in case.messages() {
        if message.acknowledged.is_empty() {
            case.broken(format!("{name} was never acknowledged"));
        }
        let Some(answer) = answer(message) else { continue };
        let failed = case.history.faults && answer.outcome == "failed";
        let cancelled = message.cancels && answer.outcome == "cancelled";
        if answer.outcome != "completed" && !failed && !cancelled {
            case.broken(format!("{name} ended in the state {}", answer.outcome));
        }
    }
}

/// No action happens twice, regardless of its status.
fn at_most_once(case: &mut Case<'_>) {
    let world = case.world;
    for (message, action) in world.effects() {
        let times = world.times(message, action);
        if times > 1 {
            case.broken(format!("{message} {action} happened {times} times"));
        }
    }
}

/// An action with the status `ok` has happened.
fn done_is_done(case: &mut Case<'_>) {
    for (name, message, answer) in case.answered() {
        for (index, status) in answer.calls.iter().enumerate() {
            let is_line = message.actions.get(index) == Some(&Action::Line);
            if is_line && status == "ok" && case.world.times(name, index + 1) == 0 {
                case.broken(format!(
                    "{name} {} has the status ok and did not happen",
                    index + 1
                ));
            }
        }
        if answer.outcome == "completed" && answer.calls.len() != message.actions.len() {
            let (done, asked) = (answer.calls.len(), message.actions.len());
            case.broken(format!(
                "{name} has the status completed with {done} of {asked} actions"
            ));
        }
    }
}

/// An action that happened has the status ok or unknown, never another or none.
fn no_silence(case: &mut Case<'_>) {
    let world = case.world;
    for (message, action) in world.effects() {
        let sent = case.history.messages.get(message);
        let known = sent.and_then(answer);
        let may_be_stopped = sent.is_some_and(|sent| case.history.is_ever_braked(&sent.agent));
        let status = known.and_then(|answer| answer.calls.get(action.saturating_sub(1)));
        match status.map(String::as_str) {
            Some("ok" | "outcome_unknown") => {}
            // A brake stopped it in the middle, and its status says so.
            Some("failed:braked") if may_be_stopped => {}
            Some(other) => case.broken(format!("{message} {action} happened and has the status {other}")),
            None => case.broken(format!("{message} {action} happened and has no status")),
        }
    }
    for line in &world.strange {
        case.broken(format!("no message requested {line:?}"));
    }
}

/// Each message has one run.
fn one_run(case: &mut Case<'_>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, message) in case.messages() {
        for (_, run, _) in &message.acknowledged {
            let owner = owners.entry(run).or_insert(name);
            if *owner != name.as_str() {
                case.broken(format!("{name} and {owner} have one run, {run}"));
            }
        }
        let mut runs: Vec<&str> = message
            .acknowledged
            .iter()
            .map(|(_, run, _)| run.as_str())
            .collect();
        runs.dedup();
        if runs.len() > 1 {
            case.broken(format!("{name} has several runs: {}", runs.join(", ")));
        }
    }
}

/// Responses are stable: an end stays, and so does the final status of a call.
fn stays_reported(case: &mut Case<'_>) {
    let mut last: BTreeMap<&str, &Answer> = BTreeMap::new();
    for (_, message, answer) in case.answered() {
        last.extend(
            message
                .acknowledged
                .iter()
                .map(|(_, run, _)| (run.as_str(), answer)),
        );
    }
    let history = case.history;
    for (run, told) in &history.told {
        let Some(now) = last.get(run.as_str()) else {
            case.broken(format!("{run} was reported and is lost"));
            continue;
        };
        let is_settled = |status: &str| !matches!(status, "planned" | "waiting_for_approval" | "intended");
        let settled = told
            .calls
            .iter()
            .enumerate()
            .filter(|(_, status)| is_settled(status));
        for (index, status) in settled {
            let later = now.calls.get(index).map_or("gone", String::as_str);
            if later != status {
                case.broken(format!(
                    "{run}: call {} was reported as {status} and is {later}",
                    index + 1
                ));
            }
        }
        if told.has_ended() && told.outcome != now.outcome {
            case.broken(format!(
                "{run} was reported as {} and is {}",
                told.outcome, now.outcome
            ));
        }
    }
}

/// The answered message is the sent message.
fn whole(case: &mut Case<'_>) {
    for (name, message, answer) in case.answered() {
        if answer.text != message.text {
            case.broken(format!("{name} does not have the text that was sent"));
        }
    }
}

/// An agent handles its messages in the order of arrival, and the actions of each in order. A quarantined
/// message does not block others: when it is resumed, later ones may be done.
fn in_order(case: &mut Case<'_>) {
    for (name, message) in case.messages() {
        let firsts =
            (1..=message.actions.len()).filter_map(|action| case.world.places_of(name, action).first());
        if !firsts.is_sorted() {
            case.broken(format!("the actions of {name} happened out of order"));
        }
    }
    let mut agents: BTreeMap<&str, Vec<(&String, &Message)>> = BTreeMap::new();
    for (name, message) in case.messages() {
        agents.entry(&message.agent).or_default().push((name, message));
    }
    for mut sent in agents.into_values() {
        sent.sort_by_key(|(_, message)| message.sent_at);
        let mut waiting = sent.clone();
        waiting.sort_by_key(|(_, message)| acknowledged_at(message));
        let mut before = waiting.into_iter().peekable();
        let mut newest: Option<(usize, &str)> = None;
        for (name, message) in sent {
            while let Some((earlier, other)) =
                before.next_if(|(_, other)| acknowledged_at(other) < message.sent_at)
            {
                if case.history.is_retried(other) {
                    continue;
                }
                newest = newest.max(last_place(case, earlier).map(|place| (place, earlier.as_str())));
            }
            let first = first_place(case, name, message.actions.len());
            if let (Some(first), Some((place, earlier))) = (first, newest)
                && first < place
            {
                case.broken(format!("{name} came after {earlier} and was done before it"));
            }
        }
    }
}

fn acknowledged_at(message: &Message) -> u64 {
    message.acknowledged.first().map_or(u64::MAX, |(at, _, _)| *at)
}

fn first_place(case: &Case<'_>, name: &str, actions: usize) -> Option<usize> {
    let places = (1..=actions).filter_map(|action| case.world.places_of(name, action).first());
    places.map(|(place, _)| *place).min()
}

fn last_place(case: &Case<'_>, name: &str) -> Option<usize> {
    let actions = case
        .history
        .messages
        .get(name)
        .map_or(0, |message| message.actions.len());
    let places = (1..=actions).filter_map(|action| case.world.places_of(name, action).last());
    places.map(|(place, _)| *place).max()
}

/// When everything is idle, no money is reserved.
fn nothing_left_reserved(case: &mut Case<'_>) {
    let history = case.history;
    for (agent, usd) in &history.reserved {
        if usd.parse::<f64>().ok() != Some(0.0) {
            case.broken(format!("{usd} USD are reserved for {agent}"));
        }
    }
}

#[cfg(test)]
mod tests;
