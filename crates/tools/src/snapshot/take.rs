//! Takes a snapshot: reads the workspace and streams it into the repository with `git fast-import`.
//!
//! Wakeful computes the name of each content itself, so a file whose metadata did not change since the last
//! snapshot is neither read nor sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::time::Instant;

use rustix::fs::Stat;
use wakeful_core::key::Digest;
use wakeful_core::snapshot::{FileKind, FileState, UncoveredReason};
use wakeful_core::time::Millis;

use super::entry::{Root, content_name, read};
use super::git::Git;
use super::walk::{Coverage, Visited, Walk, WalkResult, WalkedFile};
use crate::remove_tree::fresh_name;

/// How long after a write another one may have the same timestamp, in nanoseconds: some file systems count
/// in steps of two seconds.
const TICK_NS: i128 = 2_000_000_000;

/// The modes that need no record: those that are restored by default.
pub(super) const fn default_mode(kind: FileKind) -> u32 {
    match kind {
        FileKind::Regular => 0o644,
        FileKind::Executable => 0o755,
        FileKind::Symlink => 0o777,
    }
}

/// One snapshot to take.
pub(super) struct Snapshot<'a> {
    pub(super) git: &'a Git,
    pub(super) workspace: &'a Path,
    /// The ref to set.
    pub(super) name: &'a str,
    pub(super) coverage: &'a Coverage,
    pub(super) at: Millis,
    /// The metadata and content names of the files in the last snapshot of the workspace.
    pub(super) cache: PathBuf,
    pub(super) deadline: Instant,
}

/// The metadata by which an unchanged file is recognized, as text.
fn stamp(about: &Stat) -> String {
    format!(
        "{} {}.{} {}.{} {} {:o}",
        about.st_ino,
        about.st_ctime,
        about.st_ctime_nsec,
        about.st_mtime,
        about.st_mtime_nsec,
        about.st_size,
        about.st_mode
    )
}

fn changed_ns(about: &Stat) -> i128 {
    i128::from(about.st_ctime) * 1_000_000_000 + i128::from(about.st_ctime_nsec)
}

struct CoveredFile {
    path: Vec<u8>,
    state: FileState,
    about: Stat,
}

impl Snapshot<'_> {
    /// Takes the snapshot. If the cache names a content that the repository lost, all files are read again.
    pub(super) fn take(&self) -> Result<(), String> {
        let cached = read_cache(&self.cache);
        let first = self.import(&cached);
        if first.is_ok() || cached.is_empty() || Instant::now() >= self.deadline {
            return first;
        }
        self.import(&BTreeMap::new())
    }

    fn import(&self, cached: &BTreeMap<Vec<u8>, (String, Digest)>) -> Result<(), String> {
        let root = Root::open(self.workspace);
        let root = root.map_err(|error| format!("the workspace cannot be opened: {error}"))?;
        let began_ns = self.now_ns()?;
        let arguments = ["fast-import", "--quiet", "--done", "--force", "--date-format=raw"];
        let mut running = self.git.start(&arguments, self.deadline)?;
        let stdin = running.child.stdin.take();
        let mut input = BufWriter::new(stdin.ok_or("git has no input")?);
        let streamed = self.stream(&root, cached, &mut input);
        let flushed = input.flush().map_err(|error| error.to_string());
        drop(input);
        let files = match streamed.and_then(|files| flushed.map(|()| files)) {
            Ok(files) => files,
            Err(reason) => {
                // Without the final command nothing is committed. What Git printed explains a closed pipe.
                let ended = running.finish();
                self.remove_reports();
                return Err(ended.err().filter(|_| reason.contains("pipe")).unwrap_or(reason));
            }
        };
        let finished = running.finish();
        if finished.is_err() {
            self.remove_reports();
        }
        finished?;
        self.write_cache(&files, began_ns);
        Ok(())
    }

    /// Sends the contents of changed files, then the tree.
    fn stream(
        &self,
        root: &Root,
        cached: &BTreeMap<Vec<u8>, (String, Digest)>,
        input: &mut BufWriter<ChildStdin>,
    ) -> Result<Vec<CoveredFile>, String> {
        let (mut files, mut sent) = (Vec::new(), BTreeSet::new());
        let walk = Walk {
            root,
            path: self.workspace,
            coverage: self.coverage,
            deadline: self.deadline,
        };
        let found = walk.run(&mut |file: WalkedFile<'_>| {
            let known = cached
                .get(&file.path)
                .filter(|(known, _)| *known == stamp(&file.about));
            let content = match known {
                Some((_, content)) => *content,
                None => match read(file.folder, file.name, file.kind) {
                    Ok(Some(bytes)) => {
                        let content = content_name(&bytes);
                        if sent.insert(content) {
                            blob(input, &bytes).map_err(|error| error.to_string())?;
                        }
                        content
                    }
                    Ok(None) => return Ok(Visited::Not(UncoveredReason::TooLarge)),
                    Err(_) => return Ok(Visited::Not(UncoveredReason::Unreadable)),
                },
            };
            let state = FileState {
                kind: file.kind,
                content,
            };
            files.push(CoveredFile {
                path: file.path,
                state,
                about: file.about,
            });
            Ok(Visited::Covered)
        })?;
        let written = self.tree(&files, &found, input);
        written.map_err(|error| error.to_string())?;
        Ok(files)
    }

    fn tree(
        &self,
        files: &[CoveredFile],
        found: &WalkResult,
        input: &mut BufWriter<ChildStdin>,
    ) -> std::io::Result<()> {
        let seconds = self.at.0.div_euclid(1_000).max(0);
        writeln!(input, "commit {}", self.name)?;
        writeln!(input, "committer Wakeful <> {seconds} +0000")?;
        writeln!(input, "data 0")?;
        writeln!(input, "deleteall")?;
        let (mut modes, mut uncovered) = (Vec::new(), Vec::new());
        for CoveredFile { path, state, about } in files {
            let mode = about.st_mode & 0o777;
            if state.kind != FileKind::Symlink && mode != default_mode(state.kind) {
                modes.extend_from_slice(format!("{mode:o} ").as_bytes());
                modes.extend_from_slice(path);
                modes.push(0);
            }
            write!(input, "M {} {} ", state.kind.git_mode(), state.content)?;
            input.write_all(&quoted(path))?;
            writeln!(input)?;
        }
        for (reason, path) in &found.uncovered {
            uncovered.extend_from_slice(format!("{reason} ").as_bytes());
            uncovered.extend_from_slice(path);
            uncovered.push(0);
        }
        let empty: Vec<u8> = found
            .empty_folders
            .iter()
            .flat_map(|path| [path, [0].as_slice()].concat())
            .collect();
        for (name, bytes) in [("modes", modes), ("uncovered", uncovered), ("empty", empty)] {
            writeln!(input, "M 100644 inline {name}\ndata {}", bytes.len())?;
            input.write_all(&bytes)?;
            writeln!(input)?;
        }
        writeln!(input, "\ndone")
    }

    /// The time of the file system's clock, by which files are stamped.
    fn now_ns(&self) -> Result<i128, String> {
        let probe = self.cache.with_file_name(fresh_name());
        let about = fs::File::create(&probe).and_then(|file| Ok(rustix::fs::fstat(&file)?));
        let _ = fs::remove_file(&probe);
        about
            .map(|about| changed_ns(&about))
            .map_err(|error| format!("the home cannot be written to: {error}"))
    }

    /// Stores the metadata of files that were last changed well before they were read. Without the file, the
    /// next snapshot reads everything.
    fn write_cache(&self, files: &[CoveredFile], began_ns: i128) {
        let mut text = Vec::new();
        for CoveredFile { path, state, about } in files {
            if changed_ns(about) + TICK_NS < began_ns {
                text.extend_from_slice(format!("{}|{}|", stamp(about), state.content).as_bytes());
                text.extend_from_slice(path);
                text.push(0);
            }
        }
        let temporary = self.cache.with_file_name(fresh_name());
        let stored = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.cache));
        if stored.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// Removes the reports that a failed import leaves.
    fn remove_reports(&self) {
        for entry in fs::read_dir(&self.git.repository).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"fast_import_crash_")
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn blob(input: &mut BufWriter<ChildStdin>, bytes: &[u8]) -> std::io::Result<()> {
    writeln!(input, "blob\ndata {}", bytes.len())?;
    input.write_all(bytes)?;
    writeln!(input)
}

/// The path in the tree, in the quotes of `fast-import`.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut text = b"\"t/".to_vec();
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            0..=31 | 127 => text.extend(format!("\\{byte:03o}").bytes()),
            _ => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

fn read_cache(path: &Path) -> BTreeMap<Vec<u8>, (String, Digest)> {
    let text = fs::read(path).unwrap_or_default();
    let entries = text.split(|byte| *byte == 0).filter_map(|line| {
        let mut parts = line.splitn(3, |byte| *byte == b'|');
        let stamp = std::str::from_utf8(parts.next()?).ok()?.to_owned();
        let content = Digest::from_hex(std::str::from_utf8(parts.next()?).ok()?)?;
        Some((parts.next()?.to_vec(), (stamp, content)))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_import() {
        assert_eq!(quoted(b"a \"b\"\n\\\xff"), b"\"t/a \\\"b\\\"\\012\\\\\xff\"");
    }
}
