//! Blobs: contents by hash, packed, small ones in their row and large ones in a file.

use std::path::Path;

use wakeful_core::blob::BlobHash;
use wakeful_core::key::Digest;

use crate::StoreError;
use crate::pack;
use crate::rows::{Held, PackedBlob, PackedBody};
use crate::sql::{Sql, at_most_one, limit, records};

/// One that is there already only moves into the present generation, so that nobody sweeps it from under this
/// transaction.
const PUT: &str = "
    INSERT INTO blob (hash, size, encoding, bytes, generation)
    VALUES (?1, ?2, ?3, ?4, (SELECT generation FROM care WHERE row_id = 1))
    ON CONFLICT (hash) DO UPDATE SET generation = excluded.generation
        WHERE blob.generation < excluded.generation";

/// Keeps a blob; one that is there already stays as it is. `folder` is where large ones are files.
pub(crate) fn put(sql: &mut dyn Sql, folder: Option<&Path>, blob: &PackedBlob) -> Result<(), StoreError> {
    let (encoding, bytes) = match (&blob.body, folder) {
        (PackedBody::Raw(bytes), _) => ("raw", Some(bytes.as_slice())),
        (PackedBody::Lz4(bytes), _) => ("lz4", Some(bytes.as_slice())),
        (PackedBody::File(compressed), Some(folder)) => {
            // There is one writer, and what is erased goes in its transactions: from here to the commit the file stays.
            pack::restore_file(folder, &blob.hash, compressed)?;
            ("file", None)
        }
        (PackedBody::File(_), None) => return Err(StoreError::Malformed("blob.encoding")),
    };
    sql.run(
        PUT,
        &[
            (&blob.hash).into(),
            blob.size.into(),
            encoding.into(),
            bytes.into(),
        ],
    )
}

const ONE: &str = "SELECT size, encoding, bytes FROM blob WHERE hash = ?1";

/// A blob's bytes, uncompressed and checked against its name. `folder` is where large ones are files.
pub(crate) fn one(
    sql: &mut dyn Sql,
    folder: Option<&Path>,
    hash: &BlobHash,
) -> Result<Option<Vec<u8>>, StoreError> {
    let rows = sql.query(ONE, &[hash.into()])?;
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

const BELOW: &str = "SELECT hash FROM blob WHERE hash > ?1 AND generation < ?2 ORDER BY hash LIMIT ?3";

/// Blobs that were last put before a generation, by name, after one.
pub(crate) fn below(
    sql: &mut dyn Sql,
    generation: i64,
    after: Option<BlobHash>,
    at_most: u32,
) -> Result<Vec<BlobHash>, StoreError> {
    // No bytes sort before all names there are.
    let after = after.as_ref().map_or([].as_slice(), |hash| hash.0.as_bytes());
    let rows = sql.query(BELOW, &[after.into(), generation.into(), limit(at_most)])?;
    records(rows, |mut row| row.digest("blob.hash").map(BlobHash))
}

const IS_THERE: &str = "SELECT hash FROM blob WHERE hash = ?1";

/// Whether a row names a blob.
pub(crate) fn is_there(sql: &mut dyn Sql, hash: &BlobHash) -> Result<bool, StoreError> {
    Ok(!sql.query(IS_THERE, &[hash.into()])?.is_empty())
}

/// Removes the file of a blob that is no longer there. One that somebody has put again meanwhile stays.
pub(crate) fn discard(sql: &mut dyn Sql, folder: Option<&Path>, hash: &BlobHash) -> Result<(), StoreError> {
    match folder {
        Some(folder) if !is_there(sql, hash)? => pack::remove_file(folder, hash),
        Some(_) | None => Ok(()),
    }
}

const SIZE: &str = "SELECT CAST(COALESCE(length(bytes), size) AS BIGINT) FROM blob WHERE hash = ?1";

/// How many of these there are, and how much they hold.
pub(crate) fn held(sql: &mut dyn Sql, blobs: &[BlobHash]) -> Result<Held, StoreError> {
    let mut held = Held::default();
    for hash in blobs {
        if let Some(mut row) = at_most_one(sql.query(SIZE, &[hash.into()])?) {
            let bytes = row.count("blob.size")?;
            held = held.and(Held { rows: 1, bytes });
        }
    }
    Ok(held)
}

const FILES: &str = "SELECT hash FROM blob WHERE hash > ?1 AND encoding = 'file' ORDER BY hash LIMIT ?2";

/// Blobs that are files, by name, after one.
pub(crate) fn files(
    sql: &mut dyn Sql,
    after: Option<BlobHash>,
    at_most: u32,
) -> Result<Vec<BlobHash>, StoreError> {
    let after = after.as_ref().map_or([].as_slice(), |hash| hash.0.as_bytes());
    let rows = sql.query(FILES, &[after.into(), limit(at_most)])?;
    records(rows, |mut row| row.digest("blob.hash").map(BlobHash))
}

const SWEEP: &str = "
    DELETE FROM blob WHERE hash = ?1 AND generation < ?2
    RETURNING CAST(COALESCE(length(bytes), size) AS BIGINT)";

/// Removes those that were not put again since a generation. The files of large ones stay: somebody may have found
/// one in its place and be about to name it.
pub(crate) fn sweep(sql: &mut dyn Sql, blobs: &[BlobHash], below: i64) -> Result<Held, StoreError> {
    let mut swept = Held::default();
    for hash in blobs {
        if let Some(mut row) = at_most_one(sql.query(SWEEP, &[hash.into(), below.into()])?) {
            let bytes = row.count("blob.size")?;
            swept = swept.and(Held { rows: 1, bytes });
        }
    }
    Ok(swept)
}
