//! The protected places of a workspace that exist when a command starts, and what the command changed about
//! them.
//!
//! A mount namespace makes existing places read-only, but it cannot cover a missing one, and not every machine
//! supports one. So every call also compares: what appeared or changed at a protected place is reported in its
//! result.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use wakeful_core::protected_path::{is_protected, is_protected_unless};

/// Most folders of a workspace that are searched, outermost first. Searching them takes a few milliseconds,
/// twice for each command.
const FOLDERS_MAX: usize = 2_000;

/// Most entries of all these folders together.
const ENTRIES_MAX: usize = 40_000;

/// Most places that become read-only. Each costs a mount.
const PLACES_MAX: usize = 256;

/// Most findings of one result.
const FINDINGS_MAX: usize = 20;

/// Folders that hold downloaded or built files. They are not searched: they are large, and what is in them
/// takes effect only for a person who works inside them.
const DEPENDENCIES: [&str; 6] = ["node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// The guidance files at the top of a workspace, which are compared with copies and restored separately.
const GUIDANCE: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The folder of a repository, and its parts without settings.
const REPOSITORY: &str = ".git";
const REPOSITORY_DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// The state of a file or folder at a protected place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    number: u64,
    mode: u32,
    /// None for a folder, whose entries have their own stamps.
    contents: Option<(u64, i64, i64)>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let contents = (found.size(), found.mtime(), found.mtime_nsec());
        Some(Self {
            device: found.dev(),
            number: found.ino(),
            mode: found.mode(),
            contents: (!found.is_dir()).then_some(contents),
        })
    }
}

/// The protected places of a workspace at one moment.
#[derive(Debug, Default)]
pub(crate) struct ProtectedPlaces {
    /// The outermost places, relative to the workspace.
    places: BTreeSet<PathBuf>,
    /// These and what is in them.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Whether the whole workspace was searched, and every place can become a mount.
    is_complete: bool,
}

/// A folder to search.
struct Waiting {
    path: PathBuf,
    /// The part of the path from the repository or another folder that holds protected places; empty for an
    /// ordinary folder.
    context: String,
    is_protected: bool,
}

impl ProtectedPlaces {
    /// Searches a workspace. The exceptions are paths relative to it.
    pub(crate) fn of(workspace: &Path, unprotected: &BTreeSet<String>) -> Self {
        let mut found = Self {
            is_complete: true,
            ..Self::default()
        };
        let mut waiting = VecDeque::from([Waiting {
            path: PathBuf::new(),
            context: String::new(),
            is_protected: false,
        }]);
        let (mut folders, mut entries) = (0, 0);
        while let Some(next) = waiting.pop_front() {
            folders += 1;
            if folders > FOLDERS_MAX || entries > ENTRIES_MAX {
                found.is_complete = false;
                break;
            }
            for entry in fs::read_dir(workspace.join(&next.path))
                .into_iter()
                .flatten()
                .flatten()
            {
                entries += 1;
                if entries > ENTRIES_MAX {
                    break;
                }
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name().to_string_lossy().into_owned();
                let inner = next.inner(&name, unprotected, is_folder);
                let is_guidance = GUIDANCE.iter().any(|file| inner.path == Path::new(file));
                if inner.is_protected && !is_guidance {
                    found.add(workspace, &inner.path, &next);
                }
                if is_folder && inner.may_hold_places(&name) {
                    waiting.push_back(inner);
                }
            }
        }
        found
    }

    fn add(&mut self, workspace: &Path, path: &Path, folder: &Waiting) {
        let Some(stamp) = Stamp::of(&workspace.join(path)) else {
            return;
        };
        self.stamps.insert(path.to_owned(), stamp);
        if folder.is_protected {
            return;
        }
        let is_link = stamp.mode & libc::S_IFMT == libc::S_IFLNK;
        // A link cannot become a mount, only its target.
        if is_link || self.places.len() == PLACES_MAX || path.to_str().is_none() {
            self.is_complete = false;
        } else {
            self.places.insert(path.to_owned());
        }
    }

    /// The places as absolute paths.
    pub(crate) fn paths(&self, workspace: &Path) -> impl Iterator<Item = PathBuf> {
        self.places.iter().map(|place| workspace.join(place))
    }

    pub(crate) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What appeared or changed since then, for the result of a command.
    pub(crate) fn changes(&self, after: &Self) -> Vec<String> {
        let is_folder = |stamp: &Stamp| stamp.contents.is_none();
        let mut findings = Vec::new();
        // New and changed places; in sorted order, a new folder precedes what is in it.
        let mut reported: Option<&Path> = None;
        for (path, stamp) in &after.stamps {
            let doing = match self.stamps.get(path) {
                Some(before) if before == stamp => continue,
                // Only the times of a folder's entries matter.
                Some(before) if is_folder(before) && is_folder(stamp) => continue,
                Some(_) => "changed",
                None => "new",
            };
            if reported.is_some_and(|folder| path.starts_with(folder)) {
                continue;
            }
            reported = Some(path);
            findings.push(format!(
                "{} is {doing}: programs outside the sandbox may run or obey it; check it first",
                path.display()
            ));
        }
        let gone = self
            .stamps
            .keys()
            .filter(|path| !after.stamps.contains_key(*path));
        findings.extend(gone.map(|path| format!("{} is gone or was moved", path.display())));
        if findings.len() > FINDINGS_MAX {
            let more = findings.len() - FINDINGS_MAX;
            findings.truncate(FINDINGS_MAX);
            findings.push(format!("{more} more protected places changed"));
        }
        findings
    }
}

impl Waiting {
    /// An entry of this folder.
    fn inner(&self, name: &str, unprotected: &BTreeSet<String>, is_folder: bool) -> Self {
        let path = self.path.join(name);
        let context = match self.context.as_str() {
            "" if is_first(name) => name.to_owned(),
            "" => String::new(),
            context => format!("{context}/{name}"),
        };
        // The folder of a repository is a place only if it is a file that leads elsewhere.
        let is_repository = is_folder && is_git(name);
        let is_place = !context.is_empty() && !is_repository && is_protected(&context);
        let shown = path.to_string_lossy();
        let is_meant = || self.is_protected || is_protected_unless(&shown, unprotected);
        Self {
            is_protected: (is_place || self.is_protected) && is_meant(),
            context,
            path,
        }
    }

    /// Whether a folder must be searched.
    fn may_hold_places(&self, name: &str) -> bool {
        let is_data =
            REPOSITORY_DATA.contains(&name) && self.context.split('/').any(|part| part == REPOSITORY);
        self.is_protected || !(is_data || DEPENDENCIES.contains(&name))
    }
}

/// Whether a protected place can begin with this name. A cheap test that most names fail.
fn is_first(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| matches!(c, '.' | 'a' | 'A' | 'c' | 'C' | 'g' | 'G') || !c.is_ascii())
}

/// Whether a folder of this name is that of a repository, in any spelling.
fn is_git(name: &str) -> bool {
    is_protected(name) && !is_protected(&format!("{name}/objects"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(workspace: &Path, files: &[&str]) {
        for file in files {
            let path = workspace.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
    }

    fn names(places: &ProtectedPlaces) -> Vec<&str> {
        places.places.iter().filter_map(|path| path.to_str()).collect()
    }

    #[test]
    fn places_are_found_at_every_depth_but_not_among_dependencies() {
        let root = tempfile::tempdir().expect("a folder");
        plant(
            root.path(),
            &[
                ".git/config",
                ".git/hooks/pre-commit",
                ".git/objects/aa/hooks",
                ".git/modules/sub/config",
                ".git/refs/heads/config",
                "sub/.git",
                "deep/er/.git/hooks/x",
                "deep/.envrc",
                ".vscode/tasks.json",
                ".agents/skills/x/SKILL.md",
                ".agents/notes",
                "AGENTS.md",
                "docs/AGENTS.md",
                "src/main.rs",
                "node_modules/x/.envrc",
            ],
        );
        let found = ProtectedPlaces::of(root.path(), &BTreeSet::new());
        let expected = [
            ".agents/skills",
            ".git/config",
            ".git/hooks",
            ".git/modules/sub/config",
            ".vscode",
            "deep/.envrc",
            "deep/er/.git/hooks",
            "docs/AGENTS.md",
            "sub/.git",
        ];
        assert_eq!(names(&found), expected);
        assert!(found.is_complete());
        let less = ProtectedPlaces::of(
            root.path(),
            &[".git/hooks".to_owned(), ".vscode".to_owned()].into(),
        );
        assert!(!names(&less).contains(&".git/hooks") && !names(&less).contains(&".vscode"));
        assert!(names(&less).contains(&".git/config"));
    }

    #[test]
    fn new_changed_and_moved_places_are_reported_once() {
        let root = tempfile::tempdir().expect("a folder");
        plant(root.path(), &[".git/config", ".git/hooks/a", ".envrc"]);
        let before = ProtectedPlaces::of(root.path(), &BTreeSet::new());
        assert_eq!(before.changes(&before), Vec::<String>::new());
        plant(
            root.path(),
            &[
                "clone/.git/hooks/x",
                "clone/.git/hooks/y",
                ".git/hooks/b",
                "plain",
            ],
        );
        fs::write(root.path().join(".git/config"), "longer").expect("a file");
        fs::rename(root.path().join(".envrc"), root.path().join("moved")).expect("moved");
        let after = ProtectedPlaces::of(root.path(), &BTreeSet::new());
        let said: Vec<String> = before.changes(&after);
        let begins: Vec<&str> = said
            .iter()
            .map(|text| text.split(':').next().expect("text"))
            .collect();
        let expected = [
            ".git/config is changed",
            ".git/hooks/b is new",
            "clone/.git/hooks is new",
            ".envrc is gone or was moved",
        ];
        assert_eq!(begins, expected);
    }

    #[test]
    fn a_link_at_a_protected_place_leaves_the_protection_incomplete() {
        let root = tempfile::tempdir().expect("a folder");
        plant(root.path(), &["elsewhere/x"]);
        std::os::unix::fs::symlink("elsewhere", root.path().join(".vscode")).expect("a link");
        let found = ProtectedPlaces::of(root.path(), &BTreeSet::new());
        assert!(!found.is_complete() && names(&found).is_empty());
    }
}
