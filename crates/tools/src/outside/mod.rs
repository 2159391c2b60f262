//! Looks at folders and Git repositories, and hears from the kernel when something happens there.
//!
//! | module | about |
//! |---|---|
//! | `folder` | the files of a folder, ignore files respected, each known by the hash of its content |
//! | `git` | the refs of a repository, read from its files; no process is started |
//! | `ear` | what the kernel tells of folders that are listened to |

mod ear;
mod folder;
mod git;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use wakeful_core::id::SourceId;
use wakeful_core::outside::{BadSource, Difference, ENTRIES_MAX, Known, PATH_BYTES_MAX, Source, SourceKind};
use wakeful_core::time::Millis;
use wakeful_ports::outside::{Hearing, Looking, Lookout, Sight};

use self::ear::Ear;

/// How often a look is repeated because folders came up that nobody had listened to before it began.
const ROUNDS_MAX: usize = 4;

/// Looks at the world outside. Cloning it is cheap; all clones hear with one ear.
#[derive(Debug, Clone)]
pub struct Outlook(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Never looked at.
    home: PathBuf,
    entries_max: usize,
    ear: Ear,
}

/// What a look goes over.
#[derive(Debug, Default)]
struct Found {
    /// The folders that were gone through, for listening to.
    folders: Vec<PathBuf>,
    /// What is not as it was seen.
    differences: Vec<Difference>,
    /// How many could not be read.
    unreadable: u64,
}

impl Outlook {
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
            ear: Ear::default(),
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

    fn look(
        &self,
        source: &Source,
        known: &BTreeMap<Vec<u8>, Known>,
        hearing: Hearing,
        now: Millis,
    ) -> Result<Sight, BadSource> {
        let mut deaf = None;
        for _ in 0..ROUNDS_MAX {
            let found = self.found(source, known, now)?;
            let is_new = match hearing {
                Hearing::Off => false,
                Hearing::On => match self.ear.listen(&source.source_id, &found.folders) {
                    Ok(is_new) => is_new,
                    Err(_) => {
                        deaf = Some(BadSource::TooManyWatches(source.path.clone()));
                        false
                    }
                },
            };
            // What happened in a folder before it was listened to may have been missed: look once more.
            if !is_new {
                return Ok(Sight {
                    differences: found.differences,
                    unreadable: found.unreadable,
                    deaf,
                });
            }
        }
        // New folders come up faster than they are gone through. Each is listened to, so another look follows.
        let found = self.found(source, known, now)?;
        Ok(Sight {
            differences: found.differences,
            unreadable: found.unreadable,
            deaf,
        })
    }

    fn found(
        &self,
        source: &Source,
        known: &BTreeMap<Vec<u8>, Known>,
        now: Millis,
    ) -> Result<Found, BadSource> {
        let root = Path::new(&source.path);
        match source.kind {
            SourceKind::Folder => folder::Walk {
                root,
                home: &self.home,
                entries_max: self.entries_max,
                now,
            }
            .go(known),
            SourceKind::Git => git::Repository::open(root)?.look(known, self.entries_max),
        }
    }
}

impl Lookout for Outlook {
    fn place(&self, kind: SourceKind, path: String) -> Looking<'_, String> {
        let inner = Arc::clone(&self.0);
        let shown = path.clone();
        Box::pin(off_the_loop(shown, move || inner.place(kind, &path)))
    }

    fn look(
        &self,
        source: Source,
        known: BTreeMap<Vec<u8>, Known>,
        hearing: Hearing,
        now: Millis,
    ) -> Looking<'_, Sight> {
        let inner = Arc::clone(&self.0);
        let shown = source.path.clone();
        Box::pin(off_the_loop(shown, move || {
            inner.look(&source, &known, hearing, now)
        }))
    }

    fn forget(&self, source: &SourceId) {
        self.0.ear.forget(source);
    }

    fn stirred(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>> {
        Box::pin(self.0.ear.stirred())
    }
}

/// Reads files where nobody waits for the thread.
async fn off_the_loop<T: Send + 'static>(
    path: String,
    look: impl FnOnce() -> Result<T, BadSource> + Send + 'static,
) -> Result<T, BadSource> {
    let looked = tokio::task::spawn_blocking(look).await;
    // A look that panicked found nothing; the next one may.
    looked.unwrap_or(Err(BadSource::NoFolder(path)))
}

#[cfg(test)]
mod tests;
