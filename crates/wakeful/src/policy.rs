//! The policy of agents: the rules for tools, and the permissions for models from the settings.

use std::sync::Arc;

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{PolicyQuery, PolicyVerdict, RuleDefaults, ToolRules};
use wakeful_ports::policy::Policy;

use crate::config::Settings;
use crate::model::redirected_providers;
use crate::open_home::tool_names;

#[derive(Debug)]
pub(crate) struct ConfiguredPolicy {
    rules: ToolRules,
    settings: Arc<Settings>,
    moved: Vec<String>,
}

impl ConfiguredPolicy {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            rules: ToolRules::new(tool_names()),
            moved: redirected_providers(&settings),
            settings,
        }
    }
}

impl Policy for ConfiguredPolicy {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        self.rules.decide(question)
    }

    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        (
            self.settings.permissions(agent),
            self.settings.policy_version(agent, &self.moved),
        )
    }

    fn defaults(&self) -> RuleDefaults {
        self.settings.rules()
    }
}
