//! Endpoints and types for agents: their status, lifecycle and mode.

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
    /// Lists all public agents.
    ListAgents {
        /// Also return private agents, which are temporary and created for one run.
        #[serde(default)]
        include_private: bool
    } = Get "/api/agents" -> AgentList { 200 "The agents, sorted by name" }
    /// Retrieves the status of an agent.
    ///
    /// The response is small; its size does not depend on the length of the agent's history.
    GetAgentStatus { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/status" -> AgentStatus { 200 "The agent" }
    /// Retrieves the status, the queue and the newest runs of an agent.
    ///
    /// Call it before following the agent's events, starting at `after_seq`.
    GetAgentState { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/state" -> AgentState {
        200 "The agent, its queue and its newest runs",
    }
    /// Retrieves the status of the default agent.
    GetDefaultAgentStatus {} = Get "/api/status" -> AgentStatus { 200 "The agent", 404 "The default agent has not been created yet" }
    /// Retrieves the status, the queue and the newest runs of the default agent.
    GetDefaultAgentState {} = Get "/api/state" -> AgentState {
        200 "The agent, its queue and its newest runs",
        404 "The default agent has not been created yet",
    }
    /// Pauses an agent: messages are queued and nothing starts.
    PauseAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/pause" -> AgentStatus {
        200 "The agent is paused; a run in progress continues to its end",
    }
    /// Resumes a paused or stopped agent.
    ResumeAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/resume" -> AgentStatus { 200 "The agent is running" }
    /// Stops an agent: messages are refused until it is resumed.
    StopAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/stop" -> AgentStatus {
        200 "The agent is stopped; a run in progress continues to its end",
    }
    /// Activates an agent: every cause that its mode allows can wake it.
    ActivateAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/activate" -> AgentStatus { 200 "The agent is active" }
    /// Makes an agent dormant: only a person can wake it.
    ///
    /// Messages that are already queued still run.
    MakeAgentDormant { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/dormant" -> AgentStatus { 200 "The agent is dormant" }
    /// Destroys an agent permanently.
    ///
    /// Queued messages are cancelled. The agent's history remains readable.
    DestroyAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/destroy" -> AgentStatus {
        200 "The agent is destroyed",
        409 "A run of the agent is in progress",
    }
    /// Cancels every queued message of an agent. An open run continues.
    ClearQueue { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/queue/clear" -> AgentStatus { 200 "The queue is empty" }
    /// Sets the mode of an agent: which causes may wake it.
    SetAgentMode = Post "/api/agents/{agent_id}/mode" -> AgentStatus { 200 "The mode is set" }
    /// Puts an agent to sleep until a given time.
    ///
    /// Until then only a person can wake it; all other messages stay queued.
    SetAgentSleep = Post "/api/agents/{agent_id}/sleep" -> AgentStatus {
        200 "The agent is asleep",
        409 "The time is in the past, or the agent is destroyed",
    }
    /// Ends the sleep of an agent, so that its queued messages start.
    ///
    /// The log records it as a person's override.
    WakeAgent { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/wake" -> AgentStatus {
        200 "The agent is not asleep",
        409 "The agent is stopped or destroyed",
    }
}

/// What an agent is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Idle: nothing is running or queued.
    Asleep,
    /// Messages are queued and no run is open.
    Queued,
    /// A run is open and neither waits for a decision nor is held by a brake.
    Working,
    /// A run is open and waits for a person's decision.
    WaitingOnHuman,
    /// A run is open and held by a brake.
    Waiting,
    /// Its work cannot continue, for example because a cap is reached; the runtime status contains the
    /// reason.
    Stuck,
}

/// The current status of an agent. Its size does not depend on the length of the agent's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    /// The agent's name.
    pub agent_id: String,
    /// Whether the agent appears in lists.
    pub visibility: Visibility,
    /// The lifecycle state of the agent.
    pub lifecycle: Lifecycle,
    /// Whether the agent is running, paused or stopped.
    pub control: AgentControl,
    /// Which causes may wake the agent.
    pub mode: InteractionMode,
    /// Until this time only a person can wake the agent. Absent if the agent was not put to sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub sleep_until: Option<String>,
    /// What the agent is doing now.
    pub activity: Activity,
    /// What the agent is for. Absent without a description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The folder in which the agent's commands run.
    pub workspace: String,
    /// The model that was chosen for this agent. Absent if the default model applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models of the agent's next run and where they were chosen. Returned for a single agent, not in
    /// lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_state: Option<AgentModelState>,
    /// When the agent was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// The number of queued messages.
    pub pending: u64,
    /// The key of the open run. Absent if no run is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_run: Option<String>,
    /// The newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunSummary>,
    /// Whether a brake holds the agent, either its own or the one for all agents. Messages are queued and
    /// nothing starts.
    pub is_braked: bool,
    /// The number of pending decisions of its runs.
    pub pending_decisions: u64,
    /// The number of quarantined runs, which wait until a person resumes or abandons them.
    pub quarantined_runs: u64,
    /// The sequence number of the agent's newest event; 0 before the first event.
    pub last_seq: u64,
    /// The tokens used by all runs of the agent.
    pub token_usage: TokenUsage,
    /// The number of model rounds of all runs of the agent.
    pub model_rounds: u64,
    /// The guidance files of the agent, without their contents. Returned for a single agent, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_agents_md: Vec<LoadedAgentsMd>,
    /// Why a model could not be verified. Only in the response to the change that set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_warning: Option<String>,
}

/// The models of an agent's next run and where they were chosen. A run in progress keeps its own models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelState {
    /// Where the model was chosen.
    pub source: ModelSource,
    /// The model or route of agents without an override.
    pub runtime_default_model: String,
    /// The model that is requested first.
    pub effective_model: String,
    /// The fallback models, in order. Each is requested when the one before it has failed permanently.
    pub effective_fallback_models: Vec<String>,
    /// The model or route that was chosen for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_model: Option<String>,
}

/// Where an agent's model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// No model was chosen for this agent; the default applies.
    RuntimeDefault,
    /// The model was chosen for this agent.
    AgentOverride,
}

/// A guidance file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedAgentsMd {
    /// Whether the file belongs to the agent or to the workspace.
    pub root: GuidanceRoot,
    /// The path of the file.
    pub path: String,
    /// The kind of guidance file.
    pub kind: GuidanceKind,
}

/// What a guidance file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuidanceRoot {
    /// The agent.
    Agent,
    /// The workspace.
    Workspace,
}

/// A list of agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// The agents, sorted by name.
    pub agents: Vec<AgentStatus>,
}

/// The status, queue and newest runs of an agent. The page loads it before it follows the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// The status of the agent.
    pub agent: AgentStatus,
    /// The queued messages, next first; at most 50.
    pub queue: Vec<QueuedMessage>,
    /// The newest runs, newest first; at most 50.
    pub runs: Vec<RunSummary>,
    /// The sequence number after which to follow the agent's events.
    pub after_seq: u64,
}

/// The mode to set for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentMode {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// Which causes may wake the agent.
    pub mode: InteractionMode,
}

/// The sleep to set for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentSleep {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// The time until which only a person can wake the agent.
    pub until: Text<Millis>,
}
