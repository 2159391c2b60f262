//! State shared by the API services: the store, and how the services write to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::notice::AgentNotice;
use wakeful_core::report::payload::{AgentStateChanged, BrakeChanged, Payload};
use wakeful_core::report::{Event, EventDraft, LogHead, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::snapshot::{NoSnapshots, WorkspaceSnapshots};
use wakeful_store::rows::{Agent, AgentOutboxRow};
use wakeful_store::{Store, StoreError, Tx, View, WorkQuery};

use super::message::MessageReceipt;
use super::start::StartAtOnce;
use super::work_signal::WorkSignal;
use crate::admission::AdmissionOutcome;
use crate::hub::Hub;
use crate::run::broken;
use crate::{EngineDefaults, EngineError, Observer as _};

/// Maximum number of agents whose logs record a brake in the brake's own transaction. Each log takes well
/// under a millisecond.
const BRAKE_EVENTS_PER_TX_MAX: usize = 500;

/// Dependencies of the API services. Cheap to clone.
#[derive(Clone)]
pub struct ApiContext {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// Source of salts and fresh ids.
    pub entropy: Arc<dyn Entropy>,
    /// Publishes committed events.
    pub hub: Arc<Hub>,
    /// Defaults for everything that is not configured.
    pub governance: EngineDefaults,
    /// The states of workspaces before and after runs.
    pub snapshots: Arc<dyn WorkspaceSnapshots>,
}

impl ApiContext {
    /// A context with default settings and a hub without listeners.
    pub fn new(store: Store, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            store,
            clock,
            entropy,
            hub: Arc::default(),
            governance: EngineDefaults::default(),
            snapshots: Arc::new(NoSnapshots),
        }
    }
}

/// State shared by all services.
pub(crate) struct Shared {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) hub: Arc<Hub>,
    pub(super) work: Arc<WorkSignal>,
    pub(super) governance: EngineDefaults,
    pub(super) snapshots: Arc<dyn WorkspaceSnapshots>,
    /// Held while a stop request is stored or a brake is released, so that one does not undo the other.
    pub(super) stop_lock: Arc<tokio::sync::Mutex<()>>,
    pub(super) ingress: Ingress,
}

/// The origin of messages.
pub(super) enum Ingress {
    /// The API of a daemon.
    Daemon,
    /// A separate process without a daemon.
    Process,
    /// A separate process that starts the run at once.
    StartAtOnce(Box<StartAtOnce>),
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
            snapshots: context.snapshots,
            stop_lock: Arc::default(),
            ingress,
        }
    }

    /// The same state for messages of another origin.
    pub(super) fn with_ingress(&self, ingress: Ingress) -> Self {
        Self {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            hub: Arc::clone(&self.hub),
            work: Arc::clone(&self.work),
            governance: self.governance,
            snapshots: Arc::clone(&self.snapshots),
            stop_lock: Arc::clone(&self.stop_lock),
            ingress,
        }
    }

    /// Applies a change that affects all agents, and records it in their logs in the same transaction.
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

    /// Applies a change to one agent or to all, and records it in their logs in the same transaction. With
    /// very many agents, the remaining logs are written afterwards, so that a brake takes effect at once.
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
        // Sorted by id, so that concurrent transactions lock heads in the same order and do not deadlock.
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
                (true, announce_to_all(tx, &first)?)
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
            self.show(self.write(move |tx| announce_to_all(tx, &piece)).await?);
        }
        Ok(())
    }

    fn show(&self, events: Vec<(AgentId, Event)>) {
        for (agent, event) in events {
            self.hub.on_events(&agent, &[event]);
        }
    }

    /// Changes an agent and records the change. Records nothing if the agent is unchanged or the change is
    /// refused.
    pub(super) async fn change_agent(
        &self,
        agent_id: AgentId,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>, &Agent) -> Result<Result<bool, EngineError>, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        self.change_agent_with(agent_id, move |tx, agent| {
            let changed = change(tx, agent)?;
            Ok(changed.map(|is_changed| is_changed.then(|| payload.clone())))
        })
        .await
    }

    /// Changes an agent and records the payload that the change returns. Records nothing if it returns none
    /// or refuses.
    pub(super) async fn change_agent_with<F>(&self, agent_id: AgentId, change: F) -> Result<(), EngineError>
    where
        F: Fn(&mut Tx<'_>, &Agent) -> Result<Result<Option<AgentStateChanged>, EngineError>, StoreError>
            + Send
            + 'static,
    {
        let (now, salt) = (self.clock.now(), self.entropy.random_bytes());
        let wanted = agent_id.clone();
        let told = self.write(move |tx| {
            // Lock the head first, as in every transition, so that concurrent transactions do not deadlock.
            let head = tx.lock_head_to_announce(&wanted)?;
            let (Some(mut head), Some(agent)) = (head, tx.agent(&wanted)?) else {
                return Ok(None);
            };
            let payload = match change(tx, &agent)? {
                Err(error) => return Ok(Some(Err(error))),
                Ok(None) => return Ok(Some(Ok(None))),
                Ok(Some(payload)) => payload,
            };
            // These payloads contain only text and numbers, which always have a canonical form.
            let sealed = SealedEvent::new(EventDraft::new(payload), now, None, salt);
            let sealed = sealed.map_err(|_| StoreError::Malformed("event.payload"))?;
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
        // Signal even without a change: the caller wants the agent to be checked.
        self.work.signal_agent(agent_id);
        Ok(())
    }

    /// A query for work that is due now.
    pub(super) fn work_query(&self) -> WorkQuery {
        WorkQuery {
            now: self.clock.now(),
            daily_cap: self.governance.daily_cap,
        }
    }

    /// Reads data of an agent, or returns an error if the agent does not exist.
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
        // These payloads contain only text and numbers produced by Wakeful, which always have a canonical
        // form.
        sealed.map_err(|error| broken(run.unwrap_or(RunKey(Digest::ZERO)), &error))
    }

    /// Writes in one transaction. The caller then signals the work that it caused. If the database's
    /// response is lost, all loops are signalled, because the commit may have succeeded.
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

    /// Converts an admission outcome into the caller's result and signals the service loop.
    pub(super) fn sent(
        &self,
        agent: AgentId,
        run_key: RunKey,
        outcome: AdmissionOutcome,
    ) -> Result<MessageReceipt, EngineError> {
        match outcome {
            AdmissionOutcome::New(event) => {
                self.hub.on_events(&agent, &[event]);
                self.work.signal_agent(agent);
                Ok(MessageReceipt {
                    run_key,
                    is_new: true,
                })
            }
            AdmissionOutcome::Known => {
                // The first sender may have died before it signalled the loop.
                self.work.signal_agent(agent);
                Ok(MessageReceipt {
                    run_key,
                    is_new: false,
                })
            }
            AdmissionOutcome::KeyReused => Err(EngineError::KeyReused { run: run_key }),
            AdmissionOutcome::Refused(refusal) => Err(refusal.into()),
            AdmissionOutcome::Unknown => Err(EngineError::UnknownAgent(agent)),
        }
    }

    /// Makes every loop look for work after a write whose outcome is unknown.
    pub(super) fn signal_everything(&self) {
        self.hub.notify_agent_notice();
        self.work.signal_any();
        self.work.rearm_scheduler();
    }
}

/// Assigns the next sequence number to an event and appends it.
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

/// Records an event that belongs to no run. Returns none if the agent does not exist.
pub(super) fn announce(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    sealed: &SealedEvent,
) -> Result<Option<Event>, StoreError> {
    let head = tx.lock_head_to_announce(agent)?;
    head.map(|mut head| append(tx, agent, &mut head, sealed))
        .transpose()
}

/// Records an event in the log of each existing agent.
fn announce_to_all(
    tx: &mut Tx<'_>,
    told: &[(AgentId, SealedEvent)],
) -> Result<Vec<(AgentId, Event)>, StoreError> {
    let mut events = Vec::new();
    for (agent, sealed) in told {
        events.extend(announce(tx, agent, sealed)?.map(|event| (agent.clone(), event)));
    }
    Ok(events)
}
