//! Seccomp: which system calls a command can make.
//!
//! Three filters are stacked, and a call must pass all of them. The first allows what `syscall_list` names
//! and returns `ENOSYS` for everything else: unknown calls, and the second set of numbers that x86-64 has
//! for programs with 32-bit pointers. The second refuses with `EPERM` by argument. The third restricts
//! ioctl(2). A call by the convention of another architecture, such as `int 0x80`, kills the process.
//!
//! If two filters refuse, the later one determines the error.

use std::collections::BTreeMap;

use libc::c_long;
use rustix::process::Pid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::network_namespace::NetworkAccess;
use super::protocol::{Containment, StageError};
use super::syscall_list::{
    ALLOWED, ALLOWED_HERE, FCHMODAT2, FCNTLS_REFUSED, IOCTLS, IPC, PERSONALITIES, PRCTLS_REFUSED, REFUSED,
    REFUSED_HERE, SOCKET_PROGRAMS, SOCKETS,
};

/// `PR_SET_DUMPABLE`. Except for the superuser, only dumpable processes show what they wrote.
const SET_DUMPABLE: u32 = 4;

/// Flags of clone(2) that create a namespace. A user namespace would grant capabilities again. The flags of
/// clone3(2) are in memory, which a filter cannot read, so clone3 is not allowed at all.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The mode bits that make a file run as its owner or its group.
const SET_ID_BITS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Flags with which open(2) creates a file and so uses its mode. openat2(2) has both in memory and is not
/// allowed.
const MAKING_FLAGS: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Calls that create a file or change its mode, and the index of the mode argument.
const WITH_MODE: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
/// Those of them that can create a device.
const NODES: &[(c_long, u8)] = &[(libc::SYS_mknodat, 2)];
/// The same, with the index of the flags that decide whether the mode is used, and of the mode.
const WITH_FLAGS_AND_MODE: &[(c_long, u8, u8)] = &[(libc::SYS_openat, 2, 3)];

#[cfg(target_arch = "x86_64")]
const WITH_MODE_HERE: &[(c_long, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_mknod, 1), (libc::SYS_creat, 1)];
#[cfg(target_arch = "x86_64")]
const NODES_HERE: &[(c_long, u8)] = &[(libc::SYS_mknod, 1)];
#[cfg(target_arch = "x86_64")]
const WITH_FLAGS_AND_MODE_HERE: &[(c_long, u8, u8)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const WITH_MODE_HERE: &[(c_long, u8)] = &[];
#[cfg(not(target_arch = "x86_64"))]
const NODES_HERE: &[(c_long, u8)] = &[];
#[cfg(not(target_arch = "x86_64"))]
const WITH_FLAGS_AND_MODE_HERE: &[(c_long, u8, u8)] = &[];

/// The part of a socket's type that is not a flag, and the allowed types of socket pairs, which stay
/// connected to each other. A datagram socket, which includes `SOCK_RAW`, can reach any other one by its
/// path, and a filter cannot see the address that sendmsg(2) has in memory.
const SOCKET_TYPE_MASK: u32 = 0xf;
const PAIR_TYPES: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// Calls other than kill(2) whose first argument is the pid of a process that they signal or schedule.
const BY_PROCESS: [c_long; 9] = [
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls whose first argument selects whether the second is a process, a group or a user, and the value for
/// a process.
const BY_KIND: [(c_long, u32); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The number by which a process means itself.
const SELF: u32 = 0;

/// From this version on, Landlock restricts truncation by path.
const ABI_WITH_TRUNCATE: u32 = 3;

/// Processes that a command must not signal, where nothing else prevents it.
#[derive(Debug, Default)]
pub(super) struct ProtectedProcesses {
    pub(super) processes: Vec<Pid>,
    pub(super) groups: Vec<Pid>,
}

/// Installs the filters permanently, for this process and all its children. `abi` is the active version of
/// Landlock: the filters also close what an old version or a missing namespace leaves open.
pub(super) fn restrict(
    abi: u32,
    containment: Containment,
    network: NetworkAccess,
    protected: &ProtectedProcesses,
) -> Result<(), StageError> {
    let install = || -> Result<(), seccompiler::Error> {
        for program in programs(abi, containment, network, protected)? {
            apply_filter(&program)?;
        }
        Ok(())
    };
    install().map_err(StageError::failed("restricting system calls"))
}

type Rule = (c_long, Vec<SeccompRule>);

/// The filters in installation order.
fn programs(
    abi: u32,
    containment: Containment,
    network: NetworkAccess,
    protected: &ProtectedProcesses,
) -> Result<[BpfProgram; 3], BackendError> {
    let errno = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let compile = |rules: Vec<Rule>, matching: SeccompAction, other: SeccompAction| {
        let table: BTreeMap<i64, Vec<SeccompRule>> = rules.into_iter().collect();
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        BpfProgram::try_from(SeccompFilter::new(table, other, matching, architecture)?)
    };
    let allowed = ALLOWED.iter().copied().flatten().chain(ALLOWED_HERE);
    let sockets = match network {
        NetworkAccess::Loopback => SOCKETS,
        NetworkAccess::Refused => &[],
    };
    let allowed = allowed.chain(sockets).copied().map(always).collect();
    let refused = refused(abi, containment, network, protected)?;
    let unknown_ioctl = vec![(libc::SYS_ioctl, vec![none_of(1, IOCTLS)?])];
    Ok([
        compile(allowed, SeccompAction::Allow, errno(libc::ENOSYS))?,
        compile(refused, errno(libc::EPERM), SeccompAction::Allow)?,
        compile(unknown_ioctl, errno(libc::ENOTTY), SeccompAction::Allow)?,
    ])
}

const fn always(call: c_long) -> Rule {
    (call, Vec::new())
}

/// The calls that are refused with `EPERM`, always or by argument.
fn refused(
    abi: u32,
    containment: Containment,
    network: NetworkAccess,
    protected: &ProtectedProcesses,
) -> Result<Vec<Rule>, BackendError> {
    let mut rules: Vec<Rule> = REFUSED.iter().chain(REFUSED_HERE).copied().map(always).collect();
    match network {
        NetworkAccess::Loopback => rules.push((libc::SYS_socket, foreign_sockets()?)),
        NetworkAccess::Refused => rules.extend(SOCKETS.iter().copied().map(always)),
    }
    rules.extend((abi < ABI_WITH_TRUNCATE).then(|| always(libc::SYS_truncate)));
    if containment == Containment::Subreaper {
        rules.extend(IPC.iter().copied().map(always));
        // It accepts a folder of `/proc` as a process, and a filter cannot see which one.
        rules.push(always(libc::SYS_pidfd_send_signal));
    }
    let namespaces = NAMESPACE_FLAGS.map(i32::cast_unsigned);
    let namespaces: Result<_, _> = namespaces.iter().map(|flag| all_of(&[has(0, *flag)?])).collect();
    rules.push((libc::SYS_clone, namespaces?));
    rules.push((libc::SYS_socketpair, pairs()?));
    rules.push((libc::SYS_fcntl, any_of(1, FCNTLS_REFUSED)?));
    rules.push((libc::SYS_prctl, prctls()?));
    rules.push((libc::SYS_setsockopt, socket_options()?));
    rules.push((libc::SYS_personality, vec![none_of(0, PERSONALITIES)?]));
    rules.extend(set_id()?);
    rules.extend(protect(protected)?);
    Ok(rules)
}

/// Refuses options that hide a process from its supervisor, among others.
fn prctls() -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = any_of(0, PRCTLS_REFUSED)?;
    let is_hiding = [
        compare(0, SeccompCmpOp::Eq, SET_DUMPABLE)?,
        compare(1, SeccompCmpOp::Eq, 0)?,
    ];
    rules.push(all_of(&is_hiding)?);
    Ok(rules)
}

/// Refuses socket pairs that are not local or can send elsewhere.
fn pairs() -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = vec![none_of(0, &[libc::AF_UNIX.cast_unsigned()])?];
    for kind in 0..=SOCKET_TYPE_MASK {
        if !PAIR_TYPES.map(i32::cast_unsigned).contains(&kind) {
            rules.push(all_of(&[masked(1, SOCKET_TYPE_MASK, kind)?])?);
        }
    }
    Ok(rules)
}

/// Refuses all sockets but TCP and UDP, and those that read the configuration of the namespace, which
/// runtimes list interfaces with. Sockets of `AF_UNIX` would reach services by their path.
fn foreign_sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let [inet, inet6, netlink] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(i32::cast_unsigned);
    let [stream, datagram, raw] =
        [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW].map(i32::cast_unsigned);
    let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(i32::cast_unsigned);
    let family = |family: u32| compare(0, SeccompCmpOp::Eq, family);
    let kind = |kind: u32| masked(1, SOCKET_TYPE_MASK, kind);
    let mut rules = vec![
        none_of(0, &[inet, inet6, netlink])?,
        all_of(&[family(inet)?, kind(raw)?])?,
        all_of(&[family(inet6)?, kind(raw)?])?,
        all_of(&[family(netlink)?, kind(stream)?])?,
        // Only `NETLINK_ROUTE`.
        all_of(&[family(netlink)?, compare(2, SeccompCmpOp::Ne, 0)?])?,
    ];
    for other in (0..=SOCKET_TYPE_MASK).filter(|kind| ![stream, datagram, raw].contains(kind)) {
        rules.push(all_of(&[kind(other)?])?);
    }
    for internet in [inet, inet6] {
        let mut conditions = vec![family(internet)?];
        for protocol in protocols {
            conditions.push(compare(2, SeccompCmpOp::Ne, protocol)?);
        }
        rules.push(all_of(&conditions)?);
    }
    Ok(rules)
}

/// Refuses options that load a program into the kernel, or another protocol into a connection.
fn socket_options() -> Result<Vec<SeccompRule>, BackendError> {
    let of_level = |level: i32, option: u32| {
        all_of(&[
            compare(1, SeccompCmpOp::Eq, level.cast_unsigned())?,
            compare(2, SeccompCmpOp::Eq, option)?,
        ])
    };
    // The number of an option means something else at another level.
    let mut rules: Vec<SeccompRule> = SOCKET_PROGRAMS
        .iter()
        .map(|option| of_level(libc::SOL_SOCKET, *option))
        .collect::<Result<_, _>>()?;
    rules.push(of_level(libc::IPPROTO_TCP, libc::TCP_ULP.cast_unsigned())?);
    Ok(rules)
}

/// Refuses modes with which a file would run as its owner or group, and devices. So a command cannot leave
/// a program in the workspace that grants its caller the rights of another user.
fn set_id() -> Result<Vec<Rule>, BackendError> {
    let mut table: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for (call, mode) in WITH_MODE.iter().chain(WITH_MODE_HERE).copied() {
        for bit in SET_ID_BITS {
            let rules = table.entry(call).or_default();
            rules.push(all_of(&[has(mode, bit)?])?);
        }
    }
    for (call, flags, mode) in WITH_FLAGS_AND_MODE
        .iter()
        .chain(WITH_FLAGS_AND_MODE_HERE)
        .copied()
    {
        for flag in MAKING_FLAGS.map(i32::cast_unsigned) {
            for bit in SET_ID_BITS {
                let rules = table.entry(call).or_default();
                rules.push(all_of(&[has(flags, flag)?, has(mode, bit)?])?);
            }
        }
    }
    for (call, mode) in NODES.iter().chain(NODES_HERE).copied() {
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            let rules = table.entry(call).or_default();
            rules.push(all_of(&[masked(mode, libc::S_IFMT, kind)?])?);
        }
    }
    Ok(table.into_iter().collect())
}

/// Refuses the calls that name one of the processes or groups, and those that target all processes.
fn protect(protected: &ProtectedProcesses) -> Result<Vec<Rule>, BackendError> {
    if protected.processes.is_empty() {
        return Ok(Vec::new());
    }
    let raw = |pids: &[Pid]| -> Vec<i32> { pids.iter().map(|pid| pid.as_raw_nonzero().get()).collect() };
    let named = |argument: u8, numbers: &[i32]| -> Result<Vec<SeccompRule>, BackendError> {
        let numbers: Vec<u32> = numbers.iter().map(|number| number.cast_unsigned()).collect();
        any_of(argument, &numbers)
    };
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
    // Only of the caller itself: every process of the user is in reach, and a filter cannot see which are the
    // command's own.
    rules.push((libc::SYS_prlimit64, vec![none_of(0, &[SELF])?]));
    for (call, process) in BY_KIND {
        rules.push((call, vec![none_of(1, &[SELF])?, none_of(0, &[process])?]));
    }
    Ok(rules)
}

/// Compares a 32-bit argument. The kernel ignores the upper half too.
fn compare(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
}

fn masked(argument: u8, mask: u32, value: u32) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(mask.into()), value)
}

fn has(argument: u8, bit: u32) -> Result<SeccompCondition, BackendError> {
    masked(argument, bit, bit)
}

fn all_of(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

/// Rules that match if the argument is one of the values.
fn any_of(argument: u8, values: &[u32]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |value: &u32| all_of(&[compare(argument, SeccompCmpOp::Eq, *value)?]);
    values.iter().map(rule).collect()
}

/// A rule that matches if the argument is none of the values.
fn none_of(argument: u8, values: &[u32]) -> Result<SeccompRule, BackendError> {
    let differs = |value: &u32| compare(argument, SeccompCmpOp::Ne, *value);
    SeccompRule::new(values.iter().map(differs).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
