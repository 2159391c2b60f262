//! What the services of the API share: the store, and how they write to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::notice::AgentNotice;
use wakeful_core::report::payload::{AgentStateChanged, BrakeChanged, Payload};
use wakeful_core::report::{Event, EventDraft, LogHead, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_store::rows::{Agent, AgentOutboxRow};
use wakeful_store::{Store, StoreError, Tx, View, WorkQuery};

use super::start::StartAtOnce;
use super::work_signal::WorkSignal;
use crate::hub::Hub;
use crate::run::broken;
use crate::{EngineDefaults, EngineError, Observer as _};

/// Agents whose logs record a brake in its own transaction. A log takes well under a millisecond.
const BRAKE_EVENTS_PER_TX_MAX: usize = 500;

/// What the services share. Cloning it is cheap.
#[derive(Clone)]
pub struct ApiContext {
    /// Where everything durable is.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where salts and fresh ids come from.
    pub entropy: Arc<dyn Entropy>,
    /// Publishes what was committed.
    pub hub: Arc<Hub>,
    /// What holds where no setting says otherwise.
    pub governance: EngineDefaults,
}

impl ApiContext {
    /// With the default settings, and a hub that has no listeners.
    pub fn new(store: Store, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            store,
            clock,
            entropy,
            hub: Arc::default(),
            governance: EngineDefaults::default(),
        }
    }
}

/// What all services hold.
pub(crate) struct Shared {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) hub: Arc<Hub>,
    pub(super) work: Arc<WorkSignal>,
    pub(super) governance: EngineDefaults,
    /// Held while a stop request is stored or a brake released: one must not undo the other.
    pub(super) stop_lock: Arc<tokio::sync::Mutex<()>>,
    pub(super) ingress: Ingress,
}

/// Where messages come from.
pub(super) enum Ingress {
    /// The API of a daemon.
    Daemon,
    /// A process of its own, beside no daemon.
    Process,
    /// A process of its own that starts the run at once.
    StartAtOnce(StartAtOnce),
}

impl Shared {
    pub(super) fn new(context: ApiContext, ingress: Ingress) -> Self {
        Self {
            store: context.store,
            clock: context.clock,
            entropy: context.entropy,
            hub: context.hub,
            work: Arc::default(),
            governance: context.governance,
            stop_lock: Arc::default(),
            ingress,
        }
    }

    /// The same for messages that come from elsewhere.
    pub(super) fn with_ingress(&self, ingress: Ingress) -> Self {
        Self {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            hub: Arc::clone(&self.hub),
            work: Arc::clone(&self.work),
            governance: self.governance,
            stop_lock: Arc::clone(&self.stop_lock),
            ingress,
        }
    }

    /// Changes what concerns all agents, and in the same transaction writes that into their logs.
    pub(super) async fn change_all_with_events(
        &self,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        self.change_all(None, payload.into(), change).await
    }

    pub(super) async fn change_brake(
        &self,
        agent: Option<AgentId>,
        payload: BrakeChanged,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        self.change_all(agent, payload.into(), change).await
    }

    /// Lays a hand on the brake, and in the same transaction writes that into the log of whom it concerns: one agent or
    /// all. Where there are very many, the last logs are written afterwards, because a brake does not wait.
    async fn change_all(
        &self,
        agent: Option<AgentId>,
        payload: Payload,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        let concerned = match &agent {
            Some(agent) => vec![agent.clone()],
            None => {
                let heads = self.store.read(|view| view.heads()).await?;
                heads.into_iter().map(|(agent, _)| agent).collect()
            }
        };
        // By name: two who lock several in two orders wait for each other.
        let concerned: BTreeSet<AgentId> = concerned.into_iter().collect();
        let now = self.clock.now();
        let told = concerned.into_iter().map(|agent| {
            let draft = EventDraft::new(payload.clone());
            Ok((agent, self.seal(draft, None, now)?))
        });
        let told = told.collect::<Result<Vec<_>, EngineError>>()?;
        let mut pieces = told.chunks(BRAKE_EVENTS_PER_TX_MAX).map(<[_]>::to_vec);
        let (first, wanted) = (pieces.next().unwrap_or_default(), agent.clone());
        let changed = self.write(move |tx| {
            if let Some(agent) = &wanted
                && tx.agent(agent)?.is_none()
            {
                return Ok(None);
            }
            Ok(Some(if change(tx)? {
                (true, tell_all(tx, &first)?)
            } else {
                (false, Vec::new())
            }))
        });
        let (is_changed, events) = match (changed.await?, agent) {
            (Some(changed), _) => changed,
            (None, Some(agent)) => return Err(EngineError::UnknownAgent(agent)),
            (None, None) => return Ok(()),
        };
        self.show(events);
        for piece in pieces.filter(|_| is_changed) {
            self.show(self.write(move |tx| tell_all(tx, &piece)).await?);
        }
        Ok(())
    }

    fn show(&self, events: Vec<(AgentId, Event)>) {
        for (agent, event) in events {
            self.hub.on_events(&agent, &[event]);
        }
    }

    /// Changes an agent and records it; nothing is recorded where nothing changed or the change is refused.
    pub(super) async fn change_agent(
        &self,
        agent_id: AgentId,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>, &Agent) -> Result<Result<bool, EngineError>, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        let draft = EventDraft::new(payload);
        let sealed = self.seal(draft, None, self.clock.now())?;
        let wanted = agent_id.clone();
        let told = self.write(move |tx| {
            // The head first, as in every transition: two who lock in two orders wait for each other.
            let head = tx.lock_head_to_announce(&wanted)?;
            let (Some(mut head), Some(agent)) = (head, tx.agent(&wanted)?) else {
                return Ok(None);
            };
            match change(tx, &agent)? {
                Err(error) => return Ok(Some(Err(error))),
                Ok(false) => return Ok(Some(Ok(None))),
                Ok(true) => {}
            }
            let event = append(tx, &wanted, &mut head, &sealed)?;
            let telling = AgentNotice::agent_changed(&wanted);
            tx.append_agent_notice(&AgentOutboxRow::new(
                wanted.clone(),
                event.seq,
                telling,
                event.sealed.at,
            ))?;
            Ok(Some(Ok(Some(event))))
        });
        match told
            .await?
            .ok_or_else(|| EngineError::UnknownAgent(agent_id.clone()))??
        {
            None => {}
            Some(event) => self.hub.on_events(&agent_id, &[event]),
        }
        // Also where nothing changed: the caller wants the agent to be looked at.
        self.work.signal_agent(agent_id);
        Ok(())
    }

    /// A look for work at this time.
    pub(super) fn work_query(&self) -> WorkQuery {
        WorkQuery {
            now: self.clock.now(),
            daily_cap: self.governance.daily_cap,
        }
    }

    /// Reads something of an agent that must be there.
    pub(super) async fn of_agent<T: Send + 'static>(
        &self,
        agent: AgentId,
        look: impl FnOnce(&mut View<'_>, &AgentId) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let wanted = agent.clone();
        let found = self.store.read(move |view| match view.agent(&wanted)? {
            None => Ok(None),
            Some(_) => look(view, &wanted).map(Some),
        });
        found.await?.ok_or(EngineError::UnknownAgent(agent))
    }

    pub(super) fn seal(
        &self,
        draft: EventDraft,
        run: Option<RunKey>,
        now: Millis,
    ) -> Result<SealedEvent, EngineError> {
        let sealed = SealedEvent::new(draft, now, run, self.entropy.random_bytes());
        // What is announced here is made of words and numbers of our own, which always have a canonical form.
        sealed.map_err(|error| broken(run.unwrap_or(RunKey(Digest::ZERO)), &error))
    }

    /// Writes in one transaction. The caller then signals the work that it caused; where the answer of the database
    /// is lost, everything is looked at, because the commit may stand.
    pub(super) async fn write<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let written = self.store.write(f).await;
        if matches!(written, Err(StoreError::Unreachable(_))) {
            self.signal_everything();
        }
        written
    }

    /// Makes every loop look for work, for a write whose outcome is unknown.
    pub(super) fn signal_everything(&self) {
        self.hub.notify_agent_notice();
        self.work.signal_any();
        self.work.rearm_scheduler();
    }
}

/// Gives an event its place.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    head: &mut LogHead,
    sealed: &SealedEvent,
) -> Result<Event, StoreError> {
    let event = head.chain(agent, sealed.clone());
    tx.append_event(agent, &event)?;
    tx.put_head(agent, head)?;
    Ok(event)
}

/// Records an event that concerns no run. None when there is no such agent.
pub(super) fn announce(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    sealed: &SealedEvent,
) -> Result<Option<Event>, StoreError> {
    let head = tx.lock_head_to_announce(agent)?;
    head.map(|mut head| append(tx, agent, &mut head, sealed))
        .transpose()
}

/// Records an event in the log of each agent that exists.
fn tell_all(tx: &mut Tx<'_>, told: &[(AgentId, SealedEvent)]) -> Result<Vec<(AgentId, Event)>, StoreError> {
    let mut events = Vec::new();
    for (agent, sealed) in told {
        events.extend(announce(tx, agent, sealed)?.map(|event| (agent.clone(), event)));
    }
    Ok(events)
}
