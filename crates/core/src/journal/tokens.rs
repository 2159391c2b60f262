//! What subscribers receive of a record: tokens, which subscriptions match, and fields, which predicates
//! use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::rule::RecordChange;
use super::{Category, Rating, RatingTarget, Record, RecordId, RecordKind, Task, TimeEntry};
use crate::change::Token;

/// Number of ownership levels that are followed: from an item over its checklist and its task to the
/// category.
pub const OWNERS_HOPS_MAX: usize = 3;

/// The namespaces of [`tokens`].
pub const NAMESPACES: [&str; 22] = [
    "category.change",
    "category.category",
    "task.change",
    "task.category",
    "task.status",
    "note.change",
    "note.category",
    "checklist.change",
    "checklist.category",
    "checklist.item",
    "time_entry.change",
    "time_entry.category",
    "time_entry.state",
    "day_plan.change",
    "day_plan.category",
    "day_plan.date",
    "rating.change",
    "rating.category",
    "rating.scale",
    "rating.date",
    "link.change",
    "link.kind",
];

/// The values of `time_entry.state`.
pub const TIME_ENTRY_STATES: [&str; 2] = ["running", "ended"];

/// The fields of [`entity`].
pub const FIELDS: [&str; 36] = [
    "kind",
    "id",
    "version",
    "created_at",
    "removed",
    "category",
    "category_id",
    "task_id",
    "task_title",
    "task_status",
    "name",
    "title",
    "details",
    "status",
    "updated_at",
    "text",
    "checklist_id",
    "checked",
    "position",
    "started_at",
    "running",
    "description",
    "ended_at",
    "seconds",
    "date",
    "note",
    "day_plan_id",
    "starts_at",
    "ends_at",
    "scale",
    "value",
    "most",
    "target_id",
    "link_kind",
    "from_id",
    "to_id",
];

/// The records that others belong to or refer to, as far as they were read.
pub type RelatedRecordMap = BTreeMap<RecordId, Record>;

/// The tokens of a record's write: its kind, its id and its owners' ids, and namespaced values by which a
/// subscription can narrow its match.
#[must_use]
pub fn tokens(record: &Record, change: RecordChange, around: &RelatedRecordMap) -> Vec<Token> {
    let mut tokens = vec![
        Token::SemanticKey(record.kind().semantic_key().into()),
        Token::EntityId(record.id().to_string()),
    ];
    tokens.extend(
        owners(record, around)
            .into_iter()
            .map(|id| Token::EntityId(id.to_string())),
    );
    let prefix = prefix(record.kind());
    let mut say = |name: &str, value: &str| {
        let namespace = format!("{prefix}.{name}");
        debug_assert!(
            NAMESPACES.contains(&namespace.as_str()),
            "{namespace} is not listed"
        );
        tokens.push(Token::Subtype {
            namespace,
            value: value.into(),
        });
    };
    say("change", change.as_str());
    if let Some(category) = category(record, around) {
        say("category", &category.name);
    }
    match record {
        Record::Task(task) => say("status", task.status.as_str()),
        Record::ChecklistItem(item) => say("item", if item.checked { "checked" } else { "unchecked" }),
        Record::TimeEntry(entry) => say("state", state(entry)),
        Record::DayPlan(plan) => say("date", &plan.day.to_string()),
        Record::DayPlanBlock(block) => {
            if let Some(Record::DayPlan(plan)) = around.get(&block.plan) {
                say("date", &plan.day.to_string());
            }
        }
        Record::Rating(rating) => {
            say("scale", &rating.scale);
            if let RatingTarget::Day(day) = &rating.target {
                say("date", &day.to_string());
            }
        }
        Record::Link(link) => say("kind", link.kind.as_str()),
        Record::Category(_) | Record::Note(_) | Record::Checklist(_) => {}
    }
    tokens
}

/// The namespace of a kind. A part has the namespace of its whole.
const fn prefix(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Category => "category",
        RecordKind::Task => "task",
        RecordKind::Note => "note",
        RecordKind::Checklist | RecordKind::ChecklistItem => "checklist",
        RecordKind::TimeEntry => "time_entry",
        RecordKind::DayPlan | RecordKind::DayPlanBlock => "day_plan",
        RecordKind::Rating => "rating",
        RecordKind::Link => "link",
    }
}

const fn state(entry: &TimeEntry) -> &'static str {
    let [running, ended] = TIME_ENTRY_STATES;
    match entry.ended_at {
        None => running,
        Some(_) => ended,
    }
}

/// All records that a record belongs to or refers to, nearest first, without duplicates.
#[must_use]
pub fn owners<'a>(record: &'a Record, around: &'a RelatedRecordMap) -> Vec<&'a RecordId> {
    let (mut seen, mut found) = (BTreeSet::from([record.id()]), Vec::new());
    let mut reached = vec![record];
    for _ in 0..OWNERS_HOPS_MAX {
        let next: Vec<&RecordId> = reached.iter().flat_map(|record| record.owners()).collect();
        let next: Vec<&RecordId> = next.into_iter().filter(|id| seen.insert(*id)).collect();
        reached = next.iter().filter_map(|id| around.get(*id)).collect();
        found.extend(next);
    }
    found
}

/// The task that a record is, belongs to or refers to.
fn task<'a>(record: &'a Record, around: &'a RelatedRecordMap) -> Option<&'a Task> {
    let id = match record {
        Record::Task(task) => return Some(task),
        Record::Note(note) => note.task.as_ref()?,
        Record::Checklist(checklist) => &checklist.task,
        Record::ChecklistItem(item) => {
            let Some(Record::Checklist(checklist)) = around.get(&item.checklist) else {
                return None;
            };
            &checklist.task
        }
        Record::TimeEntry(entry) => &entry.task,
        Record::DayPlanBlock(block) => block.task.as_ref()?,
        Record::Rating(Rating {
            target: RatingTarget::Record(id),
            ..
        }) => id,
        Record::Rating(_) | Record::Category(_) | Record::DayPlan(_) | Record::Link(_) => return None,
    };
    let Some(Record::Task(task)) = around.get(id) else {
        return None;
    };
    Some(task)
}

/// The category that a record is or belongs to.
fn category<'a>(record: &'a Record, around: &'a RelatedRecordMap) -> Option<&'a Category> {
    let id = match record {
        Record::Category(category) => return Some(category),
        Record::DayPlanBlock(block) if block.category.is_some() => block.category.as_ref()?,
        Record::Rating(Rating {
            target: RatingTarget::Record(id),
            ..
        }) if matches!(around.get(id), Some(Record::Category(_))) => id,
        Record::Task(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::TimeEntry(_)
        | Record::DayPlan(_)
        | Record::DayPlanBlock(_)
        | Record::Rating(_)
        | Record::Link(_) => task(record, around)?.category.as_ref()?,
    };
    let Some(Record::Category(category)) = around.get(id) else {
        return None;
    };
    Some(category)
}

/// The fields of a record for predicates, as one flat object. Missing values are omitted.
#[must_use]
pub fn entity(record: &Record, around: &RelatedRecordMap) -> Value {
    let life = record.life();
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        debug_assert!(FIELDS.contains(&name), "{name} is not listed");
        fields.insert(name.to_owned(), value);
    };
    put("kind", json!(record.kind()));
    put("id", json!(record.id()));
    put("version", json!(life.version));
    put("created_at", json!(life.created_at.rfc3339()));
    put("removed", json!(life.removed_at.is_some()));
    if let Some(category) = category(record, around) {
        put("category", json!(category.name));
        put("category_id", json!(category.id));
    }
    if let Some(task) = task(record, around) {
        put("task_id", json!(task.id));
        put("task_title", json!(task.title));
        put("task_status", json!(task.status));
    }
    own_fields(record, around, &mut put);
    Value::Object(fields)
}

fn own_fields(record: &Record, around: &RelatedRecordMap, put: &mut impl FnMut(&str, Value)) {
    match record {
        Record::Category(category) => put("name", json!(category.name)),
        Record::Task(task) => {
            put("title", json!(task.title));
            put("details", json!(task.details));
            put("status", json!(task.status));
            put("updated_at", json!(task.updated_at.rfc3339()));
        }
        Record::Note(note) => put("text", json!(note.text)),
        Record::Checklist(checklist) => put("title", json!(checklist.title)),
        Record::ChecklistItem(item) => {
            put("checklist_id", json!(item.checklist));
            put("text", json!(item.text));
            put("checked", json!(item.checked));
            put("position", json!(item.position));
        }
        Record::TimeEntry(entry) => {
            put("started_at", json!(entry.started_at.rfc3339()));
            put("running", json!(entry.ended_at.is_none()));
            put("description", json!(entry.description));
            if let Some(ended_at) = entry.ended_at {
                put("ended_at", json!(ended_at.rfc3339()));
                put("seconds", json!(ended_at.since(entry.started_at) / 1_000));
            }
        }
        Record::DayPlan(plan) => {
            put("date", json!(plan.day));
            put("note", json!(plan.note));
        }
        Record::DayPlanBlock(block) => {
            put("day_plan_id", json!(block.plan));
            put("starts_at", json!(block.starts_at.rfc3339()));
            put("ends_at", json!(block.ends_at.rfc3339()));
            put("note", json!(block.note));
            if let Some(Record::DayPlan(plan)) = around.get(&block.plan) {
                put("date", json!(plan.day));
            }
        }
        Record::Rating(rating) => {
            put("scale", json!(rating.scale));
            put("value", json!(rating.value));
            put("most", json!(rating.most));
            put("note", json!(rating.note));
            match &rating.target {
                RatingTarget::Record(id) => put("target_id", json!(id)),
                RatingTarget::Day(day) => put("date", json!(day)),
            }
        }
        Record::Link(link) => {
            put("link_kind", json!(link.kind));
            put("from_id", json!(link.from));
            put("to_id", json!(link.to));
        }
    }
}
