//! Erasing contents from the log.

use super::RuntimeApi;
use wakeful_core::proof::Erasure;

use crate::proof::{Erase, erase};
use crate::{EngineError, Observer as _};

impl RuntimeApi {
    /// Erases contents of what has ended. The log stays whole and tells of it.
    pub async fn erase(&self, wanted: Erase) -> Result<Erasure, EngineError> {
        let agent = wanted.agent.clone();
        let fresh = (self.clock.now(), self.entropy.bytes32());
        erase(&self.store, wanted, fresh, |event| {
            self.hub.saw(&agent, &[event]);
        })
        .await
    }
}
