//! Policy verdicts on actions and model requests.

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{PolicyQuery, PolicyVerdict, RuleDefaults, ToolRules};

/// Decides whether an action is allowed. Must not block, because it is called between a reply and its
/// commit.
pub trait Policy: Send + Sync + 'static {
    /// Returns the verdict with its rule and version.
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict;

    /// Returns what an agent may request from models and send to them, with the version of these rules. A
    /// person's confirmation is valid for one version.
    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion);

    /// Returns the rules for all agents, which apply where an agent's record does not say otherwise.
    fn defaults(&self) -> RuleDefaults {
        RuleDefaults::default()
    }
}

impl Policy for ToolRules {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        ToolRules::decide(self, question)
    }

    fn inference(&self, _agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        (InferencePermissions::default(), PolicyVersion::new("inference-1"))
    }
}
