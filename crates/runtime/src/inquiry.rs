//! Asking a model: the gates, the money, and then the request.
//!
//! What leaves this machine or costs money is let through in a transaction of its own, before it is sent: the decision
//! and the reservation stand there together. What it did cost is settled with the result.

use std::sync::atomic::{AtomicU32, Ordering};

use wakeful_core::attempt::Diagnostics;
use wakeful_core::budget::{self, Caps, Day, Exceeded, MicroUsd, Price};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::failure::{Category, FailureArtifact, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{
    self, ALL_GATES, Boundary, Denial, Field, ImpliedChannel, Permissions, Question, Receipt, Terms,
};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::prompt::{Ingredients, Request, assemble};
use wakeful_core::run::{BUDGET_EXCEEDED, Bill, Input, Turn, reply};
use wakeful_core::subrun;
use wakeful_core::time::Millis;
use wakeful_ports::fail;
use wakeful_ports::model::{Answer, Audience, Model};
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{Fence, ReceiptRow, Reservation};
use wakeful_store::{StoreError, Tx, View};

use crate::run::Claimed;
use crate::step::{Early, Freshness, Look, Next, Performed, asked, scope_of};
use crate::{Engine, EngineError, Observer, Privacy, Spoken};

/// Longest time for one model request. Above any provider's own limit; a request that hangs longer is lost.
const MODEL_MS_MAX: u64 = 15 * 60 * 1000;

/// The rule that let a request through whose sender a person confirmed by asking for it.
const IMPLIED: &str = "inference_gates_implied_receipt";

/// Leave to ask a model.
struct Permit {
    provider: String,
    rule: String,
    /// What was put aside, and by which price; none where it costs nothing.
    money: Option<(MicroUsd, Price)>,
}

impl Permit {
    fn bill(self, cost: impl Fn(MicroUsd, Price) -> MicroUsd) -> Bill {
        Bill {
            provider: self.provider,
            rule: self.rule,
            cost: self.money.map(|(reserved, price)| cost(reserved, price)),
            exceeded: None,
        }
    }
}

/// What became of asking for leave.
enum Leave {
    Granted(Permit),
    /// And where it is for want of money, which cap stands in the way.
    Denied(Denial, Option<Exceeded>),
    Exceeded(Exceeded),
}

/// One question for leave, made ready before its transaction.
struct Petition {
    fence: Fence,
    operation_id: OperationId,
    run_key: RunKey,
    agent_id: AgentId,
    model_ref: String,
    terms: Terms,
    permissions: Permissions,
    policy_version: PolicyVersion,
    fields: std::collections::BTreeSet<Field>,
    /// The most it can cost.
    most: Option<(MicroUsd, Price)>,
    cap_default: MicroUsd,
    privacy: Privacy,
    now: Millis,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Asks the model whose turn it is.
    pub(crate) async fn call_model(
        &self,
        claimed: &mut Claimed,
        operation_id: OperationId,
        delay_ms: u64,
        look: Look,
    ) -> Result<Next, EngineError> {
        let request = self.assembled(claimed)?;
        let mut look = Some(look);
        if delay_ms > 0 {
            if let Some(rest) = self.wait_for_moment(claimed).await? {
                return Ok(rest);
            }
            look = None;
        }
        let petition = self.petition(claimed, operation_id, &request);
        let provider = petition.terms.provider.clone();
        let at_once = petition.at_once(claimed.freshness);
        look = look.filter(|_| at_once.is_some());
        let leave = match at_once {
            Some(leave) => leave,
            None => self.leave(claimed, &request, petition).await?,
        };
        let permit = match leave {
            Leave::Granted(permit) => permit,
            Leave::Exceeded(exceeded) => return Ok(Next::just(Input::Parked { exceeded })),
            Leave::Denied(denial, exceeded) => {
                let failure = denied(&request.model_ref, &provider, &denial);
                let bill = Bill {
                    provider,
                    rule: denial.code.to_owned(),
                    cost: None,
                    exceeded,
                };
                return Ok(Next::Input(Box::new(failed(failure, 0, bill))));
            }
        };
        // As late as possible: what is acknowledged at the brake must find nothing that begins after it.
        let look = match look {
            Some(look) => look,
            None => self.look(claimed).await?,
        };
        let Some(instead) = self.heard(claimed, look) else {
            return self.ask(claimed, request, permit).await;
        };
        if permit.money.is_some() {
            // Nothing left, so nothing is owed for it.
            let freed = self
                .store
                .write(move |tx| tx.settle_spend(&operation_id, Some(MicroUsd(0))));
            freed.await?;
            self.observer.settled();
        }
        Ok(instead)
    }

    /// Sends the request and waits for its answer.
    async fn ask(
        &self,
        claimed: &mut Claimed,
        request: Request,
        permit: Permit,
    ) -> Result<Next, EngineError> {
        let audience = Room {
            observer: self.observer.as_ref(),
            agent: &claimed.row.agent_id,
            run: claimed.run_key(),
            attempt: request.request,
            chunks: AtomicU32::new(0),
        };
        fail::point("model.before_ask");
        let began = self.clock.ticks_ms();
        // In a fixed order: what has come is taken before anything else, and the same run twice is the same run.
        let answer = tokio::select! {
            biased;
            answer = self.model.ask(request, &audience) => answer,
            () = self.clock.sleep(MODEL_MS_MAX) => Err(ModelFailure::timed_out()),
            early = self.early(claimed) => return ended_early(claimed, early),
        };
        fail::point("model.after_answer");
        let duration_ms = self.clock.ticks_ms().saturating_sub(began);
        Ok(Next::Input(Box::new(answered(
            claimed,
            answer,
            duration_ms,
            permit,
        ))))
    }

    fn assembled(&self, claimed: &Claimed) -> Result<Request, EngineError> {
        let Some(thread) = &claimed.thread else {
            return Err(EngineError::Broken {
                run: claimed.run_key(),
                why: "its transcript is not loaded".into(),
            });
        };
        Ok(assemble(Ingredients {
            agent: &claimed.row.agent_id,
            workspace: &claimed.turn.workspace,
            guidance: &thread.guidance,
            kind: thread.kind,
            model_ref: claimed.turn.active_model(),
            request: claimed.turn.requests,
            opening: &thread.opening,
            entries: &thread.entries,
            tools: self.specs(&claimed.turn),
        }))
    }

    /// The tools on offer: those of the host, and the engine's own where the run may use it.
    fn specs(&self, turn: &Turn) -> Vec<ToolSpec> {
        let mut specs = self.tools.specs();
        if !turn.may_start.is_empty() {
            specs.push(subrun::spec(&turn.may_start));
        }
        specs
    }

    fn petition(&self, claimed: &Claimed, operation_id: OperationId, request: &Request) -> Petition {
        let terms = self.model.terms(&request.model_ref);
        let (permissions, policy_version) = self.policy.inference(&claimed.row.agent_id);
        Petition {
            fence: claimed.fence,
            operation_id,
            run_key: claimed.run_key(),
            agent_id: claimed.row.agent_id.clone(),
            model_ref: request.model_ref.clone(),
            fields: inference::fields(request),
            permissions,
            policy_version,
            most: most(request, &terms),
            cap_default: self.governance.daily_cap,
            privacy: self.governance.privacy,
            now: self.clock.now(),
            terms,
        }
    }

    /// Walks the gates and puts the money aside.
    async fn leave(
        &self,
        claimed: &Claimed,
        request: &Request,
        petition: Petition,
    ) -> Result<Leave, EngineError> {
        fail::point("model.before_reserve");
        let leave = self.store.write(move |tx| petition.put(tx)).await?;
        fail::point("model.after_reserve");
        Ok(match leave {
            // Who costs nothing need not wait for money.
            Leave::Exceeded(exceeded) if self.has_free_model(claimed, request) => {
                Leave::Denied(too_dear(&exceeded), Some(exceeded))
            }
            Leave::Granted(_) | Leave::Denied(..) | Leave::Exceeded(_) => leave,
        })
    }

    /// Whether the route has a model left that costs nothing and may be asked.
    fn has_free_model(&self, claimed: &Claimed, request: &Request) -> bool {
        let (permissions, _) = self.policy.inference(&claimed.row.agent_id);
        let fields = inference::fields(request);
        claimed.turn.models_left().iter().any(|model_ref| {
            let terms = self.model.terms(model_ref);
            let question = Question {
                category: inference::Category::Conversation,
                model_ref,
                terms: &terms,
                receipt: match self.governance.privacy {
                    Privacy::Implied => Receipt::Confirmed,
                    Privacy::Explicit => Receipt::Missing,
                },
                fields: &fields,
            };
            let is_free = terms.price.is_none() && self.model.can_ask(model_ref);
            is_free && inference::decide(&permissions, &question).is_ok()
        })
    }

    /// What becomes of a run that waits for money: it goes on once there may be some, and else stays as it is. What its
    /// request may cost is looked at anew, because prices, lengths and days change while it waits.
    pub(crate) async fn look_for_money(&self, claimed: &mut Claimed) -> Result<Next, EngineError> {
        let request = self.assembled(claimed)?;
        let terms = self.model.terms(&request.model_ref);
        let needed = most(&request, &terms).map_or(MicroUsd(0), |(most, _)| most);
        let (agent, default) = (claimed.row.agent_id.clone(), self.governance.daily_cap);
        let clock = Day::of(self.clock.now());
        let found = self.store.read(move |view| {
            let day = clock.not_before(view.latest_spend_day()?);
            let caps = caps(view, &agent, default)?;
            Ok(budget::decide(day, caps, view.spent(day, &agent)?, needed))
        });
        Ok(match found.await? {
            Ok(()) => Next::just(Input::Resumed),
            Err(exceeded) => Next::OverBudget(exceeded),
        })
    }
}

/// The most that a request can cost, and by which price; none where it costs nothing.
fn most(request: &Request, terms: &Terms) -> Option<(MicroUsd, Price)> {
    let (price, _) = terms.price?;
    Some((
        price.most(request.estimated_tokens(), terms.output_tokens_max),
        price,
    ))
}

impl Petition {
    /// What becomes of a request that neither leaves the machine nor costs anything: there is nothing to write down
    /// before, and the result says the rest.
    fn at_once(&self, freshness: Freshness) -> Option<Leave> {
        let is_free = self.terms.boundary != Boundary::Outside && self.most.is_none();
        (is_free && freshness == Freshness::Fresh).then(|| match self.judge(Receipt::Missing) {
            Ok(()) => Leave::Granted(self.permit(ALL_GATES)),
            Err(denial) => Leave::Denied(denial, None),
        })
    }

    fn judge(&self, receipt: Receipt) -> Result<(), Denial> {
        inference::decide(
            &self.permissions,
            &Question {
                category: inference::Category::Conversation,
                model_ref: &self.model_ref,
                terms: &self.terms,
                receipt,
                fields: &self.fields,
            },
        )
    }

    fn permit(&self, rule: &str) -> Permit {
        Permit {
            provider: self.terms.provider.clone(),
            rule: rule.to_owned(),
            money: self.most,
        }
    }

    fn put(&self, tx: &mut Tx<'_>) -> Result<Leave, StoreError> {
        // The head first, as in every transition: whoever lost the agent spends nothing for it.
        tx.lock_head(&self.agent_id, self.fence)?;
        // An earlier life sent this very request: nobody knows its end, so its reservation is spent.
        tx.settle_spend(&self.operation_id, None)?;
        let is_confirmed = tx.is_confirmed(&self.terms.provider, &self.policy_version)?;
        let is_implied = !is_confirmed && self.privacy == Privacy::Implied;
        let receipt = if is_confirmed || is_implied {
            Receipt::Confirmed
        } else {
            Receipt::Missing
        };
        if let Err(denial) = self.judge(receipt) {
            return Ok(Leave::Denied(denial, None));
        }
        let mut day = Day::of(self.now).not_before(tx.latest_spend_day()?);
        let amount = self.most.map_or(MicroUsd(0), |(amount, _)| amount);
        if self.most.is_some() {
            day = tx.lock_spending(day)?;
            let caps = caps(tx, &self.agent_id, self.cap_default)?;
            let spent = tx.spent(day, &self.agent_id)?;
            if let Err(exceeded) = budget::decide(day, caps, spent, amount) {
                return Ok(Leave::Exceeded(exceeded));
            }
        }
        let is_first = is_implied && self.terms.boundary == Boundary::Outside;
        let rule = if is_first { IMPLIED } else { ALL_GATES };
        tx.reserve(&Reservation {
            operation_id: self.operation_id,
            run_key: self.run_key,
            agent_id: self.agent_id.clone(),
            day,
            model_ref: self.model_ref.clone(),
            rule: rule.to_owned(),
            policy_version: self.policy_version.clone(),
            amount,
        })?;
        if is_first {
            tx.put_receipt(&ReceiptRow {
                provider: self.terms.provider.clone(),
                policy_version: self.policy_version.clone(),
                channel: ImpliedChannel::OperatorRun.into(),
                at: self.now,
            })?;
        }
        Ok(Leave::Granted(self.permit(rule)))
    }
}

/// The caps that hold for an agent.
pub(crate) fn caps(view: &mut View<'_>, agent: &AgentId, default: MicroUsd) -> Result<Caps, StoreError> {
    Ok(Caps {
        agent: view.cap(Some(agent))?,
        all: view.cap(None)?.unwrap_or(default),
    })
}

pub(crate) fn ended_early(claimed: &Claimed, early: Early) -> Result<Next, EngineError> {
    match early {
        Early::Cancelled => Ok(Next::just(Input::Cancelled)),
        Early::LeaseLost => Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        // The attempt is given up: a model round may be asked again.
        Early::Halted => Ok(Next::Stop),
        Early::Braked => Ok(Next::Brake),
    }
}

/// There is no money for a model, and another one of its route costs nothing.
fn too_dear(exceeded: &Exceeded) -> Denial {
    Denial {
        code: BUDGET_EXCEEDED,
        message: format!(
            "the request could cost up to {} USD: {}",
            exceeded.needed,
            exceeded.words()
        ),
        hint: "a model of the route that costs nothing is asked; `wakeful budget set` raises the cap"
            .to_owned(),
    }
}

/// A gate stayed shut. Another model of the route may still be asked.
fn denied(model_ref: &str, provider: &str, denial: &Denial) -> ModelFailure {
    let summary = format!("{} ({})", denial.message, denial.hint);
    let mut artifact = FailureArtifact::new(Category::Runtime, denial.code, &summary);
    artifact.provider = Some(provider.to_owned());
    artifact.model_ref = Some(model_ref.to_owned());
    ModelFailure {
        diagnostics: Some(Box::new(Diagnostics {
            stage: "gate".to_owned(),
            ..Diagnostics::default()
        })),
        ..ModelFailure::new(ModelFailureKind::FailFast, artifact)
    }
}

fn failed(failure: ModelFailure, duration_ms: u64, bill: Bill) -> Performed {
    Performed::just(Input::AttemptFailed {
        failure: failure.bounded(),
        duration_ms,
        bill,
    })
}

/// What an answer, or the lack of one, means to the machine.
fn answered(
    claimed: &mut Claimed,
    answer: Result<Answer, ModelFailure>,
    duration_ms: u64,
    permit: Permit,
) -> Performed {
    let scope = scope_of(&claimed.turn.workspace);
    let read = answer.and_then(|Answer { blocks, usage }| Ok((reply::read(&blocks, usage, &scope)?, blocks)));
    match read {
        Err(failure) => {
            let is_billed = failure.may_be_billed;
            let bill = permit.bill(|reserved, _| if is_billed { reserved } else { MicroUsd(0) });
            failed(failure, duration_ms, bill)
        }
        Ok(((mut reply, blob), blocks)) => {
            reply.duration_ms = duration_ms;
            let usage = reply.usage;
            reply.bill = permit.bill(|reserved, price| price.settled(usage, reserved));
            claimed.asked = asked(&blocks);
            Performed {
                input: Input::Replied(reply),
                contents: vec![blob.clone()],
                blobs: vec![blob],
            }
        }
    }
}

/// Those who hear a model speak: the words go to whoever watches this process.
struct Room<'a> {
    observer: &'a dyn Observer,
    agent: &'a AgentId,
    run: RunKey,
    attempt: u32,
    chunks: AtomicU32,
}

impl Audience for Room<'_> {
    fn hear(&self, text: &str) {
        self.observer.heard(&Spoken {
            agent: self.agent,
            run: self.run,
            attempt: self.attempt,
            chunk: self.chunks.fetch_add(1, Ordering::Relaxed),
            text,
        });
    }
}
