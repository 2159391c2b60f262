//! The policy files of a home: `policy/*.cedar` for all agents, `agents/NAME/policy/*.cedar` for one.
//!
//! The files are compared by their metadata whenever policies are used, so a change applies to the next call
//! without a timer. A file that is invalid leaves its last valid policies in force and is reported. A process that
//! starts later finds them in the copies of [`LastValid`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::policy::{PolicyFileHash, PolicyFiles};

use crate::document::{FILE_BYTES_MAX, POLICIES_MAX, PolicyParser, PolicyProblem, WrittenPolicy};
use crate::last_valid::LastValid;

/// Maximum number of files of one folder. The metadata of each is read for every decision.
pub const FILES_MAX: usize = 32;

/// Maximum length of a file name, which is a part of the names of its policies.
const FILE_NAME_CHARS_MAX: usize = 64;

/// A file that changed less than this before it was read may change again without a visible difference in
/// its metadata, because the kernel's clock for them is coarse.
const SETTLED: Duration = Duration::from_millis(50);

/// The name of a policy folder in the home, and in the folder of an agent.
const FOLDER: &str = "policy";

/// The folder in the home with the last valid version of each file.
const LAST_VALID: &str = "policy-last-valid";

/// The policies of one folder.
#[derive(Debug, Default)]
pub struct FolderPolicies {
    /// The hash of the files in force.
    pub digest: String,
    pub policies: Vec<WrittenPolicy>,
    /// The files in force.
    pub files: Vec<PolicyFileHash>,
    /// The files that are refused.
    pub problems: Vec<PolicyProblem>,
    /// Whether a refused file has no earlier version: what it forbids is unknown, so nothing is permitted.
    pub is_incomplete: bool,
}

/// The policies that people wrote for one agent.
#[derive(Debug, Clone, Default)]
pub struct WrittenPolicies {
    pub global: Arc<FolderPolicies>,
    pub agent: Arc<FolderPolicies>,
}

impl WrittenPolicies {
    /// The policies of both folders.
    pub fn iter(&self) -> impl Iterator<Item = &WrittenPolicy> {
        self.global.policies.iter().chain(&self.agent.policies)
    }

    /// The refused files of both folders.
    pub fn problems(&self) -> impl Iterator<Item = &PolicyProblem> {
        self.global.problems.iter().chain(&self.agent.problems)
    }

    /// The files of both folders in force.
    pub(crate) fn files(&self) -> PolicyFiles {
        let files = self.global.files.iter().chain(&self.agent.files);
        PolicyFiles {
            files: files.cloned().collect(),
            is_incomplete: self.is_incomplete(),
        }
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.global.is_incomplete || self.agent.is_incomplete
    }
}

/// The policy folders of a home.
#[derive(Debug)]
pub struct PolicyFolders {
    home: PathBuf,
    tools: BTreeSet<String>,
    /// Made when the first file is read, because most homes have none.
    parser: OnceLock<Result<PolicyParser, PolicyProblem>>,
    folders: Mutex<BTreeMap<PathBuf, Folder>>,
    is_keeping: AtomicBool,
}

/// The identity and the version of a file: inode, size, time of modification and of the last change.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

#[derive(Debug, Default)]
struct Folder {
    /// The metadata of the folder and its files when they were read; none if they must be read again.
    stamps: Option<Vec<(PathBuf, Option<FileStamp>)>>,
    /// The last valid version of each file.
    files: BTreeMap<String, PolicyFile>,
    policies: Arc<FolderPolicies>,
}

/// Where the files of a folder come from.
struct Source<'a> {
    path: &'a Path,
    /// What the names of files of an agent begin with.
    prefix: &'a str,
    last_valid: LastValid,
    folders: &'a PolicyFolders,
}

#[derive(Debug)]
struct PolicyFile {
    hash: Digest,
    policies: Vec<WrittenPolicy>,
}

impl PolicyFolders {
    #[must_use]
    pub const fn new(home: PathBuf, tools: BTreeSet<String>) -> Self {
        Self {
            home,
            tools,
            parser: OnceLock::new(),
            folders: Mutex::new(BTreeMap::new()),
            is_keeping: AtomicBool::new(false),
        }
    }

    /// Keeps a copy of each valid file from now on, for the next process.
    pub fn keep_last_valid(&self) {
        self.is_keeping.store(true, Ordering::Relaxed);
    }

    fn last_valid(&self, agent: Option<&AgentId>) -> LastValid {
        let folder = self.home.join(LAST_VALID);
        let folder = match agent {
            None => folder.join("all"),
            Some(agent) => folder.join("agents").join(agent.as_str()),
        };
        LastValid::new(folder, self.is_keeping.load(Ordering::Relaxed))
    }

    /// The parser of the policies.
    pub fn parser(&self) -> Result<&PolicyParser, PolicyProblem> {
        let parser = self.parser.get_or_init(|| PolicyParser::new(&self.tools));
        parser.as_ref().map_err(Clone::clone)
    }

    /// The folder of the policies for all agents, or for one.
    #[must_use]
    pub fn path(&self, agent: Option<&AgentId>) -> PathBuf {
        match agent {
            None => self.home.join(FOLDER),
            Some(agent) => self.home.join("agents").join(agent.as_str()).join(FOLDER),
        }
    }

    /// The policies in force for an agent now.
    #[must_use]
    pub fn current(&self, agent: &AgentId) -> WrittenPolicies {
        WrittenPolicies {
            global: self.folder(None),
            agent: self.folder(Some(agent)),
        }
    }

    /// The policies in force of one folder now.
    #[must_use]
    pub fn folder(&self, agent: Option<&AgentId>) -> Arc<FolderPolicies> {
        let path = self.path(agent);
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folders.entry(path.clone()).or_default();
        if !folder.is_current() {
            let prefix = if agent.is_some() { "agent/" } else { "" };
            let source = Source {
                path: &path,
                prefix,
                last_valid: self.last_valid(agent),
                folders: self,
            };
            folder.reload(&source);
        }
        Arc::clone(&folder.policies)
    }
}

impl Source<'_> {
    /// How a file is named to people.
    fn label(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Folder {
    fn is_current(&self) -> bool {
        self.stamps
            .as_ref()
            .is_some_and(|stamps| stamps.iter().all(|(path, seen)| stamp(path) == *seen))
    }

    fn reload(&mut self, source: &Source<'_>) {
        let (path, prefix) = (source.path, source.prefix);
        #[expect(
            clippy::disallowed_methods,
            reason = "it is compared with modification times, which come from the file system"
        )]
        let read_at = SystemTime::now();
        let mut stamps = vec![(path.to_owned(), stamp(path))];
        let mut problems = Vec::new();
        let found = match list(path, prefix) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                self.publish(prefix, problems, self.files.is_empty());
                self.stamps = None;
                return;
            }
        };
        if found.is_none() && !self.files.is_empty() {
            let message = "the folder is missing; its last policies stay in force until it is there again";
            problems.push(problem(prefix, message));
        }
        let names = found.unwrap_or_else(|| self.files.keys().cloned().collect());
        let mut is_incomplete = false;
        self.files.retain(|name, _| names.contains(name));
        source.last_valid.retain(&names);
        for name in names {
            let file = path.join(&name);
            stamps.push((file.clone(), stamp(&file)));
            if stamps.first().is_some_and(|(_, folder)| folder.is_none()) {
                continue;
            }
            if let Err(refused) = self.read(&file, &name, source) {
                self.recall(&name, source);
                is_incomplete |= !self.files.contains_key(&name);
                problems.push(refused);
            }
        }
        let total: usize = self.files.values().map(|file| file.policies.len()).sum();
        if total > POLICIES_MAX {
            let message =
                format!("has {total} policies, at most {POLICIES_MAX} are allowed; nothing is permitted");
            problems.push(problem(prefix, &message));
            is_incomplete = true;
        }
        self.publish(prefix, problems, is_incomplete);
        let is_settled = stamps.iter().all(|(_, stamp)| is_older(*stamp, read_at));
        self.stamps = is_settled.then_some(stamps);
    }

    /// Reads one file, unless it is the version in force.
    fn read(&mut self, file: &Path, name: &str, source: &Source<'_>) -> Result<(), PolicyProblem> {
        let label = &source.label(name);
        let bytes = match read_bounded(file) {
            Ok(bytes) => bytes,
            Err(error) => return Err(problem(label, &format!("could not be read: {error}"))),
        };
        let hash = Digest::of(&bytes);
        let before = self.files.get(name);
        if before.is_some_and(|before| before.hash == hash) {
            return Ok(());
        }
        // An editor may be writing it. What it forbade must not be permitted meanwhile.
        if bytes.is_empty() && before.is_some_and(|before| !before.policies.is_empty()) {
            let message = "is empty; its last policies stay in force until it has content or is deleted";
            return Err(problem(label, message));
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(problem(label, "is not UTF-8"));
        };
        let policies = source.folders.parser()?.parse(label, &text)?;
        source.last_valid.keep(name, &text);
        self.files.insert(name.to_owned(), PolicyFile { hash, policies });
        Ok(())
    }

    /// Puts the copy of an invalid file in force, unless this process knows a valid version.
    fn recall(&mut self, name: &str, source: &Source<'_>) {
        if self.files.contains_key(name) {
            return;
        }
        let Some(text) = source.last_valid.text(name) else {
            return;
        };
        let parsed = source
            .folders
            .parser()
            .and_then(|parser| parser.parse(&source.label(name), &text));
        if let Ok(policies) = parsed {
            let hash = Digest::of(text.as_bytes());
            self.files.insert(name.to_owned(), PolicyFile { hash, policies });
        }
    }

    fn publish(&mut self, prefix: &str, problems: Vec<PolicyProblem>, is_incomplete: bool) {
        let mut text = String::new();
        for (name, file) in &self.files {
            text.push_str(&format!("{name} {}\n", file.hash));
        }
        self.policies = Arc::new(FolderPolicies {
            digest: Digest::of(text.as_bytes()).to_string(),
            policies: self
                .files
                .values()
                .flat_map(|file| file.policies.clone())
                .collect(),
            files: self
                .files
                .iter()
                .map(|(name, file)| PolicyFileHash {
                    file: format!("{prefix}{name}"),
                    sha256: file.hash,
                })
                .collect(),
            problems,
            is_incomplete,
        });
    }
}

/// The names of the policy files, sorted; none if the folder is missing.
fn list(path: &Path, prefix: &str) -> Result<Option<Vec<String>>, PolicyProblem> {
    let label = if prefix.is_empty() { FOLDER } else { prefix };
    let failed = |error: &std::io::Error| problem(label, &format!("could not be read: {error}"));
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| failed(&error))?.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".cedar")) else {
            continue;
        };
        // Editors write hidden files next to the one that they edit.
        if stem.starts_with('.') {
            continue;
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if stem.is_empty() || stem.len() > FILE_NAME_CHARS_MAX || !stem.chars().all(is_part) {
            let message = "the name may only contain letters, digits, `-`, `_` and `.`; rename the file";
            return Err(problem(&format!("{prefix}{}", stem.escape_default()), message));
        }
        names.push(format!("{stem}.cedar"));
    }
    if names.len() > FILES_MAX {
        let message = format!("has {} files, at most {FILES_MAX} are allowed", names.len());
        return Err(problem(label, &message));
    }
    names.sort();
    Ok(Some(names))
}

/// Reads a regular file, and one byte more than allowed so that the parser refuses a larger one.
pub(crate) fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let limit = u64::try_from(FILE_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok()?;
    let modified = (found.mtime(), found.mtime_nsec());
    let changed = (found.ctime(), found.ctime_nsec());
    Some((found.ino(), found.len(), modified, changed))
}

fn is_older(stamp: Option<FileStamp>, read_at: SystemTime) -> bool {
    let Some((_, _, _, (seconds, nanoseconds))) = stamp else {
        return true;
    };
    let since = read_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = u64::try_from(seconds).unwrap_or_default();
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
    Duration::new(seconds, nanoseconds).saturating_add(SETTLED) < since
}

fn problem(file: &str, message: &str) -> PolicyProblem {
    PolicyProblem {
        file: file.to_owned(),
        line: 1,
        message: message.to_owned(),
    }
}
