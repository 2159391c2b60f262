//! What was seen outside moves in the transaction that tells of it.

use std::future::poll_fn;
use std::task::Poll;

use wakeful_core::id::SourceId;
use wakeful_core::journal::Author;
use wakeful_core::outside::{Change, Difference, Entry, Known, Source, SourceKind};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{Heard, Journal as _};
use wakeful_ports::outside::{Added, Finding, Sources as _};
use wakeful_store::JournalStore;

use super::journal::changes;
use crate::world::every_journal;

fn source(name: &str, path: &str) -> Source {
    Source {
        source_id: SourceId::parse(name).expect("a name"),
        kind: SourceKind::Folder,
        path: path.into(),
        device: "here".into(),
        created_at: Millis(7),
        version: 0,
        is_fresh: true,
        trouble: None,
    }
}

fn known(mark: &str) -> Known {
    Known {
        mark: mark.as_bytes().to_vec(),
        size: 3,
        stamp: Some("then".into()),
    }
}

fn difference(name: &[u8], now: Option<&str>, change: Option<Change>) -> Difference {
    Difference {
        name: name.to_vec(),
        now: now.map(known),
        change,
    }
}

fn finding(source: &Source, differences: Vec<Difference>) -> Finding {
    Finding {
        source: source.clone(),
        differences,
        settles: source.is_fresh,
        at: Millis(9),
    }
}

async fn now(journal: &JournalStore, name: &str) -> Source {
    let all = journal.sources().await.expect("sources");
    let named = |listed: &wakeful_ports::outside::Listed| listed.source.source_id.as_str() == name;
    all.into_iter().find(named).expect("it is there").source
}

async fn is_heard(heard: &mut Box<dyn Heard>) -> bool {
    let mut next = heard.next();
    poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_ready())).await
}

#[test]
fn what_was_there_is_no_change_and_each_change_is_told_once_with_what_was_seen() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        assert_eq!(
            journal.add_source(notes.clone(), 64).await.expect("added"),
            Added::New
        );
        let mut heard = journal.heard();
        let old = difference(b"old.md", Some("one"), Some(Change::Created));
        assert!(journal.find(finding(&notes, vec![old])).await.expect("found"));
        assert!(
            changes(&journal).await.is_empty(),
            "it was there from the beginning"
        );
        assert!(!is_heard(&mut heard).await);

        let notes = now(&journal, "notes").await;
        assert_eq!((notes.version, notes.is_fresh), (1, false));
        let differences = vec![
            difference(b"new\xff.md", Some("two"), Some(Change::Created)),
            difference(b"old.md", None, Some(Change::Deleted)),
        ];
        let found = finding(&notes, differences);
        assert!(journal.find(found.clone()).await.expect("found"));
        assert!(is_heard(&mut heard).await);
        let all = changes(&journal).await;
        assert_eq!(all.len(), 2);
        assert!(
            all.iter()
                .all(|change| change.seq == 1 && change.author == Author::Outside)
        );
        assert!(
            !journal.find(found).await.expect("an answer"),
            "that version is written"
        );
        assert_eq!(changes(&journal).await.len(), 2);

        let id = |name: &[u8]| Entry::id(SourceKind::Folder, &notes.source_id, name);
        let fields = journal
            .entities(vec![id(b"old.md"), id(b"new\xff.md")])
            .await
            .expect("fields");
        assert_eq!(fields[&id(b"old.md")]["change"], "deleted");
        assert_eq!(fields[&id(b"new\xff.md")]["ext"], "md");
        let seen = journal
            .seen(notes.source_id.clone(), None, 10)
            .await
            .expect("seen");
        assert_eq!(seen, [(b"new\xff.md".to_vec(), known("two"))]);
    });
}

#[test]
fn another_stamp_is_written_and_not_told() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        journal.add_source(notes.clone(), 64).await.expect("added");
        let old = difference(b"a", Some("one"), Some(Change::Created));
        journal.find(finding(&notes, vec![old])).await.expect("found");
        let mut touched = difference(b"a", Some("one"), None);
        touched.now.as_mut().expect("there").stamp = None;
        let notes = now(&journal, "notes").await;
        assert!(journal.find(finding(&notes, vec![touched])).await.expect("found"));
        let seen = journal.seen(notes.source_id, None, 10).await.expect("seen");
        assert_eq!(
            (seen[0].1.stamp.as_deref(), seen[0].1.mark.as_slice()),
            (None, b"one".as_slice())
        );
        assert!(changes(&journal).await.is_empty());
    });
}

#[test]
fn a_source_is_kept_once_and_forgotten_with_all_that_was_seen() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        journal.add_source(notes.clone(), 2).await.expect("added");
        let add = async |name, path| {
            journal
                .add_source(source(name, path), 2)
                .await
                .expect("an answer")
        };
        assert_eq!(add("notes", "/notes").await, Added::Same(notes.clone()));
        assert_eq!(add("notes", "/other").await, Added::Exists);
        assert_eq!(
            add("other", "/notes").await,
            Added::Watched(notes.source_id.clone())
        );
        assert_eq!(add("other", "/other").await, Added::New);
        assert_eq!(add("third", "/third").await, Added::Full);
        let differences = vec![difference(b"a", Some("one"), Some(Change::Created))];
        journal.find(finding(&notes, differences)).await.expect("found");
        assert_eq!(journal.sources().await.expect("sources")[0].entries, 1);
        let trouble = Some("it is gone".to_owned());
        journal
            .set_trouble(notes.source_id.clone(), trouble.clone())
            .await
            .expect("written");
        assert_eq!(now(&journal, "notes").await.trouble, trouble);
        let gone = journal
            .remove_source(notes.source_id.clone())
            .await
            .expect("removed");
        assert_eq!(gone.map(|source| source.path), Some("/notes".into()));
        assert_eq!(
            journal
                .remove_source(notes.source_id.clone())
                .await
                .expect("an answer"),
            None
        );
        assert!(
            journal
                .seen(notes.source_id.clone(), None, 10)
                .await
                .expect("seen")
                .is_empty()
        );
        assert!(
            !journal
                .find(finding(&notes, Vec::new()))
                .await
                .expect("an answer"),
            "it is gone"
        );
    });
}
