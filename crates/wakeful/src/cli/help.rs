//! `wakeful help`: the commands by purpose, and guides that are part of the program.

mod guide;

use clap::Args;
use clap::builder::Command;
use clap::error::ErrorKind;
use serde_json::json;

use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// Command, such as `runs show`, or topic
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

/// A guide: its topic, what it is about, and its text.
type Topic = (&'static str, &'static str, &'static str);

macro_rules! topics {
    ($($name:literal $file:literal $about:literal)+) => {
        [$(($name, $about, include_str!(concat!("../../../../docs/", $file, ".md")))),+]
    };
}

/// The guides for users. A topic never has the name of a command.
const TOPICS: [Topic; 28] = topics! {
    "alertness" "alertness" "how messages, changes and schedules wake an agent"
    "api" "api" "the HTTP API for programs"
    "configuration" "configuration" "every setting of config.toml, and where values come from"
    "decisions" "decisions-and-brake" "approvals, the brake and notifications"
    "failures" "failure-modes" "what happens after crashes, full disks and lost connections"
    "glossary" "GLOSSARY" "the terms that Wakeful uses"
    "hook-files" "hooks" "hooks and guardrails: what watches messages, replies and calls"
    "limits" "budget" "limits on money, tokens, run time, tool calls and written bytes"
    "network" "network" "hosts that commands and tools may reach"
    "policies" "policy" "permission modes, policies in Cedar, and read-only runs"
    "provenance" "provenance" "untrusted data: what it is, and what runs that have read it may do"
    "promises" "promises" "what Wakeful guarantees, and how that is tested"
    "prompt" "prompt" "what a model receives, and the guidance files"
    "audit-entries" "audit" "what was decided about each call, and how that record is protected"
    "proof" "proof" "the signed log: verify, replay, export, erase"
    "providers" "providers" "models, keys, routes, prices and privacy"
    "records" "journal" "the journal: tasks, notes and plans"
    "repair" "retention" "backups, retention and repair"
    "schedules" "schedules" "schedules, missed firings and guards"
    "schema" "schema" "answers that fit a JSON Schema"
    "scripts" "scripts" "scripted models for tests and demos"
    "security" "security" "the sandbox, secrets and who may do what"
    "storage" "storage" "the files and tables of a home"
    "sub-runs" "sub-runs" "runs that start runs of other agents"
    "terminal" "terminal" "run and chat in the terminal"
    "tools" "tools" "what each tool of an agent does, and its bounds"
    "undo" "undo" "seeing and undoing what a run changed"
    "watch" "watch" "watched folders and Git repositories"
};

/// The commands by purpose.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["init", "run", "daemon", "open"]),
    ("Talk to agents", &["chat", "message", "transcript", "agent"]),
    (
        "Watch",
        &["status", "runs", "tail", "events", "audit", "why", "why-not"],
    ),
    ("Decide", &["decision", "brake", "budget"]),
    (
        "Set up",
        &[
            "config",
            "policy",
            "hooks",
            "models",
            "secret",
            "trust",
            "schedule",
            "subscribe",
            "unsubscribe",
            "subscriptions",
            "source",
            "journal",
            "login",
            "service",
            "completion",
        ],
    ),
    (
        "Operate",
        &[
            "serve",
            "doctor",
            "backup",
            "restore",
            "retention",
            "saga",
            "debug",
        ],
    ),
    ("Proof", &["verify", "replay", "export", "erase", "record"]),
];

/// Gives the top level its own help: commands by purpose, and the global options apart.
pub(super) fn with_groups(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nGlobal options:\n{{options}}{{after-help}}\n\nGuides: \
        wakeful help TOPIC\n  {}",
        groups(&command),
        names()
    );
    command.help_template(template)
}

/// The commands by purpose, one per line.
fn groups(command: &Command) -> String {
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        format!(
            "  {name:<14} {}\n",
            about.map(ToString::to_string).unwrap_or_default()
        )
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{title}:\n{}", names.iter().map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

/// All topics in lines of readable length.
fn names() -> String {
    const PER_LINE: usize = 9;
    let names: Vec<&str> = TOPICS.iter().map(|(name, ..)| *name).collect();
    let lines: Vec<String> = names.chunks(PER_LINE).map(|line| line.join(", ")).collect();
    lines.join(",\n  ")
}

pub(crate) fn help(args: &HelpArgs, command: &Command, out: &Out) -> Result<u8, Failure> {
    let Some(first) = args.words.first() else {
        let topics: String = TOPICS
            .iter()
            .map(|(name, about, _)| format!("  {name:<14} {about}\n"))
            .collect();
        let words = format!(
            "{}\nTopics (wakeful help TOPIC):\n{topics}\n`wakeful COMMAND --help` describes the options of a command.",
            groups(command)
        );
        let listed: Vec<_> = TOPICS
            .iter()
            .map(|(name, about, _)| json!({"topic": name, "about": about}))
            .collect();
        out.answer(&json!({"topics": listed}), &words);
        return Ok(0);
    };
    if let Some(text) = of_command(command, &args.words) {
        out.answer(&json!({"help": text}), text.trim_end());
        return Ok(0);
    }
    let topic = TOPICS.iter().find(|(name, ..)| name == first);
    let Some((name, about, text)) = topic.filter(|_| args.words.len() == 1) else {
        return Err(unknown(&args.words.join(" "), command));
    };
    let shown = guide::render(text, out.width());
    out.pages(&json!({"topic": name, "about": about, "text": text}), &shown);
    Ok(0)
}

/// The help of a command as `--help` prints it, if the words are a command.
fn of_command(command: &Command, words: &[String]) -> Option<String> {
    let mut found = command;
    for word in words {
        found = found.find_subcommand(word)?;
    }
    let words = words.iter().map(String::as_str);
    let line = std::iter::once("wakeful").chain(words).chain(["--help"]);
    let help = command.clone().try_get_matches_from(line).err()?;
    (help.kind() == ErrorKind::DisplayHelp).then(|| help.render().to_string())
}

fn unknown(given: &str, command: &Command) -> Failure {
    let names = TOPICS.iter().map(|(name, ..)| *name);
    let names = names.chain(command.get_subcommands().map(Command::get_name));
    let hint = match wakeful_core::suggestion::nearest(given, names) {
        Some(name) => format!("did you mean `wakeful help {name}`? `wakeful help` lists commands and topics"),
        None => "`wakeful help` lists commands and topics".to_owned(),
    };
    Failure::usage(
        "topic_unknown",
        format!("there is no command or topic {given:?}"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Documents for people who work on the program.
    const INTERNAL: [&str; 6] = [
        "STYLE.md",
        "benchmarks.md",
        "causal-state.md",
        "kernel-protocol.md",
        "simulation.md",
        "torture.md",
    ];

    #[test]
    fn every_guide_for_users_is_a_topic() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let files = std::fs::read_dir(docs).expect("docs").filter_map(Result::ok);
        let guides = files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let is_guide = name.ends_with(".md") && !INTERNAL.contains(&name.as_str());
            is_guide.then(|| std::fs::read_to_string(file.path()).expect(&name))
        });
        let guides: BTreeSet<String> = guides.collect();
        let topics: BTreeSet<String> = TOPICS.iter().map(|(_, _, text)| (*text).to_owned()).collect();
        assert_eq!(guides, topics);
    }

    #[test]
    fn every_command_is_in_one_group_and_no_topic_is_a_command() {
        let command = Cli::command();
        let mut commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        commands.retain(|name| *name != "help");
        commands.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
        assert!(TOPICS.iter().all(|(topic, ..)| !commands.contains(topic)));
    }
}
