//! Lists within the agent's categories, from records with the fields that the journal reports.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, json};
use wakeful_core::journal::tokens::entity;
use wakeful_core::journal::{
    Author, Category, Checklist, ChecklistItem, DayPlan, DayPlanBlock, Link, LinkKind, Note, Rating,
    RecordMeta, Task, TaskStatus, TimeEntry,
};
use wakeful_core::key::OperationId;
use wakeful_core::time::Millis;
use wakeful_core::tool::gate::{self, GateQuery, OUT_OF_SCOPE};
use wakeful_core::tool::{Capability, WakeReason};
use wakeful_ports::journal::{
    CommitListener, CommittedChange, JournalFuture, OperationStatus, TaskFilter, UndoOutcome, WriteReceipt,
    WriteRequest,
};

use wakeful_ports::tool::{StopSignal, ToolHost as _, ToolRequest};

use super::*;
use crate::registry::{TOOLS as REGISTERED, ToolEntry, ToolGroup};

const WORK: u8 = 1;
const HOME: u8 = 2;
const TOOLS: [&str; 5] = [
    LIST_CHECKLISTS,
    LIST_TIME_ENTRIES,
    LIST_DAY_PLANS,
    LIST_RATINGS,
    LIST_LINKS,
];

fn record_id(number: u8) -> RecordId {
    RecordId::parse("id", &format!("{number:032x}")).expect("an id")
}

fn life() -> RecordMeta {
    RecordMeta {
        created_at: Millis(0),
        version: 1,
        removed_at: None,
    }
}

fn category(number: u8) -> Record {
    Record::Category(Category {
        id: record_id(number),
        name: format!("category {number}"),
        created_at: Millis(0),
        version: 1,
        removed_at: None,
    })
}

fn task(number: u8, category: u8) -> Record {
    Record::Task(Task {
        id: record_id(number),
        category: Some(record_id(category)),
        title: format!("task {number}"),
        details: String::new(),
        status: TaskStatus::Open,
        created_at: Millis(0),
        updated_at: Millis(0),
        version: 1,
        removed_at: None,
    })
}

/// The records of one category: a task with one record of each kind about it. Their texts name the category.
fn of_category(category: u8) -> Vec<Record> {
    let id = |number: u8| record_id(number * 16 + category);
    let (task_id, text) = (id(1), format!("secret of {category}"));
    let block = |number, task| {
        Record::DayPlanBlock(DayPlanBlock {
            id: id(number),
            plan: record_id(3),
            starts_at: Millis(0),
            ends_at: Millis(1),
            task: Some(task),
            category: Some(record_id(category)),
            note: text.clone(),
            life: life(),
        })
    };
    let link = |number, to| {
        Record::Link(Link {
            id: id(number),
            from: id(1),
            to,
            kind: LinkKind::KNOWN[0].clone(),
            life: life(),
        })
    };
    vec![
        self::category(category),
        task(16 + category, category),
        Record::Checklist(Checklist {
            id: id(2),
            task: task_id.clone(),
            title: text.clone(),
            life: life(),
        }),
        Record::ChecklistItem(ChecklistItem {
            id: id(3),
            checklist: id(2),
            text: text.clone(),
            checked: true,
            position: 1,
            life: life(),
        }),
        Record::TimeEntry(TimeEntry {
            id: id(4),
            task: task_id.clone(),
            started_at: Millis(0),
            ended_at: None,
            description: text.clone(),
            life: life(),
        }),
        block(5, task_id.clone()),
        // In this category, and about a task of the other one.
        block(6, record_id(16 + 3 - category)),
        Record::Rating(Rating {
            id: id(7),
            target: RatingTarget::Record(task_id.clone()),
            scale: "energy".to_owned(),
            value: 1,
            most: 5,
            note: text.clone(),
            life: life(),
        }),
        link(8, id(1)),
        link(9, record_id(16 + 3 - category)),
    ]
}

/// A journal with the records of two categories and one plan for a day.
struct TwoCategories(BTreeMap<RecordId, Record>);

impl TwoCategories {
    fn new() -> Self {
        let plan = Record::DayPlan(DayPlan {
            id: record_id(3),
            day: CalendarDay::parse("2026-02-18").expect("a day"),
            note: "secret of the day".to_owned(),
            life: life(),
        });
        let all = of_category(WORK)
            .into_iter()
            .chain(of_category(HOME))
            .chain([plan]);
        Self(all.map(|record| (record.id().clone(), record)).collect())
    }
}

fn nothing<T: Send + 'static>() -> JournalFuture<'static, T> {
    Box::pin(std::future::ready(Err(JournalError::Missing)))
}

impl Journal for TwoCategories {
    fn records(&self, listing: RecordQuery, limit: u32) -> JournalFuture<'_, Vec<Record>> {
        let fits = |record: &&Record| match (&listing, record) {
            (RecordQuery::Checklists { task }, Record::Checklist(list)) => {
                task.as_ref().is_none_or(|task| *task == list.task)
            }
            (RecordQuery::Items { checklist }, Record::ChecklistItem(item)) => item.checklist == *checklist,
            (RecordQuery::Blocks { plan }, Record::DayPlanBlock(block)) => block.plan == *plan,
            (RecordQuery::TimeEntries { .. }, Record::TimeEntry(_))
            | (RecordQuery::DayPlans { .. }, Record::DayPlan(_))
            | (RecordQuery::Ratings { .. }, Record::Rating(_))
            | (RecordQuery::Links { .. }, Record::Link(_)) => true,
            _ => false,
        };
        let found = self.0.values().filter(fits).take(limit as usize).cloned();
        Box::pin(std::future::ready(Ok(found.collect())))
    }

    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>> {
        let known = ids.into_iter().filter_map(|id| {
            let fields = entity(self.0.get(&id)?, &self.0);
            Some((id, fields))
        });
        Box::pin(std::future::ready(Ok(known.collect())))
    }

    fn write(&self, request: WriteRequest) -> JournalFuture<'_, WriteReceipt> {
        panic!("a write reached the journal: {request:?}")
    }

    fn undo(&self, _: OperationId, _: Millis) -> JournalFuture<'_, UndoOutcome> {
        nothing()
    }

    fn operation_status(&self, _: OperationId) -> JournalFuture<'_, OperationStatus> {
        Box::pin(std::future::ready(Ok(OperationStatus::Unknown)))
    }

    fn tasks(&self, _: TaskFilter) -> JournalFuture<'_, Vec<Task>> {
        let tasks = self.0.values().filter_map(|record| {
            let Record::Task(task) = record else { return None };
            Some(task.clone())
        });
        Box::pin(std::future::ready(Ok(tasks.collect())))
    }

    fn notes(&self, _: Option<RecordId>, _: u32) -> JournalFuture<'_, Vec<Note>> {
        nothing()
    }

    fn categories(&self) -> JournalFuture<'_, Vec<Category>> {
        let categories = self.0.values().filter_map(|record| {
            let Record::Category(category) = record else {
                return None;
            };
            Some(category.clone())
        });
        Box::pin(std::future::ready(Ok(categories.collect())))
    }

    fn newest_change_not_by(&self, _: Author) -> JournalFuture<'_, Option<(u64, Millis)>> {
        nothing()
    }

    fn changes(&self, _: u64, _: u32) -> JournalFuture<'_, Vec<CommittedChange>> {
        nothing()
    }

    fn last_seq(&self) -> JournalFuture<'_, u64> {
        nothing()
    }

    fn records_with_prefix(&self, _: String, _: u32) -> JournalFuture<'_, Vec<Record>> {
        nothing()
    }

    fn subscribe_commits(&self) -> Box<dyn CommitListener> {
        unreachable!("a list does not subscribe")
    }
}

async fn list(tool: &str, input: Value, categories: &[&str]) -> Vec<Value> {
    let access = AgentAccessScope {
        allowed_category_ids: categories.iter().map(|id| (*id).to_owned()).collect(),
        ..AgentAccessScope::default()
    };
    let listing = Listing::parse(tool, &input).expect("a list").expect("arguments");
    let journal = TwoCategories::new();
    listing.read(&journal, &access).await.expect("a journal")
}

#[tokio::test]
async fn a_list_shows_the_records_of_the_agents_categories_alone() {
    let work = record_id(WORK).to_string();
    for (tool, within, all) in [
        (LIST_CHECKLISTS, 1, 2),
        (LIST_TIME_ENTRIES, 1, 2),
        (LIST_DAY_PLANS, 1, 1),
        (LIST_RATINGS, 1, 2),
        (LIST_LINKS, 1, 4),
    ] {
        assert_eq!(list(tool, json!({}), &["*"]).await.len(), all, "{tool}");
        assert!(list(tool, json!({}), &[]).await.is_empty(), "{tool}");
        let found = list(tool, json!({}), &[&work]).await;
        assert_eq!(found.len(), within, "{tool}: {found:?}");
        let text = json!(found).to_string();
        assert!(
            !text.contains("secret of 2") && !text.contains("task 18"),
            "{tool}: {text}"
        );
    }
}

#[tokio::test]
async fn records_of_other_categories_use_up_no_limit() {
    for tool in [LIST_CHECKLISTS, LIST_TIME_ENTRIES, LIST_RATINGS] {
        for category in [WORK, HOME] {
            let category = record_id(category).to_string();
            let found = list(tool, json!({"limit": 1}), &[&category]).await;
            assert_eq!(found.len(), 1, "{tool} {category}: {found:?}");
        }
    }
}

#[tokio::test]
async fn checklists_and_plans_come_with_their_parts() {
    let work = record_id(WORK).to_string();
    let lists = list(LIST_CHECKLISTS, json!({"task_id": record_id(17)}), &["*"]).await;
    assert_eq!(lists.len(), 1, "{lists:?}");
    assert_eq!(
        (&lists[0]["task_title"], &lists[0]["items"][0]["checked"]),
        (&json!("task 17"), &json!(true))
    );
    let plans = list(LIST_DAY_PLANS, json!({"day": "2026-02-18"}), &["*"]).await;
    assert_eq!(plans[0]["blocks"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        (&plans[0]["note"], &plans[0]["date"]),
        (&json!("secret of the day"), &json!("2026-02-18"))
    );
    // With one category, only the block that is in it and about a task of it, and not the plan's note.
    let plans = list(LIST_DAY_PLANS, json!({}), &[&work]).await;
    assert_eq!(plans[0]["blocks"].as_array().map(Vec::len), Some(1));
    assert_eq!(plans[0].get("note"), None);
}

#[tokio::test]
async fn a_list_has_at_most_the_requested_number_of_records() {
    for tool in TOOLS {
        let found = list(tool, json!({"limit": 1}), &["*"]).await;
        assert_eq!(found.len(), 1, "{tool}");
    }
}

#[test]
fn an_invalid_argument_of_a_list_is_named() {
    for (tool, input, field) in [
        (LIST_CHECKLISTS, json!({"task_id": "7"}), "task_id"),
        (LIST_CHECKLISTS, json!({"limit": 0}), "limit"),
        (LIST_TIME_ENTRIES, json!({"running": "yes"}), "running"),
        (LIST_DAY_PLANS, json!({"day": "today"}), "day"),
        (LIST_RATINGS, json!({"record_id": "x"}), "record_id"),
        (LIST_LINKS, json!({"limit": 201}), "limit"),
        (LIST_LINKS, json!({"kind": "x"}), "kind"),
    ] {
        let fault = Listing::parse(tool, &input)
            .expect("a list")
            .expect_err("a fault");
        assert_eq!(fault.field.as_deref(), Some(field), "{tool} {input}: {fault:?}");
    }
}

/// The tools of the journal, with those that read and those that write.
fn journal_tools() -> Vec<&'static ToolEntry> {
    let is_of_journal =
        |entry: &&ToolEntry| matches!(entry.group, ToolGroup::Journal | ToolGroup::JournalReading);
    const { &REGISTERED }.iter().filter(is_of_journal).collect()
}

/// A value for an argument with this name: of a record that exists, where it names one.
fn argument(name: &str) -> BoxedStrategy<Value> {
    let words =
        |words: &'static [&'static str]| proptest::sample::select(words).prop_map(Value::from).boxed();
    match name {
        "task_id" => (17_u8..19).prop_map(|number| json!(record_id(number))).boxed(),
        "record_id" => (1_u8..160).prop_map(|number| json!(record_id(number))).boxed(),
        "category_id" => (WORK..=HOME).prop_map(|number| json!(record_id(number))).boxed(),
        "status" => words(&["open", "done"]),
        "day" => words(&["2026-02-18", "2026-02-19"]),
        "running" => any::<bool>().prop_map(Value::from).boxed(),
        "limit" => (1_u32..=200).prop_map(Value::from).boxed(),
        _ => words(&["a", "b"]),
    }
}

/// A valid call of a tool of the journal: its required arguments, and some of the others.
fn journal_call() -> impl Strategy<Value = (&'static str, Value)> {
    proptest::sample::select(journal_tools()).prop_flat_map(|entry| {
        let schema = (entry.spec)().input_schema;
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields: Vec<_> = properties
            .keys()
            .map(|name| {
                let is_required = required.iter().any(|one| one == name);
                let given = if is_required {
                    Just(true).boxed()
                } else {
                    any::<bool>().boxed()
                };
                (Just(name.clone()), given, argument(name))
            })
            .collect();
        fields.prop_map(move |fields| {
            let given = fields.into_iter().filter(|(_, is_given, _)| *is_given);
            let input: Map<String, Value> = given.map(|(name, _, value)| (name, value)).collect();
            (entry.name, Value::Object(input))
        })
    })
}

struct NeverStop;

impl StopSignal for NeverStop {
    async fn stopped(&self) {
        std::future::pending().await
    }
}

proptest! {
    // Conformance: L-126
    /// The gate denies the call, and the tool itself neither shows nor changes anything, so that a call that
    /// comes another way finds nothing either.
    #[test]
    fn an_empty_scope_yields_nothing((tool, input) in journal_call()) {
        let access = AgentAccessScope::default();
        let contract = crate::contract::contract(tool);
        let query = GateQuery { contract, access: &access, wake_reason: WakeReason::UserInitiated };
        prop_assert_eq!(gate::check(query).expect_err("passed").code, OUT_OF_SCOPE);
        let root = tempfile::tempdir().expect("a folder");
        let host = crate::tools::tests::tools(root.path()).with_journal(Arc::new(TwoCategories::new()));
        let act = ToolRequest { access, ..request(tool, input) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let done = runtime.block_on(host.perform(act, NeverStop));
        for text in ["secret", "task 17", "task 18", "category 1", "category 2"] {
            prop_assert!(!done.content.contains(text), "{} shows {}: {}", tool, text, done.content);
        }
        let found: Value = serde_json::from_str(&done.content).expect("JSON");
        let lists = found.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_array());
        prop_assert!(lists.into_iter().all(Vec::is_empty), "{}: {}", tool, found);
        prop_assert!(done.changed.is_empty());
    }
}

fn request(tool: &str, input: Value) -> ToolRequest {
    let agent = wakeful_core::id::AgentId::parse("main").expect("a name");
    let operation = OperationId(wakeful_core::key::Digest::of(b"one"));
    ToolRequest::new(operation, agent, tool, input)
}

#[test]
fn every_capability_of_the_journal_belongs_to_a_tested_tool() {
    let tested = journal_tools();
    assert_eq!(tested.len(), 10, "add arguments for new tools");
    for contract in crate::contract::contracts().expect("contracts").iter() {
        let uses_journal = contract
            .capabilities_required
            .iter()
            .any(|one| matches!(one, Capability::Journal(_)));
        let is_tested = tested.iter().any(|entry| entry.name == contract.name);
        assert_eq!(uses_journal, is_tested, "{}", contract.name);
    }
}
