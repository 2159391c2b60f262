//! Settings of providers, routes, agents and prices as types, and what they permit. Their comments are what the JSON
//! Schema tells people.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::budget::{MicroUsd, Price};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{InferenceCategory, InferencePermissions, RequestField};
use wakeful_core::key::derived_hash;
use wakeful_core::policy::ExternalCausePolicy;
use wakeful_models::{Provider, TIME_MS_MAX, Thinking};

use super::settings::{Budget, Settings};
use super::value;

/// Longest reply in tokens that can be asked for.
const OUTPUT_TOKENS_MAX: u32 = 1_000_000;

/// Largest price of a million tokens: beyond it a number is more likely a slip.
const USD_PER_MILLION_MAX: f64 = 100_000.0;

/// A provider: where it is and how it is spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSettings {
    /// The wire format: `anthropic`, `openai`, `openai-chat`, `openai-codex` or `gemini`. Needed for a name that is not
    /// built in.
    #[schemars(extend("enum" = Provider::ALL.map(Provider::word)))]
    pub(crate) kind: Option<String>,
    /// Its address, without user, query and fragment.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) base_url: Option<String>,
    /// Where its key is, and never the key: `env:NAME`, `file:/PATH`, `keyring:SERVICE/ACCOUNT` or `none`.
    #[schemars(extend("format" = "key-handle"))]
    pub(crate) key: Option<String>,
    /// The version of the interface, where it has one.
    #[schemars(extend("format" = "version"))]
    pub(crate) api_version: Option<String>,
    /// How the key is shown: `x-api-key` or `bearer`.
    #[schemars(extend("enum" = ["x-api-key", "bearer"]))]
    pub(crate) auth: Option<String>,
    /// Longest reply in tokens.
    #[schemars(range(min = 1, max = OUTPUT_TOKENS_MAX))]
    pub(crate) max_output_tokens: Option<u32>,
    /// How much its models are asked to think; without it, as much as the provider lets them.
    #[schemars(schema_with = "value::thinking")]
    pub(crate) thinking: Option<ThinkingSetting>,
    /// Whether a conversation is continued at the provider instead of being sent whole.
    pub(crate) incremental: Option<bool>,
    /// Whether the provider may drop old tool results from a long conversation.
    pub(crate) context_management: Option<bool>,
    /// Longest time to a connection, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) connect_ms: Option<u64>,
    /// Longest time to the first byte of a response, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) first_byte_ms: Option<u64>,
    /// Longest silence within a response, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) idle_ms: Option<u64>,
    /// Longest time of an exchange in all, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) total_ms: Option<u64>,
}

/// What is settled for one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// How much it is asked to think; without it, what its provider's section says.
    #[schemars(schema_with = "value::thinking")]
    pub(crate) thinking: Option<ThinkingSetting>,
}

/// How much a model is asked to think before it answers: a word that every provider takes, or a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThinkingSetting {
    Off,
    Low,
    Medium,
    High,
    #[serde(untagged)]
    Tokens(u32),
}

impl ThinkingSetting {
    pub(crate) const fn asked(self) -> Thinking {
        match self {
            Self::Off => Thinking::Off,
            Self::Low => Thinking::Low,
            Self::Medium => Thinking::Medium,
            Self::High => Thinking::High,
            Self::Tokens(tokens) => Thinking::Tokens(tokens),
        }
    }
}

/// A model and those that are asked when it fails for good, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Route {
    /// References of models, first the one that is asked first.
    #[schemars(schema_with = "value::route")]
    pub(crate) models: Vec<String>,
}

/// What one agent asks of models and of people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentSettings {
    /// Tools that its runs may use only after a person said so, beside those of `[agent]`.
    #[schemars(schema_with = "value::tools")]
    pub(crate) ask_tools: Option<Vec<String>>,
    /// By which ways people may answer what its runs ask: `page`, `api`, `cli`. Without it, what `[decisions]` says.
    #[schemars(schema_with = "value::channels")]
    pub(crate) answer_channels: Option<BTreeSet<Channel>>,
    /// Agents of which its runs may start runs, with the tool `StartRun`; without any, it has no such tool.
    #[schemars(schema_with = "value::agents")]
    pub(crate) may_start: Option<Vec<String>>,
    /// What its runs do before a command when something other than you or a schedule of yours caused them: `ask`, `allow`
    /// or `deny`. Without it, what `[agent]` says.
    #[schemars(schema_with = "value::external_causes")]
    pub(crate) external_causes: Option<ExternalCausePolicy>,
    /// Its model; without one that of `[model]`.
    #[schemars(extend("format" = "model"))]
    pub(crate) model: Option<String>,
    /// Who is asked when its model fails for good.
    #[schemars(schema_with = "value::fallbacks")]
    pub(crate) fallbacks: Option<Vec<String>>,
    /// What models may be asked for: `conversation`, `embedding`. Without it, what `[inference]` says.
    #[schemars(schema_with = "value::categories")]
    pub(crate) categories: Option<BTreeSet<InferenceCategory>>,
    /// The models that may be asked: names, or beginnings and `*`. Without it, what `[inference]` says.
    #[schemars(schema_with = "value::allowed_models")]
    pub(crate) models: Option<AllowedModels>,
    /// What may be shown to somebody else's machine. Without it, what `[inference]` says.
    #[schemars(schema_with = "value::request_fields")]
    pub(crate) request_fields: Option<BTreeSet<RequestField>>,
}

/// What may be asked of models and shown to them, unless an agent's own section says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct InferenceSettings {
    /// What models may be asked for: `conversation`, `embedding`. Without it, everything.
    #[schemars(schema_with = "value::categories")]
    pub(crate) categories: Option<BTreeSet<InferenceCategory>>,
    /// The models that may be asked: names, or beginnings and `*`. Without it, every model.
    #[schemars(schema_with = "value::allowed_models")]
    pub(crate) models: Option<AllowedModels>,
    /// What may be shown to somebody else's machine. Without it, everything that the agent works with.
    #[schemars(schema_with = "value::request_fields")]
    pub(crate) request_fields: Option<BTreeSet<RequestField>>,
}

/// The models that may be asked: for everything, or by category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum AllowedModels {
    All(Vec<String>),
    Each(BTreeMap<InferenceCategory, Vec<String>>),
}

impl AllowedModels {
    /// The patterns for one category, if there are any.
    fn of(&self, category: InferenceCategory) -> Option<&Vec<String>> {
        match self {
            Self::All(patterns) => Some(patterns),
            Self::Each(rules) => rules.get(&category),
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
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) cached_read: Option<f64>,
    /// Of what the provider wrote to its cache; without it as much as the request.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Privacy {
    /// `implied`: whoever configures or names a provider agrees that it is shown the agent's work. `explicit`: only
    /// after `wakeful models confirm PROVIDER`.
    pub(crate) confirm: Confirm,
}

/// How a person agrees that a provider is shown the agent's work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Confirm {
    #[default]
    Implied,
    Explicit,
}

impl Confirm {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Implied => "implied",
            Self::Explicit => "explicit",
        }
    }

    pub(crate) const fn rule(self) -> wakeful_runtime::PrivacyMode {
        match self {
            Self::Implied => wakeful_runtime::PrivacyMode::Implied,
            Self::Explicit => wakeful_runtime::PrivacyMode::Explicit,
        }
    }
}

impl Settings {
    /// Settings under which nobody may be asked or shown anything, and nothing be spent.
    pub(crate) fn shut() -> Self {
        Self {
            budget: Budget { daily_usd: Some(0.0) },
            privacy: Privacy {
                confirm: Confirm::Explicit,
            },
            inference: InferenceSettings {
                categories: Some(BTreeSet::new()),
                models: Some(AllowedModels::All(Vec::new())),
                request_fields: Some(BTreeSet::new()),
            },
            ..Self::default()
        }
    }

    /// What an agent may ask of models and show to them. What the agent's own section says wins over what is said
    /// for all.
    pub(crate) fn permissions(&self, agent: &AgentId) -> InferencePermissions {
        let none = AgentSettings::default();
        let own = self.agents.get(agent.as_str()).unwrap_or(&none);
        let all = &self.inference;
        let open = InferencePermissions::default();
        let patterns = |rules: Option<&AllowedModels>, category| rules?.of(category).cloned();
        let models = InferenceCategory::ALL.into_iter().filter_map(|category| {
            let own = patterns(own.models.as_ref(), category);
            Some((category, own.or_else(|| patterns(all.models.as_ref(), category))?))
        });
        InferencePermissions {
            models: models.collect(),
            categories: own
                .categories
                .clone()
                .or_else(|| all.categories.clone())
                .unwrap_or(open.categories),
            shown: own
                .request_fields
                .clone()
                .or_else(|| all.request_fields.clone())
                .unwrap_or(open.shown),
        }
    }

    /// The versions of all permissions there are: those of every agent that has some of its own, and those of all others.
    pub(crate) fn policy_versions(&self, moved: &[String]) -> BTreeSet<PolicyVersion> {
        // A name that no section has stands for all who have none.
        let other = derived_hash("agent.without_rules", &[]).to_string();
        let names = self.agents.keys().chain([&other]);
        let agents = names.filter_map(|name| AgentId::parse(name).ok());
        agents.map(|agent| self.policy_version(&agent, moved)).collect()
    }

    /// The version of an agent's permissions: other rules have another, and what a person confirmed under it is over.
    /// So do providers that have moved: whoever agreed to one machine did not agree to another of the same name.
    pub(crate) fn policy_version(&self, agent: &AgentId, moved: &[String]) -> PolicyVersion {
        let InferencePermissions {
            categories,
            models,
            shown,
        } = self.permissions(agent);
        let words = |list: &mut dyn Iterator<Item = &'static str>| list.collect::<Vec<_>>().join(",");
        let categories = words(&mut categories.iter().map(|category| category.as_str()));
        let shown: BTreeSet<&'static str> = shown.iter().map(|field| field.as_str()).collect();
        let shown = words(&mut shown.into_iter());
        let mut fields = vec![self.privacy.confirm.as_str().to_owned(), categories, shown];
        for (category, patterns) in models {
            fields.push(category.as_str().to_owned());
            fields.push(patterns.len().to_string());
            fields.extend(patterns);
        }
        fields.extend_from_slice(moved);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        PolicyVersion::new(format!("inference-{}", derived_hash("policy.inference", &fields)))
    }
}
