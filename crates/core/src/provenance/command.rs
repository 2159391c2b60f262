//! Commands that the operator named. They run as in a run without untrusted data.
//!
//! Only what a simple command does can be read from its words, so every other command is confined.

use super::target::host_of;
use super::texts::RunTexts;
use crate::policy::{CallFacts, CommandFact};

/// Options of `git push` that change neither what is sent nor where.
const PUSH_OPTIONS: &[&str] = &[
    "-u",
    "--set-upstream",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--progress",
    "--porcelain",
];

/// Branches that are called so although the operator calls them otherwise: the current and the usual ones.
const USUAL_BRANCHES: &[&str] = &["HEAD", "main", "master"];

/// Options of `curl` and `wget` that neither send nor execute anything, and take no value.
const FETCH_OPTIONS: &[&str] = &[
    "-f",
    "-s",
    "-S",
    "-L",
    "-O",
    "-fsS",
    "-fsSL",
    "-sS",
    "-sSL",
    "-sL",
    "-fL",
    "-LO",
    "-sLO",
    "-fsSLO",
    "-q",
    "--fail",
    "--silent",
    "--show-error",
    "--location",
    "--remote-name",
    "--quiet",
];

/// Options of `curl` and `wget` with a file to write, which the sandbox confines.
const FETCH_FILE_OPTIONS: &[&str] = &["-o", "--output"];

/// Options of reading Git commands that take no value and execute nothing.
const READ_OPTIONS: &[&str] = &[
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--progress",
    "--tags",
    "--prune",
    "--ff-only",
    "--bare",
];

/// Whether the operator named a command: as it stands, or by the address that it sends to or reads from. After
/// an action of a run with untrusted data, programs and settings of the workspace are untrusted, so a command
/// that may run them is not named by its text alone.
pub(super) fn is_named_command(facts: &CallFacts, texts: &RunTexts<'_>, has_acted: bool) -> bool {
    let Some(command) = &facts.command else {
        return false;
    };
    let is_place = |text: &str| text.contains([' ', '/']);
    if !has_acted && is_place(&command.text) && texts.is_text_named(&command.text) {
        return true;
    }
    if !command.is_simple {
        return false;
    }
    let words: Vec<&str> = command.text.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["git", "clone", rest @ ..] => is_named_read(rest, texts),
        // The settings of a repository say where its remotes are, and its hooks are programs.
        ["git", ..] if !facts.is_repository_trusted => false,
        ["git", "push", rest @ ..] => is_named_push(rest, texts),
        ["git", "fetch" | "pull" | "ls-remote", rest @ ..] => is_named_read(rest, texts),
        ["curl" | "wget", rest @ ..] => is_named_fetch(rest, texts),
        _ => false,
    }
}

/// Whether a command that reaches a host brings nothing into the workspace.
#[must_use]
pub fn receives_nothing(command: &CommandFact) -> bool {
    let mut words = command.text.split_ascii_whitespace();
    command.is_simple && words.next() == Some("git") && words.next() == Some("push")
}

/// `git push [OPTION…] [REMOTE [BRANCH…]]`. A remote without an address is named by its word. Without a remote, Git
/// uses the usual one.
fn is_named_push(words: &[&str], texts: &RunTexts<'_>) -> bool {
    let mut places = words.iter().filter(|word| !word.starts_with('-'));
    let remote = places.next();
    let is_named = match remote {
        Some(remote) => is_address_named(remote, texts) && is_verb_named("push", texts),
        None => is_verb_named("push", texts),
    };
    let mut options = words.iter().filter(|word| word.starts_with('-'));
    // Neither forced nor a deletion.
    let is_branch = |word: &str| word.split(':').all(|part| is_branch_named(part, texts));
    is_named && options.all(|option| PUSH_OPTIONS.contains(option)) && places.all(|word| is_branch(word))
}

/// A reading command of Git, with an address that the operator named or without one.
fn is_named_read(words: &[&str], texts: &RunTexts<'_>) -> bool {
    let mut places = words.iter().filter(|word| !word.starts_with('-'));
    let is_named = places
        .next()
        .is_none_or(|address| is_address_named(address, texts));
    let mut options = words.iter().filter(|word| word.starts_with('-'));
    is_named && options.all(|option| READ_OPTIONS.contains(option)) && places.all(|word| is_plain(word))
}

/// A download of URLs that the operator named.
fn is_named_fetch(words: &[&str], texts: &RunTexts<'_>) -> bool {
    let mut words = words.iter();
    let mut has_url = false;
    while let Some(word) = words.next() {
        if FETCH_FILE_OPTIONS.contains(word) {
            if words.next().is_none_or(|file| file.starts_with('-')) {
                return false;
            }
        } else if word.starts_with('-') {
            if !FETCH_OPTIONS.contains(word) {
                return false;
            }
        } else if word.contains("://") && is_address_named(word, texts) {
            has_url = true;
        } else {
            return false;
        }
    }
    has_url
}

/// Whether the operator wrote an address, or the name of a remote, as a word.
fn is_address_named(address: &str, texts: &RunTexts<'_>) -> bool {
    let bare = |word: &str| word.trim_end_matches('/').trim_end_matches(".git").to_owned();
    let is_there = !address.contains("://") || host_of(address).is_some();
    is_there && texts.is_word_named(|word| bare(word) == bare(address))
}

/// Whether the operator asked for what a verb says.
fn is_verb_named(verb: &str, texts: &RunTexts<'_>) -> bool {
    texts.is_word_named(|word| {
        let word = word.to_lowercase();
        word.strip_prefix(verb)
            .is_some_and(|rest| ["", "es", "ed", "ing"].contains(&rest))
    })
}

fn is_branch_named(branch: &str, texts: &RunTexts<'_>) -> bool {
    USUAL_BRANCHES.contains(&branch) || texts.is_word_named(|word| word == branch)
}

fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
        && !word.starts_with('/')
}
