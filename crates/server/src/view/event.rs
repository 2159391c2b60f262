//! Events as they go over the wire.

use serde_json::Value;
use wakeful_api::{Category, Event, Level, Presentation, Provenance};
use wakeful_core::id::AgentId;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::present;
use wakeful_runtime::rows::EventRow;

/// An event with how it is shown and where it came from.
#[must_use]
pub fn event(agent: &AgentId, row: &EventRow) -> Event {
    let stored = row.payload.as_ref();
    // Sent as it is stored: a newer version may have written more than this one knows.
    let payload = stored.and_then(|(bytes, _)| serde_json::from_slice::<Value>(bytes).ok());
    let said = payload
        .as_ref()
        .and_then(|payload| Payload::read(&row.kind, payload));
    let policy_version = Some(&row.policy_version).filter(|version| !version.is_empty());
    let run_key = row.run_key.map(|run| run.to_string());
    Event {
        event_id: row.hash.to_string(),
        agent_id: agent.to_string(),
        seq: row.seq,
        at: row.at.rfc3339(),
        kind: row.kind.clone(),
        run_key: run_key.clone(),
        policy_version: policy_version.cloned(),
        presentation: presentation(present::present(&row.kind, said.as_ref())),
        provenance: provenance(
            said.as_ref().map(present::provenance).unwrap_or_default(),
            run_key,
        ),
        payload: payload.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
        erased: row.payload.is_none(),
    }
}

fn presentation(shown: present::Presentation) -> Presentation {
    Presentation {
        visibility: level(shown.visibility),
        category: category(shown.category),
        title: shown.title,
        body: shown.body,
        summary: shown.summary,
        source_event_kind: shown.source_event_kind,
    }
}

/// What the payload says, and the run even where it does not.
fn provenance(known: present::Provenance, run_key: Option<String>) -> Provenance {
    Provenance {
        message_id: known.message_id,
        authority: known.authority,
        surface: known.surface,
        context: known.context,
        correlation_id: known.correlation_id.or(run_key),
        causation_id: known.causation_id,
    }
}

const fn level(level: present::Level) -> Level {
    match level {
        present::Level::ActionRequired => Level::ActionRequired,
        present::Level::WorkDone => Level::WorkDone,
        present::Level::TurnResult => Level::TurnResult,
        present::Level::Progress => Level::Progress,
        present::Level::Trace => Level::Trace,
    }
}

const fn category(category: present::Category) -> Category {
    match category {
        present::Category::OperatorNotification => Category::OperatorNotification,
        present::Category::Brief => Category::Brief,
        present::Category::Message => Category::Message,
        present::Category::WorkItem => Category::WorkItem,
        present::Category::Task => Category::Task,
        present::Category::Waiting => Category::Waiting,
        present::Category::Workspace => Category::Workspace,
        present::Category::Runtime => Category::Runtime,
        present::Category::AssistantProgress => Category::AssistantProgress,
        present::Category::Tool => Category::Tool,
        present::Category::StateSync => Category::StateSync,
        present::Category::Trace => Category::Trace,
    }
}
