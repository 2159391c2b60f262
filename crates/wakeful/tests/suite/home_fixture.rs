//! A home, a workspace and the world file that records effects, all in one temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::postgres::Database;

/// A new home for running the program.
pub(super) struct TestHome {
    dir: TempDir,
    database: Option<Rc<Database>>,
}

/// The exit status and output of a call of the program.
#[derive(Debug)]
pub(super) struct CommandOutput {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl CommandOutput {
    /// The one JSON object on standard output.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(self.stdout.trim()).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// The stable code of the printed failure.
    pub(super) fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error code: {self:?}"))
            .to_owned()
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl TestHome {
    /// A test home with its own SQLite database.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("work")).expect("a workspace");
        Self { dir, database: None }
    }

    /// A test home with its own PostgreSQL database.
    pub(super) fn on_postgres() -> Self {
        Self::on(Rc::new(Database::create()))
    }

    /// A test home on a database that it shares with others.
    pub(super) fn on(database: Rc<Database>) -> Self {
        Self {
            database: Some(database),
            ..Self::new()
        }
    }

    pub(super) fn database(&self) -> &Database {
        self.database.as_ref().expect("a world on PostgreSQL")
    }

    /// The PostgreSQL database, to be shared with another test home.
    pub(super) fn shared_database(&self) -> Rc<Database> {
        Rc::clone(self.database.as_ref().expect("a world on PostgreSQL"))
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Writes a script and returns the model reference for it.
    pub(super) fn script(&self, yaml: &str) -> String {
        self.script_named("script.yaml", yaml)
    }

    /// Writes one of several scripts.
    pub(super) fn script_named(&self, name: &str, yaml: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, yaml).expect("a script");
        format!("scripted:{}", path.display())
    }

    /// Starts the program without waiting for it.
    pub(super) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(program());
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// The open runs, newest first; none while the database does not exist.
    pub(super) fn open_runs(&self) -> Vec<String> {
        let said = self.wakeful(&["runs", "list", "--open", "--json"]);
        let list: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        let runs = list["runs"].as_array().cloned().unwrap_or_default();
        let keys = runs
            .iter()
            .map(|run| run["run_key"].as_str().expect("a key").to_owned());
        keys.collect()
    }

    /// Starts a run whose model does not answer, kills the program and returns the key of the open run.
    pub(super) fn orphan(&self, script: &str, args: &[&str]) -> String {
        let model = self.script_named(script, SILENT);
        let before = self.open_runs();
        let mut child = self.start(&[&["run", "do it", "--model", &model], args].concat());
        let mut key = None;
        wait_until(|| {
            key = self.open_runs().into_iter().find(|key| !before.contains(key));
            key.is_some()
        });
        child.kill().expect("kill -9");
        child.wait().expect("gone");
        key.expect("an open run")
    }

    /// The lines of the world file: the effects that really happened.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.workspace().join("world.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The program with this home, in the workspace, with a clean environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .env_clear();
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.dir.path());
        command.env("WAKEFUL_HOME", self.home());
        if let Some(database) = &self.database {
            command.env("WAKEFUL_DATABASE", database.url());
        }
        command
    }

    pub(super) fn wakeful(&self, args: &[&str]) -> CommandOutput {
        self.command(program())
            .args(args)
            .output()
            .expect("the program starts")
            .into()
    }

    /// Calls `wakeful run --json` with a script.
    pub(super) fn run(&self, yaml: &str, args: &[&str]) -> CommandOutput {
        let model = self.script(yaml);
        let mut all = vec!["run", "do it", "--json", "--model", &model];
        all.extend(args);
        self.wakeful(&all)
    }
}

/// A model that answers only after a minute.
pub(super) const SILENT: &str = "rounds:\n  - text: late\n    delay_ms: 60000\n";

/// A script whose one command signals its start and then runs for this many seconds.
pub(super) fn lasting(seconds: &str) -> String {
    format!(
        "rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: \"touch begun; sleep {seconds}; echo one >> world.txt\"}}}}]\n  - text: done\n"
    )
}

/// Waits for a condition that another process fulfils; fails after a timeout.
pub(super) fn wait_until(mut there: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if there() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came");
}

/// The binary under test.
pub(super) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_wakeful"))
}

/// A script whose rounds each run one command, and which ends with a text.
pub(super) fn commands(commands: &[&str]) -> String {
    let mut yaml = String::from("rounds:\n");
    for command in commands {
        let cmd = serde_json::to_string(command).expect("a JSON string is a YAML string");
        yaml.push_str(&format!(
            "  - tools: [{{name: ExecCommand, input: {{cmd: {cmd}}}}}]\n"
        ));
    }
    yaml.push_str("  - text: all done\n");
    yaml
}

/// The statuses of a run's tool calls, in order.
pub(super) fn statuses(run: &Value) -> Vec<String> {
    let calls = run["tool_calls"].as_array().expect("tool_calls");
    calls
        .iter()
        .map(|call| call["status"].as_str().expect("status").to_owned())
        .collect()
}

/// Whether a process with this word in its command line is alive.
pub(super) fn alive(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("/proc");
    processes.filter_map(Result::ok).any(|process| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let state = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let zombie = state
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z'));
        !zombie && String::from_utf8_lossy(&command).contains(word)
    })
}
