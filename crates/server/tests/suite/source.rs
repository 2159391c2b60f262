//! Sources over HTTP.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Mutex;

use axum::http::Method;
use serde_json::Value;
use tokio::sync::Notify;
use tower::ServiceExt as _;
use wakeful_core::id::SourceId;
use wakeful_core::time::Millis;
use wakeful_core::watch::{BadSource, EntryChange, EntryDiff, EntryState, SOURCES_MAX, Source, SourceKind};
use wakeful_ports::watch::{ScanFuture, ScanResult, SourceScanner, SourceStore as _, WatchMode};

use super::services::at_once;
use super::test_server::{BEARER, TestServer, posted, request};

/// How often to yield to other tasks before the test gives up.
const ROUNDS_MAX: usize = 1_000;

/// The scripted contents of watched folders. `/gone` does not exist, and a scan of `/slow` waits for the
/// test.
#[derive(Default)]
pub(super) struct FolderScript {
    /// The results of the next scans; empty results after that.
    sights: Mutex<VecDeque<ScanResult>>,
    /// Notified when a scan of `/slow` has started.
    begun: Notify,
    /// Lets that scan end.
    goes_on: Notify,
}

impl FolderScript {
    /// Makes the next scan find this many new or changed files, and this many unreadable ones.
    fn find(&self, changed: u64, unreadable: u64) {
        let difference = |number: u64| EntryDiff {
            name: number.to_string().into_bytes(),
            now: Some(EntryState {
                mark: vec![u8::try_from(unreadable).expect("a small number")],
                size: 0,
                stamp: None,
            }),
            change: Some(EntryChange::Changed),
        };
        let sight = ScanResult {
            differences: (0..changed).map(difference).collect(),
            unreadable,
            watch_error: None,
        };
        self.sights.lock().expect("a lock").push_back(sight);
    }
}

impl SourceScanner for FolderScript {
    fn canonical_path(&self, _: SourceKind, path: String) -> ScanFuture<'_, String> {
        Box::pin(std::future::ready(match path.as_str() {
            "/gone" => Err(BadSource::NoFolder(path)),
            _ => Ok(path),
        }))
    }

    fn scan(
        &self,
        source: Source,
        _: BTreeMap<Vec<u8>, EntryState>,
        _: WatchMode,
        _: Millis,
    ) -> ScanFuture<'_, ScanResult> {
        Box::pin(async move {
            if source.path == "/slow" {
                self.begun.notify_one();
                self.goes_on.notified().await;
            }
            let sight = self.sights.lock().expect("a lock").pop_front();
            Ok(sight.unwrap_or_default())
        })
    }

    fn unwatch(&self, _: &SourceId) {}

    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// Adds the maximum number of sources.
fn watch_all(world: &TestServer) {
    for number in 0..SOURCES_MAX {
        let source = Source {
            source_id: SourceId::parse(&format!("source-{number}")).expect("a name"),
            kind: SourceKind::Folder,
            path: format!("/{number}"),
            device: "here".into(),
            created_at: Millis(0),
            version: 1,
            is_fresh: false,
            last_error: None,
        };
        at_once(world.services.journal.add_source(source, SOURCES_MAX)).expect("a source");
    }
}

#[tokio::test]
async fn sources_are_listed_added_scanned_and_removed() {
    let world = TestServer::new();
    world.services.folders.find(3, 0);
    let body = r#"{"source_id": "notes", "kind": "folder", "path": "/home/me/notes"}"#;
    let added = world.post("/api/sources", body).await;
    assert_eq!(added.status, 200, "{}", added.body);
    let list = world.get("/api/sources").await;
    let list: Value = serde_json::from_str(&list.body).expect("JSON");
    assert_eq!(list["sources"][0]["source_id"], "notes");
    assert_eq!(list["sources"][0]["entries"], 3);
    world.services.folders.find(2, 1);
    let scan = world.post("/api/sources/notes/scan", "{}").await;
    let scan: Value = serde_json::from_str(&scan.body).expect("JSON");
    assert_eq!((&scan["changes"], &scan["unreadable"]), (&2.into(), &1.into()));
    let gone = world
        .send(request(Method::DELETE, "/api/sources/notes", &[BEARER]))
        .await;
    assert_eq!(gone.status, 200, "{}", gone.body);
    assert_eq!(world.get("/api/sources").await.body, r#"{"sources":[]}"#);
}

#[tokio::test]
async fn a_folder_that_cannot_be_watched_is_refused_with_a_code() {
    let world = TestServer::new();
    watch_all(&world);
    for (body, status, code) in [
        (r#"{"kind": "folder", "path": "/gone"}"#, 409, "folder_not_found"),
        (r#"{"kind": "git", "path": "/many"}"#, 409, "too_many_sources"),
        (r#"{"kind": "mail", "path": "/x"}"#, 400, ""),
        (
            r#"{"kind": "git", "path": "/x", "source_id": "A b"}"#,
            400,
            "bad_field",
        ),
    ] {
        let answer = world.post("/api/sources", body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(answer.body.contains(code), "{body}: {}", answer.body);
    }
    let unknown = world.post("/api/sources/other/scan", "{}").await;
    assert_eq!(unknown.status, 404, "{}", unknown.body);
}

#[tokio::test(start_paused = true)]
async fn adding_a_source_completes_although_the_client_disconnects() {
    let world = TestServer::new();
    let add = posted(
        "/api/sources",
        r#"{"kind": "folder", "path": "/slow"}"#,
        &[BEARER],
    );
    let asked = tokio::spawn(world.app.clone().oneshot(add));
    world.services.folders.find(3, 0);
    world.services.folders.begun.notified().await;
    asked.abort();
    assert!(asked.await.is_err(), "no client waits for it");
    world.services.folders.goes_on.notify_one();
    let mut listed = String::new();
    for _ in 0..ROUNDS_MAX {
        tokio::task::yield_now().await;
        listed = world.get("/api/sources").await.body;
        if listed.contains(r#""entries":3"#) {
            return;
        }
    }
    panic!("it is not added to its end: {listed}");
}
