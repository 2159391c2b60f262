//! The databases that tests run on, each fresh, and things to put into them.

pub(crate) mod sample;
pub(crate) mod server;

use std::future::Future;
use std::path::Path;

use wakeful_store::{JournalStore, SqliteOptions, Store};

pub(crate) use self::server::Server;

/// The host that fresh databases are given.
pub(crate) const HOST: &str = "host";

/// Runs a check on every database there is, each time with a fresh one.
pub(crate) fn everywhere(check: impl AsyncFn(Store)) {
    eprintln!("on SQLite in memory");
    block_on(async { check(Store::in_memory(HOST).expect("a database in memory")).await });
    eprintln!("on a SQLite file");
    on_file(&check);
    eprintln!("on PostgreSQL");
    on_postgres(&check);
}

/// Runs a check on every kind of journal there is, each time with a fresh one.
pub(crate) fn every_journal(check: impl AsyncFn(JournalStore)) {
    eprintln!("in memory");
    block_on(async { check(JournalStore::in_memory(HOST).expect("a journal in memory")).await });
    eprintln!("in a file");
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let journal = JournalStore::open_sqlite(&journal_files(home.path()), HOST).expect("the file opens");
        check(journal.clone()).await;
        journal.close().await;
    });
    eprintln!("on PostgreSQL");
    let server = Server::fresh();
    block_on(async {
        let journal = JournalStore::open_postgres(&server.options(), HOST)
            .await
            .expect("it opens");
        check(journal.clone()).await;
        journal.close().await;
    });
}

/// Where the journal of a home is.
pub(crate) fn journal_files(home: &Path) -> SqliteOptions {
    SqliteOptions::new(home.join("db.sqlite"), home.join("blobs"))
}

/// Runs a check on a fresh SQLite file.
pub(crate) fn on_file(check: impl AsyncFn(Store)) {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        check(store.clone()).await;
        store.close().await.expect("closed");
    });
}

/// Runs a check on a fresh PostgreSQL database.
pub(crate) fn on_postgres(check: impl AsyncFn(Store)) {
    let server = Server::fresh();
    block_on(async {
        let store = server.open().await;
        check(store.clone()).await;
        store.close().await.expect("closed");
    });
}

/// Where the files of a home are.
pub(crate) fn files(home: &Path) -> SqliteOptions {
    SqliteOptions::new(home.join("agent.sqlite"), home.join("blobs"))
}

/// Opens the database of a home.
pub(crate) fn open_file(home: &Path) -> Store {
    Store::open_sqlite(&files(home), HOST).expect("the file opens")
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// A number that no other test has.
pub(crate) fn fresh_number() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
