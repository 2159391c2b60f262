//! Blob drafts that a crash leaves behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use wakeful_store::{DRAFT_AGE, Store};

use crate::contract::blob::{keep, noise};
use crate::fixture::{block_on, files, open_file};

/// Creates a draft in a home, as if it had been written this long ago.
fn left_behind(home: &Path, name: &str, age: Duration) -> PathBuf {
    let folder = home.join("blobs/drafts");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    let file = File::create(&path).expect("a file");
    let now = file.metadata().expect("metadata").modified().expect("a time");
    file.set_modified(now - age).expect("an older file");
    path
}

#[test]
fn only_old_drafts_are_swept_when_a_writer_opens() {
    let home = tempfile::tempdir().expect("a folder");
    let old = left_behind(home.path(), "a.1.0.draft", DRAFT_AGE * 2);
    // Another process may still be writing this one.
    let young = left_behind(home.path(), "a.2.0.draft", DRAFT_AGE / 2);
    let foreign = left_behind(home.path(), "notes.txt", DRAFT_AGE * 2);
    drop(open_file(home.path()));
    assert_eq!(
        [old, young, foreign].map(|path| path.exists()),
        [false, true, true]
    );
}

#[test]
fn a_reader_sweeps_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    drop(open_file(home.path()));
    let old = left_behind(home.path(), "a.1.0.draft", DRAFT_AGE * 2);
    drop(Store::open_sqlite_read_only(&files(home.path())).expect("opens"));
    assert!(old.exists());
}

#[test]
fn blob_files_are_kept_regardless_of_their_age() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let name = keep(&store, noise(100_000)).await.hash.to_string();
        store.close().await.expect("closed");
        let path = home.path().join("blobs").join(&name[..2]).join(&name);
        let file = File::options().append(true).open(&path).expect("a file");
        let now = file.metadata().expect("metadata").modified().expect("a time");
        file.set_modified(now - DRAFT_AGE * 2).expect("an older file");
        drop(open_file(home.path()));
        assert!(path.exists());
        let drafts = fs::read_dir(home.path().join("blobs/drafts")).expect("a listing");
        assert_eq!(drafts.count(), 0, "a finished file leaves no draft");
    });
}
