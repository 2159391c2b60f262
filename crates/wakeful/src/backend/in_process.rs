//! The API without a daemon: the server's router on the databases of a home, in this process. The services that it calls
//! are those of a daemon.

use std::path::Path;
use std::sync::Arc;

use wakeful_api::Model;
use wakeful_api::client::Client;
use wakeful_core::id::AgentId;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::outside::Hearing;
use wakeful_runtime::Halt;
use wakeful_runtime::api::{ApiContext, JournalApi, RuntimeApi, SubscriptionApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::Book;
use wakeful_runtime::outside::Scout;
use wakeful_runtime::service::Stuck;
use wakeful_server::{Facts, InProcess, Open};
use wakeful_store::Store;
use wakeful_tools::outside::Outlook;

use super::Backend;
use crate::config::{self, Overrides, Settings};
use crate::daemon::host::DaemonHost;
use crate::device;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::journal::{Access, HomeJournal, Source};
use crate::model::{DEMO, ModelRegistry};
use crate::place::Place;
use crate::world::{RealClock, RealEntropy};

impl Backend {
    /// On the databases of a home that is open for writing.
    pub(crate) fn of_place(place: &Place) -> Result<Self, Failure> {
        // Sources alone are named after the device, and `source add` checks the key first.
        let device = device_of(&place.home).unwrap_or_default();
        let config = settings(place.home.root());
        let databases = Databases {
            device,
            ..Databases::of(place)
        };
        databases.serve(api(&place.store, &config), &config)
    }

    /// The same with the API of a loop that runs in this process, and under its settings.
    pub(crate) fn of_api(place: &Place, api: RuntimeApi, config: &Settings) -> Result<Self, Failure> {
        Databases::of(place).serve(api, config)
    }

    /// On databases that are open for reading. The home need not exist where the database is a server.
    pub(crate) fn of_store(store: &Store, shared: &GlobalArgs) -> Result<Self, Failure> {
        let home = shared.home()?;
        let source = match shared.database() {
            Some(url) => Source::Server { url: url.to_owned() },
            None => Source::of(&Home::open(&home)?, None),
        };
        // It closes when it is dropped: nothing is written to it.
        let journal = HomeJournal::new(store.clone(), source, Access::Read);
        let config = settings(&home);
        let databases = Databases {
            store,
            journal: &journal,
            home: &home,
            device: String::new(),
        };
        databases.serve(api(store, &config), &config)
    }
}

/// The settings of a home. A file that cannot be read permits nothing, and stops no command that does without it.
fn settings(home: &Path) -> Settings {
    let loaded = config::load(home, &Overrides::default());
    loaded.map_or_else(|_| Settings::shut(), |loaded| loaded.config)
}

/// The API of a process that runs no loop.
fn api(store: &Store, config: &Settings) -> RuntimeApi {
    let (clock, entropy) = (Arc::new(RealClock::new()), Arc::new(RealEntropy));
    RuntimeApi::alone(ApiContext {
        governance: config.governance(),
        ..ApiContext::new(store.clone(), clock, entropy)
    })
}

/// The databases of a home that are open.
struct Databases<'a> {
    store: &'a Store,
    journal: &'a Arc<HomeJournal>,
    home: &'a Path,
    device: String,
}

impl<'a> Databases<'a> {
    fn of(place: &'a Place) -> Self {
        Self {
            store: &place.store,
            journal: &place.journal,
            home: place.home.root(),
            device: String::new(),
        }
    }

    /// All routes on them.
    fn serve(self, api: RuntimeApi, config: &Settings) -> Result<Backend, Failure> {
        let Self {
            store,
            journal,
            home,
            device,
        } = self;
        let runtime = Arc::new(api);
        let parts = InProcess {
            open: Open {
                schedules: Arc::clone(&runtime),
                runtime,
                stuck: Stuck::default(),
                journal: Arc::new(journal_clerk(store, journal)),
                // No other part of this process listens for changes or matches them.
                alert: Arc::new(alert_clerk(store, journal, Arc::default(), Arc::default())),
                outside: Arc::new(scout(home, journal, device, Hearing::Off)),
            },
            facts: facts(config, home)?,
            host: Arc::new(DaemonHost {
                home: home.to_owned(),
                workspaces: std::env::home_dir().map(|own| own.join("wakeful")),
                workspace: config.agent.workspace.clone(),
                models: ModelRegistry::new(config),
                switch: Arc::new(Halt::new().0),
            }),
            clock: Arc::new(RealClock::new()),
            entropy: Arc::new(RealEntropy),
        };
        Ok(Backend {
            client: Client::in_process(wakeful_server::in_process(parts)),
        })
    }
}

fn facts(config: &Settings, home: &Path) -> Result<Facts, Failure> {
    let default_model = ModelRegistry::new(config).default_ref();
    let reference = default_model.map_or_else(|_| DEMO.to_owned(), |(reference, _)| reference);
    Ok(Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        home_dir: home.display().to_string(),
        database: String::new(),
        started_at: RealClock::new().now(),
        config_fingerprint: String::new(),
        model: Model {
            is_demo: reference == DEMO,
            reference,
        },
        default_agent: AgentId::parse(&config.agent.default)?,
        last_failure: None,
    })
}

/// The journal service of a home.
pub(crate) fn journal_clerk(store: &Store, journal: &Arc<HomeJournal>) -> JournalApi {
    JournalApi {
        store: store.clone(),
        journal: Arc::clone(journal) as _,
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
    }
}

/// The subscription service of a home.
pub(crate) fn alert_clerk(
    store: &Store,
    journal: &Arc<HomeJournal>,
    book: Arc<Book>,
    hub: Arc<Hub>,
) -> SubscriptionApi {
    SubscriptionApi {
        store: store.clone(),
        journal: Arc::clone(journal) as _,
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        book,
        hub,
    }
}

/// The name of the device that a home is on, as others that share its database know it.
pub(crate) fn device_of(home: &Home) -> Result<String, Failure> {
    let key = device::read_or_make(&home.device_key())?;
    Ok(key.public().fingerprint().to_string())
}

/// The watcher of folders and repositories of a home.
pub(crate) fn scout(home: &Path, journal: &Arc<HomeJournal>, device: String, hearing: Hearing) -> Scout {
    Scout {
        sources: Arc::clone(journal) as _,
        lookout: Arc::new(Outlook::new(home)),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        device,
        hearing,
        turn: tokio::sync::Mutex::default(),
    }
}
