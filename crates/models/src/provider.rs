//! The supported providers: their wire formats, addresses and headers.

/// The default version of Anthropic's API.
const API_VERSION: &str = "2023-06-01";

/// The supported versions of Anthropic's API. Both have the same request and response format.
pub(crate) const API_VERSIONS: [&str; 2] = [API_VERSION, "2026-10-21"];

pub(crate) const API_VERSION_HEADER: &str = "anthropic-version";

/// A provider and its wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenAi,
    /// OpenAI Chat Completions, which many other servers support.
    OpenAiChat,
    /// Gemini `generateContent`.
    Gemini,
    /// OpenAI Responses in the variant of Codex: always streamed, and without an output limit.
    OpenAiCodex,
}

/// The header in which a provider receives its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// A header of this name that contains only the key.
    Header(&'static str),
    /// As `Authorization: Bearer`.
    Bearer,
}

/// Whether a provider requires a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    /// A key is always required.
    Always,
    /// A key is required at the provider's own address. Servers at other addresses, such as one on the
    /// user's machine, may need none.
    AtItsOwnAddress,
    /// No key is required.
    Never,
}

impl Provider {
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiChat,
        Self::Gemini,
        Self::OpenAiCodex,
    ];

    /// Returns the name that model references and failures use.
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

    /// Returns the environment variables that may contain the key; the first one that is set is used.
    #[must_use]
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi | Self::OpenAiChat => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::OpenAiCodex => &["CODEX_API_KEY", "OPENAI_API_KEY"],
        }
    }

    /// Returns the environment variable that overrides the base URL.
    #[must_use]
    pub const fn url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi | Self::OpenAiChat => "OPENAI_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
            Self::OpenAiCodex => "CODEX_BASE_URL",
        }
    }

    /// Returns the provider's own base URL. By convention, OpenAI's contains the API version and the others
    /// do not.
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

    /// Returns the headers of every request besides the key.
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
