//! The operations that compute hashes and keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::error::{ErrorCode, RequestError};
use super::fields::{Fields, Tokens, hex};
use crate::change::{ChangeUnitKey, LogicalChangeKey};
use crate::id::Incarnation;
use crate::json::digest;
use crate::key::{
    self, ActionParts, Digest, OperationId, RunKey, RunKeySource, RunKeySourceKind, SummaryId, ThreadSpan,
};

fn key(digest: Digest) -> Value {
    json!({"key": digest})
}

pub(super) fn hash(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "label", "fields"])?;
    let (label, fields) = (form.text("label")?, form.texts("fields")?);
    if !key::is_label(label) {
        return Err(form.fault("label", "must match [a-z0-9._]+"));
    }
    Ok(key(key::derived_hash(label, &fields)))
}

pub(super) fn change_key(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "host_id", "counter", "payload_type", "payload_id"])?;
    let host = Incarnation::new(form.text("host_id")?);
    let counter = form.counter("counter")?;
    let (payload_type, payload_id) = (form.text("payload_type")?, form.text("payload_id")?);
    Ok(key(ChangeUnitKey::of(&host, counter, payload_type, payload_id).0))
}

pub(super) fn logical_change_key(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "change_keys"])?;
    let path = form.path.member("change_keys");
    let items = form.list("change_keys")?.iter().enumerate();
    let keys = items.map(|(at, item)| hex(item, &path.item(at)).map(ChangeUnitKey));
    let keys = keys.collect::<Result<BTreeSet<_>, _>>()?;
    if keys.is_empty() {
        return Err(form.fault("change_keys", "must have at least one key"));
    }
    Ok(key(LogicalChangeKey::of_keys(&keys).0))
}

pub(super) fn token_key(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "class", "namespace", "value"])?;
    let mut tokens = Tokens::default();
    let token = tokens.token(form)?;
    tokens.check()?;
    Ok(json!({"key": token.map(|token| token.key())}))
}

pub(super) fn run_key(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    let reason = form.text("reason")?;
    let fields: &[&str] = match reason {
        "subscription" => &["subscription_id", "logical_change_key"],
        "timer" => &["timer_id", "scheduled_at"],
        "user" => &["session_id", "turn_id"],
        _ => &["source_id"],
    };
    let kind = RunKeySourceKind::parse(reason);
    let is_known = matches!(reason, "subscription" | "timer" | "user") || kind.is_some();
    if !is_known {
        let words = RunKeySourceKind::ALL.map(RunKeySourceKind::as_str).join(", ");
        let why = format!("must be one of subscription, timer, user, {words}");
        return Err(form.fault("reason", &why));
    }
    form.only(&[&["id", "op", "reason", "agent_id"], fields].concat())?;
    let agent = form.text("agent_id")?;
    let cause = match (reason, kind) {
        ("subscription", _) => RunKeySource::Subscription {
            subscription: form.text("subscription_id")?,
            change: LogicalChangeKey(form.hex("logical_change_key")?),
        },
        ("timer", _) => RunKeySource::Timer {
            timer: form.text("timer_id")?,
            scheduled_at: form.time("scheduled_at")?,
        },
        (_, Some(kind)) => RunKeySource::Source {
            kind,
            source: form.text("source_id")?,
        },
        (_, None) => RunKeySource::User {
            session: form.text("session_id")?,
            turn: form.text("turn_id")?,
        },
    };
    Ok(key(RunKey::of(agent, &cause).0))
}

pub(super) fn operation_id(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&[
        "id",
        "op",
        "run_key",
        "tool",
        "arguments",
        "scope",
        "targets",
        "occurrence",
    ])?;
    let run = RunKey(form.hex("run_key")?);
    let tool = form.text("tool")?.to_owned();
    let (arguments, scope) = (form.required("arguments")?, form.required("scope")?);
    let targets: BTreeSet<&str> = form.texts("targets")?.into_iter().collect();
    let occurrence = form.counter("occurrence")?;
    // Parsed JSON always has a canonical form; the error exists for other types.
    let canonical = |value: &Value| {
        digest(value).map_err(|error| RequestError::new(ErrorCode::BadRequest, error.to_string()))
    };
    let parts = ActionParts {
        tool,
        arguments: canonical(arguments)?,
        scope: canonical(scope)?,
        targets: canonical(&json!(targets))?,
    };
    let action = parts.stable_id(occurrence);
    Ok(json!({"action_stable_id": action, "operation_id": OperationId::new(&run, &action)}))
}

pub(super) fn summary_id(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&[
        "id",
        "op",
        "agent_id",
        "thread_id",
        "start_message_id",
        "end_message_id",
        "contract_version",
    ])?;
    let span = ThreadSpan {
        agent: form.text("agent_id")?,
        thread: form.text("thread_id")?,
        start: form.text("start_message_id")?,
        end: form.text("end_message_id")?,
    };
    Ok(key(SummaryId::new(&span, form.text("contract_version")?).0))
}
