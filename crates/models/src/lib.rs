//! Models and embedders.
//!
//! A person names a model with a [`ModelRef`]. The binary reads the file or key that it refers to and
//! builds [`Models`], the route of a run, from [`RouteModel`]s. A [`ScriptedModel`] serves tests, the demo
//! and replays; a [`HostedModel`] is called over HTTP in the wire format of its [`Provider`]. An
//! [`AnyEmbedder`] turns texts into vectors.
#![forbid(unsafe_code)]

mod builtin;
mod embedding;
mod hosted;
mod price;
mod provider;
mod reference;
mod route;
mod scripted;
mod thinking;
mod wire;

pub use builtin::{BuiltinProvider, DEFAULTS_AS_OF};
pub use embedding::{
    ADDED_TOKENS_MAX, AnyEmbedder, BadEmbeddingEndpoint, BadTable, BadTensor, BadTokenizer,
    EmbeddingEndpoint, FOLDER_ENTRIES_MAX, HEADER_BYTES_MAX, ROWS_MAX, TENSOR_BYTES_MAX, TOKENIZER_BYTES_MAX,
    WordTable,
};
pub use hosted::{
    BadCredential, BadUrl, CREDENTIAL_BYTES_MAX, Credential, HostedModel, HostedModelError, HostedOptions,
    HttpClients, LISTED_MODELS_MAX, ModelList, ModelMetadata, RequestOptions, TIME_MS_MAX, Timeouts,
    URL_BYTES_MAX, Webhook, WebhookError, host_of,
};
pub use price::{AS_OF, listed_or_assumed};
pub use provider::{KeyHeader, KeyRequirement, Provider};
pub use reference::{BadModelRef, MODEL_CHARS_MAX, ModelRef, REF_CHARS_MAX};
pub use route::{Models, RouteModel, UnusableModel};
pub use scripted::{
    DELAY_MS_MAX, FilePosition, PROVIDER as SCRIPTED, ROUNDS_MAX, RecordedRound, SCRIPT_BYTES_MAX,
    ScriptError, ScriptWriteError, ScriptedModel, TOOLS_PER_ROUND_MAX, write as write_script,
};
pub use thinking::{BadThinking, THINKING_TOKENS_MAX, Thinking};
pub use wire::{Clearable, ProviderPromptCapability, TOOL_RESULTS_KEPT, clearable};
