//! What the binary says about tools once, at the start.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::denied_paths::DeniedPaths;

/// Everything [`crate::Tools`] needs to know. The library itself reads no environment and no configuration.
#[derive(Debug, Clone)]
pub struct ToolsOptions {
    /// Our own program, which must call [`crate::sandbox::enter`] when it is started with the prefix below.
    /// `/proc/self/exe` stays true when the file is replaced by an upgrade while we run.
    pub program: PathBuf,
    /// The arguments that lead the program to [`crate::sandbox::enter`], such as `["sandbox"]`.
    pub program_args_prefix: Vec<String>,
    /// Wakeful's home, which no command can reach.
    pub home: PathBuf,
    /// The folder commands work in and may write to.
    pub workspace: PathBuf,
    /// Where each operation gets its private folder. Lies in the home, is made when it is missing.
    pub scratch: PathBuf,
    /// The environment as the binary found it. Commands see only a few of its variables.
    pub environment: BTreeMap<String, String>,
    /// What commands cannot read outside the home.
    pub closed: DeniedPaths,
    /// What a command may use.
    pub limits: CommandLimits,
    /// What to do where the kernel cannot enforce the sandbox.
    pub unsandboxed: UnsandboxedPolicy,
    /// For tests: abilities of the kernel to do without.
    pub pretend: DisabledFeatures,
}

/// What one command may use, together with everything it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Bytes of memory; without it half of what the machine has.
    pub memory_bytes: Option<u64>,
    /// Processes and threads, as the kernel counts them.
    pub processes: u64,
    /// Bytes written to disks by one command.
    pub written_bytes: u64,
    /// Bytes written to disks by all commands of one agent within 24 hours.
    pub written_bytes_per_day: u64,
}

impl CommandLimits {
    /// Enough for a parallel build on a large machine, and far from what a machine can hold.
    pub const PROCESSES: u64 = 1_024;
    /// Enough for a large build.
    pub const DISK_WRITE_BYTES: u64 = 10 << 30;
    /// Five of those.
    pub const DISK_WRITE_BYTES_PER_DAY: u64 = 50 << 30;
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            memory_bytes: None,
            processes: Self::PROCESSES,
            written_bytes: Self::DISK_WRITE_BYTES,
            written_bytes_per_day: Self::DISK_WRITE_BYTES_PER_DAY,
        }
    }
}

/// What to do with a command when the kernel offers no Landlock or no seccomp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsandboxedPolicy {
    /// It does not begin.
    #[default]
    Refuse,
    /// It runs, and its result says `not_enforced`.
    Allow,
}

/// Abilities of the kernel that are taken to be missing, so that tests see what happens on a lesser one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledFeatures {
    /// User and PID namespaces are refused.
    pub no_namespaces: bool,
    /// A user namespace can be made and then not be used, as under Ubuntu's restriction.
    pub no_user_mapping: bool,
    /// Landlock is not there.
    pub no_landlock: bool,
    /// Landlock is that of Linux 5.19: it knows neither truncation, nor networks, nor signals.
    pub old_landlock: bool,
    /// Seccomp is not there.
    pub no_seccomp: bool,
    /// No cgroup is delegated to us.
    pub no_cgroups: bool,
}
