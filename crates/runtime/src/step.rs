//! Performing effects: a model request, or the intended actions of a plan.

use serde_json::{Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::budget::Exceeded;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::Question;
use wakeful_core::run::{Effect, Input, Phase, Turn};
use wakeful_core::step::{AfterCrash, CallReads, EffectClass, Fault, Seen};
use wakeful_core::subrun::{Order, START_RUN};
use wakeful_core::wake::Suspension;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::Store;

use crate::run::Claimed;
use crate::{Engine, EngineError};

/// How often a running effect looks for a reason to end early: whoever asks for an end sees it at once.
pub(crate) const CANCEL_LOOK_MS: u64 = 50;

/// How long a running effect goes on although the brake cannot be read from the database. As long as a process trusts its
/// lease: after that another one may take over, and this one must have stopped.
pub(crate) const UNREAD_MS_MAX: u64 = 10_000;

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
pub(crate) struct Look {
    pub(crate) is_cancelled: bool,
    pub(crate) is_braked: bool,
}

/// What came of performing: the next input, contents the transcript needs, and blobs to keep.
pub(crate) struct Performed {
    pub(crate) input: Input,
    pub(crate) contents: Vec<Blob>,
    pub(crate) blobs: Vec<Blob>,
}

impl Performed {
    pub(crate) fn just(input: Input) -> Self {
        Self {
            input,
            contents: Vec::new(),
            blobs: Vec::new(),
        }
    }
}

/// What a run does next.
pub(crate) enum Next {
    /// It takes this input.
    Input(Box<Performed>),
    /// The process stops; the run stays as it is.
    Stop,
    /// A brake holds it; the run stays as it is.
    Brake,
    /// It waits.
    Wait(Suspension),
    /// There is no money for its next request.
    OverBudget(Exceeded),
}

impl Next {
    pub(crate) fn just(input: Input) -> Self {
        Self::Input(Box::new(Performed::just(input)))
    }
}

/// Why a running effect should end early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Early {
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
    pub(crate) async fn perform(&self, claimed: &mut Claimed) -> Result<Next, EngineError> {
        let run = claimed.run_key();
        let acting = matches!(claimed.turn.phase, Phase::Acting { .. });
        let unknown = claimed.freshness == Freshness::Recovered && acting && may_have_begun(&claimed.effects);
        let mut look = self.look(claimed).await?;
        // A cut-off action is settled before anything else, so that neither a stop nor a cancellation hides an
        // unknown outcome.
        if let Some(next) = self.heard(claimed, look).filter(|_| !unknown) {
            return Ok(next);
        }
        if claimed.thread.is_none() {
            self.load_thread(claimed).await?;
            look = self.look(claimed).await?;
            if let Some(next) = self.heard(claimed, look).filter(|_| !unknown) {
                return Ok(next);
            }
        }
        if let Phase::Parked { .. } = claimed.turn.phase {
            return self.look_for_money(claimed).await;
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
            None if claimed.turn.waits_on_runs() => self.look_for_runs(claimed).await,
            None if acting => self.look_for_ruling(claimed).await,
            None => Err(EngineError::Broken {
                run,
                why: "it waits for nothing".into(),
            }),
        }
    }

    /// Looks for whatever stands against the next effect.
    pub(crate) async fn look(&self, claimed: &Claimed) -> Result<Look, EngineError> {
        look(&self.store, claimed.run_key(), &claimed.row.agent_id).await
    }

    /// What a run does instead of its next effect, if something stands against that.
    pub(crate) fn heard(&self, claimed: &Claimed, look: Look) -> Option<Next> {
        let rest = match (self.halt.is_set(), look.is_cancelled, look.is_braked) {
            (true, _, _) => Next::Stop,
            (false, true, _) => return Some(Next::just(Input::Cancelled)),
            (false, false, true) => Next::Brake,
            (false, false, false) => return None,
        };
        // The intent of what may be done only once is taken back: whoever went on would else be told of an unknown
        // outcome, although nobody began anything.
        if begins_plain(&claimed.effects) {
            return Some(Next::just(Input::Postponed));
        }
        Some(rest)
    }

    /// Resolves when a running effect should end early. A look that fails or hangs says nothing for [`UNREAD_MS_MAX`]: a
    /// database that is away for a moment is no reason to break off what is under way. The memory of this process is looked
    /// at meanwhile, and never waits.
    pub(crate) async fn early(&self, claimed: &Claimed) -> Early {
        let watch = async {
            let mut unread_ms = 0;
            loop {
                self.clock.sleep(CANCEL_LOOK_MS).await;
                let look = self.look(claimed);
                tokio::pin!(look);
                let seen = loop {
                    if let Some(early) = self.early_by_memory(claimed) {
                        return early;
                    }
                    tokio::select! {
                        biased;
                        seen = &mut look => break seen,
                        () = self.clock.sleep(CANCEL_LOOK_MS) => unread_ms += CANCEL_LOOK_MS,
                    }
                    if unread_ms >= UNREAD_MS_MAX {
                        return Early::LeaseLost;
                    }
                };
                match seen {
                    Ok(look) if look.is_cancelled => return Early::Cancelled,
                    Ok(look) if look.is_braked => return Early::Braked,
                    Ok(_) => unread_ms = 0,
                    Err(_) => unread_ms += CANCEL_LOOK_MS,
                }
                if unread_ms >= UNREAD_MS_MAX {
                    return Early::LeaseLost;
                }
            }
        };
        tokio::select! {
            biased;
            early = watch => early,
            () = self.halt.asked() => Early::Halted,
        }
    }

    /// Why a running effect should end early, by the memory of this process alone.
    fn early_by_memory(&self, claimed: &Claimed) -> Option<Early> {
        if !self.store.holds_lease() {
            return Some(Early::LeaseLost);
        }
        let pending = pending_stops(&self.store, claimed.run_key(), &claimed.row.agent_id)?;
        Some(if pending.is_cancelled {
            Early::Cancelled
        } else {
            Early::Braked
        })
    }

    /// What is known of one call before the machine decides on it.
    pub(crate) fn call_reads(&self, tool: &str, input: &Value, seen: Seen, turn: &Turn) -> CallReads {
        let starts = (tool == START_RUN).then(|| Order::read(input));
        let known = self.tools.class(tool);
        let class = match &starts {
            Some(_) => EffectClass::Internal,
            None => known.unwrap_or(EffectClass::Plain),
        };
        let verdict = self.policy.decide(&Question {
            tool,
            denied: &turn.deny_tools,
            asked: &turn.ask_tools,
            may_start: &turn.may_start,
            starts: starts
                .as_ref()
                .and_then(|order| Some(order.as_ref().ok()?.agent_id.as_str())),
            class,
            outside: turn.outside,
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
        let fault: Option<Fault> = self.tools.check(tool, input).err();
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
fn pending_stops(store: &Store, run: RunKey, agent: &AgentId) -> Option<Look> {
    let stops = store.stops();
    let pending = Look {
        is_cancelled: stops.is_cancelled(&run),
        is_braked: stops.is_braked(agent),
    };
    (pending.is_cancelled || pending.is_braked).then_some(pending)
}

/// Looks for a cancellation or a brake of a run: in memory, then in the database.
pub(crate) async fn look(store: &Store, run: RunKey, agent: &AgentId) -> Result<Look, EngineError> {
    if let Some(pending) = pending_stops(store, run, agent) {
        return Ok(pending);
    }
    let agent = agent.clone();
    let look = store.read(move |view| {
        Ok(Look {
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
        Effect::Act { class, .. } => class.after_crash() == AfterCrash::Unknown,
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
