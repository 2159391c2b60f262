//! `wakeful agent`: making and looking at agents.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use wakeful_core::conversation::Usage;
use wakeful_core::id::AgentId;
use wakeful_core::wake::Lifecycle;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::records::{Agent, Visibility};
use wakeful_ports::store::Store as _;
use wakeful_runtime::EngineError;
use wakeful_store::Store;

use super::Shared;
use crate::failure::Failure;
use crate::place::{Place, reading};
use crate::show::{AgentView, Out};
use crate::workspace::WorkspacePath;
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
        AgentVerb::Create { id, workspace } => create(id, workspace.as_deref(), shared, out).await?,
        AgentVerb::List { all } => {
            let with_private = *all;
            let read = async |store: &Store| Ok(store.read(move |view| view.agents(with_private)).await?);
            let agents = reading(shared, read).await?;
            out.agents(&agents.iter().map(AgentView::new).collect::<Vec<_>>());
        }
        AgentVerb::Show { id } => {
            let id = AgentId::parse(id)?;
            let wanted = id.clone();
            let read = async |store: &Store| Ok(store.read(move |view| view.agent(&wanted)).await?);
            let agent = reading(shared, read).await?;
            let agent = agent.ok_or(EngineError::UnknownAgent(id))?;
            out.agent(&AgentView::new(&agent));
        }
    }
    Ok(0)
}

async fn create(id: &str, given: Option<&Path>, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let agent_id = AgentId::parse(id)?;
    let given = given.unwrap_or(Path::new("."));
    // Looked at before a home is made, and again when there is one.
    let look = |home: &Path| WorkspacePath::look(given, home).map_err(Failure::into_usage);
    look(&shared.home()?)?;
    let place = Place::open_for_writing(shared).await?;
    place
        .work(out, async |place| {
            let agent = Agent {
                agent_id,
                visibility: Visibility::Public,
                lifecycle: Lifecycle::Active,
                workspace: look(place.home.root())?.text.clone(),
                created_at: RealClock::new().now(),
                usage: Usage::default(),
                model_rounds: 0,
            };
            let new = agent.clone();
            if !place.store.write(move |tx| tx.create_agent(&new)).await? {
                let message = format!("there is an agent {id} already");
                let hint = "use it with `wakeful run --agent`, or choose another name";
                return Err(Failure::new("agent_exists", message, hint));
            }
            out.agent(&AgentView::new(&agent));
            Ok(())
        })
        .await
}
