//! Retention: prunes data that is too old or too large in small transactions, and garbage-collects
//! unreferenced blobs. The core decides what to prune; this module performs it.
//!
//! No claim on an agent is needed, because only ended runs are touched. Each transaction locks the heads of
//! the affected agents, removes a bounded number of rows, and records it in one event per agent.

mod commit_counter;
mod gc;
mod size;

use std::collections::BTreeMap;
use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::report::payload::DataPruned;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::retention::{
    DataClass, GENERATION_EVERY_MS, ROUND_EVERY_MS, Retention, age_clock, has_passed,
};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::snapshot::WorkspaceSnapshots;
use wakeful_store::rows::{DataSize, FileSweep, PruneCandidate, PruneResult, PruneTarget, RetentionStateRow};
use wakeful_store::{Store, StoreError, Tx, View};

pub use self::commit_counter::{COMMITS_BETWEEN, CommitCounter, CountingObserver};
use crate::{Halt, Observer};

/// Maximum number of rows that one transaction removes: a few milliseconds during which other writers wait.
pub const SLICE_ROWS_MAX: u32 = 500;

/// Candidates that are listed at once: each list is a scan over all rows of a class.
const EVENTS_PAGE: u32 = 10_000;
const RUNS_PAGE: u32 = 500;

/// Applies the retention settings.
pub struct RetentionWorker {
    pub store: Store,
    /// How long and how much data is kept.
    pub retention: Retention,
    pub clock: Arc<dyn Clock>,
    /// Source of salts.
    pub entropy: Arc<dyn Entropy>,
    /// Receives committed events.
    pub observer: Arc<dyn Observer>,
    /// Snapshots of workspaces, which are kept as long as traces.
    pub snapshots: Arc<dyn WorkspaceSnapshots>,
}

/// The size of one class of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassUsage {
    pub class: DataClass,
    /// The current size.
    pub size: DataSize,
    /// The size of the data to prune.
    pub due: DataSize,
    /// Whether there may be more than was examined.
    pub is_more: bool,
}

/// The result of a retention round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionRound {
    /// Pruned data by class.
    pub pruned: BTreeMap<DataClass, DataSize>,
    /// Unreferenced blobs that were removed.
    pub swept: DataSize,
    /// Files without a row that were removed.
    pub files: FileSweep,
    /// Runs whose snapshots of the workspace were removed.
    pub snapshots: u64,
    /// Whether the round finished; false if it was halted.
    pub is_done: bool,
}

impl RetentionRound {
    /// Whether nothing was removed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let taken = self.pruned.values().chain([&self.swept, &self.files.removed]);
        self.snapshots == 0 && taken.into_iter().all(|held| held.rows == 0)
    }
}

/// When a round performs garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcMode {
    /// In every case.
    Always,
    /// Only if something was removed since the last collection.
    WhereDue,
}

impl RetentionWorker {
    /// Returns the usage of each class. Changes nothing.
    pub async fn usage(&self) -> Result<(Vec<ClassUsage>, RetentionStateRow), StoreError> {
        let care = self.store.read(|view| view.retention_state()).await?;
        let clock = self.age_clock(&care).await?;
        let mut all = Vec::new();
        for class in DataClass::ALL {
            let load = self.load(class, &Halt::never()).await?;
            let (due, is_more) = self.due(class, clock, load.excess, &Halt::never()).await?;
            let due = due
                .iter()
                .fold(DataSize::default(), |sum, aged| sum.and(aged.size));
            all.push(ClassUsage {
                class,
                size: load.held,
                due,
                is_more,
            });
        }
        Ok((all, care))
    }

    /// When the next round is due.
    pub async fn next_round(&self) -> Result<Millis, StoreError> {
        let (care, now) = (
            self.store.read(|view| view.retention_state()).await?,
            self.clock.now(),
        );
        let last = care.pruned_at.filter(|at| !has_passed(*at, now, ROUND_EVERY_MS));
        Ok(last.map_or(now, |at| Millis(at.0.saturating_add(ROUND_EVERY_MS))))
    }

    /// Performs one round: prunes each class, then collects garbage.
    pub async fn run_round(&self, sweep: GcMode, halt: &Halt) -> Result<RetentionRound, StoreError> {
        let (before, now) = (
            self.store.read(|view| view.retention_state()).await?,
            self.clock.now(),
        );
        let clock = self.age_clock(&before).await?;
        let mut cared = RetentionRound::default();
        let (mut unswept, mut is_over) = (before.unswept, false);
        for class in DataClass::ALL {
            let load = self.load(class, halt).await?;
            is_over |= load.is_over && class == DataClass::Blobs;
            let pruned = self.prune(class, clock, load.excess, halt).await?;
            if pruned.rows > 0 {
                unswept = Some(before.generation);
            }
            cared.pruned.insert(class, pruned);
            if halt.is_set() {
                return Ok(cared);
            }
        }
        let generation = match has_passed(before.generation_at, now, GENERATION_EVERY_MS) {
            true => (before.generation.saturating_add(1), now),
            false => (before.generation, before.generation_at),
        };
        let noted = RetentionStateRow {
            generation: generation.0,
            generation_at: generation.1,
            clock: Some(clock),
            unswept,
            ..before
        };
        if !self.note(noted, before.generation).await? {
            // Another process has started its own generation and collects the garbage.
            return Ok(cared);
        }
        // Keep one more generation: a transaction that started under the previous one may still be in
        // progress.
        let below = noted.generation - 1;
        if sweep == GcMode::Always || unswept.is_some() || is_over {
            cared.swept = self.sweep(below, halt).await?;
        }
        cared.files = self.store.sweep_files().await?;
        if let Some(cutoff) = self.retention.of(DataClass::Traces).cutoff(clock) {
            cared.snapshots = self.snapshots.prune(cutoff).await;
        }
        let done = RetentionStateRow {
            pruned_at: Some(now),
            // Blobs that were stored too recently are examined in the next round.
            unswept: unswept.filter(|unswept| below <= *unswept),
            ..noted
        };
        cared.is_done = !halt.is_set() && self.note(done, noted.generation).await?;
        Ok(cared)
    }

    /// The time from which ages are measured. Before the first round, it is derived from the newest event.
    async fn age_clock(&self, care: &RetentionStateRow) -> Result<Millis, StoreError> {
        let stood = match care.clock {
            None => self.store.read(newest_event).await?,
            Some(clock) => Some(clock),
        };
        Ok(age_clock(stood, self.clock.now()))
    }

    async fn note(&self, care: RetentionStateRow, expected: i64) -> Result<bool, StoreError> {
        self.store
            .write(move |tx| tx.put_retention_state(&care, expected))
            .await
    }

    /// Returns the data of a class to prune, up to one list, and whether there may be more.
    async fn due(
        &self,
        class: DataClass,
        clock: Millis,
        excess: u64,
        halt: &Halt,
    ) -> Result<(Vec<PruneCandidate>, bool), StoreError> {
        let bounds = self.retention.of(class);
        let before = match (excess, bounds.cutoff(clock)) {
            (0, None) => return Ok((Vec::new(), false)),
            (0, Some(cutoff)) => Some(cutoff),
            (_, _) => None,
        };
        let page = match class {
            DataClass::Events => EVENTS_PAGE,
            DataClass::Traces | DataClass::Blobs => RUNS_PAGE,
        };
        let mut oldest = self
            .store
            .read(move |view| view.prune_candidates(class, before, page))
            .await?;
        if class == DataClass::Blobs {
            self.measure(&mut oldest, excess, halt).await?;
        }
        let times: Vec<(Millis, u64)> = oldest.iter().map(|aged| (aged.at, aged.size.bytes)).collect();
        let is_more = oldest.len() >= page as usize;
        oldest.truncate(bounds.due(clock, excess, &times));
        let is_more = is_more && oldest.len() == times.len();
        Ok((oldest, is_more))
    }

    async fn prune(
        &self,
        class: DataClass,
        clock: Millis,
        mut excess: u64,
        halt: &Halt,
    ) -> Result<DataSize, StoreError> {
        let mut pruned = DataSize::default();
        let mut before: Option<PruneCandidate> = None;
        // If halted, the excess is unknown.
        while !halt.is_set() {
            let (due, is_more) = self.due(class, clock, excess, halt).await?;
            // A candidate that appears again was not removed, and would appear forever.
            if due.first() == before.as_ref() {
                return Ok(pruned);
            }
            before = due.first().cloned();
            let mut rest = due.as_slice();
            while !rest.is_empty() && !halt.is_set() {
                let (slice, later) = rest.split_at(slice_of(rest));
                pruned = pruned.and(self.take_all(slice.to_vec(), halt).await?);
                // The same measure that selected the candidates.
                let weight = slice.iter().map(|aged| aged.size.bytes).sum::<u64>();
                excess = excess.saturating_sub(weight);
                rest = later;
            }
            if !is_more {
                break;
            }
        }
        Ok(pruned)
    }

    /// Prunes these candidates in as many transactions as needed.
    async fn take_all(&self, mut slice: Vec<PruneCandidate>, halt: &Halt) -> Result<DataSize, StoreError> {
        let mut sum = DataSize::default();
        while !slice.is_empty() && !halt.is_set() {
            let taken = self.prune_slice(slice.clone()).await?;
            sum = taken.iter().fold(sum, |sum, taken| sum.and(taken.size));
            slice = slice
                .into_iter()
                .zip(taken)
                .filter(|(_, taken)| !taken.is_all)
                .map(|(aged, _)| aged)
                .collect();
            // Lets the drivers of runs proceed in between.
            tokio::task::yield_now().await;
        }
        Ok(sum)
    }

    /// Prunes in one transaction.
    async fn prune_slice(&self, slice: Vec<PruneCandidate>) -> Result<Vec<PruneResult>, StoreError> {
        let salts = slice
            .iter()
            .map(|aged| (aged.agent_id.clone(), self.entropy.random_bytes()));
        let salts: BTreeMap<AgentId, [u8; 32]> = salts.collect();
        let now = self.clock.now();
        let done = self.store.write(move |tx| take_in(tx, &slice, &salts, now));
        let (taken, events) = done.await?;
        for (agent, event) in &events {
            self.observer.on_events(agent, std::slice::from_ref(event));
        }
        Ok(taken)
    }
}

/// The time of the newest event of any agent.
pub fn newest_event(view: &mut View<'_>) -> Result<Option<Millis>, StoreError> {
    let mut newest = None;
    for (agent, last) in view.heads()? {
        let events = view.events_before(&agent, last.saturating_add(1), 1)?;
        newest = newest.max(events.iter().map(|event| event.at).max());
    }
    Ok(newest)
}

/// How many candidates fit into one transaction. At least one: a candidate that is too large is pruned in
/// parts.
fn slice_of(aged: &[PruneCandidate]) -> usize {
    let mut rows = 0_u64;
    let fits = aged.iter().take_while(|aged| {
        rows = rows.saturating_add(aged.size.rows.max(1));
        rows <= u64::from(SLICE_ROWS_MAX)
    });
    fits.count().max(1)
}

type Outcome = (Vec<PruneResult>, Vec<(AgentId, Event)>);

/// Processes agents in the order of their names, the order in which heads are always locked.
fn take_in(
    tx: &mut Tx<'_>,
    slice: &[PruneCandidate],
    salts: &BTreeMap<AgentId, [u8; 32]>,
    now: Millis,
) -> Result<Outcome, StoreError> {
    let mut taken = vec![
        PruneResult {
            is_all: true,
            ..PruneResult::default()
        };
        slice.len()
    ];
    let mut events = Vec::new();
    for (agent, salt) in salts {
        let Some(mut head) = tx.lock_head_to_announce(agent)? else {
            continue;
        };
        let mut sums: BTreeMap<DataClass, (DataSize, Millis)> = BTreeMap::new();
        let own = slice
            .iter()
            .zip(&mut taken)
            .filter(|(aged, _)| aged.agent_id == *agent);
        for (aged, taken) in own {
            *taken = take_one(tx, aged)?;
            let sum = sums
                .entry(aged.what.class())
                .or_insert((DataSize::default(), aged.at));
            *sum = (sum.0.and(taken.size), sum.1.max(aged.at));
        }
        for (class, (held, until)) in sums.into_iter().filter(|(_, (held, _))| held.rows > 0) {
            let pruned = DataPruned {
                class,
                rows: held.rows,
                bytes: held.bytes,
                until: until.rfc3339(),
            };
            let sealed = SealedEvent::new(EventDraft::new(pruned), now, None, *salt)
                .map_err(|_| StoreError::Malformed("event.payload"))?;
            let event = head.chain(agent, sealed);
            tx.append_event(agent, &event)?;
            events.push((agent.clone(), event));
        }
        tx.put_head(agent, &head)?;
    }
    Ok((taken, events))
}

/// The run log also references the transcript entries of a run, so it is removed first.
fn take_one(tx: &mut Tx<'_>, aged: &PruneCandidate) -> Result<PruneResult, StoreError> {
    let PruneTarget::Lines { run_key, .. } = &aged.what else {
        return tx.prune(&aged.agent_id, &aged.what, SLICE_ROWS_MAX);
    };
    let trace = PruneTarget::Trace { run_key: *run_key };
    let trace = tx.prune(&aged.agent_id, &trace, SLICE_ROWS_MAX)?;
    if !trace.is_all {
        return Ok(trace);
    }
    let lines = tx.prune(&aged.agent_id, &aged.what, SLICE_ROWS_MAX)?;
    Ok(PruneResult {
        size: lines.size.and(trace.size),
        ..lines
    })
}
