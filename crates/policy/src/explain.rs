//! Explains a verdict: what decided it, and which single change would make it less strict.

use wakeful_core::policy::{
    ActionRules, CallFacts, HostScope, PathScope, PermissionMode, PolicyEffect, PolicyQuery, RuleName,
    SecretScope, Target,
};

use crate::compiled::EffectivePolicy;
use crate::document::PolicyKind;
use crate::engine::{Judgement, PolicyEngine, strictness};

/// A single change after which the verdict is less strict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// What would have to differ, as a phrase.
    pub change: String,
    /// The verdict then.
    pub effect: PolicyEffect,
}

/// A verdict with its alternatives.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub judgement: Judgement,
    /// Empty if the call is permitted, or if no single change makes the verdict less strict.
    pub alternatives: Vec<Alternative>,
}

impl PolicyEngine {
    /// Explains the verdict on a call.
    #[must_use]
    pub fn explain(&self, query: &PolicyQuery<'_>) -> Explanation {
        let judgement = self.judge(query);
        let now = strictness(judgement.verdict.effect);
        let mut alternatives = Vec::new();
        let mut consider = |change: String, effect: PolicyEffect| {
            if strictness(effect) < now {
                alternatives.push(Alternative { change, effect });
            }
        };
        for (change, rules) in other_rules(query) {
            let other = PolicyQuery {
                rules: &rules,
                ..query.clone()
            };
            consider(change, self.judge(&other).verdict.effect);
        }
        for (change, facts) in other_facts(query.facts) {
            let other = PolicyQuery {
                facts: &facts,
                ..query.clone()
            };
            consider(change, self.judge(&other).verdict.effect);
        }
        if query.sandbox_level == 0 {
            let other = PolicyQuery {
                sandbox_level: 1,
                ..query.clone()
            };
            let change = "a machine that can sandbox commands, or `--allow-unsandboxed`".to_owned();
            consider(change, self.judge(&other).verdict.effect);
        }
        for policy in written_restrictions(&judgement) {
            let without = self.judge_some(query, &|other| other.rule != policy.rule);
            consider(
                format!("without the policy {}", policy.rule),
                without.verdict.effect,
            );
        }
        // A permit that a person writes replaces only the questions of the preset.
        if judgement
            .targets
            .iter()
            .all(|target| is_permittable(&target.rule, target.effect))
            && now == 1
        {
            consider("a policy that permits it".to_owned(), PolicyEffect::Permit);
        }
        Explanation {
            judgement,
            alternatives,
        }
    }
}

/// Whether a written permit is sufficient for a target.
fn is_permittable(rule: &str, effect: PolicyEffect) -> bool {
    let asks_by_preset = matches!(
        RuleName::parse(rule),
        Some(RuleName::OutsidePath | RuleName::ProtectedPath | RuleName::UnlistedHost)
    );
    effect == PolicyEffect::Permit || asks_by_preset
}

/// The policies that people wrote and that restrict the call.
fn written_restrictions(judgement: &Judgement) -> Vec<&EffectivePolicy> {
    let mut found: Vec<&EffectivePolicy> = Vec::new();
    for policy in judgement.targets.iter().flat_map(|target| &target.policies) {
        let restricts = policy.kind == PolicyKind::Forbid || policy.ask.is_some();
        let is_written = RuleName::parse(&policy.rule).is_none();
        if restricts && is_written && !found.iter().any(|other| other.rule == policy.rule) {
            found.push(policy);
        }
    }
    found
}

/// The rules with one change each.
fn other_rules(query: &PolicyQuery<'_>) -> Vec<(String, ActionRules)> {
    let rules = query.rules;
    let mut others = Vec::new();
    for mode in PermissionMode::ALL.into_iter().filter(|mode| *mode < rules.mode) {
        let other = ActionRules {
            mode,
            ..rules.clone()
        };
        others.push((format!("the permission mode {mode}"), other));
    }
    let mut without = |change: String, edit: &dyn Fn(&mut ActionRules)| {
        let mut other = rules.clone();
        edit(&mut other);
        if other != *rules {
            others.push((change, other));
        }
    };
    without("a run without untrusted data".to_owned(), &|other| {
        other.foreign_targets = None;
    });
    without("a run that is not read-only".to_owned(), &|other| {
        other.is_read_only = false
    });
    without(
        format!("{} removed from the denied tools", query.tool),
        &|other| {
            other.denied.remove(query.tool);
        },
    );
    without(
        format!("{} removed from the tools that ask", query.tool),
        &|other| {
            other.asked.remove(query.tool);
        },
    );
    for target in &query.facts.targets {
        if let Target::Agent { agent_id } = target {
            without(
                format!("{agent_id} on the list of agents that it may start"),
                &|other| {
                    other.may_start.insert(agent_id.to_string());
                },
            );
        }
    }
    others
}

/// The facts with every target of one kind inside the agent's scope.
fn other_facts(facts: &CallFacts) -> Vec<(String, CallFacts)> {
    let granted = |change: &dyn Fn(&mut Target)| {
        let mut other = facts.clone();
        other.targets.iter_mut().for_each(change);
        (other != *facts).then_some(other)
    };
    let paths = granted(&|target| {
        if let Target::Path { scope, .. } = target
            && matches!(scope, PathScope::Outside | PathScope::Protected)
        {
            *scope = PathScope::Granted;
        }
    });
    let hosts = granted(&|target| {
        if let Target::Host { scope, .. } = target
            && matches!(scope, HostScope::Unlisted | HostScope::Private)
        {
            *scope = HostScope::Allowed;
        }
    });
    let secrets = granted(&|target| {
        if let Target::Secret { scope, .. } = target {
            *scope = SecretScope::Allowed;
        }
    });
    let paths = paths.map(|facts| ("the path on the list of the agent's sandbox".to_owned(), facts));
    let hosts = hosts.map(|facts| ("the host on the list of the agent's sandbox".to_owned(), facts));
    let secrets = secrets.map(|facts| ("the secret on the agent's list of secrets".to_owned(), facts));
    paths.into_iter().chain(hosts).chain(secrets).collect()
}
