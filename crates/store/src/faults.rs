//! Fault injection for simulations of a store.

use std::pin::Pin;

use crate::Result;

/// A point at which a call on a store may fail or its process may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPoint {
    Read,
    /// Before a transaction. Nothing was written.
    BeforeCommit,
    /// After a commit: it is durable, but the caller may never receive the result.
    AfterCommit,
    /// Before a blob is packed.
    Pack,
}

/// A call that passes a [`FaultPoint`]. It never resolves if the process dies there.
pub type FaultFuture<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// The faults of a simulated process, see [`Store::with_faults`](crate::Store::with_faults).
pub trait Faults: Send + Sync + 'static {
    /// Passes a point. The caller receives the error, if any.
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_>;

    /// Whether the next transaction is run, rolled back and run again. The result must be the same.
    fn runs_twice(&self) -> bool {
        false
    }

    /// Whether the process certainly still holds its lease.
    fn holds_lease(&self) -> bool {
        true
    }
}
