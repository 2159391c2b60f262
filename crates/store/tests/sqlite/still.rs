//! Homes in folders that cannot be written, such as read-only media.
//!
//! Only a separate mount refuses root as well, and only a separate process may have one. So each test
//! creates a home and runs a second, otherwise ignored test inside the mount: there `home` is the home and
//! `view` is the same folder, mounted read-only.

use std::path::Path;
use std::process::Command;

use wakeful_core::id::AgentId;
use wakeful_store::{Store, StoreError};

use crate::contract::blob::{keep, noise};
use crate::fixture::{block_on, files, open_file, sample};

const MOUNT: &str = "mkdir view && mount --bind home view && mount -o remount,bind,ro view && exec \"$@\"";

/// Creates a home with the agent `main`, and runs one of the tests below in it.
fn inside(test: &str) {
    // A name that must be escaped in a URI.
    let folder = tempfile::Builder::new()
        .prefix("a ?#%41&ü=")
        .tempdir()
        .expect("a folder");
    let home = folder.path().join("home");
    std::fs::create_dir(&home).expect("a folder");
    block_on(async {
        let store = open_file(&home);
        add(&store, "main").await;
        store.close().await.expect("closed");
    });
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", MOUNT, "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "--ignored", &format!("sqlite::still::{test}")])
        .current_dir(folder.path())
        .output()
        .expect("unshare");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn add(store: &Store, name: &'static str) {
    let made = store.write(move |tx| tx.create_agent(&sample::agent(name)));
    assert!(made.await.expect("written"));
}

async fn names(store: &Store) -> Result<Vec<AgentId>, StoreError> {
    let agents = store.read(|view| view.agents(true)).await?;
    Ok(agents.into_iter().map(|agent| agent.agent_id).collect())
}

fn ids<const N: usize>(names: [&str; N]) -> [AgentId; N] {
    names.map(sample::agent_id)
}

fn look() -> Store {
    Store::open_sqlite_read_only(&files(Path::new("view"))).expect("the view opens")
}

#[test]
fn a_closed_database_can_be_read_from_read_only_media() {
    inside("read_where_nothing_can_be_written");
}

#[test]
#[ignore = "needs the mount that its caller makes"]
fn read_where_nothing_can_be_written() {
    block_on(async {
        let absolute = std::path::absolute("view").expect("a path");
        for path in [Path::new("view"), &absolute] {
            let store = Store::open_sqlite_read_only(&files(path)).expect("the view opens");
            for _ in 0..2 {
                assert_eq!(names(&store).await.expect("read"), ids(["main"]));
            }
            let written = store.write(|tx| tx.create_agent(&sample::agent("late"))).await;
            assert!(matches!(written, Err(StoreError::ReadOnly)), "{written:?}");
        }
        let opened = Store::open_sqlite(&files(Path::new("view")), "host").err();
        assert!(matches!(opened, Some(StoreError::ReadOnly)), "{opened:?}");
    });
}

#[test]
fn a_database_that_was_not_closed_is_never_read_without_its_log() {
    inside("read_what_was_not_closed");
}

#[test]
#[ignore = "needs the mount that its caller makes"]
fn read_what_was_not_closed() {
    block_on(async {
        let store = open_file(Path::new("home"));
        add(&store, "second").await;
        std::fs::create_dir("home/cut").expect("a folder");
        for name in ["agent.sqlite", "agent.sqlite-wal"] {
            std::fs::copy(Path::new("home").join(name), Path::new("home/cut").join(name)).expect("copied");
        }
        // Without the index next to the log, SQLite cannot read the log here. The log holds acknowledged
        // commits, so a result without it would be wrong.
        let cut = files(Path::new("view/cut"));
        assert!(matches!(
            Store::open_sqlite_read_only(&cut).err(),
            Some(StoreError::Backend(_))
        ));
        std::fs::copy("home/agent.sqlite-shm", "home/cut/agent.sqlite-shm").expect("copied");
        let whole = Store::open_sqlite_read_only(&cut).expect("opens");
        assert_eq!(names(&whole).await.expect("read"), ids(["main", "second"]));
    });
}

#[test]
fn a_read_only_reader_sees_writes_of_others() {
    inside("see_what_others_write");
}

#[test]
#[ignore = "needs the mount that its caller makes"]
fn see_what_others_write() {
    block_on(async {
        let reader = look();
        assert_eq!(names(&reader).await.expect("read"), ids(["main"]));
        let store = open_file(Path::new("home"));
        add(&store, "second").await;
        assert_eq!(names(&reader).await.expect("read"), ids(["main", "second"]));
        store.close().await.expect("closed");
        assert_eq!(names(&reader).await.expect("read"), ids(["main", "second"]));
    });
}

#[test]
fn a_read_with_a_concurrent_write_returns_an_error() {
    inside("write_during_an_answer");
}

#[test]
#[ignore = "needs the mount that its caller makes"]
fn write_during_an_answer() {
    block_on(async {
        let reader = look();
        let answer = reader.read(|view| {
            let agents = view.agents(true)?;
            let other = rusqlite::Connection::open("home/agent.sqlite").expect("a second connection");
            other.execute_batch("DELETE FROM agent").expect("written");
            Ok(agents)
        });
        let answer = answer.await;
        assert!(matches!(answer, Err(StoreError::Backend(_))), "{answer:?}");
        assert_eq!(names(&reader).await.expect("the next one is true"), []);
    });
}

#[test]
fn a_large_blob_can_be_read_from_read_only_media() {
    inside("read_a_large_blob");
}

#[test]
#[ignore = "needs the mount that its caller makes"]
fn read_a_large_blob() {
    block_on(async {
        let store = open_file(Path::new("home"));
        let hash = keep(&store, noise(100_000)).await.hash;
        store.close().await.expect("closed");
        let read = look().read(move |view| view.blob(&hash)).await;
        assert!(read.expect("read") == Some(noise(100_000)));
    });
}
