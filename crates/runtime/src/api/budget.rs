//! Budgets, spending and privacy receipts.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_store::Tx;
use wakeful_store::rows::{CapRow, PrivacyReceiptRow, SpendDay};

use super::shared::Shared;
use crate::EngineError;

/// Number of days that a spending overview covers: a month.
pub const DAYS_SHOWN: i64 = 31;

/// Caps and spending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// The current day of the budget.
    pub day: UtcDay,
    /// The cap for all agents together when none is set.
    pub cap_default: MicroUsd,
    /// The configured caps; the cap for all agents comes first.
    pub caps: Vec<CapRow>,
    /// Today's spending per agent.
    pub today: Vec<SpendDay>,
    /// The spending of the last days for all agents together, oldest first.
    pub days: Vec<SpendDay>,
}

pub struct BudgetApi {
    pub(super) shared: Arc<Shared>,
}

impl BudgetApi {
    /// Returns caps and spending.
    pub async fn get(&self) -> Result<Budget, EngineError> {
        let clock = UtcDay::of(self.shared.clock.now());
        let (day, caps, today, days) = self
            .shared
            .store
            .read(move |view| {
                let day = clock.not_before(view.latest_spend_day()?);
                let days = view.spend_days(None, UtcDay(day.0 - DAYS_SHOWN + 1))?;
                Ok((day, view.caps()?, view.spent_on(day)?, days))
            })
            .await?;
        let cap_default = self.shared.governance.daily_cap;
        Ok(Budget {
            day,
            cap_default,
            caps,
            today,
            days,
        })
    }

    /// Returns the spending of an agent in the last days.
    pub async fn spending(&self, agent: AgentId) -> Result<Vec<SpendDay>, EngineError> {
        let from = UtcDay(UtcDay::of(self.shared.clock.now()).0 - DAYS_SHOWN + 1);
        let wanted = agent.clone();
        let found = self.shared.store.read(move |view| {
            let known = view.agent(&wanted)?;
            let days = view.spend_days(Some(&wanted), from)?;
            Ok(known.map(|_| days))
        });
        found.await?.ok_or(EngineError::UnknownAgent(agent))
    }

    /// Sets or removes the cap of an agent or of all agents. Parked runs are checked again.
    pub async fn set_cap(
        &self,
        agent: Option<AgentId>,
        daily: Option<MicroUsd>,
    ) -> Result<Budget, EngineError> {
        let (now, wanted) = (self.shared.clock.now(), agent.clone());
        let set = self
            .shared
            .write(move |tx| {
                if let Some(agent) = &wanted
                    && tx.agent(agent)?.is_none()
                {
                    return Ok(None);
                }
                tx.set_cap(wanted.as_ref(), daily, now).map(Some)
            })
            .await?;
        if let (None, Some(agent)) = (set, agent) {
            return Err(EngineError::UnknownAgent(agent));
        }
        self.shared.work.signal_any();
        self.get().await
    }

    /// Resets the day of the budget to the clock's day after a wrong clock moved it ahead. Spending booked
    /// on later days counts for this day, and the reset is recorded in every agent's log.
    pub async fn reset_day(&self, channel: Channel) -> Result<Budget, EngineError> {
        let now = self.shared.clock.now();
        let clock = UtcDay::of(now);
        let latest = self.shared.store.read(|view| view.latest_spend_day()).await?;
        if latest.is_none_or(|latest| latest <= clock) {
            return self.get().await;
        }
        let payload = AgentStateChanged::BudgetDay {
            from: latest,
            to: clock,
            channel,
        };
        let reset = move |tx: &mut Tx<'_>| {
            // Lock all heads before spending, in the same order as a model request does; the reset is also
            // written to these logs.
            let agents: BTreeSet<AgentId> = tx.heads()?.into_iter().map(|(agent, _)| agent).collect();
            for agent in &agents {
                tx.lock_head_to_announce(agent)?;
            }
            tx.reset_limit_periods(now)?;
            tx.reset_spend_day(clock).map(|()| true)
        };
        self.shared.change_all_with_events(payload, reset).await?;
        self.shared.work.signal_any();
        self.get().await
    }
}

/// Privacy receipts of hosted providers.
pub struct ReceiptApi {
    pub(super) shared: Arc<Shared>,
}

impl ReceiptApi {
    /// Stores a person's confirmation of a provider under these rules.
    pub async fn confirm_provider(
        &self,
        provider: String,
        versions: BTreeSet<PolicyVersion>,
        channel: Channel,
    ) -> Result<Vec<PrivacyReceiptRow>, EngineError> {
        let at = self.shared.clock.now();
        let receipts = versions.into_iter().map(|policy_version| PrivacyReceiptRow {
            provider: provider.clone(),
            policy_version,
            channel: channel.into(),
            at,
        });
        let receipts: Vec<PrivacyReceiptRow> = receipts.collect();
        let put = receipts.clone();
        let written = self
            .shared
            .write(move |tx| put.iter().try_for_each(|receipt| tx.put_receipt(receipt)));
        written.await?;
        Ok(receipts)
    }

    /// Lists all receipts, oldest first.
    pub async fn list(&self) -> Result<Vec<PrivacyReceiptRow>, EngineError> {
        Ok(self.shared.store.read(|view| view.receipts()).await?)
    }
}
