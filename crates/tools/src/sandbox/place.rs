//! Mounts: what the namespace of a command looks like.
//!
//! It needs a mount namespace, which most containers refuse. Without it the command sees what is outside, and
//! Landlock alone holds it.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};

use crate::mounts::Mount;

/// Where programs share memory by name, and how much of it a command may take.
const SHARED_MEMORY: &str = "/dev/shm";
const SHARED_MEMORY_OPTIONS: &CStr = c"mode=1777,size=256m";

/// File systems that may ask another machine or program before they answer, and so must not be touched for
/// each command.
const SLOW_KINDS: [&str; 7] = ["autofs", "nfs", "nfs4", "cifs", "smb3", "ceph", "afs"];
const SLOW_PREFIX: &str = "fuse";

/// Puts in what programs expect to find. Nobody else's mounts can change: our powers reach only as far as our
/// own user namespace.
pub(super) fn furnish(writable: &mut Vec<PathBuf>) {
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Numbers of processes differ inside, and `pkill` goes by what it reads here.
    let _outside = mount("proc", "/proc", "proc", plain, None);
    // Semaphores of C libraries are files in this folder. A private one is as good as `TMPDIR`.
    if mount("tmpfs", SHARED_MEMORY, "tmpfs", plain, SHARED_MEMORY_OPTIONS).is_ok() {
        writable.push(PathBuf::from(SHARED_MEMORY));
    }
}

/// Makes everything read-only but some folders. Landlock does not ask who changes the mode, owner, times or
/// attributes of a file; with this, a command cannot change them outside its folders either.
pub(super) fn seal(writable: &[PathBuf]) {
    // Each becomes a mount of its own, which the rest can differ from. With what is mounted in it, or that
    // would be gone.
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
        // One that is covered by another cannot be reached, by us or by the command.
        let _covered = mount_remount(
            &mount.point,
            MountFlags::BIND | MountFlags::RDONLY | kept(&mount),
            "",
        );
    }
}

/// Makes single files read-only: each becomes a mount of its own, which can be neither written, replaced nor removed.
pub(super) fn protect(files: &[PathBuf]) {
    for file in files {
        // One that went away meanwhile is put back after the command.
        let _gone = mount_bind(file, file);
    }
    let mounts = Mount::all().unwrap_or_default();
    for mount in mounts.iter().filter(|mount| files.contains(&mount.point)) {
        let flags = MountFlags::BIND | MountFlags::RDONLY | kept(mount);
        let _covered = mount_remount(&mount.point, flags, "");
    }
}

/// Flags that a remount would take away, which the kernel refuses. Those of access times it keeps by itself.
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
