//! Policy verdicts on actions and model requests.

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{
    ActionRules, HostDecision, PathDecisions, PolicyFiles, PolicyQuery, PolicyVerdict, RuleDefaults, Target,
};

/// Decides whether an action is allowed. Must not block, because it is called between a reply and its
/// commit.
pub trait Policy: Send + Sync + 'static {
    /// Returns the verdict with its rule and version.
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict;

    /// Returns what the policies say about a host that a running call connects to. The scope of the host is
    /// what the agent's lists say about it.
    fn decide_host(&self, _call: &PolicyQuery<'_>, _host: &Target) -> HostDecision {
        HostDecision::AsListed
    }

    /// Returns what the policies say about paths that a running call finds in a folder. Without paths it says
    /// whether policies restrict any.
    fn decide_paths(&self, _call: &PolicyQuery<'_>, _paths: &[Target]) -> PathDecisions {
        PathDecisions::Unrestricted
    }

    /// Returns the version of everything that [`Self::decide`] depends on besides the query's facts: with
    /// equal versions, equal facts give equal verdicts.
    fn version(&self, agent: &AgentId, rules: &ActionRules) -> PolicyVersion;

    /// Returns the policy files in force for an agent. A change of them is recorded in its log with the next
    /// decision.
    fn files(&self, _agent: &AgentId) -> PolicyFiles {
        PolicyFiles::default()
    }

    /// Returns what an agent may request from models and send to them, with the version of these rules. A
    /// person's confirmation is valid for one version.
    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion);

    /// Returns the rules for all agents, which apply where an agent's record does not say otherwise.
    fn defaults(&self) -> RuleDefaults {
        RuleDefaults::default()
    }
}
