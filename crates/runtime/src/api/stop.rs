//! Brakes and cancellations: in force at once, stored as soon as the database accepts them.
//!
//! A request takes effect in this process before the database is accessed. If the database does not store
//! it in time, it is saved in the home, the caller learns that it is not durable yet, and
//! [`BrakeApi::store_until_halted`] retries. A release works the other way round: it takes effect when the
//! database has stored it.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::decision::Channel;
use wakeful_core::failure::truncate_chars;
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;
use wakeful_core::report::payload::BrakeChanged;
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_store::rows::BrakeRow;
use wakeful_store::{PendingStop, PendingStopStore, StoreError};

use super::shared::Shared;
use crate::{EngineError, Halt};

/// Maximum length of a brake's reason.
pub const REASON_CHARS_MAX: usize = 500;

/// How long the database may take to store a request before it is saved in the home, and how long saving it
/// there may take.
const STORE_WAIT_MS: u64 = 500;

/// Time between two attempts to store pending requests.
const STORE_AGAIN_MS: u64 = 1_000;

/// The error code for a database that has not responded in time.
pub const DATABASE_SLOW: &str = "database_slow";

pub struct BrakeApi {
    pub(super) shared: Arc<Shared>,
}

impl BrakeApi {
    /// Brakes and cancellations that are in force but not yet in the database.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingStop> {
        self.shared.store.stops().pending()
    }

    /// Sets a brake on one agent or on all, and returns the brakes that are set.
    pub async fn set(
        &self,
        agent: Option<AgentId>,
        reason: String,
        channel: Channel,
    ) -> Result<Vec<BrakeRow>, EngineError> {
        self.shared
            .stop(StopRequest {
                id: self.shared.fresh_id(),
                target: StopTarget::brake(agent.as_ref()),
                reason: truncate_chars(&reason, REASON_CHARS_MAX),
                channel,
                at: self.shared.clock.now(),
            })
            .await?;
        self.list().await
    }

    /// Releases a brake. It takes effect when it is durable: pending requests for the brake are stored and
    /// removed from the home before the release commits, so that they cannot set the brake again.
    pub async fn release(
        &self,
        agent: Option<AgentId>,
        channel: Channel,
    ) -> Result<Vec<BrakeRow>, EngineError> {
        let _alone = self.shared.stop_lock.lock().await;
        let stops = self.shared.store.stops();
        let target = StopTarget::brake(agent.as_ref());
        self.shared.on_disk(stops, PendingStopStore::refresh).await?;
        let pending = stops.pending().into_iter();
        for pending in pending.filter(|pending| pending.request.target == target) {
            self.shared.store_request(&pending.request).await?;
            self.shared.end(stops, pending.ids).await?;
        }
        let payload = BrakeChanged {
            is_on: false,
            scope: BrakeChanged::scope(agent.as_ref()),
            reason: None,
            channel,
        };
        let lifted = agent.clone();
        self.shared
            .change_brake(agent, payload, move |tx| tx.release_brake(lifted.as_ref()))
            .await?;
        let query = self.shared.work_query();
        // The brake is released even if this read fails.
        let ready = self
            .shared
            .store
            .read(move |view| view.agents_with_work(query))
            .await;
        let ready = ready.inspect_err(|_| self.shared.signal_everything())?;
        ready
            .into_iter()
            .for_each(|agent| self.shared.work.signal_agent(agent));
        self.list().await
    }

    /// Lists the brakes that are set; the brake on all agents comes first. If the database does not respond
    /// in time, lists only the pending ones.
    pub async fn list(&self) -> Result<Vec<BrakeRow>, EngineError> {
        let read = self.shared.store.read(|view| view.brakes());
        let pending = self.pending_brakes();
        if pending.is_empty() {
            return Ok(read.await?);
        }
        tokio::select! {
            biased;
            brakes = read => Ok(brakes.unwrap_or(pending)),
            () = self.shared.clock.sleep(STORE_WAIT_MS) => Ok(pending),
        }
    }

    fn pending_brakes(&self) -> Vec<BrakeRow> {
        let brakes = self
            .shared
            .store
            .stops()
            .pending()
            .into_iter()
            .filter_map(|pending| {
                let request = pending.request;
                Some(BrakeRow {
                    agent_id: request.target.scope()?.cloned(),
                    reason: request.reason,
                    channel: request.channel,
                    at: request.at,
                })
            });
        brakes.collect()
    }

    /// Tries once to store pending requests. Returns the error if the database still rejects them.
    pub async fn store_pending(&self) -> Result<(), EngineError> {
        let stops = self.shared.store.stops();
        let mut failed = None;
        let targets = stops.pending().into_iter().map(|pending| pending.request.target);
        for target in targets.collect::<Vec<StopTarget>>() {
            let _alone = self.shared.stop_lock.lock().await;
            // Since the list was made, a release may have ended the request or another process may have
            // added one.
            let mut pending = stops.pending().into_iter();
            let Some(pending) = pending.find(|pending| pending.request.target == target) else {
                continue;
            };
            match self.shared.store_request(&pending.request).await {
                // A failed request does not prevent the others from being stored.
                Err(EngineError::Store(error)) => {
                    stops.note(&Problem::from(&error).code);
                    failed = Some(error);
                }
                // An invalid request ends as well.
                Ok(()) | Err(_) => self.shared.end(stops, pending.ids).await?,
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Retries to store pending stop requests until the process halts.
    pub async fn store_until_halted(&self, halt: &Halt) {
        let stops = self.shared.store.stops();
        let storing = async {
            loop {
                match self.store_pending().await {
                    Ok(()) => stops.changed().await,
                    Err(_) => self.shared.clock.sleep(STORE_AGAIN_MS).await,
                }
            }
        };
        tokio::select! {
            biased;
            () = halt.wait_until_set() => {}
            () = storing => {}
        }
    }
}

impl Shared {
    /// Random, so that two processes do not create the same id.
    pub(super) fn fresh_id(&self) -> u64 {
        let bytes = self.entropy.random_bytes();
        bytes.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Puts a stop request into force, then stores it in the database or saves it in the home.
    pub(super) async fn stop(&self, request: StopRequest) -> Result<(), EngineError> {
        let stops = self.store.stops();
        let Some(ids) = stops.add(request.clone()) else {
            return self.store_request(&request).await;
        };
        let stored = tokio::select! {
            biased;
            stored = self.store_request(&request) => stored.map_err(|error| {
                if let EngineError::Store(error) = error {
                    Ok(Problem::from(&error).code.into_owned())
                } else {
                    // The request itself is invalid.
                    Err(error)
                }
            }),
            () = self.clock.sleep(STORE_WAIT_MS) => Err(Ok(DATABASE_SLOW.to_owned())),
        };
        match stored {
            Ok(()) => self.end_or_note(stops, ids).await,
            Err(Err(error)) => {
                self.end_or_note(stops, ids).await;
                return Err(error);
            }
            Err(Ok(code)) => {
                // A request that cannot be saved is still in force, and the caller receives it as pending.
                let _ = self.on_disk(stops, PendingStopStore::save).await;
                stops.note(&code);
            }
        }
        Ok(())
    }

    /// Stores a request in the database: the brake, or the cancellation.
    async fn store_request(&self, request: &StopRequest) -> Result<(), EngineError> {
        let Some(agent) = request.target.scope() else {
            let StopTarget::Run(run) = request.target else {
                return Ok(());
            };
            return self.request_end(run).await;
        };
        let brake = BrakeRow {
            agent_id: agent.cloned(),
            reason: request.reason.clone(),
            channel: request.channel,
            at: request.at,
        };
        let payload = BrakeChanged {
            is_on: true,
            scope: BrakeChanged::scope(agent),
            reason: Some(brake.reason.clone()),
            channel: brake.channel,
        };
        self.change_brake(agent.cloned(), payload, move |tx| tx.put_brake(&brake))
            .await
    }

    /// Removes pending requests that are stored or invalid.
    async fn end(&self, stops: &Arc<PendingStopStore>, ids: BTreeSet<u64>) -> Result<(), StoreError> {
        self.on_disk(stops, move |stops| stops.end(&ids)).await
    }

    /// Like `end`, but if the home does not respond in time, the request stays pending and is stored again.
    async fn end_or_note(&self, stops: &Arc<PendingStopStore>, ids: BTreeSet<u64>) {
        if let Err(error) = self.end(stops, ids).await {
            stops.note(&Problem::from(&error).code);
        }
    }

    /// Changes the pending requests in the home on a blocking thread, with a timeout.
    async fn on_disk(
        &self,
        stops: &Arc<PendingStopStore>,
        change: impl FnOnce(&PendingStopStore) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        if !stops.has_slot() {
            return change(stops.as_ref());
        }
        let stops = Arc::clone(stops);
        let changed = tokio::task::spawn_blocking(move || change(stops.as_ref()));
        tokio::select! {
            biased;
            changed = changed => changed.unwrap_or(Err(StoreError::Closed)),
            () = self.clock.sleep(STORE_WAIT_MS) => Err(StoreError::Device("the home folder does not respond".into())),
        }
    }
}
