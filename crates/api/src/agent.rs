//! Agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{QueuedMessage, RunSummary, TokenUsage};
use wakeful_core::id::AgentId;
use wakeful_core::prompt::GuidanceKind;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle, Visibility};

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "agents":
    /// All listed agents.
    ListAgents {
        /// Also those that were made for one call.
        #[serde(default)]
        include_private: bool
    } = Get "/api/agents" -> AgentList { 200 "The agents, by name" }
    /// Makes an agent.
    CreateAgent = Post "/api/agents" -> AgentStatus {
        201 "It is there now",
        409 "There is one of that name already, or the workspace cannot be used",
    }
    /// One agent as it stands: small, the same size however long its history is.
    GetAgentStatus { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/status" -> AgentStatus { 200 "The agent" }
    /// What a page needs to draw an agent, before it follows the events.
    GetAgentState { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/state" -> AgentState {
        200 "The agent, its queue and its newest runs",
    }
    /// The status of the default agent.
    GetDefaultAgentStatus {} = Get "/api/status" -> AgentStatus { 200 "The agent", 404 "It has not been made yet" }
    /// The state of the default agent.
    GetDefaultAgentState {} = Get "/api/state" -> AgentState {
        200 "The agent, its queue and its newest runs",
        404 "It has not been made yet",
    }
    /// Pauses an agent: messages are queued, nothing starts.
    PauseAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/pause" -> AgentStatus {
        200 "It is paused; a run that is under way goes on to its end",
    }
    /// Resumes a paused or stopped agent.
    ResumeAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/resume" -> AgentStatus { 200 "It works" }
    /// Stops an agent: it takes no messages until it is resumed.
    StopAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/stop" -> AgentStatus {
        200 "It is stopped; a run that is under way goes on to its end",
    }
    /// Activates an agent: whatever its mode allows may wake it.
    ActivateAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/activate" -> AgentStatus { 200 "It is active" }
    /// Makes an agent dormant: only a person wakes it. What is queued already still runs.
    MakeAgentDormant { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/dormant" -> AgentStatus { 200 "It is dormant" }
    /// Ends an agent for good. What is queued is cancelled, what it did stays to be read.
    DestroyAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/destroy" -> AgentStatus {
        200 "It is gone for good",
        409 "A run of it is under way",
    }
    /// Cancels every message that waits for an agent. An open run continues.
    ClearQueue { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/queue/clear" -> AgentStatus { 200 "Nothing waits" }
    /// Sets who may wake an agent.
    SetAgentMode = Post "/api/agents/{agent_id}/mode" -> AgentStatus { 200 "It is set" }
    /// Lets an agent sleep: until then only a person wakes it, and everything else waits.
    SetAgentSleep = Post "/api/agents/{agent_id}/sleep" -> AgentStatus {
        200 "It sleeps",
        409 "The time has passed, or the agent is gone for good",
    }
    /// Ends the sleep of an agent: what waited begins. It is recorded as a person's override.
    WakeAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/wake" -> AgentStatus {
        200 "It does not sleep",
        409 "It is stopped, or gone for good",
    }
    /// Chooses an agent's model for the runs that begin from now on, or gives it the default back.
    SetModel = Post "/api/agents/{agent_id}/model" -> AgentStatus { 200 "The agent", 409 "There is no such model" }
}

/// What an agent does right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing, at no cost.
    Asleep,
    /// Something waits for its turn.
    Queued,
    /// A run is under way.
    Working,
    /// A run is open, and a person has to decide before it goes on.
    WaitingOnHuman,
    /// A run is open, and a brake holds it.
    Waiting,
    /// A run is open, but cannot go on; the runtime's status says why.
    Stuck,
}

/// An agent as it stands: small, the same size however long its history is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    /// Its name.
    pub agent_id: String,
    /// Whether it is listed.
    pub visibility: Visibility,
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: AgentControl,
    /// Who may wake it.
    pub mode: InteractionMode,
    /// Until when only a person wakes it; absent while it is not asleep by order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub sleep_until: Option<String>,
    /// What it does right now.
    pub activity: Activity,
    /// The folder its commands run in.
    pub workspace: String,
    /// The model that a person chose for it; absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which models its next run asks, and who chose them. Told of one agent, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_state: Option<AgentModelState>,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// Messages that wait for their turn.
    pub pending: u64,
    /// The run that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_run: Option<String>,
    /// The newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunSummary>,
    /// Whether a brake holds it, its own or that of all: it keeps what comes and begins nothing.
    pub is_braked: bool,
    /// Questions of its runs that wait for an answer.
    pub pending_decisions: u64,
    /// Its runs that cannot go on until a person says so.
    pub quarantined_runs: u64,
    /// The number of its newest event; 0 before the first.
    pub last_seq: u64,
    /// Tokens over all its runs.
    pub token_usage: TokenUsage,
    /// Model rounds over all its runs.
    pub model_rounds: u64,
    /// The files that guide it, never what they say. Told of one agent, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_agents_md: Vec<LoadedAgentsMd>,
}

/// Which models an agent's next run asks, and who chose them. A run that is under way stays with its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelState {
    /// Who chose.
    pub source: ModelSource,
    /// The model or route of agents for whom nobody chose.
    pub runtime_default_model: String,
    /// The model that is asked first.
    pub effective_model: String,
    /// Those that are asked when it fails for good, in this order.
    pub effective_fallback_models: Vec<String>,
    /// The model or route that was chosen for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_model: Option<String>,
}

/// Who chose an agent's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// Nobody for this agent: the default holds.
    RuntimeDefault,
    /// A person for this agent, or its own section in the settings.
    AgentOverride,
}

/// A file that guides an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedAgentsMd {
    /// Whose guidance it is.
    pub root: GuidanceRoot,
    /// Where it is.
    pub path: String,
    /// Which file it is.
    pub kind: GuidanceKind,
}

/// Whose guidance a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuidanceRoot {
    /// The agent's own.
    Agent,
    /// The workspace's.
    Workspace,
}

/// All listed agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentStatus>,
}

/// What a page needs to draw an agent, before it follows the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// The same as its status.
    pub agent: AgentStatus,
    /// Messages that wait, next first; at most 50.
    pub queue: Vec<QueuedMessage>,
    /// Its newest runs, newest first; at most 50.
    pub runs: Vec<RunSummary>,
    /// Follow the events from here.
    pub after_seq: u64,
}

/// An agent to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// Its name.
    pub agent_id: Text<AgentId>,
    /// The folder its commands run in; the daemon's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub workspace: Option<String>,
    /// Whether it is listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// Who may wake it; `hybrid` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<InteractionMode>,
}

/// A model to choose for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["model"], "properties": { "model": { "type": "string" }, "clear": { "const": false } } },
    { "required": ["clear"], "properties": { "model": { "type": "null" }, "clear": { "const": true } } },
]))]
pub struct SetModel {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// Which one. Holds for runs that begin from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub model: Option<String>,
    /// Takes the choice back instead: the default holds again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clear: bool,
}

/// Who may wake an agent from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentMode {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// The mode.
    pub mode: InteractionMode,
}

/// How long an agent sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentSleep {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// Until when only a person wakes it.
    pub until: Text<Millis>,
}
