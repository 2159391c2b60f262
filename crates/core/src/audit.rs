//! Audit entries: what was decided about each call of a tool and each request to a model, denials included.
//!
//! An entry is derived from an event and written with it, in the same transaction. Unlike events, entries are
//! never pruned, and the database refuses to change or delete them; only an erasure for which a person's
//! [consent](ConsentRecord) is recorded removes them. `verify` derives every entry from its event again.

use serde::{Deserialize, Serialize};

use crate::attempt::AttemptRecord;
use crate::decision::{Channel, DENY, DecisionStatus};
use crate::failure::truncate_chars;
use crate::guardrail::GUARDRAIL;
use crate::id::{AgentId, PolicyVersion};
use crate::inference;
use crate::key::{Digest, OperationId, RunKey, derived_hash};
use crate::policy::{DenialCategory, GateStage, HOST_NOT_ALLOWED, PolicyEffect, RuleName};
use crate::report::payload::{
    ActionCancelled, DecisionAnswered, ErasedTarget, Payload, PolicyDecided, RunParked, RuntimeError,
    ToolExecuted,
};
use crate::report::{Event, EventKind, PREVIEW_CHARS_MAX};
use crate::run::{BUDGET_EXCEEDED, HOOK_BLOCKED};
use crate::time::Millis;

string_enum! {
    /// What an audit entry says about a call.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "AuditDecision")]
    pub enum AuditDecision {
        /// It may be performed.
        Permit = "permit",
        /// A person is asked.
        Ask = "ask",
        /// It is not performed.
        Deny = "deny",
    }
}

impl From<PolicyEffect> for AuditDecision {
    fn from(effect: PolicyEffect) -> Self {
        match effect {
            PolicyEffect::Permit => Self::Permit,
            PolicyEffect::Ask => Self::Ask,
            PolicyEffect::Deny => Self::Deny,
        }
    }
}

/// The part of an audit entry that comes from the content of its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditContent {
    /// The call; none for a model request.
    pub operation_id: Option<OperationId>,
    /// The tool; empty for a model request.
    pub tool: String,
    pub decision: AuditDecision,
    /// The stage that decided.
    pub stage: GateStage,
    /// The rule that decided, or the code of the stop.
    pub rule: String,
    /// Why, for people; empty if the rule of the program says it.
    pub reason: String,
    /// Set if the call was denied.
    pub category: Option<DenialCategory>,
}

impl AuditContent {
    /// Why it was decided so.
    #[must_use]
    pub fn words(&self) -> &str {
        match self.reason.as_str() {
            "" => rule_words(&self.rule),
            reason => reason,
        }
    }
}

/// What a rule of the program says; empty for any other rule.
fn rule_words(rule: &str) -> &'static str {
    RuleName::parse(rule).map_or("", RuleName::words)
}

/// An audit entry. Its position is that of its event in the agent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub agent_id: AgentId,
    /// The number of the event.
    pub seq: u64,
    pub run_key: Option<RunKey>,
    pub content: AuditContent,
    /// The version of the policy that was applied; none if no policy decided.
    pub policy_version: Option<PolicyVersion>,
    pub at: Millis,
}

/// A position in a list of entries, newest first: that of an entry, or one before all entries of a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPosition {
    pub at: Millis,
    /// The agent; a text after every name is before all entries of the time.
    pub agent: String,
    pub seq: u64,
}

impl AuditPosition {
    /// The position before the newest entry of a time; of all entries without one.
    #[must_use]
    pub fn newest(until: Option<Millis>) -> Self {
        Self {
            at: until.unwrap_or(Millis(i64::MAX)),
            agent: "\u{7f}".to_owned(),
            seq: u64::MAX,
        }
    }

    /// The position after an entry.
    #[must_use]
    pub fn after(entry: &AuditEntry) -> Self {
        Self {
            at: entry.at,
            agent: entry.agent_id.to_string(),
            seq: entry.seq,
        }
    }

    /// Parses the form that [`Display`](std::fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (at, rest) = text.split_once('.')?;
        let (agent, seq) = rest.split_once('.')?;
        let number = |digits: &str| {
            let is_number =
                (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        };
        Some(Self {
            at: Millis(number(at)?),
            agent: AgentId::parse(agent).ok()?.to_string(),
            seq: u64::try_from(number(seq)?).ok()?,
        })
    }
}

impl std::fmt::Display for AuditPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.at.0, self.agent, self.seq)
    }
}

/// Which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub tool: Option<String>,
    pub decision: Option<AuditDecision>,
    pub stage: Option<GateStage>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
}

impl AuditFilter {
    /// Whether an entry is listed.
    #[must_use]
    pub fn selects(&self, entry: &AuditEntry) -> bool {
        let content = &entry.content;
        self.tool.as_ref().is_none_or(|tool| *tool == content.tool)
            && self.decision.is_none_or(|decision| decision == content.decision)
            && self.stage.is_none_or(|stage| stage == content.stage)
            && self.since.is_none_or(|since| since <= entry.at)
            && self.until.is_none_or(|until| entry.at <= until)
    }
}

/// The entry of an event; none if the event decides nothing.
#[must_use]
pub fn entry(agent: &AgentId, event: &Event) -> Option<AuditEntry> {
    let sealed = &event.sealed;
    let content = sealed.audit.as_deref()?;
    Some(AuditEntry {
        agent_id: agent.clone(),
        seq: event.seq,
        run_key: sealed.run_key,
        content: content.clone(),
        policy_version: sealed.policy_version.clone(),
        at: sealed.at,
    })
}

/// Whether every event of this kind has an entry, so that a missing one is noticed even after the content of
/// the event was pruned.
#[must_use]
pub const fn is_always_audited(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::PolicyDecided
            | EventKind::ConnectionRefused
            | EventKind::ActionCancelled
            | EventKind::DecisionAnswered
            | EventKind::RunParked
    )
}

/// The audit content of an event's payload; none if the event decides nothing.
#[must_use]
pub fn content(payload: &Payload) -> Option<AuditContent> {
    let mut content = untruncated(payload)?;
    // Notes and errors of tools may be long, and entries are kept permanently.
    content.reason = truncate_chars(&content.reason, PREVIEW_CHARS_MAX);
    // Most calls are permitted, and repeating the same sentence with each takes space.
    if content.reason == rule_words(&content.rule) {
        content.reason.clear();
    }
    Some(content)
}

fn untruncated(payload: &Payload) -> Option<AuditContent> {
    match payload {
        Payload::PolicyDecided(decided) => Some(judged(decided)),
        Payload::ConnectionRefused(refused) => Some(AuditContent {
            operation_id: Some(refused.operation_id),
            tool: refused.tool.clone(),
            decision: AuditDecision::Deny,
            stage: GateStage::Sandbox,
            rule: HOST_NOT_ALLOWED.to_owned(),
            reason: refused.reason.clone(),
            category: Some(DenialCategory::of_code(HOST_NOT_ALLOWED)),
        }),
        Payload::ActionCancelled(cancelled) => Some(stopped(cancelled)),
        Payload::DecisionAnswered(answered) => Some(decided_by_person(answered)),
        Payload::ToolExecuted(executed) => refused_by_tool(executed),
        Payload::RunParked(parked) => Some(over_budget(parked)),
        Payload::RuntimeError(failed) => refused_request(failed),
        Payload::ProviderRoundCompleted(round) => refused_model(&round.attempt),
        Payload::MessageAdmitted(_)
        | Payload::AgentStateChanged(_)
        | Payload::WakeDecided(_)
        | Payload::RunStarted(_)
        | Payload::AssistantRoundRecorded(_)
        // The denial that a guardrail or a hook leads to has its own entry.
        | Payload::GuardrailTripped(_)
        | Payload::HookExecuted(_)
        | Payload::SubRunStarted(_)
        | Payload::RunEnded(_)
        | Payload::DecisionAsked(_)
        | Payload::DecisionEscalated(_)
        | Payload::PolicyChanged(_)
        | Payload::BrakeChanged(_)
        | Payload::RunQuarantined(_)
        | Payload::QuarantineResolved(_)
        | Payload::AttentionDismissed(_)
        | Payload::RunUndone(_)
        | Payload::ContentErased(_)
        | Payload::DataPruned(_)
        | Payload::RowsBound(_) => None,
    }
}

/// A verdict. A call that may not begin is denied, even if the policy permits it.
fn judged(decided: &PolicyDecided) -> AuditContent {
    let decision = match decided.status {
        Some(_) => AuditDecision::Deny,
        None => decided.effect.into(),
    };
    AuditContent {
        operation_id: Some(decided.operation_id),
        tool: decided.tool.clone(),
        decision,
        stage: decided.stage.unwrap_or(GateStage::Policy),
        rule: decided.rule.clone(),
        reason: decided.reason.clone(),
        category: decided.category,
    }
}

/// A call that was stopped after its verdict and before it began.
fn stopped(cancelled: &ActionCancelled) -> AuditContent {
    AuditContent {
        operation_id: Some(cancelled.operation_id),
        tool: cancelled.tool.clone(),
        decision: AuditDecision::Deny,
        stage: cancelled.stage.unwrap_or(GateStage::Execute),
        rule: cancelled.code.clone().unwrap_or_default(),
        reason: cancelled.error.clone().unwrap_or_default(),
        category: cancelled.category,
    }
}

/// A person's answer, or a decision that was closed without one.
fn decided_by_person(answered: &DecisionAnswered) -> AuditContent {
    let answer = answered.answer.as_ref();
    let is_permitted =
        answered.status == DecisionStatus::Answered && answer.is_some_and(|answer| answer.option != DENY);
    let reason = match answer {
        Some(answer) => {
            let note = answer
                .note
                .as_ref()
                .map_or_else(String::new, |note| format!(": {note}"));
            format!("{} by {}{note}", answer.option, answer.channel)
        }
        None => format!("{} without an answer", answered.status),
    };
    AuditContent {
        operation_id: Some(answered.operation_id),
        tool: answered.tool.clone(),
        decision: if is_permitted {
            AuditDecision::Permit
        } else {
            AuditDecision::Deny
        },
        stage: GateStage::Decision,
        rule: answered.status.as_str().to_owned(),
        reason,
        category: (!is_permitted).then_some(DenialCategory::ConfirmationRequired),
    }
}

/// A permitted call that its tool refused.
fn refused_by_tool(executed: &ToolExecuted) -> Option<AuditContent> {
    let category = executed.category?;
    Some(AuditContent {
        operation_id: Some(executed.operation_id),
        tool: executed.tool.clone(),
        decision: AuditDecision::Deny,
        stage: executed.stage.unwrap_or(GateStage::Execute),
        rule: executed.code.clone().unwrap_or_default(),
        reason: executed.error.clone().unwrap_or_default(),
        category: Some(category),
    })
}

/// A model request or an action that no budget covers.
fn over_budget(parked: &RunParked) -> AuditContent {
    let action = parked.action.as_ref();
    AuditContent {
        operation_id: action.map(|action| action.operation_id),
        tool: action.map_or_else(String::new, |action| action.tool.clone()),
        decision: AuditDecision::Deny,
        stage: GateStage::Quota,
        rule: parked.code.clone(),
        reason: parked.exceeded.words(),
        category: Some(DenialCategory::BudgetExceeded),
    }
}

/// A request that a gate or the budget refused to one model of a route, so that the next one is asked. The refusal
/// of the last one ends the run or parks it, which has its own entry.
fn refused_model(attempt: &AttemptRecord) -> Option<AuditContent> {
    let kind = attempt.failure_kind.as_deref()?;
    let mut codes = inference::CODES.into_iter().chain([BUDGET_EXCEEDED]);
    let code = codes.find(|code| *code == kind && attempt.advanced_to_fallback)?;
    Some(AuditContent {
        operation_id: None,
        tool: String::new(),
        decision: AuditDecision::Deny,
        stage: stage_of_request(code),
        rule: code.to_owned(),
        reason: format!("the request to {} was not sent", attempt.model_ref),
        category: Some(DenialCategory::of_code(code)),
    })
}

fn stage_of_request(code: &str) -> GateStage {
    match code {
        inference::OUT_OF_SCOPE => GateStage::Scope,
        HOOK_BLOCKED => GateStage::Hooks,
        BUDGET_EXCEEDED => GateStage::Quota,
        _ => GateStage::Policy,
    }
}

/// A model request, or a reply, that a gate, a guardrail or a hook refused; none for any other failure.
fn refused_request(failed: &RuntimeError) -> Option<AuditContent> {
    let artifact = &failed.failure_artifact;
    let mut codes = inference::CODES.into_iter().chain([GUARDRAIL, HOOK_BLOCKED]);
    let code = codes.find(|code| *code == artifact.kind)?;
    Some(AuditContent {
        operation_id: None,
        tool: String::new(),
        decision: AuditDecision::Deny,
        stage: stage_of_request(code),
        rule: code.to_owned(),
        reason: artifact.summary.clone(),
        category: Some(DenialCategory::of_code(code)),
    })
}

/// A person's consent to an erasure: what may be removed, why, and through which channel the person asked. It
/// is used once, by the erasure that it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRecord {
    pub consent_id: Digest,
    /// The agent whose contents are erased.
    pub agent_id: AgentId,
    /// The reason that the person gave.
    pub purpose: String,
    pub target: ErasedTarget,
    pub channel: Channel,
    pub at: Millis,
    /// The event that records the erasure.
    pub used_seq: u64,
}

impl ConsentRecord {
    /// The id of the consent to the erasure that an event records. It is derived, so that the log proves it.
    #[must_use]
    pub fn id_of(agent: &AgentId, used_seq: u64) -> Digest {
        derived_hash("consent", &[agent.as_str(), &used_seq.to_string()])
    }
}

#[cfg(test)]
mod tests;
