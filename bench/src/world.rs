//! What an engine needs of the world, as the program gives it: real clocks, real randomness, nobody watching.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use tokio::runtime::Runtime;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Block, Usage};
use wakeful_core::id::{AgentId, RunnerId, SessionId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::policy::Rules;
use wakeful_core::report::Event;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Control, Lifecycle, Mode};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuide;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_runtime::run::DriveOutcome;
use wakeful_runtime::wake::{Limits, StartOutcome};
use wakeful_runtime::{Engine, Governance, Halt, Observer};
use wakeful_store::rows::{Agent, Visibility};
use wakeful_store::{SqliteOptions, Store};

/// The host of databases that are made here.
pub(crate) const HOST: &str = "bench";

/// The one process that drives runs here.
pub(crate) const RUNNER: &str = "bench";

/// A runtime like the program's: one thread for tasks, time, nothing else.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?)
}

/// A store on a file in this folder, which is made if need be.
pub(crate) fn sqlite(home: &Path) -> Result<Store> {
    let blobs = home.join("blobs");
    std::fs::create_dir_all(&blobs)?;
    Ok(Store::open_sqlite(
        &SqliteOptions::new(home.join("agent.sqlite"), blobs),
        HOST,
    )?)
}

/// An engine as the program builds it, with these tools and this model.
pub(crate) fn engine<M: Model, T: ToolHost>(store: Store, model: Arc<M>, tools: Arc<T>) -> Engine<M, T> {
    let names: BTreeSet<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
    Engine {
        store,
        model,
        tools,
        policy: Arc::new(Rules::new(names)),
        guide: Arc::new(NoGuide),
        clock: Arc::new(RealClock(Instant::now())),
        entropy: Arc::new(RealEntropy),
        halt: Halt::never(),
        observer: Arc::new(Nobody),
        runner: RunnerId::new(RUNNER),
        governance: Governance::default(),
    }
}

/// Puts one message in the queue of an agent, which is made if need be. How fast messages are admitted is measured with the
/// daemon.
pub(crate) async fn send(store: &Store, (agent, turn): (&str, usize)) -> Result<RunKey> {
    let agent_id = AgentId::parse(agent)?;
    let blocks = [Block::Text {
        text: format!("Do your work, {agent}."),
    }];
    let body = Blob::new(serde_json::to_vec(&blocks)?);
    // A conversation of its own: what a history costs is measured elsewhere.
    let session = SessionId::new(format!("bench-{turn}"));
    let now = Millis(0);
    let turn_id = TurnId::parse(&turn.to_string())?;
    let message = Message::from_operator(agent_id.clone(), &session, &turn_id, body.hash(), now);
    let run = message.run_key;
    let body = store.pack(body).await?;
    let agent = Agent {
        model_ref: None,
        agent_id,
        visibility: Visibility::Public,
        lifecycle: Lifecycle::Active,
        control: Control::Running,
        mode: Mode::default(),
        sleep_until: None,
        workspace: "/".to_owned(),
        created_at: now,
        usage: Usage::default(),
        model_rounds: 0,
    };
    let seq = u64::try_from(turn)?;
    let sent = store.write(move |tx| {
        tx.create_agent(&agent)?;
        tx.admit_message(&message)?;
        tx.enqueue(&message, seq, None)?;
        tx.put_blob(&body)
    });
    sent.await?;
    Ok(run)
}

/// Begins the run of a message that waits in the queue, and drives it to the end.
pub(crate) async fn drive<M: Model, T: ToolHost>(
    engine: &Engine<M, T>,
    run: RunKey,
    workspace: &str,
    max_rounds: u32,
) -> Result<()> {
    let limits = Limits {
        model_ref: "bench".to_owned(),
        fallbacks: Vec::new(),
        max_rounds,
        workspace: workspace.to_owned(),
        deny_tools: BTreeSet::new(),
        ask_tools: BTreeSet::new(),
        may_start: BTreeSet::new(),
        outside_runs: wakeful_core::policy::OutsideRuns::Ask,
    };
    match engine.wake(run, limits).await? {
        StartOutcome::Started(claimed) => match engine.drive(claimed).await? {
            DriveOutcome::Ended => Ok(()),
            DriveOutcome::Stopped => bail!("the run was stopped"),
            DriveOutcome::Braked => bail!("the run is braked"),
            DriveOutcome::Waiting(wait) => bail!("the run waits: {wait:?}"),
        },
        StartOutcome::NotQueued(run) => bail!("run {run} was there before"),
    }
}

struct RealClock(Instant);

impl Clock for RealClock {
    fn now(&self) -> Millis {
        #[expect(clippy::disallowed_methods, reason = "this is the clock that the engine asks")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Millis(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    fn ticks_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct RealEntropy;

impl Entropy for RealEntropy {
    fn bytes32(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        // A salt of zeros would measure the same.
        let _ = getrandom::fill(&mut bytes);
        bytes
    }
}

struct Nobody;

impl Observer for Nobody {
    fn saw(&self, _agent: &AgentId, _events: &[Event]) {}
}
