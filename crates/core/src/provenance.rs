//! Provenance: which untrusted sources a text came from, and what a run that has read such text may do.
//!
//! Text without sources is trusted: the operator's words, guidance, and what was made from them alone. Sources
//! travel with messages, transcript entries, results and runs; nothing that an agent does removes them.

mod command;
mod evidence;
mod explanation;
mod target;
mod texts;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conversation::Block;
use crate::failure::truncate_chars;

pub use self::command::receives_nothing;
pub use self::evidence::{EVIDENCE_CONTEXT_CHARS_MAX, EVIDENCE_TEXT_CHARS_MAX, Evidence};
pub use self::explanation::{ForeignTargets, explain_foreign_targets};
pub use self::target::{LINKED_READS_MAX, LINKED_TOTAL_MAX, NAMED_READS_MAX, TargetVerdict, UntrustedCall};
pub use self::texts::{ReadText, RunTexts};

/// Maximum number of sources that are named. A run that has read more is equally untrusted; the list is for
/// people, and it is part of the machine's state.
pub const SOURCES_MAX: usize = 16;

/// Maximum number of characters of a source's name: the host and the beginning of the path of usual URLs.
pub const SOURCE_NAME_CHARS_MAX: usize = 160;

string_enum! {
    /// The kind of an untrusted source.
    #[derive(PartialOrd, Ord)]
    pub enum SourceKind {
        /// A page or file from the web.
        Web = "web",
        /// A command that connected to a host.
        Command = "command",
        /// A file outside the workspace, in a folder that the operator does not trust, or written by a run
        /// with untrusted data.
        File = "file",
        /// A call of an external trigger, or a change in a watched folder or repository.
        Webhook = "webhook",
        /// A file that came with a message.
        Attachment = "attachment",
        /// A record of the journal that something other than the operator wrote.
        Journal = "journal",
        /// Another run that had untrusted data.
        Run = "run",
        /// The model, after it read untrusted data.
        Reply = "reply",
        /// A tool that was called after the model read untrusted data.
        Tool = "tool",
    }
}

/// One untrusted source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceRef {
    pub kind: SourceKind,
    /// Its URL, path, host or id; empty once it is erased.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// What people read: `web https://example.com/page`.
impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.kind),
            name => write!(f, "{} {name}", self.kind),
        }
    }
}

/// The untrusted sources of a text or a run; empty for trusted ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sources {
    /// At most [`SOURCES_MAX`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    refs: BTreeSet<SourceRef>,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

impl Sources {
    /// No untrusted source.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            refs: BTreeSet::new(),
            more: false,
        }
    }

    /// One source.
    #[must_use]
    pub fn of(kind: SourceKind, name: &str) -> Self {
        let name = truncate_chars(name, SOURCE_NAME_CHARS_MAX);
        Self {
            refs: [SourceRef { kind, name }].into(),
            more: false,
        }
    }

    /// The attachments among the blocks of a message.
    #[must_use]
    pub fn of_attachments(blocks: &[Block]) -> Self {
        let mut sources = Self::none();
        for block in blocks {
            if let Block::Attachment(attachment) = block {
                sources.join(&Self::of(SourceKind::Attachment, &attachment.name));
            }
        }
        sources
    }

    /// Whether the text is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() && !self.more
    }

    /// The named sources.
    pub fn iter(&self) -> impl Iterator<Item = &SourceRef> {
        self.refs.iter()
    }

    /// Whether there are sources that are not named.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.more
    }

    /// Adds the sources of another text.
    pub fn join(&mut self, other: &Self) {
        self.refs.extend(other.refs.iter().cloned());
        self.more |= other.more;
        while self.refs.len() > SOURCES_MAX {
            self.refs.pop_last();
            self.more = true;
        }
    }

    /// The sources of both.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        self.join(other);
        self
    }

    /// Whether joining these sources changes nothing.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_full = self.more && self.refs.len() >= SOURCES_MAX;
        let is_beyond = |one: &SourceRef| is_full && self.refs.last().is_some_and(|last| one > last);
        let is_known = |one: &SourceRef| self.refs.contains(one) || is_beyond(one);
        (self.more || !other.more) && other.refs.iter().all(is_known)
    }

    /// Whether every source is a file that came with a message. Then the text beside it is the sender's own.
    #[must_use]
    pub fn are_attachments(&self) -> bool {
        !self.more && self.refs.iter().all(|one| one.kind == SourceKind::Attachment)
    }

    /// Those that are files that came with a message.
    #[must_use]
    pub fn attachments(&self) -> Self {
        let attached = self.refs.iter().filter(|one| one.kind == SourceKind::Attachment);
        Self {
            refs: attached.cloned().collect(),
            more: false,
        }
    }

    /// The sources without their names, which an external sender may have chosen.
    #[must_use]
    pub fn erased(&self) -> Self {
        let kinds = self.refs.iter().map(|one| SourceRef {
            kind: one.kind,
            name: String::new(),
        });
        Self {
            refs: kinds.collect(),
            more: self.more,
        }
    }

    /// The stored form; empty for trusted text.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self.is_empty() {
            true => String::new(),
            // Strings and flags always have a JSON form.
            false => serde_json::to_string(self).unwrap_or_else(|_| "{\"more\":true}".to_owned()),
        }
    }

    /// Reads the stored form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::none()),
            text => serde_json::from_str(text).ok(),
        }
    }
}

#[cfg(test)]
mod tests;
