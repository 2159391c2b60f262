//! HTTP endpoints for what needs a person.

use wakeful_api::{AttentionItem, AttentionList, DismissAttention, ListAttention};
use wakeful_core::attention::FailureGroup;
use wakeful_runtime::api::ListedRun;

use crate::error::ApiError;
use crate::extract::SEE_DOCUMENT;
use crate::route::{Call, Routes};
use crate::view;

/// Maximum number of decisions and of stuck agents in the list.
const ITEMS_MAX: usize = 100;

/// Maximum number of runs that one request dismisses.
const RUN_KEYS_MAX: usize = 500;

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(dismiss)
}

async fn list(call: Call, _: ListAttention) -> Result<AttentionList, ApiError> {
    read(&call).await
}

async fn dismiss(call: Call, asked: DismissAttention) -> Result<AttentionList, ApiError> {
    if !(1..=RUN_KEYS_MAX).contains(&asked.run_keys.len()) {
        let message = format!("run_keys: must have 1 to {RUN_KEYS_MAX} keys");
        return Err(ApiError::bad("bad_field", message, SEE_DOCUMENT));
    }
    let runs = asked.run_keys.into_iter().map(|run| run.0).collect();
    call.runtime()?.attention.dismiss(runs).await?;
    read(&call).await
}

async fn read(call: &Call) -> Result<AttentionList, ApiError> {
    let open = call.open()?;
    let decisions = open.runtime.decisions.list(true).await?;
    let found = open.runtime.attention.list().await?;
    let backlog = open.runtime.decisions.human_backlog().await?;
    let stuck = open.stuck.all();
    let pending = view::decisions(&decisions, backlog).decisions.into_iter();
    let pending: Vec<AttentionItem> = pending
        .take(ITEMS_MAX)
        .map(|decision| AttentionItem::PendingDecision {
            decision: Box::new(decision),
        })
        .collect();
    let shown = u64::try_from(pending.len()).unwrap_or(u64::MAX);
    let more = found.more + backlog.pending_decisions.saturating_sub(shown);
    let mut items = pending;
    items.extend(found.quarantined.iter().map(|run| AttentionItem::QuarantinedRun {
        run: Box::new(view::run_line(run)),
    }));
    items.extend(found.parked.iter().map(|run| AttentionItem::ParkedRun {
        run: Box::new(view::run_line(run)),
        parked: view::parked_reason(run),
    }));
    // A parked run is listed itself, so its agent is not listed again.
    let is_parked = |agent: &str| {
        let mut parked = found.parked.iter();
        parked.any(|run: &ListedRun| run.row.agent_id.as_str() == agent)
    };
    let stuck = stuck.iter().filter(|(agent, _)| !is_parked(agent.as_str()));
    items.extend(
        stuck
            .take(ITEMS_MAX)
            .map(|(agent, error)| AttentionItem::StuckAgent {
                agent: view::stuck(agent, error),
            }),
    );
    items.extend(found.unknown.iter().map(|run| AttentionItem::UnknownOutcome {
        run: Box::new(view::run_line(run)),
    }));
    items.extend(found.failed.iter().map(failed));
    Ok(AttentionList { items, more })
}

fn failed(group: &FailureGroup) -> AttentionItem {
    AttentionItem::FailedRuns {
        agent_id: group.agent_id.to_string(),
        code: group.explanation.code.clone(),
        message: group.explanation.message.clone(),
        next_steps: group.explanation.next_steps.clone(),
        count: group.count,
        run_keys: group.run_keys.iter().map(ToString::to_string).collect(),
        first_at: group.first_at.rfc3339(),
        last_at: group.last_at.rfc3339(),
        preview: group.preview.clone(),
    }
}
