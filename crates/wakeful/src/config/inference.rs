//! Settings of providers, routes, agents and prices as types, and what they permit. Their comments are what the JSON
//! Schema tells people.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::budget::{MicroUsd, Price};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{Category, Field, Permissions};
use wakeful_core::key::h;
use wakeful_core::run::ROUTE_MAX;
use wakeful_core::subrun::MAY_START_MAX;
use wakeful_models::{THINKING_TOKENS_MAX, TIME_MS_MAX, Thinking};

use super::values::{Budget, Config};

/// Most sections of one kind: more than anybody has providers, and a bound.
pub(super) const NAMED_MAX: usize = 256;

/// Most patterns of one list.
pub(super) const PATTERNS_MAX: usize = 64;

/// Longest reply in tokens that can be asked for.
pub(super) const OUTPUT_TOKENS_MAX: u32 = 1_000_000;

/// Largest price of a million tokens: beyond it a number is more likely a slip.
pub(super) const USD_PER_MILLION_MAX: f64 = 100_000.0;

/// A provider: where it is and how it is spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSettings {
    /// The wire format: `anthropic`, `openai`, `openai-chat`, `openai-codex` or `gemini`. Needed for a name that is not
    /// built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) kind: Option<String>,
    /// Its address, without user, query and fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) base_url: Option<String>,
    /// Where its key is, and never the key: `env:NAME`, `file:/PATH`, `keyring:SERVICE/ACCOUNT` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) key: Option<String>,
    /// The version of the interface, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) api_version: Option<String>,
    /// How the key is shown: `x-api-key` or `bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) auth: Option<String>,
    /// Longest reply in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = OUTPUT_TOKENS_MAX))]
    pub(crate) max_output_tokens: Option<u32>,
    /// How much its models are asked to think; without it, as much as the provider lets them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThinkingSetting")]
    pub(crate) thinking: Option<ThinkingSetting>,
    /// Whether a conversation is continued at the provider instead of being sent whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub(crate) incremental: Option<bool>,
    /// Whether the provider may drop old tool results from a long conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub(crate) context_management: Option<bool>,
    /// Longest time to a connection, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = TIME_MS_MAX))]
    pub(crate) connect_ms: Option<u64>,
    /// Longest time to the first byte of a response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = TIME_MS_MAX))]
    pub(crate) first_byte_ms: Option<u64>,
    /// Longest silence within a response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = TIME_MS_MAX))]
    pub(crate) idle_ms: Option<u64>,
    /// Longest time of an exchange in all, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = TIME_MS_MAX))]
    pub(crate) total_ms: Option<u64>,
}

/// What is settled for one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// How much it is asked to think; without it, what its provider's section says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThinkingSetting")]
    pub(crate) thinking: Option<ThinkingSetting>,
}

/// How much a model is asked to think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ThinkingSetting {
    /// In a word, which every provider takes.
    Word(ThinkingWord),
    /// With so many tokens, at providers that count them.
    Tokens(#[schemars(range(min = 1, max = THINKING_TOKENS_MAX))] u32),
}

/// The same in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThinkingWord {
    Off,
    Low,
    Medium,
    High,
}

impl ThinkingSetting {
    pub(crate) const fn asked(self) -> Thinking {
        match self {
            Self::Word(ThinkingWord::Off) => Thinking::Off,
            Self::Word(ThinkingWord::Low) => Thinking::Low,
            Self::Word(ThinkingWord::Medium) => Thinking::Medium,
            Self::Word(ThinkingWord::High) => Thinking::High,
            Self::Tokens(tokens) => Thinking::Tokens(tokens),
        }
    }
}

/// A model and those that are asked when it fails for good, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Route {
    /// References of models, first the one that is asked first.
    #[schemars(length(min = 1, max = ROUTE_MAX))]
    pub(crate) models: Vec<String>,
}

/// What one agent asks of models and of people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentSettings {
    /// Tools that its runs may use only after a person said so, beside those of `[agent]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) ask_tools: Option<Vec<String>>,
    /// By which ways people may answer what its runs ask: `page`, `api`, `cli`. Without it, what `[decisions]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(min = 1, max = Channel::WORDS.len()))]
    pub(crate) answer_from: Option<Vec<String>>,
    /// Agents of which its runs may start runs, with the tool `StartRun`; without any, it has no such tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(max = MAY_START_MAX))]
    pub(crate) may_start: Option<Vec<String>>,
    /// What its runs do before a command when something other than you or a schedule of yours caused them: `ask`, `allow`
    /// or `deny`. Without it, what `[agent]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) outside_runs: Option<String>,
    /// Its model; without one that of `[model]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) model: Option<String>,
    /// Who is asked when its model fails for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) fallbacks: Option<Vec<String>>,
    /// What models may be asked for: `conversation`, `embedding`. Without it, what `[inference]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) categories: Option<Vec<String>>,
    /// The models that may be asked: names, or beginnings and `*`. Without it, what `[inference]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Allowed")]
    pub(crate) models: Option<Allowed>,
    /// What may be shown to somebody else's machine. Without it, what `[inference]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) shown: Option<Vec<String>>,
}

/// What may be asked of models and shown to them, unless an agent's own section says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Gates {
    /// What models may be asked for: `conversation`, `embedding`. Without it, everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) categories: Option<Vec<String>>,
    /// The models that may be asked: names, or beginnings and `*`. Without it, every model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Allowed")]
    pub(crate) models: Option<Allowed>,
    /// What may be shown to somebody else's machine. Without it, everything that the agent works with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) shown: Option<Vec<String>>,
}

/// The models that may be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Allowed {
    /// For everything.
    All(Vec<String>),
    /// For each category by itself.
    Each(BTreeMap<String, Vec<String>>),
}

impl Allowed {
    /// The patterns for one category, if it says anything of it.
    fn of(&self, category: Category) -> Option<&[String]> {
        match self {
            Self::All(patterns) => Some(patterns),
            Self::Each(rules) => rules.get(category.as_str()).map(Vec::as_slice),
        }
    }
}

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PriceSettings {
    /// Of the request.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) input: f64,
    /// Of the reply.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) output: f64,
    /// Of what the provider read from its cache; without it as much as the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) cached_read: Option<f64>,
    /// Of what the provider wrote to its cache; without it as much as the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) cached_write: Option<f64>,
}

impl PriceSettings {
    pub(crate) fn price(self) -> Price {
        Price {
            input: micro(self.input),
            output: micro(self.output),
            cached_read: micro(self.cached_read.unwrap_or(self.input)),
            cached_write: micro(self.cached_write.unwrap_or(self.input)),
        }
    }
}

/// Dollars in millionths, rounded up: a price that is a little too high keeps the cap.
fn micro(usd: f64) -> MicroUsd {
    // Printed and read back, because a cast would be silent about what it loses.
    let text = format!("{:.0}", (usd * 1_000_000.0).ceil().clamp(0.0, 1e15));
    MicroUsd(text.parse().unwrap_or(u64::MAX))
}

/// What is asked before anything is shown to somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Privacy {
    /// `implied`: whoever configures or names a provider agrees that it is shown the agent's work. `explicit`: only
    /// after `wakeful models confirm PROVIDER`.
    pub(crate) confirm: String,
}

impl Privacy {
    pub(crate) fn rule(&self) -> wakeful_runtime::Privacy {
        match self.confirm.as_str() {
            "implied" => wakeful_runtime::Privacy::Implied,
            // Whatever else it says, nobody agreed.
            _ => wakeful_runtime::Privacy::Explicit,
        }
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self {
            confirm: "implied".to_owned(),
        }
    }
}

impl Config {
    /// Settings under which nobody may be asked or shown anything, and nothing be spent.
    pub(crate) fn shut() -> Self {
        Self {
            budget: Budget { daily_usd: Some(0.0) },
            privacy: Privacy {
                confirm: "explicit".to_owned(),
            },
            inference: Gates {
                categories: Some(Vec::new()),
                models: Some(Allowed::All(Vec::new())),
                shown: Some(Vec::new()),
            },
            ..Self::default()
        }
    }

    /// What an agent may ask of models and show to them. What the agent's own section says wins over what is said
    /// for all.
    pub(crate) fn permissions(&self, agent: &AgentId) -> Permissions {
        let none = AgentSettings::default();
        let own = self.agents.get(agent.as_str()).unwrap_or(&none);
        let all = &self.inference;
        let mut permissions = Permissions::default();
        if let Some(words) = own.categories.as_ref().or(all.categories.as_ref()) {
            let named = |category: &Category| words.iter().any(|word| word == category.as_str());
            permissions.categories = Category::ALL.into_iter().filter(named).collect();
        }
        if let Some(words) = own.shown.as_ref().or(all.shown.as_ref()) {
            permissions.shown = words.iter().filter_map(|word| Field::parse(word)).collect();
        }
        let rule = |category: Category| {
            let (own, all) = (own.models.as_ref(), all.models.as_ref());
            let patterns = own.and_then(|own| own.of(category));
            let patterns = patterns.or_else(|| all.and_then(|all| all.of(category)));
            Some((category, patterns?.to_vec()))
        };
        permissions.models = Category::ALL.into_iter().filter_map(rule).collect();
        permissions
    }

    /// The versions of all permissions there are: those of every agent that has some of its own, and those of all others.
    pub(crate) fn policy_versions(&self, moved: &[String]) -> BTreeSet<PolicyVersion> {
        // A name that no section has stands for all who have none.
        let other = h("agent.without_rules", &[]).to_string();
        let names = self.agents.keys().chain([&other]);
        let agents = names.filter_map(|name| AgentId::parse(name).ok());
        agents.map(|agent| self.policy_version(&agent, moved)).collect()
    }

    /// The version of an agent's permissions: other rules have another, and what a person confirmed under it is over.
    /// So do providers that have moved: whoever agreed to one machine did not agree to another of the same name.
    pub(crate) fn policy_version(&self, agent: &AgentId, moved: &[String]) -> PolicyVersion {
        let Permissions {
            categories,
            models,
            shown,
        } = self.permissions(agent);
        let words = |list: &mut dyn Iterator<Item = &'static str>| list.collect::<Vec<_>>().join(",");
        let categories = words(&mut categories.iter().map(|category| category.as_str()));
        let shown: BTreeSet<&'static str> = shown.iter().map(|field| field.as_str()).collect();
        let shown = words(&mut shown.into_iter());
        let mut fields = vec![self.privacy.confirm.clone(), categories, shown];
        for (category, patterns) in models {
            fields.push(category.as_str().to_owned());
            fields.push(patterns.len().to_string());
            fields.extend(patterns);
        }
        fields.extend_from_slice(moved);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        PolicyVersion::new(format!("inference-{}", h("policy.inference", &fields)))
    }
}
