//! The providers that work without settings, and their default models.
//!
//! The list contains only providers whose address and key fit a supported wire format. Providers with
//! another login method, custom headers or an address per customer need settings.

use crate::provider::Provider;

/// When the names in [`BuiltinProvider::default_model`] were last checked.
pub const DEFAULTS_AS_OF: &str = "2026-05-22";

/// A provider that works without settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinProvider {
    /// The part of a model reference before the slash.
    pub name: &'static str,
    /// The wire format of the provider.
    pub kind: Provider,
    /// The base URL, if it differs from that of the format's original provider.
    pub base_url: Option<&'static str>,
    /// The environment variable that overrides the base URL.
    pub url_variable: Option<&'static str>,
    /// The environment variables that may contain the key; the first one that is set is used. If empty, the
    /// provider needs no key.
    pub key_variables: &'static [&'static str],
    /// The model that is used when none is named and the key is set.
    pub default_model: Option<&'static str>,
    /// Further models that are offered before the provider's own list was read.
    pub other_models: &'static [&'static str],
}

impl BuiltinProvider {
    /// All built-in providers. Of those with a default model, the first whose key is set is used.
    pub const ALL: [Self; 10] = [
        Self {
            default_model: Some("claude-sonnet-4-6"),
            other_models: &["claude-opus-4-7", "claude-haiku-4-5"],
            ..Self::inventor(Provider::Anthropic)
        },
        Self {
            default_model: Some("gpt-5.4"),
            other_models: &["gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"],
            ..Self::inventor(Provider::OpenAi)
        },
        Self {
            default_model: Some("gemini-2.5-pro"),
            other_models: &["gemini-2.5-flash", "gemini-2.5-flash-lite"],
            ..Self::inventor(Provider::Gemini)
        },
        Self {
            name: "openrouter",
            kind: Provider::OpenAiChat,
            base_url: Some("https://openrouter.ai/api/v1"),
            url_variable: None,
            key_variables: &["OPENROUTER_API_KEY"],
            default_model: Some("anthropic/claude-sonnet-4.6"),
            other_models: &[],
        },
        Self::inventor(Provider::OpenAiChat),
        Self::inventor(Provider::OpenAiCodex),
        Self::here("ollama", "http://127.0.0.1:11434/v1"),
        Self::here("lm-studio", "http://127.0.0.1:1234/v1"),
        Self::here("llama-cpp", "http://127.0.0.1:8080/v1"),
        Self::here("vllm", "http://127.0.0.1:8000/v1"),
    ];

    /// Returns the provider with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name == name)
    }

    /// Whether people run this server on their own machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.base_url.is_some_and(|url| url.starts_with("http://"))
    }

    /// The original provider of a wire format.
    const fn inventor(kind: Provider) -> Self {
        Self {
            name: kind.word(),
            kind,
            base_url: None,
            url_variable: Some(kind.url_variable()),
            key_variables: kind.key_variables(),
            default_model: None,
            other_models: &[],
        }
    }

    /// A server that people run on their own machine.
    const fn here(name: &'static str, base_url: &'static str) -> Self {
        Self {
            name,
            kind: Provider::OpenAiChat,
            base_url: Some(base_url),
            url_variable: None,
            key_variables: &[],
            default_model: None,
            other_models: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: H-007
    #[test]
    fn every_format_has_its_original_provider_and_names_are_unique() {
        for kind in Provider::ALL {
            assert_eq!(
                BuiltinProvider::named(kind.word()).map(|known| known.kind),
                Some(kind)
            );
        }
        let names: std::collections::BTreeSet<&str> =
            BuiltinProvider::ALL.iter().map(|known| known.name).collect();
        assert_eq!(names.len(), BuiltinProvider::ALL.len());
    }

    #[test]
    fn offered_models_have_a_listed_price() {
        let offered = |known: &BuiltinProvider| {
            known
                .default_model
                .into_iter()
                .chain(known.other_models.iter().copied())
        };
        for model in BuiltinProvider::ALL.iter().flat_map(offered) {
            assert_eq!(
                crate::listed_or_assumed(model).1,
                wakeful_core::budget::PriceBasis::Listed,
                "{model}"
            );
        }
    }
}
