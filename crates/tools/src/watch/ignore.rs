//! Reads the ignore files of a watched folder, within limits.
//!
//! Any writer of the folder controls these files, and compiling a pattern takes a hundred times its length.
//! A file that exceeds a limit is refused as a whole.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use wakeful_core::watch::{
    BadSource, IGNORE_BYTES_MAX, IGNORE_LINE_BYTES_MAX, IGNORE_LINES_MAX, IGNORE_PATTERNS_MAX,
    IGNORE_PATTERNS_PER_SCAN_MAX, IgnoreFileLimit,
};

use super::git;

/// In order of precedence. The last one is Git's file that is not committed.
const NAMES: [&str; 4] = [".wakefulignore", ".ignore", ".gitignore", ".git/info/exclude"];

/// The patterns of one folder, by ignore file.
type Rules = [Option<Gitignore>; NAMES.len()];

/// The patterns that apply at the current position of a scan: those of each folder on the path.
#[derive(Default)]
pub(crate) struct IgnoreRules {
    folders: Vec<Rules>,
    /// How many patterns were compiled in this scan.
    compiled: usize,
}

impl IgnoreRules {
    /// Enters a folder: reads its ignore files.
    pub(crate) fn enter(&mut self, folder: BorrowedFd<'_>, path: &Path) -> Result<(), BadSource> {
        let mut rules = Rules::default();
        let patterns = self.folders.iter().flatten().flatten().map(Gitignore::len);
        let mut in_force = patterns.sum::<usize>();
        for (name, slot) in NAMES.iter().zip(&mut rules) {
            let refused = |excess| BadSource::IgnoreTooLarge {
                path: path.join(name).display().to_string(),
                excess,
            };
            let Some(text) = read(folder, path, name).map_err(refused)? else {
                continue;
            };
            let lines = lines(&text).map_err(refused)?;
            in_force += lines.len();
            self.compiled += lines.len();
            if in_force > IGNORE_PATTERNS_MAX {
                return Err(refused(IgnoreFileLimit::Patterns(in_force)));
            }
            if self.compiled > IGNORE_PATTERNS_PER_SCAN_MAX {
                return Err(refused(IgnoreFileLimit::PatternsOfAll(self.compiled)));
            }
            *slot = Some(compile(path, &lines).map_err(refused)?);
        }
        self.folders.push(rules);
        Ok(())
    }

    /// Leaves the folder that was entered last.
    pub(crate) fn leave(&mut self) {
        self.folders.pop();
    }

    /// Whether an entry of the folder that was entered last is ignored. The kind of ignore file takes
    /// precedence, then the nearest folder.
    pub(crate) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let decides = |kind: usize| {
            let of_kind = self
                .folders
                .iter()
                .rev()
                .filter_map(move |rules| rules.get(kind)?.as_ref());
            of_kind
                .map(|rules| rules.matched(path, is_folder))
                .find(|found| !found.is_none())
        };
        matches!((0..NAMES.len()).find_map(decides), Some(Match::Ignore(_)))
    }
}

/// The text of an ignore file; none if it does not exist or cannot be read.
fn read(folder: BorrowedFd<'_>, path: &Path, name: &str) -> Result<Option<Vec<u8>>, IgnoreFileLimit> {
    // Non-blocking: opening a pipe in place of a file would block forever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        // In a worktree, `.git` is a file that contains the path of the repository.
        Err(Errno::NOTDIR) => {
            match of_worktree(path).and_then(|path| openat(CWD, path, flags, Mode::empty()).ok()) {
                Some(file) => File::from(file),
                None => return Ok(None),
            }
        }
        Err(_) => return Ok(None),
    };
    let Some(about) = file.metadata().ok().filter(std::fs::Metadata::is_file) else {
        return Ok(None);
    };
    if about.len() > IGNORE_BYTES_MAX {
        return Err(IgnoreFileLimit::Bytes(about.len()));
    }
    let mut text = Vec::new();
    // The file may have grown meanwhile.
    let read = file.take(IGNORE_BYTES_MAX + 1).read_to_end(&mut text);
    match read {
        Ok(_) if text.len() as u64 > IGNORE_BYTES_MAX => Err(IgnoreFileLimit::Bytes(text.len() as u64)),
        Ok(_) => Ok(Some(text)),
        Err(_) => Ok(None),
    }
}

fn of_worktree(path: &Path) -> Option<PathBuf> {
    let named = git::small(&path.join(".git"))?;
    let own = path.join(std::ffi::OsStr::from_bytes(named.strip_prefix(b"gitdir: ")?));
    let common = git::small(&own.join("commondir"))?;
    Some(
        own.join(std::ffi::OsStr::from_bytes(&common))
            .join("info/exclude"),
    )
}

/// The lines that contain patterns.
fn lines(text: &[u8]) -> Result<Vec<&str>, IgnoreFileLimit> {
    let count = text.split(|byte| *byte == b'\n').count();
    if count > IGNORE_LINES_MAX {
        return Err(IgnoreFileLimit::Lines(count));
    }
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut patterns = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > IGNORE_LINE_BYTES_MAX {
            return Err(IgnoreFileLimit::Line(line.len()));
        }
        // A line that is not UTF-8 ends the patterns.
        let Ok(line) = std::str::from_utf8(line) else {
            break;
        };
        if !line.starts_with('#') && !line.trim().is_empty() {
            patterns.push(line);
        }
    }
    Ok(patterns)
}

fn compile(folder: &Path, lines: &[&str]) -> Result<Gitignore, IgnoreFileLimit> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in lines {
        // An invalid pattern is skipped, as Git does.
        let _is_pattern = builder.add_line(None, line).is_ok();
    }
    builder.build().map_err(|_| IgnoreFileLimit::Compiled)
}
