//! Tests the filters without a kernel.

use std::sync::LazyLock;

use super::*;

/// Linux's limit on the length of one filter.
const INSTRUCTIONS_MAX: usize = 4096;
const ARCH_OURS: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else {
    0xc000_00b7
};
const ARCH_I386: u32 = 0x4000_0003;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const BOTH: [Containment; 2] = [Containment::Namespace, Containment::Subreaper];
/// The bit that marks x32 numbers on x86-64.
const X32: c_long = 0x4000_0000;

fn everything() -> ProtectedProcesses {
    let own = rustix::process::getpid();
    ProtectedProcesses {
        processes: vec![own],
        groups: vec![own],
    }
}

fn errno(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

/// The kernel's action for a call.
fn judge(containment: Containment, call: c_long, arguments: [u64; 6]) -> u32 {
    judge_on(ARCH_OURS, containment, call, arguments)
}

/// What the kernel passes to a filter.
fn data_of(arch: u32, call: c_long, arguments: [u64; 6]) -> Vec<u32> {
    let number = u32::try_from(call).expect("a number");
    let halves = arguments.iter().flat_map(|value| {
        let low = u32::try_from(value & 0xffff_ffff).expect("a half");
        [low, u32::try_from(value >> 32).expect("a half")]
    });
    [number, arch, 0, 0].into_iter().chain(halves).collect()
}

fn judge_on(arch: u32, containment: Containment, call: c_long, arguments: [u64; 6]) -> u32 {
    let data = data_of(arch, call, arguments);
    static PROGRAMS: LazyLock<[[BpfProgram; 3]; 2]> = LazyLock::new(|| {
        BOTH.map(|containment| {
            let nothing = ProtectedProcesses::default();
            programs(6, containment, NetworkAccess::Refused, &nothing).expect("programs")
        })
    });
    let [in_namespace, alone] = &*PROGRAMS;
    let all = match containment {
        Containment::Namespace => in_namespace,
        Containment::Subreaper => alone,
    };
    action(all, &data)
}

/// The kernel's action in a network namespace of the command.
fn judge_in_network(call: c_long, arguments: [u64; 6]) -> u32 {
    static PROGRAMS: LazyLock<[BpfProgram; 3]> = LazyLock::new(|| {
        let nothing = ProtectedProcesses::default();
        programs(6, Containment::Namespace, NetworkAccess::Loopback, &nothing).expect("programs")
    });
    action(&PROGRAMS, &data_of(ARCH_OURS, call, arguments))
}

fn action(all: &[BpfProgram; 3], data: &[u32]) -> u32 {
    // The action with the highest precedence counts; among equal ones, that of the latest filter.
    let order = |action: u32| (action & libc::SECCOMP_RET_ACTION_FULL).cast_signed();
    let answers = all.iter().rev().map(|program| interpret(program, data));
    answers.min_by_key(|action| order(*action)).expect("an answer")
}

/// Runs a filter as the kernel does, limited to the instructions that these filters use.
fn interpret(program: &BpfProgram, data: &[u32]) -> u32 {
    let (mut at, mut value) = (0, 0);
    for _ in 0..INSTRUCTIONS_MAX {
        let step = program.get(at).expect("an instruction");
        let word = usize::try_from(step.k).expect("a number");
        at += 1;
        let mut jump = |is_true: bool| at += usize::from(if is_true { step.jt } else { step.jf });
        match step.code {
            0x20 => value = *data.get(word / 4).expect("a field"),
            0x54 => value &= step.k,
            0x05 => at += word,
            0x15 => jump(value == step.k),
            0x25 => jump(value > step.k),
            0x35 => jump(value >= step.k),
            0x06 => return step.k,
            code => panic!("instruction {code:#x}"),
        }
    }
    panic!("the filter does not end")
}

#[test]
fn every_filter_fits_the_kernels_limit() {
    for program in
        programs(1, Containment::Subreaper, NetworkAccess::Refused, &everything()).expect("programs")
    {
        assert!(program.len() < INSTRUCTIONS_MAX, "{}", program.len());
    }
}

#[test]
fn no_call_is_listed_twice() {
    let allowed = ALLOWED.iter().copied().flatten().chain(ALLOWED_HERE).copied();
    let refused = refused(1, Containment::Subreaper, NetworkAccess::Refused, &everything()).expect("rules");
    let lists = [
        allowed.clone().collect::<Vec<_>>(),
        refused.iter().map(|(call, _)| *call).collect(),
        allowed
            .chain(REFUSED.iter().chain(REFUSED_HERE).chain(SOCKETS).copied())
            .collect(),
    ];
    for mut calls in lists {
        let count = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), count);
    }
}

#[test]
fn an_unlisted_call_does_not_exist() {
    let named: Vec<c_long> = ALLOWED.iter().copied().flatten().copied().collect();
    for call in (0..2_000).filter(|call| !named.contains(call) && !ALLOWED_HERE.contains(call)) {
        let is_refused = [REFUSED, REFUSED_HERE, SOCKETS]
            .iter()
            .any(|list| list.contains(&call));
        let answer = errno(if is_refused { libc::EPERM } else { libc::ENOSYS });
        assert_eq!(judge(Containment::Namespace, call, [0; 6]), answer, "{call}");
    }
    for call in [libc::SYS_clone3, libc::SYS_openat2, libc::SYS_vmsplice] {
        assert!(!named.contains(&call), "{call}");
    }
}

#[test]
fn x32_calls_are_refused() {
    for call in 0..1_000 {
        let answer = judge(Containment::Namespace, X32 | call, [0; 6]);
        assert_eq!(answer, errno(libc::ENOSYS), "{call}");
    }
}

#[test]
fn a_call_of_another_architecture_kills_the_process() {
    for call in 0..1_000 {
        let answer = judge_on(ARCH_I386, Containment::Namespace, call, [0; 6]);
        assert_eq!(answer, libc::SECCOMP_RET_KILL_PROCESS, "{call}");
    }
}

#[test]
fn shared_memory_needs_a_separate_namespace() {
    for call in IPC.iter().copied() {
        assert_eq!(judge(Containment::Namespace, call, [0; 6]), ALLOW, "{call}");
        assert_eq!(
            judge(Containment::Subreaper, call, [0; 6]),
            errno(libc::EPERM),
            "{call}"
        );
    }
}

#[test]
fn only_connected_socket_pairs_are_allowed() {
    let unix = u64::from(libc::AF_UNIX.cast_unsigned());
    let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned();
    // A flag that does not exist hides nothing, and neither does the upper half, which the kernel ignores.
    for extra in [0, u64::from(flags), 0x40_0000, 1 << 32] {
        for kind in 0..16 {
            let answer = judge(
                Containment::Namespace,
                libc::SYS_socketpair,
                [unix, kind | extra, 0, 0, 0, 0],
            );
            let is_connected = [1, 5].contains(&kind);
            let expected = if is_connected { ALLOW } else { errno(libc::EPERM) };
            assert_eq!(answer, expected, "{kind} {extra:#x}");
        }
    }
    for family in (0..64).filter(|family| *family != unix) {
        let answer = judge(
            Containment::Namespace,
            libc::SYS_socketpair,
            [family, 1, 0, 0, 0, 0],
        );
        assert_eq!(answer, errno(libc::EPERM), "{family}");
    }
}

#[test]
fn only_internet_and_route_sockets_exist_in_a_separate_network() {
    let arguments = |family: i32, kind: i32, protocol: i32| {
        [family, kind, protocol, 0, 0, 0].map(|value| u64::from(value.cast_unsigned()))
    };
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    for family in 0..48 {
        for kind in 0..16 {
            for protocol in [0, 1, 2, 6, 12, 17, 58, 132, 255, 262] {
                let is_internet = [libc::AF_INET, libc::AF_INET6].contains(&family)
                    && [1, 2].contains(&kind)
                    && [0, 6, 17].contains(&protocol);
                let is_route = family == libc::AF_NETLINK && [2, 3].contains(&kind) && protocol == 0;
                let expected = if is_internet || is_route {
                    ALLOW
                } else {
                    errno(libc::EPERM)
                };
                for flags in [0, flags] {
                    let arguments = arguments(family, kind | flags, protocol);
                    let found = judge_in_network(libc::SYS_socket, arguments);
                    assert_eq!(found, expected, "{family} {kind} {protocol}");
                    let alone = judge(Containment::Namespace, libc::SYS_socket, arguments);
                    assert_eq!(alone, errno(libc::EPERM));
                }
            }
        }
    }
    for call in [libc::SYS_connect, libc::SYS_bind, libc::SYS_accept4] {
        assert_eq!(judge_in_network(call, [3, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(
            judge(Containment::Subreaper, call, [3, 0, 0, 0, 0, 0]),
            errno(libc::EPERM)
        );
    }
}

#[test]
fn a_socket_option_is_refused_at_its_own_level_only() {
    let option = |level: i32, option: u64| {
        let level = u64::from(level.cast_unsigned());
        judge_in_network(libc::SYS_setsockopt, [3, level, option, 0, 0, 0])
    };
    // SO_ATTACH_FILTER has the number of IPV6_V6ONLY.
    assert_eq!(option(libc::SOL_SOCKET, 26), errno(libc::EPERM));
    assert_eq!(option(libc::IPPROTO_IPV6, 26), ALLOW);
    assert_eq!(option(libc::IPPROTO_TCP, 31), errno(libc::EPERM));
    assert_eq!(option(libc::IPPROTO_TCP, 1), ALLOW);
}

#[test]
fn no_call_accepts_a_mode_with_set_id_bits() {
    let make = u64::from(libc::O_CREAT.cast_unsigned());
    let unnamed = u64::from(libc::O_TMPFILE.cast_unsigned());
    // The index of the mode argument, and the other arguments.
    let mut calls = vec![
        (libc::SYS_fchmod, 1, [3, 0, 0, 0, 0, 0]),
        (libc::SYS_fchmodat, 2, [3, 0, 0, 0, 0, 0]),
        (FCHMODAT2, 2, [3, 0, 0, 0, 0, 0]),
        (libc::SYS_mknodat, 2, [3, 0, 0, 0, 0, 0]),
        (libc::SYS_openat, 3, [3, 0, make, 0, 0, 0]),
        (libc::SYS_openat, 3, [3, 0, unnamed, 0, 0, 0]),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_chmod, 1, [0; 6]),
        (libc::SYS_creat, 1, [0; 6]),
        (libc::SYS_mknod, 1, [0; 6]),
        (libc::SYS_open, 2, [0, make, 0, 0, 0, 0]),
        (libc::SYS_open, 2, [0, unnamed, 0, 0, 0, 0]),
    ]);
    for containment in BOTH {
        for (call, at, mut arguments) in calls.iter().copied() {
            for (mode, is_plain) in [
                (0o644, true),
                (0o1777, true),
                (0o4755, false),
                (0o2755, false),
                (0o10_6000, false),
            ] {
                arguments[at] = mode;
                let expected = if is_plain { ALLOW } else { errno(libc::EPERM) };
                assert_eq!(judge(containment, call, arguments), expected, "{call} {mode:o}");
            }
        }
        // If no file is created, the mode is an arbitrary register value.
        let arguments = [3, 0, 0, 0o4755, 0, 0];
        assert_eq!(judge(containment, libc::SYS_openat, arguments), ALLOW);
        for device in [libc::S_IFCHR, libc::S_IFBLK] {
            let arguments = [3, 0, u64::from(device), 0, 0, 0];
            assert_eq!(
                judge(containment, libc::SYS_mknodat, arguments),
                errno(libc::EPERM)
            );
        }
    }
}

#[test]
fn only_harmless_ioctl_requests_are_allowed() {
    let asked = |call, request| judge(Containment::Namespace, call, [1, request, 0, 0, 0, 0]);
    // TCGETS, FIONREAD, FICLONE.
    for request in [0x5401, 0x541b, 0x4004_9409] {
        assert_eq!(asked(libc::SYS_ioctl, request), ALLOW, "{request:#x}");
    }
    // TIOCSTI, TIOCLINUX, TIOCSETD, FIOSETOWN, FS_IOC_SETFLAGS, BTRFS_IOC_SNAP_CREATE and its second
    // version, and one with bits that the kernel ignores.
    let refused = [
        0x5412,
        0x541c,
        0x5423,
        0x8901,
        0x4008_6602,
        0x5000_9401,
        0x5000_9417,
        1 << 32 | 0x5412,
    ];
    for request in refused {
        assert_eq!(
            asked(libc::SYS_ioctl, request),
            errno(libc::ENOTTY),
            "{request:#x}"
        );
    }
    // F_SETFL, and F_SETOWN.
    assert_eq!(asked(libc::SYS_fcntl, 4), ALLOW);
    assert_eq!(asked(libc::SYS_fcntl, 8), errno(libc::EPERM));
}

#[test]
fn new_namespaces_and_unusual_personalities_are_refused() {
    let asked = |call, first| judge(Containment::Namespace, call, [first, 0, 0, 0, 0, 0]);
    // Threads and forks of the C library.
    for flags in [0x003d_0f00, 0x0120_0011, 0x4111] {
        assert_eq!(asked(libc::SYS_clone, flags), ALLOW, "{flags:#x}");
    }
    for flag in NAMESPACE_FLAGS.map(i32::cast_unsigned) {
        let flags = u64::from(flag) | 0x11;
        assert_eq!(asked(libc::SYS_clone, flags), errno(libc::EPERM), "{flag:#x}");
    }
    assert_eq!(asked(libc::SYS_personality, 0xffff_ffff), ALLOW);
    // READ_IMPLIES_EXEC.
    assert_eq!(asked(libc::SYS_personality, 0x0040_0000), errno(libc::EPERM));
    // PR_SET_NAME, and PR_SET_MM.
    assert_eq!(asked(libc::SYS_prctl, 15), ALLOW);
    assert_eq!(asked(libc::SYS_prctl, 35), errno(libc::EPERM));
}

#[test]
fn a_process_cannot_hide_what_it_wrote() {
    let dumpable = |is| {
        judge(
            Containment::Namespace,
            libc::SYS_prctl,
            [SET_DUMPABLE.into(), is, 0, 0, 0, 0],
        )
    };
    assert_eq!(dumpable(0), errno(libc::EPERM));
    assert_eq!(dumpable(1), ALLOW);
}
