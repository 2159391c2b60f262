//! `wakeful backup`: writes everything in a home to one file, while other processes may work in the home.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::JournalError;
use wakeful_store::{
    BUSY_MS, DatabaseKind, StoreError, blob_file, copy_sqlite, identify_sqlite, keep_files, sqlite_blob_files,
};
use wakeful_tools::remove_tree::{self, RemovalLimits};

use super::GlobalArgs;
use crate::archive::{self, ABOUT, ArchiveError, BackupManifest, FORMAT, Writer};
use crate::denied_paths;
use crate::failure::{DISK_FULL, Failure};
use crate::home::Home;
use crate::show::Out;
use crate::show::phrase::{count, shell_word};
use crate::system::{RealClock, fresh_id};

/// Number of blob names read at once.
const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// File to create; an existing file is never overwritten
    file: PathBuf,
    /// Include the API token and the private key of this device
    #[arg(long)]
    with_secrets: bool,
}

pub(crate) fn backup(args: &BackupArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if shared.database().is_some() {
        return Err(Failure::usage(
            "backup_postgres",
            "`wakeful backup` does not copy PostgreSQL databases",
            "use `pg_dump --schema='wakeful_*'`, or omit --database to back up the home itself",
        ));
    }
    let home = Home::open(&shared.home()?)?;
    let target = std::path::absolute(&args.file).map_err(|error| unwritable(&args.file, &error))?;
    refuse_existing(&target)?;
    let made_at = RealClock::new().now();
    let (about, files) = make(&home, &target, args.with_secrets, made_at)?;
    denied_paths::remember(&target);
    let bytes = fs::metadata(&target).map_or(0, |found| found.len());
    let object = json!({
        "file": target, "bytes": bytes, "files": files, "made_at": about.made_at, "schema": about.schema,
        "incarnation": about.incarnation, "with_secrets": about.with_secrets,
    });
    let secrets = match about.with_secrets {
        true => "tokens and keys are included, so keep the file as safe as they are",
        false => "tokens and keys are not included",
    };
    let words = format!(
        "{} contains {} ({}), each with a checksum; {secrets}\n`wakeful restore {} --home DIR` restores it into an empty home",
        target.display(),
        count(files, "file"),
        count(bytes, "byte"),
        shell_word(&target.display().to_string()),
    );
    out.answer(&object, &words);
    Ok(0)
}

/// Writes the archive under a temporary name, verifies it, and renames it last.
fn make(
    home: &Home,
    target: &Path,
    with_secrets: bool,
    made_at: Millis,
) -> Result<(BackupManifest, usize), Failure> {
    let parent = target.parent().unwrap_or(target);
    let rooms = StagingDir::make(parent).map_err(|error| unwritable(parent, &error))?;
    let draft = rooms.folder.join("backup.tar");
    // Blob garbage collection is blocked until the last blob is copied. If the lock file cannot be written,
    // no other process can collect blobs either.
    let _kept = keep_files(&home.blobs()).ok();
    let databases = copy_databases(home, &rooms.folder).map_err(elsewhere)?;
    let (_, agents_copy) = databases.first().ok_or(StoreError::Absent)?;
    let identity = identify_sqlite(agents_copy, DatabaseKind::Agents, BUSY_MS)?;
    let about = BackupManifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: made_at.rfc3339(),
        schema: identity.schema,
        incarnation: identity.incarnation,
        with_secrets,
    };
    let written = write(home, &draft, &about, &databases).map_err(|error| backup_failure(target, &error))?;
    let found = archive::verify(&draft).map_err(|bad| {
        let message = format!("{} was written, but verification failed: {bad}", target.display());
        Failure::new(
            "backup_damaged",
            message,
            "check the disk, or write the backup to another one",
        )
    })?;
    if found.files.len() != written {
        let message = format!(
            "{} contains {} files; {written} were written",
            target.display(),
            found.files.len()
        );
        return Err(Failure::new("backup_damaged", message, "try again"));
    }
    publish(&draft, target)?;
    Ok((about, written))
}

/// Copies all existing databases as of one point in time.
fn copy_databases(home: &Home, into: &Path) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    if !home.database().exists() {
        return Err(StoreError::Absent.into());
    }
    let mut copies = Vec::new();
    for (name, kind) in Home::DATABASES.into_iter().zip(DatabaseKind::ALL) {
        match (kind, identify_sqlite(&home.root().join(name), kind, BUSY_MS)) {
            // A journal that was never written to does not exist, so there is nothing to copy.
            (DatabaseKind::Journal, Err(StoreError::Absent)) => {}
            (DatabaseKind::Journal, Err(error)) => return Err(JournalError::Store(error).into()),
            (DatabaseKind::Agents, Err(error)) => return Err(error.into()),
            (DatabaseKind::Agents | DatabaseKind::Journal, Ok(_)) => copies.push((name, into.join(name))),
        }
    }
    let files: Vec<(PathBuf, PathBuf)> = copies
        .iter()
        .map(|(name, copy)| (home.root().join(name), copy.clone()))
        .collect();
    copy_sqlite(&files, BUSY_MS)?;
    Ok(copies)
}

/// Writes the archive and returns the number of files in it.
fn write(
    home: &Home,
    draft: &Path,
    about: &BackupManifest,
    databases: &[(&'static str, PathBuf)],
) -> Result<usize, BackupError> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    let seconds = RealClock::new().now().0 / 1_000;
    let mut writer = Writer::new(file, u64::try_from(seconds).unwrap_or(0));
    let first = serde_json::to_vec_pretty(about).map_err(io::Error::other)?;
    writer.add(ABOUT, first.len() as u64, first.as_slice())?;
    let mut count = 0;
    for (name, copy) in databases {
        add(&mut writer, name, copy)?;
        count += 1;
    }
    let secrets = Home::SECRET_FILES.into_iter().filter(|_| about.with_secrets);
    for name in Home::PUBLIC_FILES.into_iter().chain(secrets) {
        let path = home.root().join(name);
        if is_file(&path) {
            add(&mut writer, name, &path)?;
            count += 1;
        }
    }
    for (name, path) in guidance(home)? {
        add(&mut writer, &name, &path)?;
        count += 1;
    }
    let (_, agents_copy) = databases.first().ok_or(StoreError::Absent)?;
    let mut after = None;
    loop {
        let blobs = sqlite_blob_files(agents_copy, after, PAGE)?;
        let Some(last) = blobs.last() else { break };
        after = Some(*last);
        for hash in &blobs {
            let path = blob_file(Path::new("blobs"), hash);
            add(&mut writer, &path.to_string_lossy(), &home.root().join(&path))?;
            count += 1;
        }
    }
    writer.finish()?;
    Ok(count)
}

#[derive(Debug, thiserror::Error)]
enum BackupError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row references a blob whose file is missing.
    #[error("{0} is missing")]
    Missing(PathBuf),
}

fn add(writer: &mut Writer, name: &str, path: &Path) -> Result<(), BackupError> {
    let file = File::open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            BackupError::Missing(path.to_owned())
        } else {
            BackupError::Io(error)
        }
    })?;
    let size = file.metadata()?.len();
    Ok(writer.add(name, size, file)?)
}

/// Guidance files for agents. Symbolic links are not followed, because they may point outside the home.
fn guidance(home: &Home) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(home.agents()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(agent) = name.to_str().filter(|name| AgentId::parse(name).is_ok()) else {
            continue;
        };
        let path = entry.path().join("AGENTS.md");
        if entry.file_type()?.is_dir() && is_file(&path) {
            files.push((format!("agents/{agent}/AGENTS.md"), path));
        }
    }
    files.sort();
    Ok(files)
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// A private temporary folder next to the target, removed with its contents on drop.
struct StagingDir {
    folder: PathBuf,
}

impl StagingDir {
    fn make(parent: &Path) -> io::Result<Self> {
        let folder = parent.join(format!(".wakeful-backup-{}", fresh_id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { folder })
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        // Leftover files are harmless, and the name of the folder identifies their origin.
        let _left = remove_tree::remove(&self.folder, RemovalLimits::EXTENDED);
    }
}

/// Renames the file to its target, unless the target exists by now.
fn publish(draft: &Path, target: &Path) -> Result<(), Failure> {
    let moved = renameat_with(CWD, draft, CWD, target, RenameFlags::NOREPLACE);
    let moved = match moved {
        // Not every file system supports an atomic rename without replacement.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            refuse_existing(target)?;
            fs::rename(draft, target)
        }
        Err(rustix::io::Errno::EXIST) => return Err(existing(target)),
        other => other.map_err(io::Error::from),
    };
    let parent = target.parent().unwrap_or(target);
    moved
        .and_then(|()| File::open(parent)?.sync_all())
        .map_err(|error| unwritable(target, &error))
}

fn refuse_existing(target: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(target) {
        Ok(_) => Err(existing(target)),
        Err(_) => Ok(()),
    }
}

fn existing(target: &Path) -> Failure {
    let message = format!("{} already exists", target.display());
    Failure::usage(
        "backup_exists",
        message,
        "choose another name, or move the existing file",
    )
}

fn backup_failure(target: &Path, broken: &BackupError) -> Failure {
    match broken {
        BackupError::Io(error) => unwritable(target, error),
        BackupError::Store(error) => Failure::from(wakeful_core::problem::Problem::from(error)),
        BackupError::Missing(path) => Failure::new(
            "blob_missing",
            format!("the database references {}, which is missing", path.display()),
            "restore the file from an older backup; `wakeful doctor` counts missing files",
        ),
    }
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    elsewhere(Failure::io(
        "backup_unwritable",
        &attempt,
        error,
        "choose another folder",
    ))
}

/// Adds the hint that another disk can hold the copy.
fn elsewhere(failure: Failure) -> Failure {
    match failure.code() {
        DISK_FULL => failure.with_hint("free some space, or choose another disk"),
        _ => failure,
    }
}

pub(crate) fn unusable(path: &Path, bad: &ArchiveError) -> Failure {
    let (code, hint) = match bad {
        ArchiveError::Foreign => ("not_a_backup", "use a file made by `wakeful backup`"),
        ArchiveError::Development => (
            "development_home",
            "restore it with the build that made it, or use another backup",
        ),
        ArchiveError::Newer { .. } => ("backup_newer", "use the newer version of wakeful that made it"),
        ArchiveError::Truncated | ArchiveError::Damaged(_) => (
            "backup_damaged",
            "use another copy of the file, or another backup",
        ),
        ArchiveError::Io(_) => ("backup_unreadable", "check the path and its permissions"),
    };
    Failure::new(code, format!("{}: {bad}", path.display()), hint)
}
