//! The policy for actions. Every action has a verdict that is recorded before it starts; an action that no
//! rule permits is denied.
//!
//! This module holds the terms of a decision and the rules that no policy can change. The crate `policy`
//! evaluates policies.

mod denial;
mod facts;
mod flow;
mod rule;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::denial::{
    DENIED_PATH, DenialCategory, GateStage, HOST_NOT_ALLOWED, OUTSIDE_WORKSPACE, PROTECTED_PATH,
    WRITE_QUOTA_EXCEEDED, refusal_stage,
};
pub use self::facts::{
    COMMAND_CHARS_MAX, CallFacts, CommandFact, HostScope, PathAccess, PathScope, SecretScope, TARGETS_MAX,
    Target, targets_digest,
};
pub use self::flow::{DecisionStep, decision_steps};
pub use self::rule::{DENIED_BY_POLICY, RuleName, denial_category, denial_code, unsafe_target};
use crate::decision::Channel;
use crate::guardrail::{GuardrailPolicy, GuardrailTrip, blocking};
use crate::id::{AgentId, PolicyVersion};
use crate::key::{Digest, derived_hash};
use crate::sandbox_scope::SandboxScope;
use crate::step::EffectClass;
use crate::tool::{AgentAccessScope, RiskLevel, WakeReason};

/// The rule that denies starting a sub-run of an agent that is not on the run's list.
pub const DENIED_AGENT: &str = RuleName::DeniedAgent.as_str();

/// The rule for calls of a run with untrusted data that act on what only that data can have named.
pub const FOREIGN_TARGET: &str = RuleName::ForeignTarget.as_str();

/// The rule for tools that no risk classification matches: a person decides in every permission mode.
pub const UNCLASSIFIED_TOOL: &str = RuleName::UnclassifiedTool.as_str();

string_enum! {
    /// How calls with a foreign target are handled: calls of a run that has read untrusted data, which act
    /// outside its workspace on something that neither the operator nor a trusted file named.
    #[derive(Default)]
    pub enum ForeignTargetPolicy {
        /// Each requires approval.
        #[default]
        Ask = "ask",
        /// Calls of such runs are decided as in any other run.
        Allow = "allow",
        /// They are denied.
        Deny = "deny",
    }
}

/// An explanation of a rule for people; `None` if its name is clear.
#[must_use]
pub fn rule_words(rule: &str) -> Option<&'static str> {
    match RuleName::parse(rule)? {
        RuleName::UnknownTool
        | RuleName::DeniedTool
        | RuleName::DeniedAgent
        | RuleName::AskTool
        | RuleName::RegisteredTool => None,
        rule @ (RuleName::UnsafeTarget
        | RuleName::SecretNotAllowed
        | RuleName::InvalidFact
        | RuleName::PolicyError
        | RuleName::ForeignTarget
        | RuleName::ReadOnlyRun
        | RuleName::SandboxLevel
        | RuleName::UnclassifiedTool
        | RuleName::RestrictiveMode
        | RuleName::OutsidePath
        | RuleName::ProtectedPath
        | RuleName::UnlistedHost
        | RuleName::Hook
        | RuleName::Guardrail
        | RuleName::NotPermitted) => Some(rule.words()),
    }
}

string_enum! {
    /// How much an agent may do without a person.
    #[derive(Default, PartialOrd, Ord)]
    pub enum PermissionMode {
        /// Asks only where a policy requires it.
        Permissive = "permissive",
        /// Asks before effects that leave the sandbox.
        #[default]
        Standard = "standard",
        /// Asks before every action.
        Restrictive = "restrictive",
    }
}

/// The rules for all agents, which apply where an agent's record does not say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleDefaults {
    /// Tools that require approval in the runs of every agent.
    pub ask_tools: BTreeSet<String>,
    /// How calls with a foreign target are handled.
    pub foreign_targets: ForeignTargetPolicy,
    /// Channels through which decisions may be answered; `None` for all channels.
    pub answer_channels: Option<BTreeSet<Channel>>,
}

/// The rules for the next action of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActionRules {
    /// Tools that the run must not use, even if permitted otherwise.
    pub denied: BTreeSet<String>,
    /// Tools that require approval.
    pub asked: BTreeSet<String>,
    /// The agents of which the run may start sub-runs.
    pub may_start: BTreeSet<String>,
    /// How calls with a foreign target are handled; `None` for a run that has read no untrusted data.
    pub foreign_targets: Option<ForeignTargetPolicy>,
    /// How commands with a foreign target are handled that may read files which untrusted actions wrote.
    pub untrusted_files: ForeignTargetPolicy,
    /// How much the agent may do without a person.
    pub mode: PermissionMode,
    /// What the agent's sandbox allows beyond its workspace.
    pub sandbox: SandboxScope,
    /// Which categories and capabilities the agent has.
    pub access: AgentAccessScope,
    /// Why the run was started.
    pub wake_reason: WakeReason,
    /// Whether the run may change nothing outside its own record.
    pub is_read_only: bool,
    /// What is watched for in calls.
    pub guardrails: GuardrailPolicy,
}

/// One action that the policy decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyQuery<'a> {
    pub agent_id: &'a AgentId,
    /// The tool as the model named it.
    pub tool: &'a str,
    /// The rules that apply to the run.
    pub rules: &'a ActionRules,
    /// What the action would do, from its arguments.
    pub facts: &'a CallFacts,
    /// The effect class of the tool.
    pub class: EffectClass,
    /// The risk tier of the tool.
    pub risk: RiskLevel,
    /// The sandbox level that this machine can enforce for the tool: 0 for none.
    pub sandbox_level: u8,
}

/// The verdict with the rule that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVerdict {
    pub effect: PolicyEffect,
    /// The rule that decided.
    pub rule: String,
    pub policy_version: PolicyVersion,
}

impl PolicyVerdict {
    /// The verdict on a call with a foreign target. It stands after the policies, so that no permission that a
    /// person wrote for other runs applies to it.
    #[must_use]
    pub fn with_foreign_target(self, policy: ForeignTargetPolicy) -> Self {
        let effect = match (self.effect, policy) {
            (PolicyEffect::Deny, _)
            | (_, ForeignTargetPolicy::Allow)
            | (PolicyEffect::Ask, ForeignTargetPolicy::Ask) => {
                return self;
            }
            (PolicyEffect::Permit, ForeignTargetPolicy::Ask) => PolicyEffect::Ask,
            (PolicyEffect::Permit | PolicyEffect::Ask, ForeignTargetPolicy::Deny) => PolicyEffect::Deny,
        };
        Self {
            effect,
            rule: FOREIGN_TARGET.to_owned(),
            ..self
        }
    }

    /// The verdict after the risk registry: without a classification of the tool, a person decides about a
    /// permitted call.
    #[must_use]
    pub fn escalated(self, is_classified: bool) -> Self {
        if is_classified || self.effect != PolicyEffect::Permit {
            return self;
        }
        Self {
            effect: PolicyEffect::Ask,
            rule: UNCLASSIFIED_TOOL.to_owned(),
            ..self
        }
    }

    /// The verdict after a hook that requires an approval.
    #[must_use]
    pub fn asked_by_hook(self) -> Self {
        if self.effect != PolicyEffect::Permit {
            return self;
        }
        Self {
            effect: PolicyEffect::Ask,
            rule: RuleName::Hook.to_string(),
            ..self
        }
    }

    /// The verdict after the guardrails that the call tripped: one that blocks denies it.
    #[must_use]
    pub fn guarded(self, trips: &[GuardrailTrip]) -> Self {
        if self.effect == PolicyEffect::Deny || blocking(trips).is_none() {
            return self;
        }
        Self {
            effect: PolicyEffect::Deny,
            rule: RuleName::Guardrail.to_string(),
            ..self
        }
    }
}

/// What the policies say about a host that a running call connects to, beside the agent's lists of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostDecision {
    /// The agent's lists decide.
    AsListed,
    /// A written policy permits the host, so it needs no entry on the list.
    Permitted { rule: String },
    /// A policy excludes the host.
    Refused { rule: String },
    /// A policy asks. A connection cannot wait for a person, so it is refused.
    Asks { rule: String },
}

/// What the policies say about paths that a running call finds in a folder. A person's approval of the folder
/// does not cover a path that a policy asks about by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathDecisions {
    /// No written policy restricts paths for this call.
    Unrestricted,
    /// Whether the call may use each path, in their order.
    Each(Vec<bool>),
}

string_enum! {
    /// Whether an action may be performed.
    #[schemars(rename = "PolicyEffect")]
    pub enum PolicyEffect {
        /// It may be performed.
        Permit = "permit",
        /// It may be performed after approval.
        Ask = "ask",
        /// It must not be performed.
        Deny = "deny",
    }
}

/// A policy file in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFileHash {
    /// Its name as in verdicts: `main.cedar`, or `agent/main.cedar` for a file of the agent.
    pub file: String,
    /// The hash of its content.
    pub sha256: Digest,
}

/// The policy files in force for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyFiles {
    /// Those for all agents first.
    pub files: Vec<PolicyFileHash>,
    /// Whether a refused file has no earlier version, so that nothing is permitted.
    pub is_incomplete: bool,
}

impl PolicyFiles {
    /// The version of the files; none without files.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        if self.files.is_empty() && !self.is_incomplete {
            return None;
        }
        let mut fields = vec![if self.is_incomplete { "incomplete" } else { "" }.to_owned()];
        for file in &self.files {
            fields.extend([file.file.clone(), file.sha256.to_string()]);
        }
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let hash = derived_hash("policy.files", &fields).to_string();
        Some(format!("policy-files-1-{}", hash.split_at(12).0))
    }
}

/// A deny list contains an unknown tool. It is probably a typing error, which must not leave the intended
/// tool permitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool {tool:?}; known tools: {known}")]
pub struct UnknownTool {
    /// The unknown name.
    pub tool: String,
    /// The known names.
    pub known: String,
}

/// Checks a list of tools for names that are not registered.
pub fn check_tool_names(registered: &BTreeSet<String>, listed: &BTreeSet<String>) -> Result<(), UnknownTool> {
    let Some(tool) = listed.difference(registered).next() else {
        return Ok(());
    };
    let known = registered.iter().cloned().collect::<Vec<_>>().join(", ");
    Err(UnknownTool {
        tool: tool.clone(),
        known,
    })
}

impl ActionRules {
    /// The hash of the rules: equal rules have equal hashes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let Self {
            denied,
            asked,
            may_start,
            foreign_targets,
            untrusted_files,
            mode,
            sandbox,
            access,
            wake_reason,
            is_read_only,
            guardrails,
        } = self;
        let scope = if *sandbox == SandboxScope::default() {
            String::new()
        } else {
            format!("{sandbox:?}")
        };
        let given = if *access == AgentAccessScope::everything() {
            String::new()
        } else {
            format!("{access:?}")
        };
        let watched = if guardrails.is_empty() {
            String::new()
        } else {
            format!("{guardrails:?}")
        };
        let mut fields: Vec<&str> = denied.iter().map(String::as_str).collect();
        for (name, list) in [("/asked", asked), ("/may_start", may_start)] {
            fields.push(name);
            fields.extend(list.iter().map(String::as_str));
        }
        fields.extend([
            "/foreign",
            foreign_targets.map_or("", ForeignTargetPolicy::as_str),
            untrusted_files.as_str(),
            mode.as_str(),
            wake_reason.as_str(),
            if *is_read_only { "read_only" } else { "" },
            &scope,
            &given,
        ]);
        fields.extend(Some(watched.as_str()).filter(|text| !text.is_empty()));
        derived_hash("policy.rules", &fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn listing_an_unknown_tool_is_an_error_with_the_known_ones() {
        let registered = names(&["ExecCommand"]);
        let error = check_tool_names(&registered, &names(&["ExecComand"])).expect_err("a typo passed");
        assert!(error.to_string().contains("ExecCommand"), "{error}");
        assert_eq!(check_tool_names(&registered, &registered), Ok(()));
    }

    // Conformance: A-16
    #[test]
    fn modes_and_decisions_are_sent_as_words() {
        fn words<T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug>(
            all: &[T],
        ) -> Vec<String> {
            let word = |one: &T| {
                let sent = serde_json::to_string(one).expect("JSON");
                assert_eq!(&serde_json::from_str::<T>(&sent).expect("a word"), one);
                sent.trim_matches('"').to_owned()
            };
            all.iter().map(word).collect()
        }
        assert_eq!(
            words(&PermissionMode::ALL),
            ["permissive", "standard", "restrictive"]
        );
        assert_eq!(words(&PolicyEffect::ALL), ["permit", "ask", "deny"]);
        for other in ["\"Permissive\"", "\"allow\"", "1", "null"] {
            assert!(serde_json::from_str::<PermissionMode>(other).is_err(), "{other}");
            assert!(serde_json::from_str::<PolicyEffect>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn different_rules_have_different_hashes() {
        let base = ActionRules::default();
        let changed = [
            ActionRules {
                denied: names(&["A"]),
                ..base.clone()
            },
            ActionRules {
                asked: names(&["A"]),
                ..base.clone()
            },
            ActionRules {
                may_start: names(&["A"]),
                ..base.clone()
            },
            ActionRules {
                foreign_targets: Some(ForeignTargetPolicy::Ask),
                ..base.clone()
            },
            ActionRules {
                untrusted_files: ForeignTargetPolicy::Deny,
                ..base.clone()
            },
            ActionRules {
                mode: PermissionMode::Restrictive,
                ..base.clone()
            },
            ActionRules {
                sandbox: SandboxScope {
                    published_ports: [1].into(),
                    ..SandboxScope::default()
                },
                ..base.clone()
            },
            ActionRules {
                wake_reason: WakeReason::Timer,
                ..base.clone()
            },
            ActionRules {
                is_read_only: true,
                ..base.clone()
            },
            ActionRules {
                guardrails: GuardrailPolicy {
                    tool_guardrails: vec![crate::guardrail::GuardrailSpec {
                        name: "g".to_owned(),
                        description: String::new(),
                        action: crate::guardrail::GuardrailAction::Log,
                        phrases: Vec::new(),
                        tools: names(&["A"]),
                    }],
                    ..GuardrailPolicy::default()
                },
                ..base.clone()
            },
            base,
        ];
        let hashes: BTreeSet<String> = changed.iter().map(|rules| rules.digest().to_string()).collect();
        assert_eq!(hashes.len(), changed.len());
    }
}
