//! The options that the binary sets for tools once, at startup.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::denied_paths::DeniedPaths;

/// The options of [`crate::Tools`]. The library itself reads no environment and no configuration.
#[derive(Debug, Clone)]
pub struct ToolsOptions {
    /// Wakeful's own program, which must call [`crate::sandbox::enter`] when it is started with the prefix
    /// below. `/proc/self/exe` stays valid when an upgrade replaces the file while the process runs.
    pub program: PathBuf,
    /// The arguments that make the program call [`crate::sandbox::enter`], such as `["sandbox"]`.
    pub program_args_prefix: Vec<String>,
    /// Wakeful's home, which no command can reach.
    pub home: PathBuf,
    /// The folder that commands work in and may write to.
    pub workspace: PathBuf,
    /// Where each operation gets its private folder. It must be inside the home and is created if it is
    /// missing.
    pub scratch: PathBuf,
    /// The environment of the binary. Commands receive only a few of its variables.
    pub environment: BTreeMap<String, String>,
    /// The paths outside the home that commands cannot read.
    pub closed: DeniedPaths,
    pub limits: CommandLimits,
    /// What to do where the kernel cannot enforce the sandbox.
    pub unsandboxed: UnsandboxedPolicy,
    /// For tests: kernel features to treat as missing.
    pub pretend: DisabledFeatures,
}

/// The resource limits of one command, including everything that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Bytes of memory. Default: half of the machine's memory.
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

/// What to do with a command when the kernel lacks Landlock or seccomp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsandboxedPolicy {
    /// The command does not start.
    #[default]
    Refuse,
    /// The command runs, and its result contains `not_enforced`.
    Allow,
}

/// Kernel features that are treated as missing, so that tests cover less capable kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledFeatures {
    /// User and PID namespaces are refused.
    pub no_namespaces: bool,
    /// A user namespace can be created but not used, as under Ubuntu's restriction.
    pub no_user_mapping: bool,
    /// Landlock is missing.
    pub no_landlock: bool,
    /// Landlock is that of Linux 5.19: it restricts neither truncation, nor networks, nor signals.
    pub old_landlock: bool,
    /// Seccomp is missing.
    pub no_seccomp: bool,
    /// No cgroup is delegated to Wakeful.
    pub no_cgroups: bool,
}
