//! Taking a lock, whatever became of its last holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. A panic elsewhere does not matter: what our locks guard is replaced as a whole, never half changed.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
