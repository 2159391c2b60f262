//! Decisions that wait, and who may answer them.

use wakeful_api::{Brake, Channel, Decision, Hex, ListDecisions, RuntimeStatus};
use wakeful_core::key::RunKey;
use wakeful_runtime::problem::descends_from_tool;
use wakeful_tools::process_ancestry;

use super::Backend;
use crate::failure::Failure;

/// What a person has to know before anything else: what is held, and what waits for them.
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
    /// The questions of a run that wait for an answer.
    pub(crate) async fn decisions_of(&self, run: RunKey) -> Result<Vec<Decision>, Failure> {
        let pending = self.call(ListDecisions { pending: true }).await?.decisions;
        let key = run.to_string();
        Ok(pending.into_iter().filter(|one| one.run_key == key).collect())
    }

    /// By which way an answer comes that is given now.
    pub(crate) const fn channel(&self) -> Channel {
        if self.is_daemon() {
            Channel::Api
        } else {
            Channel::Cli
        }
    }
}

/// Refuses what only people do where an agent's tool started this process: before the home is looked at, which a tool may
/// not reach anyway.
pub(crate) fn refuse_tool_process() -> Result<(), Failure> {
    if process_ancestry::is_own() {
        return Err(descends_from_tool().into());
    }
    Ok(())
}

/// The given id, if it can be the beginning of a decision id.
pub(crate) fn decision_id(given: &str) -> Result<Hex<1, 64>, Failure> {
    Hex::try_from(given.to_ascii_lowercase()).map_err(|_| {
        let message = format!("{given:?} is no name of a decision");
        let hint = "`wakeful decision list` shows them; the first digits are enough";
        Failure::usage("bad_decision_id", message, hint)
    })
}
