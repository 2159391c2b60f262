//! `wakeful agent`: making and looking at agents.

use std::path::PathBuf;

use clap::Subcommand;
use wakeful_core::conversation::Usage;
use wakeful_core::id::AgentId;
use wakeful_core::wake::Lifecycle;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::records::{Agent, Visibility};
use wakeful_ports::store::Store as _;
use wakeful_runtime::EngineError;

use super::Shared;
use crate::failure::Failure;
use crate::place::{Place, workspace_path};
use crate::show::{AgentView, Out};
use crate::world::RealClock;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Make an agent that keeps its conversation from run to run
    Create {
        /// Its name: a-z, 0-9, '-' and '_'
        id: String,
        /// The folder in which its commands run and may write [default: the current folder]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// List agents
    List {
        /// Temporary agents, too
        #[arg(long)]
        all: bool,
    },
    /// Show one agent
    Show {
        /// Its name
        id: String,
    },
}

/// Runs the verb.
pub(crate) async fn agent(verb: &AgentVerb, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    match verb {
        AgentVerb::Create { id, workspace } => create(id, workspace.as_ref(), shared, out).await?,
        AgentVerb::List { all } => {
            let place = Place::open_for_reading(shared).await?;
            let with_private = *all;
            let agents = place.store.read(move |view| view.agents(with_private)).await?;
            out.agents(&agents.iter().map(AgentView::new).collect::<Vec<_>>());
        }
        AgentVerb::Show { id } => {
            let id = AgentId::parse(id)?;
            let place = Place::open_for_reading(shared).await?;
            let wanted = id.clone();
            let agent = place.store.read(move |view| view.agent(&wanted)).await?;
            let agent = agent.ok_or(EngineError::UnknownAgent(id))?;
            out.agent(&AgentView::new(&agent));
        }
    }
    Ok(0)
}

async fn create(id: &str, workspace: Option<&PathBuf>, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let agent_id = AgentId::parse(id)?;
    let place = Place::open_for_writing(shared).await?;
    let workspace = workspace_path(workspace.map(PathBuf::as_path), None, &place.home)?;
    let agent = Agent {
        agent_id,
        visibility: Visibility::Public,
        lifecycle: Lifecycle::Active,
        workspace: workspace.text,
        created_at: RealClock::new().now(),
        usage: Usage::default(),
        model_rounds: 0,
    };
    let new = agent.clone();
    if !place.store.write(move |tx| tx.create_agent(&new)).await? {
        let message = format!("there is an agent {id} already");
        return Err(Failure::new(
            "agent_exists",
            message,
            "use it with `wakeful run --agent`, or choose another name",
        ));
    }
    out.agent(&AgentView::new(&agent));
    place.close().await
}
