//! Blobs of every size, packed and unpacked.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use wakeful_core::blob::Blob;
use wakeful_store::rows::{PackedBlob, PackedBody};
use wakeful_store::{BLOB_BYTES_MAX, INLINE_BYTES_MAX, Store, StoreError};

use crate::fixture::{HOST, block_on, everywhere, sample};

/// Returns incompressible bytes.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let blocks = (0..length.div_ceil(32)).flat_map(|n| *sample::digest(&n.to_string()).as_bytes());
    blocks.take(length).collect()
}

/// Packs and stores bytes; returns the packed blob.
pub(crate) async fn keep(store: &Store, bytes: Vec<u8>) -> PackedBlob {
    let packed = store.pack(Blob::new(bytes)).await.expect("packed");
    let put = packed.clone();
    store.write(move |tx| tx.put_blob(&put)).await.expect("kept");
    packed
}

#[test]
fn a_blob_of_any_size_is_read_back_unchanged() {
    let edge = INLINE_BYTES_MAX;
    let sizes = [0, 1, 2, 100, 4_000, edge - 1, edge, edge + 1, 1024 * 1024];
    let bodies: Vec<Vec<u8>> = sizes
        .into_iter()
        .flat_map(|size| [vec![b'a'; size], noise(size)])
        .collect();
    everywhere(async |store| {
        for bytes in &bodies {
            let packed = keep(&store, bytes.clone()).await;
            assert_eq!(packed.size, bytes.len() as u64);
            let read = store
                .read(move |view| view.blob(&packed.hash))
                .await
                .expect("read");
            let length = read.as_ref().map(Vec::len);
            assert!(
                read.as_ref() == Some(bytes),
                "{} bytes came back as {length:?}",
                bytes.len()
            );
        }
        let none = Blob::new(b"nobody kept this".to_vec()).hash();
        assert_eq!(
            store.read(move |view| view.blob(&none)).await.expect("read"),
            None
        );
    });
}

#[test]
fn compression_is_used_where_it_saves_a_tenth() {
    everywhere(async |store| {
        let as_it_is = keep(&store, noise(1_000)).await;
        assert!(matches!(as_it_is.body, PackedBody::Raw(bytes) if bytes.len() == 1_000));
        let text = keep(&store, b"again and again, ".repeat(100)).await;
        assert!(matches!(text.body, PackedBody::Lz4(bytes) if bytes.len() < 200));
        // Saving only five percent does not justify compression.
        let hardly = [noise(9_500), vec![0; 500]].concat();
        assert!(matches!(keep(&store, hardly).await.body, PackedBody::Raw(_)));
    });
}

#[test]
fn a_blob_is_stored_once() {
    everywhere(async |store| {
        let first = keep(&store, b"twice".to_vec()).await;
        assert_eq!(keep(&store, b"twice".to_vec()).await, first);
        let read = store
            .read(move |view| view.blob(&first.hash))
            .await
            .expect("read");
        assert_eq!(read, Some(b"twice".to_vec()));
    });
}

#[test]
fn a_blob_that_does_not_match_its_hash_is_corrupt() {
    everywhere(async |store| {
        let hash = Blob::new(b"promised".to_vec()).hash();
        let false_one = PackedBlob {
            hash,
            size: 5,
            body: PackedBody::Raw(b"other".to_vec()),
        };
        store
            .write(move |tx| tx.put_blob(&false_one))
            .await
            .expect("kept");
        let read = store.read(move |view| view.blob(&hash)).await;
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    });
}

#[test]
fn a_wrong_declared_size_is_detected() {
    everywhere(async |store| {
        let hash = Blob::new(b"a bomb".to_vec()).hash();
        let nonsense = [&[0xff_u8; 4][..], b"nonsense"].concat();
        let sizes = [4, u64::from(u32::MAX), BLOB_BYTES_MAX as u64 + 1];
        let short = vec![0_u8; 3];
        for (size, bytes) in sizes
            .map(|size| (size, nonsense.clone()))
            .into_iter()
            .chain([(0, short)])
        {
            let bomb = PackedBlob {
                hash,
                size,
                body: PackedBody::Lz4(bytes),
            };
            let read = store.write(move |tx| {
                tx.put_blob(&bomb)?;
                tx.blob(&hash)
            });
            let read = read.await;
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
        }
    });
}

#[test]
fn a_blob_beyond_the_bound_is_refused_before_it_is_stored() {
    // One database is enough, because nothing reaches it.
    let store = Store::in_memory(HOST).expect("a database in memory");
    let packed = block_on(store.pack(Blob::new(vec![0; BLOB_BYTES_MAX + 1])));
    assert!(matches!(packed, Err(StoreError::Backend(_))), "{packed:?}");
}

/// Arbitrary bytes of any compressibility.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = (any::<u8>(), 1_usize..600).prop_map(|(byte, times)| vec![byte; times]);
    let mess = proptest::collection::vec(any::<u8>(), 0..600);
    proptest::collection::vec(prop_oneof![piece, mess], 0..8).prop_map(|pieces| pieces.concat())
}

#[test]
fn packed_bytes_are_unpacked_unchanged() {
    everywhere(async |store| {
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::with_cases(16)
        });
        for _ in 0..runner.config().cases {
            let bytes = bytes().new_tree(&mut runner).expect("a value").current();
            let packed = keep(&store, bytes.clone()).await;
            let read = store
                .read(move |view| view.blob(&packed.hash))
                .await
                .expect("read");
            assert!(read.as_ref() == Some(&bytes), "{bytes:?} came back as {read:?}");
        }
    });
}
