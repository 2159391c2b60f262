//! Permission checks before a model request: which model an agent may use, and which data it may send.
//!
//! Five gates precede every request, in this order; the first that denies determines the code. Missing or
//! uncertain information denies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{Price, PriceBasis};
use crate::conversation::{Block, Role};
use crate::decision::Channel;
use crate::prompt::{BlockSource, ModelRequest};

string_enum! {
    /// The purpose of a model request. An agent may be limited to some purposes, each with its own models.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "InferenceCategory")]
    pub enum InferenceCategory {
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
        Block::ToolResult { .. } => RequestField::ToolResults,
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
    pub categories: BTreeSet<InferenceCategory>,
    /// Patterns of allowed models by purpose. A purpose without patterns allows every model.
    pub models: BTreeMap<InferenceCategory, Vec<String>>,
    /// The data that may be sent to another machine.
    pub shown: BTreeSet<RequestField>,
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
            categories: InferenceCategory::ALL.into_iter().collect(),
            models: BTreeMap::new(),
            shown: RequestField::ALL.into_iter().collect(),
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
    pub category: InferenceCategory,
    pub model_ref: &'a str,
    /// The properties of the model.
    pub profile: &'a ModelProfile,
    pub receipt: ReceiptStatus,
    /// The data that the request contains.
    pub fields: &'a BTreeSet<RequestField>,
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
pub const OVERSHARED: &str = "overshared_payload_blocked";

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
    let (category, model_ref) = (asked.category.as_str(), asked.model_ref);
    if !permissions.categories.contains(&asked.category) {
        let message = format!("this agent may not use models for {category}");
        return deny(OUT_OF_SCOPE, message, "add it to the agent's `categories`");
    }
    let patterns = permissions.models.get(&asked.category);
    if patterns.is_some_and(|patterns| !patterns.iter().any(|pattern| matches(pattern, model_ref))) {
        let message = format!("this agent may not use {model_ref} for {category}");
        return deny(
            DISALLOWED,
            message,
            "add it to the agent's `models`, or use another model",
        );
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

/// Whether a model reference matches a pattern: the same text, or the same prefix before a final `*`.
#[must_use]
pub fn matches(pattern: &str, model_ref: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => model_ref.starts_with(beginning),
        None => pattern == model_ref,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms() -> ModelProfile {
        ModelProfile {
            provider: "anthropic".into(),
            boundary: DataBoundary::Outside,
            price: None,
            output_tokens_max: 10,
            secret: SecretStatus::Available,
        }
    }

    fn code(
        permissions: &InferencePermissions,
        profile: &ModelProfile,
        receipt: ReceiptStatus,
        shown: &[RequestField],
    ) -> &'static str {
        let fields = shown.iter().copied().collect();
        let asked = InferenceQuery {
            category: InferenceCategory::Conversation,
            model_ref: "anthropic/x",
            profile,
            receipt,
            fields: &fields,
        };
        decide(permissions, &asked).map_or_else(|denial| denial.code, |()| "allowed")
    }

    #[test]
    fn images_of_results_stay_here_unless_they_may_be_sent() {
        let image = Block::Attachment(crate::conversation::Attachment {
            name: "p.png".into(),
            media_type: "image/png".into(),
            data: "Zm9v".into(),
        });
        let said = |role| crate::conversation::TranscriptEntry {
            role,
            blocks: vec![image.clone()],
        };
        let request = ModelRequest {
            model_ref: "demo".into(),
            request: 0,
            system: Vec::new(),
            entries: vec![said(Role::User), said(Role::Tool)],
            tools: Vec::new(),
            answer_schema: None,
            cache: crate::prompt::PromptCache::none(crate::id::AgentId::parse("main").expect("id")),
        };
        let mut narrow = InferencePermissions::default();
        narrow.shown.remove(&RequestField::Attachments);
        let after = |permissions: &InferencePermissions, boundary| {
            let mut sent = request.clone();
            permissions.leave_out_images(&mut sent, boundary);
            sent.entries
        };
        let open = InferencePermissions::default();
        assert_eq!(after(&open, DataBoundary::Outside), request.entries);
        assert_eq!(after(&narrow, DataBoundary::Machine), request.entries);
        let note = "[attachment p.png: omitted, this agent may not send attachments to other machines]";
        let entries = after(&narrow, DataBoundary::Outside);
        assert_eq!(entries[1].blocks, [Block::Text { text: note.into() }]);
        assert_eq!(
            entries[0], request.entries[0],
            "a person's attachment is refused as a whole"
        );
    }

    // Conformance: L-041
    /// Each gate alone, and the earlier of two denying gates.
    #[test]
    fn each_gate_has_its_code_and_the_first_denial_counts() {
        let open = InferencePermissions::default();
        let (all, confirmed) = (&RequestField::ALL[..], ReceiptStatus::Confirmed);
        assert_eq!(code(&open, &terms(), confirmed, all), "allowed");
        let mut shut = open.clone();
        shut.shown.remove(&RequestField::ToolResults);
        assert_eq!(code(&shut, &terms(), confirmed, all), OVERSHARED);
        assert_eq!(code(&shut, &terms(), confirmed, &[RequestField::Text]), "allowed");
        assert_eq!(code(&open, &terms(), ReceiptStatus::Missing, all), UNCONFIRMED);
        let mut scoped = open.clone();
        scoped.categories.remove(&InferenceCategory::Conversation);
        assert_eq!(code(&scoped, &terms(), confirmed, all), OUT_OF_SCOPE);
        let mut keyless = terms();
        keyless.secret = SecretStatus::Unavailable("nowhere".into());
        assert_eq!(code(&open, &keyless, confirmed, all), NO_SECRET);
        assert_eq!(code(&shut, &keyless, confirmed, all), NO_SECRET);
        assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), UNCONFIRMED);
        shut.models
            .insert(InferenceCategory::Conversation, vec!["openai/*".into()]);
        assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), DISALLOWED);
        shut.models
            .insert(InferenceCategory::Embedding, vec!["anthropic/*".into()]);
        assert_eq!(
            code(&shut, &terms(), confirmed, &[]),
            DISALLOWED,
            "of another category"
        );
        shut.categories.remove(&InferenceCategory::Conversation);
        assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), OUT_OF_SCOPE);
    }

    #[test]
    fn local_models_need_no_confirmation_and_receive_all_data() {
        let mut narrow = InferencePermissions::default();
        narrow.shown.clear();
        for boundary in [DataBoundary::Process, DataBoundary::Machine] {
            let here = ModelProfile { boundary, ..terms() };
            assert_eq!(
                code(&narrow, &here, ReceiptStatus::Missing, &RequestField::ALL),
                "allowed"
            );
        }
    }

    #[test]
    fn a_pattern_is_a_full_name_or_a_prefix() {
        assert!(matches("anthropic/*", "anthropic/claude") && matches("*", "x/y") && matches("a/b", "a/b"));
        assert!(
            !matches("anthropic/*", "openai/anthropic/") && !matches("a/b", "a/bc") && !matches("", "a/b")
        );
    }

    proptest! {
        /// A request never contains data that is not on the list, for any request.
        #[test]
        fn only_listed_data_is_sent(
            shown in proptest::collection::btree_set(0_usize..10, 0..10),
            held in proptest::collection::btree_set(0_usize..10, 0..10),
        ) {
            let of = |indexes: &BTreeSet<usize>| indexes.iter().map(|index| RequestField::ALL[*index]).collect::<BTreeSet<_>>();
            let permissions = InferencePermissions { shown: of(&shown), ..InferencePermissions::default() };
            let fields: Vec<RequestField> = of(&held).into_iter().collect();
            let answer = code(&permissions, &terms(), ReceiptStatus::Confirmed, &fields);
            prop_assert_eq!(answer == "allowed", held.is_subset(&shown));
        }
    }
}
