//! Endpoints and types for the daemon: health, readiness, status and metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Brake;
use wakeful_core::problem::Problem;

use crate::endpoint::{Access, endpoints};
use crate::text::{DateTime, Object};

endpoints! { "daemon":
    /// Checks whether the daemon process is alive.
    GetHealth {} = Get "/healthz" -> Health { 200 "The process is alive" } with { access: Access::Public }
    /// Checks whether the daemon can serve requests.
    GetReadiness {} = Get "/readyz" -> ReadinessStatus {
        200 "The daemon is ready",
        503 (ReadinessStatus) "The daemon is recovering, failing or stopping",
    } with { access: Access::Public }
    /// Retrieves the status of the daemon.
    GetRuntimeStatus {} = Get "/api/runtime/status" -> RuntimeStatus { 200 "The daemon" }
    /// Shuts the daemon down.
    ///
    /// Runs continue to a safe point and resume when the daemon is started again. No agent is stopped.
    ShutDown {} = Post "/api/runtime/shutdown" -> ReadinessStatus { 202 "The daemon is shutting down" }
    /// Retrieves metrics in the Prometheus text format.
    GetMetrics {} = Get "/metrics" -> String { 200 "The metrics" } with { media: &["text/plain"] }
    /// Retrieves this OpenAPI document.
    GetOpenApi {} = Get "/api/openapi.json" -> Object { 200 "The OpenAPI document" } with { access: Access::Public }
}

/// The health of the daemon process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a dead process does not respond.
    pub status: HealthStatus,
}

/// The health of a process that responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// The process is alive.
    Ok,
}

/// Whether the daemon can serve requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessStatus {
    /// The readiness of the daemon.
    pub status: Readiness,
    /// The code of the storage error, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The readiness of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The daemon recovers the work of an earlier process. Retry shortly.
    Recovering,
    /// The daemon serves requests.
    Ready,
    /// The storage refused the last write, so new writes are not acknowledged. Reading is possible.
    Failing,
    /// The daemon brings running work to a safe point and exits.
    Stopping,
}

/// The current status of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeStatus {
    /// The version of the program.
    pub version: String,
    /// The process id.
    pub pid: u32,
    /// The home folder, which contains all data.
    pub home_dir: String,
    /// The address at which the daemon listens.
    pub http_addr: String,
    /// The database: `sqlite` or `postgres`.
    pub database: String,
    /// When the daemon started.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// A hash of the configuration with which the daemon was started.
    pub config_fingerprint: String,
    /// The readiness of the daemon.
    pub readiness: Readiness,
    /// Why the storage refused the last write. Absent after a successful write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Problem>,
    /// What the daemon is doing.
    pub state: DaemonState,
    /// The number of public agents that are not paused.
    pub active_agent_count: u64,
    /// The number of background tasks in progress.
    pub active_task_count: u64,
    /// The number of agents with a run in progress.
    pub processing_agent_count: u64,
    /// The number of agents with queued messages and no run in progress.
    pub waiting_agent_count: u64,
    /// The number of open event streams.
    pub stream_count: u64,
    /// The model that is used when a message names none.
    pub model: DefaultModel,
    /// The newest failure, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// The agents whose work cannot continue; at most 50.
    pub stuck: Vec<StuckAgent>,
    /// The brakes that are set; the brake for all agents comes first.
    pub brakes: Vec<Brake>,
    /// The number of pending decisions of all agents.
    pub pending_decision_count: u64,
    /// The number of quarantined runs of all agents, which wait until a person resumes or abandons them.
    pub quarantined_run_count: u64,
    /// The daily backups of the home.
    pub backup: BackupStatus,
    /// How far the commands of agents are confined on this machine. Absent if it could not be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
    /// Why the settings file is not in force, while it is invalid. The last valid settings apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_problem: Option<SettingsProblem>,
    /// The names of changed settings that apply only after a restart of the daemon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
}

/// How far the commands of agents are confined, one line for each thing that they must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Reading outside the permitted paths.
    pub path: ConfinementState,
    /// Writing outside the permitted paths, and changing protected ones.
    pub write: ConfinementState,
    /// Reaching hosts that are not permitted.
    pub network: ConfinementState,
    /// Reading credentials and the home of Wakeful.
    pub secret: ConfinementState,
    /// Affecting other processes, or leaving ones behind.
    pub child_process: ConfinementState,
}

impl Confinement {
    /// Each line with its name for people.
    #[must_use]
    pub const fn lines(self) -> [(&'static str, ConfinementState); 5] {
        [
            ("path", self.path),
            ("write", self.write),
            ("network", self.network),
            ("secret", self.secret),
            ("child process", self.child_process),
        ]
    }
}

/// Whether the kernel enforces a line of the confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementState {
    /// Every restriction is enforced.
    Enforced,
    /// Some restrictions are enforced.
    PartlyEnforced,
    /// No restriction is enforced.
    NotEnforced,
}

impl ConfinementState {
    /// The state for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::PartlyEnforced => "partly enforced",
            Self::NotEnforced => "not enforced",
        }
    }
}

/// An error in the settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsProblem {
    /// A stable code for programs.
    pub code: String,
    /// One sentence that names the file and the setting.
    pub message: String,
    /// The line in the file, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What to do about it.
    pub hint: String,
}

/// The daily backups of a home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupStatus {
    /// What makes the backups.
    pub mode: BackupMode,
    /// The folder of the daily backups.
    pub folder: String,
    /// The number of daily backups in the folder.
    pub count: u64,
    /// The size of all of them.
    pub bytes: u64,
    /// When the newest one was made. Absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub newest_at: Option<String>,
    /// Why the last attempt failed. Absent after a successful backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<BackupProblem>,
}

/// What makes the backups of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackupMode {
    /// A daemon makes one every day on which something changed.
    Daily,
    /// Daily backups are turned off.
    Off,
    /// The home uses a database server, whose own backups apply.
    DatabaseServer,
}

/// A failed attempt to make a daily backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupProblem {
    /// When the attempt failed.
    #[schemars(with = "DateTime")]
    pub occurred_at: String,
    /// Why it failed.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What a daemon is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// Nothing is running or queued.
    Idle,
    /// Messages are queued and no run is in progress.
    Waiting,
    /// At least one run is in progress.
    Processing,
}

/// The model that is used when a message names none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefaultModel {
    /// The model reference.
    pub reference: String,
    /// Whether it is the built-in demo script, which does not call a real model.
    pub is_demo: bool,
}

/// The newest failure, kept after the failed operation has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    /// When the failure occurred.
    #[schemars(with = "DateTime")]
    pub occurred_at: String,
    /// A description of the failure in one sentence.
    pub summary: String,
    /// The phase in which the failure occurred.
    pub phase: FailurePhase,
    /// Where to find details.
    pub detail_hint: String,
}

/// The phase in which a daemon failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// While starting.
    Startup,
    /// While shutting down.
    Shutdown,
    /// During a run.
    RuntimeTurn,
}

/// An agent whose work cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckAgent {
    /// The agent's name.
    pub agent_id: String,
    /// Why the work cannot continue.
    #[serde(flatten)]
    pub problem: Problem,
}
