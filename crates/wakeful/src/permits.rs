//! What agents may do here: the rules for tools, and for models what the settings say.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::Permissions;
use wakeful_core::policy::{Question, Rules, Verdict};
use wakeful_ports::policy::Policy;

use crate::config::Settings;
use crate::model::moved;
use crate::place::tool_names;

/// The policy of the shipped program.
#[derive(Debug)]
pub(crate) struct Permits {
    rules: Rules,
    settings: Arc<Settings>,
    moved: Vec<String>,
}

impl Permits {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            rules: Rules::new(tool_names()),
            moved: moved(&settings),
            settings,
        }
    }
}

impl Policy for Permits {
    fn decide(&self, question: &Question<'_>) -> Verdict {
        self.rules.decide(question)
    }

    fn inference(&self, agent: &AgentId) -> (Permissions, PolicyVersion) {
        (
            self.settings.permissions(agent),
            self.settings.policy_version(agent, &self.moved),
        )
    }

    fn answer_from(&self, agent: &AgentId) -> BTreeSet<Channel> {
        self.settings.answer_from(agent)
    }
}
