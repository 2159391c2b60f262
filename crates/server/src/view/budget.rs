//! Wire types of budgets: dollars as text, to avoid rounding.

use wakeful_api::{
    AgentBudget, AgentSpending, Attempt, AttemptTimeline, Budget, BudgetLimit, CapOrigin, DaySpending,
    ParkedReason, PrivacyReceipt,
};
use wakeful_core::attempt::{AttemptRecord, Timeline};
use wakeful_core::budget::{BudgetExceeded, BudgetScope, MicroUsd, UtcDay};
use wakeful_core::id::AgentId;
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::time::Millis;
use wakeful_runtime::api;
use wakeful_runtime::rows::{PrivacyReceiptRow, SpendDay, StepRow};

use super::usage;

/// Spending and caps.
#[must_use]
pub fn budget(budget: &api::Budget) -> Budget {
    let set = budget.caps.iter().find(|cap| cap.agent_id.is_none());
    let today = budget.days.iter().find(|day| day.day == budget.day);
    let own_caps = budget.caps.iter().filter_map(|cap| cap.agent_id.clone());
    let spent_today = budget.today.iter().filter_map(|day| day.agent_id.clone());
    let agents: std::collections::BTreeSet<AgentId> = own_caps.chain(spent_today).collect();
    Budget {
        day: day(budget.day),
        next_day_at: budget.day.next().begins().rfc3339(),
        daily_cap_usd: set.map_or(budget.cap_default, |cap| cap.daily).to_string(),
        cap_origin: match set {
            Some(_) => CapOrigin::Set,
            None => CapOrigin::Default,
        },
        spent_usd: today.map_or(MicroUsd(0), |today| today.settled).to_string(),
        reserved_usd: today.map_or(MicroUsd(0), |today| today.reserved).to_string(),
        agents: agents
            .into_iter()
            .map(|agent| agent_budget(budget, &agent))
            .collect(),
        days: budget.days.iter().map(day_spending).collect(),
    }
}

fn agent_budget(budget: &api::Budget, agent: &AgentId) -> AgentBudget {
    let cap = budget
        .caps
        .iter()
        .find(|cap| cap.agent_id.as_ref() == Some(agent));
    let today = budget
        .today
        .iter()
        .find(|day| day.agent_id.as_ref() == Some(agent));
    AgentBudget {
        daily_cap_usd: cap.map(|cap| cap.daily.to_string()),
        spent_usd: today.map_or(MicroUsd(0), |today| today.settled).to_string(),
        reserved_usd: today.map_or(MicroUsd(0), |today| today.reserved).to_string(),
        requests: today.map_or(0, |today| today.requests),
        agent_id: agent.to_string(),
    }
}

/// A limit with its use.
#[must_use]
pub fn limit(report: &api::LimitReport) -> BudgetLimit {
    let api::LimitReport { key, pool, .. } = report;
    let subject = match key.scope {
        BudgetScope::All => None,
        BudgetScope::Session => Some(key.subject.replacen(":session:", "/", 1)),
        BudgetScope::Tree | BudgetScope::Agent | BudgetScope::Run => Some(key.subject.clone()),
    };
    BudgetLimit {
        limit_id: pool.limit.to_string(),
        scope: key.scope,
        subject,
        resource: key.resource,
        period: key.period,
        max: pool.max,
        used: pool.settled,
        reserved: pool.reserved,
        origin: match report.is_set {
            true => CapOrigin::Set,
            false => CapOrigin::Default,
        },
        period_ends_at: pool.period.ends(pool.index).map(Millis::rfc3339),
        counted_since: report.counted_at.map(Millis::rfc3339),
        exhausted_at: report.exhausted_at.map(Millis::rfc3339),
    }
}

/// The spending of an agent over the last days.
#[must_use]
pub fn spending(agent: &AgentId, days: &[SpendDay]) -> AgentSpending {
    AgentSpending {
        agent_id: agent.to_string(),
        days: days.iter().map(day_spending).collect(),
    }
}

fn day_spending(spent: &SpendDay) -> DaySpending {
    DaySpending {
        day: day(spent.day),
        spent_usd: spent.settled.to_string(),
        reserved_usd: spent.reserved.to_string(),
        requests: spent.requests,
    }
}

/// A privacy receipt for a provider.
#[must_use]
pub fn receipt(row: &PrivacyReceiptRow) -> PrivacyReceipt {
    PrivacyReceipt {
        provider: row.provider.clone(),
        policy_version: row.policy_version.to_string(),
        channel: row.channel,
        at: row.at.rfc3339(),
    }
}

pub(super) fn parked(exceeded: &BudgetExceeded) -> ParkedReason {
    ParkedReason {
        code: BUDGET_EXCEEDED.to_owned(),
        scope: exceeded.scope,
        resource: exceeded.resource,
        period: exceeded.period,
        limit_id: exceeded.limit.map(|limit| limit.to_string()),
        max: exceeded.max,
        used: exceeded.used,
        needed: exceeded.needed,
        until: exceeded
            .until
            .filter(|_| exceeded.fits_later())
            .map(Millis::rfc3339),
        command: exceeded.command(),
        message: exceeded.words(),
        hint: exceeded.hint(),
    }
}

/// The attempts of a run that requested this model.
pub(super) fn timeline(requested: &str, steps: &[StepRow]) -> AttemptTimeline {
    let made = steps
        .iter()
        .filter_map(|step| Some((step, step.attempt.clone()?)));
    let (steps, records): (Vec<&StepRow>, Vec<AttemptRecord>) = made.unzip();
    let timeline = Timeline::of(requested, records);
    // A step is created when the previous one ends, so the wait in between is recorded there.
    let waits = timeline
        .attempts
        .iter()
        .map(|record| record.backoff_ms.unwrap_or(0));
    let waits = std::iter::once(0).chain(waits);
    let attempts = steps.into_iter().zip(&timeline.attempts).zip(waits);
    let attempts = attempts.map(|((step, record), waited_ms)| attempt(step, record, waited_ms));
    AttemptTimeline {
        attempts: attempts.collect(),
        requested_model_ref: timeline.requested_model_ref,
        active_model_ref: timeline.active_model_ref,
        winning_model_ref: timeline.winning_model_ref,
        aggregated_token_usage: timeline.aggregated_token_usage.map(usage),
    }
}

fn attempt(step: &StepRow, record: &AttemptRecord, waited_ms: u64) -> Attempt {
    let later = |at: Millis, ms: u64| Millis(at.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)));
    let started = later(step.put_at, waited_ms);
    Attempt {
        operation_id: step.operation_id.to_string(),
        provider: record.provider.clone(),
        model_ref: record.model_ref.clone(),
        attempt: record.attempt,
        max_attempts: record.max_attempts,
        started_at: started.rfc3339(),
        completed_at: later(started, record.duration_ms).rfc3339(),
        duration_ms: record.duration_ms,
        failure_kind: record.failure_kind.clone(),
        disposition: record.disposition,
        outcome: record.outcome,
        advanced_to_fallback: record.advanced_to_fallback,
        backoff_ms: record.backoff_ms,
        token_usage: record.token_usage.map(usage),
        cost_usd: record.cost.map(|cost| cost.to_string()),
        rule: record.rule.clone(),
        transport_diagnostics: record
            .transport_diagnostics
            .as_ref()
            .and_then(|diagnostics| serde_json::to_value(diagnostics).ok()),
    }
}

/// Formats a day as an ISO date.
fn day(day: UtcDay) -> String {
    day.begins().rfc3339().chars().take(10).collect()
}
