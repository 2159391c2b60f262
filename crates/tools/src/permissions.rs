//! Compares mode and owner of the home's own files before and after each command.
//!
//! Without a mount namespace a command can change them: Landlock does not restrict chmod and chown, and a
//! system call filter does not see which file is meant. So a change is detected, reverted and reported.
//!
//! Concurrent commands share one baseline per home, taken when the first of them starts: a separate
//! baseline would contain what another command had already changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files that are compared, besides the home itself and the files in [`FOLDERS`].
const GUARDED: [&str; 21] = [
    "token",
    "device.key",
    "config.toml",
    "wakeful-home",
    "lock",
    "agent.sqlite",
    "agent.sqlite-wal",
    "agent.sqlite-shm",
    "db.sqlite",
    "db.sqlite-wal",
    "db.sqlite-shm",
    "blobs",
    "scratch",
    "agents",
    "run",
    "run/daemon.json",
    "run/wakeful.sock",
    "stop.slot",
    "logins.json",
    "written",
    "guidance",
];

/// Folders whose files are compared too: they hold records that decide what the next command may do.
const FOLDERS: [&str; 2] = ["written", "guidance"];

/// Most files of such a folder that are compared.
const FILES_MAX: usize = 4_096;

/// Other users may have no rights on these, regardless of who granted them.
const PRIVATE: [&str; 3] = ["", "token", "device.key"];

/// The mode bits that chmod(2) sets, and those for users other than the owner.
const MODE_BITS: u32 = 0o7777;
const FOR_OTHERS: u32 = 0o077;

/// Bits that Wakeful never sets on its files: set-id, and write access for others.
const NEVER: u32 = 0o7022;

/// The baselines of homes in which commands run.
static BASELINES: Mutex<BTreeMap<PathBuf, Baseline>> = Mutex::new(BTreeMap::new());

fn baselines() -> MutexGuard<'static, BTreeMap<PathBuf, Baseline>> {
    BASELINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The expected state of a home's files.
#[derive(Debug, Default)]
struct Baseline {
    /// How many running commands share it.
    commands: usize,
    /// By path in the home. The home itself comes first, because the others cannot be reached without it.
    files: BTreeMap<PathBuf, Known>,
}

/// The expected state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    device: u64,
    number: u64,
    mode: u32,
    owner: u32,
    group: u32,
}

impl Known {
    fn of(path: &Path, found: &Metadata) -> Self {
        let is_private = PRIVATE.iter().any(|private| path == Path::new(private));
        let kept = if is_private { !FOR_OTHERS } else { !0 };
        Self {
            device: found.dev(),
            number: found.ino(),
            mode: found.mode() & MODE_BITS & kept,
            owner: found.uid(),
            group: found.gid(),
        }
    }

    /// The expected state of a file that appeared while a command ran, which may have changed it already:
    /// at least the rights that Wakeful grants, and none that it never grants.
    fn corrected(self, found: &Metadata) -> Self {
        let least = if found.is_dir() { 0o700 } else { 0o600 };
        Self {
            mode: (self.mode | least) & !NEVER,
            ..self
        }
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.number) == (other.device, other.number)
    }
}

/// Protects the permissions of a home while a command runs.
#[derive(Debug)]
pub(crate) struct PermissionsGuard {
    home: PathBuf,
}

impl PermissionsGuard {
    pub(crate) fn new(home: &Path) -> Self {
        let mut all = baselines();
        let baseline = all.entry(home.to_owned()).or_default();
        let is_first = baseline.commands == 0;
        baseline.commands += 1;
        for path in paths(home) {
            let Some(found) = plain(&home.join(&path)) else {
                continue;
            };
            let known = Known::of(&path, &found);
            let is_known = |file: &Known| file.is_same_file(&known);
            if !baseline.files.get(&path).is_some_and(is_known) {
                let known = if is_first { known } else { known.corrected(&found) };
                baseline.files.insert(path, known);
            }
        }
        Self {
            home: home.to_owned(),
        }
    }

    /// Reverts changes, and returns a description of each.
    pub(crate) fn repair(&self) -> Vec<String> {
        let all = baselines();
        let files = all.get(&self.home).map(|baseline| &baseline.files);
        let files = files.into_iter().flatten();
        files
            .filter_map(|(path, known)| self.repair_one(path, *known))
            .collect()
    }

    fn repair_one(&self, path: &Path, known: Known) -> Option<String> {
        let place = self.home.join(path);
        let found = fs::symlink_metadata(&place).ok()?;
        let now = Known {
            mode: found.mode() & MODE_BITS,
            ..Known::of(path, &found)
        };
        // A different file at this path was created by Wakeful: a command cannot create one there.
        if !now.is_same_file(&known) || now == known {
            return None;
        }
        let owner = match (now.owner, now.group) == (known.owner, known.group) {
            true => Ok(()),
            false => lchown(&place, Some(known.owner), Some(known.group)),
        };
        let set = owner.and_then(|()| fs::set_permissions(&place, Permissions::from_mode(known.mode)));
        let became = if set.is_ok() {
            "restored to"
        } else {
            "could not be restored to"
        };
        let shown = if path.as_os_str().is_empty() {
            "the home".to_owned()
        } else {
            path.display().to_string()
        };
        Some(format!("{shown}: mode {:o} {became} {:o}", now.mode, known.mode))
    }
}

impl Drop for PermissionsGuard {
    fn drop(&mut self) {
        let mut all = baselines();
        if let Some(baseline) = all.get_mut(&self.home) {
            baseline.commands = baseline.commands.saturating_sub(1);
            if baseline.commands == 0 {
                all.remove(&self.home);
            }
        }
    }
}

/// The compared paths, relative to the home.
fn paths(home: &Path) -> impl Iterator<Item = PathBuf> {
    let named = GUARDED.iter().map(PathBuf::from);
    let in_folders = FOLDERS.into_iter().flat_map(move |folder| {
        let entries = fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
        let names = entries.take(FILES_MAX).map(|entry| entry.file_name());
        names.map(move |name| Path::new(folder).join(name))
    });
    [PathBuf::new()].into_iter().chain(named).chain(in_folders)
}

fn plain(path: &Path) -> Option<Metadata> {
    let found = fs::symlink_metadata(path).ok()?;
    (!found.is_symlink()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a folder");
        fs::create_dir(home.path().join("written")).expect("a folder");
        set(home.path(), 0o700);
        for name in ["config.toml", "written/main.json"] {
            fs::write(home.path().join(name), "").expect("a file");
            set(&home.path().join(name), 0o600);
        }
        home
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").mode() & MODE_BITS
    }

    #[test]
    fn a_later_command_does_not_adopt_another_commands_changes() {
        let home = home();
        let config = home.path().join("config.toml");
        let first = PermissionsGuard::new(home.path());
        set(&config, 0o666);
        let second = PermissionsGuard::new(home.path());
        assert_eq!(first.repair(), ["config.toml: mode 666 restored to 600"]);
        assert!(second.repair().is_empty());
        assert_eq!(mode(&config), 0o600);
    }

    #[test]
    fn files_in_the_record_folders_are_restored_too() {
        let home = home();
        let guard = PermissionsGuard::new(home.path());
        let record = home.path().join("written/main.json");
        set(&record, 0);
        assert_eq!(guard.repair(), ["written/main.json: mode 0 restored to 600"]);
        assert_eq!(mode(&record), 0o600);
    }

    #[test]
    fn a_file_created_during_commands_gets_no_forbidden_rights() {
        let home = home();
        let _first = PermissionsGuard::new(home.path());
        let token = home.path().join("lock");
        fs::write(&token, "").expect("a file");
        set(&token, 0o4066);
        let second = PermissionsGuard::new(home.path());
        second.repair();
        assert_eq!(mode(&token), 0o644);
    }

    #[test]
    fn a_persons_changes_between_commands_stay() {
        let home = home();
        let config = home.path().join("config.toml");
        drop(PermissionsGuard::new(home.path()));
        set(&config, 0o640);
        assert!(PermissionsGuard::new(home.path()).repair().is_empty());
        assert_eq!(mode(&config), 0o640);
    }
}
