//! The command line. Each verb has its own file; here is only the tree and what all verbs share.

mod agent;
mod run;
mod runs;
mod transcript;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, Parser, Subcommand};

use crate::failure::Failure;
use crate::show::Out;

/// Gives AI agents a durable home on your own machine.
#[derive(Debug, Parser)]
#[command(name = "wakeful", version, about, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    verb: Verb,
}

const LONG_ABOUT: &str = "\
Gives AI agents a durable home on your own machine.

Every message becomes one run, and every step of a run is written down before it is taken. Kill the program \
at any moment: `wakeful run --resume` goes on where it stood, repeats nothing that may have happened, and says so.";

const AFTER_HELP: &str = "\
Try it, without any key:
  wakeful run \"Show me what you can do\"        the built-in demo script answers
  wakeful run --model scripted:FILE \"…\"        a script of your own answers
  wakeful run --resume                         finishes what a crash cut off
  wakeful runs list                            what ran, and how it ended

Exit status: 0 ok, 1 failed or an outcome is unknown, 2 wrong usage, 4 something was denied by policy.";

/// What every verb takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shared {
    /// The folder everything lives in [default: ~/.wakeful]
    #[arg(long, global = true, value_name = "DIR", env = "WAKEFUL_HOME", hide_env_values = true)]
    home: Option<PathBuf>,
    /// A PostgreSQL database to use instead of the home's own (a URL, or key=value words)
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "WAKEFUL_DATABASE",
        hide_env_values = true
    )]
    database: Option<String>,
    /// Answer with JSON on standard output
    #[arg(long, global = true)]
    json: bool,
}

impl Shared {
    /// The home as given, or the default one.
    pub(crate) fn home(&self) -> Result<PathBuf, Failure> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        std::env::home_dir()
            .filter(|home| home.is_absolute())
            .map(|home| home.join(".wakeful"))
            .ok_or_else(|| {
                Failure::usage(
                    "home_missing",
                    "there is no home folder of yours to put .wakeful in",
                    "give one with --home",
                )
            })
    }

    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Give an agent something to do and wait for the answer
    Run(run::RunArgs),
    /// Look at runs, or end one
    #[command(subcommand)]
    Runs(runs::RunsVerb),
    /// Make and look at agents
    #[command(subcommand)]
    Agent(agent::AgentVerb),
    /// Show what was said between you, an agent and its tools
    Transcript(transcript::TranscriptArgs),
    /// Print a completion script for your shell
    Completion {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Parses the command line, does the work, and turns the result into an exit status.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(crate::failure::USAGE);
            // Nothing is left to tell if even the terminal is gone.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let out = Out::new(cli.shared.json);
    match dispatch(&cli, &out) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit())
        }
    }
}

fn dispatch(cli: &Cli, out: &Out) -> Result<u8, Failure> {
    if let Verb::Completion { shell } = &cli.verb {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Cli::command(), "wakeful", &mut script);
        // A closed pipe only means that the reader has seen enough.
        let _ = std::io::stdout().write_all(&script);
        return Ok(0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.map_err(|error| Failure::io("no_runtime", "cannot start", &error, "try again"))?;
    runtime.block_on(async {
        match &cli.verb {
            Verb::Run(args) => run::run(args, &cli.shared, out).await,
            Verb::Runs(verb) => runs::runs(verb, &cli.shared, out).await,
            Verb::Agent(verb) => agent::agent(verb, &cli.shared, out).await,
            Verb::Transcript(args) => transcript::transcript(args, &cli.shared, out).await,
            Verb::Completion { .. } => Ok(0),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }
}
