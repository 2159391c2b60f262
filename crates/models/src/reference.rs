//! Model references: the names by which people choose a model.

use std::path::PathBuf;

use crate::builtin::BuiltinProvider;

/// Longest model reference in characters. It is stored in every run's state, which must stay small; real
/// paths use a fraction of it.
pub const REF_CHARS_MAX: usize = 1_000;

/// Longest name of a model at its provider, in characters. The longest names on model hubs have half of it.
pub const MODEL_CHARS_MAX: usize = 200;

/// The reference of the built-in demo.
const DEMO: &str = "demo";

/// The prefix of a script's path.
const SCRIPTED: &str = "scripted:";

/// The prefix of a route's name.
const ROUTE: &str = "route:";

/// Longest name of a provider or a route, in characters.
const NAME_CHARS_MAX: usize = 64;

/// A parsed model reference. The binary reads the file or key that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// `demo`: the built-in script.
    Demo,
    /// `scripted:FILE`: a script file.
    Scripted { file: PathBuf },
    /// `PROVIDER/MODEL`: a model at a provider.
    Hosted {
        /// The name of a built-in or configured provider.
        provider: String,
        /// The model's name at the provider.
        model: String,
    },
    /// `route:NAME`: a configured route of a model and its fallbacks.
    Route { name: String },
}

/// Why a model reference is invalid. The message lists the valid forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadModelRef {
    /// The reference has an unknown form.
    #[error(
        "unknown model {0:?}; use `demo` (built in), `scripted:FILE` (a YAML script), `route:NAME` or `PROVIDER/MODEL`, where \
            PROVIDER is one of {names} or a configured provider", names = names()
    )]
    Unknown(String),
    /// `scripted:` without a file.
    #[error("`scripted:` needs a file; write `scripted:FILE`, or `demo` for the built-in script")]
    NoFile,
    /// The part after the slash cannot be a model's name.
    #[error(
        "invalid model name in {0:?}; after the slash, use 1 to 200 letters, digits and `.`, `_`, `-`, `:`, `/`, `@`, `+`"
    )]
    NoModel(String),
    /// The reference is too long to be stored.
    #[error("a model reference has at most 1000 characters; move the script to a shorter path")]
    TooLong,
}

impl ModelRef {
    /// Parses a reference. It does not check whether the file exists.
    pub fn parse(text: &str) -> Result<Self, BadModelRef> {
        if text.chars().count() > REF_CHARS_MAX {
            return Err(BadModelRef::TooLong);
        }
        if let Some(name) = text.strip_prefix(ROUTE) {
            return match is_name(name) {
                true => Ok(Self::Route {
                    name: name.to_owned(),
                }),
                false => Err(BadModelRef::Unknown(text.to_owned())),
            };
        }
        match text.strip_prefix(SCRIPTED) {
            Some("") => Err(BadModelRef::NoFile),
            Some(file) => Ok(Self::Scripted {
                file: PathBuf::from(file),
            }),
            None if text == DEMO => Ok(Self::Demo),
            None => Self::parse_hosted(text),
        }
    }

    fn parse_hosted(text: &str) -> Result<Self, BadModelRef> {
        let parts = text.split_once('/').filter(|(provider, _)| is_name(provider));
        let Some((provider, model)) = parts else {
            return Err(BadModelRef::Unknown(text.to_owned()));
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-:/@+".contains(c);
        if model.is_empty() || model.len() > MODEL_CHARS_MAX || !model.chars().all(allowed) {
            return Err(BadModelRef::NoModel(text.to_owned()));
        }
        Ok(Self::Hosted {
            provider: provider.to_owned(),
            model: model.to_owned(),
        })
    }
}

/// Returns the names of the built-in providers.
fn names() -> String {
    BuiltinProvider::ALL.map(|known| known.name).join(", ")
}

/// Whether a text can be the name of a provider or a route. The rules are those of agent names.
fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= NAME_CHARS_MAX
        && text.starts_with(word)
        && text.chars().all(|c| word(c) || c == '-' || c == '_')
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Demo => f.write_str(DEMO),
            Self::Scripted { file } => write!(f, "{SCRIPTED}{}", file.display()),
            Self::Hosted { provider, model } => write!(f, "{provider}/{model}"),
            Self::Route { name } => write!(f, "{ROUTE}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_printed_as_it_was_parsed() {
        for text in [
            "demo",
            "scripted:a.yaml",
            "scripted:/tmp/with space/é.yaml",
            "scripted:scripted:x",
            "scripted: ",
            "anthropic/claude-x",
            "openai/gpt-5",
            "openai-chat/meta-llama/Llama-3.2:1b@fp8+x",
            "gemini/gemini-2.5-pro",
            "my-own_1/m",
            "route:cheap",
        ] {
            assert_eq!(
                ModelRef::parse(text).map(|reference| reference.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn an_unknown_model_is_refused_with_the_valid_forms() {
        for text in [
            "",
            "Demo",
            "gpt",
            "script:a.yaml",
            "openai:gpt",
            " demo",
            "OpenAI/gpt",
            "/gpt",
            "-x/gpt",
            "route:",
            "route:No Good",
            "anthropic",
        ] {
            let error = ModelRef::parse(text).expect_err(text);
            assert_eq!(error, BadModelRef::Unknown(text.to_owned()));
            let shown = error.to_string();
            assert!(
                ["`demo`", "`scripted:FILE`"]
                    .iter()
                    .all(|form| shown.contains(form)),
                "{shown}"
            );
            let all = BuiltinProvider::ALL
                .iter()
                .all(|known| shown.contains(known.name));
            assert!(all && shown.contains("`PROVIDER/MODEL`"), "{shown}");
        }
    }

    #[test]
    fn a_provider_with_an_invalid_model_name_is_refused() {
        let long = "m".repeat(MODEL_CHARS_MAX + 1);
        for model in ["", " ", "a b", "a?b", "a#b", "é", "a\\n", long.as_str()] {
            let text = format!("gemini/{model}");
            let error = ModelRef::parse(&text).expect_err("took it");
            assert!(
                error.to_string().contains(&MODEL_CHARS_MAX.to_string()),
                "{error}"
            );
            assert_eq!(error, BadModelRef::NoModel(text));
        }
        assert!(ModelRef::parse(&format!("gemini/{}", "m".repeat(MODEL_CHARS_MAX))).is_ok());
    }

    #[test]
    fn a_reference_without_a_file_or_too_long_is_refused() {
        assert_eq!(ModelRef::parse("scripted:"), Err(BadModelRef::NoFile));
        let longest = format!("scripted:{}", "é".repeat(REF_CHARS_MAX - "scripted:".len()));
        assert!(ModelRef::parse(&longest).is_ok());
        assert_eq!(ModelRef::parse(&format!("{longest}x")), Err(BadModelRef::TooLong));
        assert!(
            BadModelRef::TooLong
                .to_string()
                .contains(&REF_CHARS_MAX.to_string())
        );
    }
}
