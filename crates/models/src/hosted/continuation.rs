//! Conversations that are continued on the provider's side.
//!
//! A request that only extends the last answered one can refer to that response and send only the new
//! items. The stored responses are an optimisation and exist only in this process: a request that does not
//! match exactly, or whose response the provider no longer has, is sent completely. If the provider refused
//! it by status, that happens within the same attempt.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::Block;
use wakeful_core::key::Digest;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, ModelResponse};

use super::HostedModel;
use super::failure::ExchangeError;
use crate::wire::{self, DecodedResponse, Lowering, ProviderThread};

/// Maximum number of stored conversations. The least recently used one is removed first.
pub(super) const THREADS_MAX: usize = 64;

/// The text in a provider's error when it no longer has the previous response; part of the field name and
/// of the code.
const FORGOTTEN: &str = "previous_response";

/// Texts in a provider's error when a model has no encrypted thoughts, or the server does not support the
/// option.
const NOTHING_SEALED: [&str; 3] = [
    "ncrypted content is not supported",
    "reasoning.encrypted_content",
    "\"include\"",
];

/// Texts in providers' errors about thoughts that they can no longer decrypt, for example after the key's
/// owner changed. Without a retry, the conversation would fail permanently.
const UNREADABLE: [&str; 4] = [
    "invalid_encrypted_content",
    "nvalid `signature` in `thinking`",
    "orrupted thought signature",
    "hought signature is not valid",
];

/// The responses from which conversations can be continued. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Continuations {
    known: Arc<Mutex<VecDeque<(ContinuationKey, LastResponse)>>>,
}

/// The conversation that a response belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ContinuationKey {
    agent: String,
    prompt_cache_key: String,
}

/// The last response of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LastResponse {
    response_id: String,
    /// The hash of the request without its conversation.
    frame: Digest,
    /// The number of items that the provider has, including those of the response.
    items: usize,
    /// The hash of these items.
    said: Digest,
}

impl Continuations {
    /// Removes and returns the last response. Only a successful response stores a new one, so a failed
    /// attempt leaves nothing to continue from.
    fn take(&self, scope: &ContinuationKey) -> Option<LastResponse> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let index = known.iter().position(|(whose, _)| whose == scope)?;
        known.remove(index).map(|(_, answer)| answer)
    }

    fn put(&self, scope: ContinuationKey, answer: LastResponse) {
        self.take(&scope);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= THREADS_MAX {
            known.pop_front();
        }
        known.push_back((scope, answer));
    }
}

impl HostedModel {
    /// Performs one attempt: sends only the new items if possible, and the complete conversation otherwise.
    pub(super) async fn converse(
        &self,
        request: &ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ExchangeError> {
        let prompt_cache_key = request.cache.prompt_cache_key.clone();
        if !self.shape.continues() || prompt_cache_key.is_empty() {
            let heard = self
                .exchange_or_retry_without_thinking(request, ProviderThread::NotKept, audience)
                .await?;
            return Ok(heard.answer);
        }
        let scope = ContinuationKey {
            agent: request.cache.agent_id.to_string(),
            prompt_cache_key,
        };
        let frame = self.frame(request)?;
        let known = self.threads.take(&scope).filter(|known| known.frame == frame);
        let known = known.filter(|known| self.extends(request, known).unwrap_or(false));
        if let Some(known) = known {
            let thread = ProviderThread::Continues {
                response_id: &known.response_id,
                items: known.items,
            };
            match self
                .exchange_or_retry_without_thinking(request, thread, audience)
                .await
            {
                Ok(heard) => return Ok(self.keep(scope, frame, request, heard)),
                Err(trouble) if refuses(&trouble, &[FORGOTTEN, &known.response_id]) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        let heard = self
            .exchange_or_retry_without_thinking(request, ProviderThread::Kept, audience)
            .await?;
        Ok(self.keep(scope, frame, request, heard))
    }

    /// Performs one exchange, and a second one if the provider refuses the first because of thoughts:
    /// without requesting them, or without sending those that the provider cannot decrypt.
    async fn exchange_or_retry_without_thinking(
        &self,
        request: &ModelRequest,
        thread: ProviderThread<'_>,
        audience: &dyn DeltaSink,
    ) -> Result<DecodedResponse, ExchangeError> {
        let lowering = self.shape.lowering(&self.model, thread);
        let trouble = match self.exchange(request, &lowering, audience).await {
            Ok(heard) => return Ok(heard),
            Err(trouble) => trouble,
        };
        if lowering.asks_for_thoughts() && refuses(&trouble, &NOTHING_SEALED) {
            let unasked = Lowering {
                sealed_thoughts: false,
                ..lowering
            };
            let heard = self.exchange(request, &unasked, audience).await?;
            self.shape.disable_thinking();
            return Ok(heard);
        }
        // The item count of a continued conversation refers to the complete conversation, so its items
        // cannot be removed.
        let whole = !matches!(thread, ProviderThread::Continues { .. });
        if whole && refuses(&trouble, &UNREADABLE) {
            return self
                .exchange(&without_thinking(request), &lowering, audience)
                .await;
        }
        Err(trouble)
    }

    /// Stores a response for continuation, if the provider gave it an id.
    fn keep(
        &self,
        scope: ContinuationKey,
        frame: Digest,
        request: &ModelRequest,
        heard: DecodedResponse,
    ) -> ModelResponse {
        let lowering = self.shape.lowering(&self.model, ProviderThread::Kept);
        let items = wire::items(&lowering, request, &heard.answer.blocks);
        if let (Some(response_id), Ok(items)) = (heard.response_id, items) {
            let known = LastResponse {
                response_id,
                frame,
                items: items.len(),
                said: Digest::of(&items.concat()),
            };
            self.threads.put(scope, known);
        }
        heard.answer
    }

    /// Returns the hash of a request without its conversation.
    fn frame(&self, request: &ModelRequest) -> Result<Digest, ExchangeError> {
        let frame = ModelRequest {
            model_ref: request.model_ref.clone(),
            request: 0,
            system: request.system.clone(),
            entries: Vec::new(),
            tools: request.tools.clone(),
            answer_schema: request.answer_schema.clone(),
            cache: request.cache.clone(),
        };
        let body = wire::body(&self.shape.lowering(&self.model, ProviderThread::Kept), &frame);
        let body = body.map_err(|error| ExchangeError::Unsendable(error.to_string()))?;
        Ok(Digest::of(&body))
    }

    /// Whether a request begins with exactly the items that the provider has and adds new ones.
    fn extends(&self, request: &ModelRequest, known: &LastResponse) -> serde_json::Result<bool> {
        let lowering = self.shape.lowering(&self.model, ProviderThread::Kept);
        let items = wire::items(&lowering, request, &[])?;
        let had = items.get(..known.items).filter(|had| had.len() < items.len());
        Ok(had.is_some_and(|had| Digest::of(&had.concat()) == known.said))
    }
}

/// Returns the same request without thoughts, and without searches, which belong to thoughts.
fn without_thinking(request: &ModelRequest) -> ModelRequest {
    let mut bare = request.clone();
    for entry in &mut bare.entries {
        entry
            .blocks
            .retain(|block| !matches!(block, Block::Thinking { .. } | Block::WebSearch(_)));
    }
    bare
}

/// Whether the provider refused the request with an error that contains one of these texts. Only an error
/// status counts: a response that has begun may be billed and its text was already delivered, so it must
/// not be requested again.
fn refuses(trouble: &ExchangeError, words: &[&str]) -> bool {
    let ExchangeError::Status {
        status: 400..500,
        body,
        ..
    } = trouble
    else {
        return false;
    };
    let text = String::from_utf8_lossy(body);
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(n: usize) -> ContinuationKey {
        ContinuationKey {
            agent: "main".to_owned(),
            prompt_cache_key: n.to_string(),
        }
    }

    fn known(n: usize) -> LastResponse {
        LastResponse {
            response_id: n.to_string(),
            frame: Digest::of(b""),
            items: n,
            said: Digest::of(b""),
        }
    }

    #[test]
    fn the_least_recently_used_conversation_is_removed_first() {
        let threads = Continuations::default();
        for n in 0..THREADS_MAX {
            threads.put(scope(n), known(n));
        }
        threads.put(scope(0), known(1_000));
        threads.put(scope(THREADS_MAX), known(THREADS_MAX));
        assert_eq!(threads.take(&scope(1)), None);
        assert_eq!(threads.take(&scope(0)), Some(known(1_000)));
        assert_eq!(threads.take(&scope(0)), None, "taken");
        assert_eq!(threads.known.lock().expect("no panic").len(), THREADS_MAX - 1);
    }
}
