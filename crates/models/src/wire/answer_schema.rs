//! The schema of an answer in the requests of each provider. It is sent only to a provider's own server and to
//! models that enforce schemas, because others refuse the whole request. The system blocks contain the schema for
//! every model, and the answer is checked in any case.

use serde::Serialize;
use serde_json::Value;
use wakeful_core::answer_schema::{EnforcedSchema, enforced};
use wakeful_core::prompt::ModelRequest;

use super::Lowering;
use super::web_search::uses_max;
use crate::provider::Provider;

/// The name of the schema. Some formats require one.
const NAME: &str = "answer";

/// Beginnings of the names of models that refuse schemas. Newer models accept them, so this list does not grow.
const WITHOUT_SCHEMAS: [&str; 8] = [
    "claude-3",
    "claude-opus-4-0",
    "claude-opus-4-2025",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2025",
    "gpt-3.5",
    "gpt-4-",
    "gemini-1",
];

/// The beginning of the names of Gemini models that accept a schema together with tools.
const SCHEMA_AND_TOOLS: &str = "gemini-3";

/// A schema in the notation of OpenAI.
#[derive(Debug, Serialize)]
pub(super) struct NamedSchema {
    name: &'static str,
    schema: Value,
    strict: bool,
}

impl From<EnforcedSchema> for NamedSchema {
    fn from(enforced: EnforcedSchema) -> Self {
        Self {
            name: NAME,
            schema: enforced.schema,
            strict: enforced.requires_all,
        }
    }
}

/// `response_format` of Chat Completions.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponseFormat {
    JsonSchema { json_schema: NamedSchema },
}

/// `text` of Responses.
#[derive(Debug, Serialize)]
pub(super) struct TextOptions {
    format: TextFormat,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextFormat {
    JsonSchema(NamedSchema),
}

impl From<EnforcedSchema> for TextOptions {
    fn from(enforced: EnforcedSchema) -> Self {
        Self {
            format: TextFormat::JsonSchema(enforced.into()),
        }
    }
}

/// `output_config.format` of Anthropic.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputFormat {
    JsonSchema { schema: Value },
}

/// Returns the schema that this request asks the provider to enforce.
pub(super) fn enforced_by(lowering: &Lowering<'_>, request: &ModelRequest) -> Option<EnforcedSchema> {
    let schema = request.answer_schema.as_ref().filter(|_| lowering.own_server)?;
    let is_known = !WITHOUT_SCHEMAS
        .iter()
        .any(|prefix| lowering.model.starts_with(prefix))
        && lowering.model != "gpt-4";
    let schema = enforced(schema).filter(|_| is_known)?;
    let accepts = match lowering.provider {
        Provider::OpenAi | Provider::OpenAiChat => true,
        // Its server documents no schemas.
        Provider::OpenAiCodex => false,
        // Replies with searches have citations, which the provider does not combine with schemas.
        Provider::Anthropic => !schema.is_recursive && uses_max(lowering, request).is_none(),
        Provider::Gemini => request.tools.is_empty() || lowering.model.starts_with(SCHEMA_AND_TOOLS),
    };
    accepts.then_some(schema)
}
