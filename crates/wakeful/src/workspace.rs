//! The folder in which commands work, checked before anything is created for them.

use std::fs;
use std::io::IsTerminal as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use wakeful_tools::snapshot::{GitSnapshots, find_git};
use wakeful_tools::{Workspace, WorkspaceError};

use crate::cli::confirm::is_affirmed;
use crate::config::Settings;
use crate::denied_paths::places;
use crate::failure::Failure;
use crate::system::fresh_id;
use wakeful_core::problem::with_causes;

/// The folder that is offered as a workspace if the current one cannot be used.
pub(crate) const OTHER_FOLDER: &str = "wakeful-work";

/// The code of a workspace that overlaps the home.
const OVERLAP: &str = "workspace_overlaps_home";

/// The snapshots of workspaces in a home.
pub(crate) fn snapshots(home: &Path) -> GitSnapshots {
    // Read here and nowhere else, because the search path is configuration.
    GitSnapshots::new(home, find_git(std::env::var_os("PATH").as_deref()))
}

/// A workspace that was checked.
#[derive(Debug)]
pub(crate) struct WorkspacePath {
    pub(crate) text: String,
    /// Whether the folder is removed when this is dropped.
    is_temporary: bool,
}

impl WorkspacePath {
    /// Resolves a workspace and refuses one that overlaps the home, which need not exist yet.
    pub(crate) fn look(path: &Path, home: &Path) -> Result<Self, Failure> {
        let workspace = if home.is_dir() {
            Workspace::new(home, path).map(|found| found.path().to_owned())
        } else {
            beside_intended(path, home)
        };
        let workspace = workspace.map_err(|error| explain(&error))?;
        let text = workspace.into_os_string().into_string();
        let text = text.map_err(|path| explain(&WorkspaceError::NotText { path: path.into() }))?;
        Ok(Self {
            text,
            is_temporary: false,
        })
    }

    /// Refuses a workspace that is inside a path that commands must not read, or that contains a key file: no
    /// command could start there.
    pub(crate) fn refuse_denied(&self, home: &Path, config: &Settings) -> Result<(), Failure> {
        let workspace = Workspace::new(home, Path::new(&self.text));
        let checked = workspace.and_then(|found| found.closed_places(&places(config)));
        checked.map(drop).map_err(|error| explain(&error).into_usage())
    }

    /// A folder for commands if the current folder contains the home: `~/wakeful-work`, created after the
    /// person agrees. `None` if the current folder can be used, or has another problem.
    pub(crate) fn offer_other(home: &Path) -> Result<Option<PathBuf>, Failure> {
        let Err(failure) = Self::look(Path::new("."), home) else {
            return Ok(None);
        };
        let folder = std::env::home_dir().map(|own| own.join(OTHER_FOLDER));
        let Some(folder) = folder.filter(|_| failure.code() == OVERLAP) else {
            return Ok(None);
        };
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let question = format!(
            "This folder contains the home of Wakeful, which commands must not read. Work in {} instead?",
            folder.display()
        );
        if !terminal || !is_affirmed(&question) {
            let hint = format!(
                "run it in a project folder, such as: mkdir -p ~/{OTHER_FOLDER} && cd ~/{OTHER_FOLDER}"
            );
            return Err(failure.with_hint(hint).into_usage());
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| {
            let attempt = format!("cannot create the folder {}", folder.display());
            Failure::io(
                "workspace_unusable",
                &attempt,
                &error,
                "choose another with --workspace DIR",
            )
        })?;
        Ok(Some(folder))
    }

    /// An empty folder for work that needs no workspace: a run whose own folder is missing can still be
    /// ended.
    pub(crate) fn stand_in(home: &Path) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("wakeful-{}", fresh_id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            let attempt = format!("cannot create the folder {}", path.display());
            Failure::io(
                "workspace_unusable",
                &attempt,
                &error,
                "set TMPDIR to a folder you can write to",
            )
        })?;
        let looked = Self::look(&path, home).inspect_err(|_| drop(fs::remove_dir(&path)));
        looked.map(|found| Self {
            is_temporary: true,
            text: found.text.clone(),
        })
    }
}

impl Drop for WorkspacePath {
    fn drop(&mut self) {
        if self.is_temporary {
            // It is empty unless another process put something there, which must not be removed.
            let _ = fs::remove_dir(&self.text);
        }
    }
}

/// Converts a workspace error into a failure of the command line.
pub(crate) fn explain(error: &WorkspaceError) -> Failure {
    let hint = match error {
        WorkspaceError::Overlap { .. } => "run it in a project folder, or give --workspace DIR",
        WorkspaceError::InClosedPlace { .. }
        | WorkspaceError::KeyFileInside { .. }
        | WorkspaceError::TooManyClosedPlaces
        | WorkspaceError::Unusable { .. }
        | WorkspaceError::ScratchOutside { .. }
        | WorkspaceError::NotText { .. } => error.hint(),
    };
    Failure::new(error.code(), with_causes(error), hint)
}

/// A home that does not exist cannot contain the workspace, but the workspace may contain its future path.
/// Folders are compared by identity and not by name.
fn beside_intended(path: &Path, home: &Path) -> Result<PathBuf, WorkspaceError> {
    let unusable = |source| WorkspaceError::Unusable {
        path: path.to_owned(),
        source,
    };
    let workspace = path.canonicalize().map_err(unusable)?;
    let found = fs::metadata(&workspace).map_err(unusable)?;
    if !found.is_dir() {
        return Err(unusable(std::io::ErrorKind::NotADirectory.into()));
    }
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let there = home
        .ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok())
        .unwrap_or_default();
    let same = |ancestor: &Path| {
        fs::metadata(ancestor).is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()))
    };
    if there.ancestors().any(same) {
        return Err(WorkspaceError::Overlap { workspace, home });
    }
    Ok(workspace)
}
