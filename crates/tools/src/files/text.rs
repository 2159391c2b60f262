//! Texts of files: line endings, the check for binary contents, and diffs.

use similar::TextDiff;
use wakeful_core::failure::truncate_chars;

/// Bytes at the beginning of a file in which a zero byte shows that it is binary, as Git does it.
pub(super) const BINARY_CHECK_BYTES: usize = 8_000;

/// Lines around a change in a diff.
const CONTEXT_LINES: usize = 3;

/// How long the comparison of two texts may take; afterwards the diff is correct and not minimal.
const DIFF_TIME: std::time::Duration = std::time::Duration::from_millis(200);

/// Whether the contents are binary.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_CHECK_BYTES).any(|byte| *byte == 0)
}

/// Whether the lines of a text end with a carriage return and a line feed.
pub(super) fn has_crlf(text: &str) -> bool {
    let first = text.split_inclusive('\n').next();
    first.is_some_and(|line| line.ends_with("\r\n"))
}

/// Gives a text these line endings.
pub(super) fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// How many lines were added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LineCounts {
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// The lines that differ between two texts.
pub(super) fn count_lines(old: &str, new: &str) -> LineCounts {
    let mut counts = LineCounts::default();
    for change in diff(old, new).iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Insert => counts.added += 1,
            similar::ChangeTag::Delete => counts.removed += 1,
            similar::ChangeTag::Equal => {}
        }
    }
    counts
}

/// The changes of one file as a unified diff; the names are those of its headers.
pub(super) fn unified_diff(old: &str, new: &str, names: [&str; 2]) -> String {
    let [before, after] = names;
    let diff = diff(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES).header(before, after);
    unified.to_string()
}

fn diff<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, 'a, str> {
    TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new)
}

/// A text within a bound, cut at its end.
pub(super) fn bounded(text: &str, chars_max: usize) -> String {
    truncate_chars(text, chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_both_files_and_shows_the_changed_lines() {
        let diff = unified_diff("a\nb\nc\n", "a\nB\nc\n", ["a/x", "b/x"]);
        assert_eq!(diff, "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(
            count_lines("a\nb\nc\n", "a\nB\nc\n"),
            LineCounts { added: 1, removed: 1 }
        );
    }

    #[test]
    fn line_endings_are_found_and_restored() {
        assert!(has_crlf("a\r\nb\n") && !has_crlf("a\nb\r\n") && !has_crlf("a"));
        assert_eq!(with_crlf("a\r\nb\nc"), "a\r\nb\r\nc");
    }
}
