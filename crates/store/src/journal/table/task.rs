//! Tables of categories, tasks and notes.

use wakeful_core::journal::{Category, Note, RecordId, Task, TaskStatus};
use wakeful_core::time::Millis;
use wakeful_ports::journal::TaskFilter;

use super::{ById, by_id, id, optional_id};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result};

const PUT_CATEGORY: &str = "
    INSERT INTO category (category_id, name, created_at_ms, version, removed_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (category_id) DO UPDATE SET
        name = excluded.name, version = excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_category(sql: &mut dyn Sql, category: &Category) -> Result<()> {
    let params = [
        category.id.as_str().into(),
        category.name.as_str().into(),
        category.created_at.into(),
        category.version.into(),
        category.removed_at.into(),
    ];
    sql.execute(PUT_CATEGORY, &params).map(drop)
}

pub(super) const CATEGORY: ById = by_id!(
    "category",
    "category_id",
    "category_id, name, created_at_ms, version, removed_at_ms"
);

const CATEGORY_NAMED: &str = "
    SELECT category_id, name, created_at_ms, version, removed_at_ms FROM category
    WHERE name = ?1 AND removed_at_ms IS NULL";

pub(in crate::journal) fn category_named(sql: &mut dyn Sql, name: &str) -> Result<Option<Category>> {
    let row = at_most_one(sql.query(CATEGORY_NAMED, &[name.into()])?);
    row.map(read_category).transpose()
}

const CATEGORIES: &str = "
    SELECT category_id, name, created_at_ms, version, removed_at_ms FROM category
    WHERE removed_at_ms IS NULL ORDER BY name LIMIT ?1";

/// Returns categories by name.
pub(in crate::journal) fn categories(sql: &mut dyn Sql) -> Result<Vec<Category>> {
    records(sql.query(CATEGORIES, &[limit(ROWS_MAX)])?, read_category)
}

pub(super) fn read_category(mut row: Row) -> Result<Category> {
    Ok(Category {
        id: id(&row.text("category.category_id")?, "category.category_id")?,
        name: row.text("category.name")?,
        created_at: row.millis("category.created_at_ms")?,
        version: row.count("category.version")?,
        removed_at: row.optional_int("category.removed_at_ms")?.map(Millis),
    })
}

const PUT_TASK: &str = "
    INSERT INTO task (task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version,
        removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (task_id) DO UPDATE SET
        category_id = excluded.category_id, title = excluded.title, details = excluded.details,
        status = excluded.status, updated_at_ms = excluded.updated_at_ms, version = excluded.version,
        removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_task(sql: &mut dyn Sql, task: &Task) -> Result<()> {
    let params = [
        task.id.as_str().into(),
        task.category.as_ref().map(RecordId::as_str).into(),
        task.title.as_str().into(),
        task.details.as_str().into(),
        task.status.as_str().into(),
        task.created_at.into(),
        task.updated_at.into(),
        task.version.into(),
        task.removed_at.into(),
    ];
    sql.execute(PUT_TASK, &params).map(drop)
}

pub(super) const TASK: ById = by_id!(
    "task",
    "task_id",
    "task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version, removed_at_ms"
);

const TASKS: &str = "
    SELECT task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version, removed_at_ms
    FROM task WHERE removed_at_ms IS NULL ORDER BY created_at_ms DESC, task_id DESC LIMIT ?1";

const TASKS_IN_CATEGORY: &str = "
    SELECT task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version, removed_at_ms
    FROM task WHERE removed_at_ms IS NULL AND category_id = ?2 ORDER BY task_id LIMIT ?1";

/// Returns the tasks in a category.
pub(super) fn tasks_in(sql: &mut dyn Sql, category: &RecordId, at_most: u32) -> Result<Vec<Task>> {
    let params = [limit(at_most), category.as_str().into()];
    records(sql.query(TASKS_IN_CATEGORY, &params)?, read_task)
}

const TASKS_BY_STATUS: &str = "
    SELECT task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version, removed_at_ms
    FROM task WHERE removed_at_ms IS NULL AND status = ?2 ORDER BY created_at_ms DESC, task_id DESC LIMIT ?1";

/// `g` sorts after every hex digit.
const TASKS_BY_PREFIX: &str = "
    SELECT task_id, category_id, title, details, status, created_at_ms, updated_at_ms, version, removed_at_ms
    FROM task WHERE removed_at_ms IS NULL AND task_id >= ?2 AND task_id < ?2 || 'g' ORDER BY task_id LIMIT ?1";

/// Returns tasks, newest first.
pub(in crate::journal) fn tasks(sql: &mut dyn Sql, filter: &TaskFilter) -> Result<Vec<Task>> {
    let at_most = limit(filter.limit);
    let rows = match (&filter.id_prefix, filter.status) {
        (Some(prefix), _) => sql.query(TASKS_BY_PREFIX, &[at_most, prefix.as_str().into()])?,
        (None, Some(status)) => sql.query(TASKS_BY_STATUS, &[at_most, status.as_str().into()])?,
        (None, None) => sql.query(TASKS, &[at_most])?,
    };
    records(rows, read_task)
}

pub(super) fn read_task(mut row: Row) -> Result<Task> {
    Ok(Task {
        id: id(&row.text("task.task_id")?, "task.task_id")?,
        category: optional_id(row.optional_text("task.category_id")?, "task.category_id")?,
        title: row.text("task.title")?,
        details: row.text("task.details")?,
        status: row.word("task.status", TaskStatus::parse)?,
        created_at: row.millis("task.created_at_ms")?,
        updated_at: row.millis("task.updated_at_ms")?,
        version: row.count("task.version")?,
        removed_at: row.optional_int("task.removed_at_ms")?.map(Millis),
    })
}

const PUT_NOTE: &str = "
    INSERT INTO note (note_id, task_id, body, created_at_ms, version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (note_id) DO UPDATE SET
        task_id = excluded.task_id, body = excluded.body, version = excluded.version,
        removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_note(sql: &mut dyn Sql, note: &Note) -> Result<()> {
    let params = [
        note.id.as_str().into(),
        note.task.as_ref().map(RecordId::as_str).into(),
        note.text.as_str().into(),
        note.created_at.into(),
        note.version.into(),
        note.removed_at.into(),
    ];
    sql.execute(PUT_NOTE, &params).map(drop)
}

pub(super) const NOTE: ById = by_id!(
    "note",
    "note_id",
    "note_id, task_id, body, created_at_ms, version, removed_at_ms"
);

const NOTES: &str = "
    SELECT note_id, task_id, body, created_at_ms, version, removed_at_ms FROM note
    WHERE removed_at_ms IS NULL ORDER BY created_at_ms DESC, note_id DESC LIMIT ?1";

const NOTES_OF_TASK: &str = "
    SELECT note_id, task_id, body, created_at_ms, version, removed_at_ms FROM note
    WHERE removed_at_ms IS NULL AND task_id = ?2 ORDER BY created_at_ms DESC, note_id DESC LIMIT ?1";

/// Returns notes, newest first.
pub(in crate::journal) fn notes(
    sql: &mut dyn Sql,
    task: Option<&RecordId>,
    at_most: u32,
) -> Result<Vec<Note>> {
    let at_most = limit(at_most);
    let rows = match task {
        Some(task) => sql.query(NOTES_OF_TASK, &[at_most, task.as_str().into()])?,
        None => sql.query(NOTES, &[at_most])?,
    };
    records(rows, read_note)
}

pub(super) fn read_note(mut row: Row) -> Result<Note> {
    Ok(Note {
        id: id(&row.text("note.note_id")?, "note.note_id")?,
        task: optional_id(row.optional_text("note.task_id")?, "note.task_id")?,
        text: row.text("note.body")?,
        created_at: row.millis("note.created_at_ms")?,
        version: row.count("note.version")?,
        removed_at: row.optional_int("note.removed_at_ms")?.map(Millis),
    })
}
