//! What stands at the places where guidance is read, and putting it back.

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

/// Bytes of a file that are copied: twice what is read as guidance. What is beyond is compared by its size alone.
const COPY_BYTES_MAX: u64 = 64 * 1024;

/// A file as it stood before a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileCopy {
    bytes: Vec<u8>,
    size: u64,
    mode: u32,
    owner: (u32, u32),
}

/// What stands at a place where guidance is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PathState {
    Missing,
    File(FileCopy),
    /// A link, and the file of the workspace that it leads to.
    Link {
        to: Vec<u8>,
        target: Option<(Vec<u8>, FileCopy)>,
    },
    /// Nothing that is read.
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

    /// Whether guidance reads the same from what stands there now. Something new that holds no text is a change as well:
    /// a link that leads nowhere yet may lead somewhere later.
    fn is_still(&self, now: &Self) -> bool {
        let reads_the_same = self.text() == now.text();
        self == now || reads_the_same && (now.text().is_some() || *now == Self::Missing)
    }

    /// What a reader gets from it.
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

/// What stood at all places of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Baseline(Vec<PathState>);

/// What came of putting things back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RestoreResult {
    /// What was changed, in words for the model and for people.
    pub(super) findings: Vec<String>,
    /// Whether something still reads otherwise than before.
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

    /// What readers got from each place.
    pub(super) fn texts(&self) -> Vec<Option<Vec<u8>>> {
        let texts = self.0.iter().map(|entry| entry.text().map(<[u8]>::to_vec));
        texts.collect()
    }

    /// Moves aside whatever differs, and puts back what stood there.
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
                    "guidance files are read-only for tools: the change of {} was undone, and what was written is in {aside}",
                    path.display()
                ),
                (Ok(None), true) => format!(
                    "guidance files are read-only for tools: {} was put back",
                    path.display()
                ),
                (Ok(_), false) => format!(
                    "guidance files are read-only for tools: {} was changed again while it was put back; \
                     what stood there before stays in force",
                    path.display()
                ),
                (Err(error), _) => format!(
                    "guidance files are read-only for tools: {} was changed and cannot be put back ({error}); \
                     what stood there before stays in force",
                    path.display()
                ),
            });
        }
        restored
    }
}

/// Puts back what stood at a place; says under which name is what stood there now.
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
    let aside = move_aside(&folder, name)?;
    match was {
        PathState::Missing | PathState::Other => {}
        PathState::File(copy) => write_new(&folder, name, copy)?,
        PathState::Link { to, target } => {
            rustix::fs::symlinkat(to.as_slice(), &folder, name)?;
            if PathState::at(root, name).text() != was.text() {
                // Where the link leads elsewhere by now, its text alone is put back.
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
                if let Some((_, copy)) = target {
                    write_new(&folder, name, copy)?;
                }
            }
        }
    }
    Ok(aside)
}

/// Replaces a file of the workspace by its copy, without following any link on the way.
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
    let aside = move_aside(&inner, name)?;
    write_new(&inner, name, copy)?;
    Ok(aside)
}

/// Gives whatever has this name another one that nobody can know before.
fn move_aside(folder: &OwnedFd, name: &str) -> io::Result<Option<String>> {
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
    // Only root may give a file away, and only then can it have been somebody else's.
    let _own = rustix::fs::fchown(&file, Some(uid), Some(gid));
    file.set_permissions(fs::Permissions::from_mode(copy.mode))
}

fn open_folder(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, root, flags, Mode::empty())?)
}
