//! Reads snapshots: their files, what they do not cover, and how two of them differ.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use wakeful_core::key::Digest;
use wakeful_core::snapshot::{
    ChangedFile, DIFF_BYTES_MAX, FileChange, FileChangeKind, FileKind, FileState, LISTED_MAX, NotCovered,
    RunChanges, UNCOVERED_NAMED_MAX, UncoveredEntry, UncoveredReason, is_selected, path_text,
};
use wakeful_ports::snapshot::{ChangeDetail, ChangeQuery};

use super::git::Git;
use super::take::default_mode;
use super::walk::Coverage;

/// Largest list of Git that is read: a line for each covered file with a long path.
const LIST_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// Most paths that Git is given as arguments.
const PATHS_MAX: usize = 1_000;

/// The tree without files, for snapshots of empty workspaces.
const EMPTY_TREE: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// A snapshot in the repository.
pub(super) struct Recorded<'a> {
    pub(super) git: &'a Git,
    pub(super) commit: String,
    pub(super) deadline: Instant,
}

impl Recorded<'_> {
    fn list(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.git.output(arguments, LIST_BYTES_MAX, self.deadline)?;
        if output.is_cut {
            return Err("the snapshot has too many files".to_owned());
        }
        Ok(output.bytes)
    }

    /// The tree of the workspace.
    pub(super) fn tree(&self) -> Result<String, String> {
        let named = self.list(&["ls-tree", "-z", &self.commit, "t"])?;
        let text = String::from_utf8_lossy(&named);
        let tree = text
            .split(['\t', '\0'])
            .next()
            .and_then(|entry| entry.split(' ').nth(2));
        Ok(tree
            .filter(|tree| !tree.is_empty())
            .unwrap_or(EMPTY_TREE)
            .to_owned())
    }

    /// The covered files.
    fn paths(&self) -> Result<Vec<Vec<u8>>, String> {
        let tree = self.tree()?;
        let listed = self.list(&["ls-tree", "-r", "-z", "--name-only", &tree])?;
        Ok(split(&listed).map(<[u8]>::to_vec).collect())
    }

    fn own(&self, name: &str) -> Result<Vec<u8>, String> {
        self.list(&["cat-file", "blob", &format!("{}:{name}", self.commit)])
    }

    fn uncovered(&self) -> Result<Vec<(UncoveredReason, Vec<u8>)>, String> {
        let text = self.own("uncovered")?;
        let entries = split(&text).filter_map(|entry| {
            let (reason, path) = word(entry)?;
            Some((UncoveredReason::parse(reason)?, path.to_vec()))
        });
        Ok(entries.collect())
    }

    /// What the snapshot covers, for the one after the run.
    pub(super) fn coverage(&self) -> Result<Coverage, String> {
        let uncovered = self.uncovered()?.into_iter().map(|(_, path)| path).collect();
        let mut kept = self.folders()?;
        kept.extend(self.paths()?);
        Ok(Coverage { kept, uncovered })
    }

    /// Every folder that existed.
    pub(super) fn folders(&self) -> Result<BTreeSet<Vec<u8>>, String> {
        let empty = self.empty_folders()?;
        let mut folders = BTreeSet::new();
        for path in self.paths()?.iter().chain(&empty) {
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            folders.extend(ends.filter_map(|(end, _)| path.get(..end)).map(<[u8]>::to_vec));
        }
        folders.extend(empty);
        Ok(folders)
    }

    /// The folders without a covered entry.
    pub(super) fn empty_folders(&self) -> Result<Vec<Vec<u8>>, String> {
        Ok(split(&self.own("empty")?).map(<[u8]>::to_vec).collect())
    }

    /// The permission bits of files that do not have the usual ones.
    pub(super) fn modes(&self) -> Result<BTreeMap<Vec<u8>, u32>, String> {
        let text = self.own("modes")?;
        let modes = split(&text).filter_map(|entry| {
            let (mode, path) = word(entry)?;
            Some((path.to_vec(), u32::from_str_radix(mode, 8).ok()?))
        });
        Ok(modes.collect())
    }

    /// What neither this snapshot nor the one after the run covers, with the first entries. What appeared in
    /// between comes first: it stays when the run is undone.
    pub(super) fn not_covered(&self, after: &Self) -> Result<NotCovered, String> {
        let (before, after) = (self.uncovered()?, after.uncovered()?);
        let known: BTreeSet<&[u8]> = before.iter().map(|(_, path)| path.as_slice()).collect();
        let appeared = after.iter().filter(|(_, path)| !known.contains(path.as_slice()));
        let all: Vec<&(UncoveredReason, Vec<u8>)> = appeared.chain(&before).collect();
        let first = all
            .iter()
            .take(UNCOVERED_NAMED_MAX)
            .map(|(reason, path)| UncoveredEntry {
                path: path_text(path),
                reason: *reason,
            });
        Ok(NotCovered {
            count: all.len() as u64,
            first: first.collect(),
        })
    }

    /// The files that differ in another snapshot, by path.
    pub(super) fn changes(&self, after: &Self, selected: &[String]) -> Result<Vec<FileChange>, String> {
        let (old, new) = (self.tree()?, after.tree()?);
        let listed = self.list(&[
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            &old,
            &new,
        ])?;
        let mut parts = split(&listed);
        let mut changes = Vec::new();
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            let about = std::str::from_utf8(about).unwrap_or_default();
            let mut fields = about.trim_start_matches(':').split(' ');
            let mut field = || fields.next().unwrap_or_default();
            let (before_mode, after_mode, before, after) = (field(), field(), field(), field());
            if is_selected(path, selected) {
                changes.push(FileChange {
                    path: path.to_vec(),
                    before: state(before_mode, before),
                    after: state(after_mode, after),
                });
            }
        }
        Ok(changes)
    }

    /// The changes in another snapshot, for people.
    pub(super) fn compare(&self, after: &Self, query: &ChangeQuery) -> Result<RunChanges, String> {
        let changes = self.changes(after, &query.paths)?;
        let (old, new) = (self.tree()?, after.tree()?);
        let common = [
            "diff-tree",
            "-r",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let counted = self.list(&[common.as_slice(), &["-z", "--numstat", &old, &new]].concat())?;
        let mut counts = BTreeMap::new();
        for line in split(&counted) {
            let mut fields = line.splitn(3, |byte| *byte == b'\t');
            let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok();
            let (added, removed) = (number(), number());
            counts.insert(fields.next().unwrap_or_default(), (added, removed));
        }
        let mut found = RunChanges {
            files_total: changes.len() as u64,
            truncated: changes.len() > LISTED_MAX,
            not_covered: self.not_covered(after)?,
            ..RunChanges::default()
        };
        for change in &changes {
            let (lines_added, lines_removed) =
                counts.get(change.path.as_slice()).copied().unwrap_or_default();
            found.lines_added += lines_added.unwrap_or(0);
            found.lines_removed += lines_removed.unwrap_or(0);
            if found.files.len() < LISTED_MAX {
                let (path, kind): (String, FileChangeKind) = (path_text(&change.path), change.kind());
                found.files.push(ChangedFile {
                    path,
                    change: kind,
                    lines_added,
                    lines_removed,
                });
            }
        }
        if query.detail == ChangeDetail::Diff && !changes.is_empty() {
            let mut arguments = [common.as_slice(), &["-p", "--no-color", &old, &new, "--"]].concat();
            // Git selects by folder; more paths than this are cut by the limit of the text anyway.
            let paths = query.paths.iter().take(PATHS_MAX);
            let paths = paths.map(|path| path.trim_start_matches("./").trim_end_matches('/'));
            arguments.extend(paths.filter(|path| !path.is_empty() && *path != "."));
            let output = self.git.output(&arguments, DIFF_BYTES_MAX, self.deadline)?;
            found.truncated |= output.is_cut;
            found.diff = whole_lines(&output.bytes, output.is_cut);
        }
        Ok(found)
    }
}

/// The text, without the incomplete last line if it was cut.
fn whole_lines(bytes: &[u8], is_cut: bool) -> String {
    let end = match is_cut {
        true => bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1),
        false => bytes.len(),
    };
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn state(mode: &str, content: &str) -> Option<FileState> {
    Some(FileState {
        kind: FileKind::parse(mode)?,
        content: Digest::from_hex(content)?,
    })
}

/// The permission bits of a file in a snapshot.
pub(super) fn mode_of(modes: &BTreeMap<Vec<u8>, u32>, path: &[u8], kind: FileKind) -> u32 {
    modes.get(path).copied().unwrap_or(default_mode(kind))
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// The first word of an entry, and the path after it.
fn word(entry: &[u8]) -> Option<(&str, &[u8])> {
    let end = entry.iter().position(|byte| *byte == b' ')?;
    Some((
        std::str::from_utf8(entry.get(..end)?).ok()?,
        entry.get(end + 1..)?,
    ))
}
