//! `wakeful init`: creates a home, its settings and a first agent. Running it again changes nothing.

mod ask;
mod model;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use wakeful_api::{
    AgentStatus, Change, CreateAgent, GetAgentStatus, SetProviderKey, SettingsChange, Text, Visibility,
};
use wakeful_core::id::{AgentId, RuleId};

use self::ask::Dialogue;
use self::model::{ModelAnswers, ModelSetup};
use super::GlobalArgs;
use super::key_input::read_hidden;
use crate::backend::{read, write};
use crate::config::{self, ConfigEdit, LoadedConfig, Overrides, Setting, SettingOrigin};
use crate::failure::Failure;
use crate::home::Home;
use crate::model::{DEMO, ModelRegistry};
use crate::provider_setup::ProviderSetup;
use crate::show::Out;
use crate::workspace::{OTHER_FOLDER, WorkspacePath};

/// The default cap of a new home: enough for a day of trials, and low enough to avoid a surprising bill.
const DAILY_USD: &str = "5";

/// Error codes that mean only that the agent does not exist yet.
const ABSENT: [&str; 4] = ["agent_unknown", "home_missing", "database_empty", "schema_older"];

const NEXT: &str = "wakeful daemon start && wakeful open";

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Model provider, see `wakeful models list`; its default model is used unless --model is given
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// File with the provider's key, `-` for standard input; it is stored in the keyring or a private file
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Do not test the provider, its key and its model, and accept a model that no list confirms
    #[arg(long)]
    no_test: bool,
    /// Default model of runs: `PROVIDER/MODEL`, `scripted:FILE`, or `demo`
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// Folder in which commands of new agents run and may write [default: the current folder, or the folder
    /// wakeful-work next to the home if the current folder is not suitable]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Name of the first agent [default: main]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Daily spending cap for all agents together, in US dollars [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    daily_usd: Option<String>,
    /// Do not prompt; keep existing values and use defaults for the rest
    #[arg(long)]
    yes: bool,
}

/// The collected answers.
struct Answers {
    edits: Vec<ConfigEdit>,
    agent: AgentId,
    workspace: PathBuf,
}

pub(crate) async fn init(args: &InitArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let path = shared.home()?;
    let lasting = config::load_lasting(&path, &flags(args))?;
    let time = if config::path(&path).exists() {
        InitRun::Later
    } else {
        InitRun::First
    };
    let openings = Question::ALL.map(|question| InitPrompt::new(question, &lasting, time, &path));
    let openings = openings.into_iter().collect::<Result<Vec<_>, _>>()?;
    // Without the flags, so that a model given by flag does not count as a known one.
    let known = config::load_lasting(&path, &Overrides::default())?;
    let setup = ProviderSetup {
        home: path.clone(),
        models: ModelRegistry::new(&known.config),
    };
    let model_setup = ModelSetup {
        setup: &setup,
        args,
        configured: lasting.config.model.default.clone(),
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let (models, settled) = if terminal && !args.yes && !shared.json {
        let (mut input, mut output) = (std::io::BufReader::new(std::io::stdin()), std::io::stderr());
        let mut dialogue = Dialogue {
            input: &mut input,
            output: &mut output,
            hidden: read_hidden,
        };
        let models = model_setup.ask_all(&mut dialogue).await?;
        (models, dialogue.settle(openings)?)
    } else {
        let taken = openings.into_iter();
        let settled = taken
            .map(|opening| (opening.question, opening.proposed))
            .collect();
        (model_setup.read_flags().await?, settled)
    };
    let mut answers = Answers::new(settled)?;
    answers.edits.extend(model_edits(&models));
    answers.edits.extend(beginnings(&lasting, time));
    // The workspace is checked before the home is created, so that an unsuitable folder leaves nothing
    // behind.
    make_default(&answers.workspace, &path)?;
    let workspace = WorkspacePath::look(&answers.workspace, &path).map_err(Failure::into_usage)?;
    let home = Home::open_or_create(&path)?;
    let changed = config::change(&home, &answers.edits)?;
    let (agent, made) = first_agent(&answers.agent, &workspace.text, shared, out).await?;
    if agent.workspace != workspace.text {
        out.note(&format!(
            "agent {} keeps its workspace {}",
            agent.agent_id, agent.workspace
        ));
    }
    let key = store_key(&models, shared, out).await?;
    models.notes.iter().for_each(|note| out.note(note));
    let done = InitResult {
        home: &home,
        agent: &agent,
        is_config_changed: changed || key.is_some(),
        is_agent_new: made,
        key,
        model: models.model.or(lasting.config.model.default),
    };
    done.show(out);
    Ok(0)
}

fn model_edits(models: &ModelAnswers) -> impl Iterator<Item = ConfigEdit> {
    let named = [
        ("provider.name", &models.provider),
        ("model.default", &models.model),
    ];
    named.into_iter().filter_map(|(key, value)| {
        Some(ConfigEdit::Set {
            key: key.to_owned(),
            text: value.clone()?,
        })
    })
}

/// Stores a key that was tested before, and returns its location.
async fn store_key(models: &ModelAnswers, shared: &GlobalArgs, out: &Out) -> Result<Option<String>, Failure> {
    let (Some(provider), Some(key)) = (&models.provider, &models.key) else {
        return Ok(None);
    };
    let asked = SetProviderKey {
        provider: Text(RuleId::parse(provider)?),
        key: key.clone(),
        skip_test: true,
    };
    let stored = write(shared, out, async |backend| backend.call(asked).await).await?;
    Ok(stored.provider.key_handle)
}

fn flags(args: &InitArgs) -> Overrides {
    let workspace = args.workspace.as_ref().map(|path| path.display());
    Overrides::default()
        .flag("provider.name", "--provider", args.provider.as_ref())
        .flag("model.default", "--model", args.model.as_ref())
        .flag("agent.workspace", "--workspace", workspace)
        .flag("agent.default", "--agent", args.agent.as_ref())
        .flag("budget.daily_usd", "--daily-usd", args.daily_usd.as_ref())
}

/// The questions after those about the model, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Workspace,
    Agent,
    Cap,
}

impl Question {
    const ALL: [Self; 3] = [Self::Workspace, Self::Agent, Self::Cap];

    /// The setting that stores the answer.
    const fn key(self) -> &'static str {
        match self {
            Self::Workspace => "agent.workspace",
            Self::Agent => "agent.default",
            Self::Cap => "budget.daily_usd",
        }
    }
}

/// A question with its default answer, and whether a flag already answers it.
struct InitPrompt {
    question: Question,
    proposed: Option<String>,
    given: AnswerSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerSource {
    ByFlag,
    Open,
}

/// Whether this is the first `init` of the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitRun {
    First,
    Later,
}

impl InitPrompt {
    fn new(question: Question, lasting: &LoadedConfig, time: InitRun, home: &Path) -> Result<Self, Failure> {
        let given = match lasting.origin(question.key()) {
            SettingOrigin::Flag { .. } => AnswerSource::ByFlag,
            SettingOrigin::Default | SettingOrigin::File { .. } | SettingOrigin::Environment { .. } => {
                AnswerSource::Open
            }
        };
        let settled = lasting.value(question.key()).map(words);
        let proposed = match (question, settled, time) {
            (_, Some(settled), _) => Some(settled),
            (Question::Workspace, None, _) => Some(default_workspace(home)?),
            (Question::Cap, None, InitRun::First) => Some(DAILY_USD.to_owned()),
            // A cap that the user removed is not restored.
            (Question::Cap, None, InitRun::Later) => None,
            (Question::Agent, None, _) => None,
        };
        Ok(Self {
            question,
            proposed,
            given,
        })
    }
}

impl Answers {
    /// Converts the answers to edits of the settings file, and keeps those that are needed immediately.
    fn new(settled: Vec<(Question, Option<String>)>) -> Result<Self, Failure> {
        let mut edits = Vec::new();
        let (mut agent, mut workspace) = (String::new(), PathBuf::new());
        for (question, answer) in settled {
            let Some(answer) = answer else { continue };
            let value = words(&Setting::known(question.key())?.typed(&answer)?);
            match question {
                Question::Agent => agent.clone_from(&value),
                Question::Workspace => workspace = PathBuf::from(&value),
                Question::Cap => {}
            }
            edits.push(ConfigEdit::Set {
                key: question.key().to_owned(),
                text: value,
            });
        }
        Ok(Self {
            edits,
            agent: AgentId::parse(&agent)?,
            workspace,
        })
    }
}

/// A setting of new homes that is not asked for: schedules catch up on firings missed while the machine was
/// off.
fn beginnings(lasting: &LoadedConfig, time: InitRun) -> Option<ConfigEdit> {
    let is_open = matches!(lasting.origin("schedule.catch_up"), SettingOrigin::Default);
    (time == InitRun::First && is_open).then(|| ConfigEdit::Set {
        key: "schedule.catch_up".to_owned(),
        text: true.to_string(),
    })
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The default workspace: the current folder. That is usually the parent of the home, which commands may
/// not access; in that case, a folder next to the home.
fn default_workspace(home: &Path) -> Result<String, Failure> {
    let here = std::env::current_dir().ok();
    if let Some(here) = here.filter(|here| WorkspacePath::look(here, home).is_ok()) {
        return Ok(here.display().to_string());
    }
    let beside = beside(home).ok_or_else(|| {
        Failure::usage(
            "workspace_unusable",
            "cannot determine a default workspace",
            "use --workspace DIR",
        )
    })?;
    Ok(beside.display().to_string())
}

fn beside(home: &Path) -> Option<PathBuf> {
    let home = std::path::absolute(home).ok()?;
    Some(home.parent()?.join(OTHER_FOLDER))
}

/// Creates the folder only if it is the default that this program proposed.
fn make_default(workspace: &Path, home: &Path) -> Result<(), Failure> {
    if workspace.exists() || beside(home).as_deref() != Some(workspace) {
        return Ok(());
    }
    std::fs::create_dir_all(workspace).map_err(|error| {
        let attempt = format!("cannot create the folder {}", workspace.display());
        Failure::io(
            "workspace_unusable",
            &attempt,
            &error,
            "choose another with --workspace DIR",
        )
    })
}

/// Creates the first agent if it does not exist, and returns whether it is new. An existing agent is not
/// changed.
async fn first_agent(
    agent: &AgentId,
    workspace: &str,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(AgentStatus, bool), Failure> {
    let known = || {
        read(shared, async |backend| {
            backend
                .call(GetAgentStatus {
                    agent_id: Text(agent.clone()),
                })
                .await
        })
    };
    match known().await {
        Ok(known) => return Ok((known, false)),
        // The agent or the database does not exist, or the schema is older; creating the agent resolves
        // each case.
        Err(failure) if ABSENT.contains(&failure.code()) => {}
        Err(failure) => return Err(failure),
    }
    let made = write(shared, out, async |backend| {
        let settings = SettingsChange {
            workspace: Change::Set(workspace.to_owned()),
            ..SettingsChange::default()
        };
        let new = CreateAgent::new(Text(agent.clone()), Visibility::Public, None, settings);
        backend.call(new).await
    });
    match made.await {
        Ok(made) => Ok((made, true)),
        // Another process created the agent first.
        Err(failure) if failure.code() == "agent_exists" => Ok((known().await?, false)),
        Err(failure) => Err(failure),
    }
}

/// What `init` did.
struct InitResult<'a> {
    home: &'a Home,
    agent: &'a AgentStatus,
    is_config_changed: bool,
    is_agent_new: bool,
    /// Where a new key is stored.
    key: Option<String>,
    model: Option<String>,
}

impl InitResult<'_> {
    fn show(&self, out: &Out) {
        let path = config::path(self.home.root()).display().to_string();
        let (name, model) = (&self.agent.agent_id, self.model.as_deref().unwrap_or(DEMO));
        let object = json!({
            "home": self.home.root().display().to_string(),
            "config": path,
            "config_changed": self.is_config_changed,
            "model": model,
            "key": self.key,
            "agent_id": name,
            "workspace": self.agent.workspace,
            "agent_created": self.is_agent_new,
            "next": NEXT,
        });
        let written = if self.is_config_changed {
            "written"
        } else {
            "unchanged"
        };
        let made = if self.is_agent_new {
            "created"
        } else {
            "already existed"
        };
        let mut text = vec![
            format!("settings   {path} ({written})"),
            format!("model      {model}"),
        ];
        text.extend(self.key.as_ref().map(|key| format!("key        {key}")));
        text.push(format!("agent      {name} ({made})"));
        text.push(format!("workspace  {}", self.agent.workspace));
        text.push(format!("next       {NEXT}"));
        if !self.is_config_changed && !self.is_agent_new {
            out.note("already set up; nothing was changed");
        }
        out.answer(&object, &text.join("\n"));
    }
}
