//! Types for the settings of providers, routes, agents and prices, and the permissions that follow from
//! them. Their comments become the descriptions in the JSON Schema.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::agent_settings::ALL_CATEGORIES;
use wakeful_core::budget::{MicroUsd, Price};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::{InferencePermissions, ModelPurpose, RequestField};
use wakeful_core::key::derived_hash;
use wakeful_core::need_to_know::{Boundary, CategoryRules, DECISION, FieldList, NeedToKnow};
use wakeful_models::{Provider, TIME_MS_MAX, Thinking};

use super::settings::{Budget, Settings};
use super::value;

/// Maximum configurable length of a reply, in tokens.
const OUTPUT_TOKENS_MAX: u32 = 1_000_000;

/// Maximum price per million tokens; a larger number is probably a typing error.
const USD_PER_MILLION_MAX: f64 = 100_000.0;

/// The place of a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SecretSettings {
    /// Location of the value, never the value itself: `env:NAME`, `file:/PATH` or
    /// `keyring:SERVICE/ACCOUNT`.
    #[schemars(extend("format" = "key-handle"))]
    pub(crate) key: Option<String>,
}

/// A model provider: its address, wire format, key and timeouts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSettings {
    /// Wire format: `anthropic`, `openai`, `openai-chat`, `openai-codex` or `gemini`. Required if the
    /// provider is not built in.
    #[schemars(extend("enum" = Provider::ALL.map(Provider::word)))]
    pub(crate) kind: Option<String>,
    /// Base URL, without user, query and fragment.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) base_url: Option<String>,
    /// Location of the API key, never the key itself: `env:NAME`, `file:/PATH`, `keyring:SERVICE/ACCOUNT`
    /// or `none`.
    #[schemars(extend("format" = "key-handle"))]
    pub(crate) key: Option<String>,
    /// API version, if the provider has versions.
    #[schemars(extend("format" = "version"))]
    pub(crate) api_version: Option<String>,
    /// How the key is sent: `x-api-key` or `bearer`.
    #[schemars(extend("enum" = ["x-api-key", "bearer"]))]
    pub(crate) auth: Option<String>,
    /// Maximum length of a reply, in tokens.
    #[schemars(range(min = 1, max = OUTPUT_TOKENS_MAX))]
    pub(crate) max_output_tokens: Option<u32>,
    /// Thinking level of its models. Default: the provider's own default.
    #[schemars(schema_with = "value::thinking")]
    pub(crate) thinking: Option<ThinkingSetting>,
    /// Whether a conversation is continued from state stored at the provider, instead of being sent in
    /// full.
    pub(crate) incremental: Option<bool>,
    /// Whether the provider may drop old tool results from a long conversation.
    pub(crate) context_management: Option<bool>,
    /// Whether `ApplyPatch` is offered as a free-form tool; only for `openai`. Default: for models of OpenAI
    /// that support it.
    pub(crate) freeform_tools: Option<bool>,
    /// Whether its models accept images; otherwise they receive a note instead. Default: known from the
    /// model's name.
    pub(crate) images: Option<bool>,
    /// Whether the provider searches the web for agents that have it turned on. Default: known from the provider
    /// and the model's name.
    pub(crate) web_search: Option<bool>,
    /// Timeout for connecting, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) connect_ms: Option<u64>,
    /// Timeout for the first byte of a response, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) first_byte_ms: Option<u64>,
    /// Maximum pause within a response, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) idle_ms: Option<u64>,
    /// Timeout of the whole exchange, in milliseconds.
    #[schemars(range(min = 1, max = TIME_MS_MAX))]
    pub(crate) total_ms: Option<u64>,
}

/// Settings of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// Thinking level. Default: the provider's setting.
    #[schemars(schema_with = "value::thinking")]
    pub(crate) thinking: Option<ThinkingSetting>,
}

/// How much a model thinks before it answers: a level that every provider supports, or a number of tokens.
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

/// A model and its fallbacks, which are used in order when a model fails permanently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Route {
    /// Model references, in the order in which they are tried.
    #[schemars(schema_with = "value::route")]
    pub(crate) models: Vec<String>,
}

/// Which models one agent may use, and which data these receive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentSettings {
    /// What models may be used for: `conversation`, `embedding`. Default: the setting in `[inference]`.
    #[schemars(schema_with = "value::purposes")]
    pub(crate) purposes: Option<BTreeSet<ModelPurpose>>,
    /// Models that may be used: names, or prefixes followed by `*`. Default: the setting in `[inference]`.
    #[schemars(schema_with = "value::allowed_models")]
    pub(crate) models: Option<AllowedModels>,
    /// Data that may be sent to external machines. Default: the setting in `[inference]`.
    #[schemars(schema_with = "value::request_fields")]
    pub(crate) request_fields: Option<BTreeSet<RequestField>>,
}

/// What applies to agents that may use one category of the journal; an agent with all categories has each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DataCategorySettings {
    /// Models that may receive the work of these agents: names, or prefixes followed by `*`. Default: every model.
    #[schemars(schema_with = "value::models_of_category")]
    pub(crate) models: Option<Vec<String>>,
    /// Data that may be sent to models on other machines. Default: everything.
    #[schemars(schema_with = "value::request_fields")]
    pub(crate) request_fields: Option<BTreeSet<RequestField>>,
    /// Fields of a decision that may be sent to a webhook, such as `title` or `decision.tool`. A notification with
    /// another field is not sent. Default: every field.
    #[schemars(schema_with = "value::field_list")]
    pub(crate) webhook_fields: Option<FieldList>,
    /// Fields of a decision that notifications on the desktop and by a command may have. Default: every field.
    #[schemars(schema_with = "value::field_list")]
    pub(crate) announcement_fields: Option<FieldList>,
    /// Arguments that tools may receive, such as `WebFetch.url`. A call with another one is denied. Default: every
    /// argument.
    #[schemars(schema_with = "value::field_list")]
    pub(crate) tool_arguments: Option<FieldList>,
}

impl DataCategorySettings {
    /// Rules under which nothing may leave.
    fn shut() -> Self {
        Self {
            models: Some(Vec::new()),
            request_fields: Some(BTreeSet::new()),
            webhook_fields: Some(BTreeSet::new()),
            announcement_fields: Some(BTreeSet::new()),
            tool_arguments: Some(BTreeSet::new()),
        }
    }

    fn rules(&self) -> CategoryRules {
        let mut fields = BTreeMap::new();
        if let Some(list) = &self.request_fields {
            let list: FieldList = list.iter().map(|field| field.as_str().to_owned()).collect();
            let purposes = ModelPurpose::ALL.map(|purpose| (purpose.as_str().to_owned(), list.clone()));
            fields.insert(Boundary::ModelRequest, purposes.into());
        }
        let mut decisions = |boundary, list: &Option<FieldList>| {
            if let Some(list) = list {
                fields.insert(boundary, [(DECISION.to_owned(), list.clone())].into());
            }
        };
        decisions(Boundary::Webhook, &self.webhook_fields);
        decisions(Boundary::Announcement, &self.announcement_fields);
        if let Some(list) = &self.tool_arguments {
            let mut tools: BTreeMap<String, FieldList> = BTreeMap::new();
            for (tool, argument) in list.iter().filter_map(|entry| entry.split_once('.')) {
                tools
                    .entry(tool.to_owned())
                    .or_default()
                    .insert(argument.to_owned());
            }
            fields.insert(Boundary::Tool, tools);
        }
        CategoryRules {
            models: self.models.clone(),
            fields,
        }
    }
}

/// What models may be used for and which data they may receive, unless an agent's section overrides it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct InferenceSettings {
    /// What models may be used for: `conversation`, `embedding`. Default: everything.
    #[schemars(schema_with = "value::purposes")]
    pub(crate) purposes: Option<BTreeSet<ModelPurpose>>,
    /// Models that may be used: names, or prefixes followed by `*`. Default: every model.
    #[schemars(schema_with = "value::allowed_models")]
    pub(crate) models: Option<AllowedModels>,
    /// Data that may be sent to external machines. Default: everything that the agent works with.
    #[schemars(schema_with = "value::request_fields")]
    pub(crate) request_fields: Option<BTreeSet<RequestField>>,
}

/// The permitted models: one list for everything, or one per purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum AllowedModels {
    All(Vec<String>),
    Each(BTreeMap<ModelPurpose, Vec<String>>),
}

impl AllowedModels {
    /// The patterns of one purpose, if any.
    fn of(&self, purpose: ModelPurpose) -> Option<&Vec<String>> {
        match self {
            Self::All(patterns) => Some(patterns),
            Self::Each(rules) => rules.get(&purpose),
        }
    }
}

/// The price of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PriceSettings {
    /// Price of input tokens.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) input: f64,
    /// Price of output tokens.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) output: f64,
    /// Price of tokens read from the provider's cache. Default: the price of input tokens.
    #[schemars(range(min = 0.0, max = USD_PER_MILLION_MAX))]
    pub(crate) cached_read: Option<f64>,
    /// Price of tokens written to the provider's cache. Default: the price of input tokens.
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

/// Converts dollars to millionths, rounded up, so that rounding never exceeds the cap.
fn micro(usd: f64) -> MicroUsd {
    // Converted through text, because a cast would lose digits silently.
    let text = format!("{:.0}", (usd * 1_000_000.0).ceil().clamp(0.0, 1e15));
    MicroUsd(text.parse().unwrap_or(u64::MAX))
}

/// Confirmation required before data is sent to a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Privacy {
    /// `implied`: configuring or naming a provider permits sending the agent's work to it. `explicit`: only
    /// `wakeful models confirm PROVIDER` permits it.
    pub(crate) confirm: Confirm,
}

/// How a person confirms that a provider may receive agents' work.
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
    /// Settings that permit no model request, no data transfer and no spending.
    pub(crate) fn shut() -> Self {
        Self {
            budget: Budget { daily_usd: Some(0.0) },
            privacy: Privacy {
                confirm: Confirm::Explicit,
            },
            inference: InferenceSettings {
                purposes: Some(BTreeSet::new()),
                models: Some(AllowedModels::All(Vec::new())),
                request_fields: Some(BTreeSet::new()),
            },
            data_categories: [(ALL_CATEGORIES.to_owned(), DataCategorySettings::shut())].into(),
            ..Self::default()
        }
    }

    /// The inference permissions of an agent. The agent's own section overrides the general one.
    pub(crate) fn permissions(&self, agent: &AgentId) -> InferencePermissions {
        let none = AgentSettings::default();
        let own = self.agents.get(agent.as_str()).unwrap_or(&none);
        let all = &self.inference;
        let open = InferencePermissions::default();
        let patterns = |rules: Option<&AllowedModels>, purpose| rules?.of(purpose).cloned();
        let models = ModelPurpose::ALL.into_iter().filter_map(|purpose| {
            let own = patterns(own.models.as_ref(), purpose);
            Some((purpose, own.or_else(|| patterns(all.models.as_ref(), purpose))?))
        });
        InferencePermissions {
            models: models.collect(),
            purposes: own
                .purposes
                .clone()
                .or_else(|| all.purposes.clone())
                .unwrap_or(open.purposes),
            shown: own
                .request_fields
                .clone()
                .or_else(|| all.request_fields.clone())
                .unwrap_or(open.shown),
            need_to_know: self.need_to_know(),
        }
    }

    fn need_to_know(&self) -> NeedToKnow {
        let rules = self.data_categories.iter();
        NeedToKnow(rules.map(|(name, rules)| (name.clone(), rules.rules())).collect())
    }

    /// All policy versions: one per agent with its own rules, and one for all other agents.
    pub(crate) fn policy_versions(&self, moved: &[String]) -> BTreeSet<PolicyVersion> {
        // A name that no section can have represents all agents without their own rules.
        let other = derived_hash("agent.without_rules", &[]).to_string();
        let names = self.agents.keys().chain([&other]);
        let agents = names.filter_map(|name| AgentId::parse(name).ok());
        agents.map(|agent| self.policy_version(&agent, moved)).collect()
    }

    /// The version of an agent's permissions. It changes with the rules and with the addresses of
    /// providers, which invalidates receipts: a confirmation for one machine does not apply to another with
    /// the same name.
    pub(crate) fn policy_version(&self, agent: &AgentId, moved: &[String]) -> PolicyVersion {
        let InferencePermissions {
            purposes,
            models,
            shown,
            need_to_know,
        } = self.permissions(agent);
        let words = |list: &mut dyn Iterator<Item = &'static str>| list.collect::<Vec<_>>().join(",");
        let purposes = words(&mut purposes.iter().map(|purpose| purpose.as_str()));
        let shown: BTreeSet<&'static str> = shown.iter().map(|field| field.as_str()).collect();
        let shown = words(&mut shown.into_iter());
        let mut fields = vec![self.privacy.confirm.as_str().to_owned(), purposes, shown];
        for (purpose, patterns) in models {
            fields.push(purpose.as_str().to_owned());
            fields.push(patterns.len().to_string());
            fields.extend(patterns);
        }
        if need_to_know != NeedToKnow::default() {
            // Maps and lists of text always serialize.
            fields.push(serde_json::to_string(&need_to_know).unwrap_or_default());
        }
        fields.extend_from_slice(moved);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        PolicyVersion::new(format!("inference-{}", derived_hash("policy.inference", &fields)))
    }
}
