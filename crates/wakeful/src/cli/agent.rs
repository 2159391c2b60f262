//! `wakeful agent`: makes and shows agents, pauses them and lets them go on, and looks after how they stand.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use wakeful_api::{
    ActivateAgent, AgentStatus, ClearQueue, CreateAgent, DestroyAgent, Endpoint, GetAgentStatus,
    GetExternalTrigger, ListAgents, MakeAgentDormant, PauseAgent, ResumeAgent, RevokeExternalTrigger,
    RotateExternalTrigger, SetAgentMode, SetAgentSleep, SetModel, StopAgent, Text, Visibility, WakeAgent,
};
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_core::wake::InteractionMode;
use wakeful_ports::clock::Clock as _;
use wakeful_server::view::loaded_agents_md;

use super::GlobalArgs;
use super::why::shifted;
use crate::backend::{read, write, write_existing};
use crate::config::{self, Overrides};
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::daemon::lifecycle::database_name;
use crate::failure::Failure;
use crate::guidance::GuidanceFiles;
use crate::model::{ModelRegistry, RunOwner};
use crate::show::Out;
use crate::system::RealClock;
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
        /// Who may wake it
        #[arg(long, value_enum, default_value = "hybrid")]
        mode: ModeArg,
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
    /// Let a paused or stopped agent go on
    Resume {
        /// Its name
        id: String,
    },
    /// Let an agent take nothing in until you let it go on
    Stop {
        /// Its name
        id: String,
    },
    /// Let an agent loose: whatever its mode allows may wake it
    Activate {
        /// Its name
        id: String,
    },
    /// Put an agent to rest: only you wake it
    Dormant {
        /// Its name
        id: String,
    },
    /// End an agent for good; what it did stays to be read
    Destroy {
        /// Its name
        id: String,
        /// You mean it: there is no way back
        #[arg(long)]
        yes: bool,
    },
    /// Cancel every message that waits for an agent; its open run continues
    ClearQueue {
        /// Its name
        id: String,
    },
    /// Settle who may wake an agent
    Mode {
        /// Its name
        id: String,
        /// Who may
        #[arg(value_enum)]
        mode: ModeArg,
    },
    /// Let an agent sleep: until then only you wake it, and the rest waits
    #[command(group = clap::ArgGroup::new("moment").required(true))]
    Sleep {
        /// Its name
        id: String,
        /// Until this moment, such as 2026-02-17T16:00:00Z
        #[arg(long, value_name = "TIME", group = "moment")]
        until: Option<String>,
        /// For this long, such as 30m, 2h or 7d
        #[arg(long = "for", value_name = "DURATION", group = "moment")]
        span: Option<String>,
    },
    /// Show the address by which systems outside wake an agent, give it another, or take it back
    #[command(subcommand)]
    ExternalTrigger(TriggerVerb),
    /// Take the sleep barrier of an agent away: what waits begins
    Wake {
        /// Its name
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TriggerVerb {
    /// Show the address; it is made when it is first asked for. It is a secret
    Show {
        /// The agent's name
        id: String,
    },
    /// Give it another address; the one before is worth nothing from now on
    Rotate {
        /// The agent's name
        id: String,
    },
    /// Take it back: nothing comes by it until it gets another address
    Revoke {
        /// The agent's name
        id: String,
    },
}

/// Who may wake an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Changes, moments and calls from outside; you may, too, and that is recorded
    Autonomous,
    /// Only people
    Interactive,
    /// Both
    Hybrid,
}

impl From<ModeArg> for InteractionMode {
    fn from(by: ModeArg) -> Self {
        match by {
            ModeArg::Autonomous => Self::Autonomous,
            ModeArg::Interactive => Self::Interactive,
            ModeArg::Hybrid => Self::Hybrid,
        }
    }
}

/// Runs the verb.
pub(crate) async fn agent(verb: &AgentVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        AgentVerb::Create { id, workspace, mode } => {
            let (workspace, mode) = (workspace.as_deref(), (*mode).into());
            create(NewAgent { id, workspace, mode }, shared, out).await?;
        }
        AgentVerb::List { all } => {
            let with_private = *all;
            let list = read(shared, async |backend| {
                backend
                    .call(ListAgents {
                        include_private: with_private,
                    })
                    .await
            })
            .await?;
            out.agents(&list.agents);
        }
        AgentVerb::Show { id } => {
            let id = AgentId::parse(id)?;
            let status = read(shared, async |backend| {
                backend
                    .call(GetAgentStatus {
                        agent_id: Text(id.clone()),
                    })
                    .await
            })
            .await?;
            let home = shared.home()?;
            let files = GuidanceFiles::new(&home.canonicalize().unwrap_or(home));
            let guidance = files.read(&id, status.workspace.as_ref());
            // An agent can be looked at also when the settings cannot be read.
            let settings = config::load(&shared.home()?, &Overrides::default());
            let registry = settings.map(|settings| ModelRegistry::new(&settings.config)).ok();
            let status = registry.map_or_else(
                || status.clone(),
                |registry| modelled(&id, status.clone(), &registry),
            );
            out.agent(&AgentStatus {
                loaded_agents_md: loaded_agents_md(&guidance),
                ..status
            });
        }
        AgentVerb::Model { id, model, .. } => choose(id, model.as_deref(), shared, out).await?,
        AgentVerb::Pause { id } => change(PauseAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Resume { id } => change(ResumeAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Stop { id } => change(StopAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Activate { id } => change(ActivateAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Dormant { id } => change(MakeAgentDormant { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Destroy { id, yes } => {
            confirm_destroy(id, *yes)?;
            change(DestroyAgent { agent_id: name(id)? }, shared, out).await?;
        }
        AgentVerb::ClearQueue { id } => change(ClearQueue { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Mode { id, mode } => {
            let (agent_id, mode) = (name(id)?, (*mode).into());
            change(SetAgentMode { agent_id, mode }, shared, out).await?;
        }
        AgentVerb::Sleep { id, until, span } => {
            let until = Text(moment(until.as_deref().or(span.as_deref()).unwrap_or_default())?);
            let agent_id = name(id)?;
            change(SetAgentSleep { agent_id, until }, shared, out).await?;
        }
        AgentVerb::ExternalTrigger(verb) => trigger(verb, shared, out).await?,
        AgentVerb::Wake { id } => change(WakeAgent { agent_id: name(id)? }, shared, out).await?,
    }
    Ok(0)
}

fn confirm_destroy(id: &str, is_confirmed: bool) -> Result<(), Failure> {
    if is_confirmed {
        return Ok(());
    }
    let message = format!("agent {id} would be gone for good");
    Err(Failure::usage(
        "confirmation_missing",
        message,
        "say --yes if you mean it",
    ))
}

async fn choose(id: &str, model: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let id = AgentId::parse(id)?;
    // Looked at here, because a relative path means something only in this folder.
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let registry = ModelRegistry::new(&settings.config);
    let model = model.map(|model| registry.named(model)).transpose()?;
    let set = SetModel {
        agent_id: Text(id.clone()),
        clear: model.is_none(),
        model,
    };
    let tell = write_existing(shared, out, async |backend| backend.call(set).await);
    out.agent(&modelled(&id, tell.await?, &registry));
    Ok(())
}

/// The status with the models of the agent's next run. A daemon has said it already, by the settings it was started with.
fn modelled(agent: &AgentId, status: AgentStatus, registry: &ModelRegistry) -> AgentStatus {
    let chosen = status.model.as_deref();
    let model_state = match &status.model_state {
        Some(told) => Some(told.clone()),
        None => registry.state(RunOwner { agent, chosen }),
    };
    AgentStatus {
        model_state,
        ..status
    }
}

async fn trigger(verb: &TriggerVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let tell = write_existing(shared, out, async |backend| match verb {
        TriggerVerb::Show { id } => backend.call(GetExternalTrigger { agent_id: name(id)? }).await,
        TriggerVerb::Rotate { id } => backend.call(RotateExternalTrigger { agent_id: name(id)? }).await,
        TriggerVerb::Revoke { id } => backend.call(RevokeExternalTrigger { agent_id: name(id)? }).await,
    });
    let found = tell.await?;
    let address = match &found.trigger_path {
        None => "none: it is revoked".to_owned(),
        Some(path) => match base_url(shared)? {
            Some(base) => format!("{base}{path}"),
            None => format!("{path} at the daemon's address; none runs here now"),
        },
    };
    let last = found.last_triggered_at.as_deref().unwrap_or("never");
    let words = format!(
        "trigger  {} of agent {} ({})\npost to  {address}\ncalled   {} times, last {last}",
        found.external_trigger_id, found.target_agent_id, found.status, found.trigger_count
    );
    out.answer(&found, &words);
    if found.trigger_path.is_some() {
        out.note("this address is a secret: whoever knows it can wake the agent, so give it only to the system that is to");
    }
    Ok(())
}

/// Where systems outside reach the daemon that works on this database; none where none does.
fn base_url(shared: &GlobalArgs) -> Result<Option<String>, Failure> {
    let home = shared.home()?;
    let DaemonPresence::Alive(record) = RunDir::of(&home).found() else {
        return Ok(None);
    };
    if record.database != shared.database().map(database_name) {
        return Ok(None);
    }
    let advertised = config::load(&home, &Overrides::default())?
        .config
        .server
        .advertise;
    let base = advertised.map_or_else(
        || format!("http://{}", record.http_addr),
        |url| url.trim_end_matches('/').to_owned(),
    );
    Ok(Some(base))
}

/// A moment to come.
fn moment(text: &str) -> Result<Millis, Failure> {
    shifted(text, RealClock::new().now(), i64::saturating_add)
}

fn name(id: &str) -> Result<Text<AgentId>, Failure> {
    Ok(Text(AgentId::parse(id)?))
}

/// Carries out a verb that answers with the agent as it then is.
async fn change(
    asked: impl Endpoint<Output = AgentStatus>,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    let tell = write_existing(shared, out, async |backend| backend.call(asked).await);
    out.agent(&tell.await?);
    Ok(())
}

/// What `agent create` was given.
struct NewAgent<'a> {
    id: &'a str,
    workspace: Option<&'a Path>,
    mode: InteractionMode,
}

async fn create(new: NewAgent<'_>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let agent_id = AgentId::parse(new.id)?;
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let given = new
        .workspace
        .or(settings.config.agent.workspace.as_ref().map(Path::new))
        .unwrap_or(Path::new("."));
    // Looked at before a home is made, and again when there is one.
    let look = |home: &Path| WorkspacePath::look(given, home).map_err(Failure::into_usage);
    let home = shared.home()?;
    look(&home)?;
    let tell = write(shared, out, async |backend| {
        let asked = CreateAgent {
            agent_id: Text(agent_id),
            workspace: Some(look(&home)?.text.clone()),
            visibility: Visibility::Public,
            mode: Some(new.mode),
        };
        backend.call(asked).await
    });
    out.agent(&tell.await?);
    Ok(())
}
