//! Scans folders and Git repositories, and receives change notifications for them from the kernel.
//!
//! | module | about |
//! |---|---|
//! | `folder` | the files of a folder without ignored ones, each identified by the hash of its content |
//! | `ignore` | the ignore files of a folder, read within limits |
//! | `git` | the refs of a repository, read from its files; no process is started |
//! | `inotify` | change notifications from the kernel |

mod folder;
mod git;
pub(crate) mod ignore;
mod inotify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wakeful_core::id::SourceId;
use wakeful_core::time::Millis;
use wakeful_core::watch::{
    BadSource, ENTRIES_MAX, EntryDiff, EntryState, PATH_BYTES_MAX, Source, SourceKind,
};
use wakeful_ports::watch::{ScanFuture, ScanResult, SourceScanner, WatchMode};

use self::inotify::Inotify;

/// How often a scan is repeated because it found folders that were not watched when it started.
const ROUNDS_MAX: usize = 4;

/// Scans watched sources. Cheap to clone; all clones share one inotify instance.
#[derive(Debug, Clone)]
pub struct LocalScanner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Never scanned.
    home: PathBuf,
    entries_max: usize,
    inotify: Inotify,
}

/// A source to scan, and the known entries to compare with.
struct ScanJob<'a> {
    source: &'a Source,
    known: &'a BTreeMap<Vec<u8>, EntryState>,
    now: Millis,
    given_up: &'a AtomicBool,
}

/// The result of one scan.
#[derive(Debug, Default)]
struct ScannedEntries {
    /// The visited folders, to be watched.
    folders: Vec<PathBuf>,
    /// The differences from the known entries.
    differences: Vec<EntryDiff>,
    /// How many entries could not be read.
    unreadable: u64,
}

impl LocalScanner {
    /// Creates a scanner that never reads the home.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self::bounded(home, ENTRIES_MAX)
    }

    /// Creates a scanner with another limit on entries, for tests.
    #[must_use]
    pub fn bounded(home: &Path, entries_max: usize) -> Self {
        Self(Arc::new(Inner {
            home: std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()),
            entries_max,
            inotify: Inotify::default(),
        }))
    }
}

impl Inner {
    fn place(&self, kind: SourceKind, path: &str) -> Result<String, BadSource> {
        if path.len() > PATH_BYTES_MAX || path.contains('\0') || !Path::new(path).is_absolute() {
            return Err(BadSource::BadPath);
        }
        let no_folder = || BadSource::NoFolder(path.to_owned());
        let place = std::fs::canonicalize(path).map_err(|_| no_folder())?;
        if !place.is_dir() || std::fs::read_dir(&place).is_err() {
            return Err(no_folder());
        }
        let text = place.to_str().filter(|text| text.len() <= PATH_BYTES_MAX);
        let text = text.ok_or(BadSource::BadPath)?.to_owned();
        if place.starts_with(&self.home) {
            return Err(BadSource::InHome(text));
        }
        match kind {
            SourceKind::Folder if place.components().any(|part| part.as_os_str() == ".git") => {
                Err(BadSource::InGit(text))
            }
            SourceKind::Folder => Ok(text),
            SourceKind::Git => git::Repository::open(&place).map(|_| text),
        }
    }

    /// Scans a source; if it does not exist, watches for it to appear.
    fn look(&self, look: &ScanJob<'_>, hearing: WatchMode) -> Result<ScanResult, BadSource> {
        let mut rounds = 0;
        loop {
            rounds += 1;
            let absent = match (self.look_there(look, hearing), hearing) {
                (Err(absent @ (BadSource::NoFolder(_) | BadSource::NotARepository(_))), WatchMode::On) => {
                    absent
                }
                (Err(bad @ BadSource::IgnoreTooLarge { .. }), WatchMode::On) => {
                    // Watched, so that the source is scanned again when the file becomes shorter.
                    if let BadSource::IgnoreTooLarge { path, .. } = &bad {
                        let folder: Vec<PathBuf> =
                            Path::new(path).parent().map(Path::to_owned).into_iter().collect();
                        let is_new = self.inotify.listen(&look.source.source_id, &folder);
                        if is_new.unwrap_or(false) && rounds < ROUNDS_MAX {
                            continue;
                        }
                    }
                    return Err(bad);
                }
                (seen, _) => return seen,
            };
            // It may have appeared before the watch was set: scan once more.
            let is_new = self
                .inotify
                .await_in(&look.source.source_id, &on_the_way(look.source));
            if !is_new.unwrap_or(false) || rounds == ROUNDS_MAX {
                return Err(absent);
            }
        }
    }

    fn look_there(&self, look: &ScanJob<'_>, hearing: WatchMode) -> Result<ScanResult, BadSource> {
        let mut deaf = None;
        let mut listen = |folders: &[PathBuf]| match self.inotify.listen(&look.source.source_id, folders) {
            Ok(is_new) => is_new,
            Err(_) => {
                deaf = Some(BadSource::TooManyWatches(look.source.path.clone()));
                false
            }
        };
        let mut rounds = 0;
        let found = loop {
            rounds += 1;
            // Watches are set first, so that no change is missed. This walk reads no files, so it also
            // finds a source that exceeds the limit before any file is read.
            if hearing == WatchMode::On {
                listen(&self.folders(look)?);
            } else if look.source.is_fresh {
                self.folders(look)?;
            }
            let found = self.found(look)?;
            // Changes in a folder before it was watched may have been missed: scan once more. If folders
            // appear faster than that, all are watched by now, and another scan follows.
            let is_new = hearing == WatchMode::On && listen(&found.folders);
            if !is_new || rounds == ROUNDS_MAX {
                break found;
            }
        };
        Ok(ScanResult {
            differences: found.differences,
            unreadable: found.unreadable,
            watch_error: deaf,
        })
    }

    fn walk<'a>(&'a self, look: &'a ScanJob<'_>) -> folder::FolderWalk<'a> {
        folder::FolderWalk {
            root: Path::new(&look.source.path),
            home: &self.home,
            entries_max: self.entries_max,
            now: look.now,
            given_up: look.given_up,
        }
    }

    fn found(&self, look: &ScanJob<'_>) -> Result<ScannedEntries, BadSource> {
        match look.source.kind {
            SourceKind::Folder => self.walk(look).go(look.known),
            SourceKind::Git => {
                git::Repository::open(Path::new(&look.source.path))?.look(look.known, self.entries_max)
            }
        }
    }

    /// The folders to watch, without reading any file.
    fn folders(&self, look: &ScanJob<'_>) -> Result<Vec<PathBuf>, BadSource> {
        match look.source.kind {
            SourceKind::Folder => self.walk(look).folders(),
            SourceKind::Git => self.found(look).map(|found| found.folders),
        }
    }
}

impl SourceScanner for LocalScanner {
    fn canonical_path(&self, kind: SourceKind, path: String) -> ScanFuture<'_, String> {
        let inner = Arc::clone(&self.0);
        let shown = path.clone();
        Box::pin(off_the_loop(shown, move |_| inner.place(kind, &path)))
    }

    fn scan(
        &self,
        source: Source,
        known: BTreeMap<Vec<u8>, EntryState>,
        hearing: WatchMode,
        now: Millis,
    ) -> ScanFuture<'_, ScanResult> {
        let inner = Arc::clone(&self.0);
        let shown = source.path.clone();
        Box::pin(off_the_loop(shown, move |given_up| {
            let look = ScanJob {
                source: &source,
                known: &known,
                now,
                given_up,
            };
            inner.look(&look, hearing)
        }))
    }

    fn unwatch(&self, source: &SourceId) {
        self.0.inotify.forget(source);
    }

    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>> {
        Box::pin(self.0.inotify.changed_sources())
    }
}

/// The folders to watch for a missing source: the nearest existing parent, and for a repository also what
/// Git has already created.
fn on_the_way(source: &Source) -> Vec<PathBuf> {
    let path = Path::new(&source.path);
    let nearest = path.ancestors().find(|folder| folder.is_dir());
    let begun = match source.kind {
        SourceKind::Folder => None,
        SourceKind::Git => Some(path.join(".git")).filter(|folder| folder.is_dir()),
    };
    nearest.map(Path::to_owned).into_iter().chain(begun).collect()
}

/// Signals the scanning thread that the caller has stopped waiting.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads files on a blocking thread.
async fn off_the_loop<T: Send + 'static>(
    path: String,
    look: impl FnOnce(&AtomicBool) -> Result<T, BadSource> + Send + 'static,
) -> Result<T, BadSource> {
    let given_up = Arc::new(AtomicBool::new(false));
    let _gives_up = CancelOnDrop(Arc::clone(&given_up));
    let looked = tokio::task::spawn_blocking(move || look(&given_up)).await;
    // A scan that panicked has no result; the next one may.
    looked.unwrap_or(Err(BadSource::NoFolder(path)))
}

#[cfg(test)]
mod tests;
