//! A run as it is shown while it works: a pure state machine from events, streamed text, command output and
//! ticks to a screen. `run` and `chat` use the same one.

use std::time::Duration;

use serde_json::Value;
use wakeful_core::failure::truncate_chars;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::policy::PolicyEffect;
use wakeful_core::report::payload::{AssistantRoundRecorded, Payload, PolicyDecided, ToolExecuted};

use super::screen::{Ink, InputRows, Screen};
use super::{Charset, Style};
use crate::show::{progress_line, result_of_action};

/// Lines of output shown for each action; the transcript contains all of it.
const OUTPUT_LINES_MAX: usize = 20;

/// Actions whose output is distinguished. A reply rarely requests more.
const ACTIONS_MAX: usize = 64;

/// Maximum length of an action's arguments in the list and in the status.
const LABEL_CHARS_MAX: usize = 400;

/// Streamed text of a model's reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) run: RunKey,
    pub(crate) attempt: u32,
    pub(crate) text: &'a str,
}

/// Output of a running action.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printed<'a> {
    pub(crate) operation_id: OperationId,
    pub(crate) text: &'a str,
}

#[derive(Debug)]
pub(crate) struct Live {
    screen: Screen,
    /// The run whose text is streamed. The text of its sub-runs is shown when it is complete.
    run: Option<RunKey>,
    reply: StreamedReply,
    /// The streamed text of the last reply. It is the answer if no piece was missed.
    shown: String,
    actions: Vec<Action>,
    /// The action whose line or output was shown last.
    last_action: Option<OperationId>,
    /// Whether the run waits for a decision.
    awaits_decision: bool,
    tokens: u64,
    cost_microusd: u64,
    elapsed: Duration,
    ticks: usize,
}

/// The reply that is being streamed.
#[derive(Debug, Default)]
struct StreamedReply {
    attempt: u32,
    text: String,
}

#[derive(Debug)]
struct Action {
    operation_id: OperationId,
    label: String,
    lines: usize,
    hidden: usize,
}

impl Live {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            screen: Screen::new(style),
            run: None,
            reply: StreamedReply::default(),
            shown: String::new(),
            actions: Vec::new(),
            last_action: None,
            awaits_decision: false,
            tokens: 0,
            cost_microusd: 0,
            elapsed: Duration::ZERO,
            ticks: 0,
        }
    }

    /// Shows a run from now on. A run that was shown before continues where it was.
    pub(crate) fn follow(&mut self, run: RunKey) {
        if self.run == Some(run) {
            return;
        }
        let style = self.screen.style();
        let screen = std::mem::replace(&mut self.screen, Screen::new(style));
        *self = Self {
            screen,
            run: Some(run),
            ..Self::new(style)
        };
    }

    /// The bytes that bring the terminal up to date.
    pub(crate) fn draw(&mut self) -> String {
        self.screen.draw()
    }

    pub(crate) const fn set_width(&mut self, width: usize) {
        self.screen.set_width(width);
    }

    pub(crate) const fn style(&self) -> Style {
        self.screen.style()
    }

    pub(crate) fn set_input(&mut self, input: Option<InputRows>) {
        self.screen.set_input(input);
    }

    /// Shows a line that does not belong to the run.
    pub(crate) fn note(&mut self, text: &str, ink: Ink) {
        self.screen.set_indent("");
        self.screen.line(text, ink);
    }

    /// Advances the spinner.
    pub(crate) fn tick(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
        self.ticks = self.ticks.wrapping_add(1);
        self.show_status();
    }

    /// Removes the status, because no run is shown.
    pub(crate) fn idle(&mut self) {
        self.screen.set_indent("");
        self.screen.end_row();
        self.screen.set_status("");
    }

    /// Leaves only finished rows.
    pub(crate) fn close(&mut self) {
        self.idle();
        self.screen.set_input(None);
    }

    /// Whether this text was shown completely as it was streamed. Spaces are ignored, because the parts of a
    /// reply are joined differently in a stream.
    pub(crate) fn has_shown(&self, text: &str) -> bool {
        let words = |text: &str| text.split_whitespace().collect::<String>();
        !self.shown.is_empty() && words(&self.shown) == words(text)
    }

    /// Shows streamed text of the run.
    pub(crate) fn words(&mut self, words: &Words<'_>) {
        if self.run.is_some_and(|run| run != words.run) {
            return;
        }
        if words.attempt != self.reply.attempt {
            if !self.reply.text.is_empty() {
                self.note("(the reply was interrupted and starts again)", Ink::Yellow);
            }
            self.reply = StreamedReply {
                attempt: words.attempt,
                text: String::new(),
            };
        }
        if self.reply.text.is_empty() {
            self.screen.set_indent("");
            self.screen.end_row();
        }
        self.reply.text.push_str(words.text);
        self.last_action = None;
        self.screen.put(words.text, Ink::Plain);
    }

    /// Shows output of a running action, up to a number of lines.
    pub(crate) fn printed(&mut self, printed: &Printed<'_>) {
        let id = printed.operation_id;
        let Some(at) = self.actions.iter().position(|action| action.operation_id == id) else {
            return;
        };
        if self.last_action != Some(id) {
            let label = self.actions.get(at).map(|action| action.label.clone());
            self.note(&format!("→ {}", label.unwrap_or_default()), Ink::Dim);
            self.last_action = Some(id);
        }
        let indent = match self.screen.charset() {
            Charset::Utf8 => "  │ ",
            Charset::Ascii => "  | ",
        };
        self.screen.set_indent(indent);
        let Some(action) = self.actions.get_mut(at) else {
            return;
        };
        for line in printed.text.lines() {
            if action.lines == OUTPUT_LINES_MAX {
                action.hidden = action.hidden.saturating_add(1);
                continue;
            }
            action.lines += 1;
            self.screen.line(line, Ink::Dim);
        }
    }

    /// Shows an action that was already running when the run began to be shown.
    pub(crate) fn resume_action(&mut self, operation_id: OperationId, tool: &str, input: &str) {
        if self.is_known(operation_id) || self.actions.len() >= ACTIONS_MAX {
            return;
        }
        let label = label(tool, input);
        self.note(
            &format!("→ {label} (running; earlier output is not shown)"),
            Ink::Cyan,
        );
        self.last_action = Some(operation_id);
        self.add_action(operation_id, label);
        self.show_status();
    }

    fn is_known(&self, id: OperationId) -> bool {
        self.actions.iter().any(|action| action.operation_id == id)
    }

    fn add_action(&mut self, operation_id: OperationId, label: String) {
        if self.actions.len() < ACTIONS_MAX && !self.is_known(operation_id) {
            self.actions.push(Action {
                operation_id,
                label,
                lines: 0,
                hidden: 0,
            });
        }
    }

    /// The run waits for a decision, which is asked below its text.
    pub(crate) fn await_decision(&mut self) {
        self.awaits_decision = true;
        self.show_status();
    }

    /// Shows a committed event of the run or of one of its sub-runs.
    pub(crate) fn event(&mut self, run: Option<RunKey>, said: &Payload) {
        match said {
            Payload::AssistantRoundRecorded(round) => self.round(run, round, said),
            Payload::PolicyDecided(decided) => self.decided(decided, said),
            Payload::ToolExecuted(executed) => self.executed(executed),
            Payload::ProviderRoundCompleted(round) => {
                let usage = round.attempt.token_usage.unwrap_or_default();
                self.tokens += usage.input_tokens.saturating_add(usage.output_tokens);
                self.cost_microusd += round.attempt.cost.map_or(0, |cost| cost.0);
                self.line_of(said, Ink::Yellow);
            }
            // The question itself is shown where it is asked, or with how to answer it.
            Payload::DecisionAsked(_) => self.awaits_decision = true,
            Payload::DecisionAnswered(_) => {
                self.awaits_decision = false;
                self.line_of(said, Ink::Yellow);
            }
            Payload::SubRunStarted(_) | Payload::GuardrailTripped(_) | Payload::HookExecuted(_) => {
                self.line_of(said, Ink::Yellow);
            }
            Payload::ActionCancelled(_) | Payload::RunQuarantined(_) => self.line_of(said, Ink::Red),
            Payload::MessageAdmitted(_)
            | Payload::AgentStateChanged(_)
            | Payload::WakeDecided(_)
            | Payload::RunStarted(_)
            | Payload::RuntimeError(_)
            | Payload::RunParked(_)
            | Payload::RunEnded(_)
            | Payload::DecisionEscalated(_)
            | Payload::PolicyChanged(_)
            | Payload::ConnectionRefused(_)
            | Payload::BrakeChanged(_)
            | Payload::AttentionDismissed(_)
            | Payload::RunUndone(_)
            | Payload::QuarantineResolved(_)
            | Payload::ContentErased(_)
            | Payload::DataPruned(_)
            | Payload::RowsBound(_) => {}
        }
        self.show_status();
    }

    fn line_of(&mut self, said: &Payload, ink: Ink) {
        if let Some(line) = progress_line(said) {
            self.note(line.trim_start(), ink);
            self.last_action = None;
        }
    }

    /// A reply is stored. If it was not streamed, its beginning is shown, unless it is the answer, which is
    /// printed as a whole at the end.
    fn round(&mut self, run: Option<RunKey>, round: &AssistantRoundRecorded, said: &Payload) {
        if self.run.is_some() && run != self.run {
            self.line_of(said, Ink::Dim);
            return;
        }
        let reply = std::mem::take(&mut self.reply);
        self.reply.attempt = reply.attempt.saturating_add(1);
        self.screen.end_row();
        if reply.text.is_empty() && !round.tools.is_empty() {
            self.line_of(said, Ink::Plain);
        } else {
            for query in &round.web_searches {
                self.screen
                    .line(&format!("  → searched the web: {query}"), Ink::Dim);
            }
        }
        self.shown = reply.text;
    }

    fn decided(&mut self, decided: &PolicyDecided, said: &Payload) {
        match (decided.effect, decided.status) {
            (PolicyEffect::Permit, None) => {
                let label = label(&decided.tool, &decided.input);
                self.note(&format!("→ {label}"), Ink::Cyan);
                self.last_action = Some(decided.operation_id);
                self.add_action(decided.operation_id, label);
            }
            (PolicyEffect::Permit | PolicyEffect::Deny, _) => self.line_of(said, Ink::Red),
            // An approved action begins without another verdict, so its output needs its name.
            (PolicyEffect::Ask, _) => {
                self.add_action(decided.operation_id, label(&decided.tool, &decided.input));
            }
        }
    }

    fn executed(&mut self, executed: &ToolExecuted) {
        let id = executed.operation_id;
        let at = self.actions.iter().position(|action| action.operation_id == id);
        let action = at.map(|at| self.actions.remove(at));
        let hidden = action.as_ref().map_or(0, |action| action.hidden);
        let is_other = self.last_action != Some(id);
        if hidden > 0 {
            let lines = if hidden == 1 { "line" } else { "lines" };
            self.note(&format!("  … {hidden} more {lines}"), Ink::Dim);
        }
        let code = executed.code.as_ref().map(|code| format!(" ({code})"));
        let name = match action.filter(|_| is_other) {
            Some(action) => action.label,
            None => executed.tool.clone(),
        };
        let result = result_of_action(executed.status, executed.exit_status);
        let ink = match (executed.status.is_error(), executed.exit_status) {
            (true, _) => Ink::Red,
            (false, Some(exit)) if exit != 0 => Ink::Yellow,
            (false, _) => Ink::Green,
        };
        let line = format!(
            "← {name} {result} in {}{}",
            seconds(Duration::from_millis(executed.duration_ms)),
            code.unwrap_or_default()
        );
        self.note(&line, ink);
    }

    fn show_status(&mut self) {
        let frames: &[&str] = match self.screen.charset() {
            Charset::Utf8 => &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
            Charset::Ascii => &["|", "/", "-", "\\"],
        };
        let frame = frames.iter().cycle().nth(self.ticks % frames.len().max(1));
        let mut parts = vec![seconds(Duration::from_secs(self.elapsed.as_secs()))];
        if self.tokens > 0 {
            parts.push(format!("{} tokens", self.tokens));
        }
        if self.cost_microusd > 0 {
            parts.push(format!(
                "{} USD",
                wakeful_core::budget::MicroUsd(self.cost_microusd)
            ));
        }
        parts.push(match self.actions.first() {
            _ if self.awaits_decision => "waiting for a decision".to_owned(),
            Some(action) => action.label.clone(),
            None if self.reply.text.is_empty() => "waiting for the model".to_owned(),
            None => "writing".to_owned(),
        });
        // A spinner would suggest work.
        let frame = frame.copied().filter(|_| !self.awaits_decision);
        let frame = frame.map(|frame| format!("{frame} ")).unwrap_or_default();
        self.screen.set_status(&format!("{frame}{}", parts.join(" · ")));
    }
}

/// The tool with its arguments; of a command only the command.
fn label(tool: &str, input: &str) -> String {
    let command = serde_json::from_str::<Value>(input).ok();
    let command = command.as_ref().and_then(|input| input.get("cmd")?.as_str());
    truncate_chars(&format!("{tool} {}", command.unwrap_or(input)), LABEL_CHARS_MAX)
}

/// A duration for people.
fn seconds(elapsed: Duration) -> String {
    match (elapsed.as_secs(), elapsed.subsec_millis()) {
        (0, ms @ 1..) => format!("{ms} ms"),
        (s @ 0..60, _) => format!("{s} s"),
        (s @ 60..3_600, _) => format!("{} min {} s", s / 60, s % 60),
        (s, _) => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests;
