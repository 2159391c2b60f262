//! The home: the folder with all data of one installation. One process writes at a time: the lock is the
//! lease on every agent in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use wakeful_core::time::Millis;

use crate::failure::Failure;

/// How long a command waits for another one to release the home.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often the command checks the lock.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Marks a folder as a Wakeful home, so that no other folder is written to.
const MARKER: &str = "wakeful-home";

/// The settings. A person may create this file before the home exists.
pub(crate) const CONFIG: &str = "config.toml";

pub(crate) const DEVICE_KEY: &str = "device.key";

/// The content of the marker file.
const MARKER_TEXT: &str = "This folder belongs to Wakeful.\n";

/// An existing folder that is marked as a Wakeful home.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
}

/// The exclusive right to write in a home, until dropped.
#[derive(Debug)]
pub(crate) struct HomeLock {
    file: File,
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // A pid that stays in the file shows that its process did not exit cleanly.
        let _ = self.file.set_len(0);
    }
}

impl Home {
    /// Opens a home for writing, or creates it if it does not exist.
    pub(crate) fn open_or_create(path: &Path) -> Result<Self, Failure> {
        let read_only = |error: &std::io::Error, what: &str| {
            let attempt = format!("{what} {}", path.display());
            Failure::io(
                "home_unwritable",
                &attempt,
                error,
                "choose a folder you can write to with --home",
            )
        };
        let mut builder = fs::DirBuilder::new();
        // Only the owner may access it, because transcripts are private.
        builder.recursive(true).mode(0o700);
        builder
            .create(path)
            .map_err(|error| read_only(&error, "cannot create the home"))?;
        let root = path
            .canonicalize()
            .map_err(|error| read_only(&error, "cannot open the home"))?;
        let home = Self { root };
        if !home.is_marked() && home.may_be_marked()? {
            let marked = home.mark();
            marked.map_err(|error| read_only(&error, "cannot write to the home"))?;
        }
        for folder in [home.blobs(), home.scratch()] {
            builder
                .create(&folder)
                .map_err(|error| read_only(&error, "cannot write to the home"))?;
        }
        crate::denied_paths::remember(home.root());
        home.make_slot();
        Ok(home)
    }

    /// Creates the file that stores stop requests while the database is not writable. If it cannot be
    /// created now, requests are held in memory, and the caller is notified of that.
    pub(crate) fn make_slot(&self) {
        let _ = wakeful_store::make_slot(&self.brake_slot());
    }

    /// The file with brakes and cancellations that are not yet in the database.
    pub(crate) fn brake_slot(&self) -> PathBuf {
        self.root.join("stop.slot")
    }

    /// Opens an existing home for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let missing = |_| {
            let message = format!("no Wakeful home at {}", path.display());
            Failure::new(
                "home_missing",
                message,
                "create one with `wakeful init`, or choose another with --home",
            )
        };
        let home = Self {
            root: path.canonicalize().map_err(missing)?,
        };
        if !home.is_marked() && home.may_be_marked()? {
            return Err(missing(std::io::Error::from(std::io::ErrorKind::NotFound)));
        }
        Ok(home)
    }

    /// Whether the path of the home exists.
    pub(crate) fn is_there(path: &Path) -> bool {
        path.join(MARKER).exists()
    }

    /// When the home was created, or restored.
    pub(crate) fn created_at(&self) -> Option<Millis> {
        let written = fs::metadata(self.root.join(MARKER)).ok()?.modified().ok()?;
        let age = written.duration_since(UNIX_EPOCH).ok()?;
        Some(Millis(i64::try_from(age.as_millis()).ok()?))
    }

    fn is_marked(&self) -> bool {
        Self::is_there(&self.root)
    }

    /// Marks an empty folder as a home. Concurrent processes that do so all succeed.
    fn mark(&self) -> std::io::Result<()> {
        // An existing folder may be readable by others, but transcripts are private.
        fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700))?;
        let marker = self.root.join(MARKER);
        let mut new = OpenOptions::new();
        match new.write(true).create_new(true).mode(0o600).open(marker) {
            Ok(mut file) => file.write_all(MARKER_TEXT.as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a folder without a marker is empty. Returns false if it has been marked meanwhile, and a
    /// failure if it contains other files.
    fn may_be_marked(&self) -> Result<bool, Failure> {
        let foreign = |why: &str| {
            let message = format!("{} {why}", self.root.display());
            Failure::new("not_a_home", message, "choose an empty or new folder with --home")
        };
        let entries = fs::read_dir(&self.root);
        let entries = entries.map_err(|error| foreign(&format!("cannot be used as a home: {error}")))?;
        // The settings file may exist before anything else.
        let mut others =
            entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != CONFIG));
        match others.next() {
            None => Ok(true),
            // The marker is the first file of a home, so any other file without it means a foreign folder.
            Some(_) if self.is_marked() => Ok(false),
            Some(_) => Err(foreign("is not empty and not a Wakeful home")),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join(Self::DATABASES[0])
    }

    /// Every database that a home may have, the agents' database first.
    pub(crate) const DATABASES: [&'static str; 2] = ["agent.sqlite", "db.sqlite"];

    /// Files without secrets that belong to a home as much as its databases.
    pub(crate) const PUBLIC_FILES: [&'static str; 1] = [CONFIG];

    /// Files with credentials: anyone who has them can act as this home.
    pub(crate) const SECRET_FILES: [&'static str; 2] = ["token", "device.key"];

    /// The folder with files that people wrote for single agents, one subfolder per agent.
    pub(crate) fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The database of the person's own records, separate from the agents' database.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("db.sqlite")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    pub(crate) fn device_key(&self) -> PathBuf {
        self.root.join(DEVICE_KEY)
    }

    /// The folder with private temporary folders of running commands.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Takes the lock, waiting up to [`LOCK_WAIT`] for its holder.
    pub(crate) fn lock(&self) -> Result<HomeLock, Failure> {
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match self.try_lock()? {
                Ok(lock) => return Ok(lock),
                Err(pid) if Instant::now() >= deadline => return Err(self.busy(&pid)),
                Err(_) => std::thread::sleep(LOCK_POLL),
            }
        }
    }

    /// Whether another process uses the home. The check creates nothing, and counts a lock that cannot be
    /// checked as in use.
    pub(crate) fn is_in_use(&self) -> bool {
        match File::open(self.root.join("lock")) {
            // The lock is released at once when the file is closed.
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    /// The failure when another process uses the home.
    pub(crate) fn busy(&self, pid: &str) -> Failure {
        let message = format!("the home {} is in use by process {pid}", self.root.display());
        Failure::new("home_busy", message, "wait for it to finish, or use another home")
    }

    /// Takes the lock if it is free; otherwise returns the pid of its holder.
    pub(crate) fn try_lock(&self) -> Result<Result<HomeLock, String>, Failure> {
        let path = self.root.join("lock");
        let failed = |error: &std::io::Error| {
            let attempt = format!("cannot lock {}", path.display());
            Failure::io(
                "home_unwritable",
                &attempt,
                error,
                "make the home writable or choose another with --home",
            )
        };
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let mut file = open.map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {
                // The pid in the file is only for messages; the lock itself belongs to the kernel and ends
                // with this process.
                let written = file
                    .set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()));
                written.map_err(|error| failed(&error))?;
                Ok(Ok(HomeLock { file }))
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let read = file.rewind().and_then(|()| file.read_to_string(&mut pid));
                Ok(Err(if read.is_ok() && !pid.is_empty() {
                    pid
                } else {
                    "unknown".into()
                }))
            }
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_only_settings_may_become_a_home() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(CONFIG), "").expect("written");
        Home::open_or_create(folder.path()).expect("a home");
        let other = tempfile::tempdir().expect("a folder");
        fs::write(other.path().join("mine.txt"), "").expect("written");
        assert_eq!(
            Home::open_or_create(other.path()).expect_err("foreign").code(),
            "not_a_home"
        );
    }

    #[test]
    fn a_folder_marked_between_two_checks_is_not_foreign() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home {
            root: folder.path().to_owned(),
        };
        assert!(!home.is_marked() && home.may_be_marked().expect("empty"));
        // Another process is faster and has already started to work.
        home.mark().expect("marked");
        fs::write(home.database(), "").expect("a file");
        assert!(!home.may_be_marked().expect("ours by now"));
        home.mark().expect("marking twice is marking once");
        fs::remove_file(folder.path().join(MARKER)).expect("removed");
        assert!(home.may_be_marked().is_err(), "without a marker it is foreign");
    }
}
