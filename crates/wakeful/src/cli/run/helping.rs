//! Driving what a run waits for, where no daemon does: the runs that it started, and those that they started.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::wake::Wait;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::EngineError;
use wakeful_runtime::run::DriveOutcome;
use wakeful_runtime::service::work_once;
use wakeful_store::{StoreError, View};

use super::journey::{Journey, Trouble};
use crate::daemon::host::DaemonEngineFactory;
use crate::failure::{Failure, UNDECIDED};
use crate::model::ModelRegistry;
use crate::place::Place;
use crate::show::Progress;
use crate::world::RealClock;

/// The longest sleep before somebody who is due is looked at.
const LOOK_MS_MAX: u64 = 1_000;

/// What a look at a run that waits found.
enum Found {
    /// It can go on.
    Due,
    /// It waits for runs of these agents.
    Waits(BTreeSet<AgentId>),
}

impl<'a> Journey<'a> {
    /// Makes engines as a daemon does, for runs whose limits stand in their messages.
    pub(super) fn engine_factory(&self) -> DaemonEngineFactory<&'a Place> {
        DaemonEngineFactory {
            place: self.place,
            config: self.config.clone(),
            models: ModelRegistry::new(self.config),
            sandboxing: self.sandboxing,
            observer: Arc::new(Progress::new(self.out)),
            halt: self.signals.halt(),
        }
    }

    /// Drives whom a run waits for, one after the other, until it can go on.
    pub(super) async fn help(&mut self, run: RunKey) -> Result<(), Trouble> {
        let (store, runner) = (self.place.store.clone(), self.place.runner.runner_id.clone());
        let factory = self.engine_factory();
        let (mut why, clock) = (String::new(), RealClock::new());
        loop {
            let found = store.read(move |view| look(view, run)).await;
            let agents = match found.map_err(EngineError::from)? {
                Found::Due => return Ok(()),
                Found::Waits(agents) => agents,
            };
            let mut has_moved = false;
            for agent in &agents {
                if self.signals.halt().is_set() {
                    return Err(Trouble::All(Failure::interrupted(run, self.signals.exit())));
                }
                let turn = work_once(&store, &factory, &runner, (agent, &clock, false));
                match self.signals.during(turn, self.out).await {
                    Ok(Some(DriveOutcome::Ended | DriveOutcome::Stopped)) => has_moved = true,
                    Ok(Some(DriveOutcome::Waiting(_) | DriveOutcome::Braked) | None) => {}
                    Err(error) => why = format!(": {}", Failure::from(error)),
                }
            }
            if !has_moved && !self.sleep_until_due(run).await? {
                return Err(Trouble::One(waits(run, &agents, &why)));
            }
        }
    }

    /// Sleeps until something is due that rests; false where nothing ever will be.
    async fn sleep_until_due(&mut self, run: RunKey) -> Result<bool, Trouble> {
        let clock = RealClock::new();
        let now = clock.now();
        let next = self.place.store.read(move |view| {
            let is_due = view.run(&run)?.is_none_or(|row| row.suspension.is_none());
            Ok((is_due, view.next_due(now)?))
        });
        let (is_due, next) = next.await.map_err(EngineError::from)?;
        if is_due {
            return Ok(true);
        }
        let Some(due) = next else { return Ok(false) };
        let nap = clock.sleep(due.since(now).clamp(1, LOOK_MS_MAX));
        self.signals.during(nap, self.out).await;
        Ok(true)
    }
}

/// Whether a run can go on, or for whose runs it waits, through however many.
fn look(view: &mut View<'_>, run: RunKey) -> Result<Found, StoreError> {
    let row = view.run(&run)?;
    if row.is_none_or(|row| row.status != RunStatus::Open || row.wait() != Some(Wait::Children)) {
        return Ok(Found::Due);
    }
    let (mut agents, mut left) = (BTreeSet::new(), vec![run]);
    while let Some(one) = left.pop() {
        for child in view.children(&one)? {
            let waits = match view.run(&child.run_key)? {
                Some(row) => row.status == RunStatus::Open,
                None => view.is_queued(&child.run_key)?,
            };
            if waits {
                agents.insert(child.agent_id);
                left.push(child.run_key);
            }
        }
    }
    Ok(Found::Waits(agents))
}

/// Why nothing moves: somebody below waits for a person, for money or for a release.
fn waits(run: RunKey, agents: &BTreeSet<AgentId>, why: &str) -> Failure {
    let agents: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    let message = format!("run {run} waits for a run of {}{why}", agents.join(", "));
    let hint = format!("`wakeful runs show {run}` names it; then `wakeful run --resume`");
    Failure::new("run_waits", message, hint).exiting(UNDECIDED)
}
