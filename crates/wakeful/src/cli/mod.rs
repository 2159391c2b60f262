//! The command line: the command tree and the code that all commands share. Each command has its own file.

mod agent;
mod agent_guardrails;
mod agent_sandbox;
mod agent_settings;
mod audit;
pub(crate) mod backup;
mod brake;
pub(crate) mod budget;
pub(crate) mod chat;
mod config;
pub(crate) mod confirm;
mod daemon;
mod debug;
mod decision;
mod doctor;
mod erase;
mod events;
mod export;
mod help;
mod hooks;
mod init;
mod journal;
mod key_input;
mod login;
mod message;
mod models;
mod open;
mod policy;
mod record;
mod replay;
mod restore;
pub(crate) mod retention;
mod run;
mod runs;
mod saga;
mod schedule;
mod secret;
mod serve;
mod service;
mod source;
mod status;
mod subscribe;
mod transcript;
mod trust;
mod verify;
mod why;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::backend::take_redaction_note;
use crate::failure::{FAILED, Failure, USAGE};
use crate::global_args::{GlobalArgs, text_variable, variable};
use crate::show::Out;

/// Durable AI agents on your own machine.
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
Durable AI agents on your own machine.

Every message starts one run, and every step of a run is recorded before it is performed. You can kill the program at \
any time: `wakeful run --resume` continues where the run stopped. An action that may already have been performed is \
not repeated but reported.";

const AFTER_HELP: &str = "\
Get started, without an API key:
  wakeful run \"Show me what you can do\"        run the built-in demo script
  wakeful chat                                 talk to an agent in the terminal
  wakeful daemon start && wakeful open         start the daemon and open its page
  wakeful message main \"…\"                     queue a message without waiting
  wakeful run --resume                         finish interrupted runs without a daemon

To diagnose a problem, use in this order: `wakeful run --json`, `wakeful daemon status`, `wakeful daemon logs`, \
`wakeful status`, `wakeful tail`, `wakeful transcript`, and `wakeful serve` in the foreground.

Exit status: 0 success, 1 failure or unknown outcome, 2 usage error, 3 the run waits for a decision, 4 denied by \
policy or held by a brake, 5 the run waits because the daily budget is spent, 6 verification failed, 130 or 143 \
interrupted by Ctrl-C or SIGTERM (`wakeful serve` exits with 0 after a clean shutdown).";

const SERVE_AFTER_HELP: &str = "Ctrl-C and SIGTERM bring current work to a safe point and end the daemon with exit status 0; a \
    second signal ends it immediately with 130 or 143.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Set up a home: settings and a first agent
    Init(init::InitArgs),
    /// Send a prompt to an agent and wait for the answer
    Run(run::RunArgs),
    /// Talk to an agent; its runs continue in the daemon when you leave
    Chat(chat::ChatArgs),
    /// Queue a message for an agent without waiting
    Message(message::MessageArgs),
    /// Show the status of daemon, agents and runs
    Status(status::StatusArgs),
    /// Follow events as they happen
    Tail(events::TailArgs),
    /// Show past events from an agent's log
    Events(events::EventsArgs),
    /// List, show and export what was decided about tool calls, denials included
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// List, show, resume, abandon or cancel runs
    #[command(subcommand)]
    Runs(runs::RunsVerb),
    /// Create and manage agents
    #[command(subcommand)]
    Agent(agent::AgentVerb),
    /// List and answer pending decisions
    #[command(subcommand)]
    Decision(decision::DecisionVerb),
    /// Stop all agents or one immediately, and release them
    #[command(subcommand)]
    Brake(brake::BrakeVerb),
    /// Show spending and set daily caps
    #[command(subcommand)]
    Budget(budget::BudgetVerb),
    /// Show the conversation between you, an agent and its tools
    Transcript(transcript::TranscriptArgs),
    /// Record a run as a script that gives the same answers again, without secrets
    Record(record::RecordArgs),
    /// Verify that the log is complete and unchanged
    Verify(verify::VerifyArgs),
    /// Replay a run from its run log, without network or tools, and compare
    Replay(replay::ReplayArgs),
    /// Write a run to one file that another machine can verify
    Export(export::ExportArgs),
    /// Erase the contents of a run or of events permanently; the log stays verifiable
    Erase(erase::EraseArgs),
    /// Run the daemon in the foreground: API, page, schedules and queued work
    #[command(after_help = SERVE_AFTER_HELP)]
    Serve(serve::ServeArgs),
    /// Manage the daemon in the background
    #[command(subcommand)]
    Daemon(daemon::DaemonVerb),
    /// Open the page in a logged-in browser
    Open(open::OpenArgs),
    /// List and revoke browser logins
    #[command(subcommand)]
    Login(login::LoginVerb),
    /// List, test and confirm models and providers
    #[command(subcommand)]
    Models(models::ModelsVerb),
    /// Store, list and remove secrets that commands receive
    #[command(subcommand)]
    Secret(secret::SecretVerb),
    /// List, trust and review folders: whose files agents take as yours
    #[command(subcommand)]
    Trust(trust::TrustVerb),
    /// Show, change and check settings
    #[command(subcommand)]
    Config(config::ConfigVerb),
    /// Show, check, explain and edit permission policies
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// List, check, import and try hooks: programs that see the calls of agents
    #[command(subcommand)]
    Hooks(hooks::HooksVerb),
    /// Check the installation and repair problems
    Doctor(doctor::DoctorArgs),
    /// Show internals, such as the prompt that a model receives
    #[command(subcommand)]
    Debug(debug::DebugVerb),
    /// Run the daemon as a systemd user service
    #[command(subcommand)]
    Service(service::ServiceVerb),
    /// Back up a home to one file, even while it is in use
    Backup(backup::BackupArgs),
    /// Restore a home from a backup
    Restore(restore::RestoreArgs),
    /// Show how long data is kept, and delete old data
    #[command(subcommand)]
    Retention(retention::RetentionVerb),
    /// Show and edit the journal: tasks, notes, plans
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    /// Wake an agent when something changes
    Subscribe(subscribe::SubscribeArgs),
    /// Remove a subscription
    Unsubscribe(subscribe::UnsubscribeArgs),
    /// List, change, pause or resume subscriptions
    Subscriptions(subscribe::SubscriptionsArgs),
    /// Watch folders and Git repositories for changes
    #[command(subcommand)]
    Source(source::SourceVerb),
    /// Wake agents on a schedule, and show its history
    #[command(subcommand)]
    Schedule(schedule::ScheduleVerb),
    /// Explain what started a run, gate by gate
    Why(why::WhyArgs),
    /// Explain why an agent was not woken, and what to change
    WhyNot(why::WhyNotArgs),
    /// Show agents' incomplete writes to the journal
    #[command(subcommand)]
    Saga(saga::SagaVerb),
    /// Show the commands by purpose, or a guide
    Help(help::HelpArgs),
    /// Print a completion script for your shell
    Completion {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// Parses the command line, runs the command, and converts the result to an exit status.
pub(crate) fn main() -> ExitCode {
    let parsed = command()
        .try_get_matches()
        .and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(unparsed(&error)),
    };
    let out = Out::new(&cli.shared);
    let code = dispatch(cli, &out).unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit()
    });
    if let Some(note) = take_redaction_note() {
        out.note(&note);
    }
    ExitCode::from(if out.was_lost() { FAILED } else { code })
}

/// The command tree with the help of the top level.
fn command() -> clap::Command {
    help::with_groups(Cli::command())
}

/// Prints a usage error, or the requested help.
fn unparsed(error: &clap::Error) -> u8 {
    // A write error on the terminal cannot be reported.
    let _ = error.print();
    let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
    // The arguments could not be parsed, so `--json` is searched by name. After `--` it would be part of a
    // prompt.
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    if error.use_stderr() && words.any(|word| word == "--json") {
        let text = error.render().to_string();
        let sentence = text.split("\n\n").next().unwrap_or_default();
        let sentence = sentence.trim_start_matches("error: ").trim().replace('\n', " ");
        Out::json_only().failure_alone(&Failure::usage("usage", sentence, "see `wakeful --help`"));
    }
    code
}

/// How long to wait at exit for threads that are blocked on a disk.
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
            Verb::Chat(args) => chat::chat(&args, &shared, out).await,
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
            Verb::Audit(verb) => audit::audit(&verb, &shared, out).await,
            Verb::Serve(args) => serve::serve(&args, &shared, out).await,
            Verb::Daemon(verb) => daemon::daemon(&verb, &shared, out).await,
            Verb::Open(args) => open::open(&args, &shared, out).await,
            Verb::Login(verb) => login::login(&verb, &shared, out).await,
            Verb::Init(args) => init::init(&args, &shared, out).await,
            Verb::Debug(verb) => debug::debug(&verb, &shared, out).await,
            Verb::Doctor(args) => doctor::doctor(&args, &shared, out).await,
            Verb::Models(verb) => models::models(&verb, &shared, out).await,
            Verb::Secret(verb) => secret::secret(&verb, &shared, out).await,
            Verb::Trust(verb) => trust::trust(&verb, &shared, out).await,
            Verb::Config(verb) => config::config(&verb, &shared, out).await,
            Verb::Policy(verb) => policy::policy(&verb, &shared, out).await,
            Verb::Hooks(verb) => hooks::hooks(&verb, &shared, out).await,
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
            Verb::Help(args) => help::help(&args, &command(), out),
            Verb::Completion { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "wakeful", &mut script);
                out.bytes(&script);
                Ok(0)
            }
        }
    });
    // A thread that is blocked on a hanging disk must not keep the process alive.
    runtime.shutdown_timeout(LEFTOVER_WAIT);
    ended
}

#[cfg(test)]
mod hint_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Lists each command with its flags, one per line.
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

    // Conformance: H-069
    #[test]
    fn the_command_tree_matches_the_reviewed_list() {
        let mut lines = Vec::new();
        walk(&Cli::command(), "wakeful", &mut lines);
        insta::assert_snapshot!(lines.join("\n"));
    }
}
