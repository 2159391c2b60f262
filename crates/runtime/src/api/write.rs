//! Writes that finish even if the caller stops waiting.

use wakeful_core::key::{Digest, RunKey};
use wakeful_core::report::{Draft, Sealed};
use wakeful_core::time::Millis;
use wakeful_store::{StoreError, Tx};

use super::RuntimeApi;
use crate::EngineError;
use crate::run::broken;

impl RuntimeApi {
    pub(super) fn seal(&self, draft: Draft, run: Option<RunKey>, now: Millis) -> Result<Sealed, EngineError> {
        let sealed = Sealed::new(draft, now, run, self.entropy.bytes32());
        // What is announced here is made of words and numbers of our own, which always have a canonical form.
        sealed.map_err(|error| broken(run.unwrap_or(RunKey(Digest::ZERO)), &error))
    }

    /// Writes in one transaction. Whoever does it says afterwards what there is to do; where the answer is lost nobody
    /// could, although the commit may stand.
    pub(super) async fn write<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let written = self.store.write(f).await;
        if matches!(written, Err(StoreError::Unreachable(_))) {
            self.look_everywhere();
        }
        written
    }

    /// Tries a write where the last one was refused: nobody else may come while the daemon says that it cannot be used.
    pub async fn try_storage(&self) -> Result<(), EngineError> {
        if self.store.trouble().is_some() {
            let written = self.store.write(|tx| {
                let care = tx.care()?;
                tx.put_care(&care, care.generation)
            });
            written.await?;
        }
        Ok(())
    }

    /// Lets everybody look who is else told what there is to do. Nobody knows whether something was written.
    pub(super) fn look_everywhere(&self) {
        self.hub.look();
        self.work.look();
        self.work.rearm();
    }
}
