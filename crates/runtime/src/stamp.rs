//! The time and the salt of a new event.

use wakeful_core::json::NotCanonical;
use wakeful_core::key::RunKey;
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Entropy;

/// The time and the salt of a new event.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// When it happens.
    pub at: Millis,
    /// What keeps its payload from being guessed by its hash.
    pub salt: [u8; 32],
}

impl Stamp {
    /// Fixes time, salt and payload of a draft.
    pub(crate) fn seal(self, draft: EventDraft, run: Option<RunKey>) -> Result<SealedEvent, NotCanonical> {
        SealedEvent::new(draft, self.at, run, self.salt)
    }
}

/// What several events of one time are stamped with, each with a salt of its own.
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
