//! Compares audit entries with the events that they are derived from, and consents with the erasures that they
//! were given for.

use std::collections::BTreeMap;

use wakeful_core::audit::{self, AuditEntry, ConsentRecord};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::{ContentErased, Payload};
use wakeful_store::rows::EventRow;
use wakeful_store::{ROWS_MAX, StoreError, View};

use super::AuditFinding;

/// A part of an agent's log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    /// The event before the first one.
    pub(super) after: u64,
    /// The last event, or the greatest number after the end of the log.
    pub(super) end: u64,
}

/// Compares the entries of a range with its events. An entry without an event is a finding.
pub(super) fn compare(
    view: &mut View<'_>,
    agent: &AgentId,
    range: Range,
    events: &[EventRow],
) -> Result<Vec<AuditFinding>, StoreError> {
    let entries = view.audit_entries_between(agent, range.after, range.end, ROWS_MAX)?;
    let mut entries: BTreeMap<u64, AuditEntry> =
        entries.into_iter().map(|entry| (entry.seq, entry)).collect();
    let mut found = Vec::new();
    for event in events {
        let stored = entries.remove(&event.seq);
        let wrong = entry(view, agent, event, stored)?;
        found.extend(wrong.map(|(column, what)| finding(column, agent, event.seq, what)));
        if event.kind == EventKind::ContentErased.as_str() {
            let wrong = consent(view, agent, event)?;
            found.extend(wrong.map(|(column, what)| finding(column, agent, event.seq, what)));
        }
    }
    let without_event = "the log has no event with this number";
    found.extend(
        entries
            .into_keys()
            .map(|seq| finding("audit_entry.seq", agent, seq, without_event)),
    );
    Ok(found)
}

fn finding(column: &str, agent: &AgentId, seq: u64, what: &str) -> AuditFinding {
    AuditFinding::new(column, &format!("{agent} {seq}"), what)
}

type Difference = (&'static str, &'static str);

fn entry(
    view: &mut View<'_>,
    agent: &AgentId,
    event: &EventRow,
    stored: Option<AuditEntry>,
) -> Result<Option<Difference>, StoreError> {
    let body = event.body();
    let content = body.as_ref().and_then(|body| audit::content(&body.payload));
    let is_expected = match (&body, EventKind::parse(&event.kind)) {
        (Some(_), _) => content.is_some(),
        (None, Some(kind)) => audit::is_always_audited(kind),
        (None, None) => false,
    };
    let Some(stored) = stored else {
        let is_missing =
            is_expected && !view.is_erased_with_consent(agent, event.run_key.as_ref(), event.seq)?;
        return Ok(is_missing.then_some(("audit_entry.seq", "the entry of the event is missing")));
    };
    let version = Some(event.policy_version.as_str()).filter(|version| !version.is_empty());
    // The content of an erased or pruned event is not known any more.
    let expected = content.or_else(|| body.is_none().then(|| stored.content.clone()));
    let Some(expected) = expected else {
        return Ok(Some(("audit_entry.seq", "the event decides nothing")));
    };
    let found = &stored.content;
    let compared = [
        (stored.run_key == event.run_key, "audit_entry.run_key"),
        (
            found.operation_id == expected.operation_id,
            "audit_entry.operation_id",
        ),
        (found.tool == expected.tool, "audit_entry.tool"),
        (found.decision == expected.decision, "audit_entry.decision"),
        (found.stage == expected.stage, "audit_entry.stage"),
        (found.rule == expected.rule, "audit_entry.rule"),
        (found.reason == expected.reason, "audit_entry.reason"),
        (found.category == expected.category, "audit_entry.category"),
        (
            stored.policy_version.as_ref().map(PolicyVersion::as_str) == version,
            "audit_entry.policy_version",
        ),
        (stored.at == event.at, "audit_entry.at_ms"),
    ];
    let wrong = compared.into_iter().find(|(is_same, _)| !is_same);
    Ok(wrong.map(|(_, column)| (column, "does not match the event in the log")))
}

/// Compares the consent of an erasure with the event that records it.
fn consent(view: &mut View<'_>, agent: &AgentId, event: &EventRow) -> Result<Option<Difference>, StoreError> {
    let Some(Payload::ContentErased(erased)) = event.body().map(|body| body.payload) else {
        return Ok(None);
    };
    let Some(stored) = view.consent_used_by(agent, event.seq)? else {
        return Ok(Some((
            "consent.used_seq",
            "the consent to the erasure is missing",
        )));
    };
    let ContentErased {
        channel,
        reason,
        target,
        ..
    } = erased;
    let expected = ConsentRecord {
        consent_id: ConsentRecord::id_of(agent, event.seq),
        agent_id: agent.clone(),
        purpose: reason,
        target,
        channel,
        at: event.at,
        used_seq: event.seq,
    };
    Ok((stored != expected).then_some(("consent.consent_id", "does not match the erasure in the log")))
}
