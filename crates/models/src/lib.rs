//! What answers model requests.
//!
//! [`ModelRef`] is what a person may name; the binary reads the file or the key that the name stands for and
//! builds [`Models`] from it: a route of [`Candidate`]s. The [`Scripted`] model drives tests, the demo and replays; a
//! [`Hosted`] one is asked over HTTP, in the wire format of its [`Provider`].
#![forbid(unsafe_code)]

mod hosted;
mod known;
mod price;
mod provider;
mod reference;
mod route;
mod scripted;
mod wire;

pub use hosted::{
    BadCredential, BadHosted, BadUrl, CREDENTIAL_BYTES_MAX, Clients, Credential, Hosted, Options, Shape,
    TIME_MS_MAX, Times, Told, URL_BYTES_MAX, host_of,
};
pub use known::{DEFAULTS_AS_OF, Known};
pub use price::{AS_OF, listed_or_assumed};
pub use provider::{Auth, Keyed, Provider};
pub use reference::{BadModelRef, MODEL_CHARS_MAX, ModelRef, REF_CHARS_MAX};
pub use route::{Candidate, Models, Unusable};
pub use scripted::{
    DELAY_MS_MAX, Place, ROUNDS_MAX, SCRIPT_BYTES_MAX, ScriptError, Scripted, TOOLS_PER_ROUND_MAX,
};
pub use wire::{Clearable, ProviderPromptCapability, TOOL_RESULTS_KEPT, clearable};
