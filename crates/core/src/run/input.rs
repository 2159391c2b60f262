//! Inputs of a run as the run log stores them: contents by hash, together with the read set.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AttemptCost, EntryWrite};
use crate::blob::BlobHash;
use crate::budget::BudgetExceeded;
use crate::conversation::Usage;
use crate::decision::{ApprovalOutcome, ApprovalRequest};
use crate::failure::ModelFailure;
use crate::guardrail::GuardrailTrip;
use crate::key::{ActionParts, DecisionId, OperationId, RunKey};
use crate::policy::{PolicyVerdict, Target};
use crate::provenance::{Evidence, SourceKind, Sources};
use crate::rate::RateReads;
use crate::report::payload::HookExecuted;
use crate::step::{CallReads, ChildRun, StepResult};
use crate::time::Millis;
use crate::tool::{CallRisk, GateStop, QuotaReads, WEB_SEARCH};

/// An input of the run machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum RunInput {
    /// The message was admitted and the run begins.
    Admitted {
        /// The message text as a transcript entry.
        body: BlobHash,
        /// The whole conversation that the run begins with, if it continues an earlier run. It contains the
        /// body where it belongs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        history: Vec<EntryWrite>,
        /// The untrusted sources of the messages, of their causes and of what came with them.
        #[serde(default, skip_serializing_if = "Sources::is_empty")]
        sources: Sources,
        /// Whether the text is the operator's own words, so that only what came with it can be untrusted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_instruction: bool,
    },
    /// The model replied.
    Replied(ModelReply),
    /// An attempt at a model round failed.
    AttemptFailed {
        failure: ModelFailure,
        duration_ms: u64,
        /// Which provider was used, and the cost.
        #[serde(default)]
        bill: AttemptCost,
    },
    /// The budget does not cover the intended request.
    Parked {
        /// The cap that was exceeded.
        exceeded: BudgetExceeded,
    },
    /// A parked run resumes.
    Resumed,
    /// Some of the intended actions ended.
    Settled { results: Vec<StepResult> },
    /// Intended actions started runs of other agents, in the transaction that applies this input.
    Started { starts: Vec<SubRunStart> },
    /// A stop arrived before the intended actions began. None of them begins until it is intended again.
    Postponed,
    /// A person cancelled the run.
    Cancelled,
    /// A decision about an action was closed.
    Decided {
        decision_id: DecisionId,
        /// The consequence for the action.
        ruling: ApprovalOutcome,
    },
    /// An approval was not used before it expired; it is requested again.
    ApprovalExpired {
        /// The original request.
        inquiry: Box<ApprovalRequest>,
    },
}

impl RunInput {
    /// The start of a run that continues no earlier one.
    #[must_use]
    pub const fn admitted(body: BlobHash) -> Self {
        Self::Admitted {
            body,
            history: Vec::new(),
            sources: Sources::none(),
            is_instruction: true,
        }
    }

    /// The untrusted sources of a run's first entry. The text of an instruction is the operator's; only what came
    /// with it can be untrusted.
    #[must_use]
    pub fn opening_sources(&self) -> Sources {
        match self {
            Self::Admitted {
                sources,
                is_instruction: true,
                ..
            } => sources.attachments(),
            Self::Admitted { sources, .. } => sources.clone(),
            Self::Replied(_)
            | Self::AttemptFailed { .. }
            | Self::Parked { .. }
            | Self::Resumed
            | Self::Settled { .. }
            | Self::Started { .. }
            | Self::Postponed
            | Self::Cancelled
            | Self::Decided { .. }
            | Self::ApprovalExpired { .. } => Sources::none(),
        }
    }

    /// The name under which the run log lists the input.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Admitted { .. } => "admitted",
            Self::Replied(_) => "replied",
            Self::AttemptFailed { .. } => "attempt_failed",
            Self::Parked { .. } => "parked",
            Self::Resumed => "resumed",
            Self::Settled { .. } => "settled",
            Self::Started { .. } => "started",
            Self::Postponed => "postponed",
            Self::Cancelled => "cancelled",
            Self::Decided { .. } => "decided",
            Self::ApprovalExpired { .. } => "lapsed",
        }
    }

    /// Returns whether a round may end with this input, so that interjections join before the next one.
    #[must_use]
    pub const fn may_end_round(&self) -> bool {
        match self {
            Self::Replied(reply) => !reply.calls.is_empty(),
            Self::Settled { .. } | Self::Decided { .. } => true,
            Self::Admitted { .. }
            | Self::AttemptFailed { .. }
            | Self::Parked { .. }
            | Self::Resumed
            | Self::Started { .. }
            | Self::Postponed
            | Self::Cancelled
            | Self::ApprovalExpired { .. } => false,
        }
    }
}

/// A run that an action of the plan started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubRunStart {
    /// The action that started it.
    pub operation_id: OperationId,
    #[serde(flatten)]
    pub child: ChildRun,
    /// How many runs are above it.
    pub depth: u32,
}

/// A model reply with its contents by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The reply as a transcript entry.
    pub content: BlobHash,
    /// Its first words, shown to people.
    pub preview: String,
    pub usage: Usage,
    pub duration_ms: u64,
    /// Which provider was used, and the cost.
    #[serde(default)]
    pub bill: AttemptCost,
    /// Requested tool calls, in order.
    pub calls: Vec<ReplyCall>,
    /// The queries with which the provider searched the web for this reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web_searches: Vec<String>,
    /// How a reply without tool calls violates the schema of the run's answer; empty if it fits or the run has
    /// no schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

impl ModelReply {
    /// The untrusted sources of the reply: what the provider found on the web.
    #[must_use]
    pub fn sources(&self) -> Sources {
        match self.web_searches.is_empty() {
            true => Sources::none(),
            false => Sources::of(SourceKind::Web, WEB_SEARCH),
        }
    }
}

/// One tool call of a reply, with contents by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyCall {
    /// The call id that the provider assigned.
    pub call_id: String,
    #[serde(flatten)]
    pub parts: ActionParts,
    /// The first words of its arguments, shown to people.
    #[serde(default)]
    pub preview: String,
    /// The arguments as the model wrote them, if a hook changed them. The reply has the changed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_input: Option<BlobHash>,
}

/// What the driver loads before it applies an input. `calls` has one entry per call of a reply and is empty
/// for other inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputReads {
    /// One entry per call of the reply, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallReads>,
    /// Nothing may begin because a brake is on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// The current time, set where an approval may have expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Millis>,
    /// Planned actions for which the rules are stricter now than when they were planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restricted: Vec<Restriction>,
    /// The quotas of the tools that the reply or the plan uses, with their use so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quotas: BTreeMap<String, QuotaReads>,
    /// The rates of the tools that the reply or the plan uses; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<RateReads>,
    /// The limit that does not cover the actions that would begin with this input. The driver tries to reserve for
    /// all of them first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetStop>,
    /// Interjections in order. They join before the next model request; until then they stay queued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected: Vec<Interjection>,
    /// The guardrails that the messages before the request, or the text of the reply, tripped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailTrip>,
    /// The hooks that ran since the last input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookExecuted>,
    /// The untrusted sources of the transcript that the reply is based on, as far as the run does not have them.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// How many actions the budget covers, and why not more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStop {
    /// The number of actions that may begin, in their order.
    pub covered: u32,
    /// The limit that does not cover the next one.
    pub exceeded: BudgetExceeded,
}

/// A planned action that now requires approval or is denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restriction {
    pub operation_id: OperationId,
    /// The first words of its arguments, shown to people.
    #[serde(default)]
    pub preview: String,
    /// The verdict under the rules that apply now.
    pub verdict: PolicyVerdict,
    /// The gate before the policy that denies it now, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<GateStop>,
    /// The risk of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<CallRisk>,
    /// What it would change in files, as a unified diff, if a person decides about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What it acts on now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The constraint that excludes a target now, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The guardrails that the call trips now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailTrip>,
    /// The untrusted text that names a target, for the person who decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// A message that may join a run in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interjection {
    /// The key of the run that the message would otherwise start.
    pub run_key: RunKey,
    /// The message text as a transcript entry.
    pub body: BlobHash,
    /// The untrusted sources of what came with it.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}
