//! A stored run: its row and its machine, with the rows that belong to it.

use std::collections::BTreeMap;

use wakeful_core::budget::{BudgetExceeded, MicroUsd};
use wakeful_core::conversation::{Block, Usage, text_of};
use wakeful_core::failure::FailureArtifact;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::Message;
use wakeful_core::run::{RunMachine, RunOutcome, RunPhase, RunStatus, WaitingFor};
use wakeful_core::step::StepStatus;
use wakeful_core::sub_run::{RunHold, RunLink};
use wakeful_core::tool::{CallContext, ToolInvocation};
use wakeful_core::wake::{Candidate, RunFacts, Wait};
use wakeful_ports::planted_bugs;
use wakeful_store::rows::{RunCounts, RunRow, StepRow, WakeRow};
use wakeful_store::{Store, StoreError, View};

use crate::EngineError;
use crate::api::brake_of;
use crate::api::step_contents::StepContents;
use crate::run::{broken, decode};

/// Steps read at once.
const STEPS_PAGE: u32 = 1_000;

#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The run's row; for a message without a run, the row of the run that it may become.
    pub row: RunRow,
    /// The machine; none before the run started.
    pub machine: Option<Result<RunMachine, Unreadable>>,
    /// Every step, including model rounds.
    pub steps: Vec<StepRow>,
    /// What the steps received and produced, as far as it was read.
    pub contents: BTreeMap<OperationId, StepContents>,
    /// The text of the model's last reply.
    pub final_text: String,
    /// The cost so far, including requests with an unknown outcome.
    pub cost: MicroUsd,
    /// Why the run started, if that is still stored.
    pub cause: Option<CauseReport>,
    /// The parent run.
    pub parent: Option<RunLink>,
    /// The sub-runs.
    pub children: Vec<RunLink>,
    /// The ended run that this one runs again.
    pub retries: Option<RunLink>,
    /// The runs that run this one again.
    pub retried_by: Vec<RunLink>,
    pub waiting_for: Option<WaitingFor>,
    /// The steps, counted.
    pub counts: RunCounts,
}

/// The error code why the machine of a run is unreadable; then only its rows are available.
pub type Unreadable = &'static str;

/// Why a run started.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseReport {
    pub message: Message,
    /// The text of the message; none if it was erased.
    pub text: Option<String>,
    /// The wake decision; none while the message is queued.
    pub wake: Option<WakeRow>,
}

impl StoredRun {
    /// The machine, if it exists and is readable.
    #[must_use]
    pub fn turn(&self) -> Option<&RunMachine> {
        self.machine.as_ref()?.as_ref().ok()
    }

    /// The exceeded limit, if the run waits for budget.
    #[must_use]
    pub fn exceeded(&self) -> Option<&BudgetExceeded> {
        self.turn()?.phase.exceeded()
    }

    /// The failure, if the run failed.
    #[must_use]
    pub fn failure(&self) -> Option<&FailureArtifact> {
        match self.turn()?.outcome()? {
            RunOutcome::Failed(failure) => Some(failure),
            RunOutcome::Completed | RunOutcome::OutOfRounds | RunOutcome::Cancelled => None,
        }
    }

    /// The tool calls among the steps.
    pub fn tool_calls(&self) -> impl Iterator<Item = &StepRow> {
        self.steps.iter().filter(|step| step.class.is_some())
    }

    /// The audit record of a tool call that has ended.
    #[must_use]
    pub fn invocation(&self, step: &StepRow) -> Option<ToolInvocation> {
        let context = CallContext {
            operation_id: step.operation_id,
            tool: &step.name,
            agent_id: &self.row.agent_id,
            thread_id: &self.row.thread_id,
        };
        ToolInvocation::of(context, step.call.as_ref()?)
    }

    /// Token usage; without a machine, the sum over the steps.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let of_steps = || {
            let used = self.steps.iter().map(|step| step.usage);
            used.fold(Usage::default(), Usage::plus)
        };
        self.turn().map_or_else(of_steps, |turn| turn.usage)
    }

    /// The number of model replies; without a machine, the number of successful rounds among the steps.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        let is_reply = |step: &&StepRow| step.class.is_none() && step.status == StepStatus::Ok;
        let of_steps = || u32::try_from(self.steps.iter().filter(is_reply).count()).unwrap_or(u32::MAX);
        self.turn().map_or_else(of_steps, |turn| turn.rounds)
    }
}

/// Reads a run with all its steps. A queued message is returned as a waiting run, a refused cause as a refused
/// one.
pub async fn load(store: &Store, run: RunKey) -> Result<StoredRun, EngineError> {
    let found = store.read(move |view| read(view, run)).await?;
    let (mut stored, reply) = found.ok_or(EngineError::UnknownRun(run))?;
    if let Some(reply) = reply {
        let blocks: Vec<Block> = serde_json::from_slice(&reply).map_err(|error| broken(run, &error))?;
        stored.final_text = text_of(&blocks);
    }
    Ok(stored)
}

/// A run, and the content of its final reply.
type WithReply = (StoredRun, Option<Vec<u8>>);

fn read(view: &mut View<'_>, run: RunKey) -> Result<Option<WithReply>, StoreError> {
    let cause = cause(view, &run)?;
    let row = view.run(&run)?;
    let machine = row.as_ref().map(|row| {
        decode(row).map_err(|error| {
            if matches!(error, EngineError::MachineVersion { .. }) {
                "machine_version_unsupported"
            } else {
                "run_state_invalid"
            }
        })
    });
    let row = match (row, &cause) {
        (Some(row), _) => Some(row),
        (None, Some(cause)) => Some(without_run(&cause.message, cause.wake.as_ref())),
        (None, None) => view.wake(&run)?.map(refused),
    };
    let Some(row) = row else { return Ok(None) };
    let reply = match machine.as_ref().and_then(|turn| turn.as_ref().ok()) {
        Some(RunMachine {
            phase: RunPhase::Ended { reply, .. },
            ..
        }) => *reply,
        Some(_) | None => None,
    };
    let reply = reply.map(|hash| view.blob(&hash)).transpose()?.flatten();
    let parent = cause.as_ref().and_then(|cause| cause.message.parent.as_ref());
    let parent = parent.map(|parent| link(view, &parent.run_key, &parent.agent_id));
    let parent = parent.transpose()?;
    let children = view.children(&run)?;
    let children = children
        .iter()
        .map(|child| link(view, &child.run_key, &child.agent_id));
    let children = children.collect::<Result<_, _>>()?;
    let agent = row.agent_id.clone();
    let retry_of = cause.as_ref().and_then(|cause| cause.message.retry_of);
    let retries = retry_of.map(|of| link(view, &of, &agent)).transpose()?;
    let retried_by = view.retries(&run)?;
    let retried_by = retried_by.iter().map(|again| link(view, again, &agent));
    let retried_by = retried_by.collect::<Result<_, _>>()?;
    let waiting_for = WaitingFor::of(row.status, row.wait().map(Wait::kind), brake_of(view, &agent)?);
    let stored = StoredRun {
        row,
        machine,
        steps: all_steps(view, &run)?,
        contents: BTreeMap::new(),
        final_text: String::new(),
        cost: view.spent_by_run(&run)?,
        cause,
        parent,
        children,
        retries,
        retried_by,
        waiting_for,
        counts: view.run_counts(&[run])?.remove(&run).unwrap_or_default(),
    };
    Ok(Some((stored, reply)))
}

/// The row of a run that a message may become; no machine has been applied to it.
pub(crate) fn without_run(message: &Message, wake: Option<&WakeRow>) -> RunRow {
    RunRow {
        run_key: message.run_key,
        agent_id: message.agent_id.clone(),
        thread_id: message.thread_id.clone(),
        machine: String::new(),
        machine_version: 0,
        version: 0,
        state: String::new(),
        status: wake.map_or(RunStatus::Queued, |wake| RunStatus::of_message(wake.verdict)),
        started_at: message.admitted_at,
        ended_at: None,
        suspension: None,
        fault: None,
    }
}

/// The row of the run that a refused cause requested.
pub(crate) fn refused(wake: WakeRow) -> RunRow {
    RunRow {
        run_key: wake.run_key,
        agent_id: wake.agent_id,
        thread_id: ThreadId::new(String::new()),
        machine: String::new(),
        machine_version: 0,
        version: 0,
        state: String::new(),
        status: RunStatus::of_message(wake.verdict),
        started_at: wake.at,
        ended_at: None,
        suspension: None,
        fault: None,
    }
}

pub(crate) fn cause(view: &mut View<'_>, run: &RunKey) -> Result<Option<CauseReport>, StoreError> {
    let Some(message) = view.message(run)? else {
        return Ok(None);
    };
    let text = text(view, &message)?;
    // A refusal of a message that is still queued is not final.
    let wake = if view.is_queued(run)? {
        None
    } else {
        view.wake(run)?
    };
    Ok(Some(CauseReport { message, text, wake }))
}

fn link(view: &mut View<'_>, run: &RunKey, agent: &AgentId) -> Result<RunLink, StoreError> {
    let row = view.run(run)?;
    let suspension = row.as_ref().and_then(|row| row.suspension);
    let status = match row {
        Some(row) => row.status,
        None if view.is_queued(run)? => RunStatus::Queued,
        None => view
            .wake(run)?
            .map_or(RunStatus::Gone, |wake| RunStatus::of_message(wake.verdict)),
    };
    let held = match (status, view.overview(agent)?) {
        (RunStatus::Queued, Some(overview)) => {
            let (agent, facts) = (overview.agent.availability(), overview.message_facts());
            RunHold::of(&Candidate::Message(&agent, &facts))
        }
        (RunStatus::Open, Some(overview)) => RunHold::of(&Candidate::Run(&RunFacts {
            suspension,
            is_cancel_requested: view.cancel_requested(run)?,
            is_braked: overview.is_braked,
            // These are not reported as holds: another run or the budget lets it continue without a person.
            is_other_under_way: false,
            room: u64::MAX,
        })),
        (_, _) => None,
    };
    Ok(RunLink {
        run_key: *run,
        agent_id: agent.clone(),
        status,
        held,
    })
}

/// The text of a message; none if it was erased.
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
            return Ok(if planted_bugs::is_planted("told_early") {
                report_intended_as_done(steps)
            } else {
                steps
            });
        }
        steps.extend(page);
    }
}

/// A planted bug: reports intended steps as done.
fn report_intended_as_done(mut steps: Vec<StepRow>) -> Vec<StepRow> {
    let intended = steps
        .iter_mut()
        .filter(|step| step.status == StepStatus::Intended);
    intended.for_each(|step| step.status = StepStatus::Ok);
    steps
}
