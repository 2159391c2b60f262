//! The ports of an engine in a scenario: real tools with a real sandbox, the real policy, real time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::key::Digest;
use wakeful_core::message::Message;
use wakeful_core::problem::Problem;
use wakeful_core::redact::Redactor;
use wakeful_core::time::Millis;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::journal::Journal;
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{EndingEngine, EngineFactory};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, EngineError, Halt};
use wakeful_store::Store;
use wakeful_store::rows::Agent;
use wakeful_tools::{
    CommandLimits, DeniedPaths, DisabledFeatures, OutputLimits, SecretSource, SecretValue, TOOL_NAMES, Tools,
    ToolsOptions, UnsandboxedPolicy,
};

use super::model::{Obedient, Script};
use super::scene::Program;

/// More rounds than any script has.
const ROUNDS_MAX: u32 = 60;

/// Creates the engines of a scenario.
pub(super) struct SceneEngineFactory {
    pub(super) store: Store,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) program: Program,
    pub(super) home: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) secrets: Arc<SecretValues>,
    pub(super) scripts: Vec<Script>,
    pub(super) clock: Arc<RealClock>,
    pub(super) entropy: Arc<Numbers>,
    pub(super) hub: Arc<Hub>,
}

impl EngineFactory for SceneEngineFactory {
    type Model = Obedient;
    type Tools = Tools;

    fn resolve_options(&self, agent: &Agent, _: &Message) -> ResolvedOptions {
        ResolvedOptions {
            model_ref: "obedient".to_owned(),
            fallbacks: Vec::new(),
            max_rounds: ROUNDS_MAX,
            workspace: agent.workspace.clone(),
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
        }
    }

    fn engine(
        &self,
        agent: &AgentId,
        limits: &ResolvedOptions,
    ) -> Result<Engine<Obedient, Tools>, EngineError> {
        let failed = |message: String| EngineError::NoEngine {
            agent: agent.clone(),
            problem: Box::new(Problem::new("no_engine", message, "correct the scenario")),
        };
        let tools = Tools::new(ToolsOptions {
            program: self.program.path.clone(),
            program_args_prefix: self.program.prefix.clone(),
            home: self.home.clone(),
            workspace: limits.workspace.clone().into(),
            scratch: self.home.join("scratch"),
            environment: self.environment.clone(),
            secrets: Arc::<SecretValues>::clone(&self.secrets),
            closed: DeniedPaths::default(),
            own_addresses: wakeful_tools::OwnAddresses::default(),
            limits: CommandLimits::default(),
            output: OutputLimits::default(),
            unsandboxed: UnsandboxedPolicy::Refuse,
            pretend: DisabledFeatures::default(),
        });
        let tools = tools.map_err(|error| failed(error.to_string()))?;
        let names = TOOL_NAMES.map(str::to_owned).into();
        let policy = PolicyEngine::new(ToolRegistry::new(names));
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(Obedient::of(agent.as_str(), &self.scripts)),
            tools: Arc::new(tools.with_journal(Arc::clone(&self.journal))),
            policy: Arc::new(policy.map_err(|error| failed(error.to_string()))?),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::<RealClock>::clone(&self.clock),
            entropy: Arc::<Numbers>::clone(&self.entropy),
            halt: Halt::never(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: RunnerId::new("injection"),
            defaults: EngineDefaults::default(),
        })
    }

    fn engine_for_ending(&self, agent: &AgentId) -> Result<EndingEngine<Obedient, Tools>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}

/// Secrets in memory.
#[derive(Debug)]
pub(super) struct SecretValues {
    values: BTreeMap<String, String>,
}

impl SecretValues {
    pub(super) const fn new(values: BTreeMap<String, String>) -> Self {
        Self { values }
    }
}

impl SecretSource for SecretValues {
    fn value(&self, name: &str) -> Result<SecretValue, String> {
        let value = self.values.get(name).cloned();
        value
            .map(SecretValue::new)
            .ok_or_else(|| format!("there is no secret {name}"))
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::new(Redactor::new(&self.values))
    }
}

/// The clock of this machine, because commands and connections take real time.
#[derive(Debug)]
pub(super) struct RealClock(Instant);

impl Default for RealClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

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

/// Different bytes at each call, the same in each scenario.
#[derive(Debug, Default)]
pub(super) struct Numbers(AtomicU64);

impl Entropy for Numbers {
    fn random_bytes(&self) -> [u8; 32] {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        *Digest::of(&number.to_le_bytes()).as_bytes()
    }
}
