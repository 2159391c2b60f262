//! `wakeful agent`: makes and shows agents, pauses them and lets them go on.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use wakeful_api::AgentStatus;
use wakeful_core::id::AgentId;
use wakeful_core::wake::Control;
use wakeful_ports::records::Visibility;
use wakeful_server::view::loaded_agents_md;

use super::Shared;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::front::{asking, telling, telling_known};
use crate::guidance::GuidanceFiles;
use crate::model::{ModelHouse, Whose};
use crate::show::Out;
use crate::workspace::WorkspacePath;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Make an agent that keeps its conversation from run to run
    Create {
        /// Its name: a-z, 0-9, '-' and '_'
        id: String,
        /// The folder in which its commands run and may write [default: the configured one, else the current folder]
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
    /// Choose the model of an agent's runs from now on
    Model {
        /// Its name
        id: String,
        /// The model: `PROVIDER/MODEL`, `scripted:FILE`, or `demo`
        #[arg(
            value_name = "REF",
            required_unless_present = "clear",
            conflicts_with = "clear"
        )]
        model: Option<String>,
        /// Take the choice back: the default holds again
        #[arg(long)]
        clear: bool,
    },
    /// Let an agent keep what comes and begin nothing
    Pause {
        /// Its name
        id: String,
    },
    /// Let a paused agent go on
    Resume {
        /// Its name
        id: String,
    },
}

/// Runs the verb.
pub(crate) async fn agent(verb: &AgentVerb, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    match verb {
        AgentVerb::Create { id, workspace } => create(id, workspace.as_deref(), shared, out).await?,
        AgentVerb::List { all } => {
            let agents = asking(shared, async |front| front.agents(*all).await).await?;
            out.agents(&agents);
        }
        AgentVerb::Show { id } => {
            let id = AgentId::parse(id)?;
            let status = asking(shared, async |front| front.agent(id.clone()).await).await?;
            let home = shared.home()?;
            let files = GuidanceFiles::new(&home.canonicalize().unwrap_or(home));
            let guidance = files.read(&id, status.workspace.as_ref());
            // An agent can be looked at also when the settings cannot be read.
            let settings = config::load(&shared.home()?, &Overrides::default());
            let house = settings.map(|settings| ModelHouse::new(&settings.config)).ok();
            let status = house.map_or_else(|| status.clone(), |house| modelled(&id, status.clone(), &house));
            out.agent(&AgentStatus {
                loaded_agents_md: loaded_agents_md(&guidance),
                ..status
            });
        }
        AgentVerb::Model { id, model, .. } => choose(id, model.as_deref(), shared, out).await?,
        AgentVerb::Pause { id } => control(id, Control::Paused, shared, out).await?,
        AgentVerb::Resume { id } => control(id, Control::Running, shared, out).await?,
    }
    Ok(0)
}

async fn choose(id: &str, model: Option<&str>, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let id = AgentId::parse(id)?;
    // Looked at here, because a relative path means something only in this folder.
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let house = ModelHouse::new(&settings.config);
    let model = model.map(|model| house.named(model)).transpose()?;
    let tell = telling_known(shared, out, async |front| {
        front.set_model(id.clone(), model).await
    });
    out.agent(&modelled(&id, tell.await?, &house));
    Ok(())
}

/// The status with the models of the agent's next run. A daemon has said it already, by the settings it was started with.
fn modelled(agent: &AgentId, status: AgentStatus, house: &ModelHouse) -> AgentStatus {
    let chosen = status.model.as_deref();
    let model_state = match &status.model_state {
        Some(told) => Some(told.clone()),
        None => house.state(Whose { agent, chosen }),
    };
    AgentStatus {
        model_state,
        ..status
    }
}

async fn control(id: &str, control: Control, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let id = AgentId::parse(id)?;
    let tell = telling_known(shared, out, async |front| front.set_control(id, control).await);
    out.agent(&tell.await?);
    Ok(())
}

async fn create(id: &str, given: Option<&Path>, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let agent_id = AgentId::parse(id)?;
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let given = given
        .or(settings.config.agent.workspace.as_ref().map(Path::new))
        .unwrap_or(Path::new("."));
    // Looked at before a home is made, and again when there is one.
    let look = |home: &Path| WorkspacePath::look(given, home).map_err(Failure::into_usage);
    let home = shared.home()?;
    look(&home)?;
    let tell = telling(shared, out, async |front| {
        let workspace = look(&home)?.text.clone();
        front.create_agent(agent_id, workspace, Visibility::Public).await
    });
    out.agent(&tell.await?);
    Ok(())
}
