//! Which work a service drives: that of all agents, or that of one run and its sub-runs.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Candidate, RunFacts, Wait, may_begin};
use wakeful_store::rows::{RunFilter, RunRow, RunState};
use wakeful_store::{ROWS_MAX, StoreError, View, WorkQuery};

use super::AGENTS_AT_ONCE_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The work of all agents, until the process halts.
    All,
    /// One run and its sub-runs, until none of them can continue by itself.
    Tree(RunKey),
}

/// The work that can be done now.
#[derive(Debug, Default)]
pub(super) struct ReadyWork {
    /// The agents that have work.
    pub(super) agents: Vec<AgentId>,
    /// The run that each agent is to start or continue. An agent without one does its next work.
    pub(super) targets: BTreeMap<AgentId, RunKey>,
    /// The agents with parked runs, sorted.
    pub(super) without_budget: Vec<AgentId>,
    /// When more work is due.
    pub(super) next: Option<Millis>,
}

impl Scope {
    /// How many agents are driven at once. One in a tree, so that a person can read its progress in order.
    pub(super) const fn concurrency(self) -> usize {
        match self {
            Self::All => AGENTS_AT_ONCE_MAX,
            Self::Tree(_) => 1,
        }
    }

    /// Finds the work that can be done now.
    pub(super) fn ready_work(self, view: &mut View<'_>, query: WorkQuery) -> Result<ReadyWork, StoreError> {
        let now = query.now;
        match self {
            Self::All => {
                let next = [view.next_due(now)?, view.next_message_due(now)?];
                Ok(ReadyWork {
                    agents: view.agents_with_work(query)?,
                    targets: BTreeMap::new(),
                    without_budget: view.agents_waiting_for_budget()?,
                    next: next.into_iter().flatten().min(),
                })
            }
            Self::Tree(root) => tree(view, root, now),
        }
    }
}

/// Visits a run, its sub-runs, and open runs that block one of them.
fn tree(view: &mut View<'_>, root: RunKey, now: Millis) -> Result<ReadyWork, StoreError> {
    let (mut ready, mut seen, mut left) = (ReadyWork::default(), BTreeSet::new(), vec![root]);
    while let Some(run) = left.pop() {
        if !seen.insert(run) {
            continue;
        }
        let (agent, at) = match view.run(&run)? {
            Some(row) if row.status != RunStatus::Open => continue,
            Some(row) => {
                if row.wait() == Some(Wait::Children) {
                    left.extend(view.children(&run)?.into_iter().map(|child| child.run_key));
                }
                let blocking = blocking_run(view, &row)?;
                left.extend(blocking);
                let facts = RunFacts {
                    suspension: row.suspension,
                    is_cancel_requested: view.cancel_requested(&run)?,
                    // The driver checks for a brake or a missing budget, and reports it.
                    is_braked: false,
                    is_other_under_way: blocking.is_some(),
                    room: u64::MAX,
                };
                (row.agent_id, ready_at(&facts, now))
            }
            None => {
                let Some(row) = view.queue_row(&run)? else {
                    continue;
                };
                let agent = row.message.agent_id;
                if let Some(open) = view.overview(&agent)?.and_then(|overview| overview.open_run) {
                    left.push(open);
                    continue;
                }
                // A message held by a sleep barrier is not awaited: that may take days.
                (
                    agent,
                    row.not_before.is_none_or(|until| until <= now).then_some(now),
                )
            }
        };
        match at {
            Some(at) if at <= now => drop(ready.targets.insert(agent, run)),
            Some(at) => ready.next = Some(ready.next.map_or(at, |next| next.min(at))),
            None => {}
        }
    }
    ready.agents = ready.targets.keys().cloned().collect();
    Ok(ready)
}

/// The open run of the same agent that must finish before this run has its turn.
fn blocking_run(view: &mut View<'_>, row: &RunRow) -> Result<Option<RunKey>, StoreError> {
    if row.wait() != Some(Wait::Turn) {
        return Ok(None);
    }
    let open = RunFilter {
        agent_id: Some(row.agent_id.clone()),
        state: RunState::Open,
        limit: ROWS_MAX,
        ..RunFilter::default()
    };
    let other = view.runs(&open)?.into_iter();
    let mut other = other.filter(|other| other.run_key != row.run_key && other.wait() != Some(Wait::Turn));
    Ok(other.next().map(|other| other.run_key))
}

/// When an open run continues by itself; none if it needs a person or another run.
fn ready_at(facts: &RunFacts, now: Millis) -> Option<Millis> {
    match facts.suspension.map(|suspension| suspension.wait) {
        _ if may_begin(&Candidate::Run(facts), now) => Some(now),
        Some(Wait::Due { until } | Wait::Rate { until }) => Some(until),
        // The deadline of a decision is handled after it has passed, and not awaited.
        None | Some(Wait::Decision { .. } | Wait::Children | Wait::Budget { .. } | Wait::Turn) => None,
    }
}
