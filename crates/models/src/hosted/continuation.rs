//! Conversations that go on at the provider.
//!
//! A request that only adds to the last one answered may name that answer and send what is new. What is known of answers
//! is in this process alone and is never needed: whatever does not fit exactly, and whatever the provider has forgotten,
//! is sent whole, within the same attempt if it was refused by its status.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::Block;
use wakeful_core::key::Digest;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, ModelResponse};

use super::HostedModel;
use super::failure::ExchangeError;
use crate::wire::{self, DecodedResponse, Lowering, ProviderThread};

/// Most conversations that are remembered. The one that was used longest ago is forgotten first.
pub(super) const THREADS_MAX: usize = 64;

/// What a provider says when it does not know an answer any more. It is part of the field's name and of the code.
const FORGOTTEN: &str = "previous_response";

/// What a provider says when a model has no thoughts that could be sent back, or the server does not know the question.
const NOTHING_SEALED: [&str; 3] = [
    "ncrypted content is not supported",
    "reasoning.encrypted_content",
    "\"include\"",
];

/// What providers say of thoughts that they cannot read any more, as after a change of the key's owner. Without a way out
/// the thread would fail for ever.
const UNREADABLE: [&str; 4] = [
    "invalid_encrypted_content",
    "nvalid `signature` in `thinking`",
    "orrupted thought signature",
    "hought signature is not valid",
];

/// The answers that can be gone on from. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Continuations {
    known: Arc<Mutex<VecDeque<(ContinuationKey, LastResponse)>>>,
}

/// Whose conversation it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ContinuationKey {
    agent: String,
    prompt_cache_key: String,
}

/// The last answer of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LastResponse {
    response_id: String,
    /// Of everything but the conversation.
    frame: Digest,
    /// How many items the provider has, the answer's own among them.
    items: usize,
    /// Of these.
    said: Digest,
}

impl Continuations {
    /// Takes what is known. It is put back by an answer: a failed attempt leaves nothing to go on from.
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
    /// One attempt: what is new where that is enough, and everything where it is not.
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

    /// One exchange, and a second where the provider refuses the first because of thoughts: without asking for them, or
    /// without sending those that it cannot read.
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
        // What follows an answer that the provider has is counted with all that came before it.
        let whole = !matches!(thread, ProviderThread::Continues { .. });
        if whole && refuses(&trouble, &UNREADABLE) {
            return self
                .exchange(&without_thinking(request), &lowering, audience)
                .await;
        }
        Err(trouble)
    }

    /// Remembers an answer that the provider keeps, if it said under which id.
    fn keep(
        &self,
        scope: ContinuationKey,
        frame: Digest,
        request: &ModelRequest,
        heard: DecodedResponse,
    ) -> ModelResponse {
        let lowering = self.shape.lowering(&self.model, ProviderThread::Kept);
        let items = wire::items(&lowering, &request.entries, &heard.answer.blocks);
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

    /// Everything of a request but its conversation.
    fn frame(&self, request: &ModelRequest) -> Result<Digest, ExchangeError> {
        let frame = ModelRequest {
            model_ref: request.model_ref.clone(),
            request: 0,
            system: request.system.clone(),
            entries: Vec::new(),
            tools: request.tools.clone(),
            cache: request.cache.clone(),
        };
        let body = wire::body(&self.shape.lowering(&self.model, ProviderThread::Kept), &frame);
        let body = body.map_err(|error| ExchangeError::Unsendable(error.to_string()))?;
        Ok(Digest::of(&body))
    }

    /// Whether a request begins with exactly what the provider has, and goes on.
    fn extends(&self, request: &ModelRequest, known: &LastResponse) -> serde_json::Result<bool> {
        let lowering = self.shape.lowering(&self.model, ProviderThread::Kept);
        let items = wire::items(&lowering, &request.entries, &[])?;
        let had = items.get(..known.items).filter(|had| had.len() < items.len());
        Ok(had.is_some_and(|had| Digest::of(&had.concat()) == known.said))
    }
}

/// The same request without thoughts.
fn without_thinking(request: &ModelRequest) -> ModelRequest {
    let mut bare = request.clone();
    for entry in &mut bare.entries {
        entry
            .blocks
            .retain(|block| !matches!(block, Block::Thinking { .. }));
    }
    bare
}

/// Whether the provider refused the request, with one of these words. A status alone refuses: a response that had begun
/// may be paid for and its words were told, so that a second request would be one too many.
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
    fn the_conversation_used_longest_ago_is_forgotten_first() {
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
