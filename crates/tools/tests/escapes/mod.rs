//! Attempts to leave the sandbox, each by its name. They run as an ordinary user, and as the superuser where the
//! tests do. An attempt succeeds if its output contains a secret or the word `escaped`, if anything outside
//! changed, or if a process outside is gone.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::fixture::{eventually, sandbox_program, unique};

mod attempts;
mod control;

use attempts::{Attempt, Needs};

/// Occurs in every file and variable that no command may read.
const SECRET: &str = "hidden words";

/// With the folders of programs for the superuser, which attempts use.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Longer than the process that an attempt leaves behind waits before it acts.
const AFTER_ORPHAN: std::time::Duration = std::time::Duration::from_millis(900);

/// The id of a user that owns no files.
const ORDINARY: u32 = 65_534;

/// What attempts try to read, change or reach.
struct World {
    _root: tempfile::TempDir,
    root: PathBuf,
    victim: Child,
    /// Sockets that listen outside.
    _sockets: (std::net::TcpListener, UnixListener, UnixListener, UnixDatagram),
    values: BTreeMap<&'static str, String>,
    as_ordinary: bool,
}

/// Files outside, by their path below the root of the world.
const SECRETS: [&str; 17] = [
    "user/.ssh/id_ed25519",
    "user/.aws/credentials",
    "user/.netrc",
    "user/.npmrc",
    "user/.cargo/credentials.toml",
    "user/.docker/config.json",
    "user/.config/gh/hosts.yml",
    "user/.bash_history",
    "user/.bashrc",
    "user/.gitconfig",
    "user/notes",
    "other/notes",
    "outside/file",
    "home/secret",
    "home/agent-folders/other/home/secret",
    "home/scratch/other/tmp/secret",
    "home/token",
];

/// Files of the workspace that programs outside run or obey.
const PROTECTED: [(&str, &str); 5] = [
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    (".git/hooks/pre-commit", "#!/bin/sh\n"),
    (".envrc", "true\n"),
    (".vscode/tasks.json", "{}\n"),
    ("AGENTS.md", "obey\n"),
];

impl World {
    fn new(as_ordinary: bool) -> Self {
        let temp = tempfile::TempDir::new().expect("a folder");
        let root = temp.path().canonicalize().expect("a path");
        for file in SECRETS {
            write(&root.join(file), SECRET);
        }
        for (file, text) in PROTECTED {
            write(&root.join("workspace").join(file), text);
        }
        for folder in [".git/objects", ".git/refs/heads", "src"] {
            fs::create_dir_all(root.join("workspace").join(folder)).expect("a folder");
        }
        write(&root.join("workspace/.git/HEAD"), "ref: refs/heads/main\n");
        let stream = UnixListener::bind(root.join("workspace/stream")).expect("a socket");
        let datagram = UnixDatagram::bind(root.join("workspace/datagram")).expect("a socket");
        datagram.set_nonblocking(true).expect("a flag");
        let name = unique("escape");
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let abstract_one = UnixListener::bind_addr(&address).expect("a socket");
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
        write(&PathBuf::from("/dev/shm").join(&name), SECRET);
        if as_ordinary {
            give_away(&root);
            chown(
                PathBuf::from("/dev/shm").join(&name),
                Some(ORDINARY),
                Some(ORDINARY),
            )
            .expect("given");
        }
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("a mode");
        // Every user can run it here; the folder of the build may be closed to others.
        let program = root.join("sandbox_test_host");
        if fs::hard_link(sandbox_program(), &program).is_err() {
            fs::copy(sandbox_program(), &program).expect("a copy");
        }
        let victim = start_victim(&root, as_ordinary);
        let path = |name: &str| root.join(name).display().to_string();
        let values = BTreeMap::from([
            ("{user}", path("user")),
            ("{other}", path("other")),
            ("{outside}", path("outside")),
            ("{home}", path("home")),
            ("{pid}", victim.id().to_string()),
            ("{tcp}", tcp.local_addr().expect("an address").to_string()),
            ("{abstract}", name),
            ("{try}", format!("{} try", program.display())),
        ]);
        Self {
            _root: temp,
            root,
            victim,
            _sockets: (tcp, stream, abstract_one, datagram),
            values,
            as_ordinary,
        }
    }

    /// Runs a command as Wakeful would, and returns its result.
    fn run(&self, level: &str, cmd: &str) -> String {
        let mut command = command_of(self.as_ordinary, &self.root.join("sandbox_test_host"));
        command
            .arg("host")
            .args([self.root.join("home"), self.root.join("workspace")]);
        command.args([level, cmd]);
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.root.join("user"));
        let output = command.stderr(Stdio::null()).output().expect("the host");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the same command without a sandbox, with shells of the same user as its parents.
    fn run_bare(&self, cmd: &str) -> String {
        let folders =
            ["home/agent-folders/main/home", "home/scratch/main/tmp"].map(|name| self.root.join(name));
        for folder in &folders {
            fs::create_dir_all(folder).expect("a folder");
        }
        let mut command = if self.as_ordinary || !rustix::process::geteuid().is_root() {
            command_of(self.as_ordinary, Path::new("/bin/sh"))
        } else {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "/bin/sh"]);
            command
        };
        command.args(["-c", "/bin/sh -c '/bin/sh -c \"$CMD\"; true'; true"]);
        let [home, temporary] = folders;
        command
            .env_clear()
            .env("PATH", PATH)
            .envs([("HOME", home), ("TMPDIR", temporary)])
            .env("CMD", cmd)
            .current_dir(self.root.join("workspace"));
        let output = command.stdin(Stdio::null()).output().expect("a shell");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Everything that no attempt may change.
    fn snapshot(&self) -> Vec<(PathBuf, Option<String>, u32)> {
        let protected = PROTECTED
            .iter()
            .map(|(file, _)| Path::new("workspace").join(file));
        let outside = ["user", "other", "outside"]
            .iter()
            .flat_map(|name| tree(&self.root.join(name)));
        let files = SECRETS.iter().map(PathBuf::from).chain(protected);
        let shared = PathBuf::from("/dev/shm").join(&self.values["{abstract}"]);
        let all = files
            .map(|file| self.root.join(file))
            .chain(outside)
            .chain([shared]);
        let state = |path: PathBuf| {
            let mode = fs::symlink_metadata(&path).map_or(0, |found| found.permissions().mode());
            (fs::read_to_string(&path).ok(), mode, path)
        };
        all.map(state)
            .map(|(text, mode, path)| (path, text, mode))
            .collect()
    }

    /// Why an attempt counts as an escape.
    fn escape(&mut self, attempt: &Attempt, level: &str) -> Option<String> {
        let why = self.effect(attempt, |world, cmd| {
            let said = world.run(level, cmd);
            let ran = said.contains("\"exit_status\"");
            if ran { Ok(said) } else { Err(said) }
        });
        Some(format!("{} at {level} {}", attempt.name, why?))
    }

    /// What an attempt reached outside.
    fn effect(
        &mut self,
        attempt: &Attempt,
        run: impl FnOnce(&Self, &str) -> Result<String, String>,
    ) -> Option<String> {
        let mut cmd = attempt.cmd.clone();
        for (name, value) in &self.values {
            cmd = cmd.replace(name, value);
        }
        let before = self.snapshot();
        let said = run(self, &cmd);
        if attempt.name == attempts::ORPHAN {
            std::thread::sleep(AFTER_ORPHAN);
        }
        match said {
            Err(said) => Some(format!("did not run: {said}")),
            Ok(said) if said.contains(SECRET) => Some(format!("read a secret: {said}")),
            Ok(said) if said.contains("escaped") => Some(format!("succeeded: {said}")),
            Ok(said) if self.snapshot() != before => Some(format!("changed something outside: {said}")),
            Ok(said) if self.victim.try_wait().expect("a state").is_some() => {
                Some(format!("ended a process: {said}"))
            }
            Ok(_) => self
                .made()
                .iter()
                .find(|path| path.exists())
                .map(|_| "wrote to a shared folder".to_owned()),
        }
    }

    /// What attempts try to create in folders of all users.
    fn made(&self) -> [PathBuf; 3] {
        let name = &self.values["{abstract}"];
        [
            format!("/dev/shm/{name}-made"),
            format!("/tmp/{name}"),
            format!("/var/tmp/{name}"),
        ]
        .map(PathBuf::from)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _gone = self.victim.kill();
        let _reaped = self.victim.wait();
        let shared = PathBuf::from("/dev/shm").join(&self.values["{abstract}"]);
        for path in self.made().into_iter().chain([shared]) {
            let _removed = fs::remove_file(path);
        }
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut file = fs::File::create(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        found.extend(crate::fixture::entries(&path));
        at += 1;
    }
    found.sort();
    found
}

fn give_away(root: &Path) {
    for path in tree(root) {
        chown(path, Some(ORDINARY), Some(ORDINARY)).expect("given");
    }
}

fn command_of(as_ordinary: bool, program: &Path) -> Command {
    if !as_ordinary {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = ORDINARY.to_string();
    command
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"])
        .arg(program);
    command
}

/// A process outside with a secret in its environment and an open file.
fn start_victim(root: &Path, as_ordinary: bool) -> Child {
    let mut command = command_of(as_ordinary, Path::new("/bin/sh"));
    command
        .args(["-c", "exec 3< notes; exec sleep 1000"])
        .current_dir(root.join("user"));
    command.env("TOKEN", SECRET).stdin(Stdio::null());
    let victim = command.spawn().expect("a process");
    // Before its last program starts, others may not read it.
    let program = format!("/proc/{}/cmdline", victim.id());
    eventually("the start of the process", || {
        let line = fs::read_to_string(&program).ok()?;
        line.starts_with("sleep").then_some(())
    });
    victim
}

/// Runs every attempt at one level, each in the world that the previous one left.
fn all_fail(level: &str, as_ordinary: bool) {
    let mut world = World::new(as_ordinary);
    let has_mounts = world.run(level, "true").contains("\"sandbox\":\"enforced");
    let all = attempts::all().into_iter();
    let meant: Vec<Attempt> = all
        .filter(|one| one.needs == Needs::Nothing || has_mounts)
        .collect();
    assert!(meant.len() >= 60, "only {} attempts", meant.len());
    let escapes: Vec<String> = meant.iter().filter_map(|one| world.escape(one, level)).collect();
    assert_eq!(escapes, Vec::<String>::new());
}

#[test]
fn no_escape_attempt_of_an_ordinary_user_succeeds() {
    all_fail("pidns", rustix::process::geteuid().is_root());
}

#[test]
fn no_escape_attempt_succeeds_without_namespaces() {
    all_fail("subreaper", rustix::process::geteuid().is_root());
}

#[test]
fn no_escape_attempt_of_the_superuser_succeeds() {
    if rustix::process::geteuid().is_root() {
        all_fail("pidns", false);
    }
}

#[test]
fn no_escape_attempt_of_the_superuser_succeeds_without_namespaces() {
    if rustix::process::geteuid().is_root() {
        all_fail("subreaper", false);
    }
}

#[test]
fn every_attempt_has_its_own_name() {
    let all = attempts::all();
    let names: std::collections::BTreeSet<&str> = all.iter().map(|attempt| attempt.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(names.len() >= 60, "{}", names.len());
}
