//! The tools that write to the journal. The core decides what may be written; the journal deduplicates by
//! operation id, so each write happens once.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::journal::rule::check;
use wakeful_core::journal::{Author, Mutation, RecordId, TaskStatus, WriteError};
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::policy::CallFacts;
use wakeful_core::saga::JOURNAL_UNAVAILABLE;
use wakeful_core::step::{RetryAfter, ToolError};
use wakeful_core::tool::gate::OUT_OF_SCOPE;
use wakeful_core::tool::{AgentAccessScope, ChangedEntity};
use wakeful_ports::journal::{Journal, JournalError, OperationStatus, WriteReceipt, WriteRequest};
use wakeful_ports::planted_bugs;
use wakeful_ports::store_error::StoreError;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use crate::outcome::{failed, succeeded};
use crate::schema;

pub(crate) const CREATE_TASK: &str = "journal_create_task";

pub(crate) const UPDATE_TASK: &str = "journal_update_task";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateTask {
    /// One line.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// More about it.
    #[serde(default)]
    details: Option<String>,
    /// Id of a category.
    #[serde(default)]
    category_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateTask {
    /// Id of the task.
    task_id: String,
    /// A new title.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    title: Option<String>,
    /// New details.
    #[serde(default)]
    details: Option<String>,
    /// open, in_progress, done or dropped.
    #[serde(default)]
    status: Option<String>,
    /// Id of another category.
    #[serde(default)]
    category_id: Option<String>,
}

pub(crate) fn create_task_spec() -> ToolSpec {
    schema::spec::<CreateTask>(
        CREATE_TASK,
        "Add a task to the person's journal. Returns its task_id.",
    )
}

pub(crate) fn update_task_spec() -> ToolSpec {
    schema::spec::<UpdateTask>(
        UPDATE_TASK,
        "Change a task of the person's journal. Omitted fields stay unchanged.",
    )
}

/// Parses the arguments, as far as they can be checked without the journal.
pub(crate) fn mutation(tool: &str, input: &Value) -> Result<Mutation, ToolError> {
    let mutation = if tool == CREATE_TASK {
        let hint = "the arguments are title, details and category_id; only title is required";
        let CreateTask {
            title,
            details,
            category_id,
        } = schema::read(input, hint)?;
        Mutation::CreateTask {
            title,
            details: details.unwrap_or_default(),
            category: id("category_id", category_id)?,
        }
    } else {
        let hint =
            "the arguments are task_id, title, details, status and category_id; only task_id is required";
        let UpdateTask {
            task_id,
            title,
            details,
            status,
            category_id,
        } = schema::read(input, hint)?;
        let status = status.map(|word| TaskStatus::parse(&word).ok_or_else(|| WriteError::BadStatus.fault()));
        Mutation::UpdateTask {
            task: RecordId::parse("task_id", &task_id).map_err(|refusal| refusal.fault())?,
            title,
            details,
            status: status.transpose()?,
            category: id("category_id", category_id)?,
        }
    };
    check(&mutation).map_err(|refusal| refusal.fault())?;
    Ok(mutation)
}

/// The free texts and ids of a write. What a status says is limited to a few words.
pub(crate) fn facts(tool: &str, input: &Value) -> CallFacts {
    let fields = match tool {
        CREATE_TASK => &["title", "details", "category_id"][..],
        _ => &["task_id", "title", "details", "category_id"],
    };
    let texts = fields.iter().filter_map(|field| input.get(field)?.as_str());
    CallFacts {
        texts: texts.filter(|text| !text.is_empty()).map(str::to_owned).collect(),
        ..CallFacts::default()
    }
}

fn id(field: &'static str, given: Option<String>) -> Result<Option<RecordId>, ToolError> {
    let id = given.map(|given| RecordId::parse(field, &given)).transpose();
    id.map_err(|refusal| refusal.fault())
}

/// Performs the write. If its outcome is unknown, the same request can be repeated: an operation id takes
/// effect once.
pub(crate) async fn perform(journal: Arc<dyn Journal>, act: ToolRequest) -> ToolOutcome {
    let mutation = match mutation(&act.tool, &act.input) {
        Ok(mutation) => mutation,
        Err(fault) => return failed(&act.tool, &fault),
    };
    let write = async {
        let fault = out_of_scope(&*journal, &mutation, &act.access).await?;
        if let Some(fault) = fault
            // A write that was performed before a crash is reported, even if the scope is narrower now.
            && journal.operation_status(named(&act)).await? == OperationStatus::Unknown
        {
            return Ok(Err(fault));
        }
        let order = WriteRequest {
            operation_id: named(&act),
            author: Author::Agent(act.agent_id.clone()),
            mutation,
            at: act.at,
        };
        journal.write(order).await.map(Ok)
    };
    let written_or = match write.await {
        Ok(Ok(receipt)) => Ok(receipt),
        Ok(Err(fault)) => return failed(&act.tool, &fault),
        Err(error) => Err(error),
    };
    let error = match written_or {
        Ok(receipt) => return written(&receipt),
        Err(JournalError::Refused(refusal)) => return failed(&act.tool, &refusal.fault()),
        Err(error) => error,
    };
    let may_pass = matches!(
        &error,
        JournalError::Store(StoreError::Unreachable(_) | StoreError::Conflict)
    );
    ToolOutcome {
        retry_after: may_pass.then_some(RetryAfter { after_ms: None }),
        ..failed(&act.tool, &unavailable(&error))
    }
}

/// The error of a write whose target is in a category that the agent may not use: where the task is now, or
/// where it would be. A person who moves a task to another category at the same moment may be missed.
async fn out_of_scope(
    journal: &dyn Journal,
    mutation: &Mutation,
    access: &AgentAccessScope,
) -> Result<Option<ToolError>, JournalError> {
    let (task, category) = if let Mutation::UpdateTask { task, category, .. } = mutation {
        (Some(task), category.as_ref())
    } else if let Mutation::CreateTask { category, .. } = mutation {
        (None, category.as_ref())
    } else {
        // No tool requests another write.
        return Ok(Some(scope_error("this write is available to people only", "")));
    };
    // An update without a category keeps that of the task.
    let is_named = task.is_none() || category.is_some();
    if is_named && !access.allows_category(category.map(RecordId::as_str)) {
        let hint = "give a category_id that you may use, or ask a person";
        return Ok(Some(scope_error(
            "the category is outside this agent's scope",
            hint,
        )));
    }
    let Some(task) = task.filter(|_| !access.allows_category(None)) else {
        return Ok(None);
    };
    let found = journal.entities(vec![task.clone()]).await?;
    // The write itself reports a task that does not exist.
    let Some(fields) = found.get(task) else {
        return Ok(None);
    };
    let category = fields.get("category_id").and_then(Value::as_str);
    let hint = "use a task of a category that you may use, or ask a person";
    let is_outside = !access.allows_category(category);
    Ok(is_outside.then(|| scope_error("the task is outside this agent's scope", hint)))
}

fn scope_error(message: &str, hint: &str) -> ToolError {
    ToolError {
        field: Some("category_id".to_owned()),
        ..ToolError::denied(OUT_OF_SCOPE, message, hint)
    }
}

/// The operation id of a write: that of its action, unless a test requests an error.
fn named(act: &ToolRequest) -> OperationId {
    if planted_bugs::is_planted("operation_renamed") {
        let name = format!("{} {}", act.operation_id, act.at.0);
        return OperationId(Digest::of(name.as_bytes()));
    }
    act.operation_id
}

fn written(receipt: &WriteReceipt) -> ToolOutcome {
    let also = receipt.also.iter().map(|unit| unit.payload_id.as_str());
    let changed: Vec<&str> = std::iter::once(receipt.record_id.as_str()).chain(also).collect();
    let content = json!({
        "ok": true,
        "task_id": receipt.record_id,
        "version": receipt.version,
        "changed_entity_ids": changed,
        "changed_tokens": receipt.tokens,
    });
    let first = ChangedEntity::new(receipt.unit.payload_type.as_str(), receipt.record_id.as_str());
    let also = receipt
        .also
        .iter()
        .map(|unit| ChangedEntity::new(unit.payload_type.as_str(), &unit.payload_id));
    ToolOutcome {
        changed: std::iter::once(first).chain(also).collect(),
        ..succeeded(content.to_string())
    }
}

/// The outcome is unknown, so saga recovery undoes the write if it happened.
fn unavailable(error: &JournalError) -> ToolError {
    let message = format!("the journal could not be written: {error}");
    let hint = "if the write did happen, it will be undone; a person can check with `wakeful doctor`";
    ToolError {
        retryable: true,
        ..ToolError::new(JOURNAL_UNAVAILABLE, &message, hint)
    }
}

#[cfg(test)]
mod scope_tests;

#[cfg(test)]
mod tests {
    use wakeful_core::change::{ChangeKind, ChangeUnit};
    use wakeful_core::id::Incarnation;
    use wakeful_core::journal::RecordKind;

    use super::*;

    // Conformance: L-131
    #[test]
    fn a_write_names_every_record_that_it_changed() {
        let unit = |kind, id: &RecordId| ChangeUnit {
            host: Incarnation::new("h.1"),
            counter: 1,
            payload_type: ChangeKind::Record(kind),
            payload_id: id.to_string(),
        };
        let id = |digit: &str| RecordId::parse("id", &digit.repeat(32)).expect("an id");
        let done = written(&WriteReceipt {
            kind: RecordKind::Task,
            record_id: id("1"),
            version: 1,
            tokens: vec!["task.change".to_owned()],
            unit: unit(RecordKind::Task, &id("1")),
            also: vec![unit(RecordKind::ChecklistItem, &id("2"))],
        });
        let expected = [
            ChangedEntity::new("task", id("1").as_str()),
            ChangedEntity::new("checklist_item", id("2").as_str()),
        ];
        assert_eq!(done.changed, expected);
    }

    #[test]
    fn the_schema_is_short_and_strict() {
        let specs = [create_task_spec(), update_task_spec()];
        let told: usize = specs
            .iter()
            .map(|spec| spec.name.len() + spec.description.len() + spec.input_schema.to_string().len())
            .sum();
        assert!(told < 1_100, "{told} bytes: {specs:?}");
        for spec in &specs {
            assert_eq!(spec.input_schema["additionalProperties"], false);
            assert_eq!(spec.input_schema["required"].as_array().map(Vec::len), Some(1));
        }
    }

    #[test]
    fn an_error_names_the_field() {
        let task = "0".repeat(32);
        let cases = [
            (CREATE_TASK, json!({}), "invalid_arguments", Some("title")),
            (
                CREATE_TASK,
                json!({"title": " "}),
                "invalid_record",
                Some("title"),
            ),
            (
                CREATE_TASK,
                json!({"title": "t", "category_id": "home"}),
                "bad_record_id",
                Some("category_id"),
            ),
            (
                CREATE_TASK,
                json!({"title": "t", "due": "today"}),
                "invalid_arguments",
                Some("due"),
            ),
            (CREATE_TASK, json!(["t"]), "invalid_arguments", None),
            (UPDATE_TASK, json!({"task_id": task}), "invalid_record", None),
            (
                UPDATE_TASK,
                json!({"task_id": "7", "status": "done"}),
                "bad_record_id",
                Some("task_id"),
            ),
            (
                UPDATE_TASK,
                json!({"task_id": task, "status": "finished"}),
                "bad_task_status",
                Some("status"),
            ),
        ];
        for (tool, input, kind, field) in cases {
            let fault = mutation(tool, &input).expect_err("a fault");
            assert_eq!(
                (fault.kind.as_str(), fault.field.as_deref()),
                (kind, field),
                "{input}"
            );
            assert!(fault.hint.is_some(), "{input}");
        }
        mutation(
            UPDATE_TASK,
            &json!({"task_id": task, "status": "done", "title": null}),
        )
        .expect("a mutation");
    }
}
