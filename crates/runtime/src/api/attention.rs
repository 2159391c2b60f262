//! What needs a person: reading it from stored state, and dismissing failures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wakeful_core::attention::{FailedRun, FailureGroup, RunExplanation, group_failures};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::payload::AttentionDismissed;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_store::rows::{RunFilter, RunRow, RunState};
use wakeful_store::{StoreError, Tx, View};

use super::run_list::{ListedRun, listed};
use super::shared::{Shared, announce};
use crate::run::decode;
use crate::{EngineError, Observer as _};

/// Maximum number of quarantined and of parked runs in the list.
const HELD_RUNS_MAX: u32 = 100;

/// Maximum number of runs with failures or unknown outcomes that are read and grouped.
const FLAGGED_RUNS_MAX: u32 = 1_000;

/// Runs that need a person. Decisions and stuck agents have their own lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attention {
    pub quarantined: Vec<ListedRun>,
    pub parked: Vec<ListedRun>,
    pub failed: Vec<FailureGroup>,
    pub unknown: Vec<ListedRun>,
    /// Runs that need attention and are not part of the lists.
    pub more: u64,
}

pub struct AttentionApi {
    pub(super) shared: Arc<Shared>,
}

impl AttentionApi {
    /// Returns the runs that need a person.
    pub async fn list(&self) -> Result<Attention, EngineError> {
        Ok(self.shared.store.read(read).await?)
    }

    /// Dismisses runs that need attention, and records it in the logs of their agents.
    pub async fn dismiss(&self, runs: Vec<RunKey>) -> Result<(), EngineError> {
        let (now, salt) = (self.shared.clock.now(), self.shared.entropy.random_bytes());
        let seal = move |run_keys: Vec<RunKey>| {
            let draft = EventDraft::new(AttentionDismissed { run_keys });
            SealedEvent::new(draft, now, None, salt).map_err(|_| StoreError::Malformed("attention_dismissed"))
        };
        let runs: BTreeSet<RunKey> = runs.into_iter().collect();
        let dismissed = self.shared.write(move |tx| dismiss_in(tx, &runs, &seal));
        for (agent, event) in dismissed.await? {
            self.shared.hub.on_events(&agent, &[event]);
        }
        Ok(())
    }
}

fn read(view: &mut View<'_>) -> Result<Attention, StoreError> {
    let quarantined = view.runs(&RunFilter {
        state: RunState::Quarantined,
        limit: HELD_RUNS_MAX,
        ..RunFilter::default()
    })?;
    let parked = view.parked_runs(HELD_RUNS_MAX)?;
    let (flagged, total) = view.runs_needing_attention(FLAGGED_RUNS_MAX)?;
    let backlog = view.human_backlog()?;
    let held = u64::try_from(quarantined.len()).unwrap_or(u64::MAX);
    let shown = u64::try_from(flagged.len()).unwrap_or(u64::MAX);
    let more = total.saturating_sub(shown) + backlog.quarantined_runs.saturating_sub(held);
    let (mut failed, mut unknown) = (Vec::new(), Vec::new());
    for run in listed(view, flagged)? {
        // A run that failed after an unknown outcome is listed once, with the more urgent reason.
        if run.counts.unknown > 0 {
            unknown.push(run);
        } else {
            failed.extend(failure(run));
        }
    }
    Ok(Attention {
        quarantined: listed(view, quarantined)?,
        parked: listed(view, parked)?,
        failed: group_failures(failed),
        unknown,
        more,
    })
}

/// A run that ended without success.
fn failure(run: ListedRun) -> Option<FailedRun> {
    Some(FailedRun {
        explanation: RunExplanation::of_run(run.row.status, run.machine.as_ref())?,
        run_key: run.row.run_key,
        agent_id: run.row.agent_id,
        ended_at: run.row.ended_at?,
        preview: run.preview,
    })
}

fn dismiss_in(
    tx: &mut Tx<'_>,
    runs: &BTreeSet<RunKey>,
    seal: &impl Fn(Vec<RunKey>) -> Result<SealedEvent, StoreError>,
) -> Result<Vec<(AgentId, Event)>, StoreError> {
    let (flagged, _) = tx.runs_needing_attention(FLAGGED_RUNS_MAX)?;
    let cause = |row: &RunRow| {
        let told = RunExplanation::of_run(row.status, decode(row).ok().as_ref())?;
        Some((row.agent_id.clone(), told.code, told.message))
    };
    // One entry stands for all failures with the same cause; a failure after the newest one that the person
    // saw stays.
    let mut seen: BTreeMap<_, Option<Millis>> = BTreeMap::new();
    for row in flagged.iter().filter(|row| runs.contains(&row.run_key)) {
        if let Some(cause) = cause(row) {
            let newest = seen.entry(cause).or_default();
            *newest = (*newest).max(row.ended_at);
        }
    }
    // Sorted by agent, because each announcement locks the head of its agent.
    let mut of_agents: BTreeMap<AgentId, Vec<RunKey>> = BTreeMap::new();
    for row in flagged {
        let is_older = || {
            let newest = seen.get(&cause(&row)?)?;
            Some(row.ended_at <= *newest)
        };
        let is_meant = runs.contains(&row.run_key);
        // An unknown outcome is an item of its own.
        if is_meant || (is_older().unwrap_or(false) && !tx.has_unknown_outcome(&row.run_key)?) {
            of_agents.entry(row.agent_id).or_default().push(row.run_key);
        }
    }
    let mut events = Vec::new();
    for (agent, runs) in of_agents {
        let mut dismissed = Vec::new();
        for run in runs {
            if tx.dismiss_run(&run)? {
                dismissed.push(run);
            }
        }
        if !dismissed.is_empty() {
            let event = announce(tx, &agent, &seal(dismissed)?)?;
            events.extend(event.map(|event| (agent, event)));
        }
    }
    Ok(events)
}
