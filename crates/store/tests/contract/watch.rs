//! The known state of a source is stored in the same transaction as its changes.

use std::future::poll_fn;
use std::task::Poll;

use wakeful_core::id::SourceId;
use wakeful_core::journal::Author;
use wakeful_core::time::Millis;
use wakeful_core::watch::{EntryChange, EntryDiff, EntryState, Source, SourceEntry, SourceKind};
use wakeful_ports::journal::{CommitListener, Journal as _};
use wakeful_ports::watch::{AddSourceOutcome, SourceChanges, SourceStore as _};
use wakeful_store::JournalStore;

use super::journal::changes;
use crate::fixture::every_journal;

fn source(name: &str, path: &str) -> Source {
    Source {
        source_id: SourceId::parse(name).expect("a name"),
        kind: SourceKind::Folder,
        path: path.into(),
        device: "here".into(),
        created_at: Millis(7),
        version: 0,
        is_fresh: true,
        last_error: None,
    }
}

fn known(mark: &str) -> EntryState {
    EntryState {
        mark: mark.as_bytes().to_vec(),
        size: 3,
        stamp: Some("then".into()),
    }
}

fn difference(name: &[u8], now: Option<&str>, change: Option<EntryChange>) -> EntryDiff {
    EntryDiff {
        name: name.to_vec(),
        now: now.map(known),
        change,
    }
}

fn finding(source: &Source, differences: Vec<EntryDiff>) -> SourceChanges {
    SourceChanges {
        source: source.clone(),
        differences,
        settles: source.is_fresh,
        at: Millis(9),
    }
}

async fn now(journal: &JournalStore, name: &str) -> Source {
    let all = journal.sources().await.expect("sources");
    let named = |listed: &wakeful_ports::watch::SourceStatus| listed.source.source_id.as_str() == name;
    all.into_iter().find(named).expect("it is there").source
}

async fn is_heard(heard: &mut Box<dyn CommitListener>) -> bool {
    let mut next = heard.next();
    poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_ready())).await
}

#[test]
fn initial_entries_are_not_changes_and_each_change_is_stored_once() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        assert_eq!(
            journal.add_source(notes.clone(), 64).await.expect("added"),
            AddSourceOutcome::New
        );
        let mut heard = journal.subscribe_commits();
        let old = difference(b"old.md", Some("one"), Some(EntryChange::Created));
        assert!(
            journal
                .record_changes(finding(&notes, vec![old]))
                .await
                .expect("found")
        );
        assert!(
            changes(&journal).await.is_empty(),
            "it was there from the beginning"
        );
        assert!(!is_heard(&mut heard).await);

        let notes = now(&journal, "notes").await;
        assert_eq!((notes.version, notes.is_fresh), (1, false));
        let differences = vec![
            difference(b"new\xff.md", Some("two"), Some(EntryChange::Created)),
            difference(b"old.md", None, Some(EntryChange::Deleted)),
        ];
        let found = finding(&notes, differences);
        assert!(journal.record_changes(found.clone()).await.expect("found"));
        assert!(is_heard(&mut heard).await);
        let all = changes(&journal).await;
        assert_eq!(all.len(), 2);
        assert!(
            all.iter()
                .all(|change| change.seq == 1 && change.author == Author::Source)
        );
        assert!(
            !journal.record_changes(found).await.expect("an answer"),
            "that version is written"
        );
        assert_eq!(changes(&journal).await.len(), 2);

        let id = |name: &[u8]| SourceEntry::id(SourceKind::Folder, &notes.source_id, name);
        let fields = journal
            .entities(vec![id(b"old.md"), id(b"new\xff.md")])
            .await
            .expect("fields");
        assert_eq!(fields[&id(b"old.md")]["change"], "deleted");
        assert_eq!(fields[&id(b"new\xff.md")]["ext"], "md");
        let seen = journal
            .entries(notes.source_id.clone(), None, 10)
            .await
            .expect("seen");
        assert_eq!(seen, [(b"new\xff.md".to_vec(), known("two"))]);
    });
}

#[test]
fn a_new_stamp_is_stored_without_a_change() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        journal.add_source(notes.clone(), 64).await.expect("added");
        let old = difference(b"a", Some("one"), Some(EntryChange::Created));
        journal
            .record_changes(finding(&notes, vec![old]))
            .await
            .expect("found");
        let mut touched = difference(b"a", Some("one"), None);
        touched.now.as_mut().expect("there").stamp = None;
        let notes = now(&journal, "notes").await;
        assert!(
            journal
                .record_changes(finding(&notes, vec![touched]))
                .await
                .expect("found")
        );
        let seen = journal.entries(notes.source_id, None, 10).await.expect("seen");
        assert_eq!(
            (seen[0].1.stamp.as_deref(), seen[0].1.mark.as_slice()),
            (None, b"one".as_slice())
        );
        assert!(changes(&journal).await.is_empty());
    });
}

#[test]
fn a_source_is_stored_once_and_removed_with_its_entries() {
    every_journal(async |journal| {
        let notes = source("notes", "/notes");
        journal.add_source(notes.clone(), 2).await.expect("added");
        let add = async |name, path| {
            journal
                .add_source(source(name, path), 2)
                .await
                .expect("an answer")
        };
        assert_eq!(
            add("notes", "/notes").await,
            AddSourceOutcome::Same(notes.clone())
        );
        assert_eq!(add("notes", "/other").await, AddSourceOutcome::Exists);
        assert_eq!(
            add("other", "/notes").await,
            AddSourceOutcome::Watched(notes.source_id.clone())
        );
        assert_eq!(add("other", "/other").await, AddSourceOutcome::New);
        assert_eq!(add("third", "/third").await, AddSourceOutcome::Full);
        let differences = vec![difference(b"a", Some("one"), Some(EntryChange::Created))];
        journal
            .record_changes(finding(&notes, differences))
            .await
            .expect("found");
        assert_eq!(journal.sources().await.expect("sources")[0].entries, 1);
        let trouble = Some("it is gone".to_owned());
        journal
            .set_last_error(notes.source_id.clone(), trouble.clone())
            .await
            .expect("written");
        assert_eq!(now(&journal, "notes").await.last_error, trouble);
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
                .entries(notes.source_id.clone(), None, 10)
                .await
                .expect("seen")
                .is_empty()
        );
        assert!(
            !journal
                .record_changes(finding(&notes, Vec::new()))
                .await
                .expect("an answer"),
            "it is gone"
        );
    });
}
