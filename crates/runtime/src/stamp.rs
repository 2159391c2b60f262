//! The time and the salt of a new event.

use wakeful_core::json::NotCanonical;
use wakeful_core::key::RunKey;
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Entropy;

/// The time and the salt of a new event.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    pub at: Millis,
    /// Keeps the payload from being guessed from its hash.
    pub salt: [u8; 32],
}

impl Stamp {
    /// Seals a draft with this time and salt.
    pub(crate) fn seal(self, draft: EventDraft, run: Option<RunKey>) -> Result<SealedEvent, NotCanonical> {
        SealedEvent::new(draft, self.at, run, self.salt)
    }
}

/// Creates stamps with the same time and a fresh salt each.
pub(crate) struct StampSource<'a> {
    pub(crate) entropy: &'a dyn Entropy,
    pub(crate) now: Millis,
}

impl StampSource<'_> {
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            at: self.now,
            salt: self.entropy.random_bytes(),
        }
    }
}
