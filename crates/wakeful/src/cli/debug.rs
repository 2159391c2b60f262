//! `wakeful debug`: a look inside, for whoever wants to know why.

mod kernel;
mod prompt;

use clap::Subcommand;

use super::GlobalArgs;
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum DebugVerb {
    /// Show what an agent's next model request begins with: every block, where it is from, and what it weighs
    Prompt(prompt::PromptArgs),
    /// Answer questions about keys, matching, convergence and schedules: a line of JSON in, a line of JSON out
    #[command(long_about = KERNEL_ABOUT)]
    Kernel,
}

const KERNEL_ABOUT: &str = "\
Answer questions about keys, matching, convergence and schedules: a line of JSON in, a line of JSON out.

It reads standard input until it ends and touches no file, no clock and no network, so that every answer can be \
compared with that of another program. docs/kernel-protocol.md has all operations; one of them is

  {\"id\": 1, \"op\": \"token_key\", \"class\": \"semanticKey\", \"value\": \"TASK\"}";

/// Runs the verb.
pub(crate) async fn debug(verb: &DebugVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        DebugVerb::Prompt(args) => prompt::prompt(args, shared, out).await,
        DebugVerb::Kernel => kernel::kernel(),
    }
}
