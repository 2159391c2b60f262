//! Subscriptions: creating, listing, pausing and removing them.

use std::sync::Arc;

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::report::payload::{AgentStateChanged, SubscriptionChange};
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::subscription::spec::{SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_PER_AGENT_MAX};
use wakeful_core::subscription::{BadSubscription, SubscriptionEdit, SubscriptionSpec};
use wakeful_ports::journal::{Journal, JournalError};
use wakeful_store::rows::{SubscribeOutcome, SubscriptionRow};

use super::shared::{Shared, announce};
use crate::notice::SubscriptionIndex;
use crate::{EngineError, Observer as _};

#[derive(Debug, Clone, PartialEq)]
pub struct NewSubscription {
    /// The id; none to generate one.
    pub subscription_id: Option<RuleId>,
    /// The agent to wake.
    pub agent_id: AgentId,
    /// Tokens, conditions and instructions of the subscription.
    pub spec: SubscriptionSpec,
}

/// Why a subscription cannot be created or found.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// The specification is invalid.
    #[error(transparent)]
    Terms(#[from] BadSubscription),
    #[error("there is no subscription {0}")]
    Unknown(RuleId),
    /// Another subscription has this id.
    #[error("there is a subscription {0} already, with other terms")]
    Exists(RuleId),
    /// The agent has the maximum number of subscriptions.
    #[error("agent {0} has {SUBSCRIPTIONS_PER_AGENT_MAX} subscriptions, the maximum for one agent")]
    AgentFull(AgentId),
    /// The maximum number of subscriptions exists.
    #[error("there are {SUBSCRIPTIONS_MAX} subscriptions, which is the maximum")]
    Full,
    /// The journal's current position cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

pub struct SubscriptionApi {
    pub(super) shared: Arc<Shared>,
    /// A subscription matches journal changes made after its creation.
    pub(super) journal: Arc<dyn Journal>,
    /// The in-memory subscription index.
    pub(super) subscription_index: Arc<SubscriptionIndex>,
}

impl SubscriptionApi {
    /// Creates a subscription. Repeating the call with the same subscription has no effect.
    pub async fn add(&self, new: NewSubscription) -> Result<SubscriptionRow, EngineError> {
        let NewSubscription {
            subscription_id,
            agent_id,
            spec: terms,
        } = new;
        terms.check().map_err(SubscriptionError::from)?;
        let row = SubscriptionRow {
            subscription_id: subscription_id.unwrap_or_else(|| self.new_id()),
            agent_id,
            spec: terms,
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
                self.subscription_index.insert_row(row.clone(), version);
                self.publish(&row, event);
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

    /// Seals the event that records the change.
    fn seal(&self, id: &RuleId, state: SubscriptionChange) -> Result<SealedEvent, EngineError> {
        let draft = EventDraft::new(AgentStateChanged::Subscription {
            subscription: id.clone(),
            state,
        });
        self.shared.seal(draft, None, self.shared.clock.now())
    }

    fn publish(&self, row: &SubscriptionRow, event: Option<Event>) {
        if let Some(event) = event {
            self.shared.hub.on_events(&row.agent_id, &[event]);
        }
    }

    /// Generates a fresh id.
    fn new_id(&self) -> RuleId {
        RuleId::random("sub", &Digest::from_bytes(self.shared.entropy.random_bytes()))
    }

    /// Removes a subscription. Messages that it queued stay queued.
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
        self.subscription_index.remove_row(&row, version);
        self.publish(&row, event);
        Ok(row)
    }

    /// Changes terms of a subscription. Changes that are not dispatched yet are matched against the new terms,
    /// and queued messages stay as they are. Has no effect if the terms are the same.
    pub async fn edit(&self, id: RuleId, edit: SubscriptionEdit) -> Result<SubscriptionRow, EngineError> {
        let (wanted, sealed) = (id.clone(), self.seal(&id, SubscriptionChange::Edited)?);
        let edited = self.shared.write(move |tx| {
            tx.lock_subscriptions()?;
            let Some(row) = tx.subscription(&wanted)? else {
                return Ok(None);
            };
            let spec = row.spec.edited(&edit);
            if let Err(bad) = spec.check() {
                return Ok(Some(Err(bad)));
            }
            if spec == row.spec {
                return Ok(Some(Ok((row, None))));
            }
            let event = announce(tx, &row.agent_id, &sealed)?;
            let row = SubscriptionRow { spec, ..row };
            let version = tx.set_subscription_spec(&row)?;
            Ok(version.map(|version| Ok((row, Some((version, event))))))
        });
        let edited = edited.await?.ok_or(SubscriptionError::Unknown(id))?;
        let (row, change) = edited.map_err(SubscriptionError::from)?;
        if let Some((version, event)) = change {
            self.subscription_index.replace_row(row.clone(), version);
            self.publish(&row, event);
        }
        Ok(row)
    }

    /// Pauses or resumes a subscription. Has no effect if it is already in this state.
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
        self.subscription_index.update_row(row.clone(), version);
        self.publish(&row, event);
        Ok(row)
    }

    /// Pauses a subscription: it causes no wakes until it is resumed. Messages that it queued stay queued.
    pub async fn pause(&self, subscription: RuleId) -> Result<SubscriptionRow, EngineError> {
        self.set_active(subscription, SubscriptionChange::Paused).await
    }

    /// Resumes a subscription. Changes made meanwhile are not matched.
    pub async fn resume(&self, subscription: RuleId) -> Result<SubscriptionRow, EngineError> {
        self.set_active(subscription, SubscriptionChange::Resumed).await
    }

    /// Lists subscriptions of one agent or of all by id, after a given one.
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
