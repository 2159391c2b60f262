//! One daemon of a scenario: the service, the change watcher and the scheduler, with their APIs.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber as _;
use wakeful_core::agent_settings::{Change, SettingsChange};
use wakeful_core::decision::{AnswerInput, Channel, DENY};
use wakeful_core::id::{AgentId, BadId};
use wakeful_core::policy::ForeignTargetPolicy;
use wakeful_core::wake::{AgentControl, Lifecycle};
use wakeful_ports::journal::Journal;
use wakeful_runtime::api::{AgentChange, NewAgent, RuntimeApi, SubscriptionApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::SubscriptionIndex;
use wakeful_runtime::service::{Options, Service, StuckAgents, WriterMode};
use wakeful_runtime::{EngineDefaults, EngineError, Halt};
use wakeful_store::ROWS_MAX;
use wakeful_store::rows::ScheduleFilter;

use super::ports::{AlertClock, AlertSalts, SimEngineFactory, runner};
use super::script::AGENTS;
use super::world::{DaemonEnvironment, DaemonProcess, DaemonState};
use crate::faulty_store::faulty_store;
use crate::warning::OnWarning;

/// Maximum number of clock steps within one script action before the daemon counts as one that never
/// becomes idle.
const STEPS_MAX: u32 = 20_000;

/// How long a scenario has at its end to become idle.
const CALM_MS: u64 = 4 * 3_600_000;

/// Maximum time for a daemon to stop.
const STOP_MS: u64 = 60_000;

/// Why a daemon ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DaemonEnd {
    /// It crashed.
    Died,
    /// It stopped on request.
    Stopped,
    /// It violated an invariant: the invariant's name and the details.
    Wrong(&'static str, String),
}

/// Signals when no task of a runtime has work.
#[derive(Default)]
pub(crate) struct Idle {
    waiting: Mutex<Option<Waker>>,
    rang: AtomicBool,
}

impl Idle {
    /// Signals that no task has work.
    pub(crate) fn ring(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waiting {
            self.rang.store(true, Ordering::Relaxed);
            waker.wake();
        }
    }

    /// Resolves the next time that no other task has work.
    pub(crate) async fn settled(&self) {
        let mut is_first = true;
        poll_fn(|context| {
            if !is_first && self.rang.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            is_first = false;
            self.rang.store(false, Ordering::Relaxed);
            *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

pub(crate) struct SimDaemon {
    pub(crate) being: DaemonProcess,
    pub(crate) api: RuntimeApi,
    pub(crate) alert: SubscriptionApi,
    stuck: StuckAgents,
    tasks: Vec<JoinHandle<()>>,
    idle: Arc<Idle>,
}

impl SimDaemon {
    /// Starts a daemon. Must be called within a runtime that signals `idle`.
    pub(crate) fn open(world: &Arc<DaemonEnvironment>, idle: &Arc<Idle>) -> Self {
        let (switch, halt) = Halt::new();
        let being = DaemonProcess {
            number: world.bear(switch),
            world: Arc::clone(world),
        };
        let chance = crate::rng::Rng::at(world.seed, &format!("store/{}", being.number));
        let store = faulty_store(&world.store, being.clone(), chance);
        let (hub, book): (Arc<Hub>, Arc<SubscriptionIndex>) = Default::default();
        let journal: Arc<dyn Journal> = Arc::new(world.journal.clone());
        let shop = SimEngineFactory {
            being: being.clone(),
            store: store.clone(),
            hub: Arc::clone(&hub),
            halt: halt.clone(),
        };
        let (service, api, stuck) = Service::new(Options {
            store: store.clone(),
            writers: WriterMode::Alone,
            runner: runner(&being),
            engine_factory: Arc::new(shop),
            hub: Arc::clone(&hub),
            halt: halt.clone(),
            clock: Arc::new(AlertClock(being.clone())),
            entropy: Arc::new(AlertSalts(being.clone())),
            governance: EngineDefaults::default(),
        });
        let watcher = api.notice_dispatcher(Arc::clone(&journal), Arc::clone(&book), WriterMode::Alone);
        let timers = api.scheduler(Arc::clone(&journal), WriterMode::Alone);
        let (watched, ticked, listener) = (halt.clone(), halt, being.clone());
        let watching = async move {
            let complain = move |why: &str| {
                if !listener.has_failed() {
                    listener.world.complain(why.to_owned());
                }
            };
            let watching = watcher.run(&watched);
            watching.with_subscriber(OnWarning(complain)).await;
        };
        let tasks = vec![
            tokio::spawn(service.run()),
            tokio::spawn(watching),
            tokio::spawn(async move { timers.run(&ticked).await }),
        ];
        Self {
            alert: api.subscriptions(journal, book),
            being,
            api,
            stuck,
            tasks,
            idle: Arc::clone(idle),
        }
    }

    /// Creates the agents of the scenario.
    pub(crate) async fn people(&self) -> Result<(), DaemonEnd> {
        for name in AGENTS {
            let new = NewAgent::new(agent(name)?, "/somewhere".into());
            self.ask(self.api.agents.create(new)).await?;
        }
        for name in AGENTS {
            let others = AGENTS.into_iter().filter(|other| *other != name);
            let settings = SettingsChange {
                may_start: Change::Set(others.map(str::to_owned).collect()),
                foreign_targets: Change::Set(ForeignTargetPolicy::Allow),
                ..SettingsChange::default()
            };
            self.ask(self.api.agents.change_settings(agent(name)?, settings))
                .await?;
        }
        Ok(())
    }

    /// Waits for an API call. `None` if it was refused or the store failed.
    pub(crate) async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<Option<T>, DaemonEnd> {
        self.answer(call).await.map(Result::ok)
    }

    /// Like [`Self::ask`], but returns the reason of a failure.
    pub(crate) async fn answer<T>(
        &self,
        call: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<Result<T, EngineError>, DaemonEnd> {
        let said = tokio::select! {
            biased;
            said = call => said,
            () = self.idle.settled() => return Err(self.gone("an API call never ends")),
        };
        if let Err(error) = &said
            && !self.may_say(error)
        {
            self.being
                .world
                .complain(format!("the runtime returned {error:?}"));
        }
        Ok(said)
    }

    /// Whether the runtime may return this error.
    fn may_say(&self, error: &EngineError) -> bool {
        match error {
            EngineError::Store(_) => self.being.has_failed(),
            EngineError::Refused(_)
            | EngineError::KeyReused { .. }
            | EngineError::Schedule(_)
            | EngineError::Subscription(_)
            | EngineError::Lifecycle { .. }
            | EngineError::Setting(_)
            | EngineError::UnknownLimit(_)
            | EngineError::TimeInPast(_)
            | EngineError::UnknownTrigger => true,
            EngineError::UnknownAgent(_)
            | EngineError::UnknownRun(_)
            | EngineError::AgentBusy { .. }
            | EngineError::LeaseLost(_)
            | EngineError::AgentExists(_)
            | EngineError::NoEngine { .. }
            | EngineError::BudgetExceeded { .. }
            | EngineError::InvalidState { .. }
            | EngineError::MachineVersion { .. }
            | EngineError::Quarantined { .. }
            | EngineError::CrashLoop { .. }
            | EngineError::Panicked(_)
            | EngineError::NotEnded { .. }
            | EngineError::RetryOpen { .. }
            | EngineError::UnknownStep { .. }
            | EngineError::NotErasable { .. }
            | EngineError::RunErased { .. }
            | EngineError::RunPruned { .. }
            | EngineError::UnknownDecision(_)
            | EngineError::AmbiguousDecision { .. }
            | EngineError::Unanswerable(_)
            | EngineError::NotQuarantined { .. }
            | EngineError::DecisionPending { .. }
            | EngineError::Snapshot(_)
            | EngineError::Braked { .. } => false,
        }
    }

    fn gone(&self, otherwise: &'static str) -> DaemonEnd {
        match self.being.fate() {
            DaemonState::Dead => DaemonEnd::Died,
            DaemonState::Lost => {
                DaemonEnd::Wrong("EverythingComesToRest", "it loops without progress".to_owned())
            }
            DaemonState::Awake => DaemonEnd::Wrong("EverythingComesToRest", otherwise.to_owned()),
        }
    }

    /// Lets every task run until none has work, without advancing time.
    pub(crate) async fn settle(&self) -> Result<(), DaemonEnd> {
        self.idle.settled().await;
        match self.being.fate() {
            DaemonState::Awake => Ok(()),
            DaemonState::Dead | DaemonState::Lost => Err(self.gone("")),
        }
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, ms: u64) -> Result<(), DaemonEnd> {
        let wall = &self.being.world.wall;
        let until_ms = wall.ticks_ms().saturating_add(ms);
        for _ in 0..STEPS_MAX {
            self.settle().await?;
            if self.being.is_halted() {
                return Ok(());
            }
            if !wall.advance(until_ms) && wall.ticks_ms() >= until_ms {
                return self.settle().await;
            }
        }
        let what = format!("it was woken {STEPS_MAX} times in {ms} ms");
        Err(DaemonEnd::Wrong("EverythingComesToRest", what))
    }

    /// Waits until the daemon has stopped on request.
    pub(crate) async fn stop(&self) -> DaemonEnd {
        let wall = &self.being.world.wall;
        let until_ms = wall.ticks_ms().saturating_add(STOP_MS);
        for _ in 0..STEPS_MAX {
            if let Err(gone) = self.settle().await {
                return gone;
            }
            if self.tasks.iter().all(JoinHandle::is_finished) {
                return DaemonEnd::Stopped;
            }
            if !wall.advance(until_ms) {
                break;
            }
        }
        DaemonEnd::Wrong("HaltIsHeard", format!("it has not stopped after {STOP_MS} ms"))
    }

    /// Removes every hold and lets all work finish.
    pub(crate) async fn calm(&self) -> Result<(), DaemonEnd> {
        let channel = Channel::Page;
        self.ask(self.api.brakes.release(None, channel)).await?;
        for name in AGENTS {
            let agent = agent(name)?;
            self.ask(self.api.brakes.release(Some(agent.clone()), channel))
                .await?;
            self.ask(self.api.agents.set_control(agent.clone(), AgentControl::Running))
                .await?;
            self.ask(self.api.agents.change(agent.clone(), AgentChange::Wake))
                .await?;
            let life = AgentChange::Life(Lifecycle::Active);
            self.ask(self.api.agents.change(agent, life)).await?;
        }
        self.end_schedules().await?;
        self.pass(CALM_MS / 2).await?;
        self.decide().await?;
        self.pass(CALM_MS / 2).await?;
        if let Some((agent, why)) = self.stuck.all().first() {
            let what = format!("{agent} is stuck: {why:?}");
            return Err(DaemonEnd::Wrong("EverythingComesToRest", what));
        }
        Ok(())
    }

    /// Answers the open decisions: after a crash, an unknown outcome asks a person.
    async fn decide(&self) -> Result<(), DaemonEnd> {
        let asked = self.ask(self.api.decisions.list(true)).await?.unwrap_or_default();
        for question in asked {
            let reply = AnswerInput {
                option: DENY.to_owned(),
                version: None,
                channel: Channel::Page,
                note: None,
            };
            let name = question.inquiry.decision_id.to_string();
            self.ask(self.api.decisions.answer(name, reply)).await?;
        }
        Ok(())
    }

    async fn end_schedules(&self) -> Result<(), DaemonEnd> {
        let filter = ScheduleFilter {
            agent_id: None,
            after: None,
            limit: ROWS_MAX,
        };
        let all = self
            .ask(self.api.schedules.list(filter))
            .await?
            .unwrap_or_default();
        for timer in all.timers {
            let (name, status) = (
                timer.schedule_id,
                wakeful_core::schedule::ScheduleStatus::Disabled,
            );
            self.ask(self.api.schedules.set_status(name, status)).await?;
        }
        Ok(())
    }
}

pub(crate) fn agent(name: &str) -> Result<AgentId, DaemonEnd> {
    AgentId::parse(name).map_err(|error: BadId| DaemonEnd::Wrong("TheWorldWorks", error.to_string()))
}
