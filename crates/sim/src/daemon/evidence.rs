//! Collects the contents of the databases and the ledger of a daemon scenario: all that an invariant may
//! inspect.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::budget::UtcDay;
use wakeful_core::change::{LogicalChangeKey, Token};
use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::schedule::Schedule;
use wakeful_core::sub_run::START_RUN;
use wakeful_core::time::Millis;
use wakeful_core::wake::REFUSALS_KEPT_MAX;
use wakeful_ports::journal::{CommittedChange, Journal as _, JournalError};
use wakeful_store::rows::{
    EventRow, RunFilter, RunState, ScheduleFilter, ScheduledExecutionRow, SubscriptionRow, WakeFilter,
    WakeRow,
};
use wakeful_store::{ROWS_MAX, StoreError, View};

use super::script::AGENTS;
use super::world::{DaemonEnvironment, Ledger};
use crate::environment::read;
use crate::evidence::{Moment, RunEvidence, load};
use crate::process::at_once;

/// The evidence of one scenario.
#[derive(Debug, Clone)]
pub(crate) struct DaemonEvidence {
    pub(crate) moment: Moment,
    pub(crate) ledger: Ledger,
    pub(crate) incarnation: Incarnation,
    pub(crate) logs: Vec<(AgentId, Vec<EventRow>)>,
    pub(crate) runs: Vec<RunEvidence>,
    pub(crate) messages: BTreeMap<RunKey, Message>,
    pub(crate) wakes: BTreeMap<RunKey, WakeRow>,
    /// How many refusals of each source were only counted: of very many in a day, only the first ones are
    /// stored.
    pub(crate) only_counted: BTreeMap<String, u64>,
    pub(crate) queued: BTreeSet<RunKey>,
    /// Schedules with their execution records, oldest first.
    pub(crate) schedules: Vec<(Schedule, Vec<ScheduledExecutionRow>)>,
    pub(crate) subscriptions: Vec<SubscriptionRow>,
    /// Writes to the journal, one notice per transaction.
    pub(crate) notices: Vec<Notice>,
    /// Number of agent notices that are not yet dispatched.
    pub(crate) tellings: usize,
    /// The conversations of runs that started sub-runs.
    pub(crate) said: BTreeMap<RunKey, Vec<String>>,
    /// Elapsed time.
    pub(crate) ticks_ms: u64,
}

/// The notice of one journal transaction, computed from the outbox independently of the watcher.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) seq: u64,
    pub(crate) key: LogicalChangeKey,
    pub(crate) author: String,
    pub(crate) tokens: BTreeSet<Token>,
}

impl DaemonEvidence {
    /// Collects the evidence.
    pub(crate) fn take(world: &DaemonEnvironment, moment: Moment) -> Result<Self, StoreError> {
        let (ledger, notices) = (world.ledger(), notices(world)?);
        let ticks_ms = world.wall.ticks_ms();
        read(&world.store, move |view| {
            let agents = AGENTS.into_iter().filter_map(|name| AgentId::parse(name).ok());
            let (mut logs, mut wakes) = (Vec::new(), BTreeMap::new());
            let mut only_counted: BTreeMap<String, u64> = BTreeMap::new();
            for agent in agents {
                let filter = WakeFilter {
                    agent_id: agent.clone(),
                    since: Millis(i64::MIN),
                    limit: ROWS_MAX,
                };
                wakes.extend(view.wakes(&filter)?.into_iter().map(|wake| (wake.run_key, wake)));
                for row in view.refusals(&agent, UtcDay(i64::MIN))? {
                    let more = row.count.saturating_sub(REFUSALS_KEPT_MAX);
                    *only_counted.entry(row.source.as_str().to_owned()).or_default() += more;
                }
                let events = view.events(&agent, 0, ROWS_MAX)?;
                logs.push((agent, events));
            }
            let runs = runs(view)?;
            let schedules = schedules(view)?;
            let (messages, queued) = messages(view, &ledger, (&wakes, &runs, &schedules))?;
            Ok(Self {
                moment,
                ledger,
                incarnation: view.incarnation()?,
                logs,
                said: said(view, &runs, moment)?,
                runs,
                messages,
                wakes,
                only_counted,
                queued,
                schedules,
                subscriptions: view.subscriptions(None, None, ROWS_MAX)?,
                notices,
                tellings: view.agent_outbox(ROWS_MAX)?.len(),
                ticks_ms,
            })
        })
    }

    pub(crate) fn run(&self, key: RunKey) -> Option<&RunEvidence> {
        self.runs.iter().find(|run| run.row.run_key == key)
    }
}

fn notices(world: &DaemonEnvironment) -> Result<Vec<Notice>, StoreError> {
    let changes = at_once(world.journal.changes(0, ROWS_MAX)).unwrap_or(Ok(Vec::new()));
    let changes = changes.map_err(|error| match error {
        JournalError::Store(error) => error,
        JournalError::Refused(_) | JournalError::Missing | JournalError::WrongJournal => StoreError::Closed,
    })?;
    let notices = changes.chunk_by(|one, next| one.seq == next.seq);
    let notices = notices.filter_map(|units: &[CommittedChange]| {
        let first = units.first()?;
        let tokens = units.iter().flat_map(|unit| &unit.tokens);
        Some(Notice {
            seq: first.seq,
            key: LogicalChangeKey::of(units.iter().map(|change| &change.unit)),
            author: first.author.to_text(),
            tokens: tokens.filter_map(|key| Token::parse_key(key)).collect(),
        })
    });
    Ok(notices.collect())
}

fn runs(view: &mut View<'_>) -> Result<Vec<RunEvidence>, StoreError> {
    let filter = RunFilter {
        until: None,
        agent_id: None,
        state: RunState::Any,
        limit: ROWS_MAX,
        before: None,
    };
    let rows = view.runs(&filter)?;
    let ledger = crate::ledger::Ledger::default();
    rows.into_iter().map(|row| load(view, row, &ledger)).collect()
}

fn schedules(view: &mut View<'_>) -> Result<Vec<Fired>, StoreError> {
    let filter = ScheduleFilter {
        agent_id: None,
        after: None,
        limit: ROWS_MAX,
    };
    let timers = view.schedules(&filter)?.timers.into_iter().map(|timer| {
        let newest_first = view.executions(&timer.schedule_id, ROWS_MAX)?;
        let oldest_first = newest_first.into_iter().rev().map(|one| one.row).collect();
        Ok((timer, oldest_first))
    });
    timers.collect()
}

type Found = (BTreeMap<RunKey, Message>, BTreeSet<RunKey>);

/// A schedule and its execution records.
type Fired = (Schedule, Vec<ScheduledExecutionRow>);

/// Every message that a row or the ledger refers to, and which of them are queued.
fn messages(
    view: &mut View<'_>,
    ledger: &Ledger,
    (wakes, runs, schedules): (&BTreeMap<RunKey, WakeRow>, &[RunEvidence], &[Fired]),
) -> Result<Found, StoreError> {
    let mut keys: BTreeSet<RunKey> = wakes.keys().copied().collect();
    keys.extend(runs.iter().map(|run| run.row.run_key));
    keys.extend(ledger.posted.keys().chain(ledger.delivered.keys()));
    keys.extend(ledger.forged.iter().chain(&ledger.refused));
    keys.extend(
        schedules
            .iter()
            .flat_map(|(_, rows)| rows.iter().filter_map(|row| row.run_key)),
    );
    let (mut messages, mut queued) = (BTreeMap::new(), BTreeSet::new());
    for key in keys {
        messages.extend(view.message(&key)?.map(|message| (key, message)));
        queued.extend(view.is_queued(&key)?.then_some(key));
    }
    Ok((messages, queued))
}

/// The conversations of runs that started sub-runs; only at the end, because they are large.
fn said(
    view: &mut View<'_>,
    runs: &[RunEvidence],
    moment: Moment,
) -> Result<BTreeMap<RunKey, Vec<String>>, StoreError> {
    let mut said = BTreeMap::new();
    let starters = runs
        .iter()
        .filter(|run| moment == Moment::End && run.steps.iter().any(|step| step.name == START_RUN));
    for run in starters {
        let mut lines = Vec::new();
        for entry in view.entries(&run.row.thread_id, ROWS_MAX)? {
            if entry.run_key == run.row.run_key {
                let body = view.blob(&entry.content)?.unwrap_or_default();
                lines.push(String::from_utf8_lossy(&body).into_owned());
            }
        }
        said.insert(run.row.run_key, lines);
    }
    Ok(said)
}
