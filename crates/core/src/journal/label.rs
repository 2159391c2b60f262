//! Labels that people choose within rules: kinds of links and names of scales.

use serde::{Deserialize, Serialize};

use super::WriteError;

/// Maximum length of a link kind in characters.
pub const LINK_KIND_CHARS_MAX: usize = 64;

/// Maximum length of a scale name in characters.
pub const SCALE_CHARS_MAX: usize = 32;

/// The relation between two linked records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LinkKind {
    /// Any relation.
    RelatesTo,
    /// The second cannot continue before the first is done.
    Blocks,
    /// The first comes after the second.
    Follows,
    /// The first is a part of the second.
    PartOf,
    /// The first was created from the second.
    DerivedFrom,
    /// The first has the same content as the second.
    Duplicates,
    /// A custom kind, as `namespace:name`.
    Free(String),
}

impl LinkKind {
    /// The built-in kinds.
    pub const KNOWN: [Self; 6] = [
        Self::RelatesTo,
        Self::Blocks,
        Self::Follows,
        Self::PartOf,
        Self::DerivedFrom,
        Self::Duplicates,
    ];

    /// The text that is stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::RelatesTo => "relates_to",
            Self::Blocks => "blocks",
            Self::Follows => "follows",
            Self::PartOf => "part_of",
            Self::DerivedFrom => "derived_from",
            Self::Duplicates => "duplicates",
            Self::Free(kind) => kind,
        }
    }

    /// Parses a link kind.
    pub fn parse(text: &str) -> Result<Self, WriteError> {
        if let Some(known) = Self::KNOWN.into_iter().find(|kind| kind.as_str() == text) {
            return Ok(known);
        }
        match text.split_once(':') {
            Some((namespace, name))
                if text.len() <= LINK_KIND_CHARS_MAX && is_word(namespace) && is_word(name) =>
            {
                Ok(Self::Free(text.to_owned()))
            }
            Some(_) | None => Err(WriteError::BadLinkKind),
        }
    }
}

impl From<LinkKind> for String {
    fn from(kind: LinkKind) -> Self {
        kind.as_str().to_owned()
    }
}

impl TryFrom<String> for LinkKind {
    type Error = WriteError;

    fn try_from(text: String) -> Result<Self, WriteError> {
        Self::parse(&text)
    }
}

/// A lower-case letter, then lower-case letters, digits and underscores.
pub(super) fn is_word(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_kind_is_built_in_or_has_a_namespace() {
        for kind in LinkKind::KNOWN {
            assert_eq!(LinkKind::parse(kind.as_str()), Ok(kind.clone()));
            assert!(is_word(kind.as_str()));
        }
        let free = LinkKind::parse("gym:superset_of2").unwrap();
        assert_eq!(
            (free.as_str(), &free),
            ("gym:superset_of2", &LinkKind::Free("gym:superset_of2".into()))
        );
        let long = format!("a:{}", "b".repeat(LINK_KIND_CHARS_MAX));
        for bad in [
            "",
            "likes",
            "gym:",
            ":x",
            "Gym:x",
            "gym:x:y",
            "gym:x y",
            "gym:ü",
            long.as_str(),
        ] {
            assert_eq!(LinkKind::parse(bad), Err(WriteError::BadLinkKind), "{bad}");
        }
    }
}
