//! `wakeful models key`: stores and removes the keys of providers.

use std::path::PathBuf;

use clap::Subcommand;
use wakeful_api::{ModelProvider, RemoveProviderKey, SetProviderKey, Text};
use wakeful_core::id::RuleId;

use crate::backend::write;
use crate::cli::key_input::read_key;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::model::ModelRegistry;
use crate::provider_setup::{ProviderSetup, check_key};
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Store a provider's key in the system's keyring or in a private file, after a free test
    ///
    /// The key is read from the terminal without echo, or from standard input. Settings, logs and events
    /// contain only its location.
    Set {
        /// Provider name, such as `anthropic`
        provider: String,
        /// Read the key from this file; `-` is standard input
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
        /// Store the key without testing it
        #[arg(long)]
        no_test: bool,
    },
    /// Remove a provider's key
    Remove {
        /// Provider name, such as `anthropic`
        provider: String,
    },
}

pub(super) async fn key(verb: &KeyVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        KeyVerb::Set {
            provider,
            key_file,
            no_test,
        } => {
            let name = known(provider, shared)?;
            let key = read_key(key_file.as_deref(), &format!("Key of {provider}: "))?;
            check_key(&key)?;
            let asked = SetProviderKey {
                provider: name,
                key,
                skip_test: *no_test,
            };
            let stored = write(shared, out, async |backend| backend.call(asked).await).await?;
            let words = format!("the key of {provider} is stored: {}", place(&stored.provider));
            out.answer(&stored, &words);
            if let Some(test) = stored.test {
                out.note(&test.message);
            }
        }
        KeyVerb::Remove { provider } => {
            let asked = RemoveProviderKey {
                provider: known(provider, shared)?,
            };
            let left = write(shared, out, async |backend| backend.call(asked).await).await?;
            let words = match left.has_key {
                true => format!("{provider} has no stored key; {} is still used", place(&left)),
                false => format!("no key of {provider} is stored now"),
            };
            out.answer(&left, &words);
        }
    }
    Ok(0)
}

/// Checks the provider before a key is asked for.
fn known(name: &str, shared: &GlobalArgs) -> Result<Text<RuleId>, Failure> {
    let home = shared.home()?;
    let settings = config::load(&home, &Overrides::default())?;
    let models = ModelRegistry::new(&settings.config);
    ProviderSetup { home, models }.provider(name)?;
    Ok(Text(RuleId::parse(name)?))
}

fn place(provider: &ModelProvider) -> &str {
    provider.key_handle.as_deref().unwrap_or("no place")
}
