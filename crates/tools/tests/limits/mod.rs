//! Tests the resource limits of a command, including everything that it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wakeful_tools::{CommandLimits, DisabledFeatures};

use crate::fixture::{ToolFixture, WAYS, eventually, processes_with, unique};

fn bed(level: DisabledFeatures, limits: CommandLimits) -> ToolFixture {
    ToolFixture::with(|options| {
        options.pretend = level;
        options.limits = limits;
    })
}

#[test]
fn a_fork_bomb_is_killed_by_the_process_limit() {
    // If the kernel does not limit the superuser, the supervisor alone must be fast enough.
    let measured = DisabledFeatures {
        no_namespaces: true,
        no_cgroups: true,
        ..DisabledFeatures::default()
    };
    for level in WAYS.into_iter().chain([measured]) {
        let limits = CommandLimits {
            processes: 100,
            ..CommandLimits::default()
        };
        let bed = bed(level, limits);
        // Both stop by themselves at about 4,000 processes, so that a failed limit does not exhaust the
        // machine. The second makes orphans; if the kernel limits the number of processes, it soon dies of
        // that by itself.
        let bomb = "b() { [ $1 -eq 0 ] || { b $(($1-1)) & b $(($1-1)) & }; sleep 1000; }";
        let orphans = "b() { [ $1 -eq 0 ] || { (b $(($1-1)) &); (b $(($1-1)) &); }; sleep 1000; }";
        for bomb in [bomb].into_iter().chain(level.no_namespaces.then_some(orphans)) {
            let word = unique("bomb");
            let seen = bed.run(&format!(": {word}; {bomb}; b 10 2> /dev/null"));
            assert_eq!(
                seen.done.code.as_deref(),
                Some("too_many_processes"),
                "{}",
                seen.json
            );
            assert!(
                seen.json["limit"]
                    .as_str()
                    .expect("words")
                    .contains("tools.processes_max")
            );
            eventually("the end of the bomb", || {
                processes_with(&word).is_empty().then_some(())
            });
        }
    }
}

#[test]
fn a_shell_that_exits_before_a_count_is_over_the_limit() {
    for level in WAYS {
        let limits = CommandLimits {
            processes: 20,
            ..CommandLimits::default()
        };
        let bed = bed(level, limits);
        // The tree is counted when it starts and a tenth of a second later.
        let seen =
            bed.run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do sleep 60 & done");
        assert_eq!(
            seen.done.code.as_deref(),
            Some("too_many_processes"),
            "{}",
            seen.json
        );
        // On a busy machine the shell may need longer, and is then killed like the bombs above.
        assert!([0, 137].contains(&seen.status()), "{}", seen.json);
    }
}

#[test]
fn a_command_runs_in_a_cgroup_that_is_removed_with_it() {
    if wakeful_tools::sandbox::controllers_of(std::process::id()).is_empty() {
        eprintln!("skipped: no cgroup is delegated to this process");
        return;
    }
    for level in WAYS {
        let seen = bed(level, CommandLimits::default())
            .run("cat /proc/self/cgroup")
            .ok();
        let sandbox = seen.done.sandbox.as_deref().expect("a level");
        assert!(sandbox.contains("+cgroup"), "{sandbox}");
        let own = format!("wakeful-{}-", std::process::id());
        let name = seen
            .stdout()
            .lines()
            .find_map(|line| line.rsplit('/').next()?.strip_prefix(&own));
        let name = format!("{own}{}", name.expect("a group of its own"));
        let found = Command::new("find")
            .args(["/sys/fs/cgroup", "-name", &name])
            .output()
            .expect("find");
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{level:?}");
    }
}

#[test]
fn too_many_threads_end_the_command() {
    let limits = CommandLimits {
        threads: 40,
        ..CommandLimits::default()
    };
    let many = "perl -e 'use threads; threads->create(sub { sleep 1000 }) for 1..60; sleep 1000'";
    let python = "import threading,time\nfor i in range(60): threading.Thread(target=lambda: time.sleep(1000)).start()";
    let cmd = format!("command -v python3 > /dev/null && exec python3 -c '{python}' || exec {many}");
    for level in WAYS {
        let seen = bed(level, limits).run(&cmd);
        assert_eq!(
            seen.done.code.as_deref(),
            Some("too_many_processes"),
            "{}",
            seen.json
        );
    }
}

#[test]
fn a_command_that_uses_too_much_memory_is_killed() {
    let limits = CommandLimits {
        memory_bytes: Some(64 << 20),
        ..CommandLimits::default()
    };
    // One process that uses all of it, and several that each use less than the limit.
    let alone = "perl -e '$x .= \"y\" x 1_000_000 while 1'";
    // A process name that is not text hides nothing.
    let nameless = "perl -e '$0 = \"\\xff\"; $x .= \"y\" x 1_000_000 while 1'";
    let together =
        "for i in 1 2 3 4; do perl -e '$x = \"y\" x 20_000_000; $z = $x . \"z\"; sleep 1000' & done; wait";
    for level in WAYS {
        for cmd in [alone, nameless, together] {
            let seen = bed(level, limits).run(cmd);
            assert_eq!(
                seen.done.code.as_deref(),
                Some("memory_exceeded"),
                "{}",
                seen.json
            );
        }
    }
}

#[test]
fn memory_that_forked_processes_share_counts_once() {
    let limits = CommandLimits {
        memory_bytes: Some(96 << 20),
        ..CommandLimits::default()
    };
    let shared =
        "perl -e '$x = \"y\" x 40_000_000; for (1..4) { fork or do { sleep 1; exit } } 1 while wait > 0'";
    for level in WAYS {
        bed(level, limits).run(shared).ok();
    }
}

#[test]
fn a_command_that_exceeds_its_write_limit_is_killed() {
    let limits = CommandLimits {
        written_bytes: 8 << 20,
        ..CommandLimits::default()
    };
    for level in WAYS {
        let bed = bed(level, limits);
        let seen =
            bed.run("i=0; while :; do dd if=/dev/zero of=f$i bs=1M count=2 2> /dev/null; i=$((i+1)); done");
        assert_eq!(
            seen.done.code.as_deref(),
            Some("disk_write_exceeded"),
            "{}",
            seen.json
        );
        let written = Command::new("du")
            .arg("-sk")
            .arg(&bed.workspace)
            .output()
            .expect("du");
        let text = String::from_utf8(written.stdout).expect("text");
        let kib: u64 = text
            .split_whitespace()
            .next()
            .expect("a number")
            .parse()
            .expect("a number");
        assert!(kib < 1 << 20, "{kib} KiB");
        // The kernel itself limits a single file.
        bed.run("dd if=/dev/zero of=large bs=1M count=9 2> /dev/null; echo over")
            .ok();
        assert!(fs::metadata(bed.workspace.join("large")).expect("a file").len() <= 8 << 20);
    }
}

/// A small separate disk for the home and the workspace.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None if this machine does not allow mounts.
    fn new(options: &str) -> Option<Self> {
        let path = std::env::temp_dir().join(unique("wakeful-disk"));
        fs::create_dir(&path).expect("a folder");
        let disk = Self(path);
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&disk.0)
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount")
            .arg(&self.0)
            .stderr(std::process::Stdio::null())
            .status();
        let _removed = fs::remove_dir(&self.0);
    }
}

fn bed_on(disk: &Path, level: DisabledFeatures) -> ToolFixture {
    ToolFixture::with(|options| {
        for name in ["home", "workspace"] {
            fs::create_dir_all(disk.join(name)).expect("a folder");
        }
        options.home = disk.join("home");
        options.workspace = disk.join("workspace");
        options.scratch = disk.join("home/scratch");
        options.pretend = level;
    })
}

#[test]
fn endless_writes_leave_free_space_for_the_home() {
    let endless = "while :; do i=$((i+1)); cat /dev/zero > f$i; done";
    let allocating = "while :; do i=$((i+1)); fallocate -l 8M f$i || head -c 1M /dev/zero > f$i; done";
    for level in WAYS {
        // On the small disk nothing starts, because a command could fill it before it is killed.
        for (size, is_begun) in [("size=64m", false), ("size=256m", true)] {
            for cmd in [endless, allocating] {
                let Some(disk) = SmallDisk::new(size) else {
                    eprintln!("skipped: a small disk cannot be mounted here");
                    return;
                };
                let bed = bed_on(&disk.0, level);
                let seen = bed.run(cmd);
                assert_eq!(
                    seen.done.code.as_deref(),
                    Some("disk_write_exceeded"),
                    "{}",
                    seen.json
                );
                let (member, words) = match is_begun {
                    true => ("limit", "command stopped: the disk of Wakeful's home"),
                    false => ("message", "command refused: the disk of Wakeful's home"),
                };
                let said = seen.json[member].as_str().expect("words");
                assert!(said.starts_with(words), "{said}");
                let room = fs::write(disk.0.join("home/transaction"), vec![0; 4 << 20]);
                assert!(room.is_ok(), "{level:?} {size} {cmd}: {room:?}");
            }
        }
    }
}

#[test]
fn an_agent_that_used_its_write_quota_gets_no_more_commands() {
    let limits = CommandLimits {
        written_bytes_per_day: 8 << 20,
        ..CommandLimits::default()
    };
    let bed = bed(DisabledFeatures::default(), limits);
    bed.run("head -c 6M /dev/zero > a").ok();
    let seen = bed.run("head -c 6M /dev/zero > b; sleep 1000");
    assert_eq!(
        seen.done.code.as_deref(),
        Some("disk_write_exceeded"),
        "{}",
        seen.json
    );
    let seen = bed.run("true");
    assert_eq!(
        seen.done.code.as_deref(),
        Some("write_quota_exceeded"),
        "{}",
        seen.json
    );
    let hint = seen.json["hint"].as_str().expect("a hint");
    assert!(hint.contains("tools.disk_write_mib_per_day"), "{hint}");
}
