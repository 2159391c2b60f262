//! Settings in sections whose names a person chooses, such as `providers.NAME.base_url`, and lists.

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::policy::OutsideRuns;
use wakeful_core::run::ROUTE_MAX;
use wakeful_core::subrun::MAY_START_MAX;
use wakeful_models::{ModelRef, TIME_MS_MAX};

use super::inference::{NAMED_MAX, OUTPUT_TOKENS_MAX, PATTERNS_MAX, USD_PER_MILLION_MAX};
use super::key::{Key, is_near};
use super::kind::Kind;
use super::values::COMMAND_WORDS_MAX;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Model,
    Agent,
    Announce,
    Decisions,
    Inference,
    Providers,
    Routes,
    Agents,
    Models,
    Prices,
}

impl Section {
    const ALL: [Self; 10] = [
        Self::Model,
        Self::Agent,
        Self::Announce,
        Self::Decisions,
        Self::Inference,
        Self::Providers,
        Self::Routes,
        Self::Agents,
        Self::Models,
        Self::Prices,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Announce => "announce",
            Self::Decisions => "decisions",
            Self::Inference => "inference",
            Self::Providers => "providers",
            Self::Routes => "routes",
            Self::Agents => "agents",
            Self::Models => "models",
            Self::Prices => "prices",
        }
    }

    /// Whether a name stands between it and its fields, and what kind of name.
    pub(super) const fn names(self) -> Option<Names> {
        match self {
            Self::Model | Self::Agent | Self::Announce | Self::Decisions | Self::Inference => None,
            Self::Providers | Self::Routes | Self::Agents => Some(Names::Word),
            Self::Models | Self::Prices => Some(Names::Model),
        }
    }

    fn fields(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Model => &[("fallbacks", FALLBACKS)],
            Self::Agent => &[("ask_tools", TOOLS)],
            Self::Announce => &[("command", COMMAND)],
            Self::Decisions => &[("answer_from", CHANNELS)],
            Self::Inference => &GATES,
            Self::Providers => &PROVIDER,
            Self::Routes => &[(
                "models",
                Kind::List {
                    of: &Kind::Candidate,
                    min: 1,
                    max: ROUTE_MAX,
                },
            )],
            Self::Agents => &AGENT,
            Self::Models => &MODEL,
            Self::Prices => &PRICE,
        }
    }

    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.word() == word)
    }
}

/// What kind of name a section has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Word,
    Model,
}

impl Names {
    pub(super) fn accept(self, name: &str) -> bool {
        match self {
            Self::Word => AgentId::parse(name).is_ok(),
            Self::Model => matches!(ModelRef::parse(name), Ok(ModelRef::Hosted { .. })),
        }
    }

    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Word => "a name of a-z, 0-9, '-' and '_'",
            Self::Model => "a model in quotes, such as \"anthropic/MODEL\"",
        }
    }
}

const FALLBACKS: Kind = Kind::List {
    of: &Kind::Candidate,
    min: 0,
    max: ROUTE_MAX - 1,
};

const TOOLS: Kind = Kind::List {
    of: &Kind::OneOf(&wakeful_tools::TOOL_NAMES),
    min: 0,
    max: wakeful_tools::TOOL_NAMES.len(),
};

const CHANNELS: Kind = Kind::List {
    of: &Kind::OneOf(&Channel::WORDS),
    min: 1,
    max: Channel::WORDS.len(),
};

const AGENTS: Kind = Kind::List {
    of: &Kind::Agent,
    min: 0,
    max: MAY_START_MAX,
};

const COMMAND: Kind = Kind::List {
    of: &Kind::Text,
    min: 1,
    max: COMMAND_WORDS_MAX,
};

const PATTERNS: Kind = Kind::List {
    of: &Kind::Pattern,
    min: 0,
    max: PATTERNS_MAX,
};

const CATEGORIES: Kind = Kind::List {
    of: &Kind::OneOf(&["conversation", "embedding"]),
    min: 0,
    max: 2,
};

const SHOWN: Kind = Kind::List {
    of: &Kind::OneOf(&[
        "contract",
        "identity",
        "agent_guidance",
        "workspace_guidance",
        "words",
        "thinking",
        "attachments",
        "tool_calls",
        "tool_results",
        "tools",
    ]),
    min: 0,
    max: 10,
};

const GATES: [(&str, Kind); 5] = [
    ("categories", CATEGORIES),
    ("models", PATTERNS),
    ("models.conversation", PATTERNS),
    ("models.embedding", PATTERNS),
    ("shown", SHOWN),
];

const AGENT: [(&str, Kind); 11] = [
    ("ask_tools", TOOLS),
    ("answer_from", CHANNELS),
    ("may_start", AGENTS),
    ("outside_runs", Kind::OneOf(&OutsideRuns::WORDS)),
    ("model", Kind::Model),
    ("fallbacks", FALLBACKS),
    ("categories", CATEGORIES),
    ("models", PATTERNS),
    ("models.conversation", PATTERNS),
    ("models.embedding", PATTERNS),
    ("shown", SHOWN),
];

const TIME: Kind = Kind::Integer {
    min: 1,
    max: TIME_MS_MAX as i64,
};

const MODEL: [(&str, Kind); 1] = [("thinking", Kind::Thinking)];

const PROVIDER: [(&str, Kind); 13] = [
    (
        "kind",
        Kind::OneOf(&["anthropic", "openai", "openai-chat", "openai-codex", "gemini"]),
    ),
    ("base_url", Kind::Url),
    ("key", Kind::Handle),
    ("api_version", Kind::Version),
    ("auth", Kind::OneOf(&["x-api-key", "bearer"])),
    (
        "max_output_tokens",
        Kind::Integer {
            min: 1,
            max: OUTPUT_TOKENS_MAX as i64,
        },
    ),
    ("thinking", Kind::Thinking),
    ("incremental", Kind::Truth),
    ("context_management", Kind::Truth),
    ("connect_ms", TIME),
    ("first_byte_ms", TIME),
    ("idle_ms", TIME),
    ("total_ms", TIME),
];

const USD: Kind = Kind::Amount {
    max: USD_PER_MILLION_MAX,
};

const PRICE: [(&str, Kind); 4] = [
    ("input", USD),
    ("output", USD),
    ("cached_read", USD),
    ("cached_write", USD),
];

/// One setting in such a section.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub(super) section: Section,
    /// The name that a person chose; empty in a section without names.
    pub(super) name: String,
    pub(super) field: &'static str,
}

impl Named {
    /// The setting of this field, if there is such a field. The name is not looked at.
    pub(super) fn of(section: Section, name: &str, field: &str) -> Option<Self> {
        let (field, _) = section.fields().iter().find(|(known, _)| *known == field)?;
        Some(Self {
            section,
            name: name.to_owned(),
            field,
        })
    }

    /// The setting that a person calls this, such as `providers.mine.base_url`. A model's name may have points.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once('.')?;
        let section = Section::named(word)?;
        let Some(names) = section.names() else {
            return Self::of(section, "", rest);
        };
        // The longest field first: `models.conversation` is not a field of the agent `x.models`.
        let mut fields: Vec<&str> = section.fields().iter().map(|(field, _)| *field).collect();
        fields.sort_by_key(|field| std::cmp::Reverse(field.len()));
        fields.into_iter().find_map(|field| {
            let name = rest.strip_suffix(field)?.strip_suffix('.')?.trim_matches('"');
            names.accept(name).then(|| Self::of(section, name, field))?
        })
    }

    /// The whole name of a setting whose section was left out.
    pub(super) fn without_section(field: &str) -> Option<String> {
        let mut plain = Section::ALL
            .into_iter()
            .filter(|section| section.names().is_none());
        plain.find_map(|section| Self::of(section, "", field).map(|named| named.name()))
    }

    /// The name a person writes.
    pub(crate) fn name(&self) -> String {
        let Self { section, name, field } = self;
        match section.names() {
            None => format!("{}.{field}", section.word()),
            Some(Names::Word) => format!("{}.{name}.{field}", section.word()),
            Some(Names::Model) => format!("{}.\"{name}\".{field}", section.word()),
        }
    }

    /// Where it stands in the file and in the values.
    pub(super) fn path(&self) -> Vec<&str> {
        let name = Some(self.name.as_str()).filter(|name| !name.is_empty());
        let before = [Some(self.section.word()), name].into_iter().flatten();
        before.chain(self.field.split('.')).collect()
    }

    /// The value that somebody typed, or what is wrong with it.
    pub(crate) fn typed(&self, text: &str) -> Result<serde_json::Value, crate::failure::Failure> {
        super::key::typed(&self.name(), self.kind(), text)
    }

    pub(super) fn kind(&self) -> Kind {
        let fields = self.section.fields();
        let found = fields.iter().find(|(known, _)| *known == self.field);
        found.map_or(Kind::Word, |(_, kind)| *kind)
    }

    /// The field of a section that was probably meant.
    pub(super) fn meant(section: Section, field: &str) -> String {
        let keys = Key::ALL.into_iter().map(Key::parts);
        // A section without names may have settings with variables of their own.
        let keys = keys.filter(|(word, _)| section.names().is_none() && *word == section.word());
        let fields = section.fields().iter().map(|(known, _)| *known);
        let fields: Vec<&str> = keys.map(|(_, known)| known).chain(fields).collect();
        let near = fields
            .iter()
            .map(|known| (strsim::damerau_levenshtein(field, known), *known))
            .min()
            .filter(|(distance, _)| is_near(*distance, field));
        near.map_or_else(
            || format!("there are {}", fields.join(", ")),
            |(_, known)| format!("did you mean {known}?"),
        )
    }

    /// Most names in one section.
    pub(super) const NAMES_MAX: usize = NAMED_MAX;
}

/// All of them, with `NAME` for what people choose. Rules of single categories are part of their list.
#[cfg(test)]
pub(super) fn all() -> Vec<String> {
    let of = |section: Section| {
        let middle = section.names().map_or("", |_| ".NAME");
        let fields = section.fields().iter().filter(|(field, _)| !field.contains('.'));
        fields.map(move |(field, _)| format!("{}{middle}.{field}", section.word()))
    };
    Section::ALL.into_iter().flat_map(of).collect()
}
