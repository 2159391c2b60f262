//! Output for people and programs. Results are written to standard output, notes to standard error.

pub(crate) mod backup;
mod display;
mod pager;
pub(crate) mod phrase;
pub(crate) mod retention;
mod run;
mod run_words;
pub(crate) mod sanitize;
pub(crate) mod table;
mod text;
mod view;
mod wrap;

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wakeful_api::{AgentSettings, AgentStatus, Run, RunList, Transcript, TranscriptRun};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::Event;
use wakeful_core::report::payload::{EventBody, Payload};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::{Observer, TextDelta, ToolOutputDelta};

use self::display::Display;
use crate::failure::Failure;
use crate::global_args::{GlobalArgs, variable};
use crate::system::RealClock;
use crate::terminal::Style;
use crate::terminal::live::{Live, Printed, Words};
use crate::terminal::screen::Ink;
pub(crate) use run::{Detail, RunSelection};
pub(crate) use run_words::result as result_of_action;
use table::{Charset, Layout, Table};
pub(crate) use text::progress as progress_line;
pub(crate) use text::{DriverPresence, facts};
pub(crate) use view::{QueuedView, ResumedView};

/// The output of a command, as text or JSON.
#[derive(Debug)]
pub(crate) struct Out {
    form: OutputFormat,
    times: TimeFormat,
    layout: Layout,
    /// Whether part of the result could not be written.
    lost: AtomicBool,
    /// The run that is shown while it works.
    display: Arc<Display>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Text,
    Json,
}

/// How times are written for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeFormat {
    Relative,
    Absolute,
}

/// The width of tables if the output is not a terminal: another program reads whole cells.
const WIDTH_DEFAULT: usize = 10_000;

impl Out {
    pub(crate) fn is_json(&self) -> bool {
        self.form == OutputFormat::Json
    }

    pub(crate) fn new(shared: &GlobalArgs) -> Self {
        Self {
            form: match shared.json {
                true => OutputFormat::Json,
                false => OutputFormat::Text,
            },
            times: match shared.absolute {
                true => TimeFormat::Absolute,
                false => TimeFormat::Relative,
            },
            layout: layout(),
            lost: AtomicBool::new(false),
            display: Arc::default(),
        }
    }

    /// The output of a command line that could not be parsed and requested JSON.
    pub(crate) fn json_only() -> Self {
        Self {
            form: OutputFormat::Json,
            times: TimeFormat::Absolute,
            layout: Layout {
                width: WIDTH_DEFAULT,
                charset: Charset::Ascii,
            },
            lost: AtomicBool::new(false),
            display: Arc::default(),
        }
    }

    /// A time of the API for people: relative to now, or as it is.
    pub(crate) fn at(&self, time: &str) -> String {
        match (self.times, Millis::parse(time)) {
            (TimeFormat::Relative, Some(at)) => phrase::relative(at, RealClock::new().now()),
            (TimeFormat::Relative, None) | (TimeFormat::Absolute, _) => time.to_owned(),
        }
    }

    /// A table that fits the terminal.
    pub(crate) fn table<const N: usize>(&self, table: &Table<N>) -> String {
        match std::io::stdout().is_terminal() {
            true => table.in_charset(self.layout.charset).render(self.layout),
            false => table.render(self.layout),
        }
    }

    /// Prints a list: the object as JSON, or a table for people, or this sentence if there is nothing to list.
    pub(crate) fn list<const N: usize>(&self, object: &impl serde::Serialize, table: &Table<N>, none: &str) {
        match table.is_empty() {
            true => self.answer(object, none),
            false => self.answer(object, &self.table(table)),
        }
    }

    /// Prints a finished run: the final text, or one JSON object. A text that the terminal showed as it was
    /// streamed is not printed again.
    pub(crate) fn run(&self, run: &Run) {
        match self.form {
            OutputFormat::Json => self.json(&view::in_short(run)),
            OutputFormat::Text => {
                let is_terminal = std::io::stdout().is_terminal();
                let is_shown = is_terminal && self.display.has_shown(&run.final_text);
                match (is_shown || run.final_text.is_empty(), is_terminal) {
                    (true, _) => {}
                    (false, true) => self.text(&run.final_text),
                    // Another program reads exactly the answer.
                    (false, false) => self.bytes(format!("{}\n", run.final_text).as_bytes()),
                }
                text::ending(run).iter().for_each(|line| self.prose(line));
            }
        }
    }

    /// Shows a run on the terminal while the work on it continues: its text, the output of its commands, and
    /// a status. With JSON, or without a terminal, the work is only awaited.
    pub(crate) async fn while_shown<T>(&self, run: RunKey, work: impl Future<Output = T>) -> T {
        match self.form {
            OutputFormat::Json => work.await,
            OutputFormat::Text => self.display.during(run, work).await,
        }
    }

    /// Prints a run with every step.
    pub(crate) fn run_in_full(&self, run: &Run, detail: Detail) {
        match self.form {
            OutputFormat::Json => self.json(run),
            OutputFormat::Text => self.text(&run::run(run, detail, self)),
        }
    }

    pub(crate) fn runs(&self, runs: &RunList, state: RunSelection, waits: &QueuedView) {
        match self.form {
            OutputFormat::Json => self.json(&view::runs(runs, waits)),
            OutputFormat::Text => self.text(&run::runs_and_waits(runs, state, waits, self)),
        }
    }

    pub(crate) fn agents(&self, agents: &[AgentStatus]) {
        match self.form {
            OutputFormat::Json => self.json(&serde_json::json!({"agents": agents})),
            OutputFormat::Text => self.text(&text::agents(agents, DriverPresence::Daemon, self)),
        }
    }

    /// The list of agents as text.
    pub(crate) fn agents_text(&self, agents: &[AgentStatus], driver: DriverPresence) -> String {
        text::agents(agents, driver, self)
    }

    /// The list of runs as text.
    pub(crate) fn runs_text(&self, runs: &RunList) -> String {
        run::runs(runs, RunSelection::All, self)
    }

    pub(crate) fn agent(&self, agent: &AgentStatus) {
        match self.form {
            OutputFormat::Json => self.json(agent),
            OutputFormat::Text => self.text(&text::agent(agent, self)),
        }
    }

    /// Prints an agent with its settings, which the caller formats for people.
    pub(crate) fn agent_with_settings(&self, agent: &AgentStatus, settings: &AgentSettings, words: &str) {
        let mut object = serde_json::json!(agent);
        if let Some(members) = object.as_object_mut() {
            members.insert("settings".to_owned(), serde_json::json!(settings));
        }
        self.answer(&object, &format!("{}\n\n{words}", text::agent(agent, self)));
    }

    pub(crate) fn transcript(&self, transcript: &Transcript) {
        match self.form {
            OutputFormat::Json => transcript.lines.iter().for_each(|line| self.json(line)),
            OutputFormat::Text => self.text(&text::transcript(&transcript.lines)),
        }
    }

    /// Prints why no run was resumed.
    pub(crate) fn nothing_resumed(&self, view: &ResumedView) {
        match self.form {
            OutputFormat::Json => self.json(view),
            OutputFormat::Text => self.text(&text::nothing_resumed(view)),
        }
    }

    /// Prints a result: the object as JSON, or this text for people.
    pub(crate) fn answer<T: serde::Serialize>(&self, object: &T, words: &str) {
        match self.form {
            OutputFormat::Json => self.json(object),
            OutputFormat::Text => self.text(words),
        }
    }

    /// The width of the terminal.
    pub(crate) const fn width(&self) -> usize {
        self.layout.width
    }

    /// Prints a long text: the object as JSON, or the text for people, in a pager if the output is a terminal.
    pub(crate) fn pages<T: serde::Serialize>(&self, object: &T, words: &str) {
        let is_paged = self.form == OutputFormat::Text
            && std::io::stdout().is_terminal()
            && pager::show(&wrap::displayable(words, self.layout.charset));
        if !is_paged {
            self.answer(object, words);
        }
    }

    /// Writes raw bytes for another program.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            // A closed pipe only means that the reader has read enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => {
                if !self.lost.swap(true, Ordering::Relaxed) {
                    self.prose(&format!(
                        "error[output_lost]: the output could not be written: {error}"
                    ));
                }
            }
        }
    }

    /// Whether part of the result could not be written.
    pub(crate) fn was_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Prints a note to standard error.
    pub(crate) fn note(&self, text: &str) {
        self.prose(&format!("wakeful: {text}"));
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        self.failure_alone(failure);
        self.prose(&failure.to_string());
    }

    /// Prints a failure in JSON only, because people have already seen it as text.
    pub(crate) fn failure_alone(&self, failure: &Failure) {
        if self.form == OutputFormat::Json {
            self.json(&failure.json());
        }
    }

    /// Writes text. For a terminal it is wrapped. Control characters are removed in any case, because a pager or
    /// another program may pass them on to a terminal.
    fn text(&self, text: &str) {
        let safe = sanitize::text(text);
        let text = match std::io::stdout().is_terminal() {
            true => wrap::fit(&safe, self.layout),
            false => safe.into_owned(),
        };
        self.bytes(format!("{text}\n").as_bytes());
    }

    fn json<T: serde::Serialize>(&self, value: &T) {
        // The views have only string keys, so they always serialize.
        let line = serde_json::to_string(value).unwrap_or_default();
        self.bytes(format!("{}\n", sanitize::json(&line)).as_bytes());
    }
}

/// The width of the terminal and the characters that it shows.
fn layout() -> Layout {
    let given = variable("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col))
    };
    let width = given.or_else(terminal).filter(|width| *width > 0);
    // The first of these that is set decides, as in the C library.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    let locale = locale.map(|locale| locale.to_string_lossy().to_ascii_lowercase());
    let is_unicode = locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"));
    Layout {
        width: width.unwrap_or(WIDTH_DEFAULT),
        charset: match is_unicode {
            true => Charset::Unicode,
            false => Charset::Ascii,
        },
    }
}

/// Prints the progress of a run, one line per event that matters to a person, and notifies the loop that
/// drives it.
pub(crate) struct Progress {
    form: OutputFormat,
    hub: Arc<Hub>,
    display: Arc<Display>,
}

impl Progress {
    pub(crate) fn new(out: &Out, hub: Arc<Hub>) -> Self {
        Self {
            form: out.form,
            hub,
            display: Arc::clone(&out.display),
        }
    }
}

impl Out {
    /// Shows an event of a watched run, if it matters to a person.
    pub(crate) fn progress(&self, run: Option<RunKey>, said: &Payload) {
        if self.form == OutputFormat::Text {
            progress(&self.display, run, said);
        }
    }

    /// Shows streamed text of a watched run.
    pub(crate) fn words(&self, words: &Words<'_>) {
        self.display.update(|live| live.words(words));
    }

    /// Shows output of a running action of a watched run.
    pub(crate) fn printed(&self, printed: &Printed<'_>) {
        self.display.update(|live| live.printed(printed));
    }

    /// Takes the terminal over for a conversation.
    pub(crate) fn open_screen(&self) {
        self.display.open_idle();
    }

    /// Leaves the terminal in order.
    pub(crate) fn close_screen(&self) {
        self.display.close();
    }

    /// Changes what the screen of a conversation shows.
    pub(crate) fn screen(&self, change: impl FnOnce(&mut Live)) {
        self.display.update(change);
    }

    /// Shows the end of a run in a conversation: its answer, unless it was streamed, and a summary.
    pub(crate) fn end_of_run(&self, run: &Run) {
        let is_shown = self.display.has_shown(&run.final_text);
        self.display.update(|live| {
            if !is_shown && !run.final_text.is_empty() {
                live.note(&run.final_text, Ink::Plain);
            }
            text::ending(run)
                .iter()
                .for_each(|line| live.note(line, Ink::Dim));
            live.idle();
        });
    }

    /// The lines of a conversation about a run that did not succeed or cannot continue.
    pub(crate) fn failed_run(&self, key: &str, agent: &str, run: &TranscriptRun) -> Vec<String> {
        let cause = format!("! {}: {}", run.status, run.explanation.message);
        let steps = run_words::next_steps_of(key, agent, &run.explanation);
        [cause].into_iter().chain(steps).collect()
    }

    /// Shows lines on the terminal, wrapped and with colour.
    pub(crate) fn block(&self, lines: &[(String, Ink)]) {
        self.display.show(lines);
    }

    /// Writes a prompt to the terminal and leaves the cursor behind it.
    pub(crate) fn prompt(&self, prompt: &str) {
        let _ = write!(std::io::stderr(), "{prompt}");
    }

    /// Writes a line to standard error. It is sanitized, because much of it comes from models and tools and
    /// may reach a terminal.
    fn prose(&self, line: &str) {
        prose(&self.display, line);
    }
}

fn progress(display: &Display, run: Option<RunKey>, said: &Payload) {
    if !display.update(|live| live.event(run, said))
        && let Some(line) = text::progress(said)
    {
        prose(display, &line);
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
            if let Some(body) = body {
                progress(&self.display, event.sealed.run_key, &body.payload);
            }
        }
    }

    fn on_text_delta(&self, spoken: &TextDelta<'_>) {
        self.hub.on_text_delta(spoken);
        self.display.update(|live| {
            live.words(&Words {
                run: spoken.run,
                attempt: spoken.attempt,
                text: spoken.text,
            });
        });
    }

    fn on_tool_output(&self, printed: &ToolOutputDelta<'_>) {
        self.hub.on_tool_output(printed);
        self.display.update(|live| {
            live.printed(&Printed {
                operation_id: printed.operation_id,
                text: printed.text,
            });
        });
    }
}

fn prose(display: &Display, line: &str) {
    if display.update(|live| live.note(line, Ink::Plain)) {
        return;
    }
    let safe = sanitize::text(line);
    let line = match Style::of_stderr() {
        Some(style) => wrap::fit(&safe, style.into()),
        None => safe.into_owned(),
    };
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The note about the default cap that applies while no cap is set.
pub(crate) fn cap_unset(default: impl std::fmt::Display) -> String {
    format!(
        "no spending cap is set: the default of {default} USD per day applies to all agents together (`wakeful budget set USD` changes it)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output for people with this width and absolute times.
    pub(super) fn out(width: usize) -> Out {
        Out {
            form: OutputFormat::Text,
            times: TimeFormat::Absolute,
            layout: Layout {
                width,
                charset: Charset::Unicode,
            },
            lost: AtomicBool::new(false),
            display: Arc::default(),
        }
    }
}
