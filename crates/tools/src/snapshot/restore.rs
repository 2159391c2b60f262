//! Restores the files of a run that still have the recorded state.
//!
//! Files are removed first and written afterwards, because a file may take the place of a folder or of a
//! link to one.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

use wakeful_core::key::Digest;
use wakeful_core::snapshot::{
    FILE_BYTES_MAX, FileAction, FileChange, SkipReason, UndoDirection, UndoReport, is_selected,
};
use wakeful_ports::snapshot::{RestoreMode, RestoreRequest};

use super::entry::{NewFile, Root};
use super::git::{Git, Running};
use super::recorded::{Recorded, mode_of};

/// The two states of a run.
pub(super) struct RecordedRun<'a> {
    pub(super) git: &'a Git,
    pub(super) before: Recorded<'a>,
    pub(super) after: Recorded<'a>,
}

impl RecordedRun<'_> {
    pub(super) fn restore(&self, workspace: &Path, request: &RestoreRequest) -> Result<UndoReport, String> {
        let root =
            Root::open(workspace).map_err(|error| format!("the workspace cannot be opened: {error}"))?;
        let changes = self.before.changes(&self.after, &request.paths)?;
        let (from, to) = match request.direction {
            UndoDirection::Undo => (&self.after, &self.before),
            UndoDirection::Redo => (&self.before, &self.after),
        };
        let mut restoration = Restoration {
            root,
            request,
            removed: BTreeSet::new(),
            report: UndoReport {
                dry_run: request.mode == RestoreMode::Plan,
                direction: request.direction,
                not_covered: self.before.not_covered(&self.after)?,
                ..UndoReport::default()
            },
        };
        let is_removed = |change: &&FileChange| change.ends(request.direction).1.is_none();
        for change in changes.iter().filter(is_removed) {
            restoration.remove(change);
        }
        let (from_folders, to_folders) = (from.folders()?, to.folders()?);
        // The deepest folders first.
        for folder in from_folders
            .iter()
            .rev()
            .filter(|folder| !to_folders.contains(*folder))
        {
            restoration.remove_folder(folder);
        }
        let modes = to.modes()?;
        let mut contents = Contents::open(self.git, self.before.deadline)?;
        for change in changes.iter().filter(|change| !is_removed(change)) {
            let mode = |kind| mode_of(&modes, &change.path, kind);
            restoration.write(change, &mut contents, mode)?;
        }
        for folder in to
            .empty_folders()?
            .iter()
            .filter(|folder| !from_folders.contains(*folder))
        {
            restoration.make_folder(folder);
        }
        contents.close();
        Ok(restoration.report)
    }
}

struct Restoration<'a> {
    root: Root,
    request: &'a RestoreRequest,
    /// What was removed, or would be: paths below it do not exist.
    removed: BTreeSet<Vec<u8>>,
    report: UndoReport,
}

impl Restoration<'_> {
    fn is_performed(&self) -> bool {
        self.request.mode == RestoreMode::Perform
    }

    fn action(&self, change: &FileChange) -> FileAction {
        let current = self.root.current(&change.path, &self.removed);
        change.action(self.request.direction, current)
    }

    fn remove(&mut self, change: &FileChange) {
        let path = &change.path;
        let (from, _) = change.ends(self.request.direction);
        match (self.action(change), from) {
            (FileAction::Remove, Some(state)) => {
                let removed = match self.is_performed() {
                    true => self.root.remove(path, state),
                    false => Ok(()),
                };
                match removed {
                    Ok(()) => {
                        self.removed.insert(path.clone());
                        self.report.add_removed(path);
                    }
                    Err(reason) => self.report.add_skipped(path, reason),
                }
            }
            (FileAction::Keep, _) => self.report.unchanged_total += 1,
            (FileAction::Skip(reason), _) => self.report.add_skipped(path, reason),
            (FileAction::Remove | FileAction::Write(_), _) => {
                self.report.add_skipped(path, SkipReason::ChangedSince);
            }
        }
    }

    fn write(
        &mut self,
        change: &FileChange,
        contents: &mut Contents,
        mode: impl Fn(wakeful_core::snapshot::FileKind) -> u32,
    ) -> Result<(), String> {
        let path = &change.path;
        let state = match self.action(change) {
            FileAction::Write(state) => state,
            FileAction::Keep => {
                self.report.unchanged_total += 1;
                return Ok(());
            }
            FileAction::Skip(reason) => {
                self.report.add_skipped(path, reason);
                return Ok(());
            }
            FileAction::Remove => return Ok(()),
        };
        if self.is_performed() {
            let bytes = contents.read(state.content)?;
            let new = NewFile {
                kind: state.kind,
                bytes: &bytes,
                mode: mode(state.kind),
                replaces: change.ends(self.request.direction).0,
            };
            if let Err(reason) = self.root.write(path, &new) {
                self.report.add_skipped(path, reason);
                return Ok(());
            }
        }
        self.report.add_restored(path);
        Ok(())
    }

    fn remove_folder(&mut self, folder: &[u8]) {
        if self.is_performed() && is_selected(folder, &self.request.paths) {
            self.root.remove_folder(folder);
        }
    }

    fn make_folder(&mut self, folder: &[u8]) {
        if self.is_performed() && is_selected(folder, &self.request.paths) {
            self.root.make_folder(folder);
        }
    }
}

/// Reads contents from the repository, one after the other.
struct Contents {
    running: Running,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Contents {
    fn open(git: &Git, deadline: Instant) -> Result<Self, String> {
        let mut running = git.start(&["cat-file", "--batch"], deadline)?;
        let input = running.child.stdin.take();
        let output = running.child.stdout.take().ok_or("git has no output")?;
        Ok(Self {
            running,
            input,
            output: BufReader::new(output),
        })
    }

    fn read(&mut self, content: Digest) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| error.to_string();
        let input = self.input.as_mut().ok_or("git has no input")?;
        writeln!(input, "{content}").map_err(failed)?;
        let mut header = String::new();
        (&mut self.output)
            .take(256)
            .read_line(&mut header)
            .map_err(failed)?;
        let size = header
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<u64>().ok());
        let size = size.filter(|size| *size <= FILE_BYTES_MAX);
        let size = size.ok_or_else(|| format!("the snapshot lost a content: {}", header.trim()))?;
        let mut bytes = Vec::new();
        (&mut self.output)
            .take(size + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        bytes.pop();
        // The name proves the content, so a damaged repository never damages a file.
        if super::entry::content_name(&bytes) != content {
            return Err("the snapshot is damaged".to_owned());
        }
        Ok(bytes)
    }

    fn close(mut self) {
        drop(self.input.take());
        let _ = self.running.finish();
    }
}
