//! Policy verdicts on actions and model requests.

use std::collections::BTreeSet;

use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{PolicyQuery, PolicyVerdict, ToolRules};

/// Decides whether an action is allowed. Must not block, because it is called between a reply and its
/// commit.
pub trait Policy: Send + Sync + 'static {
    /// Returns the verdict with its rule and version.
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict;

    /// Returns what an agent may request from models and send to them, with the version of these rules. A
    /// person's confirmation is valid for one version.
    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion);

    /// Returns the channels through which people may answer decisions of an agent's runs; all channels by
    /// default.
    fn answer_channels(&self, _agent: &AgentId) -> BTreeSet<Channel> {
        Channel::all()
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
