//! The hook files of a home: `hooks.json` for all agents, `agents/NAME/hooks.json` for one.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::hook::{HOOK_FILE_BYTES_MAX, HookEvent, HookFile};
use wakeful_core::id::AgentId;

/// The name of a hook file.
const FILE: &str = "hooks.json";

/// Maximum number of files that are kept in memory.
const FILES_MAX: usize = 256;

/// The hook files of a home. A file is read again when its metadata changed.
#[derive(Debug)]
pub struct HookFiles {
    home: PathBuf,
    known: Mutex<BTreeMap<PathBuf, (FileStamp, Arc<HookFileState>)>>,
}

/// A hook file as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct HookFileState {
    /// Its path below the home.
    pub name: String,
    /// Its hooks, or why it is refused.
    pub hooks: Result<HookFile, String>,
}

/// The identity and the version of a file.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

impl HookFiles {
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            known: Mutex::new(BTreeMap::new()),
        }
    }

    /// The file for all agents, or for one.
    #[must_use]
    pub fn path(&self, agent: Option<&AgentId>) -> PathBuf {
        self.home.join(name(agent))
    }

    /// The files that exist for an agent: that for all agents first.
    #[must_use]
    pub fn of(&self, agent: &AgentId) -> Vec<Arc<HookFileState>> {
        [None, Some(agent)]
            .into_iter()
            .filter_map(|agent| self.read(agent))
            .collect()
    }

    /// Whether hooks may run for an event of an agent.
    #[must_use]
    pub fn has(&self, agent: &AgentId, event: HookEvent) -> bool {
        self.of(agent).iter().any(|file| match &file.hooks {
            Ok(hooks) => hooks.iter().any(|(at, _)| *at == event),
            Err(_) => true,
        })
    }

    /// The file for all agents, or for one; none if it does not exist.
    #[must_use]
    pub fn read(&self, agent: Option<&AgentId>) -> Option<Arc<HookFileState>> {
        let path = self.path(agent);
        let found = std::fs::symlink_metadata(&path);
        let stamp = match &found {
            Ok(found) => stamp(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => FileStamp::default(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, file)) = known.get(&path)
            && *seen == stamp
            && stamp != FileStamp::default()
        {
            return Some(Arc::clone(file));
        }
        let hooks = found
            .map_err(|error| unreadable(&error))
            .and_then(|found| text(&path, &found));
        let file = Arc::new(HookFileState {
            name: name(agent),
            hooks: hooks.and_then(|text| HookFile::parse(&text)),
        });
        if known.len() >= FILES_MAX {
            known.clear();
        }
        known.insert(path, (stamp, Arc::clone(&file)));
        Some(file)
    }
}

fn name(agent: Option<&AgentId>) -> String {
    match agent {
        None => FILE.to_owned(),
        Some(agent) => format!("agents/{agent}/{FILE}"),
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("could not be read: {error}")
}

/// The text of a file. A link is refused, because what it names can change without a change of its own metadata.
fn text(path: &Path, found: &std::fs::Metadata) -> Result<String, String> {
    if !found.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if found.mode() & 0o022 != 0 {
        return Err("can be written by other users; run chmod 600 on it".to_owned());
    }
    let limit = u64::try_from(HOOK_FILE_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn stamp(found: &std::fs::Metadata) -> FileStamp {
    let modified = (found.mtime(), found.mtime_nsec());
    let changed = (found.ctime(), found.ctime_nsec());
    (found.ino(), found.len(), modified, changed)
}
