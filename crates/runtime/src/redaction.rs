//! Removes keys of providers and secrets of commands from everything that is stored or shown.

use wakeful_core::blob::Blob;
use wakeful_core::redact;
use wakeful_core::tool::CHANGED_MAX;
use wakeful_ports::model::{Model, ModelResponse};
use wakeful_ports::tool::{ToolHost, ToolOutcome};

use crate::Engine;

/// The bytes without keys of the run's providers and without secrets of commands; none if there are none.
pub(crate) fn redacted<M: Model, T: ToolHost>(model: &M, tools: &T, bytes: &[u8]) -> Option<Vec<u8>> {
    let first = model.redact_keys(bytes);
    let second = tools.redact(first.as_deref().unwrap_or(bytes));
    second.or(first)
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The bytes without keys and secrets; none if they contain none. Nothing with one is stored or shown.
    pub(crate) fn redacted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        redacted(&*self.model, &*self.tools, bytes)
    }

    /// Redacts keys and secrets in a result: a command may read a file that contains one, and neither the
    /// model nor the database needs it.
    pub(crate) fn without_keys(&self, mut done: ToolOutcome) -> ToolOutcome {
        for blob in &mut done.blobs {
            let Some(bytes) = self.redacted(blob.bytes()) else {
                continue;
            };
            let cut = Blob::new(bytes);
            done.content = done
                .content
                .replace(&blob.hash().to_string(), &cut.hash().to_string());
            *blob = cut;
        }
        // An image cannot be changed, so one whose metadata contains a key is left out.
        let has_key = |bytes: Vec<u8>| self.redacted(&bytes).is_some();
        done.images.retain(|image| !image.bytes().is_some_and(has_key));
        let cut = self.redacted(done.content.as_bytes());
        if let Some(content) = cut.and_then(|bytes| String::from_utf8(bytes).ok()) {
            done.content = content;
        }
        done.changed.truncate(CHANGED_MAX);
        for changed in &mut done.changed {
            let cut = self.redacted(changed.entity_id.as_bytes());
            if let Some(id) = cut.and_then(|bytes| String::from_utf8(bytes).ok()) {
                changed.entity_id = id;
            }
        }
        done
    }

    /// Redacts a reply: a model may repeat what it read in an earlier version of a file or a secret.
    pub(crate) fn reply_without_keys(&self, mut response: ModelResponse) -> ModelResponse {
        redact::blocks(&mut response.blocks, &|text| {
            let bytes = self.redacted(text.as_bytes())?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        response
    }
}
