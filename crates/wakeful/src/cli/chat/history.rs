//! The messages that were typed in `chat`, for the arrow keys.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::terminal::editor::HISTORY_MAX;

/// Largest history that is read. A larger file is not from this program.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Longest message that is kept in the history; longer ones are in the transcript.
const ENTRY_BYTES_MAX: usize = 4 * 1024;

pub(super) fn path(home: &Path) -> PathBuf {
    home.join("chat_history")
}

/// The messages, oldest first; none if the file cannot be read, because they are only a convenience.
pub(super) fn read(path: &Path) -> Vec<String> {
    let is_usable = path.metadata().is_ok_and(|found| found.len() <= FILE_BYTES_MAX);
    let text = is_usable.then(|| std::fs::read_to_string(path).ok()).flatten();
    let text = text.unwrap_or_default();
    let entries: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let surplus = entries.len().saturating_sub(HISTORY_MAX);
    entries.into_iter().skip(surplus).collect()
}

/// Replaces the file, so that it stays bounded.
pub(super) fn write(path: &Path, entries: &[String]) -> std::io::Result<()> {
    let fitting = entries.iter().filter(|entry| entry.len() <= ENTRY_BYTES_MAX);
    let lines = fitting.filter_map(|entry| serde_json::to_string(entry).ok());
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let new = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&new)?.write_all(text.as_bytes())?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_history_is_private_bounded_and_keeps_line_ends() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = path(dir.path());
        assert_eq!(read(&file), Vec::<String>::new());
        let long = "x".repeat(ENTRY_BYTES_MAX + 1);
        write(&file, &["one\ntwo".into(), long, "\u{1b}[2J".into()]).expect("written");
        assert_eq!(read(&file), ["one\ntwo", "\u{1b}[2J"]);
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let many: Vec<String> = (0..HISTORY_MAX + 5).map(|n| n.to_string()).collect();
        write(&file, &many).expect("written");
        assert_eq!(read(&file).first().map(String::as_str), Some("5"));
    }
}
