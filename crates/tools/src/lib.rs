//! The tools an agent may use, and the sandbox their processes run in.
//!
//! | module | about |
//! |---|---|
//! | [`tools`] | the tool host: what the model is told, checks, performance, clearing |
//! | [`options`] | what the binary says once, at the start |
//! | `written` | what each agent's commands wrote to disks within a day |
//! | [`workspace`] | the folder commands may write to, apart from Wakeful's home |
//! | `arguments` | the typed arguments of `ExecCommand` and what is wrong with bad ones |
//! | `form` | how arguments are read and described |
//! | [`guidance`] | the guidance files of workspaces, which commands cannot change |
//! | `journal` | the tools that write to the person's journal |
//! | `environment` | the few variables a command sees |
//! | [`closed`] | places outside the home that commands cannot read |
//! | `command` | one command from its start to its end, on a thread of its own |
//! | [`descent`] | whether a process descends from a tool |
//! | `cleanup` | the end of a supervisor and its folder after the answer |
//! | `output` | bounded keeping of both streams, and the part the model reads |
//! | `outcome` | what a command leaves: the result as JSON, or the fault |
//! | `leftover` | the private folder of an operation and what an interrupted one left in it |
//! | [`tree`] | removing folder trees that commands made, within bounds |
//! | [`quarantine`] | folders of commands that could not be removed |
//! | [`outside`] | folders and Git repositories that are watched for changes |
//! | `mounts` | what is mounted where, and every name of the home |
//! | `permissions` | mode and owner of the home's files, compared around each command |
//! | `set_id` | setuid and setgid bits that a command left where nothing kept it from that |
//! | `process` | what `/proc` says: start times, descendants |
//! | [`sandbox`] | the other side: what the re-executed program does before and around the command |
//!
//! A command is three processes deep. Wakeful starts its own program again as the *supervisor*, which makes a
//! PID namespace where the kernel allows it and starts itself once more as the *keeper*. The keeper is process
//! 1 of that namespace: it gives up rights, starts the shell and reaps. When the keeper ends, the kernel ends
//! everything in the namespace. Each holds one end of a socket to the one above it; whoever finds it closed
//! kills what is below.
#![forbid(unsafe_code)]

mod arguments;
mod cleanup;
mod command;
pub mod denied_paths;
mod environment;
pub mod guidance;
mod journal;
mod mounts;
mod operation_dir;
pub mod options;
mod outcome;
mod output;
mod permissions;
mod process;
pub mod process_ancestry;
pub mod quarantine;
pub mod remove_tree;
pub mod sandbox;
mod schema;
mod set_id;
pub mod tools;
pub mod watch;
pub mod workspace;
mod write_quota;

pub use denied_paths::DeniedPaths;
pub use options::{CommandLimits, DisabledFeatures, ToolsOptions, UnsandboxedPolicy};
pub use tools::Tools;
pub use workspace::{Workspace, WorkspaceError};

/// The names of all tools, the engine's own among them, for whoever has to know them before there is a workspace to use
/// them in.
pub const TOOL_NAMES: [&str; 4] = [
    arguments::TOOL,
    journal::CREATE_TASK,
    journal::UPDATE_TASK,
    wakeful_core::sub_run::START_RUN,
];

/// All tools as a model is told of them, for whoever has to know before there is a workspace to use them in.
#[must_use]
pub fn specs() -> Vec<wakeful_core::conversation::ToolSpec> {
    let [create, update] = journal::specs();
    vec![arguments::spec(), create, update]
}
