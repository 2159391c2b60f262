//! The stop signal of an action.

use std::sync::Arc;

use tokio::sync::watch;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_ports::clock::Clock;
use wakeful_ports::tool::StopSignal;
use wakeful_store::Store;

use crate::Halt;
use crate::step::{INTERRUPT_POLL_MS, read_interrupts};

/// The requested stop level of an action. It only increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopLevel {
    /// Continue.
    Run,
    /// Do not start; an action that has started may finish.
    StartNothing,
    /// End now.
    End,
}

/// The stop signal of an action, and the checks before a delayed start.
pub(super) struct ActionStop {
    pub(super) wish: watch::Receiver<StopLevel>,
    pub(super) store: Store,
    pub(super) halt: Halt,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) run: RunKey,
    pub(super) agent: AgentId,
}

impl ActionStop {
    async fn wait_for_level(&self, least: StopLevel) {
        let mut wish = self.wish.clone();
        // An error means that the watcher was dropped, so no stop can be requested.
        if wish.wait_for(|wish| *wish >= least).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl StopSignal for ActionStop {
    async fn stopped(&self) {
        self.wait_for_level(StopLevel::End).await;
    }

    async fn start_forbidden(&self) {
        self.wait_for_level(StopLevel::StartNothing).await;
    }

    async fn start_allowed(&self) {
        loop {
            let look = read_interrupts(&self.store, self.run, &self.agent).await;
            // Checked after the read, which may take time; these checks do not wait.
            let may_act = !self.halt.is_set() && self.store.holds_lease();
            match look {
                Ok(look) if may_act && !look.is_cancelled && !look.is_braked => return,
                // The watcher of the action reads the same state and reports why it is stopped. A failed
                // read permits nothing.
                Ok(_) | Err(_) => self.clock.sleep(INTERRUPT_POLL_MS).await,
            }
        }
    }
}
