//! The ports of an engine as the program provides them: real clocks, real randomness, no observer.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;
use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, RunnerId, TurnId};
use wakeful_core::message::RunOptions;
use wakeful_core::report::Event;
use wakeful_core::time::Millis;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::model::Model;
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_ports::tool::{StopSignal, ToolHost};
use wakeful_runtime::api::{ApiContext, IncomingMessage, NewAgent, RuntimeApi, StartAtOnce};
use wakeful_runtime::run::{ClaimedRun, DriveOutcome};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, Halt, Observer};
use wakeful_store::{SqliteOptions, Store};

/// The host of databases created here.
pub(crate) const HOST: &str = "bench";

/// The only process that drives runs here.
pub(crate) const RUNNER: &str = "bench";

/// A runtime like the program's: one thread for tasks, with timers and nothing else.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?)
}

/// A store on a file in this folder, which is created if needed.
pub(crate) fn sqlite(home: &Path) -> Result<Store> {
    let blobs = home.join("blobs");
    std::fs::create_dir_all(&blobs)?;
    Ok(Store::open_sqlite(
        &SqliteOptions::new(home.join("agent.sqlite"), blobs),
        HOST,
    )?)
}

#[expect(clippy::expect_used, reason = "the built-in entity names are valid")]
/// An engine as the program builds it, with these tools and this model.
pub(crate) fn engine<M: Model, T: ToolHost>(store: Store, model: Arc<M>, tools: Arc<T>) -> Arc<Engine<M, T>> {
    let names: BTreeSet<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
    Arc::new(Engine {
        store,
        model,
        tools,
        policy: Arc::new(PolicyEngine::new(ToolRegistry::new(names)).expect("a policy")),
        guidance: Arc::new(NoGuidance),
        snapshots: Arc::new(NoSnapshots),
        clock: Arc::new(RealClock(Instant::now())),
        entropy: Arc::new(RealEntropy),
        halt: Halt::never(),
        observer: Arc::new(Nobody),
        runner: RunnerId::new(RUNNER),
        defaults: EngineDefaults::default(),
    })
}

/// Sends one message to an agent, which is created if needed, and drives its run to the end. The run starts
/// with the transaction that admits the message, as in `wakeful run`.
pub(crate) async fn drive<M: Model + 'static, T: ToolHost + 'static>(
    engine: &Arc<Engine<M, T>>,
    agent: &str,
    workspace: &str,
    max_rounds: u32,
) -> Result<()> {
    let limits = ResolvedOptions {
        model_ref: "bench".to_owned(),
        fallbacks: Vec::new(),
        max_rounds,
        workspace: workspace.to_owned(),
        deny_tools: BTreeSet::new(),
        ask_tools: BTreeSet::new(),
    };
    let started: Arc<Mutex<Option<Box<ClaimedRun>>>> = Arc::default();
    let (starting, keeping) = (Arc::clone(engine), Arc::clone(&started));
    let (store, clock) = (engine.store.clone(), Arc::clone(&engine.clock));
    let context = ApiContext::new(store, clock, Arc::clone(&engine.entropy));
    let agent_id = AgentId::parse(agent)?;
    let api = RuntimeApi::without_service(context).starting_at_once(StartAtOnce {
        prepare: Box::new(move |_agent, message, entry| {
            let (engine, limits) = (Arc::clone(&starting), limits.clone());
            Box::pin(async move { engine.prepare_start(message, entry, limits).await })
        }),
        started: Box::new(move |claimed| {
            *keeping.lock().unwrap_or_else(PoisonError::into_inner) = Some(claimed);
        }),
        create: Some(NewAgent::new(agent_id.clone(), workspace.to_owned())),
    });
    let sent = api.messages.send(IncomingMessage {
        thread: None,
        agent: agent_id,
        turn: TurnId::parse("1")?,
        text: format!("Do your work, {agent}."),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::default(),
    });
    let run = sent.await?.run_key;
    let started = started.lock().unwrap_or_else(PoisonError::into_inner).take();
    match engine
        .drive(started.with_context(|| format!("run {run} already exists"))?)
        .await?
    {
        DriveOutcome::Ended => Ok(()),
        DriveOutcome::Stopped => bail!("the run was stopped"),
        DriveOutcome::Braked => bail!("the run is braked"),
        DriveOutcome::Waiting(wait) => bail!("the run waits: {wait:?}"),
    }
}

struct RealClock(Instant);

impl Clock for RealClock {
    fn now(&self) -> Millis {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that the engine reads"
        )]
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Millis(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct RealEntropy;

impl Entropy for RealEntropy {
    fn random_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        // A salt of zeros would measure the same.
        let _ = getrandom::fill(&mut bytes);
        bytes
    }
}

struct Nobody;

impl Observer for Nobody {
    fn on_spend_settled(&self) {}

    fn on_events(&self, _agent: &AgentId, _events: &[Event]) {}
}

/// Stops nothing.
pub(crate) struct Never;

impl StopSignal for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}
