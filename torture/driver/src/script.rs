//! What a message requests, and the script by which the model responds.
//!
//! Most actions append one line to the effect file, by one write of one shell. Some take time before or
//! after, so that kills hit them there; some have so much output that it is stored in a file. Others create
//! a task in the journal, or change the shared one.

use crate::rng::Rng;

/// Maximum number of actions of one message.
const ACTIONS_MAX: u64 = 4;

/// Tasks of a message whose run is cancelled: enough that some have not begun by then.
const TASKS: u64 = 8;

/// Size of a message that is stored in a file: more than fits in a row, and random, so that it does not
/// compress.
const LARGE_BYTES: usize = 90_000;

/// The beginning of every script.
const HEAD: &str = "price: { input: 0.0001, output: 0.0001 }\nrounds:\n";
const ASKED: &str = "  - usage: { input_tokens: 1000, output_tokens: 0 }\n    tools:\n";
const DONE: &str = "  - text: done\n    usage: { input_tokens: 1000, output_tokens: 0 }\n";

/// How much a message requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Every kind of action, some slow.
    Heavy,
    /// Mostly text: many messages rather than large ones.
    Light,
}

/// What messages of an episode may request beside lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptStyle<'a> {
    pub(crate) weight: Weight,
    /// Tasks in the journal.
    pub(crate) tasks: bool,
    /// The id of the shared task.
    pub(crate) shared: Option<&'a str>,
    /// Percentage of messages that need an approval.
    pub(crate) asks: u64,
}

/// A message and its script.
#[derive(Debug, Clone)]
pub(crate) struct ScriptRequest {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The requested actions, in the checker's terms.
    pub(crate) actions: Vec<&'static str>,
    pub(crate) asks: bool,
    pub(crate) cancels: bool,
    pub(crate) yaml: String,
}

impl ScriptRequest {
    /// A random message.
    pub(crate) fn new(name: String, taste: ScriptStyle<'_>, rng: &mut Rng) -> Self {
        let count = match taste.weight {
            Weight::Heavy => rng.between(1, ACTIONS_MAX),
            Weight::Light if rng.percent(20) => 1,
            Weight::Light => 0,
        };
        let (mut yaml, mut actions) = (String::from(HEAD), Vec::new());
        let mut action = 1;
        while action <= count {
            let together = if rng.percent(30) { 2 } else { 1 };
            let last = (action + together - 1).min(count);
            if rng.percent(8) {
                yaml.push_str("  - fail: { status: 503, retry_after_ms: 1 }\n");
            }
            yaml.push_str(ASKED);
            for number in action..=last {
                let (kind, call) = call(&name, number, taste, rng);
                actions.push(kind);
                yaml.push_str(&call);
            }
            action = last + 1;
        }
        yaml.push_str(DONE);
        let mut text = format!("do {name}");
        if rng.percent(10) {
            text.push(' ');
            while text.len() < LARGE_BYTES {
                text.push_str(&format!("{:016x}", rng.next()));
            }
        }
        Self {
            asks: rng.percent(taste.asks),
            cancels: false,
            name,
            text,
            actions,
            yaml,
        }
    }

    /// A message that requests many tasks at once, so that it can be cancelled between two of them.
    pub(crate) fn to_be_cancelled(name: String) -> Self {
        let calls = (1..=TASKS).map(|number| task(&name, number));
        Self {
            text: format!("do {name}"),
            actions: calls.clone().map(|_| "task").collect(),
            asks: false,
            cancels: true,
            yaml: format!("{HEAD}{ASKED}{}{DONE}", calls.collect::<String>()),
            name,
        }
    }
}

/// The script of the agent that the schedule wakes.
pub(crate) fn of_clock() -> String {
    format!("{HEAD}{ASKED}{}{DONE}", exec(&line("tick", 1)))
}

/// The script of the agent that is notified of files.
pub(crate) fn of_files() -> String {
    format!("{HEAD}{DONE}")
}

/// One action: its kind, and the call in the script.
fn call(name: &str, number: u64, taste: ScriptStyle<'_>, rng: &mut Rng) -> (&'static str, String) {
    if taste.tasks && rng.percent(20) {
        return ("task", task(name, number));
    }
    match taste.shared {
        Some(shared) if rng.percent(10) => {
            let input = format!("task_id: \"{shared}\", details: \"{name} {number}\"");
            (
                "change",
                format!("      - {{ name: journal_update_task, input: {{ {input} }} }}\n"),
            )
        }
        Some(_) | None => ("line", exec(&command(name, number, rng))),
    }
}

fn task(name: &str, number: u64) -> String {
    format!("      - {{ name: journal_create_task, input: {{ title: \"{name} {number}\" }} }}\n")
}

fn exec(command: &str) -> String {
    format!("      - {{ name: ExecCommand, input: {{ cmd: \"{command}\" }} }}\n")
}

/// A line with its time, or no line if the shell is stopped before it has read the time.
fn line(name: &str, number: u64) -> String {
    format!("s=$(date +%s%N) && echo {name} {number} $s >> world.txt")
}

fn command(name: &str, number: u64, rng: &mut Rng) -> String {
    let line = line(name, number);
    match rng.below(10) {
        0 => format!("sleep 0.0{}; {line}", rng.between(1, 6)),
        1 => format!("{line}; sleep 0.0{}", rng.between(1, 6)),
        2 => format!("{line}; head -c 100000 /dev/urandom | od -An -tx1"),
        _ => line,
    }
}

/// The action that a question is about: the message, and the action's number.
pub(crate) fn asked_about(input: &str) -> Option<(String, u64)> {
    let (_, rest) = input.split_once("echo ")?;
    let mut words = rest.split(' ');
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{asked_about, command};
    use crate::rng::Rng;

    #[test]
    fn a_question_leads_to_its_action() {
        let mut rng = Rng::new(1);
        for number in 1..40 {
            let input = format!("{{\"cmd\":\"{}\"}}", command("c1-7", number, &mut rng));
            assert_eq!(asked_about(&input), Some(("c1-7".to_owned(), number)), "{input}");
        }
        assert_eq!(asked_about("{\"cmd\":\"true\"}"), None);
    }
}
