//! The settings flags of `wakeful agent create` and `wakeful agent set`, and how settings are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use wakeful_api::{AgentSettings, AgentStatus, ChangeAgentSettings, GetAgentSettings, GetAgentStatus, Text};
use wakeful_core::agent_settings::{ALL_CATEGORIES, Change, SettingsChange};
use wakeful_core::budget::{DAILY_CAP_MAX, parse_cap};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::policy::{ForeignTargetPolicy, PermissionMode};
use wakeful_core::prompt::GUIDANCE_BYTES_MAX;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::tool::{Capability, ToolQuota};

use super::GlobalArgs;
use super::agent_guardrails;
use super::agent_sandbox::{self, SandboxArgs};
use super::run::read_prompt;
use crate::backend::{Backend, write_existing};
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::model::ModelRegistry;
use crate::show::{Out, facts};
use crate::trust::{self, FolderChoice};
use crate::workspace::WorkspacePath;

/// The word that restores the default of a setting.
const DEFAULT: &str = "default";

/// The word for an empty list.
const NONE: &str = "none";

#[derive(Debug, Default, Args)]
pub(crate) struct SettingsArgs {
    /// What the agent is for; `none` removes it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// File with instructions for every run, `-` for standard input; `none` removes them
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Model: `PROVIDER/MODEL`, `scripted:FILE`, `demo`, or `default`
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// Models to use when the model fails permanently, in order; `none`, or `default`
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    fallbacks: Option<Vec<String>>,
    /// Accept the models without asking their providers whether they have them
    #[arg(long)]
    pub(super) no_test: bool,
    /// Tools that need your approval; `none` removes all
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    ask_tools: Option<Vec<String>>,
    /// Tools that the agent may not use; `none` removes all
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    deny_tools: Option<Vec<String>>,
    /// Agents whose runs it may start; `none` removes all
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    may_start: Option<Vec<String>>,
    /// What happens when a run that has read untrusted data acts on a target that you did not name: `ask`,
    /// `allow`, `deny`, or `default`
    #[arg(long, value_name = "POLICY")]
    foreign_targets: Option<String>,
    /// Where its decisions may be answered: `page`, `api`, `cli`, or `default`
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    answer_channels: Option<Vec<String>>,
    /// Maximum number of model rounds of a run, or `default`
    #[arg(long, value_name = "N")]
    max_rounds: Option<String>,
    /// Daily cap in US dollars; `none` removes it
    #[arg(long, value_name = "USD")]
    daily_usd: Option<String>,
    /// Folder in which the agent's commands run and may write
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// How much the agent may do without you: `permissive`, `standard`, `restrictive`, or `default`
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Category of the journal that the agent may use; may be repeated. `all` or `none` stand alone
    #[arg(long, value_name = "ID")]
    category: Vec<String>,
    /// Capability that the agent has, such as `fileRead`; may be repeated. A tool that needs another one is
    /// denied and not offered. `all` stands alone
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// Whether its model's provider may search the web while it writes a reply: `on`, `off`, or `default` (off)
    #[arg(long, value_name = "SWITCH")]
    web_search: Option<String>,
    /// How often it may use a tool, as `TOOL=N/day` (24 hours) or `TOOL=N/session`; may be repeated. Replaces
    /// all quotas; `none` removes them
    #[arg(long, value_name = "TOOL=N/PERIOD")]
    tool_quota: Vec<String>,
    /// JSON file with guardrails for messages, replies and calls, `-` for standard input; `none` removes them
    #[arg(long, value_name = "FILE")]
    guardrails: Option<PathBuf>,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

impl SettingsArgs {
    /// The requested change without the workspace. Relative paths are resolved here, because they depend on
    /// the current folder.
    pub(super) fn change(&self, shared: &GlobalArgs) -> Result<SettingsChange, Failure> {
        let models = ModelNames::new(shared);
        let model = resettable(self.model.as_deref(), DEFAULT).try_map(|name| models.named(name))?;
        let fallbacks = match self.fallbacks.as_deref() {
            Some([word]) if word == NONE => Change::Set(Vec::new()),
            given => list(given, DEFAULT).try_map(|names| {
                names
                    .iter()
                    .map(|name| models.named(name))
                    .collect::<Result<_, _>>()
            })?,
        };
        Ok(SettingsChange {
            description: resettable(self.description.as_deref(), NONE).map(str::to_owned),
            instructions: self.instructions()?,
            model,
            fallbacks,
            ask_tools: list(self.ask_tools.as_deref(), NONE).map(names),
            deny_tools: list(self.deny_tools.as_deref(), NONE).map(names),
            may_start: list(self.may_start.as_deref(), NONE).map(names),
            foreign_targets: resettable(self.foreign_targets.as_deref(), DEFAULT).try_map(policy)?,
            answer_channels: list(self.answer_channels.as_deref(), DEFAULT).try_map(channels)?,
            max_rounds: resettable(self.max_rounds.as_deref(), DEFAULT).try_map(rounds)?,
            daily_usd: resettable(self.daily_usd.as_deref(), NONE).try_map(cap)?,
            workspace: Change::Keep,
            permission_mode: resettable(self.permission_mode.as_deref(), DEFAULT).try_map(mode)?,
            sandbox: self.sandbox(shared)?,
            capabilities: capabilities(&self.capability)?,
            web_search: resettable(self.web_search.as_deref(), DEFAULT).try_map(switch)?,
            tool_quotas: quotas(&self.tool_quota)?,
            guardrails: agent_guardrails::change(self.guardrails.as_deref())?,
            allowed_category_ids: self.categories(),
        })
    }

    /// The sandbox of a new agent.
    fn sandbox(&self, shared: &GlobalArgs) -> Result<Change<SandboxScope>, Failure> {
        if !self.sandbox.is_given() {
            return Ok(Change::Keep);
        }
        let scope = self.sandbox.applied_to(SandboxScope::default())?;
        let user = std::env::home_dir().filter(|user| user.is_absolute());
        if let Some(user) = user {
            agent_sandbox::check_places(&scope, &user, &shared.home()?)?;
        }
        Ok(Change::Set(scope))
    }

    fn instructions(&self) -> Result<Change<String>, Failure> {
        let Some(path) = &self.instructions else {
            return Ok(Change::Keep);
        };
        if path == Path::new(NONE) {
            return Ok(Change::Reset);
        }
        if path == Path::new("-") {
            return Ok(Change::Set(read_prompt("-")?));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            let attempt = format!("--instructions: cannot read {}", path.display());
            Failure::io(
                "instructions_unreadable",
                &attempt,
                &error,
                "give a text file, or `-` for standard input",
            )
            .into_usage()
        })?;
        if text.len() > GUIDANCE_BYTES_MAX {
            let message = format!(
                "--instructions: {} has {} bytes, at most {GUIDANCE_BYTES_MAX} are allowed",
                path.display(),
                text.len()
            );
            return Err(Failure::usage("bad_setting", message, "use a shorter text"));
        }
        Ok(Change::Set(text))
    }

    fn categories(&self) -> Change<BTreeSet<String>> {
        match self.category.as_slice() {
            [] => Change::Keep,
            [word] if word == "all" => Change::Set([ALL_CATEGORIES.to_owned()].into()),
            [word] if word == NONE => Change::Set(BTreeSet::new()),
            ids => Change::Set(names(ids.to_vec())),
        }
    }
}

/// Resolves model names with the settings of the home, which are loaded once and only if needed.
struct ModelNames<'a> {
    shared: &'a GlobalArgs,
    registry: std::cell::OnceCell<ModelRegistry>,
}

impl<'a> ModelNames<'a> {
    const fn new(shared: &'a GlobalArgs) -> Self {
        Self {
            shared,
            registry: std::cell::OnceCell::new(),
        }
    }

    fn named(&self, name: &str) -> Result<String, Failure> {
        if self.registry.get().is_none() {
            let loaded = config::load(&self.shared.home()?, &Overrides::default())?;
            let _ = self.registry.set(ModelRegistry::new(&loaded.config));
        }
        let registry = self.registry.get();
        registry.map_or_else(|| Ok(name.to_owned()), |registry| registry.named(name))
    }
}

fn resettable<'a>(given: Option<&'a str>, word: &str) -> Change<&'a str> {
    match given {
        None => Change::Keep,
        Some(given) if given == word => Change::Reset,
        Some(given) => Change::Set(given),
    }
}

fn list(given: Option<&[String]>, word: &str) -> Change<Vec<String>> {
    match given {
        None => Change::Keep,
        Some([given]) if given == word => Change::Reset,
        Some(given) => Change::Set(given.iter().map(|name| name.trim().to_owned()).collect()),
    }
}

fn names(list: Vec<String>) -> BTreeSet<String> {
    list.into_iter().collect()
}

fn policy(word: &str) -> Result<ForeignTargetPolicy, Failure> {
    ForeignTargetPolicy::parse(word).ok_or_else(|| {
        let message = format!("--foreign-targets: unknown policy {word:?}");
        Failure::usage("bad_setting", message, "use ask, allow, deny or default")
    })
}

fn mode(word: &str) -> Result<PermissionMode, Failure> {
    PermissionMode::parse(word).ok_or_else(|| {
        let message = format!("--permission-mode: unknown mode {word:?}");
        Failure::usage(
            "bad_setting",
            message,
            "use permissive, standard, restrictive or default",
        )
    })
}

fn switch(word: &str) -> Result<bool, Failure> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => {
            let message = format!("--web-search: unknown value {word:?}");
            Err(Failure::usage("bad_setting", message, "use on, off or default"))
        }
    }
}

fn channels(words: Vec<String>) -> Result<BTreeSet<Channel>, Failure> {
    let parsed = words.into_iter().map(|word| {
        Channel::parse(&word).ok_or_else(|| {
            let message = format!("--answer-channels: unknown channel {word:?}");
            Failure::usage("bad_setting", message, "use page, api, cli or default")
        })
    });
    parsed.collect()
}

fn rounds(text: &str) -> Result<u32, Failure> {
    text.parse().map_err(|_| {
        let message = format!("--max-rounds: {text:?} is not a number of rounds");
        Failure::usage("bad_setting", message, "use a whole number, or default")
    })
}

fn capabilities(given: &[String]) -> Result<Change<BTreeSet<Capability>>, Failure> {
    match given {
        [] => Ok(Change::Keep),
        [word] if word == "all" => Ok(Change::Reset),
        words => {
            let parsed = words.iter().map(|word| {
                Capability::parse(word).ok_or_else(|| {
                    let message = format!("--capability: unknown capability {word:?}");
                    let known: Vec<&str> = Capability::words().collect();
                    let hint = format!("use all, or some of {}", known.join(", "));
                    Failure::usage("bad_setting", message, hint)
                })
            });
            Ok(Change::Set(parsed.collect::<Result<_, _>>()?))
        }
    }
}

fn quotas(given: &[String]) -> Result<Change<BTreeMap<String, ToolQuota>>, Failure> {
    match given {
        [] => return Ok(Change::Keep),
        [word] if word == NONE => return Ok(Change::Reset),
        _ => {}
    }
    let mut quotas: BTreeMap<String, ToolQuota> = BTreeMap::new();
    for text in given {
        let bad = || {
            let message = format!("--tool-quota: {text:?} is not a quota");
            let hint = "use TOOL=N/day or TOOL=N/session, such as ExecCommand=50/day, or none";
            Failure::usage("bad_setting", message, hint)
        };
        let (tool, limit) = text.split_once('=').ok_or_else(bad)?;
        let (count, period) = limit.split_once('/').ok_or_else(bad)?;
        let max = Some(count.trim().parse::<u32>().map_err(|_| bad())?);
        let quota = quotas.entry(tool.trim().to_owned()).or_default();
        match period.trim() {
            "day" => quota.max_per_day = max,
            "session" => quota.max_per_session = max,
            _ => return Err(bad()),
        }
    }
    Ok(Change::Set(quotas))
}

/// The capabilities and quotas for people, if there are any.
fn tool_limits(settings: &AgentSettings) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(list) = &settings.capabilities {
        let words: Vec<&str> = list.iter().map(|one| one.as_str()).collect();
        let text = if words.is_empty() {
            NONE.to_owned()
        } else {
            words.join(", ")
        };
        lines.push(("capabilities", text));
    }
    if settings.web_search {
        lines.push(("web search", "on".to_owned()));
    }
    let quotas = settings.tool_quotas.iter();
    let quotas: Vec<String> = quotas.map(|(tool, quota)| quota_text(tool, quota)).collect();
    if !quotas.is_empty() {
        lines.push(("tool quotas", quotas.join(", ")));
    }
    lines
}

/// A quota for people.
fn quota_text(tool: &str, quota: &ToolQuota) -> String {
    let limits = [(quota.max_per_session, "session"), (quota.max_per_day, "day")];
    let limits = limits
        .into_iter()
        .filter_map(|(max, period)| Some(format!("{}/{period}", max?)));
    format!("{tool} {}", limits.collect::<Vec<_>>().join(" and "))
}

fn cap(text: &str) -> Result<wakeful_core::budget::MicroUsd, Failure> {
    parse_cap(text).ok_or_else(|| {
        let message = format!("--daily-usd: {text:?} is not an amount from 0 to {DAILY_CAP_MAX}");
        Failure::usage("bad_setting", message, "use dollars such as 2.50, or none")
    })
}

/// `wakeful agent set`.
pub(super) async fn set(
    id: &str,
    args: &SettingsArgs,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    let agent = AgentId::parse(id)?;
    let home = shared.home()?;
    let look = |path: &PathBuf| WorkspacePath::look(path, &home).map_err(Failure::into_usage);
    let workspace = args.workspace.as_ref().map(look).transpose()?;
    if let Some(folder) = &workspace {
        trust::settle(&home, &folder.text, FolderChoice::Named)?;
    }
    let change = SettingsChange {
        workspace: Change::given(workspace.map(|found| found.text.clone())),
        ..args.change(shared)?
    };
    if change == SettingsChange::default() {
        let message = format!("nothing to set for agent {id}");
        let hint = "`wakeful agent set --help` lists the settings, `wakeful agent show` shows them";
        return Err(Failure::usage("nothing_to_set", message, hint));
    }
    let shown = write_existing(shared, out, async |backend| {
        let mut change = change.clone();
        if args.sandbox.is_given() {
            let agent_id = Text(agent.clone());
            let now = backend.call(GetAgentSettings { agent_id }).await?;
            change.sandbox = Change::Set(args.sandbox.applied_to(now.sandbox)?);
        }
        let asked = ChangeAgentSettings {
            skip_model_test: args.no_test,
            ..ChangeAgentSettings::new(Text(agent.clone()), change)
        };
        backend.call(asked).await
    });
    let settings = shown.await?;
    settings.model_warning.iter().for_each(|text| out.note(text));
    out.answer(&settings, &text(&settings));
    Ok(())
}

/// The status and the settings of an agent.
pub(crate) async fn status_and_settings(
    backend: &Backend,
    agent: AgentId,
) -> Result<(AgentStatus, AgentSettings), Failure> {
    let agent_id = Text(agent.clone());
    let status = backend.call(GetAgentStatus { agent_id }).await?;
    let agent_id = Text(agent);
    Ok((status, backend.call(GetAgentSettings { agent_id }).await?))
}

/// The settings for people.
fn text(settings: &AgentSettings) -> String {
    let or_default = settings.model.clone().unwrap_or_else(|| "the default".to_owned());
    let fallbacks = settings.fallbacks.as_ref().filter(|models| !models.is_empty());
    let fallbacks = fallbacks.map(|models| ("fallbacks", models.join(", ")));
    let mut lines = vec![
        ("description", or_none(&settings.description)),
        ("model", or_default),
    ];
    lines.extend(fallbacks);
    lines.push(("workspace", settings.workspace.clone()));
    facts(&[lines, permissions(settings)].concat())
}

/// What the agent may do, for people, without what its status shows: only the settings with a value, except the
/// ones that are always of interest.
pub(super) fn permissions_text(settings: &AgentSettings) -> String {
    facts(&permissions(settings))
}

fn permissions(settings: &AgentSettings) -> Vec<(&'static str, String)> {
    let or = |list: &[String], word: &str| match list {
        [] => word.to_owned(),
        list => list.join(", "),
    };
    let mut asks = or(&settings.ask_tools, NONE);
    if !settings.ask_tools_of_all_agents.is_empty() {
        asks = format!(
            "{asks} (all agents: {})",
            settings.ask_tools_of_all_agents.join(", ")
        );
    }
    let categories = match settings.allowed_category_ids.as_slice() {
        [all] if all == ALL_CATEGORIES => "all".to_owned(),
        ids => or(ids, NONE),
    };
    let instructions = settings.instructions.as_ref();
    let instructions = instructions.map_or_else(|| NONE.to_owned(), |text| format!("{} bytes", text.len()));
    let mut lines = vec![
        ("permissions", settings.permission_mode.to_string()),
        ("asks before", asks),
        ("may not use", or(&settings.deny_tools, NONE)),
        ("may start", or(&settings.may_start, NONE)),
        (
            "daily cap",
            settings
                .daily_usd
                .clone()
                .map_or_else(|| NONE.to_owned(), |usd| format!("{usd} USD")),
        ),
        ("categories", categories),
        ("instructions", instructions),
    ];
    lines.extend(
        settings
            .max_rounds
            .map(|rounds| ("max rounds", rounds.to_string())),
    );
    let policy = settings.foreign_targets.map(|policy| policy.as_str().to_owned());
    lines.extend(policy.map(|policy| ("foreign targets", policy)));
    let channels = settings.answer_channels.as_ref().map(|channels| {
        let words: Vec<&str> = channels.iter().map(|channel| channel.as_str()).collect();
        words.join(", ")
    });
    lines.extend(channels.map(|channels| ("answered by", channels)));
    lines.extend(tool_limits(settings));
    lines.extend(agent_guardrails::lines(&settings.guardrails));
    lines.extend(agent_sandbox::lines(&settings.sandbox));
    lines
}

fn or_none(text: &str) -> String {
    if text.is_empty() {
        NONE.to_owned()
    } else {
        text.to_owned()
    }
}
