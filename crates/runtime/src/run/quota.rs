//! Counts the uses of tools with a quota: before the machine plans or intends actions, and again in the
//! transaction of the intents, because other runs of the agent use the same quotas.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::run::{RunInput, RunPhase};
use wakeful_core::time::Millis;
use wakeful_core::tool::quota::QUOTA_DAY_MS;
use wakeful_core::tool::{QuotaReads, QuotaUse, ToolQuota};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, ToolUseQuery, View};

use super::ClaimedRun;
use crate::{Engine, EngineError};

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The quotas of the tools that the reply or the plan uses. Without a quota nothing is read.
    pub(super) async fn quotas(
        &self,
        claimed: &ClaimedRun,
        input: &RunInput,
    ) -> Result<BTreeMap<String, QuotaReads>, EngineError> {
        let quotas = &claimed.settings.tool_quotas;
        if quotas.is_empty() {
            return Ok(BTreeMap::new());
        }
        let tools: BTreeSet<&str> = match (input, &claimed.machine.phase) {
            (RunInput::Replied(reply), _) => {
                reply.calls.iter().map(|call| call.parts.tool.as_str()).collect()
            }
            (_, RunPhase::Acting { actions, .. }) => {
                actions.iter().map(|action| action.tool.as_str()).collect()
            }
            (_, RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. }) => {
                BTreeSet::new()
            }
        };
        let wanted = quotas.iter().filter(|(tool, _)| tools.contains(tool.as_str()));
        let wanted: Vec<(String, ToolQuota)> = wanted.map(|(tool, quota)| (tool.clone(), *quota)).collect();
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let run = claimed.row.clone();
        let since = Millis(self.clock.now().0.saturating_sub(QUOTA_DAY_MS));
        let read = self.store.read(move |view| {
            let mut reads = BTreeMap::new();
            for (tool, quota) in wanted {
                let mut counted = QuotaReads {
                    quota,
                    used: QuotaUse::default(),
                    since,
                };
                counted.used = count(view, &run, &tool, &counted)?;
                reads.insert(tool, counted);
            }
            Ok(reads)
        });
        Ok(read.await?)
    }
}

/// Whether one of these tools was used since its uses were counted.
pub(super) fn is_used_since(
    view: &mut View<'_>,
    run: &RunRow,
    quotas: &BTreeMap<String, QuotaReads>,
) -> Result<bool, StoreError> {
    for (tool, reads) in quotas {
        if count(view, run, tool, reads)? != reads.used {
            return Ok(true);
        }
    }
    Ok(false)
}

fn count(view: &mut View<'_>, run: &RunRow, tool: &str, reads: &QuotaReads) -> Result<QuotaUse, StoreError> {
    view.tool_use(ToolUseQuery {
        agent_id: &run.agent_id,
        tool,
        // The runs of a session without a limit are not read.
        thread: reads.quota.max_per_session.map(|_| &run.thread_id),
        since: reads.since,
    })
}
