//! Lists of runs: pages by filter, with the counts and the state of each run.

use std::collections::BTreeMap;

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, MessageKind};
use wakeful_core::run::{BrakeState, RunMachine, StatusFilter, WaitingFor, preview};
use wakeful_core::time::Millis;
use wakeful_core::wake::Wait;
use wakeful_store::rows::{RunCounts, RunFilter, RunRow, StatusCounts, StatusCountsFilter};
use wakeful_store::{StoreError, View};

use crate::run::decode;
use crate::stored_run;

/// Maximum number of runs that one request examines. A client continues after the last of them.
pub const RUNS_EXAMINED_MAX: usize = 2_000;

/// Runs read at once while a filter is applied.
const CHUNK: u32 = 500;

/// Which runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    pub agent_id: Option<AgentId>,
    /// Runs with one of these statuses; all if it is empty.
    pub statuses: Vec<StatusFilter>,
    /// The kind of message that started the run.
    pub cause: Option<MessageKind>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// Text in the message, or the beginning of the key.
    pub search: Option<String>,
    /// Only runs that follow this one in the list.
    pub before: Option<RunKey>,
    pub limit: u32,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRun {
    pub row: RunRow,
    /// The beginning of the message; none if it was erased.
    pub preview: Option<String>,
    /// Whether the contents of the message were erased.
    pub is_erased: bool,
    pub cause_kind: Option<MessageKind>,
    pub counts: RunCounts,
    pub waiting_for: Option<WaitingFor>,
    /// The machine; none if it is unreadable.
    pub machine: Option<RunMachine>,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    pub runs: Vec<ListedRun>,
    /// Where the next page starts; none on the last page.
    pub next_before: Option<RunKey>,
    /// Runs per status, on the first page.
    pub counts: Option<StatusCounts>,
}

/// A run before its counts are read.
struct Candidate {
    row: RunRow,
    preview: Option<String>,
    is_erased: bool,
    cause_kind: Option<MessageKind>,
    waiting_for: Option<WaitingFor>,
}

/// Reads a page of runs.
pub(super) fn page(view: &mut View<'_>, query: &RunQuery) -> Result<RunPage, StoreError> {
    let counts = match query.before {
        None => Some(count(view, query)?),
        Some(_) => None,
    };
    let mut found = Vec::new();
    let next_before = scan(view, query, |one| found.push(one))?;
    let keys: Vec<RunKey> = found.iter().map(|found| found.row.run_key).collect();
    let steps = view.run_counts(&keys)?;
    let runs = found.into_iter().map(|found| finish(found, &steps));
    Ok(RunPage {
        runs: runs.collect(),
        next_before,
        counts,
    })
}

/// Adds to runs what a list shows about them.
pub(super) fn listed(view: &mut View<'_>, rows: Vec<RunRow>) -> Result<Vec<ListedRun>, StoreError> {
    let keys: Vec<RunKey> = rows.iter().map(|row| row.run_key).collect();
    let steps = view.run_counts(&keys)?;
    let mut brakes = Brakes::default();
    let runs = rows.into_iter().map(|row| {
        let (found, _) = candidate(view, row, &mut brakes)?;
        Ok(finish(found, &steps))
    });
    runs.collect()
}

fn finish(found: Candidate, steps: &BTreeMap<RunKey, RunCounts>) -> ListedRun {
    let Candidate {
        row,
        preview,
        is_erased,
        cause_kind,
        waiting_for,
    } = found;
    ListedRun {
        counts: steps.get(&row.run_key).copied().unwrap_or_default(),
        machine: decode(&row).ok(),
        preview,
        row,
        is_erased,
        cause_kind,
        waiting_for,
    }
}

/// Passes the runs of a page on, one at a time, and returns where the next page starts. Complete messages and
/// states are not kept, because a search examines many runs.
fn scan(
    view: &mut View<'_>,
    query: &RunQuery,
    mut take: impl FnMut(Candidate),
) -> Result<Option<RunKey>, StoreError> {
    let wanted = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let (mut found, mut last, mut examined) = (0_usize, None, 0_usize);
    let (mut before, mut brakes) = (query.before, Brakes::default());
    let is_filtered = !query.statuses.is_empty() || query.cause.is_some() || query.search.is_some();
    loop {
        // Without a filter every row counts; one more shows whether there is a next page.
        let rows = view.runs(&RunFilter {
            agent_id: query.agent_id.clone(),
            state: StatusFilter::state_of(&query.statuses),
            until: query.until,
            before,
            limit: if is_filtered {
                CHUNK
            } else {
                query.limit.saturating_add(1)
            },
        })?;
        if rows.is_empty() {
            return Ok(None);
        }
        for row in rows {
            if query.since.is_some_and(|since| row.started_at < since) {
                return Ok(None);
            }
            let key = row.run_key;
            let (one, text) = candidate(view, row, &mut brakes)?;
            if query.selects(&one, text.as_deref()) {
                if found == wanted {
                    return Ok(last);
                }
                (found, last) = (found + 1, Some(key));
                take(one);
            }
            (before, examined) = (Some(key), examined + 1);
            if is_filtered && examined == RUNS_EXAMINED_MAX {
                return Ok(before);
            }
        }
    }
}

/// Counts runs per status, for the same filter without statuses.
fn count(view: &mut View<'_>, query: &RunQuery) -> Result<StatusCounts, StoreError> {
    if query.search.is_none() {
        return view.status_counts(&StatusCountsFilter {
            agent_id: query.agent_id.clone(),
            cause: query.cause,
            since: query.since,
            until: query.until,
        });
    }
    // Only reading the messages shows which runs match, so only as many are counted as a page examines.
    let all = RunQuery {
        statuses: Vec::new(),
        before: None,
        limit: u32::MAX,
        ..query.clone()
    };
    let mut counts = StatusCounts::default();
    let rest = scan(view, &all, |one| {
        counts.add(one.row.status, 1, u64::from(one.waiting_for.is_some()));
    })?;
    counts.is_lower_bound = rest.is_some();
    Ok(counts)
}

impl RunQuery {
    fn selects(&self, run: &Candidate, text: Option<&str>) -> bool {
        let (status, waiting) = (run.row.status, run.waiting_for);
        let mut statuses = self.statuses.iter();
        let is_status = self.statuses.is_empty() || statuses.any(|one| one.selects(status, waiting));
        let is_cause = self.cause.is_none() || self.cause == run.cause_kind;
        is_status
            && is_cause
            && self.search.as_ref().is_none_or(|searched| {
                let searched = searched.to_lowercase();
                text.is_some_and(|text| text.to_lowercase().contains(&searched))
                    || run.row.run_key.to_string().starts_with(&searched)
            })
    }
}

/// The agents whose brakes were read.
type Brakes = BTreeMap<AgentId, BrakeState>;

/// Reads what a list shows about a run, and the complete text of its message.
fn candidate(
    view: &mut View<'_>,
    row: RunRow,
    brakes: &mut Brakes,
) -> Result<(Candidate, Option<String>), StoreError> {
    let message = view.message(&row.run_key)?;
    let text = match &message {
        Some(message) => stored_run::text(view, message)?,
        None => None,
    };
    let brake = match brakes.get(&row.agent_id) {
        Some(brake) => *brake,
        None => {
            let brake = brake_of(view, &row.agent_id)?;
            brakes.insert(row.agent_id.clone(), brake);
            brake
        }
    };
    let found = Candidate {
        waiting_for: WaitingFor::of(row.status, row.wait().map(Wait::kind), brake),
        is_erased: message.as_ref().is_some_and(Message::is_erased),
        cause_kind: message.map(|message| message.kind),
        preview: text.as_deref().map(preview),
        row,
    };
    Ok((found, text))
}

/// Whether a brake applies to an agent.
pub(crate) fn brake_of(view: &mut View<'_>, agent: &AgentId) -> Result<BrakeState, StoreError> {
    Ok(if view.is_braked(agent)? {
        BrakeState::Set
    } else {
        BrakeState::Released
    })
}
