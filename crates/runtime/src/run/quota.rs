//! Counts the uses of tools with a quota or a rate. Quotas are counted before the machine plans or intends
//! actions, and again in the transaction of the intents, because other runs of the agent use the same quotas.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::rate::{RATE_WINDOW_MS, RateReads};
use wakeful_core::run::{RunInput, RunPhase};
use wakeful_core::step::ActionStatus;
use wakeful_core::time::Millis;
use wakeful_core::tool::quota::QUOTA_DAY_MS;
use wakeful_core::tool::{QuotaReads, QuotaUse, ToolQuota};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, ToolUseElsewhere, ToolUseQuery, View};

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
        let tools = tools_of(claimed, input);
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

    /// The rates of the tools that the reply or the plan uses. The run's own calls are in its state; the database is
    /// read only for the first call of a tool, and for one after a minute without a call.
    pub(super) async fn rates(
        &self,
        claimed: &ClaimedRun,
        input: &RunInput,
    ) -> Result<Option<RateReads>, EngineError> {
        let per_minute = self.defaults.tool_calls_per_minute;
        let tools = tools_of(claimed, input);
        if per_minute == 0 || tools.is_empty() {
            return Ok(None);
        }
        let mut reads = RateReads {
            per_minute,
            now: self.clock.now(),
            elsewhere: BTreeMap::new(),
        };
        let is_unknown = |tool: &&str| {
            let window = claimed.machine.tool_rates.get(*tool);
            window.is_none_or(|window| window.is_over(reads.now_ms()))
        };
        let unknown: Vec<String> = tools.into_iter().filter(is_unknown).map(str::to_owned).collect();
        if unknown.is_empty() {
            return Ok(Some(reads));
        }
        let (agent_id, run_key) = (claimed.row.agent_id.clone(), claimed.run_key());
        let since = Millis(reads.now.0.saturating_sub(RATE_WINDOW_MS.cast_signed()));
        let counted = self.store.read(move |view| {
            let mut elsewhere = BTreeMap::new();
            for tool in unknown {
                let used = view.tool_use_elsewhere(ToolUseElsewhere {
                    agent_id: &agent_id,
                    tool: &tool,
                    run_key: &run_key,
                    since,
                })?;
                if used > 0 {
                    elsewhere.insert(tool, u32::try_from(used).unwrap_or(u32::MAX));
                }
            }
            Ok(elsewhere)
        });
        reads.elsewhere = counted.await?;
        Ok(Some(reads))
    }
}

/// The tools of a reply, or of the plan that is performed.
fn tools_of<'a>(claimed: &'a ClaimedRun, input: &'a RunInput) -> BTreeSet<&'a str> {
    match (input, &claimed.machine.phase) {
        (RunInput::Replied(reply), _) => reply.calls.iter().map(|call| call.parts.tool.as_str()).collect(),
        (_, RunPhase::Acting { actions, .. }) => {
            let open = actions
                .iter()
                .filter(|action| !matches!(action.fate, ActionStatus::Settled(_)));
            open.map(|action| action.tool.as_str()).collect()
        }
        (_, RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. }) => BTreeSet::new(),
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
