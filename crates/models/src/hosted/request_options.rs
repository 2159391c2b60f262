//! Optional features of requests, validated per provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wakeful_core::schema::SchemaMode;

use super::HostedModelError;
use crate::provider::{API_VERSION_HEADER, API_VERSIONS, KeyHeader, Provider};
use crate::thinking::{Thinking, ThinkingRequest};
use crate::wire::{Lowering, ProviderPromptCapability, ProviderThread, is_known_to_search, sees_images};

/// The beta header that lets Anthropic clear old tool results.
const CONTEXT_MANAGEMENT: (&str, &str) = ("anthropic-beta", "context-management-2025-06-27");

/// The prefix of the names of OpenAI's models that support free-form tools.
const FREEFORM_MODELS: &str = "gpt-5";

/// The request options of a provider. The defaults work with all servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestOptions<'a> {
    /// The version of Anthropic's API; unset, the usual one.
    pub api_version: Option<&'a str>,
    /// A header for the key other than the provider's own.
    pub auth: Option<KeyHeader>,
    /// Longest response in tokens. If unset, a default applies to Anthropic and to requests that cost
    /// money. Codex accepts no limit.
    pub max_output_tokens: Option<u32>,
    /// How much the model should think; if unset, the provider's default applies.
    pub thinking: Option<Thinking>,
    /// Whether the prompt cache key is sent. If unset, Chat Completions sends it only to OpenAI.
    pub prompt_cache_key: Option<bool>,
    /// Whether a conversation may be stored at the provider, so that only new items are sent.
    pub incremental: bool,
    /// Whether the provider may clear old tool results.
    pub context_management: bool,
    /// Whether tool schemas use strict mode. For tests and checks.
    pub strict_tools: bool,
    /// Whether tools with a free form are offered in it; if unset, only to models of OpenAI that are known
    /// to support it. Only OpenAI Responses has the form.
    pub freeform_tools: Option<bool>,
    /// Whether the models accept images; if unset, the model's name decides.
    pub images: Option<bool>,
    /// Whether the provider searches the web for its models; if unset, only providers at their own server that
    /// are known to. Chat Completions has no search beside functions.
    pub web_search: Option<bool>,
}

/// Validated request options.
#[derive(Debug, Clone)]
pub(super) struct CheckedRequestOptions {
    provider: Provider,
    /// The scope that marks thoughts from this server.
    pub(super) thinking_scope: String,
    own_server: bool,
    output_tokens_max: Option<u32>,
    thinking: Option<ThinkingRequest>,
    schema: SchemaMode,
    freeform: bool,
    images: bool,
    /// Whether the provider searches the web.
    pub(super) web_search: bool,
    uses: Vec<ProviderPromptCapability>,
    /// The headers besides the key.
    pub(super) headers: Vec<(&'static str, &'static str)>,
    /// Whether the model has reported that it has no encrypted thoughts.
    thoughtless: Arc<AtomicBool>,
}

/// The server and model that the options apply to.
pub(super) struct Target<'a> {
    pub(super) provider: Provider,
    pub(super) model: &'a str,
    /// The scope that marks thoughts from this server.
    pub(super) thinking_scope: String,
    /// Whether this is the provider's own server.
    pub(super) own_server: bool,
}

impl CheckedRequestOptions {
    pub(super) fn new(target: Target<'_>, shape: &RequestOptions<'_>) -> Result<Self, HostedModelError> {
        let Target {
            provider,
            model,
            thinking_scope: thinker,
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
            thinking_scope: thinker,
            own_server,
            output_tokens_max: shape.max_output_tokens,
            thinking: thinking.transpose()?,
            schema: match shape.strict_tools {
                true => SchemaMode::Strict,
                false => SchemaMode::Relaxed,
            },
            freeform: provider == Provider::OpenAi
                && shape
                    .freeform_tools
                    .unwrap_or_else(|| own_server && model.starts_with(FREEFORM_MODELS)),
            images: shape.images.unwrap_or_else(|| sees_images(model)),
            web_search: provider != Provider::OpenAiChat
                && shape
                    .web_search
                    .unwrap_or_else(|| own_server && is_known_to_search(provider, model)),
            uses,
            headers,
            thoughtless: Arc::default(),
        })
    }

    pub(super) fn lowering<'a>(&'a self, model: &'a str, thread: ProviderThread<'a>) -> Lowering<'a> {
        Lowering {
            provider: self.provider,
            thinking_scope: &self.thinking_scope,
            model,
            output_tokens_max: self.output_tokens_max,
            thinking: self.thinking,
            schema: self.schema,
            own_server: self.own_server,
            uses: &self.uses,
            freeform: self.freeform,
            images: self.images,
            web_search: self.web_search,
            sealed_thoughts: !self.thoughtless.load(Ordering::Relaxed),
            thread,
        }
    }

    /// Whether conversations may be stored at the provider.
    pub(super) fn continues(&self) -> bool {
        self.uses
            .contains(&ProviderPromptCapability::IncrementalResponses)
    }

    /// Stops requesting encrypted thoughts, because the model has none.
    pub(super) fn disable_thinking(&self) {
        self.thoughtless.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_form_tools_and_images_follow_the_model_unless_set() {
        let checked = |provider, model, own_server, shape: RequestOptions<'_>| {
            let target = Target {
                provider,
                model,
                thinking_scope: String::new(),
                own_server,
            };
            let checked = CheckedRequestOptions::new(target, &shape).expect("valid options");
            (checked.freeform, checked.images)
        };
        for (provider, model, own_server, expected) in [
            (Provider::OpenAi, "gpt-5.1", true, (true, true)),
            (Provider::OpenAi, "gpt-5.1", false, (false, true)),
            (Provider::OpenAi, "gpt-4.1", true, (false, true)),
            (Provider::OpenAiChat, "gpt-5.1", true, (false, true)),
            (Provider::OpenAi, "o3-mini", true, (false, false)),
        ] {
            let found = checked(provider, model, own_server, RequestOptions::default());
            assert_eq!(found, expected, "{provider:?} {model} {own_server}");
        }
        let set = |on| RequestOptions {
            freeform_tools: Some(on),
            images: Some(on),
            ..RequestOptions::default()
        };
        assert_eq!(
            checked(Provider::OpenAi, "o3-mini", false, set(true)),
            (true, true)
        );
        assert_eq!(
            checked(Provider::OpenAi, "gpt-5.1", true, set(false)),
            (false, false)
        );
        // Only one format has free-form tools.
        assert_eq!(
            checked(Provider::Anthropic, "gpt-5.1", true, set(true)),
            (false, true)
        );
    }
}
