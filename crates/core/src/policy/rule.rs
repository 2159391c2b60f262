//! The rules that this program generates, and the category of each denial.

use super::denial::DenialCategory;
use super::facts::{CallFacts, Target};

string_enum! {
    /// A rule that this program generates from settings. Policies that people write have other names, which
    /// contain `#`.
    #[derive(PartialOrd, Ord)]
    pub enum RuleName {
        /// A safety constraint excludes a target. No permission applies to it.
        UnsafeTarget = "unsafe_target",
        /// The agent may not use a secret of the call. No permission applies to it.
        SecretNotAllowed = "secret_not_allowed",
        /// A fact about the call is malformed, so no policy can judge it.
        InvalidFact = "invalid_fact",
        /// A policy could not be evaluated.
        PolicyError = "policy_error",
        /// The tool does not exist.
        UnknownTool = "unknown_tool",
        /// The tool is on a list of denied tools.
        DeniedTool = "denied_tool",
        /// The run may not start runs of this agent.
        DeniedAgent = "denied_agent",
        /// Only untrusted data that the run has read can have named the target.
        ForeignTarget = "foreign_target",
        /// The run may change nothing.
        ReadOnlyRun = "read_only_run",
        /// The sandbox that this machine can enforce is below the minimum of the tool.
        SandboxLevel = "sandbox_level",
        /// No risk is assigned to the tool.
        UnclassifiedTool = "unclassified_tool",
        /// The tool is on a list of tools that require approval.
        AskTool = "ask_tool",
        /// The agent asks before every action.
        RestrictiveMode = "restrictive_mode",
        /// The call reaches a path outside the workspace.
        OutsidePath = "outside_path",
        /// The call writes at a protected place of the workspace.
        ProtectedPath = "protected_path",
        /// The call connects to a host that is not on the list.
        UnlistedHost = "unlisted_host",
        /// A hook requires an approval.
        Hook = "hook",
        /// A guardrail blocks the call.
        Guardrail = "guardrail",
        /// No policy permits the call.
        NotPermitted = "not_permitted",
        /// The tool is registered, and no policy restricts the call.
        RegisteredTool = "registered_tool",
    }
}

impl RuleName {
    /// The category of a denial by this rule.
    #[must_use]
    pub const fn category(self) -> DenialCategory {
        match self {
            Self::UnsafeTarget | Self::InvalidFact | Self::ForeignTarget => DenialCategory::UnsafeTarget,
            Self::SecretNotAllowed => DenialCategory::SecretUnavailable,
            Self::AskTool
            | Self::RestrictiveMode
            | Self::OutsidePath
            | Self::ProtectedPath
            | Self::UnlistedHost
            | Self::Hook
            | Self::UnclassifiedTool => DenialCategory::ConfirmationRequired,
            Self::PolicyError
            | Self::UnknownTool
            | Self::DeniedTool
            | Self::DeniedAgent
            | Self::ReadOnlyRun
            | Self::SandboxLevel
            | Self::Guardrail
            | Self::NotPermitted
            | Self::RegisteredTool => DenialCategory::OutOfScope,
        }
    }

    /// What the rule says to a person.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::UnsafeTarget => "a safety constraint excludes the target; no policy can permit it",
            Self::SecretNotAllowed => {
                "the secret is not on the agent's list; a person adds it with --allow-secret"
            }
            Self::InvalidFact => "a path or host of the call is malformed",
            Self::PolicyError => "a policy could not be evaluated",
            Self::UnknownTool => "there is no such tool",
            Self::DeniedTool => "the tool is on the list of denied tools",
            Self::DeniedAgent => "the agent may not start runs of this agent",
            Self::ForeignTarget => FOREIGN_TARGET_WORDS,
            Self::ReadOnlyRun => "the run is read-only",
            Self::SandboxLevel => "this machine cannot enforce the sandbox that the tool needs",
            Self::UnclassifiedTool => "no risk is assigned to the tool, so it asks in every mode",
            Self::AskTool => "the tool is on the list of tools that require approval",
            Self::RestrictiveMode => "the agent's mode is restrictive: it asks before every action",
            Self::OutsidePath => "the path is outside the agent's workspace",
            Self::ProtectedPath => "the path is a protected place of the workspace",
            Self::UnlistedHost => "the host is not on the agent's list of hosts",
            Self::Hook => "a hook requires an approval",
            Self::Guardrail => "a guardrail of the agent blocks the call",
            Self::NotPermitted => "no policy permits the call",
            Self::RegisteredTool => "the tool is registered and no policy restricts the call",
        }
    }
}

/// Why a run that has read untrusted data asks.
const FOREIGN_TARGET_WORDS: &str = "the run has read untrusted data, and neither you nor a trusted file named what \
                                    this call acts on";

/// The code of a denial by a policy that a person wrote. The rule beside it names the policy.
pub const DENIED_BY_POLICY: &str = "denied_by_policy";

/// The category of a denial by a rule. A policy that a person wrote restricts what the agent may do.
#[must_use]
pub fn denial_category(rule: &str) -> DenialCategory {
    RuleName::parse(rule).map_or(DenialCategory::OutOfScope, RuleName::category)
}

/// The stable code of a denial by a rule.
#[must_use]
pub fn denial_code(rule: &str) -> &'static str {
    RuleName::parse(rule).map_or(DENIED_BY_POLICY, RuleName::as_str)
}

/// The first target that a safety constraint excludes. It is checked before any policy, so that no grant
/// overrides it.
#[must_use]
pub fn unsafe_target(facts: &CallFacts) -> Option<&Target> {
    facts.targets.iter().find(|target| target.is_unsafe())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{HostScope, PathAccess, PathScope, SecretScope};

    #[test]
    fn each_rule_has_a_category_and_is_its_own_code() {
        for rule in RuleName::ALL {
            assert_eq!(denial_category(rule.as_str()), rule.category());
            assert_eq!(denial_code(rule.as_str()), rule.as_str());
            assert!(!rule.words().is_empty());
        }
        for rule in ["main.cedar#2", "", "\"); permit(principal,action,resource);//"] {
            assert_eq!(denial_category(rule), DenialCategory::OutOfScope, "{rule:?}");
            assert_eq!(denial_code(rule), DENIED_BY_POLICY, "{rule:?}");
        }
    }

    // Conformance: L-169
    #[test]
    fn denied_paths_and_private_hosts_are_unsafe() {
        let path = |scope| Target::Path {
            path: "/a".to_owned(),
            access: PathAccess::Read,
            scope,
        };
        let host = |scope| Target::Host {
            host: "h".to_owned(),
            port: 443,
            scope,
        };
        let found = |targets: Vec<Target>| {
            let facts = CallFacts {
                targets,
                ..CallFacts::default()
            };
            unsafe_target(&facts).is_some()
        };
        for scope in PathScope::ALL {
            assert_eq!(found(vec![path(scope)]), scope == PathScope::Denied, "{scope:?}");
        }
        for scope in HostScope::ALL {
            let is_unsafe = matches!(scope, HostScope::Denied | HostScope::Private);
            assert_eq!(found(vec![host(scope)]), is_unsafe, "{scope:?}");
        }
        assert!(found(vec![path(PathScope::Workspace), host(HostScope::Private)]));
    }

    #[test]
    fn a_secret_that_is_not_allowed_is_unavailable() {
        for scope in SecretScope::ALL {
            let target = Target::Secret {
                name: "A_TOKEN".to_owned(),
                scope,
            };
            assert_eq!(target.is_unsafe(), scope == SecretScope::Denied);
            assert_eq!(target.constraint().category(), DenialCategory::SecretUnavailable);
        }
    }
}
