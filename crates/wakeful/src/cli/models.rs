//! `wakeful models`: who can be asked, what they can do, and whether they can be reached.

mod confirm;
mod doctor;
mod list;
mod probe;

use clap::{Args, Subcommand};

use super::GlobalArgs;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::model::ModelRegistry;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// Show providers, where their keys come from, routes and prices; nothing is sent
    List,
    /// Ask a model a few small questions and tell what it can do; this costs a little
    Probe(ProbeArgs),
    /// Look whether providers can be reached and take their keys, without spending
    Doctor,
    /// Agree that a provider may be shown your agents' work, under the rules that hold now
    Confirm {
        /// Its name, such as `anthropic`; without one, what was agreed to is shown
        provider: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Which model: `PROVIDER/MODEL`, `scripted:FILE` or `demo`
    model: String,
    /// Show it a small picture as well
    #[arg(long)]
    vision: bool,
}

/// Runs the verb.
pub(crate) async fn models(verb: &ModelsVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let registry = ModelRegistry::new(&settings.config);
    match verb {
        ModelsVerb::List => list::list(&registry, out),
        ModelsVerb::Probe(args) => probe::probe(args, &registry, shared, out).await,
        ModelsVerb::Doctor => doctor::doctor(&registry, out).await,
        ModelsVerb::Confirm { provider } => {
            confirm::confirm(provider.as_deref(), &registry, shared, out).await
        }
    }
}
