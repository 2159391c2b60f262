//! Permission checks before a model request: which model an agent may use, and which data it may send.
//!
//! Five gates precede every request, in this order; the first that denies determines the code. Missing or
//! uncertain information denies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{Price, PriceBasis};
use crate::conversation::{Block, Role};
use crate::decision::Channel;
use crate::need_to_know::{self, Boundary, Crossing, NeedToKnow};
use crate::prompt::{BlockSource, ModelRequest};

string_enum! {
    /// The purpose of a model request. An agent may be limited to some purposes, each with its own models.
    #[derive(PartialOrd, Ord)]
    pub enum ModelPurpose {
        /// Rounds of an agent's runs.
        Conversation = "conversation",
        /// Vectors of texts, for search.
        Embedding = "embedding",
    }
}

string_enum! {
    /// How a person confirmed a provider implicitly.
    pub enum ImpliedChannel {
        /// By requesting a run that needs it.
        OperatorRun = "operator_run",
    }
}

string_union! {
    /// How a person confirmed a provider.
    pub enum ReceiptChannel {
        /// By a command or an API request.
        Explicit(Channel),
        /// Implicitly.
        Implied(ImpliedChannel),
    }
}

/// The farthest place that a request is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataBoundary {
    /// This process: the program answers itself.
    Process,
    /// Another process on this machine.
    Machine,
    /// Another machine.
    Outside,
}

/// Whether the API key of a provider is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretStatus {
    /// The provider requires no key.
    NotNeeded,
    Available,
    /// The key was not found; contains where it was looked for, and never any secret.
    Unavailable(String),
}

/// The known properties of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProfile {
    pub provider: String,
    /// Where requests are sent.
    pub boundary: DataBoundary,
    /// The price; `None` if it is free.
    pub price: Option<(Price, PriceBasis)>,
    /// Maximum number of reply tokens that are requested.
    pub output_tokens_max: u64,
    /// Whether its provider searches the web while it writes a reply.
    pub searches_web: bool,
    pub secret: SecretStatus,
}

impl ModelProfile {
    /// The profile of a model inside this process: free and without a key.
    #[must_use]
    pub fn here(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            boundary: DataBoundary::Process,
            price: None,
            output_tokens_max: 0,
            searches_web: false,
            secret: SecretStatus::NotNeeded,
        }
    }
}

string_enum! {
    /// A kind of data in a request.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "InferenceField")]
    pub enum RequestField {
        /// The execution contract and the kind of turn.
        Contract = "contract",
        /// The agent's id and workspace.
        Identity = "identity",
        /// The agent's own guidance.
        AgentGuidance = "agent_guidance",
        /// The workspace's guidance.
        WorkspaceGuidance = "workspace_guidance",
        /// Messages of people and of the model.
        Text = "text",
        /// Reasoning output, sent back to the provider that produced it.
        Thinking = "thinking",
        /// Images and documents.
        Attachments = "attachments",
        /// The model's tool calls.
        ToolCalls = "tool_calls",
        /// The results of tool calls.
        ToolResults = "tool_results",
        /// The tool definitions.
        Tools = "tools",
    }
}

/// All kinds of data in a request.
#[must_use]
pub fn fields(request: &ModelRequest) -> BTreeSet<RequestField> {
    let system = request.system.iter().map(|block| match block.source {
        BlockSource::Contract | BlockSource::TurnMode => RequestField::Contract,
        // A person wrote it, like the message.
        BlockSource::AnswerSchema => RequestField::Text,
        BlockSource::Identity => RequestField::Identity,
        BlockSource::AgentGuidance => RequestField::AgentGuidance,
        BlockSource::WorkspaceGuidance => RequestField::WorkspaceGuidance,
    });
    let said = request.entries.iter().flat_map(|entry| &entry.blocks);
    let said = said.map(|block| match block {
        Block::Text { .. } => RequestField::Text,
        Block::ToolUse(_) => RequestField::ToolCalls,
        Block::ToolResult { .. } | Block::WebSearch(_) => RequestField::ToolResults,
        Block::Thinking { .. } => RequestField::Thinking,
        Block::Attachment(_) => RequestField::Attachments,
    });
    let tools = request.tools.iter().map(|_| RequestField::Tools);
    system.chain(said).chain(tools).collect()
}

/// The models that an agent may use and the data it may send. By default every configured model and all
/// data are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferencePermissions {
    /// The allowed purposes.
    pub purposes: BTreeSet<ModelPurpose>,
    /// Patterns of allowed models by purpose. A purpose without patterns allows every model.
    pub models: BTreeMap<ModelPurpose, Vec<String>>,
    /// The data that may be sent to another machine.
    pub shown: BTreeSet<RequestField>,
    /// What applies to agents with single categories of data.
    pub need_to_know: NeedToKnow,
}

impl InferencePermissions {
    /// Replaces images of tool results with a note if the model's machine may not receive them. A refused
    /// request would end the run, and the agent cannot know beforehand that a file is an image.
    pub fn leave_out_images(&self, request: &mut ModelRequest, boundary: DataBoundary) {
        if boundary != DataBoundary::Outside || self.shown.contains(&RequestField::Attachments) {
            return;
        }
        let results = request
            .entries
            .iter_mut()
            .filter(|entry| entry.role == Role::Tool);
        for block in results.flat_map(|entry| &mut entry.blocks) {
            if let Block::Attachment(image) = block {
                let text = format!(
                    "[attachment {}: omitted, this agent may not send attachments to other machines]",
                    image.name
                );
                *block = Block::Text { text };
            }
        }
    }
}

impl Default for InferencePermissions {
    fn default() -> Self {
        Self {
            purposes: ModelPurpose::ALL.into_iter().collect(),
            models: BTreeMap::new(),
            shown: RequestField::ALL.into_iter().collect(),
            need_to_know: NeedToKnow::default(),
        }
    }
}

/// Whether a person confirmed that the provider may receive data, under the current rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// Confirmed under the current rules.
    Confirmed,
    /// Not confirmed, or only under other rules.
    Missing,
}

/// A request as the gates see it.
#[derive(Debug, Clone, Copy)]
pub struct InferenceQuery<'a> {
    pub purpose: ModelPurpose,
    pub model_ref: &'a str,
    /// The properties of the model.
    pub profile: &'a ModelProfile,
    pub receipt: ReceiptStatus,
    /// The data that the request contains.
    pub fields: &'a BTreeSet<RequestField>,
    /// The categories of data that the agent may use.
    pub categories: &'a BTreeSet<String>,
}

/// Why a model request is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferenceDenial {
    /// The stable code of the gate.
    pub code: &'static str,
    pub message: String,
    /// What the operator can do about it.
    pub hint: String,
}

/// The agent may not use models for this purpose.
pub const OUT_OF_SCOPE: &str = "out_of_scope";
/// The agent may not use this model.
pub const DISALLOWED: &str = "disallowed_provider_model";
/// The provider is not confirmed to receive data.
pub const UNCONFIRMED: &str = "privacy_confirmation_required";
/// The API key is not available.
pub const NO_SECRET: &str = "secret_unavailable";
/// The request contains data that must not be sent to this provider.
pub const OVERSHARED: &str = need_to_know::OVERSHARED;

/// The codes of all gates, in order.
pub const CODES: [&str; 5] = [OUT_OF_SCOPE, DISALLOWED, UNCONFIRMED, NO_SECRET, OVERSHARED];

/// The rule recorded for an allowed request.
pub const ALL_GATES: &str = "inference_gates";

/// Checks the gates in order and returns the first denial.
pub fn decide(permissions: &InferencePermissions, asked: &InferenceQuery<'_>) -> Result<(), InferenceDenial> {
    let deny = |code, message: String, hint: &str| {
        Err(InferenceDenial {
            code,
            message,
            hint: hint.to_owned(),
        })
    };
    let (purpose, model_ref) = (asked.purpose.as_str(), asked.model_ref);
    if !permissions.purposes.contains(&asked.purpose) {
        let message = format!("this agent may not use models for {purpose}");
        return deny(OUT_OF_SCOPE, message, "add it to the agent's `purposes`");
    }
    let patterns = permissions.models.get(&asked.purpose);
    if patterns.is_some_and(|patterns| !patterns.iter().any(|pattern| matches(pattern, model_ref))) {
        let message = format!("this agent may not use {model_ref} for {purpose}");
        return deny(
            DISALLOWED,
            message,
            "add it to the agent's `models`, or use another model",
        );
    }
    let need_to_know = &permissions.need_to_know;
    if let Some(category) = need_to_know.category_without_model(asked.categories, model_ref) {
        let message = format!("{model_ref} may not receive the work of agents with the category {category}");
        let hint = "add it to the `models` of this category in `[data_categories]`, or use another model";
        return deny(DISALLOWED, message, hint);
    }
    if asked.profile.boundary == DataBoundary::Outside && asked.receipt == ReceiptStatus::Missing {
        let message = format!(
            "{} is not confirmed, under the current rules, to receive this agent's work",
            asked.profile.provider
        );
        let hint = format!("`wakeful models confirm {}`", asked.profile.provider);
        return deny(UNCONFIRMED, message, &hint);
    }
    if let SecretStatus::Unavailable(why) = &asked.profile.secret {
        return deny(
            NO_SECRET,
            why.clone(),
            "`wakeful help providers` describes where keys are looked for",
        );
    }
    if asked.profile.boundary == DataBoundary::Outside
        && let Err(overshared) = need_to_know.project(&crossing(asked), payload(asked.fields))
    {
        let hint = "add it to the `request_fields` of this category, or use a model on this machine";
        return deny(OVERSHARED, overshared.to_string(), hint);
    }
    let overshared = asked.fields.difference(&permissions.shown).next();
    match (asked.profile.boundary, overshared) {
        (DataBoundary::Outside, Some(field)) => {
            let message = format!("{} may not receive {}", asked.profile.provider, field.as_str());
            deny(
                OVERSHARED,
                message,
                "add it to the agent's `shown`, or use a model on this machine",
            )
        }
        (DataBoundary::Outside, None) | (DataBoundary::Process | DataBoundary::Machine, _) => Ok(()),
    }
}

fn crossing<'a>(asked: &InferenceQuery<'a>) -> Crossing<'a> {
    Crossing {
        boundary: Boundary::ModelRequest,
        operation: asked.purpose.as_str(),
        categories: asked.categories,
        wire: None,
    }
}

/// The kinds of data of a request, as the names of its fields.
fn payload(fields: &BTreeSet<RequestField>) -> Value {
    let names = fields
        .iter()
        .map(|field| (field.as_str().to_owned(), Value::Bool(true)));
    Value::Object(names.collect())
}

/// Whether a model reference matches a pattern: the same text, or the same prefix before a final `*`.
#[must_use]
pub fn matches(pattern: &str, model_ref: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => model_ref.starts_with(beginning),
        None => pattern == model_ref,
    }
}

#[cfg(test)]
mod tests;
