//! Adds a provider with its own address. An existing provider is never changed, so its key cannot be sent to
//! another address.

use serde_json::json;
use tokio::task::spawn_blocking;
use wakeful_api::{AddProvider, AddedProvider, ProviderKind};
use wakeful_core::inference::NO_SECRET;
use wakeful_models::Credential;

use super::{KEY_MISSING, KEY_REFUSED, ProviderSetup, check_key, interrupted};
use crate::config::{self, ConfigEdit, ProviderSettings};
use crate::failure::Failure;
use crate::home::Home;
use crate::model::ProviderConfig;

impl ProviderSetup {
    /// Tests and adds a provider, and stores its key if one is given.
    pub(crate) async fn add(&self, asked: AddProvider) -> Result<AddedProvider, Failure> {
        let name = asked.provider.to_string();
        if self.models.providers().contains(&name) {
            return Err(config::provider_exists(&name));
        }
        let settings = ProviderSettings {
            kind: Some(word(asked.kind)),
            base_url: Some(asked.base_url.clone()),
            ..ProviderSettings::default()
        };
        let provider = ProviderConfig::new(&name, Some(&settings))?;
        let key = asked.key.as_deref().map(check_key).transpose()?;
        self.check_address(&provider, key.clone())?;
        let test = match asked.skip_test {
            true => None,
            false => Some(self.test_provider(provider, None, key).await?),
        };
        let refused = test
            .as_ref()
            .filter(|test| test.code.as_deref() == Some(KEY_REFUSED));
        match (refused, &asked.key) {
            (Some(_), None) => {
                let message = format!("key: {name} refuses requests without a key");
                return Err(Failure::new(
                    KEY_MISSING,
                    message,
                    "enter its key; nothing was stored",
                ));
            }
            (Some(test), Some(_)) => {
                let (message, hint) = (
                    test.message.clone(),
                    "check the key and try again; nothing was stored",
                );
                return Err(Failure::new(KEY_REFUSED, format!("key: {message}"), hint));
            }
            (None, _) => {}
        }
        let setup = self.clone();
        let stored = spawn_blocking(move || {
            setup.write(&asked)?;
            setup.models.forget_keys();
            setup.reloaded()?.describe(&name)
        });
        let provider = stored.await.unwrap_or_else(|_| Err(interrupted()))?;
        Ok(AddedProvider { provider, test })
    }

    /// Validates the address, also if the provider is not tested.
    fn check_address(&self, provider: &ProviderConfig, key: Option<Credential>) -> Result<(), Failure> {
        match provider.hosted_with(key, "-", &self.models) {
            Err((_, failure)) if failure.code() != NO_SECRET => {
                let message = format!("base_url: {}", failure.message());
                Err(Failure::new(failure.code().to_owned(), message, failure.hint()))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Writes the whole section at once. If another provider took the name meanwhile, nothing is written.
    fn write(&self, asked: &AddProvider) -> Result<(), Failure> {
        let (home, name) = (Home::open(&self.home)?, asked.provider.to_string());
        let set = |field: &str, text: String| ConfigEdit::Set {
            key: format!("providers.{name}.{field}"),
            text,
        };
        let section = [
            ConfigEdit::NewProvider(name.clone()),
            set("kind", word(asked.kind)),
            set("base_url", asked.base_url.clone()),
        ];
        config::change(&home, &section)?;
        match &asked.key {
            Some(key) => self.reloaded()?.store_key(&name, key),
            None => Ok(()),
        }
    }
}

/// The name of a wire format in the settings.
fn word(kind: ProviderKind) -> String {
    json!(kind).as_str().unwrap_or_default().to_owned()
}
