//! The API without a daemon: the server's router runs in this process on the databases of the home and
//! calls the same services as in a daemon.

use std::path::Path;
use std::sync::Arc;

use wakeful_api::client::Client;
use wakeful_core::id::AgentId;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::watch::WatchMode;
use wakeful_runtime::Halt;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_runtime::service::StuckAgents;
use wakeful_runtime::watch::SourceApi;
use wakeful_server::{DaemonFacts, InProcess, ServedHome};
use wakeful_store::Store;
use wakeful_tools::watch::LocalScanner;

use super::Backend;
use crate::config::{self, LiveSettings, Overrides, Settings};
use crate::daemon::backup::BackupFolder;
use crate::daemon::host::DaemonHost;
use crate::device;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::journal::{Access, HomeJournal, JournalLocation};
use crate::model::ModelRegistry;
use crate::open_home::OpenHome;
use crate::secret::SecretStore;
use crate::system::{RealClock, RealEntropy};
use crate::workspace::snapshots;

impl Backend {
    /// Serves the API on a home that is open for writing.
    pub(crate) fn of_open_home(place: &OpenHome) -> Result<Self, Failure> {
        // Only sources use the device name, and `source add` checks the key first.
        let device = device_of(&place.home).unwrap_or_default();
        let config = settings(place.home.root());
        let parts = Parts {
            device,
            ..Parts::of(place)
        };
        parts.serve(api(&place.store, place.home.root(), &config), &config)
    }

    /// Serves the API of a loop that runs in this process, with that loop's settings.
    pub(crate) fn of_api(place: &OpenHome, api: RuntimeApi, config: &Settings) -> Result<Self, Failure> {
        Parts::of(place).serve(api, config)
    }

    /// Serves the API on databases that are open for reading. If the database is a server, the home need
    /// not exist.
    pub(crate) fn of_store(store: &Store, shared: &GlobalArgs) -> Result<Self, Failure> {
        let home = shared.home()?;
        let source = match shared.database() {
            Some(url) => JournalLocation::Server { url: url.to_owned() },
            None => JournalLocation::of(&Home::open(&home)?, None),
        };
        // The journal is opened read-only, so dropping it is enough to close it.
        let journal = HomeJournal::new(store.clone(), source, Access::Read);
        let config = settings(&home);
        let parts = Parts {
            journal: &journal,
            home: &home,
            device: String::new(),
            is_shared: shared.database().is_some(),
        };
        parts.serve(api(store, &home, &config), &config)
    }
}

/// Loads the settings of a home. An unreadable file yields settings that permit nothing, so commands that
/// do not need settings still work.
fn settings(home: &Path) -> Settings {
    let loaded = config::load(home, &Overrides::default());
    loaded.map_or_else(|_| Settings::shut(), |loaded| loaded.config)
}

/// The API of a process that does not run the loop.
fn api(store: &Store, home: &Path, config: &Settings) -> RuntimeApi {
    let (clock, entropy) = (Arc::new(RealClock::new()), Arc::new(RealEntropy));
    RuntimeApi::without_service(ApiContext {
        governance: config.governance(),
        snapshots: Arc::new(snapshots(home)),
        ..ApiContext::new(store.clone(), clock, entropy)
    })
}

/// What the routes need in addition to the runtime API.
struct Parts<'a> {
    journal: &'a Arc<HomeJournal>,
    home: &'a Path,
    device: String,
    /// Whether the data is on a database server.
    is_shared: bool,
}

impl<'a> Parts<'a> {
    fn of(place: &'a OpenHome) -> Self {
        Self {
            journal: &place.journal,
            home: place.home.root(),
            device: String::new(),
            is_shared: place.is_shared(),
        }
    }

    /// Builds the backend with all routes.
    fn serve(self, api: RuntimeApi, config: &Settings) -> Result<Backend, Failure> {
        let Self {
            journal,
            home,
            device,
            is_shared,
        } = self;
        let backups = BackupFolder::of(home, &config.backup);
        let runtime = Arc::new(api);
        let parts = InProcess {
            open: ServedHome {
                stuck: StuckAgents::default(),
                journal: Arc::new(runtime.journal(Arc::clone(journal) as _)),
                // This process has no other component that matches changes, so the index is not shared.
                subscriptions: Arc::new(runtime.subscriptions(Arc::clone(journal) as _, Arc::default())),
                runtime,
                sources: Arc::new(source_api(home, journal, device, WatchMode::Off)),
            },
            facts: facts(config, home)?,
            host: Arc::new(DaemonHost {
                home: home.to_owned(),
                workspaces: std::env::home_dir().map(|own| own.join("wakeful")),
                secrets: SecretStore::new(home.to_owned(), LiveSettings::fixed(config)),
                settings: LiveSettings::fixed(config),
                models: ModelRegistry::new(config),
                switch: Arc::new(Halt::new().0),
                backups: match is_shared {
                    true => backups.with_database_server(),
                    false => backups,
                },
                confinement: None,
            }),
            clock: Arc::new(RealClock::new()),
            entropy: Arc::new(RealEntropy),
        };
        Ok(Backend {
            client: Client::in_process(wakeful_server::in_process(parts)),
        })
    }
}

fn facts(config: &Settings, home: &Path) -> Result<DaemonFacts, Failure> {
    Ok(DaemonFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        home_dir: home.display().to_string(),
        database: String::new(),
        started_at: RealClock::new().now(),
        config_fingerprint: String::new(),
        default_agent: AgentId::parse(&config.agent.default)?,
        last_failure: None,
    })
}

/// The device name of a home, by which other users of a shared database identify it.
pub(crate) fn device_of(home: &Home) -> Result<String, Failure> {
    let key = device::read_or_make(&home.device_key())?;
    Ok(key.public().fingerprint().to_string())
}

/// Builds the API for the watched folders and repositories of a home.
pub(crate) fn source_api(
    home: &Path,
    journal: &Arc<HomeJournal>,
    device: String,
    hearing: WatchMode,
) -> SourceApi {
    SourceApi {
        sources: Arc::clone(journal) as _,
        scanner: Arc::new(LocalScanner::new(home)),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        device,
        watch_mode: hearing,
        turn: tokio::sync::Mutex::default(),
    }
}
