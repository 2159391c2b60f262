//! External triggers: public URLs, impossible to guess, with which external systems wake an agent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Path};
use axum::http::{HeaderMap, HeaderValue, Request, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use tokio::sync::SemaphorePermit;
use wakeful_api::{
    DeliverExternalTrigger, ExternalTrigger, GetExternalTrigger, RevokeExternalTrigger,
    RotateExternalTrigger, TriggerDeliveryResult,
};
use wakeful_core::external_trigger::{DeliveryMode, TriggerStatus};
use wakeful_core::id::{RuleId, TraceId, TurnId};
use wakeful_core::key::Digest;
use wakeful_core::redact::Redactor;
use wakeful_core::time::Millis;
use wakeful_runtime::EngineError;
use wakeful_runtime::api::{TriggerCapability, TriggerDelivery};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::bounded;
use crate::guard::{Peer, count, count_failure, failed, too_many};
use crate::rate::{RateKey, RateStatus};
use crate::redaction;
use crate::route::{Call, Routes, to_its_end};

/// Largest body of a delivery. It is a signal that makes an agent look further, not a file upload.
pub(crate) const DELIVERY_BYTES_MAX: usize = 64 * 1024;

/// After how many seconds a sender may try again while the agent's budget is spent. Always the same, because the end of
/// a period would tell which limit it is.
const OVER_BUDGET_RETRY_S: u64 = 60;

/// The headers in which a sender names its delivery.
const NAME_HEADERS: [&str; 2] = ["idempotency-key", "x-delivery-id"];

/// The headers in which a sender gives the correlation and the causation of its delivery.
const CORRELATION_HEADER: &str = "x-correlation-id";
const CAUSATION_HEADER: &str = "x-causation-id";

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(show)
        .add(rotate)
        .add(revoke)
        .raw::<DeliverExternalTrigger, _, _>(deliver)
}

/// The token of a URL. It can be derived again at any time, but only with the secret.
fn token(secret: &Digest, trigger: &str, generation: u64) -> Digest {
    // A key shorter than a block is padded with zeros.
    let mut key = [0; 64];
    for (place, byte) in key.iter_mut().zip(secret.as_bytes()) {
        *place = *byte;
    }
    let mut mac = Hmac::<Sha256>::new(&key.into());
    mac.update(format!("wakeful trigger\0{trigger}\0{generation}").as_bytes());
    Digest::from_bytes(mac.finalize().into_bytes().into())
}

/// The API view of a trigger, with its URL while it is active.
#[must_use]
pub fn external_trigger(capability: &TriggerCapability) -> ExternalTrigger {
    let TriggerCapability { row, secret } = capability;
    let id = row.trigger_id.as_str();
    let path = || {
        format!(
            "/api/external-triggers/{id}/{}",
            token(secret, id, row.generation)
        )
    };
    ExternalTrigger {
        external_trigger_id: id.to_owned(),
        target_agent_id: row.agent_id.to_string(),
        trigger_path: (row.status == TriggerStatus::Active).then(path),
        delivery_mode: DeliveryMode::WakeHint,
        status: row.status,
        trigger_count: row.delivered,
        last_triggered_at: row.last_at.map(Millis::rfc3339),
        created_at: row.created_at.rfc3339(),
    }
}

/// Checks the token of a trigger in constant time. If the trigger does not exist, the same work is done and
/// discarded.
fn is_right(capability: Option<&TriggerCapability>, id: &str, shown: &str) -> bool {
    let (secret, generation, status) = match capability {
        Some(TriggerCapability { row, secret }) => (*secret, row.generation, row.status),
        None => (Digest::ZERO, 0, TriggerStatus::Revoked),
    };
    let wanted = token(&secret, id, generation);
    let shown = Digest::from_hex(shown).unwrap_or(Digest::ZERO);
    bool::from(wanted.as_bytes().ct_eq(shown.as_bytes())) && status == TriggerStatus::Active
}

/// The rate key of deliveries to a URL. Only senders with the correct token are counted under it: guesses
/// would use up the rate of the owner and the slots of the table.
fn key_of(id: &str, shown: &str) -> RateKey {
    RateKey::Trigger(Digest::of(format!("{id}/{shown}").as_bytes()))
}

/// Forgets the rate of a revoked URL, so that its next delivery gets the error that the trigger does not
/// exist.
fn forget(app: &App, capability: &TriggerCapability, generation: u64) {
    let TriggerCapability { row, secret } = capability;
    let id = row.trigger_id.as_str();
    app.rates
        .forget(&key_of(id, &token(secret, id, generation).to_string()));
}

/// Rejects deliveries that are certain to be refused before anything is read from the database: those to a
/// URL that was valid within this minute and has reached its rate limit. A client with too many wrong URLs
/// must wait while another such URL is looked up, unless its own was valid within this minute. So a flood
/// of guesses costs one lookup at a time, and a valid URL still passes.
fn admit<'a>(
    app: &'a App,
    key: &RateKey,
    peer: Option<Peer>,
) -> Result<Option<SemaphorePermit<'a>>, ApiError> {
    let now = app.clock.monotonic_ms();
    match app.rates.standing(key, app.limits.outside_per_minute, now) {
        RateStatus::Full(wait_s) => return Err(too_many(app, key, wait_s)),
        RateStatus::Room => return Ok(None),
        RateStatus::Unknown => {}
    }
    let failed = failed(peer);
    match app.rates.standing(&failed, app.limits.failures_per_minute, now) {
        RateStatus::Unknown | RateStatus::Room => Ok(None),
        RateStatus::Full(wait_s) => match app.guesses.try_acquire() {
            Ok(place) => Ok(Some(place)),
            Err(_) => Err(too_many(app, &failed, wait_s)),
        },
    }
}

async fn show(call: Call, asked: GetExternalTrigger) -> Result<ExternalTrigger, ApiError> {
    Ok(external_trigger(
        &call.runtime()?.triggers.get(asked.agent_id.0).await?,
    ))
}

async fn rotate(call: Call, asked: RotateExternalTrigger) -> Result<ExternalTrigger, ApiError> {
    let found = call.runtime()?.triggers.rotate(asked.agent_id.0).await?;
    forget(&call, &found, found.row.generation.saturating_sub(1));
    Ok(external_trigger(&found))
}

async fn revoke(call: Call, asked: RevokeExternalTrigger) -> Result<ExternalTrigger, ApiError> {
    let found = call.runtime()?.triggers.revoke(asked.agent_id.0).await?;
    forget(&call, &found, found.row.generation);
    Ok(external_trigger(&found))
}

/// Accepts a delivery. The body is read last, after the URL was found to be valid.
async fn deliver(app: App, request: Request<Body>) -> Result<TriggerDeliveryResult, ApiError> {
    let (mut parts, body) = request.into_parts();
    let Ok(Path((id, shown))) = Path::<(String, String)>::from_request_parts(&mut parts, &()).await else {
        return Err(EngineError::UnknownTrigger.into());
    };
    let peer = parts.extensions.get::<Peer>().copied();
    let runtime = app.runtime()?;
    let key = key_of(&id, &shown);
    let place = admit(&app, &key, peer)?;
    let capability = match RuleId::parse(&id) {
        Ok(trigger) => runtime.triggers.find(trigger).await?,
        Err(_) => None,
    };
    let right = is_right(capability.as_ref(), &id, &shown);
    let Some(TriggerCapability { row, .. }) = capability.filter(|_| right) else {
        count_failure(&app, peer)?;
        return Err(EngineError::UnknownTrigger.into());
    };
    drop(place);
    let place = Arc::clone(&app.deliveries).try_acquire_owned().map_err(|_| {
        let message = "too many deliveries are in progress";
        ApiError::unavailable("overloaded", message, "send it again in a moment")
    })?;
    count(&app, &key, app.limits.outside_per_minute)?;
    let turns = RateKey::OutsideTurns(row.agent_id.to_string());
    // The sender learns no more than at its rate: neither that a budget exists nor what is left of it.
    if runtime.budgets.is_spent(row.agent_id.clone()).await? {
        return Err(too_many(&app, &turns, OVER_BUDGET_RETRY_S));
    }
    let body = bounded(body, DELIVERY_BYTES_MAX).await?;
    let redactor = app.host.redactor();
    let headers = HeaderTexts {
        headers: &parts.headers,
        redactor: &redactor,
    };
    let delivery = TriggerDelivery {
        name: headers.name()?,
        correlation: headers.trace(CORRELATION_HEADER)?,
        causation: headers.trace(CAUSATION_HEADER)?,
        content_type: headers.text(header::CONTENT_TYPE.as_str()),
        body: redaction::delivery(&redactor, body).0,
    };
    // The semaphore is never closed.
    let turn = Arc::clone(&app.delivering).acquire_owned().await;
    // A repetition of a delivery causes no turn.
    count(&app, &turns, app.limits.outside_turns_per_minute)?;
    let counted = app.clone();
    // The permit is held until the write is complete, even if the sender has disconnected.
    let posted = to_its_end(async move {
        let _held = (place, turn);
        let delivered = runtime.triggers.deliver(row, delivery).await;
        if !delivered.as_ref().is_ok_and(|receipt| receipt.is_new) {
            counted.rates.give_back(&turns);
        }
        Ok(delivered?)
    })
    .await?;
    Ok(TriggerDeliveryResult {
        run_key: posted.run_key.to_string(),
        is_new: posted.is_new,
    })
}

/// The headers of a delivery, without secrets.
struct HeaderTexts<'a> {
    headers: &'a HeaderMap,
    redactor: &'a Redactor,
}

impl HeaderTexts<'_> {
    fn name(&self) -> Result<Option<TurnId>, ApiError> {
        let given = NAME_HEADERS.iter().find_map(|header| self.headers.get(*header));
        let Some(given) = given else { return Ok(None) };
        let name = self.read(given).and_then(|name| TurnId::parse(&name).ok());
        name.map(Some).ok_or_else(|| {
            let message = "the delivery id is empty, too long or not ASCII";
            ApiError::bad("bad_id", message, "use an id of 1 to 200 letters and digits")
        })
    }

    fn trace(&self, header: &'static str) -> Result<Option<TraceId>, ApiError> {
        let Some(given) = self.headers.get(header) else {
            return Ok(None);
        };
        let name = self.read(given).and_then(|name| TraceId::parse(&name).ok());
        name.map(Some).ok_or_else(|| {
            let message = format!("{header} is empty, too long or not ASCII");
            ApiError::bad("bad_id", message, "use 1 to 200 letters and digits")
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        self.read(self.headers.get(name)?)
    }

    fn read(&self, value: &HeaderValue) -> Option<String> {
        let text = value.to_str().ok()?;
        Some(self.redactor.text(text).unwrap_or_else(|| text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::id::AgentId;
    use wakeful_runtime::rows::ExternalTriggerRow;

    use super::*;

    fn capability(generation: u64, status: TriggerStatus) -> TriggerCapability {
        TriggerCapability {
            row: ExternalTriggerRow {
                trigger_id: RuleId::parse("trigger-1").expect("a name"),
                agent_id: AgentId::parse("coach").expect("a name"),
                generation,
                status,
                delivered: 0,
                last_at: None,
                created_at: Millis(0),
            },
            secret: Digest::of(b"secret"),
        }
    }

    #[test]
    fn only_the_url_of_this_generation_is_valid() {
        let now = capability(2, TriggerStatus::Active);
        let shown = token(&now.secret, "trigger-1", 2).to_string();
        assert!(is_right(Some(&now), "trigger-1", &shown));
        let earlier = token(&now.secret, "trigger-1", 1).to_string();
        let other = token(&now.secret, "trigger-2", 2).to_string();
        let forged = token(&Digest::of(b"guess"), "trigger-1", 2).to_string();
        for wrong in [earlier.as_str(), &other, &forged, "", &shown[..63], "zz"] {
            assert!(!is_right(Some(&now), "trigger-1", wrong), "{wrong}");
        }
        assert!(
            !is_right(Some(&capability(2, TriggerStatus::Revoked)), "trigger-1", &shown),
            "revoked"
        );
        let of_nothing = token(&Digest::ZERO, "trigger-1", 0).to_string();
        assert!(
            !is_right(None, "trigger-1", &of_nothing),
            "no trigger has no address"
        );
    }

    #[test]
    fn the_url_is_shown_only_in_the_api_while_it_is_valid() {
        let wire = external_trigger(&capability(1, TriggerStatus::Active));
        let path = wire.trigger_path.clone().expect("a path");
        assert!(path.starts_with("/api/external-triggers/trigger-1/"), "{path}");
        let logged = format!("{wire:?} {:?}", capability(1, TriggerStatus::Active));
        let (_, token) = path.rsplit_once('/').expect("a token");
        assert!(!logged.contains(token) && !logged.contains(&Digest::of(b"secret").to_string()));
        assert_eq!(
            external_trigger(&capability(1, TriggerStatus::Revoked)).trigger_path,
            None
        );
    }
}
