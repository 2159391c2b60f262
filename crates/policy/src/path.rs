//! Decides on paths that a running call finds in a folder. The folder was judged with the call, and what was
//! approved with it does not ask again; a policy on some of the paths applies to these.

use wakeful_core::policy::{CallFacts, PathDecisions, PolicyEffect, PolicyQuery, Target};

use crate::compiled::EffectivePolicy;
use crate::document::PolicyKind;
use crate::engine::{Judgement, PolicyEngine, TargetJudgement};
use crate::names::ResourceKind;
use crate::request::normalized;

impl PolicyEngine {
    /// Decides on paths below the folder of a call. A path that cannot be judged is excluded.
    ///
    /// Only policies that people wrote and that forbid or ask can say less about a path than about its folder,
    /// so without one nothing has to be judged.
    pub(crate) fn judge_paths(&self, call: &PolicyQuery<'_>, paths: &[Target]) -> PathDecisions {
        if !self.restricts_paths(call) {
            return PathDecisions::Unrestricted;
        }
        let answered = answered(&self.judge(call));
        // One path without a single spelling would decide for all of them.
        let is_judged = |path: &&Target| !path.is_unsafe() && normalized(path).is_ok();
        let targets: Vec<Target> = paths.iter().filter(is_judged).cloned().collect();
        if targets.is_empty() {
            return PathDecisions::Each(vec![false; paths.len()]);
        }
        let facts = CallFacts {
            targets,
            ..CallFacts::default()
        };
        let query = PolicyQuery {
            facts: &facts,
            ..call.clone()
        };
        let judged = self
            .judge_some(&query, &|policy| !answered.contains(&policy.rule))
            .targets;
        // Fewer judgements than paths mean that the policies could not be evaluated.
        let is_complete = judged.len() == facts.targets.len();
        let mut judged = judged.iter();
        let decisions = paths.iter().map(|path| {
            let permitted = is_judged(&path).then(|| judged.next()).flatten();
            is_complete && permitted.is_some_and(is_permitted)
        });
        PathDecisions::Each(decisions.collect())
    }

    /// Whether a written policy may exclude a path from calls like this one.
    fn restricts_paths(&self, call: &PolicyQuery<'_>) -> bool {
        // The call itself is denied while a file has no valid version.
        if self.written(call.agent_id).is_incomplete() {
            return true;
        }
        let Ok(effective) = self.effective(call.agent_id, call.rules) else {
            return true;
        };
        let restricts = |policy: &EffectivePolicy| {
            policy.is_written()
                && policy.kind == PolicyKind::Forbid
                && policy.may_match(
                    &self.names,
                    (call.agent_id.as_str(), call.tool).into(),
                    ResourceKind::Path,
                )
        };
        effective.iter().any(restricts)
    }
}

/// The policies that asked about the call.
fn answered(call: &Judgement) -> Vec<String> {
    let policies = call.targets.iter().flat_map(|target| &target.policies);
    let asked = policies.filter(|policy| policy.kind == PolicyKind::Forbid && policy.ask.is_some());
    asked.map(|policy| policy.rule.clone()).collect()
}

/// Whether a path may be used. The questions of the permission mode were answered for the folder.
fn is_permitted(path: &TargetJudgement) -> bool {
    match path.effect {
        PolicyEffect::Permit => true,
        PolicyEffect::Ask => {
            let mut policies = path.policies.iter();
            !policies.any(|policy| policy.is_written() && policy.kind == PolicyKind::Forbid)
        }
        PolicyEffect::Deny => false,
    }
}
