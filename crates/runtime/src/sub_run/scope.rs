//! The settings of a run whose parent is another agent's: its sandbox has at most what the parent's has. The
//! settings of all agents above are read together with its own, so a restriction of one of them takes effect
//! with the next action.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::sub_run::DEPTH_MAX;
use wakeful_store::{StoreError, View};

use super::parent_of;

/// The settings in an agent's record, with its sandbox restricted by the runs above this one.
pub(crate) fn settings_of_run(
    view: &mut View<'_>,
    agent_id: &AgentId,
    run: &RunKey,
) -> Result<Option<AgentSettings>, StoreError> {
    let settings = view.agent_settings(agent_id)?;
    settings
        .map(|settings| restricted(view, agent_id, run, settings))
        .transpose()
}

/// These settings of the agent of a run, restricted in the same way.
pub(crate) fn restricted(
    view: &mut View<'_>,
    agent_id: &AgentId,
    run: &RunKey,
    settings: AgentSettings,
) -> Result<AgentSettings, StoreError> {
    let mut above = parent_of(view, run)?;
    let mut sandbox = placed(&settings.sandbox, agent_id);
    for _ in 0..=DEPTH_MAX {
        let Some(parent) = above else { break };
        // An agent that was removed allows nothing.
        let record = view.agent_settings(&parent.agent_id)?;
        let theirs = record.map(|record| record.sandbox).unwrap_or_default();
        sandbox = sandbox.restricted_by(&placed(&theirs, &parent.agent_id));
        above = parent_of(view, &parent.run_key)?;
    }
    Ok(AgentSettings { sandbox, ..settings })
}

/// The scope with the agent's id in its paths. Paths below the user's folder stay as they are: all agents have
/// the same one.
fn placed(scope: &SandboxScope, agent_id: &AgentId) -> SandboxScope {
    scope.resolved(agent_id, "~")
}
