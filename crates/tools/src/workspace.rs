//! The folder that commands may write to, and its separation from Wakeful's home.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::denied_paths::{DeniedPaths, TooManyDeniedPaths};
use crate::mounts::{Mount, names_of};

/// A workspace and a home that do not overlap. Both paths are absolute, with symlinks resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    path: PathBuf,
    home: PathBuf,
}

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The folder does not exist, or is not a folder.
    #[error("{} cannot be used as a folder", path.display())]
    Unusable {
        /// The path as given.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// One contains the other, so commands could access the home.
    #[error("the workspace {} and the home {} overlap", workspace.display(), home.display())]
    Overlap { workspace: PathBuf, home: PathBuf },
    /// The workspace is inside a path that commands cannot read, such as another home.
    #[error("the workspace {} is inside {}, which commands cannot read", workspace.display(), place.display())]
    InClosedPlace {
        workspace: PathBuf,
        /// The denied path.
        place: PathBuf,
    },
    /// The workspace contains a key file, which commands could read.
    #[error("the workspace {} contains {}, which holds a key", workspace.display(), file.display())]
    KeyFileInside {
        workspace: PathBuf,
        /// The file as named in the configuration.
        file: PathBuf,
    },
    /// More paths must be denied than the sandbox supports.
    #[error("more paths must be denied to commands than the sandbox supports")]
    TooManyClosedPlaces,
    /// The scratch folder is not in the home, so commands could access it.
    #[error("the scratch folder {} is not in the home {}", scratch.display(), home.display())]
    ScratchOutside { scratch: PathBuf, home: PathBuf },
    /// The path is not UTF-8, which the sandbox protocol requires.
    #[error("{} is not UTF-8", path.display())]
    NotText { path: PathBuf },
}

impl WorkspaceError {
    /// The stable error code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "workspace_unusable",
            Self::Overlap { .. } => "workspace_overlaps_home",
            Self::InClosedPlace { .. } => "workspace_in_denied_path",
            Self::KeyFileInside { .. } => "key_file_in_workspace",
            Self::TooManyClosedPlaces => "too_many_denied_paths",
            Self::ScratchOutside { .. } => "scratch_outside_home",
            Self::NotText { .. } => "workspace_not_utf8",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "create the folder, or choose another one",
            Self::Overlap { .. } => "choose a workspace outside the home, or another home",
            Self::InClosedPlace { .. } => {
                "choose a workspace outside the paths that hold credentials or other homes"
            }
            Self::KeyFileInside { .. } => {
                "move the file out of the workspace and set its new path, or choose another workspace"
            }
            Self::TooManyClosedPlaces => "remove homes and copies that are no longer needed",
            Self::ScratchOutside { .. } => "choose a scratch folder inside the home",
            Self::NotText { .. } => "choose a folder whose path is UTF-8",
        }
    }
}

/// The requested working folder, checked before anything is started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Workdir {
    /// In the workspace, and it exists.
    Inside(PathBuf),
    /// In the workspace, as far as can be determined, but it does not exist yet.
    Missing(PathBuf),
    /// Outside the workspace.
    Outside,
}

impl Workspace {
    /// Resolves both folders and refuses them if one contains the other.
    ///
    /// Folders are compared by device and inode and not by name, and the home by all its paths, so that a
    /// bind mount of it is found too.
    pub fn new(home: &Path, workspace: &Path) -> Result<Self, WorkspaceError> {
        let (home, workspace) = (resolve(home)?, resolve(workspace)?);
        let mounts = Mount::all().map_err(|source| WorkspaceError::Unusable {
            path: home.clone(),
            source,
        })?;
        let mounted_inside = names_of(&home, &mounts)
            .iter()
            .any(|name| name.starts_with(&workspace));
        if mounted_inside || contains(&home, &workspace)? || contains(&workspace, &home)? {
            return Err(WorkspaceError::Overlap { workspace, home });
        }
        Ok(Self {
            path: workspace,
            home,
        })
    }

    /// Looks up the denied paths. Refuses a workspace that is inside one, or that contains a key file.
    pub fn closed_places(&self, closed: &DeniedPaths) -> Result<Vec<PathBuf>, WorkspaceError> {
        let workspace = || self.path.clone();
        if let Some(file) = closed.key_file_in(&self.path) {
            return Err(WorkspaceError::KeyFileInside {
                workspace: workspace(),
                file: file.to_owned(),
            });
        }
        let places = closed.existing(&self.home);
        let places = places.map_err(|TooManyDeniedPaths| WorkspaceError::TooManyClosedPlaces)?;
        match places.iter().find(|place| self.path.starts_with(place)) {
            Some(place) => Err(WorkspaceError::InClosedPlace {
                workspace: workspace(),
                place: place.clone(),
            }),
            None => Ok(places),
        }
    }

    /// The resolved workspace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Finds the requested working folder. A missing folder is distinguished from one outside, because an
    /// earlier action of the same plan may be about to create it.
    pub(crate) fn workdir(&self, wanted: Option<&str>) -> Workdir {
        let path = self.path.join(wanted.unwrap_or("."));
        match path.canonicalize() {
            Ok(found) if !found.starts_with(&self.path) => Workdir::Outside,
            Ok(found) if found.is_dir() => Workdir::Inside(found),
            Ok(found) => Workdir::Missing(found),
            Err(_) if self.may_become_inside(&path) => Workdir::Missing(path),
            Err(_) => Workdir::Outside,
        }
    }

    /// Whether the existing part of a path is in the workspace and the missing part cannot lead out of it.
    fn may_become_inside(&self, path: &Path) -> bool {
        // A symlink without a target does not resolve but exists, so it ends the search as well.
        let exists = |candidate: &&Path| candidate.symlink_metadata().is_ok();
        let Some(there) = path.ancestors().find(exists) else {
            return false;
        };
        let rest = path.strip_prefix(there).unwrap_or(path);
        let straight = rest
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let inside = there
            .canonicalize()
            .is_ok_and(|found| found.starts_with(&self.path));
        // If the workspace itself is gone, nothing can be resolved, so the paths are compared by name.
        let gone = self.path.starts_with(there) && path.starts_with(&self.path);
        straight && (inside || gone)
    }
}

fn resolve(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let unusable = |source| WorkspaceError::Unusable {
        path: path.to_owned(),
        source,
    };
    let found = path.canonicalize().map_err(unusable)?;
    if !found.is_dir() {
        return Err(unusable(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    if found.to_str().is_none() {
        return Err(WorkspaceError::NotText { path: found });
    }
    Ok(found)
}

fn contains(outer: &Path, inner: &Path) -> Result<bool, WorkspaceError> {
    let name = |path: &Path| {
        let found = fs::metadata(path).map_err(|source| WorkspaceError::Unusable {
            path: path.to_owned(),
            source,
        });
        found.map(|found| (found.dev(), found.ino()))
    };
    let wanted = name(outer)?;
    for ancestor in inner.ancestors() {
        if name(ancestor)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}
