//! Where a verb works: a home, its database, and the engine on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use wakeful_core::policy::Rules;
use wakeful_models::{ModelRef, Models, SCRIPT_BYTES_MAX, Scripted};
use wakeful_ports::records::{Agent, Runner};
use wakeful_ports::store::Store as _;
use wakeful_runtime::Engine;
use wakeful_store::{PostgresOptions, SqliteOptions, Store};
use wakeful_tools::{Pretend, Tools, ToolsOptions, Unsandboxed, Workspace};

use crate::cli::Shared;
use crate::failure::Failure;
use crate::home::{Home, HomeLock};
use crate::show::{Out, Progress};
use crate::world::{RealClock, RealEntropy, fresh_id, is_dead_here, this_runner};

/// The argument by which the program enters the sandbox.
pub(crate) const SANDBOX_VERB: &str = "sandbox";

/// Connections to PostgreSQL: one verb drives one run at a time, and looks for requests beside it.
const CONNECTIONS: usize = 2;

/// A home and its database, open.
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) store: Store,
    runner: Runner,
    database: Option<String>,
    _lock: Option<HomeLock>,
}

/// Whether commands may run where the kernel cannot confine them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sandboxing {
    Required,
    Optional,
}

/// The engine of the shipped program.
pub(crate) type RealEngine = Engine<Store, Models, Tools>;

impl Place {
    /// For verbs that write: makes the home if need be and takes its lock.
    pub(crate) async fn open_for_writing(shared: &Shared) -> Result<Self, Failure> {
        let home = Home::open_or_create(&shared.home()?)?;
        // A database of its own has its own leases; the lock is only about the home's own database.
        let lock = if shared.database().is_none() {
            Some(home.lock()?)
        } else {
            None
        };
        Self::open(home, lock, shared.database()).await
    }

    /// For verbs that only read: no lock, nothing is made.
    pub(crate) async fn open_for_reading(shared: &Shared) -> Result<Self, Failure> {
        if shared.database().is_some() {
            return Self::open_for_writing(shared).await;
        }
        let home = Home::open(&shared.home()?)?;
        let store = Store::open_sqlite_read_only(&SqliteOptions::new(home.database(), home.blobs()))?;
        Ok(Self {
            home,
            store,
            runner: this_runner(),
            database: None,
            _lock: None,
        })
    }

    /// For leaving a request beside whoever holds the lock.
    pub(crate) async fn open_beside(shared: &Shared) -> Result<Self, Failure> {
        if shared.database().is_some() {
            return Self::open_for_writing(shared).await;
        }
        Self::open(Home::open(&shared.home()?)?, None, None).await
    }

    /// The same place with the right to drive runs, if nobody else has it.
    pub(crate) async fn with_lock_if_free(&self) -> Result<Option<Self>, Failure> {
        if self.database.is_some() {
            return Ok(Some(
                Self::open(self.home.clone(), None, self.database.as_deref()).await?,
            ));
        }
        match self.home.try_lock()? {
            Ok(lock) => Ok(Some(Self::open(self.home.clone(), Some(lock), None).await?)),
            Err(_) => Ok(None),
        }
    }

    async fn open(home: Home, lock: Option<HomeLock>, database: Option<&str>) -> Result<Self, Failure> {
        let runner = this_runner();
        let store = match database {
            None => Store::open_sqlite(&SqliteOptions::new(home.database(), home.blobs()), &fresh_id())?,
            Some(url) => {
                let url = url.to_owned();
                let options = PostgresOptions { url, connections: CONNECTIONS };
                let store = Store::open_postgres(&options, &fresh_id()).await?;
                register(&store, &runner).await?;
                store
            }
        };
        Ok(Self {
            home,
            store,
            runner,
            database: database.map(str::to_owned),
            _lock: lock,
        })
    }

    /// An engine whose commands run in one workspace.
    pub(crate) fn engine(
        &self,
        models: Models,
        workspace: &WorkspacePath,
        sandboxing: Sandboxing,
        out: &Out,
    ) -> Result<RealEngine, Failure> {
        let tools = Tools::new(ToolsOptions {
            program: "/proc/self/exe".into(),
            program_args_prefix: vec![SANDBOX_VERB.to_owned()],
            home: self.home.root().to_owned(),
            workspace: workspace.text.clone().into(),
            scratch: self.home.scratch(),
            environment: environment(),
            unsandboxed: match sandboxing {
                Sandboxing::Required => Unsandboxed::Refuse,
                Sandboxing::Optional => Unsandboxed::Allow,
            },
            pretend: Pretend::default(),
        });
        let tools = tools.map_err(|error| Failure::new(error.code(), error.to_string(), error.hint()))?;
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(models),
            tools: Arc::new(tools),
            policy: Arc::new(Rules::new(tool_names())),
            clock: Arc::new(RealClock::new()),
            entropy: Arc::new(RealEntropy),
            observer: Arc::new(Progress::new(out)),
            runner: self.runner.runner_id.clone(),
        })
    }

    /// Ends this process's part in the database in good order.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        Ok(self.store.close().await?)
    }
}

/// Makes this process known, and buries those of this machine that died without a word, so that nobody waits
/// for a lease whose holder is certainly gone.
async fn register(store: &Store, runner: &Runner) -> Result<(), Failure> {
    let runners = store.read(|view| view.runners()).await?;
    let dead: Vec<_> = runners
        .into_iter()
        .filter(is_dead_here)
        .map(|runner| runner.runner_id)
        .collect();
    let runner = runner.clone();
    let registered = store.write(move |tx| {
        dead.iter().try_for_each(|dead| tx.bury_runner(dead))?;
        tx.register_runner(&runner)
    });
    Ok(registered.await?)
}

/// The names of the tools there are.
pub(crate) fn tool_names() -> BTreeSet<String> {
    wakeful_tools::TOOL_NAMES
        .iter()
        .map(|name| (*name).to_owned())
        .collect()
}

/// The environment, read in this one place. What is no UTF-8 is no use to a command's text environment.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// A workspace that was looked at.
pub(crate) struct WorkspacePath {
    /// Its resolved path.
    pub(crate) text: String,
}

/// The workspace as given, else the agent's, else the current folder; never one that overlaps the home.
pub(crate) fn workspace_path(
    given: Option<&Path>,
    agent: Option<&Agent>,
    home: &Home,
) -> Result<WorkspacePath, Failure> {
    let path = match (given, agent) {
        (Some(given), _) => given,
        (None, Some(agent)) => Path::new(&agent.workspace),
        (None, None) => Path::new("."),
    };
    let workspace = Workspace::new(home.root(), path);
    let workspace =
        workspace.map_err(|error| Failure::usage(error.code(), error.to_string(), error.hint()))?;
    // The constructor has checked that it is text.
    Ok(WorkspacePath {
        text: workspace.path().to_string_lossy().into_owned(),
    })
}

/// Loads the model that was asked for and gives it its lasting name; without one, the demo, which it says.
pub(crate) fn load_model(given: Option<&str>, out: &Out) -> Result<(String, Models), Failure> {
    let Some(given) = given else {
        out.note(
            "no model is configured: the built-in demo script answers (give one with --model scripted:FILE)",
        );
        return demo();
    };
    let bad = |error: &dyn std::error::Error| {
        Failure::usage("model_unknown", error.to_string(), "see `wakeful run --help`")
    };
    match ModelRef::parse(given).map_err(|error| bad(&error))? {
        ModelRef::Demo => demo(),
        ModelRef::Scripted { file } => {
            let unreadable = |error: &std::io::Error| {
                let attempt = format!("cannot read the script {}", file.display());
                Failure::io(
                    "script_unreadable",
                    &attempt,
                    error,
                    "give a readable YAML file as scripted:FILE",
                )
            };
            // Absolute, because the run may be resumed from another folder.
            let path = file.canonicalize().map_err(|error| unreadable(&error))?;
            let text = read_script(&path).map_err(|error| unreadable(&error))?;
            let name = path.display().to_string();
            let script = Scripted::load(&text, &name);
            let script = script.map_err(|error| {
                Failure::usage("script_invalid", error.to_string(), "see docs/scripts.md")
            })?;
            Ok((format!("scripted:{name}"), script.into()))
        }
    }
}

fn demo() -> Result<(String, Models), Failure> {
    let script = Scripted::demo().map_err(|error| Failure::new("script_invalid", error.to_string(), ""))?;
    Ok(("demo".to_owned(), script.into()))
}

/// Reads a script without ever holding more than the largest one.
fn read_script(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let limit = u64::try_from(SCRIPT_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut text = String::new();
    std::fs::File::open(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
