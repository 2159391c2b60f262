//! HTTP endpoints for messages.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::http::StatusCode;
use wakeful_api::{AcceptedMessage, Admission, AttachmentInput, RunLimits, SendMessage};
use wakeful_core::answer_schema::AnswerSchema;
use wakeful_core::attachment;
use wakeful_core::budget::BudgetResource;
use wakeful_core::conversation::Attachment;
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::key::Digest;
use wakeful_core::message::{PROMPT_BYTES_MAX, RunOptions};
use wakeful_core::run::ROUNDS_MAX;
use wakeful_runtime::api::{IncomingMessage, MessageReceipt};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Parameters;
use crate::rate::RateKey;
use crate::redaction::{self, Redactions};
use crate::route::{Call, Routes};
use crate::{guard, view};

/// The header with the key of a message.
const KEY_HEADER: &str = "idempotency-key";

/// Most tools that a message may deny. Fewer exist.
const DENY_TOOLS_MAX: usize = 64;

/// Longest name of a model or a folder: the longest path that Linux accepts.
pub(crate) const NAME_BYTES_MAX: usize = 4_096;

pub(crate) fn routes() -> Routes {
    Routes::default().add_after(count, send)
}

/// Counts a message to an agent for the rate limit, before its body is read.
fn count(app: &App, path: &Parameters) -> Result<(), ApiError> {
    let agents = path.iter().filter_map(|(_, value)| AgentId::parse(value).ok());
    for agent in agents {
        guard::count(
            app,
            &RateKey::Agent(agent.to_string()),
            app.limits.messages_per_minute,
        )?;
    }
    Ok(())
}

async fn send(call: Call, asked: SendMessage) -> Result<AcceptedMessage, ApiError> {
    let turn = key(&call, asked.key.as_ref().map(|key| &key.0))?;
    check(&asked)?;
    let wishes = RunOptions {
        model_ref: asked.model,
        max_rounds: asked.max_rounds,
        workspace: asked.workspace,
        deny_tools: asked.deny_tools.into_iter().collect(),
        ask_tools: asked.ask_tools.into_iter().collect(),
        is_read_only: asked.is_read_only,
        answer_schema: asked.answer_schema.map(answer_schema).transpose()?,
        limits: limits(&asked.limits)?,
        ..RunOptions::default()
    };
    let mut attachments = attached(asked.attachments)?;
    let Redactions(in_attachments) = redaction::attachments(&call.host.redactor(), &mut attachments)?;
    let post = IncomingMessage {
        agent: asked.agent_id.0.clone(),
        turn,
        thread: asked.thread.map(|thread| thread.0),
        text: asked.text,
        attachments,
        run_options: call
            .host
            .check_options(wishes)
            .map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))?,
        priority: asked.priority.unwrap_or_default(),
    };
    let posted = call.runtime()?.messages.send(post).await?;
    call.metrics.message_accepted();
    let redacted = call.redactions().0.saturating_add(in_attachments);
    Ok(AcceptedMessage {
        redacted,
        ..accepted(posted, asked.agent_id.to_string())
    })
}

/// The limits of the run, in the smallest unit of each resource.
fn limits(given: &RunLimits) -> Result<BTreeMap<BudgetResource, u64>, ApiError> {
    let set = BudgetResource::ALL.map(|resource| given.get(resource).map(|max| (resource, max)));
    let set = set.into_iter().flatten().map(|(resource, max)| {
        if max > resource.limit_max() {
            let message = format!(
                "limits: a limit on {resource} is at most {}",
                resource.limit_max()
            );
            return Err(ApiError::bad("invalid_limit", message, &resource.amount_form()));
        }
        Ok((resource, max))
    });
    set.collect()
}

fn answer_schema(schema: serde_json::Value) -> Result<AnswerSchema, ApiError> {
    AnswerSchema::new(schema).map_err(|error| {
        let hint = "`wakeful help schema` lists the supported keywords";
        ApiError::new(
            StatusCode::CONFLICT,
            "bad_answer_schema",
            format!("answer_schema: {error}"),
            hint,
        )
    })
}

pub(crate) fn accepted(receipt: MessageReceipt, agent_id: String) -> AcceptedMessage {
    AcceptedMessage {
        run_key: receipt.run_key.to_string(),
        agent_id,
        admission: if receipt.is_new {
            Admission::New
        } else {
            Admission::Duplicate
        },
        redacted: 0,
    }
}

/// The caller's key, from the header or the body, which must agree; a new one if there is none.
pub(crate) fn key(call: &Call, in_body: Option<&TurnId>) -> Result<TurnId, ApiError> {
    match (in_header(call.headers())?, in_body) {
        (Some(header), Some(body)) if header != *body => Err(two_keys()),
        (Some(header), _) => Ok(header),
        (None, Some(body)) => Ok(body.clone()),
        (None, None) => Ok(TurnId::parse(
            &Digest::from_bytes(call.entropy.random_bytes()).to_string(),
        )?),
    }
}

fn in_header(headers: &HeaderMap) -> Result<Option<TurnId>, ApiError> {
    let mut found = headers.get_all(KEY_HEADER).iter();
    let Some(first) = found.next() else {
        return Ok(None);
    };
    if found.next().is_some() {
        return Err(two_keys());
    }
    let text = first.to_str();
    let text =
        text.map_err(|_| ApiError::bad("bad_id", "Idempotency-Key is not ASCII", "use letters and digits"))?;
    Ok(Some(TurnId::parse(text)?))
}

fn two_keys() -> ApiError {
    let message = "the message has two keys: Idempotency-Key and `key` differ, or the header occurs twice";
    ApiError::conflict(
        "idempotency_keys_differ",
        message,
        "send only one of them, or the same value in both",
    )
}

/// The validated attachments of a message.
fn attached(attachments: Vec<AttachmentInput>) -> Result<Vec<Attachment>, ApiError> {
    let attachments: Vec<Attachment> = attachments.into_iter().map(view::attachment).collect();
    attachment::check(&attachments).map_err(|error| {
        let hint = "attach pictures, PDFs and plain text, or put other files into the workspace";
        ApiError::conflict("bad_attachment", format!("attachments: {error}"), hint)
    })?;
    Ok(attachments)
}

/// Checks the limits that the API type documents.
fn check(told: &SendMessage) -> Result<(), ApiError> {
    let long = |name: &Option<String>| {
        name.as_ref()
            .is_some_and(|name| name.is_empty() || name.len() > NAME_BYTES_MAX)
    };
    let wrong = if told.text.is_empty() || told.text.len() > PROMPT_BYTES_MAX {
        format!("text: must have 1 to {PROMPT_BYTES_MAX} bytes")
    } else if long(&told.model) {
        format!("model: must have 1 to {NAME_BYTES_MAX} bytes")
    } else if long(&told.workspace) {
        format!("workspace: must have 1 to {NAME_BYTES_MAX} bytes")
    } else if told
        .max_rounds
        .is_some_and(|rounds| !(1..=ROUNDS_MAX).contains(&rounds))
    {
        format!("max_rounds: must be 1 to {ROUNDS_MAX}")
    } else if told.deny_tools.len() > DENY_TOOLS_MAX {
        format!("deny_tools: must have at most {DENY_TOOLS_MAX} names")
    } else if told.ask_tools.len() > DENY_TOOLS_MAX {
        format!("ask_tools: must have at most {DENY_TOOLS_MAX} names")
    } else {
        return Ok(());
    };
    let hint = "GET /api/openapi.json describes the body of each path";
    Err(ApiError::bad("bad_field", wrong, hint))
}
