//! Wire types of events.

use serde_json::Value;
use wakeful_api::{Event, Provenance};
use wakeful_core::id::AgentId;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::present;
use wakeful_runtime::rows::EventRow;

/// An event with its display text and origin.
#[must_use]
pub fn event(agent: &AgentId, row: &EventRow) -> Event {
    let stored = row.payload.as_ref();
    // The payload is sent as stored, because a newer version may have written fields that this one does not
    // know.
    let payload = stored.and_then(|(bytes, _)| serde_json::from_slice::<Value>(bytes).ok());
    let said = payload
        .as_ref()
        .and_then(|payload| Payload::read(&row.kind, payload));
    let policy_version = Some(&row.policy_version).filter(|version| !version.is_empty());
    let run_key = row.run_key.map(|run| run.to_string());
    let known = said.as_ref().map(present::provenance).unwrap_or_default();
    Event {
        event_id: row.hash.to_string(),
        agent_id: agent.to_string(),
        seq: row.seq,
        at: row.at.rfc3339(),
        kind: row.kind.clone(),
        run_key: run_key.clone(),
        policy_version: policy_version.cloned(),
        presentation: present::present(&row.kind, said.as_ref()),
        provenance: Provenance {
            // Falls back to the run if the payload does not name it.
            correlation_id: known.correlation_id.or(run_key),
            ..known
        },
        payload: payload.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
        erased: row.payload.is_none(),
    }
}
