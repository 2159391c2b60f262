//! The daemon's loop: whoever has something to do is driven, one message after the other per agent, many agents at
//! once, within bounds. It sleeps without any timer until it is told that there may be something to do.

mod stuck;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::{Id, JoinError, JoinSet};
use wakeful_core::budget::Day;
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::line::{Ended, Line};
use wakeful_core::message::Message;
use wakeful_core::wake::Refusal;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::model::Model;
use wakeful_ports::planted;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::Agent;
use wakeful_store::{Store, View};

pub use self::stuck::Stuck;
use crate::absorb::{self, AgentWork, NextMessage, Opening};
use crate::api::{ApiContext, RuntimeApi, Work};
use crate::hub::Hub;
use crate::run::{Claimed, DriveOutcome, claim, give_back, move_aside, poisoned};
use crate::wake::{Admitted, Limits};
use crate::{Engine, EngineError, Governance, Halt, Observer as _, Waiting};

/// Most agents driven at the same time. Each may hold a process and a model request; the rest waits in line.
pub const AGENTS_AT_ONCE_MAX: usize = 64;

/// How often a database that others write to is looked at. Where this process is the only writer, never.
const SHARED_LOOK_MS: u64 = 1_000;

/// When a look that failed is tried again.
const FAILED_LOOK_MS: u64 = 1_000;

/// As long as more than these are known to have work, nobody asks who else has.
const AGENTS_KNOWN_MIN: usize = 4 * AGENTS_AT_ONCE_MAX;

/// The longest sleep before somebody who is due: who trusts a clock for longer is fooled when it is set.
const DUE_LOOK_MS_MAX: u64 = 60_000;

/// Makes engines: which model and which tools a run gets is configuration, and so the binary's business.
pub trait Workshop: Send + Sync {
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
    ) -> Result<Engine<Self::Model, Self::Tools>, EngineError>;

    /// An engine that can do nothing but end a run: for one whose model or folder is gone and that a person wants to
    /// see ended. What comes with it is kept until the run has ended.
    fn ending(&self, agent: &AgentId) -> Result<Ending<Self::Model, Self::Tools>, EngineError>;
}

/// An engine that ends a run, and what must live as long as it.
pub type Ending<M, T> = (Engine<M, T>, Box<dyn Send>);

/// Whether others write to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// This process alone: whatever happens, it knows.
    Alone,
    /// Others as well: it has to look.
    Many,
}

/// What the service needs.
pub struct Options<W> {
    /// Where everything durable is.
    pub store: Store,
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
    /// What holds where nobody said otherwise.
    pub governance: Governance,
}

/// The loop.
pub struct Service<W> {
    store: Store,
    writers: Writers,
    runner: RunnerId,
    workshop: Arc<W>,
    halt: Halt,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    hub: Arc<Hub>,
    work: Arc<Work>,
    stuck: Stuck,
}

/// Who is being driven, and who waits for a place.
#[derive(Default)]
struct Busy {
    tasks: JoinSet<Turned>,
    line: Line,
    /// Who had work at the last look.
    ready: Vec<AgentId>,
    /// A task that panicked does not say whose it was.
    by_task: BTreeMap<Id, AgentId>,
    /// When to look without having been told: where others write, or when a look has failed.
    look_at: Option<u64>,
    /// Whether the last look failed.
    has_failed: bool,
    /// When the next run that rests is due.
    due_at: Option<u64>,
    /// How far each log had grown when listeners were last told.
    told: BTreeMap<AgentId, u64>,
}

/// An agent and what its turn came to.
type Turned = (AgentId, Result<Option<DriveOutcome>, EngineError>);

impl<W: Workshop + 'static> Service<W> {
    /// The service, its API, and the runs that are stuck.
    #[must_use]
    pub fn new(options: Options<W>) -> (Self, RuntimeApi, Stuck) {
        let api = RuntimeApi::new(ApiContext {
            store: options.store.clone(),
            clock: Arc::clone(&options.clock),
            entropy: Arc::clone(&options.entropy),
            hub: Arc::clone(&options.hub),
            governance: options.governance,
        });
        let stuck = Stuck::default();
        let service = Self {
            store: options.store,
            writers: options.writers,
            runner: options.runner,
            workshop: options.workshop,
            halt: options.halt,
            clock: options.clock,
            entropy: options.entropy,
            hub: options.hub,
            work: api.work(),
            stuck: stuck.clone(),
        };
        (service, api, stuck)
    }

    /// Drives until a stop is asked for and everything under way has come to a safe point. What an earlier life left
    /// open is work like any other, and comes first.
    pub async fn run(self) {
        let mut busy = Busy::default();
        self.work.look();
        while !self.halt.is_set() {
            // Fixed beforehand: what happens meanwhile does not put it off.
            let moments = [busy.look_at, busy.due_at, busy.line.next_look()];
            let moment = moments.into_iter().flatten().min();
            // A look that failed is tried again at its own moment: whoever has rested enough would bring it about at once,
            // again and again, as long as the database is away.
            let moment = if busy.has_failed { busy.look_at } else { moment };
            tokio::select! {
                biased;
                () = self.halt.asked() => break,
                Some(done) = busy.tasks.join_next_with_id(), if !busy.tasks.is_empty() => {
                    self.finished(done, &mut busy);
                }
                () = self.work.there() => self.begin_all(&mut busy).await,
                () = self.hub.money_settled(), if busy.line.waits_for_money() => {
                    busy.line.rouse_waiting_for_money();
                    self.begin_all(&mut busy).await;
                }
                () = self.time_to_look(moment) => {
                    (busy.look_at, busy.due_at) = (None, None);
                    self.tell_of_others(&mut busy).await;
                    self.begin_all(&mut busy).await;
                }
            }
        }
        while let Some(done) = busy.tasks.join_next_with_id().await {
            self.finished(done, &mut busy);
        }
    }

    /// Resolves at a moment. Never where there is none, because nothing can change unheard.
    async fn time_to_look(&self, moment: Option<u64>) {
        match moment {
            Some(at) => self.clock.sleep(at.saturating_sub(self.clock.ticks_ms())).await,
            None => std::future::pending().await,
        }
    }

    /// Tells listeners whose logs have grown, by whomever: what others commit does not pass through this process.
    async fn tell_of_others(&self, busy: &mut Busy) {
        if self.writers == Writers::Alone || self.hub.listeners() == 0 {
            return;
        }
        let Ok(heads) = self.store.read(|view| view.heads()).await else {
            return;
        };
        for (agent, last) in heads {
            if busy.told.insert(agent.clone(), last) != Some(last) {
                self.hub.saw(&agent, &[]);
            }
        }
    }

    /// Begins with every agent that has work and is not being driven, as far as the places allow.
    async fn begin_all(&self, busy: &mut Busy) {
        let (wall, now) = (self.clock.now(), self.clock.ticks_ms());
        let read = move |view: &mut View<'_>| {
            let due = [view.next_due(wall)?, view.next_message_due(wall)?];
            Ok((view.agents_with_work(wall)?, due.into_iter().flatten().min()))
        };
        let read = self.store.read(read).await;
        let next = match (self.writers, &read) {
            (_, Err(_)) => Some(now.saturating_add(FAILED_LOOK_MS)),
            (Writers::Many, Ok(_)) => Some(now.saturating_add(SHARED_LOOK_MS)),
            (Writers::Alone, Ok(_)) => None,
        };
        // A moment that is fixed already stays: where much happens here, others must be heard of as well.
        busy.look_at = next.map(|next| busy.look_at.map_or(next, |fixed| fixed.min(next)));
        busy.has_failed = read.is_err();
        let Ok((ready, due)) = read else { return };
        // Looked at once more before it comes, if it is far: the clock may be set meanwhile.
        busy.due_at = due.map(|due| now.saturating_add(due.since(wall).clamp(1, DUE_LOOK_MS_MAX)));
        self.stuck.retain(&ready);
        self.work.roused().iter().for_each(|agent| busy.line.rouse(agent));
        busy.line.day_is(Day::of(wall), now);
        busy.ready = ready;
        self.begin(busy);
    }

    /// Begins with whoever is next among those who had work at the last look.
    fn begin(&self, busy: &mut Busy) {
        for agent in busy
            .line
            .choose(&busy.ready, self.clock.ticks_ms(), AGENTS_AT_ONCE_MAX)
        {
            let (store, runner) = (self.store.clone(), self.runner.clone());
            let aside = Aside {
                clock: Arc::clone(&self.clock),
                entropy: Arc::clone(&self.entropy),
                hub: Arc::clone(&self.hub),
                forgives: self.stuck.is_of_place(&agent),
            };
            let turn = one_turn(store, Arc::clone(&self.workshop), runner, (agent.clone(), aside));
            let task = busy.tasks.spawn(turn);
            busy.by_task.insert(task.id(), agent);
        }
    }

    fn finished(&self, done: Result<(Id, Turned), JoinError>, busy: &mut Busy) {
        let (id, turned) = match done {
            Ok((id, turned)) => (id, Some(turned)),
            // A panic is a bug of ours; the daemon and the others live, and the agent says what happened.
            Err(error) => (error.id(), None),
        };
        let Some(agent) = busy.by_task.remove(&id) else {
            return;
        };
        let panicked = || Err(EngineError::Panicked(agent.clone()));
        let result = turned.map_or_else(panicked, |(_, result)| result);
        let how = match &result {
            Ok(Some(DriveOutcome::Ended | DriveOutcome::Stopped)) => Ended::Worked,
            // Whoever releases a brake has the agent looked at again.
            Ok(Some(DriveOutcome::Waiting(_) | DriveOutcome::Braked) | None) => Ended::Idle,
            Err(EngineError::BudgetExceeded { exceeded, .. }) => Ended::Waits {
                // A cap that is raised and a request that is settled here rouse it; those of others are not heard.
                ms: exceeded.look_again_ms(self.clock.now(), self.writers == Writers::Alone),
                day: exceeded.day,
            },
            Err(_) => Ended::Stuck,
        };
        // The time until which it waits, and whether an answer came since it looked for one, another look tells.
        if matches!(result, Ok(Some(DriveOutcome::Waiting(_)))) {
            self.work.look();
        }
        let is_worth_a_look = busy.line.ended(&agent, how, self.clock.ticks_ms());
        // Who rests has work: without it, it would rest no more.
        if how == Ended::Idle && !busy.line.rests(&agent) {
            busy.ready.retain(|ready| *ready != agent);
        }
        if is_worth_a_look {
            // Where very many have work, asking the database who after every turn would cost more than the turn.
            if busy.ready.len() > AGENTS_KNOWN_MIN {
                self.begin(busy);
            } else {
                self.work.look();
            }
        }
        self.stuck.note(&agent, result.map(drop));
    }
}

/// What it takes to judge why a run does not move.
struct Aside {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    hub: Arc<Hub>,
    /// Whether it did not move last time for what lies in the place: then that does not count.
    forgives: bool,
}

impl Aside {
    /// Moves the agent's open run aside if it can never go on. Then the agent does something else.
    async fn judge(
        &self,
        store: &Store,
        agent: &AgentId,
        error: EngineError,
    ) -> Result<DriveOutcome, EngineError> {
        let Some(run) = poisoned(&error) else {
            return Err(error);
        };
        let now = (self.clock.now(), self.entropy.bytes32());
        match move_aside(store, run, &error, now).await? {
            Some(event) => {
                self.hub.saw(agent, &[event]);
                Ok(DriveOutcome::Ended)
            }
            None => Err(error),
        }
    }
}

/// One turn of one agent: what was left open, else the next message.
async fn one_turn<W: Workshop>(
    store: Store,
    workshop: Arc<W>,
    runner: RunnerId,
    (agent, aside): (AgentId, Aside),
) -> Turned {
    let clock = aside.clock.as_ref();
    let result = match work_once(
        &store,
        workshop.as_ref(),
        &runner,
        (&agent, clock, aside.forgives),
    )
    .await
    {
        Err(error) => aside.judge(&store, &agent, error).await.map(Some),
        done => done,
    };
    let result = match result {
        // Another runner drives it, or another run has come first: nothing is wrong, and nothing is ours to do.
        Err(EngineError::AgentBusy { .. } | EngineError::Refused(Refusal::RunOpen { .. })) => Ok(None),
        result => result,
    };
    (agent, result)
}

/// One turn of one agent: what was left open, else the next message. None where nothing may begin.
pub async fn work_once<W: Workshop>(
    store: &Store,
    workshop: &W,
    runner: &RunnerId,
    (agent, clock, forgives): (&AgentId, &dyn Clock, bool),
) -> Result<Option<DriveOutcome>, EngineError> {
    let (wanted, now) = (agent.clone(), clock.now());
    let found = store.read(move |view| absorb::find(view, &wanted, now)).await?;
    match found {
        AgentWork::Unknown => Err(EngineError::UnknownAgent(agent.clone())),
        AgentWork::Nothing => Ok(None),
        AgentWork::Run(_) if planted::bug("open_run_left") => Ok(None),
        AgentWork::Run(run) => {
            if forgives {
                store.write(move |tx| tx.forget_claims(&run)).await?;
            }
            let Some(claimed) = claim(store, runner, run).await? else {
                return Ok(Some(DriveOutcome::Ended));
            };
            match workshop.engine(agent, &Limits::of(claimed.turn())) {
                Ok(engine) => away(engine).drive(claimed).await.map(Some),
                Err(error) => without_engine(store, workshop, claimed, error).await.map(Some),
            }
        }
        AgentWork::Message(next) => answer(workshop, *next).await,
    }
}

/// An open run whose engine cannot be had: it waits, unless somebody asked for its end, which needs none.
async fn without_engine<W: Workshop>(
    store: &Store,
    workshop: &W,
    claimed: Box<Claimed>,
    error: EngineError,
) -> Result<DriveOutcome, EngineError> {
    let run = claimed.run_key();
    let wanted = store.read(move |view| view.cancel_requested(&run)).await;
    let ending = match wanted {
        Ok(true) => workshop.ending(claimed.agent_id()).ok(),
        Ok(false) | Err(_) => None,
    };
    match ending {
        Some((engine, _kept)) => engine.drive(claimed).await,
        None => {
            give_back(store, claimed).await?;
            Err(error)
        }
    }
}

async fn answer<W: Workshop>(workshop: &W, next: NextMessage) -> Result<Option<DriveOutcome>, EngineError> {
    let NextMessage {
        agent,
        message,
        body,
        beside,
    } = next;
    let opening = Opening::of(&message, body.as_deref(), beside)?;
    let limits = workshop.limits(&agent, &message);
    let engine = away(workshop.engine(&agent.agent_id, &limits)?);
    match engine.wake_queued(message, opening, limits).await {
        Ok(Admitted::New(claimed)) => engine.drive(claimed).await.map(Some),
        Ok(Admitted::Before(_)) => Ok(Some(DriveOutcome::Ended)),
        // Paused, or begun by another runner, since we looked: its verdict is recorded, and the message waits.
        Err(EngineError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Nobody sits in front of it: who waits long gives its place to others.
fn away<M, T>(engine: Engine<M, T>) -> Engine<M, T> {
    Engine {
        waiting: Waiting::Away,
        ..engine
    }
}
