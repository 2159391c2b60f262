//! Finds the lines of a hunk in a text, and replaces them.
//!
//! Lines are compared without their line endings and, if that finds nothing, without blanks at their ends.
//! Lines that a hunk keeps stay exactly as they are in the file.

use std::fmt::Write as _;

use super::super::text::has_crlf;

/// Lines of a hunk that an error shows.
const SHOWN_LINES_MAX: usize = 6;

/// Where a hunk belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Position {
    /// At the only place where its lines occur.
    #[default]
    Anywhere,
    /// At the place nearest to this line, from 1.
    Line { line: usize },
    /// After the first line that has this text.
    After { anchor: String },
}

/// One line of a hunk, without its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    Context(String),
    Remove(String),
    Add(String),
}

impl HunkLine {
    pub(super) const fn is_change(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::Add(_))
    }

    fn old(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) position: Position,
    pub(crate) lines: Vec<HunkLine>,
    /// Whether its lines are the last ones of the file.
    pub(crate) is_at_end: bool,
    /// Whether the last line afterwards has no line ending.
    pub(crate) is_without_newline: bool,
}

impl Hunk {
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(HunkLine::old)
    }

    pub(super) fn new_line_count(&self) -> usize {
        self.lines
            .iter()
            .filter(|line| !matches!(line, HunkLine::Remove(_)))
            .count()
    }

    /// Applies a mark that the line before it has no line ending.
    pub(super) fn mark_missing_newline(&mut self) {
        if !matches!(self.lines.last(), Some(HunkLine::Remove(_)) | None) {
            self.is_without_newline = true;
        }
    }
}

/// Why a hunk cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The number of the hunk, from 1.
    pub(crate) hunk: usize,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// The first lines that were looked for.
    pub(crate) expected: String,
}

/// The text after all hunks, which must be in the order of the file.
pub(crate) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, Mismatch> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ending = if has_crlf(text) { "\r\n" } else { "\n" };
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let at = find(&lines, hunk, done).map_err(|(kind, message)| Mismatch {
            hunk: number + 1,
            kind,
            message,
            expected: shown(hunk),
        })?;
        push_all(&mut result, lines.get(done..at).unwrap_or_default(), ending);
        done = at;
        for line in &hunk.lines {
            match line {
                HunkLine::Context(_) => {
                    push_all(&mut result, lines.get(done..=done).unwrap_or_default(), ending);
                    done += 1;
                }
                HunkLine::Remove(_) => done += 1,
                HunkLine::Add(text) => {
                    end_line(&mut result, ending);
                    result.push_str(text);
                    result.push_str(ending);
                }
            }
        }
        let is_added = matches!(hunk.lines.last(), Some(HunkLine::Add(_)));
        if hunk.is_without_newline && is_added && done >= lines.len() {
            result.truncate(result.len() - ending.len());
        }
    }
    push_all(&mut result, lines.get(done..).unwrap_or_default(), ending);
    Ok(result)
}

/// Appends lines as they are.
fn push_all(result: &mut String, lines: &[&str], ending: &str) {
    if !lines.is_empty() {
        end_line(result, ending);
    }
    lines.iter().for_each(|line| result.push_str(line));
}

/// Ends the last line, because another one follows.
fn end_line(result: &mut String, ending: &str) {
    if !result.is_empty() && !result.ends_with('\n') {
        result.push_str(ending);
    }
}

/// The index of the line where a hunk begins, at or after another.
fn find(lines: &[&str], hunk: &Hunk, from: usize) -> Result<usize, (&'static str, String)> {
    let wanted: Vec<&str> = hunk.old_lines().collect();
    let from = match &hunk.position {
        Position::After { anchor } => find_anchor(lines, anchor, from)?,
        Position::Anywhere | Position::Line { .. } => from,
    };
    if wanted.is_empty() {
        return Ok(match &hunk.position {
            Position::Line { line } => (*line).clamp(from, lines.len()),
            Position::After { .. } => from,
            Position::Anywhere => lines.len(),
        });
    }
    for is_same in [is_equal, is_equal_without_blanks] {
        let last = lines.len().checked_sub(wanted.len());
        let places = last.map_or(0..0, |last| from..last + 1);
        let matches_at = |at: &usize| {
            let there = lines.get(*at..at + wanted.len()).unwrap_or_default();
            let is_end = !hunk.is_at_end || at + wanted.len() == lines.len();
            is_end
                && there
                    .iter()
                    .zip(&wanted)
                    .all(|(line, wanted)| is_same(line, wanted))
        };
        let mut places = places.filter(matches_at);
        let found = match &hunk.position {
            Position::Line { line } => places.min_by_key(|at| (at + 1).abs_diff(*line)),
            Position::After { .. } => places.next(),
            Position::Anywhere => {
                let first = places.next();
                if let (Some(first), Some(second)) = (first, places.next()) {
                    let message = format!(
                        "its lines occur several times (lines {} and {})",
                        first + 1,
                        second + 1
                    );
                    return Err(("several_matches", message));
                }
                first
            }
        };
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err((
        "no_match",
        "its lines do not occur in the file, or not in this order".to_owned(),
    ))
}

/// The index after the first line with the text of an anchor.
fn find_anchor(lines: &[&str], anchor: &str, from: usize) -> Result<usize, (&'static str, String)> {
    let rest = lines.iter().enumerate().skip(from);
    let mut found = rest
        .filter(|(_, line)| line.trim() == anchor)
        .map(|(at, _)| at + 1);
    found
        .next()
        .ok_or_else(|| ("no_match", format!("no line is {anchor:?}")))
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn is_equal(line: &str, wanted: &str) -> bool {
    without_ending(line) == without_ending(wanted)
}

fn is_equal_without_blanks(line: &str, wanted: &str) -> bool {
    line.trim_end() == wanted.trim_end()
}

fn shown(hunk: &Hunk) -> String {
    let mut text = String::new();
    for line in hunk.old_lines().take(SHOWN_LINES_MAX) {
        // Writing to a string does not fail.
        let _written = writeln!(text, "{line}");
    }
    text
}
