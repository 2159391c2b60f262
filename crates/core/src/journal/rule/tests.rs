use super::memory_journal::{MemoryJournal, operation};
use super::*;
use crate::journal::{
    CalendarDay, DayPlanBlockWrite, ITEMS_MAX, LinkKind, NOTE_BYTES_MAX, RECORD_ID_DIGITS, RatingTarget,
    SCALE_MOST_MAX,
};

fn task(title: &str) -> Mutation {
    Mutation::CreateTask {
        title: title.into(),
        details: String::new(),
        category: None,
    }
}

pub(super) fn status(task: &RecordId, status: TaskStatus) -> Mutation {
    Mutation::UpdateTask {
        task: task.clone(),
        title: None,
        details: None,
        status: Some(status),
        category: None,
    }
}

fn id_of(world: &mut MemoryJournal, name: &str, mutation: &Mutation) -> RecordId {
    let written = world.write(name, mutation, 1).expect("written");
    written.first().expect("a record").after.id().clone()
}

fn refused(world: &mut MemoryJournal, mutation: &Mutation) -> (&'static str, Option<&'static str>) {
    let before = world.records.clone();
    let refusal = world.write("refused", mutation, 1).expect_err("refused");
    assert_eq!(world.records, before, "a refused write leaves no trace");
    assert!(WriteError::is_code(refusal.code()), "{refusal}");
    (refusal.code(), refusal.field())
}

fn remove(record: &RecordId) -> Mutation {
    Mutation::Remove {
        record: record.clone(),
        move_to: None,
    }
}

pub(super) fn day() -> CalendarDay {
    CalendarDay::parse("2026-02-18").unwrap()
}

fn at(clock: &str) -> Millis {
    Millis::parse(&format!("2026-02-18T{clock}:00Z")).unwrap()
}

pub(super) fn block(starts: &str, ends: &str) -> DayPlanBlockWrite {
    DayPlanBlockWrite {
        block: None,
        starts_at: at(starts),
        ends_at: at(ends),
        task: None,
        category: None,
        note: String::new(),
    }
}

pub(super) fn plan(upserts: Vec<DayPlanBlockWrite>, deletes: Vec<RecordId>) -> Mutation {
    Mutation::WriteDayPlan {
        day: day(),
        note: None,
        upserts,
        deletes,
    }
}

pub(super) fn rate(target: RatingTarget, value: u32) -> Mutation {
    Mutation::Rate {
        target,
        scale: "energy".into(),
        value,
        most: 5,
        note: String::new(),
    }
}

#[test]
fn the_same_operation_makes_the_same_record() {
    let make = |name: &str| {
        apply(
            &task(" Buy milk "),
            &ReadSet::default(),
            &operation(name),
            Millis(5),
        )
        .unwrap()
    };
    let (one, again, other) = (make("a"), make("a"), make("b"));
    assert_eq!(one, again);
    assert_ne!(one[0].after.id(), other[0].after.id());
    assert_eq!(one[0].after.id().as_str().len(), RECORD_ID_DIGITS);
    assert!(matches!(&one[0].after, Record::Task(task) if task.title == "Buy milk"));
}

#[test]
fn limits_are_reported_with_field_and_hint() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "t", &task("t"));
    let note = |text: String| Mutation::CreateNote { text, task: None };
    let list = |items: Vec<String>| Mutation::CreateChecklist {
        task: id.clone(),
        title: "items".into(),
        items,
    };
    let time = |started_at: i64, ended_at: i64| Mutation::AddTime {
        task: id.clone(),
        started_at: Millis(started_at),
        ended_at: Millis(ended_at),
        description: String::new(),
    };
    let scale = |scale: &str, value: u32, most: u32| Mutation::Rate {
        target: RatingTarget::Day(day()),
        scale: scale.into(),
        value,
        most,
        note: String::new(),
    };
    let far = DayPlanBlockWrite {
        starts_at: Millis(0),
        ..block("09:00", "10:00")
    };
    let cases = [
        (task("  "), ("invalid_record", Some("title"))),
        (task(&"x".repeat(201)), ("invalid_record", Some("title"))),
        (task("a\nb"), ("invalid_record", Some("title"))),
        (
            note("x".repeat(NOTE_BYTES_MAX + 1)),
            ("invalid_record", Some("text")),
        ),
        (note("a\0b".into()), ("invalid_record", Some("text"))),
        (
            list(vec!["x".into(), String::new()]),
            ("invalid_record", Some("items")),
        ),
        (list(vec!["x".into(); ITEMS_MAX + 1]), ("too_many", Some("items"))),
        (time(5, 4), ("ends_before_start", Some("ended_at"))),
        (
            plan(vec![block("10:00", "10:00")], vec![]),
            ("ends_before_start", Some("ends_at")),
        ),
        (plan(vec![far], vec![]), ("block_outside_day", Some("starts_at"))),
        (scale("Energy", 1, 5), ("bad_rating", Some("scale"))),
        (scale("energy", 0, 5), ("bad_rating", Some("value"))),
        (scale("energy", 6, 5), ("bad_rating", Some("value"))),
        (
            scale("energy", 1, SCALE_MOST_MAX + 1),
            ("bad_rating", Some("most")),
        ),
        (scale("energy", 1, 1), ("bad_rating", Some("most"))),
    ];
    for (mutation, told) in cases {
        assert_eq!(refused(&mut world, &mutation), told, "{mutation:?}");
    }
    world
        .write("long", &note("x".repeat(NOTE_BYTES_MAX)), 1)
        .expect("as long as may be");
}

#[test]
fn an_update_keeps_absent_fields_and_a_missing_task_is_rejected() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "a", &task("t"));
    let written = world.write("b", &status(&id, TaskStatus::Done), 9).unwrap();
    let Record::Task(after) = &written[0].after else {
        panic!("no task")
    };
    assert_eq!(
        (after.title.as_str(), after.status, after.version),
        ("t", TaskStatus::Done, 2)
    );
    assert_eq!((after.created_at, after.updated_at), (Millis(1), Millis(9)));
    let nobody = RecordId::derived(RecordKind::Task, &operation("nobody"));
    assert_eq!(
        refused(&mut world, &status(&nobody, TaskStatus::Done)),
        ("task_unknown", Some("task_id"))
    );
    let nothing = Mutation::UpdateTask {
        task: id,
        title: None,
        details: None,
        status: None,
        category: None,
    };
    assert_eq!(refused(&mut world, &nothing), ("invalid_record", None));
}

#[test]
fn a_tombstone_is_not_writable_until_it_is_restored() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "a", &task("t"));
    world.write("gone", &remove(&id), 5).unwrap();
    let note = Mutation::CreateNote {
        text: "n".into(),
        task: Some(id.clone()),
    };
    let list = Mutation::CreateChecklist {
        task: id.clone(),
        title: "l".into(),
        items: vec![],
    };
    for mutation in [
        status(&id, TaskStatus::Done),
        note,
        list,
        remove(&id),
        rate(RatingTarget::Record(id.clone()), 3),
    ] {
        assert_eq!(
            refused(&mut world, &mutation),
            ("record_removed", Some("record_id")),
            "{mutation:?}"
        );
    }
    let restore = Mutation::Restore { record: id.clone() };
    let back = world.write("back", &restore, 6).unwrap();
    assert_eq!(
        (back[0].change(), back[0].after.version()),
        (RecordChange::Restored, 3)
    );
    assert_eq!(
        refused(&mut world, &restore),
        ("record_not_deleted", Some("record_id"))
    );
    world
        .write("done", &status(&id, TaskStatus::Done), 7)
        .expect("it can be written to");
}

#[test]
fn a_used_category_is_deleted_only_with_a_new_one() {
    let mut world = MemoryJournal::default();
    let category = |name: &str| Mutation::CreateCategory { name: name.into() };
    let gym = id_of(&mut world, "gym", &category("gym"));
    let home = id_of(&mut world, "home", &category("home"));
    assert_eq!(
        refused(&mut world, &category("gym")),
        ("category_exists", Some("name"))
    );
    let in_gym = Mutation::CreateTask {
        title: "t".into(),
        details: String::new(),
        category: Some(gym.clone()),
    };
    let task = id_of(&mut world, "t", &in_gym);
    let for_gym = DayPlanBlockWrite {
        category: Some(gym.clone()),
        ..block("09:00", "10:00")
    };
    world.write("plan", &plan(vec![for_gym], vec![]), 2).unwrap();
    assert_eq!(
        refused(&mut world, &remove(&gym)),
        ("category_in_use", Some("move_to"))
    );
    let to = |heir: &RecordId| Mutation::Remove {
        record: gym.clone(),
        move_to: Some(heir.clone()),
    };
    assert_eq!(refused(&mut world, &to(&gym)).0, "record_removed");
    let written = world.write("gone", &to(&home), 3).unwrap();
    assert_eq!(written.len(), 3, "the category, its task and its block of a day");
    assert!(matches!(&world.records[&task], Record::Task(task) if task.category.as_ref() == Some(&home)));
    // The name is free again, so the deleted category cannot be restored.
    let again = id_of(&mut world, "again", &category("gym"));
    let restore = Mutation::Restore { record: gym.clone() };
    assert_eq!(refused(&mut world, &restore), ("category_exists", Some("name")));
    assert_eq!(
        world.undo("gone", 4).expect_err("taken").code(),
        "category_exists"
    );
    world
        .write(
            "renamed",
            &Mutation::RenameCategory {
                category: again,
                name: "gym 2".into(),
            },
            5,
        )
        .unwrap();
    world
        .undo("gone", 6)
        .expect("it comes back with all that was in it");
    assert!(matches!(&world.records[&task], Record::Task(task) if task.category.as_ref() == Some(&gym)));
}

#[test]
fn items_are_added_checked_and_reordered() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "t", &task("t"));
    let list = Mutation::CreateChecklist {
        task: id,
        title: "pack".into(),
        items: vec!["shoes".into(), "towel".into()],
    };
    let made = world.write("l", &list, 1).unwrap();
    let ids: Vec<RecordId> = made.iter().map(|one| one.after.id().clone()).collect();
    let [list, shoes, towel] = <[RecordId; 3]>::try_from(ids).expect("a list and two items");
    let more = Mutation::AddItems {
        checklist: list.clone(),
        items: vec!["water".into()],
    };
    let water = id_of(&mut world, "more", &more);
    assert!(
        matches!(&world.records[&water], Record::ChecklistItem(item) if item.position == 3 && !item.checked)
    );
    let tick = Mutation::UpdateItem {
        item: shoes.clone(),
        text: None,
        checked: Some(true),
    };
    world.write("tick", &tick, 2).unwrap();
    assert!(
        matches!(&world.records[&shoes], Record::ChecklistItem(item) if item.checked && item.text == "shoes")
    );
    let order = |items: &[&RecordId]| Mutation::OrderItems {
        checklist: list.clone(),
        items: items.iter().map(|id| (*id).clone()).collect(),
    };
    for bad in [
        vec![&shoes, &towel],
        vec![&shoes, &shoes, &towel],
        vec![&shoes, &towel, &list],
    ] {
        assert_eq!(refused(&mut world, &order(&bad)), ("bad_order", Some("items")));
    }
    assert_eq!(
        refused(&mut world, &order(&[&shoes, &towel, &water])).0,
        "invalid_record"
    );
    let moved = world
        .write("order", &order(&[&water, &towel, &shoes]), 3)
        .unwrap();
    assert_eq!(moved.len(), 2, "one item has its place already");
    let many = Mutation::AddItems {
        checklist: list,
        items: vec!["x".into(); ITEMS_MAX - 2],
    };
    assert_eq!(refused(&mut world, &many), ("too_many", Some("items")));
}

#[test]
fn one_timer_runs_per_task_and_is_stopped_once() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "t", &task("t"));
    let start = Mutation::StartTime {
        task: id,
        description: String::new(),
    };
    let entry = id_of(&mut world, "start", &start);
    assert_eq!(
        refused(&mut world, &start),
        ("time_entry_running", Some("task_id"))
    );
    let stop = Mutation::StopTime { entry: entry.clone() };
    world.write("stop", &stop, -9).expect("the clock was set back");
    assert!(
        matches!(&world.records[&entry], Record::TimeEntry(entry) if entry.ended_at == Some(entry.started_at))
    );
    assert_eq!(
        refused(&mut world, &stop),
        ("time_entry_stopped", Some("time_entry_id"))
    );
    id_of(&mut world, "again", &start);
    assert_eq!(
        world.undo("stop", 9).expect_err("another runs").code(),
        "time_entry_running"
    );
    let late = Mutation::UpdateTime {
        entry,
        started_at: Some(Millis(100)),
        ended_at: Some(Millis(99)),
        description: None,
    };
    assert_eq!(
        refused(&mut world, &late),
        ("ends_before_start", Some("ended_at"))
    );
}

#[test]
fn a_day_plan_and_its_blocks_change_in_one_write() {
    let mut world = MemoryJournal::default();
    let made = world
        .write(
            "a",
            &plan(vec![block("09:00", "11:00"), block("13:00", "14:00")], vec![]),
            1,
        )
        .unwrap();
    let ids: Vec<RecordId> = made.iter().map(|one| one.after.id().clone()).collect();
    assert_eq!(ids[0], RecordId::of_day_plan(&day()));
    let longer = DayPlanBlockWrite {
        block: Some(ids[1].clone()),
        ..block("09:00", "12:00")
    };
    let written = world
        .write("b", &plan(vec![longer.clone()], vec![ids[2].clone()]), 2)
        .unwrap();
    assert_eq!(
        written.iter().map(RecordWrite::change).collect::<Vec<_>>(),
        [
            RecordChange::Updated,
            RecordChange::Updated,
            RecordChange::Removed
        ]
    );
    assert_eq!(world.present().count(), 2);
    assert_eq!(refused(&mut world, &plan(vec![], vec![])).0, "invalid_record");
    assert_eq!(
        refused(&mut world, &plan(vec![], vec![ids[2].clone()])).0,
        "record_removed"
    );
    assert_eq!(
        refused(&mut world, &plan(vec![longer], vec![ids[1].clone()])).0,
        "bad_order"
    );
    let of_another = Mutation::WriteDayPlan {
        day: CalendarDay::parse("2026-02-19").unwrap(),
        note: None,
        upserts: vec![],
        deletes: vec![ids[1].clone()],
    };
    assert_eq!(refused(&mut world, &of_another).0, "record_unknown");
    world.undo("b", 3).expect("all of it comes back");
    assert_eq!(world.present().count(), 3);
}

#[test]
fn ratings_and_links_are_unique() {
    let mut world = MemoryJournal::default();
    let (a, b) = (
        id_of(&mut world, "a", &task("a")),
        id_of(&mut world, "b", &task("b")),
    );
    let first = id_of(&mut world, "r1", &rate(RatingTarget::Record(a.clone()), 3));
    let second = id_of(&mut world, "r2", &rate(RatingTarget::Record(a.clone()), 4));
    assert_eq!(first, second);
    assert!(
        matches!(&world.records[&first], Record::Rating(rating) if rating.value == 4 && rating.life.version == 2)
    );
    assert_ne!(id_of(&mut world, "r3", &rate(RatingTarget::Day(day()), 4)), first);
    let link = |from: &RecordId, to: &RecordId| Mutation::CreateLink {
        from: from.clone(),
        to: to.clone(),
        link: LinkKind::Blocks,
    };
    let linked = id_of(&mut world, "l", &link(&a, &b));
    assert_eq!(refused(&mut world, &link(&a, &b)), ("link_exists", Some("to_id")));
    assert_eq!(
        refused(&mut world, &link(&a, &a)),
        ("link_to_self", Some("to_id"))
    );
    let nobody = RecordId::derived(RecordKind::Task, &operation("nobody"));
    assert_eq!(
        refused(&mut world, &link(&a, &nobody)),
        ("record_unknown", Some("record_id"))
    );
    assert_ne!(id_of(&mut world, "back", &link(&b, &a)), linked);
    world.write("gone", &remove(&linked), 2).unwrap();
    let again = world.write("l2", &link(&a, &b), 3).unwrap();
    assert_eq!(
        (again[0].after.id(), again[0].change()),
        (&linked, RecordChange::Restored)
    );
}

#[test]
fn undo_restores_records_and_never_discards_later_writes() {
    let mut world = MemoryJournal::default();
    let id = id_of(&mut world, "a", &task("t"));
    world.write("b", &status(&id, TaskStatus::Done), 9).unwrap();
    assert_eq!(
        world.undo("a", 10).expect_err("written since").code(),
        "record_changed"
    );
    world.undo("b", 11).unwrap();
    assert!(
        matches!(&world.records[&id], Record::Task(task) if (task.status, task.version) == (TaskStatus::Open, 3))
    );
    let other = id_of(&mut world, "c", &task("o"));
    world
        .write("n", &rate(RatingTarget::Record(other), 2), 12)
        .unwrap();
    assert_eq!(
        world.undo("c", 13).expect_err("a rating refers to it").code(),
        "record_changed"
    );
    let gone = id_of(&mut world, "d", &task("g"));
    world.undo("d", 14).unwrap();
    assert!(
        matches!(&world.records[&gone], Record::Task(task) if (task.removed_at, task.version) == (Some(Millis(14)), 2))
    );
}
