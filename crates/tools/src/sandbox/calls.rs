//! Seccomp: system calls that no command needs and that lead around the other walls.
//!
//! The list refuses; it does not allow, because a shell may start anything and a list of everything that any
//! program needs would be wrong every month. What must hold is held by Landlock, by the namespace and by the
//! absence of capabilities; this closes what those leave open, above all sockets, which reach other machines
//! and every service on this one.

use std::collections::BTreeMap;

use libc::c_long;
use rustix::process::Pid;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::wire::Trouble;

/// Refused with `EPERM`, whatever the arguments.
const REFUSED: &[c_long] = &[
    // The network, and services beside us. Landlock does not stop a connection to a socket in the file system.
    libc::SYS_socket,
    // Carries out other calls, sockets among them, without passing this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Files without a path, which Landlock judges by.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Keys of the user, which outlive the command.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
];

/// Refused on this processor only.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// The same kernel answers a second set of numbers for programs with 32-bit pointers: ours with this bit set,
/// and a few numbers of its own (`ptrace`, `rt_sigqueueinfo`, `kexec_load`, `rt_tgsigqueueinfo`,
/// `process_vm_readv`, `process_vm_writev`).
#[cfg(target_arch = "x86_64")]
const SECOND_SET: Option<(c_long, &[c_long])> = Some((0x4000_0000, &[521, 524, 528, 536, 539, 540]));
#[cfg(not(target_arch = "x86_64"))]
const SECOND_SET: Option<(c_long, &[c_long])> = None;

/// Flags of clone(2) that make a namespace. A user namespace would hand out capabilities again.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls other than kill(2) whose first argument names a process that they signal, or limit to death.
const BY_PROCESS: [c_long; 6] = [
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_prlimit64,
];

/// From this version on Landlock asks whether a file may be cut by its path.
const ABI_WITH_TRUNCATE: u32 = 3;

/// Processes that a command must not signal, where nothing else keeps it from doing so.
#[derive(Debug, Default)]
pub(super) struct Protected {
    pub(super) processes: Vec<Pid>,
    pub(super) groups: Vec<Pid>,
}

/// Installs the filters, for this process and all its children, for good. `abi` is the version of Landlock that
/// holds: what an old one leaves open is closed here.
pub(super) fn refuse(abi: u32, protected: &Protected) -> Result<(), Trouble> {
    let failed = Trouble::failed("refusing system calls");
    let install = || -> Result<(), seccompiler::Error> {
        // The flags of clone3(2) are in memory, where a filter cannot look. "Not implemented" makes C libraries
        // fall back to clone(2).
        apply_filter(&compile(
            [libc::SYS_clone3].into_iter().map(always),
            libc::ENOSYS,
        )?)?;
        apply_filter(&compile(rules(abi, protected)?.into_iter(), libc::EPERM)?)
    };
    install().map_err(failed)
}

type Rule = (c_long, Vec<SeccompRule>);

const fn always(call: c_long) -> Rule {
    (call, Vec::new())
}

fn rules(abi: u32, protected: &Protected) -> Result<Vec<Rule>, seccompiler::BackendError> {
    let mut rules: Vec<Rule> = REFUSED.iter().chain(REFUSED_HERE).copied().map(always).collect();
    rules.extend((abi < ABI_WITH_TRUNCATE).then(|| always(libc::SYS_truncate)));
    let local = u64::try_from(libc::AF_UNIX).unwrap_or(0);
    let not_local = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, local)?;
    rules.push((libc::SYS_socketpair, vec![SeccompRule::new(vec![not_local])?]));
    let mut with_namespace = Vec::new();
    for flag in NAMESPACE_FLAGS {
        let flag = u64::try_from(flag).unwrap_or(0);
        let set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
        with_namespace.push(SeccompRule::new(vec![set])?);
    }
    rules.push((libc::SYS_clone, with_namespace));
    rules.extend(protect(protected)?);
    Ok(rules)
}

/// Refuses the calls that name one of the processes or groups, and those that mean everybody.
fn protect(protected: &Protected) -> Result<Vec<Rule>, seccompiler::BackendError> {
    if protected.processes.is_empty() {
        return Ok(Vec::new());
    }
    let named = |argument: u8, numbers: &[i32]| -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let rule = |number: &i32| {
            let value = u64::from(number.cast_unsigned());
            let equal = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
            SeccompRule::new(vec![equal])
        };
        numbers.iter().map(rule).collect()
    };
    let raw = |pids: &[Pid]| -> Vec<i32> { pids.iter().map(|pid| pid.as_raw_nonzero().get()).collect() };
    let (processes, groups) = (raw(&protected.processes), raw(&protected.groups));
    let negative = groups.iter().map(|group| -group);
    let killed: Vec<i32> = processes.iter().copied().chain(negative).chain([-1]).collect();
    let mut rules = vec![
        (libc::SYS_kill, named(0, &killed)?),
        (libc::SYS_setpgid, named(1, &groups)?),
    ];
    for call in BY_PROCESS {
        rules.push((call, named(0, &processes)?));
    }
    Ok(rules)
}

fn compile(rules: impl Iterator<Item = Rule>, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut table: BTreeMap<i64, Vec<SeccompRule>> = rules.collect();
    if let Some((bit, own)) = SECOND_SET {
        let again: Vec<Rule> = table
            .iter()
            .map(|(call, rules)| (call | bit, rules.clone()))
            .collect();
        table.extend(again);
        table.extend(own.iter().map(|call| always(call | bit)));
    }
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(table, SeccompAction::Allow, refuse, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Protected {
        let own = rustix::process::getpid();
        Protected {
            processes: vec![own],
            groups: vec![own],
        }
    }

    #[test]
    fn both_filters_fit_the_kernel_s_bound() {
        let most = 4096;
        assert!(
            compile(rules(1, &everything()).expect("rules").into_iter(), libc::EPERM)
                .expect("filter")
                .len()
                < most
        );
        assert!(
            compile([always(libc::SYS_clone3)].into_iter(), libc::ENOSYS)
                .expect("filter")
                .len()
                < most
        );
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut calls: Vec<c_long> = rules(1, &everything())
            .expect("rules")
            .into_iter()
            .map(|(call, _)| call)
            .collect();
        let count = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), count);
    }
}
