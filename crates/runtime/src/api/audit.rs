//! Audit entries: listing and reading them.

use std::sync::Arc;

use wakeful_core::audit::{AuditEntry, AuditFilter, AuditPosition};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::tool::ToolInvocation;
use wakeful_store::{AuditScope, StoreError, View};

use super::shared::Shared;
use crate::{EngineError, stored_run};

/// Maximum number of entries that one request examines. A client continues after the last of them.
const ENTRIES_EXAMINED_MAX: usize = 20_000;

/// Entries read at once.
const CHUNK: u32 = 1_000;

/// Which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    pub agent_id: Option<AgentId>,
    pub run_key: Option<RunKey>,
    pub filter: AuditFilter,
    /// Only entries that follow this position in the list.
    pub after: Option<AuditPosition>,
    pub limit: u32,
}

/// A page of entries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// Where the next page starts; none on the last page.
    pub next: Option<AuditPosition>,
}

pub struct AuditApi {
    pub(super) shared: Arc<Shared>,
}

impl AuditApi {
    /// Lists entries, newest first. A page may be shorter than its limit, because a request examines a limited
    /// number of entries.
    pub async fn list(&self, query: AuditQuery) -> Result<AuditPage, EngineError> {
        let agent = match (&query.run_key, &query.agent_id) {
            (Some(run), _) => Some(self.agent_of(*run).await?),
            (None, agent) => agent.clone(),
        };
        let Some(agent) = agent else {
            let read = self
                .shared
                .store
                .read(move |view| page(view, AuditScope::All, &query));
            return Ok(read.await?);
        };
        if query.agent_id.as_ref().is_some_and(|wanted| *wanted != agent) {
            return Ok(AuditPage::default());
        }
        let list = move |view: &mut View<'_>, agent: &AgentId| match &query.run_key {
            Some(run) => page(view, AuditScope::Run(agent, run), &query),
            None => page(view, AuditScope::Agent(agent), &query),
        };
        self.shared.of_agent(agent, list).await
    }

    /// Returns the entry of an event, and the record of its tool call once the call has ended.
    pub async fn get(
        &self,
        agent: AgentId,
        seq: u64,
    ) -> Result<Option<(AuditEntry, Option<ToolInvocation>)>, EngineError> {
        let found = self.shared.of_agent(agent, move |view, agent| {
            view.audit_entries_between(agent, seq.saturating_sub(1), seq, 1)
        });
        let Some(entry) = found.await?.pop() else {
            return Ok(None);
        };
        let (Some(run), Some(operation)) = (entry.run_key, entry.content.operation_id) else {
            return Ok(Some((entry, None)));
        };
        let run = stored_run::load(&self.shared.store, run).await?;
        let mut steps = run.steps.iter();
        let step = steps.find(|step| step.operation_id == operation);
        let invocation = step.and_then(|step| run.invocation(step));
        Ok(Some((entry, invocation)))
    }

    async fn agent_of(&self, run: RunKey) -> Result<AgentId, EngineError> {
        let row = self.shared.store.read(move |view| view.run(&run)).await?;
        row.map(|row| row.agent_id).ok_or(EngineError::UnknownRun(run))
    }
}

fn page(view: &mut View<'_>, scope: AuditScope<'_>, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    let wanted = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut place = match &query.after {
        Some(after) => after.clone(),
        None => AuditPosition::newest(query.filter.until),
    };
    let (mut entries, mut examined): (Vec<AuditEntry>, usize) = (Vec::new(), 0);
    while examined < ENTRIES_EXAMINED_MAX {
        let chunk = view.audit_entries(scope, &place, CHUNK)?;
        if chunk.is_empty() {
            return Ok(AuditPage { entries, next: None });
        }
        for entry in chunk {
            // In the list of all agents, every later entry is older.
            let is_end = query.filter.since.is_some_and(|since| entry.at < since);
            if is_end && matches!(scope, AuditScope::All) {
                return Ok(AuditPage { entries, next: None });
            }
            if query.filter.selects(&entry) {
                if entries.len() == wanted {
                    return Ok(AuditPage {
                        entries,
                        next: Some(place),
                    });
                }
                place = AuditPosition::after(&entry);
                entries.push(entry);
            } else {
                place = AuditPosition::after(&entry);
            }
            examined += 1;
        }
    }
    Ok(AuditPage {
        entries,
        next: Some(place),
    })
}
