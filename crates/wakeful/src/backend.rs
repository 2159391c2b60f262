//! Where a verb asks: the daemon of the home if one runs, else the database itself. The answers are the same.

pub(crate) mod alert;
mod deciding;
pub(crate) mod journal;
mod ledger;
pub(crate) mod outside;
mod proof;
mod scheduling;
pub(crate) mod stopping;
pub(crate) mod why;

pub(crate) use self::deciding::{Standing, by_a_person};
use self::stopping::{CancelAnswer, pending_cancel};
use wakeful_api::client::{Client, ClientError};
use wakeful_api::{
    Accepted, Admission, AgentList, AgentState, AgentStatus, CreateAgent, Event, EventPage, Queued, Run,
    RunList, RunState, SendMessage, Transcript, TranscriptLine,
};
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::Wishes;
use wakeful_core::wake::Control;
use wakeful_ports::records::{RunFilter, Visibility};
use wakeful_runtime::Governance;
use wakeful_runtime::desk::{Cancelled, Clerk, Conversation, Desk as _, NewAgent, Post};
use wakeful_runtime::problem::Problem;
use wakeful_server::view::{self, Going};
use wakeful_store::Store;

use crate::cli::Shared;
use crate::failure::Failure;
use crate::home::Home;
use crate::place::{Place, governance, reading};
use crate::reach::daemon;
use crate::show::Out;
use crate::world::{RealClock, RealEntropy, fresh_id};

/// Messages that are shown of a queue: as many as a daemon tells.
const QUEUE_SHOWN: u32 = 50;

/// Where a verb asks.
pub(crate) enum Front {
    /// The daemon, over its API.
    Daemon(Client),
    /// The database, in this process.
    Here(Clerk<Store>),
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs {
    pub(crate) agent: Option<AgentId>,
    pub(crate) state: RunState,
    pub(crate) limit: u32,
}

/// For verbs that only look.
pub(crate) async fn asking<T>(
    shared: &Shared,
    look: impl AsyncFnOnce(&Front) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match daemon(shared).await? {
        Some(client) => look(&Front::Daemon(client)).await,
        None => {
            let governance = governance(&shared.home()?);
            reading(shared, async |store| look(&here(store, governance)).await).await
        }
    }
}

/// For verbs that change something.
pub(crate) async fn telling<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&Front) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match daemon(shared).await? {
        Some(client) => tell(&Front::Daemon(client)).await,
        None => {
            let place = Place::open_for_writing(shared).await?;
            place
                .work(out, async |place| {
                    tell(&here(&place.store, governance(place.home.root()))).await
                })
                .await
        }
    }
}

/// For verbs that change something that must be there already: where there is no home, none is made.
pub(crate) async fn telling_known<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&Front) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if shared.database().is_none() {
        Home::open(&shared.home()?)?;
    }
    telling(shared, out, tell).await
}

/// For the few words that must be heard at once, whoever works in the home: they are written beside it, and whoever
/// drives something looks for them.
pub(crate) async fn telling_beside<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&Front) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return tell(&Front::Daemon(client)).await;
    }
    let place = Place::open_beside(shared).await?;
    place
        .work(out, async |place| {
            tell(&here(&place.store, governance(place.home.root()))).await
        })
        .await
}

/// The database of an open place.
pub(crate) fn here(store: &Store, governance: Governance) -> Front {
    let (clock, entropy) = (RealClock::new(), RealEntropy);
    let clerk = Clerk::alone(
        store.clone(),
        std::sync::Arc::new(clock),
        std::sync::Arc::new(entropy),
    );
    Front::Here(clerk.governed(governance))
}

impl Front {
    /// Agents by name; private ones only when asked for.
    pub(crate) async fn agents(&self, all: bool) -> Result<Vec<AgentStatus>, Failure> {
        match self {
            Self::Daemon(client) => {
                let list: AgentList = client.get(&format!("/api/agents?with_private={all}")).await?;
                Ok(list.agents)
            }
            Self::Here(clerk) => {
                let agents = clerk.agents(all).await?;
                let status = |agent| view::agent_status(agent, Going::Well);
                Ok(agents.iter().map(status).collect())
            }
        }
    }

    pub(crate) async fn agent(&self, agent: AgentId) -> Result<AgentStatus, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get(&format!("/api/agents/{agent}/status")).await?),
            Self::Here(clerk) => Ok(view::agent_status(&clerk.agent(agent).await?, Going::Well)),
        }
    }

    /// Makes an agent whose workspace was looked at.
    pub(crate) async fn create_agent(&self, new: NewAgent) -> Result<AgentStatus, Failure> {
        match self {
            Self::Daemon(client) => {
                let new = CreateAgent {
                    agent_id: new.agent_id.to_string(),
                    workspace: Some(new.workspace),
                    visibility: match new.visibility {
                        Visibility::Public => wakeful_api::Visibility::Public,
                        Visibility::Private => wakeful_api::Visibility::Private,
                    },
                    mode: Some(view::mode(new.mode)),
                };
                Ok(client.post("/api/agents", &new).await?)
            }
            Self::Here(clerk) => Ok(view::agent_status(&clerk.create_agent(new).await?, Going::Well)),
        }
    }

    /// Pauses an agent, stops it, or lets it go on.
    pub(crate) async fn set_control(&self, agent: AgentId, control: Control) -> Result<AgentStatus, Failure> {
        let verb = match control {
            Control::Paused => "pause",
            Control::Running => "resume",
            Control::Stopped => "stop",
        };
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/agents/{agent}/{verb}"), &()).await?),
            Self::Here(clerk) => {
                let agent = clerk.set_control(agent, control).await?;
                Ok(view::agent_status(&agent, Going::Well))
            }
        }
    }

    /// Puts a message into an agent's queue.
    pub(crate) async fn send(&self, agent: AgentId, message: SendMessage) -> Result<Accepted, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .post(&format!("/api/agents/{agent}/messages"), &message)
                .await?),
            Self::Here(clerk) => {
                let turn = TurnId::parse(message.key.as_deref().unwrap_or(&fresh_id()))?;
                let post = Post {
                    agent: agent.clone(),
                    turn,
                    text: message.text,
                    attachments: message.attachments.into_iter().map(view::attachment).collect(),
                    wishes: Wishes {
                        model_ref: message.model,
                        max_rounds: message.max_rounds,
                        workspace: message.workspace,
                        deny_tools: message.deny_tools.into_iter().collect(),
                        ask_tools: message.ask_tools.into_iter().collect(),
                    },
                    priority: view::priority(message.priority),
                };
                let posted = clerk.post(post).await?;
                Ok(Accepted {
                    run_key: posted.run_key.to_string(),
                    agent_id: agent.to_string(),
                    admission: if posted.is_new {
                        Admission::New
                    } else {
                        Admission::Known
                    },
                })
            }
        }
    }

    /// Runs, newest first.
    pub(crate) async fn runs(&self, runs: Runs) -> Result<RunList, Failure> {
        let Runs { agent, state, limit } = runs;
        match self {
            Self::Daemon(client) => {
                let of_agent = agent
                    .map(|agent| format!("&agent_id={agent}"))
                    .unwrap_or_default();
                Ok(client
                    .get(&format!(
                        "/api/runs?state={}&limit={limit}{of_agent}",
                        state.as_str()
                    ))
                    .await?)
            }
            Self::Here(clerk) => {
                let filter = RunFilter {
                    agent_id: agent,
                    state: view::run_state(state),
                    before: None,
                    limit,
                };
                let runs = clerk.runs(filter).await?;
                Ok(RunList {
                    runs: runs.iter().map(view::run_line).collect(),
                    next_before: None,
                })
            }
        }
    }

    /// Messages of an agent that wait, next first.
    pub(crate) async fn queue(&self, agent: AgentId) -> Result<Vec<Queued>, Failure> {
        match self {
            Self::Daemon(client) => {
                let state: AgentState = client.get(&format!("/api/agents/{agent}/state")).await?;
                Ok(state.queue)
            }
            Self::Here(clerk) => {
                let waiting = clerk.queue(agent, QUEUE_SHOWN).await?;
                Ok(waiting.iter().map(view::queued).collect())
            }
        }
    }

    /// A run with everything that happened in it.
    pub(crate) async fn run(&self, run: RunKey) -> Result<Run, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get(&format!("/api/runs/{run}")).await?),
            Self::Here(clerk) => Ok(view::run(&clerk.run(run).await?)),
        }
    }

    /// Asks the daemon for the end of a run, or takes its message out of the queue.
    pub(crate) async fn cancel(&self, run: RunKey) -> Result<CancelAnswer, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/runs/{run}/cancel"), &()).await?),
            Self::Here(clerk) => Ok(match clerk.cancel_at_once(run).await? {
                Cancelled::Stored(report) => CancelAnswer::Run(Box::new(view::run(&report))),
                Cancelled::Pending(pending) => CancelAnswer::Pending(pending_cancel(run, &pending)),
            }),
        }
    }

    /// Finds a run by the first digits of its key.
    pub(crate) async fn find(&self, given: &str) -> Result<RunKey, Failure> {
        let hex = given.to_ascii_lowercase();
        if hex.is_empty() || hex.len() > 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            let message = format!("{given:?} is no run key");
            let hint = "`wakeful runs list` shows the keys; the first digits are enough";
            return Err(Failure::usage("bad_run_key", message, hint));
        }
        if let Some(digest) = Digest::from_hex(&hex) {
            return Ok(RunKey(digest));
        }
        let found = match self {
            Self::Daemon(client) => {
                let list: RunList = client.get(&format!("/api/runs?prefix={hex}")).await?;
                let keys = list.runs.iter().filter_map(|run| Digest::from_hex(&run.run_key));
                keys.map(RunKey).collect::<Vec<_>>()
            }
            Self::Here(clerk) => {
                let found = clerk.runs_with_prefix(hex.clone()).await?;
                found.iter().map(|run| run.row.run_key).collect()
            }
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
        match self {
            Self::Daemon(client) => Ok(client
                .get(&format!("/api/agents/{agent}/transcript?limit={limit}"))
                .await?),
            Self::Here(clerk) => {
                let Conversation { lines, has_more } = clerk.transcript(agent.clone(), limit).await?;
                let lines: Vec<TranscriptLine> = lines.iter().map(view::transcript_line).collect();
                Ok(Transcript {
                    agent_id: agent.to_string(),
                    lines,
                    has_more,
                })
            }
        }
    }

    /// Events of an agent after a number, oldest first.
    pub(crate) async fn events(
        &self,
        agent: AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<EventPage, Failure> {
        match self {
            Self::Daemon(client) => {
                let path = format!("/api/agents/{agent}/events?after_seq={after_seq}&limit={limit}");
                Ok(client.get(&path).await?)
            }
            Self::Here(clerk) => {
                let mut rows = clerk
                    .events_after(agent.clone(), after_seq, limit.saturating_add(1))
                    .await?;
                let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
                let has_more = rows.len() > wanted;
                rows.truncate(wanted);
                let events: Vec<Event> = rows.iter().map(|row| view::event(&agent, row)).collect();
                Ok(EventPage {
                    next_after_seq: events.last().map_or(after_seq, |event| event.seq),
                    events,
                    has_more,
                })
            }
        }
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
