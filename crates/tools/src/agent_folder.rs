//! The folder that commands of one agent have as `HOME`, with the caches of package managers. It is inside
//! Wakeful's home, beside the temporary folders: commands reach it and nothing around it, and the space that
//! it takes is monitored like theirs.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use wakeful_core::id::AgentId;

use crate::remove_tree::{self, RemovalLimits};

/// The folder of these folders in Wakeful's home.
const FOLDER: &str = "agent-folders";

/// The name of the caches in an agent's folder.
const CACHES: &str = ".cache";

/// Most bytes of one agent's caches: the dependencies of several large projects. More are removed after the
/// command.
pub const CACHE_BYTES_MAX: u64 = 4 << 30;

/// Most files and folders of one agent's caches. Counting them takes about a second.
const CACHE_ENTRIES_MAX: u64 = 400_000;

/// The caches are measured after a command that wrote at least this much: most commands write less, and
/// measuring takes time.
const MEASURED_FROM_BYTES: u64 = 64 << 20;

/// Where package managers put what they download, below the caches.
const CACHE_VARIABLES: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", ""),
    ("CARGO_HOME", "cargo"),
    ("npm_config_cache", "npm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("GOPATH", "go"),
    ("GOCACHE", "go-build"),
    ("GRADLE_USER_HOME", "gradle"),
    ("BUNDLE_USER_CACHE", "bundle"),
    ("NUGET_PACKAGES", "nuget"),
];

/// The folder of one agent. While it exists as a value, the caches are in use and are not removed.
#[derive(Debug)]
pub(crate) struct AgentFolder {
    path: PathBuf,
    /// Its lock is shared by all commands of the agent, in every process.
    in_use: Option<File>,
}

/// Which of an agent's folders a command has as `HOME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderTrust {
    /// That of commands which are not based on untrusted data.
    Trusted,
    /// That of the others: their settings and programs must not affect trusted commands.
    Untrusted,
}

impl FolderTrust {
    const fn folder(self) -> &'static str {
        match self {
            Self::Trusted => "home",
            Self::Untrusted => "untrusted-home",
        }
    }
}

impl AgentFolder {
    /// Creates the folder if it is missing.
    pub(crate) fn open(home: &Path, agent: &AgentId, trust: FolderTrust) -> io::Result<Self> {
        let of_agent = home.join(FOLDER).join(agent.as_str());
        let path = of_agent.join(trust.folder());
        DirBuilder::new().mode(0o700).recursive(true).create(&path)?;
        // Beside the folder, where commands cannot reach it.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(of_agent.join("lock"))?;
        lock.lock_shared()?;
        Ok(Self {
            path,
            in_use: Some(lock),
        })
    }

    /// The temporary folder of a command in the same role, for a run that may change nothing.
    pub(crate) fn temporary(temporary: &Path) -> Self {
        Self {
            path: temporary.to_owned(),
            in_use: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The variables that lead programs to this folder.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let caches = self.path.join(CACHES);
        let caches = CACHE_VARIABLES.iter().map(|(name, folder)| match *folder {
            "" => ((*name).to_owned(), text(&caches)),
            folder => ((*name).to_owned(), text(&caches.join(folder))),
        });
        [("HOME".to_owned(), text(&self.path))]
            .into_iter()
            .chain(caches)
            .collect()
    }

    /// Removes caches that became too large, unless another command uses them. Returns what happened, for the
    /// command's result.
    pub(crate) fn bound(self, written_bytes: u64) -> Option<String> {
        let lock = self.in_use?;
        let caches = self.path.join(CACHES);
        if written_bytes < MEASURED_FROM_BYTES || !is_too_large(&caches) {
            return None;
        }
        lock.unlock().ok()?;
        lock.try_lock().ok()?;
        let removed = remove_tree::remove(&caches, RemovalLimits::default());
        let result = match removed.left {
            None => "were removed",
            Some(_) => "could be removed only in part",
        };
        Some(format!(
            "the caches of this agent exceeded {} GiB or {CACHE_ENTRIES_MAX} files and {result}",
            CACHE_BYTES_MAX >> 30
        ))
    }
}

/// Whether a tree exceeds the limits. Stops as soon as it does.
fn is_too_large(tree: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (mut bytes, mut count) = (0_u64, 0_u64);
    let mut waiting = vec![tree.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(found.blocks().saturating_mul(512));
            count += 1;
            if bytes > CACHE_BYTES_MAX || count > CACHE_ENTRIES_MAX {
                return true;
            }
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentId {
        AgentId::parse("main").expect("an id")
    }

    #[test]
    fn caches_stay_until_they_are_too_large() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = AgentFolder::open(home.path(), &agent(), FolderTrust::Trusted).expect("a folder");
        let file = folder.path().join(".cache/cargo/file");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, "x").expect("a file");
        assert_eq!(folder.bound(u64::MAX), None);
        assert!(file.exists());
        assert!(!is_too_large(home.path()));
    }

    #[test]
    fn every_cache_is_below_the_bounded_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = AgentFolder::open(home.path(), &agent(), FolderTrust::Trusted).expect("a folder");
        let caches = folder.path().join(CACHES);
        for (name, value) in folder.variables() {
            assert!(
                name == "HOME" || Path::new(&value).starts_with(&caches),
                "{name}={value}"
            );
        }
    }
}
