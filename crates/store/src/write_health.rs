//! Records storage failures of the last write, so that a health check can report them before the next
//! message is refused.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::job::again;
use crate::lock::locked;
use crate::{Result, StoreError};

/// The storage error of the last write, if any.
#[derive(Default)]
pub(crate) struct WriteHealth {
    /// Whether there is an error. Lets a successful write, the usual case, skip the lock.
    is_any: AtomicBool,
    last: Mutex<Option<StoreError>>,
}

impl WriteHealth {
    /// Records the result of a write. Errors of the transaction itself do not concern the storage and are
    /// ignored.
    pub(crate) fn note<T>(&self, written: Result<T>) -> Result<T> {
        match &written {
            Ok(_) if self.is_any.load(Ordering::Acquire) => self.put(None),
            Ok(_) => {}
            Err(error) => self.note_error(error),
        }
        written
    }

    /// Records a storage error.
    pub(crate) fn note_error(&self, error: &StoreError) {
        if is_of_storage(error) {
            self.put(Some(again(error)));
        }
    }

    fn put(&self, trouble: Option<StoreError>) {
        let mut last = locked(&self.last);
        self.is_any.store(trouble.is_some(), Ordering::Release);
        *last = trouble;
    }

    /// Returns the last storage error; `None` after a successful write.
    pub(crate) fn last(&self) -> Option<StoreError> {
        locked(&self.last).as_ref().map(again)
    }
}

/// Whether an error concerns the storage and not the data to be written.
const fn is_of_storage(error: &StoreError) -> bool {
    match error {
        StoreError::Full
        | StoreError::ReadOnly
        | StoreError::LogRemoved
        | StoreError::Corrupt(_)
        | StoreError::Device(_)
        | StoreError::Unreachable(_) => true,
        StoreError::Conflict
        | StoreError::FenceLost(_)
        | StoreError::Braked(_)
        | StoreError::QueueFull(_)
        | StoreError::Foreign
        | StoreError::DevelopmentHome
        | StoreError::NewerSchema { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::Absent
        | StoreError::BadAddress(_)
        | StoreError::Malformed(_)
        | StoreError::Closed
        | StoreError::Backend(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_error_is_reported_until_a_write_succeeds() {
        let trouble = WriteHealth::default();
        assert!(trouble.note(Ok(1)).is_ok() && trouble.last().is_none());
        assert!(trouble.note::<()>(Err(StoreError::Full)).is_err());
        assert!(trouble.note::<()>(Err(StoreError::Conflict)).is_err());
        assert!(
            matches!(trouble.last(), Some(StoreError::Full)),
            "others say nothing of it"
        );
        assert!(
            trouble
                .note::<()>(Err(StoreError::Device("it broke".into())))
                .is_err()
        );
        assert!(matches!(trouble.last(), Some(StoreError::Device(why)) if why.to_string() == "it broke"));
        assert!(trouble.note(Ok(())).is_ok() && trouble.last().is_none());
    }
}
