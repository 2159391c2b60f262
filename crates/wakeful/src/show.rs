//! What people and programs read. Answers go to standard output, prose about them to standard error.

mod text;
mod view;

use std::io::Write as _;

use wakeful_core::key::RunKey;
use wakeful_core::report::Sealed;
use wakeful_runtime::Observer;

use crate::failure::Failure;
pub(crate) use view::{AgentView, EntryView, RunView, RunsView};

/// Where a verb's answer goes, and in which form.
#[derive(Debug, Clone)]
pub(crate) struct Out {
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl Out {
    pub(crate) const fn new(json: bool) -> Self {
        Self {
            form: if json { Form::Json } else { Form::Text },
        }
    }

    /// A finished run: the final text, or one object.
    pub(crate) fn run(&self, run: &RunView) {
        match self.form {
            Form::Json => answer_json(run),
            Form::Text => {
                answer(&run.final_text);
                text::ending(run).iter().for_each(|line| prose(line));
            }
        }
    }

    /// A run with every step.
    pub(crate) fn run_in_full(&self, run: &RunView) {
        match self.form {
            Form::Json => answer_json(run),
            Form::Text => answer(&text::run(run)),
        }
    }

    pub(crate) fn runs(&self, runs: &RunsView) {
        match self.form {
            Form::Json => answer_json(runs),
            Form::Text => answer(&text::runs(runs)),
        }
    }

    pub(crate) fn agents(&self, agents: &[AgentView]) {
        match self.form {
            Form::Json => answer_json(&serde_json::json!({"agents": agents})),
            Form::Text => answer(&text::agents(agents)),
        }
    }

    pub(crate) fn agent(&self, agent: &AgentView) {
        match self.form {
            Form::Json => answer_json(agent),
            Form::Text => answer(&text::agent(agent)),
        }
    }

    pub(crate) fn transcript(&self, entries: &[EntryView]) {
        match self.form {
            Form::Json => entries.iter().for_each(answer_json),
            Form::Text => answer(&text::transcript(entries)),
        }
    }

    /// There was nothing to do.
    pub(crate) fn nothing(&self, why: &str) {
        match self.form {
            Form::Json => answer_json(&serde_json::json!({"resumed": 0})),
            Form::Text => answer(why),
        }
    }

    /// A remark beside the answer.
    pub(crate) fn note(&self, text: &str) {
        prose(&format!("wakeful: {text}"));
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        if self.form == Form::Json {
            answer_json(&failure.json());
        }
        prose(&failure.to_string());
    }
}

/// Shows a run as it goes, one line per event that means something to a person.
pub(crate) struct Progress {
    form: Form,
}

impl Progress {
    pub(crate) const fn new(out: &Out) -> Self {
        Self { form: out.form }
    }
}

impl Observer for Progress {
    fn saw(&self, _run: &RunKey, events: &[Sealed]) {
        if self.form == Form::Text {
            events
                .iter()
                .filter_map(text::progress)
                .for_each(|line| prose(&line));
        }
    }
}

/// Writes one line of the answer. A closed pipe only means that the reader has seen enough.
fn answer(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn answer_json<T: serde::Serialize>(value: &T) {
    // Our own views have only string keys, so they always have a JSON form.
    answer(&serde_json::to_string(value).unwrap_or_default());
}

fn prose(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
