//! Reads the refs of a Git repository from its files: `HEAD`, the loose refs under `refs/`, and
//! `packed-refs`. It starts no process and executes nothing from the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use wakeful_core::watch::{BadSource, DEPTH_MAX, EntryDiff, EntryState};

use super::ScannedEntries;
use super::folder::is_below;

/// Longest loose ref, `.git` file or `HEAD`.
const SMALL_BYTES_MAX: u64 = 4 * 1_024;

/// Longest `packed-refs`: more than a hundred thousand refs with long names.
const PACKED_BYTES_MAX: u64 = 32 * 1_024 * 1_024;

/// Longest name of a ref.
const REF_BYTES_MAX: usize = 1_024;

/// The folders of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The folder of this worktree, with `HEAD`.
    own: PathBuf,
    /// The folder that all worktrees share, with the refs.
    common: PathBuf,
}

/// The refs that were read so far.
struct Refs {
    /// The target of each ref.
    marks: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Refs that could not be read, and folders that could not be listed.
    dark: BTreeSet<Vec<u8>>,
    /// How many files and folders were listed.
    listed: usize,
    folders: Vec<PathBuf>,
    entries_max: usize,
    root: PathBuf,
}

impl Repository {
    /// Opens the repository of a folder: a worktree, or a bare repository.
    pub(super) fn open(root: &Path) -> Result<Self, BadSource> {
        let none = || BadSource::NotARepository(root.display().to_string());
        if !root.is_dir() {
            return Err(BadSource::NoFolder(root.display().to_string()));
        }
        let dot = root.join(".git");
        let own = if dot.is_dir() {
            dot
        } else if dot.is_file() {
            let text = small(&dot).ok_or_else(none)?;
            let named = text.strip_prefix(b"gitdir: ").ok_or_else(none)?;
            root.join(std::ffi::OsStr::from_bytes(named))
        } else {
            root.to_owned()
        };
        let common = match small(&own.join("commondir")) {
            Some(named) => own.join(std::ffi::OsStr::from_bytes(&named)),
            None => own.clone(),
        };
        let is_whole = mark(&own.join("HEAD")).is_some() && common.join("objects").is_dir();
        if !is_whole {
            return Err(none());
        }
        if common.join("reftable").is_dir() {
            return Err(BadSource::Reftable(root.display().to_string()));
        }
        Ok(Self { own, common })
    }

    /// Scans all refs, and compares them with the known ones.
    pub(super) fn look(
        &self,
        known: &BTreeMap<Vec<u8>, EntryState>,
        entries_max: usize,
    ) -> Result<ScannedEntries, BadSource> {
        let mut refs = Refs {
            marks: BTreeMap::new(),
            dark: BTreeSet::new(),
            listed: 0,
            folders: vec![self.own.clone(), self.common.clone()],
            entries_max,
            root: self.common.clone(),
        };
        match mark(&self.own.join("HEAD")) {
            Some(head) => drop(refs.marks.insert(b"HEAD".to_vec(), head)),
            None => drop(refs.dark.insert(b"HEAD".to_vec())),
        }
        // Loose refs first: a ref that is packed meanwhile is in the file that is read afterwards.
        refs.loose(&self.common.join("refs"))?;
        refs.packed(&self.common.join("packed-refs"))?;
        Ok(refs.compared(known))
    }
}

impl Refs {
    fn has_room(&self) -> Result<(), BadSource> {
        let found = (self.marks.len() + self.folders.len()).max(self.listed);
        if found > self.entries_max {
            return Err(BadSource::TooManyFiles {
                path: self.root.display().to_string(),
                found,
            });
        }
        Ok(())
    }

    fn loose(&mut self, root: &Path) -> Result<(), BadSource> {
        let mut waiting = vec![(root.to_owned(), b"refs".to_vec(), 0)];
        while let Some((folder, name, depth)) = waiting.pop() {
            let listed = match std::fs::read_dir(&folder) {
                Ok(listed) if depth < DEPTH_MAX => listed,
                Ok(_) | Err(_) => {
                    // A folder that disappeared has no refs; one that cannot be read keeps its known refs.
                    if folder.is_dir() {
                        self.dark.insert(name);
                    }
                    continue;
                }
            };
            self.folders.push(folder);
            for entry in listed.flatten() {
                self.listed += 1;
                self.has_room()?;
                let file_name = entry.file_name();
                let full = [&name, b"/".as_slice(), file_name.as_bytes()].concat();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    waiting.push((entry.path(), full, depth + 1));
                } else if kind.is_file() && !file_name.as_bytes().ends_with(b".lock") && is_name(&full) {
                    match mark(&entry.path()) {
                        Some(mark) => drop(self.marks.insert(full, mark)),
                        None => drop(self.dark.insert(full)),
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the packed refs; a loose ref of the same name is newer and takes precedence.
    fn packed(&mut self, path: &Path) -> Result<(), BadSource> {
        let text = match read(path, PACKED_BYTES_MAX) {
            Ok(Some(text)) => text,
            // The file does not exist until something is packed.
            Ok(None) => return Ok(()),
            Err(_) => {
                self.dark.insert(b"refs".to_vec());
                return Ok(());
            }
        };
        for line in text.split(|byte| *byte == b'\n') {
            let mut parts = line.splitn(2, |byte| *byte == b' ');
            let (Some(commit), Some(name)) = (parts.next(), parts.next()) else {
                continue;
            };
            if is_commit(commit) && is_name(name) {
                self.has_room()?;
                self.marks.entry(name.to_vec()).or_insert_with(|| commit.to_vec());
            }
        }
        Ok(())
    }

    fn compared(self, known: &BTreeMap<Vec<u8>, EntryState>) -> ScannedEntries {
        let names: BTreeSet<&Vec<u8>> = self.marks.keys().chain(known.keys()).collect();
        let differences = names.into_iter().filter_map(|name| {
            let now = self.marks.get(name).map(|mark| EntryState {
                mark: mark.clone(),
                size: 0,
                stamp: None,
            });
            if now.is_none() && is_below(&self.dark, name) {
                return None;
            }
            EntryDiff::of(name.clone(), known.get(name), now)
        });
        ScannedEntries {
            differences: differences.collect(),
            unreadable: u64::try_from(self.dark.len()).unwrap_or(u64::MAX),
            folders: self.folders,
        }
    }
}

/// The target of a ref: a commit, or another ref.
fn mark(path: &Path) -> Option<Vec<u8>> {
    let text = small(path)?;
    let stands_for = text.strip_prefix(b"ref: ").is_some_and(is_name);
    (stands_for || is_commit(&text)).then_some(text)
}

/// Whether the text is a commit hash, SHA-1 or SHA-256.
fn is_commit(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

fn is_name(name: &[u8]) -> bool {
    let is_bad = |byte: &u8| byte.is_ascii_control() || *byte == b' ';
    !name.is_empty() && name.len() <= REF_BYTES_MAX && !name.iter().any(is_bad)
}

/// Reads a short file without its trailing white space.
pub(super) fn small(path: &Path) -> Option<Vec<u8>> {
    let text = read(path, SMALL_BYTES_MAX).ok()??;
    Some(text.trim_ascii_end().to_vec())
}

/// Reads a file within a limit; none if it does not exist.
fn read(path: &Path, at_most: u64) -> std::io::Result<Option<Vec<u8>>> {
    // Non-blocking: opening a pipe in place of a file would block forever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let about = file.metadata()?;
    if !about.is_file() || about.len() > at_most {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(at_most).read_to_end(&mut text)?;
    Ok(Some(text))
}
