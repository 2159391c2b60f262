//! Guidance: what people wrote down for an agent, or for whoever works in a workspace.

/// Largest guidance block in bytes, head and mark included. Whoever writes more than this is read up to here.
pub const GUIDANCE_BYTES_MAX: usize = 32 * 1024;

string_enum! {
    /// Which file guidance was read from.
    pub enum GuidanceKind {
        /// `AGENTS.md`.
        AgentsMd = "agents_md",
        /// `CLAUDE.md`, which a workspace may have instead.
        ClaudeMd = "claude_md",
    }
}

impl GuidanceKind {
    /// The name of the file.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::AgentsMd => "AGENTS.md",
            Self::ClaudeMd => "CLAUDE.md",
        }
    }
}

/// One file of guidance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceFile {
    /// Where it is.
    pub path: String,
    /// Which file it is.
    pub kind: GuidanceKind,
    /// What it says, as it was read.
    pub text: String,
}

/// Everything that guides a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guidance {
    /// The agent's own.
    pub agent: Option<GuidanceFile>,
    /// The workspace's.
    pub workspace: Option<GuidanceFile>,
    /// What was found and not read, and why.
    pub notes: Vec<String>,
}

/// Text that holds nothing but words: no control characters but tabs and line ends, which are all of one kind.
#[must_use]
pub(super) fn plain(text: &str) -> String {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let safe = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.trim().chars().map(safe).collect()
}

/// At most so many bytes of a text. One that is cut ends with a mark that says so.
#[must_use]
pub(super) fn bounded(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let mark = format!("\n[cut here: more than {bytes_max} bytes]");
    let kept = text.floor_char_boundary(bytes_max.saturating_sub(mark.len()));
    let mut cut: String = text.get(..kept).unwrap_or_default().to_owned();
    cut.push_str(&mark);
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_word_is_made_visible_and_line_ends_are_of_one_kind() {
        assert_eq!(
            plain("\u{feff}\r\none\r\ntwo\u{1b}[31m\0\tthree\n\n"),
            "one\ntwo\u{fffd}[31m\u{fffd}\tthree"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_letters_and_says_so() {
        let text = "ü".repeat(100);
        assert_eq!(bounded(text.clone(), 200), text);
        let cut = bounded(text, 101);
        assert!(
            cut.len() <= 101 && cut.ends_with("[cut here: more than 101 bytes]"),
            "{cut}"
        );
        assert!(cut.starts_with("üü"));
    }
}
