//! The notary signs heads: after so many events, after some rest, and at the end. It costs no commit of its own while an
//! agent works, and no timer while none does.

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;
use wakeful_store::Store;

use crate::hub::Hub;
use crate::{EngineError, Halt};

/// After so many events heads are signed. One signature then covers what a second of hard work brings.
pub const EVENTS_BETWEEN: u64 = 1_000;

/// After so long something that happened is signed, however little it was.
pub const SIGN_AFTER_MS: u64 = 10 * 60 * 1_000;

/// Heads signed in one transaction.
const HEADS_PAGE: u32 = 500;

/// Signs the head of every log that has grown since it was last signed with this key. Says how many.
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
        // A log may have grown since; its head is as true as it was.
        let heads: Vec<SignedHead> = page
            .into_iter()
            .map(|(agent, end)| SignedHead::sign(key, agent, end, at))
            .collect();
        count += heads.len() as u64;
        let kept = store.write(move |tx| heads.iter().try_for_each(|head| tx.put_signed_head(head)));
        kept.await?;
    }
}

/// Signs while a daemon lives.
pub struct HeadSigner {
    /// Where the logs are.
    pub store: Store,
    /// What is signed with.
    pub key: DeviceKey,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where what was committed is heard of.
    pub hub: Arc<Hub>,
}

impl HeadSigner {
    /// Signs until a stop is asked for. What could not be signed is tried again after the next event.
    pub async fn run(&self, halt: &Halt) {
        while !halt.is_set() {
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = self.hub.wait_for_events(1) => {}
            }
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = self.hub.wait_for_events(EVENTS_BETWEEN) => {}
                () = self.clock.sleep(SIGN_AFTER_MS) => {}
            }
            // Forgotten before and not after: what comes meanwhile counts for the next time.
            self.hub.reset_event_count();
            let _ = self.sign().await;
        }
    }

    /// Signs what has grown.
    pub async fn sign(&self) -> Result<u64, EngineError> {
        sign(&self.store, &self.key, self.clock.now()).await
    }
}
