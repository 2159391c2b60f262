//! HTTP endpoints for agents.

use axum::http::StatusCode;
use wakeful_api::{
    ActivateAgent, AgentList, AgentState, AgentStatus, ClearQueue, CreateAgent, DestroyAgent, GetAgentState,
    GetAgentStatus, GetDefaultAgentState, GetDefaultAgentStatus, ListAgents, MakeAgentDormant, PauseAgent,
    ResumeAgent, SetAgentMode, SetAgentSleep, SetModel, StopAgent, Text, WakeAgent,
};
use wakeful_core::id::AgentId;
use wakeful_core::message::RunOptions;
use wakeful_core::wake::{AgentControl, Lifecycle};
use wakeful_runtime::api::{AgentChange, AgentView, NewAgent, RunQuery};

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
        .add(create)
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
        .add(set_model)
}

async fn list(call: Call, asked: ListAgents) -> Result<AgentList, ApiError> {
    let open = call.open()?;
    let agents = open.runtime.agents.list(asked.include_private).await?;
    let stuck = StuckIndex::of(&open);
    let agents = agents.iter().map(|agent| stuck.status(agent)).collect();
    Ok(AgentList { agents })
}

async fn create(call: Call, asked: CreateAgent) -> Result<AgentStatus, ApiError> {
    let Text(agent_id) = asked.agent_id;
    let workspace = call.host.workspace(&agent_id, asked.workspace.as_deref());
    let new = NewAgent {
        agent_id,
        workspace: workspace.map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))?,
        visibility: asked.visibility,
        mode: asked.mode.unwrap_or_default(),
    };
    let open = call.open()?;
    let made = open.runtime.agents.create(new).await?;
    Ok(StuckIndex::of(&open).status(&made))
}

async fn set_model(call: Call, asked: SetModel) -> Result<AgentStatus, ApiError> {
    if asked.model.is_some() == asked.clear {
        let message = "give either `model` or `clear: true`";
        return Err(ApiError::bad(
            "one_of_two",
            message,
            "an empty request changes nothing",
        ));
    }
    let wishes = RunOptions {
        model_ref: asked.model,
        ..RunOptions::default()
    };
    let wishes = call
        .host
        .check_options(wishes)
        .map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))?;
    let open = call.open()?;
    let chosen = open
        .runtime
        .agents
        .set_model(asked.agent_id.0, wishes.model_ref)
        .await?;
    Ok(guided(&call, &chosen, StuckIndex::of(&open).status(&chosen)))
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
        model_state: app.host.model_state(&agent.agent_id, agent.model_ref.as_deref()),
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
