//! The tools that an agent may use, and the sandbox that their processes run in.
//!
//! | module | about |
//! |---|---|
//! | [`tools`] | the tool host: schemas for the model, checks, execution, cleanup |
//! | [`contract`] | the contract of each tool, which permits it |
//! | [`registry`] | one table of all tools: group, class, risk, time limit, description |
//! | [`options`] | the options that the binary sets once, at startup |
//! | `write_quota` | bytes that each agent's commands wrote to disks within a day |
//! | [`workspace`] | the folder that commands may write to, separate from Wakeful's home |
//! | `arguments` | the typed arguments of `ExecCommand` and the errors for invalid ones |
//! | `schema` | parsing arguments and describing them as JSON schemas |
//! | [`guidance`] | the guidance files of workspaces, which commands cannot change |
//! | `files` | the tools that read, change, list and search files |
//! | `journal` | the tools that write to the person's journal |
//! | `command_paths` | which files one command may read and write |
//! | [`system_paths`] | the folders of the system and of toolchains that every command may read |
//! | `trusted_path` | resolves paths of settings without links that a command could have made |
//! | [`agent_folder`] | `HOME` and the caches of one agent's commands |
//! | `protected_places` | what programs outside would run or obey, before and after a command |
//! | `path_refusal` | explains errors of commands that the sandbox caused |
//! | `worktree` | the repository of a workspace that is a linked worktree |
//! | `git_identity` | the name and mail address that commands commit with |
//! | [`hook`] | the hooks of the operator: commands and local services around calls |
//! | `journal_reading` | the tools that read the person's journal |
//! | `environment` | the environment variables that a command receives |
//! | [`secrets`] | the secrets that a command receives, and the port that provides them |
//! | [`denied_paths`] | paths outside the home that commands cannot read |
//! | `command` | one command from start to end, on its own thread |
//! | [`process_ancestry`] | whether a process descends from a tool |
//! | `cleanup` | ends the supervisor and removes its folder after the result |
//! | `output` | bounded capture of both streams, and the preview that the model reads |
//! | `outcome` | the result of a command as JSON, or the error |
//! | `network` | the proxy, published ports and connections of commands and tools |
//! | `operation_dir` | the private folder of an operation and what an interrupted one left in it |
//! | [`remove_tree`] | bounded removal of folder trees that commands made |
//! | [`quarantine`] | folders of commands that could not be removed |
//! | `web` | the tool that reads from the web |
//! | [`snapshot`] | states of a workspace before and after a run, and undoing runs |
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

pub mod agent_folder;
mod arguments;
mod cleanup;
mod command;
mod command_paths;
pub mod contract;
pub mod denied_paths;
mod environment;
mod files;
mod git_identity;
pub mod guidance;
pub mod hook;
mod journal;
mod journal_listing;
mod journal_reading;
mod mounts;
mod network;
mod operation_dir;
pub mod options;
mod outcome;
mod output;
mod own_addresses;
mod path_refusal;
mod permissions;
mod process;
pub mod process_ancestry;
mod protected_places;
pub mod quarantine;
pub mod registry;
pub mod remove_tree;
pub mod sandbox;
mod schema;
pub mod secrets;
mod set_id;
pub mod snapshot;
pub mod system_paths;
pub mod tools;
pub mod trusted_folders;
mod trusted_path;
pub mod untrusted_writes;
pub mod watch;
mod web;
pub mod workspace;
mod worktree;
mod write_quota;

pub use denied_paths::DeniedPaths;
pub use options::{CommandLimits, DisabledFeatures, OutputLimits, ToolsOptions, UnsandboxedPolicy};
pub use own_addresses::OwnAddresses;
pub use registry::{TOOL_NAMES, specs};
pub use secrets::{NoSecrets, SecretSource, SecretValue};
pub use tools::Tools;
pub use workspace::{Workspace, WorkspaceError};
