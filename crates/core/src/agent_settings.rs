//! The settings of an agent, which are stored in its record, and how they apply to an open run.
//!
//! An agent's record restricts its runs together with the message that started the run and the settings for
//! all agents: a tool that one of them denies or puts on the ask list is denied or asks.

mod change;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::budget::MicroUsd;
use crate::decision::Channel;
use crate::guardrail::GuardrailPolicy;
use crate::key::Digest;
use crate::policy::{ActionRules, ForeignTargetPolicy, PermissionMode, RuleDefaults};
use crate::problem::Problem;
use crate::prompt::GUIDANCE_BYTES_MAX;
use crate::run::{ROUNDS_MAX, ROUTE_MAX, RunMachine};
use crate::sandbox_scope::SandboxScope;
use crate::sub_run::{MAY_START_MAX, START_RUN};
use crate::tool::quota::QUOTA_MAX;
use crate::tool::{AgentAccessScope, Capability, ToolContract, ToolQuota, WEB_SEARCH};

pub use self::change::Change;

/// Maximum length of a description: a few lines in a list.
pub const DESCRIPTION_CHARS_MAX: usize = 500;

/// Maximum number of tools in a list, as in a message.
pub const TOOLS_MAX: usize = 64;

/// Maximum number of categories of one agent.
pub const CATEGORIES_MAX: usize = 256;

/// The entry that stands for every category, including those created later.
pub const ALL_CATEGORIES: &str = "*";

/// The settings of an agent. Fields that a newer program added are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    /// What the agent is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Models that are used in this order if its model fails permanently; `None` for the configured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<Vec<String>>,
    /// Tools that require approval, in addition to those for all agents.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ask_tools: BTreeSet<String>,
    /// Tools that its runs may not use.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny_tools: BTreeSet<String>,
    /// Agents whose runs it may start.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub may_start: BTreeSet<String>,
    /// How calls with a foreign target are handled; `None` for the configured policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_targets: Option<ForeignTargetPolicy>,
    /// Channels through which its decisions may be answered; `None` for the configured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_channels: Option<BTreeSet<Channel>>,
    /// Maximum model rounds of its runs; `None` for the configured number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// How much its runs may do without a person.
    #[serde(default, skip_serializing_if = "is_standard")]
    pub permission_mode: PermissionMode,
    /// What its sandbox allows beyond its workspace.
    #[serde(default, skip_serializing_if = "is_workspace_only")]
    pub sandbox: SandboxScope,
    /// How often it may use a tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_quotas: BTreeMap<String, ToolQuota>,
    /// What is watched for in its messages, replies and calls.
    #[serde(default, skip_serializing_if = "GuardrailPolicy::is_empty")]
    pub guardrails: GuardrailPolicy,
    /// The capabilities that it has; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Whether the provider of its model may search the web for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub web_search: bool,
    /// The categories of the journal that it may use. Required: an agent without this field is invalid.
    pub allowed_category_ids: BTreeSet<String>,
}

impl AgentSettings {
    /// Settings with defaults for everything except the categories, which have none.
    #[must_use]
    pub fn new(allowed_category_ids: BTreeSet<String>) -> Self {
        Self {
            description: String::new(),
            fallbacks: None,
            ask_tools: BTreeSet::new(),
            deny_tools: BTreeSet::new(),
            may_start: BTreeSet::new(),
            foreign_targets: None,
            answer_channels: None,
            max_rounds: None,
            permission_mode: PermissionMode::default(),
            sandbox: SandboxScope::default(),
            tool_quotas: BTreeMap::new(),
            guardrails: GuardrailPolicy::default(),
            capabilities: None,
            web_search: false,
            allowed_category_ids,
        }
    }

    /// The settings of an agent that may use every category.
    #[must_use]
    pub fn with_all_categories() -> Self {
        Self::new([ALL_CATEGORIES.to_owned()].into())
    }

    /// Which categories and capabilities the agent has.
    #[must_use]
    pub fn access(&self) -> AgentAccessScope {
        AgentAccessScope {
            allowed_category_ids: self.allowed_category_ids.clone(),
            capabilities: self.capabilities.clone(),
            web_search: self.web_search,
        }
    }

    /// Whether the agent has a tool: it is not denied, and the agent has what it needs.
    #[must_use]
    pub fn has_tool(&self, contract: &ToolContract) -> bool {
        let is_usable = match contract.name.as_str() {
            START_RUN => !self.may_start.is_empty(),
            WEB_SEARCH => self.web_search,
            _ => true,
        };
        is_usable && !self.deny_tools.contains(&contract.name) && self.has_capabilities_of(contract)
    }

    /// Whether the agent has the capabilities that a tool needs. A tool without them is not offered.
    #[must_use]
    pub fn has_capabilities_of(&self, contract: &ToolContract) -> bool {
        self.access().missing(&contract.capabilities_required).is_none()
    }

    /// The rules for the next action of an open run: the run's own restrictions, the agent's settings as
    /// they are now, and the settings for all agents.
    #[must_use]
    pub fn rules(&self, run: &RunMachine, all: &RuleDefaults) -> ActionRules {
        let policy = self.foreign_targets.unwrap_or(all.foreign_targets);
        ActionRules {
            denied: &run.deny_tools | &self.deny_tools,
            asked: &(&run.ask_tools | &self.ask_tools) | &all.ask_tools,
            may_start: self.may_start.clone(),
            foreign_targets: run.is_untrusted().then_some(policy),
            untrusted_files: policy,
            mode: self.permission_mode,
            sandbox: self.sandbox.clone(),
            access: self.access(),
            wake_reason: run.wake_reason,
            is_read_only: run.is_read_only,
            guardrails: self.guardrails.clone(),
        }
    }

    /// The channels through which decisions of the agent may be answered.
    #[must_use]
    pub fn channels(&self, all: &RuleDefaults) -> BTreeSet<Channel> {
        let own = self.answer_channels.as_ref();
        own.or(all.answer_channels.as_ref())
            .cloned()
            .unwrap_or_else(Channel::all)
    }
}

fn is_standard(mode: &PermissionMode) -> bool {
    *mode == PermissionMode::default()
}

fn is_workspace_only(scope: &SandboxScope) -> bool {
    *scope == SandboxScope::default()
}

/// A change of an agent's settings: those in its record, its model, workspace, budget and instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    pub description: Change<String>,
    /// The text of the agent's own guidance file.
    pub instructions: Change<String>,
    pub model: Change<String>,
    pub fallbacks: Change<Vec<String>>,
    pub ask_tools: Change<BTreeSet<String>>,
    pub deny_tools: Change<BTreeSet<String>>,
    pub may_start: Change<BTreeSet<String>>,
    pub foreign_targets: Change<ForeignTargetPolicy>,
    pub answer_channels: Change<BTreeSet<Channel>>,
    pub max_rounds: Change<u32>,
    /// The agent's daily cap.
    pub daily_usd: Change<MicroUsd>,
    pub workspace: Change<String>,
    pub permission_mode: Change<PermissionMode>,
    pub sandbox: Change<SandboxScope>,
    pub tool_quotas: Change<BTreeMap<String, ToolQuota>>,
    pub guardrails: Change<GuardrailPolicy>,
    pub capabilities: Change<BTreeSet<Capability>>,
    pub web_search: Change<bool>,
    pub allowed_category_ids: Change<BTreeSet<String>>,
}

/// The values that a change applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSettings {
    pub settings: AgentSettings,
    pub model: Option<String>,
    pub workspace: String,
    pub daily_usd: Option<MicroUsd>,
}

impl SettingsChange {
    /// The values after the change. A reset of the categories allows all of them. The workspace is never
    /// reset here, because its default is chosen by the caller.
    #[must_use]
    pub fn applied_to(&self, before: &StoredSettings) -> StoredSettings {
        let mut after = before.clone();
        let settings = &mut after.settings;
        self.description.apply(&mut settings.description);
        self.fallbacks.apply_optional(&mut settings.fallbacks);
        self.ask_tools.apply(&mut settings.ask_tools);
        self.deny_tools.apply(&mut settings.deny_tools);
        self.may_start.apply(&mut settings.may_start);
        self.foreign_targets.apply_optional(&mut settings.foreign_targets);
        self.answer_channels.apply_optional(&mut settings.answer_channels);
        self.max_rounds.apply_optional(&mut settings.max_rounds);
        self.permission_mode.apply(&mut settings.permission_mode);
        self.sandbox.apply(&mut settings.sandbox);
        self.tool_quotas.apply(&mut settings.tool_quotas);
        self.guardrails.apply(&mut settings.guardrails);
        self.capabilities.apply_optional(&mut settings.capabilities);
        self.web_search.apply(&mut settings.web_search);
        match &self.allowed_category_ids {
            Change::Keep => {}
            Change::Reset => settings.allowed_category_ids = [ALL_CATEGORIES.to_owned()].into(),
            Change::Set(ids) => settings.allowed_category_ids = ids.clone(),
        }
        self.model.apply_optional(&mut after.model);
        self.daily_usd.apply_optional(&mut after.daily_usd);
        if let Change::Set(workspace) = &self.workspace {
            after.workspace.clone_from(workspace);
        }
        after
    }

    /// The changed fields with their new values, for the event log: null for a restored default. The
    /// instructions are represented by their hash.
    #[must_use]
    pub fn changed(&self, before: &StoredSettings) -> BTreeMap<String, Value> {
        let (before, after) = (fields(before), fields(&self.applied_to(before)));
        let mut changed: BTreeMap<String, Value> = after
            .into_iter()
            .filter(|(name, value)| before.get(name) != Some(value))
            .collect();
        match &self.instructions {
            Change::Keep => {}
            Change::Reset => drop(changed.insert("instructions".to_owned(), Value::Null)),
            Change::Set(text) => {
                let hash = Digest::of(text.as_bytes()).to_string();
                changed.insert("instructions".to_owned(), json!({ "sha256": hash }));
            }
        }
        changed
    }

    /// Checks that the agent keeps at least one of the tools with these contracts. Only a change of the
    /// settings that remove tools is refused, so that other settings of any agent can be changed.
    pub fn check_last_tool(&self, after: &AgentSettings, contracts: &[ToolContract]) -> Result<(), Problem> {
        let field = if !self.capabilities.is_keep() {
            "capabilities"
        } else if !self.deny_tools.is_keep() {
            "deny_tools"
        } else if !self.web_search.is_keep() {
            "web_search"
        } else {
            return Ok(());
        };
        if contracts.is_empty() || contracts.iter().any(|contract| after.has_tool(contract)) {
            return Ok(());
        }
        let message = "leaves the agent without any tool, and every agent needs at least one";
        let hint = "keep one tool; to stop an agent, pause it: wakeful agent pause NAME";
        Err(bad(field, message, hint))
    }

    /// Checks the bounds of every field.
    pub fn check(&self) -> Result<(), Problem> {
        let description = self.description.value().map(|text| text.chars().count());
        within("description", description, DESCRIPTION_CHARS_MAX, "characters")?;
        if self.description.value().is_some_and(|text| text.contains('\0')) {
            return Err(bad("description", "contains a NUL character", "remove it"));
        }
        let instructions = self.instructions.value().map(String::len);
        within("instructions", instructions, GUIDANCE_BYTES_MAX, "bytes")?;
        let fallbacks = self.fallbacks.value().map(Vec::len);
        within("fallbacks", fallbacks, ROUTE_MAX - 1, "models")?;
        for (field, tools) in [("ask_tools", &self.ask_tools), ("deny_tools", &self.deny_tools)] {
            within(field, tools.value().map(BTreeSet::len), TOOLS_MAX, "tools")?;
        }
        let agents = self.may_start.value().map(BTreeSet::len);
        within("may_start", agents, MAY_START_MAX, "agents")?;
        if self.answer_channels.value().is_some_and(BTreeSet::is_empty) {
            let hint = "name at least one of page, api, cli";
            return Err(bad("answer_channels", "names no channel", hint));
        }
        if let Some(rounds) = self.max_rounds.value()
            && !(1..=ROUNDS_MAX).contains(rounds)
        {
            let message = format!("is {rounds}, but must be between 1 and {ROUNDS_MAX}");
            return Err(bad("max_rounds", &message, "use a number within these bounds"));
        }
        if let Some(sandbox) = self.sandbox.value() {
            sandbox.check_bounds()?;
        }
        check_quotas(self.tool_quotas.value())?;
        self.guardrails.value().map_or(Ok(()), GuardrailPolicy::check)?;
        let Some(ids) = self.allowed_category_ids.value() else {
            return Ok(());
        };
        within(
            "allowed_category_ids",
            Some(ids.len()),
            CATEGORIES_MAX,
            "categories",
        )?;
        if ids.contains(ALL_CATEGORIES) && ids.len() > 1 {
            let message = "contains `*` and other entries";
            return Err(bad(
                "allowed_category_ids",
                message,
                "use `*` alone, or list categories",
            ));
        }
        Ok(())
    }
}

/// The stored settings as JSON fields, for comparison and for the event log.
fn fields(stored: &StoredSettings) -> BTreeMap<String, Value> {
    let settings = &stored.settings;
    let cap = stored.daily_usd.map(|cap| cap.to_string());
    let pairs = [
        ("description", json!(settings.description)),
        ("fallbacks", json!(settings.fallbacks)),
        ("ask_tools", json!(settings.ask_tools)),
        ("deny_tools", json!(settings.deny_tools)),
        ("may_start", json!(settings.may_start)),
        ("foreign_targets", json!(settings.foreign_targets)),
        ("answer_channels", json!(settings.answer_channels)),
        ("max_rounds", json!(settings.max_rounds)),
        ("permission_mode", json!(settings.permission_mode)),
        ("sandbox", json!(settings.sandbox)),
        ("tool_quotas", json!(settings.tool_quotas)),
        ("guardrails", json!(settings.guardrails)),
        ("capabilities", json!(settings.capabilities)),
        ("web_search", json!(settings.web_search)),
        ("allowed_category_ids", json!(settings.allowed_category_ids)),
        ("model", json!(stored.model)),
        ("workspace", json!(stored.workspace)),
        ("daily_usd", json!(cap)),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

fn check_quotas(quotas: Option<&BTreeMap<String, ToolQuota>>) -> Result<(), Problem> {
    within("tool_quotas", quotas.map(BTreeMap::len), TOOLS_MAX, "tools")?;
    if quotas.is_some_and(|quotas| quotas.contains_key(WEB_SEARCH)) {
        return Err(bad(
            &format!("tool_quotas.{WEB_SEARCH}"),
            "cannot be limited, because the provider performs it and its uses are not calls",
            "turn it off with web_search, or leave it at its limit for each request",
        ));
    }
    let invalid = quotas.and_then(|quotas| quotas.iter().find(|(_, quota)| quota.is_invalid()));
    match invalid {
        Some((tool, _)) => Err(bad(
            &format!("tool_quotas.{tool}"),
            &format!("needs a limit from 1 to {QUOTA_MAX}"),
            "set max_per_day, max_per_session or both; a tool that must not be used belongs to deny_tools",
        )),
        None => Ok(()),
    }
}

fn within(field: &str, found: Option<usize>, most: usize, unit: &str) -> Result<(), Problem> {
    match found {
        Some(found) if found > most => {
            let message = format!("has {found} {unit}, at most {most} are allowed");
            Err(bad(field, &message, "use fewer"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The error of an invalid setting. The message names the field.
#[must_use]
pub fn bad(field: &str, message: &str, hint: &str) -> Problem {
    Problem::new("bad_setting", format!("{field}: {message}"), hint)
}

#[cfg(test)]
mod tests;
