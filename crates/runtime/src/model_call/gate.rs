//! The permission to send a model request: the gates of inference and the reservation of its maximum cost.

use std::collections::BTreeSet;

use wakeful_core::attempt::TransportDiagnostics;
use wakeful_core::budget::{
    BudgetExceeded, BudgetGrant, BudgetPool, Caps, Demand, MicroUsd, Price, UtcDay, decide,
};
use wakeful_core::conversation::Usage;
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{
    self, ALL_GATES, DataBoundary, ImpliedChannel, InferenceDenial, InferencePermissions, InferenceQuery,
    ModelProfile, ReceiptStatus, RequestField,
};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::run::{AttemptCost, BUDGET_EXCEEDED};
use wakeful_core::time::Millis;
use wakeful_store::rows::{BudgetOwner, Fence, HoldEnd, PrivacyReceiptRow, Reservation};
use wakeful_store::{StoreError, Tx, View};

use crate::PrivacyMode;
use crate::budget::{self, ReservationRequest};
use crate::step::Freshness;

/// The rule that permits a request whose provider a person confirmed by requesting the run.
pub(super) const IMPLIED: &str = "inference_gates_implied_receipt";

/// Permission to send a model request.
pub(super) struct GateGrant {
    pub(super) provider: String,
    pub(super) rule: String,
    /// The reserved amount and its price; none if the request is free.
    pub(super) money: Option<(MicroUsd, Price)>,
    /// What is reserved under limits.
    pub(super) grants: Vec<BudgetGrant>,
}

impl GateGrant {
    pub(super) fn bill(self, cost: impl Fn(MicroUsd, Price) -> MicroUsd) -> AttemptCost {
        AttemptCost {
            provider: self.provider,
            rule: self.rule,
            cost: self.money.map(|(reserved, price)| cost(reserved, price)),
            exceeded: None,
        }
    }
}

pub(super) enum GateOutcome {
    Granted(GateGrant),
    /// This model may not be used; the next one of the route is tried. Contains the exceeded cap if the
    /// reason is the budget.
    Denied(InferenceDenial, Option<BudgetExceeded>),
    /// The budget does not cover the request, and no free model is left: the run is parked.
    Exceeded(BudgetExceeded),
}

/// A request for permission, prepared before its transaction.
pub(super) struct GateRequest {
    pub(super) fence: Fence,
    pub(super) operation_id: OperationId,
    pub(super) run_key: RunKey,
    pub(super) agent_id: AgentId,
    pub(super) model_ref: String,
    pub(super) profile: ModelProfile,
    pub(super) permissions: InferencePermissions,
    pub(super) policy_version: PolicyVersion,
    pub(super) fields: BTreeSet<RequestField>,
    /// The categories of data that the agent may use.
    pub(super) categories: BTreeSet<String>,
    /// The maximum cost and the price; none if the request is free.
    pub(super) most: Option<(MicroUsd, Price)>,
    /// Who draws on limits; none while no limit is set.
    pub(super) budget: Option<BudgetOwner>,
    /// What it may use at most, as limits count it.
    pub(super) demands: Vec<Demand>,
    pub(super) cap_default: MicroUsd,
    pub(super) privacy: PrivacyMode,
    pub(super) now: Millis,
}

/// The maximum cost of a request and its price; none if it is free.
pub(super) fn max_cost(request: &ModelRequest, terms: &ModelProfile) -> Option<(MicroUsd, Price)> {
    let (price, _) = terms.price?;
    Some((price.most(usage_max(request, terms)), price))
}

/// What a request and its reply may use at most.
pub(super) fn usage_max(request: &ModelRequest, terms: &ModelProfile) -> Usage {
    Usage {
        web_searches: request.web_searches_max(),
        ..Usage::of(request.estimated_tokens(), terms.output_tokens_max)
    }
}

impl GateRequest {
    /// Decides a request that neither leaves the machine nor costs anything: it needs no record before it
    /// is sent. Returns none for any other request.
    pub(super) fn decide_without_store(&self, freshness: Freshness) -> Option<GateOutcome> {
        let is_free = self.profile.boundary != DataBoundary::Outside && self.most.is_none();
        (is_free && freshness == Freshness::Fresh).then(|| match self.judge(ReceiptStatus::Missing) {
            Ok(()) => GateOutcome::Granted(self.permit(ALL_GATES)),
            Err(denial) => GateOutcome::Denied(denial, None),
        })
    }

    pub(super) fn judge(&self, receipt: ReceiptStatus) -> Result<(), InferenceDenial> {
        inference::decide(
            &self.permissions,
            &InferenceQuery {
                purpose: inference::ModelPurpose::Conversation,
                model_ref: &self.model_ref,
                profile: &self.profile,
                receipt,
                fields: &self.fields,
                categories: &self.categories,
            },
        )
    }

    fn permit(&self, rule: &str) -> GateGrant {
        GateGrant {
            provider: self.profile.provider.clone(),
            rule: rule.to_owned(),
            money: self.most,
            grants: Vec::new(),
        }
    }

    /// Evaluates the gates, reserves the maximum cost, and stores an implied privacy receipt.
    pub(super) fn put(&self, tx: &mut Tx<'_>) -> Result<GateOutcome, StoreError> {
        // Lock the head first, as in every transition: a runner that lost the agent must not spend money
        // for it.
        tx.lock_head(&self.agent_id, self.fence)?;
        // An earlier process sent this same request and its result is unknown, so its reservation counts as
        // spent. Limits are locked before money.
        let pools = match &self.budget {
            Some(owner) => {
                let unknown = [(self.operation_id, HoldEnd::InFull)];
                tx.settle_holds(&self.run_key, &unknown, self.now)?;
                tx.lock_limits(owner, self.now)?
            }
            None => Vec::new(),
        };
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
            if let Err(exceeded) = decide(day, caps, spent, amount) {
                return Ok(GateOutcome::Exceeded(exceeded));
            }
        }
        let grants = match self.reserve_under_limits(tx, pools)? {
            Ok(grants) => grants,
            Err(exceeded) => return Ok(GateOutcome::Exceeded(exceeded)),
        };
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
        let permit = self.permit(rule);
        Ok(GateOutcome::Granted(GateGrant { grants, ..permit }))
    }

    /// Reserves what the request may use under the limits of its run, which are locked.
    fn reserve_under_limits(
        &self,
        tx: &mut Tx<'_>,
        pools: Vec<BudgetPool>,
    ) -> Result<Result<Vec<BudgetGrant>, BudgetExceeded>, StoreError> {
        let Some(owner) = &self.budget else {
            return Ok(Ok(Vec::new()));
        };
        let request = ReservationRequest {
            owner,
            pools,
            operation_id: self.operation_id,
            demands: &self.demands,
        };
        budget::reserve(tx, request)
    }
}

/// The caps that apply to an agent.
pub(super) fn caps(view: &mut View<'_>, agent: &AgentId, default: MicroUsd) -> Result<Caps, StoreError> {
    Ok(Caps {
        agent: view.cap(Some(agent))?,
        all: view.cap(None)?.unwrap_or(default),
    })
}

/// The denial of a model over budget when another model of the route is free.
pub(super) fn over_budget_denial(exceeded: &BudgetExceeded) -> InferenceDenial {
    InferenceDenial {
        code: BUDGET_EXCEEDED,
        message: exceeded.words(),
        hint: "falling back to a free model of the route; `wakeful budget set` raises the cap".to_owned(),
    }
}

/// A gate denied the request. Another model of the route may still be used.
pub(super) fn denied(model_ref: &str, provider: &str, denial: &InferenceDenial) -> ModelFailure {
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
