//! One model round: attempts, fallback to the next model of the route, and parking when the budget is
//! exceeded.

use serde::{Deserialize, Serialize};

use super::guard::is_block;
use super::{ATTEMPTS_MAX, MODEL_RETRY, RunMachine, RunOutcome, RunPhase, StepWrite, Transition};
use crate::attempt::{AttemptOutcome, AttemptRecord};
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::conversation::Usage;
use crate::failure::{CONTEXT_LENGTH_EXCEEDED, ModelFailure, ModelFailureKind};
use crate::key::OperationId;
use crate::report::EventDraft;
use crate::report::payload::{ProviderRoundCompleted, RunParked, RuntimeError};
use crate::step::{StepStatus, model_operation};

/// Largest number of models in a route, including the requested one.
pub const ROUTE_MAX: usize = 8;

/// Which provider was used under which rule, and the cost of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptCost {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The rule that permitted the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// None if the attempt was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// The exceeded cap, if the request was not sent because of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<BudgetExceeded>,
}

/// The progress of a model round.
pub(super) struct ModelRound {
    /// Attempt with the current model, starting at 1.
    pub(super) attempt: u32,
    /// Models of the route that were skipped in this round.
    pub(super) missed: Vec<SkippedModel>,
}

/// A model of the route that was skipped in this round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedModel {
    pub model_ref: String,
    /// Number of requests to it.
    pub attempts: u32,
    /// The kind of the last failure.
    pub kind: String,
    /// Why it was skipped.
    pub outcome: AttemptOutcome,
    /// The exceeded cap, if the request was not sent because of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<BudgetExceeded>,
}

/// A model of the route that was skipped only because of the budget. A run that continued with a free model
/// returns to it when the free model fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnaffordableModel {
    /// Its index in the route; 0 is the requested model.
    pub candidate: u32,
    /// The cap that was exceeded.
    pub exceeded: BudgetExceeded,
}

impl RunMachine {
    /// Returns the current model: the requested one or a fallback. A run that has fallen back stays with
    /// the fallback, because switching models within a conversation loses the prompt cache of both.
    #[must_use]
    pub fn active_model(&self) -> &str {
        match usize::try_from(self.candidate).unwrap_or(usize::MAX) {
            0 => &self.model_ref,
            index => self.fallbacks.get(index - 1).unwrap_or(&self.model_ref),
        }
    }

    /// Returns the models of the route that have not been tried.
    #[must_use]
    pub fn models_left(&self) -> &[String] {
        let asked = usize::try_from(self.candidate).unwrap_or(usize::MAX);
        self.fallbacks.get(asked..).unwrap_or_default()
    }

    /// Sets the models used after permanent failures.
    #[must_use]
    pub fn with_fallbacks(mut self, fallbacks: Vec<String>) -> Self {
        self.fallbacks = fallbacks;
        self.fallbacks.truncate(ROUTE_MAX - 1);
        self
    }

    pub(super) fn attempt_failed(
        mut self,
        round: ModelRound,
        failure: ModelFailure,
        duration_ms: u64,
        bill: AttemptCost,
    ) -> Transition {
        let ModelRound { attempt, mut missed } = round;
        let request = self.requests;
        self.requests = self.requests.saturating_add(1);
        self.cost = self.cost.plus(bill.cost.unwrap_or_default());
        let next = next_attempt(attempt, &failure, &model_operation(&self.run_key, request));
        let has_fallback = usize::try_from(self.candidate).unwrap_or(usize::MAX) < self.fallbacks.len();
        let is_blocked = is_block(&failure);
        let is_last_word = is_blocked || failure.artifact.kind == CONTEXT_LENGTH_EXCEEDED;
        let outcome = next.err().unwrap_or(AttemptOutcome::Retrying);
        let exceeded = bill.exceeded;
        let record = AttemptRecord {
            failure_kind: Some(failure.artifact.kind.clone()),
            disposition: Some(failure.kind),
            outcome,
            advanced_to_fallback: next.is_err() && has_fallback && !is_last_word,
            backoff_ms: next.ok(),
            transport_diagnostics: failure.diagnostics.as_deref().cloned(),
            ..self.record(attempt, duration_ms, bill)
        };
        let (model_ref, advances) = (record.model_ref.clone(), record.advanced_to_fallback);
        let operation = model_operation(&self.run_key, request);
        let mut moved = self.unmoved();
        moved.settle_model(operation, StepStatus::Failed, record);
        match next {
            Ok(delay_ms) => moved.ask(attempt + 1, delay_ms, missed),
            Err(outcome) => {
                missed.push(SkippedModel {
                    model_ref,
                    attempts: attempt,
                    kind: failure.artifact.kind.clone(),
                    outcome,
                    exceeded,
                });
                if advances {
                    moved.turn.candidate = moved.turn.candidate.saturating_add(1);
                    moved.ask(1, 0, missed);
                } else if is_blocked || !moved.wait_for_money(&missed) {
                    moved.give_up(failure, attempt, &missed);
                }
            }
        }
        moved
    }

    /// The budget does not cover the intended request: the run is parked and keeps its state.
    pub(super) fn parked(
        self,
        attempt: u32,
        missed: Vec<SkippedModel>,
        exceeded: BudgetExceeded,
    ) -> Transition {
        let operation = model_operation(&self.run_key, self.requests);
        let mut moved = self.unmoved();
        moved.steps.push(StepWrite::Postpone(operation));
        moved.park(attempt, missed, exceeded);
        moved
    }

    /// Resumes a parked run: intends the same request again, and the budget is checked again.
    pub(super) fn resumed(self, attempt: u32, missed: Vec<SkippedModel>) -> Transition {
        let operation = model_operation(&self.run_key, self.requests);
        let mut moved = self.unmoved();
        moved.steps.push(StepWrite::Intend(operation));
        moved.turn.phase = RunPhase::Modelling {
            attempt,
            delay_ms: 0,
            missed,
        };
        moved.effects.push(moved.turn.call_model(0));
        moved
    }

    pub(super) fn cancelled(self) -> Transition {
        let step = model_operation(&self.run_key, self.requests);
        let mut moved = self.unmoved();
        moved
            .steps
            .push(settle(step, StepStatus::Failed, 0, Usage::default()));
        moved.end(RunOutcome::Cancelled, None);
        moved
    }

    /// Fills in the fields that are the same for every attempt of this round.
    pub(super) fn record(&self, attempt: u32, duration_ms: u64, bill: AttemptCost) -> AttemptRecord {
        AttemptRecord {
            provider: bill.provider,
            model_ref: self.active_model().to_owned(),
            attempt,
            max_attempts: ATTEMPTS_MAX,
            duration_ms,
            failure_kind: None,
            disposition: None,
            outcome: AttemptOutcome::Succeeded,
            advanced_to_fallback: false,
            backoff_ms: None,
            token_usage: None,
            cost: bill.cost,
            rule: bill.rule,
            transport_diagnostics: None,
        }
    }
}

/// Code of a run that is parked because of the budget.
pub const BUDGET_EXCEEDED: &str = "budget_exceeded";

impl Transition {
    /// Sends a request to the current model as its attempt number `attempt`.
    pub(super) fn ask(&mut self, attempt: u32, delay_ms: u64, missed: Vec<SkippedModel>) {
        self.turn.phase = RunPhase::Modelling {
            attempt,
            delay_ms,
            missed,
        };
        self.put_request(StepStatus::Intended);
        self.effects.push(self.turn.call_model(delay_ms));
    }

    fn put_request(&mut self, status: StepStatus) {
        self.steps.push(StepWrite::Put {
            operation_id: model_operation(&self.turn.run_key, self.turn.requests),
            name: self.turn.active_model().to_owned(),
            class: None,
            base: None,
            status,
            reason: String::new(),
            call: None,
        });
    }

    fn park(&mut self, attempt: u32, missed: Vec<SkippedModel>, exceeded: BudgetExceeded) {
        self.events.push(EventDraft::new(RunParked {
            code: BUDGET_EXCEEDED.to_owned(),
            exceeded,
            action: None,
        }));
        self.turn.phase = RunPhase::Parked {
            attempt,
            missed,
            exceeded,
        };
    }

    /// If a model of this round or an earlier one was skipped only because of the budget, returns to it and
    /// parks the run. Returns whether there was such a model.
    fn wait_for_money(&mut self, missed: &[SkippedModel]) -> bool {
        let earlier = self.turn.unpaid.take();
        let Some(unpaid) = earlier.or_else(|| first_unpaid(missed, self.turn.candidate)) else {
            return false;
        };
        // The models after it are tried again once it has failed, so their entries are removed from this
        // round.
        let asked_anew = self.turn.candidate.saturating_sub(unpaid.candidate);
        let asked_anew = usize::try_from(asked_anew).unwrap_or(usize::MAX);
        let before = missed.len().saturating_sub(asked_anew.saturating_add(1));
        self.turn.candidate = unpaid.candidate;
        self.put_request(StepStatus::Planned);
        let missed = missed.get(..before).unwrap_or_default().to_vec();
        self.park(1, missed, unpaid.exceeded);
        true
    }

    /// Records the result of an attempt and emits its event.
    pub(super) fn settle_model(
        &mut self,
        operation_id: OperationId,
        status: StepStatus,
        record: AttemptRecord,
    ) {
        let usage = record.token_usage.unwrap_or_default();
        self.events.push(EventDraft::new(ProviderRoundCompleted {
            attempt: Box::new(record.clone()),
            round: self.turn.rounds,
        }));
        let mut end = settle(operation_id, status, record.duration_ms, usage);
        if let StepWrite::Settle { attempt, reason, .. } = &mut end {
            *reason = record.failure_kind.clone();
            *attempt = Some(Box::new(record));
        }
        self.steps.push(end);
    }

    /// Fails the run, because no model of the route is left.
    fn give_up(&mut self, failure: ModelFailure, attempts: u32, missed: &[SkippedModel]) {
        let mut artifact = failure.artifact.bounded();
        artifact.metadata.insert("attempts".into(), attempts.to_string());
        for (index, model) in missed.iter().enumerate().filter(|_| missed.len() > 1) {
            let said = format!(
                "{}: {} ({}, {} attempts)",
                model.model_ref, model.outcome, model.kind, model.attempts
            );
            artifact.metadata.insert(format!("candidate_{}", index + 1), said);
        }
        let artifact = artifact.bounded();
        self.events.push(EventDraft::new(RuntimeError {
            failure_artifact: artifact.clone(),
        }));
        self.end(RunOutcome::Failed(artifact), None);
    }
}

/// Returns the earliest model skipped because of the budget, among the skipped models that end with
/// candidate `newest`.
pub(super) fn first_unpaid(missed: &[SkippedModel], newest: u32) -> Option<UnaffordableModel> {
    missed
        .iter()
        .rev()
        .zip(0..)
        .filter_map(|(model, back)| {
            let candidate = newest.checked_sub(back)?;
            model
                .exceeded
                .map(|exceeded| UnaffordableModel { candidate, exceeded })
        })
        .last()
}

fn settle(operation_id: OperationId, status: StepStatus, duration_ms: u64, usage: Usage) -> StepWrite {
    StepWrite::Settle {
        operation_id,
        status,
        duration_ms,
        sandbox: None,
        exit_status: None,
        reason: None,
        usage,
        attempt: None,
        end: None,
    }
}

/// Returns the wait before the next attempt, or why there is none.
fn next_attempt(
    attempt: u32,
    failure: &ModelFailure,
    operation: &OperationId,
) -> Result<u64, AttemptOutcome> {
    match failure.kind {
        ModelFailureKind::FailFast => Err(AttemptOutcome::FailFastAborted),
        ModelFailureKind::Retryable => MODEL_RETRY
            .wait_ms(attempt, failure.retry_after_ms, &operation.0)
            .ok_or(AttemptOutcome::RetriesExhausted),
    }
}
