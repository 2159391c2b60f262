//! Performing effects: a model request, or the intended actions of a plan.

use serde_json::{Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::budget::BudgetExceeded;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::PolicyQuery;
use wakeful_core::run::{Effect, RunInput, RunMachine, RunPhase};
use wakeful_core::step::{CallReads, CrashRecovery, EffectClass, PriorActions, ToolError};
use wakeful_core::sub_run::{START_RUN, SubRunRequest};
use wakeful_core::wake::Suspension;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::Store;

use crate::run::ClaimedRun;
use crate::{Engine, EngineError};

/// How often a running effect looks for a reason to end early: whoever asks for an end sees it at once.
pub(crate) const INTERRUPT_POLL_MS: u64 = 50;

/// How long a running effect goes on although the brake cannot be read from the database. As long as a process trusts its
/// lease: after that another one may take over, and this one must have stopped.
pub(crate) const INTERRUPT_UNREADABLE_MS_MAX: u64 = 10_000;

/// Whether this process has just committed the intent of an effect, or found it without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Its intent was committed by this process a moment ago; nobody has begun it.
    Fresh,
    /// It was found without a result: it may have begun, in a process that is gone.
    Recovered,
}

/// What stood against the next effect a moment ago. After a wait it is worth nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupts {
    pub(crate) is_cancelled: bool,
    pub(crate) is_braked: bool,
}

/// What came of performing: the next input, contents the transcript needs, and blobs to keep.
pub(crate) struct EffectResult {
    pub(crate) input: RunInput,
    pub(crate) contents: Vec<Blob>,
    pub(crate) blobs: Vec<Blob>,
}

impl EffectResult {
    pub(crate) fn just(input: RunInput) -> Self {
        Self {
            input,
            contents: Vec::new(),
            blobs: Vec::new(),
        }
    }
}

/// What a run does next.
pub(crate) enum NextAction {
    /// It takes this input.
    Input(Box<EffectResult>),
    /// The process stops; the run stays as it is.
    Stop,
    /// A brake holds it; the run stays as it is.
    Brake,
    /// It waits.
    Wait(Suspension),
    /// There is no money for its next request.
    OverBudget(BudgetExceeded),
}

impl NextAction {
    pub(crate) fn just(input: RunInput) -> Self {
        Self::Input(Box::new(EffectResult::just(input)))
    }
}

/// Why a running effect should end early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EarlyEnd {
    /// A person asked for the end of the run.
    Cancelled,
    /// This process may no longer act for the agent.
    LeaseLost,
    /// The process is to come to a stop.
    Halted,
    /// A brake was set.
    Braked,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Performs what the run waits for and says what comes of it, or why it stays as it is.
    pub(crate) async fn perform(&self, claimed: &mut ClaimedRun) -> Result<NextAction, EngineError> {
        let run = claimed.run_key();
        let acting = matches!(claimed.machine.phase, RunPhase::Acting { .. });
        let unknown = claimed.freshness == Freshness::Recovered && acting && may_have_begun(&claimed.effects);
        let mut look = self.read_interrupts(claimed).await?;
        // A cut-off action is settled before anything else, so that neither a stop nor a cancellation hides an
        // unknown outcome.
        if let Some(next) = self.on_interrupts(claimed, look).filter(|_| !unknown) {
            return Ok(next);
        }
        if claimed.thread.is_none() {
            self.load_thread(claimed).await?;
            look = self.read_interrupts(claimed).await?;
            if let Some(next) = self.on_interrupts(claimed, look).filter(|_| !unknown) {
                return Ok(next);
            }
        }
        if let RunPhase::Parked { .. } = claimed.machine.phase {
            return self.recheck_budget(claimed).await;
        }
        match claimed.effects.first().cloned() {
            Some(Effect::CallModel {
                operation_id,
                delay_ms,
                ..
            }) => self.call_model(claimed, operation_id, delay_ms, look).await,
            Some(Effect::Act {
                class: EffectClass::Internal,
                ..
            }) => self.start_runs(claimed).await,
            Some(Effect::Act { .. }) => self.act(claimed, look).await,
            // Nothing is intended: a person is asked, or a stop or a brake took the intents back; without results the
            // machine intends them anew.
            None if claimed.machine.waits_on_runs() => self.check_children(claimed).await,
            None if acting => self.check_approval(claimed).await,
            None => Err(EngineError::InvalidState {
                run,
                why: "it waits for nothing".into(),
            }),
        }
    }

    /// Looks for whatever stands against the next effect.
    pub(crate) async fn read_interrupts(&self, claimed: &ClaimedRun) -> Result<Interrupts, EngineError> {
        read_interrupts(&self.store, claimed.run_key(), &claimed.row.agent_id).await
    }

    /// What a run does instead of its next effect, if something stands against that.
    pub(crate) fn on_interrupts(&self, claimed: &ClaimedRun, look: Interrupts) -> Option<NextAction> {
        let rest = match (self.halt.is_set(), look.is_cancelled, look.is_braked) {
            (true, _, _) => NextAction::Stop,
            (false, true, _) => return Some(NextAction::just(RunInput::Cancelled)),
            (false, false, true) => NextAction::Brake,
            (false, false, false) => return None,
        };
        // The intent of what may be done only once is taken back: whoever went on would else be told of an unknown
        // outcome, although nobody began anything.
        if begins_plain(&claimed.effects) {
            return Some(NextAction::just(RunInput::Postponed));
        }
        Some(rest)
    }

    /// Resolves when a running effect should end early. A look that fails or hangs says nothing for [`INTERRUPT_UNREADABLE_MS_MAX`]: a
    /// database that is away for a moment is no reason to break off what is under way. The memory of this process is looked
    /// at meanwhile, and never waits.
    pub(crate) async fn wait_for_early_end(&self, claimed: &ClaimedRun) -> EarlyEnd {
        let watch = async {
            let mut unread_ms = 0;
            loop {
                self.clock.sleep(INTERRUPT_POLL_MS).await;
                let look = self.read_interrupts(claimed);
                tokio::pin!(look);
                let seen = loop {
                    if let Some(early) = self.early_by_memory(claimed) {
                        return early;
                    }
                    tokio::select! {
                        biased;
                        seen = &mut look => break seen,
                        () = self.clock.sleep(INTERRUPT_POLL_MS) => unread_ms += INTERRUPT_POLL_MS,
                    }
                    if unread_ms >= INTERRUPT_UNREADABLE_MS_MAX {
                        return EarlyEnd::LeaseLost;
                    }
                };
                match seen {
                    Ok(look) if look.is_cancelled => return EarlyEnd::Cancelled,
                    Ok(look) if look.is_braked => return EarlyEnd::Braked,
                    Ok(_) => unread_ms = 0,
                    Err(_) => unread_ms += INTERRUPT_POLL_MS,
                }
                if unread_ms >= INTERRUPT_UNREADABLE_MS_MAX {
                    return EarlyEnd::LeaseLost;
                }
            }
        };
        tokio::select! {
            biased;
            early = watch => early,
            () = self.halt.asked() => EarlyEnd::Halted,
        }
    }

    /// Why a running effect should end early, by the memory of this process alone.
    fn early_by_memory(&self, claimed: &ClaimedRun) -> Option<EarlyEnd> {
        if !self.store.holds_lease() {
            return Some(EarlyEnd::LeaseLost);
        }
        let pending = pending_stops(&self.store, claimed.run_key(), &claimed.row.agent_id)?;
        Some(if pending.is_cancelled {
            EarlyEnd::Cancelled
        } else {
            EarlyEnd::Braked
        })
    }

    /// What is known of one call before the machine decides on it.
    pub(crate) fn call_reads(
        &self,
        tool: &str,
        input: &Value,
        seen: PriorActions,
        turn: &RunMachine,
    ) -> CallReads {
        let starts = (tool == START_RUN).then(|| SubRunRequest::read(input));
        let known = self.tools.class(tool);
        let class = match &starts {
            Some(_) => EffectClass::Internal,
            None => known.unwrap_or(EffectClass::Plain),
        };
        let verdict = self.policy.decide(&PolicyQuery {
            tool,
            denied: &turn.deny_tools,
            asked: &turn.ask_tools,
            may_start: &turn.may_start,
            starts: starts
                .as_ref()
                .and_then(|order| Some(order.as_ref().ok()?.agent_id.as_str())),
            class,
            outside: turn.external_cause_policy,
        });
        if let Some(order) = starts {
            // Who may start nothing was told of no such tool, whatever its arguments are.
            let fault = order.err().filter(|_| !turn.may_start.is_empty());
            return CallReads {
                class,
                fault,
                verdict,
                retry: None,
                seen,
            };
        }
        let Some(class) = known else {
            return CallReads {
                class,
                fault: None,
                verdict,
                retry: None,
                seen,
            };
        };
        let fault: Option<ToolError> = self.tools.check(tool, input).err();
        CallReads {
            class,
            fault,
            verdict,
            retry: self.tools.retry(tool).filter(|_| class != EffectClass::Plain),
            seen,
        }
    }
}

/// The stop requests against a run that are pending in this process's memory, where there are any. Asks neither the
/// database nor the disk, so it answers while those hang.
fn pending_stops(store: &Store, run: RunKey, agent: &AgentId) -> Option<Interrupts> {
    let stops = store.stops();
    let pending = Interrupts {
        is_cancelled: stops.is_cancelled(&run),
        is_braked: stops.is_braked(agent),
    };
    (pending.is_cancelled || pending.is_braked).then_some(pending)
}

/// Looks for a cancellation or a brake of a run: in memory, then in the database.
pub(crate) async fn read_interrupts(
    store: &Store,
    run: RunKey,
    agent: &AgentId,
) -> Result<Interrupts, EngineError> {
    if let Some(pending) = pending_stops(store, run, agent) {
        return Ok(pending);
    }
    let agent = agent.clone();
    let look = store.read(move |view| {
        Ok(Interrupts {
            is_cancelled: view.cancel_requested(&run)?,
            is_braked: view.is_braked(&agent)?,
        })
    });
    Ok(look.await?)
}

/// Whether something that leaves the engine may have begun. What the engine itself writes is there, or has not begun.
fn may_have_begun(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Act { class, .. } => *class != EffectClass::Internal,
        Effect::CallModel { .. } => true,
    })
}

/// Whether an action is next that may be done only once, and whose intent is committed.
fn begins_plain(effects: &[Effect]) -> bool {
    let is_plain = |effect: &Effect| match effect {
        Effect::Act { class, .. } => class.after_crash() == CrashRecovery::Unknown,
        Effect::CallModel { .. } => false,
    };
    effects.iter().any(is_plain)
}

pub(crate) fn asked(blocks: &[Block]) -> Vec<ToolCall> {
    calls_of(blocks).into_iter().cloned().collect()
}

/// What an action's identity depends on beside tool and arguments.
pub(crate) fn scope_of(workspace: &str) -> Value {
    json!({"workspace": workspace})
}
