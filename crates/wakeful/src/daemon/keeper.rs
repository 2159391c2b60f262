//! Keeps the two databases of a daemon in step: what runs left behind in the journal is taken back when it starts, and
//! whenever a run has ended or was given up. Nothing else can leave something behind, so nothing else makes it look.

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
        let is_reason = |event: &Event| matches!(event.sealed.kind, Kind::RunEnded | Kind::RunReleased);
        if events.is_empty() || events.iter().any(is_reason) {
            self.ended.notify_one();
        }
    }

    fn heard(&self, spoken: &Spoken<'_>) {
        self.hub.heard(spoken);
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::id::Incarnation;
    use wakeful_core::key::Digest;
    use wakeful_core::report::{Draft, Head, Sealed};
    use wakeful_core::time::Millis;

    use super::*;

    fn looks_after(kind: Kind) -> bool {
        let keeper = Keeper::new(Arc::default());
        let agent = AgentId::parse("main").expect("a name");
        let draft = Draft::new(kind, serde_json::json!({}));
        let mut head = Head {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("h.1"),
        };
        let event = head.chain(
            &agent,
            Sealed::new(draft, Millis(0), None, [0; 32]).expect("canonical"),
        );
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            keeper.ended.notified().await;
            keeper.saw(&agent, &[event]);
            tokio::select! {
                biased;
                () = keeper.ended.notified() => true,
                () = std::future::ready(()) => false,
            }
        })
    }

    #[test]
    fn the_journal_is_looked_at_when_a_run_has_ended_or_was_given_up() {
        assert!(looks_after(Kind::RunEnded));
        assert!(looks_after(Kind::RunReleased));
        assert!(!looks_after(Kind::RunStarted));
    }
}
