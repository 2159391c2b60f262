//! What people and programs read. Answers go to standard output, prose about them to standard error.

pub(crate) mod retention;
mod sanitize;
mod text;
mod view;

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wakeful_api::{AgentStatus, Run, RunList, RunState, Transcript};
use wakeful_core::id::AgentId;
use wakeful_core::report::Event;
use wakeful_core::report::payload::{EventBody, Payload};
use wakeful_runtime::Observer;
use wakeful_runtime::hub::Hub;

use crate::failure::Failure;
pub(crate) use text::DriverPresence;
pub(crate) use view::{QueuedView, ResumedView};

/// Where a verb's answer goes, and in which form.
#[derive(Debug)]
pub(crate) struct Out {
    form: OutputFormat,
    /// Whether part of an answer could not be written.
    lost: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Text,
    Json,
}

impl Out {
    /// Whether answers are written as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.form == OutputFormat::Json
    }

    pub(crate) const fn new(json: bool) -> Self {
        Self {
            form: if json {
                OutputFormat::Json
            } else {
                OutputFormat::Text
            },
            lost: AtomicBool::new(false),
        }
    }

    /// A finished run: the final text, or one object.
    pub(crate) fn run(&self, run: &Run) {
        match self.form {
            OutputFormat::Json => self.json(&view::in_short(run)),
            OutputFormat::Text => {
                self.text(&run.final_text);
                text::ending(run).iter().for_each(|line| prose(line));
            }
        }
    }

    /// A run with every step.
    pub(crate) fn run_in_full(&self, run: &Run) {
        match self.form {
            OutputFormat::Json => self.json(run),
            OutputFormat::Text => self.text(&text::run(run)),
        }
    }

    pub(crate) fn runs(&self, runs: &RunList, state: RunState, waits: &QueuedView) {
        match self.form {
            OutputFormat::Json => self.json(&view::runs(runs, waits)),
            OutputFormat::Text => self.text(&text::runs_and_waits(runs, state, waits)),
        }
    }

    pub(crate) fn agents(&self, agents: &[AgentStatus]) {
        match self.form {
            OutputFormat::Json => self.json(&serde_json::json!({"agents": agents})),
            OutputFormat::Text => self.text(&text::agents(agents, DriverPresence::Daemon)),
        }
    }

    /// Agents as people read them.
    pub(crate) fn agents_text(&self, agents: &[AgentStatus], driver: DriverPresence) -> String {
        text::agents(agents, driver)
    }

    /// Runs as people read them.
    pub(crate) fn runs_text(&self, runs: &RunList) -> String {
        text::runs(runs, RunState::Any)
    }

    pub(crate) fn agent(&self, agent: &AgentStatus) {
        match self.form {
            OutputFormat::Json => self.json(agent),
            OutputFormat::Text => self.text(&text::agent(agent)),
        }
    }

    pub(crate) fn transcript(&self, transcript: &Transcript) {
        match self.form {
            OutputFormat::Json => transcript.lines.iter().for_each(|line| self.json(line)),
            OutputFormat::Text => self.text(&text::transcript(&transcript.lines)),
        }
    }

    /// No run was resumed.
    pub(crate) fn nothing_resumed(&self, view: &ResumedView) {
        match self.form {
            OutputFormat::Json => self.json(view),
            OutputFormat::Text => self.text(&text::nothing_resumed(view)),
        }
    }

    /// An answer that is one object for programs, and these words for people.
    pub(crate) fn answer<T: serde::Serialize>(&self, object: &T, words: &str) {
        match self.form {
            OutputFormat::Json => self.json(object),
            OutputFormat::Text => self.text(words),
        }
    }

    /// A file for another program.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            // A closed pipe only means that the reader has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => {
                if !self.lost.swap(true, Ordering::Relaxed) {
                    prose(&format!(
                        "error[output_lost]: the answer could not be written: {error}"
                    ));
                }
            }
        }
    }

    /// Whether part of an answer could not be written.
    pub(crate) fn was_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// A remark beside the answer.
    pub(crate) fn note(&self, text: &str) {
        prose(&format!("wakeful: {text}"));
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        self.failure_alone(failure);
        prose(&failure.to_string());
    }

    /// A failure that people were told of already.
    pub(crate) fn failure_alone(&self, failure: &Failure) {
        if self.form == OutputFormat::Json {
            self.json(&failure.json());
        }
    }

    /// A terminal obeys what it is shown, so it is shown no more than letters. A file gets every byte.
    fn text(&self, text: &str) {
        if std::io::stdout().is_terminal() {
            self.bytes(format!("{}\n", sanitize::text(text)).as_bytes());
        } else {
            self.bytes(format!("{text}\n").as_bytes());
        }
    }

    fn json<T: serde::Serialize>(&self, value: &T) {
        // Our own views have only string keys, so they always have a JSON form.
        let line = serde_json::to_string(value).unwrap_or_default();
        self.bytes(format!("{}\n", sanitize::json(&line)).as_bytes());
    }
}

/// Shows a run as it goes, one line per event that means something to a person, and tells the loop that drives it.
pub(crate) struct Progress {
    form: OutputFormat,
    hub: Arc<Hub>,
}

impl Progress {
    pub(crate) const fn new(out: &Out, hub: Arc<Hub>) -> Self {
        Self { form: out.form, hub }
    }
}

impl Out {
    /// An event of a run that is watched, if it means something to a person.
    pub(crate) fn progress(&self, said: &Payload) {
        if self.form == OutputFormat::Text
            && let Some(line) = text::progress(said)
        {
            prose(&line);
        }
    }
}

impl Observer for Progress {
    fn on_spend_settled(&self) {
        self.hub.on_spend_settled();
    }

    fn on_events(&self, agent: &AgentId, events: &[Event]) {
        self.hub.on_events(agent, events);
        if self.form == OutputFormat::Json {
            return;
        }
        for event in events {
            let body = EventBody::read(event.sealed.kind.as_str(), &event.sealed.payload);
            if let Some(line) = body.and_then(|body| text::progress(&body.payload)) {
                prose(&line);
            }
        }
    }
}

/// Writes a line beside the answer. Much of it was said by a model or a tool, and a terminal may be listening.
fn prose(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", sanitize::text(line));
}

/// The cap that holds where no cap was set.
pub(crate) fn cap_unset(default: impl std::fmt::Display) -> String {
    format!(
        "nobody has set a spending cap: {default} USD a day in all holds (`wakeful budget set USD` sets another)"
    )
}
