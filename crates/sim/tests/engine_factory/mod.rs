//! An engine factory in which every agent has the same model, tools and rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::message::Message;
use wakeful_core::rate::TOOL_CALLS_PER_MINUTE;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::model::Model;
use wakeful_ports::policy::Policy;
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_ports::tool::ToolHost;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{EndingEngine, EngineFactory};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, EngineError, Halt};
use wakeful_store::Store;
use wakeful_store::rows::Agent;

pub(crate) struct SameEngineFactory<M, T> {
    pub(crate) store: Store,
    pub(crate) model: Arc<M>,
    pub(crate) tools: Arc<T>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
}

impl<M: Model, T: ToolHost> EngineFactory for SameEngineFactory<M, T> {
    type Model = M;
    type Tools = T;

    fn resolve_options(&self, _: &Agent, _: &Message) -> ResolvedOptions {
        ResolvedOptions {
            model_ref: "sim:0".into(),
            fallbacks: Vec::new(),
            max_rounds: 5,
            workspace: "/somewhere".into(),
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
        }
    }

    fn engine(&self, _: &AgentId, _: &ResolvedOptions) -> Result<Engine<M, T>, EngineError> {
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::clone(&self.model),
            tools: Arc::clone(&self.tools),
            policy: Arc::clone(&self.policy),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            halt: Halt::never(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: RunnerId::new("daemon"),
            defaults: EngineDefaults {
                tool_calls_per_minute: TOOL_CALLS_PER_MINUTE,
                ..EngineDefaults::default()
            },
        })
    }

    fn engine_for_ending(&self, agent: &AgentId) -> Result<EndingEngine<M, T>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}
