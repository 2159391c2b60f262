//! Who answers over HTTP, and where each is found.

/// The usual version of Anthropic's interface.
const API_VERSION: &str = "2023-06-01";

/// The versions of it that are spoken. Both have the same shapes.
pub(crate) const API_VERSIONS: [&str; 2] = [API_VERSION, "2026-10-21"];

/// The header that names the version.
pub(crate) const API_VERSION_HEADER: &str = "anthropic-version";

/// A provider, and with it the wire format that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenAi,
    /// OpenAI Chat Completions, which many others speak as well.
    OpenAiChat,
    /// Gemini `generateContent`.
    Gemini,
    /// OpenAI Responses as Codex speaks it: streamed always, and without a word on lengths.
    OpenAiCodex,
}

/// How a provider is shown its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// Alone in a header of this name.
    Header(&'static str),
    /// As `Authorization: Bearer`.
    Bearer,
}

/// Whether a provider answers without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    /// It never does.
    Always,
    /// At another address than the provider's own it does: a server on one's own machine wants none.
    AtItsOwnAddress,
    /// It always does.
    Never,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiChat,
        Self::Gemini,
        Self::OpenAiCodex,
    ];

    /// What stands before the slash of a model reference, and in failures.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
            Self::OpenAiCodex => "openai-codex",
        }
    }

    /// The environment variables that may hold its key; the first that is set counts.
    #[must_use]
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi | Self::OpenAiChat => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::OpenAiCodex => &["CODEX_API_KEY", "OPENAI_API_KEY"],
        }
    }

    /// The environment variable that names another address.
    #[must_use]
    pub const fn url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi | Self::OpenAiChat => "OPENAI_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
            Self::OpenAiCodex => "CODEX_BASE_URL",
        }
    }

    /// Its own address. By the providers' own custom OpenAI's has the version in it and the others' have not.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi | Self::OpenAiChat | Self::OpenAiCodex => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    pub(crate) const fn auth(self) -> KeyHeader {
        match self {
            Self::Anthropic => KeyHeader::Header("x-api-key"),
            Self::OpenAi | Self::OpenAiChat | Self::OpenAiCodex => KeyHeader::Bearer,
            Self::Gemini => KeyHeader::Header("x-goog-api-key"),
        }
    }

    /// Headers that every request has beside the key.
    pub(crate) const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[(API_VERSION_HEADER, API_VERSION)],
            Self::OpenAi | Self::OpenAiChat | Self::Gemini | Self::OpenAiCodex => &[],
        }
    }

    pub(crate) const fn keyed(self) -> KeyRequirement {
        match self {
            Self::OpenAiChat => KeyRequirement::AtItsOwnAddress,
            Self::Anthropic | Self::OpenAi | Self::Gemini | Self::OpenAiCodex => KeyRequirement::Always,
        }
    }
}
