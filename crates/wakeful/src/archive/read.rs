//! Reads an archive twice: the first pass verifies all of it, the second extracts the files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use wakeful_core::key::Digest;

use super::block::{BLOCK, Header};
use super::{ABOUT, ABOUT_BYTES_MAX, ArchiveError, BackupManifest, FILES_MAX, FORMAT, SUMS, is_inside};

/// Size of the read buffer.
const PIECE: usize = 1 << 16;

/// The contents of a verified backup.
#[derive(Debug)]
pub(crate) struct ArchiveContents {
    pub(crate) about: BackupManifest,
    /// Size and checksum of each file.
    pub(crate) files: BTreeMap<String, (u64, Digest)>,
}

impl ArchiveContents {
    /// Total size of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.values().map(|(size, _)| size).sum()
    }
}

/// Reads and verifies the whole file.
pub(crate) fn verify(path: &Path) -> Result<ArchiveContents, ArchiveError> {
    let mut from = BufReader::with_capacity(PIECE, File::open(path)?);
    let (digest, about) = read_about(&mut from)?;
    let mut files = BTreeMap::new();
    let mut seen = BTreeMap::from([(ABOUT.to_owned(), digest)]);
    let sums = loop {
        let header = next(&mut from)?.ok_or(ArchiveError::Truncated)?;
        if header.name == SUMS {
            let mut sums = Vec::new();
            body(&mut from, &header, &mut sums)?;
            break sums;
        }
        if !is_inside(&header.name) || seen.len() >= FILES_MAX {
            return Err(ArchiveError::Damaged(format!(
                "unexpected entry {:?}",
                header.name
            )));
        }
        let digest = body(&mut from, &header, &mut io::sink())?;
        if seen.insert(header.name.clone(), digest).is_some() {
            return Err(ArchiveError::Damaged(format!("duplicate entry {}", header.name)));
        }
        files.insert(header.name, (header.size, digest));
    };
    end(&mut from)?;
    compare(&seen, &sums)?;
    Ok(ArchiveContents { about, files })
}

/// Reads the manifest. A file without one is not a backup; a newer format may differ after the manifest, so
/// nothing else is checked.
fn read_about(from: &mut impl Read) -> Result<(Digest, BackupManifest), ArchiveError> {
    let header = match next(from) {
        Ok(Some(header)) if header.name == ABOUT && header.size <= ABOUT_BYTES_MAX => header,
        Err(ArchiveError::Io(error)) => return Err(ArchiveError::Io(error)),
        Ok(_)
        | Err(
            ArchiveError::Foreign
            | ArchiveError::Development
            | ArchiveError::Newer { .. }
            | ArchiveError::Truncated
            | ArchiveError::Damaged(_),
        ) => {
            return Err(ArchiveError::Foreign);
        }
    };
    let mut text = Vec::new();
    let digest = body(from, &header, &mut text)?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|_| ArchiveError::Foreign)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    let found = format
        .and_then(|format| u32::try_from(format).ok())
        .ok_or(ArchiveError::Foreign)?;
    match found {
        FORMAT => {}
        found if found > FORMAT => return Err(ArchiveError::Newer { found }),
        _ => return Err(ArchiveError::Development),
    }
    let about = serde_json::from_value(value);
    let about = about.map_err(|error| ArchiveError::Damaged(format!("{ABOUT}: {error}")))?;
    Ok((digest, about))
}

/// Checks that every file has a checksum and every checksum a file.
fn compare(seen: &BTreeMap<String, Digest>, sums: &[u8]) -> Result<(), ArchiveError> {
    let damaged = |what: String| ArchiveError::Damaged(what);
    let text = std::str::from_utf8(sums).map_err(|_| damaged(format!("{SUMS} is not valid UTF-8")))?;
    let mut named = 0;
    for line in text.lines() {
        let (sum, name) = line
            .split_once("  ")
            .ok_or_else(|| damaged(format!("{SUMS} has a line without a file name")))?;
        match seen.get(name) {
            Some(digest) if Digest::from_hex(sum) == Some(*digest) => named += 1,
            Some(_) => return Err(damaged(format!("checksum mismatch: {name}"))),
            None => return Err(damaged(format!("{name} is missing"))),
        }
    }
    match named == seen.len() {
        true => Ok(()),
        false => Err(damaged("a file has no checksum".to_owned())),
    }
}

/// Extracts the files of a verified archive. Each file is compared again with the result of the first pass,
/// because the archive may change between the passes.
pub(crate) fn extract(
    path: &Path,
    contents: &ArchiveContents,
    mut place: impl FnMut(&str) -> io::Result<File>,
) -> Result<(), ArchiveError> {
    let mut from = BufReader::with_capacity(PIECE, File::open(path)?);
    let mut left = contents.files.len();
    while left > 0 {
        let header = next(&mut from)?.ok_or(ArchiveError::Truncated)?;
        let Some((size, digest)) = contents.files.get(&header.name) else {
            body(&mut from, &header, &mut io::sink())?;
            continue;
        };
        let mut file = place(&header.name)?;
        if header.size != *size || body(&mut from, &header, &mut file)? != *digest {
            return Err(ArchiveError::Damaged(format!(
                "{} changed while it was being read",
                header.name
            )));
        }
        file.sync_all()?;
        left -= 1;
    }
    Ok(())
}

fn next(from: &mut impl Read) -> Result<Option<Header>, ArchiveError> {
    let mut block = [0; BLOCK];
    whole(from, &mut block)?;
    Header::decode(&block)
}

/// Checks that two blocks of zeros end both the archive and the file.
fn end(from: &mut impl Read) -> Result<(), ArchiveError> {
    for _ in 0..2 {
        if next(from)?.is_some() {
            return Err(ArchiveError::Damaged(
                "unexpected data after the end of the archive".to_owned(),
            ));
        }
    }
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(ArchiveError::Damaged(
            "unexpected data after the end of the archive".to_owned(),
        )),
    }
}

/// Copies the body of an entry and returns its checksum.
fn body(from: &mut impl Read, header: &Header, to: &mut dyn Write) -> Result<Digest, ArchiveError> {
    let mut hasher = Sha256::new();
    let (mut piece, mut left) = (vec![0; PIECE], header.size);
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let some = piece.get_mut(..wanted).unwrap_or_default();
        whole(from, some)?;
        hasher.update(&*some);
        to.write_all(some)?;
        left = left.saturating_sub(wanted as u64);
    }
    let mut padding = vec![0; header.padding()];
    whole(from, &mut padding)?;
    if padding.iter().any(|byte| *byte != 0) {
        return Err(ArchiveError::Damaged(format!(
            "unexpected data in the padding after {}",
            header.name
        )));
    }
    Ok(Digest::from_bytes(hasher.finalize().into()))
}

fn whole(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), ArchiveError> {
    from.read_exact(bytes).map_err(|error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            ArchiveError::Truncated
        } else {
            ArchiveError::Io(error)
        }
    })
}
