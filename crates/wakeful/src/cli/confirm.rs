//! Asks for confirmation before something is deleted permanently.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

use crate::failure::Failure;

/// Maximum length of an answer.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// Lets the person type a name to confirm. Without a terminal, only `--yes` confirms.
pub(super) fn confirm_by_name(name: &str, consequence: &str) -> Result<(), Failure> {
    let refusal = |hint: String| Failure::usage("confirmation_missing", consequence, hint);
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal {
        return Err(refusal("use --yes to confirm".to_owned()));
    }
    let answer = ask(&format!("{consequence}. Type {name} to confirm: "));
    if answer == name {
        return Ok(());
    }
    Err(refusal(format!("nothing was changed; type {name}, or use --yes")))
}

/// Lets the person confirm that a folder was reviewed. Without a terminal, only `--yes` confirms.
pub(super) fn confirm_review(folder: &str) -> Result<(), Failure> {
    let question = format!("Have you reviewed {folder}, and do you trust it as it is now?");
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if terminal && is_affirmed(&question) {
        return Ok(());
    }
    let hint = "nothing was changed; answer y in a terminal, or use --yes";
    Err(Failure::usage("confirmation_missing", question, hint.to_owned()))
}

/// Asks a question that `y` or `yes` affirms. The caller checks that there is a terminal.
pub(crate) fn is_affirmed(question: &str) -> bool {
    let answer = ask(&format!("{question} [y/N]: "));
    matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")
}

/// One line from the terminal. A line that cannot be read confirms nothing.
fn ask(prompt: &str) -> String {
    let mut output = std::io::stderr();
    // Control characters are replaced, because a name may contain terminal escape sequences.
    let prompt = prompt.replace(char::is_control, "\u{FFFD}");
    let _ = write!(output, "{prompt}").and_then(|()| output.flush());
    let mut line = String::new();
    let _ = std::io::stdin()
        .lock()
        .take(ANSWER_BYTES_MAX)
        .read_line(&mut line);
    line.trim().to_owned()
}
