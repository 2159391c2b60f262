//! The texts that a run has read, and whether a name stands in them as a whole.
//!
//! A name is compared with whole words and never with parts of them, so that no text around a name and no
//! encoding of it makes a foreign name look like a known one. What is not found counts as untrusted.

use std::borrow::Cow;

use serde_json::Value;

use super::{Evidence, SourceKind, SourceRef, Sources};
use crate::conversation::{Attachment, Block, Role};
use crate::journal::RecordId;

/// One entry of the transcript with its sources.
#[derive(Debug, Clone, Copy)]
pub struct ReadText<'a> {
    pub role: Role,
    pub blocks: &'a [Block],
    pub sources: &'a Sources,
}

/// What a run has read, as far as its model requests contain it.
#[derive(Debug, Clone, Default)]
pub struct RunTexts<'a> {
    /// Files that the operator trusts, and the operator's instruction for the subscription that caused the run.
    pub guidance: Vec<&'a str>,
    /// The transcript, oldest first, beginning with the message of the run.
    pub entries: Vec<ReadText<'a>>,
}

impl<'a> RunTexts<'a> {
    /// The operator's words and trusted files. The text beside an attachment is the operator's; the attachment
    /// is not.
    fn instructions(&self) -> impl Iterator<Item = &'a str> {
        let own = |entry: &&ReadText<'a>| entry.role == Role::User && entry.sources.are_attachments();
        let written = self.entries.iter().filter(own).flat_map(|entry| {
            entry.blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::ToolUse(_)
                | Block::WebSearch(_)
                | Block::Thinking { .. }
                | Block::Attachment(_)
                | Block::ToolResult { .. } => None,
            })
        });
        self.guidance.iter().copied().chain(written)
    }

    /// Whether the operator named something that fulfils a condition: a word without the punctuation around it.
    /// What the operator forbids is not named.
    pub(super) fn is_word_named(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.instructions().any(|text| {
            let mut words = words(text);
            words.any(|(at, word)| is_meant(word) && !is_negated(text, at))
        })
    }

    /// Whether the operator wrote a text as it stands, and did not forbid it.
    pub(super) fn is_text_named(&self, text: &str) -> bool {
        let mut instructions = self.instructions();
        instructions.any(|written| position(written, text).is_some_and(|at| !is_negated(written, at)))
    }

    /// Whether a text stands in what the operator wrote and did not forbid, or in anything else that is trusted, in any
    /// case.
    pub(super) fn is_text_trusted(&self, text: &str) -> bool {
        let wanted = text.to_ascii_lowercase();
        let has = |text: &str| position(&text.to_ascii_lowercase(), &wanted).is_some();
        let is_said = |text: &str| {
            let text = text.to_ascii_lowercase();
            position(&text, &wanted).is_some_and(|at| !is_negated(&text, at))
        };
        // The operator's messages are instructions.
        let mut trusted = self
            .entries
            .iter()
            .filter(|entry| entry.sources.is_empty() && entry.role != Role::User);
        self.instructions().any(is_said)
            || trusted.any(|entry| entry.blocks.iter().flat_map(texts_of).any(|text| has(&text)))
    }

    /// Whether an id belongs to a record that the operator named: the result that has the id has a text of the
    /// same record that the operator wrote. Nothing but an id is named in this way.
    pub(super) fn is_record_named(&self, id: &str) -> bool {
        if RecordId::parse("id", id).is_err() {
            return false;
        }
        let results = self
            .entries
            .iter()
            .flat_map(|entry| entry.blocks)
            .filter_map(|block| match block {
                Block::ToolResult { content, .. } if content.contains(id) => {
                    serde_json::from_str(content).ok()
                }
                Block::ToolResult { .. }
                | Block::Text { .. }
                | Block::WebSearch(_)
                | Block::ToolUse(_)
                | Block::Thinking { .. }
                | Block::Attachment(_) => None,
            });
        let is_title = |text: &str| text != id && text.len() >= TITLE_BYTES_MIN && self.is_text_named(text);
        results
            .into_iter()
            .any(|result: Value| is_record(&result, id, &is_title))
    }

    /// Whether a text stands in something that the run was given. What the model wrote does not count, nor what a
    /// tool may have repeated of it.
    pub(super) fn is_text_linked(&self, text: &str, has_acted: bool) -> bool {
        let mut given = self.entries.iter().filter(|entry| {
            let is_file = entry.sources.iter().any(|one| one.kind == SourceKind::File);
            entry.role != Role::Assistant
                && (entry.sources.is_empty() || is_from_outside(entry.sources) || (is_file && !has_acted))
        });
        // The operator's own words name a page, or forbid it.
        let is_own = |entry: &ReadText<'_>, block: &Block| {
            entry.role == Role::User && entry.sources.are_attachments() && matches!(block, Block::Text { .. })
        };
        given.any(|entry| {
            let mut blocks = entry.blocks.iter().filter(|block| !is_own(entry, block));
            blocks.any(|block| has(block, text))
        }) || self.searches().any(|block| has(block, text))
    }

    /// What providers found on the web, which stands in replies.
    fn searches(&self) -> impl Iterator<Item = &'a Block> {
        let blocks = self.entries.iter().flat_map(|entry| entry.blocks);
        blocks.filter(|block| matches!(block, Block::WebSearch(_)))
    }

    /// Whether a part of an address stands in the operator's words or in what came from the web.
    pub(super) fn is_part_known(&self, part: &str) -> bool {
        let has = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric())
                .any(|word| word == part)
        };
        let mut given = self.entries.iter().filter(|entry| is_from_outside(entry.sources));
        self.instructions().any(has)
            || given.any(|entry| {
                let blocks = entry.blocks.iter().filter(|block| may_have(block, part));
                blocks.flat_map(texts_of).any(|text| has(&text))
            })
    }

    /// The newest untrusted text with one of these names, the most telling name first. Without a match, the
    /// beginning of the newest untrusted text: an encoded name stands nowhere.
    #[must_use]
    pub fn evidence(&self, names: &[String]) -> Option<Evidence> {
        let untrusted = || {
            let entries = self.entries.iter().rev();
            entries.filter(|entry| !entry.sources.is_empty() && entry.role != Role::Assistant)
        };
        for name in names {
            for entry in untrusted() {
                for text in entry
                    .blocks
                    .iter()
                    .filter(|block| may_have(block, name))
                    .flat_map(texts_of)
                {
                    if let Some(at) = text.find(name.as_str()) {
                        return Some(Evidence::around(
                            &text,
                            at..at + name.len(),
                            source(entry.sources),
                        ));
                    }
                }
            }
        }
        let newest = untrusted().find_map(|entry| {
            let text = entry
                .blocks
                .iter()
                .flat_map(texts_of)
                .max_by_key(|text| text.len())?;
            Some(Evidence::around(&text, 0..0, source(entry.sources)))
        });
        newest.filter(|evidence| !evidence.text.is_empty())
    }
}

/// Whether a text came to the run from outside as it stands.
fn is_from_outside(sources: &Sources) -> bool {
    sources.iter().any(|one| {
        matches!(
            one.kind,
            SourceKind::Web | SourceKind::Webhook | SourceKind::Attachment
        )
    })
}

/// The source that is shown for a text: a place before a tool or run that passed the text on.
fn source(sources: &Sources) -> Option<SourceRef> {
    sources.iter().min().cloned()
}

/// Whether a block contains a text as a whole.
fn has(block: &Block, text: &str) -> bool {
    may_have(block, text) && texts_of(block).iter().any(|one| position(one, text).is_some())
}

/// A fast test that never misses a text without JSON escapes: results are JSON, and parsing all of them for
/// each call takes far longer than this.
fn may_have(block: &Block, text: &str) -> bool {
    match block {
        Block::ToolResult { content, .. } => is_escaped(text) || content.contains(text),
        Block::Text { .. }
        | Block::Attachment(_)
        | Block::ToolUse(_)
        | Block::WebSearch(_)
        | Block::Thinking { .. } => true,
    }
}

/// Whether JSON text has another spelling of it.
fn is_escaped(text: &str) -> bool {
    text.chars().any(|c| c.is_control() || matches!(c, '"' | '\\'))
}

/// The texts of a block.
fn texts_of(block: &Block) -> Vec<Cow<'_, str>> {
    match block {
        Block::Text { text } => vec![Cow::Borrowed(text)],
        Block::ToolResult { content, .. } => match serde_json::from_str::<Value>(content) {
            Ok(value) => {
                let mut texts = Vec::new();
                strings(value, &mut texts);
                texts
            }
            Err(_) => vec![Cow::Borrowed(content)],
        },
        Block::Attachment(attachment) => readable(attachment).into_iter().map(Cow::Owned).collect(),
        Block::WebSearch(search) => search
            .sources
            .iter()
            .map(|url| Cow::Borrowed(url.as_str()))
            .collect(),
        Block::ToolUse(_) | Block::Thinking { .. } => Vec::new(),
    }
}

/// The text of an attachment that has one.
fn readable(attachment: &Attachment) -> Option<String> {
    String::from_utf8(attachment.bytes()?).ok()
}

/// Shortest text by which the operator names a record.
const TITLE_BYTES_MIN: usize = 5;

/// Whether a value contains an object with this id and a text of some kind.
fn is_record(value: &Value, id: &str, is_title: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(fields) => {
            let texts = fields.iter().filter(|(name, _)| *name != "status");
            let mut texts = texts.filter_map(|(_, value)| value.as_str());
            (texts.clone().any(|text| text == id) && texts.any(is_title))
                || fields.values().any(|value| is_record(value, id, is_title))
        }
        Value::Array(values) => values.iter().any(|value| is_record(value, id, is_title)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn strings(value: Value, into: &mut Vec<Cow<'_, str>>) {
    match value {
        Value::String(text) => into.push(Cow::Owned(text)),
        Value::Array(values) => values.into_iter().for_each(|value| strings(value, into)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| strings(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Characters that separate words of a text: those around URLs, paths and quotations.
const fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\''
                | '`'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '<'
                | '>'
                | ','
                | ';'
                | '|'
                | '*'
                | '\u{2018}'
                | '\u{2019}'
                | '\u{201c}'
                | '\u{201d}'
                | '\u{ab}'
                | '\u{bb}'
        )
}

/// Punctuation that ends a sentence after a word.
const fn is_final(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ':')
}

/// The words of a text without the punctuation after them, with their positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let pieces = text.split_inclusive(is_separator).map(move |piece| {
        let at = next;
        next += piece.len();
        (
            at,
            piece.trim_end_matches(is_separator).trim_end_matches(is_final),
        )
    });
    pieces.filter(|(_, word)| !word.is_empty())
}

/// Words that forbid what follows them. `t` is the end of "don't".
const NEGATIONS: [&str; 9] = [
    "not", "never", "no", "without", "avoid", "dont", "cannot", "nor", "t",
];

/// How many words after a negation it covers, as in "do not run or publish X".
const NEGATED_WORDS: usize = 5;

/// Whether a word is an address or a path, as in a list of targets.
fn is_place(word: &str) -> bool {
    word.contains(['/', '@']) || word.contains("://")
}

/// Whether a negation precedes a position in the same sentence.
fn is_negated(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let is_end = |(at, c): &(usize, char)| {
        let next = before
            .get(at + c.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        *c == '\n' || *c == ';' || (is_final(*c) && next.is_none_or(char::is_whitespace))
    };
    let start = before
        .char_indices()
        .rev()
        .find(is_end)
        .map_or(0, |(at, c)| at + c.len_utf8());
    let sentence: Vec<(usize, &str)> = words(before.get(start..).unwrap_or_default()).collect();
    let mut covered = 0;
    let mut last = sentence.iter().rev().take_while(|(_, word)| {
        // In a list, what precedes a target is forbidden together with it.
        covered += usize::from(!is_place(word));
        covered <= NEGATED_WORDS
    });
    last.any(|(_, word)| NEGATIONS.contains(&word.to_lowercase().as_str()))
}

/// Where a name stands in a text as a whole.
fn position(text: &str, name: &str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).unwrap_or_default();
        let rest = after.trim_start_matches(is_final);
        before.is_none_or(is_separator) && rest.chars().next().is_none_or(is_separator)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_as_a_whole() {
        let text = "See https://a.example/x, (https://b.example/y) and 'git push origin'. End: /srv/out.";
        for name in [
            "https://a.example/x",
            "https://b.example/y",
            "git push origin",
            "/srv/out",
        ] {
            assert!(position(text, name).is_some(), "{name}");
        }
        for part in [
            "https://a.example",
            "a.example/x",
            "b.example/y",
            "git push orig",
            "srv/out",
            "/srv",
            "",
        ] {
            assert_eq!(position(text, part), None, "{part}");
        }
        assert_eq!(position("https://a.example/x.html", "https://a.example/x"), None);
    }
}
