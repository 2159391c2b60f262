//! HTTP handlers for audit entries.

use wakeful_api::{AuditDetail, AuditEntry, AuditList, GetAuditEntry, ListAuditEntries, SEQ_MAX};
use wakeful_core::audit::{self, AuditFilter};
use wakeful_core::id::PolicyVersion;
use wakeful_runtime::api::AuditQuery;

use crate::error::ApiError;
use crate::route::{Call, Routes};

/// Longest name of a tool in characters.
const TOOL_CHARS_MAX: usize = 200;

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(show)
}

async fn list(call: Call, asked: ListAuditEntries) -> Result<AuditList, ApiError> {
    let query = AuditQuery {
        agent_id: asked.agent_id.map(|agent| agent.0),
        run_key: asked.run_key.map(|run| run.0),
        filter: AuditFilter {
            tool: asked.tool.map(tool).transpose()?,
            decision: asked.decision,
            stage: asked.stage,
            since: asked.since.map(|since| since.0),
            until: asked.until.map(|until| until.0),
        },
        after: asked.cursor.map(|cursor| cursor.0),
        limit: asked.limit.0,
    };
    let page = call.runtime()?.audit.list(query).await?;
    Ok(AuditList {
        entries: page.entries.iter().map(entry).collect(),
        next_cursor: page.next.map(|next| next.to_string()),
    })
}

fn tool(name: String) -> Result<String, ApiError> {
    let length = name.chars().count();
    if (1..=TOOL_CHARS_MAX).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(name);
    }
    let message = format!("tool: use 1 to {TOOL_CHARS_MAX} characters without control characters");
    Err(ApiError::bad("bad_query", message, "use the name of a tool"))
}

async fn show(call: Call, asked: GetAuditEntry) -> Result<AuditDetail, ApiError> {
    let (agent, seq) = (asked.agent_id.0, asked.seq);
    if seq > SEQ_MAX {
        let message = format!("seq must be at most {SEQ_MAX}");
        return Err(ApiError::bad(
            "bad_query",
            message,
            "use the sequence number of an event",
        ));
    }
    let Some((found, invocation)) = call.runtime()?.audit.get(agent.clone(), seq).await? else {
        let message = format!("event {seq} of agent {agent} has no audit entry");
        let hint = "`wakeful audit list` shows the entries with their numbers";
        return Err(ApiError::unknown("audit_entry_unknown", message, hint));
    };
    Ok(AuditDetail {
        entry: entry(&found),
        invocation,
    })
}

fn entry(entry: &audit::AuditEntry) -> AuditEntry {
    let content = &entry.content;
    AuditEntry {
        agent_id: entry.agent_id.to_string(),
        seq: entry.seq,
        at: entry.at.rfc3339(),
        run_key: entry.run_key.map(|run| run.to_string()),
        operation_id: content.operation_id.map(|operation| operation.to_string()),
        tool: content.tool.clone(),
        decision: content.decision,
        stage: content.stage,
        rule: content.rule.clone(),
        reason: content.words().to_owned(),
        category: content.category,
        policy_version: entry
            .policy_version
            .as_ref()
            .map(PolicyVersion::as_str)
            .map(str::to_owned),
    }
}
