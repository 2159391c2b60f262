//! A workshop in which every agent has the same model, the same tools and the same rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::message::Message;
use wakeful_core::policy::Rules;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuide;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Ending, Workshop};
use wakeful_runtime::wake::Limits;
use wakeful_runtime::{Engine, EngineError, Governance, Halt};
use wakeful_store::Store;
use wakeful_store::rows::Agent;

pub(crate) struct Shop<M, T> {
    pub(crate) store: Store,
    pub(crate) model: Arc<M>,
    pub(crate) tools: Arc<T>,
    /// The tools that may be used.
    pub(crate) rules: BTreeSet<String>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
}

impl<M: Model, T: ToolHost> Workshop for Shop<M, T> {
    type Model = M;
    type Tools = T;

    fn limits(&self, _: &Agent, _: &Message) -> Limits {
        Limits {
            model_ref: "sim:0".into(),
            fallbacks: Vec::new(),
            max_rounds: 5,
            workspace: "/somewhere".into(),
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
            may_start: BTreeSet::new(),
            outside_runs: wakeful_core::policy::OutsideRuns::Ask,
        }
    }

    fn engine(&self, _: &AgentId, _: &Limits) -> Result<Engine<M, T>, EngineError> {
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::clone(&self.model),
            tools: Arc::clone(&self.tools),
            policy: Arc::new(Rules::new(self.rules.clone())),
            guide: Arc::new(NoGuide),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            halt: Halt::never(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: RunnerId::new("daemon"),
            governance: Governance::default(),
        })
    }

    fn ending(&self, agent: &AgentId) -> Result<Ending<M, T>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}
