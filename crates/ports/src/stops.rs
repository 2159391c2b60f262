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
    /// Whether it is kept in the home and so survives this process.
    pub is_kept: bool,
    /// Why the database did not take it, as an error code; empty while it has not answered.
    pub code: String,
}

/// The stop requests of a home that wait for its database. They are in force.
pub trait Stops: Send + Sync + 'static {
    /// Whether a pending brake holds an agent. Never waits for the database.
    fn is_braked(&self, agent: &AgentId) -> bool;

    /// Whether the cancellation of a run is pending. Never waits for the database.
    fn is_cancelled(&self, run: &RunKey) -> bool;

    /// Every pending request.
    fn pending(&self) -> Vec<PendingStop>;

    /// Takes a request in; it holds in this process when this returns. The id of the request that holds: an earlier one for
    /// the same target stands. None where too many wait.
    fn hold(&self, request: StopRequest) -> Option<u64>;

    /// Notes why the database did not take the requests, and wakes whoever stores them later ([`Self::came`]).
    fn note(&self, code: &str);

    /// Whether there is a file for [`Self::keep`].
    fn has_slot(&self) -> bool;

    /// Keeps what this process holds in the home, which needs no free space, so that it survives this process. Writes a
    /// small file and waits for the disk: not on a thread that must not wait.
    fn keep(&self) -> Result<(), StoreError>;

    /// Ends requests that the database has or that are void. Waits for the disk like [`Self::keep`]; fails where the home
    /// still has them.
    fn end(&self, ids: &BTreeSet<u64>) -> Result<(), StoreError>;

    /// Resolves when a request was found to wait for the database since the last call.
    fn came(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
