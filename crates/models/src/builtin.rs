//! The providers that have a name without any settings, and the model each is asked for when nobody names one.
//!
//! Only those are here whose address and key fit a wire format that there is. Whoever has another way to log in, headers
//! of its own or an address per customer needs settings.

use crate::provider::Provider;

/// When the names of [`BuiltinProvider::default_model`] were looked at last.
pub const DEFAULTS_AS_OF: &str = "2026-05-22";

/// A provider that has a name without any settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinProvider {
    /// What stands before the slash of a model reference.
    pub name: &'static str,
    /// The wire format that it speaks.
    pub kind: Provider,
    /// Its address, where it is not that of the format's inventor.
    pub base_url: Option<&'static str>,
    /// The variable that names another address.
    pub url_variable: Option<&'static str>,
    /// The variables that may hold its key; the first that is set counts. Without any it wants no key.
    pub key_variables: &'static [&'static str],
    /// The model that is asked when nobody names one and the key is there.
    pub default_model: Option<&'static str>,
}

impl BuiltinProvider {
    /// All of them. Of those with a default model the first whose key is there answers.
    pub const ALL: [Self; 9] = [
        Self {
            default_model: Some("claude-sonnet-4-6"),
            ..Self::inventor(Provider::Anthropic)
        },
        Self {
            default_model: Some("gpt-5.4"),
            ..Self::inventor(Provider::OpenAi)
        },
        Self {
            default_model: Some("gemini-2.5-pro"),
            ..Self::inventor(Provider::Gemini)
        },
        Self {
            name: "openrouter",
            kind: Provider::OpenAiChat,
            base_url: Some("https://openrouter.ai/api/v1"),
            url_variable: None,
            key_variables: &["OPENROUTER_API_KEY"],
            default_model: Some("anthropic/claude-sonnet-4.6"),
        },
        Self::inventor(Provider::OpenAiChat),
        Self::inventor(Provider::OpenAiCodex),
        Self::here("ollama", "http://127.0.0.1:11434/v1"),
        Self::here("llama-cpp", "http://127.0.0.1:8080/v1"),
        Self::here("vllm", "http://127.0.0.1:8000/v1"),
    ];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name == name)
    }

    /// Whoever made the format.
    const fn inventor(kind: Provider) -> Self {
        Self {
            name: kind.word(),
            kind,
            base_url: None,
            url_variable: Some(kind.url_variable()),
            key_variables: kind.key_variables(),
            default_model: None,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_inventor_and_every_name_is_taken_once() {
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
}
