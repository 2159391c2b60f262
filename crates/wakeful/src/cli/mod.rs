//! The command line. Each verb has its own file; here is only the tree and what all verbs share.

mod agent;
mod backup;
mod brake;
pub(crate) mod budget;
mod config;
mod daemon;
mod debug;
mod decision;
mod doctor;
mod erase;
mod events;
mod export;
mod init;
mod journal;
mod login;
mod message;
mod models;
mod open;
mod record;
mod replay;
mod restore;
pub(crate) mod retention;
mod run;
mod runs;
mod saga;
mod schedule;
mod serve;
mod service;
mod source;
mod status;
mod subscribe;
mod transcript;
mod verify;
mod why;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::{FAILED, Failure, USAGE};
use crate::global_args::{GlobalArgs, text_variable, variable};
use crate::show::Out;

/// Gives AI agents a durable home on your own machine.
#[derive(Debug, Parser)]
#[command(name = "wakeful", version, about, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    shared: GlobalArgs,
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
  wakeful daemon start && wakeful open         agents that stay, and the page that shows them
  wakeful message main \"…\"                    something to do, without waiting for it
  wakeful run --resume                         finishes what a crash cut off, without a daemon

When something is wrong, look in this order: `wakeful run --json`, `wakeful daemon status`, `wakeful daemon logs`, \
`wakeful status`, `wakeful tail`, `wakeful transcript`, and `wakeful serve` in the foreground.

Exit status: 0 ok, 1 failed or an outcome is unknown, 2 wrong usage, 3 the run waits for a decision, \
4 something was denied by policy or held by a brake, 5 the day's money is spent and the run waits, \
6 verification failed, \
130 or 143 stopped by Ctrl-C or SIGTERM (`wakeful serve` ends with 0 when it has stopped in good order).";

const SERVE_AFTER_HELP: &str = "\
Ctrl-C and SIGTERM let what is under way come to a safe point and end the daemon with exit status 0; a second one \
ends it at once, with 130 or 143.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Set up a home: settings and a first agent, in one minute
    Init(init::InitArgs),
    /// Give an agent something to do and wait for the answer
    Run(run::RunArgs),
    /// Put a message into an agent's queue and do not wait
    Message(message::MessageArgs),
    /// Tell how everything stands
    Status(status::StatusArgs),
    /// Watch what happens
    Tail(events::TailArgs),
    /// Show what happened, from an agent's log
    Events(events::EventsArgs),
    /// Look at runs, end one, or let one go on that stands aside
    #[command(subcommand)]
    Runs(runs::RunsVerb),
    /// Make and look at agents
    #[command(subcommand)]
    Agent(agent::AgentVerb),
    /// See what waits for your answer, and answer it
    #[command(subcommand)]
    Decision(decision::DecisionVerb),
    /// Stop everything or one agent at once, and let it go on
    #[command(subcommand)]
    Brake(brake::BrakeVerb),
    /// Look at what models cost, and set what they may
    #[command(subcommand)]
    Budget(budget::BudgetVerb),
    /// Show what was said between you, an agent and its tools
    Transcript(transcript::TranscriptArgs),
    /// Turn a run into a script that gives the same answers again, without its secrets
    Record(record::RecordArgs),
    /// Check that the log is what was written, all of it
    Verify(verify::VerifyArgs),
    /// Run a recorded run again from its journal, without network or tools, and compare
    Replay(replay::ReplayArgs),
    /// Write a run to one file that another machine can verify
    Export(export::ExportArgs),
    /// Erase the contents of a run or of events for good; the log stays whole
    Erase(erase::EraseArgs),
    /// Run the daemon in the foreground: the API, the page, and everything that waits
    #[command(after_help = SERVE_AFTER_HELP)]
    Serve(serve::ServeArgs),
    /// Run the daemon in the background
    #[command(subcommand)]
    Daemon(daemon::DaemonVerb),
    /// Open the page in a browser that is logged in
    Open(open::OpenArgs),
    /// See which browsers are logged in, and end logins
    #[command(subcommand)]
    Login(login::LoginVerb),
    /// Look at models and providers, and find out what they can do
    #[command(subcommand)]
    Models(models::ModelsVerb),
    /// Look at settings, change one, and find what is wrong with them
    #[command(subcommand)]
    Config(config::ConfigVerb),
    /// Look whether everything is in order, and mend what can be mended
    Doctor(doctor::DoctorArgs),
    /// Look inside: what a model is sent, and why
    #[command(subcommand)]
    Debug(debug::DebugVerb),
    /// Let systemd keep the daemon running for you
    #[command(subcommand)]
    Service(service::ServiceVerb),
    /// Make one file of everything in a home, beside whoever works in it
    Backup(backup::BackupArgs),
    /// Make a home out of a backup
    Restore(restore::RestoreArgs),
    /// Look how long data is kept, and take away what is old
    #[command(subcommand)]
    Retention(retention::RetentionVerb),
    /// Look at what was written down and is to be done, and add to it
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    /// Let changes wake an agent
    Subscribe(subscribe::SubscribeArgs),
    /// Take a subscription away
    Unsubscribe(subscribe::UnsubscribeArgs),
    /// List what agents are woken by, put one aside, or take it up again
    Subscriptions(subscribe::SubscriptionsArgs),
    /// Watch folders and Git repositories for changes
    #[command(subcommand)]
    Source(source::SourceVerb),
    /// Wake agents by the clock, and see what became of it
    #[command(subcommand)]
    Schedule(schedule::ScheduleVerb),
    /// Tell what led to a run, and every gate on the way
    Why(why::WhyArgs),
    /// Tell what kept an agent from being woken, and what would have to change
    WhyNot(why::WhyNotArgs),
    /// Look at writes of agents to the journal that are not over
    #[command(subcommand)]
    Saga(saga::SagaVerb),
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
        Err(error) => return ExitCode::from(unparsed(&error)),
    };
    let out = Out::new(cli.shared.json);
    let code = dispatch(cli, &out).unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit()
    });
    ExitCode::from(if out.was_lost() { FAILED } else { code })
}

/// Tells what is wrong with the call, or the help that was asked for.
fn unparsed(error: &clap::Error) -> u8 {
    // Nothing is left to tell if even the terminal is gone.
    let _ = error.print();
    let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
    // The line could not be parsed, so the flag is looked for by its name. After `--` it would be a prompt.
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    if error.use_stderr() && words.any(|word| word == "--json") {
        let text = error.render().to_string();
        let sentence = text.split("\n\n").next().unwrap_or_default();
        let sentence = sentence.trim_start_matches("error: ").trim().replace('\n', " ");
        Out::new(true).failure_alone(&Failure::usage("usage", sentence, "see `wakeful --help`"));
    }
    code
}

/// How long threads that still wait for a disk are waited for at the end.
const LEFTOVER_WAIT: Duration = Duration::from_secs(1);

fn dispatch(cli: Cli, out: &Out) -> Result<u8, Failure> {
    let Cli { shared, verb } = cli;
    let shared = shared.or_environment()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::io("runtime_start_failed", "cannot start", &error, "try again"))?;
    let ended = runtime.block_on(async {
        match verb {
            Verb::Run(args) => run::run(&args, &shared, out).await,
            Verb::Runs(verb) => runs::runs(&verb, &shared, out).await,
            Verb::Agent(verb) => agent::agent(&verb, &shared, out).await,
            Verb::Decision(verb) => decision::decision(&verb, &shared, out).await,
            Verb::Brake(verb) => brake::brake(&verb, &shared, out).await,
            Verb::Budget(verb) => budget::budget(&verb, &shared, out).await,
            Verb::Transcript(args) => transcript::transcript(&args, &shared, out).await,
            Verb::Record(args) => record::record(&args, &shared, out).await,
            Verb::Verify(args) => verify::verify(&args, &shared, out).await,
            Verb::Replay(args) => replay::replay(&args, &shared, out).await,
            Verb::Export(args) => export::export(&args, &shared, out).await,
            Verb::Erase(args) => erase::erase(&args, &shared, out).await,
            Verb::Message(args) => message::message(&args, &shared, out).await,
            Verb::Status(args) => status::status(&args, &shared, out).await,
            Verb::Tail(args) => events::tail(&args, &shared, out).await,
            Verb::Events(args) => events::events(&args, &shared, out).await,
            Verb::Serve(args) => serve::serve(&args, &shared, out).await,
            Verb::Daemon(verb) => daemon::daemon(&verb, &shared, out).await,
            Verb::Open(args) => open::open(&args, &shared, out).await,
            Verb::Login(verb) => login::login(&verb, &shared, out).await,
            Verb::Init(args) => init::init(&args, &shared, out).await,
            Verb::Debug(verb) => debug::debug(&verb, &shared, out).await,
            Verb::Doctor(args) => doctor::doctor(&args, &shared, out).await,
            Verb::Models(verb) => models::models(&verb, &shared, out).await,
            Verb::Config(verb) => config::config(&verb, &shared, out),
            Verb::Service(verb) => service::service(&verb, &shared, out),
            Verb::Backup(args) => backup::backup(&args, &shared, out),
            Verb::Restore(args) => restore::restore(&args, &shared, out).await,
            Verb::Retention(verb) => retention::retention(&verb, &shared, out).await,
            Verb::Journal(verb) => journal::journal(&verb, &shared, out).await,
            Verb::Subscribe(args) => subscribe::subscribe(&args, &shared, out).await,
            Verb::Unsubscribe(args) => subscribe::unsubscribe(&args, &shared, out).await,
            Verb::Subscriptions(args) => subscribe::subscriptions(&args, &shared, out).await,
            Verb::Source(verb) => source::source(&verb, &shared, out).await,
            Verb::Schedule(verb) => schedule::schedule(&verb, &shared, out).await,
            Verb::Why(args) => why::why(&args, &shared, out).await,
            Verb::WhyNot(args) => why::why_not(&args, &shared, out).await,
            Verb::Saga(verb) => saga::saga(&verb, &shared, out).await,
            Verb::Completion { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "wakeful", &mut script);
                out.bytes(&script);
                Ok(0)
            }
        }
    });
    // A thread that waits for a disk that hangs must not keep the process.
    runtime.shutdown_timeout(LEFTOVER_WAIT);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }

    /// One line for each verb: its words, then its flags.
    fn walk(command: &clap::Command, path: &str, lines: &mut Vec<String>) {
        let names = command
            .get_arguments()
            .filter(|argument| !argument.is_global_set());
        let names = names.map(|argument| match argument.get_long() {
            Some(long) => format!(" --{long}"),
            None => format!(" <{}>", argument.get_id()),
        });
        lines.push(format!("{path}{}", names.collect::<String>()));
        for verb in command.get_subcommands() {
            walk(verb, &format!("{path} {}", verb.get_name()), lines);
        }
    }

    #[test]
    fn the_command_tree_is_as_reviewed() {
        let mut lines = Vec::new();
        walk(&Cli::command(), "wakeful", &mut lines);
        insta::assert_snapshot!(lines.join("\n"));
    }
}
