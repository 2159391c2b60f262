//! What the database lies on, as far as the last write tells: whoever asks whether a daemon can be used need not wait for
//! the next message that is refused.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::job::again;
use crate::lock::locked;
use crate::{Result, StoreError};

/// Why the last write was refused.
#[derive(Default)]
pub(crate) struct WriteHealth {
    /// Whether there is any: so that a write that works, as nearly all do, takes no lock.
    is_any: AtomicBool,
    last: Mutex<Option<StoreError>>,
}

impl WriteHealth {
    /// Notes how a write ended. One that was refused for reasons of its own says nothing of the storage.
    pub(crate) fn note<T>(&self, written: Result<T>) -> Result<T> {
        match &written {
            Ok(_) if self.is_any.load(Ordering::Acquire) => self.put(None),
            Ok(_) => {}
            Err(error) => self.note_error(error),
        }
        written
    }

    /// Notes a refusal.
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

    /// The last refusal, until a write has worked again.
    pub(crate) fn last(&self) -> Option<StoreError> {
        locked(&self.last).as_ref().map(again)
    }
}

/// Whether an error tells of what the database lies on, and not of what was to be written.
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
    fn a_refusal_of_the_storage_stands_until_a_write_works_again() {
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
