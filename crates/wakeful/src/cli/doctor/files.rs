//! What can be told from the files of a home: who may read them, who holds the lock, what the dead left, and how
//! much room there is.

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

/// Bits of a mode by which others than the owner get in.
const OTHERS: u32 = 0o077;

/// Largest file under `run/` that is looked into; a note of who runs is a line.
const NOTE_BYTES_MAX: u64 = 1 << 16;

/// Less free space than this is a problem: one long run may need as much.
const SPACE_BYTES_MIN: u64 = 64 << 20;

/// Less than this is worth a warning.
const SPACE_BYTES_LOW: u64 = 1 << 30;

/// Whether somebody works in a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HomeUse {
    Free,
    Taken,
}

/// Only the owner may look inside: transcripts are private.
pub(super) fn permissions(home: &Home, mode: DoctorMode) -> Check {
    let found = match fs::metadata(home.root()) {
        Ok(found) => found,
        Err(error) => {
            let message = format!("{} cannot be looked at: {error}", home.root().display());
            return Check::problem("permissions", message, "make it readable for you");
        }
    };
    if found.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("{} belongs to another user", home.root().display());
        return Check::problem("permissions", message, "use a home of your own with --home");
    }
    if let Err(error) = accessat(CWD, home.root(), Access::WRITE_OK, AtFlags::EACCESS) {
        let message = format!("{} cannot be written to: {error}", home.root().display());
        let hint = "make it writable for you, or use another home with --home";
        return Check::problem("permissions", message, hint);
    }
    closed("permissions", home.root(), 0o700, mode)
        .unwrap_or_else(|| Check::ok("permissions", "only you may look into the home"))
}

/// A problem when others may read or enter what is private.
fn closed(name: &'static str, path: &Path, wanted: u32, mode: DoctorMode) -> Option<Check> {
    let found = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    if found & OTHERS == 0 {
        return None;
    }
    let message = format!("{} is open to others (mode {found:o})", path.display());
    let deed = format!("set its mode to {wanted:o}");
    let act = || fs::set_permissions(path, fs::Permissions::from_mode(wanted));
    let mend = Repair {
        deed: &deed,
        act: &act,
    };
    Some(Check::mendable(name, &message, mode, &mend))
}

/// The file of settings may name where secrets are.
pub(super) fn config(home: &Home, mode: DoctorMode) -> Option<Check> {
    closed("config", &config::path(home.root()), 0o600, mode)
}

/// Who holds the lock. It dies with its holder, so a number in the file means nothing by itself.
pub(super) fn lock(home: &Home) -> (Check, HomeUse) {
    let free = || {
        (
            Check::ok("lock", "no other process works in the home"),
            HomeUse::Free,
        )
    };
    let Ok(mut file) = File::open(home.root().join("lock")) else {
        return free();
    };
    match file.try_lock_shared() {
        // Given back at once, when the file is closed.
        Ok(()) => return free(),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => {
            let message = format!("the lock cannot be looked at: {error}");
            return (
                Check::problem("lock", message, "move the home to a file system with locks"),
                HomeUse::Free,
            );
        }
    }
    let mut text = String::new();
    let pid = file.read_to_string(&mut text).ok().and_then(|_| pid(&text));
    let check = match pid {
        Some(pid) if is_process(pid) => Check::ok("lock", format!("process {pid} works in the home")),
        // A process that it started has inherited the lock.
        Some(pid) => Check::problem(
            "lock",
            format!("the lock is held, but process {pid} that took it is gone"),
            "end the processes that it started",
        ),
        None => Check::ok("lock", "another process works in the home"),
    };
    (check, HomeUse::Taken)
}

/// Notes under `run/` of processes that are gone.
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
        return vec![Check::ok("run", "nothing is left of processes that are gone")];
    }
    let check = |(path, pid): &(PathBuf, u32)| {
        let message = format!("{} was left by process {pid}, which is gone", path.display());
        let act = || fs::remove_file(path);
        let mend = Repair {
            deed: "remove it",
            act: &act,
        };
        Check::mendable("run", &message, mode, &mend)
    };
    stale.iter().map(check).collect()
}

/// The process that a note speaks of, and when it began, or 0 where it does not say. What names none is no note.
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

/// The token of the API opens everything, so nobody else may read it.
pub(super) fn token(home: &Home, config: Option<&Settings>, mode: DoctorMode) -> Option<Check> {
    let named = config.and_then(|config| config.server.token_file.as_ref());
    let path = named.map_or_else(|| home.root().join("token"), PathBuf::from);
    match fs::metadata(&path) {
        Ok(_) => Some(
            closed("token", &path, 0o600, mode)
                .unwrap_or_else(|| Check::ok("token", "only you may read the token")),
        ),
        // The daemon makes its own; one that was named should be there.
        Err(_) if named.is_none() => None,
        Err(error) => Some(Check::problem(
            "token",
            format!("the token file {} cannot be read: {error}", path.display()),
            "put it there, or `wakeful config set server.token_file --unset`",
        )),
    }
}

/// Whoever can read the key of this device can sign another past with it.
pub(super) fn device_key(home: &Home, mode: DoctorMode) -> Option<Check> {
    let path = home.device_key();
    fs::symlink_metadata(&path).ok()?;
    let open = closed("key", &path, 0o600, mode);
    Some(open.unwrap_or_else(|| match device::read(&path) {
        Ok(key) => {
            let key = key.public().fingerprint();
            Check::ok("key", format!("only you may read the key of this device, {key}"))
        }
        Err(failure) => Check::failure("key", &failure),
    }))
}

/// Room on the file system of the home, or of where it is to be.
pub(super) fn space(home: &Path) -> Check {
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let found = home
        .ancestors()
        .find_map(|folder| rustix::fs::statvfs(folder).ok());
    let Some(found) = found else {
        return Check::warning("space", "the free space cannot be told", "look with `df`");
    };
    space_of(found.f_bavail.saturating_mul(found.f_frsize))
}

fn space_of(free: u64) -> Check {
    let message = format!("{} MiB are free", free >> 20);
    let hint = "free some space; runs stop when the disk is full, and go on after it";
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
