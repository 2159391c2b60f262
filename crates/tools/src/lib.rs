//! The tools that an agent may use, and the sandbox that their processes run in.
//!
//! | module | about |
//! |---|---|
//! | [`tools`] | the tool host: schemas for the model, checks, execution, cleanup |
//! | [`options`] | the options that the binary sets once, at startup |
//! | `write_quota` | bytes that each agent's commands wrote to disks within a day |
//! | [`workspace`] | the folder that commands may write to, separate from Wakeful's home |
//! | `arguments` | the typed arguments of `ExecCommand` and the errors for invalid ones |
//! | `schema` | parsing arguments and describing them as JSON schemas |
//! | [`guidance`] | the guidance files of workspaces, which commands cannot change |
//! | `journal` | the tools that write to the person's journal |
//! | `environment` | the environment variables that a command receives |
//! | [`denied_paths`] | paths outside the home that commands cannot read |
//! | `command` | one command from start to end, on its own thread |
//! | [`process_ancestry`] | whether a process descends from a tool |
//! | `cleanup` | ends the supervisor and removes its folder after the result |
//! | `output` | bounded capture of both streams, and the preview that the model reads |
//! | `outcome` | the result of a command as JSON, or the error |
//! | `operation_dir` | the private folder of an operation and what an interrupted one left in it |
//! | [`remove_tree`] | bounded removal of folder trees that commands made |
//! | [`quarantine`] | folders of commands that could not be removed |
//! | [`watch`] | folders and Git repositories that are watched for changes |
//! | `mounts` | the mount table, and every path of the home |
//! | `permissions` | mode and owner of the home's files, compared around each command |
//! | `set_id` | setuid and setgid bits that an unfiltered command left |
//! | `process` | process information from `/proc`: start times, descendants |
//! | [`sandbox`] | the re-executed program: what it does before and around the command |
//!
//! A command is three processes deep. Wakeful starts its own program again as the *supervisor*, which
//! creates a PID namespace where the kernel allows it and starts itself once more as the *reaper*. The
//! reaper is process 1 of that namespace: it drops privileges, starts the shell and reaps. When the reaper
//! exits, the kernel kills everything in the namespace. Each process holds one end of a socket to its
//! parent; when it finds the socket closed, it kills its descendants.
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

/// The names of all tools, including the engine's own, for callers that need them before a workspace
/// exists.
pub const TOOL_NAMES: [&str; 4] = [
    arguments::TOOL,
    journal::CREATE_TASK,
    journal::UPDATE_TASK,
    wakeful_core::sub_run::START_RUN,
];

/// The descriptions and schemas of all tools, for callers that need them before a workspace exists.
#[must_use]
pub fn specs() -> Vec<wakeful_core::conversation::ToolSpec> {
    let [create, update] = journal::specs();
    vec![arguments::spec(), create, update]
}
