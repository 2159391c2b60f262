//! Stop requests that the database does not have yet.

use std::collections::BTreeSet;
use std::pin::Pin;

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::stop::StopRequest;

use crate::store::StoreError;

/// A stop request that waits for the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStop {
    /// The request.
    pub request: StopRequest,
    /// The ids of all requests for its target that count as this one: whoever has stored it ends these.
    pub ids: BTreeSet<u64>,
    /// Whether it is kept in the home and so survives this process.
    pub is_kept: bool,
    /// Why the database did not take it, as an error code; empty while it has not answered.
    pub code: String,
}

/// The stop requests of a home that wait for its database. They are in force. Only [`Self::refresh`],
/// [`Self::keep`] and [`Self::end`] wait for a disk.
pub trait Stops: Send + Sync + 'static {
    /// Whether a pending brake holds an agent.
    fn is_braked(&self, agent: &AgentId) -> bool;

    /// Whether the cancellation of a run is pending.
    fn is_cancelled(&self, run: &RunKey) -> bool;

    /// Every pending request, one for each target, brakes first.
    fn pending(&self) -> Vec<PendingStop>;

    /// Takes a request in; it holds in this process when this returns. The ids of all that count as this request. None where
    /// too many wait.
    fn hold(&self, request: StopRequest) -> Option<BTreeSet<u64>>;

    /// Notes why the database did not take the requests, and wakes the task that stores them later ([`Self::changed`]).
    fn note(&self, code: &str);

    /// Whether there is a file for [`Self::keep`].
    fn has_slot(&self) -> bool;

    /// Reads what other processes left in the home. It is read anyway while runs are driven; a release must know it for
    /// certain. Waits for the disk like [`Self::keep`].
    fn refresh(&self) -> Result<(), StoreError>;

    /// Keeps what this process holds in the home, which needs no free space, so that it survives this process. Writes a
    /// small file and waits for the disk: not on a thread that must not wait.
    fn keep(&self) -> Result<(), StoreError>;

    /// Ends requests that the database has or that are void. Waits for the disk like [`Self::keep`]; fails where the home
    /// still has them.
    fn end(&self, ids: &BTreeSet<u64>) -> Result<(), StoreError>;

    /// Resolves when, since the last call, [`Self::note`] was called or another process left a request in the home.
    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
