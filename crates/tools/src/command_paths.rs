//! Which files one command may read and write: those of the system, its own folders, and what the agent's
//! sandbox settings and the verdict on the call add.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wakeful_core::policy::{PathAccess, Target};
use wakeful_core::step::ToolError;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use crate::agent_folder::AgentFolder;
use crate::options::ToolsOptions;
use crate::path_refusal::PathRefusals;
use crate::protected_places::ProtectedPlaces;
use crate::workspace::Workspace;
use crate::worktree::placeholder::Placeholder;
use crate::worktree::{LinkedRepository, SharedFolder};
use crate::{system_paths, trusted_path, worktree};

/// The paths of one command. All are absolute, with links resolved.
#[derive(Debug)]
pub(crate) struct CommandPaths {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    /// Neither, even inside one of the others.
    pub(crate) closed: Vec<PathBuf>,
    /// Files and folders inside the writable folders that may only be read.
    pub(crate) read_only: Vec<PathBuf>,
    /// The folder of a repository in which Git creates files, if mounts protect everything else in it.
    pub(crate) shared: Option<SharedFolder>,
    placeholders: Vec<Placeholder>,
    /// None if the workspace cannot be written.
    pub(crate) protected: Option<ProtectedPlaces>,
}

impl CommandPaths {
    /// Whether the protected places include everything that must be protected.
    pub(crate) fn is_protection_complete(&self) -> bool {
        self.protected.as_ref().is_none_or(ProtectedPlaces::is_complete)
    }

    /// The variables with settings of Git that its folders need.
    pub(crate) fn git_variables(&self) -> Vec<(String, String)> {
        match self.shared {
            Some(_) => worktree::variables().into(),
            None => Vec::new(),
        }
    }

    /// What to examine after the command.
    pub(crate) fn aftermath(
        &mut self,
        workspace: &Path,
        act: &ToolRequest,
        folder: AgentFolder,
    ) -> Aftermath {
        Aftermath {
            folder,
            refusals: PathRefusals::of(self, workspace, act),
            protected: self.protected.take(),
            unprotected: act.scope.unprotected_paths.clone(),
            placeholders: std::mem::take(&mut self.placeholders),
        }
    }
}

/// What is examined after a command.
#[derive(Debug)]
pub(crate) struct Aftermath {
    folder: AgentFolder,
    /// The protected places before the command; none if it cannot write to the workspace.
    protected: Option<ProtectedPlaces>,
    unprotected: BTreeSet<String>,
    /// What must exist as long as the command runs.
    placeholders: Vec<Placeholder>,
    /// What its output is compared with.
    refusals: PathRefusals,
}

impl Aftermath {
    /// What the command left behind that a person or the model should know.
    pub(crate) fn findings(self, done: &ToolOutcome, workspace: &Path, written_bytes: u64) -> Vec<String> {
        drop(self.placeholders);
        let changes = self.protected.map(|before| {
            let after = ProtectedPlaces::of(workspace, &self.unprotected);
            before.changes(&after)
        });
        let mut findings = self.refusals.findings(done);
        findings.extend(changes.unwrap_or_default());
        findings.extend(self.folder.bound(written_bytes));
        findings
    }
}

impl CommandPaths {
    /// The paths of a call, with a temporary folder and the folder that is its `HOME`.
    pub(crate) fn of(
        options: &ToolsOptions,
        workspace: &Workspace,
        act: &ToolRequest,
        [temporary, home]: [&Path; 2],
    ) -> Result<Self, ToolError> {
        let closed = workspace.closed_places(&options.closed);
        let mut closed =
            closed.map_err(|error| ToolError::new(error.code(), &error.to_string(), error.hint()))?;
        let scope = ResolvedScope::of(options, workspace, act);
        if let Some(path) = scope
            .denied
            .iter()
            .find(|path| workspace.path().starts_with(path))
        {
            return Err(not_possible("denied_paths", path, "contains the workspace"));
        }
        closed.extend(scope.denied);
        let is_denied = |path: &PathBuf| closed.iter().any(|place| path.starts_with(place));
        let (mut readable, mut granted) = (scope.readable, scope.writable);
        readable.retain(|path| !is_denied(path));
        granted.retain(|path| !is_denied(path));
        if let Some(path) = granted.iter().find(|path| workspace.home().starts_with(path)) {
            return Err(not_possible("writable_paths", path, "contains Wakeful's home"));
        }
        let mut writable = vec![temporary.to_owned()];
        writable.extend((home != temporary).then(|| home.to_owned()));
        let (mut protected, mut shared, mut placeholders) = (None, None, None);
        let mut read_only = Vec::new();
        if act.is_read_only {
            readable.push(workspace.path().to_owned());
            readable.extend(granted);
        } else {
            let places = ProtectedPlaces::of(workspace.path(), &act.scope.unprotected_paths);
            read_only.extend(places.paths(workspace.path()));
            protected = Some(places);
            // First, because what was left in it is examined after the command.
            writable.insert(0, workspace.path().to_owned());
            writable.extend(granted);
        }
        if let Some(repository) =
            LinkedRepository::of(workspace.path()).filter(|found| !is_denied(&found.common))
        {
            if !act.is_read_only && !options.pretend.no_namespaces {
                (shared, placeholders) = repository.shared_folder().unzip();
            }
            readable.push(repository.common);
            if !act.is_read_only {
                writable.extend(repository.writable);
                read_only.extend(repository.read_only);
            }
        }
        readable.extend(system_paths::readable(&options.environment, &writable));
        Ok(Self {
            readable,
            writable,
            closed,
            read_only,
            shared,
            placeholders: placeholders.unwrap_or_default(),
            protected,
        })
    }
}

/// The paths of an agent's sandbox settings and of a verdict, with placeholders and links resolved. A path that
/// does not exist allows nothing.
struct ResolvedScope {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    denied: Vec<PathBuf>,
}

impl ResolvedScope {
    fn of(options: &ToolsOptions, workspace: &Workspace, act: &ToolRequest) -> Self {
        let user = system_paths::user_folder(&options.environment);
        let user = user.as_deref().and_then(Path::to_str).unwrap_or_default();
        let scope = act.scope.resolved(&act.agent_id, user);
        let existing = |path: &String| Path::new(path).canonicalize().ok();
        let granted = |wanted: PathAccess| {
            act.grant.targets.iter().filter_map(move |target| match target {
                Target::Path { path, access, .. } if *access == wanted => Some(path),
                Target::Path { .. } | Target::Host { .. } | Target::Agent { .. } | Target::Secret { .. } => {
                    None
                }
            })
        };
        let writes = || scope.writable_paths.iter().chain(granted(PathAccess::Write));
        // What commands can write to; the home contains their private folders.
        let mut writable: Vec<PathBuf> = writes().filter_map(existing).collect();
        writable.extend([workspace.path().to_owned(), workspace.home().to_owned()]);
        let trusted = |path: &String| {
            let found = trusted_path::resolve(Path::new(path), &writable)?;
            (found != workspace.path() && found != workspace.home()).then_some(found)
        };
        let reads = scope.readable_paths.iter().chain(granted(PathAccess::Read));
        Self {
            readable: reads.filter_map(trusted).collect(),
            writable: writes().filter_map(trusted).collect(),
            denied: scope.denied_paths.iter().filter_map(existing).collect(),
        }
    }
}

fn not_possible(field: &str, path: &Path, why: &str) -> ToolError {
    ToolError::new(
        "sandbox_path_unusable",
        &format!("sandbox.{field}: {} {why}", path.display()),
        "a person must change this entry with `wakeful agent set`",
    )
}
