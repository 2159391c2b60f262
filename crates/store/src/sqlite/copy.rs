//! Copies of database files: consistent snapshots of files in use, and the copy made before a migration.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wakeful_core::blob::BlobHash;

use crate::pack::{damaged, refused, sync_folder};
use crate::schema::{AGENT, JOURNAL, Schema};
use crate::sql::{Access, Sql, at_most_one};
use crate::sqlite::connection::Connection;
use crate::sqlite::immutable::ImmutableFile;
use crate::sqlite::open::{identify, may_be_ours};
use crate::sqlite::wal;
use crate::{Result, StoreError, View};

/// Copies of earlier schemas that are kept next to a database.
pub const COPIES_MAX: usize = 2;

/// Separates the name of a database from the id of the process that creates it, in the name of an
/// incomplete file.
const NEW: &str = ".new.";

/// Maximum number of files next to a database that are checked for leftovers of dead processes.
const ENTRIES_MAX: usize = 10_000;

/// Size of the header of every SQLite database.
const HEADER_BYTES: u64 = 100;

/// Reports corruption if a file is too short to be a database. Wakeful never leaves such a file, so it must
/// not be treated as new: the loss of its contents would go unnoticed.
pub(crate) fn refuse_stub(path: &Path) -> Result<()> {
    let bytes = fs::metadata(path).map_err(refused)?.len();
    match bytes < HEADER_BYTES {
        true => Err(damaged(format!(
            "{} has only {bytes} bytes, too few for a database: it was truncated or is not a Wakeful database",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// A database that was migrated when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaUpgrade {
    /// The schema before the migration.
    pub from: u32,
    /// The schema after the migration.
    pub to: u32,
    /// The complete copy of the database before the migration.
    pub copy: PathBuf,
}

/// Properties of a database file that are read without opening it for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseIdentity {
    pub schema: u32,
    /// The host with its incarnation.
    pub incarnation: String,
}

/// Copies database files as they were at one point in time to files that must not exist yet. The first file
/// is the agents' database. While the snapshot is taken, no process may write to the others: so every
/// record in them has its intent in the first, and the first refers to nothing that is not yet in them.
pub fn copy_sqlite(files: &[(PathBuf, PathBuf)], busy_ms: u64) -> Result<()> {
    let busy = Duration::from_millis(busy_ms);
    let mut held = Vec::new();
    for (from, _) in files.iter().skip(1) {
        let mut writer = Connection::open(from, Access::Write, busy)?;
        // A read-only file needs no lock against writers.
        if writer.is_read_only()? {
            continue;
        }
        match writer.begin_writing() {
            Ok(()) => held.push(writer),
            // The disk is too full for the index of a write-ahead log, so no process has one and writes. A
            // process that starts to write is detected by the check at the end.
            Err(StoreError::Full) => {}
            Err(error) => return Err(error),
        }
    }
    let mut readers = Vec::new();
    for (index, (from, to)) in files.iter().enumerate() {
        let (mut reader, still) = reach(from, busy)?;
        if index == 0 {
            identify(&mut reader, &AGENT)?;
        }
        reader.begin_reading()?;
        // The first read fixes the snapshot.
        reader.query("SELECT COUNT(*) FROM sqlite_schema", &[])?;
        readers.push((reader, still, to));
    }
    drop(held);
    readers.iter().try_for_each(|(reader, _, to)| copy(reader, to))?;
    let mut still = readers.iter().filter_map(|(_, still, _)| still.as_ref());
    still.try_for_each(ImmutableFile::check)
}

/// Opens a connection to a file that may be in use. Also returns the file if it could only be opened as
/// immutable.
fn reach(path: &Path, busy: Duration) -> Result<(Connection, Option<ImmutableFile>)> {
    if !path.try_exists().map_err(refused)? {
        return Err(StoreError::Absent);
    }
    refuse_stub(path)?;
    wal::refuse_without(path)?;
    let mut reader = Connection::open(path, Access::Read, busy)?;
    let Err(error) = may_be_ours(&mut reader) else {
        return Ok((reader, None));
    };
    match ImmutableFile::instead(path, &error)? {
        Some(still) => Ok((Connection::open_still(&still)?, Some(still))),
        None => Err(error),
    }
}

/// Copies what a connection sees, without deleted content in its pages, and checks and syncs the copy.
fn copy(from: &Connection, to: &Path) -> Result<()> {
    let made = File::create_new(to).map_err(refused);
    made?;
    from.copy_to(to)?;
    let mut copy = Connection::open(to, Access::Write, Duration::ZERO)?;
    copy.control("PRAGMA journal_mode = DELETE")?;
    copy.control("VACUUM")?;
    check(&mut copy, CheckDepth::Quick)?;
    drop(copy);
    let synced = File::open(to).and_then(|file| file.sync_all());
    synced.map_err(refused)
}

/// How thoroughly a database is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDepth {
    /// Reads every page.
    Quick,
    /// Also compares indexes with their tables.
    Whole,
}

/// Reports corruption if a page is damaged.
pub(crate) fn check(connection: &mut Connection, depth: CheckDepth) -> Result<()> {
    let rows = match depth {
        CheckDepth::Quick => connection.query("PRAGMA quick_check(1)", &[])?,
        CheckDepth::Whole => connection.query("PRAGMA integrity_check(1)", &[])?,
    };
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("quick_check"))?;
    match row.text("quick_check")?.as_str() {
        "ok" => Ok(()),
        found => Err(damaged(found)),
    }
}

/// Checks every page of a file that may be in use.
pub fn check_sqlite(path: &Path, depth: CheckDepth, busy_ms: u64) -> Result<()> {
    check(&mut reach(path, Duration::from_millis(busy_ms))?.0, depth)
}

/// The databases of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// Agents and their work.
    Agents,
    /// The person's records.
    Journal,
}

impl DatabaseKind {
    /// The agents' database comes first.
    pub const ALL: [Self; 2] = [Self::Agents, Self::Journal];

    const fn schema(self) -> &'static Schema {
        match self {
            Self::Agents => &AGENT,
            Self::Journal => &JOURNAL,
        }
    }
}

/// Reads the identity of a database file. Fails if it is newer, foreign or of another kind.
pub fn identify_sqlite(path: &Path, kind: DatabaseKind, busy_ms: u64) -> Result<DatabaseIdentity> {
    let (mut reader, _) = reach(path, Duration::from_millis(busy_ms))?;
    let schema = identify(&mut reader, kind.schema())?;
    if schema == 0 {
        return Err(StoreError::Absent);
    }
    let incarnation = View::new(&mut reader, None).incarnation()?.to_string();
    Ok(DatabaseIdentity { schema, incarnation })
}

/// Returns blobs of a database file that are stored in files, ordered by hash, after one.
pub fn sqlite_blob_files(path: &Path, after: Option<BlobHash>, at_most: u32) -> Result<Vec<BlobHash>> {
    View::new(&mut reach(path, Duration::ZERO)?.0, None).blob_files(after, at_most)
}

/// Returns the path of a blob's file below the blob folder.
#[must_use]
pub fn blob_file(folder: &Path, hash: &BlobHash) -> PathBuf {
    crate::pack::place(folder, hash).1
}

/// Starts a new incarnation in the journal's file, which has its own host.
pub fn reborn_sqlite(path: &Path, number: i64) -> Result<()> {
    let mut connection = Connection::open(path, Access::Write, Duration::ZERO)?;
    crate::host::set_incarnation(&mut connection, number)
}

/// Creates a database file atomically: it is written under a temporary name and linked to its path when it
/// is complete and synced. A killed process leaves no file at that path. If another process was faster, its
/// database stays.
pub(crate) fn put_in_place(new: &Connection, path: &Path) -> Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    remove_dead_drafts(path);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = beside(path, &format!("{NEW}{}.{number}.draft", std::process::id()));
    remove_if_there(&draft)?;
    let placed = copy(new, &draft).and_then(|()| {
        let linked = match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
            // Some file systems do not support hard links.
            Err(_) => fs::rename(&draft, path),
            Ok(()) => Ok(()),
        };
        let synced = linked.and_then(|()| sync_folder(path.parent().unwrap_or(path)));
        synced.map_err(refused)
    });
    let _ = remove_if_there(&draft);
    placed
}

/// Removes files left by processes that were killed while they created a database. Failures are ignored,
/// because leftovers are harmless.
fn remove_dead_drafts(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return;
    };
    let prefix = format!("{name}{NEW}");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.take(ENTRIES_MAX) {
        let draft = entry.file_name();
        let maker = draft.to_str().and_then(|draft| draft.strip_prefix(&prefix));
        let maker = maker.and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        if maker.is_some_and(|pid| matches!(fs::exists(format!("/proc/{pid}")), Ok(false))) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Copies a database before its migration. Returns `None` if another process was faster.
pub(crate) fn keep_old(
    connection: &Connection,
    path: &Path,
    schema: &Schema,
    found: u32,
) -> Result<Option<PathBuf>> {
    let kept = beside(path, &format!(".schema-{found}.bak"));
    let draft = beside(path, &format!(".schema-{found}.{}.draft", std::process::id()));
    remove_if_there(&draft)?;
    let made = copy(connection, &draft).and_then(|()| {
        let mut copy = Connection::open(&draft, Access::Read, Duration::ZERO)?;
        Ok(identify(&mut copy, schema)? == found)
    });
    let kept = made.and_then(|is_old| {
        if !is_old {
            return Ok(None);
        }
        let moved = fs::rename(&draft, &kept);
        let synced = moved.and_then(|()| sync_folder(path.parent().unwrap_or(path)));
        synced.map(|()| Some(kept)).map_err(refused)
    });
    // An incomplete copy is harmless, and the first error is the one to report.
    let _ = remove_if_there(&draft);
    kept
}

/// Removes all but the newest copies of earlier schemas. Failures are ignored, because leftovers are
/// harmless.
pub(crate) fn forget_older(path: &Path, known: u32) {
    let copies = (1..known)
        .rev()
        .map(|schema| beside(path, &format!(".schema-{schema}.bak")));
    for copy in copies.filter(|copy| copy.exists()).skip(COPIES_MAX) {
        let _ = fs::remove_file(copy);
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(refused(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
