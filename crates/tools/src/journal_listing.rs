//! The tools that list what people write in the journal besides tasks: checklists, time entries, day plans, ratings
//! and links. They return only records of the agent's categories.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::failure::truncate_chars;
use wakeful_core::journal::{CalendarDay, RatingTarget, Record, RecordId};
use wakeful_core::step::ToolError;
use wakeful_core::tool::AgentAccessScope;
use wakeful_ports::journal::{Journal, JournalError, RecordQuery};

use crate::schema;

pub(crate) const LIST_CHECKLISTS: &str = "journal_list_checklists";

pub(crate) const LIST_TIME_ENTRIES: &str = "journal_list_time_entries";

pub(crate) const LIST_DAY_PLANS: &str = "journal_list_day_plans";

pub(crate) const LIST_RATINGS: &str = "journal_list_ratings";

pub(crate) const LIST_LINKS: &str = "journal_list_links";

/// Records of one list, by default and at most. As many are searched for records of the agent's categories.
const RECORDS_DEFAULT: u32 = 20;
const RECORDS_MAX: u32 = 200;

/// Items of a checklist, and blocks of a plan.
const PARTS_MAX: u32 = 100;

/// Characters of a text in a list.
const TEXT_CHARS: usize = 300;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfTask {
    /// Only of this task.
    #[serde(default)]
    task_id: Option<String>,
    /// Default 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimeEntries {
    /// Only of this task.
    #[serde(default)]
    task_id: Option<String>,
    /// Only running ones.
    #[serde(default)]
    running: Option<bool>,
    /// Default 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DayPlans {
    /// Only this day, as YYYY-MM-DD.
    #[serde(default)]
    day: Option<String>,
    /// Default 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfRecord {
    /// Only of this record.
    #[serde(default)]
    record_id: Option<String>,
    /// Default 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

pub(crate) fn checklists_spec() -> ToolSpec {
    schema::spec::<OfTask>(
        LIST_CHECKLISTS,
        "List checklists of the journal with their items.",
    )
}

pub(crate) fn time_entries_spec() -> ToolSpec {
    schema::spec::<TimeEntries>(LIST_TIME_ENTRIES, "List time spent on tasks, the latest first.")
}

pub(crate) fn day_plans_spec() -> ToolSpec {
    schema::spec::<DayPlans>(
        LIST_DAY_PLANS,
        "List day plans with their blocks, the latest first.",
    )
}

pub(crate) fn ratings_spec() -> ToolSpec {
    schema::spec::<OfRecord>(LIST_RATINGS, "List ratings of records and days, newest first.")
}

pub(crate) fn links_spec() -> ToolSpec {
    schema::spec::<OfRecord>(LIST_LINKS, "List links between records, newest first.")
}

/// A list with checked arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    query: RecordQuery,
    limit: u32,
}

impl Listing {
    /// Parses the arguments; none if the tool is none of this module.
    pub(crate) fn parse(tool: &str, input: &Value) -> Option<Result<Self, ToolError>> {
        match tool {
            LIST_CHECKLISTS => Some(Self::of_checklists(input)),
            LIST_TIME_ENTRIES => Some(Self::of_time_entries(input)),
            LIST_DAY_PLANS => Some(Self::of_day_plans(input)),
            LIST_RATINGS | LIST_LINKS => Some(Self::of_record(tool, input)),
            _ => None,
        }
    }

    fn new(query: RecordQuery, limit: Option<u32>) -> Result<Self, ToolError> {
        let limit = limit.unwrap_or(RECORDS_DEFAULT);
        if limit == 0 || limit > RECORDS_MAX {
            let message = format!("limit must be from 1 to {RECORDS_MAX}");
            return Err(schema::invalid(Some("limit"), &message, "use a smaller limit"));
        }
        Ok(Self { query, limit })
    }

    fn of_checklists(input: &Value) -> Result<Self, ToolError> {
        let hint = "the arguments are task_id and limit; none is required";
        let OfTask { task_id, limit } = schema::read(input, hint)?;
        let task = id("task_id", task_id)?;
        Self::new(RecordQuery::Checklists { task }, limit)
    }

    fn of_time_entries(input: &Value) -> Result<Self, ToolError> {
        let hint = "the arguments are task_id, running and limit; none is required";
        let TimeEntries {
            task_id,
            running,
            limit,
        } = schema::read(input, hint)?;
        let task = id("task_id", task_id)?;
        let running = running == Some(true);
        Self::new(RecordQuery::TimeEntries { task, running }, limit)
    }

    fn of_day_plans(input: &Value) -> Result<Self, ToolError> {
        let hint = "the arguments are day and limit; none is required";
        let DayPlans { day, limit } = schema::read(input, hint)?;
        let day = day.map(|day| CalendarDay::parse(&day)).transpose();
        let day = day.map_err(|refusal| ToolError {
            field: Some("day".to_owned()),
            ..refusal.fault()
        })?;
        Self::new(RecordQuery::DayPlans { day }, limit)
    }

    fn of_record(tool: &str, input: &Value) -> Result<Self, ToolError> {
        let hint = "the arguments are record_id and limit; none is required";
        let OfRecord { record_id, limit } = schema::read(input, hint)?;
        let of = id("record_id", record_id)?;
        let query = match tool {
            LIST_RATINGS => RecordQuery::Ratings {
                target: of.map(RatingTarget::Record),
            },
            _ => RecordQuery::Links { of },
        };
        Self::new(query, limit)
    }

    /// The name of the list in the result.
    pub(crate) const fn name(&self) -> &'static str {
        match self.query {
            RecordQuery::Checklists { .. } | RecordQuery::Items { .. } => "checklists",
            RecordQuery::TimeEntries { .. } => "time_entries",
            RecordQuery::DayPlans { .. } | RecordQuery::Blocks { .. } => "day_plans",
            RecordQuery::Ratings { .. } => "ratings",
            RecordQuery::Links { .. } => "links",
        }
    }

    /// Reads the records within the agent's categories. A short list may be incomplete: only the newest
    /// [`RECORDS_MAX`] records are searched.
    pub(crate) async fn read(
        self,
        journal: &dyn Journal,
        access: &AgentAccessScope,
    ) -> Result<Vec<Value>, JournalError> {
        let searched = match access.allows_category(None) {
            true => self.limit,
            false => RECORDS_MAX,
        };
        let records = journal.records(self.query, searched).await?;
        let known = Known::of(journal, &records).await?;
        let mut shown = Vec::new();
        for record in &records {
            if shown.len() >= usize::try_from(self.limit).unwrap_or(usize::MAX) {
                break;
            }
            shown.extend(known.shown(journal, access, record).await?);
        }
        Ok(shown)
    }
}

fn id(field: &'static str, given: Option<String>) -> Result<Option<RecordId>, ToolError> {
    let id = given.map(|given| RecordId::parse(field, &given)).transpose();
    id.map_err(|refusal| refusal.fault())
}

/// The fields of records and of those that decide about them.
struct Known(BTreeMap<RecordId, Value>);

impl Known {
    async fn of(journal: &dyn Journal, records: &[Record]) -> Result<Self, JournalError> {
        let own = records.iter().map(Record::id);
        let deciding = records.iter().flat_map(deciding);
        let mut ids: Vec<RecordId> = own.chain(deciding).cloned().collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(journal.entities(ids).await?))
    }

    /// Whether all records that decide about a record are in categories of the agent.
    fn is_in_scope(&self, access: &AgentAccessScope, record: &Record) -> bool {
        deciding(record).iter().all(|id| {
            let fields = self.0.get(*id);
            let category = fields.and_then(|fields| fields.get("category_id")?.as_str());
            access.allows_category(category)
        })
    }

    /// A record in a list with its parts; none if the agent may not read it.
    async fn shown(
        &self,
        journal: &dyn Journal,
        access: &AgentAccessScope,
        record: &Record,
    ) -> Result<Option<Value>, JournalError> {
        let Some(mut entry) = self.entry(record) else {
            return Ok(None);
        };
        let (query, name) = match record {
            Record::Checklist(checklist) if self.is_in_scope(access, record) => {
                let checklist = checklist.id.clone();
                (RecordQuery::Items { checklist }, "items")
            }
            Record::DayPlan(plan) => (
                RecordQuery::Blocks {
                    plan: plan.id.clone(),
                },
                "blocks",
            ),
            Record::Category(_)
            | Record::Task(_)
            | Record::Note(_)
            | Record::Checklist(_)
            | Record::ChecklistItem(_)
            | Record::TimeEntry(_)
            | Record::DayPlanBlock(_)
            | Record::Rating(_)
            | Record::Link(_) => return Ok(self.is_in_scope(access, record).then_some(entry)),
        };
        let parts = journal.records(query, PARTS_MAX).await?;
        let known = Self::of(journal, &parts).await?;
        let parts = parts.iter().filter(|part| known.is_in_scope(access, part));
        let parts: Vec<Value> = parts.filter_map(|part| known.entry(part)).collect();
        // A plan is in no category: with some categories, only its blocks in them are shown, without its note.
        if matches!(record, Record::DayPlan(_)) && !access.allows_category(None) {
            if parts.is_empty() {
                return Ok(None);
            }
            entry.as_object_mut().map(|fields| fields.remove("note"));
        }
        if let Some(fields) = entry.as_object_mut() {
            fields.insert(name.to_owned(), Value::Array(parts));
        }
        Ok(Some(entry))
    }

    /// The fields of a record, with bounded texts.
    fn entry(&self, record: &Record) -> Option<Value> {
        let fields = self.0.get(record.id())?.as_object()?;
        let fields = fields
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "kind" | "removed"));
        let bounded = fields.map(|(name, value)| {
            let value = match value.as_str() {
                Some(text) => json!(truncate_chars(text, TEXT_CHARS)),
                None => value.clone(),
            };
            (name.clone(), value)
        });
        Some(Value::Object(bounded.collect()))
    }
}

/// The records whose categories decide whether a record may be read: both ends of a link, the task of a block
/// besides its own category, and otherwise the record itself.
fn deciding(record: &Record) -> Vec<&RecordId> {
    match record {
        Record::Link(link) => vec![&link.from, &link.to],
        Record::DayPlanBlock(block) => std::iter::once(&block.id).chain(&block.task).collect(),
        Record::Category(_)
        | Record::Task(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::TimeEntry(_)
        | Record::DayPlan(_)
        | Record::Rating(_) => vec![record.id()],
    }
}

#[cfg(test)]
mod tests;
