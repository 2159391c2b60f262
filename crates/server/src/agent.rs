//! HTTP endpoints for agents.

use wakeful_api::{
    ActivateAgent, AgentList, AgentState, AgentStatus, ClearQueue, DestroyAgent, GetAgentState,
    GetAgentStatus, GetDefaultAgentState, GetDefaultAgentStatus, ListAgents, MakeAgentDormant, PauseAgent,
    ResumeAgent, SetAgentMode, SetAgentSleep, StopAgent, Text, WakeAgent,
};
use wakeful_core::id::AgentId;
use wakeful_core::wake::{AgentControl, Lifecycle};
use wakeful_runtime::api::{AgentChange, AgentView, RunQuery};

use crate::app::{App, ServedHome};
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

/// Most messages and runs in a state: what the page shows before it requests more.
const STATE_ROWS_MAX: u32 = 50;

pub(crate) fn routes() -> Routes {
    use AgentChange::{Life, Mode, Sleep, Wake};

    Routes::default()
        .add(list)
        .add(async |call: Call, asked: GetAgentStatus| status(&call, asked.agent_id).await)
        .add(async |call: Call, asked: GetAgentState| state(&call, asked.agent_id).await)
        .add(async |call: Call, _: GetDefaultAgentStatus| status(&call, default(&call)).await)
        .add(async |call: Call, _: GetDefaultAgentState| state(&call, default(&call)).await)
        .add(async |call: Call, asked: PauseAgent| control(&call, asked.agent_id, AgentControl::Paused).await)
        .add(async |call: Call, asked: ResumeAgent| {
            control(&call, asked.agent_id, AgentControl::Running).await
        })
        .add(async |call: Call, asked: StopAgent| control(&call, asked.agent_id, AgentControl::Stopped).await)
        .add(async |call: Call, asked: ActivateAgent| {
            change(&call, asked.agent_id, Life(Lifecycle::Active)).await
        })
        .add(async |call: Call, asked: MakeAgentDormant| {
            change(&call, asked.agent_id, Life(Lifecycle::Dormant)).await
        })
        .add(async |call: Call, asked: DestroyAgent| {
            change(&call, asked.agent_id, Life(Lifecycle::Destroyed)).await
        })
        .add(async |call: Call, asked: ClearQueue| {
            let open = call.open()?;
            let cleared = open.runtime.agents.clear_queue(asked.agent_id.0).await?;
            Ok(StuckIndex::of(&open).status(&cleared))
        })
        .add(async |call: Call, asked: SetAgentMode| change(&call, asked.agent_id, Mode(asked.mode)).await)
        .add(async |call: Call, asked: SetAgentSleep| {
            change(&call, asked.agent_id, Sleep(asked.until.0)).await
        })
        .add(async |call: Call, asked: WakeAgent| change(&call, asked.agent_id, Wake).await)
}

async fn list(call: Call, asked: ListAgents) -> Result<AgentList, ApiError> {
    let open = call.open()?;
    let agents = open.runtime.agents.list(asked.include_private).await?;
    let stuck = StuckIndex::of(&open);
    let agents = agents.iter().map(|agent| stuck.status(agent)).collect();
    Ok(AgentList { agents })
}

fn default(app: &App) -> Text<AgentId> {
    Text(app.facts.default_agent.clone())
}

async fn status(app: &App, agent: Text<AgentId>) -> Result<AgentStatus, ApiError> {
    let open = app.open()?;
    let found = open.runtime.agents.get(agent.0).await?;
    Ok(guided(app, &found, StuckIndex::of(&open).status(&found)))
}

async fn control(app: &App, agent: Text<AgentId>, control: AgentControl) -> Result<AgentStatus, ApiError> {
    let open = app.open()?;
    let set = open.runtime.agents.set_control(agent.0, control).await?;
    Ok(StuckIndex::of(&open).status(&set))
}

async fn change(app: &App, agent: Text<AgentId>, change: AgentChange) -> Result<AgentStatus, ApiError> {
    let open = app.open()?;
    let set = open.runtime.agents.change(agent.0, change).await?;
    Ok(StuckIndex::of(&open).status(&set))
}

async fn state(app: &App, agent: Text<AgentId>) -> Result<AgentState, ApiError> {
    let open = app.open()?;
    // The agent is read first: a concurrent change may then be shown twice but is never missed.
    let found = open.runtime.agents.get(agent.0.clone()).await?;
    let queue = open
        .runtime
        .messages
        .queue(agent.0.clone(), STATE_ROWS_MAX)
        .await?;
    let query = RunQuery {
        agent_id: Some(agent.0),
        limit: STATE_ROWS_MAX,
        ..RunQuery::default()
    };
    let runs = open.runtime.runs.list(query).await?.runs;
    Ok(AgentState {
        after_seq: found.overview.last_seq,
        agent: guided(app, &found, StuckIndex::of(&open).status(&found)),
        queue: queue.iter().map(view::queued).collect(),
        runs: runs.iter().map(view::run_line).collect(),
    })
}

/// Adds the models and the guidance files of an agent to its status.
pub(crate) fn guided(app: &App, found: &AgentView, status: AgentStatus) -> AgentStatus {
    let agent = &found.overview.agent;
    let guidance = app.host.guidance(&agent.agent_id, &agent.workspace);
    AgentStatus {
        model_state: app.host.model_state(agent),
        loaded_agents_md: view::loaded_agents_md(&guidance),
        ..status
    }
}

/// The agents that are stuck.
pub(crate) struct StuckIndex(Vec<AgentId>);

impl StuckIndex {
    pub(crate) fn of(open: &ServedHome) -> Self {
        Self(open.stuck.all().into_iter().map(|(agent, _)| agent).collect())
    }

    pub(crate) fn status(&self, agent: &AgentView) -> AgentStatus {
        // The list is already sorted by agent id.
        let is_stuck = self.0.binary_search(&agent.overview.agent.agent_id).is_ok();
        view::agent_status(
            agent,
            if is_stuck {
                view::WorkHealth::Stuck
            } else {
                view::WorkHealth::Well
            },
        )
    }
}
