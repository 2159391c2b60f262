//! The smallest program around the tools, for the tests of this crate: what the `wakeful` binary does for its
//! hidden verb, and a host of one command that can be killed.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use wakeful_core::key::{Digest, OperationId};
use wakeful_ports::tool::{Act, Stop, ToolHost};
use wakeful_tools::{Pretend, Tools, ToolsOptions, Unsandboxed};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_ref().and_then(|verb| verb.to_str()) {
        Some("sandbox") => wakeful_tools::sandbox::enter(args),
        Some("host") => host(&args.filter_map(|arg| arg.into_string().ok()).collect::<Vec<_>>()),
        _ => ExitCode::from(2),
    }
}

/// `host HOME WORKSPACE LEVEL CMD`: runs one command as Wakeful would.
fn host(args: &[String]) -> ExitCode {
    let [home, workspace, level, cmd] = args else {
        return ExitCode::from(2);
    };
    let pretend = Pretend {
        no_namespaces: level == "subreaper",
        ..Pretend::default()
    };
    let options = ToolsOptions {
        program: PathBuf::from("/proc/self/exe"),
        program_args_prefix: vec!["sandbox".to_owned()],
        home: home.into(),
        workspace: workspace.into(),
        scratch: PathBuf::from(home).join("scratch"),
        environment: std::env::vars().collect(),
        unsandboxed: Unsandboxed::Refuse,
        pretend,
    };
    let Ok(tools) = Tools::new(options) else {
        return ExitCode::FAILURE;
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return ExitCode::FAILURE;
    };
    let operation_id = OperationId(Digest::of(cmd.as_bytes()));
    let act = Act {
        operation_id,
        tool: "ExecCommand".to_owned(),
        input: json!({"cmd": cmd}),
    };
    let done = runtime.block_on(tools.perform(act, Never));
    if done.code.is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Never;

impl Stop for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}
