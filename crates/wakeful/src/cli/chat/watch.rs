//! The runs of a conversation: their events and streamed text, their ends, and the decisions they wait for.

use wakeful_api::{Decision, Delta, Event, GetDecision, GetRun, Run, Step, StepKind, Text, ToolOutput};
use wakeful_core::decision::{APPROVE, APPROVE_HOSTS, DENY};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::{BrakeChanged, Payload};
use wakeful_core::run::RunStatus;
use wakeful_core::sse::Frame;
use wakeful_core::step::StepStatus;
use wakeful_core::wake::WakeOutcome;

use super::{Chat, Input, Question};
use crate::backend::decision_id;
use crate::cli::run::ask::{Reply, is_too_long, offers_hosts, question, reasons, store_answer};
use crate::failure::Failure;
use crate::terminal::live::{Live, Printed, Words};
use crate::terminal::raw_mode::discard_typed;

impl Chat<'_> {
    /// Looks for runs that ended before the stream was opened.
    pub(super) async fn catch_up(&mut self, input: &mut Input) {
        for run in self.runs.clone() {
            match self.backend.call(GetRun { run_key: Text(run) }).await {
                Ok(seen) if !seen.outcome.is_under_way() || seen.parked.is_some() => self.ended(run, &seen),
                Ok(seen) => {
                    self.show_current(&seen);
                    self.ask_pending(run, input).await;
                }
                Err(failure) => self.report(&failure),
            }
        }
    }

    /// Shows the actions that began before this conversation was opened: their events are not sent again.
    fn show_current(&self, seen: &Run) {
        let first = self.runs.first().map(ToString::to_string);
        if first.as_deref() != Some(&seen.run_key) {
            return;
        }
        let is_running = |step: &&Step| step.kind == StepKind::Tool && step.status == StepStatus::Intended;
        for step in seen.steps.iter().filter(is_running) {
            if let Some(id) = Digest::from_hex(&step.operation_id) {
                let input = step.input.as_ref().map_or("", |input| input.text.as_str());
                self.out
                    .screen(|live| live.resume_action(OperationId(id), &step.name, input));
            }
        }
    }

    /// Shows one frame of the event stream.
    pub(super) async fn frame(&mut self, frame: &Frame, input: &mut Input) {
        match frame.event.as_str() {
            "delta" => {
                let delta = serde_json::from_str::<Delta>(frame.text()).ok();
                let run = delta.as_ref().and_then(|delta| Digest::from_hex(&delta.run_key));
                if let (Some(delta), Some(run)) = (delta, run.map(RunKey))
                    && self.runs.contains(&run)
                {
                    let (attempt, text) = (delta.attempt, delta.text.as_str());
                    self.out.words(&Words { run, attempt, text });
                }
            }
            "tool_output" => {
                let output = serde_json::from_str::<ToolOutput>(frame.text()).ok();
                let is_shown =
                    |key: &str| Digest::from_hex(key).is_some_and(|key| self.runs.contains(&RunKey(key)));
                let output = output.filter(|output| is_shown(&output.run_key));
                let id = output
                    .as_ref()
                    .and_then(|output| Digest::from_hex(&output.operation_id));
                if let (Some(output), Some(id)) = (output, id.map(OperationId)) {
                    self.out.printed(&Printed {
                        operation_id: id,
                        text: &output.text,
                    });
                }
            }
            "event" => {
                if let Ok(event) = serde_json::from_str::<Event>(frame.text()) {
                    self.event(&event, input).await;
                }
            }
            _ => {}
        }
    }

    async fn event(&mut self, event: &Event, input: &mut Input) {
        self.after = event.seq;
        let said = Payload::read(&event.kind, &event.payload);
        if let Some(Payload::BrakeChanged(BrakeChanged { is_on: true, .. })) = &said {
            self.say("a brake was set, and work stops: `wakeful brake status` shows how to release it");
        }
        let run = event.run_key.as_deref().and_then(Digest::from_hex).map(RunKey);
        let Some(run) = run.filter(|run| self.runs.contains(run)) else {
            return;
        };
        if let Some(said) = &said {
            self.out.progress(Some(run), said);
        }
        // A reply of the model answers every message that joined before.
        if let Some(Payload::AssistantRoundRecorded(_)) = &said {
            self.has_unanswered = false;
        }
        if let Some(Payload::WakeDecided(decided)) = &said {
            if decided.verdict == WakeOutcome::Run {
                self.follow(run);
            } else if decided.verdict == WakeOutcome::Absorbed {
                // The event belongs to the run that absorbed the message; the message has a key of its own.
                self.say("the message joined the run");
                self.runs.retain(|one| *one != decided.run_key);
                self.has_unanswered = true;
            } else {
                self.end(run).await;
            }
        }
        match EventKind::parse(&event.kind) {
            Some(EventKind::RunEnded | EventKind::RunParked | EventKind::RunQuarantined) => {
                self.end(run).await
            }
            Some(EventKind::DecisionAsked) => self.ask_pending(run, input).await,
            Some(EventKind::DecisionAnswered) => {
                self.close_question();
                self.ask_pending(run, input).await;
            }
            _ => {}
        }
    }

    async fn end(&mut self, run: RunKey) {
        match self.backend.call(GetRun { run_key: Text(run) }).await {
            Ok(seen) => self.ended(run, &seen),
            Err(failure) => self.report(&failure),
        }
    }

    /// Shows the end of a run, and its answer unless it was streamed.
    fn ended(&mut self, run: RunKey, seen: &Run) {
        self.runs.retain(|one| *one != run);
        self.close_question();
        self.out.end_of_run(seen);
        let was_cut_off = matches!(
            seen.outcome,
            RunStatus::Failed | RunStatus::Cancelled | RunStatus::OutOfRounds | RunStatus::Abandoned
        );
        if std::mem::take(&mut self.has_unanswered) && was_cut_off {
            self.say("the message that joined the run was not answered; /retry sends it again");
        }
        if let Some(next) = self.runs.first().copied() {
            self.follow(next);
        }
    }

    /// Asks the first pending decision of a run. Keys that were pressed before the question appeared do not
    /// answer it.
    pub(super) async fn ask_pending(&mut self, run: RunKey, input: &mut Input) {
        if self.question.is_some() {
            return;
        }
        let decision = match self.first_pending(run).await {
            Ok(Some(decision)) => decision,
            Ok(None) => return,
            Err(failure) => return self.report(&failure),
        };
        self.out.screen(Live::await_decision);
        if !decision.may_answer.contains(&self.backend.channel()) || is_too_long(&decision) {
            let id = decision.decision_id.get(..12).unwrap_or(&decision.decision_id);
            self.say(&format!(
                "the run waits for a decision: `wakeful decision show {id}` shows how to answer it"
            ));
            return;
        }
        self.out.block(&question(&decision));
        let draft = self.editor.set_text(String::new());
        self.question = Some(Question { decision, draft });
        discard_typed(&mut input.keys);
        self.draw();
    }

    /// The first pending decision of a run, with its complete arguments.
    async fn first_pending(&self, run: RunKey) -> Result<Option<Decision>, Failure> {
        match self.backend.decisions_of(run).await?.first() {
            Some(one) => {
                let decision_id = decision_id(&one.decision_id)?;
                self.backend.call(GetDecision { decision_id }).await.map(Some)
            }
            None => Ok(None),
        }
    }

    fn close_question(&mut self) {
        if let Some(question) = self.question.take() {
            self.editor.set_text(question.draft);
        }
    }

    pub(super) async fn answer(&mut self, line: &str) -> Result<(), Failure> {
        let Some(Question { decision, .. }) = &self.question else {
            return Ok(());
        };
        let (option, note) = match Reply::parse(line) {
            Reply::Approve => (APPROVE, None),
            Reply::ApproveHosts if offers_hosts(decision) => (APPROVE_HOSTS, None),
            Reply::Deny(reason) => (DENY, reason),
            Reply::Why => {
                self.out.block(&reasons(&self.backend, decision).await?);
                return Ok(());
            }
            Reply::Later => {
                let id = decision.decision_id.get(..12).unwrap_or(&decision.decision_id);
                self.say(&format!(
                    "the run waits; answer it with `wakeful decision answer {id} approve` or `… deny`"
                ));
                self.close_question();
                return Ok(());
            }
            Reply::Unclear | Reply::ApproveHosts => {
                self.say("type y, n, why or later, and Enter");
                return Ok(());
            }
        };
        if let Some(message) = store_answer(&self.backend, decision, option, note).await? {
            self.say(&message);
        }
        self.close_question();
        Ok(())
    }
}
