//! `wakeful backup`: one file with everything that a home is, made beside whoever works in it.

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
use crate::system::{RealClock, fresh_id};

/// Names of blobs that are read at once.
const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to make; one that is there is never overwritten
    file: PathBuf,
    /// Put the token of the API and the private key of this device in as well
    #[arg(long)]
    with_secrets: bool,
}

/// Runs the verb.
pub(crate) fn backup(args: &BackupArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if shared.database().is_some() {
        return Err(Failure::usage(
            "backup_postgres",
            "a PostgreSQL database is not copied by Wakeful",
            "use `pg_dump --schema=wakeful`; without --database the home itself is copied",
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
        true => "tokens and keys are in it: keep it as safe as they are",
        false => "tokens and keys are not in it",
    };
    let words = format!(
        "{} holds {files} files in {bytes} bytes, each with its checksum; {secrets}\n\
         `wakeful restore {}` brings them back into an empty home",
        target.display(),
        target.display(),
    );
    out.answer(&object, &words);
    Ok(0)
}

/// Makes the file under another name, reads it back, and gives it its name last.
fn make(
    home: &Home,
    target: &Path,
    with_secrets: bool,
    made_at: Millis,
) -> Result<(BackupManifest, usize), Failure> {
    let parent = target.parent().unwrap_or(target);
    let rooms = StagingDir::make(parent).map_err(|error| unwritable(parent, &error))?;
    let draft = rooms.folder.join("backup.tar");
    // Until the last blob is copied, nobody sweeps one away. Where nobody can write, nobody sweeps.
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
    let written = write(home, &draft, &about, &databases).map_err(|error| told(target, &error))?;
    let found = archive::verify(&draft).map_err(|bad| {
        let message = format!(
            "{} was written, and reads back otherwise: {bad}",
            target.display()
        );
        Failure::new("backup_damaged", message, "look after that disk; try another one")
    })?;
    if found.files.len() != written {
        let message = format!(
            "{} has {} files of {written}",
            target.display(),
            found.files.len()
        );
        return Err(Failure::new("backup_damaged", message, "try again"));
    }
    publish(&draft, target)?;
    Ok((about, written))
}

/// Copies of all databases there are, of one moment.
fn copy_databases(home: &Home, into: &Path) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    if !home.database().exists() {
        return Err(StoreError::Absent.into());
    }
    let mut copies = Vec::new();
    for (name, kind) in Home::DATABASES.into_iter().zip(DatabaseKind::ALL) {
        match (kind, identify_sqlite(&home.root().join(name), kind, BUSY_MS)) {
            // One that nobody has written to yet holds nothing to copy.
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

/// Writes the archive; says how many files are in it.
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

/// Why a file could not be put together.
#[derive(Debug, thiserror::Error)]
enum BackupError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row names a blob whose file is gone.
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

/// What people wrote down for agents. Links are not followed: they may lead anywhere.
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

/// A private folder beside the target, removed with all that is left in it.
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
        // What stays behind is only litter, and its name says whose.
        let _left = remove_tree::remove(&self.folder, RemovalLimits::PATIENT);
    }
}

/// Gives the file its name, unless somebody has taken it meanwhile.
fn publish(draft: &Path, target: &Path) -> Result<(), Failure> {
    let moved = renameat_with(CWD, draft, CWD, target, RenameFlags::NOREPLACE);
    let moved = match moved {
        // Not every file system can do that in one step.
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
    let message = format!("{} is there already", target.display());
    Failure::usage("backup_exists", message, "give another name, or move it away")
}

fn told(target: &Path, broken: &BackupError) -> Failure {
    match broken {
        BackupError::Io(error) => unwritable(target, error),
        BackupError::Store(error) => Failure::from(wakeful_core::problem::Problem::from(error)),
        BackupError::Missing(path) => Failure::new(
            "blob_missing",
            format!("the database names {}, which is gone", path.display()),
            "put the file back from an older backup; `wakeful doctor` counts what is missing",
        ),
    }
}

/// Why a file cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    elsewhere(Failure::io(
        "backup_unwritable",
        &attempt,
        error,
        "choose another folder",
    ))
}

/// The same failure; for a copy another disk is a way out as well.
fn elsewhere(failure: Failure) -> Failure {
    match failure.code() {
        DISK_FULL => failure.with_hint("free some space, or choose another disk"),
        _ => failure,
    }
}

/// Why a file cannot be used as a backup.
pub(crate) fn unusable(path: &Path, bad: &ArchiveError) -> Failure {
    let (code, hint) = match bad {
        ArchiveError::Foreign => ("not_a_backup", "give a file that `wakeful backup` made"),
        ArchiveError::Development => (
            "development_home",
            "restore it with the build that made it, or use another backup",
        ),
        ArchiveError::Newer { .. } => ("backup_newer", "use the newer wakeful that made it"),
        ArchiveError::Truncated | ArchiveError::Damaged(_) => {
            ("backup_damaged", "use another copy of it, or another backup")
        }
        ArchiveError::Io(_) => ("backup_unreadable", "give a file that you may read"),
    };
    Failure::new(code, format!("{}: {bad}", path.display()), hint)
}
