//! Enums that are stored, hashed and sent as words. Each word stands once, beside its variant.

/// Declares an enum whose variants are words: `Paused = "paused"`. It gets `ALL`, `WORDS`, `as_str`, `parse`, `Display`, and the
/// same words in JSON and in JSON schemas.
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
            /// The words of all values, in the order of their declaration.
            pub const WORDS: [&'static str; [$($text),+].len()] = [$($text),+];

            /// Every value, in the order of their declaration.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// The word that is stored, hashed and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// Reads the word. None for any other.
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
