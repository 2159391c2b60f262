//! The daemon itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Brake;
use wakeful_core::problem::Problem;

use crate::endpoint::{Access, endpoints};
use crate::text::{DateTime, Object};

endpoints! { "daemon":
    /// Whether the process lives.
    GetHealth {} = Get "/healthz" -> Health { 200 "It does" } with { access: Access::Public }
    /// Whether it can be used.
    GetReadiness {} = Get "/readyz" -> ReadinessStatus {
        200 "It can",
        503 (ReadinessStatus) "Not yet, not now, or no longer",
    } with { access: Access::Public }
    /// The daemon as it stands.
    GetRuntimeStatus {} = Get "/api/runtime/status" -> RuntimeStatus { 200 "The daemon" }
    /// Ends the daemon. Runs come to a safe point and go on when it is started again; no agent is stopped.
    ShutDown {} = Post "/api/runtime/shutdown" -> ReadinessStatus { 202 "It will end in a moment" }
    /// Numbers for Prometheus.
    GetMetrics {} = Get "/metrics" -> String { 200 "The numbers" } with { media: &["text/plain"] }
    /// This document.
    GetOpenApi {} = Get "/api/openapi.json" -> Object { 200 "The contract" } with { access: Access::Public }
}

/// Whether the process lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a dead process does not answer.
    pub status: HealthStatus,
}

/// What a process that answers says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// It lives.
    Ok,
}

/// Whether it can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessStatus {
    /// How far it is.
    pub status: Readiness,
    /// The stable word for what is wrong with its storage, while that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How far a daemon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It takes up what an earlier life left. Ask again in a moment.
    Recovering,
    /// It serves.
    Ready,
    /// Its storage refused the last write, so that nothing new is acknowledged. What is there can be read.
    Failing,
    /// It brings what is under way to a safe point and ends.
    Stopping,
}

/// The daemon as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeStatus {
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The folder everything lives in.
    pub home_dir: String,
    /// Where it listens.
    pub http_addr: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// When it began.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// A hash of the configuration it was started with.
    pub config_fingerprint: String,
    /// How far it is.
    pub readiness: Readiness,
    /// Why its storage refused the last write, until one has worked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Problem>,
    /// What it does on the whole.
    pub state: DaemonState,
    /// Listed agents that are not paused.
    pub active_agent_count: u64,
    /// Background tasks under way.
    pub active_task_count: u64,
    /// Agents with a run under way.
    pub processing_agent_count: u64,
    /// Agents for which something waits and nothing runs.
    pub waiting_agent_count: u64,
    /// Who listens to streams.
    pub stream_count: u64,
    /// Who answers when a message names no model.
    pub model: DefaultModel,
    /// The newest failure, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// Agents whose work cannot go on; at most 50.
    pub stuck: Vec<StuckAgent>,
    /// The brakes that are on, that of all first.
    pub brakes: Vec<Brake>,
    /// Questions that wait for an answer, of all agents.
    pub pending_decision_count: u64,
    /// Runs that cannot go on until a person says so, of all agents.
    pub quarantined_run_count: u64,
}

/// What a daemon does on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// Nothing, at no cost.
    Idle,
    /// Nothing runs, but something waits.
    Waiting,
    /// Something runs.
    Processing,
}

/// Who answers when a message names no model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefaultModel {
    /// Its name.
    pub reference: String,
    /// Whether it is the built-in demo script, which only pretends to think.
    pub is_demo: bool,
}

/// A failure that outlives its moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    /// When.
    #[schemars(with = "DateTime")]
    pub occurred_at: String,
    /// One sentence.
    pub summary: String,
    /// In which part of its life.
    pub phase: FailurePhase,
    /// Where to look.
    pub detail_hint: String,
}

/// In which part of a daemon's life something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// Before it served.
    Startup,
    /// While it ended.
    Shutdown,
    /// In a run.
    RuntimeTurn,
}

/// An agent whose work cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckAgent {
    /// Which agent.
    pub agent_id: String,
    /// Why.
    #[serde(flatten)]
    pub problem: Problem,
}
