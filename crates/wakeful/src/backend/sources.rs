//! Sources, at the daemon or in the journal.

use std::sync::Arc;

use wakeful_api::client::Client;
use wakeful_api::{AddSource, Source, SourceList, SourceScan};
use wakeful_core::id::SourceId;
use wakeful_ports::outside::Hearing;
use wakeful_runtime::outside::{OutsideDesk, OutsideError, Scout};
use wakeful_runtime::problem::Problem;
use wakeful_server::view;
use wakeful_tools::outside::Outlook;

use crate::cli::Shared;
use crate::device;
use crate::failure::Failure;
use crate::home::Home;
use crate::journal::{Access, HomeJournal, Source as JournalSource};
use crate::place::{Place, reading};
use crate::reach::daemon;
use crate::show::Out;
use crate::world::{RealClock, RealEntropy};

/// Where a verb asks for sources.
pub(crate) enum OutsideFront {
    /// The daemon, over its API.
    Daemon(Client),
    /// The journal, in this process.
    Here(Box<dyn OutsideDesk>),
}

/// For verbs that only look at what is watched.
pub(crate) async fn asking<T>(
    shared: &Shared,
    look: impl AsyncFnOnce(&OutsideFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return look(&OutsideFront::Daemon(client)).await;
    }
    let home = Home::open(&shared.home()?)?;
    let from = JournalSource::of(&home, shared.database());
    reading(shared, async |store| {
        let journal = HomeJournal::new(store.clone(), from, Access::Read);
        let scout = scout(&home, &journal, String::new(), Hearing::Off);
        let seen = look(&OutsideFront::Here(Box::new(scout))).await;
        journal.close().await;
        seen
    })
    .await
}

/// For verbs that change something.
pub(crate) async fn telling<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&OutsideFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return tell(&OutsideFront::Daemon(client)).await;
    }
    let place = Place::open_for_writing(shared).await?;
    place
        .work(out, async |place| {
            let scout = scout(&place.home, &place.journal, device_of(&place.home)?, Hearing::Off);
            tell(&OutsideFront::Here(Box::new(scout))).await
        })
        .await
}

/// Which device a home is on, as others that share its database know it.
pub(crate) fn device_of(home: &Home) -> Result<String, Failure> {
    let key = device::read_or_make(&home.device_key())?;
    Ok(key.public().fingerprint().to_string())
}

/// Who looks outside for a home.
pub(crate) fn scout(home: &Home, journal: &Arc<HomeJournal>, device: String, hearing: Hearing) -> Scout {
    Scout {
        sources: Arc::clone(journal) as _,
        lookout: Arc::new(Outlook::new(home.root())),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        device,
        hearing,
        turn: tokio::sync::Mutex::default(),
    }
}

impl From<OutsideError> for Failure {
    fn from(error: OutsideError) -> Self {
        Problem::from(&error).into()
    }
}

impl OutsideFront {
    /// All of them by name.
    pub(crate) async fn sources(&self) -> Result<SourceList, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get("/api/sources").await?),
            Self::Here(desk) => Ok(SourceList {
                sources: desk.sources().await?.iter().map(view::source).collect(),
            }),
        }
    }

    /// Watches something from now on.
    pub(crate) async fn add(&self, new: AddSource) -> Result<Source, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post("/api/sources", &new).await?),
            Self::Here(desk) => Ok(view::source(&desk.add(view::new_source(new)?).await?)),
        }
    }

    /// Watches it no longer.
    pub(crate) async fn remove(&self, id: SourceId) -> Result<Source, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.delete(&format!("/api/sources/{id}")).await?),
            Self::Here(desk) => Ok(view::source(&desk.remove(id).await?)),
        }
    }

    /// Looks at it now.
    pub(crate) async fn scan(&self, id: SourceId) -> Result<SourceScan, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/sources/{id}/scan"), &()).await?),
            Self::Here(desk) => {
                let looked = desk.scan(id.clone()).await?;
                Ok(view::source_scan(&id, looked))
            }
        }
    }
}
