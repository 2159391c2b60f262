//! What may be taken out of the log, at the desk.

use super::{Asked, Clerk};
use crate::Observer as _;
use crate::proof::{Erase, Erased, erase};

/// What faces tell about what was kept.
pub trait Archive: Send + Sync + 'static {
    /// Erases contents of what has ended. The log stays whole and tells of it.
    fn erase(&self, erase: Erase) -> Asked<'_, Erased>;
}

impl Archive for Clerk {
    fn erase(&self, wanted: Erase) -> Asked<'_, Erased> {
        Box::pin(async move {
            let agent = wanted.agent.clone();
            let fresh = (self.clock.now(), self.entropy.bytes32());
            erase(&self.store, wanted, fresh, |event| {
                self.hub.saw(&agent, &[event]);
            })
            .await
        })
    }
}
