//! The messages that were typed in `chat`, for the arrow keys. Each is kept with its agent, so that an erasure can
//! remove it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use wakeful_core::id::AgentId;

use crate::terminal::editor::HISTORY_MAX;

/// Largest history that is read. A larger file is not from this program.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Longest message that is kept in the history; longer ones are in the transcript.
const ENTRY_BYTES_MAX: usize = 4 * 1024;

/// A message, as one line of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    agent_id: String,
    text: String,
}

fn path(home: &Path) -> PathBuf {
    home.join("chat_history")
}

/// The messages, oldest first; none if the file cannot be read, because they are only a convenience.
pub(super) fn read(home: &Path) -> Vec<String> {
    let entries = File::open(path(home)).and_then(|mut file| entries(&mut file));
    let entries = entries.unwrap_or_default().into_iter();
    entries.map(|entry| entry.text).collect()
}

/// Adds a message to an agent. Other conversations may add theirs at the same time.
pub(super) fn add(home: &Path, agent: &AgentId, text: &str) -> std::io::Result<()> {
    if text.len() > ENTRY_BYTES_MAX {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    change(options.open(path(home))?, |entries| {
        let new = Entry {
            agent_id: agent.to_string(),
            text: text.to_owned(),
        };
        if entries.last() != Some(&new) {
            entries.push(new);
        }
        entries.drain(..entries.len().saturating_sub(HISTORY_MAX));
    })
}

/// Removes the messages to an agent, and lines that cannot be read. Returns how many messages there were.
pub(crate) fn erase(home: &Path, agent: &AgentId) -> std::io::Result<usize> {
    let file = match OpenOptions::new().read(true).write(true).open(path(home)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut removed = 0;
    change(file, |entries| {
        let before = entries.len();
        entries.retain(|entry| entry.agent_id != agent.as_str());
        removed = before - entries.len();
    })?;
    Ok(removed)
}

/// Rewrites the file in place under a lock, so that two processes do not undo each other's changes.
fn change(mut file: File, change: impl FnOnce(&mut Vec<Entry>)) -> std::io::Result<()> {
    flock(&file, FlockOperation::LockExclusive)?;
    let mut entries = entries(&mut file)?;
    change(&mut entries);
    let lines = entries
        .iter()
        .filter_map(|entry| serde_json::to_string(entry).ok());
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn entries(file: &mut File) -> std::io::Result<Vec<Entry>> {
    let mut text = String::new();
    if file.metadata()?.len() <= FILE_BYTES_MAX {
        file.read_to_string(&mut text)?;
    }
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("a name")
    }

    #[test]
    fn the_history_is_private_bounded_and_keeps_line_ends() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path();
        assert_eq!(read(home), Vec::<String>::new());
        let long = "x".repeat(ENTRY_BYTES_MAX + 1);
        for text in ["one\ntwo", &long, "\u{1b}[2J"] {
            add(home, &agent("main"), text).expect("written");
        }
        assert_eq!(read(home), ["one\ntwo", "\u{1b}[2J"]);
        let mode = path(home).metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let many: String = (0..HISTORY_MAX + 5)
            .map(|n| format!("{{\"agent_id\":\"main\",\"text\":\"{n}\"}}\n"))
            .collect();
        std::fs::write(path(home), many).expect("written");
        add(home, &agent("main"), "last").expect("written");
        let kept = read(home);
        assert_eq!(
            (kept.len(), kept.first().map(String::as_str)),
            (HISTORY_MAX, Some("6"))
        );
    }

    #[test]
    fn an_erasure_removes_the_messages_of_one_agent_and_unreadable_lines() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path();
        assert_eq!(erase(home, &agent("main")).expect("no file"), 0);
        std::fs::write(path(home), "\"secret\"\n").expect("written");
        for (name, text) in [("main", "secret"), ("other", "kept"), ("main", "secret too")] {
            add(home, &agent(name), text).expect("written");
        }
        assert_eq!(erase(home, &agent("main")).expect("erased"), 2);
        assert_eq!(read(home), ["kept"]);
        let file = std::fs::read_to_string(path(home)).expect("text");
        assert!(!file.contains("secret"), "{file}");
    }
}
