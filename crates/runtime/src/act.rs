//! Carrying out actions.

use std::sync::Arc;

use tokio::sync::watch;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::ToolCall;
use wakeful_core::id::AgentId;
use wakeful_core::json::NotCanonical;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{Effect, Input, Phase};
use wakeful_core::step::{AfterCrash, EffectClass, Status, StepResult, result_blob, unknown_fault};
use wakeful_ports::clock::Clock;
use wakeful_ports::fail;
use wakeful_ports::model::Model;
use wakeful_ports::planted;
use wakeful_ports::tool::{Act, Done, NOT_BEGUN, Stop, ToolHost};
use wakeful_store::Store;

use crate::run::{Claimed, broken};
use crate::step::{CANCEL_LOOK_MS, Early, Freshness, Look, Next, Performed, asked, look};
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
enum Wish {
    /// It goes on.
    GoOn,
    /// What has not begun does not begin any more; what has may end by itself.
    BeginNothing,
    /// It ends now.
    End,
}

/// What an action is told, and what it looks at before it begins late.
struct Told {
    wish: watch::Receiver<Wish>,
    store: Store,
    halt: Halt,
    clock: Arc<dyn Clock>,
    run: RunKey,
    agent: AgentId,
}

impl Told {
    async fn is_wished(&self, least: Wish) {
        let mut wish = self.wish.clone();
        // An error means that the watcher is gone, and with it whoever could ask for a stop.
        if wish.wait_for(|wish| *wish >= least).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Stop for Told {
    async fn stopped(&self) {
        self.is_wished(Wish::End).await;
    }

    async fn barred(&self) {
        self.is_wished(Wish::BeginNothing).await;
    }

    async fn cleared(&self) {
        loop {
            let look = look(&self.store, self.run, &self.agent).await;
            // After the look, which may take its time; these two cost no wait.
            let may_act = !self.halt.is_set() && self.store.holds_lease();
            match look {
                Ok(look) if may_act && !look.is_cancelled && !look.is_braked => return,
                // Whoever watches the action sees the same, and says why it is stopped. A look that fails clears nothing.
                Ok(_) | Err(_) => self.clock.sleep(CANCEL_LOOK_MS).await,
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
enum Acted {
    /// It has ended.
    Done(Done),
    /// It has not begun; what the run does instead.
    Held(Next),
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Carries out the intended actions one after another. The first was looked at with the run.
    pub(crate) async fn act(&self, claimed: &mut Claimed, look: Look) -> Result<Next, EngineError> {
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
            let intent = Intent {
                operation_id,
                class,
                call: self.call_at(claimed, position).await?,
            };
            // The intent is committed; whether a brake was set since is looked at now: what is acknowledged there must
            // find nothing that begins after it.
            let look = match look.take() {
                Some(look) => look,
                None => match self.look(claimed).await {
                    Ok(look) => look,
                    // What was done is told first.
                    Err(_) if !results.is_empty() => break,
                    Err(error) => return Err(error),
                },
            };
            let began = self.clock.ticks_ms();
            let done = match self.one(claimed, &intent, look).await? {
                Acted::Done(done) => done,
                Acted::Held(_) if !results.is_empty() => break,
                Acted::Held(next) => return Ok(next),
            };
            let duration_ms = self.clock.ticks_ms().saturating_sub(began);
            let (result, content, more) = self
                .ended(operation_id, &call_id, done, duration_ms)
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

    /// Carries out one action, unless something stands against it.
    async fn one(&self, claimed: &Claimed, intent: &Intent, look: Look) -> Result<Acted, EngineError> {
        let Intent {
            operation_id,
            class,
            ref call,
        } = *intent;
        match (claimed.freshness, class.after_crash()) {
            // What was found begun is settled even when the end was asked for.
            (Freshness::Recovered, AfterCrash::Unknown) if !planted::bug("plain_again") => {
                Ok(Acted::Done(self.unknown(operation_id, call).await))
            }
            // A write to the journal can be undone. Nobody wants it any more, so it is not made first: whether it was made
            // in a process that is gone or not, it is taken back with its run.
            (Freshness::Recovered, AfterCrash::Again) if class == EffectClass::Saga && look.is_cancelled => {
                Ok(Acted::Held(Next::just(Input::Postponed)))
            }
            // It may have happened in a process that is gone: taken back, it could be called off as if it had never
            // begun.
            (Freshness::Recovered, AfterCrash::Unknown | AfterCrash::Again) if look.is_braked => {
                Ok(Acted::Held(Next::Brake))
            }
            // What has not begun is left to the machine, which calls it off or asks for it again.
            (Freshness::Fresh, AfterCrash::Unknown | AfterCrash::Again)
                if self.halt.is_set() || look.is_cancelled || look.is_braked =>
            {
                Ok(Acted::Held(Next::just(Input::Postponed)))
            }
            (Freshness::Recovered | Freshness::Fresh, AfterCrash::Unknown | AfterCrash::Again) => {
                self.do_it(claimed, operation_id, call).await
            }
        }
    }

    /// How an action ended, as it is kept: its result, what the model reads of it, and what that names.
    pub(crate) fn ended(
        &self,
        operation_id: OperationId,
        call_id: &str,
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
    ) -> Result<Acted, EngineError> {
        // Whether this process may still act on it is checked last, because it costs no wait.
        if !self.store.holds_lease() {
            return Err(EngineError::LeaseLost(claimed.row.agent_id.clone()));
        }
        fail::point("act.before_perform");
        let (wishes, wish) = watch::channel(Wish::GoOn);
        let act = Act {
            operation_id,
            tool: call.name.clone(),
            input: call.input.clone(),
            agent_id: claimed.row.agent_id.clone(),
            at: self.clock.now(),
        };
        let told = Told {
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
                fail::point("act.after_perform");
                return Ok(Acted::Done(done));
            }
            early = self.early(claimed) => early,
        };
        if let Early::Halted = early {
            // One without a place gets none any more, and there is nothing to wait for.
            let _ = wishes.send(Wish::BeginNothing);
            // An action that is nearly done shall be known as done.
            tokio::select! {
                biased;
                done = &mut performing => return cut_short(claimed, early, done),
                () = self.clock.sleep(HALT_GRACE_MS) => {}
            }
        }
        let _ = wishes.send(Wish::End);
        cut_short(claimed, early, performing.await)
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

/// What became of an action that was to end early.
fn cut_short(claimed: &Claimed, early: Early, done: Done) -> Result<Acted, EngineError> {
    // Nobody cancelled it where the program came to a stop, or a brake was set.
    let (word, rest) = match early {
        Early::LeaseLost => return Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        Early::Cancelled => (CANCELLED, None),
        Early::Halted => (HALTED, Some(Next::Stop)),
        Early::Braked => (BRAKED, Some(Next::Brake)),
    };
    let code = match done.code.as_deref() {
        // As before its beginning: what has not begun is left to the machine, and what may have happened in a process that
        // is gone is not taken back.
        Some(NOT_BEGUN) => match (claimed.freshness, rest) {
            (Freshness::Fresh, _) => return Ok(Acted::Held(Next::just(Input::Postponed))),
            (Freshness::Recovered, Some(rest)) => return Ok(Acted::Held(rest)),
            (Freshness::Recovered, None) => Some(word.to_owned()),
        },
        Some(CANCELLED) => Some(word.to_owned()),
        Some(_) | None => done.code.clone(),
    };
    Ok(Acted::Done(Done { code, ..done }))
}
