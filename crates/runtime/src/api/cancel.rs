//! Cancels a run or a queued message.

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::payload::WakeDecided;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::run::RunStatus;
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_core::wake::{Wait, WakeOutcome};
use wakeful_store::{PendingStop, StoreError, Tx};

use super::RunApi;
use super::shared::Shared;
use crate::run::describe_fault;
use crate::stored_run::StoredRun;
use crate::sub_run::{Withdrawal, end_children, lock_all};
use crate::{EngineError, Observer as _, Stamp, stored_run};

/// The result of a cancel request.
#[derive(Debug)]
pub enum CancelAck {
    /// The cancellation is durable; the stored run.
    Stored(Box<StoredRun>),
    /// The cancellation is in force in this process but not yet in the database.
    Pending(Box<PendingStop>),
}

/// The result of the cancelling transaction.
enum CancelOutcome {
    /// The end of the run was requested. Contains the agent and the other agents whose runs end with it.
    Requested(AgentId, Vec<AgentId>),
    Dequeued(AgentId, Box<Event>),
    TooLate,
    /// The run is quarantined for this reason: it has not ended and has no driver.
    Quarantined(Option<String>),
    Unknown,
}

impl RunApi {
    /// Requests the end of a run, or removes its message from the queue. Has no effect on a run that has
    /// ended.
    pub async fn cancel(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.shared.request_end(run).await?;
        stored_run::load(&self.shared.store, run).await
    }

    /// Cancels a run at once in this process, and then in the database. Returns [`CancelAck::Pending`] if
    /// the database does not store it in time.
    pub async fn cancel_now(&self, run: RunKey) -> Result<CancelAck, EngineError> {
        let target = StopTarget::Run(run);
        self.shared
            .stop(StopRequest {
                id: self.shared.fresh_id(),
                target: target.clone(),
                reason: String::new(),
                channel: Channel::Api,
                at: self.shared.clock.now(),
            })
            .await?;
        let mut pending = self.shared.store.stops().pending().into_iter();
        match pending.find(|pending| pending.request.target == target) {
            Some(pending) => Ok(CancelAck::Pending(Box::new(pending))),
            None => stored_run::load(&self.shared.store, run)
                .await
                .map(|stored| CancelAck::Stored(Box::new(stored))),
        }
    }
}

impl Shared {
    /// Requests the end of a run in the database, or removes its message from the queue.
    pub(super) async fn request_end(&self, run: RunKey) -> Result<(), EngineError> {
        self.cancel(run, CancelScope::Any).await
    }

    /// Cancels a queued message. Has no effect on a run that has started.
    pub(super) async fn cancel_queued(&self, run: RunKey) -> Result<(), EngineError> {
        self.cancel(run, CancelScope::Queued).await
    }

    async fn cancel(&self, run: RunKey, scope: CancelScope) -> Result<(), EngineError> {
        let at = self.clock.now();
        let decided = WakeDecided::new(run, WakeOutcome::Cancelled);
        let sealed = self.seal(EventDraft::new(decided), Some(run), at)?;
        let salt = self.entropy.random_bytes();
        let stamp = Stamp { at, salt };
        let request = CancelRequest { run, scope, stamp };
        let called = self.write(move |tx| request.write(tx, &sealed));
        match called.await? {
            CancelOutcome::Unknown => return Err(EngineError::UnknownRun(run)),
            CancelOutcome::TooLate => {}
            CancelOutcome::Quarantined(fault) => {
                let why = fault.as_deref().map(describe_fault).unwrap_or_default();
                return Err(EngineError::Quarantined { run, why });
            }
            // A driver reads the request; the service loop ends an open run without a driver.
            CancelOutcome::Requested(agent, others) => {
                self.work.signal_agent(agent);
                self.signal_all(others);
            }
            // The next message may start.
            CancelOutcome::Dequeued(agent, event) => {
                self.hub.on_events(&agent, &[*event]);
                self.work.signal_agent(agent);
            }
        }
        Ok(())
    }

    /// Signals the agents whose runs were changed by another transaction.
    pub(super) fn signal_all(&self, agents: Vec<AgentId>) {
        for agent in agents {
            // The log may have new events: followers read it again.
            self.hub.on_events(&agent, &[]);
            self.work.signal_agent(agent);
        }
    }
}

/// What a cancellation may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CancelScope {
    /// A queued message or its run.
    Any,
    /// Only a queued message.
    Queued,
}

struct CancelRequest {
    run: RunKey,
    scope: CancelScope,
    stamp: Stamp,
}

impl CancelRequest {
    /// Removes a message from the queue, or requests the end of its run.
    fn write(&self, tx: &mut Tx<'_>, sealed: &SealedEvent) -> Result<CancelOutcome, StoreError> {
        let Self { run, scope, stamp } = *self;
        let Some(message) = tx.message(&run)? else {
            return Ok(CancelOutcome::Unknown);
        };
        let (agent_id, parent) = (message.agent_id.clone(), message.parent.clone());
        let waiting = parent.as_ref().map(|parent| parent.agent_id.clone());
        // A run that waits for its turn has no driver, so it cannot start more sub-runs.
        let waits = tx.run(&run)?.is_some_and(|row| row.wait() == Some(Wait::Turn));
        let children = if waits { tx.children(&run)? } else { Vec::new() };
        let concerned = children.into_iter().map(|child| child.agent_id).chain(waiting);
        // Lock before reading the queue: a process that starts this run takes the same lock.
        let mut heads = lock_all(tx, &concerned.chain([agent_id.clone()]).collect())?;
        let Some(head) = heads.get_mut(&agent_id) else {
            return Ok(CancelOutcome::Unknown);
        };
        if !tx.is_queued(&run)? {
            return Ok(match tx.run(&run)? {
                _ if scope == CancelScope::Queued => CancelOutcome::TooLate,
                Some(row) if row.status == RunStatus::Open => {
                    tx.request_cancel(&run, stamp.at)?;
                    // The run in front may be driven for a long time, and a run cancels its sub-runs only
                    // when it is driven. End them here.
                    let waits = waits && row.wait() == Some(Wait::Turn);
                    let others = if waits {
                        end_children(tx, &run, &mut heads, stamp)?
                    } else {
                        Vec::new()
                    };
                    CancelOutcome::Requested(agent_id, others)
                }
                Some(row) if row.status == RunStatus::Quarantined => CancelOutcome::Quarantined(row.fault),
                Some(_) | None => CancelOutcome::TooLate,
            });
        }
        let withdrawal = Withdrawal {
            message: &message,
            sealed,
            gates: &[],
        };
        let event = withdrawal.write(tx, head)?;
        if let Some(parent) = parent {
            tx.make_run_due(&parent.run_key)?;
        }
        Ok(CancelOutcome::Dequeued(agent_id, Box::new(event)))
    }
}
