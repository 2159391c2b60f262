//! Subscriptions, at the daemon or in the databases.

use std::sync::Arc;

use wakeful_api::client::Client;
use wakeful_api::{CreateSubscription, Subscription, SubscriptionList};
use wakeful_core::id::{AgentId, RuleId};
use wakeful_runtime::desk::{AlertClerk, AlertDesk};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::Book;
use wakeful_server::view;
use wakeful_store::Store;

use crate::cli::Shared;
use crate::failure::Failure;
use crate::home::Home;
use crate::journal::{Access, HomeJournal, Source};
use crate::place::{Place, reading};
use crate::reach::daemon;
use crate::show::Out;
use crate::world::{RealClock, RealEntropy};

/// Subscriptions that are asked for at once.
const PAGE: u32 = 500;

/// Where a verb asks for subscriptions.
pub(crate) enum AlertFront {
    /// The daemon, over its API.
    Daemon(Client),
    /// The databases, in this process.
    Here(Box<dyn AlertDesk>),
}

/// For verbs that only look.
pub(crate) async fn asking<T>(
    shared: &Shared,
    look: impl AsyncFnOnce(&AlertFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return look(&AlertFront::Daemon(client)).await;
    }
    let source = match shared.database() {
        Some(url) => Source::Server { url: url.to_owned() },
        None => Source::of(&Home::open(&shared.home()?)?, None),
    };
    reading(shared, async |store| {
        let journal = HomeJournal::new(store.clone(), source, Access::Read);
        let clerk = clerk(store, &journal, Arc::default(), Arc::default());
        look(&AlertFront::Here(Box::new(clerk))).await
    })
    .await
}

/// For verbs that change something.
pub(crate) async fn telling<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&AlertFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return tell(&AlertFront::Daemon(client)).await;
    }
    let place = Place::open_for_writing(shared).await?;
    place
        .work(out, async |place| {
            // In this process nobody else listens, and nobody matches.
            let clerk = clerk(&place.store, &place.journal, Arc::default(), Arc::default());
            tell(&AlertFront::Here(Box::new(clerk))).await
        })
        .await
}

/// Who serves the subscriptions of a home.
pub(crate) fn clerk(
    store: &Store,
    journal: &Arc<HomeJournal>,
    book: Arc<Book>,
    hub: Arc<Hub>,
) -> AlertClerk<Store> {
    AlertClerk {
        store: store.clone(),
        journal: Arc::clone(journal) as _,
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        book,
        hub,
    }
}

impl AlertFront {
    /// Makes a subscription.
    pub(crate) async fn subscribe(&self, new: CreateSubscription) -> Result<Subscription, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post("/api/subscriptions", &new).await?),
            Self::Here(desk) => {
                let made = desk.subscribe(view::new_subscription(new)?).await?;
                Ok(view::subscription(&made))
            }
        }
    }

    /// Takes one away.
    pub(crate) async fn unsubscribe(&self, id: RuleId) -> Result<Subscription, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.delete(&format!("/api/subscriptions/{id}")).await?),
            Self::Here(desk) => Ok(view::subscription(&desk.unsubscribe(id).await?)),
        }
    }

    /// Puts one aside.
    pub(crate) async fn pause(&self, id: RuleId) -> Result<Subscription, Failure> {
        match self {
            Self::Daemon(client) => {
                let path = format!("/api/subscriptions/{id}/pause");
                Ok(client.post(&path, &serde_json::json!({})).await?)
            }
            Self::Here(desk) => Ok(view::subscription(&desk.pause_subscription(id).await?)),
        }
    }

    /// Takes one up again.
    pub(crate) async fn resume(&self, id: RuleId) -> Result<Subscription, Failure> {
        match self {
            Self::Daemon(client) => {
                let path = format!("/api/subscriptions/{id}/resume");
                Ok(client.post(&path, &serde_json::json!({})).await?)
            }
            Self::Here(desk) => Ok(view::subscription(&desk.resume_subscription(id).await?)),
        }
    }

    /// Whether no daemon is there, which alone wakes anybody.
    pub(crate) const fn is_alone(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// All of them by name, or all of one agent.
    pub(crate) async fn subscriptions(&self, agent: Option<AgentId>) -> Result<Vec<Subscription>, Failure> {
        let (mut all, mut after): (Vec<Subscription>, Option<RuleId>) = (Vec::new(), None);
        loop {
            let page = self.page(agent.clone(), after).await?;
            all.extend(page.subscriptions);
            let Some(next) = page.next_after else {
                return Ok(all);
            };
            after = Some(RuleId::parse(&next)?);
        }
    }

    async fn page(&self, agent: Option<AgentId>, after: Option<RuleId>) -> Result<SubscriptionList, Failure> {
        match self {
            Self::Daemon(client) => {
                let agent = agent
                    .map(|agent| format!("&agent_id={agent}"))
                    .unwrap_or_default();
                let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
                let path = format!("/api/subscriptions?limit={PAGE}{agent}{after}");
                Ok(client.get(&path).await?)
            }
            Self::Here(desk) => {
                let rows = desk.subscriptions(agent, after, PAGE).await?;
                Ok(view::subscriptions(&rows, PAGE))
            }
        }
    }
}
