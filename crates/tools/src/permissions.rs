//! Mode and owner of the home's own files, compared before and after each command.
//!
//! Without a mount namespace nothing keeps a command from changing them: Landlock does not ask, and a filter of system
//! calls does not see which file is meant. So a change is found, set back and told.
//!
//! Commands that run at the same time share one baseline per home, taken when the first of them began: a baseline of each
//! would hold what another command had changed by then.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is compared, besides the home itself and the files in [`FOLDERS`].
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

/// Folders whose files are compared too: records that decide what the next command may do.
const FOLDERS: [&str; 2] = ["written", "guidance"];

/// Most files of such a folder that are compared.
const FILES_MAX: usize = 4_096;

/// Of these nobody else may have any rights, whoever gave them.
const PRIVATE: [&str; 3] = ["", "token", "device.key"];

/// The bits of a mode that chmod(2) sets, and those for others than the owner.
const MODE_BITS: u32 = 0o7777;
const FOR_OTHERS: u32 = 0o077;

/// Bits that Wakeful gives to none of its files: set-id, and writing by others.
const NEVER: u32 = 0o7022;

/// The baselines of homes in which commands run.
static BASELINES: Mutex<BTreeMap<PathBuf, Baseline>> = Mutex::new(BTreeMap::new());

fn baselines() -> MutexGuard<'static, BTreeMap<PathBuf, Baseline>> {
    BASELINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the files of a home should be.
#[derive(Debug, Default)]
struct Baseline {
    /// Commands that share it.
    commands: usize,
    /// By their paths in the home, the home itself first: without it the others cannot be reached.
    files: BTreeMap<PathBuf, Known>,
}

/// How one file should be.
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

    /// The same for a file that appeared while a command ran, which may have changed it already: the rights that Wakeful
    /// gives at least, and none that it never gives.
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

/// Keeps the permissions of a home while a command runs.
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

    /// Sets back what was changed, and says what that was.
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
        // Another file in its place is Wakeful's own doing: a command cannot make one there.
        if !now.is_same_file(&known) || now == known {
            return None;
        }
        let owner = match (now.owner, now.group) == (known.owner, known.group) {
            true => Ok(()),
            false => lchown(&place, Some(known.owner), Some(known.group)),
        };
        let set = owner.and_then(|()| fs::set_permissions(&place, Permissions::from_mode(known.mode)));
        let became = if set.is_ok() {
            "set back to"
        } else {
            "could not be set back to"
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

/// What is compared, as paths in the home.
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
    fn a_command_that_begins_later_does_not_take_over_what_another_changed() {
        let home = home();
        let config = home.path().join("config.toml");
        let first = PermissionsGuard::new(home.path());
        set(&config, 0o666);
        let second = PermissionsGuard::new(home.path());
        assert_eq!(first.repair(), ["config.toml: mode 666 set back to 600"]);
        assert!(second.repair().is_empty());
        assert_eq!(mode(&config), 0o600);
    }

    #[test]
    fn files_in_the_folders_of_records_are_set_back_too() {
        let home = home();
        let guard = PermissionsGuard::new(home.path());
        let record = home.path().join("written/main.json");
        set(&record, 0);
        assert_eq!(guard.repair(), ["written/main.json: mode 0 set back to 600"]);
        assert_eq!(mode(&record), 0o600);
    }

    #[test]
    fn a_file_that_appears_while_commands_run_gets_no_rights_it_never_has() {
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
    fn what_a_person_changed_between_commands_stays() {
        let home = home();
        let config = home.path().join("config.toml");
        drop(PermissionsGuard::new(home.path()));
        set(&config, 0o640);
        assert!(PermissionsGuard::new(home.path()).repair().is_empty());
        assert_eq!(mode(&config), 0o640);
    }
}
