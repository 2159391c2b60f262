//! Notifies listeners in this process after each commit.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use wakeful_ports::journal::CommitListener;

use crate::Result;

/// Sends a notification after each commit. Clones are cheap and share the same listeners.
#[derive(Debug, Clone)]
pub struct CommitNotifier {
    rung: watch::Sender<u64>,
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self {
            rung: watch::Sender::new(0),
        }
    }
}

impl CommitNotifier {
    /// Returns a guard that is moved into the transaction's closure and dropped with it when the
    /// transaction ends.
    pub(super) fn in_transaction(&self) -> NotifyOnDrop {
        NotifyOnDrop {
            notifier: self.clone(),
            wrote: AtomicBool::new(false),
        }
    }

    /// Subscribes to all later commits.
    #[must_use]
    pub fn subscribe(&self) -> Box<dyn CommitListener> {
        Box::new(Listener {
            // Keeps the channel open while the listener waits.
            _notifier: self.clone(),
            rung: self.rung.subscribe(),
        })
    }
}

/// Notifies listeners when a transaction that wrote something ends, even if its caller no longer waits or
/// the server's response was lost. An occasional false notification costs one read.
pub(super) struct NotifyOnDrop {
    notifier: CommitNotifier,
    wrote: AtomicBool,
}

impl NotifyOnDrop {
    /// Records whether the transaction is about to commit a change.
    pub(super) fn observe_outcome<T, R>(&self, outcome: &Result<Result<T, R>>) {
        self.wrote.store(matches!(outcome, Ok(Ok(_))), Ordering::Relaxed);
    }
}

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        if *self.wrote.get_mut() {
            self.notifier
                .rung
                .send_modify(|times| *times = times.wrapping_add(1));
        }
    }
}

struct Listener {
    _notifier: CommitNotifier,
    rung: watch::Receiver<u64>,
}

impl CommitListener for Listener {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // The channel closes only with its last sender, and this listener holds one.
            let _ = self.rung.changed().await;
        })
    }
}
