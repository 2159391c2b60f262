//! Looks at folders and Git repositories, and hears from the kernel when something happens there.
//!
//! | module | about |
//! |---|---|
//! | `folder` | the files of a folder, ignore files respected, each known by the hash of its content |
//! | `ignored` | the ignore files of a folder, read within bounds |
//! | `git` | the refs of a repository, read from its files; no process is started |
//! | `ear` | what the kernel tells of folders that are listened to |

mod folder;
mod git;
mod ignore;
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

/// How often a look is repeated because folders came up that nobody had listened to before it began.
const ROUNDS_MAX: usize = 4;

/// Looks at the world outside. Cloning it is cheap; all clones hear with one ear.
#[derive(Debug, Clone)]
pub struct LocalScanner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Never looked at.
    home: PathBuf,
    entries_max: usize,
    ear: Inotify,
}

/// What is looked at, and compared with what.
struct ScanJob<'a> {
    source: &'a Source,
    known: &'a BTreeMap<Vec<u8>, EntryState>,
    now: Millis,
    given_up: &'a AtomicBool,
}

/// What a look goes over.
#[derive(Debug, Default)]
struct ScannedEntries {
    /// The folders that were gone through, for listening to.
    folders: Vec<PathBuf>,
    /// What is not as it was seen.
    differences: Vec<EntryDiff>,
    /// How many could not be read.
    unreadable: u64,
}

impl LocalScanner {
    /// Looks everywhere but into the home.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self::bounded(home, ENTRIES_MAX)
    }

    /// The same with another bound of entries, for tests.
    #[must_use]
    pub fn bounded(home: &Path, entries_max: usize) -> Self {
        Self(Arc::new(Inner {
            home: std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()),
            entries_max,
            ear: Inotify::default(),
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

    /// Looks; and where nothing is there, listens for it to come.
    fn look(&self, look: &ScanJob<'_>, hearing: WatchMode) -> Result<ScanResult, BadSource> {
        let mut rounds = 0;
        loop {
            rounds += 1;
            let absent = match (self.look_there(look, hearing), hearing) {
                (Err(absent @ (BadSource::NoFolder(_) | BadSource::NotARepository(_))), WatchMode::On) => {
                    absent
                }
                (Err(bad @ BadSource::IgnoreTooLarge { .. }), WatchMode::On) => {
                    // Listened to, so that the source is looked at again when the file is shorter.
                    if let BadSource::IgnoreTooLarge { path, .. } = &bad {
                        let folder: Vec<PathBuf> =
                            Path::new(path).parent().map(Path::to_owned).into_iter().collect();
                        let is_new = self.ear.listen(&look.source.source_id, &folder);
                        if is_new.unwrap_or(false) && rounds < ROUNDS_MAX {
                            continue;
                        }
                    }
                    return Err(bad);
                }
                (seen, _) => return seen,
            };
            // It may have come before anybody listened: look once more.
            let is_new = self
                .ear
                .await_in(&look.source.source_id, &on_the_way(look.source));
            if !is_new.unwrap_or(false) || rounds == ROUNDS_MAX {
                return Err(absent);
            }
        }
    }

    fn look_there(&self, look: &ScanJob<'_>, hearing: WatchMode) -> Result<ScanResult, BadSource> {
        let mut deaf = None;
        let mut listen = |folders: &[PathBuf]| match self.ear.listen(&look.source.source_id, folders) {
            Ok(is_new) => is_new,
            Err(_) => {
                deaf = Some(BadSource::TooManyWatches(look.source.path.clone()));
                false
            }
        };
        let mut rounds = 0;
        let found = loop {
            rounds += 1;
            // Listening comes first, so that nothing falls in between. What holds too much is not read before that is known.
            if hearing == WatchMode::On {
                listen(&self.folders(look)?);
            } else if look.source.is_fresh {
                self.folders(look)?;
            }
            let found = self.found(look)?;
            // What happened in a folder before it was listened to may have been missed: look once more. Where folders come up
            // faster than that, each is listened to by now, and another look follows.
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

    /// What there is to listen to, without reading any file.
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
        self.0.ear.forget(source);
    }

    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>> {
        Box::pin(self.0.ear.stirred())
    }
}

/// Where something that is not there comes up: the nearest folder to it that is there, and of a repository also what Git has
/// begun to make.
fn on_the_way(source: &Source) -> Vec<PathBuf> {
    let path = Path::new(&source.path);
    let nearest = path.ancestors().find(|folder| folder.is_dir());
    let begun = match source.kind {
        SourceKind::Folder => None,
        SourceKind::Git => Some(path.join(".git")).filter(|folder| folder.is_dir()),
    };
    nearest.map(Path::to_owned).into_iter().chain(begun).collect()
}

/// Says to the thread that looks that nobody waits for it any more.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads files where nobody waits for the thread.
async fn off_the_loop<T: Send + 'static>(
    path: String,
    look: impl FnOnce(&AtomicBool) -> Result<T, BadSource> + Send + 'static,
) -> Result<T, BadSource> {
    let given_up = Arc::new(AtomicBool::new(false));
    let _gives_up = CancelOnDrop(Arc::clone(&given_up));
    let looked = tokio::task::spawn_blocking(move || look(&given_up)).await;
    // A look that panicked found nothing; the next one may.
    looked.unwrap_or(Err(BadSource::NoFolder(path)))
}

#[cfg(test)]
mod tests;
