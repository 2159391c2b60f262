//! Agents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Queued, RunLine, TokenUsage};

/// Whether an agent is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Named by a person and listed.
    #[default]
    Public,
    /// Made for one call; shown only when asked for by name.
    Private,
}

/// Where an agent stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It is made and not yet let loose: only a person wakes it.
    Created,
    /// It may be woken.
    Active,
    /// It is put to rest: only a person wakes it.
    Dormant,
    /// It is gone for good.
    Destroyed,
}

/// Who may wake an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Changes, moments and calls from outside.
    Autonomous,
    /// Only people.
    Interactive,
    /// Both.
    Hybrid,
}

/// Whether an agent works on what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// It does.
    Running,
    /// It keeps what comes and begins nothing.
    Paused,
    /// It takes nothing in.
    Stopped,
}

/// What an agent does right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentStatus {
    /// Its name.
    #[schema(example = "main")]
    pub agent_id: String,
    /// Whether it is listed.
    pub visibility: Visibility,
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: Control,
    /// Who may wake it.
    pub mode: Mode,
    /// Until when only a person wakes it; absent while it is not asleep by order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub sleep_until: Option<String>,
    /// What it does right now.
    pub activity: Activity,
    /// The folder its commands run in.
    pub workspace: String,
    /// The model that a person chose for it; absent where the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Which models its next run asks, and who chose them. Told of one agent, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model_state: Option<AgentModelState>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Messages that wait for their turn.
    pub pending: u64,
    /// The run that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub open_run: Option<String>,
    /// The newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_run: Option<RunLine>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    #[schema(nullable = false)]
    pub override_model: Option<String>,
}

/// Who chose an agent's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// Nobody for this agent: the default holds.
    RuntimeDefault,
    /// A person for this agent, or its own section in the settings.
    AgentOverride,
}

/// A file that guides an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoadedAgentsMd {
    /// Whose guidance it is.
    pub root: GuidanceRoot,
    /// Where it is.
    pub path: String,
    /// Which file it is.
    pub kind: GuidanceKind,
}

/// Whose guidance a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuidanceRoot {
    /// The agent's own.
    Agent,
    /// The workspace's.
    Workspace,
}

/// Which file guidance was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuidanceKind {
    /// `AGENTS.md`.
    AgentsMd,
    /// `CLAUDE.md`, which a workspace may have instead.
    ClaudeMd,
}

/// All listed agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentStatus>,
}

/// What a page needs to draw an agent, before it follows the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentState {
    /// The same as its status.
    pub agent: AgentStatus,
    /// Messages that wait, next first; at most 50.
    pub queue: Vec<Queued>,
    /// Its newest runs, newest first; at most 50.
    pub runs: Vec<RunLine>,
    /// Follow the events from here.
    pub after_seq: u64,
}

/// An agent to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// Its name.
    #[schema(
        example = "main",
        min_length = 1,
        max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]*$"
    )]
    pub agent_id: String,
    /// The folder its commands run in; the daemon's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub workspace: Option<String>,
    /// Whether it is listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// Who may wake it; `hybrid` where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}
