//! Tables of records that belong to tasks: checklists, their items, and time entries.

use wakeful_core::journal::{Checklist, ChecklistItem, RecordId, TimeEntry};
use wakeful_core::time::Millis;

use super::{ById, by_id, id, life};
use crate::Result;
use crate::sql::{Row, Sql, at_most_one, limit, records};

const PUT_CHECKLIST: &str = "
    INSERT INTO checklist (checklist_id, task_id, title, created_at_ms, version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (checklist_id) DO UPDATE SET task_id = excluded.task_id, title = excluded.title,
    version = excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_checklist(sql: &mut dyn Sql, checklist: &Checklist) -> Result<()> {
    let params = [
        checklist.id.as_str().into(),
        checklist.task.as_str().into(),
        checklist.title.as_str().into(),
        checklist.life.created_at.into(),
        checklist.life.version.into(),
        checklist.life.removed_at.into(),
    ];
    sql.execute(PUT_CHECKLIST, &params).map(drop)
}

pub(super) const CHECKLIST: ById = by_id!(
    "checklist",
    "checklist_id",
    "checklist_id, task_id, title, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_checklist(mut row: Row) -> Result<Checklist> {
    Ok(Checklist {
        id: id(&row.text("checklist.checklist_id")?, "checklist.checklist_id")?,
        task: id(&row.text("checklist.task_id")?, "checklist.task_id")?,
        title: row.text("checklist.title")?,
        life: life(&mut row)?,
    })
}

const CHECKLISTS: &str = "
    SELECT checklist_id, task_id, title, created_at_ms, version, removed_at_ms
    FROM checklist WHERE removed_at_ms IS NULL ORDER BY created_at_ms DESC, checklist_id DESC LIMIT ?1";

const CHECKLISTS_OF_TASK: &str = "
    SELECT checklist_id, task_id, title, created_at_ms, version, removed_at_ms
    FROM checklist WHERE removed_at_ms IS NULL AND task_id = ?2 ORDER BY created_at_ms DESC, checklist_id DESC LIMIT ?1";

/// Returns checklists, newest first.
pub(super) fn checklists(sql: &mut dyn Sql, task: Option<&RecordId>, at_most: u32) -> Result<Vec<Checklist>> {
    let rows = match task {
        Some(task) => sql.query(CHECKLISTS_OF_TASK, &[limit(at_most), task.as_str().into()])?,
        None => sql.query(CHECKLISTS, &[limit(at_most)])?,
    };
    records(rows, read_checklist)
}

const PUT_ITEM: &str = "
    INSERT INTO checklist_item (item_id, checklist_id, body, checked, position, created_at_ms, version,
    removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (item_id) DO UPDATE SET checklist_id = excluded.checklist_id, body = excluded.body,
    checked = excluded.checked, position = excluded.position, version = excluded.version, removed_at_ms
    = excluded.removed_at_ms";

pub(super) fn put_item(sql: &mut dyn Sql, item: &ChecklistItem) -> Result<()> {
    let params = [
        item.id.as_str().into(),
        item.checklist.as_str().into(),
        item.text.as_str().into(),
        u32::from(item.checked).into(),
        item.position.into(),
        item.life.created_at.into(),
        item.life.version.into(),
        item.life.removed_at.into(),
    ];
    sql.execute(PUT_ITEM, &params).map(drop)
}

pub(super) const ITEM: ById = by_id!(
    "checklist_item",
    "item_id",
    "item_id, checklist_id, body, checked, position, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_item(mut row: Row) -> Result<ChecklistItem> {
    Ok(ChecklistItem {
        id: id(&row.text("checklist_item.item_id")?, "checklist_item.item_id")?,
        checklist: id(
            &row.text("checklist_item.checklist_id")?,
            "checklist_item.checklist_id",
        )?,
        text: row.text("checklist_item.body")?,
        checked: row.int("checklist_item.checked")? == 1,
        position: row.small_count("checklist_item.position")?,
        life: life(&mut row)?,
    })
}

const ITEMS: &str = "
    SELECT item_id, checklist_id, body, checked, position, created_at_ms, version, removed_at_ms
    FROM checklist_item WHERE removed_at_ms IS NULL AND checklist_id = ?2 ORDER BY position, item_id LIMIT ?1";

/// Returns the items of a checklist, in order.
pub(super) fn items(sql: &mut dyn Sql, checklist: &RecordId, at_most: u32) -> Result<Vec<ChecklistItem>> {
    records(
        sql.query(ITEMS, &[limit(at_most), checklist.as_str().into()])?,
        read_item,
    )
}

const PUT_TIME_ENTRY: &str = "
    INSERT INTO time_entry (entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms,
    version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (entry_id) DO UPDATE SET task_id = excluded.task_id, started_at_ms =
    excluded.started_at_ms, ended_at_ms = excluded.ended_at_ms, description = excluded.description,
    version = excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_time_entry(sql: &mut dyn Sql, entry: &TimeEntry) -> Result<()> {
    let params = [
        entry.id.as_str().into(),
        entry.task.as_str().into(),
        entry.started_at.into(),
        entry.ended_at.into(),
        entry.description.as_str().into(),
        entry.life.created_at.into(),
        entry.life.version.into(),
        entry.life.removed_at.into(),
    ];
    sql.execute(PUT_TIME_ENTRY, &params).map(drop)
}

pub(super) const TIME_ENTRY: ById = by_id!(
    "time_entry",
    "entry_id",
    "entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_time_entry(mut row: Row) -> Result<TimeEntry> {
    Ok(TimeEntry {
        id: id(&row.text("time_entry.entry_id")?, "time_entry.entry_id")?,
        task: id(&row.text("time_entry.task_id")?, "time_entry.task_id")?,
        started_at: row.millis("time_entry.started_at_ms")?,
        ended_at: row.optional_int("time_entry.ended_at_ms")?.map(Millis),
        description: row.text("time_entry.description")?,
        life: life(&mut row)?,
    })
}

const TIMES: &str = "
    SELECT entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms, version, removed_at_ms
    FROM time_entry WHERE removed_at_ms IS NULL ORDER BY started_at_ms DESC, entry_id DESC LIMIT ?1";

const TIMES_OF_TASK: &str = "
    SELECT entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms, version, removed_at_ms
    FROM time_entry WHERE removed_at_ms IS NULL AND task_id = ?2 ORDER BY started_at_ms DESC, entry_id DESC LIMIT ?1";

const RUNNING: &str = "
    SELECT entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms, version, removed_at_ms
    FROM time_entry WHERE removed_at_ms IS NULL AND ended_at_ms IS NULL ORDER BY started_at_ms DESC, entry_id DESC LIMIT ?1";

const RUNNING_OF_TASK: &str = "
    SELECT entry_id, task_id, started_at_ms, ended_at_ms, description, created_at_ms, version, removed_at_ms
    FROM time_entry WHERE removed_at_ms IS NULL AND ended_at_ms IS NULL AND task_id = ?2 ORDER BY started_at_ms DESC, entry_id DESC LIMIT ?1";

/// Returns time entries, most recently started first.
pub(super) fn time_entries(
    sql: &mut dyn Sql,
    task: Option<&RecordId>,
    running: bool,
    at_most: u32,
) -> Result<Vec<TimeEntry>> {
    let at_most = limit(at_most);
    let rows = match (task, running) {
        (None, false) => sql.query(TIMES, &[at_most])?,
        (None, true) => sql.query(RUNNING, &[at_most])?,
        (Some(task), false) => sql.query(TIMES_OF_TASK, &[at_most, task.as_str().into()])?,
        (Some(task), true) => sql.query(RUNNING_OF_TASK, &[at_most, task.as_str().into()])?,
    };
    records(rows, read_time_entry)
}

/// Returns the running time entry of a task.
pub(super) fn running(sql: &mut dyn Sql, task: &RecordId) -> Result<Option<TimeEntry>> {
    let row = at_most_one(sql.query(RUNNING_OF_TASK, &[limit(1), task.as_str().into()])?);
    row.map(read_time_entry).transpose()
}
