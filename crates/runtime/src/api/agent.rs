//! Agents: creating, listing and changing them.

use std::sync::Arc;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::Usage;
use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::AgentId;
use wakeful_core::report::payload::{Actor, AgentStateChanged};
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle, Refusal};
use wakeful_store::rows::{Agent, AgentOverview, ExternalTriggerRow, Visibility};
use wakeful_store::{StoreError, Tx, View};

use super::agent_settings::unknown_startable;
use super::run_list::{ListedRun, listed};
use super::shared::{Shared, announce};
use crate::{EngineError, Observer as _};

/// Queued messages that are read at once when the queue is cancelled.
const CANCEL_PAGE: u32 = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    pub agent_id: AgentId,
    /// The folder in which the agent's tools work.
    pub workspace: String,
    /// Whether the agent is listed.
    pub visibility: Visibility,
    /// Which causes may wake the agent.
    pub mode: InteractionMode,
    pub settings: AgentSettings,
    /// The agent's model; `None` for the default.
    pub model_ref: Option<String>,
    /// The agent's daily cap, if it has its own.
    pub daily_cap: Option<MicroUsd>,
}

impl NewAgent {
    /// A listed agent with default settings.
    #[must_use]
    pub fn new(agent_id: AgentId, workspace: String) -> Self {
        Self {
            agent_id,
            workspace,
            visibility: Visibility::Public,
            mode: InteractionMode::default(),
            settings: AgentSettings::with_all_categories(),
            model_ref: None,
            daily_cap: None,
        }
    }
}

/// An agent with its current activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// The agent, its queue and its open run.
    pub overview: AgentOverview,
    /// The agent's newest run.
    pub last_run: Option<ListedRun>,
}

/// A change of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChange {
    /// Set the lifecycle. Has no effect if the agent is already in it.
    Life(Lifecycle),
    /// Set which causes may wake the agent.
    Mode(InteractionMode),
    /// Set the sleep barrier: only a person wakes the agent before this time.
    Sleep(Millis),
    /// Remove the sleep barrier, so that the messages it held may start.
    Wake,
}

/// An agent to create. Prepared before the transaction, because the transaction may be retried.
pub(super) struct PreparedAgent {
    pub(super) agent: Agent,
    daily_cap: Option<MicroUsd>,
    sealed: SealedEvent,
}

impl PreparedAgent {
    /// An agent with an empty log, and the event that announces it.
    pub(super) fn new(shared: &Shared, new: NewAgent) -> Result<Self, EngineError> {
        let now = shared.clock.now();
        let agent = Agent {
            model_ref: new.model_ref,
            settings: new.settings,
            agent_id: new.agent_id,
            visibility: new.visibility,
            lifecycle: Lifecycle::Active,
            control: AgentControl::Running,
            mode: new.mode,
            sleep_until: None,
            workspace: new.workspace,
            created_at: now,
            usage: Usage::default(),
            model_rounds: 0,
        };
        let created = AgentStateChanged::Created {
            control: AgentControl::Running,
            mode: new.mode,
        };
        let sealed = shared.seal(EventDraft::new(created), None, now)?;
        Ok(Self {
            agent,
            daily_cap: new.daily_cap,
            sealed,
        })
    }

    /// Creates the agent and announces it. None when the name is taken.
    pub(super) fn write(&self, tx: &mut Tx<'_>) -> Result<Option<Event>, StoreError> {
        let Agent {
            agent_id, created_at, ..
        } = &self.agent;
        if !tx.create_agent(&self.agent)? {
            return Ok(None);
        }
        if self.daily_cap.is_some() {
            tx.set_cap(Some(agent_id), self.daily_cap, *created_at)?;
        }
        announce(tx, &self.agent.agent_id, &self.sealed)
    }
}

pub struct AgentApi {
    pub(super) shared: Arc<Shared>,
}

impl AgentApi {
    /// Changes an agent. The change is durable and recorded when this returns.
    pub async fn change(&self, agent: AgentId, change: AgentChange) -> Result<AgentView, EngineError> {
        let now = self.shared.clock.now();
        if let AgentChange::Sleep(until) = change
            && until <= now
        {
            return Err(EngineError::TimeInPast(until));
        }
        self.shared
            .change_agent(agent.clone(), payload(change), move |tx, agent| {
                change_in(tx, agent, change, now)
            })
            .await?;
        if change == AgentChange::Life(Lifecycle::Destroyed) {
            // Destroying the agent ended its schedules.
            self.shared.work.rearm_scheduler();
            self.cancel_queued(&agent).await?;
        }
        self.get(agent).await
    }

    /// Cancels every queued message of an agent. An open run continues.
    pub async fn clear_queue(&self, agent: AgentId) -> Result<AgentView, EngineError> {
        self.cancel_queued(&agent).await?;
        self.get(agent).await
    }

    /// Cancels all messages that are queued now, each in its own transaction. If interrupted, the next call
    /// cancels the rest.
    async fn cancel_queued(&self, agent: &AgentId) -> Result<(), EngineError> {
        let mut left = self.get(agent.clone()).await?.overview.queued;
        while left > 0 {
            let wanted = agent.clone();
            let read = move |view: &mut View<'_>| view.queue(&wanted, CANCEL_PAGE);
            let page = self.shared.store.read(read).await?;
            if page.is_empty() {
                break;
            }
            for row in page {
                if left > 0 {
                    self.shared.cancel_queued(row.message.run_key).await?;
                }
                left = left.saturating_sub(1);
            }
        }
        Ok(())
    }

    /// Creates an agent with an empty log. Returns [`EngineError::AgentExists`] if the name is taken.
    pub async fn create(&self, new: NewAgent) -> Result<AgentView, EngineError> {
        let agent_id = new.agent_id.clone();
        let prepared = PreparedAgent::new(&self.shared, new)?;
        let created = self.shared.write(move |tx| {
            Ok(match unknown_startable(tx, &prepared.agent)? {
                Some(unknown) => Err(unknown),
                None => Ok(prepared.write(tx)?),
            })
        });
        match created.await?? {
            Some(event) => self.shared.hub.on_events(&agent_id, &[event]),
            None => return Err(EngineError::AgentExists(agent_id)),
        }
        self.get(agent_id).await
    }

    /// Pauses, stops or resumes an agent. Resuming retries a run that is parked for budget.
    pub async fn set_control(&self, agent: AgentId, control: AgentControl) -> Result<AgentView, EngineError> {
        let payload = AgentStateChanged::Control { control };
        let change = move |tx: &mut Tx<'_>, agent: &Agent| {
            if agent.lifecycle == Lifecycle::Destroyed {
                return Ok(Err(Refusal::Destroyed.into()));
            }
            if control == AgentControl::Running {
                tx.end_budget_waits(Some(&agent.agent_id))?;
            }
            if agent.control == control {
                return Ok(Ok(false));
            }
            tx.set_control(&agent.agent_id, control).map(Ok)
        };
        self.shared.change_agent(agent.clone(), payload, change).await?;
        self.get(agent).await
    }

    /// Returns one agent, listed or private.
    pub async fn get(&self, agent: AgentId) -> Result<AgentView, EngineError> {
        let wanted = agent.clone();
        let found = self.shared.store.read(move |view| {
            let overview = view.overview(&wanted)?;
            overview.map(|overview| with_last_run(view, overview)).transpose()
        });
        found.await?.ok_or(EngineError::UnknownAgent(agent))
    }

    /// Lists agents by name; private ones only if requested.
    pub async fn list(&self, with_private: bool) -> Result<Vec<AgentView>, EngineError> {
        let all = self.shared.store.read(move |view| {
            let overviews = view.overviews(with_private)?;
            let all = overviews
                .into_iter()
                .map(|overview| with_last_run(view, overview));
            all.collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(all.await?)
    }
}

fn payload(change: AgentChange) -> AgentStateChanged {
    match change {
        AgentChange::Life(lifecycle) => AgentStateChanged::Lifecycle { lifecycle },
        AgentChange::Mode(mode) => AgentStateChanged::Mode { mode },
        AgentChange::Sleep(until) => AgentStateChanged::Sleep {
            until: until.rfc3339(),
        },
        AgentChange::Wake => AgentStateChanged::Wake { by: Actor::Operator },
    }
}

fn change_in(
    tx: &mut Tx<'_>,
    agent: &Agent,
    change: AgentChange,
    now: Millis,
) -> Result<Result<bool, EngineError>, StoreError> {
    let id = &agent.agent_id;
    match change {
        AgentChange::Life(to) => life(tx, agent, to, now),
        AgentChange::Mode(_) | AgentChange::Sleep(_) | AgentChange::Wake
            if agent.lifecycle == Lifecycle::Destroyed =>
        {
            Ok(Err(Refusal::Destroyed.into()))
        }
        AgentChange::Mode(mode) if agent.mode == mode => Ok(Ok(false)),
        AgentChange::Mode(mode) => tx.set_mode(id, mode).map(Ok),
        AgentChange::Sleep(until) if agent.sleep_until == Some(until) => Ok(Ok(false)),
        AgentChange::Sleep(until) => {
            // Messages held by the previous barrier wait for the new one.
            tx.delay_queued(id, agent.sleep_until, until)?;
            tx.set_sleep(id, Some(until)).map(Ok)
        }
        // A stopped agent would still refuse every message; it must be resumed first.
        AgentChange::Wake if agent.control == AgentControl::Stopped => Ok(Err(Refusal::Stopped.into())),
        AgentChange::Wake => {
            tx.release_delayed(id)?;
            let is_asleep = agent.sleep_until.is_some_and(|until| until > now);
            if is_asleep {
                tx.set_sleep(id, None)?;
            }
            Ok(Ok(is_asleep))
        }
    }
}

fn life(
    tx: &mut Tx<'_>,
    agent: &Agent,
    to: Lifecycle,
    now: Millis,
) -> Result<Result<bool, EngineError>, StoreError> {
    let (id, from) = (&agent.agent_id, agent.lifecycle);
    if from == to {
        return Ok(Ok(false));
    }
    if !from.may_become(to) {
        let agent = id.clone();
        return Ok(Err(EngineError::Lifecycle { agent, from, to }));
    }
    // An open run would continue for an agent that no longer exists.
    let open = tx.overview(id)?.and_then(|overview| overview.open_run);
    if let (Lifecycle::Destroyed, Some(run)) = (to, open) {
        return Ok(Err(Refusal::RunOpen { run }.into()));
    }
    if let (Lifecycle::Destroyed, Some(trigger)) = (to, tx.trigger_of(id)?) {
        tx.put_trigger(&ExternalTriggerRow {
            status: TriggerStatus::Revoked,
            ..trigger
        })?;
    }
    if to == Lifecycle::Destroyed {
        // Active schedules would keep firing and be refused.
        tx.expire_schedules(id, now)?;
    }
    tx.set_lifecycle(id, to).map(Ok)
}

fn with_last_run(view: &mut View<'_>, overview: AgentOverview) -> Result<AgentView, StoreError> {
    let row = match overview.last_run {
        Some(run) => view.run(&run)?,
        None => None,
    };
    let last_run = listed(view, row.into_iter().collect())?.pop();
    Ok(AgentView { overview, last_run })
}
