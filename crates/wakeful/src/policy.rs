//! The policy of agents: the rules for tools, and the permissions for models from the settings.

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{PolicyQuery, PolicyVerdict, RuleDefaults, ToolRules};
use wakeful_ports::policy::Policy;

use crate::config::LiveSettings;
use crate::model::redirected_providers;
use crate::open_home::tool_names;

#[derive(Debug)]
pub(crate) struct ConfiguredPolicy {
    rules: ToolRules,
    settings: LiveSettings,
}

impl ConfiguredPolicy {
    pub(crate) fn new(settings: LiveSettings) -> Self {
        Self {
            rules: ToolRules::new(tool_names()),
            settings,
        }
    }
}

impl Policy for ConfiguredPolicy {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        self.rules.decide(question)
    }

    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        let settings = self.settings.current();
        let moved = redirected_providers(&settings);
        (
            settings.permissions(agent),
            settings.policy_version(agent, &moved),
        )
    }

    fn defaults(&self) -> RuleDefaults {
        self.settings.current().rules()
    }
}
