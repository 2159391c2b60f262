//! Decisions, brakes and quarantined runs.

use wakeful_api::{
    self as api, AnswerDecision, Brake, BrakeList, Decision, DecisionList, ReleaseBrake, Run, RuntimeStatus,
    SetBrake,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_runtime::problem::Problem;
use wakeful_tools::descent;

use super::Backend;
use crate::failure::Failure;

/// What a person has to know before anything else: what is held, and what waits for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) brakes: Vec<Brake>,
    pub(crate) pending_decisions: u64,
    pub(crate) quarantined_runs: u64,
}

impl From<&RuntimeStatus> for Standing {
    fn from(status: &RuntimeStatus) -> Self {
        Self {
            brakes: status.brakes.clone(),
            pending_decisions: status.pending_decision_count,
            quarantined_runs: status.quarantined_run_count,
        }
    }
}

impl Backend {
    /// Questions in the order in which people should see them.
    pub(crate) async fn decisions(&self, pending_only: bool) -> Result<DecisionList, Failure> {
        Ok(self
            .client
            .get(&format!("/api/decisions?pending={pending_only}"))
            .await?)
    }

    /// The questions of a run that wait for an answer.
    pub(crate) async fn decisions_of(&self, run: RunKey) -> Result<Vec<Decision>, Failure> {
        let (mut pending, key) = (self.decisions(true).await?.decisions, run.to_string());
        pending.retain(|one| one.run_key == key);
        Ok(pending)
    }

    /// One question, by its name or the first digits of it.
    pub(crate) async fn decision(&self, given: &str) -> Result<Decision, Failure> {
        let name = name(given)?;
        Ok(self.client.get(&format!("/api/decisions/{name}")).await?)
    }

    /// By which way an answer comes that is given now.
    pub(crate) const fn channel(&self) -> api::Channel {
        if self.is_daemon() {
            api::Channel::Api
        } else {
            api::Channel::Cli
        }
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, given: &str, answer: AnswerDecision) -> Result<Decision, Failure> {
        let name = name(given)?;
        Ok(self
            .client
            .post(&format!("/api/decisions/{name}/answer"), &answer)
            .await?)
    }

    /// The brakes that are on.
    pub(crate) async fn brakes(&self) -> Result<BrakeList, Failure> {
        Ok(self.client.get("/api/brake").await?)
    }

    /// Sets a brake on one agent or on all.
    pub(crate) async fn brake(
        &self,
        agent: Option<AgentId>,
        reason: Option<String>,
    ) -> Result<BrakeList, Failure> {
        let agent_id = agent.map(|agent| agent.to_string());
        Ok(self
            .client
            .post("/api/brake", &SetBrake { agent_id, reason })
            .await?)
    }

    /// Releases a brake.
    pub(crate) async fn release(&self, agent: Option<AgentId>) -> Result<BrakeList, Failure> {
        let agent_id = agent.map(|agent| agent.to_string());
        Ok(self
            .client
            .post("/api/brake/release", &ReleaseBrake { agent_id })
            .await?)
    }

    /// Resumes a quarantined run.
    pub(crate) async fn retry(&self, run: RunKey) -> Result<Run, Failure> {
        Ok(self.client.post(&format!("/api/runs/{run}/retry"), &()).await?)
    }

    /// Abandons a quarantined run.
    pub(crate) async fn abandon(&self, run: RunKey) -> Result<Run, Failure> {
        Ok(self.client.post(&format!("/api/runs/{run}/abandon"), &()).await?)
    }
}

/// Refuses what only people do where an agent's tool started this process: before the home is looked at, which a tool may
/// not reach anyway.
pub(crate) fn by_a_person() -> Result<(), Failure> {
    if descent::is_own() {
        return Err(Problem::descends_from_tool().into());
    }
    Ok(())
}

/// The given id, if it can be the beginning of a decision id.
fn name(given: &str) -> Result<String, Failure> {
    let hex = given.to_ascii_lowercase();
    if (1..=64).contains(&hex.len()) && hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(hex);
    }
    let message = format!("{given:?} is no name of a decision");
    let hint = "`wakeful decision list` shows them; the first digits are enough";
    Err(Failure::usage("bad_decision_id", message, hint))
}
