//! The journal: one operation id, one mutation, on every database.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::Config;
use wakeful_core::change::LogicalChangeKey;
use wakeful_core::id::AgentId;
use wakeful_core::journal::{Author, Mutation, RecordId, TaskStatus, compensation_id};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{
    CommittedChange, Journal as _, JournalError, OperationStatus, TaskFilter, UndoOutcome, WriteReceipt,
    WriteRequest,
};
use wakeful_store::JournalStore;

use crate::fixture::{block_on, every_journal, sample};

pub(crate) fn create(operation: &str, title: &str) -> WriteRequest {
    WriteRequest {
        operation_id: sample::operation(operation),
        author: Author::Agent(AgentId::parse("main").expect("an id")),
        mutation: Mutation::CreateTask {
            title: title.into(),
            details: "more".into(),
            category: None,
        },
        at: Millis(1_000),
    }
}

fn finish(operation: &str, task: &RecordId) -> WriteRequest {
    WriteRequest {
        author: Author::Person,
        mutation: Mutation::UpdateTask {
            task: task.clone(),
            title: None,
            details: None,
            status: Some(TaskStatus::Done),
            category: None,
        },
        at: Millis(2_000),
        ..create(operation, "")
    }
}

pub(crate) async fn wrote(journal: &JournalStore, order: WriteRequest) -> WriteReceipt {
    journal.write(order).await.expect("written")
}

pub(crate) async fn refused(journal: &JournalStore, order: WriteRequest) -> &'static str {
    match journal.write(order).await {
        Err(JournalError::Refused(refusal)) => refusal.code(),
        other => panic!("{other:?}"),
    }
}

async fn titles(journal: &JournalStore) -> Vec<(String, TaskStatus)> {
    let filter = TaskFilter {
        limit: 1_000,
        ..TaskFilter::default()
    };
    let tasks = journal.tasks(filter).await.expect("read");
    tasks.into_iter().map(|task| (task.title, task.status)).collect()
}

pub(crate) async fn changes(journal: &JournalStore) -> Vec<CommittedChange> {
    journal.changes(0, 1_000).await.expect("read")
}

// Conformance: L-046
#[test]
fn a_write_commits_record_change_and_receipt_together() {
    every_journal(async |journal| {
        let receipt = wrote(&journal, create("a", "Buy milk")).await;
        assert_eq!(
            titles(&journal).await,
            [("Buy milk".to_owned(), TaskStatus::Open)]
        );
        let [change] = <[CommittedChange; 1]>::try_from(changes(&journal).await).expect("one change");
        assert_eq!((change.seq, &change.unit), (1, &receipt.unit));
        assert_eq!((change.unit.host.as_str(), change.unit.counter), ("host.1", 1));
        assert_eq!(change.author.to_text(), "agent:main");
        assert_eq!(change.operation_id, sample::operation("a"));
        let id = receipt.record_id.to_string();
        assert_eq!(
            change.tokens,
            [
                "semanticKey|-|TASK".to_owned(),
                format!("entityId|-|{id}"),
                "subtypeToken|task.change|created".into(),
                "subtypeToken|task.status|open".into()
            ]
        );
        let done = wrote(&journal, finish("b", &receipt.record_id)).await;
        assert_eq!((done.version, done.unit.counter), (2, 2));
        assert_eq!(
            titles(&journal).await,
            [("Buy milk".to_owned(), TaskStatus::Done)]
        );
    });
}

// Conformance: L-150, L-210
#[test]
fn an_operation_repeated_a_hundred_times_is_performed_once() {
    every_journal(async |journal| {
        let first = wrote(&journal, create("a", "Buy milk")).await;
        for _ in 0..100 {
            assert_eq!(wrote(&journal, create("a", "Buy milk")).await, first);
        }
        assert_eq!(
            (titles(&journal).await.len(), changes(&journal).await.len()),
            (1, 1)
        );
        // Not even after other changes.
        wrote(&journal, finish("b", &first.record_id)).await;
        assert_eq!(wrote(&journal, create("a", "Buy milk")).await, first);
        assert_eq!(changes(&journal).await.len(), 2);
        assert_eq!(
            refused(&journal, create("a", "Sell milk")).await,
            "operation_reused"
        );
    });
}

/// Rounds in which many callers use one operation id while others write something else. In the first round,
/// connections are still being opened.
const ROUNDS: u64 = 12;

// Conformance: L-150, L-210
#[test]
fn an_operation_used_concurrently_is_performed_once() {
    every_journal(async |journal| {
        for round in 0..ROUNDS {
            let one = |name: String| {
                let journal = journal.clone();
                tokio::spawn(async move { wrote(&journal, create(&name, "Buy milk")).await })
            };
            let same: Vec<_> = (0..6).map(|_| one(format!("same {round}"))).collect();
            let other: Vec<_> = (0..3).map(|n| one(format!("other {round} {n}"))).collect();
            let mut receipts = BTreeSet::new();
            for task in same {
                let receipt = task.await.expect("no panic");
                receipts.insert((receipt.record_id, receipt.unit.counter));
            }
            assert_eq!(receipts.len(), 1, "round {round}: {receipts:?}");
            for task in other {
                task.await.expect("no panic");
            }
        }
        let all = changes(&journal).await;
        let seqs: Vec<u64> = all.iter().map(|change| change.seq).collect();
        assert_eq!(
            seqs,
            (1..=ROUNDS * 4).collect::<Vec<_>>(),
            "one after the other, none left out"
        );
        assert_eq!(titles(&journal).await.len(), all.len());
    });
}

#[test]
fn a_refused_write_changes_nothing() {
    every_journal(async |journal| {
        let nobody = RecordId::parse("task_id", &"0".repeat(32)).expect("an id");
        assert_eq!(refused(&journal, finish("a", &nobody)).await, "task_unknown");
        assert_eq!(refused(&journal, create("a", " ")).await, "invalid_record");
        assert!(changes(&journal).await.is_empty());
        assert_eq!(
            journal
                .operation_status(sample::operation("a"))
                .await
                .expect("read"),
            OperationStatus::Unknown
        );
        let category = |operation: &str| WriteRequest {
            mutation: Mutation::CreateCategory { name: "Home".into() },
            ..create(operation, "")
        };
        wrote(&journal, category("b")).await;
        assert_eq!(refused(&journal, category("c")).await, "category_exists");
        assert_eq!(journal.categories().await.expect("read").len(), 1);
    });
}

#[test]
fn undo_restores_the_record_and_is_a_change_itself() {
    every_journal(async |journal| {
        let made = wrote(&journal, create("a", "Buy milk")).await;
        wrote(&journal, finish("b", &made.record_id)).await;
        let undo = async |operation: &str| journal.undo(sample::operation(operation), Millis(3_000)).await;
        let undone = undo("b").await.expect("undone");
        assert_eq!(
            titles(&journal).await,
            [("Buy milk".to_owned(), TaskStatus::Open)]
        );
        assert_eq!(
            undo("b").await.expect("again"),
            undone,
            "the second time is the first"
        );
        let all = changes(&journal).await;
        assert_eq!(all.len(), 3);
        assert_eq!(all[2].operation_id, compensation_id(&sample::operation("b")));
        assert_eq!(all[2].author, Author::Person, "with its original author");
        assert_eq!(
            journal
                .operation_status(sample::operation("b"))
                .await
                .expect("read"),
            OperationStatus::Undone
        );
        assert_eq!(
            refused(&journal, finish("b", &made.record_id)).await,
            "operation_undone"
        );
    });
}

#[test]
fn an_undone_creation_leaves_a_tombstone() {
    every_journal(async |journal| {
        let made = wrote(&journal, create("a", "Buy milk")).await;
        let undone = journal
            .undo(sample::operation("a"), Millis(3_000))
            .await
            .expect("undone");
        let UndoOutcome::Inverted(receipt) = undone else {
            panic!("{undone:?}")
        };
        assert_eq!((&receipt.record_id, receipt.version), (&made.record_id, 2));
        assert!(titles(&journal).await.is_empty());
        assert_eq!(
            refused(&journal, finish("b", &made.record_id)).await,
            "record_removed"
        );
    });
}

#[test]
fn undo_does_not_remove_later_changes() {
    every_journal(async |journal| {
        let made = wrote(&journal, create("a", "Buy milk")).await;
        wrote(&journal, finish("b", &made.record_id)).await;
        let undone = journal.undo(sample::operation("a"), Millis(3_000)).await;
        assert!(
            matches!(&undone, Err(JournalError::Refused(refusal)) if refusal.code() == "record_changed"),
            "{undone:?}"
        );
        assert_eq!(
            titles(&journal).await,
            [("Buy milk".to_owned(), TaskStatus::Done)]
        );
        assert_eq!(changes(&journal).await.len(), 2);
        let other = wrote(&journal, create("c", "Buy bread")).await;
        let note = WriteRequest {
            mutation: Mutation::CreateNote {
                text: "rye".into(),
                task: Some(other.record_id),
            },
            ..create("d", "")
        };
        wrote(&journal, note).await;
        let undone = journal.undo(sample::operation("c"), Millis(3_000)).await;
        assert!(undone.is_err(), "a note is about it: {undone:?}");
    });
}

#[test]
fn an_operation_voided_in_advance_is_never_performed() {
    every_journal(async |journal| {
        let undo = async || {
            journal
                .undo(sample::operation("a"), Millis(1))
                .await
                .expect("void")
        };
        assert_eq!(undo().await, UndoOutcome::Void);
        assert_eq!(undo().await, UndoOutcome::Void);
        // The slow caller finds the operation void.
        assert_eq!(
            refused(&journal, create("a", "Buy milk")).await,
            "operation_undone"
        );
        assert!(titles(&journal).await.is_empty() && changes(&journal).await.is_empty());
    });
}

#[test]
fn the_outbox_is_read_in_whole_transactions_after_a_position() {
    every_journal(async |journal| {
        for number in 0..5 {
            wrote(&journal, create(&number.to_string(), "task")).await;
        }
        let page = journal.changes(1, 2).await.expect("read");
        assert_eq!(page.iter().map(|change| change.seq).collect::<Vec<_>>(), [2, 3]);
        assert!(journal.changes(5, 2).await.expect("read").is_empty());
        let all = changes(&journal).await;
        let keys: BTreeSet<_> = all
            .iter()
            .map(|change| LogicalChangeKey::of([&change.unit]))
            .collect();
        assert_eq!(keys.len(), 5);
        assert!(
            all.windows(2)
                .all(|pair| pair[0].unit.counter < pair[1].unit.counter)
        );
    });
}

#[test]
fn tasks_are_found_by_status_and_id_prefix_and_notes_by_task() {
    every_journal(async |journal| {
        let one = wrote(&journal, create("a", "one")).await;
        wrote(&journal, create("b", "two")).await;
        wrote(&journal, finish("c", &one.record_id)).await;
        let note = |operation: &str, task: Option<RecordId>| WriteRequest {
            mutation: Mutation::CreateNote {
                text: "grüße\nzwei".into(),
                task,
            },
            ..create(operation, "")
        };
        wrote(&journal, note("d", Some(one.record_id.clone()))).await;
        wrote(&journal, note("e", None)).await;
        let found = async |status, prefix: Option<&str>| {
            let filter = TaskFilter {
                status,
                id_prefix: prefix.map(str::to_owned),
                limit: 10,
            };
            let tasks = journal.tasks(filter).await.expect("read");
            tasks.into_iter().map(|task| task.title).collect::<Vec<_>>()
        };
        assert_eq!(found(Some(TaskStatus::Done), None).await, ["one"]);
        assert_eq!(found(Some(TaskStatus::Open), None).await, ["two"]);
        let prefix = &one.record_id.as_str()[..8];
        assert_eq!(found(None, Some(prefix)).await, ["one"]);
        assert_eq!(found(None, Some(one.record_id.as_str())).await, ["one"]);
        let of_task = journal
            .notes(Some(one.record_id.clone()), 10)
            .await
            .expect("read");
        assert_eq!(
            of_task.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
            ["grüße\nzwei"]
        );
        assert_eq!(journal.notes(None, 10).await.expect("read").len(), 2);
    });
}

/// What callers may request: few operations, used repeatedly, undone at any time.
#[derive(Debug, Clone)]
enum JournalAction {
    Create(u8),
    Finish(u8, u8),
    Undo(u8),
}

fn deed() -> impl Strategy<Value = JournalAction> {
    prop_oneof![
        (0_u8..4).prop_map(JournalAction::Create),
        (4_u8..8, 0_u8..4).prop_map(|(operation, task)| JournalAction::Finish(operation, task)),
        (0_u8..8).prop_map(JournalAction::Undo),
    ]
}

/// Returns the task that an operation creates, whether or not it has done so.
fn task_of(operation: u8) -> RecordId {
    let operation = sample::operation(&operation.to_string());
    RecordId::derived(wakeful_core::journal::RecordKind::Task, &operation)
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    // Conformance: L-150, A-201
    /// In any order and number of uses and undos: each operation writes at most once, is undone at most
    /// once, and the outbox contains exactly what was written.
    #[test]
    fn an_operation_changes_the_journal_at_most_once(deeds in proptest::collection::vec(deed(), 0..40)) {
        block_on(async {
            let journal = JournalStore::in_memory("host").expect("a journal");
            for deed in deeds {
                let before = changes(&journal).await;
                match deed {
                    JournalAction::Create(operation) => {
                        let _ = journal.write(create(&operation.to_string(), "task")).await;
                    }
                    JournalAction::Finish(operation, task) => {
                        let _ = journal.write(finish(&operation.to_string(), &task_of(task))).await;
                    }
                    JournalAction::Undo(operation) => {
                        let _ = journal.undo(sample::operation(&operation.to_string()), Millis(3)).await;
                    }
                }
                let after = changes(&journal).await;
                assert!(after.len() <= before.len() + 1 && after.starts_with(&before));
            }
            let all = changes(&journal).await;
            let operations: BTreeSet<_> = all.iter().map(|change| change.operation_id).collect();
            assert_eq!(operations.len(), all.len(), "an operation wrote twice");
            let seqs: Vec<u64> = all.iter().map(|change| change.seq).collect();
            let counted: Vec<u64> = (1..).take(all.len()).collect();
            assert_eq!(seqs, counted, "no place is left out");
        });
    }
}
