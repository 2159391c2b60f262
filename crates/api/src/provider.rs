//! Endpoints and types for model providers, their keys, and the models that a person can choose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::RuleId;

use crate::endpoint::endpoints;
use crate::text::Text;

endpoints! { "providers":
    /// Lists the built-in and the configured model providers.
    ///
    /// Nothing is sent to a provider. Keys are never returned, only where they are stored.
    ListProviders {} = Get "/api/providers" -> Vec<ModelProvider> { 200 "The providers" }
    /// Adds a provider with its own address, and stores its key if one is given.
    ///
    /// It is tested first with a request that costs nothing. If it refuses the key, nothing is stored unless
    /// `skip_test` is true; a provider that cannot be reached is added. The address of an existing provider is never
    /// changed here, because its key would be sent to the new address.
    AddProvider = Post "/api/providers" -> AddedProvider {
        201 "The provider was added",
        403 "The caller is a process that an agent started",
        409 "A provider with this name exists, its address is invalid, or it refuses the key, and nothing was stored",
    } with { unredacted: &["key"] }
    /// Looks for model servers on this machine, at the usual ports of Ollama, LM Studio, llama.cpp and vLLM.
    ///
    /// Only loopback addresses are tried, and only when this endpoint is called.
    FindLocalProviders {} = Get "/api/providers/local" -> Vec<LocalProvider> {
        200 "The servers that responded with a list of models",
        403 "The caller is a process that an agent started",
    }
    /// Stores the key of a provider, in the system's keyring or in a file that only the owner can read.
    ///
    /// The key is tested first with a request that costs nothing. If the provider refuses the key, nothing
    /// is stored unless `skip_test` is true. Running work uses the key from the next model request on.
    SetProviderKey = Post "/api/providers/{provider}/key" -> StoredKey {
        200 "The key is stored",
        403 "The caller is a process that an agent started",
        404 "The provider does not exist",
        409 "The provider refuses the key, and nothing was stored",
    } with { unredacted: &["key"] }
    /// Removes the stored key of a provider. A file or keyring entry that Wakeful did not create stays.
    RemoveProviderKey { provider: Text<RuleId> } = Delete "/api/providers/{provider}/key" -> ModelProvider {
        200 "The provider has no stored key",
        403 "The caller is a process that an agent started",
        404 "The provider does not exist",
    }
    /// Tests whether a provider can be reached, accepts its key and knows a model, without cost.
    TestProvider = Post "/api/providers/{provider}/test" -> ProviderTest {
        200 "The result of the test",
        403 "The caller is a process that an agent started",
        404 "The provider does not exist",
    }
    /// Lists the models that a person can choose for a run, an agent or as the default.
    ListModels {} = Get "/api/models" -> Vec<ModelChoice> { 200 "The models" }
}

/// A model provider. It contains no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProvider {
    /// The name, which is the part of a model reference before the slash.
    pub name: String,
    /// Whether the provider works without settings.
    pub is_built_in: bool,
    /// Whether the server is on this machine.
    pub is_local: bool,
    /// The wire format.
    pub kind: String,
    /// The base URL.
    pub base_url: String,
    /// Where the key is stored: `env:NAME`, `file:/PATH`, `keyring:SERVICE/ACCOUNT` or `none`. Absent if no
    /// place is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_handle: Option<String>,
    /// Whether requests need a key.
    pub needs_key: bool,
    /// Whether a key is available now.
    pub has_key: bool,
    /// Why the provider cannot be used now, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The model that is used if only the provider is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The known models of the provider, without a request to it.
    pub models: Vec<ModelChoice>,
}

/// A model that a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChoice {
    /// The reference: `PROVIDER/MODEL`, `route:NAME`, `scripted:FILE` or `demo`.
    pub model_ref: String,
    /// The kind of model.
    pub kind: ModelChoiceKind,
    /// Whether runs that name no model use it.
    pub is_default: bool,
    /// Whether it can be used now: its key is available.
    pub is_usable: bool,
    /// The price of a million request tokens in US dollars. Absent if requests are free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_usd: Option<String>,
    /// The price of a million reply tokens in US dollars. Absent if requests are free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_usd: Option<String>,
    /// Whether the price is assumed, because it is neither listed nor configured.
    pub is_price_assumed: bool,
}

/// The kind of a model that a person can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoiceKind {
    /// A model of a provider.
    Hosted,
    /// Several models that are tried in order.
    Route,
    /// A script that plays a model, for tests.
    Scripted,
    /// The built-in demo script, which only shows how Wakeful works.
    Demo,
}

/// A model server that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalProvider {
    /// The name of the built-in provider that has this address.
    pub provider: String,
    /// The base URL.
    pub base_url: String,
    /// References of the models that the server has; at most 1000.
    pub models: Vec<String>,
}

/// The provider to add.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddProvider {
    /// The name, which is the part of a model reference before the slash.
    pub provider: Text<RuleId>,
    /// The wire format.
    pub kind: ProviderKind,
    /// The base URL: https, or http on this machine.
    #[schemars(length(min = 1, max = 2048))]
    pub base_url: String,
    /// The key: printable ASCII characters without spaces. Surrounding white space is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8192), extend("pattern" = r"^\s*[!-~]+\s*$"))]
    pub key: Option<String>,
    /// Add the provider without testing it.
    #[serde(default)]
    pub skip_test: bool,
}

/// Hides the key.
impl std::fmt::Debug for AddProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddProvider")
            .field("provider", &self.provider)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ProviderKind {
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// OpenAI Responses.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI Chat Completions.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Codex.
    #[serde(rename = "openai-codex")]
    OpenAiCodex,
    /// Gemini.
    #[serde(rename = "gemini")]
    Gemini,
}

/// An added provider, and the result of its test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddedProvider {
    /// The provider.
    pub provider: ModelProvider,
    /// The result of the test. Absent if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<ProviderTest>,
}

/// The key to store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetProviderKey {
    /// The provider.
    pub provider: Text<RuleId>,
    /// The key: printable ASCII characters without spaces. Surrounding white space is removed.
    #[schemars(length(min = 1, max = 8192), extend("pattern" = r"^\s*[!-~]+\s*$"))]
    pub key: String,
    /// Store the key without testing it.
    #[serde(default)]
    pub skip_test: bool,
}

/// Hides the key.
impl std::fmt::Debug for SetProviderKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetProviderKey")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// A stored key: the provider that has it now, and the result of its test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredKey {
    /// The provider.
    pub provider: ModelProvider,
    /// The result of the test. Absent if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<ProviderTest>,
}

/// The provider to test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestProvider {
    /// The provider.
    pub provider: Text<RuleId>,
    /// A model of the provider, without the provider's name: the test also checks that it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub model: Option<String>,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderTest {
    /// Whether the provider can be used.
    pub is_ok: bool,
    /// The result in one sentence.
    pub message: String,
    /// What to do, if there is a problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The code of the problem: `key_refused`, `key_missing`, `model_unknown`, or the code of a failed
    /// model request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How long the test took, in milliseconds.
    pub duration_ms: u64,
    /// References of the models that the provider lists; at most 1000.
    pub models: Vec<String>,
}
