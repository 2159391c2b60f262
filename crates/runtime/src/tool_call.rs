//! Performs actions.

mod outcome;
mod stop;

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::sync::watch;
use wakeful_core::conversation::ToolCall;
use wakeful_core::key::OperationId;
use wakeful_core::run::{Effect, RunInput, RunPhase};
use wakeful_core::sandbox_policy::CONCURRENT_TOOLS_MAX;
use wakeful_core::step::{CrashRecovery, EffectClass, StepResult};
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::planted_bugs;
use wakeful_ports::tool::{CallGrant, ToolHost, ToolOutcome, ToolRequest, WriteMeter};

use self::outcome::cut_short;
use self::stop::{ActionStop, StopLevel};
use crate::budget::ActionShare;
use crate::run::{ClaimedRun, broken};
use crate::step::{EarlyEnd, EffectResult, Freshness, Interrupts, NextAction, asked};
use crate::tool_output::PendingOutput;
use crate::{Engine, EngineError};

/// How long a running action may continue after a shutdown request. Together with the tool's own grace time
/// it stays below the timeouts of service managers.
const HALT_GRACE_MS: u64 = 3_000;

/// Most repeatable actions of one run that are performed side by side.
const ACTIONS_AT_ONCE_MAX: usize = CONCURRENT_TOOLS_MAX as usize;

/// How long a tool may take to end after its time limit, before its result is given up.
const TIME_LIMIT_GRACE_MS: u64 = 5_000;

/// The code of an action that exceeded its time limit.
const TIMED_OUT: &str = "timed_out";

/// The code of an action that a tool stopped on request, and of one that a halt or a brake ended.
const CANCELLED: &str = "cancelled";
const HALTED: &str = "halted";
const BRAKED: &str = "braked";

/// An action whose intent is committed.
pub(crate) struct Intent {
    pub(crate) operation_id: OperationId,
    pub(crate) class: EffectClass,
    pub(crate) call_id: String,
    pub(crate) call: ToolCall,
    /// What it may use; nothing is limited until its reservations are read.
    pub(crate) share: ActionShare,
    /// Counts what it writes to files.
    pub(crate) written: WriteMeter,
}

/// The outcome of an action and what it used.
type Performed = Result<(ActionOutcome, Measured), EngineError>;

/// What an action used.
struct Measured {
    duration_ms: u64,
    written_bytes: u64,
}

/// How long an action may take, in milliseconds.
#[derive(Debug, Clone, Copy)]
enum TimeLimit {
    OfTool(u64),
    /// The run time that is reserved for it.
    OfBudget(u64),
}

impl TimeLimit {
    const fn ms(self) -> u64 {
        match self {
            Self::OfTool(ms) | Self::OfBudget(ms) => ms,
        }
    }
}

enum ActionOutcome {
    Done(ToolOutcome),
    /// The action has not started; what the run does instead.
    Held(NextAction),
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Performs the intended actions: one plain action, or repeatable ones side by side. The interrupts for
    /// the first were read with the run.
    pub(crate) async fn act(
        &self,
        claimed: &mut ClaimedRun,
        look: Interrupts,
    ) -> Result<NextAction, EngineError> {
        // After a crash the calls are read first.
        let mut look = (!claimed.asked.is_empty()).then_some(look);
        let mut intents = self.intents(claimed).await?;
        let calls: Vec<_> = intents
            .iter()
            .map(|intent| (intent.class, &intent.call))
            .collect();
        if self.record_before(claimed, &calls).await {
            // Reading the workspace may have taken seconds.
            look = None;
        }
        let mut look = match look {
            Some(look) => Some(look),
            None => Some(self.refresh(claimed).await?),
        };
        if claimed.freshness == Freshness::Fresh && !self.may_begin(claimed, &intents) {
            // The machine judges them again before it intends them again.
            return Ok(NextAction::just(RunInput::Postponed));
        }
        let claimed = &*claimed;
        let shares = self.granted_shares(claimed).await?;
        for intent in &mut intents {
            intent.share = shares.get(&intent.operation_id).copied().unwrap_or_default();
            intent.written = WriteMeter::new(intent.share.written_bytes);
        }
        // Boxed, because the compiler cannot show that a stream of borrowing futures is `Send`.
        let mut actions: Vec<BoxFuture<'_, Performed>> = Vec::with_capacity(intents.len());
        for intent in &intents {
            actions.push(Box::pin(self.perform_intent(claimed, intent, look.take())));
        }
        // Writes to the journal keep their order.
        let has_write = intents.iter().any(|intent| intent.class == EffectClass::Saga);
        let at_once = if has_write { 1 } else { ACTIONS_AT_ONCE_MAX };
        let performed = stream::iter(actions).buffered(at_once);
        let performed = performed.collect().await;
        self.report(claimed, &intents, performed)
    }

    /// The intended actions with their arguments, up to the first one of the engine itself, which has its own
    /// transaction.
    async fn intents(&self, claimed: &mut ClaimedRun) -> Result<Vec<Intent>, EngineError> {
        let mut intents = Vec::new();
        for effect in claimed.effects.clone() {
            let Effect::Act {
                operation_id,
                position,
                call_id,
                class,
            } = effect
            else {
                continue;
            };
            if class == EffectClass::Internal {
                break;
            }
            intents.push(Intent {
                operation_id,
                class,
                call_id,
                call: self.call_at(claimed, position).await?,
                share: ActionShare::default(),
                written: WriteMeter::default(),
            });
        }
        Ok(intents)
    }

    /// Performs one action and measures it.
    async fn perform_intent(
        &self,
        claimed: &ClaimedRun,
        intent: &Intent,
        look: Option<Interrupts>,
    ) -> Performed {
        // The intent is committed. Read again whether a brake was set since: once a brake is acknowledged, no
        // action may start.
        let look = match look {
            Some(look) => look,
            None => self.read_interrupts(claimed).await?,
        };
        let began = self.clock.monotonic_ms();
        let done = self.perform_action(claimed, intent, look).await?;
        let duration_ms = self.clock.monotonic_ms().saturating_sub(began);
        let done = match done {
            ActionOutcome::Done(outcome) => {
                ActionOutcome::Done(self.run_result_hooks(claimed, intent, outcome).await)
            }
            ActionOutcome::Held(next) => ActionOutcome::Held(next),
        };
        let used = Measured {
            duration_ms,
            written_bytes: intent.written.bytes(),
        };
        Ok((done, used))
    }

    /// The input that reports what was performed. Actions that did not start keep their intents; if none
    /// started, the reason decides what the run does next.
    fn report(
        &self,
        claimed: &ClaimedRun,
        intents: &[Intent],
        performed: Vec<Performed>,
    ) -> Result<NextAction, EngineError> {
        let (mut results, mut contents, mut blobs) = (Vec::new(), Vec::new(), Vec::new());
        let mut unperformed = Ok(None);
        for (intent, performed) in intents.iter().zip(performed) {
            let (done, used) = match performed {
                Ok((ActionOutcome::Done(done), used)) => (done, used),
                Ok((ActionOutcome::Held(next), _)) => {
                    unperformed = unperformed.map(|first: Option<NextAction>| first.or(Some(next)));
                    continue;
                }
                // A lost lease means that another process may act for the agent: nothing is reported.
                Err(error @ EngineError::LeaseLost(_)) => return Err(error),
                Err(error) => {
                    unperformed = Err(error);
                    continue;
                }
            };
            let sources = self.result_sources(claimed, &intent.call, &done);
            let (result, content, more) = self
                .ended(intent.operation_id, &intent.call_id, done, used.duration_ms)
                .map_err(|e| broken(claimed.run_key(), &e))?;
            results.push(StepResult {
                sources,
                written_bytes: claimed.budget.as_ref().map(|_| used.written_bytes),
                ..result
            });
            contents.push(content.clone());
            blobs.push(content);
            blobs.extend(more);
        }
        if results.is_empty()
            && let Some(next) = unperformed?
        {
            return Ok(next);
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
            ..
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
            // It is not permitted any more, so it is not repeated, and an earlier process may have performed
            // it. A journal write is finished: it was permitted, and its run would otherwise be left between
            // two databases.
            (Freshness::Recovered, CrashRecovery::Again)
                if class == EffectClass::Idempotent && !self.is_permitted(claimed, intent) =>
            {
                Ok(ActionOutcome::Done(self.unknown(operation_id, call).await))
            }
            (Freshness::Recovered | Freshness::Fresh, CrashRecovery::Unknown | CrashRecovery::Again) => {
                self.run_tool(claimed, intent).await
            }
        }
    }

    async fn run_tool(&self, claimed: &ClaimedRun, intent: &Intent) -> Result<ActionOutcome, EngineError> {
        let (operation_id, call) = (intent.operation_id, &intent.call);
        // The lease is checked last, because that does not wait.
        if !self.store.holds_lease() {
            return Err(EngineError::LeaseLost(claimed.row.agent_id.clone()));
        }
        fail_point::fail_point("act.before_perform");
        let confinement = self.confinement(claimed, intent);
        let (wishes, wish) = watch::channel(StopLevel::Run);
        let output = Arc::new(PendingOutput::default());
        let act = ToolRequest {
            operation_id,
            tool: call.name.clone(),
            input: call.input.clone(),
            run_key: Some(claimed.run_key()),
            agent_id: claimed.row.agent_id.clone(),
            at: self.clock.now(),
            grant: self
                .grant(claimed, intent)
                .unwrap_or_else(|| CallGrant::judged(Vec::new())),
            scope: confinement.scope,
            hosts: confinement.hosts,
            paths: self.path_policy(claimed, call, intent.class),
            access: claimed.settings.access(),
            is_read_only: claimed.machine.is_read_only,
            is_untrusted: confinement.is_untrusted,
            output: output.sink(Arc::clone(&self.model), Arc::clone(&self.tools)),
            written: intent.written.clone(),
        };
        let told = self.action_stop(claimed, wish);
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
            limit = self.time_limit(intent) => {
                let _ = wishes.send(StopLevel::End);
                let late = tokio::select! {
                    biased;
                    done = &mut performing => Some(done),
                    () = self.clock.sleep(TIME_LIMIT_GRACE_MS) => None,
                };
                return Ok(ActionOutcome::Done(self.timed_out(intent, limit, late).await));
            }
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

    fn action_stop(&self, claimed: &ClaimedRun, wish: watch::Receiver<StopLevel>) -> ActionStop {
        ActionStop {
            wish,
            store: self.store.clone(),
            halt: self.halt.clone(),
            clock: Arc::clone(&self.clock),
            run: claimed.run_key(),
            agent: claimed.row.agent_id.clone(),
        }
    }

    /// Resolves with the limit after the time that a tool may take; never for a tool with limits of its own,
    /// nor for a journal write, which the databases limit: an abandoned one could still be committed. The run time
    /// that is reserved for the action limits it too.
    async fn time_limit(&self, intent: &Intent) -> TimeLimit {
        let of_tool = self.tools.time_limit_ms(&intent.call.name).map(TimeLimit::OfTool);
        let of_budget = intent.share.run_time_ms.map(TimeLimit::OfBudget);
        let limit = of_tool
            .into_iter()
            .chain(of_budget)
            .min_by_key(|limit| limit.ms());
        let Some(limit) = limit.filter(|_| intent.class != EffectClass::Saga) else {
            return std::future::pending().await;
        };
        self.clock.sleep(limit.ms()).await;
        limit
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
