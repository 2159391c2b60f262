//! What answers model requests.
//!
//! [`ModelRef`] is what a person may name; the binary reads the file or the key that the name stands for and
//! builds [`Models`] from it: a route of [`Candidate`]s. The [`Scripted`] model drives tests, the demo and replays; a
//! [`Hosted`] one is asked over HTTP, in the wire format of its [`Provider`]. [`Embedders`] turn texts into directions.
#![forbid(unsafe_code)]

mod embedding;
mod hosted;
mod known;
mod price;
mod provider;
mod reference;
mod route;
mod scripted;
mod thinking;
mod wire;

pub use embedding::{
    ADDED_TOKENS_MAX, BadEmbeddingEndpoint, BadTable, BadTensor, BadTokenizer, Embedders, EmbeddingEndpoint,
    FOLDER_ENTRIES_MAX, HEADER_BYTES_MAX, ROWS_MAX, TENSOR_BYTES_MAX, TOKENIZER_BYTES_MAX, WordTable,
};
pub use hosted::{
    BadCredential, BadHosted, BadUrl, CREDENTIAL_BYTES_MAX, Clients, Credential, Hosted, Options, Shape,
    TIME_MS_MAX, Times, Told, URL_BYTES_MAX, Untaken, Webhook, host_of,
};
pub use known::{DEFAULTS_AS_OF, Known};
pub use price::{AS_OF, listed_or_assumed};
pub use provider::{Auth, Keyed, Provider};
pub use reference::{BadModelRef, MODEL_CHARS_MAX, ModelRef, REF_CHARS_MAX};
pub use route::{Candidate, Models, Unusable};
pub use scripted::{
    DELAY_MS_MAX, PROVIDER as SCRIPTED, Place, ROUNDS_MAX, Recorded, SCRIPT_BYTES_MAX, ScriptError, Scripted,
    TOOLS_PER_ROUND_MAX, Unwritable, write as write_script,
};
pub use thinking::{BadThinking, THINKING_TOKENS_MAX, Thinking};
pub use wire::{Clearable, ProviderPromptCapability, TOOL_RESULTS_KEPT, clearable};
