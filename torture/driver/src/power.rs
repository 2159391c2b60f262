//! A power cut: what no sync had made durable is lost, or torn, or kept, as chance has it.
//!
//! The disk (`shim/disk.c`) has put down every change with what was there before. From that the state after the last
//! sync is made again, and of everything that came later each part is there or not: whole writes, pages of 4096 bytes,
//! or sectors of 512. The same for names: a folder that was not synced may not know of files that were made, moved or
//! removed in it. What a file system promises beyond that is not relied on.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::rng::Rng;

/// What a disk writes at once, and never half of it.
const SECTOR: usize = 512;
/// Sectors that the system hands to the disk together.
const PAGE_SECTORS: usize = 8;

const MAGIC: u32 = 0x4b53_4944;
const HEAD_BYTES: usize = 48;

/// One record of the journal.
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

/// What a cut did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Changes of contents that no sync had made durable.
    pub(crate) unsynced: usize,
    /// Files that came out otherwise than they were left.
    pub(crate) changed: usize,
    /// Names that were made, moved or removed, and then were not.
    pub(crate) undone: usize,
}

/// Cuts the power: changes the files below `root` as the journal allows, and forgets the journal.
pub(crate) fn cut(root: &Path, journal: &Path, rng: &mut Rng) -> Result<Cut> {
    let records = read(&journal.join("journal"))?;
    let mut done = Cut::default();
    let changes = |record: &&Record| matches!(record.kind, b'W' | b'T');
    // By name, because the numbers of files are the file system's own chance.
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
    fs::remove_dir_all(journal).context("forgetting the journal")?;
    Ok(done)
}

/// How many records the last matching sync covers.
fn synced(records: &[Record], is_it: impl Fn(&Record) -> bool) -> usize {
    records
        .iter()
        .filter(|record| is_it(record))
        .map(|record| record.at)
        .max()
        .unwrap_or(0)
}

/// Every file that is there now, with its number. A name outside the disk counts only where there is no other.
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

/// What is left of a file whose later changes were never synced.
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

/// The file with the changes up to one of them, which may be cut in the middle.
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

/// The file in which each group of sectors is as old as chance has it.
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

/// Takes back names that no sync of their folder had made durable: all that came after a moment of chance.
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
        take_back(record, journal).with_context(|| format!("taking back {record:?}"))?;
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
        // What was to be taken back is not there any more: it was cut off before it happened, or moved on.
        _ => {}
    }
    Ok(())
}

fn folder_exists(path: &Path) -> bool {
    path.parent().is_some_and(Path::is_dir)
}

/// The journal. A last record that breaks off was never made, and so was the change it speaks of.
fn read(path: &Path) -> Result<Vec<Record>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        // The program was killed before it had one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("reading the journal"),
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
            bail!("record {} of the journal is none", records.len());
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
