//! Performs actions.

use std::sync::Arc;

use tokio::sync::watch;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::ToolCall;
use wakeful_core::id::AgentId;
use wakeful_core::json::NotCanonical;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{Effect, RunInput, RunPhase};
use wakeful_core::step::{CrashRecovery, EffectClass, StepResult, StepStatus, result_blob, unknown_fault};
use wakeful_ports::clock::Clock;
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::planted_bugs;
use wakeful_ports::tool::{NOT_BEGUN, StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_store::Store;

use crate::run::{ClaimedRun, broken};
use crate::step::{
    EarlyEnd, EffectResult, Freshness, INTERRUPT_POLL_MS, Interrupts, NextAction, asked, read_interrupts,
};
use crate::tool_output::PendingOutput;
use crate::{Engine, EngineError, Halt};

/// How long a running action may continue after a shutdown request. Together with the tool's own grace time
/// it stays below the timeouts of service managers.
const HALT_GRACE_MS: u64 = 3_000;

/// The code of an action that a tool stopped on request, and of one that a halt or a brake ended.
const CANCELLED: &str = "cancelled";
const HALTED: &str = "halted";
const BRAKED: &str = "braked";

/// The requested stop level of an action. It only increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StopLevel {
    /// Continue.
    Run,
    /// Do not start; an action that has started may finish.
    StartNothing,
    /// End now.
    End,
}

/// The stop signal of an action, and the checks before a delayed start.
struct ActionStop {
    wish: watch::Receiver<StopLevel>,
    store: Store,
    halt: Halt,
    clock: Arc<dyn Clock>,
    run: RunKey,
    agent: AgentId,
}

impl ActionStop {
    async fn wait_for_level(&self, least: StopLevel) {
        let mut wish = self.wish.clone();
        // An error means that the watcher was dropped, so no stop can be requested.
        if wish.wait_for(|wish| *wish >= least).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl StopSignal for ActionStop {
    async fn stopped(&self) {
        self.wait_for_level(StopLevel::End).await;
    }

    async fn start_forbidden(&self) {
        self.wait_for_level(StopLevel::StartNothing).await;
    }

    async fn start_allowed(&self) {
        loop {
            let look = read_interrupts(&self.store, self.run, &self.agent).await;
            // Checked after the read, which may take time; these checks do not wait.
            let may_act = !self.halt.is_set() && self.store.holds_lease();
            match look {
                Ok(look) if may_act && !look.is_cancelled && !look.is_braked => return,
                // The watcher of the action reads the same state and reports why it is stopped. A failed
                // read permits nothing.
                Ok(_) | Err(_) => self.clock.sleep(INTERRUPT_POLL_MS).await,
            }
        }
    }
}

/// An action whose intent is committed.
struct Intent {
    operation_id: OperationId,
    class: EffectClass,
    call: ToolCall,
}

enum ActionOutcome {
    Done(ToolOutcome),
    /// The action has not started; what the run does instead.
    Held(NextAction),
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Performs the intended actions one after another. The interrupts for the first were read with the
    /// run.
    pub(crate) async fn act(
        &self,
        claimed: &mut ClaimedRun,
        look: Interrupts,
    ) -> Result<NextAction, EngineError> {
        let run = claimed.run_key();
        // After a crash the calls are read first.
        let mut look = (!claimed.asked.is_empty()).then_some(look);
        if let RunPhase::Acting { delay_ms: 1.., .. } = claimed.machine.phase {
            if let Some(rest) = self.wait_for_moment(claimed).await? {
                return Ok(rest);
            }
            look = None;
        }
        let effects = claimed.effects.clone();
        let (mut results, mut contents, mut blobs) = (Vec::new(), Vec::new(), Vec::new());
        for effect in effects {
            let Effect::Act {
                operation_id,
                position,
                call_id,
                class,
            } = effect
            else {
                continue;
            };
            // The engine's own actions have their own transaction.
            if class == EffectClass::Internal {
                break;
            }
            let intent = Intent {
                operation_id,
                class,
                call: self.call_at(claimed, position).await?,
            };
            // The intent is committed. Read again whether a brake was set since: once a brake is
            // acknowledged, no action may start.
            let look = match look.take() {
                Some(look) => look,
                None => match self.read_interrupts(claimed).await {
                    Ok(look) => look,
                    // Report the results so far first.
                    Err(_) if !results.is_empty() => break,
                    Err(error) => return Err(error),
                },
            };
            let began = self.clock.monotonic_ms();
            let done = match self.perform_action(claimed, &intent, look).await? {
                ActionOutcome::Done(done) => done,
                ActionOutcome::Held(_) if !results.is_empty() => break,
                ActionOutcome::Held(next) => return Ok(next),
            };
            let duration_ms = self.clock.monotonic_ms().saturating_sub(began);
            let (result, content, more) = self
                .ended(operation_id, &call_id, done, duration_ms)
                .map_err(|e| broken(run, &e))?;
            results.push(result);
            contents.push(content.clone());
            blobs.push(content);
            blobs.extend(more);
        }
        Ok(NextAction::Input(Box::new(EffectResult {
            input: RunInput::Settled { results },
            contents,
            blobs,
        })))
    }

    /// Performs one action, unless a condition prevents it.
    async fn perform_action(
        &self,
        claimed: &ClaimedRun,
        intent: &Intent,
        look: Interrupts,
    ) -> Result<ActionOutcome, EngineError> {
        let Intent {
            operation_id,
            class,
            ref call,
        } = *intent;
        match (claimed.freshness, class.after_crash()) {
            // An action that may have started is settled even if the run was cancelled.
            (Freshness::Recovered, CrashRecovery::Unknown) if !planted_bugs::is_planted("plain_again") => {
                Ok(ActionOutcome::Done(self.unknown(operation_id, call).await))
            }
            // A journal write can be undone. The run is cancelled, so the write is not performed first:
            // whether or not an earlier process made it, it is undone with its run.
            (Freshness::Recovered, CrashRecovery::Again)
                if class == EffectClass::Saga && look.is_cancelled =>
            {
                Ok(ActionOutcome::Held(NextAction::just(RunInput::Postponed)))
            }
            // An earlier process may have performed it. If the intent were withdrawn, the action could be
            // cancelled as if it had never started.
            (Freshness::Recovered, CrashRecovery::Unknown | CrashRecovery::Again) if look.is_braked => {
                Ok(ActionOutcome::Held(NextAction::Brake))
            }
            // The machine cancels or intends again an action that has not started.
            (Freshness::Fresh, CrashRecovery::Unknown | CrashRecovery::Again)
                if self.halt.is_set() || look.is_cancelled || look.is_braked =>
            {
                Ok(ActionOutcome::Held(NextAction::just(RunInput::Postponed)))
            }
            (Freshness::Recovered | Freshness::Fresh, CrashRecovery::Unknown | CrashRecovery::Again) => {
                self.run_tool(claimed, operation_id, call).await
            }
        }
    }

    /// The stored result of an action: its step result, the content for the model, and the blobs that it
    /// references.
    pub(crate) fn ended(
        &self,
        operation_id: OperationId,
        call_id: &str,
        done: ToolOutcome,
        duration_ms: u64,
    ) -> Result<(StepResult, Blob, Vec<Blob>), NotCanonical> {
        let done = self.without_keys(done);
        let status = StepStatus::of_code(done.code.as_deref());
        let content = result_blob(call_id, status != StepStatus::Ok, done.content)?;
        let result = StepResult {
            operation_id,
            status,
            content: content.hash(),
            duration_ms,
            sandbox: done.sandbox,
            exit_status: done.exit_status,
            code: done.code,
            again: done.retry_after,
        };
        Ok((result, content, done.blobs))
    }

    /// Redacts the keys of this run's providers from a result: a command may read a file that contains one,
    /// and neither the model nor the database needs it.
    fn without_keys(&self, mut done: ToolOutcome) -> ToolOutcome {
        for blob in &mut done.blobs {
            let Some(bytes) = self.model.redact_keys(blob.bytes()) else {
                continue;
            };
            let cut = Blob::new(bytes);
            done.content = done
                .content
                .replace(&blob.hash().to_string(), &cut.hash().to_string());
            *blob = cut;
        }
        let cut = self.model.redact_keys(done.content.as_bytes());
        if let Some(content) = cut.and_then(|bytes| String::from_utf8(bytes).ok()) {
            done.content = content;
        }
        done
    }

    async fn run_tool(
        &self,
        claimed: &ClaimedRun,
        operation_id: OperationId,
        call: &ToolCall,
    ) -> Result<ActionOutcome, EngineError> {
        // The lease is checked last, because that does not wait.
        if !self.store.holds_lease() {
            return Err(EngineError::LeaseLost(claimed.row.agent_id.clone()));
        }
        fail_point::fail_point("act.before_perform");
        let (wishes, wish) = watch::channel(StopLevel::Run);
        let output = Arc::new(PendingOutput::default());
        let act = ToolRequest {
            operation_id,
            tool: call.name.clone(),
            input: call.input.clone(),
            agent_id: claimed.row.agent_id.clone(),
            at: self.clock.now(),
            output: output.sink(Arc::clone(&self.model)),
        };
        let told = ActionStop {
            wish,
            store: self.store.clone(),
            halt: self.halt.clone(),
            clock: Arc::clone(&self.clock),
            run: claimed.run_key(),
            agent: claimed.row.agent_id.clone(),
        };
        let performing = self.tools.perform(act, told);
        let performing = self.with_output(claimed, operation_id, &output, performing);
        tokio::pin!(performing);
        let early = tokio::select! {
            biased;
            done = &mut performing => {
                fail_point::fail_point("act.after_perform");
                return Ok(ActionOutcome::Done(done));
            }
            early = self.wait_for_early_end(claimed) => early,
        };
        if let EarlyEnd::Halted = early {
            // An action that waits for a slot must not start, so there is nothing to wait for.
            let _ = wishes.send(StopLevel::StartNothing);
            // Let an action that is nearly done finish, so that its outcome is known.
            tokio::select! {
                biased;
                done = &mut performing => return cut_short(claimed, early, done),
                () = self.clock.sleep(HALT_GRACE_MS) => {}
            }
        }
        let _ = wishes.send(StopLevel::End);
        cut_short(claimed, early, performing.await)
    }

    /// Stops leftover processes of the action, then reports an unknown outcome.
    async fn unknown(&self, operation_id: OperationId, call: &ToolCall) -> ToolOutcome {
        fail_point::fail_point("recover.before_clear");
        self.tools.clean_up(operation_id).await;
        fail_point::fail_point("recover.after_clear");
        let fault = unknown_fault();
        let content = fault.receipt(&call.name);
        let code = if planted_bugs::is_planted("unknown_called_ok") {
            None
        } else if planted_bugs::is_planted("unknown_called_failed") {
            Some("planted".to_owned())
        } else {
            Some(fault.kind)
        };
        ToolOutcome {
            content,
            code,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            retry_after: None,
        }
    }

    /// The call at a position of the newest reply, from memory or, after a crash, from the stored reply.
    pub(crate) async fn call_at(
        &self,
        claimed: &mut ClaimedRun,
        position: usize,
    ) -> Result<ToolCall, EngineError> {
        let run = claimed.run_key();
        if claimed.asked.is_empty() {
            let RunPhase::Acting { reply, .. } = &claimed.machine.phase else {
                return Err(EngineError::InvalidState {
                    run,
                    why: "it has actions but no reply that requested them".into(),
                });
            };
            let hash = *reply;
            let body = self.store.read(move |view| view.blob(&hash)).await?;
            claimed.asked = asked(&crate::run::blocks(run, body.as_deref())?);
        }
        let missing = || EngineError::InvalidState {
            run,
            why: "an action is not in its reply".into(),
        };
        claimed.asked.get(position).cloned().ok_or_else(missing)
    }
}

/// The outcome of an action that was asked to end early.
fn cut_short(claimed: &ClaimedRun, early: EarlyEnd, done: ToolOutcome) -> Result<ActionOutcome, EngineError> {
    // A halt or a brake is not a cancellation.
    let (word, rest) = match early {
        EarlyEnd::LeaseLost => return Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        EarlyEnd::Cancelled => (CANCELLED, None),
        EarlyEnd::Halted => (HALTED, Some(NextAction::Stop)),
        EarlyEnd::Braked => (BRAKED, Some(NextAction::Brake)),
    };
    let code = match done.code.as_deref() {
        // As before the start: an action that has not started is left to the machine, and the intent of one
        // that an earlier process may have performed is not withdrawn.
        Some(NOT_BEGUN) => match (claimed.freshness, rest) {
            (Freshness::Fresh, _) => return Ok(ActionOutcome::Held(NextAction::just(RunInput::Postponed))),
            (Freshness::Recovered, Some(rest)) => return Ok(ActionOutcome::Held(rest)),
            (Freshness::Recovered, None) => Some(word.to_owned()),
        },
        Some(CANCELLED) => Some(word.to_owned()),
        Some(_) | None => done.code.clone(),
    };
    Ok(ActionOutcome::Done(ToolOutcome { code, ..done }))
}
