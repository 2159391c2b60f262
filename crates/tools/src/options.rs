//! The options that the binary sets for tools once, at startup.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::denied_paths::DeniedPaths;
use crate::output::TOKEN_CHARS;
use crate::own_addresses::OwnAddresses;
use crate::secrets::SecretSource;

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
    /// The secrets that commands may receive.
    pub secrets: Arc<dyn SecretSource>,
    /// The paths outside the home that commands cannot read.
    pub closed: DeniedPaths,
    /// The addresses of Wakeful's own API, which no command can reach.
    pub own_addresses: OwnAddresses,
    pub limits: CommandLimits,
    pub output: OutputLimits,
    /// What to do where the kernel cannot enforce the sandbox.
    pub unsandboxed: UnsandboxedPolicy,
    /// For tests: kernel features to treat as missing.
    pub pretend: DisabledFeatures,
}

/// The size of the results that a model reads, for all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// For a call that asks for no size.
    pub default_tokens: u32,
    /// A call that asks for more gets this much.
    pub max_tokens: u32,
}

impl OutputLimits {
    /// Enough for a few hundred lines.
    pub const DEFAULT_TOKENS: u32 = 8_000;
    /// A large part of what a model's context holds.
    pub const MAX_TOKENS: u32 = 64_000;

    /// The size of a result in tokens.
    #[must_use]
    pub fn tokens(&self, requested: Option<u32>) -> u32 {
        requested.unwrap_or(self.default_tokens).min(self.max_tokens)
    }

    /// The size of a result in characters of its JSON.
    pub(crate) fn chars(&self, requested: Option<u32>) -> usize {
        (self.tokens(requested) as usize).saturating_mul(TOKEN_CHARS)
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            default_tokens: Self::DEFAULT_TOKENS,
            max_tokens: Self::MAX_TOKENS,
        }
    }
}

/// The resource limits of one command, including everything that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Bytes of memory; none for [`Self::MEMORY_BYTES`].
    pub memory_bytes: Option<u64>,
    /// Processes.
    pub processes: u64,
    /// Threads of all of them together, as the kernel counts them.
    pub threads: u64,
    /// Bytes written to disks by one command.
    pub written_bytes: u64,
    /// Bytes written to disks by all commands of one agent within 24 hours.
    pub written_bytes_per_day: u64,
}

impl CommandLimits {
    /// Enough for a large build, and half of a small machine.
    pub const MEMORY_BYTES: u64 = 4 << 30;
    /// Enough for a parallel build on a large machine, and far from what a machine can hold.
    pub const PROCESSES: u64 = 512;
    /// Runtimes start several threads for each processor.
    pub const THREADS: u64 = 4_096;
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
            threads: Self::THREADS,
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
    /// A network namespace is refused.
    pub no_network_namespace: bool,
    /// Landlock is missing.
    pub no_landlock: bool,
    /// Landlock is that of Linux 5.19: it restricts neither truncation, nor networks, nor signals.
    pub old_landlock: bool,
    /// Seccomp is missing.
    pub no_seccomp: bool,
    /// No cgroup is delegated to Wakeful.
    pub no_cgroups: bool,
}
