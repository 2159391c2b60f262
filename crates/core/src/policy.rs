//! The policy for actions. Every action has a verdict that is recorded before it starts; an action that no
//! rule permits is denied.
//!
//! Registered tools are permitted; unregistered tools and those on the deny list are denied. A run with an
//! external cause requires approval for plain actions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::decision::Channel;
use crate::id::PolicyVersion;
use crate::key::derived_hash;
use crate::step::EffectClass;
use crate::sub_run::START_RUN;

/// The rule that denies starting a sub-run of an agent that is not on the run's list.
pub const DENIED_AGENT: &str = "denied_agent";

/// The rule for plain actions of a run with an external cause: they require approval or are denied.
pub const EXTERNAL_CAUSE: &str = "external_cause";

string_enum! {
    /// How plain actions, such as commands, of runs with an external cause are handled. An external cause
    /// is anything but the operator's own message or schedule: a trigger, a watched folder, an agent's
    /// change, or a run that one of these led to.
    #[derive(Default)]
    pub enum ExternalCausePolicy {
        /// Each requires approval.
        #[default]
        Ask = "ask",
        /// They are decided as in any other run.
        Allow = "allow",
        /// They are denied.
        Deny = "deny",
    }
}

/// An explanation of a rule for people; `None` if its name is clear.
#[must_use]
pub fn rule_words(rule: &str) -> Option<&'static str> {
    match rule {
        EXTERNAL_CAUSE => Some(
            "something other than you caused this run (a webhook, a watched folder or another agent), \
             so it asks before each command",
        ),
        _ => None,
    }
}

/// The rules for all agents, which apply where an agent's record does not say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleDefaults {
    /// Tools that require approval in the runs of every agent.
    pub ask_tools: BTreeSet<String>,
    /// How plain actions of runs with an external cause are handled.
    pub external_causes: ExternalCausePolicy,
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
    /// How plain actions are handled because of the run's external cause; `None` for a run without one.
    pub external_cause_policy: Option<ExternalCausePolicy>,
}

/// The facts about one action that the policy decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyQuery<'a> {
    /// The tool as the model named it.
    pub tool: &'a str,
    /// The rules that apply to the run.
    pub rules: &'a ActionRules,
    /// The agent of which the action would start a sub-run.
    pub starts: Option<&'a str>,
    /// The effect class of the tool.
    pub class: EffectClass,
}

impl PolicyQuery<'_> {
    /// Whether the action would start a sub-run that is not allowed.
    fn starts_too_much(&self) -> bool {
        self.tool == START_RUN
            && !self
                .starts
                .is_some_and(|agent| self.rules.may_start.contains(agent))
    }

    /// Whether it is a plain action of a run with an external cause, under this setting.
    fn is_plain_with_external_cause(&self, setting: ExternalCausePolicy) -> bool {
        self.class == EffectClass::Plain && self.rules.external_cause_policy == Some(setting)
    }
}

/// The verdict with the rule that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVerdict {
    pub effect: PolicyEffect,
    /// The rule that decided.
    pub rule: String,
    pub policy_version: PolicyVersion,
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

/// The registered tools: those that are not denied are permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRules {
    registered: BTreeSet<String>,
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

impl ToolRules {
    #[must_use]
    pub const fn new(registered: BTreeSet<String>) -> Self {
        Self { registered }
    }

    /// Checks a deny list for unknown tools.
    pub fn check_denied(&self, denied: &BTreeSet<String>) -> Result<(), UnknownTool> {
        let Some(tool) = denied.difference(&self.registered).next() else {
            return Ok(());
        };
        let known = self.registered.iter().cloned().collect::<Vec<_>>().join(", ");
        Err(UnknownTool {
            tool: tool.clone(),
            known,
        })
    }

    /// Decides one action.
    #[must_use]
    pub fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        let (effect, rule) = if !self.registered.contains(question.tool) {
            (PolicyEffect::Deny, "unknown_tool")
        } else if question.rules.denied.contains(question.tool) {
            (PolicyEffect::Deny, "denied_tool")
        } else if question.starts_too_much() {
            (PolicyEffect::Deny, DENIED_AGENT)
        } else if question.is_plain_with_external_cause(ExternalCausePolicy::Deny) {
            (PolicyEffect::Deny, EXTERNAL_CAUSE)
        } else if question.is_plain_with_external_cause(ExternalCausePolicy::Ask) {
            (PolicyEffect::Ask, EXTERNAL_CAUSE)
        } else if question.rules.asked.contains(question.tool) {
            (PolicyEffect::Ask, "ask_tool")
        } else {
            (PolicyEffect::Permit, "registered_tool")
        };
        PolicyVerdict {
            effect,
            rule: rule.to_owned(),
            policy_version: self.version(question.rules),
        }
    }

    /// Derives the version from the rules, so that equal rules have equal versions.
    fn version(&self, rules: &ActionRules) -> PolicyVersion {
        let ActionRules {
            denied,
            asked,
            may_start,
            external_cause_policy,
        } = rules;
        let registered = self.registered.iter().map(String::as_str);
        let mut fields: Vec<&str> = registered
            .chain(["/"])
            .chain(denied.iter().map(String::as_str))
            .collect();
        if !asked.is_empty() {
            fields.push("/");
            fields.extend(asked.iter().map(String::as_str));
        }
        if !may_start.is_empty() {
            fields.push("/start");
            fields.extend(may_start.iter().map(String::as_str));
        }
        if let Some(outside) = external_cause_policy {
            fields.extend(["/outside", outside.as_str()]);
        }
        PolicyVersion::new(format!(
            "rules-1-{}",
            derived_hash("policy.rules", &fields).to_string().split_at(12).0
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn denying_an_unknown_tool_is_an_error_with_the_known_ones() {
        let rules = ToolRules::new(names(&["ExecCommand"]));
        let error = rules
            .check_denied(&names(&["ExecComand"]))
            .expect_err("a typo passed");
        assert!(error.to_string().contains("ExecCommand"), "{error}");
        assert_eq!(rules.check_denied(&names(&["ExecCommand"])), Ok(()));
    }

    #[test]
    fn the_version_depends_only_on_the_rules() {
        let rules = ToolRules::new(names(&["A", "B"]));
        let version = |denied: &[&str], tool| {
            rules
                .decide(&PolicyQuery {
                    tool,
                    rules: &ActionRules {
                        denied: names(denied),
                        ..ActionRules::default()
                    },
                    starts: None,
                    class: EffectClass::Plain,
                })
                .policy_version
        };
        assert_eq!(version(&["A"], "A"), version(&["A"], "B"));
        assert_ne!(version(&["A"], "A"), version(&["B"], "A"));
        assert_ne!(version(&[], "A"), version(&["A"], "A"));
    }

    // Conformance: L-180
    #[test]
    fn a_sub_run_is_started_only_for_listed_agents() {
        let rules = ToolRules::new(names(&[START_RUN]));
        let decide = |may_start: &[&str], starts, asked: &[&str]| {
            let verdict = rules.decide(&PolicyQuery {
                tool: START_RUN,
                rules: &ActionRules {
                    asked: names(asked),
                    may_start: names(may_start),
                    ..ActionRules::default()
                },
                starts,
                class: EffectClass::Internal,
            });
            (verdict.effect, verdict.rule, verdict.policy_version)
        };
        assert_eq!(decide(&[], Some("b"), &[]).0, PolicyEffect::Deny);
        assert_eq!(decide(&["c"], Some("b"), &[]).1, DENIED_AGENT);
        assert_eq!(decide(&["b"], None, &[]).0, PolicyEffect::Deny);
        assert_eq!(decide(&["b"], Some("b"), &[]).0, PolicyEffect::Permit);
        assert_eq!(decide(&["b"], Some("b"), &[START_RUN]).0, PolicyEffect::Ask);
        assert_eq!(
            decide(&["c"], Some("b"), &[START_RUN]).0,
            PolicyEffect::Deny,
            "a denied action causes no question"
        );
        assert_ne!(
            decide(&["b"], Some("b"), &[]).2,
            decide(&["b", "c"], Some("b"), &[]).2
        );
    }

    #[test]
    fn runs_with_an_external_cause_ask_before_plain_actions_by_default() {
        let rules = ToolRules::new(names(&["Exec", "Write"]));
        let decide = |tool, class, asked: &[&str], outside| {
            let verdict = rules.decide(&PolicyQuery {
                tool,
                rules: &ActionRules {
                    asked: names(asked),
                    external_cause_policy: outside,
                    ..ActionRules::default()
                },
                starts: None,
                class,
            });
            (verdict.effect, verdict.rule)
        };
        let plain = |asked: &[&str], outside| decide("Exec", EffectClass::Plain, asked, outside);
        let outside_cause = |effect| (effect, EXTERNAL_CAUSE.to_owned());
        assert_eq!(plain(&[], None).0, PolicyEffect::Permit, "the operator's own run");
        assert_eq!(
            plain(&[], Some(ExternalCausePolicy::Ask)),
            outside_cause(PolicyEffect::Ask)
        );
        assert_eq!(
            plain(&[], Some(ExternalCausePolicy::Deny)),
            outside_cause(PolicyEffect::Deny)
        );
        assert_eq!(
            plain(&[], Some(ExternalCausePolicy::Allow)).0,
            PolicyEffect::Permit
        );
        let listed = plain(&["Exec"], Some(ExternalCausePolicy::Allow));
        assert_eq!(
            listed,
            (PolicyEffect::Ask, "ask_tool".to_owned()),
            "its own list still holds"
        );
        let denied = plain(&["Exec"], Some(ExternalCausePolicy::Deny)).0;
        assert_eq!(denied, PolicyEffect::Deny, "a denied action causes no question");
        for class in [EffectClass::Internal, EffectClass::Idempotent, EffectClass::Saga] {
            let repeatable = decide("Write", class, &[], Some(ExternalCausePolicy::Deny)).0;
            assert_eq!(repeatable, PolicyEffect::Permit, "{class:?}");
        }
        assert!(
            ExternalCausePolicy::ALL
                .into_iter()
                .map(ExternalCausePolicy::as_str)
                .eq(ExternalCausePolicy::WORDS)
        );
        assert!(rule_words(EXTERNAL_CAUSE).is_some());
    }

    proptest! {
        /// For any tool call, only a registered tool that is not denied is permitted.
        #[test]
        fn only_registered_tools_without_restrictions_are_permitted(
            tool in "[A-C]{0,2}", deny_a: bool, ask_a: bool, ask_b: bool,
        ) {
            let set = |name: &'static str, is_in: bool| if is_in { names(&[name]) } else { names(&[]) };
            let (denied, asked) = (set("A", deny_a), &set("A", ask_a) | &set("B", ask_b));
            let rules = ToolRules::new(names(&["A", "B"]));
            let applying = ActionRules { denied, asked, ..ActionRules::default() };
            let (starts, class) = (None, EffectClass::Plain);
            let question = PolicyQuery { tool: &tool, rules: &applying, starts, class };
            let verdict = rules.decide(&question);
            let expected = match tool.as_str() {
                "A" if deny_a => PolicyEffect::Deny,
                "A" if ask_a => PolicyEffect::Ask,
                "B" if ask_b => PolicyEffect::Ask,
                "A" | "B" => PolicyEffect::Permit,
                _ => PolicyEffect::Deny,
            };
            prop_assert_eq!(verdict.effect, expected);
        }
    }
}
