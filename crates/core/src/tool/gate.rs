//! The gates before the policy: whether the tool has a contract, whether the agent has its capabilities and
//! any scope, and whether the tool may be used for the reason of the run.

use serde::{Deserialize, Serialize};

use super::{AgentAccessScope, ToolContract, WEB_SEARCH, WakeReason};
use crate::need_to_know::{OVERSHARED, Overshared};
use crate::policy::{DenialCategory, GateStage};
use crate::run::HOOK_BLOCKED;
use crate::step::ToolError;

/// The code of a call that is outside the agent's scope.
pub const OUT_OF_SCOPE: &str = "out_of_scope";

/// The code of a call whose tool has no valid contract.
pub const UNKNOWN_TOOL: &str = "unknown_tool";

/// The code of a call whose tool needs a capability that the agent does not have.
pub const MISSING_CAPABILITY: &str = "missing_capability";

/// The code of a call whose tool may not be used for the reason of the run.
pub const WAKE_REASON: &str = "wake_reason";

/// The code of a search by the provider for an agent that has it turned off.
pub const WEB_SEARCH_OFF: &str = "web_search_off";

/// A call to check.
#[derive(Debug, Clone, Copy)]
pub struct GateQuery<'a> {
    /// The contract of the tool; `None` if it has none, or if the registry does not agree with it.
    pub contract: Option<&'a ToolContract>,
    /// What the agent may use.
    pub access: &'a AgentAccessScope,
    /// Why the run was started.
    pub wake_reason: WakeReason,
}

/// A gate stopped a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateStop {
    pub stage: GateStage,
    pub category: DenialCategory,
    /// The finer code.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl GateStop {
    fn new(stage: GateStage, code: &str, message: String, hint: &str) -> Self {
        Self {
            stage,
            category: DenialCategory::OutOfScope,
            code: code.to_owned(),
            message,
            hint: hint.to_owned(),
        }
    }

    /// An argument of the call may not be given to its tool.
    #[must_use]
    pub fn overshared(overshared: &Overshared) -> Self {
        Self {
            category: DenialCategory::OversharedPayloadBlocked,
            ..Self::new(
                GateStage::Scope,
                OVERSHARED,
                overshared.to_string(),
                "leave the argument out, or ask a person",
            )
        }
    }

    /// The stop of a call that a hook blocks.
    #[must_use]
    pub fn of_hook(reason: &str) -> Self {
        let message = format!("a hook of the operator blocks this call: {reason}");
        Self::new(
            GateStage::Hooks,
            HOOK_BLOCKED,
            message,
            "use another way, or ask a person",
        )
    }

    /// The error for the model.
    #[must_use]
    pub fn fault(&self) -> ToolError {
        ToolError {
            category: Some(self.category),
            ..ToolError::new(&self.code, &self.message, &self.hint)
        }
    }
}

/// Checks a call in the order of the stages, and returns the first stop.
pub fn check(query: GateQuery<'_>) -> Result<(), GateStop> {
    let scope = |code, message, hint| Err(GateStop::new(GateStage::Scope, code, message, hint));
    let Some(contract) = query.contract else {
        let message = "there is no tool with this name and a valid contract".to_owned();
        return scope(UNKNOWN_TOOL, message, "use one of the offered tools");
    };
    if query.access.allowed_category_ids.is_empty() {
        let message = "the agent may use no category of the journal, and therefore no tool".to_owned();
        return scope(
            OUT_OF_SCOPE,
            message,
            "ask a person to allow categories for this agent",
        );
    }
    if let Some(missing) = query.access.missing(&contract.capabilities_required) {
        let message = format!("{} needs the capability {missing}", contract.name);
        return scope(
            MISSING_CAPABILITY,
            message,
            "ask a person, or do without this tool",
        );
    }
    if contract.name == WEB_SEARCH && !query.access.web_search {
        let message = "the provider's search of the web is off for this agent".to_owned();
        let hint = "a person turns it on: wakeful agent set NAME --web-search on";
        return scope(WEB_SEARCH_OFF, message, hint);
    }
    if !contract.allowed_wake_reasons.contains(&query.wake_reason) {
        let (tool, reason) = (&contract.name, query.wake_reason);
        let message = format!("{tool} may not be used in a run that was started as {reason}");
        let hint = "do without this tool, or report to a person, who can send a message";
        return Err(GateStop::new(GateStage::WakeReason, WAKE_REASON, message, hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::step::EffectClass;
    use crate::tool::{AgentCapability, Capability, RiskLevel};

    fn contract(reasons: &[WakeReason]) -> ToolContract {
        ToolContract {
            capabilities_required: [Capability::Journal(AgentCapability::TaskWrite)].into(),
            allowed_wake_reasons: reasons.iter().copied().collect(),
            ..ToolContract::open("CreateTask", EffectClass::Saga, RiskLevel::Medium)
        }
    }

    fn judge(access: &AgentAccessScope, reasons: &[WakeReason], wake_reason: WakeReason) -> Option<String> {
        let contract = contract(reasons);
        let query = GateQuery {
            contract: Some(&contract),
            access,
            wake_reason,
        };
        check(query).err().map(|stop| stop.code)
    }

    #[test]
    fn a_timer_run_may_not_use_a_tool_for_people() {
        let judge = |reason| {
            judge(
                &AgentAccessScope::everything(),
                &[WakeReason::UserInitiated],
                reason,
            )
        };
        assert_eq!(judge(WakeReason::UserInitiated), None);
        assert_eq!(judge(WakeReason::Timer).as_deref(), Some(WAKE_REASON));
    }

    #[test]
    fn a_tool_outside_the_profile_is_denied() {
        let profile = |capabilities: &[AgentCapability]| AgentAccessScope {
            capabilities: Some(capabilities.iter().copied().map(Capability::Journal).collect()),
            ..AgentAccessScope::everything()
        };
        let judge = |access| judge(&access, &WakeReason::ALL, WakeReason::Timer);
        assert_eq!(judge(profile(&[AgentCapability::TaskWrite])), None);
        let denied = judge(profile(&[AgentCapability::TaskRead]));
        assert_eq!(denied.as_deref(), Some(MISSING_CAPABILITY));
    }

    #[test]
    fn a_search_by_the_provider_needs_the_setting() {
        let judge = |web_search, tool| {
            let contract = ToolContract::open(tool, EffectClass::Idempotent, RiskLevel::Low);
            let access = AgentAccessScope {
                web_search,
                ..AgentAccessScope::everything()
            };
            let query = GateQuery {
                contract: Some(&contract),
                access: &access,
                wake_reason: WakeReason::Timer,
            };
            check(query).err().map(|stop| stop.code)
        };
        assert_eq!(judge(true, WEB_SEARCH), None);
        assert_eq!(judge(false, WEB_SEARCH).as_deref(), Some(WEB_SEARCH_OFF));
        assert_eq!(judge(false, "WebFetch"), None);
    }

    // Conformance: L-121, L-126
    #[test]
    fn a_tool_without_contract_is_denied() {
        let access = AgentAccessScope::everything();
        let query = GateQuery {
            contract: None,
            access: &access,
            wake_reason: WakeReason::UserInitiated,
        };
        let stop = check(query).expect_err("it passed");
        assert_eq!(
            (stop.code.as_str(), stop.stage, stop.category),
            (UNKNOWN_TOOL, GateStage::Scope, DenialCategory::OutOfScope)
        );
    }

    proptest! {
        // Conformance: L-117
        /// For every reason and every list of reasons, an agent without categories may use no tool.
        #[test]
        fn an_agent_without_categories_may_use_no_tool(reason in 0..5_usize, count in 0..5_usize) {
            let allowed: Vec<WakeReason> = WakeReason::ALL.into_iter().take(count).collect();
            let found = judge(&AgentAccessScope::default(), &allowed, WakeReason::ALL[reason]);
            prop_assert_eq!(found.as_deref(), Some(OUT_OF_SCOPE));
        }
    }
}
