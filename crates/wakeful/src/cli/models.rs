//! `wakeful models`: lists models and providers, tests their features, and checks whether they can be
//! reached.

mod confirm;
mod doctor;
mod key;
mod list;
mod probe;

use clap::{Args, Subcommand};

use self::key::KeyVerb;
use super::GlobalArgs;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::model::ModelRegistry;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// List providers, the sources of their keys, routes and prices, without sending anything
    List,
    /// Test a model with a few small requests and show its features; this costs a little
    Probe(ProbeArgs),
    /// Check whether providers can be reached and accept their keys, without cost
    Doctor,
    /// Store or remove the key of a provider
    #[command(subcommand)]
    Key(KeyVerb),
    /// Confirm that a provider may receive your agents' work under the current rules
    Confirm {
        /// Provider name, such as `anthropic`; if omitted, existing confirmations are shown
        provider: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Model: `PROVIDER/MODEL`, `scripted:FILE` or `demo`
    model: String,
    /// Also test image input
    #[arg(long)]
    vision: bool,
}

pub(crate) async fn models(verb: &ModelsVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let registry = ModelRegistry::new(&settings.config);
    match verb {
        ModelsVerb::List => list::list(&registry, out),
        ModelsVerb::Probe(args) => probe::probe(args, &registry, shared, out).await,
        ModelsVerb::Doctor => doctor::doctor(&registry, out).await,
        ModelsVerb::Key(verb) => key::key(verb, shared, out).await,
        ModelsVerb::Confirm { provider } => {
            confirm::confirm(provider.as_deref(), &registry, shared, out).await
        }
    }
}
