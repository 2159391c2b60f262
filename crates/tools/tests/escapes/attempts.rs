//! The table of attempts. Each command must fail, or must at least reach nothing.

/// What an attempt needs to be prevented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A mount namespace; without one the result says `not enforced`.
    Mounts,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) needs: Needs,
    pub(super) cmd: String,
}

/// The attempt that acts only after its command ended.
pub(super) const ORPHAN: &str = "orphan that stays";

/// Reading and changing files.
const FILES: &[(&str, &str)] = &[
    ("ssh key", "cat {user}/.ssh/id_ed25519"),
    ("cloud credentials", "cat {user}/.aws/credentials"),
    ("netrc", "cat {user}/.netrc"),
    ("npm token", "cat {user}/.npmrc"),
    ("cargo token", "cat {user}/.cargo/credentials.toml"),
    ("docker token", "cat {user}/.docker/config.json"),
    ("code host token", "cat {user}/.config/gh/hosts.yml"),
    ("shell history", "cat {user}/.bash_history"),
    ("git settings of the user", "cat {user}/.gitconfig"),
    ("file that no list names", "cat {user}/notes"),
    ("listing the user's folder", "ls {user} && echo escaped"),
    (
        "searching the user's folder",
        "grep -rs hidden {user}; find {user} -type f | grep -q . && echo escaped",
    ),
    (
        "other user's folder",
        "cat {other}/notes; ls {other} && echo escaped",
    ),
    (
        "listing all homes",
        "ls /home && echo escaped; ls /root && echo escaped",
    ),
    ("wakeful's home", "cat {home}/secret {home}/token"),
    (
        "home above the temporary folder",
        "cat $TMPDIR/../../../secret $TMPDIR/../../other/tmp/secret",
    ),
    (
        "home above the private folder",
        "cat $HOME/../../../secret $HOME/../../other/home/secret",
    ),
    ("link to a key", "ln -s {user}/.ssh/id_ed25519 link1 && cat link1"),
    ("link to a folder", "ln -s {user} link2 && cat link2/notes"),
    (
        "chain of links",
        "ln -s /proc/self/root link3 && cat link3/{user}/notes",
    ),
    ("hard link to a key", "ln {user}/.ssh/id_ed25519 hard && cat hard"),
    ("moving a key", "mv {user}/.ssh/id_ed25519 . && cat id_ed25519"),
    (
        "copying a folder",
        "cp -r {user} copy; cat copy/notes copy/.ssh/id_ed25519",
    ),
    ("archive of a folder", "tar cf - {user} | tar xOf -"),
    (
        "links swapped while reading",
        "touch plain; (i=0; while [ $i -lt 300 ]; do ln -sfn plain swap; ln -sfn {user}/notes swap; \
        i=$((i+1)); done) & for n in $(seq 300); do cat swap; done 2> /dev/null; wait",
    ),
    ("root of process 1", "cat /proc/1/root{user}/notes"),
    ("root of this process", "cat /proc/self/root{user}/notes"),
    (
        "folder above the working folder",
        "cat /proc/self/cwd/../user/notes",
    ),
    ("root of a process outside", "cat /proc/{pid}/root{user}/notes"),
    ("working folder of a process outside", "cat /proc/{pid}/cwd/notes"),
    (
        "environment of a process outside",
        "tr '\\0' '\\n' < /proc/{pid}/environ",
    ),
    ("open file of a process outside", "cat /proc/{pid}/fd/3"),
    (
        "memory of a process outside",
        "cat /proc/{pid}/maps && echo escaped; head -c1 /proc/{pid}/mem && echo escaped",
    ),
    (
        "open file of the supervisor",
        "cat /proc/$PPID/fd/0 < /dev/null && echo escaped",
    ),
    (
        "environment of the supervisor's parent",
        "p=$(cut -d' ' -f4 /proc/$PPID/stat); cat /proc/$p/environ && echo escaped",
    ),
    (
        "writing outside",
        "echo x > {outside}/file; echo x >> {outside}/file; echo x > {outside}/new; mkdir {outside}/dir",
    ),
    (
        "truncating outside",
        "truncate -s 0 {outside}/file; perl -e 'truncate(q({outside}/file), 0)'",
    ),
    ("removing outside", "rm -rf {outside} {other}"),
    (
        "renaming outside",
        "mv {outside}/file {outside}/moved; mv {outside} {outside}2",
    ),
    (
        "renaming the workspace",
        "mv {outside}/../workspace {outside}/../workspace2 && echo escaped",
    ),
    (
        "writing through a link",
        "ln -s {outside} link4; echo x > link4/new; echo x > link4/file",
    ),
    (
        "start file of the user's shell",
        "echo x >> {user}/.bashrc; echo x > {user}/.profile",
    ),
    (
        "authorized keys",
        "echo x > {user}/.ssh/authorized_keys; mkdir -p {user}/.ssh",
    ),
    (
        "scheduled job",
        "echo '* * * * * true' | crontab - && echo escaped; echo x > /etc/cron.d/x && echo escaped",
    ),
    (
        "system settings",
        "echo x >> /etc/passwd && echo escaped; echo x > /etc/ld.so.preload && echo escaped",
    ),
    (
        "system programs",
        "cp /bin/true /usr/local/bin/escape && echo escaped",
    ),
    (
        "shared temporary folder",
        "echo x > /tmp/{abstract} && echo escaped; echo x > /var/tmp/{abstract} && echo escaped",
    ),
    (
        "kernel settings",
        "echo x > /proc/sys/kernel/core_pattern && echo escaped; echo 1 > /proc/sysrq-trigger && echo escaped",
    ),
    (
        "devices of the system",
        "echo 1 > /sys/class/net/lo/mtu && echo escaped; ls /sys/firmware && echo escaped",
    ),
    (
        "memory of the machine",
        "for d in /dev/mem /dev/kmem /dev/port /proc/kcore /dev/kmsg; do head -c1 $d && echo escaped; done",
    ),
    (
        "raw disk",
        "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0 /dev/dm-0; do head -c1 $d && echo escaped; done",
    ),
    (
        "terminal",
        "echo x > /dev/tty && echo escaped; echo x > /dev/console && echo escaped",
    ),
    ("shared memory of others", "cat /dev/shm/{abstract}"),
    (
        "shared memory for others",
        "echo x > /dev/shm/{abstract}-made; true",
    ),
    (
        "password hashes",
        "grep -q : /etc/shadow && echo escaped; grep -q : /etc/gshadow && echo escaped",
    ),
    (
        "own limits",
        "echo -1000 > /proc/self/oom_score_adj && echo escaped; ulimit -n 1000000 && echo escaped",
    ),
    (
        "cgroup",
        "mkdir /sys/fs/cgroup/escape && echo escaped; echo $$ > /sys/fs/cgroup/cgroup.procs && echo escaped",
    ),
    (
        "device file",
        "mknod disk b 8 0 && echo escaped; mknod zero c 1 5 && echo escaped",
    ),
    (
        "setuid shell",
        "cp /bin/sh shell && chmod u+s shell && echo escaped; chmod g+s shell && echo escaped",
    ),
    (
        "becoming root",
        "su root -c 'echo escaped' < /dev/null; sudo -n echo escaped; pkexec echo escaped",
    ),
    (
        "program in memory",
        "perl -e 'my $n = qq(x); my $f = syscall({memfd}, $n, 0); open(my $h, qq(>&=$f)); print $h qq(#!/bin/cat\\n); \
        close($h); exec(q(/bin/sh), q(-c), q(cat {user}/notes))'",
    ),
    (
        "library of one's own",
        "LD_PRELOAD=$PWD/x.so LD_LIBRARY_PATH=. cat {user}/notes",
    ),
    ("core dump", "ulimit -c unlimited && echo escaped"),
];

/// Processes, sockets and mounts.
const OTHERS: &[(&str, &str)] = &[
    (
        "killing a process outside",
        "kill -9 {pid}; kill -STOP {pid}; kill -0 {pid} && [ -e /proc/{pid}/root ] && echo escaped; true",
    ),
    (
        "priority of a process outside",
        "renice 5 -p {pid} > out 2>&1 && echo escaped",
    ),
    (
        "limits of a process outside",
        "prlimit --pid {pid} --nofile=1 && echo escaped",
    ),
    (
        "mounting",
        "mount -t tmpfs x /mnt && echo escaped; mount --bind {user} src && cat src/notes",
    ),
    (
        "unmounting",
        "umount -l /proc && echo escaped; umount -l . && echo escaped; umount -l .git/config && echo escaped",
    ),
    (
        "remounting",
        "mount -o remount,rw,bind .git/config && echo escaped; mount -o remount,rw / && echo escaped",
    ),
    (
        "user namespace",
        "unshare --user true && echo escaped; unshare --user --map-root-user cat {user}/notes",
    ),
    ("mount namespace", "unshare --mount true && echo escaped"),
    ("network namespace", "unshare --net true && echo escaped"),
    (
        "namespace of process 1",
        "nsenter -t 1 -m true && echo escaped; nsenter -t {pid} -U true && echo escaped",
    ),
    (
        "another root",
        "chroot / true && echo escaped; perl -e 'chroot(q(/)) && print q(escaped)'",
    ),
    ("abstract socket", "{try} abstract {abstract} && echo escaped"),
    ("socket in the workspace", "{try} unix stream && echo escaped"),
    (
        "datagram",
        "perl -e 'use Socket; my $s; socket($s, AF_UNIX, SOCK_DGRAM, 0) && send($s, q(x), 0, sockaddr_un(q(datagram))) \
        && print q(escaped)'",
    ),
    ("server on the machine", "{try} tcp {tcp} && echo escaped"),
    (
        "raw socket",
        "perl -e 'socket(my $s, 2, 3, 1) && print q(escaped)'",
    ),
    (
        "packet socket",
        "perl -e 'socket(my $s, 17, 3, 768) && print q(escaped)'",
    ),
    ("vsock", "perl -e 'socket(my $s, 40, 1, 0) && print q(escaped)'"),
    (
        "key socket",
        "perl -e 'socket(my $s, 15, 3, 2) && print q(escaped)'",
    ),
    (
        "terminal input",
        "perl -e 'my $c = qq(x); my $t; open($t, q(<), q(/dev/tty)) && ioctl($t, 0x5412, $c) && print q(escaped)'",
    ),
    (
        ORPHAN,
        "(setsid sh -c 'sleep 0.4; echo x > {outside}/late' &) ; true",
    ),
];

/// Changing what programs outside run or obey later.
const PROTECTED: &[(&str, &str)] = &[
    (
        "hook",
        "echo x > .git/hooks/pre-commit; echo x > .git/hooks/post-checkout && echo escaped; chmod +x .git/hooks/pre-commit",
    ),
    (
        "folder of hooks",
        "rm -rf .git/hooks; mv .git/hooks h && echo escaped; rmdir .git/hooks",
    ),
    (
        "path of hooks",
        "git config core.hooksPath evil; git config --file .git/config core.fsmonitor evil",
    ),
    (
        "settings of the repository",
        "echo x >> .git/config; sed -i s/core/evil/ .git/config; ln -f src/x .git/config",
    ),
    (
        "replaced settings",
        "echo evil > new && mv -f new .git/config; cp -f new .git/config",
    ),
    (
        "renamed repository",
        "mv .git moved && mkdir .git && echo escaped",
    ),
    (
        "removed repository",
        "rm -rf .git; [ -e .git/config ] || echo escaped",
    ),
    (
        "exchanged repository",
        "mkdir other; perl -e 'syscall({renameat2}, -100, my $a = q(.git), -100, my $b = q(other), 2) == 0 \
        && print q(escaped)'",
    ),
    (
        "shell settings",
        "echo evil > .envrc; mv .envrc e && echo escaped; rm -f .envrc; ln -sf evil .envrc",
    ),
    (
        "editor settings",
        "echo evil > .vscode/tasks.json; mv .vscode v && echo escaped; echo x > .vscode/settings.json && echo escaped",
    ),
    (
        "mode of outside files",
        "chmod 777 {user} {user}/notes {outside}/file; chmod 000 {outside}",
    ),
    (
        "times of outside files",
        "touch -d 2001-01-01 {outside}/file && echo escaped",
    ),
    (
        "owner of outside files",
        "chown $(id -u) {outside}/file && echo escaped",
    ),
];

/// System calls that could avoid the other restrictions, with arguments.
const CALLS: &[(&str, i64, &str)] = &[
    ("tracing a process", libc::SYS_ptrace, "16, {pid}, 0, 0"),
    (
        "reading a process's memory",
        libc::SYS_process_vm_readv,
        "{pid}, 0, 0, 0, 0, 0",
    ),
    (
        "writing a process's memory",
        libc::SYS_process_vm_writev,
        "{pid}, 0, 0, 0, 0, 0",
    ),
    ("taking a process's file", libc::SYS_pidfd_getfd, "3, 0, 0"),
    ("comparing processes", libc::SYS_kcmp, "{pid}, {pid}, 0, 0, 0"),
    ("opening by handle", libc::SYS_open_by_handle_at, "3, 0, 0"),
    ("asynchronous calls", libc::SYS_io_uring_setup, "1, 0"),
    ("keyring", libc::SYS_keyctl, "0, -3, 1"),
    ("adding a key", libc::SYS_add_key, "0, 0, 0, 0, -3"),
    ("kernel program", libc::SYS_bpf, "0, 0, 0"),
    ("performance events", libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
    ("page faults", libc::SYS_userfaultfd, "0"),
    ("new root", libc::SYS_pivot_root, "0, 0"),
    ("file system context", libc::SYS_fsopen, "0, 0"),
    ("detached mount", libc::SYS_open_tree, "-100, 0, 1"),
    ("moved mount", libc::SYS_move_mount, "0, 0, 0, 0, 0"),
    ("mount attributes", libc::SYS_mount_setattr, "-100, 0, 0, 0, 0"),
    ("namespace by clone", libc::SYS_clone, "0x10000011, 0, 0, 0, 0"),
    ("namespace by clone3", libc::SYS_clone3, "0, 88"),
    ("entering a namespace", libc::SYS_setns, "0, 0"),
    ("watching all files", libc::SYS_fanotify_init, "0, 0"),
    ("kernel module", libc::SYS_init_module, "0, 0, 0"),
    ("kernel log", libc::SYS_syslog, "3, 0, 0"),
    ("host name", libc::SYS_sethostname, "0, -1"),
    ("clock", libc::SYS_settimeofday, "0, 0"),
    ("accounting", libc::SYS_acct, "1"),
    ("swap", libc::SYS_swapoff, "0"),
    ("restart", libc::SYS_reboot, "0, 0, 0, 0"),
];

pub(super) fn all() -> Vec<Attempt> {
    let plain = FILES.iter().chain(OTHERS).map(|row| (row, Needs::Nothing));
    let protected = PROTECTED.iter().map(|row| (row, Needs::Mounts));
    let calls = CALLS.iter().map(|(name, number, arguments)| Attempt {
        name,
        needs: Needs::Nothing,
        // A call that fails by its arguments was reached, so only these two errors count as refusals.
        cmd: format!(
            "perl -e '$! = 0; my $r = syscall({number}, {arguments}); print q(escaped) if $r >= 0 || ($! != {} && $! != {})'",
            libc::EPERM,
            libc::ENOSYS
        ),
    });
    let words = |((name, cmd), needs): (&(&'static str, &'static str), Needs)| Attempt {
        name,
        needs,
        cmd: cmd
            .replace("{memfd}", &libc::SYS_memfd_create.to_string())
            .replace("{renameat2}", &libc::SYS_renameat2.to_string()),
    };
    plain.chain(protected).map(words).chain(calls).collect()
}
