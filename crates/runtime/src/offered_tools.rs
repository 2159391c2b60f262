//! The tools that a run's model requests offer.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::sub_run::{self, START_RUN};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;

use crate::Engine;

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The available tools: those of the host, and the engine's own if the run may use them. A tool for which
    /// the agent lacks a capability is not offered.
    pub(crate) fn specs(&self, settings: &AgentSettings) -> Vec<ToolSpec> {
        let mut specs = self.tools.specs();
        if settings.capabilities.is_some() {
            specs.retain(|spec| self.is_offered(&spec.name, settings));
        }
        if !settings.may_start.is_empty() && self.is_offered(START_RUN, settings) {
            specs.push(sub_run::spec(&settings.may_start));
        }
        specs
    }

    fn is_offered(&self, tool: &str, settings: &AgentSettings) -> bool {
        let contract = self.tools.contract(tool);
        contract.is_none_or(|contract| settings.has_capabilities_of(&contract))
    }
}
