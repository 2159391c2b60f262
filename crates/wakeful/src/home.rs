//! The folder everything lives in. One process writes at a time: the lock is the lease on every agent in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How long a verb waits for another one to finish with the home.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Marks a folder as ours, so that we never fill somebody else's.
const MARKER: &str = "wakeful-home";

/// The settings, which a person may have put there first.
pub(crate) const CONFIG: &str = "config.toml";

/// The secret key of this device.
pub(crate) const DEVICE_KEY: &str = "device.key";

/// What the marker says.
const MARKER_TEXT: &str = "This folder belongs to Wakeful.\n";

/// A home that exists and is ours.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
}

/// The right to write in a home, until dropped.
#[derive(Debug)]
pub(crate) struct HomeLock {
    file: File,
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // A number that stays tells the next who looks that its process never came here.
        let _ = self.file.set_len(0);
    }
}

impl Home {
    /// Opens a home for writing; makes it when there is none.
    pub(crate) fn open_or_create(path: &Path) -> Result<Self, Failure> {
        let read_only = |error: &std::io::Error, what: &str| {
            let attempt = format!("{what} {}", path.display());
            Failure::io(
                "home_unwritable",
                &attempt,
                error,
                "give a folder you may write to with --home",
            )
        };
        let mut builder = fs::DirBuilder::new();
        // Only the owner may look inside: transcripts are private.
        builder.recursive(true).mode(0o700);
        builder
            .create(path)
            .map_err(|error| read_only(&error, "cannot make the home"))?;
        let root = path
            .canonicalize()
            .map_err(|error| read_only(&error, "cannot open the home"))?;
        let home = Self { root };
        if !home.is_marked() && home.may_be_marked()? {
            let marked = home.mark();
            marked.map_err(|error| read_only(&error, "cannot write in the home"))?;
        }
        for folder in [home.blobs(), home.scratch()] {
            builder
                .create(&folder)
                .map_err(|error| read_only(&error, "cannot write in the home"))?;
        }
        crate::denied_paths::remember(home.root());
        home.make_slot();
        Ok(home)
    }

    /// Makes the file that keeps stop requests while the database takes none. Where it cannot be made now, requests are
    /// held in memory, and whoever makes one is told so.
    pub(crate) fn make_slot(&self) {
        let _ = wakeful_store::make_slot(&self.brake_slot());
    }

    /// Brakes and cancellations that the database does not have yet.
    pub(crate) fn brake_slot(&self) -> PathBuf {
        self.root.join("stop.slot")
    }

    /// Opens a home for reading; there must be one.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let missing = |_| {
            let message = format!("there is no home at {}", path.display());
            Failure::new(
                "home_missing",
                message,
                "`wakeful run \"…\"` makes one, or give another with --home",
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

    /// Whether something stands where the home is to be.
    pub(crate) fn is_there(path: &Path) -> bool {
        path.join(MARKER).exists()
    }

    fn is_marked(&self) -> bool {
        Self::is_there(&self.root)
    }

    /// Makes an empty folder ours. Of several processes that do so at once each succeeds.
    fn mark(&self) -> std::io::Result<()> {
        // A folder that was there may be open to everybody; transcripts are not.
        fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700))?;
        let marker = self.root.join(MARKER);
        let mut new = OpenOptions::new();
        match new.write(true).create_new(true).mode(0o600).open(marker) {
            Ok(mut file) => file.write_all(MARKER_TEXT.as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a folder without a marker is empty; false when it has got its marker meanwhile, and a failure
    /// when it is somebody else's.
    fn may_be_marked(&self) -> Result<bool, Failure> {
        let foreign = |why: &str| {
            let message = format!("{} {why}", self.root.display());
            Failure::new("not_a_home", message, "give an empty or a new folder with --home")
        };
        let entries = fs::read_dir(&self.root);
        let entries = entries.map_err(|error| foreign(&format!("cannot be used as a home: {error}")))?;
        // Settings may be written down before there is anything else.
        let mut others =
            entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != CONFIG));
        match others.next() {
            None => Ok(true),
            // The marker is the first file of a home: whoever finds another one without it finds a foreign folder.
            Some(_) if self.is_marked() => Ok(false),
            Some(_) => Err(foreign("has files in it and is no Wakeful home")),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join(Self::DATABASES[0])
    }

    /// Every database that a home may have, that of agents first.
    pub(crate) const DATABASES: [&'static str; 2] = ["agent.sqlite", "db.sqlite"];

    /// Files that hold nothing secret and belong to a home as much as its databases.
    pub(crate) const PUBLIC_FILES: [&'static str; 1] = [CONFIG];

    /// Files that open something: who has them can speak for this home.
    pub(crate) const SECRET_FILES: [&'static str; 2] = ["token", "device.key"];

    /// What people wrote down for single agents, each in a folder of its name.
    pub(crate) fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// What people wrote, apart from what agents are.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("db.sqlite")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The secret key of this device.
    pub(crate) fn device_key(&self) -> PathBuf {
        self.root.join(DEVICE_KEY)
    }

    /// Private folders of running commands.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Takes the lock, waiting a while for whoever has it.
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

    /// Whether a process works here. Looking makes nothing, and what cannot be looked at counts as in use.
    pub(crate) fn is_in_use(&self) -> bool {
        match File::open(self.root.join("lock")) {
            // Given back at once, when the file is closed.
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    /// Somebody else works here.
    pub(crate) fn busy(&self, pid: &str) -> Failure {
        let message = format!("the home {} is in use by process {pid}", self.root.display());
        Failure::new("home_busy", message, "wait for it to finish, or use another home")
    }

    /// Takes the lock if nobody has it; else says who does.
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
                // Who holds it is told for people only; the lock itself is the kernel's and dies with us.
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
    fn a_folder_with_nothing_but_settings_may_become_a_home() {
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
    fn a_folder_that_got_its_marker_between_two_looks_is_no_foreign_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home {
            root: folder.path().to_owned(),
        };
        assert!(!home.is_marked() && home.may_be_marked().expect("empty"));
        // Another process is faster, and has even begun to work.
        home.mark().expect("marked");
        fs::write(home.database(), "").expect("a file");
        assert!(!home.may_be_marked().expect("ours by now"));
        home.mark().expect("marking twice is marking once");
        fs::remove_file(folder.path().join(MARKER)).expect("removed");
        assert!(home.may_be_marked().is_err(), "without a marker it is foreign");
    }
}
