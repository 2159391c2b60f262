//! One turn of one agent: it continues an open run, or starts the run of the next message.

use std::sync::Arc;

use wakeful_core::budget::MicroUsd;
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::key::RunKey;
use wakeful_core::wake::Refusal;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::planted_bugs;
use wakeful_store::{Store, WorkQuery};

use super::EngineFactory;
use crate::absorb::{self, AgentWork, FirstEntry, NextMessage};
use crate::hub::Hub;
use crate::run::{ClaimedRun, DriveOutcome, claim, quarantine, release_run, run_to_quarantine};
use crate::wake::{ResolvedOptions, StartOutcome};
use crate::{EngineError, Observer as _, Stamp};

/// An agent and the result of its turn; none if nothing may start.
pub(super) type TurnResult = (AgentId, Result<Option<DriveOutcome>, EngineError>);

pub(super) struct AgentTurn<W> {
    pub(super) store: Store,
    pub(super) engine_factory: Arc<W>,
    pub(super) runner: RunnerId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) hub: Arc<Hub>,
    /// The daily cap for all agents together until a person sets one.
    pub(super) daily_cap: MicroUsd,
    pub(super) agent: AgentId,
    /// The run to start or continue; none for the agent's next work.
    pub(super) target: Option<RunKey>,
    /// Whether the last turn failed because of the storage or the lease: then it does not count against the
    /// run.
    pub(super) should_reset_claims: bool,
}

impl<W: EngineFactory> AgentTurn<W> {
    /// Performs the turn, with a run that this process has just started if there is one.
    pub(super) async fn take(self, started: Option<Box<ClaimedRun>>) -> TurnResult {
        let result = match started {
            Some(claimed) => self.drive(claimed).await.map(Some),
            None => self.work().await,
        };
        let result = match result {
            Err(error) => self.quarantine(error).await.map(Some),
            done => done,
        };
        let result = match result {
            // Another runner drives the agent, or another run came first: not an error, and nothing to do
            // here. A caller that waits for one run receives the error.
            Err(EngineError::AgentBusy { .. } | EngineError::Refused(Refusal::RunOpen { .. }))
                if self.target.is_none() =>
            {
                Ok(None)
            }
            result => result,
        };
        (self.agent, result)
    }

    /// Quarantines the run if it can never continue, so that the agent can do other work.
    async fn quarantine(&self, error: EngineError) -> Result<DriveOutcome, EngineError> {
        let Some(run) = run_to_quarantine(&error) else {
            return Err(error);
        };
        let stamp = Stamp {
            at: self.clock.now(),
            salt: self.entropy.random_bytes(),
        };
        match quarantine(&self.store, run, &error, stamp).await? {
            Some(event) => {
                self.hub.on_events(&self.agent, &[event]);
                Ok(DriveOutcome::Ended)
            }
            None => Err(error),
        }
    }

    /// Continues an open run, or starts the run of a message. Returns none if nothing may start.
    async fn work(&self) -> Result<Option<DriveOutcome>, EngineError> {
        let (agent, target) = (self.agent.clone(), self.target);
        let query = WorkQuery {
            now: self.clock.now(),
            daily_cap: self.daily_cap,
        };
        let found = self.store.read(move |view| match target {
            Some(run) => absorb::find_target(view, run),
            None => absorb::find(view, &agent, query),
        });
        match found.await? {
            AgentWork::Unknown => Err(EngineError::UnknownAgent(self.agent.clone())),
            AgentWork::Nothing => Ok(None),
            AgentWork::Run(_) if planted_bugs::is_planted("open_run_left") => Ok(None),
            AgentWork::Run(run) => {
                if self.should_reset_claims {
                    self.store.write(move |tx| tx.reset_claim_count(&run)).await?;
                }
                match claim(&self.store, &self.runner, run).await? {
                    Some(claimed) => self.drive(claimed).await.map(Some),
                    None => Ok(Some(DriveOutcome::Ended)),
                }
            }
            AgentWork::Message(next) => self.start(*next).await,
        }
    }

    /// Drives a run with the model and workspace named in its state.
    async fn drive(&self, claimed: Box<ClaimedRun>) -> Result<DriveOutcome, EngineError> {
        match self
            .engine_factory
            .engine(&self.agent, &ResolvedOptions::of(claimed.turn()))
        {
            Ok(engine) => engine.drive(claimed).await,
            Err(error) => self.drive_without_engine(claimed, error).await,
        }
    }

    /// Handles an open run without an engine: it waits, unless its end was requested, which needs none.
    async fn drive_without_engine(
        &self,
        claimed: Box<ClaimedRun>,
        error: EngineError,
    ) -> Result<DriveOutcome, EngineError> {
        let run = claimed.run_key();
        let wanted = self.store.read(move |view| view.cancel_requested(&run)).await;
        let ending = match wanted {
            Ok(true) => self.engine_factory.engine_for_ending(claimed.agent_id()).ok(),
            Ok(false) | Err(_) => None,
        };
        match ending {
            Some((engine, _kept)) => engine.drive(claimed).await,
            None => {
                release_run(&self.store, claimed).await?;
                Err(error)
            }
        }
    }

    async fn start(&self, next: NextMessage) -> Result<Option<DriveOutcome>, EngineError> {
        let NextMessage {
            agent,
            message,
            body,
            beside,
        } = next;
        let opening = FirstEntry::of(&message, body.as_deref(), beside)?;
        let limits = self.engine_factory.resolve_options(&agent, &message);
        let engine = self.engine_factory.engine(&agent.agent_id, &limits)?;
        match engine.start_queued(message, opening, limits).await {
            Ok(StartOutcome::Started(claimed)) => engine.drive(claimed).await.map(Some),
            Ok(StartOutcome::NotQueued(_)) => Ok(Some(DriveOutcome::Ended)),
            // The agent was paused or another runner started the run since it was read: the verdict is
            // recorded, and the message stays queued. A caller that named this run receives the reason,
            // except for a brake, which it checks itself.
            Err(EngineError::Refused(refusal)) if self.target.is_none() || refusal == Refusal::Braked => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
