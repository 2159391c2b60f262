//! Why something woke an agent, and why nothing did, from what was kept.

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

/// How far back `why-not` looks by default: a day.
pub const SINCE_DEFAULT_MS: i64 = 24 * 60 * 60 * 1000;

/// Rows of each kind that are shown: as many as fit on a screen.
pub const ROWS_SHOWN_MAX: usize = 20;

/// Wake records that are looked through for refusals.
const WAKES_READ_MAX: u32 = 1_000;

/// Messages that are looked through for the moment until which one of them waits.
const QUEUE_READ_MAX: u32 = 500;

/// Schedules and subscriptions that are counted.
const RULES_READ_MAX: u32 = 500;

/// What led to a run, or to none.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyReport {
    /// The run that was asked for.
    pub run_key: RunKey,
    /// Who was to be woken.
    pub agent_id: AgentId,
    /// How the run stands, or its message.
    pub status: RunStatus,
    /// What arose.
    pub cause: Cause,
    /// How the message begins; none where it was erased or where there is none.
    pub text: Option<String>,
    /// What was decided; none where no record was kept.
    pub verdict: Option<WakeOutcome>,
    /// Every gate that was looked at.
    pub gates: Vec<Gate>,
    /// When that was decided.
    pub at: Millis,
    /// The run that took it up, if another did.
    pub absorbed_by: Option<RunKey>,
    /// What it took up beside its own message, at most [`ROWS_SHOWN_MAX`].
    pub absorbed: Vec<WakeRow>,
    /// How many those are in all.
    pub absorbed_count: usize,
    /// What holds it, while it waits.
    pub holds: Vec<Hold>,
    /// Until when it waits by itself.
    pub not_before: Option<Millis>,
}

/// What kept an agent from being woken.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyNotReport {
    /// The agent, what waits for it and what it does.
    pub overview: AgentOverview,
    /// From when on.
    pub since: Millis,
    /// What time it is.
    pub now: Millis,
    /// What holds it.
    pub holds: Vec<Hold>,
    /// What waits for it, next first, at most [`ROWS_SHOWN_MAX`].
    pub waiting: Vec<QueueRow>,
    /// What was refused, newest first, at most [`ROWS_SHOWN_MAX`].
    pub refused: Vec<WakeRow>,
    /// Refusals by source, reason and day, newest day first.
    pub counted: Vec<WakeRefusalRow>,
    /// How many causes were let in, as far as was looked.
    pub let_in: u64,
    /// When something last tried to wake it; none where nothing ever did.
    pub last_tried_at: Option<Millis>,
    /// Its schedules with the newest record of each, at most [`ROWS_SHOWN_MAX`].
    pub schedules: Vec<(Schedule, Option<ExecutionWithRun>)>,
    /// How many schedules it has, as far as was counted.
    pub schedule_count: usize,
    /// How many subscriptions it has, as far as was counted.
    pub subscription_count: usize,
}

impl WhyNotReport {
    /// Whether nothing has tried to wake the agent since the moment that was asked for.
    #[must_use]
    pub const fn is_untried(&self) -> bool {
        self.let_in == 0 && self.refused.is_empty() && self.counted.is_empty()
    }
}

impl RunApi {
    /// What led to a run, or to none. [`EngineError::UnknownRun`] when nothing is known of such a key.
    pub async fn why(&self, run: RunKey) -> Result<WhyReport, EngineError> {
        let now = self.shared.clock.now();
        let found = self.shared.store.read(move |view| why(view, run, now)).await?;
        found.ok_or(EngineError::UnknownRun(run))
    }
}

impl AgentApi {
    /// What kept an agent from being woken since a moment; none for a day ago.
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
    // Gates that cannot be read, because the row was altered, are not shown.
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
        // Beyond the first of a day only the count tells.
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

/// The schedules whose moments come next, and after them those that have none, each with its newest record.
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
