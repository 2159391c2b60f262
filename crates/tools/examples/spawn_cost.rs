//! Measures how much time the sandbox adds to the start of a command: `cargo run --release --example
//! spawn_cost`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is the measurement")]

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::time::Millis;
use wakeful_ports::tool::{OutputSink, StopSignal, ToolHost, ToolRequest};
use wakeful_tools::{CommandLimits, DeniedPaths, DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy};

const ROUNDS: usize = 200;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == "sandbox") {
        return Ok(wakeful_tools::sandbox::enter(args));
    }
    let bare = median(|_| {
        Command::new("/bin/sh")
            .args(["-c", "/bin/true"])
            .env_clear()
            .output()
            .map(|_| ())
    })?;
    println!("bare: {bare:?}");
    for (name, pretend, unsandboxed) in [
        (
            "namespace",
            DisabledFeatures::default(),
            UnsandboxedPolicy::Refuse,
        ),
        (
            "subreaper",
            DisabledFeatures {
                no_namespaces: true,
                ..DisabledFeatures::default()
            },
            UnsandboxedPolicy::Refuse,
        ),
        (
            "not enforced",
            DisabledFeatures {
                no_landlock: true,
                ..DisabledFeatures::default()
            },
            UnsandboxedPolicy::Allow,
        ),
    ] {
        let cost = sandboxed_cost(pretend, unsandboxed)?;
        println!("{name}: {cost:?}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Median time of one command in the sandbox.
fn sandboxed_cost(
    pretend: DisabledFeatures,
    unsandboxed: UnsandboxedPolicy,
) -> Result<Duration, Box<dyn Error>> {
    let folder = tempfile::TempDir::new()?;
    let [home, workspace] = ["home", "workspace"].map(|name| folder.path().join(name));
    std::fs::create_dir(&home)?;
    std::fs::create_dir(&workspace)?;
    let tools = Tools::new(ToolsOptions {
        program: PathBuf::from("/proc/self/exe"),
        program_args_prefix: vec!["sandbox".to_owned()],
        scratch: home.join("scratch"),
        home,
        workspace,
        environment: std::env::vars().collect(),
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed,
        pretend,
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let cost = median(|round| {
        let operation_id = OperationId(Digest::of(&round.to_le_bytes()));
        let agent_id = AgentId::parse("main").map_err(std::io::Error::other)?;
        let act = ToolRequest {
            operation_id,
            tool: "ExecCommand".into(),
            input: json!({"cmd": "/bin/true"}),
            agent_id,
            at: Millis(0),
            grant: wakeful_ports::tool::CallGrant::default(),
            scope: wakeful_core::sandbox_scope::SandboxScope::default(),
            hosts: wakeful_ports::tool::HostPolicy::default(),
            paths: wakeful_ports::tool::PathPolicy::default(),
            access: wakeful_core::tool::AgentAccessScope::everything(),
            is_read_only: false,
            is_untrusted: false,
            run_key: None,
            output: OutputSink::default(),
            written: wakeful_ports::tool::WriteMeter::default(),
        };
        let done = runtime.block_on(tools.perform(act, Never));
        if done.code.is_none() {
            Ok(())
        } else {
            Err(std::io::Error::other(done.content))
        }
    })?;
    Ok(cost)
}

fn median(mut once: impl FnMut(usize) -> std::io::Result<()>) -> std::io::Result<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let begun = Instant::now();
        once(round)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(ROUNDS / 2).copied().unwrap_or_default())
}

struct Never;

impl StopSignal for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}
