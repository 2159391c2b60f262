//! The program: the one place where all crates are joined.
//!
//! | module | does |
//! |---|---|
//! | [`cli`] | the command line: one file per verb |
//! | [`notify`] | sends notifications of pending decisions: desktop, webhook, command |
//! | [`config`] | settings: the file, the environment, the flags, one over the other |
//! | [`archive`] | the file of a backup, written and read |
//! | [`closed`] | what commands must not read outside the home |
//! | [`home`] | the folder everything lives in, and its lock |
//! | [`place`] | opens home and database, and builds the engine on them |
//! | [`front`], [`reach`] | where a verb asks: which daemon, or the database itself |
//! | [`model`], [`workspace`] | who answers, and where commands work, looked at before anything is made |
//! | [`signals`] | Ctrl-C and SIGTERM: a stop at a safe point |
//! | [`world`] | the real clock, real randomness, and who this process is |
//! | [`show`] | what people and programs read: text, JSON, progress |
//! | [`failure`] | every failure a person sees: a code, a sentence, a way out |
#![forbid(unsafe_code)]

mod archive;
mod backend;
mod cli;
mod config;
mod daemon;
mod denied_paths;
mod device;
mod discover;
mod failure;
mod global_args;
mod guidance;
mod home;
mod journal;
mod model;
mod notify;
mod open_home;
mod policy;
mod redact;
mod secret;
mod show;
mod signals;
mod system;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox restricts the process it runs in, so it is entered before any thread exists.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == open_home::SANDBOX_VERB) {
        return wakeful_tools::sandbox::enter(args);
    }
    cli::main()
}
