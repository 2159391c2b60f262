//! `wakeful agent`: creates, shows, pauses and resumes agents, and changes their lifecycle and mode.

use std::path::Path;

use clap::{Subcommand, ValueEnum};
use wakeful_api::{
    ActivateAgent, AgentStatus, Change, ChangeAgentSettings, ClearQueue, CreateAgent, DestroyAgent, Endpoint,
    GetAgentStatus, GetExternalTrigger, ListAgents, MakeAgentDormant, PauseAgent, ResumeAgent,
    RevokeExternalTrigger, RotateExternalTrigger, SetAgentMode, SetAgentSleep, SettingsChange, StopAgent,
    Text, Visibility, WakeAgent,
};
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_core::wake::InteractionMode;
use wakeful_ports::clock::Clock as _;

use super::GlobalArgs;
use super::agent_settings::{SettingsArgs, permissions_text, set, status_and_settings};
use super::confirm::confirm_by_name;
use super::why::shifted;
use crate::backend::{read, write, write_existing};
use crate::config::{self, Overrides};
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::daemon::lifecycle::database_name;
use crate::failure::Failure;
use crate::model::ModelRegistry;
use crate::show::Out;
use crate::system::RealClock;
use crate::trust::{self, FolderChoice};
use crate::workspace::WorkspacePath;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Create an agent that keeps its conversation from run to run
    Create {
        /// Agent name: a-z, 0-9, '-' and '_'
        id: String,
        #[command(flatten)]
        settings: Box<SettingsArgs>,
        /// What may wake the agent
        #[arg(long, value_enum, default_value = "hybrid")]
        mode: ModeArg,
    },
    /// Change settings of an agent; an open run uses them for its next action
    Set {
        /// Agent name
        id: String,
        #[command(flatten)]
        settings: Box<SettingsArgs>,
    },
    /// List agents
    List {
        /// Include temporary agents
        #[arg(long)]
        all: bool,
    },
    /// Show an agent
    Show {
        /// Agent name
        id: String,
    },
    /// Set or clear the model of an agent's future runs
    Model {
        /// Agent name
        id: String,
        /// Model: `PROVIDER/MODEL`, `scripted:FILE`, or `demo`
        #[arg(
            value_name = "REF",
            required_unless_present = "clear",
            conflicts_with = "clear"
        )]
        model: Option<String>,
        /// Use the default model again
        #[arg(long)]
        clear: bool,
        /// Accept the model without asking its provider whether it has it
        #[arg(long)]
        no_test: bool,
    },
    /// Pause an agent: messages are queued and nothing starts
    Pause {
        /// Agent name
        id: String,
    },
    /// Resume a paused or stopped agent
    Resume {
        /// Agent name
        id: String,
    },
    /// Stop an agent: messages are refused until it is resumed
    Stop {
        /// Agent name
        id: String,
    },
    /// Activate an agent: everything that its mode allows may wake it
    Activate {
        /// Agent name
        id: String,
    },
    /// Make an agent dormant: only you can wake it
    Dormant {
        /// Agent name
        id: String,
    },
    /// Destroy an agent permanently; its history stays readable
    Destroy {
        /// Agent name
        id: String,
        /// Confirm; this cannot be undone
        #[arg(long)]
        yes: bool,
    },
    /// Cancel all queued messages of an agent; its open run continues
    ClearQueue {
        /// Agent name
        id: String,
    },
    /// Set what may wake an agent
    Mode {
        /// Agent name
        id: String,
        /// What may wake the agent
        #[arg(value_enum)]
        mode: ModeArg,
    },
    /// Set a sleep barrier: until it ends only you wake the agent, and other messages wait
    #[command(group = clap::ArgGroup::new("moment").required(true))]
    Sleep {
        /// Agent name
        id: String,
        /// End of the sleep, such as 2026-02-17T16:00:00Z
        #[arg(long, value_name = "TIME", group = "moment")]
        until: Option<String>,
        /// Duration of the sleep, such as 30m, 2h or 7d
        #[arg(long = "for", value_name = "DURATION", group = "moment")]
        span: Option<String>,
    },
    /// Manage the external trigger of an agent: a secret URL with which other systems wake it
    #[command(subcommand)]
    ExternalTrigger(TriggerVerb),
    /// Remove the sleep barrier of an agent; waiting messages start
    Wake {
        /// Agent name
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TriggerVerb {
    /// Show the trigger URL, and create it on first use. The URL is a secret
    Show {
        /// Agent name
        id: String,
    },
    /// Replace the trigger URL; the old one stops working immediately
    Rotate {
        /// Agent name
        id: String,
    },
    /// Revoke the trigger URL; calls are refused until a new one is created with `rotate`
    Revoke {
        /// Agent name
        id: String,
    },
}

/// What may wake an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Changes, schedules and external triggers; messages from you work too and are recorded
    Autonomous,
    /// Only messages from people
    Interactive,
    /// People, changes, schedules and external triggers
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

pub(crate) async fn agent(verb: &AgentVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        AgentVerb::Create { id, settings, mode } => {
            let mode = (*mode).into();
            create(NewAgent { id, settings, mode }, shared, out).await?;
        }
        AgentVerb::Set { id, settings } => set(id, settings, shared, out).await?,
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
            let shown = read(shared, async |backend| status_and_settings(backend, id).await);
            let (status, settings) = shown.await?;
            out.agent_with_settings(&status, &settings, &permissions_text(&settings));
        }
        AgentVerb::Model {
            id, model, no_test, ..
        } => {
            let choice = ModelChoice {
                agent_id: name(id)?,
                model: model.as_deref(),
                skip_model_test: *no_test,
            };
            choose(choice, shared, out).await?;
        }
        AgentVerb::Pause { id } => change(PauseAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Resume { id } => change(ResumeAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Stop { id } => change(StopAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Activate { id } => change(ActivateAgent { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Dormant { id } => change(MakeAgentDormant { agent_id: name(id)? }, shared, out).await?,
        AgentVerb::Destroy { id, yes } => {
            if !yes {
                confirm_by_name(id, &format!("agent {id} would be destroyed permanently"))?;
            }
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

/// Arguments of `agent model`.
struct ModelChoice<'a> {
    agent_id: Text<AgentId>,
    /// None for the default model.
    model: Option<&'a str>,
    skip_model_test: bool,
}

async fn choose(choice: ModelChoice<'_>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let agent_id = choice.agent_id;
    // The path is resolved here, because a relative path depends on the current folder.
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let registry = ModelRegistry::new(&settings.config);
    let model = choice.model.map(|model| registry.named(model)).transpose()?;
    let change = SettingsChange {
        model: model.map_or(Change::Reset, Change::Set),
        ..SettingsChange::default()
    };
    let status = write_existing(shared, out, async |backend| {
        let asked = ChangeAgentSettings {
            skip_model_test: choice.skip_model_test,
            ..ChangeAgentSettings::new(agent_id.clone(), change)
        };
        let model_warning = backend.call(asked).await?.model_warning;
        let status = backend.call(GetAgentStatus { agent_id }).await?;
        Ok(AgentStatus {
            model_warning,
            ..status
        })
    });
    let status = status.await?;
    status.model_warning.iter().for_each(|text| out.note(text));
    out.agent(&status);
    Ok(())
}

async fn trigger(verb: &TriggerVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let tell = write_existing(shared, out, async |backend| match verb {
        TriggerVerb::Show { id } => backend.call(GetExternalTrigger { agent_id: name(id)? }).await,
        TriggerVerb::Rotate { id } => backend.call(RotateExternalTrigger { agent_id: name(id)? }).await,
        TriggerVerb::Revoke { id } => backend.call(RevokeExternalTrigger { agent_id: name(id)? }).await,
    });
    let found = tell.await?;
    let address = match &found.trigger_path {
        None => "none (revoked)".to_owned(),
        Some(path) => match base_url(shared)? {
            Some(base) => format!("{base}{path}"),
            None => format!("{path} at the daemon's address; no daemon is running here"),
        },
    };
    let last = found.last_triggered_at.as_deref().unwrap_or("never");
    let words = format!(
        "trigger  {} of agent {} ({})\npost to  {address}\ncalled   {} times, last {last}",
        found.external_trigger_id, found.target_agent_id, found.status, found.trigger_count
    );
    out.answer(&found, &words);
    if found.trigger_path.is_some() {
        out.note("this URL is a secret: anyone who has it can wake the agent; give it only to the system that calls it");
    }
    Ok(())
}

/// The address at which external systems reach the daemon of this database; `None` if no daemon runs.
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

/// Parses a time in the future.
fn moment(text: &str) -> Result<Millis, Failure> {
    shifted(text, RealClock::new().now(), i64::saturating_add)
}

fn name(id: &str) -> Result<Text<AgentId>, Failure> {
    Ok(Text(AgentId::parse(id)?))
}

/// Calls an endpoint that returns the updated agent.
async fn change(
    asked: impl Endpoint<Output = AgentStatus>,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    let tell = write_existing(shared, out, async |backend| backend.call(asked).await);
    out.agent(&tell.await?);
    Ok(())
}

/// Arguments of `agent create`.
struct NewAgent<'a> {
    id: &'a str,
    settings: &'a SettingsArgs,
    mode: InteractionMode,
}

async fn create(new: NewAgent<'_>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let agent_id = AgentId::parse(new.id)?;
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let given = new
        .settings
        .workspace
        .as_deref()
        .or(settings.config.agent.workspace.as_ref().map(Path::new))
        .unwrap_or(Path::new("."));
    // The workspace is checked before the home is created, and again when it exists.
    let look = |home: &Path| WorkspacePath::look(given, home).map_err(Failure::into_usage);
    let home = shared.home()?;
    look(&home)?;
    let change = new.settings.change(shared)?;
    let choice = match new.settings.workspace {
        Some(_) => FolderChoice::Named,
        None => FolderChoice::Current,
    };
    let tell = write(shared, out, async |backend| {
        let workspace = look(&home)?.text.clone();
        trust::settle(&home, &workspace, choice)?;
        let change = SettingsChange {
            workspace: Change::Set(workspace),
            ..change
        };
        let agent_id = Text(agent_id);
        let asked = CreateAgent {
            skip_model_test: new.settings.no_test,
            ..CreateAgent::new(agent_id, Visibility::Public, Some(new.mode), change)
        };
        backend.call(asked).await
    });
    let made = tell.await?;
    made.model_warning.iter().for_each(|text| out.note(text));
    out.agent(&made);
    Ok(())
}
