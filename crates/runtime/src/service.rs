//! The daemon's loop: whoever has something to do is driven, one message after the other per agent, many agents at
//! once, within bounds. It sleeps without any timer until it is told that there may be something to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::{Id, JoinError, JoinSet};
use wakeful_core::conversation::{Entry, Role};
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::message::Message;
use wakeful_core::run::Turn;
use wakeful_core::wake::Control;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::model::Model;
use wakeful_ports::records::{Agent, Overview, QueueRow};
use wakeful_ports::store::Store;
use wakeful_ports::tool::ToolHost;

use crate::desk::{Clerk, Work};
use crate::hub::Hub;
use crate::run::{blocks, claim, give_back};
use crate::wake::{Admitted, Limits};
use crate::{Engine, EngineError, Halt, Observer as _};

/// Most agents driven at the same time. Each may hold a process and a model request; the rest waits in line.
pub const AGENTS_AT_ONCE_MAX: usize = 64;

/// How long an agent that could not work rests before it is looked at again without a reason.
const STUCK_LOOK_MS: u64 = 30_000;

/// How often a database that others write to is looked at. Where this process is the only writer, never.
const SHARED_LOOK_MS: u64 = 1_000;

/// Makes engines: which model and which tools a run gets is configuration, and so the binary's business.
pub trait Workshop<S: Store>: Send + Sync + 'static {
    /// Answers model requests.
    type Model: Model;
    /// Carries out actions.
    type Tools: ToolHost;

    /// How the run of this message is limited.
    fn limits(&self, agent: &Agent, message: &Message) -> Limits;

    /// An engine for a run with these limits. The error is why there is none, in the words of the binary.
    fn engine(
        &self,
        agent: &AgentId,
        limits: &Limits,
    ) -> Result<Engine<S, Self::Model, Self::Tools>, EngineError>;
}

/// Whether others write to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// This process alone: whatever happens, it knows.
    Alone,
    /// Others as well: it has to look.
    Many,
}

/// What the service needs.
pub struct Options<S, W> {
    /// Where everything durable is.
    pub store: S,
    /// Whether others write there.
    pub writers: Writers,
    /// This process, as the store knows it.
    pub runner: RunnerId,
    /// Who makes engines. They must share `hub` as observer and `halt`.
    pub workshop: Arc<W>,
    /// Where news is handed over.
    pub hub: Arc<Hub>,
    /// When to come to a stop.
    pub halt: Halt,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where salts come from.
    pub entropy: Arc<dyn Entropy>,
}

/// The loop.
pub struct Service<S, W> {
    store: S,
    writers: Writers,
    runner: RunnerId,
    workshop: Arc<W>,
    halt: Halt,
    clock: Arc<dyn Clock>,
    hub: Arc<Hub>,
    work: Arc<Work>,
    stuck: Stuck,
}

/// Agents whose work cannot go on, and why. Shared with whoever shows it.
#[derive(Debug, Clone, Default)]
pub struct Stuck(Arc<Mutex<BTreeMap<AgentId, Arc<EngineError>>>>);

impl Stuck {
    /// All of them, by name.
    #[must_use]
    pub fn all(&self) -> Vec<(AgentId, Arc<EngineError>)> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.iter()
            .map(|(agent, error)| (agent.clone(), Arc::clone(error)))
            .collect()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn note(&self, agent: &AgentId, result: Result<(), EngineError>) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => drop(map.remove(agent)),
            Err(error) => drop(map.insert(agent.clone(), Arc::new(error))),
        }
    }
}

/// Who is being driven.
#[derive(Default)]
struct Busy {
    tasks: JoinSet<Turned>,
    agents: BTreeSet<AgentId>,
    /// A task that panicked does not say whose it was.
    by_task: BTreeMap<Id, AgentId>,
}

/// An agent and what its turn came to.
type Turned = (AgentId, Result<Did, EngineError>);

/// What one turn of an agent came to.
enum Did {
    /// Something; there may be more.
    Something,
    /// There was nothing to do.
    Nothing,
}

impl<S: Store, W: Workshop<S>> Service<S, W> {
    /// The service, the clerk at its desk, and who is stuck.
    #[must_use]
    pub fn new(options: Options<S, W>) -> (Self, Clerk<S>, Stuck) {
        let work = Arc::new(Work::default());
        let clerk = Clerk::new(
            options.store.clone(),
            Arc::clone(&options.clock),
            options.entropy,
            Arc::clone(&options.hub),
            Arc::clone(&work),
        );
        let stuck = Stuck::default();
        let service = Self {
            store: options.store,
            writers: options.writers,
            runner: options.runner,
            workshop: options.workshop,
            halt: options.halt,
            clock: options.clock,
            hub: options.hub,
            work,
            stuck: stuck.clone(),
        };
        (service, clerk, stuck)
    }

    /// Drives until a stop is asked for and everything under way has come to a safe point. What an earlier life left
    /// open is work like any other, and comes first.
    pub async fn run(self) {
        let (mut busy, mut seen) = (Busy::default(), BTreeMap::new());
        self.work.look();
        while !self.halt.is_set() {
            tokio::select! {
                biased;
                () = self.halt.asked() => break,
                Some(done) = busy.tasks.join_next_with_id(), if !busy.tasks.is_empty() => {
                    self.finished(done, &mut busy);
                }
                () = self.work.there() => self.begin_all(&mut busy).await,
                () = self.look_again() => {
                    self.tell_of_others(&mut seen).await;
                    self.begin_all(&mut busy).await;
                }
            }
        }
        while let Some(done) = busy.tasks.join_next_with_id().await {
            self.finished(done, &mut busy);
        }
    }

    /// Resolves when it is time to look without having been told. Never where nothing can change unheard.
    async fn look_again(&self) {
        match (self.writers, self.stuck.is_empty()) {
            (Writers::Many, _) => self.clock.sleep(SHARED_LOOK_MS).await,
            (Writers::Alone, false) => self.clock.sleep(STUCK_LOOK_MS).await,
            (Writers::Alone, true) => std::future::pending().await,
        }
    }

    /// Tells listeners whose logs have grown, by whomever: what others commit does not pass through this process.
    async fn tell_of_others(&self, seen: &mut BTreeMap<AgentId, u64>) {
        if self.writers == Writers::Alone || self.hub.listeners() == 0 {
            return;
        }
        let Ok(agents) = self.store.read(|view| view.overviews(false)).await else {
            return;
        };
        for agent in agents {
            let (id, last) = (agent.agent.agent_id, agent.last_seq);
            if seen.insert(id.clone(), last) != Some(last) {
                self.hub.saw(&id, &[]);
            }
        }
    }

    /// Begins with every agent that has work and is not being driven, as far as the bound allows.
    async fn begin_all(&self, busy: &mut Busy) {
        // A database that does not answer now is asked again at the next look; on a home's own there is no such.
        let Ok(ready) = self.store.read(|view| view.agents_with_work()).await else {
            return;
        };
        for agent in ready {
            // The end of any task looks again.
            if busy.tasks.len() >= AGENTS_AT_ONCE_MAX {
                return;
            }
            if busy.agents.insert(agent.clone()) {
                let (store, runner) = (self.store.clone(), self.runner.clone());
                let turn = one_turn(store, Arc::clone(&self.workshop), runner, agent.clone());
                let task = busy.tasks.spawn(turn);
                busy.by_task.insert(task.id(), agent);
            }
        }
    }

    fn finished(&self, done: Result<(Id, Turned), JoinError>, busy: &mut Busy) {
        match done {
            Ok((id, (agent, result))) => {
                busy.by_task.remove(&id);
                busy.agents.remove(&agent);
                // There may be more in its queue, or somebody waited for a free place.
                if matches!(result, Ok(Did::Something))
                    || busy.tasks.len().saturating_add(1) >= AGENTS_AT_ONCE_MAX
                {
                    self.work.look();
                }
                self.stuck.note(&agent, result.map(drop));
            }
            // A panic is a bug of ours. The agent is left alone until the next start; the daemon and the others live.
            Err(error) => drop(busy.by_task.remove(&error.id())),
        }
    }
}

/// One turn of one agent: what was left open, else the next message.
async fn one_turn<S: Store, W: Workshop<S>>(
    store: S,
    workshop: Arc<W>,
    runner: RunnerId,
    agent: AgentId,
) -> Turned {
    let result = match turn_of(&store, workshop.as_ref(), &runner, &agent).await {
        // Another runner drives it: nothing is wrong, and nothing is ours to do.
        Err(EngineError::AgentBusy { .. }) => Ok(Did::Nothing),
        result => result,
    };
    (agent, result)
}

async fn turn_of<S: Store, W: Workshop<S>>(
    store: &S,
    workshop: &W,
    runner: &RunnerId,
    agent: &AgentId,
) -> Result<Did, EngineError> {
    let wanted = agent.clone();
    let loaded = store.read(move |view| {
        let overview = view.overview(&wanted)?;
        let next = view.queue(&wanted, 1)?.pop();
        let body = next.as_ref().map(|row| view.blob(&row.message.body));
        let body = body.transpose()?.flatten();
        Ok((overview, next, body))
    });
    let (overview, next, body) = loaded.await?;
    let overview = overview.ok_or_else(|| EngineError::UnknownAgent(agent.clone()))?;
    if let Some(run) = overview.open_run {
        let Some(claimed) = claim(store, runner, run).await? else {
            return Ok(Did::Something);
        };
        return match workshop.engine(agent, &limits_of(claimed.turn())) {
            Ok(engine) => engine.drive(claimed).await.map(|_| Did::Something),
            Err(error) => {
                give_back(store, claimed).await?;
                Err(error)
            }
        };
    }
    match next {
        Some(QueueRow { message, .. }) if overview.agent.control == Control::Running => {
            let blocks = blocks(message.run_key, body.as_deref())?;
            let role = Role::User;
            answer(workshop, &overview, message, Entry { role, blocks }).await
        }
        Some(_) | None => Ok(Did::Nothing),
    }
}

async fn answer<S: Store, W: Workshop<S>>(
    workshop: &W,
    overview: &Overview,
    message: Message,
    opening: Entry,
) -> Result<Did, EngineError> {
    let limits = workshop.limits(&overview.agent, &message);
    let engine = workshop.engine(&overview.agent.agent_id, &limits)?;
    match engine.wake_queued(message, opening, limits).await {
        Ok(Admitted::New(claimed)) => engine.drive(claimed).await.map(|_| Did::Something),
        Ok(Admitted::Before(_)) => Ok(Did::Something),
        // Paused, or begun by another runner, since we looked: its verdict is recorded, and the message waits.
        Err(EngineError::Refused(_)) => Ok(Did::Nothing),
        Err(error) => Err(error),
    }
}

/// The limits under which a run was begun.
fn limits_of(turn: &Turn) -> Limits {
    Limits {
        model_ref: turn.model_ref.clone(),
        max_rounds: turn.max_rounds,
        workspace: turn.workspace.clone(),
        deny_tools: turn.deny_tools.clone(),
    }
}
