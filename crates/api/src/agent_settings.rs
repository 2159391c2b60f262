//! Endpoints and types for the settings of an agent.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use wakeful_core::agent_settings::{Change, SettingsChange};
use wakeful_core::budget::MicroUsd;
use wakeful_core::decision::Channel;
use wakeful_core::guardrail::GuardrailPolicy;
use wakeful_core::id::AgentId;
use wakeful_core::policy::{ForeignTargetPolicy, PermissionMode};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::tool::{Capability, ToolQuota};
use wakeful_core::wake::{InteractionMode, Visibility};

use crate::AgentStatus;
use crate::endpoint::endpoints;
use crate::text::{Text, whole};

endpoints! { "agents":
    /// Creates an agent.
    CreateAgent = Post "/api/agents" -> AgentStatus {
        201 "The agent was created",
        409 "An agent with this name exists, or a setting is invalid, for example an unknown tool or a model that its provider does not list",
    }
    /// Retrieves the settings of an agent.
    GetAgentSettings { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/settings" -> AgentSettings { 200 "The settings" }
    /// Changes settings of an agent.
    ///
    /// A missing field keeps its value, and null restores the default. An open run uses the new lists of tools
    /// and agents for its next action; model, folder and maximum rounds apply to runs that start afterwards.
    ChangeAgentSettings = Post "/api/agents/{agent_id}/settings" -> AgentSettings {
        200 "The settings after the change",
        409 "A setting is invalid, for example an unknown tool, agent, category or model",
    }
    /// Lists the tools that agents can have.
    ListTools {} = Get "/api/tools" -> ToolList { 200 "The tools" }
}

/// The tools that agents can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolList {
    /// The names of the tools, sorted.
    pub tools: Vec<String>,
}

/// The settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// The agent's name.
    pub agent_id: String,
    /// What the agent is for; empty without a description.
    pub description: String,
    /// The agent's instructions, which are sent with each model request. Absent without instructions. They are
    /// stored in the file `agents/AGENT/AGENTS.md` of the home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The model of the agent's runs. Absent if the default model applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that are used in this order if the model fails permanently. Absent if the configured ones
    /// apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<Vec<String>>,
    /// Tools that require a person's approval.
    pub ask_tools: Vec<String>,
    /// Tools that require approval in the runs of every agent, from the configuration.
    pub ask_tools_of_all_agents: Vec<String>,
    /// Tools that the agent may not use.
    pub deny_tools: Vec<String>,
    /// Agents whose runs the agent may start.
    pub may_start: Vec<String>,
    /// What happens before a call of a run with untrusted data that acts on a foreign target. Absent if the configured policy applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_targets: Option<ForeignTargetPolicy>,
    /// The channels through which the agent's decisions may be answered. Absent if the configured ones apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_channels: Option<BTreeSet<Channel>>,
    /// The maximum number of model rounds of a run. Absent if the configured number applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The agent's daily cap in US dollars. Absent if only the cap of all agents applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<String>,
    /// The folder in which the agent's commands run.
    pub workspace: String,
    /// How much the agent's runs may do without a person.
    pub permission_mode: PermissionMode,
    /// What the agent's sandbox allows beyond its workspace.
    pub sandbox: SandboxScope,
    /// How often the agent may use a tool, by the tool's name.
    pub tool_quotas: BTreeMap<String, ToolQuota>,
    /// What is watched for in the agent's messages, replies and calls.
    pub guardrails: GuardrailPolicy,
    /// The capabilities that the agent has. Absent if it has all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Whether the provider of the agent's model may search the web while it writes a reply.
    pub web_search: bool,
    /// The categories of the journal that the agent may use; `*` alone means every category.
    pub allowed_category_ids: Vec<String>,
    /// Why a model could not be verified. Only in the response to the change that set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_warning: Option<String>,
}

/// Defines a request with the settings of an agent as optional fields.
macro_rules! with_settings {
    ($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// What the agent is for.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<String>", length(max = 500), regex(pattern = crate::text::NO_ZERO))]
            pub description: Change<String>,
            /// The agent's instructions, which are sent with each model request; at most 32 KiB.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<String>", length(max = 32768))]
            pub instructions: Change<String>,
            /// The model of the agent's runs.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<String>", length(min = 1, max = 4096))]
            pub model: Change<String>,
            /// The models that are used in this order if the model fails permanently.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<Vec<String>>", length(max = 7))]
            pub fallbacks: Change<Vec<String>>,
            /// Tools that require a person's approval.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<String>>", length(max = 64))]
            pub ask_tools: Change<BTreeSet<String>>,
            /// Tools that the agent may not use.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<String>>", length(max = 64))]
            pub deny_tools: Change<BTreeSet<String>>,
            /// Agents whose runs the agent may start.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<String>>", length(max = 32))]
            pub may_start: Change<BTreeSet<String>>,
            /// What happens before a call of a run with untrusted data that acts on a foreign target.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub foreign_targets: Change<ForeignTargetPolicy>,
            /// The channels through which the agent's decisions may be answered.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<Channel>>", length(min = 1))]
            pub answer_channels: Change<BTreeSet<Channel>>,
            /// The maximum number of model rounds of a run.
            #[serde(default, skip_serializing_if = "Change::is_keep", deserialize_with = "whole_change")]
            #[schemars(with = "Option<u32>", range(min = 1, max = 100000))]
            pub max_rounds: Change<u32>,
            /// The agent's daily cap in US dollars, with at most six decimals.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub daily_usd: Change<Text<MicroUsd>>,
            /// The folder in which the agent's commands run; an absolute path.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<String>", length(min = 1, max = 4096))]
            pub workspace: Change<String>,
            /// How much the agent's runs may do without a person.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub permission_mode: Change<PermissionMode>,
            /// What the agent's sandbox allows beyond its workspace. The whole value is replaced.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub sandbox: Change<SandboxScope>,
            /// How often the agent may use a tool, by the tool's name. The whole value is replaced.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeMap<String, ToolQuota>>", extend("maxProperties" = 64))]
            pub tool_quotas: Change<BTreeMap<String, ToolQuota>>,
            /// What is watched for in the agent's messages, replies and calls. The whole value is replaced.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub guardrails: Change<GuardrailPolicy>,
            /// The capabilities that the agent has. A tool that needs another one is denied and not offered.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<Capability>>")]
            pub capabilities: Change<BTreeSet<Capability>>,
            /// Whether the provider of the agent's model may search the web while it writes a reply. It is offered
            /// only while the policy permits the tool `WebSearch` without asking.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            pub web_search: Change<bool>,
            /// The categories of the journal that the agent may use; `*` alone means every category, which is
            /// the default.
            #[serde(default, skip_serializing_if = "Change::is_keep")]
            #[schemars(with = "Option<BTreeSet<String>>", length(max = 256))]
            pub allowed_category_ids: Change<BTreeSet<String>>,
            /// Accept models without asking their providers whether they have them.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub skip_model_test: bool,
        }

        impl $name {
            /// The requested settings, which are not checked yet.
            #[must_use]
            pub fn settings(&self) -> SettingsChange {
                let request = self.clone();
                SettingsChange {
                    description: request.description,
                    instructions: request.instructions,
                    model: request.model,
                    fallbacks: request.fallbacks,
                    ask_tools: request.ask_tools,
                    deny_tools: request.deny_tools,
                    may_start: request.may_start,
                    foreign_targets: request.foreign_targets,
                    answer_channels: request.answer_channels,
                    max_rounds: request.max_rounds,
                    daily_usd: request.daily_usd.map(|text| text.0),
                    workspace: request.workspace,
                    permission_mode: request.permission_mode,
                    sandbox: request.sandbox,
                    tool_quotas: request.tool_quotas,
                    guardrails: request.guardrails,
                    capabilities: request.capabilities,
                    web_search: request.web_search,
                    allowed_category_ids: request.allowed_category_ids,
                }
            }

            /// A request with these settings.
            #[must_use]
            pub fn new($($field: $type,)* settings: SettingsChange) -> Self {
                Self {
                    $($field,)*
                    description: settings.description,
                    instructions: settings.instructions,
                    model: settings.model,
                    fallbacks: settings.fallbacks,
                    ask_tools: settings.ask_tools,
                    deny_tools: settings.deny_tools,
                    may_start: settings.may_start,
                    foreign_targets: settings.foreign_targets,
                    answer_channels: settings.answer_channels,
                    max_rounds: settings.max_rounds,
                    daily_usd: settings.daily_usd.map(Text),
                    workspace: settings.workspace,
                    permission_mode: settings.permission_mode,
                    sandbox: settings.sandbox,
                    tool_quotas: settings.tool_quotas,
                    guardrails: settings.guardrails,
                    capabilities: settings.capabilities,
                    web_search: settings.web_search,
                    allowed_category_ids: settings.allowed_category_ids,
                    skip_model_test: false,
                }
            }
        }
    };
}

with_settings! {
    /// The agent to create. Settings that are absent or null have their defaults.
    struct CreateAgent {
        /// The agent's name.
        agent_id: Text<AgentId>,
        /// Whether the agent appears in lists.
        #[serde(default)]
        visibility: Visibility,
        /// Which causes may wake the agent. Defaults to `hybrid`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<InteractionMode>,
    }
}

with_settings! {
    /// The settings to change. A missing field keeps its value, and null restores the default.
    struct ChangeAgentSettings {
        /// The agent's name.
        agent_id: Text<AgentId>,
    }
}

/// Deserializes a change of an integer that may have a decimal point.
fn whole_change<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Change<u32>, D::Error> {
    Ok(whole(deserializer)?.map_or(Change::Reset, Change::Set))
}
