//! How requests are shaped beside what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wakeful_core::schema::SchemaMode;

use super::HostedModelError;
use crate::provider::{API_VERSION_HEADER, API_VERSIONS, KeyHeader, Provider};
use crate::thinking::{Thinking, ThinkingRequest};
use crate::wire::{Lowering, ProviderPromptCapability, ProviderThread};

/// What lets Anthropic clear old tool results.
const CONTEXT_MANAGEMENT: (&str, &str) = ("anthropic-beta", "context-management-2025-06-27");

/// What may be set for a provider. The default is what works everywhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestOptions<'a> {
    /// The version of Anthropic's interface; unset, the usual one.
    pub api_version: Option<&'a str>,
    /// Another way to show the key than the provider's own.
    pub auth: Option<KeyHeader>,
    /// Longest reply in tokens. Unset, it is ours where money is asked for, and at Anthropic; Codex is never told.
    pub max_output_tokens: Option<u32>,
    /// How much the model is asked to think; unset, as much as its provider lets it.
    pub thinking: Option<Thinking>,
    /// Whether the key of the prompt is sent; unset, Chat Completions sends it to OpenAI alone.
    pub prompt_cache_key: Option<bool>,
    /// Whether a conversation may be left with the provider, so that only what is new is sent.
    pub incremental: bool,
    /// Whether the provider may clear old tool results.
    pub context_management: bool,
    /// Whether tool schemas are spelled strictly. For tests and checks.
    pub strict_tools: bool,
}

/// The same, checked.
#[derive(Debug, Clone)]
pub(super) struct CheckedRequestOptions {
    provider: Provider,
    /// What stands in the thoughts that came from there.
    pub(super) thinker: String,
    own_server: bool,
    output_tokens_max: Option<u32>,
    thinking: Option<ThinkingRequest>,
    schema: SchemaMode,
    uses: Vec<ProviderPromptCapability>,
    /// Beside the key.
    pub(super) headers: Vec<(&'static str, &'static str)>,
    /// Whether the model has said that it has no thoughts to send back.
    thoughtless: Arc<AtomicBool>,
}

/// Where requests go.
pub(super) struct Target<'a> {
    pub(super) provider: Provider,
    pub(super) model: &'a str,
    /// What stands in the thoughts that come from there.
    pub(super) thinker: String,
    /// Whether it is the provider's own server.
    pub(super) own_server: bool,
}

impl CheckedRequestOptions {
    pub(super) fn new(target: Target<'_>, shape: &RequestOptions<'_>) -> Result<Self, HostedModelError> {
        let Target {
            provider,
            model,
            thinker,
            own_server,
        } = target;
        use ProviderPromptCapability::{
            ContextManagement, IncrementalResponses, PromptCacheBlocks, PromptCacheKey,
        };
        let mut headers = provider.headers().to_vec();
        if let Some(given) = shape.api_version {
            let known = API_VERSIONS.into_iter().find(|version| *version == given);
            let known = known.filter(|_| provider == Provider::Anthropic);
            let version = known.ok_or_else(|| HostedModelError::ApiVersion {
                given: given.to_owned(),
            })?;
            headers.retain(|(name, _)| *name != API_VERSION_HEADER);
            headers.push((API_VERSION_HEADER, version));
        }
        let keyed = own_server || provider != Provider::OpenAiChat;
        let wanted = [
            (PromptCacheBlocks, true),
            (PromptCacheKey, shape.prompt_cache_key.unwrap_or(keyed)),
            (IncrementalResponses, shape.incremental),
            (ContextManagement, shape.context_management),
        ];
        let uses = wanted
            .into_iter()
            .filter(|(capability, on)| *on && provider.capabilities().contains(capability));
        let uses: Vec<ProviderPromptCapability> = uses.map(|(capability, _)| capability).collect();
        if uses.contains(&ContextManagement) {
            headers.push(CONTEXT_MANAGEMENT);
        }
        let thinking = shape
            .thinking
            .map(|thinking| thinking.asked_of(provider, model, shape.max_output_tokens));
        Ok(Self {
            provider,
            thinker,
            own_server,
            output_tokens_max: shape.max_output_tokens,
            thinking: thinking.transpose()?,
            schema: match shape.strict_tools {
                true => SchemaMode::Strict,
                false => SchemaMode::Relaxed,
            },
            uses,
            headers,
            thoughtless: Arc::default(),
        })
    }

    pub(super) fn lowering<'a>(&'a self, model: &'a str, thread: ProviderThread<'a>) -> Lowering<'a> {
        Lowering {
            provider: self.provider,
            thinker: &self.thinker,
            model,
            output_tokens_max: self.output_tokens_max,
            thinking: self.thinking,
            schema: self.schema,
            own_server: self.own_server,
            uses: &self.uses,
            sealed_thoughts: !self.thoughtless.load(Ordering::Relaxed),
            thread,
        }
    }

    /// Whether conversations may be left with the provider.
    pub(super) fn continues(&self) -> bool {
        self.uses
            .contains(&ProviderPromptCapability::IncrementalResponses)
    }

    /// The model has no thoughts that could be sent back: it is not asked for them again.
    pub(super) fn disable_thinking(&self) {
        self.thoughtless.store(true, Ordering::Relaxed);
    }
}
