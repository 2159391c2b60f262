//! Blobs: compressed contents named by their hash. Small ones are stored in their row, large ones in a
//! file.

use wakeful_core::blob::BlobHash;
use wakeful_core::key::Digest;

use crate::rows::{DataSize, PackedBlob, PackedBody};
use crate::sql::{Sql, at_most_one, limit, records};
use crate::{Result, StoreError, Tx, View, pack};

/// An existing blob only moves to the current generation, so that garbage collection does not remove it
/// during this transaction.
const PUT: &str = "
    INSERT INTO blob (hash, size, encoding, bytes, generation)
    VALUES (?1, ?2, ?3, ?4, (SELECT generation FROM retention_state WHERE row_id = 1))
    ON CONFLICT (hash) DO UPDATE SET generation = excluded.generation
        WHERE blob.generation < excluded.generation";

impl Tx<'_> {
    /// Stores a blob, or moves an existing one to the current generation.
    pub fn put_blob(&mut self, blob: &PackedBlob) -> Result<()> {
        let folder = self.blobs;
        let (encoding, bytes) = match (&blob.body, folder) {
            (PackedBody::Raw(bytes), _) => ("raw", Some(bytes.as_slice())),
            (PackedBody::Lz4(bytes), _) => ("lz4", Some(bytes.as_slice())),
            (PackedBody::File(compressed), Some(folder)) => {
                // There is one writer, and erasure also runs in its transactions, so the file stays from
                // here to the commit.
                pack::restore_file(folder, &blob.hash, compressed)?;
                ("file", None)
            }
            (PackedBody::File(_), None) => return Err(StoreError::Malformed("blob.encoding")),
        };
        self.sql.run(
            PUT,
            &[
                (&blob.hash).into(),
                blob.size.into(),
                encoding.into(),
                bytes.into(),
            ],
        )
    }
}

const ONE: &str = "SELECT size, encoding, bytes FROM blob WHERE hash = ?1";

impl View<'_> {
    /// Returns a blob's uncompressed bytes after checking them against its hash.
    pub fn blob(&mut self, hash: &BlobHash) -> Result<Option<Vec<u8>>> {
        let folder = self.blobs;
        let rows = self.sql.query(ONE, &[hash.into()])?;
        let Some(mut row) = at_most_one(rows) else {
            return Ok(None);
        };
        let size = row.count("blob.size")?;
        let encoding = row.text("blob.encoding")?;
        let bytes = row.optional_bytes("blob.bytes")?;
        let bytes = match (encoding.as_str(), bytes, folder) {
            ("raw", Some(bytes), _) => bytes,
            ("lz4", Some(bytes), _) => pack::unpack(&bytes, size)?,
            ("file", None, Some(folder)) => pack::unpack(&pack::read_file(folder, hash)?, size)?,
            _ => return Err(StoreError::Malformed("blob.encoding")),
        };
        if bytes.len() as u64 != size {
            return Err(StoreError::Malformed("blob.size"));
        }
        if Digest::of(&bytes) != hash.0 {
            return Err(pack::damaged(format!("blob {hash} does not hash to its name")));
        }
        Ok(Some(bytes))
    }
}

const BLOBS: &str = "SELECT hash FROM blob WHERE hash > ?1 ORDER BY hash LIMIT ?2";

const BLOBS_BELOW: &str = "SELECT hash FROM blob WHERE hash > ?1 AND generation < ?3 ORDER BY hash LIMIT ?2";

impl View<'_> {
    /// Returns blobs ordered by hash, after one; if a generation is given, only those last stored before
    /// it.
    pub fn blobs(
        &mut self,
        below: Option<i64>,
        after: Option<BlobHash>,
        at_most: u32,
    ) -> Result<Vec<BlobHash>> {
        // An empty slice sorts before every hash.
        let after = after.as_ref().map_or([].as_slice(), |hash| hash.0.as_bytes());
        let (after, at_most) = (after.into(), limit(at_most));
        let rows = match below {
            None => self.sql.query(BLOBS, &[after, at_most])?,
            Some(below) => self.sql.query(BLOBS_BELOW, &[after, at_most, below.into()])?,
        };
        records(rows, |mut row| row.digest("blob.hash").map(BlobHash))
    }
}

const IS_THERE: &str = "SELECT hash FROM blob WHERE hash = ?1";

impl View<'_> {
    /// Whether a row exists for this blob. Does not read its bytes.
    pub fn has_blob(&mut self, hash: &BlobHash) -> Result<bool> {
        Ok(!self.sql.query(IS_THERE, &[hash.into()])?.is_empty())
    }
}

impl Tx<'_> {
    /// Removes the files of deleted blobs. Blobs that were stored again in the meantime stay.
    pub(crate) fn discard(&mut self, gone: &[BlobHash]) -> Result<()> {
        let Some(folder) = self.blobs else { return Ok(()) };
        for hash in gone {
            if !self.has_blob(hash)? {
                pack::remove_file(folder, hash)?;
            }
        }
        Ok(())
    }
}

const SIZE: &str = "SELECT CAST(COALESCE(length(bytes), size) AS BIGINT) FROM blob WHERE hash = ?1";

impl View<'_> {
    /// Returns how many of these blobs exist and how much space they use.
    pub fn blobs_size(&mut self, blobs: &[BlobHash]) -> Result<DataSize> {
        let mut held = DataSize::default();
        for hash in blobs {
            if let Some(mut row) = at_most_one(self.sql.query(SIZE, &[hash.into()])?) {
                let bytes = row.count("blob.size")?;
                held = held.and(DataSize { rows: 1, bytes });
            }
        }
        Ok(held)
    }
}

const FILES: &str = "SELECT hash FROM blob WHERE hash > ?1 AND encoding = 'file' ORDER BY hash LIMIT ?2";

impl View<'_> {
    /// Returns blobs stored in files, ordered by hash, after one.
    pub(crate) fn blob_files(&mut self, after: Option<BlobHash>, at_most: u32) -> Result<Vec<BlobHash>> {
        let after = after.as_ref().map_or([].as_slice(), |hash| hash.0.as_bytes());
        let rows = self.sql.query(FILES, &[after.into(), limit(at_most)])?;
        records(rows, |mut row| row.digest("blob.hash").map(BlobHash))
    }
}

const SWEEP: &str = "
    DELETE FROM blob WHERE hash = ?1 AND generation < ?2
    RETURNING CAST(COALESCE(length(bytes), size) AS BIGINT)";

impl Tx<'_> {
    /// Removes the rows of those blobs that were not stored again since a generation. Their files are
    /// removed later.
    pub fn sweep_blobs(&mut self, blobs: &[BlobHash], below: i64) -> Result<DataSize> {
        let mut swept = DataSize::default();
        for hash in blobs {
            if let Some(mut row) = at_most_one(self.sql.query(SWEEP, &[hash.into(), below.into()])?) {
                let bytes = row.count("blob.size")?;
                swept = swept.and(DataSize { rows: 1, bytes });
            }
        }
        Ok(swept)
    }
}
