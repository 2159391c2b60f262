//! Sources over HTTP.

use std::time::Duration;

use axum::http::Method;
use serde_json::Value;
use tokio::sync::Notify;
use tower::ServiceExt as _;
use wakeful_core::id::SourceId;
use wakeful_core::outside::{BadSource, Source, SourceKind};
use wakeful_core::time::Millis;
use wakeful_ports::outside::Listed;
use wakeful_runtime::outside::{Looked, NewSource, OutsideDesk, Told};

use super::world::{BEARER, World, posted, request};

/// A desk with one source, and one that takes its time to be added.
#[derive(Default)]
pub(super) struct OneSource {
    /// It is kept, and not read yet.
    pub(super) begun: Notify,
    /// It may be read.
    pub(super) goes_on: Notify,
    /// It is read.
    pub(super) ended: Notify,
}

fn notes() -> Listed {
    Listed {
        source: Source {
            source_id: SourceId::parse("notes").expect("a name"),
            kind: SourceKind::Folder,
            path: "/home/me/notes".into(),
            device: "here".into(),
            created_at: Millis(0),
            version: 1,
            is_fresh: false,
            trouble: None,
        },
        entries: 3,
    }
}

impl OutsideDesk for OneSource {
    fn sources(&self) -> Told<'_, Vec<Listed>> {
        Box::pin(async { Ok(vec![notes()]) })
    }

    fn add(&self, new: NewSource) -> Told<'_, Listed> {
        Box::pin(async move {
            match new.path.as_str() {
                "/gone" => Err(BadSource::NoFolder(new.path).into()),
                "/many" => Err(BadSource::TooManySources.into()),
                "/slow" => {
                    self.begun.notify_one();
                    self.goes_on.notified().await;
                    self.ended.notify_one();
                    Ok(notes())
                }
                _ => Ok(notes()),
            }
        })
    }

    fn remove(&self, source: SourceId) -> Told<'_, Listed> {
        Box::pin(async move {
            match source.as_str() {
                "notes" => Ok(notes()),
                _ => Err(BadSource::Unknown(source).into()),
            }
        })
    }

    fn scan(&self, source: SourceId) -> Told<'_, Looked> {
        Box::pin(async move {
            match source.as_str() {
                "notes" => Ok(Looked {
                    changes: 2,
                    unreadable: 1,
                }),
                _ => Err(BadSource::Unknown(source).into()),
            }
        })
    }
}

#[tokio::test]
async fn sources_are_listed_added_looked_at_and_removed() {
    let world = World::new();
    let list = world.get("/api/sources").await;
    let list: Value = serde_json::from_str(&list.body).expect("JSON");
    assert_eq!(list["sources"][0]["source_id"], "notes");
    assert_eq!(list["sources"][0]["entries"], 3);
    let added = world
        .post("/api/sources", r#"{"kind": "folder", "path": "/home/me/notes"}"#)
        .await;
    assert_eq!(added.status, 200, "{}", added.body);
    let scan = world.post("/api/sources/notes/scan", "{}").await;
    assert!(scan.body.contains("\"changes\":2"), "{}", scan.body);
    let gone = world
        .send(request(Method::DELETE, "/api/sources/notes", &[BEARER]))
        .await;
    assert_eq!(gone.status, 200, "{}", gone.body);
}

#[tokio::test]
async fn what_cannot_be_watched_is_told_with_its_code() {
    let world = World::new();
    for (body, status, code) in [
        (r#"{"kind": "folder", "path": "/gone"}"#, 409, "no_such_folder"),
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
async fn whoever_hangs_up_while_a_source_is_added_does_not_leave_it_half_made() {
    let world = World::new();
    let add = posted(
        "/api/sources",
        r#"{"kind": "folder", "path": "/slow"}"#,
        &[BEARER],
    );
    let asked = tokio::spawn(world.app.clone().oneshot(add));
    world.sources.begun.notified().await;
    asked.abort();
    assert!(asked.await.is_err(), "nobody waits for it any more");
    world.sources.goes_on.notify_one();
    let ended = tokio::time::timeout(Duration::from_secs(60), world.sources.ended.notified());
    ended.await.expect("it is added to its end");
}
