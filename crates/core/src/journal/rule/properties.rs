//! Property tests of journal writes.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::memory_journal::{MemoryJournal, operation};
use super::tests::{block, day, plan, rate, status};
use super::*;
use crate::journal::{DayPlanBlockWrite, LinkKind, RatingTarget};

/// Any mutation of a few records that may or may not exist.
fn mutation() -> impl Strategy<Value = Mutation> {
    let known =
        |kind: RecordKind| (0_u8..8).prop_map(move |n| RecordId::derived(kind, &operation(&n.to_string())));
    let task = move || known(RecordKind::Task);
    let category = move || known(RecordKind::Category);
    let any = move || {
        prop_oneof![
            task(),
            category(),
            known(RecordKind::Checklist),
            known(RecordKind::TimeEntry)
        ]
    };
    let target = move || {
        prop_oneof![
            any().prop_map(RatingTarget::Record),
            Just(RatingTarget::Day(day()))
        ]
    };
    prop_oneof![
        "[ab]".prop_map(|name| Mutation::CreateCategory { name }),
        (category(), "[ab]").prop_map(|(category, name)| Mutation::RenameCategory { category, name }),
        prop::option::of(category()).prop_map(|category| Mutation::CreateTask {
            title: "t".into(),
            details: String::new(),
            category
        }),
        task().prop_map(|task| status(&task, TaskStatus::Done)),
        (task(), 0_usize..3).prop_map(|(task, items)| Mutation::CreateChecklist {
            task,
            title: "l".into(),
            items: vec!["item".into(); items]
        }),
        known(RecordKind::Checklist).prop_map(|checklist| Mutation::AddItems {
            checklist,
            items: vec!["more".into()]
        }),
        task().prop_map(|task| Mutation::StartTime {
            task,
            description: String::new()
        }),
        known(RecordKind::TimeEntry).prop_map(|entry| Mutation::StopTime { entry }),
        (task(), prop::option::of(category())).prop_map(|(task, category)| plan(
            vec![DayPlanBlockWrite {
                task: Some(task),
                category,
                ..block("09:00", "10:00")
            }],
            vec![]
        )),
        (target(), 1_u32..6).prop_map(|(target, value)| rate(target, value)),
        (any(), any()).prop_map(|(from, to)| Mutation::CreateLink {
            from,
            to,
            link: LinkKind::RelatesTo
        }),
        (any(), prop::option::of(category()))
            .prop_map(|(record, move_to)| Mutation::Remove { record, move_to }),
        any().prop_map(|record| Mutation::Restore { record }),
    ]
}

/// A record without its version and times.
fn contents(record: &Record) -> Record {
    let removed_at = record.life().removed_at.map(|_| Millis(0));
    record.clone().written(0, Millis(0), removed_at)
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(256) })]

    /// For any mutations: versions increase by one; a write that is undone at once restores every record,
    /// or leaves a tombstone where there was none; a tombstone changes only by being restored.
    #[test]
    fn undoing_a_write_restores_the_previous_records(asked in prop::collection::vec(mutation(), 1..40)) {
        let mut world = MemoryJournal::default();
        for (number, mutation) in asked.into_iter().enumerate() {
            let name = number.to_string();
            let before = world.records.clone();
            let time = i64::try_from(number).unwrap();
            let Ok(written) = world.write(&name, &mutation, time) else {
                prop_assert_eq!(&world.records, &before);
                continue;
            };
            for one in &written {
                let was = before.get(one.after.id());
                prop_assert_eq!(was, one.before.as_ref());
                prop_assert_eq!(one.after.version(), was.map_or(0, Record::version) + 1);
                if was.is_some_and(Record::is_removed) {
                    prop_assert_eq!(one.change(), RecordChange::Restored);
                }
            }
            let mut twin = world.clone();
            twin.undo(&name, time).expect("no later write exists");
            for (id, record) in &twin.records {
                prop_assert!(record.version() >= world.records[id].version());
                match before.get(id) {
                    Some(was) => prop_assert_eq!(contents(record), contents(was)),
                    None => prop_assert!(record.is_removed()),
                }
            }
        }
        let name = |record: &Record| match unique_constraint(record) {
            Some(UniqueConstraint::Named(name)) => Some(name.to_owned()),
            Some(UniqueConstraint::Running(_)) | None => None,
        };
        let names: Vec<String> = world.present().filter_map(name).collect();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        prop_assert_eq!(unique.len(), names.len());
    }
}
