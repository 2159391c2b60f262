//! The data that proves a log, and what remains after an erasure.

use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::id::Incarnation;
use wakeful_core::key::Digest;
use wakeful_core::proof::chain::{ChainPosition, IncarnationStart};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::report::LogHead;
use wakeful_core::time::Millis;
use wakeful_store::rows::{PackedBlob, RetentionStateRow};
use wakeful_store::{INLINE_BYTES_MAX, Store};

use super::blob::{keep, noise};
use crate::fixture::{everywhere, on_file, sample};

/// Creates an agent with this many events in its log.
async fn agent(store: &Store, name: &'static str, events: i64) {
    let written = store.write(move |tx| {
        tx.create_agent(&sample::agent(name))?;
        let id = sample::agent_id(name);
        let mut head = tx.lock_head_to_announce(&id)?.expect("a head");
        for number in 1..=events {
            tx.append_event(&id, &sample::event(&mut head, name, number))?;
        }
        tx.put_head(&id, &head)
    });
    written.await.expect("written");
}

async fn end(store: &Store, name: &'static str) -> ChainPosition {
    let end = store.read(move |view| view.log_end(&sample::agent_id(name)));
    end.await.expect("read").expect("an agent")
}

async fn sign(store: &Store, seed: u8, name: &'static str, at: ChainPosition) -> SignedHead {
    let key = DeviceKey::from_seed(&[seed; 32]);
    let head = SignedHead::sign(&key, sample::agent_id(name), at, Millis(77));
    let put = head.clone();
    store
        .write(move |tx| tx.put_signed_head(&put))
        .await
        .expect("kept");
    head
}

#[test]
fn signed_heads_are_read_back_unchanged_and_stored_once() {
    everywhere(async |store| {
        agent(&store, "main", 3).await;
        agent(&store, "other", 2).await;
        agent(&store, "quiet", 0).await;
        let key = DeviceKey::from_seed(&[1; 32]).public();
        let unsigned = |after: Option<&'static str>| {
            let after = after.map(sample::agent_id);
            store.read(move |view| {
                let mut unsigned = view.unsigned_logs(&key, after.as_ref(), 10)?;
                // The home has its own log, because agents were created.
                unsigned.retain(|(agent, _)| !agent.is_home_log());
                Ok(unsigned)
            })
        };
        let (main, other) = (end(&store, "main").await, end(&store, "other").await);
        assert_eq!(
            (main.seq, end(&store, "quiet").await),
            (3, ChainPosition::BEGINNING)
        );
        let both = vec![
            (sample::agent_id("main"), main),
            (sample::agent_id("other"), other),
        ];
        assert_eq!(unsigned(None).await.expect("read"), both);
        assert_eq!(unsigned(Some("main")).await.expect("read"), both[1..]);
        let logs = store.read(|view| view.logs(None, 10)).await.expect("read");
        assert!(logs.iter().any(|(agent, _)| agent.is_home_log()));
        let logs: Vec<_> = logs
            .into_iter()
            .filter(|(agent, _)| !agent.is_home_log())
            .collect();
        assert_eq!((logs.len(), logs[1].clone()), (3, both[1].clone()));
        let head = sign(&store, 1, "main", main).await;
        let changed = SignedHead {
            signed_at: Millis(1),
            ..head.clone()
        };
        store
            .write(move |tx| tx.put_signed_head(&changed))
            .await
            .expect("nothing happens");
        let stranger = sign(&store, 2, "other", other).await;
        assert_eq!(
            unsigned(None).await.expect("read"),
            both[1..],
            "each key signs for itself"
        );
        let read = store
            .read(|view| view.signed_heads(&sample::agent_id("main"), 2, 10))
            .await;
        assert_eq!(read.expect("read"), std::slice::from_ref(&head));
        let read = store
            .read(|view| view.signed_heads(&sample::agent_id("main"), 3, 10))
            .await;
        assert_eq!(read.expect("read"), []);
        let newest = store.read(|view| view.newest_heads()).await.expect("read");
        assert_eq!(newest, [head, stranger]);
    });
}

#[test]
fn a_new_agent_starts_in_the_current_incarnation_of_its_host() {
    everywhere(async |store| {
        agent(&store, "main", 1).await;
        let lives = store
            .read(|view| view.incarnations(&sample::agent_id("main")))
            .await;
        let incarnation = Incarnation::new("host.1");
        assert_eq!(
            lives.expect("read"),
            [IncarnationStart {
                first_seq: 1,
                incarnation
            }]
        );
    });
}

/// A restore starts a new incarnation of the host; the next writer for an agent adopts it.
#[test]
fn a_log_continues_in_the_next_incarnation_with_any_first_writer() {
    let home = tempfile::tempdir().expect("a folder");
    let store = crate::fixture::open_file(home.path());
    crate::fixture::block_on(async {
        agent(&store, "claimed", 2).await;
        agent(&store, "announced", 0).await;
        store.close().await.expect("closed");
    });
    let database = rusqlite::Connection::open(home.path().join("agent.sqlite")).expect("opens");
    database
        .execute_batch("UPDATE host SET incarnation = 2")
        .expect("restored");
    drop(database);
    let store = crate::fixture::open_file(home.path());
    crate::fixture::block_on(async {
        let written = store.write(|tx| {
            let runner = wakeful_core::id::RunnerId::new("one");
            tx.claim_head(&sample::agent_id("claimed"), &runner)?;
            let head = tx.lock_head_to_announce(&sample::agent_id("announced"))?;
            Ok((
                head,
                tx.incarnations(&sample::agent_id("claimed"))?,
                tx.incarnations(&sample::agent_id("announced"))?,
            ))
        });
        let (head, claimed, announced) = written.await.expect("written");
        let life = |first_seq, name| IncarnationStart {
            first_seq,
            incarnation: Incarnation::new(name),
        };
        assert_eq!(
            head.map(|head| head.incarnation),
            Some(Incarnation::new("host.2"))
        );
        assert_eq!(claimed, [life(1, "host.1"), life(3, "host.2")]);
        assert_eq!(announced, [life(1, "host.2")], "a life without events gives way");
        store.close().await.expect("closed");
    });
}

#[test]
fn erased_events_lose_payload_and_salt_and_keep_their_position() {
    everywhere(async |store| {
        agent(&store, "main", 4).await;
        let id = sample::agent_id("main");
        let (run, other) = (sample::run_key("run"), sample::run_key("other"));
        let name = id.clone();
        let erased = store.write(move |tx| {
            Ok([
                tx.erase_events(&name, 1, 4, Some(&other))?,
                tx.erase_events(&name, 2, 3, Some(&run))?,
                tx.erase_events(&name, 1, 2, None)?,
            ])
        });
        assert_eq!(erased.await.expect("erased"), [0, 2, 1]);
        let name = id.clone();
        let events = store
            .read(move |view| view.events(&name, 0, 10))
            .await
            .expect("read");
        let left: Vec<bool> = events.iter().map(|event| event.payload.is_some()).collect();
        assert_eq!(left, [false, false, false, true]);
        let mut head = LogHead {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("host.1"),
        };
        let first = sample::event(&mut head, "main", 1);
        assert_eq!(
            (events[0].hash, events[0].payload_hash),
            (first.hash, first.sealed.payload_hash)
        );
        let span = store.read(move |view| view.run_span(&id, &run)).await;
        assert_eq!(span.expect("read"), Some((1, 4)));
    });
}

#[test]
fn events_of_a_run_that_has_not_ended_are_found() {
    everywhere(async |store| {
        agent(&store, "main", 2).await;
        let unended = || store.read(|view| view.unended_among(&sample::agent_id("main"), 1, 2));
        assert_eq!(unended().await.expect("read"), None);
        store
            .write(|tx| tx.create_run(&sample::run("run")))
            .await
            .expect("made");
        assert_eq!(unended().await.expect("read"), Some(sample::run_key("run")));
    });
}

#[test]
fn only_contents_without_other_references_are_erased() {
    everywhere(async |store| {
        let mut hashes = Vec::new();
        for text in ["mine", "shared", "prompted", "pending"] {
            hashes.push(keep(&store, text.as_bytes().to_vec()).await.hash);
        }
        hashes.push(BlobHash(sample::digest("never kept")));
        let mut open = sample::run("open");
        open.state = format!("{{\"reply\":\"{}\"}}", hashes[3]);
        let wanted = hashes.clone();
        let erased = store.write(move |tx| {
            let run = sample::run("run");
            tx.create_run(&run)?;
            tx.create_run(&open)?;
            tx.append_run_log(&sample::input("run", 1))?;
            tx.admit_message(&sample::message("t", "prompted"))?;
            for (run, text) in [("run", "mine"), ("run", "shared"), ("other", "shared")] {
                tx.append_entry(&sample::thread(), &sample::entry(run, text))?;
            }
            let before = tx.contents(&run, 0, 10)?.len();
            let rows = (tx.erase_run(&run)?, tx.erase_run(&run)?);
            let after = (tx.contents(&run, 0, 10)?.len(), tx.run_log(&run.run_key, 0, 1)?);
            Ok((before, rows, after, tx.erase_blobs(&wanted, None)?))
        });
        let (before, rows, (left, journal), gone) = erased.await.expect("erased");
        assert_eq!((before, rows, left), (2, (1, 0), 0));
        assert!(journal[0].body.is_empty(), "{journal:?}");
        assert_eq!(gone, hashes[..1]);
        for (hash, is_there) in hashes.into_iter().zip([false, true, true, true, false]) {
            let blob = store.read(move |view| view.blob(&hash)).await.expect("read");
            assert_eq!(blob.is_some(), is_there, "{hash}");
        }
    });
}

#[test]
fn a_content_that_was_stored_again_stays() {
    everywhere(async |store| {
        let hash = keep(&store, b"said again".to_vec()).await.hash;
        let begun = store.write(|tx| {
            let care = tx.retention_state()?;
            let generation = care.generation + 1;
            assert!(tx.put_retention_state(&RetentionStateRow { generation, ..care }, care.generation)?);
            Ok(generation)
        });
        let generation = begun.await.expect("a generation");
        keep(&store, b"said again".to_vec()).await;
        let erase = |below| store.write(move |tx| tx.erase_blobs(&[hash], below));
        assert_eq!(erase(Some(generation)).await.expect("erased"), []);
        assert_eq!(erase(Some(generation + 1)).await.expect("erased"), [hash]);
    });
}

#[test]
fn the_file_of_a_large_content_is_erased_with_it() {
    let home = tempfile::tempdir().expect("a folder");
    let store = crate::fixture::open_file(home.path());
    let files = || {
        let folders = std::fs::read_dir(home.path().join("blobs")).expect("a folder");
        let folders = folders.map(|folder| folder.expect("an entry").path());
        let folders = folders.filter(|path| path.is_dir());
        folders
            .flat_map(|folder| std::fs::read_dir(folder).expect("a folder"))
            .count()
    };
    crate::fixture::block_on(async {
        let bytes = noise(INLINE_BYTES_MAX * 2);
        let hash = Blob::new(bytes.clone()).hash();
        keep(&store, bytes).await;
        assert_eq!(files(), 1);
        let gone = store
            .write(move |tx| tx.erase_blobs(&[hash], None))
            .await
            .expect("erased");
        store.remove_blob_files(gone).await.expect("discarded");
        assert_eq!(files(), 0);
        store
            .remove_blob_files(vec![hash])
            .await
            .expect("nothing is left to discard");
        store.close().await.expect("closed");
    });
}

/// The same content is stored again while it is erased: every row must find the content that it refers to.
#[test]
fn a_large_content_stored_again_during_its_erasure_keeps_its_file() {
    let home = tempfile::tempdir().expect("a folder");
    let store = crate::fixture::open_file(home.path());
    let bytes = noise(INLINE_BYTES_MAX * 2);
    let hash = Blob::new(bytes.clone()).hash();
    let erase = async || {
        let erased = store.write(move |tx| tx.erase_blobs(&[hash], None)).await;
        erased.expect("erased")
    };
    let pack = async || store.pack(Blob::new(bytes.clone())).await.expect("packed");
    let put = async |packed: PackedBlob| {
        let put = store.write(move |tx| tx.put_blob(&packed)).await;
        put.expect("kept");
    };
    let is_there = async || {
        let read = store.read(move |view| view.blob(&hash)).await;
        assert!(read.expect("whole").as_ref() == Some(&bytes));
    };
    crate::fixture::block_on(async {
        // Its file is removed after the blob is packed again and before a row refers to it.
        keep(&store, bytes.clone()).await;
        let packed = pack().await;
        store.remove_blob_files(erase().await).await.expect("discarded");
        put(packed).await;
        is_there().await;
        // A row refers to it again before its file is removed.
        let gone = erase().await;
        put(pack().await).await;
        store.remove_blob_files(gone).await.expect("discarded");
        is_there().await;
        // It is packed before it is erased, and stored before its file is removed.
        let packed = pack().await;
        let gone = erase().await;
        put(packed).await;
        store.remove_blob_files(gone).await.expect("discarded");
        is_there().await;
        store.close().await.expect("closed");
    });
}

#[test]
fn events_are_found_by_time_even_after_a_clock_went_back() {
    on_file(async |store| {
        agent(&store, "main", 2).await;
        let since =
            |at| store.read(move |view| view.first_event_since(&sample::agent_id("main"), Millis(at)));
        assert_eq!(since(0).await.expect("read"), Some(1));
        assert_eq!(since(8_000).await.expect("read"), Some(1));
        assert_eq!(since(8_001).await.expect("read"), None);
    });
}
