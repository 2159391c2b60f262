//! Macros for enums that are stored, hashed and sent as words. Each word is written once, next to its
//! variant.

/// Declares an enum whose variants are words: `Paused = "paused"`. Generates `ALL`, `WORDS`, `as_str`,
/// `parse`, `Display`, and the same words in JSON and in JSON schemas.
macro_rules! string_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// The words of all values, in declaration order.
            pub const WORDS: [&'static str; [$($text),+].len()] = [$($text),+];

            /// Every value, in declaration order.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// Returns the word that is stored, hashed and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// Parses a word. None for any other text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

/// Declares an enum whose words are those of several other enums, each declared with `string_enum!`:
/// `Refusal(WakeOutcome)`. It is stored and sent as the word alone, so the words of its parts must differ.
macro_rules! string_union {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident($part:ty)),+ $(,)?
        }
    ) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(untagged)]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* $variant($part)),+
        }

        impl $name {
            /// Returns the word that is stored, hashed and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant(part) => part.as_str()),+
                }
            }

            /// Parses a word. None for any other text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                None$(.or_else(|| <$part>::parse(text).map(Self::$variant)))+
            }

            /// Returns the words of all values, part by part.
            pub fn words() -> impl Iterator<Item = &'static str> {
                std::iter::empty()$(.chain(<$part>::WORDS))+
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $(
            impl From<$part> for $name {
                fn from(part: $part) -> Self {
                    Self::$variant(part)
                }
            }
        )+
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::change::ChangeKind;
    use crate::inference::ReceiptChannel;
    use crate::schedule::Reason;
    use crate::wake::HoldCode;

    fn is_unambiguous(words: impl Iterator<Item = &'static str>) -> bool {
        let mut seen = BTreeSet::new();
        words.into_iter().all(|word| seen.insert(word))
    }

    #[test]
    fn no_word_of_a_union_has_two_meanings() {
        assert!(is_unambiguous(HoldCode::words()));
        assert!(is_unambiguous(Reason::words()));
        assert!(is_unambiguous(ChangeKind::words()));
        assert!(is_unambiguous(ReceiptChannel::words()));
    }

    #[test]
    fn every_word_of_a_union_is_parsed_and_sent_unchanged() {
        for word in HoldCode::words() {
            let code = HoldCode::parse(word).expect("a code");
            assert_eq!(code.as_str(), word);
            let sent = serde_json::to_value(code).expect("JSON");
            assert_eq!(sent, word);
            assert_eq!(serde_json::from_value::<HoldCode>(sent).ok(), Some(code));
        }
        assert_eq!(HoldCode::parse("hold"), None);
    }
}
