//! Tests system calls that could bypass the other restrictions, against the real kernel, and tools that
//! must keep working.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use wakeful_tools::{DisabledFeatures, UnsandboxedPolicy};

use crate::fixture::{LEVELS, ToolFixture, WAYS, entries, listed};

/// A shared memory segment, a message queue and a semaphore of an outside process, under one key.
struct Outside {
    key: u32,
}

const SECRET: &str = "outside";

impl Outside {
    fn new() -> Self {
        let outside = Self { key: key() };
        outside.perl(&format!(
            "my $m = shmget(K, 64, 0666|01000) // die; shmwrite($m, '{SECRET}', 0, 64) || die;
             my $q = msgget(K, 0666|01000) // die; msgsnd($q, pack('l! a*', 1, '{SECRET}'), 0) || die;
             my $s = semget(K, 1, 0666|01000) // die; semctl($s, 0, 16, 7) || die;"
        ));
        outside
    }

    /// Runs a line of Perl outside the sandbox, with the key as `K`.
    fn perl(&self, code: &str) -> String {
        let code = format!("use constant K => {}; {code}", self.key);
        let output = Command::new("perl").args(["-e", &code]).output().expect("perl");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{code}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.perl(
            "my $m = shmget(K, 0, 0); shmctl($m, 0, 0) if defined $m;
             my $q = msgget(K, 0); msgctl($q, 0, 0) if defined $q;
             my $s = semget(K, 0, 0); semctl($s, 0, 0, 0) if defined $s;",
        );
    }
}

/// A key that no other test uses.
fn key() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    0x7700_0000 | ((std::process::id() & 0xffff) << 8) | COUNT.fetch_add(1, Ordering::Relaxed)
}

#[test]
fn shared_memory_of_an_outside_process_cannot_be_accessed() {
    let outside = Outside::new();
    let ids = outside.perl("print join ' ', shmget(K, 0, 0), msgget(K, 0), semget(K, 0, 0)");
    let [memory, queue, semaphore] = ids.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{ids}")
    };
    let key = outside.key;
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let attempts = [
            format!("shmget({key}, 0, 0)"),
            format!("shmread({memory}, $read, 0, 64)"),
            format!("shmwrite({memory}, q(altered), 0, 7)"),
            format!("msgget({key}, 0)"),
            format!("msgrcv({queue}, $read, 64, 0, 04000)"),
            format!("msgsnd({queue}, pack(q(l! a*), 1, q(x)), 04000)"),
            format!("semget({key}, 0, 0)"),
            format!("semop({semaphore}, pack(q(s!3), 0, -1, 04000))"),
            format!("semctl({semaphore}, 0, 12, 0)"),
            format!("shmctl({memory}, 0, 0)"),
        ];
        let reached = attempts.iter().filter(|attempt| {
            let code = format!("my $read; $! = 0; {attempt}; my $failed = $! + 0; print $read; exit $failed");
            let seen = bed.run(&format!("perl -e '{code}'"));
            seen.status() == 0 || seen.stdout().contains(SECRET)
        });
        assert_eq!(reached.collect::<Vec<_>>(), Vec::<&String>::new());
    }
    let left = outside.perl(
        "shmread(shmget(K, 0, 0), my $m, 0, 64) || die; msgrcv(msgget(K, 0), my $q, 64, 0, 04000) // die;
         printf '%s %s %d', $m =~ s/\\0//gr, substr($q, 8), semctl(semget(K, 0, 0), 0, 12, 0)",
    );
    assert_eq!(left, format!("{SECRET} {SECRET} 7"));
}

#[test]
fn outside_segments_are_not_listed_in_a_namespace() {
    let outside = Outside::new();
    let seen = ToolFixture::new()
        .run("cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem")
        .ok();
    assert_eq!(seen.stdout().lines().count(), 3, "{}", seen.stdout());
    assert!(!seen.stdout().contains(&outside.key.to_string()));
}

#[test]
fn shared_memory_made_by_a_command_ends_with_it() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        // Created first, so that dropping it removes everything.
        let outside = Outside { key: key() };
        let key = outside.key;
        let memory = format!("perl -e 'exit !defined(shmget({key}, 1 << 20, 0600 | 01000))'");
        let first = bed.run(&memory);
        if level == DisabledFeatures::default() {
            first.ok();
        } else {
            first.not_ok();
        }
        assert_eq!(
            outside.perl("print defined(shmget(K, 0, 0)) ? 'left' : 'gone'"),
            "gone"
        );
    }
}

#[test]
fn a_datagram_socket_outside_receives_nothing() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let path = bed.workspace.join("datagrams");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_nonblocking(true).expect("a flag");
        let to = path.display();
        // SOCK_RAW is another name for a datagram socket; 02004000 are SOCK_CLOEXEC and SOCK_NONBLOCK.
        for kind in [
            "SOCK_DGRAM",
            "SOCK_RAW",
            "SOCK_DGRAM | 02004000",
            "SOCK_SEQPACKET",
            "SOCK_STREAM",
        ] {
            let code = format!(
                "use Socket; socketpair(my $a, my $b, AF_UNIX, {kind}, 0) || exit 3; \
                 send($a, q(x), 0, sockaddr_un(q({to}))); print q(sent)"
            );
            let seen = bed.run(&format!("perl -e '{code}'"));
            let is_connected = ["SOCK_SEQPACKET", "SOCK_STREAM"].contains(&kind);
            assert_eq!(
                seen.status(),
                if is_connected { 0 } else { 3 },
                "{kind}: {}",
                seen.json
            );
            let received = socket.recv(&mut [0; 8]).map_err(|e| e.kind());
            assert_eq!(received, Err(ErrorKind::WouldBlock), "{kind}");
        }
    }
}

/// Files below a folder that have set-id bits, and devices.
fn privileged(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let metadata = fs::symlink_metadata(&path).expect("metadata");
        let is_device = [libc::S_IFCHR, libc::S_IFBLK].contains(&(metadata.mode() & libc::S_IFMT));
        if metadata.mode() & 0o6000 != 0 || is_device {
            found.push(format!("{} {:o}", path.display(), metadata.mode()));
        }
        if metadata.is_dir() {
            found.extend(privileged(&path));
        }
    }
    found
}

#[test]
fn no_set_id_file_is_left_behind() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        bed.run("cp /bin/true own && mkdir folder").ok();
        let perl = |code: &str| format!("perl -e 'use Fcntl; exit !({code})'");
        // Perl cannot pass a literal to the kernel, hence the variables.
        let call = |number: i64, arguments: &str| {
            let names = "my ($own, $made, $attribute) = (q(own), qq(made$$), q(security.capability));";
            // O_CREAT | O_WRONLY and the mode; a capability of version 2, effective, CAP_SETUID.
            let values =
                "my ($how, $power) = (pack(q(Q3), 0101, 04755, 0), pack(q(V5), 0x02000001, 0x80, 0, 0, 0));";
            format!("perl -e '{names} {values} exit(syscall({number}, {arguments}) < 0)'")
        };
        let commands = [
            "chmod u+s own".to_owned(),
            "chmod g+s own".to_owned(),
            "chmod 6755 own".to_owned(),
            "chmod g+s folder".to_owned(),
            "install -m 4755 own installed".to_owned(),
            "mkdir -m 2755 folder/inner".to_owned(),
            perl("chmod(04755, qw(own))"),
            perl("open(F, q(<), q(own)) && chmod(04755, *F)"),
            perl("sysopen(my $f, q(made), O_CREAT | O_WRONLY, 04755)"),
            perl("sysopen(my $f, q(made), O_CREAT | O_WRONLY, 02755)"),
            // O_TMPFILE; linkat(2) would give it a name.
            perl("sysopen(my $f, q(.), 020200000 | O_WRONLY, 04755)"),
            call(libc::SYS_fchmodat, "-100, $own, 04755"),
            call(452, "-100, $own, 04755, 0"),
            call(libc::SYS_mknodat, "-100, $made, 0104755, 0"),
            call(libc::SYS_mknodat, "-100, $made, 0020666, 0"),
            call(libc::SYS_mknodat, "-100, $made, 0060666, 0x700"),
            call(libc::SYS_openat2, "-100, $made, $how, 24"),
            call(libc::SYS_setxattr, "$own, $attribute, $power, 20, 0"),
        ];
        let done = commands.iter().filter(|command| bed.run(command).status() == 0);
        assert_eq!(done.collect::<Vec<_>>(), Vec::<&String>::new());
        assert_eq!(privileged(&bed.workspace), Vec::<String>::new());
    }
}

#[test]
fn neither_archives_nor_copies_create_set_id_files() {
    for level in LEVELS {
        let mut bed = ToolFixture::at(level);
        bed.scope.readable_paths = listed([bed.root.clone()]);
        let archive = bed.root.join("archive.tar");
        let source = bed.root.join("source");
        fs::create_dir(&source).expect("folder");
        fs::write(source.join("file"), "x").expect("file");
        fs::set_permissions(source.join("file"), fs::Permissions::from_mode(0o4755)).expect("mode");
        let (archive, source) = (archive.display(), source.display());
        let packed = Command::new("tar")
            .args(["cpf", &archive.to_string(), "-C", &source.to_string(), "file"])
            .status();
        assert!(packed.expect("tar").success());
        bed.run(&format!("tar xpf {archive}")).not_ok();
        bed.run(&format!(
            "cp {source}/file copied; cp -p {source}/file kept; true"
        ))
        .ok();
        assert_eq!(privileged(&bed.workspace), Vec::<String>::new());
        assert!(bed.workspace.join("copied").exists());
    }
}

#[test]
fn a_set_id_file_loses_its_bits_when_written() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let file = bed.workspace.join("file");
        fs::write(&file, "x").expect("file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o6777)).expect("mode");
        bed.run("echo more >> file").ok();
        assert_eq!(privileged(&bed.workspace), Vec::<String>::new());
    }
}

/// A 64-bit program that makes one call by the 32-bit convention: `getpid`, by `int 0x80`. Then it exits
/// with 0.
#[cfg(target_arch = "x86_64")]
const CALLS_LIKE_I386: &[u8] = &[
    0xb8, 20, 0, 0, 0, 0xcd, 0x80, // mov eax, 20; int 0x80
    0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, // mov eax, 60; xor edi, edi; syscall
];

#[cfg(target_arch = "x86_64")]
#[test]
fn a_32_bit_call_kills_the_program() {
    let base: u64 = 0x40_0000;
    let length = 120 + CALLS_LIKE_I386.len() as u64;
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(16, 0);
    program.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [base + 120, 64, 0] {
        program.extend(word.to_le_bytes());
    }
    program.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    // One segment, readable and executable.
    program.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, base, base, length, length, 0x1000] {
        program.extend(word.to_le_bytes());
    }
    program.extend(CALLS_LIKE_I386);
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let path = bed.workspace.join("program");
        fs::write(&path, &program).expect("program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
        // 128 plus the number of SIGSYS.
        assert_eq!(bed.run("./program; exit $?").status(), 159);
    }
}

#[test]
fn without_a_sandbox_set_id_bits_are_removed_and_reported() {
    let bed = ToolFixture::with(|options| {
        options.pretend.no_seccomp = true;
        options.unsandboxed = UnsandboxedPolicy::Allow;
    });
    let seen = bed
        .run("mkdir a; cp /bin/sh a/root; chmod 6755 a/root; stat -c %a a/root")
        .ok();
    assert_eq!(seen.stdout(), "6755\n");
    let told = seen.json["permissions_repaired"].to_string();
    assert!(told.contains("a/root: mode 6755 set to 755"), "{}", seen.json);
    let left = fs::metadata(bed.workspace.join("a/root")).expect("a file");
    assert_eq!(left.permissions().mode() & 0o7777, 0o755);
}
