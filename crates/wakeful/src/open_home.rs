//! An open home: the folder, its database, and the engine on them.

mod tooling;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wakeful_models::Models;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_runtime::proof::sign;
use wakeful_runtime::saga::{SagaRecovery, recover};
use wakeful_runtime::{Engine, EngineDefaults, Halt, Observer};
use wakeful_store::rows::Runner;
use wakeful_store::{PostgresOptions, SchemaUpgrade, SqliteOptions, Store, StoreError};
use wakeful_tools::Tools;

use self::tooling::ToolOrigin;
pub(crate) use self::tooling::{environment, tools_for_facts};
use crate::config::{self, LiveSettings, Overrides, Settings};
use crate::device;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::guidance::GuidanceFiles;
use crate::home::{Home, HomeLock};
use crate::journal::{Access, HomeJournal, JournalLocation};
use crate::policy::{ConfiguredPolicy, policy_engine};
use crate::secret::SecretStore;
use crate::show::Out;
use crate::system::{RealClock, RealEntropy, fresh_id, is_dead_here, this_runner};
use crate::workspace::{WorkspacePath, explain, snapshots};

/// The argument with which the program enters the sandbox.
pub(crate) const SANDBOX_VERB: &str = "sandbox";

/// Connections to PostgreSQL: one command drives one run at a time and polls for requests beside it.
const CONNECTIONS: usize = 2;

/// How long a command tries to store stop requests that are kept in the home.
const STOPS_WAIT: Duration = Duration::from_secs(2);

/// Connections of a daemon, which drives many agents at once.
const DAEMON_CONNECTIONS: usize = 8;

/// A home and its database, open for writing.
pub(crate) struct OpenHome {
    pub(crate) home: Home,
    pub(crate) store: Store,
    pub(crate) runner: Runner,
    pub(crate) journal: Arc<HomeJournal>,
    // Until settings are given, no model may be called.
    settings: LiveSettings,
    secrets: SecretStore,
    kind: HomeDatabase,
    lock: Option<HomeLock>,
}

/// The database of the home, which determines how the right to drive runs is obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HomeDatabase {
    /// The home's own database: the home's lock is the lease on every agent.
    Sqlite,
    /// A server, with one lease per agent.
    Postgres,
}

/// Whether this process may drive runs now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LockOutcome {
    Acquired,
    /// Another process with this pid uses the home.
    HeldByOther {
        pid: String,
    },
}

/// Whether commands may run where the kernel cannot confine them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxRequirement {
    Required,
    Optional,
}

/// The options of an engine besides the home.
pub(crate) struct EngineOptions<'a> {
    pub(crate) models: Models,
    pub(crate) workspace: &'a WorkspacePath,
    pub(crate) sandboxing: SandboxRequirement,
    pub(crate) halt: Halt,
    pub(crate) observer: Arc<dyn Observer>,
}

pub(crate) type RealEngine = Engine<Models, Tools>;

/// Opens the database read-only, reads, and closes it. Takes no lock and creates nothing.
pub(crate) async fn with_read_only<T>(
    shared: &GlobalArgs,
    look: impl AsyncFnOnce(&Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let store = match shared.database() {
        Some(url) => {
            let store = Store::open_postgres_read_only(&postgres(url, CONNECTIONS)).await;
            let store = store.map_err(unreadable)?;
            match Home::open(&shared.home()?) {
                Ok(home) => store.with_slot(home.brake_slot()),
                Err(_) => store,
            }
        }
        None => {
            let home = Home::open(&shared.home()?)?;
            let store = Store::open_sqlite_read_only(&SqliteOptions::new(home.database(), home.blobs()))?;
            store.with_slot(home.brake_slot())
        }
    };
    let seen = look(&store).await;
    // Nothing was written, so an error on close loses nothing.
    let _ = store.close().await;
    seen
}

impl OpenHome {
    /// Opens a home for writing. Creates it if it does not exist, and takes its lock.
    pub(crate) async fn open_for_writing(shared: &GlobalArgs) -> Result<Self, Failure> {
        let home = Home::open_or_create(&shared.home()?)?;
        // A separate database has its own leases; the lock only protects the home's own database.
        let place = match shared.database() {
            None => {
                let lock = home.lock()?;
                Self::open_sqlite(home, Some(lock))?
            }
            Some(url) => Self::open_postgres(home, url, CONNECTIONS).await?,
        };
        place.store_pending_stops().await;
        Ok(place)
    }

    /// Stores stop requests that an earlier process had to keep in the home. They are in effect either way.
    async fn store_pending_stops(&self) {
        if !self.store.stops().pending().is_empty() {
            let (clock, entropy) = (Arc::new(RealClock::new()), Arc::new(RealEntropy));
            let api = RuntimeApi::without_service(ApiContext::new(self.store.clone(), clock, entropy));
            let _ = tokio::time::timeout(STOPS_WAIT, api.brakes.store_pending()).await;
        }
    }

    /// Opens a home without its lock, to leave a request for the process that holds it.
    pub(crate) async fn open_unlocked(shared: &GlobalArgs) -> Result<Self, Failure> {
        match shared.database() {
            None => {
                let home = Home::open(&shared.home()?)?;
                // A home of an older version does not have the file yet.
                home.make_slot();
                Self::open_sqlite(home, None)
            }
            Some(url) => {
                let home = Home::open_or_create(&shared.home()?)?;
                Self::open_postgres(home, url, CONNECTIONS).await
            }
        }
    }

    /// Opens the home for the daemon, which already holds its lock even with a separate database: one home,
    /// one daemon. The database is opened in the background, so that the socket can answer meanwhile.
    pub(crate) async fn open_as_daemon(
        shared: &GlobalArgs,
        home: Home,
        lock: HomeLock,
    ) -> Result<Self, Failure> {
        match shared.database() {
            Some(url) => {
                let place = Self::open_postgres(home, url, DAEMON_CONNECTIONS).await?;
                Ok(Self {
                    lock: Some(lock),
                    ..place
                })
            }
            None => {
                let opened = tokio::task::spawn_blocking(move || Self::open_sqlite(home, Some(lock)));
                opened.await.unwrap_or_else(|panicked| {
                    Err(Failure::new("storage_failed", panicked.to_string(), "try again"))
                })
            }
        }
    }

    /// Sets the settings, without which no model may be called. A later change of the file has no effect.
    pub(crate) fn with_settings(self, settings: &Settings) -> Self {
        self.following(LiveSettings::fixed(settings))
    }

    /// Sets settings that follow the file.
    pub(crate) fn following(self, settings: LiveSettings) -> Self {
        Self {
            secrets: SecretStore::new(self.home.root().to_owned(), settings.clone()),
            settings,
            ..self
        }
    }

    /// The money and privacy defaults of the settings.
    pub(crate) fn governance(&self) -> EngineDefaults {
        self.settings.current().governance()
    }

    /// A handle for other tasks of this process. The lock stays with the original.
    pub(crate) fn shared(&self) -> Arc<Self> {
        Arc::new(Self {
            home: self.home.clone(),
            store: self.store.clone(),
            runner: self.runner.clone(),
            journal: Arc::clone(&self.journal),
            settings: self.settings.clone(),
            secrets: self.secrets.clone(),
            kind: self.kind,
            lock: None,
        })
    }

    /// Whether other processes may write to the same database.
    pub(crate) fn is_shared(&self) -> bool {
        self.kind == HomeDatabase::Postgres
    }

    /// A note about a database that was upgraded when it was opened.
    pub(crate) fn upgraded(&self) -> Option<String> {
        let upgraded = self.store.upgraded()?;
        Some(upgrade_note("the database", upgraded, &self.home.database()))
    }

    /// Upgrades a journal with an older schema, and returns a note about it. A failure is only a note,
    /// because a run may not need the journal.
    pub(crate) async fn upgrade_journal(&self) -> Option<String> {
        match self.journal.bring_up_to_date().await {
            Ok(upgraded) => {
                upgraded.map(|upgraded| upgrade_note("the journal", &upgraded, &self.home.journal()))
            }
            Err(error) => Some(format!("the journal was not upgraded: {}", Failure::from(error))),
        }
    }

    fn open_sqlite(home: Home, lock: Option<HomeLock>) -> Result<Self, Failure> {
        let store = Store::open_sqlite(&SqliteOptions::new(home.database(), home.blobs()), &fresh_id())?;
        let store = store.with_slot(home.brake_slot());
        let settings = LiveSettings::fixed(&Settings::shut());
        Ok(Self {
            journal: HomeJournal::new(store.clone(), JournalLocation::of(&home, None), Access::Write),
            secrets: SecretStore::new(home.root().to_owned(), settings.clone()),
            settings,
            home,
            store,
            runner: this_runner(),
            kind: HomeDatabase::Sqlite,
            lock,
        })
    }

    async fn open_postgres(home: Home, url: &str, connections: usize) -> Result<Self, Failure> {
        let store = Store::open_postgres(&postgres(url, connections), &fresh_id()).await?;
        let store = store.with_slot(home.brake_slot());
        let settings = LiveSettings::fixed(&Settings::shut());
        let place = Self {
            journal: HomeJournal::new(
                store.clone(),
                JournalLocation::of(&home, Some(url)),
                Access::Write,
            ),
            secrets: SecretStore::new(home.root().to_owned(), settings.clone()),
            settings,
            home,
            store,
            runner: this_runner(),
            kind: HomeDatabase::Postgres,
            lock: None,
        };
        if let Err(error) = place.register().await {
            let _ = place.store.close().await;
            return Err(error.into());
        }
        Ok(place)
    }

    /// Runs the work and then closes the database cleanly, even if the work failed.
    pub(crate) async fn run_and_close<T>(
        self,
        out: &Out,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut place = self;
        if let Some(words) = place.upgraded() {
            out.note(&words);
        }
        let done = work(&mut place).await;
        place.sign(out).await;
        place.journal.close().await;
        // The result is already committed and reported. A failed close only makes others wait for a lease.
        if let (Err(error), Ok(_)) = (place.store.close().await, &done) {
            out.note(&format!(
                "the database was not closed cleanly: {}",
                Failure::from(error)
            ));
        }
        done
    }

    /// Signs the head of every log that has grown, once at the end. The result does not depend on it.
    async fn sign(&self, out: &Out) {
        let signed = match device::read_or_make(&self.home.device_key()) {
            Ok(key) => sign(&self.store, &key, RealClock::new().now())
                .await
                .map_err(Failure::from),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = signed {
            out.note(&format!("the log was not signed: {failure}"));
        }
    }

    /// Takes the right to drive runs if it is free. On a server each agent is claimed separately.
    pub(crate) fn acquire_drive_lock(&mut self) -> Result<LockOutcome, Failure> {
        if self.kind == HomeDatabase::Postgres || self.lock.is_some() {
            return Ok(LockOutcome::Acquired);
        }
        Ok(match self.home.try_lock()? {
            Ok(lock) => {
                self.lock = Some(lock);
                LockOutcome::Acquired
            }
            Err(pid) => LockOutcome::HeldByOther { pid },
        })
    }

    pub(crate) fn engine(&self, tooling: EngineOptions<'_>) -> Result<RealEngine, Failure> {
        let settings = self.settings.current();
        let tools = ToolOrigin {
            home: &self.home,
            settings: &settings,
            secrets: Arc::new(self.secrets.clone()),
            sandboxing: tooling.sandboxing,
        };
        let tools = tools.tools_of(tooling.workspace.text.as_ref());
        let tools = tools.map_err(|error| explain(&error))?;
        let engine = policy_engine(self.home.root(), tooling.sandboxing)?;
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(tooling.models),
            tools: Arc::new(tools.with_journal(Arc::clone(&self.journal) as _)),
            policy: Arc::new(ConfiguredPolicy::new(self.settings.clone(), engine)),
            guidance: Arc::new(GuidanceFiles::new(self.home.root())),
            snapshots: Arc::new(snapshots(self.home.root())),
            clock: Arc::new(RealClock::new()),
            entropy: Arc::new(RealEntropy),
            halt: tooling.halt,
            observer: tooling.observer,
            runner: self.runner.runner_id.clone(),
            defaults: self.governance(),
        })
    }

    /// Undoes journal writes of runs that cannot continue. Only for processes that may drive runs here.
    pub(crate) async fn recover_sagas(&self) -> Result<SagaRecovery, StoreError> {
        recover(&self.store, self.journal.as_ref(), &RealClock::new()).await
    }

    /// Recovers sagas for a command and prints the result.
    pub(crate) async fn recover_sagas_and_tell(&self, out: &Out) -> Result<(), StoreError> {
        let SagaRecovery { undone, stuck, .. } = self.recover_sagas().await?;
        if undone > 0 {
            out.note(&format!(
                "{undone} writes to the journal were undone: their runs cannot continue"
            ));
        }
        if stuck > 0 {
            out.note(&format!(
                "{stuck} writes to the journal are stuck: `wakeful saga list`"
            ));
        }
        Ok(())
    }

    async fn register(&self) -> Result<(), StoreError> {
        self.remove_dead_runners().await?;
        let runner = self.runner.clone();
        self.store.write(move |tx| tx.register_runner(&runner)).await
    }

    /// Removes dead runners of this machine, so that no process waits for their leases. The home's own
    /// database has no registered runners.
    pub(crate) async fn remove_dead_runners(&self) -> Result<(), StoreError> {
        let runners = self.store.read(|view| view.runners()).await?;
        let dead: Vec<_> = runners
            .into_iter()
            .filter(is_dead_here)
            .map(|runner| runner.runner_id)
            .collect();
        if dead.is_empty() {
            return Ok(());
        }
        self.store
            .write(move |tx| dead.iter().try_for_each(|dead| tx.remove_dead_runner(dead)))
            .await
    }
}

/// The note about an upgraded database file.
fn upgrade_note(what: &str, upgraded: &SchemaUpgrade, path: &Path) -> String {
    let SchemaUpgrade { from, to, copy } = upgraded;
    format!(
        "{what} was upgraded from schema {from} to {to}; the old version is kept in {}: to go back, stop all Wakeful processes, \
            replace {} with that file and use the older program",
        copy.display(),
        path.display()
    )
}

/// Why a server's database cannot be read. An empty one has nothing to do with a missing home.
fn unreadable(error: StoreError) -> Failure {
    if matches!(error, StoreError::Absent) {
        let hint = "`wakeful run \"…\"` creates what is missing, or choose another database with --database";
        return Failure::new(
            "database_empty",
            "Wakeful has written nothing to this database yet",
            hint,
        );
    }
    error.into()
}

fn postgres(url: &str, connections: usize) -> PostgresOptions {
    PostgresOptions {
        url: url.to_owned(),
        connections,
    }
}

/// The names of all tools.
pub(crate) fn tool_names() -> BTreeSet<String> {
    wakeful_tools::TOOL_NAMES
        .iter()
        .map(|name| (*name).to_owned())
        .collect()
}

/// The money and privacy defaults of a home's settings, for commands that call no model. Settings that
/// cannot be read do not stop such commands, and permit nothing.
pub(crate) fn governance(home: &Path) -> EngineDefaults {
    let loaded = config::load(home, &Overrides::default());
    let config = loaded.map_or_else(|_| Settings::shut(), |loaded| loaded.config);
    config.governance()
}

#[cfg(test)]
mod tests {
    use wakeful_core::id::AgentId;
    use wakeful_core::inference::ModelPurpose;

    use super::*;

    // Conformance: A-148
    #[test]
    fn an_upgrade_names_the_copy_of_the_old_database() {
        let upgraded = SchemaUpgrade {
            from: 1,
            to: 2,
            copy: "/home/a/agent.sqlite.schema-1.bak".into(),
        };
        let words = upgrade_note("the database", &upgraded, Path::new("/home/a/agent.sqlite"));
        assert_eq!(
            words,
            "the database was upgraded from schema 1 to 2; the old version is kept in /home/a/agent.sqlite.schema-1.bak: to go \
                back, stop all Wakeful processes, replace /home/a/agent.sqlite with that file and use the older program"
        );
    }

    /// The settings file may break or disappear after it was read.
    #[test]
    fn a_home_without_settings_permits_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::open_or_create(&folder.path().join("home")).expect("a home");
        let main = AgentId::parse("main").expect("an id");
        for text in ["[inference]\npurposes = [\"conversation\"]\n", "broken ="] {
            std::fs::write(home.root().join("config.toml"), text).expect("settings");
            let place = OpenHome::open_sqlite(home.clone(), None).expect("a place");
            let permissions = place.settings.current().permissions(&main);
            assert!(permissions.purposes.is_empty(), "{permissions:?}");
            assert!(permissions.shown.is_empty(), "{permissions:?}");
            let rule = permissions.models.get(&ModelPurpose::Conversation);
            assert_eq!(rule, Some(&Vec::new()), "nobody");
            let EngineDefaults {
                daily_cap, privacy, ..
            } = place.governance();
            assert_eq!(
                (daily_cap.0, privacy),
                (0, wakeful_runtime::PrivacyMode::Explicit)
            );
        }
    }
}
