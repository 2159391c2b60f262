//! What a run looks like from outside: one value, read from the store, whatever shows it.

use wakeful_core::budget::{Exceeded, MicroUsd};
use wakeful_core::conversation::{Block, Usage, text_of};
use wakeful_core::failure::FailureArtifact;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::Message;
use wakeful_core::run::{Outcome, Phase, RunStatus, Turn};
use wakeful_core::step::Status;
use wakeful_core::time::Millis;
use wakeful_core::wake::Control;
use wakeful_ports::planted;
use wakeful_store::rows::{RunRow, StepRow, WakeRow};
use wakeful_store::{Store, StoreError, View};

use crate::EngineError;
use crate::run::{broken, decode};

/// Steps read at once.
const STEPS_PAGE: u32 = 1_000;

/// A run as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// Its name.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// How it stands.
    pub status: RunStatus,
    /// How it ended; none while it is open.
    pub outcome: Option<Outcome>,
    /// The model's last words.
    pub final_text: String,
    /// Model replies.
    pub rounds: u32,
    /// Tokens.
    pub usage: Usage,
    /// What it cost so far, requests whose end nobody knows included.
    pub cost: MicroUsd,
    /// Which cap it waits for, if it does.
    pub parked: Option<Exceeded>,
    /// When it began; of one that waits, when its message came.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// Why it ran, if that is still known.
    pub cause: Option<Cause>,
    /// Model and workspace it was begun with; none before it began, or when its state cannot be read.
    pub begun_with: Option<BegunWith>,
    /// The run that started it.
    pub parent: Option<Related>,
    /// The runs that it started.
    pub children: Vec<Related>,
    /// Every step, model rounds included.
    pub steps: Vec<StepRow>,
    /// Why its state cannot be read, as a code; then only its rows are shown.
    pub unreadable: Option<&'static str>,
    /// Why it was moved aside, if it was.
    pub fault: Option<String>,
}

/// A run that another one started or was started by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its name.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// How it stands.
    pub status: RunStatus,
    /// What holds its agent, while it has not ended.
    pub held: Option<&'static str>,
}

/// Why a run ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The message.
    pub message: Message,
    /// What it says; none when that was erased.
    pub text: Option<String>,
    /// What was decided about it; none while it waits.
    pub wake: Option<WakeRow>,
}

/// What a run was begun with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunWith {
    /// The model.
    pub model_ref: String,
    /// The folder its commands run in.
    pub workspace: String,
}

impl RunReport {
    /// The tool calls among the steps.
    pub fn tool_calls(&self) -> impl Iterator<Item = &StepRow> {
        self.steps.iter().filter(|step| step.class.is_some())
    }

    /// Tool calls that ended like this.
    #[must_use]
    pub fn calls_with(&self, status: Status) -> Vec<OperationId> {
        self.tool_calls()
            .filter(|step| step.status == status)
            .map(|step| step.operation_id)
            .collect()
    }

    /// What went wrong, if the run failed.
    #[must_use]
    pub const fn failure(&self) -> Option<&FailureArtifact> {
        match &self.outcome {
            Some(Outcome::Failed(failure)) => Some(failure),
            Some(Outcome::Completed | Outcome::OutOfRounds | Outcome::Cancelled) | None => None,
        }
    }

    /// A message that has not become a run: it waits, or somebody decided otherwise.
    fn of_cause(cause: Cause, (parent, children): Family) -> Self {
        let message = &cause.message;
        let verdict = cause.wake.as_ref().map(|wake| wake.verdict);
        Self {
            run_key: message.run_key,
            agent_id: message.agent_id.clone(),
            status: verdict.map_or(RunStatus::Queued, RunStatus::of_message),
            outcome: None,
            final_text: String::new(),
            rounds: 0,
            usage: Usage::default(),
            cost: MicroUsd(0),
            parked: None,
            started_at: message.admitted_at,
            ended_at: None,
            begun_with: None,
            parent,
            children,
            steps: Vec::new(),
            unreadable: None,
            fault: None,
            cause: Some(cause),
        }
    }

    /// What the rows of a run tell without its state.
    fn of_rows(row: RunRow, rest: Rest, unreadable: &'static str) -> Self {
        let Rest {
            steps,
            cause,
            cost,
            family: (parent, children),
            ..
        } = rest;
        let usage = steps
            .iter()
            .fold(Usage::default(), |sum, step| sum.plus(step.usage));
        let is_reply = |step: &&StepRow| step.class.is_none() && step.status == Status::Ok;
        let replies = steps.iter().filter(is_reply).count();
        Self {
            run_key: row.run_key,
            agent_id: row.agent_id,
            status: row.status,
            outcome: None,
            final_text: String::new(),
            rounds: u32::try_from(replies).unwrap_or(u32::MAX),
            usage,
            cost,
            parked: None,
            started_at: row.started_at,
            ended_at: row.ended_at,
            cause,
            begun_with: None,
            parent,
            children,
            steps,
            unreadable: Some(unreadable),
            fault: row.fault,
        }
    }

    fn of_turn(row: RunRow, turn: Turn, rest: Rest) -> Result<Self, EngineError> {
        let Rest {
            steps,
            body,
            cause,
            cost,
            family: (parent, children),
        } = rest;
        let blocks: Vec<Block> = match body {
            Some(body) => serde_json::from_slice(&body).map_err(|e| broken(row.run_key, &e))?,
            None => Vec::new(),
        };
        Ok(Self {
            run_key: row.run_key,
            agent_id: row.agent_id,
            status: row.status,
            outcome: turn.outcome().cloned(),
            final_text: text_of(&blocks),
            rounds: turn.rounds,
            usage: turn.usage,
            cost,
            parked: match turn.phase {
                Phase::Parked { exceeded, .. } => Some(exceeded),
                Phase::Modelling { .. } | Phase::Acting { .. } | Phase::Ended { .. } => None,
            },
            started_at: row.started_at,
            ended_at: row.ended_at,
            cause,
            begun_with: Some(BegunWith {
                model_ref: turn.model_ref,
                workspace: turn.workspace,
            }),
            parent,
            children,
            steps,
            unreadable: None,
            fault: row.fault,
        })
    }
}

/// What belongs to a run beside its row.
struct Rest {
    steps: Vec<StepRow>,
    body: Option<Vec<u8>>,
    cause: Option<Cause>,
    cost: MicroUsd,
    family: Family,
}

/// Who started a run, and what it started.
type Family = (Option<Related>, Vec<Related>);

/// Reads a run with all its steps. A message whose run has not begun is shown as a run that waits.
pub async fn load(store: &Store, run: RunKey) -> Result<RunReport, EngineError> {
    let (row, waiting, family) = store
        .read(move |view| {
            let cause = cause(view, &run)?;
            let family = family(view, &run, cause.as_ref())?;
            Ok((view.run(&run)?, cause, family))
        })
        .await?;
    let Some(row) = row else {
        let cause = waiting.ok_or(EngineError::UnknownRun(run))?;
        return Ok(RunReport::of_cause(cause, family));
    };
    let turn = decode(&row);
    let reply = match turn.as_ref().map(|turn| &turn.phase) {
        Ok(Phase::Ended { reply, .. }) => *reply,
        Ok(Phase::Acting { .. } | Phase::Modelling { .. } | Phase::Parked { .. }) | Err(_) => None,
    };
    let (steps, body, cost) = store
        .read(move |view| {
            let body = reply.map(|hash| view.blob(&hash)).transpose()?.flatten();
            Ok((all_steps(view, &run)?, body, view.spent_by_run(&run)?))
        })
        .await?;
    let rest = Rest {
        cost,
        steps,
        body,
        cause: waiting,
        family,
    };
    match turn {
        Ok(turn) => RunReport::of_turn(row, turn, rest),
        Err(EngineError::MachineVersion { .. }) => {
            Ok(RunReport::of_rows(row, rest, "machine_version_unsupported"))
        }
        Err(_) => Ok(RunReport::of_rows(row, rest, "run_broken")),
    }
}

fn cause(view: &mut View<'_>, run: &RunKey) -> Result<Option<Cause>, StoreError> {
    let Some(message) = view.message(run)? else {
        return Ok(None);
    };
    let text = text(view, &message)?;
    // A refusal of a message that still waits is not the last word on it.
    let wake = if view.is_queued(run)? {
        None
    } else {
        view.wake(run)?
    };
    Ok(Some(Cause { message, text, wake }))
}

fn family(view: &mut View<'_>, run: &RunKey, cause: Option<&Cause>) -> Result<Family, StoreError> {
    let parent = cause.and_then(|cause| cause.message.parent.as_ref());
    let parent = parent.map(|parent| related(view, &parent.run_key, &parent.agent_id));
    let parent = parent.transpose()?;
    let children = view.children(run)?;
    let children = children
        .iter()
        .map(|child| related(view, &child.run_key, &child.agent_id));
    Ok((parent, children.collect::<Result<_, _>>()?))
}

fn related(view: &mut View<'_>, run: &RunKey, agent: &AgentId) -> Result<Related, StoreError> {
    let status = match view.run(run)? {
        Some(row) => row.status,
        None if view.is_queued(run)? => RunStatus::Queued,
        None => view
            .wake(run)?
            .map_or(RunStatus::Gone, |wake| RunStatus::of_message(wake.verdict)),
    };
    let held = match view.agent(agent)? {
        _ if !status.is_under_way() => None,
        _ if view.is_braked(agent)? => Some("braked"),
        Some(agent) if status == RunStatus::Queued && agent.control == Control::Paused => Some("paused"),
        Some(_) | None => None,
    };
    Ok(Related {
        run_key: *run,
        agent_id: agent.clone(),
        status,
        held,
    })
}

/// What a message says; none when it was erased.
pub(crate) fn text(view: &mut View<'_>, message: &Message) -> Result<Option<String>, StoreError> {
    let body = view.blob(&message.body)?;
    let blocks = body.and_then(|body| serde_json::from_slice::<Vec<Block>>(&body).ok());
    Ok(blocks.map(|blocks| text_of(&blocks)))
}

fn all_steps(view: &mut View<'_>, run: &RunKey) -> Result<Vec<StepRow>, StoreError> {
    let mut steps: Vec<StepRow> = Vec::new();
    loop {
        let after = steps.last().map_or(0, |step| step.ordinal);
        let page = view.steps(run, after, STEPS_PAGE)?;
        if page.is_empty() {
            return Ok(if planted::bug("told_early") {
                told_early(steps)
            } else {
                steps
            });
        }
        steps.extend(page);
    }
}

/// A planted bug: what is only intended is told as done.
fn told_early(mut steps: Vec<StepRow>) -> Vec<StepRow> {
    let intended = steps.iter_mut().filter(|step| step.status == Status::Intended);
    intended.for_each(|step| step.status = Status::Ok);
    steps
}
