//! Resolves paths that settings name, without following links that a command could have made.
//!
//! A command could replace a folder that the settings allow by a link to another place, and the next command
//! would then have access to that. So a path may lead through no folder that commands can write to.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Most links of one path, as in the kernel.
const LINKS_MAX: usize = 40;

/// The path without links; none if it does not exist, or leads through or into one of these folders. A path to
/// one of the folders themselves resolves.
pub(crate) fn resolve(path: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let mut waiting: VecDeque<OsString> = names(path)?.collect();
    let mut found = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = waiting.pop_front() {
        if writable.iter().any(|folder| found.starts_with(folder)) {
            return None;
        }
        if name == ".." {
            found.pop();
            continue;
        }
        let next = found.join(&name);
        if !fs::symlink_metadata(&next).ok()?.is_symlink() {
            found = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return None;
        }
        let target = fs::read_link(&next).ok()?;
        if target.is_absolute() {
            found = PathBuf::from("/");
        }
        for name in target_names(&target).collect::<Vec<_>>().into_iter().rev() {
            waiting.push_front(name);
        }
    }
    found.to_str().is_some().then_some(found)
}

fn names(path: &Path) -> Option<impl Iterator<Item = OsString>> {
    path.is_absolute().then(|| target_names(path))
}

fn target_names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_a_writable_folder_leads_nowhere() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let at = |name: &str| root.join(name);
        for folder in ["work", "data/inner", "secret"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        symlink(at("secret"), at("work/link")).expect("a link");
        symlink("work/link", at("two-hops")).expect("a link");
        symlink("data/../data", at("to-data")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        let writable = [at("work")];
        let resolve = |name: &str| resolve(&at(name), &writable);
        assert_eq!(resolve("to-data/inner"), Some(at("data/inner")));
        assert_eq!(resolve("work"), Some(at("work")));
        for name in ["work/link", "two-hops", "loop", "missing", "work/../secret"] {
            assert_eq!(resolve(name), None, "{name}");
        }
    }
}
