//! Carrying out actions.

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
use crate::{Engine, EngineError, Halt};

/// How long a running action may go on after a stop was asked for. With the tool's own patience it stays under
/// the time that service managers give.
const HALT_GRACE_MS: u64 = 3_000;

/// What a tool says of an action that was told to stop, and what is said of one that a stop of the program or a
/// brake ended.
const CANCELLED: &str = "cancelled";
const HALTED: &str = "halted";
const BRAKED: &str = "braked";

/// What is wanted of an action. It grows, and never shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StopLevel {
    /// It goes on.
    Run,
    /// What has not begun does not begin any more; what has may end by itself.
    StartNothing,
    /// It ends now.
    End,
}

/// What an action is told, and what it looks at before it begins late.
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
        // An error means that the watcher is gone, and with it whoever could ask for a stop.
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
            // After the look, which may take its time; these two cost no wait.
            let may_act = !self.halt.is_set() && self.store.holds_lease();
            match look {
                Ok(look) if may_act && !look.is_cancelled && !look.is_braked => return,
                // Whoever watches the action sees the same, and says why it is stopped. A look that fails clears nothing.
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

/// What became of an action that was to be carried out.
enum ActionOutcome {
    /// It has ended.
    Done(ToolOutcome),
    /// It has not begun; what the run does instead.
    Held(NextAction),
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Carries out the intended actions one after another. The first was looked at with the run.
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
            // What the engine itself does has a transaction of its own.
            if class == EffectClass::Internal {
                break;
            }
            let intent = Intent {
                operation_id,
                class,
                call: self.call_at(claimed, position).await?,
            };
            // The intent is committed; whether a brake was set since is looked at now: what is acknowledged there must
            // find nothing that begins after it.
            let look = match look.take() {
                Some(look) => look,
                None => match self.read_interrupts(claimed).await {
                    Ok(look) => look,
                    // What was done is told first.
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

    /// Carries out one action, unless something stands against it.
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
            // What was found begun is settled even when the end was asked for.
            (Freshness::Recovered, CrashRecovery::Unknown) if !planted_bugs::is_planted("plain_again") => {
                Ok(ActionOutcome::Done(self.unknown(operation_id, call).await))
            }
            // A write to the journal can be undone. Nobody wants it any more, so it is not made first: whether it was made
            // in a process that is gone or not, it is taken back with its run.
            (Freshness::Recovered, CrashRecovery::Again)
                if class == EffectClass::Saga && look.is_cancelled =>
            {
                Ok(ActionOutcome::Held(NextAction::just(RunInput::Postponed)))
            }
            // It may have happened in a process that is gone: taken back, it could be called off as if it had never
            // begun.
            (Freshness::Recovered, CrashRecovery::Unknown | CrashRecovery::Again) if look.is_braked => {
                Ok(ActionOutcome::Held(NextAction::Brake))
            }
            // What has not begun is left to the machine, which calls it off or asks for it again.
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

    /// How an action ended, as it is kept: its result, what the model reads of it, and what that names.
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
            code: done.code,
            again: done.again,
        };
        Ok((result, content, done.blobs))
    }

    /// What came of an action, without the keys of this run's providers: a command may read a file that holds one, and
    /// neither the model nor the database need it.
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
        // Whether this process may still act on it is checked last, because it costs no wait.
        if !self.store.holds_lease() {
            return Err(EngineError::LeaseLost(claimed.row.agent_id.clone()));
        }
        fail_point::fail_point("act.before_perform");
        let (wishes, wish) = watch::channel(StopLevel::Run);
        let act = ToolRequest {
            operation_id,
            tool: call.name.clone(),
            input: call.input.clone(),
            agent_id: claimed.row.agent_id.clone(),
            at: self.clock.now(),
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
            // One without a place gets none any more, and there is nothing to wait for.
            let _ = wishes.send(StopLevel::StartNothing);
            // An action that is nearly done shall be known as done.
            tokio::select! {
                biased;
                done = &mut performing => return cut_short(claimed, early, done),
                () = self.clock.sleep(HALT_GRACE_MS) => {}
            }
        }
        let _ = wishes.send(StopLevel::End);
        cut_short(claimed, early, performing.await)
    }

    /// Makes the world stand still, then says that nobody knows.
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
            sandbox: None,
            blobs: Vec::new(),
            again: None,
        }
    }

    /// The call of the newest reply at a position, from memory or, after a crash, from the stored reply.
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
                    why: "it acts without a reply".into(),
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

/// What became of an action that was to end early.
fn cut_short(claimed: &ClaimedRun, early: EarlyEnd, done: ToolOutcome) -> Result<ActionOutcome, EngineError> {
    // Nobody cancelled it where the program came to a stop, or a brake was set.
    let (word, rest) = match early {
        EarlyEnd::LeaseLost => return Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        EarlyEnd::Cancelled => (CANCELLED, None),
        EarlyEnd::Halted => (HALTED, Some(NextAction::Stop)),
        EarlyEnd::Braked => (BRAKED, Some(NextAction::Brake)),
    };
    let code = match done.code.as_deref() {
        // As before its beginning: what has not begun is left to the machine, and what may have happened in a process that
        // is gone is not taken back.
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
