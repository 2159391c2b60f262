//! What may go wrong around a store: the seam for simulations.

use std::pin::Pin;

use crate::Result;

/// Where a call on a store may fail, or where its process may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPoint {
    /// Before a read.
    Read,
    /// Before a transaction. Nothing was written.
    BeforeCommit,
    /// After a commit: it stands, and the caller may never learn of it.
    AfterCommit,
    /// Before a blob is packed.
    Pack,
}

/// A call that passes a [`FaultPoint`]. It never resolves where the process died there.
pub type FaultFuture<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// The faults of a simulated process, see [`Store::with_faults`](crate::Store::with_faults).
pub trait Faults: Send + Sync + 'static {
    /// Passes a point; an error is what the caller gets.
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_>;

    /// Whether the next transaction is run, rolled back and run again. It must not notice.
    fn runs_twice(&self) -> bool {
        false
    }

    /// Whether the process may be sure to act alone.
    fn holds_lease(&self) -> bool {
        true
    }
}
