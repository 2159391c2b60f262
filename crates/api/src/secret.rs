//! Endpoints and types for secrets that commands of agents receive by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::secret::SecretName;

use crate::endpoint::endpoints;
use crate::text::Text;

endpoints! { "secrets":
    /// Lists the stored secrets. Values are never returned, only where they are stored.
    ListSecrets {} = Get "/api/secrets" -> Vec<Secret> { 200 "The secrets" }
    /// Stores a secret, in the system's keyring or in a file that only the owner can read.
    ///
    /// An agent's commands receive it only if the agent's settings list it (`sandbox.allowed_secrets`) and the
    /// command names it. The value is removed from everything that is stored or shown.
    SetSecret = Post "/api/secrets/{name}" -> Secret {
        200 "The secret is stored",
        403 "The caller is a process that an agent started",
        409 "The secret could not be stored",
    } with { unredacted: &["value"] }
    /// Removes a secret, and its name from the lists of the agents. A file or keyring entry that Wakeful did not create
    /// stays.
    RemoveSecret { name: Text<SecretName> } = Delete "/api/secrets/{name}" -> Secret {
        200 "The secret was removed; as it was before",
        403 "The caller is a process that an agent started",
        404 "The secret does not exist",
    }
}

/// A stored secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Secret {
    /// The name of the environment variable under which a command receives it.
    pub name: String,
    /// Where the value is stored: `env:NAME`, `file:/PATH` or `keyring:SERVICE/ACCOUNT`.
    pub key_handle: String,
    /// Why the value is not available now, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The agents whose commands may receive it.
    #[serde(default)]
    pub agents: Vec<String>,
}

/// The secret to store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// The name.
    pub name: Text<SecretName>,
    /// The value: 8 to 8192 bytes that do not look like a word. Surrounding white space is removed.
    #[schemars(length(min = 1, max = 8192), extend("pattern" = crate::text::NO_ZERO))]
    pub value: String,
}

/// Hides the value.
impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetSecret")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
