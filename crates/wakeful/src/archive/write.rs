//! Writes an archive.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};

use sha2::{Digest as _, Sha256};
use wakeful_core::key::Digest;

use super::block::{BLOCK, Header};
use super::{FILES_MAX, SUMS};

/// Size of the copy buffer.
const PIECE: usize = 1 << 16;

/// Writer of one archive.
pub(crate) struct Writer {
    out: BufWriter<File>,
    modified_s: u64,
    sums: String,
    files: usize,
}

impl Writer {
    /// Starts an archive in an empty file.
    pub(crate) fn new(file: File, modified_s: u64) -> Self {
        Self {
            out: BufWriter::new(file),
            modified_s,
            sums: String::new(),
            files: 0,
        }
    }

    /// Adds a file of exactly this size.
    pub(crate) fn add(&mut self, name: &str, size: u64, mut from: impl Read) -> io::Result<()> {
        self.files += 1;
        if self.files > FILES_MAX {
            return Err(io::Error::other(format!("more than {FILES_MAX} files")));
        }
        let digest = self.put(name, size, &mut from)?;
        self.sums.push_str(&format!("{digest}  {name}\n"));
        Ok(())
    }

    fn put(&mut self, name: &str, size: u64, from: &mut dyn Read) -> io::Result<Digest> {
        let header = Header {
            name: name.to_owned(),
            size,
        };
        let block = header.encode(self.modified_s);
        let block = block.ok_or_else(|| io::Error::other(format!("the name {name:?} is too long")))?;
        self.out.write_all(&block)?;
        let mut hasher = Sha256::new();
        let (mut piece, mut left) = (vec![0; PIECE], size);
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let some = piece.get_mut(..wanted).unwrap_or_default();
            let count = from.read(some)?;
            if count == 0 {
                return Err(io::Error::other(format!(
                    "{name} shrank while it was being copied"
                )));
            }
            let some = some.get(..count).unwrap_or_default();
            hasher.update(some);
            self.out.write_all(some)?;
            left = left.saturating_sub(count as u64);
        }
        let zeros = [0; BLOCK];
        self.out
            .write_all(zeros.get(..header.padding()).unwrap_or_default())?;
        Ok(Digest::from_bytes(hasher.finalize().into()))
    }

    /// Writes the checksums and the end blocks, and syncs the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let sums = std::mem::take(&mut self.sums);
        self.put(SUMS, sums.len() as u64, &mut sums.as_bytes())?;
        self.out.write_all(&[0; 2 * BLOCK])?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    }
}
