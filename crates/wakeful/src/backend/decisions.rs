//! Questions, brakes and runs that stand aside, at the daemon or in the database.

use wakeful_api::{
    self as api, AnswerDecision, Brake, BrakeList, Decision, DecisionList, ReleaseBrake, Run, RuntimeStatus,
    SetBrake,
};
use wakeful_core::decision::{Channel, Reply};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_runtime::desk::{Arguments, Deciding as _};
use wakeful_runtime::problem::Problem;
use wakeful_server::view;
use wakeful_tools::descent;

use super::Front;
use crate::failure::Failure;

/// By which way an answer comes that is given in this process.
pub(super) const CHANNEL: Channel = Channel::Cli;

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

impl Front {
    /// What is held, and what waits for a person.
    pub(crate) async fn standing(&self) -> Result<Standing, Failure> {
        match self {
            Self::Daemon(client) => {
                let status: RuntimeStatus = client.get("/api/runtime/status").await?;
                Ok(Standing::from(&status))
            }
            Self::Here(clerk) => {
                let (brakes, owed) = (clerk.brakes().await?, clerk.owed().await?);
                Ok(Standing {
                    brakes: view::brakes(&brakes, &clerk.pending_stops()).brakes,
                    pending_decisions: owed.pending_decisions,
                    quarantined_runs: owed.quarantined_runs,
                })
            }
        }
    }

    /// Questions in the order in which people should see them.
    pub(crate) async fn decisions(&self, pending_only: bool) -> Result<DecisionList, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .get(&format!("/api/decisions?pending={pending_only}"))
                .await?),
            Self::Here(clerk) => {
                let (found, owed) = (clerk.decisions(pending_only).await?, clerk.owed().await?);
                Ok(view::decisions(&found, owed))
            }
        }
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
        match self {
            Self::Daemon(client) => Ok(client.get(&format!("/api/decisions/{name}")).await?),
            Self::Here(clerk) => {
                let found = clerk.decision(name).await?;
                let told = clerk.announcements(found.inquiry.decision_id).await?;
                let arguments = clerk.arguments(found.clone()).await?;
                Ok(view::decision(&found, &arguments, &told))
            }
        }
    }

    /// By which way an answer comes that is given now.
    pub(crate) const fn channel(&self) -> api::Channel {
        match self {
            Self::Daemon(_) => api::Channel::Api,
            Self::Here(_) => api::Channel::Cli,
        }
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, given: &str, answer: AnswerDecision) -> Result<Decision, Failure> {
        let name = name(given)?;
        match self {
            Self::Daemon(client) => Ok(client
                .post(&format!("/api/decisions/{name}/answer"), &answer)
                .await?),
            Self::Here(clerk) => {
                let reply = Reply {
                    option: answer.option,
                    version: answer.version,
                    channel: CHANNEL,
                    note: answer.note,
                };
                let answered = clerk.answer(name, reply).await?;
                // It stands, whether or not all that it is about can be read.
                let arguments = clerk.arguments(answered.clone()).await;
                let arguments = arguments.unwrap_or_else(|_| Arguments::of_record(&answered));
                Ok(view::decision(&answered, &arguments, &[]))
            }
        }
    }

    /// The brakes that are on.
    pub(crate) async fn brakes(&self) -> Result<BrakeList, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get("/api/brake").await?),
            Self::Here(clerk) => {
                let brakes = clerk.brakes().await?;
                Ok(view::brakes(&brakes, &clerk.pending_stops()))
            }
        }
    }

    /// Sets a brake on one agent or on all.
    pub(crate) async fn brake(
        &self,
        agent: Option<AgentId>,
        reason: Option<String>,
    ) -> Result<BrakeList, Failure> {
        match self {
            Self::Daemon(client) => {
                let agent_id = agent.map(|agent| agent.to_string());
                Ok(client.post("/api/brake", &SetBrake { agent_id, reason }).await?)
            }
            Self::Here(clerk) => {
                let reason = reason.unwrap_or_default();
                let brakes = clerk.brake(agent, reason, CHANNEL).await?;
                Ok(view::brakes(&brakes, &clerk.pending_stops()))
            }
        }
    }

    /// Releases a brake.
    pub(crate) async fn release(&self, agent: Option<AgentId>) -> Result<BrakeList, Failure> {
        match self {
            Self::Daemon(client) => {
                let agent_id = agent.map(|agent| agent.to_string());
                Ok(client
                    .post("/api/brake/release", &ReleaseBrake { agent_id })
                    .await?)
            }
            Self::Here(clerk) => {
                let brakes = clerk.release(agent, CHANNEL).await?;
                Ok(view::brakes(&brakes, &clerk.pending_stops()))
            }
        }
    }

    /// Lets a run that stands aside go on where it stood.
    pub(crate) async fn retry(&self, run: RunKey) -> Result<Run, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/runs/{run}/retry"), &()).await?),
            Self::Here(clerk) => Ok(view::run(&clerk.retry(run).await?)),
        }
    }

    /// Ends a run that stands aside.
    pub(crate) async fn abandon(&self, run: RunKey) -> Result<Run, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/runs/{run}/abandon"), &()).await?),
            Self::Here(clerk) => Ok(view::run(&clerk.abandon(run).await?)),
        }
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

/// What somebody typed, if it can be the beginning of a question's name.
fn name(given: &str) -> Result<String, Failure> {
    let hex = given.to_ascii_lowercase();
    if (1..=64).contains(&hex.len()) && hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(hex);
    }
    let message = format!("{given:?} is no name of a decision");
    let hint = "`wakeful decision list` shows them; the first digits are enough";
    Err(Failure::usage("bad_decision_id", message, hint))
}
