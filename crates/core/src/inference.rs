//! Whether a model may be asked, and what it may be shown.
//!
//! Five gates stand before every request, in this order; the first that does not open names the code. Whatever is
//! missing or uncertain keeps its gate shut.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{Price, PriceBasis};
use crate::conversation::Block;
use crate::decision::Channel;
use crate::prompt::{BlockSource, ModelRequest};

string_enum! {
    /// What a model is asked for. An agent may be limited to some of them, each with models of its own.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "InferenceCategory")]
    pub enum InferenceCategory {
        /// The rounds of an agent's own runs.
        Conversation = "conversation",
        /// Vectors of texts, for search.
        Embedding = "embedding",
    }
}

string_enum! {
    /// How a person confirmed a provider without saying so.
    pub enum ImpliedChannel {
        /// By requesting a run that needs it.
        OperatorRun = "operator_run",
    }
}

string_union! {
    /// How a person confirmed a provider.
    pub enum ReceiptChannel {
        /// By a command or a request.
        Explicit(Channel),
        /// Without saying so.
        Implied(ImpliedChannel),
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataBoundary {
    /// Nowhere: this program answers itself.
    Process,
    /// To another program on this machine.
    Machine,
    /// To somebody else's machine.
    Outside,
}

/// Whether the key of a provider can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretStatus {
    /// It wants none.
    NotNeeded,
    /// It is there.
    Available,
    /// It is not; this says where it was looked for, and never what was found.
    Unavailable(String),
}

/// What is known of a model before it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProfile {
    /// Who provides it.
    pub provider: String,
    /// Where a request to it goes.
    pub boundary: DataBoundary,
    /// What it costs; none when it costs nothing.
    pub price: Option<(Price, PriceBasis)>,
    /// Longest reply in tokens that is asked for.
    pub output_tokens_max: u64,
    /// Its key.
    pub secret: SecretStatus,
}

impl ModelProfile {
    /// Of a model that this program is itself: it costs nothing and wants no key.
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
    /// One kind of thing that a request shows.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "InferenceField")]
    pub enum RequestField {
        /// The execution contract and the kind of turn.
        Contract = "contract",
        /// Who the agent is and where it works.
        Identity = "identity",
        /// The agent's own guidance.
        AgentGuidance = "agent_guidance",
        /// The workspace's guidance.
        WorkspaceGuidance = "workspace_guidance",
        /// What people and the model said.
        Text = "text",
        /// What the model thought, sent back to the provider that can read it.
        Thinking = "thinking",
        /// Pictures and documents.
        Attachments = "attachments",
        /// What the model asked tools for.
        ToolCalls = "tool_calls",
        /// What tools answered.
        ToolResults = "tool_results",
        /// The tools on offer.
        Tools = "tools",
    }
}

/// Everything that a request shows.
#[must_use]
pub fn fields(request: &ModelRequest) -> BTreeSet<RequestField> {
    let system = request.system.iter().map(|block| match block.source {
        BlockSource::Contract | BlockSource::TurnMode => RequestField::Contract,
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

/// What an agent may ask of whom, and show to them. The default is what a person without any settings expects: every
/// model that they name, and everything that the agent works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferencePermissions {
    /// What it may ask models for.
    pub categories: BTreeSet<InferenceCategory>,
    /// Patterns of the models it may ask, by category. A category without patterns may ask every model.
    pub models: BTreeMap<InferenceCategory, Vec<String>>,
    /// What it may show to somebody else's machine.
    pub shown: BTreeSet<RequestField>,
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

/// Whether a person confirmed that a provider is shown anything, under the rules that hold now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// They did.
    Confirmed,
    /// They did not, or under other rules.
    Missing,
}

/// One question at the gates.
#[derive(Debug, Clone, Copy)]
pub struct InferenceQuery<'a> {
    /// What the model is asked for.
    pub category: InferenceCategory,
    /// Which model.
    pub model_ref: &'a str,
    /// What is known of it.
    pub terms: &'a ModelProfile,
    /// Whether a person confirmed it.
    pub receipt: ReceiptStatus,
    /// What it would be shown.
    pub fields: &'a BTreeSet<RequestField>,
}

/// Why a model may not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferenceDenial {
    /// The stable code of the gate.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub hint: String,
}

/// What the model is asked for is not the agent's business.
pub const OUT_OF_SCOPE: &str = "out_of_scope";
/// The model is not one of those that the agent may ask.
pub const DISALLOWED: &str = "disallowed_provider_model";
/// Nobody confirmed that this provider may be shown anything.
pub const UNCONFIRMED: &str = "privacy_confirmation_required";
/// The key cannot be had.
pub const NO_SECRET: &str = "secret_unavailable";
/// The request shows something that this provider may not see.
pub const OVERSHARED: &str = "overshared_payload_blocked";

/// The codes of all gates, in their order.
pub const CODES: [&str; 5] = [OUT_OF_SCOPE, DISALLOWED, UNCONFIRMED, NO_SECRET, OVERSHARED];

/// The rule that lets a request through.
pub const ALL_GATES: &str = "inference_gates";

/// Walks the gates. The first that stays shut answers.
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
        let message = format!("this agent may not ask models for {category}");
        return deny(OUT_OF_SCOPE, message, "add it to the agent's `categories`");
    }
    let patterns = permissions.models.get(&asked.category);
    if patterns.is_some_and(|patterns| !patterns.iter().any(|pattern| matches(pattern, model_ref))) {
        let message = format!("this agent may not ask {model_ref} for {category}");
        return deny(
            DISALLOWED,
            message,
            "add it to the agent's `models`, or name another model",
        );
    }
    if asked.terms.boundary == DataBoundary::Outside && asked.receipt == ReceiptStatus::Missing {
        let message = format!(
            "nobody has confirmed, under the rules that hold now, that {} may be shown this agent's work",
            asked.terms.provider
        );
        let hint = format!("`wakeful models confirm {}`", asked.terms.provider);
        return deny(UNCONFIRMED, message, &hint);
    }
    if let SecretStatus::Unavailable(why) = &asked.terms.secret {
        return deny(
            NO_SECRET,
            why.clone(),
            "see docs/providers.md for where keys are looked for",
        );
    }
    let overshared = asked.fields.difference(&permissions.shown).next();
    match (asked.terms.boundary, overshared) {
        (DataBoundary::Outside, Some(field)) => {
            let message = format!("{} may not be shown {}", asked.terms.provider, field.as_str());
            deny(
                OVERSHARED,
                message,
                "add it to the agent's `shown`, or ask a model on this machine",
            )
        }
        (DataBoundary::Outside, None) | (DataBoundary::Process | DataBoundary::Machine, _) => Ok(()),
    }
}

/// Whether a reference fits a pattern: the same text, or the same beginning before a final `*`.
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
        terms: &ModelProfile,
        receipt: ReceiptStatus,
        shown: &[RequestField],
    ) -> &'static str {
        let fields = shown.iter().copied().collect();
        let asked = InferenceQuery {
            category: InferenceCategory::Conversation,
            model_ref: "anthropic/x",
            terms,
            receipt,
            fields: &fields,
        };
        decide(permissions, &asked).map_or_else(|denial| denial.code, |()| "allowed")
    }

    /// Every gate alone, and of two shut gates the earlier one.
    #[test]
    fn each_gate_has_its_code_and_the_first_shut_one_answers() {
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
    fn what_stays_on_this_machine_needs_no_confirmation_and_hides_nothing() {
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
    fn a_pattern_is_a_whole_name_or_a_beginning() {
        assert!(matches("anthropic/*", "anthropic/claude") && matches("*", "x/y") && matches("a/b", "a/b"));
        assert!(
            !matches("anthropic/*", "openai/anthropic/") && !matches("a/b", "a/bc") && !matches("", "a/b")
        );
    }

    proptest! {
        /// Whatever a request holds, nothing leaves that is not on the list.
        #[test]
        fn nothing_leaves_that_is_not_on_the_list(
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
