//! Guidance: instructions from people for one agent or for all agents in a workspace.

/// Maximum size of a guidance block in bytes, including heading and truncation mark. A longer file is
/// truncated.
pub const GUIDANCE_BYTES_MAX: usize = 32 * 1024;

string_enum! {
    /// The file that guidance was read from.
    pub enum GuidanceKind {
        /// `AGENTS.md`.
        AgentsMd = "agents_md",
        /// `CLAUDE.md`, an alternative in workspaces.
        ClaudeMd = "claude_md",
    }
}

impl GuidanceKind {
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
    pub path: String,
    pub kind: GuidanceKind,
    /// The content as it was read.
    pub text: String,
}

/// All guidance of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guidance {
    /// Guidance of the agent.
    pub agent: Option<GuidanceFile>,
    /// Guidance of the workspace.
    pub workspace: Option<GuidanceFile>,
    /// Files that were found and not read, with the reason.
    pub notes: Vec<String>,
}

/// Normalizes line breaks and makes control characters other than tabs visible.
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

/// Truncates a text to a number of bytes and marks the cut.
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
    fn control_characters_become_visible_and_line_breaks_uniform() {
        assert_eq!(
            plain("\u{feff}\r\none\r\ntwo\u{1b}[31m\0\tthree\n\n"),
            "one\ntwo\u{fffd}[31m\u{fffd}\tthree"
        );
    }

    #[test]
    fn a_long_text_is_truncated_between_characters_and_marked() {
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
