//! Subscriptions at the desk.

use std::sync::Arc;

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::subscription::terms::{SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_PER_AGENT_MAX};
use wakeful_core::subscription::{BadTerms, Terms};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::journal::{Journal, JournalError};
use wakeful_ports::records::{Subscribed, SubscriptionRow};
use wakeful_ports::store::Store;

use super::Asked;
use crate::EngineError;
use crate::notice::Book;

/// What faces ask and tell about subscriptions.
pub trait AlertDesk: Send + Sync + 'static {
    /// Makes a subscription. The same one again is the same one.
    fn subscribe(&self, new: NewSubscription) -> Asked<'_, SubscriptionRow>;
    /// Takes a subscription away. What waits because of it stays.
    fn unsubscribe(&self, subscription: RuleId) -> Asked<'_, SubscriptionRow>;
    /// Subscriptions of one agent or of all by name, after one.
    fn subscriptions(
        &self,
        agent: Option<AgentId>,
        after: Option<RuleId>,
        limit: u32,
    ) -> Asked<'_, Vec<SubscriptionRow>>;
}

/// A subscription to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSubscription {
    /// Its name; none for one that is made up.
    pub subscription_id: Option<RuleId>,
    /// Who is woken.
    pub agent_id: AgentId,
    /// By what, when, and to do what.
    pub terms: Terms,
}

/// Why a subscription cannot be made or found.
#[derive(Debug, thiserror::Error)]
pub enum Subscribing {
    /// Its terms are none.
    #[error(transparent)]
    Terms(#[from] BadTerms),
    /// There is no such subscription.
    #[error("there is no subscription {0}")]
    Unknown(RuleId),
    /// Another one has this name.
    #[error("there is a subscription {0} already, with other terms")]
    Exists(RuleId),
    /// The agent has as many as are kept of one.
    #[error(
        "agent {0} has {SUBSCRIPTIONS_PER_AGENT_MAX} subscriptions, which is as many as are kept of one agent"
    )]
    AgentFull(AgentId),
    /// There are as many as are kept.
    #[error("there are {SUBSCRIPTIONS_MAX} subscriptions, which is as many as are kept")]
    Full,
    /// The journal does not say where it stands.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The one who serves there.
pub struct AlertClerk<S> {
    /// Where the subscriptions are.
    pub store: S,
    /// The journal, which a subscription sees from its making on.
    pub journal: Arc<dyn Journal>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where names come from.
    pub entropy: Arc<dyn Entropy>,
    /// The subscriptions in memory.
    pub book: Arc<Book>,
}

impl<S: Store> AlertClerk<S> {
    async fn make(&self, new: NewSubscription) -> Result<SubscriptionRow, EngineError> {
        let NewSubscription {
            subscription_id,
            agent_id,
            terms,
        } = new;
        terms.check().map_err(Subscribing::from)?;
        let row = SubscriptionRow {
            subscription_id: subscription_id.unwrap_or_else(|| self.made_up()),
            agent_id,
            terms,
            journal_seq: self.journal.last_seq().await.map_err(Subscribing::from)?,
            last_due: None,
            created_at: self.clock.now(),
        };
        let new = row.clone();
        let put = self.store.write(move |tx| {
            if tx.agent(&new.agent_id)?.is_none() {
                return Ok(None);
            }
            tx.put_subscription(&new, SUBSCRIPTIONS_PER_AGENT_MAX, SUBSCRIPTIONS_MAX)
                .map(Some)
        });
        match put.await? {
            None => Err(EngineError::UnknownAgent(row.agent_id)),
            Some(Subscribed::New(version)) => {
                self.book.added(row.clone(), version);
                Ok(row)
            }
            Some(Subscribed::Same) => {
                let id = row.subscription_id.clone();
                let kept = self.store.read(move |view| view.subscription(&id)).await?;
                Ok(kept.unwrap_or(row))
            }
            Some(Subscribed::Differs) => Err(Subscribing::Exists(row.subscription_id).into()),
            Some(Subscribed::AgentFull) => Err(Subscribing::AgentFull(row.agent_id).into()),
            Some(Subscribed::Full) => Err(Subscribing::Full.into()),
        }
    }

    /// A name that nobody has.
    fn made_up(&self) -> RuleId {
        RuleId::made_up("sub", &Digest::from_bytes(self.entropy.bytes32()))
    }

    async fn take_away(&self, id: RuleId) -> Result<SubscriptionRow, EngineError> {
        let wanted = id.clone();
        let dropped = self.store.write(move |tx| {
            let Some(row) = tx.subscription(&wanted)? else {
                return Ok(None);
            };
            Ok(tx.drop_subscription(&wanted)?.map(|version| (row, version)))
        });
        let (row, version) = dropped.await?.ok_or(Subscribing::Unknown(id))?;
        self.book.dropped(&row, version);
        Ok(row)
    }
}

impl<S: Store> AlertDesk for AlertClerk<S> {
    fn subscribe(&self, new: NewSubscription) -> Asked<'_, SubscriptionRow> {
        Box::pin(self.make(new))
    }

    fn unsubscribe(&self, subscription: RuleId) -> Asked<'_, SubscriptionRow> {
        Box::pin(self.take_away(subscription))
    }

    fn subscriptions(
        &self,
        agent: Option<AgentId>,
        after: Option<RuleId>,
        limit: u32,
    ) -> Asked<'_, Vec<SubscriptionRow>> {
        Box::pin(async move {
            let named = agent.clone();
            let found = self.store.read(move |view| {
                if let Some(agent) = &agent
                    && view.agent(agent)?.is_none()
                {
                    return Ok(None);
                }
                view.subscriptions(agent.as_ref(), after.as_ref(), limit)
                    .map(Some)
            });
            match (found.await?, named) {
                (Some(rows), _) => Ok(rows),
                (None, Some(agent)) => Err(EngineError::UnknownAgent(agent)),
                (None, None) => Ok(Vec::new()),
            }
        })
    }
}
