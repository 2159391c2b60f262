//! Model requests: the gates, the reservation, and then the request itself.
//!
//! A request that leaves the machine or costs money is permitted in its own transaction before it is sent;
//! the verdict and the reservation commit together. The actual cost is settled with the result.
//!
//! Nothing is retried here: a failed attempt becomes [`RunInput::AttemptFailed`], and the run machine decides
//! about retries and fallbacks (`core/run/round.rs`).

use std::sync::atomic::{AtomicU32, Ordering};

use wakeful_core::attempt::TransportDiagnostics;
use wakeful_core::budget::{self, BudgetExceeded, Caps, MicroUsd, Price, UtcDay};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{
    self, ALL_GATES, DataBoundary, ImpliedChannel, InferenceDenial, InferencePermissions, InferenceQuery,
    ModelProfile, ReceiptStatus, RequestField,
};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::prompt::{ModelRequest, PromptInputs, assemble};
use wakeful_core::run::{AttemptCost, BUDGET_EXCEEDED, RunInput, reply};
use wakeful_core::time::Millis;
use wakeful_ports::fail_point;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{Fence, PrivacyReceiptRow, Reservation};
use wakeful_store::{StoreError, Tx, View};

use crate::run::ClaimedRun;
use crate::step::{EarlyEnd, EffectResult, Freshness, Interrupts, NextAction, asked, scope_of};
use crate::{Engine, EngineError, Observer, PrivacyMode, TextDelta};

/// Maximum duration of one model request, above any provider's own limit. A longer request counts as timed
/// out.
const MODEL_MS_MAX: u64 = 15 * 60 * 1000;

/// The rule that permits a request whose provider a person confirmed by requesting the run.
const IMPLIED: &str = "inference_gates_implied_receipt";

/// Permission to send a model request.
struct GateGrant {
    provider: String,
    rule: String,
    /// The reserved amount and its price; none if the request is free.
    money: Option<(MicroUsd, Price)>,
}

impl GateGrant {
    fn bill(self, cost: impl Fn(MicroUsd, Price) -> MicroUsd) -> AttemptCost {
        AttemptCost {
            provider: self.provider,
            rule: self.rule,
            cost: self.money.map(|(reserved, price)| cost(reserved, price)),
            exceeded: None,
        }
    }
}

enum GateOutcome {
    Granted(GateGrant),
    /// This model may not be used; the next one of the route is tried. Contains the exceeded cap if the
    /// reason is the budget.
    Denied(InferenceDenial, Option<BudgetExceeded>),
    /// The budget does not cover the request, and no free model is left: the run is parked.
    Exceeded(BudgetExceeded),
}

/// A request for permission, prepared before its transaction.
struct GateRequest {
    fence: Fence,
    operation_id: OperationId,
    run_key: RunKey,
    agent_id: AgentId,
    model_ref: String,
    profile: ModelProfile,
    permissions: InferencePermissions,
    policy_version: PolicyVersion,
    fields: std::collections::BTreeSet<RequestField>,
    /// The maximum cost and the price; none if the request is free.
    most: Option<(MicroUsd, Price)>,
    cap_default: MicroUsd,
    privacy: PrivacyMode,
    now: Millis,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Waits for the backoff, checks the gates, and sends a request to the current model of the route. `look`
    /// is used only if neither a wait nor a transaction follows it; otherwise the interrupts are read again.
    pub(crate) async fn call_model(
        &self,
        claimed: &mut ClaimedRun,
        operation_id: OperationId,
        delay_ms: u64,
        look: Interrupts,
    ) -> Result<NextAction, EngineError> {
        let request = self.assembled(claimed)?;
        let mut look = Some(look);
        if delay_ms > 0 {
            if let Some(rest) = self.wait_for_moment(claimed).await? {
                return Ok(rest);
            }
            look = None;
        }
        let petition = self.gate_request(claimed, operation_id, &request);
        let provider = petition.profile.provider.clone();
        let at_once = petition.decide_without_store(claimed.freshness);
        look = look.filter(|_| at_once.is_some());
        let leave = match at_once {
            Some(leave) => leave,
            None => self.request_grant(claimed, &request, petition).await?,
        };
        let permit = match leave {
            GateOutcome::Granted(permit) => permit,
            GateOutcome::Exceeded(exceeded) => return Ok(NextAction::just(RunInput::Parked { exceeded })),
            GateOutcome::Denied(denial, exceeded) => {
                let failure = denied(&request.model_ref, &provider, &denial);
                let bill = AttemptCost {
                    provider,
                    rule: denial.code.to_owned(),
                    cost: None,
                    exceeded,
                };
                return Ok(NextAction::Input(Box::new(failed(failure, 0, bill))));
            }
        };
        // Checked as late as possible: once a brake is acknowledged, no request may start.
        let look = match look {
            Some(look) => look,
            None => self.read_interrupts(claimed).await?,
        };
        let Some(instead) = self.on_interrupts(claimed, look) else {
            return self.ask(claimed, request, permit).await;
        };
        if permit.money.is_some() {
            // Nothing was sent, so the reservation is released.
            let freed = self
                .store
                .write(move |tx| tx.settle_spend(&operation_id, Some(MicroUsd(0))));
            freed.await?;
            self.observer.on_spend_settled();
        }
        Ok(instead)
    }

    /// Sends the request and waits for its response.
    async fn ask(
        &self,
        claimed: &mut ClaimedRun,
        request: ModelRequest,
        permit: GateGrant,
    ) -> Result<NextAction, EngineError> {
        let audience = DeltaForwarder {
            observer: self.observer.as_ref(),
            agent: &claimed.row.agent_id,
            run: claimed.run_key(),
            attempt: request.request,
            chunks: AtomicU32::new(0),
        };
        fail_point::fail_point("model.before_ask");
        let began = self.clock.monotonic_ms();
        // In a fixed order, so that a response that has arrived comes first and repeated runs behave the
        // same.
        let answer = tokio::select! {
            biased;
            answer = self.model.call(request, &audience) => answer.map(|read| self.reply_without_keys(read)),
            () = self.clock.sleep(MODEL_MS_MAX) => Err(ModelFailure::timed_out()),
            early = self.wait_for_early_end(claimed) => return ended_early(claimed, early),
        };
        fail_point::fail_point("model.after_answer");
        let duration_ms = self.clock.monotonic_ms().saturating_sub(began);
        Ok(NextAction::Input(Box::new(answered(
            claimed,
            answer,
            duration_ms,
            permit,
        ))))
    }

    fn assembled(&self, claimed: &ClaimedRun) -> Result<ModelRequest, EngineError> {
        let Some(thread) = &claimed.thread else {
            return Err(EngineError::InvalidState {
                run: claimed.run_key(),
                why: "its transcript is not loaded".into(),
            });
        };
        let mut request = assemble(PromptInputs {
            agent: &claimed.row.agent_id,
            workspace: &claimed.machine.workspace,
            guidance: &thread.guidance,
            kind: thread.kind,
            model_ref: claimed.machine.active_model(),
            request: claimed.machine.requests,
            opening: &thread.opening,
            entries: &thread.entries,
            answer_schema: thread.answer_schema.as_ref(),
            tools: self.specs(&claimed.settings),
        });
        let boundary = self.model.profile(&request.model_ref).boundary;
        let (permissions, _) = self.policy.inference(&claimed.row.agent_id);
        permissions.leave_out_images(&mut request, boundary);
        Ok(request)
    }

    fn gate_request(
        &self,
        claimed: &ClaimedRun,
        operation_id: OperationId,
        request: &ModelRequest,
    ) -> GateRequest {
        let terms = self.model.profile(&request.model_ref);
        let (permissions, policy_version) = self.policy.inference(&claimed.row.agent_id);
        GateRequest {
            fence: claimed.fence,
            operation_id,
            run_key: claimed.run_key(),
            agent_id: claimed.row.agent_id.clone(),
            model_ref: request.model_ref.clone(),
            fields: inference::fields(request),
            permissions,
            policy_version,
            most: max_cost(request, &terms),
            cap_default: self.defaults.daily_cap,
            privacy: self.defaults.privacy,
            now: self.clock.now(),
            profile: terms,
        }
    }

    /// Evaluates the gates and reserves the maximum cost. A run over budget is denied this model instead of
    /// being parked if its route still has a free one.
    async fn request_grant(
        &self,
        claimed: &ClaimedRun,
        request: &ModelRequest,
        petition: GateRequest,
    ) -> Result<GateOutcome, EngineError> {
        fail_point::fail_point("model.before_reserve");
        let leave = self.store.write(move |tx| petition.put(tx)).await?;
        fail_point::fail_point("model.after_reserve");
        Ok(match leave {
            // A free model need not wait for budget.
            GateOutcome::Exceeded(exceeded) if self.has_free_model(claimed, request) => {
                GateOutcome::Denied(over_budget_denial(&exceeded), Some(exceeded))
            }
            GateOutcome::Granted(_) | GateOutcome::Denied(..) | GateOutcome::Exceeded(_) => leave,
        })
    }

    /// Whether the route still has a free model that may be used.
    fn has_free_model(&self, claimed: &ClaimedRun, request: &ModelRequest) -> bool {
        let (permissions, _) = self.policy.inference(&claimed.row.agent_id);
        let fields = inference::fields(request);
        claimed.machine.models_left().iter().any(|model_ref| {
            let terms = self.model.profile(model_ref);
            let question = InferenceQuery {
                category: inference::InferenceCategory::Conversation,
                model_ref,
                profile: &terms,
                receipt: match self.defaults.privacy {
                    PrivacyMode::Implied => ReceiptStatus::Confirmed,
                    PrivacyMode::Explicit => ReceiptStatus::Missing,
                },
                fields: &fields,
            };
            let is_free = terms.price.is_none() && self.model.can_ask(model_ref);
            is_free && inference::decide(&permissions, &question).is_ok()
        })
    }

    /// Checks a run that is parked for budget: it resumes if the caps allow its request, and otherwise
    /// stays parked. The maximum cost is computed again, because prices, lengths and days change while the
    /// run is parked.
    pub(crate) async fn recheck_budget(&self, claimed: &mut ClaimedRun) -> Result<NextAction, EngineError> {
        let request = self.assembled(claimed)?;
        let terms = self.model.profile(&request.model_ref);
        let needed = max_cost(&request, &terms).map_or(MicroUsd(0), |(most, _)| most);
        let (agent, default) = (claimed.row.agent_id.clone(), self.defaults.daily_cap);
        let clock = UtcDay::of(self.clock.now());
        let found = self.store.read(move |view| {
            let day = clock.not_before(view.latest_spend_day()?);
            let caps = caps(view, &agent, default)?;
            Ok(budget::decide(day, caps, view.spent(day, &agent)?, needed))
        });
        Ok(match found.await? {
            Ok(()) => NextAction::just(RunInput::Resumed),
            Err(exceeded) => NextAction::OverBudget(exceeded),
        })
    }
}

/// The maximum cost of a request and its price; none if it is free.
fn max_cost(request: &ModelRequest, terms: &ModelProfile) -> Option<(MicroUsd, Price)> {
    let (price, _) = terms.price?;
    Some((
        price.most(request.estimated_tokens(), terms.output_tokens_max),
        price,
    ))
}

impl GateRequest {
    /// Decides a request that neither leaves the machine nor costs anything: it needs no record before it
    /// is sent. Returns none for any other request.
    fn decide_without_store(&self, freshness: Freshness) -> Option<GateOutcome> {
        let is_free = self.profile.boundary != DataBoundary::Outside && self.most.is_none();
        (is_free && freshness == Freshness::Fresh).then(|| match self.judge(ReceiptStatus::Missing) {
            Ok(()) => GateOutcome::Granted(self.permit(ALL_GATES)),
            Err(denial) => GateOutcome::Denied(denial, None),
        })
    }

    fn judge(&self, receipt: ReceiptStatus) -> Result<(), InferenceDenial> {
        inference::decide(
            &self.permissions,
            &InferenceQuery {
                category: inference::InferenceCategory::Conversation,
                model_ref: &self.model_ref,
                profile: &self.profile,
                receipt,
                fields: &self.fields,
            },
        )
    }

    fn permit(&self, rule: &str) -> GateGrant {
        GateGrant {
            provider: self.profile.provider.clone(),
            rule: rule.to_owned(),
            money: self.most,
        }
    }

    /// Evaluates the gates, reserves the maximum cost, and stores an implied privacy receipt.
    fn put(&self, tx: &mut Tx<'_>) -> Result<GateOutcome, StoreError> {
        // Lock the head first, as in every transition: a runner that lost the agent must not spend money
        // for it.
        tx.lock_head(&self.agent_id, self.fence)?;
        // An earlier process sent this same request and its result is unknown, so its reservation counts as
        // spent.
        tx.settle_spend(&self.operation_id, None)?;
        let is_confirmed = tx.is_confirmed(&self.profile.provider, &self.policy_version)?;
        let is_implied = !is_confirmed && self.privacy == PrivacyMode::Implied;
        let receipt = if is_confirmed || is_implied {
            ReceiptStatus::Confirmed
        } else {
            ReceiptStatus::Missing
        };
        if let Err(denial) = self.judge(receipt) {
            return Ok(GateOutcome::Denied(denial, None));
        }
        let mut day = UtcDay::of(self.now).not_before(tx.latest_spend_day()?);
        let amount = self.most.map_or(MicroUsd(0), |(amount, _)| amount);
        if self.most.is_some() {
            day = tx.lock_spending(day)?;
            let caps = caps(tx, &self.agent_id, self.cap_default)?;
            let spent = tx.spent(day, &self.agent_id)?;
            if let Err(exceeded) = budget::decide(day, caps, spent, amount) {
                return Ok(GateOutcome::Exceeded(exceeded));
            }
        }
        let is_first = is_implied && self.profile.boundary == DataBoundary::Outside;
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
            tx.put_receipt(&PrivacyReceiptRow {
                provider: self.profile.provider.clone(),
                policy_version: self.policy_version.clone(),
                channel: ImpliedChannel::OperatorRun.into(),
                at: self.now,
            })?;
        }
        Ok(GateOutcome::Granted(self.permit(rule)))
    }
}

/// The caps that apply to an agent.
pub(crate) fn caps(view: &mut View<'_>, agent: &AgentId, default: MicroUsd) -> Result<Caps, StoreError> {
    Ok(Caps {
        agent: view.cap(Some(agent))?,
        all: view.cap(None)?.unwrap_or(default),
    })
}

pub(crate) fn ended_early(claimed: &ClaimedRun, early: EarlyEnd) -> Result<NextAction, EngineError> {
    match early {
        EarlyEnd::Cancelled => Ok(NextAction::just(RunInput::Cancelled)),
        EarlyEnd::LeaseLost => Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        // The attempt is dropped: a model round may be repeated.
        EarlyEnd::Halted => Ok(NextAction::Stop),
        EarlyEnd::Braked => Ok(NextAction::Brake),
    }
}

/// The denial of a model over budget when another model of the route is free.
fn over_budget_denial(exceeded: &BudgetExceeded) -> InferenceDenial {
    InferenceDenial {
        code: BUDGET_EXCEEDED,
        message: exceeded.words(),
        hint: "falling back to a free model of the route; `wakeful budget set` raises the cap".to_owned(),
    }
}

/// A gate denied the request. Another model of the route may still be used.
fn denied(model_ref: &str, provider: &str, denial: &InferenceDenial) -> ModelFailure {
    let summary = format!("{} ({})", denial.message, denial.hint);
    let mut artifact = FailureArtifact::new(FailureCategory::Runtime, denial.code, &summary);
    artifact.provider = Some(provider.to_owned());
    artifact.model_ref = Some(model_ref.to_owned());
    ModelFailure {
        diagnostics: Some(Box::new(TransportDiagnostics {
            stage: "gate".to_owned(),
            ..TransportDiagnostics::default()
        })),
        ..ModelFailure::new(ModelFailureKind::FailFast, artifact)
    }
}

fn failed(failure: ModelFailure, duration_ms: u64, bill: AttemptCost) -> EffectResult {
    EffectResult::just(RunInput::AttemptFailed {
        failure: failure.bounded(),
        duration_ms,
        bill,
    })
}

/// Converts a response, or its absence, into an input of the machine.
fn answered(
    claimed: &mut ClaimedRun,
    answer: Result<ModelResponse, ModelFailure>,
    duration_ms: u64,
    permit: GateGrant,
) -> EffectResult {
    let scope = scope_of(&claimed.machine.workspace);
    let read =
        answer.and_then(|ModelResponse { blocks, usage }| Ok((reply::read(&blocks, usage, &scope)?, blocks)));
    match read {
        Err(failure) => {
            let is_billed = failure.may_be_billed;
            let bill = permit.bill(|reserved, _| if is_billed { reserved } else { MicroUsd(0) });
            failed(failure, duration_ms, bill)
        }
        Ok(((mut reply, blob), blocks)) => {
            reply.duration_ms = duration_ms;
            let schema = claimed
                .thread
                .as_ref()
                .and_then(|thread| thread.answer_schema.as_ref());
            reply.violations = schema.map_or_else(Vec::new, |schema| reply::violations(&blocks, schema));
            let usage = reply.usage;
            reply.bill = permit.bill(|reserved, price| price.settled(usage, reserved));
            claimed.asked = asked(&blocks);
            EffectResult {
                input: RunInput::Replied(reply),
                contents: vec![blob.clone()],
                blobs: vec![blob],
            }
        }
    }
}

/// Forwards streamed text to the observer of this process.
struct DeltaForwarder<'a> {
    observer: &'a dyn Observer,
    agent: &'a AgentId,
    run: RunKey,
    attempt: u32,
    chunks: AtomicU32,
}

impl DeltaSink for DeltaForwarder<'_> {
    fn on_text(&self, text: &str) {
        self.observer.on_text_delta(&TextDelta {
            agent: self.agent,
            run: self.run,
            attempt: self.attempt,
            chunk: self.chunks.fetch_add(1, Ordering::Relaxed),
            text,
        });
    }
}
