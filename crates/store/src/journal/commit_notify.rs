//! A bell that is rung after each commit, for whoever waits in this process.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use wakeful_ports::journal::CommitListener;

use crate::Result;

/// Rung after each commit. Cloning it is cheap; all clones are one bell.
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
    /// Goes into the closure of a transaction, which is let go of when the transaction is over.
    pub(super) fn in_transaction(&self) -> NotifyOnDrop {
        NotifyOnDrop {
            bell: self.clone(),
            wrote: AtomicBool::new(false),
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn subscribe(&self) -> Box<dyn CommitListener> {
        Box::new(Listener {
            // Keeps the bell, so that it cannot vanish while somebody waits.
            _bell: self.clone(),
            rung: self.rung.subscribe(),
        })
    }
}

/// Rings when a transaction that wrote something is over, also when whoever asked for it has gone, or the answer of the
/// server was lost. Now and then it rings for nothing, which costs one read.
pub(super) struct NotifyOnDrop {
    bell: CommitNotifier,
    wrote: AtomicBool,
}

impl NotifyOnDrop {
    /// Looks at what the transaction is about to commit.
    pub(super) fn observe_outcome<T, R>(&self, outcome: &Result<Result<T, R>>) {
        self.wrote.store(matches!(outcome, Ok(Ok(_))), Ordering::Relaxed);
    }
}

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        if *self.wrote.get_mut() {
            self.bell.rung.send_modify(|times| *times = times.wrapping_add(1));
        }
    }
}

struct Listener {
    _bell: CommitNotifier,
    rung: watch::Receiver<u64>,
}

impl CommitListener for Listener {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // It ends only with the last bell, and this holds one.
            let _ = self.rung.changed().await;
        })
    }
}
