//! What clients did and what they were told, as lines of JSON in the order in which it happened.

use std::collections::{BTreeMap, BTreeSet};

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
        /// What it asks for, in order.
        actions: Vec<Action>,
        /// A digest of its text.
        text: String,
        /// Whether people are asked before each line.
        #[serde(default)]
        asks: bool,
        /// Whether somebody wants its run to end early.
        #[serde(default)]
        cancels: bool,
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
    /// Somebody begins to have a run tried again that stood aside. Whether that was heard may be unknown.
    Retried { run: String },
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
    /// The program said that it holds an agent, or all of them; by the clock of the world file.
    Braked { agent: Option<String>, ns: u64 },
    /// Somebody begins to ask for the end of that.
    Release { agent: Option<String>, ns: u64 },
    /// An answer to a question was taken.
    Answered { decision: String, option: String },
    /// A question as it stands at the end.
    Decided(Decided),
    /// A task that stands in the journal at the end.
    Task(Task),
    /// A file was put where the program looks.
    Put { file: String },
    /// A message that told an agent of files, as it stands at the end.
    Noticed(Noticed),
    /// When an agent is woken by the clock: how often, from when, and until when.
    Schedule(Schedule),
    /// What became of one of those moments, or of several that were missed.
    Fired(Fired),
    /// Something for people who read the file.
    Note {
        #[serde(rename = "at")]
        _at: u64,
        #[serde(rename = "what")]
        _what: serde_json::Value,
    },
}

/// One thing that a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A line in the world file.
    Line,
    /// A task in the journal.
    Task,
    /// Other words for the task that all share.
    Change,
}

/// A question to a person about one action, and what the program says of it at the end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    pub(crate) decision: String,
    pub(crate) message: String,
    /// The action, counted from 1.
    pub(crate) action: usize,
    /// Where it stands.
    pub(crate) state: String,
    pub(crate) option: Option<String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) title: String,
    /// How often it was written.
    pub(crate) version: u64,
    /// When, by the clock of the world file.
    pub(crate) created_ns: u64,
}

/// A message about files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Noticed {
    pub(crate) run: String,
    pub(crate) outcome: String,
    pub(crate) files: Vec<String>,
    /// How many more it speaks of without naming them.
    pub(crate) more: usize,
}

/// When an agent is woken by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    pub(crate) agent: String,
    pub(crate) interval_ms: u64,
    pub(crate) from_ms: u64,
    pub(crate) until_ms: u64,
}

/// What became of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fired {
    pub(crate) due_ms: u64,
    /// How many moments this speaks of, from that one on.
    pub(crate) count: u64,
    pub(crate) outcome: String,
    pub(crate) run: Option<String>,
    /// How that run stands at the end, and each of its tool calls.
    pub(crate) answer: Option<Answer>,
}

/// A time in which an agent, or all of them, had to hold still, by the clock of the world file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brake {
    pub(crate) agent: Option<String>,
    pub(crate) from_ns: u64,
    /// None when nobody ever asked for its end.
    pub(crate) until_ns: Option<u64>,
}

impl Brake {
    /// Whether it holds an agent.
    pub(crate) fn is_of(&self, agent: &str) -> bool {
        self.agent.as_deref().is_none_or(|held| held == agent)
    }
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
    /// The status of each of its tool calls, in order; of one that failed with the reason: `failed:braked`.
    pub(crate) calls: Vec<String>,
    /// A digest of the message it says it answers.
    pub(crate) text: String,
}

impl Answer {
    /// Whether the program says that nothing more will happen in it.
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
    /// Runs that stood aside and were tried again.
    pub(crate) retried: BTreeSet<String>,
    /// What is put aside, by agent.
    pub(crate) reserved: BTreeMap<String, String>,
    /// Whether files failed at any time.
    pub(crate) faults: bool,
    pub(crate) brakes: Vec<Brake>,
    /// Answers that were taken, each with its question, in their order.
    pub(crate) answered: Vec<(String, String)>,
    pub(crate) decided: Vec<Decided>,
    pub(crate) tasks: Vec<Task>,
    /// Files that were put down.
    pub(crate) files: BTreeSet<String>,
    pub(crate) noticed: Vec<Noticed>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) fired: Vec<Fired>,
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
                let brake = self.brakes.iter_mut().find(open).ok_or("nothing to release")?;
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

    /// Whether an agent had to hold still at any time.
    pub(crate) fn is_ever_braked(&self, agent: &str) -> bool {
        self.brakes.iter().any(|brake| brake.is_of(agent))
    }

    /// Whether the run of a message stood aside and was tried again: meanwhile others had their turn, and what it asked
    /// people was withdrawn.
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
