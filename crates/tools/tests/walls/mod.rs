//! Tests what a command can and cannot access.

use std::fs;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};

use wakeful_ports::tool::ToolHost as _;
use wakeful_tools::{DisabledFeatures, Tools, UnsandboxedPolicy, Workspace, WorkspaceError};

use crate::fixture::{LEVELS, ToolFixture, attempt, sandbox_program, variables};

mod calls;
mod programs;
mod scope;
mod worktree;

#[test]
fn a_command_can_write_in_the_workspace_and_its_temporary_folder() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        bed.run("mkdir -p a/b && echo one > a/b/c && mv a/b/c d && rm -r a && ln -s d e && cat e")
            .ok();
        assert_eq!(
            fs::read_to_string(bed.workspace.join("d")).expect("file"),
            "one\n"
        );
        let seen = bed
            .run("echo two > $TMPDIR/x && mv d $TMPDIR/ && mktemp && cat $TMPDIR/x $TMPDIR/d")
            .ok();
        assert!(seen.stdout().ends_with("two\none\n"), "{}", seen.stdout());
        assert!(bed.leftovers().is_empty());
    }
}

#[test]
fn a_command_cannot_write_elsewhere() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let outside = bed.root.join("outside");
        fs::create_dir(&outside).expect("folder");
        fs::write(outside.join("file"), "kept").expect("file");
        symlink(&outside, bed.workspace.join("link")).expect("link");
        let outside = outside.display();
        for cmd in [
            format!("echo x > {outside}/file"),
            format!("echo x >> {outside}/file"),
            format!("echo x > {outside}/new"),
            format!("mkdir {outside}/new"),
            format!("rm {outside}/file"),
            format!("mv {outside}/file ."),
            format!("ln {outside}/file hard"),
            format!("truncate -s 0 {outside}/file"),
            format!("perl -e 'truncate(q({outside}/file), 0) or die $!'"),
            "echo x > link/new".to_owned(),
            "echo x > ../new".to_owned(),
            "echo x > /tmp/wakeful-test-escape".to_owned(),
            "echo x > /proc/self/oom_score_adj".to_owned(),
        ] {
            let seen = bed.run(&cmd).not_ok();
            // A hard link to a folder with other rights is refused with the error for another device.
            let said = seen.stderr().to_lowercase();
            let words = [
                "permission denied",
                "not permitted",
                "invalid cross-device link",
                "read-only file system",
            ];
            let refused = words.iter().any(|word| said.contains(word));
            assert!(refused, "{cmd}: {}", seen.json);
        }
        assert_eq!(
            fs::read_to_string(bed.root.join("outside/file")).expect("file"),
            "kept"
        );
        assert_eq!(crate::fixture::entries(&bed.root.join("outside")).len(), 1);
    }
}

#[test]
fn the_home_cannot_be_accessed_by_any_path() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        symlink(&bed.home, bed.workspace.join("home-link")).expect("link");
        symlink(bed.home.join("secret"), bed.workspace.join("secret-link")).expect("link");
        let open = fs::File::open(bed.home.join("secret")).expect("secret");
        let (home, own, open) = (bed.home.display(), std::process::id(), open.as_raw_fd());
        for cmd in [
            format!("cat {home}/secret"),
            format!("ls {home}"),
            format!("ls {home}/scratch"),
            format!("cp {home}/secret ."),
            format!("ln {home}/secret hard"),
            format!("mv {home}/secret ."),
            format!("echo x > {home}/new"),
            format!("cd {home} && cat secret"),
            "cat secret-link".to_owned(),
            "cat home-link/secret".to_owned(),
            "cat ../home/secret".to_owned(),
            "cat $TMPDIR/../../../secret".to_owned(),
            "ls $TMPDIR/..".to_owned(),
            format!("cat /proc/self/root{home}/secret"),
            "cat /proc/self/cwd/../home/secret".to_owned(),
            format!("cat /proc/{own}/root{home}/secret"),
            format!("cat /proc/1/root{home}/secret"),
            format!("cat /proc/{own}/fd/{open}"),
            format!("readlink /proc/{own}/fd/{open}"),
            format!("cat /proc/{own}/environ"),
            format!("cat /proc/$PPID/root{home}/secret"),
            format!("{} && cat /mnt/secret", attempt(&format!("bind {home}"))),
        ] {
            let seen = bed.run(&cmd).not_ok();
            assert!(!seen.done.content.contains("the secret"), "{cmd}: {}", seen.json);
        }
        assert!(bed.home.join("secret").exists());
    }
}

#[test]
fn a_command_cannot_access_the_folder_of_another() {
    let bed = ToolFixture::new();
    let other = bed.home.join("scratch").join("0".repeat(64)).join("tmp");
    fs::create_dir_all(&other).expect("folder");
    fs::write(other.join("file"), "private").expect("file");
    bed.run(&format!("cat {}/file", other.display())).not_ok();
    bed.run(&format!("echo x > {}/new", other.display())).not_ok();
}

#[test]
fn only_harmless_devices_can_be_opened() {
    let bed = ToolFixture::new();
    let seen =
        bed.run("head -c 4 /dev/urandom | wc -c && head -c 4 /dev/zero > /dev/null && echo o > /dev/stdout");
    let seen = seen.ok();
    assert_eq!(seen.stdout().split_whitespace().collect::<Vec<_>>(), ["4", "o"]);
    bed.run("ls /dev").not_ok();
    // No block device or memory device can be opened.
    let seen = bed.run("for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg /dev/loop0; do head -c1 $d && exit 9; done; true");
    seen.ok();
}

#[test]
fn no_network_and_no_other_service_can_be_reached() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let tcp = TcpListener::bind("127.0.0.1:0").expect("listener");
        let _unix = UnixListener::bind(bed.workspace.join("socket")).expect("listener");
        let name = crate::fixture::unique("abstract");
        let address = SocketAddr::from_abstract_name(&name).expect("name");
        let _abstract = UnixListener::bind_addr(&address).expect("listener");
        let attempts = [
            format!("tcp {}", tcp.local_addr().expect("address")),
            "listen".to_owned(),
            "udp".to_owned(),
            "unix socket".to_owned(),
            "unix-listen own".to_owned(),
            format!("abstract {name}"),
        ];
        for what in attempts {
            let seen = bed.run(&attempt(&what));
            let word = what.split(' ').next().expect("word");
            // In its own network a command reaches only itself.
            let expected = match word {
                _ if level.no_namespaces => "PermissionDenied",
                "tcp" => "ConnectionRefused",
                "listen" | "udp" => "ok",
                _ => "PermissionDenied",
            };
            assert_eq!(seen.stdout(), format!("{word}: {expected}\n"));
        }
        let seen = bed
            .run(&format!("{} && {}", attempt("pair"), attempt("thread")))
            .ok();
        assert_eq!(seen.stdout(), "pair: ok\nthread: ok\n");
    }
}

#[test]
fn a_command_has_only_file_capabilities_and_gains_none() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let seen = bed
            .run("grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status")
            .ok();
        let values: Vec<&str> = seen.stdout().split_whitespace().skip(1).step_by(2).collect();
        let [inherited, permitted, effective, ambient, no_new, seccomp] = values[..] else {
            panic!("{values:?}")
        };
        let none = "0000000000000000";
        // CHOWN, DAC_OVERRIDE and FOWNER for the superuser, nothing for other users.
        let own = if is_superuser() { "000000000000000b" } else { none };
        assert_eq!([inherited, permitted, effective, ambient], [none, own, own, none]);
        assert_eq!((no_new, seccomp), ("1", "2"));
        for what in ["userns", "mountns", "remount"] {
            let seen = bed.run(&attempt(what)).not_ok();
            assert_eq!(seen.stdout(), format!("{what}: PermissionDenied\n"));
        }
        bed.run("unshare --user true").not_ok();
    }
}

fn is_superuser() -> bool {
    fs::metadata("/proc/self").expect("metadata").uid() == 0
}

#[test]
fn a_command_can_signal_neither_wakeful_nor_its_supervisor() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let own = std::process::id();
        let send = libc::SYS_pidfd_send_signal;
        // The grandparent of the shell is the supervisor; in a namespace it does not exist.
        let above = "above=$(cut -d' ' -f4 /proc/$PPID/stat)";
        for attempt in [
            format!("kill -0 {own}"),
            format!("kill -0 -{}", rustix::process::getpgrp().as_raw_nonzero()),
            format!("{above}; [ $above != 0 ] && kill -9 $above"),
            format!("{above}; [ $above != 0 ] && kill -9 -- -$above"),
            format!("{above}; perl -e 'setpgrp(0, '$above') && kill(9, 0)'; exit 1"),
            format!("prlimit --pid {own} --nofile"),
            format!("renice 5 -p {own} > $TMPDIR/out"),
            format!("taskset -p 1 {own} > $TMPDIR/out"),
            // Through a folder of /proc, and as the owner of a pipe who is signalled.
            format!(
                "perl -e 'opendir(my $d, q(/proc/{own})) || die; exit(syscall({send}, fileno($d), 0, 0, 0) < 0)'"
            ),
            format!("perl -e 'pipe(my $r, my $w); exit !fcntl($r, 8, {own})'"),
        ] {
            let seen = bed.run(&format!("({attempt}) && exit 1; echo alive")).ok();
            assert_eq!(seen.stdout(), "alive\n", "{attempt}");
        }
        // A command may still signal its own processes, including itself.
        bed.run("sleep 1000 & kill -9 $!; wait $!; [ $? = 137 ]").ok();
    }
}

#[test]
fn only_a_few_variables_are_passed() {
    let bed = ToolFixture::new();
    let seen = bed.run("env").ok();
    let found = variables(seen.stdout());
    assert!(!seen.stdout().contains("hunter2") && !found.contains_key("SECRET_KEY"));
    assert_eq!(
        found.get("PATH").copied(),
        std::env::vars()
            .find(|(k, _)| k == "PATH")
            .map(|(_, v)| v)
            .as_deref()
    );
    assert_eq!(
        (found["TERM"], found["PAGER"], found["GIT_TERMINAL_PROMPT"]),
        ("dumb", "cat", "0")
    );
    assert!(found["TMPDIR"].starts_with(bed.home.to_str().expect("text")));
    assert!(found["HOME"].starts_with(bed.home.to_str().expect("text")));
    let known = [
        "PATH", "HOME", "LANG", "LANGUAGE", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR", "TERM", "PAGER",
    ];
    // Caches in the agent's folder, toolchains in the user's, and the name for commits.
    let is_folder = |name: &str| {
        ["_HOME", "_ROOT", "_DIR", "_CACHE", "_cache", "CACHE_FOLDER"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let is_named = |name: &str| {
        is_folder(name) || ["GOPATH", "GOCACHE", "NUGET_PACKAGES"].contains(&name) || name.starts_with("GIT_")
    };
    let known_too = [
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "npm_config_update_notifier",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    let is_proxy = |name: &str| name.to_lowercase().ends_with("_proxy");
    // Names of files that every command may read.
    let is_certificate = |name: &str| {
        [
            "_CERT",
            "_CERT_FILE",
            "_CERT_DIR",
            "_CA_BUNDLE",
            "_CAINFO",
            "_CA_CERTS",
            "_cafile",
        ]
        .iter()
        .any(|end| name.ends_with(end))
    };
    let is_known = |name: &str| {
        known.contains(&name)
            || known_too.contains(&name)
            || name.starts_with("LC_")
            || is_named(name)
            || is_proxy(name)
            || is_certificate(name)
    };
    assert!(found.keys().all(|name| is_known(name)), "{found:?}");
}

#[test]
fn the_level_reports_what_was_enforced() {
    let level = |pretend| {
        ToolFixture::at(pretend)
            .run("true")
            .ok()
            .done
            .sandbox
            .expect("a level")
    };
    let [full, subreaper, old] = LEVELS.map(level);
    assert!(full.starts_with("enforced: landlock-abi"), "{full}");
    // Without a mount namespace a command can change the mode of files that it owns, including the home's.
    assert!(
        subreaper.starts_with("partly_enforced: landlock-abi"),
        "{subreaper}"
    );
    assert!(
        subreaper.ends_with("; not enforced: metadata, protected_paths"),
        "{subreaper}"
    );
    let all_old = "partly_enforced: landlock-abi2+seccomp+subreaper; not enforced: processes, metadata, protected_paths";
    assert_eq!(old, all_old);
}

#[test]
fn the_level_of_the_machine_is_what_commands_get() {
    let level = |pretend| ToolFixture::at(pretend).tools.sandbox_level();
    let full = if crate::place::mounts_are_allowed() { 2 } else { 1 };
    assert_eq!(LEVELS.map(level), [full, 1, 1]);
    let lacking = DisabledFeatures {
        no_landlock: true,
        ..DisabledFeatures::default()
    };
    assert_eq!(level(lacking), 0);
}

#[test]
fn a_command_runs_without_a_namespace_that_cannot_be_used() {
    let bed = ToolFixture::at(DisabledFeatures {
        no_user_mapping: true,
        ..DisabledFeatures::default()
    });
    for _ in 0..2 {
        let seen = bed.run("echo once >> file; cat file").ok();
        let level = seen.done.sandbox.as_deref().expect("a level");
        assert!(level.contains("+subreaper"), "{level}");
    }
    assert_eq!(
        fs::read_to_string(bed.workspace.join("file")).expect("file"),
        "once\nonce\n"
    );
}

#[test]
fn without_the_sandbox_a_command_is_refused_unless_allowed() {
    let lacking = [
        DisabledFeatures {
            no_landlock: true,
            ..DisabledFeatures::default()
        },
        DisabledFeatures {
            no_seccomp: true,
            ..DisabledFeatures::default()
        },
        DisabledFeatures {
            no_landlock: true,
            no_seccomp: true,
            no_namespaces: true,
            ..DisabledFeatures::default()
        },
    ];
    for pretend in lacking {
        let bed = ToolFixture::at(pretend);
        let seen = bed.run("echo ran > file");
        assert_eq!(seen.done.code.as_deref(), Some("sandbox_unavailable"));
        assert_eq!(seen.json["kind"], "sandbox_unavailable");
        assert!(
            seen.json["hint"]
                .as_str()
                .expect("hint")
                .contains("--allow-unsandboxed")
        );
        assert!(!bed.workspace.join("file").exists());
        let bed = ToolFixture::with(|options| {
            options.pretend = pretend;
            options.unsandboxed = UnsandboxedPolicy::Allow;
        });
        let outside = bed.root.join("outside");
        let seen = bed.run(&format!("echo ran > {} && env", outside.display())).ok();
        assert_eq!(seen.done.sandbox.as_deref(), Some("not_enforced"));
        assert_eq!(seen.json["sandbox"], "not_enforced");
        assert!(outside.exists() && !seen.stdout().contains("hunter2"));
    }
}

#[test]
fn a_workspace_that_overlaps_the_home_is_refused() {
    let bed = ToolFixture::new();
    fs::create_dir(bed.home.join("inner")).expect("folder");
    symlink(&bed.home, bed.root.join("link")).expect("link");
    let overlapping = [
        bed.home.clone(),
        bed.home.join("inner"),
        bed.root.clone(),
        bed.root.join("link/inner"),
    ];
    for workspace in overlapping
        .iter()
        .map(std::path::PathBuf::as_path)
        .chain([std::path::Path::new("/")])
    {
        let error = Workspace::new(&bed.home, workspace).expect_err("an overlap");
        assert_eq!(error.code(), "workspace_overlaps_home", "{error}");
    }
    let missing = Workspace::new(&bed.home, &bed.root.join("missing")).expect_err("missing");
    assert_eq!(missing.code(), "workspace_unusable");
    assert!(Workspace::new(&bed.home, &bed.home.join("secret")).is_err());
    assert!(Workspace::new(&bed.home, &bed.workspace).is_ok());
}

#[test]
fn a_scratch_folder_that_commands_can_access_is_refused() {
    let bed = ToolFixture::new();
    let options = wakeful_tools::ToolsOptions {
        program: sandbox_program(),
        program_args_prefix: vec![],
        home: bed.home.clone(),
        workspace: bed.workspace.clone(),
        scratch: bed.workspace.join("scratch"),
        environment: std::collections::BTreeMap::new(),
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: wakeful_tools::DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: wakeful_tools::CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Refuse,
        pretend: DisabledFeatures::default(),
    };
    let error = Tools::new(options).expect_err("outside");
    assert!(matches!(error, WorkspaceError::ScratchOutside { .. }));
}
