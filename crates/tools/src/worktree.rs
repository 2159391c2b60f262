//! Finds the repository of a workspace that is a linked worktree of Git. Its objects and branches are outside
//! the workspace, and without them `git commit` fails.
//!
//! A command can write the file that leads to the repository, so the file alone proves nothing. The repository
//! must name the workspace as its worktree, in a file that the command cannot write.
//!
//! Git also creates and renames files in the folder of the repository itself, such as `packed-refs.lock`. A
//! mount namespace allows that: everything in the folder that is not Git's data becomes a read-only mount, and
//! [`placeholder`] fills the names that may be missing. Without mounts that folder stays read-only.

pub(crate) mod placeholder;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::placeholder::Placeholder;

/// Largest file that leads from one folder to another.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// The folders of the repository with Git's data, beside the worktree's own.
const WRITABLE: [&str; 5] = ["objects", "refs", "logs", "lfs", "rr-cache"];

/// The files in the folder of the repository that Git replaces.
const REPLACED: [&str; 7] = [
    "packed-refs",
    "packed-refs.lock",
    "packed-refs.new",
    "shallow",
    "shallow.lock",
    "gc.pid",
    "gc.log",
];

/// Files that must exist, so that they can be protected.
const REQUIRED: [&str; 2] = ["HEAD", "config"];

/// The setting for which a placeholder would matter: Git ignores it in a folder that names a common folder.
const WORKTREE_SETTING: &str = "worktree";

/// Most entries of the folder of a repository. Each that is not Git's data costs a mount.
const ENTRIES_MAX: usize = 128;

/// What a command in a linked worktree needs of its repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinkedRepository {
    /// The folder `.git` of the repository, which may be read.
    pub(crate) common: PathBuf,
    /// Its folders that may be written. Hooks and settings are in none of them.
    pub(crate) writable: Vec<PathBuf>,
    /// Files inside those that may only be read.
    pub(crate) read_only: Vec<PathBuf>,
    /// The worktree's own folder in the repository.
    own: PathBuf,
}

/// The folder of a repository in which Git may create, replace and remove files, if everything else in it
/// can be made read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedFolder {
    pub(crate) path: PathBuf,
    pub(crate) read_only: Vec<PathBuf>,
}

impl LinkedRepository {
    /// The repository of a workspace; none if the workspace is not a linked worktree.
    pub(crate) fn of(workspace: &Path) -> Option<Self> {
        let link = workspace.join(".git");
        let text = read(&link)?;
        let own = workspace.join(text.strip_prefix("gitdir:")?.trim());
        let own = own.canonicalize().ok()?;
        let all = own
            .parent()
            .filter(|all| all.file_name().is_some_and(|name| name == "worktrees"))?;
        let common = all.parent()?.to_owned();
        // Both are written by Git outside.
        let leads_back = PathBuf::from(read(&own.join("gitdir"))?.trim());
        let is_ours = leads_back.parent()?.canonicalize().ok()? == workspace && leads_back.ends_with(".git");
        let named = own.join(read(&own.join("commondir"))?.trim());
        let is_common = named.canonicalize().ok()? == common;
        if !is_ours || !is_common || workspace.starts_with(&common) {
            return None;
        }
        let inside = |name: &str| common.join(name);
        let writable = WRITABLE
            .iter()
            .map(|name| inside(name))
            .filter(|path| is_folder(path));
        let read_only = ["gitdir", "commondir", "config.worktree"];
        let read_only = read_only
            .iter()
            .map(|name| own.join(name))
            .filter(|path| path.exists());
        Some(Self {
            read_only: read_only.collect(),
            writable: writable.chain([own.clone()]).collect(),
            common,
            own,
        })
    }

    /// The folder of the repository with what must be read-only in it, and the placeholders that must exist
    /// while a command runs. None if the folder is unusual.
    pub(crate) fn shared_folder(&self) -> Option<(SharedFolder, Vec<Placeholder>)> {
        if sets_worktree(&read(&self.common.join("config"))?) {
            return None;
        }
        let placeholders = Placeholder::all(&self.common, &self.own)?;
        let mut read_only = vec![self.common.join("worktrees")];
        let mut count = 0;
        for entry in fs::read_dir(&self.common).ok()? {
            let entry = entry.ok()?;
            count += 1;
            // A link cannot become a mount, only its target.
            if count > ENTRIES_MAX || entry.file_type().ok()?.is_symlink() {
                return None;
            }
            let name = entry.file_name();
            let name = name.to_str()?;
            if !WRITABLE.contains(&name) && !REPLACED.contains(&name) && name != "worktrees" {
                read_only.push(entry.path());
            }
        }
        read_only.push(self.own.join(placeholder::WORKTREE_SETTINGS));
        let is_kept = |name: &&str| read_only.contains(&self.common.join(name));
        let path = self.common.clone();
        let folder = REQUIRED
            .iter()
            .all(is_kept)
            .then_some(SharedFolder { path, read_only })?;
        Some((folder, placeholders))
    }
}

/// Settings for Git in a linked worktree. Garbage collection after a commit would fail at the folders of other
/// worktrees, and its message would keep Git outside from collecting garbage too. `info/refs` is read-only, and
/// only web servers without Git need it.
pub(crate) fn variables() -> [(String, String); 5] {
    [
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "gc.auto"),
        ("GIT_CONFIG_VALUE_0", "0"),
        ("GIT_CONFIG_KEY_1", "repack.updateServerInfo"),
        ("GIT_CONFIG_VALUE_1", "false"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// Whether the settings of a repository name its working tree.
fn sets_worktree(settings: &str) -> bool {
    let key = |line: &str| {
        // A setting may follow the name of its section.
        let setting = line.rsplit_once(']').map_or(line, |(_, setting)| setting);
        let name = setting.split('=').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case(WORKTREE_SETTING)
    };
    settings.lines().any(key)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn read(path: &Path) -> Option<String> {
    // A link or a FIFO is not what Git writes.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LINK_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a worktree, as Git lays them out.
    fn plant(root: &Path) -> PathBuf {
        let (main, tree) = (root.join("main/.git"), root.join("tree"));
        for folder in ["objects", "refs", "hooks", "worktrees/tree"] {
            fs::create_dir_all(main.join(folder)).expect("a folder");
        }
        fs::create_dir_all(&tree).expect("a folder");
        let own = main.join("worktrees/tree");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect("a file");
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).expect("a file");
        fs::write(own.join("commondir"), "../..\n").expect("a file");
        tree
    }

    #[test]
    fn a_worktree_may_write_objects_and_branches_but_no_hooks() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let tree = plant(&root);
        let found = LinkedRepository::of(&tree).expect("a repository");
        let common = root.join("main/.git");
        assert_eq!(found.common, common);
        let expected = ["objects", "refs", "worktrees/tree"].map(|name| common.join(name));
        assert_eq!(found.writable, expected);
        assert!(LinkedRepository::of(&common).is_none());
    }

    #[test]
    fn a_file_that_leads_to_a_foreign_repository_gives_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let tree = plant(&root);
        let other = root.join("other");
        fs::create_dir(&other).expect("a folder");
        fs::copy(tree.join(".git"), other.join(".git")).expect("a copy");
        assert_eq!(LinkedRepository::of(&other), None);
    }
}
