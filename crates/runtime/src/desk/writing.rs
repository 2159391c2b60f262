//! How the desk writes: whatever becomes of the answer, what was written is seen to.

use wakeful_ports::store::{Store, StoreError, Tx};

use super::Clerk;

impl<S: Store> Clerk<S> {
    /// Writes in one transaction. Whoever does it says afterwards what there is to do; where the answer is lost nobody
    /// could, although the commit may stand.
    pub(super) async fn write<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        let written = self.store.write(f).await;
        if matches!(written, Err(StoreError::Unreachable(_))) {
            self.look_everywhere();
        }
        written
    }

    /// Lets everybody look who is else told what there is to do. Nobody knows whether something was written.
    pub(super) fn look_everywhere(&self) {
        self.hub.look();
        self.work.look();
        self.work.rearm();
    }
}
