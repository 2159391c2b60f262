//! The text files of the repository.
//!
//! The list comes from Git, which excludes ignored files; untracked files are included, so that a violation
//! is reported before the commit. Without Git (a source archive) the folders are walked.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of built or downloaded files, which the walk skips.
const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "dist"];

/// A text file; its path is relative to the root, with forward slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    /// Creates a file for a test.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Returns the part of the name after its last dot, or an empty string.
    pub fn extension(&self) -> &str {
        Path::new(&self.path)
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or("")
    }

    /// Returns whether the file is in a folder of tests, or is a module that only tests compile.
    pub fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    }

    /// Returns the folder of the crate whose `src` contains this file: `crates/core` for
    /// `crates/core/src/key.rs`.
    pub fn source_of(&self) -> Option<&str> {
        self.path.split_once("/src/").map(|(folder, _)| folder)
    }
}

/// Returns the root of the repository, two folders above this crate.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Returns every text file below `root`, sorted by path.
pub fn files(root: &Path) -> io::Result<Vec<File>> {
    let paths = match listed_by_git(root) {
        Some(paths) => paths,
        None => walked(root)?,
    };
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(&path);
        // A listed path may be missing (deleted, not yet committed), or be a link to a folder.
        if !full.is_file() {
            continue;
        }
        // A file that is not UTF-8 is an image or an archive, which no rule reads.
        if let Ok(text) = String::from_utf8(std::fs::read(&full)?) {
            files.push(File { path, text });
        }
    }
    Ok(files)
}

fn listed_by_git(root: &Path) -> Option<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "-co", "--exclude-standard"])
        .current_dir(root);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> = text
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    // An empty list means that the folder is not a Git repository.
    (!paths.is_empty()).then_some(paths)
}

fn walked(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && !NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Ok(path) = entry.path().strip_prefix(root)
            {
                paths.insert(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_the_walk_both_find_this_file() {
        let this = "crates/tidy/src/tree.rs";
        assert!(files(&root()).unwrap().iter().any(|file| file.path == this));
        assert!(walked(&root()).unwrap().contains(this));
    }

    #[test]
    fn the_walk_skips_folders_of_built_files() {
        let paths = walked(&root()).unwrap();
        assert!(
            paths
                .iter()
                .all(|path| !path.starts_with(".git/") && !path.starts_with("target/"))
        );
    }

    #[test]
    fn a_path_gives_its_crate_and_whether_it_is_a_test() {
        let source = File::new("crates/core/src/key.rs", "");
        assert_eq!(
            (source.source_of(), source.is_test()),
            (Some("crates/core"), false)
        );
        let apart = File::new("crates/core/src/key/tests.rs", "");
        assert_eq!((apart.source_of(), apart.is_test()), (Some("crates/core"), true));
        let suite = File::new("crates/core/tests/all.rs", "");
        assert_eq!((suite.source_of(), suite.is_test()), (None, true));
    }
}
