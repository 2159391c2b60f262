//! Checks the paths of a sandbox scope. A path that the sandbox cannot enforce exactly is refused when it is set,
//! because it would only seem to have an effect.

use super::{AGENT_ID_PLACEHOLDER, SandboxScope};
use crate::id::AgentId;
use crate::protected_path::is_protected;

/// The beginning of a path below the folder of the user that Wakeful runs as.
const BELOW_USER: &str = "~/";

/// Characters that mean a pattern elsewhere. A file name may contain them, but an entry with one is more
/// likely meant as a pattern, which the sandbox does not know.
const PATTERN: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// What is wrong with a path.
pub(super) struct PathProblem {
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
}

const fn problem(message: &'static str, hint: &'static str) -> Result<(), PathProblem> {
    Err(PathProblem { message, hint })
}

/// Checks a path that is absolute or below the user's folder.
pub(super) fn check(path: &str) -> Result<(), PathProblem> {
    let Some(below) = path.strip_prefix(BELOW_USER).or_else(|| path.strip_prefix('/')) else {
        return problem("is not absolute", "begin the path with / or ~/");
    };
    check_parts(below)?;
    match path.trim_end_matches('/') {
        "" => problem("is the whole file system", "name the folders that are needed"),
        "~" => problem("is the user's whole folder", "name the folders that are needed"),
        _ => Ok(()),
    }
}

/// Checks a path that is relative to the workspace.
pub(super) fn check_inside(path: &str) -> Result<(), PathProblem> {
    if path.starts_with(['/', '~']) {
        return problem(
            "is not relative to the workspace",
            "use a path such as .git/hooks",
        );
    }
    check_parts(path)?;
    if path.split('/').all(|part| part.is_empty() || part == ".") {
        return problem(
            "is the whole workspace",
            "name the protected places, such as .git/hooks",
        );
    }
    match is_protected(path) {
        true => Ok(()),
        false => problem(
            "is not a protected place, so it needs no exception",
            "name a protected place, such as .git/hooks or docs/AGENTS.md",
        ),
    }
}

fn check_parts(path: &str) -> Result<(), PathProblem> {
    if path.split('/').any(|part| part == "..") {
        return problem("contains ..", "write the path without ..");
    }
    if path.replace(AGENT_ID_PLACEHOLDER, "").contains(PATTERN) {
        return problem(
            "contains a pattern",
            "name a folder, which includes everything in it; only {agentId} is replaced",
        );
    }
    Ok(())
}

impl SandboxScope {
    /// The scope with the placeholders of its paths replaced. Without a user's folder, paths below it are
    /// dropped.
    #[must_use]
    pub fn resolved(&self, agent_id: &AgentId, user_folder: &str) -> Self {
        let placed = self.with_paths(|path| Some(path.replace(AGENT_ID_PLACEHOLDER, agent_id.as_str())));
        placed.below_user(user_folder)
    }

    /// The scope with the user's folder in its paths. Without one, paths below it are dropped.
    #[must_use]
    pub fn below_user(&self, user_folder: &str) -> Self {
        self.with_paths(|path| match path.strip_prefix(BELOW_USER) {
            Some(_) if user_folder.is_empty() => None,
            Some(below) => Some(format!("{}/{below}", user_folder.trim_end_matches('/'))),
            None => Some(path.clone()),
        })
    }

    fn with_paths(&self, change: impl Fn(&String) -> Option<String>) -> Self {
        Self {
            readable_paths: self.readable_paths.iter().filter_map(&change).collect(),
            writable_paths: self.writable_paths.iter().filter_map(&change).collect(),
            denied_paths: self.denied_paths.iter().filter_map(&change).collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: A-176
    #[test]
    fn a_path_that_the_sandbox_cannot_enforce_is_refused_by_name() {
        for (path, part) in [
            ("relative", "is not absolute"),
            ("~other/x", "is not absolute"),
            ("/a/../b", "contains .."),
            ("/a/*.rs", "contains a pattern"),
            ("/a/{b,c}", "contains a pattern"),
            ("/", "whole file system"),
            ("//", "whole file system"),
            ("~/", "whole folder"),
        ] {
            let scope = SandboxScope {
                writable_paths: [path.to_owned()].into(),
                ..SandboxScope::default()
            };
            let problem = scope.check_bounds().expect_err("refused");
            let message = problem.message;
            assert!(
                message.starts_with("sandbox.writable_paths")
                    && message.contains(path)
                    && message.contains(part),
                "{message}"
            );
        }
        for path in ["/srv/data", "~/notes", "/srv/{agentId}/out", "/a/..b"] {
            assert!(check(path).is_ok(), "{path}");
        }
        for path in ["/abs", "~/x", "../x", "", ".", ".git/*"] {
            assert!(check_inside(path).is_err(), "{path:?}");
        }
        for path in ["foo", "src/main.rs", "vendor"] {
            assert!(check_inside(path).is_err(), "{path:?}");
        }
        for path in [".git/hooks", "docs/AGENTS.md", ".vscode/tasks.json"] {
            assert!(check_inside(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn placeholders_are_replaced() {
        let scope = SandboxScope {
            readable_paths: ["~/n/{agentId}".to_owned()].into(),
            writable_paths: ["/w".to_owned()].into(),
            ..SandboxScope::default()
        };
        let agent = AgentId::parse("main").expect("an id");
        let found = scope.resolved(&agent, "/home/ann");
        assert_eq!(found.readable_paths, ["/home/ann/n/main".to_owned()].into());
        assert_eq!(found.writable_paths, scope.writable_paths);
        assert!(scope.resolved(&agent, "").readable_paths.is_empty());
    }
}
