//! The folder that commands work in, looked at before anything is made for them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use wakeful_tools::{Workspace, WorkspaceError};

use crate::failure::Failure;
use crate::system::fresh_id;
use wakeful_core::problem::with_causes;

/// A workspace that was looked at.
#[derive(Debug)]
pub(crate) struct WorkspacePath {
    /// Its resolved path.
    pub(crate) text: String,
    /// Removed when this is dropped.
    passing: bool,
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
        Ok(Self { text, passing: false })
    }

    /// An empty folder for work that needs none: a run whose own folder is gone can still be ended.
    pub(crate) fn stand_in(home: &Path) -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(format!("wakeful-{}", fresh_id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            let attempt = format!("cannot make the folder {}", path.display());
            Failure::io(
                "workspace_unusable",
                &attempt,
                &error,
                "set TMPDIR to a folder you may write to",
            )
        })?;
        let looked = Self::look(&path, home).inspect_err(|_| drop(fs::remove_dir(&path)));
        looked.map(|found| Self {
            passing: true,
            text: found.text.clone(),
        })
    }
}

impl Drop for WorkspacePath {
    fn drop(&mut self) {
        if self.passing {
            // It is empty unless somebody else put something there, which is then not ours to remove.
            let _ = fs::remove_dir(&self.text);
        }
    }
}

/// What is wrong with a workspace, in the words of this command line.
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

/// A home that is not there cannot contain the workspace, but the workspace may contain the place for it. Folders
/// are compared as such and not by name.
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
