//! Reads a provider's key from a terminal without echo, from a file or from standard input. Keys are never
//! arguments, because other processes can see those.

use std::fs::File;
use std::io::{BufRead as _, IsTerminal as _, Read, Write as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use wakeful_models::CREDENTIAL_BYTES_MAX;

use crate::failure::Failure;

/// Reads a key from this file, where `-` is standard input; else from the terminal after a prompt, or, without
/// a terminal, from standard input.
pub(super) fn read_key(file: Option<&Path>, prompt: &str) -> Result<String, Failure> {
    match file {
        Some(path) if path != Path::new("-") => {
            let opened = File::open(path).map_err(|error| unreadable(&path.display().to_string(), &error))?;
            read_all(opened, &path.display().to_string())
        }
        None if std::io::stdin().is_terminal() => read_hidden(prompt),
        Some(_) | None => read_all(std::io::stdin(), "standard input"),
    }
}

/// Reads one line from the terminal while it does not show what is typed.
pub(super) fn read_hidden(prompt: &str) -> Result<String, Failure> {
    let mut output = std::io::stderr();
    // Before the prompt, because the person may type as soon as it is shown.
    let hidden = HiddenInput::begin();
    // If the prompt cannot be written, reading still works.
    let _ = write!(output, "{prompt}").and_then(|()| output.flush());
    let limit = u64::try_from(CREDENTIAL_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(64);
    let mut line = String::new();
    let read = std::io::stdin().lock().take(limit).read_line(&mut line);
    drop(hidden);
    let _ = writeln!(output);
    read.map_err(|error| unreadable("the terminal", &error))?;
    Ok(line)
}

fn read_all(source: impl Read, name: &str) -> Result<String, Failure> {
    let limit = u64::try_from(CREDENTIAL_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(64);
    let mut text = String::new();
    let read = source.take(limit).read_to_string(&mut text);
    read.map_err(|error| unreadable(name, &error))?;
    Ok(text)
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot read the key from {name}");
    Failure::io(
        "key_unreadable",
        &attempt,
        error,
        "name a readable file, or - for standard input",
    )
}

/// The terminal without echo, until dropped.
struct HiddenInput(Option<Termios>);

impl HiddenInput {
    fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut hidden) = before.clone() {
            hidden.local_modes.remove(LocalModes::ECHO);
            // Without a terminal that can hide input, the key is still read.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden);
        }
        Self(before)
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
