//! A home, a workspace and the tools between them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::time::Millis;
use wakeful_ports::tool::{Act, Done, Stop, ToolHost};
use wakeful_tools::{ClosedPlaces, CommandLimits, Pretend, Tools, ToolsOptions, Unsandboxed};

/// What the machine has, the same without namespaces, and an old kernel without them.
pub(crate) const LEVELS: [Pretend; 3] = [
    FULL,
    ALONE,
    Pretend {
        old_landlock: true,
        no_cgroups: true,
        ..ALONE
    },
];

/// Both ways in which processes are kept together.
pub(crate) const WAYS: [Pretend; 2] = [FULL, ALONE];

const ALONE: Pretend = Pretend {
    no_namespaces: true,
    ..FULL
};

const FULL: Pretend = Pretend {
    no_namespaces: false,
    no_user_mapping: false,
    no_landlock: false,
    old_landlock: false,
    no_seccomp: false,
    no_cgroups: false,
};

/// Far beyond what anything here takes, so that a failure is a hang and not a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) struct Bed {
    _root: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) tools: Tools,
}

/// What a command left, read as the model reads it.
pub(crate) struct Seen {
    pub(crate) done: Done,
    pub(crate) json: Value,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn at(pretend: Pretend) -> Self {
        Self::with(|options| options.pretend = pretend)
    }

    pub(crate) fn with(change: impl FnOnce(&mut ToolsOptions)) -> Self {
        let temp = TempDir::new().expect("a folder");
        let root = temp.path().canonicalize().expect("a path");
        let [home, workspace] = ["home", "workspace"].map(|name| root.join(name));
        fs::create_dir(&home).expect("home");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("private");
        fs::create_dir(&workspace).expect("workspace");
        fs::write(home.join("secret"), "the secret").expect("secret");
        let mut options = options(&home, &workspace);
        change(&mut options);
        Self {
            _root: temp,
            root,
            home,
            workspace,
            tools: Tools::new(options).expect("tools"),
        }
    }

    pub(crate) fn run(&self, cmd: &str) -> Seen {
        self.call(&json!({"cmd": cmd}))
    }

    pub(crate) fn call(&self, input: &Value) -> Seen {
        let done = block_on(self.tools.perform(act(input), Never));
        Seen::of(done)
    }

    /// What is left in the scratch folder.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        entries(&self.home.join("scratch"))
    }
}

/// Options for tools between a home and a workspace.
pub(crate) fn options(home: &Path, workspace: &Path) -> ToolsOptions {
    ToolsOptions {
        program: bed_program(),
        program_args_prefix: vec!["sandbox".to_owned()],
        home: home.to_owned(),
        workspace: workspace.to_owned(),
        scratch: home.join("scratch"),
        environment: std::env::vars()
            .chain([("SECRET_KEY".to_owned(), "hunter2".to_owned())])
            .collect(),
        closed: ClosedPlaces::default(),
        limits: CommandLimits::default(),
        unsandboxed: Unsandboxed::Refuse,
        pretend: Pretend::default(),
    }
}

impl Seen {
    pub(crate) fn of(done: Done) -> Self {
        let json = serde_json::from_str(&done.content).expect("content is JSON");
        Self { done, json }
    }

    pub(crate) fn stdout(&self) -> &str {
        self.json["stdout_preview"]
            .as_str()
            .unwrap_or_else(|| panic!("no output in {}", self.json))
    }

    pub(crate) fn stderr(&self) -> &str {
        self.json["stderr_preview"].as_str().expect("stderr")
    }

    pub(crate) fn status(&self) -> i64 {
        self.json["exit_status"]
            .as_i64()
            .unwrap_or_else(|| panic!("no status in {}", self.json))
    }

    /// The command ran and succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(
            (self.done.code.as_deref(), self.status()),
            (None, 0),
            "{}",
            self.json
        );
        self
    }

    /// The command ran and did not succeed.
    #[track_caller]
    pub(crate) fn not_ok(self) -> Self {
        assert!(self.done.code.is_none() && self.status() != 0, "{}", self.json);
        self
    }
}

pub(crate) fn act(input: &Value) -> Act {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("operation {}", COUNT.fetch_add(1, Ordering::Relaxed));
    let operation_id = OperationId(Digest::of(name.as_bytes()));
    Act {
        operation_id,
        tool: "ExecCommand".to_owned(),
        input: input.clone(),
        agent_id: AgentId::parse("main").expect("an id"),
        at: Millis(0),
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("it hangs") })
}

/// The program of this crate for tests, which Cargo puts beside the folder of the tests.
pub(crate) fn bed_program() -> PathBuf {
    let tests = std::env::current_exe().expect("a program");
    tests
        .ancestors()
        .nth(2)
        .expect("a target folder")
        .join("sandbox_bed")
}

/// The command that tries something which may be refused.
pub(crate) fn attempt(what: &str) -> String {
    format!("{} try {what}", bed_program().display())
}

pub(crate) struct Never;

impl Stop for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// Stops when told.
pub(crate) struct Told(pub(crate) watch::Receiver<bool>);

impl Stop for Told {
    async fn stopped(&self) {
        let mut told = self.0.clone();
        let _closed = told.wait_for(|stop| *stop).await;
    }
}

/// Waits for something that another process does.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes whose command line contains a word.
pub(crate) fn processes_with(word: &str) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).expect("pid");
    let pids = entries(Path::new("/proc"))
        .into_iter()
        .filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    let has_word = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    pids.filter(|pid| *pid != own).filter(has_word).collect()
}

/// A word that stands in no other process's command line.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{name}-{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

/// The lines `name=value` of an output.
pub(crate) fn variables(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('=')).collect()
}
