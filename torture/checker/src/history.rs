//! What clients did and what they were told, as lines of JSON in the order in which it happened.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One line.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    /// A client begins to send a message, for the first time or again.
    Sent {
        at: u64,
        message: String,
        agent: String,
        /// How many effects it asks for.
        actions: usize,
        /// A digest of its text.
        text: String,
    },
    /// The program said that it has the message.
    Acknowledged {
        at: u64,
        message: String,
        run: String,
        admission: Admission,
    },
    /// What the program said of a run while others still worked.
    Told { run: String, answer: Answer },
    /// What it says at the end, when nothing moves any more.
    Final {
        message: String,
        /// The HTTP status.
        status: u16,
        answer: Option<Answer>,
    },
    /// What is put aside for an agent at the end.
    Rest { agent: String, reserved_usd: String },
    /// From here on files fail.
    Faults {},
    /// Something for people who read the file.
    Note {
        #[serde(rename = "at")]
        _at: u64,
        #[serde(rename = "what")]
        _what: serde_json::Value,
    },
}

/// Whether the program said that a message was new to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Admission {
    New,
    Known,
}

/// What the program says of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) outcome: String,
    /// The status of each of its tool calls, in order.
    pub(crate) calls: Vec<String>,
    /// A digest of the message it says it answers.
    pub(crate) text: String,
}

impl Answer {
    /// Whether the program says that nothing more will happen in it.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.outcome.as_str(), "open" | "queued")
    }
}

/// Everything about one message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) agent: String,
    pub(crate) actions: usize,
    pub(crate) text: String,
    /// When it was sent for the first time.
    pub(crate) sent_at: u64,
    /// Every acknowledgement: when, of which run, and as what.
    pub(crate) acknowledged: Vec<(u64, String, Admission)>,
    /// The status and the body of the last answer about it.
    pub(crate) last: Option<(u16, Option<Answer>)>,
}

/// A whole history.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) messages: BTreeMap<String, Message>,
    /// What was said of runs before the end.
    pub(crate) told: Vec<(String, Answer)>,
    /// What is put aside, by agent.
    pub(crate) reserved: BTreeMap<String, String>,
    /// Whether files failed at any time.
    pub(crate) faults: bool,
}

impl History {
    /// Reads it. What is not understood is an error: a judge that skips lines is no judge.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut history = Self::default();
        for (index, line) in text.lines().enumerate() {
            let event = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
            history
                .take(event)
                .map_err(|why| format!("line {}: {why}", index + 1))?;
        }
        Ok(history)
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Sent {
                at,
                message,
                agent,
                actions,
                text,
            } => {
                let fresh = Message {
                    agent,
                    actions,
                    text,
                    sent_at: at,
                    acknowledged: Vec::new(),
                    last: None,
                };
                self.messages.entry(message).or_insert(fresh);
            }
            Event::Acknowledged {
                at,
                message,
                run,
                admission,
            } => self.known(&message)?.acknowledged.push((at, run, admission)),
            Event::Told { run, answer } => self.told.push((run, answer)),
            Event::Final {
                message,
                status,
                answer,
            } => self.known(&message)?.last = Some((status, answer)),
            Event::Rest { agent, reserved_usd } => drop(self.reserved.insert(agent, reserved_usd)),
            Event::Faults {} => self.faults = true,
            Event::Note { .. } => {}
        }
        Ok(())
    }

    fn known(&mut self, message: &str) -> Result<&mut Message, String> {
        self.messages
            .get_mut(message)
            .ok_or_else(|| format!("{message} was never sent"))
    }
}
