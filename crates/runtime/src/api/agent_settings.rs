//! The settings of an agent: those in its record, its model, workspace and daily cap.

use wakeful_core::agent_settings::{SettingsChange, StoredSettings, bad};
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_core::wake::{Lifecycle, Refusal};
use wakeful_store::rows::Agent;
use wakeful_store::{StoreError, Tx, View};

use super::agent::AgentApi;
use crate::EngineError;

impl AgentApi {
    /// Returns the stored settings of an agent.
    pub async fn settings(&self, agent: AgentId) -> Result<StoredSettings, EngineError> {
        let wanted = agent.clone();
        let found = self.shared.store.read(move |view| {
            let agent = view.agent(&wanted)?;
            agent.map(|agent| stored(view, &agent)).transpose()
        });
        found.await?.ok_or(EngineError::UnknownAgent(agent))
    }

    /// Changes the settings of an agent in one transaction with the event that names the changed fields. An
    /// open run uses them for its next action; its models, folder and limit of rounds stay as they are.
    pub async fn change_settings(
        &self,
        agent: AgentId,
        change: SettingsChange,
    ) -> Result<StoredSettings, EngineError> {
        change.check().map_err(invalid)?;
        let now = self.shared.clock.now();
        let is_budget = !change.daily_usd.is_keep();
        let write = move |tx: &mut Tx<'_>, agent: &Agent| {
            if agent.lifecycle == Lifecycle::Destroyed {
                return Ok(Err(Refusal::Destroyed.into()));
            }
            let before = stored(tx, agent)?;
            let (after, changed) = (change.applied_to(&before), change.changed(&before));
            if changed.is_empty() {
                return Ok(Ok(None));
            }
            let agent = Agent {
                settings: after.settings,
                model_ref: after.model,
                workspace: after.workspace,
                ..agent.clone()
            };
            if let Some(unknown) = unknown_startable(tx, &agent)? {
                return Ok(Err(unknown));
            }
            tx.set_agent_settings(&agent)?;
            if before.daily_usd != after.daily_usd {
                tx.set_cap(Some(&agent.agent_id), after.daily_usd, now)?;
            }
            Ok(Ok(Some(AgentStateChanged::Settings { changed })))
        };
        self.shared.change_agent_with(agent.clone(), write).await?;
        if is_budget {
            // Parked runs are checked again.
            self.shared.work.signal_any();
        }
        self.settings(agent).await
    }
}

fn invalid(problem: Problem) -> EngineError {
    EngineError::Setting(Box::new(problem))
}

fn stored(view: &mut View<'_>, agent: &Agent) -> Result<StoredSettings, StoreError> {
    Ok(StoredSettings {
        settings: agent.settings.clone(),
        model: agent.model_ref.clone(),
        workspace: agent.workspace.clone(),
        daily_usd: view.cap(Some(&agent.agent_id))?,
    })
}

/// The error of the first agent in `may_start` that does not exist.
pub(super) fn unknown_startable(
    view: &mut View<'_>,
    agent: &Agent,
) -> Result<Option<EngineError>, StoreError> {
    let others = agent.settings.may_start.iter();
    for name in others.filter(|name| *name != agent.agent_id.as_str()) {
        let known = match AgentId::parse(name) {
            Ok(id) => view.agent(&id)?.is_some(),
            Err(_) => false,
        };
        if !known {
            let message = format!("there is no agent {name:?}");
            let hint = format!("create it first: `wakeful agent create {name}`");
            return Ok(Some(invalid(bad("may_start", &message, &hint))));
        }
    }
    Ok(None)
}
