//! Removes setuid and setgid bits from files that a command left, where no filter prevented it from setting
//! them.
//!
//! Only files whose status changed after the start of the command are touched. A command at this level
//! could also leave such a file elsewhere; this only keeps files in its workspace from running as the user.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmod, fstat, openat, statat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// Most entries of one walk. The walk holds one handle per level.
const ENTRIES_MAX: u64 = 1_000_000;
const DEPTH_MAX: usize = 128;
const TIME_MAX: Duration = Duration::from_secs(5);

/// Most files that are reported by name.
const NAMED_MAX: usize = 20;

/// Most characters of a path that are shown; a longer path is shortened at its beginning.
const SHOWN_MAX: usize = 200;

/// The time after which changes count, by the clock of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    seconds: i64,
    nanoseconds: i64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        Self {
            seconds: now.tv_sec,
            nanoseconds: now.tv_nsec,
        }
    }

    fn of(stat: &Stat) -> Self {
        Self {
            seconds: stat.st_ctime,
            nanoseconds: i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX),
        }
    }
}

/// Removes the bits from files of a folder that changed since a time. Returns what was done and what was
/// not checked.
pub(crate) fn strip(folder: &Path, since: Moment) -> Vec<String> {
    let mut walk = Walk {
        since,
        begun: Instant::now(),
        entries: 0,
        names: BTreeMap::new(),
        stripped: 0,
        said: Vec::new(),
        unseen: None,
    };
    walk.run(folder);
    let unnamed = walk.stripped.saturating_sub(NAMED_MAX);
    if unnamed > 0 {
        walk.said.push(format!("{unnamed} more files lost set-id bits"));
    }
    let unseen = walk
        .unseen
        .map(|why| format!("set-id bits: the workspace was not checked completely: {why}"));
    walk.said.extend(unseen);
    walk.said
}

struct Level {
    entries: Dir,
    name: CString,
}

struct Walk {
    since: Moment,
    begun: Instant,
    entries: u64,
    /// How many names were found of a file with several links.
    names: BTreeMap<(u64, u64), u128>,
    stripped: usize,
    said: Vec<String>,
    /// The first reason why something was not checked.
    unseen: Option<String>,
}

impl Walk {
    fn run(&mut self, folder: &Path) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, folder, flags, Mode::empty())
            .and_then(|root| Ok((fstat(&root)?.st_dev, Dir::new(root)?)));
        let (device, entries) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.miss(format!("the workspace cannot be read: {error}")),
        };
        let mut levels = vec![Level {
            entries,
            name: CString::default(),
        }];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.entries.read() else {
                levels.pop();
                continue;
            };
            let Ok(entry) = entry else {
                self.miss("a folder cannot be listed".to_owned());
                levels.pop();
                continue;
            };
            let name = entry.file_name().to_owned();
            if [c".", c".."].contains(&name.as_c_str()) {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES_MAX || self.begun.elapsed() > TIME_MAX {
                return self.miss(format!(
                    "more than {ENTRIES_MAX} entries or {} s",
                    TIME_MAX.as_secs()
                ));
            }
            if let Some(below) = self.look(&levels, &name, device) {
                levels.push(below);
            }
        }
    }

    fn miss(&mut self, why: String) {
        self.unseen.get_or_insert(why);
    }

    /// Handles one entry of the last level. A folder is opened and visited next.
    fn look(&mut self, levels: &[Level], name: &CStr, device: u64) -> Option<Level> {
        let folder = levels.last()?.entries.fd().ok()?;
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if stat.st_dev != device => None,
            FileType::Directory if levels.len() >= DEPTH_MAX => {
                self.miss(format!("folders deeper than {DEPTH_MAX}"));
                None
            }
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let below = openat(folder, name, flags, Mode::empty()).and_then(Dir::new);
                if let Err(error) = &below {
                    self.miss(format!("{}: {error}", shown(levels, name)));
                }
                let name = name.to_owned();
                below.ok().map(|entries| Level { entries, name })
            }
            FileType::RegularFile if has_bits(&stat) && Moment::of(&stat) >= self.since => {
                self.handle(levels, name, &stat);
                None
            }
            FileType::RegularFile
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => None,
        }
    }

    /// Removes the bits from a file whose names are all in the workspace. A file that also has a name
    /// elsewhere may belong to others: creating a link also changes the status.
    fn handle(&mut self, levels: &[Level], name: &CStr, stat: &Stat) {
        // Its width differs between architectures.
        let links = u128::from(stat.st_nlink);
        let found = self.names.entry((stat.st_dev, stat.st_ino)).or_default();
        *found += 1;
        if *found < links {
            if *found == 1 {
                self.say(format!(
                    "{}: has set-id bits and {links} hard links; the bits are removed only if every link is in the workspace",
                    shown(levels, name)
                ));
            }
            return;
        }
        let before = stat.st_mode & 0o7777;
        let stripped = strip_one(levels, name, stat);
        self.stripped += usize::from(stripped.is_ok());
        let shown = shown(levels, name);
        self.say(match stripped {
            Ok(mode) => format!("{shown}: mode {before:o} set to {mode:o}"),
            Err(error) => format!("{shown}: mode {before:o} could not be changed: {error}"),
        });
    }

    fn say(&mut self, words: String) {
        if self.said.len() < NAMED_MAX {
            self.said.push(words);
        }
    }
}

fn has_bits(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).intersects(Mode::SUID | Mode::SGID)
}

fn strip_one(levels: &[Level], name: &CStr, seen: &Stat) -> Result<u32, Errno> {
    let folder = levels.last().ok_or(Errno::NOENT)?.entries.fd()?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if (stat.st_dev, stat.st_ino) != (seen.st_dev, seen.st_ino) {
        return Err(Errno::AGAIN);
    }
    let mode = Mode::from_raw_mode(stat.st_mode) & !(Mode::SUID | Mode::SGID);
    // No other call changes the mode of exactly this file, which may be unreadable.
    chmod(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()), mode)?;
    Ok(mode.as_raw_mode())
}

/// The path of an entry in the workspace, shortened at its beginning.
fn shown(levels: &[Level], name: &CStr) -> String {
    let names = levels
        .iter()
        .skip(1)
        .map(|level| level.name.as_c_str())
        .chain([name]);
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let path = names.join("/");
    let cut = path.chars().count().saturating_sub(SHOWN_MAX);
    path.chars().skip(cut).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use super::*;

    const BEFORE_ALL: Moment = Moment {
        seconds: 0,
        nanoseconds: 0,
    };

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("a file").permissions().mode() & 0o7777
    }

    /// A folder with a workspace, and a setuid file at a path in the folder.
    fn set_id_file(name: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let root = tempfile::tempdir().expect("a folder");
        let (workspace, file) = (root.path().join("workspace"), root.path().join(name));
        fs::create_dir_all(workspace.join("a/b")).expect("folders");
        fs::write(&file, "").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o6755)).expect("a mode");
        (root, workspace, file)
    }

    #[test]
    fn a_file_changed_by_the_command_loses_its_bits() {
        let (_root, workspace, file) = set_id_file("workspace/a/b/program");
        assert_eq!(
            strip(&workspace, BEFORE_ALL),
            ["a/b/program: mode 6755 set to 755"]
        );
        assert_eq!(mode(&file), 0o755);
    }

    #[test]
    fn an_unchanged_file_keeps_its_bits() {
        let (_root, workspace, file) = set_id_file("workspace/program");
        let later = Moment {
            seconds: i64::MAX,
            nanoseconds: 0,
        };
        assert!(strip(&workspace, later).is_empty());
        assert_eq!(mode(&file), 0o6755);
    }

    #[test]
    fn links_are_not_followed_and_files_linked_elsewhere_are_reported() {
        let (_root, workspace, file) = set_id_file("program");
        symlink(&file, workspace.join("symlink")).expect("a link");
        assert!(strip(&workspace, BEFORE_ALL).is_empty());
        fs::hard_link(&file, workspace.join("one")).expect("a link");
        assert_eq!(
            strip(&workspace, BEFORE_ALL),
            ["one: has set-id bits and 2 hard links; \
              the bits are removed only if every link is in the workspace"]
        );
        assert_eq!(mode(&file), 0o6755);
        fs::rename(&file, workspace.join("a/two")).expect("moved");
        strip(&workspace, BEFORE_ALL);
        assert_eq!(mode(&workspace.join("a/two")), 0o755, "both names are inside");
    }

    #[test]
    fn folders_too_deep_to_check_are_reported() {
        let (_root, workspace, _file) = set_id_file("workspace/program");
        let deep: PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 1).collect();
        fs::create_dir_all(workspace.join(deep)).expect("folders");
        let said = strip(&workspace, BEFORE_ALL);
        assert!(said.iter().any(|words| words.contains("deeper than")), "{said:?}");
    }
}
