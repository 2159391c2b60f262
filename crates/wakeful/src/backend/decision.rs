//! Pending decisions, and the channels that may answer them.

use wakeful_api::{Brake, Channel, Decision, Hex, ListDecisions, RuntimeStatus};
use wakeful_core::key::RunKey;
use wakeful_runtime::problem::caller_is_tool_process;
use wakeful_tools::process_ancestry;

use super::Backend;
use crate::failure::Failure;

/// What needs the operator's attention first: active brakes and pending decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttentionSummary {
    pub(crate) brakes: Vec<Brake>,
    pub(crate) pending_decisions: u64,
    pub(crate) quarantined_runs: u64,
}

impl From<&RuntimeStatus> for AttentionSummary {
    fn from(status: &RuntimeStatus) -> Self {
        Self {
            brakes: status.brakes.clone(),
            pending_decisions: status.pending_decision_count,
            quarantined_runs: status.quarantined_run_count,
        }
    }
}

impl Backend {
    /// The pending decisions of a run.
    pub(crate) async fn decisions_of(&self, run: RunKey) -> Result<Vec<Decision>, Failure> {
        let pending = self.call(ListDecisions { pending: true }).await?.decisions;
        let key = run.to_string();
        Ok(pending.into_iter().filter(|one| one.run_key == key).collect())
    }

    /// The channel that an answer through this backend is recorded with.
    pub(crate) const fn channel(&self) -> Channel {
        if self.client.is_network() {
            Channel::Api
        } else {
            Channel::Cli
        }
    }
}

/// Refuses operator-only commands in a process that an agent's tool started. The check comes before the
/// home is opened, because a tool may not access the home.
pub(crate) fn refuse_tool_process() -> Result<(), Failure> {
    if process_ancestry::is_own() {
        return Err(caller_is_tool_process().into());
    }
    Ok(())
}

/// Checks that the given text can be a prefix of a decision id.
pub(crate) fn decision_id(given: &str) -> Result<Hex<1, 64>, Failure> {
    Hex::try_from(given.to_ascii_lowercase()).map_err(|_| {
        let message = format!("invalid decision id {given:?}");
        let hint = "`wakeful decision list` shows the ids; a unique prefix is enough";
        Failure::usage("bad_id", message, hint)
    })
}
