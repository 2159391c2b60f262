//! Subscriptions.

use std::sync::Arc;

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::report::payload::{AgentStateChanged, SubscriptionChange};
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::subscription::spec::{SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_PER_AGENT_MAX};
use wakeful_core::subscription::{BadSubscription, SubscriptionSpec};
use wakeful_ports::journal::{Journal, JournalError};
use wakeful_store::rows::{SubscribeOutcome, SubscriptionRow};

use super::shared::{Shared, announce};
use crate::notice::SubscriptionIndex;
use crate::{EngineError, Observer as _};

/// A subscription to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSubscription {
    /// Its name; none for one that is made up.
    pub subscription_id: Option<RuleId>,
    /// Who is woken.
    pub agent_id: AgentId,
    /// By what, when, and to do what.
    pub terms: SubscriptionSpec,
}

/// Why a subscription cannot be made or found.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// Its terms are none.
    #[error(transparent)]
    Terms(#[from] BadSubscription),
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

/// Subscriptions.
pub struct SubscriptionApi {
    pub(super) shared: Arc<Shared>,
    /// A subscription sees the journal from its making on.
    pub(super) journal: Arc<dyn Journal>,
    /// The subscriptions in memory.
    pub(super) book: Arc<SubscriptionIndex>,
}

impl SubscriptionApi {
    /// Makes a subscription. The same one again is the same one.
    pub async fn add(&self, new: NewSubscription) -> Result<SubscriptionRow, EngineError> {
        let NewSubscription {
            subscription_id,
            agent_id,
            terms,
        } = new;
        terms.check().map_err(SubscriptionError::from)?;
        let row = SubscriptionRow {
            subscription_id: subscription_id.unwrap_or_else(|| self.made_up()),
            agent_id,
            terms,
            journal_seq: self.journal.last_seq().await.map_err(SubscriptionError::from)?,
            last_due: None,
            created_at: self.shared.clock.now(),
            is_active: true,
            version: 0,
        };
        let (new, sealed) = (
            row.clone(),
            self.seal(&row.subscription_id, SubscriptionChange::Made)?,
        );
        let put = self.shared.write(move |tx| {
            if tx.agent(&new.agent_id)?.is_none() {
                return Ok(None);
            }
            let put = tx.put_subscription(&new, SUBSCRIPTIONS_PER_AGENT_MAX, SUBSCRIPTIONS_MAX)?;
            let event = match put {
                SubscribeOutcome::New(_) => announce(tx, &new.agent_id, &sealed)?,
                SubscribeOutcome::Same
                | SubscribeOutcome::Differs
                | SubscribeOutcome::AgentFull
                | SubscribeOutcome::Full => None,
            };
            Ok(Some((put, event)))
        });
        let Some((put, event)) = put.await? else {
            return Err(EngineError::UnknownAgent(row.agent_id));
        };
        match put {
            SubscribeOutcome::New(version) => {
                let row = SubscriptionRow { version, ..row };
                self.book.insert_row(row.clone(), version);
                self.tell(&row, event);
                Ok(row)
            }
            SubscribeOutcome::Same => {
                let id = row.subscription_id.clone();
                let kept = self.shared.store.read(move |view| view.subscription(&id)).await?;
                Ok(kept.unwrap_or(row))
            }
            SubscribeOutcome::Differs => Err(SubscriptionError::Exists(row.subscription_id).into()),
            SubscribeOutcome::AgentFull => Err(SubscriptionError::AgentFull(row.agent_id).into()),
            SubscribeOutcome::Full => Err(SubscriptionError::Full.into()),
        }
    }

    /// What the log says of it.
    fn seal(&self, id: &RuleId, state: SubscriptionChange) -> Result<SealedEvent, EngineError> {
        let draft = EventDraft::new(AgentStateChanged::Subscription {
            subscription: id.clone(),
            state,
        });
        self.shared.seal(draft, None, self.shared.clock.now())
    }

    /// Publishes the event.
    fn tell(&self, row: &SubscriptionRow, event: Option<Event>) {
        if let Some(event) = event {
            self.shared.hub.on_events(&row.agent_id, &[event]);
        }
    }

    /// A fresh name.
    fn made_up(&self) -> RuleId {
        RuleId::random("sub", &Digest::from_bytes(self.shared.entropy.random_bytes()))
    }

    /// Takes a subscription away. What waits because of it stays.
    pub async fn remove(&self, id: RuleId) -> Result<SubscriptionRow, EngineError> {
        let (wanted, sealed) = (id.clone(), self.seal(&id, SubscriptionChange::Gone)?);
        let dropped = self.shared.write(move |tx| {
            tx.lock_subscriptions()?;
            let Some(row) = tx.subscription(&wanted)? else {
                return Ok(None);
            };
            let event = announce(tx, &row.agent_id, &sealed)?;
            let version = tx.delete_subscription(&wanted)?;
            Ok(version.map(|version| (row, version, event)))
        });
        let (row, version, event) = dropped.await?.ok_or(SubscriptionError::Unknown(id))?;
        self.book.remove_row(&row, version);
        self.tell(&row, event);
        Ok(row)
    }

    /// Pauses or resumes a subscription. One that has this state already stays as it is.
    async fn set_active(
        &self,
        id: RuleId,
        state: SubscriptionChange,
    ) -> Result<SubscriptionRow, EngineError> {
        let is_active = state == SubscriptionChange::Resumed;
        let seen = match is_active {
            true => self.journal.last_seq().await.map_err(SubscriptionError::from)?,
            false => 0,
        };
        let (wanted, sealed) = (id.clone(), self.seal(&id, state)?);
        let turned = self.shared.write(move |tx| {
            tx.lock_subscriptions()?;
            let row = tx.subscription(&wanted)?;
            let Some(row) = row.filter(|row| row.is_active != is_active) else {
                return Ok(None);
            };
            let event = announce(tx, &row.agent_id, &sealed)?;
            let row = SubscriptionRow {
                is_active,
                journal_seq: seen.max(row.journal_seq),
                ..row
            };
            let version = tx.set_active(&row)?;
            Ok(version.map(|version| (row, version, event)))
        });
        let Some((row, version, event)) = turned.await? else {
            let wanted = id.clone();
            let kept = self
                .shared
                .store
                .read(move |view| view.subscription(&wanted))
                .await?;
            return Ok(kept.ok_or(SubscriptionError::Unknown(id))?);
        };
        let own = if is_active { version } else { row.version };
        let row = SubscriptionRow { version: own, ..row };
        self.book.update_row(row.clone(), version);
        self.tell(&row, event);
        Ok(row)
    }

    /// Pauses a subscription: until it is resumed it causes no wake. What it queued stays queued.
    pub async fn pause(&self, subscription: RuleId) -> Result<SubscriptionRow, EngineError> {
        self.set_active(subscription, SubscriptionChange::Paused).await
    }

    /// Resumes a subscription. Changes made meanwhile are not matched.
    pub async fn resume(&self, subscription: RuleId) -> Result<SubscriptionRow, EngineError> {
        self.set_active(subscription, SubscriptionChange::Resumed).await
    }

    /// Subscriptions of one agent or of all by name, after one.
    pub async fn list(
        &self,
        agent: Option<AgentId>,
        after: Option<RuleId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionRow>, EngineError> {
        let named = agent.clone();
        let found = self.shared.store.read(move |view| {
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
    }
}
