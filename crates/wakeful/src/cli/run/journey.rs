//! A run on its way: driven with what its own state names, until it ends or a signal comes.

use std::sync::Arc;

use wakeful_api::Run;
use wakeful_core::inference::CODES;
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::wake::Wait;
use wakeful_models::Models;
use wakeful_ports::fail;
use wakeful_runtime::EngineError;
use wakeful_runtime::run::{Claimed, DriveOutcome, claim, give_back};
use wakeful_runtime::stored_run;
use wakeful_store::StoreError;

use crate::backend::Backend;
use crate::cli::decision::undecided;
use crate::config::Settings;
use crate::failure::{DENIED, FAILED, Failure};
use crate::model::ModelRegistry;
use crate::place::{Place, RealEngine, Sandboxing, Tooling};
use crate::show::{Out, Progress};
use crate::signals::Signals;
use crate::workspace::WorkspacePath;

/// What every run of one call has in common.
pub(super) struct Journey<'a> {
    pub(super) place: &'a Place,
    pub(super) sandboxing: Sandboxing,
    pub(super) registry: ModelRegistry,
    pub(super) config: &'a Settings,
    pub(super) signals: Signals,
    pub(super) out: &'a Out,
}

/// What stopped a run.
pub(super) enum Trouble {
    /// It is about this run: others are not touched by it.
    One(Failure),
    /// It would stop every other run, too.
    All(Failure),
}

impl Journey<'_> {
    /// Goes on with a run that was begun before: with its own model and its own workspace, not with those of this
    /// call. Given back when they cannot be had.
    pub(super) async fn go_on(&mut self, claimed: Box<Claimed>) -> Result<u8, Trouble> {
        match self.engine_for(&claimed) {
            Ok(engine) => self.drive(&engine, claimed).await,
            Err(failure) => {
                give_back(&self.place.store, claimed).await?;
                Err(Trouble::One(failure))
            }
        }
    }

    fn engine_for(&self, claimed: &Claimed) -> Result<RealEngine, Failure> {
        let turn = claimed.turn();
        let models = self.registry.route(&turn.model_ref, &turn.fallbacks)?;
        let workspace = WorkspacePath::look(turn.workspace.as_ref(), self.place.home.root())?;
        self.engine(models, &workspace)
    }

    /// An engine that listens to the signals of this call.
    pub(super) fn engine(&self, models: Models, workspace: &WorkspacePath) -> Result<RealEngine, Failure> {
        let (sandboxing, halt) = (self.sandboxing, self.signals.halt());
        self.place.engine(Tooling {
            models,
            workspace,
            sandboxing,
            halt,
            observer: Arc::new(Progress::new(self.out)),
        })
    }

    /// Drives a run and shows how it ended.
    pub(super) async fn drive(&mut self, engine: &RealEngine, claimed: Box<Claimed>) -> Result<u8, Trouble> {
        let (agent, run) = (claimed.agent_id().clone(), claimed.run_key());
        let mut outcome = self.signals.during(engine.drive(claimed), self.out).await?;
        while outcome == DriveOutcome::Waiting(Wait::Children) {
            self.help(run).await?;
            let (store, runner) = (&self.place.store, &self.place.runner.runner_id);
            outcome = match claim(store, runner, run).await? {
                Some(claimed) => self.signals.during(engine.drive(claimed), self.out).await?,
                None => DriveOutcome::Ended,
            };
        }
        match outcome {
            DriveOutcome::Ended => {
                let recovered = self.place.recover_sagas_and_tell(self.out).await;
                recovered.map_err(EngineError::from)?;
                Ok(self.tell(run).await?)
            }
            DriveOutcome::Waiting(Wait::Decision { .. }) => {
                let backend = Backend::of_place(self.place).map_err(Trouble::One)?;
                let pending = backend.decisions_of(run).await.map_err(Trouble::One)?;
                Err(Trouble::One(undecided(
                    (agent.as_str(), run),
                    (&pending, backend.channel()),
                    self.out,
                )))
            }
            DriveOutcome::Braked => Err(Trouble::One(EngineError::Braked { agent, run }.into())),
            DriveOutcome::Stopped
            | DriveOutcome::Waiting(Wait::Due { .. } | Wait::Children | Wait::Budget | Wait::Turn) => {
                Err(Trouble::All(Failure::interrupted(run, self.signals.exit())))
            }
        }
    }

    /// Shows a finished run and says how the program should end.
    pub(super) async fn tell(&self, run: RunKey) -> Result<u8, EngineError> {
        fail::point("end.before_report");
        let stored = stored_run::load(&self.place.store, run).await?;
        let run = wakeful_server::view::run(&stored);
        self.out.run(&run);
        Ok(exit_code(&run))
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        let one = match &error {
            EngineError::UnknownAgent(_)
            | EngineError::UnknownRun(_)
            | EngineError::Refused(_)
            | EngineError::KeyReused { .. }
            | EngineError::AgentBusy { .. }
            | EngineError::AgentExists(_)
            | EngineError::Waits { .. }
            | EngineError::NoEngine { .. }
            | EngineError::BudgetExceeded { .. }
            | EngineError::Panicked(_)
            | EngineError::MachineVersion { .. }
            | EngineError::NotEnded { .. }
            | EngineError::ErasureRecord { .. }
            | EngineError::RunErased { .. }
            | EngineError::RunPruned { .. }
            | EngineError::Broken { .. }
            | EngineError::UnknownDecision(_)
            | EngineError::AmbiguousDecision(_)
            | EngineError::Unanswerable(_)
            | EngineError::Schedule(_)
            | EngineError::Lifecycle { .. }
            | EngineError::Past(_)
            | EngineError::NoTrigger
            | EngineError::NotQuarantined { .. }
            | EngineError::Undecided { .. }
            | EngineError::Braked { .. }
            | EngineError::Kept { .. }
            | EngineError::Quarantined { .. }
            | EngineError::Subscribing(_)
            | EngineError::CrashLoop { .. } => true,
            EngineError::Store(error) => is_of_one_run(error),
            EngineError::LeaseLost(_) => false,
        };
        if one {
            Self::One(error.into())
        } else {
            Self::All(error.into())
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::One(failure) | Trouble::All(failure) => failure,
        }
    }
}

/// Whether the database complains about rows of one run, and would serve another.
const fn is_of_one_run(error: &StoreError) -> bool {
    match error {
        StoreError::Conflict
        | StoreError::FenceLost(_)
        | StoreError::QueueFull(_)
        | StoreError::Braked(_)
        | StoreError::Malformed(_) => true,
        StoreError::Full
        | StoreError::ReadOnly
        | StoreError::Corrupt(_)
        | StoreError::LogRemoved
        | StoreError::Foreign
        | StoreError::DevelopmentHome
        | StoreError::NewerSchema { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::Absent
        | StoreError::BadAddress(_)
        | StoreError::Unreachable(_)
        | StoreError::Closed
        | StoreError::Device(_)
        | StoreError::Backend(_) => false,
    }
}

/// 4 when a gate before the model stayed shut; 1 when the run did not succeed or something may have happened that nobody
/// knows of; 4 when the policy refused something; 0 else.
pub(super) fn exit_code(run: &Run) -> u8 {
    let failure = run.failure_artifact.as_ref();
    if failure.is_some_and(|failure| CODES.contains(&failure.kind.as_str())) {
        DENIED
    } else if run.outcome != RunStatus::Completed || !run.unknown.is_empty() {
        FAILED
    } else if !run.denied.is_empty() {
        DENIED
    } else {
        0
    }
}
