//! Reads what clients did and which responses they received, as lines of JSON in the order of events.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    /// A client begins to send a message, for the first time or again.
    Sent {
        at: u64,
        message: String,
        agent: String,
        /// The actions that it requests, in order.
        actions: Vec<Action>,
        /// A digest of its text.
        text: String,
        /// Whether each line needs an approval.
        #[serde(default)]
        asks: bool,
        /// Whether a person cancels its run.
        #[serde(default)]
        cancels: bool,
    },
    /// The program acknowledged the message.
    Acknowledged {
        at: u64,
        message: String,
        run: String,
        admission: Admission,
    },
    /// The program's response about a run before the end.
    Told { run: String, answer: Answer },
    /// A person begins to resume a quarantined run. Whether that succeeded may be unknown.
    Retried { run: String },
    /// The program's response at the end, when everything is idle.
    Final {
        message: String,
        status: u16,
        answer: Option<Answer>,
    },
    /// The amount reserved for an agent at the end.
    Rest { agent: String, reserved_usd: String },
    /// From here on, disk faults are injected.
    Faults {},
    /// The program acknowledged a brake on an agent, or on all; time by the clock of the effect file.
    Braked { agent: Option<String>, ns: u64 },
    /// A person begins to release that brake.
    Release { agent: Option<String>, ns: u64 },
    /// An answer to a question was accepted.
    Answered { decision: String, option: String },
    /// The state of a question at the end.
    Decided(Decided),
    /// A task in the journal at the end.
    Task(Task),
    /// A file was put into the watched folder.
    Put { file: String },
    /// A message that notified an agent of files, in its state at the end.
    Noticed(Noticed),
    /// The schedule of an agent: its interval, its start and its end.
    Schedule(Schedule),
    /// The record of one firing, or of several missed ones.
    Fired(Fired),
    /// A note for readers of the file.
    Note {
        #[serde(rename = "at")]
        _at: u64,
        #[serde(rename = "what")]
        _what: serde_json::Value,
    },
}

/// One action that a message requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A line in the effect file.
    Line,
    /// A new task in the journal.
    Task,
    /// A change of the shared task.
    Change,
}

/// A question to a person about one action, in its state at the end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    pub(crate) decision: String,
    pub(crate) message: String,
    /// The action, counted from 1.
    pub(crate) action: usize,
    pub(crate) state: String,
    pub(crate) option: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) title: String,
    /// How often it was written.
    pub(crate) version: u64,
    /// When, by the clock of the effect file.
    pub(crate) created_ns: u64,
}

/// A message about files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Noticed {
    pub(crate) run: String,
    pub(crate) outcome: String,
    pub(crate) files: Vec<String>,
    /// How many further files it counts without naming them.
    pub(crate) more: usize,
}

/// The schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    pub(crate) agent: String,
    pub(crate) interval_ms: u64,
    pub(crate) from_ms: u64,
    pub(crate) until_ms: u64,
}

/// The record of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fired {
    pub(crate) due_ms: u64,
    /// Number of firings that this record covers, from that one on.
    pub(crate) count: u64,
    pub(crate) outcome: String,
    pub(crate) run: Option<String>,
    /// The state of that run at the end, with each of its tool calls.
    pub(crate) answer: Option<Answer>,
}

/// A time span in which a brake held an agent, or all of them, by the clock of the effect file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brake {
    pub(crate) agent: Option<String>,
    pub(crate) from_ns: u64,
    /// `None` if its release was never requested.
    pub(crate) until_ns: Option<u64>,
}

impl Brake {
    /// Whether it holds an agent.
    pub(crate) fn is_of(&self, agent: &str) -> bool {
        self.agent.as_deref().is_none_or(|held| held == agent)
    }
}

/// Whether the program acknowledged a message as new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Admission {
    New,
    Duplicate,
}

/// The program's response about a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) outcome: String,
    /// The status of each of its tool calls, in order; a failed one with its reason: `failed:braked`.
    pub(crate) calls: Vec<String>,
    /// A digest of the message that it answers according to the program.
    pub(crate) text: String,
}

impl Answer {
    /// Whether the run has ended according to the program.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.outcome.as_str(), "open" | "queued" | "quarantined")
    }
}

/// Everything about one message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) agent: String,
    pub(crate) actions: Vec<Action>,
    pub(crate) asks: bool,
    pub(crate) cancels: bool,
    pub(crate) text: String,
    /// When it was first sent.
    pub(crate) sent_at: u64,
    /// Every acknowledgement: when, of which run, and whether as new.
    pub(crate) acknowledged: Vec<(u64, String, Admission)>,
    /// The status and body of the last response about it.
    pub(crate) last: Option<(u16, Option<Answer>)>,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) messages: BTreeMap<String, Message>,
    /// Responses about runs before the end.
    pub(crate) told: Vec<(String, Answer)>,
    /// Runs that were quarantined and resumed.
    pub(crate) retried: BTreeSet<String>,
    /// Reserved amounts by agent.
    pub(crate) reserved: BTreeMap<String, String>,
    /// Whether disk faults were injected at any time.
    pub(crate) faults: bool,
    pub(crate) brakes: Vec<Brake>,
    /// Accepted answers, each with its question, in order.
    pub(crate) answered: Vec<(String, String)>,
    pub(crate) decided: Vec<Decided>,
    pub(crate) tasks: Vec<Task>,
    /// Files that were put into the watched folder.
    pub(crate) files: BTreeSet<String>,
    pub(crate) noticed: Vec<Noticed>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) fired: Vec<Fired>,
}

impl History {
    /// Parses a history. An unknown line is an error, because a skipped line could hide a broken promise.
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
                asks,
                cancels,
            } => {
                let fresh = Message {
                    agent,
                    actions,
                    asks,
                    cancels,
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
            Event::Retried { run } => drop(self.retried.insert(run)),
            Event::Final {
                message,
                status,
                answer,
            } => self.known(&message)?.last = Some((status, answer)),
            Event::Rest { agent, reserved_usd } => drop(self.reserved.insert(agent, reserved_usd)),
            Event::Faults {} => self.faults = true,
            Event::Braked { agent, ns } => self.brakes.push(Brake {
                agent,
                from_ns: ns,
                until_ns: None,
            }),
            Event::Release { agent, ns } => {
                let open = |brake: &&mut Brake| brake.agent == agent && brake.until_ns.is_none();
                let brake = self.brakes.iter_mut().find(open).ok_or("no brake to release")?;
                brake.until_ns = Some(ns);
            }
            Event::Answered { decision, option } => self.answered.push((decision, option)),
            Event::Decided(decided) => self.decided.push(decided),
            Event::Task(task) => self.tasks.push(task),
            Event::Put { file } => drop(self.files.insert(file)),
            Event::Noticed(noticed) => self.noticed.push(noticed),
            Event::Schedule(schedule) => self.schedule = Some(schedule),
            Event::Fired(fired) => self.fired.push(fired),
            Event::Note { .. } => {}
        }
        Ok(())
    }

    /// Whether a brake held an agent at any time.
    pub(crate) fn is_ever_braked(&self, agent: &str) -> bool {
        self.brakes.iter().any(|brake| brake.is_of(agent))
    }

    /// Whether the run of a message was quarantined and resumed: meanwhile other messages continued, and
    /// its questions were withdrawn.
    pub(crate) fn is_retried(&self, message: &Message) -> bool {
        let mut runs = message.acknowledged.iter().map(|(_, run, _)| run);
        runs.any(|run| self.retried.contains(run))
    }

    fn known(&mut self, message: &str) -> Result<&mut Message, String> {
        self.messages
            .get_mut(message)
            .ok_or_else(|| format!("{message} was never sent"))
    }
}
