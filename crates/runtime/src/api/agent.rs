//! How a person looks after an agent: where it stands in its life, who may wake it, and how long it sleeps.

use wakeful_core::conversation::Usage;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::QUEUE_MAX;
use wakeful_core::report::payload::{Actor, AgentStateChanged};
use wakeful_core::report::{Draft, Event, Sealed};
use wakeful_core::time::Millis;
use wakeful_core::timer::AGENT_DESTROYED;
use wakeful_core::wake::{Control, Lifecycle, Mode, Refusal};
use wakeful_store::rows::{Agent, TriggerRow};
use wakeful_store::{StoreError, Tx};

use super::runtime_api::announce;
use super::{AgentView, NewAgent, RuntimeApi};
use crate::EngineError;

/// Messages of a destroyed agent that are taken back at once.
const TAKEN_BACK_MAX: u32 = 500;

/// What is to become different about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChange {
    /// It goes on in its life. One that stands there already stays as it is.
    Life(Lifecycle),
    /// Others may wake it.
    Mode(Mode),
    /// Only a person wakes it before this moment.
    Sleep(Millis),
    /// The sleep barrier is taken away, and what it held begins.
    Wake,
}

/// An agent to create, prepared before the transaction, which may run more than once.
pub(super) struct PreparedAgent {
    pub(super) agent: Agent,
    sealed: Sealed,
}

impl PreparedAgent {
    /// Creates the agent and announces it. None when the name is taken.
    pub(super) fn write(&self, tx: &mut Tx<'_>) -> Result<Option<Event>, StoreError> {
        if !tx.create_agent(&self.agent)? {
            return Ok(None);
        }
        announce(tx, &self.agent.agent_id, &self.sealed)
    }
}

impl RuntimeApi {
    /// Prepares an agent with an empty log, and the event that announces it.
    pub(super) fn prepare_agent(&self, new: NewAgent) -> Result<PreparedAgent, EngineError> {
        let now = self.clock.now();
        let agent = Agent {
            model_ref: None,
            agent_id: new.agent_id,
            visibility: new.visibility,
            lifecycle: Lifecycle::Active,
            control: Control::Running,
            mode: new.mode,
            sleep_until: None,
            workspace: new.workspace,
            created_at: now,
            usage: Usage::default(),
            model_rounds: 0,
        };
        let created = AgentStateChanged::Created {
            control: Control::Running,
            mode: new.mode,
        };
        let sealed = self.seal(Draft::new(created), None, now)?;
        Ok(PreparedAgent { agent, sealed })
    }

    /// Changes how an agent stands. It is durable and told of when this returns.
    pub async fn tend(&self, agent: AgentId, change: AgentChange) -> Result<AgentView, EngineError> {
        let now = self.clock.now();
        if let AgentChange::Sleep(until) = change
            && until <= now
        {
            return Err(EngineError::Past(until));
        }
        let changed = self
            .try_change(agent.clone(), payload(change), move |tx, agent| {
                change_in(tx, agent, change, now)
            })
            .await?;
        match change {
            AgentChange::Life(Lifecycle::Destroyed) => {
                // Its schedules are over.
                self.work.rearm();
                match changed.overview.queued {
                    0 => Ok(changed),
                    _ => self.take_back(agent).await,
                }
            }
            AgentChange::Life(_) | AgentChange::Mode(_) | AgentChange::Sleep(_) | AgentChange::Wake => {
                Ok(changed)
            }
        }
    }

    /// Takes back what waits for an agent that is gone: each message has its own end, and whoever waits for it hears of
    /// it. Nothing new comes, because a destroyed agent takes nothing in; where this is cut off, destroying again goes on.
    async fn take_back(&self, agent: AgentId) -> Result<AgentView, EngineError> {
        let mut left = QUEUE_MAX;
        loop {
            let wanted = agent.clone();
            let waiting = self
                .store
                .read(move |view| view.queue(&wanted, TAKEN_BACK_MAX))
                .await?;
            let keys: Vec<RunKey> = waiting.iter().map(|row| row.message.run_key).collect();
            if keys.is_empty() || left == 0 {
                return self.agent(agent).await;
            }
            for run in keys {
                self.cancel(run).await?;
                left = left.saturating_sub(1);
            }
        }
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
            // What the barrier before held waits for this one.
            tx.delay_queued(id, agent.sleep_until, until)?;
            tx.set_sleep(id, Some(until)).map(Ok)
        }
        // It would still take nothing in: whoever wakes it has to let it go on first.
        AgentChange::Wake if agent.control == Control::Stopped => Ok(Err(Refusal::Stopped.into())),
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
    // A run that is under way would go on for an agent that is gone.
    let open = tx.overview(id)?.and_then(|overview| overview.open_run);
    if let (Lifecycle::Destroyed, Some(run)) = (to, open) {
        return Ok(Err(Refusal::RunOpen { run }.into()));
    }
    if let (Lifecycle::Destroyed, Some(trigger)) = (to, tx.trigger_of(id)?) {
        tx.put_trigger(&TriggerRow {
            is_active: false,
            ..trigger
        })?;
    }
    if to == Lifecycle::Destroyed {
        // They would fire into refusals for ever.
        tx.end_schedules(id, AGENT_DESTROYED, now)?;
    }
    tx.set_lifecycle(id, to).map(Ok)
}
