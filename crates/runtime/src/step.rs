//! Performing effects: a model request, or the intended actions of a plan.

use serde_json::{Value, json};
use tokio::sync::watch;
use wakeful_core::blob::Blob;
use wakeful_core::budget::Exceeded;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::json::NotCanonical;
use wakeful_core::key::OperationId;
use wakeful_core::policy::Question;
use wakeful_core::run::{Effect, Input, Phase, Turn};
use wakeful_core::step::{
    AfterCrash, CallReads, EffectClass, Fault, Seen, Status, StepResult, result_blob, unknown_fault,
};
use wakeful_core::subrun::{Order, START_RUN};
use wakeful_core::time::Millis;
use wakeful_ports::fail;
use wakeful_ports::model::Model;
use wakeful_ports::planted;
use wakeful_ports::store::Store;
use wakeful_ports::tool::{Act, Done, Stop, ToolHost};

use crate::run::{Claimed, broken};
use crate::{Engine, EngineError};

/// How long a running action may go on after a stop was asked for. With the tool's own patience it stays under
/// the time that service managers give.
const HALT_GRACE_MS: u64 = 3_000;

/// How often a running effect looks for a reason to end early: whoever asks for an end sees it at once.
const CANCEL_LOOK_MS: u64 = 50;

/// What a tool says of an action that was told to stop, and what is said of one that a stop of the program or a
/// brake ended.
const CANCELLED: &str = "cancelled";
const HALTED: &str = "halted";
const BRAKED: &str = "braked";

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
    /// It stays as it is, for this reason.
    Rest(Rest),
}

impl Next {
    pub(crate) fn just(input: Input) -> Self {
        Self::Input(Box::new(Performed::just(input)))
    }
}

/// Why a run stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The process comes to a stop.
    Halted,
    /// There is no money.
    Parked(Exceeded),
    /// A person has to decide.
    Asked,
    /// Runs that it started have not ended.
    Waits,
    /// A brake holds it.
    Braked,
    /// Its moment has not come.
    Asleep(Millis),
}

/// Set once, when somebody asked for the end of the run.
#[derive(Clone)]
struct StopFlag(watch::Receiver<bool>);

impl Stop for StopFlag {
    async fn stopped(&self) {
        let mut flag = self.0.clone();
        // An error means that the watcher is gone, and with it whoever could ask for a stop.
        if flag.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
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

impl<S: Store, M: Model, T: ToolHost> Engine<S, M, T> {
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
            }) => self.call_model(claimed, (operation_id, delay_ms), look).await,
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
        let (run, agent) = (claimed.run_key(), claimed.row.agent_id.clone());
        let look = self.store.read(move |view| {
            Ok(Look {
                is_cancelled: view.cancel_requested(&run)?,
                is_braked: view.is_braked(&agent)?,
            })
        });
        Ok(look.await?)
    }

    /// What a run does instead of its next effect, if something stands against that.
    fn heard(&self, claimed: &Claimed, look: Look) -> Option<Next> {
        let rest = match (self.halt.is_set(), look.is_cancelled, look.is_braked) {
            (true, _, _) => Rest::Halted,
            (false, true, _) => return Some(Next::just(Input::Cancelled)),
            (false, false, true) => Rest::Braked,
            (false, false, false) => return None,
        };
        // The intent of what may be done only once is taken back: whoever went on would else be told of an unknown
        // outcome, although nobody began anything.
        if begins_plain(&claimed.effects) {
            return Some(Next::just(Input::Postponed));
        }
        Some(Next::Rest(rest))
    }

    /// Carries out the intended actions one after another. The first was looked at with the run.
    async fn act(&self, claimed: &mut Claimed, look: Look) -> Result<Next, EngineError> {
        let run = claimed.run_key();
        // After a crash the calls are read first.
        let mut look = (!claimed.asked.is_empty()).then_some(look);
        if let Phase::Acting { delay_ms: 1.., .. } = claimed.turn.phase {
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
            let call = self.call_at(claimed, position).await?;
            // The intent is committed; whether a brake was set since is looked at now: what is acknowledged there must
            // find nothing that begins after it.
            let look = match look.take() {
                Some(look) => look,
                None => self.look(claimed).await?,
            };
            // What was found begun is settled even when the end was asked for; what was not is left to the machine,
            // which calls it off or asks for it again.
            let may_wait = claimed.freshness == Freshness::Fresh && !results.is_empty();
            if may_wait && (self.halt.is_set() || look.is_cancelled || look.is_braked) {
                break;
            }
            let began = self.clock.ticks_ms();
            let done = match (claimed.freshness, class.after_crash()) {
                (Freshness::Recovered, AfterCrash::Unknown) if !planted::bug("plain_again") => {
                    self.unknown(operation_id, &call).await
                }
                // Since the look at the run a stop came. A plain action stands alone, so nothing else was done.
                (Freshness::Fresh, AfterCrash::Unknown) if self.halt.is_set() => {
                    return Ok(Next::just(Input::Postponed));
                }
                (Freshness::Recovered, AfterCrash::Unknown | AfterCrash::Again) | (Freshness::Fresh, _)
                    if look.is_braked =>
                {
                    match claimed.freshness {
                        Freshness::Recovered | Freshness::Fresh if !results.is_empty() => break,
                        // It may have happened in a process that is gone: taken back, it could be called off as if it
                        // had never begun.
                        Freshness::Recovered => return Ok(Next::Rest(Rest::Braked)),
                        Freshness::Fresh => return Ok(Next::just(Input::Postponed)),
                    }
                }
                (Freshness::Recovered, AfterCrash::Unknown | AfterCrash::Again) | (Freshness::Fresh, _) => {
                    self.do_it(claimed, operation_id, &call).await?
                }
            };
            let duration_ms = self.clock.ticks_ms().saturating_sub(began);
            let (result, content, more) = self
                .ended((operation_id, &call_id), done, duration_ms)
                .map_err(|e| broken(run, &e))?;
            results.push(result);
            contents.push(content.clone());
            blobs.push(content);
            blobs.extend(more);
        }
        Ok(Next::Input(Box::new(Performed {
            input: Input::Settled { results },
            contents,
            blobs,
        })))
    }

    /// How an action ended, as it is kept: its result, what the model reads of it, and what that names.
    pub(crate) fn ended(
        &self,
        (operation_id, call_id): (OperationId, &str),
        done: Done,
        duration_ms: u64,
    ) -> Result<(StepResult, Blob, Vec<Blob>), NotCanonical> {
        let done = self.without_keys(done);
        let status = Status::of_code(done.code.as_deref());
        let content = result_blob(call_id, status != Status::Ok, done.content)?;
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
    fn without_keys(&self, mut done: Done) -> Done {
        for blob in &mut done.blobs {
            let Some(bytes) = self.model.without_keys(blob.bytes()) else {
                continue;
            };
            let cut = Blob::new(bytes);
            done.content = done
                .content
                .replace(&blob.hash().to_string(), &cut.hash().to_string());
            *blob = cut;
        }
        let cut = self.model.without_keys(done.content.as_bytes());
        if let Some(content) = cut.and_then(|bytes| String::from_utf8(bytes).ok()) {
            done.content = content;
        }
        done
    }

    async fn do_it(
        &self,
        claimed: &Claimed,
        operation_id: OperationId,
        call: &ToolCall,
    ) -> Result<Done, EngineError> {
        let lease_lost = || EngineError::LeaseLost(claimed.row.agent_id.clone());
        // Whether this process may still act on it is checked last, because it costs no wait.
        if !self.store.holds_lease() {
            return Err(lease_lost());
        }
        fail::point("act.before_perform");
        let (stop, flag) = watch::channel(false);
        let act = Act {
            operation_id,
            tool: call.name.clone(),
            input: call.input.clone(),
            agent_id: claimed.row.agent_id.clone(),
            at: self.clock.now(),
        };
        let performing = self.tools.perform(act, StopFlag(flag));
        tokio::pin!(performing);
        let early = tokio::select! {
            biased;
            done = &mut performing => {
                fail::point("act.after_perform");
                return Ok(done);
            }
            early = self.early(claimed) => early,
        };
        if let Early::Halted = early {
            // An action that is nearly done shall be known as done.
            tokio::select! {
                biased;
                done = &mut performing => return Ok(done),
                () = self.clock.sleep(HALT_GRACE_MS) => {}
            }
        }
        let _ = stop.send(true);
        let done = performing.await;
        // Nobody cancelled it: the program came to a stop, or a brake was set, and so the action stopped.
        let renamed = |word: &str| {
            let code = done.code.clone();
            code.map(|code| if code == CANCELLED { word.to_owned() } else { code })
        };
        let code = match early {
            Early::LeaseLost => return Err(lease_lost()),
            Early::Cancelled => done.code.clone(),
            Early::Halted => renamed(HALTED),
            Early::Braked => renamed(BRAKED),
        };
        Ok(Done { code, ..done })
    }

    /// Makes the world stand still, then says that nobody knows.
    async fn unknown(&self, operation_id: OperationId, call: &ToolCall) -> Done {
        fail::point("recover.before_clear");
        self.tools.clear(operation_id).await;
        fail::point("recover.after_clear");
        let fault = unknown_fault();
        let content = fault.receipt(&call.name);
        let code = if planted::bug("unknown_called_ok") {
            None
        } else if planted::bug("unknown_called_failed") {
            Some("planted".to_owned())
        } else {
            Some(fault.kind)
        };
        Done {
            content,
            code,
            sandbox: None,
            blobs: Vec::new(),
            again: None,
        }
    }

    /// Resolves when a running effect should end early. A look that fails says nothing: a database that is away
    /// for a moment is no reason to break off what is under way; the lease decides how long.
    pub(crate) async fn early(&self, claimed: &Claimed) -> Early {
        let look = async {
            loop {
                self.clock.sleep(CANCEL_LOOK_MS).await;
                if !self.store.holds_lease() {
                    return Early::LeaseLost;
                }
                match self.look(claimed).await {
                    Ok(Look {
                        is_cancelled: true, ..
                    }) => return Early::Cancelled,
                    Ok(Look { is_braked: true, .. }) => return Early::Braked,
                    Ok(Look { .. }) | Err(_) => {}
                }
            }
        };
        tokio::select! {
            biased;
            early = look => early,
            () = self.halt.asked() => Early::Halted,
        }
    }

    /// What is known of one call before the machine decides on it.
    pub(crate) fn call_reads(&self, tool: &str, input: &Value, seen: Seen, turn: &Turn) -> CallReads {
        let starts = (tool == START_RUN).then(|| Order::read(input));
        let verdict = self.policy.decide(&Question {
            tool,
            denied: &turn.deny_tools,
            asked: &turn.ask_tools,
            may_start: &turn.may_start,
            starts: starts
                .as_ref()
                .and_then(|order| Some(order.as_ref().ok()?.agent_id.as_str())),
        });
        if let Some(order) = starts {
            // Who may start nothing was told of no such tool, whatever its arguments are.
            let fault = order.err().filter(|_| !turn.may_start.is_empty());
            return CallReads {
                class: EffectClass::Internal,
                fault,
                verdict,
                retry: None,
                seen,
            };
        }
        let Some(class) = self.tools.class(tool) else {
            return CallReads {
                class: EffectClass::Plain,
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

    /// The call of the newest reply at a position, from memory or, after a crash, from the stored reply.
    pub(crate) async fn call_at(
        &self,
        claimed: &mut Claimed,
        position: usize,
    ) -> Result<ToolCall, EngineError> {
        let run = claimed.run_key();
        if claimed.asked.is_empty() {
            let Phase::Acting { reply, .. } = &claimed.turn.phase else {
                return Err(EngineError::Broken {
                    run,
                    why: "it acts without a reply".into(),
                });
            };
            let hash = *reply;
            let body = self.store.read(move |view| view.blob(&hash)).await?;
            claimed.asked = asked(&crate::run::blocks(run, body.as_deref())?);
        }
        let missing = || EngineError::Broken {
            run,
            why: "an action is not in its reply".into(),
        };
        claimed.asked.get(position).cloned().ok_or_else(missing)
    }
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
