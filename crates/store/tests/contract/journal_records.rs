//! Writes that touch several records: one transaction, on every database.

use std::collections::BTreeSet;

use wakeful_core::change::LogicalChangeKey;
use wakeful_core::journal::{
    CalendarDay, DayPlanBlockWrite, LinkKind, Mutation, RatingTarget, Record, RecordId, person_operation_id,
};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{Journal as _, JournalError, RecordQuery, WriteReceipt, WriteRequest};
use wakeful_store::JournalStore;

use super::journal::{changes, create, refused, wrote};
use crate::fixture::{every_journal, sample};

pub(super) fn order(operation: &str, mutation: Mutation) -> WriteRequest {
    WriteRequest {
        mutation,
        ..create(operation, "")
    }
}

pub(super) async fn list(journal: &JournalStore, listing: RecordQuery) -> Vec<Record> {
    journal.records(listing, 100).await.expect("read")
}

fn day() -> CalendarDay {
    CalendarDay::parse("2026-02-18").expect("a day")
}

fn at(clock: &str) -> Millis {
    Millis::parse(&format!("2026-02-18T{clock}:00Z")).expect("a time")
}

fn block(starts: &str, ends: &str) -> DayPlanBlockWrite {
    DayPlanBlockWrite {
        block: None,
        starts_at: at(starts),
        ends_at: at(ends),
        task: None,
        category: None,
        note: "Deep work".into(),
    }
}

fn plan(upserts: Vec<DayPlanBlockWrite>, deletes: Vec<RecordId>) -> Mutation {
    Mutation::WriteDayPlan {
        day: day(),
        note: None,
        upserts,
        deletes,
    }
}

fn pack(task: &RecordId) -> Mutation {
    Mutation::CreateChecklist {
        task: task.clone(),
        title: "pack".into(),
        items: vec!["shoes".into(), "towel".into(), "water".into()],
    }
}

/// Checks that several records were written as one: one position, one counter, one logical change key.
fn assert_whole(receipt: &WriteReceipt, all: &[wakeful_ports::journal::CommittedChange], records: usize) {
    assert_eq!(receipt.also.len() + 1, records, "{receipt:?}");
    let last = all.last().expect("a change");
    let units: Vec<_> = all.iter().filter(|change| change.seq == last.seq).collect();
    assert_eq!(units.len(), records);
    assert!(
        units
            .iter()
            .all(|change| change.unit.counter == last.unit.counter)
    );
    assert!(
        units
            .iter()
            .all(|change| change.operation_id == last.operation_id)
    );
    let told = LogicalChangeKey::of(units.iter().map(|change| &change.unit));
    assert_eq!(
        told,
        LogicalChangeKey::of(std::iter::once(&receipt.unit).chain(&receipt.also))
    );
}

#[test]
fn a_checklist_and_its_items_are_one_transaction_and_one_change() {
    every_journal(async |journal| {
        let task = wrote(&journal, create("t", "Gym")).await.record_id;
        let made = wrote(&journal, order("l", pack(&task))).await;
        assert_whole(&made, &changes(&journal).await, 4);
        let items = list(
            &journal,
            RecordQuery::Items {
                checklist: made.record_id.clone(),
            },
        )
        .await;
        let texts: Vec<(&str, u32)> = items
            .iter()
            .map(|record| {
                let Record::ChecklistItem(item) = record else {
                    panic!("{record:?}")
                };
                (item.text.as_str(), item.position)
            })
            .collect();
        assert_eq!(texts, [("shoes", 1), ("towel", 2), ("water", 3)]);
        assert_eq!(
            wrote(&journal, order("l", pack(&task))).await,
            made,
            "the second time is the first"
        );
        let ids: Vec<RecordId> = items.iter().rev().map(|record| record.id().clone()).collect();
        let turned = Mutation::OrderItems {
            checklist: made.record_id.clone(),
            items: ids.clone(),
        };
        assert_whole(
            &wrote(&journal, order("o", turned)).await,
            &changes(&journal).await,
            2,
        );
        let items = list(
            &journal,
            RecordQuery::Items {
                checklist: made.record_id.clone(),
            },
        )
        .await;
        assert_eq!(
            items.iter().map(|record| record.id().clone()).collect::<Vec<_>>(),
            ids
        );
        assert_eq!(
            list(&journal, RecordQuery::Checklists { task: Some(task) })
                .await
                .len(),
            1
        );
        assert_eq!(
            list(&journal, RecordQuery::Checklists { task: None }).await.len(),
            1
        );
    });
}

#[test]
fn several_records_are_restored_in_one_transaction() {
    every_journal(async |journal| {
        let task = wrote(&journal, create("t", "Gym")).await.record_id;
        let made = wrote(&journal, order("l", pack(&task))).await;
        journal
            .undo(sample::operation("l"), Millis(9))
            .await
            .expect("undone");
        let all = changes(&journal).await;
        assert_eq!(all.iter().filter(|change| change.seq == 3).count(), 4, "{all:?}");
        assert!(
            list(&journal, RecordQuery::Checklists { task: None })
                .await
                .is_empty()
        );
        assert!(
            list(
                &journal,
                RecordQuery::Items {
                    checklist: made.record_id
                }
            )
            .await
            .is_empty()
        );
        // An item that was added later by another author is kept.
        let made = wrote(&journal, order("l2", pack(&task))).await;
        let more = Mutation::AddItems {
            checklist: made.record_id,
            items: vec!["music".into()],
        };
        wrote(&journal, order("more", more)).await;
        let undone = journal.undo(sample::operation("l2"), Millis(9)).await;
        assert!(
            matches!(&undone, Err(JournalError::Refused(refusal)) if refusal.code() == "record_changed"),
            "{undone:?}"
        );
    });
}

#[test]
fn the_blocks_of_a_day_plan_are_changed_in_one_write() {
    every_journal(async |journal| {
        let made = wrote(
            &journal,
            order(
                "p",
                plan(vec![block("13:00", "14:00"), block("09:00", "11:00")], vec![]),
            ),
        )
        .await;
        assert_whole(&made, &changes(&journal).await, 3);
        let blocks = async || {
            list(
                &journal,
                RecordQuery::Blocks {
                    plan: made.record_id.clone(),
                },
            )
            .await
        };
        let before = blocks().await;
        assert!(
            matches!(&before[0], Record::DayPlanBlock(block) if block.starts_at == at("09:00")),
            "in order"
        );
        let longer = DayPlanBlockWrite {
            block: Some(before[0].id().clone()),
            ..block("09:00", "12:00")
        };
        let change = plan(
            vec![longer, block("15:00", "16:00")],
            vec![before[1].id().clone()],
        );
        let changed = wrote(&journal, order("q", change)).await;
        assert_eq!(
            (&changed.record_id, changed.version),
            (&made.record_id, 2),
            "the same plan"
        );
        assert_whole(&changed, &changes(&journal).await, 4);
        assert_eq!(blocks().await.len(), 2);
        assert_eq!(
            list(&journal, RecordQuery::DayPlans { day: Some(day()) })
                .await
                .len(),
            1
        );
        assert_eq!(list(&journal, RecordQuery::DayPlans { day: None }).await.len(), 1);
        // One invalid block, and nothing is written.
        let nobody = RecordId::parse("task_id", &"0".repeat(32)).expect("an id");
        let bad = DayPlanBlockWrite {
            category: Some(nobody),
            ..block("20:00", "21:00")
        };
        let (before, told) = (blocks().await, changes(&journal).await.len());
        let half = plan(vec![block("18:00", "19:00"), bad], vec![before[0].id().clone()]);
        assert_eq!(refused(&journal, order("r", half)).await, "category_unknown");
        assert_eq!((blocks().await, changes(&journal).await.len()), (before, told));
        journal
            .undo(sample::operation("q"), Millis(9))
            .await
            .expect("undone");
        assert!(matches!(&blocks().await[0], Record::DayPlanBlock(block) if block.ends_at == at("11:00")));
    });
}

#[test]
fn a_category_in_use_is_removed_by_moving_its_contents() {
    every_journal(async |journal| {
        let category = |name: &str| Mutation::CreateCategory { name: name.into() };
        let gym = wrote(&journal, order("gym", category("gym"))).await.record_id;
        let home = wrote(&journal, order("home", category("home"))).await.record_id;
        let task = |category: &RecordId| Mutation::CreateTask {
            title: "t".into(),
            details: String::new(),
            category: Some(category.clone()),
        };
        wrote(&journal, order("t", task(&gym))).await;
        let remove = |move_to: Option<&RecordId>| Mutation::Remove {
            record: gym.clone(),
            move_to: move_to.cloned(),
        };
        assert_eq!(
            refused(&journal, order("r", remove(None))).await,
            "category_in_use"
        );
        let gone = wrote(&journal, order("s", remove(Some(&home)))).await;
        assert_whole(&gone, &changes(&journal).await, 2);
        assert_eq!(journal.categories().await.expect("read").len(), 1);
        assert_eq!(refused(&journal, order("u", task(&gym))).await, "record_removed");
        wrote(&journal, order("gym2", category("gym"))).await;
        let undone = journal.undo(sample::operation("s"), Millis(9)).await;
        assert!(
            matches!(&undone, Err(JournalError::Refused(refusal)) if refusal.code() == "category_exists"),
            "{undone:?}"
        );
    });
}

/// Creates one record of every kind and returns their ids.
async fn one_of_each(journal: &JournalStore) -> Vec<RecordId> {
    let task = wrote(journal, create("t", "Gym")).await.record_id;
    let other = wrote(journal, create("o", "Other")).await.record_id;
    let note = Mutation::CreateNote {
        text: "n".into(),
        task: Some(task.clone()),
    };
    let rate = |target: RatingTarget| Mutation::Rate {
        target,
        scale: "energy".into(),
        value: 4,
        most: 5,
        note: String::new(),
    };
    let time = Mutation::AddTime {
        task: task.clone(),
        started_at: at("09:00"),
        ended_at: at("10:00"),
        description: "squats".into(),
    };
    let made = [
        Mutation::CreateCategory { name: "gym".into() },
        note,
        pack(&task),
        time,
        plan(vec![block("09:00", "10:00")], vec![]),
        rate(RatingTarget::Record(task.clone())),
        rate(RatingTarget::Day(day())),
        Mutation::CreateLink {
            from: task.clone(),
            to: other,
            link: LinkKind::parse("gym:before").expect("a kind"),
        },
    ];
    let mut ids = vec![task];
    for (number, mutation) in made.into_iter().enumerate() {
        let receipt = wrote(journal, order(&format!("make {number}"), mutation)).await;
        let also = receipt.also.iter();
        ids.extend(also.map(|unit| RecordId::parse("id", &unit.payload_id).expect("an id")));
        ids.push(receipt.record_id);
    }
    ids
}

#[test]
fn every_kind_of_record_can_be_removed_and_restored() {
    every_journal(async |journal| {
        let ids = one_of_each(&journal).await;
        let entities = journal.entities(ids.clone()).await.expect("read");
        let kinds: BTreeSet<String> = entities
            .values()
            .map(|entity| entity["kind"].to_string())
            .collect();
        assert_eq!(kinds.len(), 10, "one of every kind: {kinds:?}");
        let found = async |id: &RecordId| {
            journal
                .records_with_prefix(id.to_string(), 2)
                .await
                .expect("read")
                .remove(0)
        };
        for id in ids {
            let before = found(&id).await;
            let remove = Mutation::Remove {
                record: id.clone(),
                move_to: None,
            };
            let gone = wrote(&journal, order(&format!("remove {id}"), remove.clone())).await;
            let again = order(&format!("again {id}"), remove.clone());
            assert_eq!(refused(&journal, again).await, "record_removed");
            let tombstone = found(&id).await;
            assert!(
                tombstone.is_removed() && tombstone.version() == gone.version,
                "{tombstone:?}"
            );
            let restore = Mutation::Restore { record: id.clone() };
            wrote(&journal, order(&format!("restore {id}"), restore)).await;
            // The same by undoing a removal.
            let operation = format!("once more {id}");
            wrote(&journal, order(&operation, remove)).await;
            let undone = journal.undo(sample::operation(&operation), Millis(9)).await;
            undone.expect("undone");
            let after = found(&id).await;
            assert_eq!(
                (after.is_removed(), after.version()),
                (false, before.version() + 4)
            );
        }
    });
}

#[test]
fn ratings_and_links_are_listed_by_their_target() {
    every_journal(async |journal| {
        let task = one_of_each(&journal).await.remove(0);
        let count = async |listing: RecordQuery| list(&journal, listing).await.len();
        let of = |target: Option<RatingTarget>| RecordQuery::Ratings { target };
        assert_eq!(count(of(Some(RatingTarget::Day(day())))).await, 1);
        assert_eq!(count(of(Some(RatingTarget::Record(task.clone())))).await, 1);
        assert_eq!(count(of(None)).await, 2);
        assert_eq!(count(RecordQuery::Links { of: Some(task) }).await, 1);
        assert_eq!(count(RecordQuery::Links { of: None }).await, 1);
    });
}

#[test]
fn one_time_entry_runs_per_task() {
    every_journal(async |journal| {
        let task = wrote(&journal, create("t", "Gym")).await.record_id;
        let start = Mutation::StartTime {
            task: task.clone(),
            description: "squats".into(),
        };
        let entry = wrote(&journal, order("s", start.clone())).await.record_id;
        assert_eq!(
            refused(&journal, order("s2", start.clone())).await,
            "time_entry_running"
        );
        let running = async || {
            list(
                &journal,
                RecordQuery::TimeEntries {
                    task: None,
                    running: true,
                },
            )
            .await
            .len()
        };
        assert_eq!(running().await, 1);
        wrote(&journal, order("e", Mutation::StopTime { entry: entry.clone() })).await;
        assert_eq!(running().await, 0);
        assert_eq!(
            refused(&journal, order("e2", Mutation::StopTime { entry })).await,
            "time_entry_stopped"
        );
        wrote(&journal, order("s3", start)).await;
        let undone = journal.undo(sample::operation("e"), Millis(9)).await;
        assert!(
            matches!(&undone, Err(JournalError::Refused(refusal)) if refusal.code() == "time_entry_running"),
            "{undone:?}"
        );
        for running in [false, true] {
            let of_task = list(
                &journal,
                RecordQuery::TimeEntries {
                    task: Some(task.clone()),
                    running,
                },
            )
            .await;
            assert_eq!(of_task.len(), if running { 1 } else { 2 });
        }
        assert_eq!(
            list(
                &journal,
                RecordQuery::TimeEntries {
                    task: None,
                    running: false
                }
            )
            .await
            .len(),
            2
        );
        assert_ne!(person_operation_id("s"), sample::operation("s"));
    });
}
