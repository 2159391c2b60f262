//! The record tables, one per kind.

mod checklist;
mod plan;
mod task;

use std::collections::BTreeMap;

use wakeful_core::journal::rule::UniqueConstraint;
use wakeful_core::journal::tokens::{OWNERS_HOPS_MAX, RelatedRecordMap};
use wakeful_core::journal::{ITEMS_MAX, MOVED_MAX, Record, RecordId, RecordKind, RecordMeta, RelatedRecords};
use wakeful_core::time::Millis;
use wakeful_ports::journal::RecordQuery;

pub(super) use self::task::{categories, notes, tasks};
use crate::sql::{Dialect, Row, Sql, limit, records};
use crate::{Result, StoreError};

/// Records read by id per query.
const NAMED_MAX: usize = 500;

/// Members read by a rule: one more than any bound, so that the rule can check the bound.
const MEMBERS_MAX: usize = if MOVED_MAX > ITEMS_MAX {
    MOVED_MAX
} else {
    ITEMS_MAX
};

/// The statements, one per database, that read records of a table by a list of ids.
pub(super) struct ById {
    sqlite: &'static str,
    postgres: &'static str,
}

/// See [`ById`].
macro_rules! by_id {
    ($table:literal, $id:literal, $columns:literal) => {
        ById {
            sqlite: concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $table,
                " WHERE ",
                $id,
                " IN (SELECT value FROM json_each(?1))"
            ),
            postgres: concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $table,
                " WHERE ",
                $id,
                " = ANY (string_to_array(?1, ','))"
            ),
        }
    };
}
use by_id;

/// A statement that selects kind and id of the matching records from every table.
macro_rules! everywhere {
    ($fits:literal) => {
        concat!(
            "SELECT CAST('category' AS TEXT), category_id FROM category WHERE category_id",
            $fits,
            " UNION ALL SELECT CAST('task' AS TEXT), task_id FROM task WHERE task_id",
            $fits,
            " UNION ALL SELECT CAST('note' AS TEXT), note_id FROM note WHERE note_id",
            $fits,
            " UNION ALL SELECT CAST('checklist' AS TEXT), checklist_id FROM checklist WHERE checklist_id",
            $fits,
            " UNION ALL SELECT CAST('checklist_item' AS TEXT), item_id FROM checklist_item WHERE item_id",
            $fits,
            " UNION ALL SELECT CAST('time_entry' AS TEXT), entry_id FROM time_entry WHERE entry_id",
            $fits,
            " UNION ALL SELECT CAST('day_plan' AS TEXT), plan_id FROM day_plan WHERE plan_id",
            $fits,
            " UNION ALL SELECT CAST('day_plan_block' AS TEXT), block_id FROM day_plan_block WHERE block_id",
            $fits,
            " UNION ALL SELECT CAST('rating' AS TEXT), rating_id FROM rating WHERE rating_id",
            $fits,
            " UNION ALL SELECT CAST('link' AS TEXT), link_id FROM link WHERE link_id",
            $fits,
        )
    };
}

/// Stores the new version of a record.
pub(super) fn put(sql: &mut dyn Sql, record: &Record) -> Result<()> {
    match record {
        Record::Category(category) => task::put_category(sql, category),
        Record::Task(task) => task::put_task(sql, task),
        Record::Note(note) => task::put_note(sql, note),
        Record::Checklist(checklist) => checklist::put_checklist(sql, checklist),
        Record::ChecklistItem(item) => checklist::put_item(sql, item),
        Record::TimeEntry(entry) => checklist::put_time_entry(sql, entry),
        Record::DayPlan(plan) => plan::put_plan(sql, plan),
        Record::DayPlanBlock(block) => plan::put_block(sql, block),
        Record::Rating(rating) => plan::put_rating(sql, rating),
        Record::Link(link) => plan::put_link(sql, link),
    }
}

/// Returns records of one kind by id, including tombstones.
fn of_kind(sql: &mut dyn Sql, kind: RecordKind, ids: &[RecordId]) -> Result<Vec<Record>> {
    let ById { sqlite, postgres } = match kind {
        RecordKind::Category => task::CATEGORY,
        RecordKind::Task => task::TASK,
        RecordKind::Note => task::NOTE,
        RecordKind::Checklist => checklist::CHECKLIST,
        RecordKind::ChecklistItem => checklist::ITEM,
        RecordKind::TimeEntry => checklist::TIME_ENTRY,
        RecordKind::DayPlan => plan::PLAN,
        RecordKind::DayPlanBlock => plan::BLOCK,
        RecordKind::Rating => plan::RATING,
        RecordKind::Link => plan::LINK,
    };
    let (statement, list) = (sql.dialect().pick(sqlite, postgres), listed(sql.dialect(), ids));
    let rows = sql.query(statement, &[list.as_str().into()])?;
    records(rows, |row| {
        Ok(match kind {
            RecordKind::Category => Record::Category(task::read_category(row)?),
            RecordKind::Task => Record::Task(task::read_task(row)?),
            RecordKind::Note => Record::Note(task::read_note(row)?),
            RecordKind::Checklist => Record::Checklist(checklist::read_checklist(row)?),
            RecordKind::ChecklistItem => Record::ChecklistItem(checklist::read_item(row)?),
            RecordKind::TimeEntry => Record::TimeEntry(checklist::read_time_entry(row)?),
            RecordKind::DayPlan => Record::DayPlan(plan::read_plan(row)?),
            RecordKind::DayPlanBlock => Record::DayPlanBlock(plan::read_block(row)?),
            RecordKind::Rating => Record::Rating(plan::read_rating(row)?),
            RecordKind::Link => Record::Link(plan::read_link(row)?),
        })
    })
}

/// Returns one record of a known kind, or its tombstone.
pub(super) fn record(sql: &mut dyn Sql, kind: RecordKind, id: &RecordId) -> Result<Option<Record>> {
    Ok(of_kind(sql, kind, std::slice::from_ref(id))?.pop())
}

/// Encodes a list of ids as one parameter. Ids are hex digits, so nothing has to be escaped.
pub(super) fn listed(dialect: Dialect, ids: &[RecordId]) -> String {
    let ids: Vec<&str> = ids.iter().map(RecordId::as_str).collect();
    match dialect {
        Dialect::Postgres => ids.join(","),
        Dialect::Sqlite if ids.is_empty() => "[]".to_owned(),
        Dialect::Sqlite => format!("[\"{}\"]", ids.join("\",\"")),
    }
}

const KINDS_SQLITE: &str = everywhere!(" IN (SELECT value FROM json_each(?1))");
const KINDS_POSTGRES: &str = everywhere!(" = ANY (string_to_array(?1, ','))");

/// Returns records of any kind by id, including tombstones. Unknown ids are left out.
pub(super) fn named(sql: &mut dyn Sql, ids: &[RecordId]) -> Result<BTreeMap<RecordId, Record>> {
    let mut found = BTreeMap::new();
    for some in ids.chunks(NAMED_MAX) {
        let statement = sql.dialect().pick(KINDS_SQLITE, KINDS_POSTGRES);
        let list = listed(sql.dialect(), some);
        let kinds = records(sql.query(statement, &[list.as_str().into()])?, read_kind)?;
        found.extend(of_kinds(sql, kinds)?);
    }
    Ok(found)
}

fn of_kinds(sql: &mut dyn Sql, kinds: Vec<(RecordKind, RecordId)>) -> Result<Vec<(RecordId, Record)>> {
    let mut by_kind: BTreeMap<RecordKind, Vec<RecordId>> = BTreeMap::new();
    for (kind, id) in kinds {
        by_kind.entry(kind).or_default().push(id);
    }
    let mut found = Vec::new();
    for (kind, ids) in by_kind {
        let some = of_kind(sql, kind, &ids)?;
        found.extend(some.into_iter().map(|record| (record.id().clone(), record)));
    }
    Ok(found)
}

fn read_kind(mut row: Row) -> Result<(RecordKind, RecordId)> {
    let kind = row.word("record.kind", RecordKind::parse)?;
    Ok((kind, id(&row.text("record.id")?, "record.id")?))
}

/// `g` sorts after every hex digit.
const BY_PREFIX: &str = concat!(everywhere!(" BETWEEN ?2 AND ?2 || 'g'"), " LIMIT ?1");

/// Returns records of any kind whose id starts with a prefix, including tombstones.
pub(super) fn begun(sql: &mut dyn Sql, prefix: &str, at_most: u32) -> Result<Vec<Record>> {
    let rows = sql.query(BY_PREFIX, &[limit(at_most), prefix.into()])?;
    let kinds = records(rows, read_kind)?;
    Ok(of_kinds(sql, kinds)?
        .into_iter()
        .map(|(_, record)| record)
        .collect())
}

/// Adds to `known` every record that these records belong to or refer to.
pub(super) fn around(
    sql: &mut dyn Sql,
    of: &[&Record],
    mut known: RelatedRecordMap,
) -> Result<RelatedRecordMap> {
    let mut reached: Vec<RecordId> = owners(of.iter().copied());
    for _ in 0..OWNERS_HOPS_MAX {
        let fresh: Vec<RecordId> = reached
            .iter()
            .filter(|id| !known.contains_key(*id))
            .cloned()
            .collect();
        if !fresh.is_empty() {
            known.extend(named(sql, &fresh)?);
        }
        reached = owners(reached.iter().filter_map(|id| known.get(id)));
    }
    Ok(known)
}

fn owners<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<RecordId> {
    let ids: std::collections::BTreeSet<RecordId> = records.flat_map(Record::owners).cloned().collect();
    ids.into_iter().collect()
}

/// Returns the members that a rule needs.
pub(super) fn members(sql: &mut dyn Sql, members: &RelatedRecords) -> Result<Vec<Record>> {
    let most = u32::try_from(MEMBERS_MAX.saturating_add(1)).unwrap_or(u32::MAX);
    match members {
        RelatedRecords::Items(checklist) => Ok(wrapped(
            checklist::items(sql, checklist, most)?,
            Record::ChecklistItem,
        )),
        RelatedRecords::Blocks(plan) => Ok(wrapped(plan::blocks(sql, plan, most)?, Record::DayPlanBlock)),
        RelatedRecords::InCategory(category) => {
            let mut found = wrapped(task::tasks_in(sql, category, most)?, Record::Task);
            found.extend(wrapped(
                plan::blocks_in(sql, category, most)?,
                Record::DayPlanBlock,
            ));
            Ok(found)
        }
    }
}

/// Returns the record that may violate a unique constraint.
pub(super) fn rival(sql: &mut dyn Sql, rival: &UniqueConstraint<'_>) -> Result<Option<Record>> {
    Ok(match rival {
        UniqueConstraint::Named(name) => task::category_named(sql, name)?.map(Record::Category),
        UniqueConstraint::Running(task) => checklist::running(sql, task)?.map(Record::TimeEntry),
    })
}

/// Every existing record, of any kind, that refers to a record.
const DEPENDENTS: &str = "
    SELECT task_id FROM task WHERE category_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT note_id FROM note WHERE task_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT checklist_id FROM checklist WHERE task_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT item_id FROM checklist_item WHERE checklist_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT entry_id FROM time_entry WHERE task_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT block_id FROM day_plan_block WHERE plan_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT block_id FROM day_plan_block WHERE task_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT block_id FROM day_plan_block WHERE category_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT rating_id FROM rating WHERE target_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT link_id FROM link WHERE from_id = ?1 AND removed_at_ms IS NULL
    UNION SELECT link_id FROM link WHERE to_id = ?1 AND removed_at_ms IS NULL
    LIMIT ?2";

/// Returns existing records that belong to a record or refer to it, at most `at_most`.
pub(super) fn dependents(sql: &mut dyn Sql, of: &RecordId, at_most: usize) -> Result<Vec<RecordId>> {
    let at_most = u32::try_from(at_most).unwrap_or(u32::MAX);
    let rows = sql.query(DEPENDENTS, &[of.as_str().into(), limit(at_most)])?;
    records(rows, |mut row| id(&row.text("record.id")?, "record.id"))
}

/// Returns records of the kinds without a list method of their own.
pub(super) fn list(sql: &mut dyn Sql, listing: &RecordQuery, at_most: u32) -> Result<Vec<Record>> {
    Ok(match listing {
        RecordQuery::Checklists { task } => wrapped(
            checklist::checklists(sql, task.as_ref(), at_most)?,
            Record::Checklist,
        ),
        RecordQuery::Items { checklist } => {
            wrapped(checklist::items(sql, checklist, at_most)?, Record::ChecklistItem)
        }
        RecordQuery::TimeEntries { task, running } => wrapped(
            checklist::time_entries(sql, task.as_ref(), *running, at_most)?,
            Record::TimeEntry,
        ),
        RecordQuery::DayPlans { day } => wrapped(plan::plans(sql, day.as_ref(), at_most)?, Record::DayPlan),
        RecordQuery::Blocks { plan } => wrapped(plan::blocks(sql, plan, at_most)?, Record::DayPlanBlock),
        RecordQuery::Ratings { target } => {
            wrapped(plan::ratings(sql, target.as_ref(), at_most)?, Record::Rating)
        }
        RecordQuery::Links { of } => wrapped(plan::links(sql, of.as_ref(), at_most)?, Record::Link),
    })
}

fn wrapped<T>(found: Vec<T>, wrap: impl Fn(T) -> Record) -> Vec<Record> {
    found.into_iter().map(wrap).collect()
}

fn id(text: &str, place: &'static str) -> Result<RecordId> {
    RecordId::parse(place, text).map_err(|_| StoreError::Malformed(place))
}

fn optional_id(text: Option<String>, place: &'static str) -> Result<Option<RecordId>> {
    text.map(|text| id(&text, place)).transpose()
}

/// Reads the last three columns of the newer tables.
fn life(row: &mut Row) -> Result<RecordMeta> {
    Ok(RecordMeta {
        created_at: row.millis("record.created_at_ms")?,
        version: row.count("record.version")?,
        removed_at: row.optional_int("record.removed_at_ms")?.map(Millis),
    })
}
