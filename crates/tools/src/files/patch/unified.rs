//! Reads unified diffs, with the extended headers of Git.
//!
//! Models often count lines wrongly, so the numbers of a hunk only say where to look for it. Its body ends
//! where the next header begins.

use super::hunk::{Hunk, HunkLine, Position};
use super::{FilePatch, PatchError};

/// The name that stands for no file.
const NO_FILE: &str = "/dev/null";

struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
    files: Vec<FilePatch>,
    /// Whether the newest file was begun by a Git header and its `---` line may still follow.
    is_in_header: bool,
}

pub(super) fn parse(lines: &[&str]) -> Result<Vec<FilePatch>, PatchError> {
    let mut reader = Reader {
        lines,
        at: 0,
        files: Vec::new(),
        is_in_header: false,
    };
    while let Some(line) = reader.line() {
        reader.read(line)?;
    }
    let is_named = |file: &FilePatch| file.old_path.is_some() || file.new_path.is_some();
    if reader.files.iter().any(|file| !is_named(file)) {
        return Err(PatchError::new(
            0,
            "a file has no name: --- and +++ lines are missing",
        ));
    }
    Ok(reader.files)
}

impl<'a> Reader<'a> {
    fn line(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn next(&self) -> &'a str {
        self.lines.get(self.at + 1).copied().unwrap_or_default()
    }

    /// Reads one header line, or a hunk.
    fn read(&mut self, line: &str) -> Result<(), PatchError> {
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.files.push(of_git_header(names));
            self.is_in_header = true;
        } else if self.is_in_header && self.read_git_header(line)? {
            // An extended header.
        } else if line.starts_with("--- ") && self.next().starts_with("+++ ") {
            self.read_names(line)?;
            return Ok(());
        } else if line.starts_with("@@") {
            return self.read_hunk(line);
        }
        // Everything else is text around the diff, such as a message or an index line.
        self.at += 1;
        Ok(())
    }

    /// Reads an extended header of Git; false if it is none.
    fn read_git_header(&mut self, line: &str) -> Result<bool, PatchError> {
        let at = self.at;
        let Some(file) = self.files.last_mut() else {
            return Ok(false);
        };
        if let Some(mode) = line.strip_prefix("new file mode ") {
            file.old_path = None;
            file.is_executable = Some(is_executable(mode, at)?);
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            file.is_executable = Some(is_executable(mode, at)?);
        } else if line.starts_with("deleted file mode ") {
            file.new_path = None;
        } else if let Some(path) = line.strip_prefix("rename from ") {
            file.old_path = Some(unquoted(path));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            file.new_path = Some(unquoted(path));
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err(PatchError::new(
                at,
                "copies are not supported; add the new file instead",
            ));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(PatchError::new(at, "binary changes are not supported"));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads a `---` and a `+++` line.
    fn read_names(&mut self, line: &str) -> Result<(), PatchError> {
        let old = header_path(line.get(4..).unwrap_or_default());
        let new = header_path(self.next().get(4..).unwrap_or_default());
        let (old, new) = without_prefixes(old, new);
        if old.is_none() && new.is_none() {
            return Err(PatchError::new(self.at, "neither side names a file"));
        }
        // The lines may belong to a Git header before them, or begin a file of their own.
        let is_of_header = |file: &FilePatch| {
            (new.is_none() || new == file.new_path)
                && (old.is_none() || file.old_path.is_none() || old == file.old_path)
        };
        let header = self.files.pop_if(|file| self.is_in_header && is_of_header(file));
        self.files.push(FilePatch {
            old_path: old,
            new_path: new,
            ..header.unwrap_or_default()
        });
        self.is_in_header = false;
        self.at += 2;
        Ok(())
    }

    fn read_hunk(&mut self, line: &str) -> Result<(), PatchError> {
        let numbers = Numbers::parse(line);
        let begun = self.at;
        self.at += 1;
        let mut hunk = Hunk {
            position: numbers.map_or(Position::Anywhere, |numbers| Position::Line {
                line: numbers.start,
            }),
            ..Hunk::default()
        };
        while let Some(line) = self.line() {
            if self.is_end_of_hunk(line, &hunk, numbers) {
                break;
            }
            match line.as_bytes().first() {
                Some(b' ') => hunk
                    .lines
                    .push(HunkLine::Context(line.get(1..).unwrap_or_default().to_owned())),
                Some(b'-') => hunk
                    .lines
                    .push(HunkLine::Remove(line.get(1..).unwrap_or_default().to_owned())),
                Some(b'+') => hunk
                    .lines
                    .push(HunkLine::Add(line.get(1..).unwrap_or_default().to_owned())),
                Some(b'\\') => hunk.mark_missing_newline(),
                // An empty context line whose blank was lost.
                None => hunk.lines.push(HunkLine::Context(String::new())),
                Some(_) => break,
            }
            self.at += 1;
        }
        // Empty lines between two files belong to neither.
        if !numbers.is_some_and(|numbers| numbers.are_met(&hunk)) {
            while hunk.lines.last() == Some(&HunkLine::Context(String::new())) {
                hunk.lines.pop();
            }
        }
        if !hunk.lines.iter().any(HunkLine::is_change) {
            return Err(PatchError::new(begun, "the hunk changes nothing"));
        }
        let Some(file) = self.files.last_mut() else {
            return Err(PatchError::new(
                begun,
                "a hunk comes before the --- and +++ lines",
            ));
        };
        file.hunks.push(hunk);
        self.is_in_header = false;
        Ok(())
    }

    fn is_end_of_hunk(&self, line: &str, hunk: &Hunk, numbers: Option<Numbers>) -> bool {
        let is_header = line.starts_with("@@") || line.starts_with("diff --git ");
        // A removed line may begin with two hyphens; then the counts decide.
        let is_file = line.starts_with("--- ") && self.next().starts_with("+++ ");
        is_header
            || is_file && numbers.is_none_or(|numbers| numbers.are_met(hunk) || numbers.are_exceeded(hunk))
            || is_file
                && self
                    .lines
                    .get(self.at + 2)
                    .is_some_and(|line| line.starts_with("@@"))
    }
}

/// The numbers of a hunk's header.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    start: usize,
    old_count: usize,
    new_count: usize,
}

impl Numbers {
    fn parse(line: &str) -> Option<Self> {
        let ranges = line.strip_prefix("@@ -")?.split(" @@").next()?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| -> Option<(usize, usize)> {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.trim().parse().ok()?, count.trim().parse().ok()?))
        };
        let ((start, old_count), (_, new_count)) = (range(old)?, range(new)?);
        Some(Self {
            start,
            old_count,
            new_count,
        })
    }

    fn are_met(self, hunk: &Hunk) -> bool {
        hunk.old_lines().count() == self.old_count && hunk.new_line_count() == self.new_count
    }

    fn are_exceeded(self, hunk: &Hunk) -> bool {
        hunk.old_lines().count() > self.old_count || hunk.new_line_count() > self.new_count
    }
}

/// Both names of a Git header, which matter only for changes of the mode and for empty files.
fn of_git_header(names: &str) -> FilePatch {
    let names = match names.split_once(" b/") {
        Some((old, new)) => (Some(unquoted(old)), Some(format!("b/{new}"))),
        None => (None, None),
    };
    let (old_path, new_path) = without_prefixes(names.0, names.1);
    FilePatch {
        old_path,
        new_path,
        ..FilePatch::default()
    }
}

/// The path of a `---` or `+++` line; a time may follow after a tab.
fn header_path(text: &str) -> Option<String> {
    let path = text.split('\t').next().unwrap_or_default().trim_end();
    (path != NO_FILE).then(|| unquoted(path))
}

/// Removes the `a/` and `b/` of Git, if both sides have them.
fn without_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let is_prefixed = old.as_deref().is_none_or(|path| path.starts_with("a/"))
        && new.as_deref().is_none_or(|path| path.starts_with("b/"));
    let strip = |path: Option<String>| match path {
        Some(path) if is_prefixed => path.get(2..).map(str::to_owned),
        path => path,
    };
    (strip(old), strip(new))
}

/// A path that Git may have quoted, because it contains unusual bytes.
fn unquoted(path: &str) -> String {
    let Some(inner) = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return path.to_owned();
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let more = rest.by_ref().take(2);
                let value = more.fold(u32::from(digit - b'0'), |value, digit| {
                    value * 8 + u32::from(digit.wrapping_sub(b'0') & 7)
                });
                bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a mode of Git is that of a program. Links and submodules are refused.
fn is_executable(mode: &str, at: usize) -> Result<bool, PatchError> {
    match mode.trim() {
        "100755" => Ok(true),
        "100644" | "100664" => Ok(false),
        other => Err(PatchError::new(
            at,
            format!("the file mode {other} is not supported"),
        )),
    }
}
