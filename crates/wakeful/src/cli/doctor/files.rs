//! Checks the files of a home: permissions, the lock, files left by dead processes, and free space.

use std::fs::{self, File, TryLockError};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde_json::Value;

use super::{Check, DoctorMode, Repair};
use crate::config::{self, Settings};
use crate::device;
use crate::home::Home;
use crate::system::{is_alive, is_process};

/// Mode bits that give access to users other than the owner.
const OTHERS: u32 = 0o077;

/// Maximum size of a file under `run/` that is read; a process record is one line.
const NOTE_BYTES_MAX: u64 = 1 << 16;

/// Less free space than this is a problem, because one long run may need as much.
const SPACE_BYTES_MIN: u64 = 64 << 20;

/// Less free space than this is a warning.
const SPACE_BYTES_LOW: u64 = 1 << 30;

/// Whether another process works in the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HomeUse {
    Free,
    Taken,
}

/// Only the owner may access the home, because transcripts are private.
pub(super) fn permissions(home: &Home, mode: DoctorMode) -> Check {
    let found = match fs::metadata(home.root()) {
        Ok(found) => found,
        Err(error) => {
            let message = format!("cannot access {}: {error}", home.root().display());
            return Check::problem("permissions", message, "make it readable for your user");
        }
    };
    if found.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("{} belongs to another user", home.root().display());
        return Check::problem("permissions", message, "choose a home of your own with --home");
    }
    if let Err(error) = accessat(CWD, home.root(), Access::WRITE_OK, AtFlags::EACCESS) {
        let message = format!("cannot write to {}: {error}", home.root().display());
        let hint = "make it writable for your user, or choose another home with --home";
        return Check::problem("permissions", message, hint);
    }
    closed("permissions", home.root(), 0o700, mode)
        .unwrap_or_else(|| Check::ok("permissions", "only you have access to the home"))
}

/// Reports a private path that other users may read or enter.
fn closed(name: &'static str, path: &Path, wanted: u32, mode: DoctorMode) -> Option<Check> {
    let found = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    if found & OTHERS == 0 {
        return None;
    }
    let message = format!("{} is accessible to other users (mode {found:o})", path.display());
    let deed = format!("set its mode to {wanted:o}");
    let act = || fs::set_permissions(path, fs::Permissions::from_mode(wanted));
    let mend = Repair {
        description: &deed,
        act: &act,
    };
    Some(Check::repairable(name, &message, mode, &mend))
}

/// The settings file is private, because it may name the location of secrets.
pub(super) fn config(home: &Home, mode: DoctorMode) -> Option<Check> {
    closed("config", &config::path(home.root()), 0o600, mode)
}

/// Reports the lock holder. The lock is released when its holder ends, so the process id in the file proves
/// nothing by itself.
pub(super) fn lock(home: &Home) -> (Check, HomeUse) {
    let free = || {
        (
            Check::ok("lock", "no other process is using the home"),
            HomeUse::Free,
        )
    };
    let Ok(mut file) = File::open(home.root().join("lock")) else {
        return free();
    };
    match file.try_lock_shared() {
        // The lock is released at once, when the file is closed.
        Ok(()) => return free(),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => {
            let message = format!("cannot check the lock: {error}");
            return (
                Check::problem(
                    "lock",
                    message,
                    "move the home to a file system that supports locks",
                ),
                HomeUse::Free,
            );
        }
    }
    let mut text = String::new();
    let pid = file.read_to_string(&mut text).ok().and_then(|_| pid(&text));
    let check = match pid {
        Some(pid) if is_process(pid) => Check::ok("lock", format!("process {pid} is using the home")),
        // A child of the dead process has inherited the lock.
        Some(pid) => Check::problem(
            "lock",
            format!("the lock is held, but process {pid}, which took it, has ended"),
            "end the child processes of that process",
        ),
        None => Check::ok("lock", "another process is using the home"),
    };
    (check, HomeUse::Taken)
}

/// Records under `run/` whose process has ended.
pub(super) fn left_behind(home: &Home, mode: DoctorMode) -> Vec<Check> {
    let entries = fs::read_dir(home.root().join("run")).into_iter().flatten();
    let mut stale: Vec<(PathBuf, u32)> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter_map(|path| {
            let (pid, started) = noted(&path)?;
            let lives = match started {
                0 => is_process(pid),
                started => is_alive(pid, started),
            };
            (!lives).then_some((path, pid))
        })
        .collect();
    stale.sort();
    if stale.is_empty() {
        return vec![Check::ok("run", "no files are left from dead processes")];
    }
    let check = |(path, pid): &(PathBuf, u32)| {
        let message = format!("{} was left by process {pid}, which has ended", path.display());
        let act = || fs::remove_file(path);
        let mend = Repair {
            description: "remove it",
            act: &act,
        };
        Check::repairable("run", &message, mode, &mend)
    };
    stale.iter().map(check).collect()
}

/// The process id in a record and its start time, or 0 if the start time is not recorded. `None` if the
/// file names no process.
fn noted(path: &Path) -> Option<(u32, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > NOTE_BYTES_MAX {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    if let Some(pid) = pid(&text) {
        return Some((pid, 0));
    }
    let note: Value = serde_json::from_str(&text).ok()?;
    let pid = u32::try_from(note.get("pid")?.as_u64()?).ok()?;
    let started = note.get("pid_started").and_then(Value::as_u64);
    Some((pid, started.unwrap_or(0)))
}

fn pid(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

/// The API token gives full access, so only the owner may read it.
pub(super) fn token(home: &Home, config: Option<&Settings>, mode: DoctorMode) -> Option<Check> {
    let named = config.and_then(|config| config.server.token_file.as_ref());
    let path = named.map_or_else(|| home.root().join("token"), PathBuf::from);
    match fs::metadata(&path) {
        Ok(_) => Some(
            closed("token", &path, 0o600, mode)
                .unwrap_or_else(|| Check::ok("token", "only you can read the token")),
        ),
        // The daemon creates the default token file; a configured one must exist.
        Err(_) if named.is_none() => None,
        Err(error) => Some(Check::problem(
            "token",
            format!("cannot read the token file {}: {error}", path.display()),
            "create it, or run `wakeful config set server.token_file --unset`",
        )),
    }
}

/// Anyone who can read the device key can sign a forged log.
pub(super) fn device_key(home: &Home, mode: DoctorMode) -> Option<Check> {
    let path = home.device_key();
    fs::symlink_metadata(&path).ok()?;
    let open = closed("key", &path, 0o600, mode);
    Some(open.unwrap_or_else(|| match device::read(&path) {
        Ok(key) => {
            let key = key.public().fingerprint();
            Check::ok("key", format!("only you can read the key of this device, {key}"))
        }
        Err(failure) => Check::failure("key", &failure),
    }))
}

/// Free space on the file system of the home, or of its future location.
pub(super) fn space(home: &Path) -> Check {
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let found = home
        .ancestors()
        .find_map(|folder| rustix::fs::statvfs(folder).ok());
    let Some(found) = found else {
        return Check::warning("space", "cannot determine the free space", "check with `df`");
    };
    space_of(found.f_bavail.saturating_mul(found.f_frsize))
}

fn space_of(free: u64) -> Check {
    let message = format!("{} MiB are free", free >> 20);
    let hint = "free some space; runs stop when the disk is full, and continue when there is space again";
    if free < SPACE_BYTES_MIN {
        Check::problem("space", message, hint)
    } else if free < SPACE_BYTES_LOW {
        Check::warning("space", message, hint)
    } else {
        Check::ok("space", message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_none_is_a_problem() {
        let status = |free| space_of(free).status;
        assert_eq!(status(SPACE_BYTES_LOW), CheckStatus::Ok);
        assert_eq!(status(SPACE_BYTES_LOW - 1), CheckStatus::Warning);
        assert_eq!(status(SPACE_BYTES_MIN), CheckStatus::Warning);
        assert_eq!(status(SPACE_BYTES_MIN - 1), CheckStatus::Problem);
    }
}
