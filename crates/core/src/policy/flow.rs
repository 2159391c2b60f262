//! The steps of a decision on a call, as its record lists them.

use super::denial::GateStage;
use super::rule::RuleName;
use super::{PolicyEffect, PolicyVerdict};

string_enum! {
    /// A step of the decision on a call.
    #[derive(PartialOrd, Ord)]
    pub enum DecisionStep {
        /// The policies in force are read.
        LoadPolicy = "load_policy",
        /// Safety constraints are checked. No permission applies to what they exclude.
        CheckConstraints = "check_constraints",
        /// The policies are evaluated.
        EvaluatePolicies = "evaluate_policies",
        /// The verdict is recorded.
        Record = "record",
        /// The branch of a permitted call: it is performed.
        Perform = "perform",
        /// The branch of a call that needs an approval: a person is asked.
        AskPerson = "ask_person",
        /// The branch of a call that may not begin: it is refused.
        Refuse = "refuse",
    }
}

/// The steps that led to a verdict, in order, with the branch that the call takes. A call that stops before the
/// policies, and one that a constraint excludes, has not reached the later steps.
#[must_use]
pub fn decision_steps(
    verdict: &PolicyVerdict,
    effect: PolicyEffect,
    stop: Option<GateStage>,
) -> Vec<DecisionStep> {
    let mut steps = Vec::new();
    if stop.is_none_or(|stage| stage >= GateStage::Policy) {
        steps.extend([DecisionStep::LoadPolicy, DecisionStep::CheckConstraints]);
        let is_excluded = matches!(
            RuleName::parse(&verdict.rule),
            Some(RuleName::UnsafeTarget | RuleName::InvalidFact)
        );
        steps.extend((!is_excluded).then_some(DecisionStep::EvaluatePolicies));
    }
    steps.push(DecisionStep::Record);
    steps.push(match (stop, effect) {
        (Some(_), _) | (None, PolicyEffect::Deny) => DecisionStep::Refuse,
        (None, PolicyEffect::Ask) => DecisionStep::AskPerson,
        (None, PolicyEffect::Permit) => DecisionStep::Perform,
    });
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PolicyVersion;

    fn words(effect: PolicyEffect, rule: &str, stop: Option<GateStage>) -> Vec<&'static str> {
        let verdict = PolicyVerdict {
            effect,
            rule: rule.to_owned(),
            policy_version: PolicyVersion::new("p1"),
        };
        let steps = decision_steps(&verdict, effect, stop);
        steps.into_iter().map(DecisionStep::as_str).collect()
    }

    // Conformance: A-169
    #[test]
    fn each_decision_lists_its_steps_and_takes_its_branch() {
        let judged = ["load_policy", "check_constraints", "evaluate_policies", "record"];
        for (effect, stop, branch) in [
            (PolicyEffect::Permit, None, "perform"),
            (PolicyEffect::Ask, None, "ask_person"),
            (PolicyEffect::Deny, Some(GateStage::Policy), "refuse"),
        ] {
            let found = words(effect, "main.cedar#1", stop);
            assert_eq!(found.split_last(), Some((&branch, &judged[..])));
        }
        assert_eq!(
            words(PolicyEffect::Deny, "unsafe_target", Some(GateStage::Policy)),
            ["load_policy", "check_constraints", "record", "refuse"]
        );
        assert_eq!(
            words(PolicyEffect::Deny, "wake_reason", Some(GateStage::WakeReason)),
            ["record", "refuse"]
        );
    }
}
