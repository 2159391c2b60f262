//! Sets up the mounts of a command's namespace.
//!
//! This needs a mount namespace, which most containers refuse. Without one the command sees the outside
//! mounts, and only Landlock restricts it.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};

use super::protocol::Spec;
use crate::mounts::{Mount, names_of};

/// Where programs share memory by name, and how much of it a command may use.
const SHARED_MEMORY: &str = "/dev/shm";
const SHARED_MEMORY_OPTIONS: &CStr = c"mode=1777,size=256m";

/// The file system that covers denied paths needs almost no space.
const COVERS_OPTIONS: &CStr = c"mode=0700,size=64k,nr_inodes=16";

/// File systems that may contact another machine or program before they respond, and so must not be
/// accessed for each command.
const SLOW_KINDS: [&str; 7] = ["autofs", "nfs", "nfs4", "cifs", "smb3", "ceph", "afs"];
const SLOW_PREFIX: &str = "fuse";

/// Mounts what programs expect to find. Mounts outside cannot change: our privileges are limited to our own
/// user namespace.
pub(super) fn mount_essentials(writable: &mut Vec<PathBuf>) {
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Pids differ inside the namespace, and tools such as `pkill` read them here.
    let _outside = mount("proc", "/proc", "proc", plain, None);
    // Semaphores of C libraries are files in this folder. A private one is as safe as `TMPDIR`.
    if mount("tmpfs", SHARED_MEMORY, "tmpfs", plain, SHARED_MEMORY_OPTIONS).is_ok() {
        writable.push(PathBuf::from(SHARED_MEMORY));
    }
}

/// Makes the mounts that restrict a command. Returns whether every protected place and the home are read-only. A
/// shared folder remains only if all of its protected entries are.
pub(super) fn mount_folders(spec: &mut Spec) -> bool {
    let sources = empty_sources(&spec.covers);
    let mut writable = spec.writable.clone();
    writable.extend(spec.shared.as_ref().map(|shared| shared.path.clone()));
    seal(&writable);
    let shared = spec.shared.iter().flat_map(|shared| &shared.read_only);
    let places: Vec<PathBuf> = spec.read_only.iter().chain(shared).cloned().collect();
    let is_pinned = protect(&places, &writable);
    let are_read_only = |places: &[PathBuf]| is_pinned && places.iter().all(|place| is_read_only(place));
    spec.shared.take_if(|shared| !are_read_only(&shared.read_only));
    let is_whole = are_read_only(&spec.read_only) && is_read_only(&spec.home);
    spec.closed = cover(spec, &writable, sources);
    is_whole
}

/// Makes everything except some folders read-only. Landlock does not restrict changes to the mode, owner,
/// times or attributes of a file; with this, a command cannot change them outside its folders either.
fn seal(writable: &[PathBuf]) {
    // Each becomes its own mount, whose flags can differ. Recursive, because mounts inside it would
    // disappear otherwise.
    for folder in writable {
        if mount_bind_recursive(folder, folder).is_err() {
            return;
        }
    }
    let is_writable = |point: &Path| writable.iter().any(|folder| point.starts_with(folder));
    let is_slow = |kind: &str| SLOW_KINDS.contains(&kind) || kind.starts_with(SLOW_PREFIX);
    for mount in Mount::all().unwrap_or_default() {
        if mount.has("ro") || is_writable(&mount.point) || is_slow(&mount.kind) {
            continue;
        }
        // A mount that is covered by another is inaccessible to us and to the command.
        let _covered = mount_remount(
            &mount.point,
            MountFlags::BIND | MountFlags::RDONLY | kept(&mount),
            "",
        );
    }
}

/// Mounts an empty folder or file over every denied path, at all its names. Returns the paths that could
/// not be covered, for Landlock to exclude.
fn cover(spec: &Spec, writable: &[PathBuf], sources: io::Result<[PathBuf; 2]>) -> Vec<PathBuf> {
    let Ok(mounts) = Mount::all() else {
        return spec.closed.clone();
    };
    let Ok([folder, file]) = sources else {
        return spec.closed.clone();
    };
    let (mut uncovered, mut pinned) = (Vec::new(), Vec::new());
    let allowed = || spec.readable.iter().chain(writable);
    for place in &spec.closed {
        // Landlock allows nothing outside the allowed folders, so nothing there needs a cover.
        let names = names_of(place, &mounts).into_iter();
        for name in names.filter(|name| allowed().any(|folder| name.starts_with(folder))) {
            let is_needed = writable.iter().any(|folder| folder.starts_with(&name));
            let covered = match fs::symlink_metadata(&name) {
                // Covering it would hide what the command must access.
                Ok(_) if is_needed => Err(io::ErrorKind::InvalidInput.into()),
                Ok(found) if found.is_dir() => {
                    pin_above(&name, writable, &mut pinned).and_then(|()| cover_one(&folder, &name))
                }
                Ok(_) => pin_above(&name, writable, &mut pinned).and_then(|()| cover_one(&file, &name)),
                // A path below a mount that another one covers does not exist.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            if covered.is_err() {
                uncovered.push(name);
            }
        }
    }
    uncovered
}

/// Creates what is mounted over denied paths: an empty folder and an empty file. It runs before everything
/// is sealed, because the home is read-only afterwards.
fn empty_sources(covers: &Path) -> io::Result<[PathBuf; 2]> {
    let [folder, file] = ["folder", "file"].map(|name| covers.join(name));
    DirBuilder::new().recursive(true).mode(0o700).create(covers)?;
    // In a separate file system: parts of the home that are mounted elsewhere count as the home.
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", covers, "tmpfs", plain, COVERS_OPTIONS)?;
    DirBuilder::new().mode(0o555).create(&folder)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&file)?;
    Ok([folder, file])
}

/// Pins the folders between a writable folder and a denied path. A command that renames them would move the
/// denied path to a place that the next command can read; a mount point cannot be renamed.
fn pin_above(name: &Path, writable: &[PathBuf], pinned: &mut Vec<PathBuf>) -> io::Result<()> {
    let Some(holder) = writable.iter().find(|folder| name.starts_with(folder)) else {
        return Ok(());
    };
    for above in name.ancestors().skip(1).take_while(|above| above != holder) {
        if !pinned.iter().any(|known| known == above) {
            mount_bind_recursive(above, above)?;
            pinned.push(above.to_owned());
        }
    }
    Ok(())
}

fn cover_one(source: &Path, name: &Path) -> io::Result<()> {
    mount_bind(source, name)?;
    let closed = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_remount(name, MountFlags::BIND | closed, "")?;
    Ok(())
}

/// Makes files and folders inside the writable folders read-only: each becomes its own mount, which can be
/// neither written, replaced nor removed. The folders above it become mounts too, because renaming one of them
/// would make room for a replacement. Returns whether all of these are mounts.
fn protect(places: &[PathBuf], writable: &[PathBuf]) -> bool {
    let mut pinned = Vec::new();
    let mut are_pinned = true;
    // First all of these: a mount over a folder hides the mounts that were made inside it.
    for place in places {
        are_pinned &= pin_above(place, writable, &mut pinned).is_ok();
    }
    for place in places {
        // What disappeared meanwhile is found by the comparison after the command.
        let _gone = mount_bind_recursive(place, place);
    }
    let mounts = Mount::all().unwrap_or_default();
    for mount in mounts.iter().filter(|mount| places.contains(&mount.point)) {
        let flags = MountFlags::BIND | MountFlags::RDONLY | kept(mount);
        let _covered = mount_remount(&mount.point, flags, "");
    }
    are_pinned
}

/// Whether a folder is completely read-only here, including its mode.
pub(super) fn is_read_only(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Flags that a remount must keep, because the kernel refuses to drop them. The kernel keeps the access
/// time flags by itself.
fn kept(mount: &Mount) -> MountFlags {
    let flags = [
        ("nosuid", MountFlags::NOSUID),
        ("nodev", MountFlags::NODEV),
        ("noexec", MountFlags::NOEXEC),
        ("nosymfollow", MountFlags::NOSYMFOLLOW),
    ];
    flags
        .into_iter()
        .filter(|(name, _)| mount.has(name))
        .map(|(_, flag)| flag)
        .collect()
}
