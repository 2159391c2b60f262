//! Removes the key from responses, because a server may repeat it and responses are stored and shown.

use wakeful_core::conversation::Block;
use wakeful_core::redact;
use wakeful_ports::model::DeltaSink;

use super::credential::Credential;

/// Passes text on without the key. A key that is split between two deltas is passed on, because holding
/// text back would delay every stream; the stored response is redacted as a whole.
pub(super) struct RedactingSink<'a> {
    pub(super) key: Option<&'a Credential>,
    pub(super) audience: &'a dyn DeltaSink,
}

impl DeltaSink for RedactingSink<'_> {
    fn on_text(&self, text: &str) {
        match self.key.filter(|key| key.is_in(text)) {
            Some(key) => self.audience.on_text(&key.hide_in(text)),
            None => self.audience.on_text(text),
        }
    }
}

/// Removes the key from the blocks of a response.
pub(super) fn redact(key: &Credential, blocks: &mut [Block]) {
    redact::blocks(blocks, &|text| key.is_in(text).then(|| key.hide_in(text)));
}
