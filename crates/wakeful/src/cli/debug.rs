//! `wakeful debug`: a look inside, for whoever wants to know why.

mod prompt;

use clap::Subcommand;

use super::Shared;
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum DebugVerb {
    /// Show what an agent's next model request begins with: every block, where it is from, and what it weighs
    Prompt(prompt::PromptArgs),
}

/// Runs the verb.
pub(crate) async fn debug(verb: &DebugVerb, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    match verb {
        DebugVerb::Prompt(args) => prompt::prompt(args, shared, out).await,
    }
}
