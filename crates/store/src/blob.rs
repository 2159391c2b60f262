//! Blobs: contents by hash, packed, small ones in their row and large ones in a file.

use std::path::Path;

use wakeful_core::blob::BlobHash;
use wakeful_core::key::Digest;
use wakeful_ports::records::{PackedBlob, PackedBody};
use wakeful_ports::store::StoreError;

use crate::pack;
use crate::sql::{Sql, at_most_one};

const PUT: &str = "
    INSERT INTO blob (hash, size, encoding, bytes) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (hash) DO NOTHING";

/// Keeps a blob; nothing happens when it is there already.
pub(crate) fn put(sql: &mut dyn Sql, blob: &PackedBlob) -> Result<(), StoreError> {
    let (encoding, bytes) = match &blob.body {
        PackedBody::Raw(bytes) => ("raw", Some(bytes.as_slice())),
        PackedBody::Lz4(bytes) => ("lz4", Some(bytes.as_slice())),
        PackedBody::File => ("file", None),
    };
    sql.execute(
        PUT,
        &[
            (&blob.hash).into(),
            blob.size.into(),
            encoding.into(),
            bytes.into(),
        ],
    )
    .map(drop)
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
    if Digest::of(&bytes) != hash.0 {
        return Err(pack::damaged(format!("blob {hash} does not hash to its name")));
    }
    Ok(Some(bytes))
}
