//! Where a path of a call leads, and whether the call may go there.
//!
//! A path is judged after its symlinks are resolved. The same rules apply when the facts are extracted for the
//! policy and again when the action is performed, because a command may have changed the folders in between.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use wakeful_core::policy::{DENIED_PATH, OUTSIDE_WORKSPACE, PROTECTED_PATH, PathAccess, PathScope, Target};
use wakeful_core::protected_path::is_protected_unless;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::ToolError;
use wakeful_ports::tool::CallGrant;

use super::fault::{fault, named};
use crate::denied_paths::{DeniedPaths, NamePattern};
use crate::mounts::{Mount, names_of};
use crate::workspace::Workspace;

/// Longest path of a call: `PATH_MAX` of the kernel.
const PATH_BYTES_MAX: usize = 4_096;

/// The folders that file tools may reach, and the paths that they never reach.
#[derive(Debug)]
pub(crate) struct Reach {
    workspace: PathBuf,
    /// The home under all its names, credentials, and what the agent's settings deny.
    denied: Vec<PathBuf>,
    /// Credentials that may not exist yet.
    denied_names: Vec<NamePattern>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    unprotected: BTreeSet<String>,
}

/// A path of a call, resolved and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The folder from which the kernel resolves the rest.
    pub(super) root: PathBuf,
    /// The path beneath the root, without symlinks as far as it exists.
    pub(super) relative: PathBuf,
    /// The whole path.
    pub(super) absolute: String,
    /// The path as results show it: relative to the workspace if it is in there.
    pub(super) shown: String,
    pub(super) access: PathAccess,
    pub(super) scope: PathScope,
}

impl Reach {
    /// Looks up the denied paths, which may change while the daemon runs.
    pub(crate) fn new(
        workspace: &Workspace,
        closed: &DeniedPaths,
        scope: &SandboxScope,
    ) -> Result<Self, ToolError> {
        let mut denied = workspace
            .closed_places(closed)
            .map_err(|error| ToolError::new(error.code(), &error.to_string(), error.hint()))?;
        let mounts = Mount::all().map_err(|error| {
            let message = format!("the mount table cannot be read: {error}");
            ToolError::new(
                "mounts_unreadable",
                &message,
                "a person must make /proc available",
            )
        })?;
        denied.extend(names_of(workspace.home(), &mounts));
        let resolved = |list: &BTreeSet<String>| -> Vec<PathBuf> {
            let paths = list.iter().map(Path::new).filter(|path| path.is_absolute());
            paths.filter_map(|path| path.canonicalize().ok()).collect()
        };
        // A denied path that does not exist yet is denied under its own name.
        denied.extend(scope.denied_paths.iter().map(PathBuf::from));
        denied.extend(resolved(&scope.denied_paths));
        Ok(Self {
            workspace: workspace.path().to_owned(),
            denied,
            denied_names: closed.named(),
            readable: resolved(&scope.readable_paths),
            writable: resolved(&scope.writable_paths),
            unprotected: scope.unprotected_paths.clone(),
        })
    }

    /// Resolves and judges the path in a field of a call.
    pub(crate) fn locate(&self, field: &str, path: &str, access: PathAccess) -> Result<Location, ToolError> {
        check_text(field, path)?;
        let found =
            resolve_missing(&self.workspace.join(path)).map_err(|error| unresolvable(field, path, &error))?;
        let Some(absolute) = found.to_str().map(str::to_owned) else {
            let message = format!("{path} leads to a path that is not UTF-8");
            return Err(named(
                field,
                fault("path_not_utf8", &message, "rename it, or use ExecCommand"),
            ));
        };
        let (root, scope) = self.judge(&found, access);
        let relative = found.strip_prefix(&root).unwrap_or(&found).to_owned();
        let shown = match found.strip_prefix(&self.workspace) {
            Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
            Ok(inner) => inner.to_string_lossy().into_owned(),
            Err(_) => absolute.clone(),
        };
        Ok(Location {
            root,
            relative,
            absolute,
            shown,
            access,
            scope,
        })
    }

    /// The root of a resolved path, and its scope.
    fn judge(&self, path: &Path, access: PathAccess) -> (PathBuf, PathScope) {
        let writable = std::iter::once(&self.workspace).chain(&self.writable);
        let granted = writable.chain(self.readable.iter().filter(|_| access == PathAccess::Read));
        let root = granted.into_iter().find(|root| path.starts_with(root));
        let scope = match root {
            _ if self.denial_of(path).is_some() => PathScope::Denied,
            Some(root) if access == PathAccess::Write && self.is_protected(path, root) => {
                PathScope::Protected
            }
            Some(root) if *root == self.workspace => PathScope::Workspace,
            Some(_) => PathScope::Granted,
            None => PathScope::Outside,
        };
        (root.cloned().unwrap_or_else(|| PathBuf::from("/")), scope)
    }

    /// The scope of a resolved path.
    pub(super) fn scope(&self, path: &Path, access: PathAccess) -> PathScope {
        self.judge(path, access).1
    }

    /// Why a location is denied; none if it is not.
    pub(crate) fn denial(&self, location: &Location) -> Option<String> {
        let entry = self.denial_of(Path::new(&location.absolute))?;
        Some(format!(
            "{} is excluded by the denied path {:?}",
            location.absolute, entry
        ))
    }

    /// The entry that denies a resolved path.
    fn denial_of(&self, path: &Path) -> Option<String> {
        let existing = self.denied.iter().find(|denied| path.starts_with(denied));
        let named = || self.denied_names.iter().find(|name| name.contains(path));
        existing
            .map(|entry| entry.display().to_string())
            .or_else(|| named().map(NamePattern::to_string))
    }

    fn is_protected(&self, path: &Path, root: &Path) -> bool {
        let inner = path.strip_prefix(root).unwrap_or(path);
        is_protected_unless(&inner.to_string_lossy(), &self.unprotected)
    }
}

impl Location {
    /// The path as a fact for policies.
    pub(crate) fn target(&self) -> Target {
        Target::Path {
            path: self.absolute.clone(),
            access: self.access,
            scope: self.scope,
        }
    }

    /// Refuses a path that is neither within the tools' own scope nor granted for this call. A call whose targets
    /// were judged may reach only these: a link may have been changed since.
    pub(crate) fn check(&self, field: &str, grant: &CallGrant) -> Result<(), ToolError> {
        let is_granted = grant.targets.contains(&self.target());
        let (kind, message, hint) = match self.scope {
            PathScope::Denied => (
                DENIED_PATH,
                format!(
                    "{} holds credentials or Wakeful's own data, or is on the deny list",
                    self.shown
                ),
                "do without it; no permission applies to it",
            ),
            PathScope::Workspace
            | PathScope::Temporary
            | PathScope::Granted
            | PathScope::Protected
            | PathScope::Outside
                if is_granted =>
            {
                return Ok(());
            }
            PathScope::Workspace | PathScope::Temporary | PathScope::Granted if !grant.is_judged => {
                return Ok(());
            }
            PathScope::Workspace | PathScope::Temporary | PathScope::Granted => (
                "path_changed",
                format!(
                    "{} leads to another place than when the call was judged",
                    self.shown
                ),
                "try again when no other program changes its folders",
            ),
            PathScope::Protected => (
                PROTECTED_PATH,
                format!("{} is run or obeyed by programs outside the sandbox", self.shown),
                "a person can permit it with the agent's setting sandbox.unprotected_paths",
            ),
            PathScope::Outside => (
                OUTSIDE_WORKSPACE,
                format!("{} is outside the workspace", self.shown),
                "use a path in the workspace, relative to it",
            ),
        };
        Err(named(field, fault(kind, &message, hint)))
    }
}

fn check_text(field: &str, path: &str) -> Result<(), ToolError> {
    let problem = if path.is_empty() {
        "the path is empty"
    } else if path.len() > PATH_BYTES_MAX {
        "the path is longer than 4096 bytes"
    } else if path.contains('\0') {
        "the path contains a zero byte"
    } else {
        return Ok(());
    };
    let hint = "use a path relative to the workspace";
    Err(named(field, fault("invalid_arguments", problem, hint)))
}

fn unresolvable(field: &str, path: &str, error: &io::Error) -> ToolError {
    let message = format!("{path} cannot be resolved: {error}");
    let hint = "check the path with ListFiles; it may pass through a file or a link without a target";
    named(field, fault("path_unresolvable", &message, hint))
}

/// Resolves the symlinks of a path as far as it exists. The rest must be plain names.
pub(crate) fn resolve_missing(path: &Path) -> io::Result<PathBuf> {
    let error = match path.canonicalize() {
        Ok(found) => return Ok(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => error,
        Err(error) => return Err(error),
    };
    // A symlink without a target exists, so it ends the search and is refused.
    let exists = |candidate: &&Path| candidate.symlink_metadata().is_ok();
    let Some(there) = path.ancestors().find(exists) else {
        return Err(error);
    };
    let rest = path.strip_prefix(there).unwrap_or(path);
    if !rest
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return Err(error);
    }
    let mut found = there.canonicalize()?;
    found.extend(
        rest.components()
            .filter(|part| matches!(part, Component::Normal(_))),
    );
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judged_call_reaches_only_the_judged_places() {
        let location = |path: &str, scope| Location {
            root: PathBuf::from("/work"),
            relative: PathBuf::from(path),
            absolute: format!("/work/{path}"),
            shown: path.to_owned(),
            access: PathAccess::Write,
            scope,
        };
        let judged = CallGrant::judged(vec![location("allowed", PathScope::Workspace).target()]);
        let refused = |path: &str, scope, grant: &CallGrant| {
            location(path, scope)
                .check("path", grant)
                .err()
                .map(|error| error.kind)
        };
        assert_eq!(refused("allowed", PathScope::Workspace, &judged), None);
        let elsewhere = refused("private", PathScope::Workspace, &judged);
        assert_eq!(elsewhere.as_deref(), Some("path_changed"));
        let nothing = CallGrant::judged(Vec::new());
        let withdrawn = refused("allowed", PathScope::Workspace, &nothing);
        assert_eq!(withdrawn.as_deref(), Some("path_changed"));
        assert_eq!(
            refused("private", PathScope::Workspace, &CallGrant::default()),
            None
        );
        let outside = refused("../x", PathScope::Outside, &judged);
        assert_eq!(outside.as_deref(), Some(OUTSIDE_WORKSPACE));
    }
}
