//! Model requests: the gates, the reservation, and then the request itself.
//!
//! A request that leaves the machine or costs money is permitted in its own transaction before it is sent;
//! the verdict and the reservation commit together. The actual cost is settled with the result.
//!
//! Nothing is retried here: a failed attempt becomes [`RunInput::AttemptFailed`], and the run machine decides
//! about retries and fallbacks (`core/run/round.rs`).

mod gate;

use std::sync::atomic::{AtomicU32, Ordering};

use wakeful_core::answer_schema::AnswerSchema;
use wakeful_core::budget::{self, BudgetExceeded, BudgetResource, MicroUsd, UtcDay};
use wakeful_core::conversation::{Role, TranscriptEntry};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::AgentId;
use wakeful_core::inference::{self, InferenceQuery, ReceiptStatus};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::MessageKind;
use wakeful_core::prompt::{Guidance, ModelRequest, PromptInputs, assemble};
use wakeful_core::run::{AttemptCost, Effect, RunInput, RunPhase, reply};
use wakeful_ports::fail_point;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::HoldEnd;

use self::gate::{
    GateGrant, GateOutcome, GateRequest, caps, denied, max_cost, over_budget_denial, usage_max,
};
use crate::budget::{demands_of_request, granted};
use crate::hook::MessageCheck;
use crate::run::ClaimedRun;
use crate::step::{EarlyEnd, EffectResult, Freshness, Interrupts, NextAction, asked, scope_of};
use crate::{Engine, EngineError, Observer, PrivacyMode, TextDelta};

/// Maximum duration of one model request, above any provider's own limit. A longer request counts as timed
/// out.
const MODEL_MS_MAX: u64 = 15 * 60 * 1000;

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
        match self.check_messages(claimed).await {
            MessageCheck::Passed => {}
            MessageCheck::PassedAfterWait => look = None,
            MessageCheck::Blocked(failure) => {
                // An earlier process may have sent the request, and its result is unknown.
                if claimed.freshness == Freshness::Recovered {
                    self.settle_request(claimed, operation_id, HoldEnd::InFull)
                        .await?;
                }
                let blocked = failed(*failure, 0, AttemptCost::default());
                return Ok(NextAction::Input(Box::new(blocked)));
            }
            MessageCheck::Ended(early) => return ended_early(claimed, early),
        }
        let petition = self.gate_request(claimed, operation_id, &request);
        let provider = petition.profile.provider.clone();
        // A limit may count the tokens or the time of a free request too.
        let at_once = match claimed.budget {
            None => petition.decide_without_store(claimed.freshness),
            Some(_) => None,
        };
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
        if permit.money.is_some() || !permit.grants.is_empty() {
            // Nothing was sent, so the reservation is released.
            self.settle_request(claimed, operation_id, HoldEnd::Released)
                .await?;
        }
        Ok(instead)
    }

    /// Ends the reservations of a request without a result: they are released, or count in full.
    async fn settle_request(
        &self,
        claimed: &ClaimedRun,
        operation_id: OperationId,
        end: HoldEnd,
    ) -> Result<(), EngineError> {
        let (agent, fence) = (claimed.row.agent_id.clone(), claimed.fence);
        let (run, now) = (claimed.run_key(), self.clock.now());
        let cost = matches!(end, HoldEnd::Released).then_some(MicroUsd(0));
        let settled = self.store.write(move |tx| {
            // A runner that lost the agent must not end the reservation of the one that has it.
            tx.lock_head(&agent, fence)?;
            tx.settle_holds(&run, &[(operation_id, end)], now)?;
            tx.settle_spend(&operation_id, cost)
        });
        settled.await?;
        self.observer.on_spend_settled();
        Ok(())
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
        let time = granted(&permit.grants, BudgetResource::RunTime);
        let limit_ms = time.map_or(MODEL_MS_MAX, |time| time.amount.min(MODEL_MS_MAX));
        // In a fixed order, so that a response that has arrived comes first and repeated runs behave the
        // same.
        let answer = tokio::select! {
            biased;
            answer = self.model.call(request, &audience) => answer.map(|read| self.reply_without_keys(read)),
            () = self.clock.sleep(limit_ms) => match time.filter(|_| limit_ms < MODEL_MS_MAX) {
                // The request is dropped, and sent again when there is run time.
                Some(time) => return Ok(NextAction::just(RunInput::Parked { exceeded: time.limited_by })),
                None => Err(ModelFailure::timed_out()),
            },
            early = self.wait_for_early_end(claimed) => return ended_early(claimed, early),
        };
        fail_point::fail_point("model.after_answer");
        let duration_ms = self.clock.monotonic_ms().saturating_sub(began);
        let answer = match answer {
            Ok(mut response) => {
                if let Err(early) = self.run_reply_hooks(claimed, &mut response.blocks).await {
                    return ended_early(claimed, early);
                }
                Ok(response)
            }
            Err(failure) => Err(failure),
        };
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
        Ok(self.request_of(claimed, &thread.as_content()))
    }

    fn request_of(&self, claimed: &ClaimedRun, content: &RequestContent<'_>) -> ModelRequest {
        let mut request = assemble(PromptInputs {
            agent: &claimed.row.agent_id,
            workspace: &claimed.machine.workspace,
            guidance: content.guidance,
            kind: content.kind,
            model_ref: claimed.machine.active_model(),
            request: claimed.machine.requests,
            opening: content.opening,
            entries: content.entries,
            answer_schema: content.answer_schema,
            tools: self.specs(claimed),
        });
        let boundary = self.model.profile(&request.model_ref).boundary;
        let (permissions, _) = self.policy.inference(&claimed.row.agent_id);
        permissions.leave_out_images(&mut request, boundary);
        request
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
            categories: claimed.settings.allowed_category_ids.clone(),
            permissions,
            policy_version,
            demands: demands_of_request(
                usage_max(request, &terms),
                max_cost(request, &terms).map_or(0, |(most, _)| most.0),
                MODEL_MS_MAX,
            ),
            budget: claimed.budget.clone(),
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
            GateOutcome::Exceeded(exceeded)
                if exceeded.resource == BudgetResource::Money && self.has_free_model(claimed, request) =>
            {
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
                purpose: inference::ModelPurpose::Conversation,
                model_ref,
                profile: &terms,
                receipt: match self.defaults.privacy {
                    PrivacyMode::Implied => ReceiptStatus::Confirmed,
                    PrivacyMode::Explicit => ReceiptStatus::Missing,
                },
                fields: &fields,
                categories: &claimed.settings.allowed_category_ids,
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
        let known = claimed
            .machine
            .phase
            .exceeded()
            .map(|known| (known.limit, known.needed));
        Ok(match self.exceeded_by(claimed, &request).await? {
            None => NextAction::just(RunInput::Resumed),
            // It was parked by an estimate, or has become longer. It parks again, with what it needs now.
            Some(exceeded) if known < Some((exceeded.limit, exceeded.needed)) => {
                NextAction::just(RunInput::Resumed)
            }
            Some(exceeded) => NextAction::OverBudget(exceeded),
        })
    }

    /// Checks the budget before the conversation is read: a request contains at least the message, the tools and the
    /// fixed text. The complete request is checked again when it reserves. Returns none if the request may fit. An
    /// interrupted request is not estimated, because its reservation has to be settled first.
    pub(crate) async fn check_estimate(
        &self,
        claimed: &ClaimedRun,
    ) -> Result<Option<NextAction>, EngineError> {
        let is_parked = matches!(claimed.machine.phase, RunPhase::Parked { .. });
        let is_fresh = claimed.freshness == Freshness::Fresh && is_request(&claimed.effects);
        let is_free = |model: &str| self.model.profile(model).price.is_none();
        // A free model of the route needs no money.
        let has_free = claimed.machine.models_left().iter().any(|model| is_free(model));
        let needs_money = !has_free && !is_free(claimed.machine.active_model());
        if !(is_parked || is_fresh) || (!needs_money && claimed.budget.is_none()) {
            return Ok(None);
        }
        let nothing = TranscriptEntry {
            role: Role::User,
            blocks: Vec::new(),
        };
        let opening = claimed.opening().unwrap_or(&nothing);
        let least = self.request_of(
            claimed,
            &RequestContent {
                opening,
                entries: &[],
                guidance: &Guidance::default(),
                kind: MessageKind::OperatorPrompt,
                answer_schema: None,
            },
        );
        let exceeded = self.exceeded_by(claimed, &least).await?;
        let exceeded = exceeded.filter(|it| needs_money || it.resource != BudgetResource::Money);
        Ok(exceeded.map(|exceeded| match is_parked {
            true => NextAction::OverBudget(exceeded),
            false => NextAction::just(RunInput::Parked { exceeded }),
        }))
    }

    /// Returns the limit that does not cover a request now, without reserving anything.
    async fn exceeded_by(
        &self,
        claimed: &ClaimedRun,
        request: &ModelRequest,
    ) -> Result<Option<BudgetExceeded>, EngineError> {
        let terms = self.model.profile(&request.model_ref);
        let needed = max_cost(request, &terms).map_or(MicroUsd(0), |(most, _)| most);
        let (agent, default) = (claimed.row.agent_id.clone(), self.defaults.daily_cap);
        let clock = UtcDay::of(self.clock.now());
        let found = self.store.read(move |view| {
            let day = clock.not_before(view.latest_spend_day()?);
            let caps = caps(view, &agent, default)?;
            Ok(budget::decide(day, caps, view.spent(day, &agent)?, needed))
        });
        if let Err(exceeded) = found.await? {
            return Ok(Some(exceeded));
        }
        let demands = demands_of_request(usage_max(request, &terms), needed.0, MODEL_MS_MAX);
        match claimed.budget.clone() {
            Some(owner) => self.check_limits(owner, demands).await,
            None => Ok(None),
        }
    }
}

/// What a request is assembled from besides the run.
pub(crate) struct RequestContent<'a> {
    pub(crate) opening: &'a TranscriptEntry,
    pub(crate) entries: &'a [TranscriptEntry],
    pub(crate) guidance: &'a Guidance,
    pub(crate) kind: MessageKind,
    pub(crate) answer_schema: Option<&'a AnswerSchema>,
}

fn is_request(effects: &[Effect]) -> bool {
    matches!(effects.first(), Some(Effect::CallModel { .. }))
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
            claimed
                .tripped
                .extend(claimed.settings.guardrails.output_trips(&blocks));
            let originals = claimed.hooks.name_originals(&mut reply);
            EffectResult {
                input: RunInput::Replied(reply),
                contents: vec![blob.clone()],
                blobs: std::iter::once(blob).chain(originals).collect(),
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
