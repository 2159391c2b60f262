//! Records the files at the guidance paths of a workspace and restores them.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid};
use serde::{Deserialize, Serialize};

use super::KINDS;

/// Bytes of a file that are copied: twice what is read as guidance. Beyond that, only the size is compared.
const COPY_BYTES_MAX: u64 = 64 * 1024;

/// A file as it was before a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileCopy {
    bytes: Vec<u8>,
    size: u64,
    mode: u32,
    owner: (u32, u32),
}

/// What exists at a guidance path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PathState {
    Missing,
    File(FileCopy),
    /// A link, and the file of the workspace that is its target.
    Link {
        to: Vec<u8>,
        target: Option<(Vec<u8>, FileCopy)>,
    },
    /// Something that is not read as guidance.
    Other,
}

impl PathState {
    fn at(root: &Path, name: &str) -> Self {
        let path = root.join(name);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Missing,
            Err(_) => return Self::Other,
        };
        if found.is_file() {
            return copy(&path).map_or(Self::Other, Self::File);
        }
        let Ok(to) = fs::read_link(&path) else {
            return Self::Other;
        };
        let target = path.canonicalize().ok().and_then(|real| {
            let inner = real.strip_prefix(root).ok()?.as_os_str().as_bytes().to_vec();
            Some((inner, copy(&real)?))
        });
        Self::Link {
            to: to.into_os_string().into_vec(),
            target,
        }
    }

    /// Whether guidance reads the same from the current state. A new entry without text is a change as
    /// well: a link without a target may get one later.
    fn is_still(&self, now: &Self) -> bool {
        let reads_the_same = self.text() == now.text();
        self == now || reads_the_same && (now.text().is_some() || *now == Self::Missing)
    }

    /// The text that a reader gets from it.
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::File(copy)
            | Self::Link {
                target: Some((_, copy)),
                ..
            } => Some(&copy.bytes),
            Self::Missing | Self::Other | Self::Link { target: None, .. } => None,
        }
    }
}

fn copy(path: &Path) -> Option<FileCopy> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = opened.ok()?;
    let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(COPY_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(FileCopy {
        bytes,
        size: found.len(),
        mode: found.permissions().mode() & 0o7777,
        owner: (found.uid(), found.gid()),
    })
}

/// The state of all guidance paths of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Baseline(Vec<PathState>);

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RestoreResult {
    /// Descriptions of the changes, for the model and for people.
    pub(super) findings: Vec<String>,
    /// Whether something still differs from the baseline.
    pub(super) is_incomplete: bool,
}

impl Baseline {
    pub(super) fn of(root: &Path) -> Self {
        Self(
            KINDS
                .iter()
                .map(|kind| PathState::at(root, kind.file_name()))
                .collect(),
        )
    }

    /// The text that readers got from each path.
    pub(super) fn texts(&self) -> Vec<Option<Vec<u8>>> {
        let texts = self.0.iter().map(|entry| entry.text().map(<[u8]>::to_vec));
        texts.collect()
    }

    /// Renames everything that differs and restores the recorded state.
    pub(super) fn restore(&self, root: &Path) -> RestoreResult {
        let mut restored = RestoreResult::default();
        for (kind, was) in KINDS.iter().zip(&self.0) {
            let name = kind.file_name();
            if was.is_still(&PathState::at(root, name)) {
                continue;
            }
            let put = put_back(root, name, was);
            let is_back = PathState::at(root, name).text() == was.text();
            restored.is_incomplete |= !is_back;
            let path = root.join(name);
            restored.findings.push(match (put, is_back) {
                (Ok(Some(aside)), true) => format!(
                    "guidance files are read-only for tools: the change to {} was reverted; the new content is in {aside}",
                    path.display()
                ),
                (Ok(None), true) => format!(
                    "guidance files are read-only for tools: {} was restored",
                    path.display()
                ),
                (Ok(_), false) => format!(
                    "guidance files are read-only for tools: {} changed again while it was being restored; the previous content \
                        stays in effect",
                    path.display()
                ),
                (Err(error), _) => format!(
                    "guidance files are read-only for tools: {} was changed and cannot be restored ({error}); the previous content \
                        stays in effect",
                    path.display()
                ),
            });
        }
        restored
    }
}

/// Restores the state of a path. Returns the new name of the entry that was there.
fn put_back(root: &Path, name: &str, was: &PathState) -> io::Result<Option<String>> {
    let folder = open_folder(root)?;
    let now = PathState::at(root, name);
    if let (
        PathState::Link {
            to,
            target: Some((path, copy)),
        },
        PathState::Link { to: leads, target },
    ) = (was, &now)
        && to == leads
        && target.as_ref().is_none_or(|(found, _)| found == path)
    {
        let aside = replace_behind(&folder, Path::new(OsStr::from_bytes(path)), copy);
        if let (Ok(aside), true) = (aside, PathState::at(root, name) == *was) {
            return Ok(aside);
        }
    }
    let aside = rename_away(&folder, name)?;
    match was {
        PathState::Missing | PathState::Other => {}
        PathState::File(copy) => write_new(&folder, name, copy)?,
        PathState::Link { to, target } => {
            rustix::fs::symlinkat(to.as_slice(), &folder, name)?;
            if PathState::at(root, name).text() != was.text() {
                // If the link has another target by now, only its text is restored.
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
                if let Some((_, copy)) = target {
                    write_new(&folder, name, copy)?;
                }
            }
        }
    }
    Ok(aside)
}

/// Replaces a file of the workspace by its copy, without following any link on the path.
fn replace_behind(folder: &OwnedFd, path: &Path, copy: &FileCopy) -> io::Result<Option<String>> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or(io::ErrorKind::InvalidInput)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let inner = match above {
        None => rustix::io::dup(folder)?,
        Some(above) => rustix::fs::openat2(
            folder,
            above,
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        )?,
    };
    let aside = rename_away(&inner, name)?;
    write_new(&inner, name, copy)?;
    Ok(aside)
}

/// Renames the entry to an unpredictable name.
fn rename_away(folder: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let aside = format!("{name}.changed-by-command-{:016x}", u64::from_ne_bytes(random));
    match rustix::fs::renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(Some(aside)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write_new(folder: &OwnedFd, name: &str, copy: &FileCopy) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(made);
    file.write_all(&copy.bytes)?;
    let (uid, gid) = (Uid::from_raw(copy.owner.0), Gid::from_raw(copy.owner.1));
    // Only root may change a file's owner, and only for root can the file have belonged to another user.
    let _own = rustix::fs::fchown(&file, Some(uid), Some(gid));
    file.set_permissions(fs::Permissions::from_mode(copy.mode))
}

fn open_folder(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, root, flags, Mode::empty())?)
}
