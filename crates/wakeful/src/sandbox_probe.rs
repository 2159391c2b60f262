//! Determines how far this kernel can confine commands, by running one that does nothing, in temporary
//! folders, because support cannot be determined otherwise.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use wakeful_api::Confinement;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, derived_hash};
use wakeful_core::time::Millis;
use wakeful_ports::tool::{OutputSink, StopSignal, ToolHost as _, ToolOutcome, ToolRequest};
use wakeful_tools::remove_tree::{self, RemovalLimits};
use wakeful_tools::{
    CommandLimits, DeniedPaths, DisabledFeatures, TOOL_NAMES, Tools, ToolsOptions, UnsandboxedPolicy,
};

use crate::open_home::SANDBOX_VERB;
use crate::system::fresh_id;

/// Far longer than a command that does nothing takes.
const TIMEOUT_MS: u64 = 10_000;

/// How long a status waits for the command, which may be queued behind commands of agents.
const STATUS_WAIT_MAX: Duration = Duration::from_secs(2);

/// A stop signal that never fires.
struct NeverStop;

impl StopSignal for NeverStop {
    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

/// A temporary folder, removed on drop.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("wakeful-probe-{}", fresh_id()));
        let mut private = fs::DirBuilder::new();
        private.mode(0o700).create(&path)?;
        let made = Self(path);
        private.create(made.0.join("home"))?;
        private.create(made.0.join("work"))?;
        Ok(made)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Leftover files are in the system's temporary folder, so a failed removal is harmless.
        let _left = remove_tree::remove(&self.0, RemovalLimits::default());
    }
}

/// The confinement of the commands of this process. It does not change, so it is determined once.
#[derive(Debug, Default)]
pub(crate) struct KnownConfinement(Mutex<Option<Confinement>>);

impl KnownConfinement {
    /// Returns the confinement; none if it cannot be checked now. Blocks the thread.
    pub(crate) fn get(&self) -> Option<Confinement> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Handle::current().block_on(confinement());
        }
        *known
    }
}

/// The confinement of a command; none if it cannot be checked. Where the kernel enforces nothing, it says so.
pub(crate) async fn confinement() -> Option<Confinement> {
    let ran = tokio::time::timeout(STATUS_WAIT_MAX, run(UnsandboxedPolicy::Allow)).await;
    confinement_of(&ran.ok()?.ok()?)
}

/// The confinement that the result of a command states.
pub(crate) fn confinement_of(ran: &ToolOutcome) -> Option<Confinement> {
    let content: Value = serde_json::from_str(&ran.content).ok()?;
    serde_json::from_value(content.get("confinement")?.clone()).ok()
}

/// Runs the command.
pub(crate) async fn run(unsandboxed: UnsandboxedPolicy) -> Result<ToolOutcome, String> {
    let folder = TempFolder::new();
    let folder = folder.map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    command(&folder.0, unsandboxed).await
}

async fn command(folder: &Path, unsandboxed: UnsandboxedPolicy) -> Result<ToolOutcome, String> {
    let home = folder.join("home");
    let tools = Tools::new(ToolsOptions {
        program: "/proc/self/exe".into(),
        program_args_prefix: vec![SANDBOX_VERB.to_owned()],
        scratch: home.join("scratch"),
        home,
        workspace: folder.join("work"),
        environment: std::collections::BTreeMap::new(),
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed,
        pretend: DisabledFeatures::default(),
    });
    let tools = tools.map_err(|error| error.to_string())?;
    let tool = TOOL_NAMES.first().copied().unwrap_or_default();
    let agent_id = AgentId::parse("probe").map_err(|error| error.to_string())?;
    let act = ToolRequest {
        is_untrusted: false,
        run_key: None,
        operation_id: OperationId(derived_hash("probe", &[&fresh_id()])),
        tool: tool.to_owned(),
        input: json!({"cmd": "true", "timeout_ms": TIMEOUT_MS}),
        agent_id,
        at: Millis(0),
        grant: wakeful_ports::tool::CallGrant::default(),
        scope: wakeful_core::sandbox_scope::SandboxScope::default(),
        hosts: wakeful_ports::tool::HostPolicy::default(),
        paths: wakeful_ports::tool::PathPolicy::default(),
        access: wakeful_core::tool::AgentAccessScope::everything(),
        is_read_only: false,
        output: OutputSink::default(),
        written: wakeful_ports::tool::WriteMeter::default(),
    };
    Ok(tools.perform(act, NeverStop).await)
}
