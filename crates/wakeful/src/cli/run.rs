//! `wakeful run`: sends one message, drives its run and prints the answer.

pub(super) mod ask;
pub(super) mod attach;
mod cap;
pub(super) mod limit;
mod local;
mod prompt;
mod remote;
mod resume;
mod schema;
mod stuck;
mod submit;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use wakeful_api::RunLimits;
use wakeful_core::answer_schema::AnswerSchema;
use wakeful_core::conversation::Attachment;
use wakeful_core::id::{AgentId, SessionId, TurnId};
use wakeful_core::key::derived_hash;
use wakeful_core::policy::check_tool_names;
use wakeful_core::run::ROUNDS_MAX;
use wakeful_models::Models;
use wakeful_runtime::api::NewAgent;
use wakeful_store::rows::{Agent, Visibility};

use self::limit::{LIMIT_ARGS, LimitArgs};
pub(super) use self::prompt::read as read_prompt;
use super::GlobalArgs;
use crate::config::{self, LoadedConfig, Overrides};
use crate::discover::{daemon, daemon_now};
use crate::failure::Failure;
use crate::home::Home;
use crate::model::{ModelChain, ModelRegistry, RunOwner, canonical};
use crate::open_home::{SandboxRequirement, tool_names, with_read_only};
use crate::show::Out;
use crate::system::fresh_id;
use crate::workspace::WorkspacePath;

/// Hex digits in the name of a temporary agent that is derived from an idempotency key; enough to exclude
/// collisions.
const TEMPORARY_DIGITS: usize = 32;

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Prompt; `-` reads it from standard input
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    prompt: Option<String>,
    /// Model: `PROVIDER/MODEL`, `scripted:FILE`, or `demo` for the built-in script [env: WAKEFUL_MODEL]
    #[arg(long, value_name = "REF", conflicts_with = "resume")]
    model: Option<String>,
    /// Agent that keeps its conversation; without one, a temporary agent is created for this run
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Conversation of the agent [default: cli]
    #[arg(long, value_name = "NAME", requires = "agent", conflicts_with = "resume")]
    thread: Option<String>,
    /// Create the agent if it does not exist
    #[arg(long, requires = "agent", conflicts_with = "resume")]
    create_agent: bool,
    /// Maximum number of model rounds [default: 50]
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    max_rounds: Option<u32>,
    /// Folder in which commands run and may write [default: the agent's, else the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    workspace: Option<PathBuf>,
    /// Attach an image (PNG, JPEG, GIF, WebP), a PDF or a text file to the prompt; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    attach: Vec<PathBuf>,
    /// JSON Schema that the answer must fit; standard output then has exactly the JSON (`wakeful help schema`)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    schema: Option<PathBuf>,
    /// Tools that this run may not use
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "resume")]
    deny_tools: Vec<String>,
    /// Tools that need your approval in this run
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "resume")]
    ask_tools: Vec<String>,
    /// Only read and plan: nothing is changed, and commands cannot write in the workspace
    #[arg(long, conflicts_with = "resume")]
    read_only: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// Idempotency key: repeating the command with the same key starts no second run
    #[arg(long, value_name = "K", conflicts_with = "resume")]
    idempotency_key: Option<String>,
    /// Finish interrupted runs and start those that a brake held, instead of starting a new one
    #[arg(long, conflicts_with_all = LIMIT_ARGS)]
    resume: bool,
    /// Run commands even if this kernel cannot sandbox them
    #[arg(long)]
    allow_unsandboxed: bool,
}

impl RunArgs {
    /// The settings of this call. A resumed run keeps the settings that it started with.
    fn settings(&self, shared: &GlobalArgs) -> Result<LoadedConfig, Failure> {
        config::load(&shared.home()?, &self.flags()?)
    }

    /// Like [`Self::settings`], but an invalid file is only reported while a daemon runs, because the daemon works
    /// with its last valid settings and this call only adds its own.
    fn usable_settings(&self, shared: &GlobalArgs, out: &Out) -> Result<LoadedConfig, Failure> {
        let failure = match self.settings(shared) {
            Err(failure) if failure.code() == config::INVALID && daemon_now(shared)?.is_some() => failure,
            settings => return settings,
        };
        out.note(&format!(
            "{}; the daemon uses its last valid settings",
            failure.message()
        ));
        config::load_without_file(&self.flags()?)
    }

    fn flags(&self) -> Result<Overrides, Failure> {
        // The path is resolved here, because a relative path depends on the current folder.
        let model = self.model.as_deref().map(canonical).transpose()?;
        Ok(Overrides::default().flag("model.default", "--model", model).flag(
            "agent.max_rounds",
            "--max-rounds",
            self.max_rounds,
        ))
    }

    /// The arguments with another workspace, if the current folder would be used and contains the home.
    fn with_workspace(&self, shared: &GlobalArgs) -> Result<Self, Failure> {
        let mut args = self.clone();
        // An agent has its own workspace, unless it is created now.
        if args.workspace.is_none() && (args.agent.is_none() || args.create_agent) {
            args.workspace = WorkspacePath::offer_other(&shared.home()?)?;
        }
        Ok(args)
    }

    const fn sandboxing(&self) -> SandboxRequirement {
        if self.allow_unsandboxed {
            SandboxRequirement::Optional
        } else {
            SandboxRequirement::Required
        }
    }
}

pub(crate) async fn run(args: &RunArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if args.resume {
        resume::resume(args, shared, out).await
    } else {
        start(args, shared, out).await.map_err(offer_to_create)
    }
}

/// Only this command can create a missing agent, so the hint mentions the flag.
fn offer_to_create(failure: Failure) -> Failure {
    if failure.code() != "agent_unknown" {
        return failure;
    }
    let hint = format!("{}, or add --create-agent", failure.hint());
    failure.with_hint(hint)
}

async fn start(args: &RunArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let args = &args.with_workspace(shared)?;
    // All argument errors are reported before the home is accessed.
    let settings = args.usable_settings(shared, out)?;
    let call = CheckedCall::parse(args)?;
    let request = RunRequest {
        call: &call,
        args,
        settings: &settings,
    };
    match daemon(shared).await? {
        Some(client) => remote::start(request, client, shared, out).await,
        None => local::start(request, shared, out).await,
    }
}

/// A call with its options and settings.
#[derive(Clone, Copy)]
struct RunRequest<'a> {
    call: &'a CheckedCall,
    args: &'a RunArgs,
    settings: &'a LoadedConfig,
}

/// A call whose arguments were validated without accessing the home.
struct CheckedCall {
    /// The agent given with `--agent`.
    named: Option<AgentId>,
    /// The agent that the run belongs to.
    agent: AgentId,
    turn: TurnId,
    thread: Option<SessionId>,
    prompt: String,
    attachments: Vec<Attachment>,
    deny_tools: BTreeSet<String>,
    ask_tools: BTreeSet<String>,
    schema: Option<AnswerSchema>,
    is_read_only: bool,
    limits: RunLimits,
}

impl CheckedCall {
    fn parse(args: &RunArgs) -> Result<Self, Failure> {
        let prompt = prompt::read(args.prompt.as_deref().unwrap_or_default())?;
        let attachments = attach::read(&args.attach)?;
        let schema = args.schema.as_deref().map(schema::read).transpose()?;
        let named = args.agent.as_deref().map(AgentId::parse).transpose()?;
        let key = args.idempotency_key.as_deref();
        let turn = TurnId::parse(key.unwrap_or(&fresh_id()))?;
        let thread = args.thread.as_deref().map(SessionId::parse).transpose()?;
        let named_tools = |names: &[String]| -> Result<BTreeSet<String>, Failure> {
            let tools = names.iter().map(|name| name.trim().to_owned()).collect();
            check_tool_names(&tool_names(), &tools)?;
            Ok(tools)
        };
        let (deny_tools, ask_tools) = (named_tools(&args.deny_tools)?, named_tools(&args.ask_tools)?);
        let agent = match &named {
            Some(agent) => agent.clone(),
            None => temporary_agent(key)?,
        };
        Ok(Self {
            named,
            agent,
            turn,
            thread,
            prompt,
            attachments,
            deny_tools,
            ask_tools,
            schema,
            is_read_only: args.read_only,
            limits: args.limits.parse()?,
        })
    }

    /// Whether the agent may already exist with a model chosen for it; then the model is unknown until the
    /// agent is read.
    fn may_be_known(&self, shared: &GlobalArgs, home: &Path) -> bool {
        self.named.is_some() && (shared.database().is_some() || Home::is_there(home))
    }

    /// The models of the run, as far as the agent is known.
    fn models(
        &self,
        registry: &ModelRegistry,
        known: Option<&Agent>,
        wished: Option<&str>,
    ) -> Result<(ModelChain, Models), Failure> {
        let chain = registry.chain(known.map(RunOwner::from), wished)?;
        let models = registry.route(&chain.model_ref, &chain.fallbacks)?;
        Ok((chain, models))
    }

    /// Checks the workspace before a home or a database is created. For an existing agent this is
    /// unnecessary: the workspace may be the agent's own, and nothing has to be created.
    async fn look_ahead(&self, args: &RunArgs, shared: &GlobalArgs, home: &Path) -> Result<(), Failure> {
        let known = match &self.named {
            Some(_) if Home::is_there(home) && args.workspace.is_none() => return Ok(()),
            Some(agent) if shared.database().is_some() => known(shared, agent.clone()).await,
            Some(_) | None => None,
        };
        workspace(args.workspace.as_deref(), known.as_ref(), home).map(drop)
    }

    /// The agent to create with the message. A temporary agent needs no name; a named one is created only
    /// on request, because a typing error must not create an agent.
    fn new_agent(&self, args: &RunArgs, workspace: &WorkspacePath) -> Option<NewAgent> {
        let visibility = match (&self.named, args.create_agent) {
            (None, _) => Visibility::Private,
            (Some(_), true) => Visibility::Public,
            (Some(_), false) => return None,
        };
        Some(NewAgent {
            visibility,
            ..NewAgent::new(self.agent.clone(), workspace.text.clone())
        })
    }
}

/// The agent, if a database exists and contains it. Errors are ignored here, because opening the database
/// for writing reports them again.
async fn known(shared: &GlobalArgs, agent: AgentId) -> Option<Agent> {
    let found = with_read_only(shared, async |store| {
        Ok(store.read(move |view| view.agent(&agent)).await?)
    });
    found.await.unwrap_or_default()
}

/// The given workspace, else the agent's, else the current folder; never one that overlaps the home.
fn workspace(given: Option<&Path>, agent: Option<&Agent>, home: &Path) -> Result<WorkspacePath, Failure> {
    let path = match (given, agent) {
        (Some(given), _) => given,
        (None, Some(agent)) => Path::new(&agent.workspace),
        (None, None) => Path::new("."),
    };
    WorkspacePath::look(path, home).map_err(Failure::into_usage)
}

/// A temporary agent exists for one run and is not listed. Its name is derived from the idempotency key, so
/// that the same key gives the same run; without a key it is unique.
fn temporary_agent(key: Option<&str>) -> Result<AgentId, Failure> {
    let name = match key {
        Some(key) => {
            let digest = derived_hash("agent.temporary", &[key]).to_string();
            digest.chars().take(TEMPORARY_DIGITS).collect()
        }
        None => fresh_id(),
    };
    Ok(AgentId::parse(&format!("temp-{name}"))?)
}
