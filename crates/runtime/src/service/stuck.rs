//! Agents that are stuck, and why.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::id::AgentId;

use crate::EngineError;
use crate::run::is_environment_error;

/// Agents whose work fails, with the error. Shared with the status.
#[derive(Debug, Clone, Default)]
pub struct StuckAgents(Arc<Mutex<BTreeMap<AgentId, Arc<EngineError>>>>);

impl StuckAgents {
    /// All stuck agents, by name.
    #[must_use]
    pub fn all(&self) -> Vec<(AgentId, Arc<EngineError>)> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.iter()
            .map(|(agent, error)| (agent.clone(), Arc::clone(error)))
            .collect()
    }

    /// Why an agent's work fails, if it does.
    #[must_use]
    pub fn of(&self, agent: &AgentId) -> Option<Arc<EngineError>> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.get(agent).cloned()
    }

    /// Removes agents that neither have work nor a parked run, because they cannot be stuck. Both lists are
    /// sorted.
    pub(super) fn retain(&self, ready: &[AgentId], without_budget: &[AgentId]) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|agent, _| {
            ready.binary_search(agent).is_ok() || without_budget.binary_search(agent).is_ok()
        });
    }

    /// Whether the last turn of an agent failed because of the environment.
    pub(super) fn is_of_place(&self, agent: &AgentId) -> bool {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.get(agent).is_some_and(|error| is_environment_error(error))
    }

    pub(super) fn note(&self, agent: &AgentId, result: Result<(), EngineError>) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => drop(map.remove(agent)),
            Err(error) => drop(map.insert(agent.clone(), Arc::new(error))),
        }
    }
}
