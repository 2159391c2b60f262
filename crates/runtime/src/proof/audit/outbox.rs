//! Compares undispatched notices and remembered deliveries with the events and messages from which they
//! derive.

use wakeful_core::key::{RunKey, RunKeySource, RunKeySourceKind};
use wakeful_core::notice::AgentNotice;
use wakeful_store::rows::{DeliveryRow, NoticeRow};
use wakeful_store::{Store, StoreError, View};

use super::AuditFinding;
use crate::EngineError;

/// Rows read at once.
const PAGE: u32 = 500;

/// Compares notices with their events.
pub(super) async fn notices(store: &Store) -> Result<Vec<AuditFinding>, EngineError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.read(move |view| {
            let after = after.as_ref().map(|(agent, seq)| (agent, *seq));
            let rows = view.notices(after, PAGE)?;
            let columns = rows.iter().map(|row| notice(view, row));
            let columns = columns.collect::<Result<Vec<_>, StoreError>>()?;
            Ok((rows, columns))
        });
        let (rows, columns) = page.await?;
        let wrong = rows.iter().zip(columns);
        found.extend(wrong.filter_map(|(row, column)| {
            let what = "does not match its event";
            column.map(|column| AuditFinding::new(column, &format!("{} {}", row.agent_id, row.seq), what))
        }));
        if rows.len() < PAGE as usize {
            return Ok(found);
        }
        after = rows.last().map(|row| (row.agent_id.clone(), row.seq));
    }
}

fn notice(view: &mut View<'_>, row: &NoticeRow) -> Result<Option<&'static str>, StoreError> {
    let events = view.events(&row.agent_id, row.seq.saturating_sub(1), 1)?;
    let Some(event) = events.first().filter(|event| event.seq == row.seq) else {
        return Ok(Some("agent_outbox.seq"));
    };
    let told = match event.run_key {
        None => Some(AgentNotice::agent_changed(&row.agent_id)),
        Some(run) => {
            let run = view.run(&run)?;
            run.map(|run| AgentNotice::run_ended(&row.agent_id, &run.run_key, run.status))
        }
    };
    Ok(if event.at != row.at {
        Some("agent_outbox.at_ms")
    } else if told.as_ref() != Some(&row.notice) {
        Some("agent_outbox.body")
    } else {
        None
    })
}

/// Compares deliveries with their messages. A delivery that is removed too early is still recognized by the
/// key of its message.
pub(super) async fn deliveries(store: &Store) -> Result<Vec<AuditFinding>, EngineError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.read(move |view| {
            let rows = view.deliveries(after.as_ref(), PAGE)?;
            let columns = rows.iter().map(|row| delivery(view, row));
            let columns = columns.collect::<Result<Vec<_>, StoreError>>()?;
            Ok((rows, columns))
        });
        let (rows, columns) = page.await?;
        let wrong = rows.iter().zip(columns);
        found.extend(wrong.filter_map(|(row, column)| {
            let what = "does not match the delivery in its message";
            let key = format!("{} {}", row.trigger_id, row.delivery);
            column.map(|column| AuditFinding::new(column, &key, what))
        }));
        if rows.len() < PAGE as usize {
            return Ok(found);
        }
        after = rows.into_iter().last();
    }
}

fn delivery(view: &mut View<'_>, row: &DeliveryRow) -> Result<Option<&'static str>, StoreError> {
    let Some(trigger) = view.trigger(&row.trigger_id)? else {
        return Ok(Some("external_trigger_delivery.external_trigger_id"));
    };
    let (kind, source) = (RunKeySourceKind::Trigger, row.delivery.as_str());
    let run = RunKey::of(trigger.agent_id.as_str(), &RunKeySource::Source { kind, source });
    let message = view.message(&run)?;
    Ok(match message {
        None => Some("external_trigger_delivery.delivery_id"),
        Some(message) if message.admitted_at != row.at => Some("external_trigger_delivery.at_ms"),
        Some(_) => None,
    })
}
