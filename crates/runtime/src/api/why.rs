//! Explains from stored records why an agent was woken, or why it was not.

use wakeful_core::budget::UtcDay;
use wakeful_core::cause::Cause;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::run::{RunStatus, preview};
use wakeful_core::schedule::Schedule;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Gate, Hold, WakeOutcome, holds};
use wakeful_store::rows::{
    AgentOverview, ExecutionWithRun, QueueRow, ScheduleFilter, WakeFilter, WakeRefusalRow, WakeRow,
};
use wakeful_store::{StoreError, View};

use super::{AgentApi, RunApi};
use crate::{EngineError, stored_run};

/// The default time span of `why-not`: a day.
pub const SINCE_DEFAULT_MS: i64 = 24 * 60 * 60 * 1000;

/// Maximum number of rows shown per kind: as many as fit on a screen.
pub const ROWS_SHOWN_MAX: usize = 20;

/// Maximum number of wake records that are searched for refusals.
const WAKES_READ_MAX: u32 = 1_000;

/// Maximum number of queued messages that are searched for the earliest start time.
const QUEUE_READ_MAX: u32 = 500;

/// Maximum number of schedules and subscriptions that are counted.
const RULES_READ_MAX: u32 = 500;

/// The cause of a run, or why it did not start.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyReport {
    /// The requested run.
    pub run_key: RunKey,
    /// The agent that was to be woken.
    pub agent_id: AgentId,
    /// The status of the run or of its message.
    pub status: RunStatus,
    pub cause: Cause,
    /// The beginning of the message; none if it was erased or never stored.
    pub text: Option<String>,
    /// The wake decision; none if no record exists.
    pub verdict: Option<WakeOutcome>,
    /// Every gate that was evaluated.
    pub gates: Vec<Gate>,
    /// When the wake was decided.
    pub at: Millis,
    /// The run that absorbed the message, if any.
    pub absorbed_by: Option<RunKey>,
    /// Other messages that the run absorbed, at most [`ROWS_SHOWN_MAX`].
    pub absorbed: Vec<WakeRow>,
    /// The total number of absorbed messages.
    pub absorbed_count: usize,
    /// The holds on the message while it is queued.
    pub holds: Vec<Hold>,
    /// The time before which the message does not start.
    pub not_before: Option<Millis>,
}

/// What kept an agent from being woken.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyNotReport {
    /// The agent, its queue and its open run.
    pub overview: AgentOverview,
    /// The start of the examined time span.
    pub since: Millis,
    /// The end of the examined time span.
    pub now: Millis,
    /// The holds on the agent.
    pub holds: Vec<Hold>,
    /// Queued messages, next first, at most [`ROWS_SHOWN_MAX`].
    pub waiting: Vec<QueueRow>,
    /// Refused wakes, newest first, at most [`ROWS_SHOWN_MAX`].
    pub refused: Vec<WakeRow>,
    /// Refusals by source, reason and day, newest day first.
    pub counted: Vec<WakeRefusalRow>,
    /// The number of admitted causes among the records that were read.
    pub let_in: u64,
    /// When a cause last tried to wake the agent; none if that never happened.
    pub last_tried_at: Option<Millis>,
    /// The agent's schedules with the newest record of each, at most [`ROWS_SHOWN_MAX`].
    pub schedules: Vec<(Schedule, Option<ExecutionWithRun>)>,
    /// The number of schedules, at most `RULES_READ_MAX`.
    pub schedule_count: usize,
    /// The number of subscriptions, at most `RULES_READ_MAX`.
    pub subscription_count: usize,
}

impl WhyNotReport {
    /// Whether nothing tried to wake the agent in the examined time span.
    #[must_use]
    pub const fn is_untried(&self) -> bool {
        self.let_in == 0 && self.refused.is_empty() && self.counted.is_empty()
    }
}

impl RunApi {
    /// Explains a run. Returns [`EngineError::UnknownRun`] if the key is unknown.
    pub async fn why(&self, run: RunKey) -> Result<WhyReport, EngineError> {
        let now = self.shared.clock.now();
        let found = self.shared.store.read(move |view| why(view, run, now)).await?;
        found.ok_or(EngineError::UnknownRun(run))
    }
}

impl AgentApi {
    /// Explains why an agent was not woken since a time; by default within the last day.
    pub async fn why_not(&self, agent: AgentId, since: Option<Millis>) -> Result<WhyNotReport, EngineError> {
        let now = self.shared.clock.now();
        let since = since.unwrap_or(Millis(now.0.saturating_sub(SINCE_DEFAULT_MS)));
        let wanted = agent.clone();
        let found = self
            .shared
            .store
            .read(move |view| why_not(view, &wanted, since, now));
        found.await?.ok_or(EngineError::UnknownAgent(agent))
    }
}

fn why(view: &mut View<'_>, run: RunKey, now: Millis) -> Result<Option<WhyReport>, StoreError> {
    let (message, wake) = (view.message(&run)?, view.wake(&run)?);
    let (agent_id, cause, at) = match (&wake, &message) {
        (Some(wake), _) => (wake.agent_id.clone(), wake.cause.clone(), wake.at),
        (None, Some(message)) => (
            message.agent_id.clone(),
            message.cause.clone(),
            message.admitted_at,
        ),
        (None, None) => return Ok(None),
    };
    let text = match &message {
        Some(message) => stored_run::text(view, message)?.map(|text| preview(&text)),
        None => None,
    };
    let verdict = wake.as_ref().map(|wake| wake.verdict);
    let waits = view.is_queued(&run)?;
    let status = match view.run(&run)? {
        Some(row) => row.status,
        None if waits => RunStatus::Queued,
        None => verdict.map_or(RunStatus::Gone, RunStatus::of_message),
    };
    let mut absorbed = view.absorbed_by(&run)?;
    let absorbed_count = absorbed.len();
    absorbed.truncate(ROWS_SHOWN_MAX);
    let (holds, not_before) = match (waits, view.overview(&agent_id)?) {
        (true, Some(overview)) => {
            let row = view.queue(&agent_id, QUEUE_READ_MAX)?;
            let row = row.into_iter().find(|row| row.message.run_key == run);
            (held(&overview, now), row.and_then(|row| row.not_before))
        }
        (_, _) => (Vec::new(), None),
    };
    // Gates of an altered row may be unreadable; they are omitted.
    let gates = wake.as_ref().map(|wake| serde_json::from_str(&wake.gates));
    Ok(Some(WhyReport {
        run_key: run,
        agent_id,
        status,
        cause,
        text,
        verdict,
        gates: gates.and_then(Result::ok).unwrap_or_default(),
        at,
        absorbed_by: wake.and_then(|wake| wake.absorbed_by),
        absorbed,
        absorbed_count,
        holds,
        not_before: not_before.filter(|moment| *moment > now),
    }))
}

fn held(overview: &AgentOverview, now: Millis) -> Vec<Hold> {
    holds(&overview.agent.availability(), &overview.message_facts(), now)
}

fn why_not(
    view: &mut View<'_>,
    agent: &AgentId,
    since: Millis,
    now: Millis,
) -> Result<Option<WhyNotReport>, StoreError> {
    let Some(overview) = view.overview(agent)? else {
        return Ok(None);
    };
    let wakes = |since: Millis, limit: u32| WakeFilter {
        agent_id: agent.clone(),
        since,
        limit,
    };
    let tried = view.wakes(&wakes(since, WAKES_READ_MAX))?;
    let (refused, let_in): (Vec<_>, Vec<_>) = tried.into_iter().partition(is_refused);
    let mut counted = view.refusals(agent, UtcDay::of(since))?;
    counted.retain(|row| row.last_at >= since);
    let newest = view.wakes(&wakes(Millis::MIN, 1))?;
    let newest = newest.first().map(|wake| wake.at);
    let newest_counted = match newest {
        // Only the first refusals of a day are stored individually; the rest are counted.
        Some(at) => view.refusals(agent, UtcDay::of(at))?,
        None => Vec::new(),
    };
    let last_tried_at = newest_counted.iter().map(|row| row.last_at).chain(newest).max();
    let waiting = view.queue(agent, u32::try_from(ROWS_SHOWN_MAX).unwrap_or(u32::MAX))?;
    let timers = view.schedules(&ScheduleFilter {
        agent_id: Some(agent.clone()),
        after: None,
        limit: RULES_READ_MAX,
    })?;
    let schedule_count = timers.timers.len().saturating_add(timers.unreadable.len());
    let subscription_count = view.subscriptions(Some(agent), None, RULES_READ_MAX)?.len();
    Ok(Some(WhyNotReport {
        holds: held(&overview, now),
        overview,
        since,
        now,
        waiting,
        refused: refused.into_iter().take(ROWS_SHOWN_MAX).collect(),
        counted,
        let_in: u64::try_from(let_in.len()).unwrap_or(u64::MAX),
        last_tried_at,
        schedules: soonest(view, timers.timers)?,
        schedule_count,
        subscription_count,
    }))
}

/// The schedules that are due next, followed by those without a due time, each with its newest record.
fn soonest(
    view: &mut View<'_>,
    mut timers: Vec<Schedule>,
) -> Result<Vec<(Schedule, Option<ExecutionWithRun>)>, StoreError> {
    timers.sort_by_key(|timer| timer.next_execution_at.unwrap_or(Millis::MAX));
    timers.truncate(ROWS_SHOWN_MAX);
    let told = timers.into_iter().map(|timer| {
        let newest = view.executions(&timer.schedule_id, 1)?.pop();
        Ok((timer, newest))
    });
    told.collect()
}

fn is_refused(wake: &WakeRow) -> bool {
    wake.verdict.is_refusal()
}
