//! The secrets that commands receive: the port by which the binary provides them, and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wakeful_core::policy::DenialCategory;
use wakeful_core::redact::Redactor;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::ToolError;

/// The code of a call whose secret has no value.
pub const SECRET_UNAVAILABLE: &str = DenialCategory::SecretUnavailable.as_str();

/// Provides the values of secrets by name.
pub trait SecretSource: std::fmt::Debug + Send + Sync {
    /// The value, or where it was looked for in vain. It may ask a keyring, so it must not be called on an
    /// async thread.
    fn value(&self, name: &str) -> Result<SecretValue, String>;

    /// A redactor of all values that are known now.
    fn redactor(&self) -> Arc<Redactor>;
}

/// The value of a secret. Its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretValue(String);

impl SecretValue {
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, for the environment of the process that receives it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretValue([hidden])")
    }
}

/// A source without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn value(&self, name: &str) -> Result<SecretValue, String> {
        Err(format!("there is no secret {name}"))
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::default()
    }
}

/// The values of the secrets of a command. The scope is checked again, although the policy was asked.
pub(crate) fn values<'a>(
    source: &dyn SecretSource,
    scope: &SandboxScope,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<BTreeMap<String, SecretValue>, ToolError> {
    let value = |name: &String| match scope.allowed_secrets.contains(name) {
        true => Ok((name.clone(), source.value(name).map_err(|why| unavailable(&why))?)),
        false => Err(unavailable(&format!("the agent may not use the secret {name}"))),
    };
    names.into_iter().map(value).collect()
}

fn unavailable(why: &str) -> ToolError {
    let hint = "ask a person: `wakeful secret list` shows which secrets exist and who may use them";
    ToolError {
        field: Some("secrets".to_owned()),
        category: Some(DenialCategory::SecretUnavailable),
        ..ToolError::new(SECRET_UNAVAILABLE, why, hint)
    }
}
