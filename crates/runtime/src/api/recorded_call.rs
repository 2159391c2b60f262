//! What a recorded call of a run was judged on, for its explanation.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::{Payload, PolicyDecided};
use wakeful_store::rows::EventRow;
use wakeful_store::{StoreError, View};

use super::RunApi;
use crate::EngineError;
use crate::sub_run::settings_of_run;

/// Events read at once.
const EVENTS_PAGE: u32 = 500;

/// What a recorded call was judged on.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The agent's settings as they apply to the run now: its sandbox is restricted by the runs above it.
    pub settings: AgentSettings,
    /// The newest verdict in the log; none if it was erased or deleted.
    pub verdict: Option<LoggedVerdict>,
}

/// A verdict in the log, with the policy version under which it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedVerdict {
    pub decided: PolicyDecided,
    pub policy_version: String,
}

impl RunApi {
    /// Reads what a call of a run was judged on.
    pub async fn recorded_call(
        &self,
        run: RunKey,
        operation: OperationId,
    ) -> Result<RecordedCall, EngineError> {
        let found = self.shared.store.read(move |view| {
            let Some(row) = view.run(&run)? else {
                return Ok(None);
            };
            let Some(settings) = settings_of_run(view, &row.agent_id, &run)? else {
                return Ok(None);
            };
            let verdict = match view.run_span(&row.agent_id, &run)? {
                Some(span) => newest_verdict(view, &row.agent_id, span, operation)?,
                None => None,
            };
            Ok(Some(RecordedCall { settings, verdict }))
        });
        found.await?.ok_or(EngineError::UnknownRun(run))
    }
}

/// The newest verdict on an action between two events of its agent.
fn newest_verdict(
    view: &mut View<'_>,
    agent: &AgentId,
    span: (u64, u64),
    operation: OperationId,
) -> Result<Option<LoggedVerdict>, StoreError> {
    let (first, last) = span;
    let mut before = last.saturating_add(1);
    while before > first {
        let page = view.events_before(agent, before, EVENTS_PAGE)?;
        if let Some(found) = page.iter().find_map(|event| verdict_on(event, operation)) {
            return Ok(Some(found));
        }
        let Some(oldest) = page.last() else { break };
        before = oldest.seq;
    }
    Ok(None)
}

fn verdict_on(event: &EventRow, operation: OperationId) -> Option<LoggedVerdict> {
    if event.kind != EventKind::PolicyDecided.as_str() {
        return None;
    }
    let Payload::PolicyDecided(decided) = event.body()?.payload else {
        return None;
    };
    (decided.operation_id == operation).then(|| LoggedVerdict {
        decided,
        policy_version: event.policy_version.clone(),
    })
}
