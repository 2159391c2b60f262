//! Removes the values of secrets from bytes, also where they are encoded.
//!
//! A command that receives a secret may print it. Its output is redacted before anything is stored, shown or
//! sent, so the value exists only in the secret's own place and in the process that received it.

mod blocks;
mod patterns;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub use self::blocks::{Hide, blocks, json};
use self::patterns::{Pattern, wrapped_patterns};
pub use self::stream::StreamRedactor;

/// Maximum total size of the patterns of a table that is built for the fastest search. A larger table takes more
/// memory than it saves time, and for a long value of repeated characters the time to build it grows with the square
/// of its length.
const DENSE_BYTES_MAX: usize = 16 * 1024;

/// Finds secrets. The default finds none.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Secrets as they are, and encoded.
    whole: Option<Search>,
    /// Long encoded secrets, which programs break into lines. They are searched without white space.
    wrapped: Option<Search>,
}

/// A search for several patterns at once.
#[derive(Clone)]
struct Search {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
    /// The length of the longest pattern.
    longest: usize,
}

/// Part of the bytes that is a secret.
struct Found {
    from: usize,
    to: usize,
    /// What replaces it.
    mark: String,
}

impl Redactor {
    /// A redactor of these values by name. Values that are too short to be secrets are ignored.
    #[must_use]
    pub fn new(secrets: &BTreeMap<String, String>) -> Self {
        let pairs = secrets.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Self::of(&pairs)
    }

    /// A redactor of named values, of which several may have one name: a secret that was changed may still be
    /// printed with its former value.
    #[must_use]
    pub fn of(secrets: &[(&str, &str)]) -> Self {
        let all = |of: fn(&str, &str) -> Vec<Pattern>| {
            let patterns = secrets.iter().flat_map(|(name, value)| of(name, value));
            Search::new(patterns.collect())
        };
        Self {
            whole: all(patterns::patterns),
            wrapped: all(wrapped_patterns),
        }
    }

    /// Whether it finds nothing because it knows no secret.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.whole.is_none()
    }

    /// The bytes without secrets; `None` if they contain none.
    #[must_use]
    pub fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let first = self.whole.as_ref().and_then(|search| {
            let found: Vec<Found> = search.find(bytes).collect();
            replaced(bytes, &found)
        });
        let second = self.wrapped.as_ref().and_then(|search| {
            let bytes = first.as_deref().unwrap_or(bytes);
            replaced(bytes, &search.find_across_lines(bytes))
        });
        second.or(first)
    }

    /// The text without secrets; `None` if it contains none.
    #[must_use]
    pub fn text(&self, text: &str) -> Option<String> {
        // Every pattern begins and ends between two characters, so the result is UTF-8.
        self.bytes(text.as_bytes())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A redactor of a stream, which finds secrets that are split between its pieces.
    #[must_use]
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Search {
    /// `None` without patterns, and if they are too many for a table.
    fn new(patterns: Vec<Pattern>) -> Option<Self> {
        let longest = patterns.iter().map(|pattern| pattern.bytes.len()).max()?;
        let total: usize = patterns.iter().map(|pattern| pattern.bytes.len()).sum();
        let kind = if total <= DENSE_BYTES_MAX {
            AhoCorasickKind::DFA
        } else {
            AhoCorasickKind::ContiguousNFA
        };
        // The longest first, because one secret may be the beginning of another.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(kind))
            .build(patterns.iter().map(|pattern| &pattern.bytes))
            .ok()?;
        Some(Self {
            automaton,
            patterns,
            longest,
        })
    }

    fn find(&self, bytes: &[u8]) -> impl Iterator<Item = Found> {
        self.automaton.find_iter(bytes).map(|found| Found {
            from: found.start(),
            to: found.end(),
            mark: self.mark(found.pattern().as_usize()),
        })
    }

    /// Secrets between whose bytes is white space.
    fn find_across_lines(&self, bytes: &[u8]) -> Vec<Found> {
        let is_kept = |(_, byte): &(usize, &u8)| !byte.is_ascii_whitespace();
        let (places, dense): (Vec<usize>, Vec<u8>) = bytes
            .iter()
            .enumerate()
            .filter(is_kept)
            .map(|(at, byte)| (at, *byte))
            .unzip();
        let found = self.find(&dense).filter_map(|found| {
            Some(Found {
                from: *places.get(found.from)?,
                to: places.get(found.to.checked_sub(1)?)? + 1,
                ..found
            })
        });
        found.collect()
    }

    fn mark(&self, pattern: usize) -> String {
        let name = self
            .patterns
            .get(pattern)
            .map_or("", |pattern| pattern.name.as_str());
        format!("[secret {name}]")
    }

    /// The length of the longest end of `bytes` that may be the beginning of a secret.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.longest.saturating_sub(1));
        let may_begin = |length: &usize| {
            let end = bytes
                .get(bytes.len().saturating_sub(*length)..)
                .unwrap_or_default();
            let is_longer = |pattern: &Pattern| pattern.bytes.len() > *length;
            self.patterns
                .iter()
                .any(|pattern| is_longer(pattern) && pattern.bytes.starts_with(end))
        };
        (1..=most).rev().find(may_begin).unwrap_or(0)
    }
}

/// The bytes with these parts replaced; `None` if there are none.
fn replaced(bytes: &[u8], found: &[Found]) -> Option<Vec<u8>> {
    if found.is_empty() {
        return None;
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for part in found {
        kept.extend_from_slice(bytes.get(at..part.from).unwrap_or_default());
        kept.extend_from_slice(part.mark.as_bytes());
        at = part.to;
    }
    kept.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Some(kept)
}
