//! Messages, runs, agents and events.

use std::sync::Arc;

use wakeful_core::conversation::Usage;
use wakeful_core::id::{AgentId, SessionId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::notice::Telling;
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_core::report::{Draft, Event, Head, Sealed};
use wakeful_core::run::preview;
use wakeful_core::wake::{Control, Lifecycle, Refusal};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::journal::Journal;
use wakeful_store::rows::{Agent, EventRow, Overview, QueueRow, RunFilter, RunRow, TellingRow};
use wakeful_store::{Store, StoreError, Tx, View};

use super::planted_bugs;
use super::work_signal::Work;
use super::{AgentView, NewAgent, Post, Posted, Previewed, SESSION};
use crate::cause::{AdmissionOutcome, PreparedAdmission};
use crate::hub::{Hub, Listener};
use crate::notice::{Book, Watcher};
use crate::service::Writers;
use crate::stored_run::{self, StoredRun};
use crate::wake::{admitted_event, opening};
use crate::{EngineError, Governance, Observer as _};
use wakeful_core::problem::Problem;

/// What the services share. Cloning it is cheap.
#[derive(Clone)]
pub struct ApiContext {
    /// Where everything durable is.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where salts and fresh ids come from.
    pub entropy: Arc<dyn Entropy>,
    /// Who is told of what was committed.
    pub hub: Arc<Hub>,
    /// What holds where no setting says otherwise.
    pub governance: Governance,
}

impl ApiContext {
    /// With the default settings, and a hub that has no listeners.
    pub fn new(store: Store, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            store,
            clock,
            entropy,
            hub: Arc::default(),
            governance: Governance::default(),
        }
    }
}

/// Messages, runs, agents and events.
pub struct RuntimeApi {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) hub: Arc<Hub>,
    pub(super) work: Arc<Work>,
    pub(super) governance: Governance,
    /// Held while a stop request is stored or a brake released: one must not undo the other.
    pub(super) stop_lock: Arc<tokio::sync::Mutex<()>>,
    door: Door,
}

/// Where messages come from.
#[derive(Debug, Clone, Copy)]
enum Door {
    /// The API of a daemon.
    Daemon,
    /// A process of its own, beside no daemon.
    Process,
}

impl RuntimeApi {
    /// The services of a daemon.
    #[must_use]
    pub fn new(context: ApiContext) -> Self {
        Self {
            store: context.store,
            clock: context.clock,
            entropy: context.entropy,
            hub: context.hub,
            work: Arc::default(),
            governance: context.governance,
            stop_lock: Arc::default(),
            door: Door::Daemon,
        }
    }

    /// The services of a process without a daemon loop: messages wait for one that has it.
    #[must_use]
    pub fn alone(context: ApiContext) -> Self {
        Self {
            door: Door::Process,
            ..Self::new(context)
        }
    }

    /// How the loop that drives agents learns of work.
    pub(crate) fn work(&self) -> Arc<Work> {
        Arc::clone(&self.work)
    }

    /// Makes wakes of changes for the service.
    pub fn watcher(&self, journal: Arc<dyn Journal>, book: Arc<Book>, writers: Writers) -> Watcher {
        Watcher {
            store: self.store.clone(),
            journal,
            book,
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            hub: Arc::clone(&self.hub),
            work: Arc::clone(&self.work),
            writers,
        }
    }

    /// Puts a message into an agent's queue. It is durable when this returns.
    pub async fn post(&self, post: Post) -> Result<Posted, EngineError> {
        let now = self.clock.now();
        let Post {
            agent,
            turn,
            text,
            attachments,
            wishes,
            priority,
        } = planted_bugs::post(post, now);
        let (_, body) = opening(&text, attachments);
        let session = SessionId::new(SESSION);
        let message = Message::from_operator(agent.clone(), &session, &turn, body.hash(), now);
        let message = match self.door {
            Door::Daemon => message.through_api(wishes),
            Door::Process => message.through_cli(wishes),
        };
        let message = message.with_priority(priority);
        let run_key = message.run_key;
        if let Some(posted) = planted_bugs::dropped(run_key, now) {
            return Ok(posted);
        }
        let sealed = self.seal(admitted_event(&message, &text), Some(run_key), now)?;
        let body = self.store.pack(body).await?;
        let arrival = PreparedAdmission::plain(message, body, sealed);
        match self.write(move |tx| arrival.commit(tx)).await? {
            AdmissionOutcome::New(event) => {
                self.hub.saw(&agent, &[event]);
                self.work.look_at(agent);
                Ok(Posted {
                    run_key,
                    is_new: true,
                })
            }
            AdmissionOutcome::Known => {
                // Whoever sent it first may have gone away before anybody was told.
                self.work.look_at(agent);
                Ok(Posted {
                    run_key,
                    is_new: false,
                })
            }
            AdmissionOutcome::KeyReused => Err(EngineError::KeyReused { run: run_key }),
            AdmissionOutcome::Refused(refusal) => Err(refusal.into()),
            AdmissionOutcome::Unknown => Err(EngineError::UnknownAgent(agent)),
        }
    }

    /// Makes an agent with an empty log. [`EngineError::AgentExists`] when the name is taken.
    pub async fn create_agent(&self, new: NewAgent) -> Result<AgentView, EngineError> {
        let agent_id = new.agent_id.clone();
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
        let made = self.write(move |tx| {
            if !tx.create_agent(&agent)? {
                return Ok(None);
            }
            announce(tx, &agent.agent_id, &sealed)
        });
        match made.await? {
            Some(event) => self.hub.saw(&agent_id, &[event]),
            None => return Err(EngineError::AgentExists(agent_id)),
        }
        self.agent(agent_id).await
    }

    /// Pauses an agent, stops it, or lets it go on.
    pub async fn set_control(&self, agent: AgentId, control: Control) -> Result<AgentView, EngineError> {
        let payload = AgentStateChanged::Control { control };
        self.try_change(agent, payload, move |tx, agent| {
            if agent.lifecycle == Lifecycle::Destroyed {
                return Ok(Err(Refusal::Destroyed.into()));
            }
            if agent.control == control {
                return Ok(Ok(false));
            }
            tx.set_control(&agent.agent_id, control).map(Ok)
        })
        .await
    }

    /// Changes something about an agent and announces it; nothing is announced where nothing changed.
    pub(super) async fn change(
        &self,
        agent_id: AgentId,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>, &Agent) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<AgentView, EngineError> {
        let change = move |tx: &mut Tx<'_>, agent: &Agent| change(tx, agent).map(Ok);
        self.try_change(agent_id, payload, change).await
    }

    /// The same for what the agent may stand in the way of: then nothing is written.
    pub(super) async fn try_change(
        &self,
        agent_id: AgentId,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>, &Agent) -> Result<Result<bool, EngineError>, StoreError> + Send + 'static,
    ) -> Result<AgentView, EngineError> {
        let draft = Draft::new(payload);
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
            let telling = Telling::agent_changed(&wanted);
            tx.tell(&TellingRow::new(
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
            Some(event) => self.hub.saw(&agent_id, &[event]),
        }
        // Also where nothing changed: somebody wants to see the agent move.
        self.work.look_at(agent_id.clone());
        self.agent(agent_id).await
    }

    /// One agent, listed or not.
    pub async fn agent(&self, agent: AgentId) -> Result<AgentView, EngineError> {
        let wanted = agent.clone();
        let found = self.store.read(move |view| {
            let overview = view.overview(&wanted)?;
            overview.map(|overview| with_last_run(view, overview)).transpose()
        });
        found.await?.ok_or(EngineError::UnknownAgent(agent))
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

    /// Why the storage refused the last write, until one has worked again. Known without asking it.
    #[must_use]
    pub fn trouble(&self) -> Option<Problem> {
        self.store.trouble().as_ref().map(Problem::from)
    }

    /// All agents by name; private ones only when asked for.
    pub async fn agents(&self, with_private: bool) -> Result<Vec<AgentView>, EngineError> {
        let all = self.store.read(move |view| {
            let overviews = view.overviews(with_private)?;
            let all = overviews
                .into_iter()
                .map(|overview| with_last_run(view, overview));
            all.collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(all.await?)
    }

    /// What waits for an agent, next first.
    pub async fn queue(&self, agent: AgentId, limit: u32) -> Result<Vec<Previewed<QueueRow>>, EngineError> {
        self.of_agent(agent, move |view, agent| {
            let rows = view.queue(agent, limit)?;
            let waiting = rows.into_iter().map(|row| {
                let preview = stored_run::text(view, &row.message)?.map(|text| preview(&text));
                Ok(Previewed { row, preview })
            });
            waiting.collect()
        })
        .await
    }

    /// Runs, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<Previewed<RunRow>>, EngineError> {
        let named = filter.agent_id.clone();
        let found = self.store.read(move |view| {
            if let Some(agent) = &filter.agent_id
                && view.agent(agent)?.is_none()
            {
                return Ok(None);
            }
            let rows = view.runs(&filter)?;
            let runs = rows.into_iter().map(|row| with_preview(view, row));
            runs.collect::<Result<Vec<_>, StoreError>>().map(Some)
        });
        match (found.await?, named) {
            (Some(runs), _) => Ok(runs),
            (None, Some(agent)) => Err(EngineError::UnknownAgent(agent)),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// One run with everything that happened in it.
    pub async fn run(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        stored_run::load(&self.store, run).await
    }

    /// Runs whose keys begin with these hex digits, those that have not begun among them: at most two, which is
    /// enough to know it is ambiguous.
    pub async fn runs_with_prefix(&self, hex_prefix: String) -> Result<Vec<Previewed<RunRow>>, EngineError> {
        let found = self.store.read(move |view| {
            let mut runs = Vec::new();
            for key in view.runs_with_prefix(&hex_prefix)? {
                let row = match view.run(&key)? {
                    Some(row) => Some(row),
                    None => stored_run::cause(view, &key)?
                        .map(|cause| stored_run::without_run(&cause.message, cause.wake.as_ref())),
                };
                runs.extend(row.map(|row| with_preview(view, row)).transpose()?);
            }
            Ok(runs)
        });
        Ok(found.await?)
    }

    /// Reads something small. One who waits for it finds out whether the database answers.
    pub async fn probe(&self) -> Result<(), EngineError> {
        let read = self.store.read(|view| view.care());
        Ok(read.await.map(drop)?)
    }

    /// Events of an agent after a number, oldest first.
    pub async fn events_after(
        &self,
        agent: AgentId,
        seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, EngineError> {
        self.of_agent(agent, move |view, agent| view.events(agent, seq, limit))
            .await
    }

    /// The newest events of an agent before a number, oldest first.
    pub async fn events_before(
        &self,
        agent: AgentId,
        seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, EngineError> {
        self.of_agent(agent, move |view, agent| view.events_before(agent, seq, limit))
            .await
    }

    /// Listens to what is committed and said from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        self.hub.listen()
    }

    /// How many listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.hub.listeners()
    }
}

/// Gives an event its place.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    head: &mut Head,
    sealed: &Sealed,
) -> Result<Event, StoreError> {
    let event = head.chain(agent, sealed.clone());
    tx.append_event(agent, &event)?;
    tx.put_head(agent, head)?;
    Ok(event)
}

/// Tells of something that concerns no run. None when there is no such agent.
pub(super) fn announce(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    sealed: &Sealed,
) -> Result<Option<Event>, StoreError> {
    let head = tx.lock_head_to_announce(agent)?;
    head.map(|mut head| append(tx, agent, &mut head, sealed))
        .transpose()
}

fn with_last_run(view: &mut View<'_>, overview: Overview) -> Result<AgentView, StoreError> {
    let row = match overview.last_run {
        Some(run) => view.run(&run)?,
        None => None,
    };
    let last_run = row.map(|row| with_preview(view, row)).transpose()?;
    Ok(AgentView { overview, last_run })
}

fn with_preview(view: &mut View<'_>, row: RunRow) -> Result<Previewed<RunRow>, StoreError> {
    let text = match view.message(&row.run_key)? {
        Some(message) => stored_run::text(view, &message)?,
        None => None,
    };
    let preview = text.map(|text| preview(&text));
    Ok(Previewed { row, preview })
}
