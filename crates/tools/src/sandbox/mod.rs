//! The inside of the sandbox: what Wakeful's program does when it is started again to run a command.
//!
//! The process that starts the shell drops its own privileges, because doing so between `fork` and `exec`
//! would need unsafe code, and because a process can restrict only itself.
//!
//! # What each level leaves open
//!
//! - Names, sizes and times of files outside the readable folders can be found out by who knows their path:
//!   Landlock restricts opening, listing and changing. Without a mount namespace, allowed folders on the path
//!   to a denied path can be entered but not listed.
//! - Without a mount namespace (in most containers, and with `subreaper`) a command can change the mode,
//!   owner, times and attributes of outside files that its user owns, even those of the home: Landlock does
//!   not restrict this. The result reports it (`metadata`), and changes to the home's own files are
//!   detected and reverted after the command.
//! - With `subreaper` and a Landlock before version 6, a command can signal other processes of the same
//!   user by unusual means. The ordinary ways to signal the supervisor and Wakeful itself are blocked.
//! - With `subreaper` an IPC namespace is missing. System V IPC is refused, but `/proc/sysvipc` still lists
//!   the keys, sizes and owners of other users' objects, without the contents.
//! - With `not_enforced` no system call is refused: a command can reach every socket, and without a
//!   namespace also the shared memory of others. Setuid files that it leaves in its workspace lose that bit
//!   afterwards; those that it leaves elsewhere do not.
//!
//! | module | about |
//! |---|---|
//! | `protocol` | the messages between the processes |
//! | `supervisor` | stage 1: session, namespaces, orders, termination |
//! | `probe` | which level of the sandbox this machine can enforce |
//! | `reaper` | stage 2: limits, restrictions, the shell, reaping |
//! | `mount_namespace` | the mounts of a command's namespace |
//! | `network_namespace` | the network of a command: a loopback interface |
//! | `syscall_list` | the system calls that commands may make |
//! | `landlock` | Landlock: which files can be accessed |
//! | `isolation` | what was enforced, restriction by restriction |
//! | `fallocate` | seccomp: disk space is not allocated without writing |
//! | `limits`, `usage` | resource usage of a command's process tree, and its limits |
//! | `cgroup` | the kernel's limits on processes and memory, where a cgroup is delegated |
//! | `seccomp` | seccomp: which system calls are refused |

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) mod cgroup;
mod fallocate;
pub(crate) mod isolation;
mod landlock;
pub(crate) mod limits;
mod mount_namespace;
pub(crate) mod network_namespace;
pub(crate) mod probe;
pub(crate) mod protocol;
mod reaper;
mod seccomp;
mod supervisor;
mod syscall_list;
mod usage;

pub use cgroup::controllers_of;
use network_namespace::NetworkAccess;
use protocol::{Containment, Report, StageError, StageLink};
pub(crate) use supervisor::HUNT_MAX;

/// A process of the sandbox above the processes of a command, as its last arguments name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Supervisor,
    Reaper {
        containment: Containment,
        network: NetworkAccess,
    },
}

impl Stage {
    const SUPERVISE: &str = "supervise";
    const REAP: &str = "keep";

    /// The arguments that start this stage. [`crate::process_ancestry`] recognizes the process by them.
    pub(crate) fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::Supervisor => vec![Self::SUPERVISE],
            Self::Reaper { containment, network } => {
                vec![Self::REAP, containment.as_str(), network.as_str()]
            }
        }
    }

    pub(crate) fn parse(arguments: &[&str]) -> Option<Self> {
        match arguments {
            [word] if *word == Self::SUPERVISE => Some(Self::Supervisor),
            [word, containment, network] if *word == Self::REAP => Some(Self::Reaper {
                containment: Containment::parse(containment)?,
                network: NetworkAccess::parse(network)?,
            }),
            _ => None,
        }
    }

    /// The stage of a process with this command line. Arguments that start the program itself may come first.
    pub(crate) fn of_command_line(words: &[&str]) -> Option<Self> {
        let [SHOWN_NAME, arguments @ ..] = words else {
            return None;
        };
        (0..arguments.len()).find_map(|first| Self::parse(arguments.get(first..)?))
    }
}

/// The argument that makes the program try what this machine can enforce.
pub(crate) const PROBE: &str = "probe";

/// The name of the stages in process lists, in place of the path of the program.
pub(crate) const SHOWN_NAME: &str = "wakeful";

/// Runs one stage of the sandbox. The binary calls this when it was started with the arguments of
/// [`crate::ToolsOptions::program_args_prefix`], and passes the arguments that follow.
///
/// It must be called before any thread is started: a process with several threads cannot create a user
/// namespace. Results are reported on the socket at standard input; the exit code shows only whether the
/// arguments were valid.
pub fn enter(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let Some(words) = args
        .iter()
        .map(|word| word.to_str())
        .collect::<Option<Vec<&str>>>()
    else {
        return ExitCode::from(2);
    };
    if words == [PROBE] {
        return probe::run();
    }
    let Ok(mut above) = StageLink::of_stdin() else {
        return ExitCode::FAILURE;
    };
    let result = match Stage::parse(&words) {
        Some(Stage::Supervisor) => supervisor::supervise(&mut above),
        Some(Stage::Reaper { containment, network }) => reaper::run(&mut above, containment, network),
        None => return ExitCode::from(2),
    };
    match result {
        Ok(()) | Err(StageError::Orphaned) => {}
        Err(StageError::NoNamespaces) => above.report(&Report::NoNamespaces),
        Err(StageError::Failed { doing, cause }) => {
            above.report(&Report::Failed {
                doing: doing.to_owned(),
                cause,
            });
        }
    }
    ExitCode::SUCCESS
}
