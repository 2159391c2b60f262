//! `wakeful debug`: shows internals, for diagnosis.

mod kernel;
mod prompt;

use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Subcommand};

use super::{Cli, GlobalArgs};
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum DebugVerb {
    /// Show the fixed part of an agent's next model request: each block with its source and size
    Prompt(prompt::PromptArgs),
    /// Evaluate keys, matching, convergence and schedules: one JSON object per line in, one per line out
    #[command(long_about = KERNEL_ABOUT)]
    Kernel,
    /// Write the manual pages of all commands to a folder, for packages
    Man {
        /// Existing folder
        folder: PathBuf,
    },
}

const KERNEL_ABOUT: &str = "\
Evaluate keys, matching, convergence and schedules: one JSON object per line in, one per line out.

The command reads standard input until it ends and uses no files, no clock and no network, so results can be compared \
with those of another implementation. docs/kernel-protocol.md documents all operations. For example:

  {\"id\": 1, \"op\": \"token_key\", \"class\": \"semanticKey\", \"value\": \"TASK\"}";

pub(crate) async fn debug(verb: &DebugVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        DebugVerb::Prompt(args) => prompt::prompt(args, shared, out).await,
        DebugVerb::Kernel => kernel::kernel(),
        DebugVerb::Man { folder } => man(folder),
    }
}

/// Writes one page per command, such as `wakeful-runs-list.1`.
fn man(folder: &Path) -> Result<u8, Failure> {
    clap_mangen::generate_to(Cli::command(), folder).map_err(|error| {
        let attempt = format!("cannot write manual pages to {}", folder.display());
        Failure::io("man_unwritable", &attempt, &error, "choose a folder that exists")
    })?;
    Ok(0)
}
