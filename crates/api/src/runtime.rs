//! The daemon itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether the process lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The program's version.
    pub version: String,
}

/// Whether the daemon may be asked for anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// `ready`, `recovering` or `stopping`.
    pub status: String,
}

/// What the daemon does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing waits and nothing runs.
    Idle,
    /// Nothing runs, but something waits.
    Waiting,
    /// A run is under way.
    Processing,
}

/// The daemon in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeStatus {
    /// `ready`, `recovering` or `stopping`.
    pub status: String,
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Its home.
    pub home_dir: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// Where it listens.
    pub http_addr: String,
    /// When it began.
    pub started_at: String,
    /// Names the configuration it runs with.
    pub config_fingerprint: String,
    /// What it does.
    pub state: Activity,
    /// Agents that are listed.
    pub active_agent_count: u64,
    /// Agents with a run under way.
    pub processing_agent_count: u64,
    /// Agents with messages that wait.
    pub waiting_agent_count: u64,
}
