//! The places of a workspace that programs outside the sandbox execute or obey later, such as Git hooks. A
//! write to one of them is judged differently from a write to an ordinary file.
//!
//! Names are compared without regard to case and to characters that some file systems ignore, because a
//! workspace may be on one of them: `.GIT/Hooks` then is the same folder. Elsewhere a harmless file is
//! protected too, which costs one question.

use std::collections::BTreeSet;

/// The protected files and folders, as paths below any folder of the workspace. What is in a protected folder
/// is protected too.
pub const PROTECTED_PATHS: &[&str] = &[
    // Git runs hooks, and its settings name programs. The others lead to settings elsewhere.
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    // Shells, editors and tools run these when a person enters or opens the folder.
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".mcp.json",
    // Agents obey these.
    "AGENTS.md",
    "CLAUDE.md",
    ".agents/skills",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
];

/// The folders of a repository that hold other repositories or worktrees with settings of their own.
const NESTED_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];

/// The folder, or for a submodule or worktree the file, that makes a folder a repository.
const REPOSITORY: &str = ".git";

/// Whether a path is a protected place or is in one. It is relative to the workspace, with `/` between its
/// components, and has no `..`.
#[must_use]
pub fn is_protected(path: &str) -> bool {
    let parts = components(path);
    // A file in place of the repository's folder leads to settings elsewhere.
    if parts.last().is_some_and(|last| last == REPOSITORY) {
        return true;
    }
    (0..parts.len()).any(|start| {
        let below = parts.get(start..).unwrap_or_default();
        is_protected_place(below) || is_in_nested_repository(below)
    })
}

/// Whether a path is protected and none of these paths, or a folder that contains it. The paths are relative to the
/// workspace as well.
#[must_use]
pub fn is_protected_unless(path: &str, unprotected: &BTreeSet<String>) -> bool {
    let parts = components(path);
    let is_excepted = |excepted: &String| {
        let excepted = components(excepted);
        !excepted.is_empty() && parts.starts_with(&excepted)
    };
    is_protected(path) && !unprotected.iter().any(is_excepted)
}

fn is_protected_place(parts: &[String]) -> bool {
    PROTECTED_PATHS
        .iter()
        .any(|place| parts.starts_with(&components(place)))
}

/// Whether the path is in the settings of a submodule or a worktree, which are below the repository's folder.
fn is_in_nested_repository(parts: &[String]) -> bool {
    let [repository, kind, rest @ ..] = parts else {
        return false;
    };
    let settings = PROTECTED_PATHS
        .iter()
        .filter_map(|place| place.strip_prefix(".git/"));
    let mut settings = settings.map(components);
    repository == REPOSITORY
        && NESTED_REPOSITORIES.contains(&kind.as_str())
        && settings
            .any(|place| (0..rest.len()).any(|at| rest.get(at..).unwrap_or_default().starts_with(&place)))
}

/// The components of a path, folded.
fn components(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.map(fold).collect()
}

/// The name as a file system that compares names loosely reads it: without regard to case, without invisible
/// characters, and without dots and spaces at its end.
fn fold(name: &str) -> String {
    let visible = name.chars().filter(|c| !is_ignored(*c));
    // Upper case first, because a few characters have a common upper case only: the long s and s.
    let folded: String = visible
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    let end = folded.trim_end_matches(['.', ' ']).len();
    // The names that FAT and NTFS give to `.git` for old programs.
    match folded.get(..end).unwrap_or_default() {
        "git~1" => REPOSITORY.to_owned(),
        folded => folded.to_owned(),
    }
}

/// Characters that HFS+ ignores in names.
const fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_protected_in_every_spelling_and_at_every_depth() {
        for path in [
            ".git",
            "a/.git",
            ".git/hooks",
            ".git/hooks/pre-commit",
            "a/b/.git/config",
            ".GIT/Hooks/pre-push",
            ".g\u{200c}it/config",
            ".git./hooks",
            "git~1/config",
            "./.git//config",
            ".git/modules/sub/hooks/x",
            ".git/modules/a/modules/b/config",
            ".git/worktrees/w/config.worktree",
            ".envrc",
            "app/.ENVRC",
            ".v\u{17f}code/tasks.json",
            ".vscode",
            "agents.md",
            "docs/AGENTS.md",
            ".agents/skills/x/SKILL.md",
        ] {
            assert!(is_protected(path), "{path:?}");
        }
        for path in [
            "",
            "src/main.rs",
            ".gitignore",
            ".github/workflows/ci.yml",
            ".git/index",
            ".git/refs/heads/config",
            ".git/objects/hooks",
            ".git/modules/sub/index",
            "hooks/pre-commit",
            "config",
            "AGENTS.md.bak",
            "envrc",
        ] {
            assert!(!is_protected(path), "{path:?}");
        }
    }

    #[test]
    fn an_exception_applies_to_its_path_and_what_is_below() {
        let unprotected = [".git/hooks".to_owned(), "./".to_owned()].into();
        assert!(!is_protected_unless(".git/hooks/pre-commit", &unprotected));
        assert!(!is_protected_unless(".GIT/hooks", &unprotected));
        for path in ["a/.git/hooks", ".git/config", ".git"] {
            assert!(is_protected_unless(path, &unprotected), "{path:?}");
        }
    }

    proptest! {
        /// For all folders and spellings, a place stays protected below them.
        #[test]
        fn a_place_is_protected_below_every_folder(folders in "([a-z.]{1,6}/){0,4}", place in 0..PROTECTED_PATHS.len()) {
            let place = PROTECTED_PATHS[place];
            let (as_is, upper) = (format!("{folders}{place}"), format!("{folders}{}/x", place.to_uppercase()));
            prop_assert!(is_protected(&as_is));
            prop_assert!(is_protected(&upper));
        }
    }
}
