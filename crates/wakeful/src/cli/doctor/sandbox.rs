//! Checks how far this kernel can sandbox commands. The check runs a command that does nothing, in
//! temporary folders, because support cannot be determined otherwise.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, derived_hash};
use wakeful_core::time::Millis;
use wakeful_ports::tool::{OutputSink, StopSignal, ToolHost as _, ToolOutcome, ToolRequest};
use wakeful_tools::remove_tree::{self, RemovalLimits};
use wakeful_tools::sandbox::controllers_of;
use wakeful_tools::{
    CommandLimits, DeniedPaths, DisabledFeatures, TOOL_NAMES, Tools, ToolsOptions, UnsandboxedPolicy,
};

use super::Check;
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::open_home::SANDBOX_VERB;
use crate::system::fresh_id;

/// Far longer than a command that does nothing takes.
const TIMEOUT_MS: u64 = 10_000;

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
        let path = std::env::temp_dir().join(format!("wakeful-doctor-{}", fresh_id()));
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

/// Runs the command and reports the sandbox level.
pub(super) async fn look() -> Check {
    let folder = match TempFolder::new() {
        Ok(folder) => folder,
        Err(error) => return cannot_check(&format!("cannot create a temporary folder: {error}")),
    };
    match command(&folder.0).await {
        Ok(done) => judge(&done),
        Err(why) => cannot_check(&why),
    }
}

fn cannot_check(why: &str) -> Check {
    Check::problem(
        "sandbox",
        format!("cannot check the sandbox: {why}"),
        "set TMPDIR to a folder you can write to",
    )
}

async fn command(folder: &Path) -> Result<ToolOutcome, String> {
    let home = folder.join("home");
    let tools = Tools::new(ToolsOptions {
        program: "/proc/self/exe".into(),
        program_args_prefix: vec![SANDBOX_VERB.to_owned()],
        scratch: home.join("scratch"),
        home,
        workspace: folder.join("work"),
        environment: std::collections::BTreeMap::new(),
        closed: DeniedPaths::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Refuse,
        pretend: DisabledFeatures::default(),
    });
    let tools = tools.map_err(|error| error.to_string())?;
    let tool = TOOL_NAMES.first().copied().unwrap_or_default();
    let agent_id = AgentId::parse("doctor").map_err(|error| error.to_string())?;
    let act = ToolRequest {
        operation_id: OperationId(derived_hash("doctor", &[&fresh_id()])),
        tool: tool.to_owned(),
        input: json!({"cmd": "true", "timeout_ms": TIMEOUT_MS}),
        agent_id,
        at: Millis(0),
        grant: wakeful_ports::tool::CallGrant::default(),
        scope: wakeful_core::sandbox_scope::SandboxScope::default(),
        hosts: wakeful_ports::tool::HostPolicy::default(),
        access: wakeful_core::tool::AgentAccessScope::everything(),
        is_read_only: false,
        output: OutputSink::default(),
    };
    Ok(tools.perform(act, NeverStop).await)
}

/// Which command limits the kernel enforces, for the daemon of a home or, without a daemon, for this
/// process.
pub(super) fn limits(home: Option<&Path>) -> Check {
    let daemon = home.map(|home| RunDir::of(home).found());
    let (pid, whose) = match daemon {
        Some(DaemonPresence::Alive(record)) => (record.pid, "the daemon"),
        Some(DaemonPresence::Absent | DaemonPresence::Stale) | None => (std::process::id(), "this process"),
    };
    let held = controllers_of(pid);
    let means = |controller: &str| match held.contains(&controller) {
        true => "cgroup",
        false => "measured",
    };
    let message = format!(
        "limits on commands of {whose}: processes: {}, memory: {}, written bytes: measured",
        means("pids"),
        means("memory")
    );
    let hint = "for kernel limits, run the daemon with `wakeful service install` on systemd 254 or newer, or in a cgroup that is \
        delegated to it";
    let check = Check::ok("limits", message);
    match held.len() {
        2 => check,
        _ => Check {
            hint: hint.to_owned(),
            ..check
        },
    }
}

/// What the result says about each of its five lines.
fn confinement(content: &str) -> String {
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    let lines = content.get("confinement").and_then(Value::as_object);
    let lines = lines.into_iter().flatten();
    let words = lines.map(|(name, state)| format!("{name}: {}", state.as_str().unwrap_or_default()));
    words.collect::<Vec<_>>().join(", ")
}

fn judge(done: &ToolOutcome) -> Check {
    let hint =
        "use Linux 5.13 or newer with Landlock and seccomp, or accept the risk with --allow-unsandboxed";
    let lines = confinement(&done.content);
    match (&done.sandbox, &done.code) {
        (Some(level), None) if level.starts_with("partly_enforced") => Check::ok(
            "sandbox",
            format!("commands are partly sandboxed: {level}; {lines}"),
        ),
        (Some(level), None) if level != "not_enforced" => {
            Check::ok("sandbox", format!("commands are sandboxed: {level}; {lines}"))
        }
        (_, Some(code)) => Check::problem(
            "sandbox",
            format!("commands are refused: {code}: {}", done.content),
            hint,
        ),
        (_, None) => Check::problem("sandbox", "commands are not sandboxed", hint),
    }
}
