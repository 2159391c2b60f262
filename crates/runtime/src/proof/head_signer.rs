//! Signs the heads of logs: after a number of events, after an idle time, and at shutdown. It needs no
//! extra commit while an agent works, and no timer while none does.

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;
use wakeful_store::Store;

use crate::hub::Hub;
use crate::{EngineError, Halt};

/// Number of events after which heads are signed: about one second of heavy work.
pub const EVENTS_BETWEEN: u64 = 1_000;

/// Time after which new events are signed, however few they are.
pub const SIGN_AFTER_MS: u64 = 10 * 60 * 1_000;

/// Heads signed in one transaction.
const HEADS_PAGE: u32 = 500;

/// Signs the head of every log that has grown since it was last signed with this key. Returns the number of
/// signed heads.
pub async fn sign(store: &Store, key: &DeviceKey, at: Millis) -> Result<u64, EngineError> {
    let public = key.public();
    let (mut after, mut count): (Option<AgentId>, u64) = (None, 0);
    loop {
        let page = store.read(move |view| view.unsigned_logs(&public, after.as_ref(), HEADS_PAGE));
        let page = page.await?;
        let Some((last, _)) = page.last() else {
            return Ok(count);
        };
        after = Some(last.clone());
        // A log may have grown since; the head that was read is still valid.
        let heads: Vec<SignedHead> = page
            .into_iter()
            .map(|(agent, end)| SignedHead::sign(key, agent, end, at))
            .collect();
        count += heads.len() as u64;
        let kept = store.write(move |tx| heads.iter().try_for_each(|head| tx.put_signed_head(head)));
        kept.await?;
    }
}

/// Signs heads while a daemon runs.
pub struct HeadSigner {
    pub store: Store,
    pub key: DeviceKey,
    pub clock: Arc<dyn Clock>,
    /// Reports committed events.
    pub hub: Arc<Hub>,
}

impl HeadSigner {
    /// Signs until the process halts. A failed signature is retried after the next event.
    pub async fn run(&self, halt: &Halt) {
        while !halt.is_set() {
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = self.hub.wait_for_events(1) => {}
            }
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = self.hub.wait_for_events(EVENTS_BETWEEN) => {}
                () = self.clock.sleep(SIGN_AFTER_MS) => {}
            }
            // Reset before signing, so that events that arrive meanwhile count for the next time.
            self.hub.reset_event_count();
            let _ = self.sign().await;
        }
    }

    /// Signs the heads of all logs that have grown.
    pub async fn sign(&self) -> Result<u64, EngineError> {
        sign(&self.store, &self.key, self.clock.now()).await
    }
}
