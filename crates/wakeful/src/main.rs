//! The `wakeful` program, which connects all crates.
//!
//! | module | does |
//! |---|---|
//! | [`cli`] | the command line: one file per command |
//! | [`backend`], [`discover`] | where a command is executed: by a running daemon, or on the database itself |
//! | [`global_args`] | the options that every command accepts |
//! | [`show`] | output for people and programs: text, JSON, progress |
//! | [`failure`] | every failure that a person sees: a code, a sentence, a hint |
//! | [`daemon`] | the daemon and the files it publishes |
//! | [`config`] | settings: the file, the environment and the flags, in layers |
//! | [`home`], [`open_home`] | the home and its lock; home, database and engine, opened for a command |
//! | [`journal`] | the person's records, opened on first use |
//! | [`archive`] | reads and writes backup files |
//! | [`device`], [`secret`], [`redact`] | the device key; where keys are stored; removing secrets from exported text |
//! | [`denied_paths`], [`policy`] | what commands must not read outside the home; what agents may do |
//! | [`provider_setup`] | lists, tests and finds model providers, and stores their keys |
//! | [`model`], [`workspace`], [`guidance`] | the models of a run, the folder of its commands, its guidance files |
//! | [`notify`] | sends notifications of pending decisions: desktop, webhook, command |
//! | [`signals`] | Ctrl-C and SIGTERM: a stop at a safe point |
//! | [`terminal`] | what the terminal can show, and the screen that `run` and `chat` draw on |
//! | [`system`] | the real clock, real randomness, and the identity of this process |
#![forbid(unsafe_code)]

mod archive;
mod backend;
mod cli;
mod config;
mod confinement_cache;
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
mod provider_setup;
mod redact;
mod sandbox_probe;
mod secret;
mod show;
mod signals;
mod system;
mod terminal;
mod trust;
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
