//! Decides on a host that a running call connects to. The call itself was permitted, or a person approved
//! it, so a policy that asked about the call does not ask again for each host.

use wakeful_core::policy::{CallFacts, HostDecision, HostScope, PolicyEffect, PolicyQuery, Target};

use crate::compiled::EffectivePolicy;
use crate::document::PolicyKind;
use crate::engine::{Judgement, PolicyEngine};

impl PolicyEngine {
    /// Decides on a host beside the agent's lists of hosts.
    ///
    /// Only a policy whose head names hosts opens one that is on no list: a policy that permits a command says
    /// nothing about what the command connects to.
    pub(crate) fn judge_host(&self, call: &PolicyQuery<'_>, host: &Target) -> HostDecision {
        // A host that the call names was judged with the call.
        if call.facts.targets.iter().any(|target| is_same_host(target, host)) {
            return HostDecision::AsListed;
        }
        let facts = CallFacts {
            targets: vec![host.clone()],
            command: call.facts.command.clone(),
            ..CallFacts::default()
        };
        let query = PolicyQuery {
            facts: &facts,
            ..call.clone()
        };
        let judgement = self.judge(&query);
        if judgement.verdict.effect != PolicyEffect::Ask {
            return self.decision(&judgement, host);
        }
        let answered = answered(&self.judge(call));
        let judgement = self.judge_some(&query, &|policy| !answered.contains(&policy.rule));
        self.decision(&judgement, host)
    }

    fn decision(&self, judgement: &Judgement, host: &Target) -> HostDecision {
        let is_listed = matches!(
            host,
            Target::Host {
                scope: HostScope::Allowed,
                ..
            }
        );
        let policies = || judgement.targets.iter().flat_map(|target| &target.policies);
        let written = || policies().find(|policy| policy.is_written());
        let opens = |policy: &&EffectivePolicy| policy.is_written() && policy.names_hosts(&self.names);
        let rule = judgement.verdict.rule.clone();
        match judgement.verdict.effect {
            PolicyEffect::Deny => HostDecision::Refused { rule },
            PolicyEffect::Permit if is_listed => HostDecision::AsListed,
            PolicyEffect::Permit => {
                policies()
                    .find(opens)
                    .map_or(HostDecision::AsListed, |policy| HostDecision::Permitted {
                        rule: policy.rule.clone(),
                    })
            }
            // The mode asks about hosts on no list; the lists refuse them and say how to add one.
            PolicyEffect::Ask if !is_listed && written().is_none() => HostDecision::AsListed,
            PolicyEffect::Ask => HostDecision::Asks {
                rule: written().map_or(rule, |policy| policy.rule.clone()),
            },
        }
    }
}

/// The policies that asked about the call, and not about one host of it.
fn answered(call: &Judgement) -> Vec<String> {
    let mut found = Vec::new();
    for target in &call.targets {
        let is_host = matches!(target.target, Some(Target::Host { .. }));
        let asked = target.policies.iter().filter(|policy| {
            policy.kind == PolicyKind::Forbid && policy.ask.is_some() && !(is_host && policy.is_written())
        });
        found.extend(asked.map(|policy| policy.rule.clone()));
    }
    found
}

fn is_same_host(target: &Target, other: &Target) -> bool {
    match (target, other) {
        (Target::Host { host: a, port: b, .. }, Target::Host { host: c, port: d, .. }) => a == c && b == d,
        (Target::Host { .. } | Target::Path { .. } | Target::Agent { .. } | Target::Secret { .. }, _) => {
            false
        }
    }
}
