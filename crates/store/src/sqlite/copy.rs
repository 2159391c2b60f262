//! Copies of database files: whole, of one moment, beside whoever writes; and the one that is made before a migration.

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

/// Copies of earlier schemas that are kept beside a database.
pub const COPIES_MAX: usize = 2;

/// Between the name of a database and the process that makes it, in the name of a file that is not whole yet.
const NEW: &str = ".new.";

/// Most files beside a database that are looked at for what dead processes left.
const ENTRIES_MAX: usize = 10_000;

/// Bytes of the header that every SQLite database begins with.
const HEADER_BYTES: u64 = 100;

/// Damage when a file is too short to be a database. Wakeful never leaves such a file, so it must not be taken for a new
/// one: what was in it would be forgotten without a word.
pub(crate) fn refuse_stub(path: &Path) -> Result<()> {
    let bytes = fs::metadata(path).map_err(refused)?.len();
    match bytes < HEADER_BYTES {
        true => Err(damaged(format!(
            "{} has {bytes} bytes, and a database has more: it was truncated or is not ours",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// A database that was brought up to date when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaUpgrade {
    /// The schema it had.
    pub from: u32,
    /// The schema it has.
    pub to: u32,
    /// What it was before, whole.
    pub copy: PathBuf,
}

/// What is known of a database file without opening it for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseIdentity {
    /// Its schema.
    pub schema: u32,
    /// Its host and life.
    pub incarnation: String,
}

/// Copies database files as they were at one moment into others, which must not be there yet. The first is that of
/// agents. While the moment is fixed nobody may write to the others: so whatever stands in them has its intent in the
/// first, and nothing in the first speaks of what is not yet in them.
pub fn copy_sqlite(files: &[(PathBuf, PathBuf)], busy_ms: u64) -> Result<()> {
    let busy = Duration::from_millis(busy_ms);
    let mut held = Vec::new();
    for (from, _) in files.iter().skip(1) {
        let mut writer = Connection::open(from, Access::Write, busy)?;
        // Where nobody can write, nobody has to be kept from it.
        if writer.is_read_only()? {
            continue;
        }
        match writer.begin_writing() {
            Ok(()) => held.push(writer),
            // No room for the index of a log, so nobody has one and writes. Whoever begins to is noticed in the end.
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
        // The moment is that of the first look.
        reader.query("SELECT COUNT(*) FROM sqlite_schema", &[])?;
        readers.push((reader, still, to));
    }
    drop(held);
    readers.iter().try_for_each(|(reader, _, to)| copy(reader, to))?;
    let mut still = readers.iter().filter_map(|(_, still, _)| still.as_ref());
    still.try_for_each(ImmutableFile::check)
}

/// A connection to a file that may be in use, and the file itself where it could only be read as it lies there.
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

/// Copies what a connection sees, without what was deleted and still lies in its pages, and makes sure that it is sound
/// and on the disk.
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

/// How closely a database is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDepth {
    /// Every page is read.
    Quick,
    /// Indexes are held against their tables as well.
    Whole,
}

/// Damage when a page is not as it should be.
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

/// Looks at every page of a file that may be in use.
pub fn check_sqlite(path: &Path, depth: CheckDepth, busy_ms: u64) -> Result<()> {
    check(&mut reach(path, Duration::from_millis(busy_ms))?.0, depth)
}

/// What a database of a home is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// What agents are and did.
    Agents,
    /// What people wrote.
    Journal,
}

impl DatabaseKind {
    /// All of them, that of agents first.
    pub const ALL: [Self; 2] = [Self::Agents, Self::Journal];

    const fn schema(self) -> &'static Schema {
        match self {
            Self::Agents => &AGENT,
            Self::Journal => &JOURNAL,
        }
    }
}

/// What a database says of itself; one that is newer or foreign, or of another kind, is refused.
pub fn identify_sqlite(path: &Path, kind: DatabaseKind, busy_ms: u64) -> Result<DatabaseIdentity> {
    let (mut reader, _) = reach(path, Duration::from_millis(busy_ms))?;
    let schema = identify(&mut reader, kind.schema())?;
    if schema == 0 {
        return Err(StoreError::Absent);
    }
    let incarnation = View::new(&mut reader, None).incarnation()?.to_string();
    Ok(DatabaseIdentity { schema, incarnation })
}

/// Blobs of a database file that are files of their own, by name, after one.
pub fn sqlite_blob_files(path: &Path, after: Option<BlobHash>, at_most: u32) -> Result<Vec<BlobHash>> {
    View::new(&mut reach(path, Duration::ZERO)?.0, None).blob_files(after, at_most)
}

/// Where the file of a blob is, below the folder of blobs.
#[must_use]
pub fn blob_file(folder: &Path, hash: &BlobHash) -> PathBuf {
    crate::pack::place(folder, hash).1
}

/// Begins a new life in a database file beside that of agents, which has a host of its own.
pub fn reborn_sqlite(path: &Path, number: i64) -> Result<()> {
    let mut connection = Connection::open(path, Access::Write, Duration::ZERO)?;
    crate::host::reborn(&mut connection, number)
}

/// Puts a new database where none is yet: made under another name, and given its own when it is whole and on the disk. A
/// process that is killed meanwhile leaves no file of that name. When another process was faster, its database stays.
pub(crate) fn put_in_place(new: &Connection, path: &Path) -> Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    remove_dead_drafts(path);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = beside(path, &format!("{NEW}{}.{number}.draft", std::process::id()));
    remove_if_there(&draft)?;
    let placed = copy(new, &draft).and_then(|()| {
        let linked = match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
            // Some file systems have no links.
            Err(_) => fs::rename(&draft, path),
            Ok(()) => Ok(()),
        };
        let synced = linked.and_then(|()| sync_folder(path.parent().unwrap_or(path)));
        synced.map_err(refused)
    });
    let _ = remove_if_there(&draft);
    placed
}

/// Removes what processes left behind that were killed while they made a database. What cannot be removed is only litter.
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

/// Keeps what a database is before it is brought up to date. None when another process was faster.
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
    // A half copy is only litter, and the first error is the one to report.
    let _ = remove_if_there(&draft);
    kept
}

/// Removes all but the newest copies of earlier schemas. One that cannot be removed is only litter.
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
