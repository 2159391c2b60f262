//! The tools that a run's model requests offer.

use serde_json::json;
use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::guardrail::blocking;
use wakeful_core::policy::PolicyEffect;
use wakeful_core::step::PriorActions;
use wakeful_core::sub_run::{self, START_RUN};
use wakeful_core::tool::WEB_SEARCH;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;

use crate::Engine;
use crate::hook::HookEffect;
use crate::run::ClaimedRun;
use crate::step::JudgedCall;

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The available tools: those of the host, and the engine's own if the run may use them. A tool for which
    /// the agent lacks a capability is not offered.
    pub(crate) fn specs(&self, claimed: &ClaimedRun) -> Vec<ToolSpec> {
        let settings = &claimed.settings;
        let mut specs = self.tools.specs();
        specs.retain(|spec| match spec.name.as_str() {
            WEB_SEARCH => self.may_search_web(claimed),
            tool => settings.capabilities.is_none() || self.is_offered(tool, settings),
        });
        if !settings.may_start.is_empty() && self.is_offered(START_RUN, settings) {
            specs.push(sub_run::spec(&settings.may_start));
        }
        specs
    }

    fn is_offered(&self, tool: &str, settings: &AgentSettings) -> bool {
        let contract = self.tools.contract(tool);
        contract.is_none_or(|contract| settings.has_capabilities_of(&contract))
    }

    /// Whether the provider of the current model may search the web. It searches while it writes the reply, so a
    /// verdict that asks cannot be answered in time and counts as a denial. Nothing reads its queries before they are
    /// used, so a guardrail that compares phrases may be tripped by any of them.
    fn may_search_web(&self, claimed: &ClaimedRun) -> bool {
        if !claimed.settings.web_search || !self.model.profile(claimed.machine.active_model()).searches_web {
            return false;
        }
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let history = Some(claimed.read_history());
        let judged = JudgedCall {
            agent_id: &claimed.row.agent_id,
            tool: WEB_SEARCH,
            input: &json!({ "query": "?" }),
            rules: &rules,
            hook: &HookEffect::None,
            history: history.as_ref(),
        };
        let read = self.call_reads(&judged, PriorActions::default());
        let trips = rules.guardrails.unread_tool_trips(WEB_SEARCH);
        read.verdict.effect == PolicyEffect::Permit && blocking(&trips).is_none()
    }
}
