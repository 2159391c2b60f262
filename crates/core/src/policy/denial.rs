//! Why a call is denied, and at which stage of its path.

use super::rule::{RuleName, denial_category};
use crate::run::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
use crate::step::UNDECIDED;
use crate::tool::gate::OUT_OF_SCOPE;

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

/// The code of a call that the agent's quota of written bytes per day leaves no room for.
pub const WRITE_QUOTA_EXCEEDED: &str = "write_quota_exceeded";

/// The code of a call whose path holds credentials or Wakeful's own data, or is on the deny list.
pub const DENIED_PATH: &str = "denied_path";

/// The code of a connection that the agent's rules for hosts refuse.
pub const HOST_NOT_ALLOWED: &str = "host_not_allowed";

/// The code of a call that reaches a path outside the workspace without a grant.
pub const OUTSIDE_WORKSPACE: &str = "outside_workspace";

/// The code of a call that writes at a protected place of the workspace without a grant.
pub const PROTECTED_PATH: &str = "protected_path";

/// The stage at which a tool that is about to act refuses a call, by its code; none if the code is a failure.
/// Arguments, scope and policy permitted such a call, so its denial is a violation of a constraint.
#[must_use]
pub fn refusal_stage(code: &str) -> Option<GateStage> {
    match code {
        OUT_OF_SCOPE => Some(GateStage::Scope),
        OUTSIDE_WORKSPACE | PROTECTED_PATH | DENIED_PATH | HOST_NOT_ALLOWED => Some(GateStage::Sandbox),
        _ if code == RuleName::ReadOnlyRun.as_str() => Some(GateStage::Sandbox),
        WRITE_QUOTA_EXCEEDED => Some(GateStage::Quota),
        _ => None,
    }
}

impl DenialCategory {
    /// The category of a denial with this finer code. A code that says nothing else is about what the agent
    /// may do.
    #[must_use]
    pub fn of_code(code: &str) -> Self {
        match code {
            DENIED_BY_PERSON | DECISION_TIMED_OUT | UNDECIDED => Self::ConfirmationRequired,
            "disk_write_exceeded" | "tool_quota_exceeded" | WRITE_QUOTA_EXCEEDED => Self::BudgetExceeded,
            DENIED_PATH => Self::UnsafeTarget,
            _ => Self::parse(code).unwrap_or_else(|| denial_category(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::BlobHash;
    use crate::inference;
    use crate::key::Digest;
    use crate::step::StepStatus;
    use crate::tool::CallEnd;

    // Conformance: L-041
    /// One denial of each category, with the code that the record of the call has.
    #[test]
    fn each_category_has_a_code_and_the_set_is_closed() {
        let table = [
            (DenialCategory::OutOfScope, OUT_OF_SCOPE),
            (DenialCategory::ConfirmationRequired, DENIED_BY_PERSON),
            (DenialCategory::BudgetExceeded, WRITE_QUOTA_EXCEEDED),
            (DenialCategory::UnsafeTarget, RuleName::UnsafeTarget.as_str()),
            (DenialCategory::DisallowedProviderModel, inference::DISALLOWED),
            (
                DenialCategory::PrivacyConfirmationRequired,
                inference::UNCONFIRMED,
            ),
            (DenialCategory::SecretUnavailable, inference::NO_SECRET),
            (DenialCategory::OversharedPayloadBlocked, inference::OVERSHARED),
        ];
        assert_eq!(table.map(|(category, _)| category), DenialCategory::ALL);
        for (category, code) in table {
            let output = BlobHash(Digest::of(b"output"));
            let end = CallEnd::performed(StepStatus::Denied, Some(code), output);
            assert_eq!(end.category, Some(category), "{code}");
            let word = serde_json::to_value(category).expect("JSON");
            assert_eq!(
                serde_json::from_value::<DenialCategory>(word).ok(),
                Some(category)
            );
        }
        assert!(serde_json::from_str::<DenialCategory>("\"other\"").is_err());
        assert_eq!(
            DenialCategory::of_code("main.cedar#2"),
            DenialCategory::OutOfScope
        );
    }
}
