//! Simulates a power cut: data that no sync made durable is lost, torn or kept at random.
//!
//! The disk library (`shim/disk.c`) has recorded every change with the previous content. From that the
//! state after the last sync is restored, and each later part is applied or not: whole writes, pages of
//! 4096 bytes, or sectors of 512. The same for names: a folder that was not synced may lose the creation,
//! move or removal of files. Further guarantees of file systems are not assumed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::rng::Rng;

/// The unit that a disk writes atomically.
const SECTOR: usize = 512;
/// Sectors that the kernel writes together.
const PAGE_SECTORS: usize = 8;

const MAGIC: u32 = 0x4b53_4944;
const HEAD_BYTES: usize = 48;

/// One record of the disk journal.
#[derive(Debug, Clone, Default)]
struct Record {
    kind: u8,
    file: u64,
    at: usize,
    size: usize,
    path: PathBuf,
    other: PathBuf,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// The result of a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of content changes that no sync had made durable.
    pub(crate) unsynced: usize,
    /// Number of files whose content changed.
    pub(crate) changed: usize,
    /// Number of created, moved or removed names that were undone.
    pub(crate) undone: usize,
}

/// Simulates a power cut: changes the files below `root` as the disk journal permits, and deletes the disk
/// journal.
pub(crate) fn cut(root: &Path, journal: &Path, rng: &mut Rng) -> Result<Cut> {
    let records = read(&journal.join("journal"))?;
    let mut done = Cut::default();
    let changes = |record: &&Record| matches!(record.kind, b'W' | b'T');
    // Ordered by name, because inode numbers are random.
    for (path, file) in places(root, journal)? {
        let synced = synced(&records, |record| record.kind == b'S' && record.file == file);
        let later: Vec<&Record> = records
            .iter()
            .skip(synced)
            .filter(|record| changes(record) && record.file == file)
            .collect();
        if later.is_empty() {
            continue;
        }
        let path = &path;
        let left = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let found = survivor(left.clone(), &later, rng);
        done.unsynced += later.len();
        if found != left {
            done.changed += 1;
            fs::write(path, found).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    done.undone = forget_names(&records, journal, rng)?;
    fs::remove_dir_all(journal).context("deleting the disk journal")?;
    Ok(done)
}

/// Number of records that the last matching sync covers.
fn synced(records: &[Record], is_it: impl Fn(&Record) -> bool) -> usize {
    records
        .iter()
        .filter(|record| is_it(record))
        .map(|record| record.at)
        .max()
        .unwrap_or(0)
}

/// Every existing file with its inode number. A name outside the disk counts only if no other name exists.
fn places(root: &Path, journal: &Path) -> Result<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![journal.to_path_buf(), root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
            let entry = entry?;
            let about = entry.metadata()?;
            if about.is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(about.ino(), entry.path());
            }
        }
    }
    Ok(found.into_iter().map(|(file, path)| (path, file)).collect())
}

/// The content of a file whose later changes were never synced.
fn survivor(left: Vec<u8>, later: &[&Record], rng: &mut Rng) -> Vec<u8> {
    let base = undone(left.clone(), later);
    match rng.below(10) {
        0..=2 => base,
        3 => left,
        4..=5 => until(base, later, rng),
        6..=7 => mixed(base, later, PAGE_SECTORS, rng),
        _ => mixed(base, later, 1, rng),
    }
}

/// The file without the changes.
fn undone(mut content: Vec<u8>, later: &[&Record]) -> Vec<u8> {
    for record in later.iter().rev() {
        put(&mut content, record.at, &record.old);
        content.resize(record.size, 0);
    }
    content
}

/// The file with the changes up to one of them, which may be applied partially.
fn until(mut content: Vec<u8>, later: &[&Record], rng: &mut Rng) -> Vec<u8> {
    let whole = rng.index(later.len() + 1);
    for record in later.iter().take(whole) {
        apply(&mut content, record);
    }
    if let Some(record) = later.get(whole)
        && record.kind == b'W'
    {
        let sectors = rng.index(record.new.len() / SECTOR + 1);
        let part = record.new.get(..sectors * SECTOR).unwrap_or_default();
        put(&mut content, record.at, part);
    }
    content
}

/// The file in which each group of sectors has a random age.
fn mixed(base: Vec<u8>, later: &[&Record], group: usize, rng: &mut Rng) -> Vec<u8> {
    let mut ages = vec![base.clone()];
    let mut content = base;
    for record in later {
        apply(&mut content, record);
        ages.push(content.clone());
    }
    let longest = ages.iter().map(Vec::len).max().unwrap_or(0);
    let size = ages.get(rng.index(ages.len())).map_or(0, Vec::len);
    let mut mixed = vec![0; longest];
    let bytes = group * SECTOR;
    for (index, chunk) in mixed.chunks_mut(bytes).enumerate() {
        let start = index * bytes;
        let age = ages.get(rng.index(ages.len())).map_or(&[][..], Vec::as_slice);
        let there = age.get(start..).unwrap_or_default();
        let length = there.len().min(chunk.len());
        let (known, _) = chunk.split_at_mut(length);
        known.copy_from_slice(there.get(..length).unwrap_or_default());
    }
    mixed.truncate(size);
    mixed
}

fn apply(content: &mut Vec<u8>, record: &Record) {
    if record.kind == b'W' {
        put(content, record.at, &record.new);
    } else {
        content.resize(record.at, 0);
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    if let Some(place) = content.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}

/// Undoes name changes that no sync of their folder had made durable: all after a random point.
fn forget_names(records: &[Record], journal: &Path, rng: &mut Rng) -> Result<usize> {
    let named = |record: &Record| matches!(record.kind, b'C' | b'M' | b'U' | b'R' | b'X');
    let is_durable = |index: usize, record: &Record| {
        let folders = [record.path.parent(), record.other.parent()];
        let covers = |sync: &Record| {
            sync.kind == b'D' && sync.at > index && folders.contains(&Some(sync.path.as_path()))
        };
        records.iter().skip(index).any(covers)
    };
    let open: Vec<&Record> = records
        .iter()
        .enumerate()
        .filter(|(index, record)| named(record) && !is_durable(*index, record))
        .map(|(_, record)| record)
        .collect();
    let kept = match rng.below(10) {
        0..=3 => 0,
        4..=5 => open.len(),
        _ => rng.index(open.len() + 1),
    };
    let undone: Vec<&Record> = open.into_iter().skip(kept).rev().collect();
    for record in &undone {
        take_back(record, journal).with_context(|| format!("undoing {record:?}"))?;
    }
    Ok(undone.len())
}

fn take_back(record: &Record, journal: &Path) -> Result<()> {
    let is_at = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.ino() == record.file);
    let grave = |file: u64| journal.join(file.to_string());
    match record.kind {
        b'C' if is_at(&record.path) => fs::remove_file(&record.path)?,
        b'M' if record.path.is_dir() => fs::remove_dir_all(&record.path)?,
        b'U' if !record.path.exists() && folder_exists(&record.path) => {
            fs::hard_link(grave(record.file), &record.path)?
        }
        b'X' if folder_exists(&record.path) => fs::create_dir_all(&record.path)?,
        b'R' if is_at(&record.other) && folder_exists(&record.path) => {
            fs::rename(&record.other, &record.path)?;
            if record.at != 0 {
                fs::hard_link(grave(record.at as u64), &record.other)?;
            }
        }
        // The name to undo does not exist any more: the change was interrupted, or the file was moved
        // again.
        _ => {}
    }
    Ok(())
}

fn folder_exists(path: &Path) -> bool {
    path.parent().is_some_and(Path::is_dir)
}

/// Reads the disk journal. An incomplete last record and its change never happened.
fn read(path: &Path) -> Result<Vec<Record>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        // The program was killed before it created one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("reading the disk journal"),
    };
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some((head, body)) = rest.split_at_checked(HEAD_BYTES) {
        let word = |at: usize| -> usize {
            let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, |bytes| u32::from_ne_bytes(bytes) as usize)
        };
        let long = |at: usize| -> u64 {
            let bytes = head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        if word(0) != MAGIC as usize {
            bail!("record {} of the disk journal is invalid", records.len());
        }
        let lengths = [word(32), word(36), word(40), word(44)];
        if body.len() < lengths.iter().sum() {
            break;
        }
        let mut left = body;
        let [path, other, old, new] = lengths.map(|length| {
            let (part, more) = left.split_at_checked(length).unwrap_or_default();
            left = more;
            part
        });
        let text = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
        records.push(Record {
            kind: u8::try_from(word(4))?,
            file: long(8),
            at: usize::try_from(long(16))?,
            size: usize::try_from(long(24))?,
            path: text(path),
            other: text(other),
            old: old.to_vec(),
            new: new.to_vec(),
        });
        rest = left;
    }
    Ok(records)
}

#[cfg(test)]
mod tests;
