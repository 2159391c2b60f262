//! The person's pager, for texts that are longer than a screen.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::global_args::variable;

/// Shows a text in `$PAGER`, or in `less`. Returns whether a pager ran.
pub(super) fn show(text: &str) -> bool {
    let pager =
        variable("PAGER").map_or_else(|| "less".to_owned(), |pager| pager.to_string_lossy().into_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if variable("LESS").is_none() {
        // Quit at once if the text fits, and keep it on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A person who quits early closes the pipe. That is not a failure.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
