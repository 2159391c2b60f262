//! Which work a service drives: that of all agents, or that of one run and the runs it started.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Wait, is_set_back};
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, View};

use super::AGENTS_AT_ONCE_MAX;

/// Which work a service drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// That of all agents, until a stop is requested.
    All,
    /// One run and the runs it started, until none of them can go on by itself.
    Tree(RunKey),
}

/// The work that can be done now.
#[derive(Debug, Default)]
pub(super) struct ReadyWork {
    /// The agents that have work.
    pub(super) agents: Vec<AgentId>,
    /// The run that each of them is to start or to continue. An agent without one does whatever is next.
    pub(super) targets: BTreeMap<AgentId, RunKey>,
    /// When there is more to do.
    pub(super) next: Option<Millis>,
}

impl Scope {
    /// How many agents are driven at once. One in a tree: a person reads its progress in order.
    pub(super) const fn concurrency(self) -> usize {
        match self {
            Self::All => AGENTS_AT_ONCE_MAX,
            Self::Tree(_) => 1,
        }
    }

    /// Finds the work that can be done now.
    pub(super) fn ready_work(self, view: &mut View<'_>, now: Millis) -> Result<ReadyWork, StoreError> {
        match self {
            Self::All => {
                let next = [view.next_due(now)?, view.next_message_due(now)?];
                Ok(ReadyWork {
                    agents: view.agents_with_work(now)?,
                    targets: BTreeMap::new(),
                    next: next.into_iter().flatten().min(),
                })
            }
            Self::Tree(root) => tree(view, root, now),
        }
    }
}

/// Visits a run, the runs that it waits for, and open runs that block one of them.
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
                let at = ready_at(&row, now);
                (row.agent_id, at)
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
                (agent, Some(row.not_before.unwrap_or(now)))
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

/// When an open run goes on by itself; none where only a person or another run lets it go on.
fn ready_at(row: &RunRow, now: Millis) -> Option<Millis> {
    let suspension = row
        .suspension
        .filter(|suspension| !is_set_back(suspension.since, now));
    match suspension.map(|suspension| suspension.wait) {
        None | Some(Wait::Budget | Wait::Turn) => Some(now),
        Some(Wait::Due { until }) => Some(until),
        // A deadline that has passed is acted on; one that is to come is not waited for.
        Some(Wait::Decision { until }) => until.filter(|until| *until <= now),
        Some(Wait::Children) => None,
    }
}
