//! Why a call is denied, and at which stage of its path.

use super::rule::denial_category;
use crate::run::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
use crate::step::UNDECIDED;

string_enum! {
    /// The category of a denial. The set is closed; a denial may carry a finer code beside it.
    #[derive(PartialOrd, Ord)]
    pub enum DenialCategory {
        /// The call is outside what the agent may do.
        OutOfScope = "out_of_scope",
        /// A person must approve it, and has not.
        ConfirmationRequired = "confirmation_required",
        /// A budget or quota is used up.
        BudgetExceeded = "budget_exceeded",
        /// The target is excluded by a safety constraint.
        UnsafeTarget = "unsafe_target",
        /// The model or provider is not allowed.
        DisallowedProviderModel = "disallowed_provider_model",
        /// The provider is not confirmed to receive data.
        PrivacyConfirmationRequired = "privacy_confirmation_required",
        /// A required key is not available.
        SecretUnavailable = "secret_unavailable",
        /// The request contains data that its receiver must not have.
        OversharedPayloadBlocked = "overshared_payload_blocked",
    }
}

string_enum! {
    /// The stages of a call's path, in their order.
    #[derive(PartialOrd, Ord)]
    pub enum GateStage {
        /// The arguments match the tool's schema.
        Validate = "validate",
        /// The tool is registered, and the agent has its capabilities and scope.
        Scope = "scope",
        /// The tool may be used for the reason of the run.
        WakeReason = "wake_reason",
        /// Safety constraints and policies.
        Policy = "policy",
        /// Quotas and budgets.
        Quota = "quota",
        /// Hooks of the operator.
        Hooks = "hooks",
        /// Control mode, trust and risk.
        Escalation = "escalation",
        /// A person's decision.
        Decision = "decision",
        /// The sandbox.
        Sandbox = "sandbox",
        /// The tool performs the call.
        Execute = "execute",
        /// The result is stored.
        Record = "record",
    }
}

impl DenialCategory {
    /// The category of a denial with this finer code. A code that says nothing else is about what the agent
    /// may do.
    #[must_use]
    pub fn of_code(code: &str) -> Self {
        match code {
            DENIED_BY_PERSON | DECISION_TIMED_OUT | UNDECIDED => Self::ConfirmationRequired,
            "disk_write_exceeded" | "tool_quota_exceeded" => Self::BudgetExceeded,
            _ => Self::parse(code).unwrap_or_else(|| denial_category(code)),
        }
    }
}
