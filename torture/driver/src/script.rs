//! What a message asks for, and the script by which the model answers it.
//!
//! Each action appends one line to the world file, by one write of one shell, and does it once whenever it is done.
//! Some take time before and after, so that kills find them there; some say so much that it is kept in a file.

use crate::rng::Rng;

/// Most actions of one message.
const ACTIONS_MAX: u64 = 4;

/// Bytes of a message that is kept in a file: more than a row takes, and chance cannot be packed.
const LARGE_BYTES: usize = 90_000;

/// How much a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Every kind of action, some slow.
    Heavy,
    /// Mostly words: many messages rather than much in each.
    Light,
}

/// A message and its script.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) actions: usize,
    pub(crate) yaml: String,
}

impl Wish {
    /// A message by chance.
    pub(crate) fn new(name: String, weight: Weight, rng: &mut Rng) -> Self {
        let actions = match weight {
            Weight::Heavy => rng.between(1, ACTIONS_MAX),
            Weight::Light if rng.percent(20) => 1,
            Weight::Light => 0,
        };
        let mut yaml = String::from("price: { input: 0.0001, output: 0.0001 }\nrounds:\n");
        let mut action = 1;
        while action <= actions {
            let together = if rng.percent(30) { 2 } else { 1 };
            let last = (action + together - 1).min(actions);
            if rng.percent(8) {
                yaml.push_str("  - fail: { status: 503, retry_after_ms: 1 }\n");
            }
            yaml.push_str("  - usage: { input_tokens: 1000, output_tokens: 0 }\n    tools:\n");
            for number in action..=last {
                let command = command(&name, number, rng);
                yaml.push_str(&format!(
                    "      - {{ name: ExecCommand, input: {{ cmd: \"{command}\" }} }}\n"
                ));
            }
            action = last + 1;
        }
        yaml.push_str("  - text: done\n    usage: { input_tokens: 1000, output_tokens: 0 }\n");
        let mut text = format!("do {name}");
        if rng.percent(10) {
            text.push(' ');
            while text.len() < LARGE_BYTES {
                text.push_str(&format!("{:016x}", rng.next()));
            }
        }
        Self {
            name,
            text,
            actions: usize::try_from(actions).unwrap_or(0),
            yaml,
        }
    }
}

fn command(name: &str, number: u64, rng: &mut Rng) -> String {
    let line = format!("echo {name} {number} >> world.txt");
    match rng.below(10) {
        0 => format!("sleep 0.0{}; {line}", rng.between(1, 6)),
        1 => format!("{line}; sleep 0.0{}", rng.between(1, 6)),
        2 => format!("{line}; head -c 100000 /dev/urandom | od -An -tx1"),
        _ => line,
    }
}
