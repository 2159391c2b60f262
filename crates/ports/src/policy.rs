//! Verdicts on actions and on questions to models.

use std::collections::BTreeSet;

use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{PolicyQuery, PolicyVerdict, ToolRules};

/// Answers whether an action may be taken. Must not block: it is asked between a reply and its commit.
pub trait Policy: Send + Sync + 'static {
    /// The verdict, with the rule and the version it came from.
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict;

    /// What an agent may ask of models and show to them, and the version of these rules: a person's confirmation holds
    /// for one version.
    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion);

    /// By which ways people may answer what runs of an agent ask; by every way where nobody said otherwise.
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
