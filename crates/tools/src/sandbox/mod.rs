//! The sandbox, seen from inside: what our program does when it is started again to run a command.
//!
//! Rights are given up by the process that starts the shell, because doing it between `fork` and `exec` would
//! need unsafe code, and because a process can restrict only itself.
//!
//! # What each level leaves open
//!
//! - Everything outside the home and the closed places ([`crate::closed`]) can be read. Folders on the path to the home,
//!   and without a mount namespace those on the path to a closed place, can be entered but not listed.
//! - Without a mount namespace (in most containers, and with `subreaper`) the mode, owner, times and attributes
//!   of files outside can be changed by whoever owns them, even those of the home: Landlock does not ask. The result
//!   says so (`metadata`), and changes to the home's own files are found and repaired after the command.
//! - With `subreaper` and a Landlock before version 6, a command that knows how can signal other processes of
//!   the same user. The supervisor and Wakeful itself are kept from the ordinary ways of doing so.
//! - With `subreaper` there is no IPC namespace. System V IPC is refused, but `/proc/sysvipc` still lists the keys, sizes
//!   and owners of what others have, without the contents.
//! - With `not_enforced` no system call is refused: a command can reach every socket, and where there is no namespace also
//!   the shared memory of others. Setuid files that it leaves in its workspace lose that bit after it; those that it leaves
//!   elsewhere do not.
//!
//! | module | about |
//! |---|---|
//! | `wire` | what the processes say to one another |
//! | `supervisor` | stage 1: session, namespaces, orders, the end of all |
//! | `keeper` | stage 2: limits, restrictions, the shell, reaping |
//! | `place` | mounts: what a command's namespace looks like |
//! | `call_list` | the system calls that commands may make |
//! | `files` | Landlock: which files can be reached |
//! | `isolation` | what was enforced, line by line |
//! | `space` | seccomp: disk space is not allocated without writing |
//! | `limits`, `usage` | what the tree of a command uses, and when it is too much |
//! | `cgroup` | the kernel's bounds on processes and memory, where a cgroup is delegated to us |
//! | `calls` | seccomp: which system calls are refused |

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) mod cgroup;
mod fallocate;
pub(crate) mod isolation;
mod landlock;
pub(crate) mod limits;
mod mount_namespace;
pub(crate) mod protocol;
mod reaper;
mod seccomp;
mod supervisor;
mod syscall_list;
mod usage;

pub use cgroup::controllers_of;
use protocol::{Containment, Report, StageError, StageLink};
pub(crate) use supervisor::HUNT_MAX;

/// The argument that starts stage 1.
pub(crate) const SUPERVISE: &str = "supervise";

/// The argument that starts stage 2; how it is contained follows it.
pub(crate) const KEEP: &str = "keep";

/// What lists of processes show for the stages, rather than the path they were started by.
pub(crate) const SHOWN_NAME: &str = "wakeful";

/// Runs one stage of the sandbox. The binary calls this when it was started with the arguments of
/// [`crate::ToolsOptions::program_args_prefix`], and passes on those that follow.
///
/// It must be called before any thread is started: a process with several threads gets no user namespace. What
/// happens is reported on standard input's socket; the exit code says only whether the arguments made sense.
pub fn enter(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    let Ok(mut above) = StageLink::of_stdin() else {
        return ExitCode::FAILURE;
    };
    let result = match (words.as_slice(), args.len()) {
        ([SUPERVISE], 1) => supervisor::supervise(&mut above),
        ([KEEP, containment], 2) => match Containment::parse(containment) {
            Some(containment) => reaper::keep(&mut above, containment),
            None => return ExitCode::from(2),
        },
        _ => return ExitCode::from(2),
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
