//! Finds the repository of a workspace that is a linked worktree of Git. Its objects and branches are outside
//! the workspace, and without them `git commit` fails.
//!
//! A command can write the file that leads to the repository, so the file alone proves nothing. The repository
//! must name the workspace as its worktree, in a file that the command cannot write.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest file that leads from one folder to another.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// The folders of the repository that Git writes to for a commit, beside the worktree's own.
const WRITABLE: [&str; 3] = ["objects", "refs", "logs"];

/// What a command in a linked worktree needs of its repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinkedRepository {
    /// The folder `.git` of the repository, which may be read.
    pub(crate) common: PathBuf,
    /// Its folders that may be written. Hooks and settings are in none of them.
    pub(crate) writable: Vec<PathBuf>,
    /// Files inside those that may only be read.
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
            writable: writable.chain([own]).collect(),
            common,
        })
    }
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
