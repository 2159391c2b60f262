//! Keeps the two databases of a daemon in step: what runs left behind in the journal is taken back when it starts, and
//! whenever a run has ended. Nothing else can leave something behind, so nothing else makes it look.

use std::sync::Arc;

use tokio::sync::Notify;
use wakeful_core::id::AgentId;
use wakeful_core::report::{Event, Kind};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::saga::Recovered;
use wakeful_runtime::{Halt, Observer, Spoken};

use super::life::log;
use crate::failure::Failure;
use crate::place::Place;

/// Stands between the engines and the hub.
pub(crate) struct Keeper {
    hub: Arc<Hub>,
    ended: Notify,
}

impl Keeper {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        let ended = Notify::new();
        // What an earlier life left behind comes first.
        ended.notify_one();
        Self { hub, ended }
    }

    /// Looks whenever there is a reason to, until a stop is asked for. Many reasons at once are one look.
    pub(crate) async fn keep(&self, place: &Place, halt: Halt) {
        loop {
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = self.ended.notified() => {}
            }
            match place.recover_sagas().await {
                Ok(Recovered {
                    undone: 0, stuck: 0, ..
                }) => {}
                Ok(Recovered { undone, stuck, .. }) => {
                    log(&format!(
                        "writes to the journal: {undone} taken back, {stuck} stuck (`wakeful saga list`)"
                    ));
                }
                // The next run's end looks again.
                Err(error) => log(&Failure::from(error).to_string()),
            }
        }
    }
}

impl Observer for Keeper {
    fn saw(&self, agent: &AgentId, events: &[Event]) {
        self.hub.saw(agent, events);
        // None means that only the store knows which there are.
        let is_reason = |event: &Event| matches!(event.sealed.kind, Kind::RunEnded);
        if events.is_empty() || events.iter().any(is_reason) {
            self.ended.notify_one();
        }
    }

    fn heard(&self, spoken: &Spoken<'_>) {
        self.hub.heard(spoken);
    }
}
