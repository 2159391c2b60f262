//! The files that a daemon writes to the `run/` folder of its home so that other processes can find it.
//! They are hints only: a file of a dead process is stale, regardless of its content.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wakeful_api::{BackupProblem, LastFailure};

use crate::failure::Failure;
use crate::system::is_alive;

/// Maximum bytes of the log that are shown.
pub(crate) const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// A log larger than this is rotated when a daemon starts. One old log is kept.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Maximum number of files in the folder that are checked for leftovers; a daemon keeps fewer than a
/// hundred.
const RUN_FILES_MAX: usize = 4_096;

/// File name prefix of pages with a login link.
const PAGE_PREFIX: &str = "login-";

/// File name suffix of pages with a login link.
const PAGE_SUFFIX: &str = ".html";

/// The `run/` folder of a home.
#[derive(Debug, Clone)]
pub(crate) struct RunDir {
    root: PathBuf,
}

/// The published record of a running daemon. Fields that a later version adds must have a default here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DaemonRecord {
    pub(crate) pid: u32,
    /// When the process started, in clock ticks after boot, because a pid may be reused.
    #[serde(default)]
    pub(crate) pid_started: u64,
    /// The address on which the daemon listens.
    pub(crate) http_addr: String,
    pub(crate) token_file: PathBuf,
    /// The socket in the home through which commands reach the daemon; `None` where the file system has no
    /// sockets.
    #[serde(default)]
    pub(crate) socket_path: Option<PathBuf>,
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) started_at: String,
    /// Fingerprint of the effective configuration at start, including flags.
    #[serde(default)]
    pub(crate) config_fingerprint: String,
    /// Fingerprint of the configuration file and environment at start, without flags.
    #[serde(default)]
    pub(crate) written_fingerprint: String,
    /// Hash of the database address; `None` for the home's own database.
    #[serde(default)]
    pub(crate) database: Option<String>,
}

/// Whether a daemon is running.
#[expect(
    clippy::large_enum_variant,
    reason = "only one short-lived value exists at a time"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DaemonPresence {
    /// No daemon is running, and no record exists.
    Absent,
    /// No daemon is running; the record is left over from a dead one, or cannot be read.
    Stale,
    /// The daemon of this record is running.
    Alive(DaemonRecord),
}

impl RunDir {
    pub(crate) fn of(home: &Path) -> Self {
        Self {
            root: home.join("run"),
        }
    }

    pub(crate) fn record_path(&self) -> PathBuf {
        self.root.join("daemon.json")
    }

    pub(crate) fn failure_path(&self) -> PathBuf {
        self.root.join("last-failure.json")
    }

    /// The path of the daemon's socket. Creates the folder so that only its owner can access it.
    pub(crate) fn make_socket_path(&self) -> Result<PathBuf, Failure> {
        self.make()?;
        let closed = fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700));
        closed.map_err(|error| unwritable(&self.root, &error))?;
        Ok(self.root.join("wakeful.sock"))
    }

    fn token_path(&self) -> PathBuf {
        self.root.join("token")
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.root.join("daemon.log")
    }

    /// Checks whether a daemon is running.
    pub(crate) fn found(&self) -> DaemonPresence {
        match fs::exists(self.record_path()) {
            Ok(false) => DaemonPresence::Absent,
            Ok(true) | Err(_) => match self.read::<DaemonRecord>(&self.record_path()) {
                Some(record) if is_alive(record.pid, record.pid_started) => DaemonPresence::Alive(record),
                Some(_) | None => DaemonPresence::Stale,
            },
        }
    }

    /// Publishes the record of this daemon.
    pub(crate) fn write_record(&self, record: &DaemonRecord) -> Result<(), Failure> {
        self.remove_login_pages();
        self.write(&self.record_path(), record)
    }

    /// Removes the record of a daemon that has ended, and the token that was stored while it ran.
    pub(crate) fn remove_record(&self) {
        // A file that cannot be removed is stale and is recognised as such.
        let _ = fs::remove_file(self.record_path());
        let _ = fs::remove_file(self.token_path());
        self.remove_login_pages();
    }

    /// Writes a page with a login link, to be opened in a browser of the same user.
    pub(crate) fn write_login_page(&self, name: &str, html: &str) -> std::io::Result<PathBuf> {
        self.make_folder()?;
        let path = self.root.join(format!("{PAGE_PREFIX}{name}{PAGE_SUFFIX}"));
        let mut new = fs::OpenOptions::new();
        let mut file = new.write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(html.as_bytes())?;
        Ok(path)
    }

    /// Deletes pages with login links. The links expire with the daemon that created them.
    pub(crate) fn remove_login_pages(&self) {
        let entries = fs::read_dir(&self.root).into_iter().flatten();
        for entry in entries.filter_map(Result::ok).take(RUN_FILES_MAX) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(PAGE_PREFIX) && name.ends_with(PAGE_SUFFIX) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Removes the record of this process, unless another daemon has published one since.
    pub(crate) fn forget_process(&self, pid: u32) {
        let record = self.read::<DaemonRecord>(&self.record_path());
        if record.is_none_or(|record| record.pid == pid) {
            self.remove_record();
        }
    }

    /// The last failure outside of any run.
    pub(crate) fn failure(&self) -> Option<LastFailure> {
        self.read(&self.failure_path())
    }

    pub(crate) fn note_failure(&self, failure: &LastFailure) -> Result<(), Failure> {
        self.write(&self.failure_path(), failure)
    }

    /// Deletes the last failure after a successful start or stop.
    pub(crate) fn forget_failure(&self) {
        let _ = fs::remove_file(self.failure_path());
    }

    fn backup_failure_path(&self) -> PathBuf {
        self.root.join("backup-failure.json")
    }

    /// Why the last daily backup failed, if it did.
    pub(crate) fn backup_failure(&self) -> Option<BackupProblem> {
        self.read(&self.backup_failure_path())
    }

    pub(crate) fn note_backup_failure(&self, problem: &BackupProblem) -> Result<(), Failure> {
        self.write(&self.backup_failure_path(), problem)
    }

    /// Deletes the failure after a successful backup.
    pub(crate) fn forget_backup_failure(&self) {
        let _ = fs::remove_file(self.backup_failure_path());
    }

    /// Stores a token that was passed as an argument, so that other commands on this machine find it while
    /// the daemon runs.
    pub(crate) fn keep_token(&self, token: &str) -> Result<PathBuf, Failure> {
        self.make()?;
        let path = self.token_path();
        let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut new = fs::OpenOptions::new();
        let opened = new
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh);
        let written = opened.and_then(|mut file| file.write_all(token.as_bytes()));
        written
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }

    /// Opens the log for appending. A log that is too long is rotated first.
    pub(crate) fn open_log(&self) -> Result<fs::File, Failure> {
        self.make()?;
        let path = self.log_path();
        if fs::metadata(&path).is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            let _ = fs::rename(&path, self.root.join("daemon.log.1"));
        }
        let log = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path);
        log.map_err(|error| unwritable(&path, &error))
    }

    /// The last lines of the log, at most [`TAIL_BYTES_MAX`] bytes.
    pub(crate) fn log_tail(&self, lines: usize) -> Vec<String> {
        let read = || {
            let mut log = fs::File::open(self.log_path())?;
            let length = log.metadata()?.len();
            log.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES_MAX)))?;
            let mut bytes = Vec::new();
            log.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
            std::io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let all: Vec<&str> = text.lines().collect();
        let newest = all.iter().skip(all.len().saturating_sub(lines));
        newest.map(|line| (*line).to_owned()).collect()
    }

    fn read<T: DeserializeOwned>(&self, path: &Path) -> Option<T> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes atomically: a reader never sees a partial file.
    fn write<T: Serialize>(&self, path: &Path, value: &T) -> Result<(), Failure> {
        self.make()?;
        let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
        let write = || {
            let mut new = fs::OpenOptions::new();
            let mut file = new
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            file.write_all(&serde_json::to_vec(value)?)?;
            fs::rename(&fresh, path)
        };
        write().map_err(|error| unwritable(path, &error))
    }

    fn make(&self) -> Result<(), Failure> {
        self.make_folder().map_err(|error| unwritable(&self.root, &error))
    }

    fn make_folder(&self) -> std::io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root)
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    let hint = "make the home writable or choose another with --home";
    Failure::io("home_unwritable", &attempt, error, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::this_runner;

    fn record() -> DaemonRecord {
        let me = this_runner();
        DaemonRecord {
            pid: me.pid,
            pid_started: me.pid_started,
            http_addr: "127.0.0.1:1".into(),
            token_file: "/nowhere".into(),
            socket_path: None,
            version: String::new(),
            started_at: String::new(),
            config_fingerprint: String::new(),
            written_fingerprint: String::new(),
            database: None,
        }
    }

    #[test]
    fn a_daemon_is_found_only_while_its_own_process_lives() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = RunDir::of(home.path());
        assert_eq!(folder.found(), DaemonPresence::Absent);
        folder.write_record(&record()).expect("written");
        assert_eq!(folder.found(), DaemonPresence::Alive(record()));
        let reused = DaemonRecord {
            pid_started: record().pid_started + 1,
            ..record()
        };
        folder.write_record(&reused).expect("written");
        assert_eq!(
            folder.found(),
            DaemonPresence::Stale,
            "the pid is another process's by now"
        );
        folder.remove_record();
        assert_eq!(folder.found(), DaemonPresence::Absent);
    }

    // Conformance: H-080
    #[test]
    fn an_old_record_is_read_and_a_broken_one_is_stale() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = RunDir::of(home.path());
        folder.write_record(&record()).expect("written");
        let old = format!(
            r#"{{"pid": {}, "pid_started": {}, "http_addr": "a:1", "token_file": "t", "unknown": 1}}"#,
            record().pid,
            record().pid_started
        );
        fs::write(folder.record_path(), old).expect("written");
        assert!(matches!(folder.found(), DaemonPresence::Alive(record) if record.version.is_empty()));
        fs::write(folder.record_path(), "{").expect("written");
        assert_eq!(folder.found(), DaemonPresence::Stale);
    }

    #[test]
    fn the_tail_of_a_long_log_is_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = RunDir::of(home.path());
        assert_eq!(folder.log_tail(10), Vec::<String>::new());
        let mut log = folder.open_log().expect("a log");
        for number in 0..20_000 {
            writeln!(log, "line {number}").expect("written");
        }
        assert_eq!(folder.log_tail(2), ["line 19998", "line 19999"]);
        let all: usize = folder.log_tail(usize::MAX).iter().map(String::len).sum();
        assert!(all as u64 <= TAIL_BYTES_MAX, "{all}");
    }
}
