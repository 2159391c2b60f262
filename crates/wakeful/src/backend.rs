//! The API as the commands of this program call it: at the home's daemon, or in this process where none runs.

mod budget;
mod decisions;
mod erasure;
pub(crate) mod in_process;
pub(crate) mod journal;
pub(crate) mod reasons;
mod schedules;
mod sources;
pub(crate) mod stops;
mod subscriptions;

use wakeful_api::client::{Client, ClientError};
use wakeful_api::{
    Accepted, AgentList, AgentState, AgentStatus, CreateAgent, EventPage, Queued, Run, RunList, RunState,
    SendMessage, Transcript,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::wake::Control;
use wakeful_runtime::desk::NewAgent;
use wakeful_runtime::problem::Problem;
use wakeful_server::view;
use wakeful_store::rows::Visibility;

pub(crate) use self::decisions::{Standing, by_a_person};
use self::stops::CancelAnswer;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::place::{Place, reading};
use crate::reach::daemon;
use crate::show::Out;

/// The API of a home.
pub(crate) struct Backend {
    pub(crate) client: Client,
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs {
    pub(crate) agent: Option<AgentId>,
    pub(crate) state: RunState,
    pub(crate) limit: u32,
}

/// For commands that only read. Without a daemon the databases are opened read-only: no lock, nothing is created.
pub(crate) async fn read<T>(
    shared: &GlobalArgs,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    reading(shared, async |store| {
        command(&Backend::of_store(store, shared)?).await
    })
    .await
}

/// For commands that write. Without a daemon the home is locked, and created where it does not exist.
pub(crate) async fn write<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    write_in_process(Place::open_for_writing(shared).await?, out, command).await
}

/// For commands that write to a home that exists: without a daemon it is locked, and never created.
pub(crate) async fn write_existing<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if shared.database().is_none() {
        Home::open(&shared.home()?)?;
    }
    write(shared, out, command).await
}

/// For commands that must not wait for another process that works in the home, such as an answer or a brake: without a
/// daemon they write beside the holder of the lock, which reads the row before its next effect.
pub(crate) async fn write_unlocked<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    write_in_process(Place::open_beside(shared).await?, out, command).await
}

async fn write_in_process<T>(
    place: Place,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    place
        .work(out, async |place| command(&Backend::of_place(place)?).await)
        .await
}

impl Backend {
    /// Whether a daemon answers. Without one nothing that is queued begins.
    pub(crate) const fn is_daemon(&self) -> bool {
        self.client.is_daemon()
    }

    /// Agents by name; private ones only when asked for.
    pub(crate) async fn agents(&self, all: bool) -> Result<Vec<AgentStatus>, Failure> {
        let list: AgentList = self
            .client
            .get(&format!("/api/agents?with_private={all}"))
            .await?;
        Ok(list.agents)
    }

    pub(crate) async fn agent(&self, agent: AgentId) -> Result<AgentStatus, Failure> {
        Ok(self.client.get(&format!("/api/agents/{agent}/status")).await?)
    }

    /// Makes an agent whose workspace was looked at.
    pub(crate) async fn create_agent(&self, new: NewAgent) -> Result<AgentStatus, Failure> {
        let new = CreateAgent {
            agent_id: new.agent_id.to_string(),
            workspace: Some(new.workspace),
            visibility: match new.visibility {
                Visibility::Public => wakeful_api::Visibility::Public,
                Visibility::Private => wakeful_api::Visibility::Private,
            },
            mode: Some(view::mode(new.mode)),
        };
        Ok(self.client.post("/api/agents", &new).await?)
    }

    /// Pauses, stops or resumes an agent.
    pub(crate) async fn set_control(&self, agent: AgentId, control: Control) -> Result<AgentStatus, Failure> {
        let verb = match control {
            Control::Paused => "pause",
            Control::Running => "resume",
            Control::Stopped => "stop",
        };
        Ok(self
            .client
            .post(&format!("/api/agents/{agent}/{verb}"), &())
            .await?)
    }

    /// Puts a message into an agent's queue.
    pub(crate) async fn send(&self, agent: AgentId, message: SendMessage) -> Result<Accepted, Failure> {
        Ok(self
            .client
            .post(&format!("/api/agents/{agent}/messages"), &message)
            .await?)
    }

    /// Runs, newest first.
    pub(crate) async fn runs(&self, runs: Runs) -> Result<RunList, Failure> {
        let Runs { agent, state, limit } = runs;
        let of_agent = agent
            .map(|agent| format!("&agent_id={agent}"))
            .unwrap_or_default();
        Ok(self
            .client
            .get(&format!(
                "/api/runs?state={}&limit={limit}{of_agent}",
                state.as_str()
            ))
            .await?)
    }

    /// Messages of an agent that wait, next first.
    pub(crate) async fn queue(&self, agent: AgentId) -> Result<Vec<Queued>, Failure> {
        let state: AgentState = self.client.get(&format!("/api/agents/{agent}/state")).await?;
        Ok(state.queue)
    }

    /// A run with everything that happened in it.
    pub(crate) async fn run(&self, run: RunKey) -> Result<Run, Failure> {
        Ok(self.client.get(&format!("/api/runs/{run}")).await?)
    }

    /// Asks the daemon for the end of a run, or takes its message out of the queue.
    pub(crate) async fn cancel(&self, run: RunKey) -> Result<CancelAnswer, Failure> {
        Ok(self.client.post(&format!("/api/runs/{run}/cancel"), &()).await?)
    }

    /// Finds a run by the first digits of its key.
    pub(crate) async fn find_run(&self, given: &str) -> Result<RunKey, Failure> {
        let hex = given.to_ascii_lowercase();
        if hex.is_empty() || hex.len() > 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            let message = format!("{given:?} is no run key");
            let hint = "`wakeful runs list` shows the keys; the first digits are enough";
            return Err(Failure::usage("bad_run_key", message, hint));
        }
        if let Some(digest) = Digest::from_hex(&hex) {
            return Ok(RunKey(digest));
        }
        let found = {
            let list: RunList = self.client.get(&format!("/api/runs?prefix={hex}")).await?;
            let keys = list.runs.iter().filter_map(|run| Digest::from_hex(&run.run_key));
            keys.map(RunKey).collect::<Vec<_>>()
        };
        match found.as_slice() {
            [run] => Ok(*run),
            [] => Err(Failure::new(
                "run_unknown",
                format!("no run begins with {hex}"),
                "`wakeful runs list` shows the runs there are",
            )),
            _ => Err(Failure::usage(
                "run_ambiguous",
                format!("several runs begin with {hex}"),
                "give more digits",
            )),
        }
    }

    /// The newest lines of a conversation.
    pub(crate) async fn transcript(&self, agent: AgentId, limit: u32) -> Result<Transcript, Failure> {
        Ok(self
            .client
            .get(&format!("/api/agents/{agent}/transcript?limit={limit}"))
            .await?)
    }

    /// Events of an agent after a number, oldest first.
    pub(crate) async fn events(
        &self,
        agent: AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<EventPage, Failure> {
        let path = format!("/api/agents/{agent}/events?after_seq={after_seq}&limit={limit}");
        Ok(self.client.get(&path).await?)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused { problem, .. } => {
                let wakeful_api::Problem { code, message, hint } = problem;
                let failure: Self = Problem { code, message, hint }.into();
                match failure.code() {
                    "stopping" => {
                        failure.hinting("call again when it has ended, or `wakeful daemon restart`")
                    }
                    _ => failure,
                }
            }
            ClientError::Unreachable(_) => Self::new(
                "daemon_unreachable",
                message,
                "`wakeful daemon status` tells how it stands, `wakeful daemon restart` begins anew",
            ),
            ClientError::Malformed(_) => Self::new(
                "daemon_incomprehensible",
                message,
                "program and daemon may be of different versions: `wakeful daemon restart`",
            ),
        }
    }
}
