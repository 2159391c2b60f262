//! Describes what was enforced around one command, restriction by restriction.
//!
//! The level is `enforced` alone only if every restriction is. Results of earlier versions have a level and
//! no list of restrictions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cgroup::Controller;

/// The restrictions of a command. Each is enforced or not.
pub(crate) const LINES: [&str; 12] = [
    "files_read",
    "files_write",
    "protected_paths",
    "home_hidden",
    "network",
    "processes",
    "ipc",
    "system_calls",
    "metadata",
    "memory",
    "process_count",
    "written_bytes",
];

/// What a person asks about a command, and the restrictions that answer it.
const CONFINEMENT: [(&str, &[&str]); 5] = [
    ("path", &["files_read", "home_hidden"]),
    ("write", &["files_write", "protected_paths", "metadata"]),
    ("network", &["network"]),
    // Without a process namespace of its own, other processes of the user may read the environment of a command.
    ("secret", &["files_read", "home_hidden", "processes"]),
    ("child_process", &["processes", "ipc", "system_calls"]),
];

/// The states of such a line.
const ENFORCED: &str = "enforced";
const PARTLY_ENFORCED: &str = "partly_enforced";
const NOT_ENFORCED: &str = "not_enforced";

/// Enforced by the supervisor, which measures; these do not need the kernel.
const MEASURED: [&str; 3] = ["memory", "process_count", "written_bytes"];

/// The level with its mechanisms, and every restriction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Isolation {
    /// Such as `landlock-abi7+seccomp+pidns`; none if the kernel enforced nothing.
    means: Option<String>,
    not_enforced: Vec<String>,
}

impl Isolation {
    /// The kernel enforced everything except these restrictions.
    pub(crate) fn with(means: String, not_enforced: &[&str]) -> Self {
        Self {
            means: Some(means),
            not_enforced: not_enforced.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    /// Adds the cgroup controllers that limit the command. The supervisor measures what no controller
    /// limits.
    pub(crate) fn bounded_by(mut self, controllers: &[Controller]) -> Self {
        let names: Vec<&str> = controllers.iter().map(|controller| controller.name()).collect();
        let means = match names.as_slice() {
            [] => return self,
            names if names.len() == Controller::ALL.len() => "cgroup".to_owned(),
            names => format!("cgroup-{}", names.join("-")),
        };
        self.means = self.means.map(|others| format!("{others}+{means}"));
        self
    }

    /// Marks a restriction as not enforced.
    pub(crate) fn open_line(&mut self, line: &str) {
        if !self.not_enforced.iter().any(|open| open == line) {
            self.not_enforced.push(line.to_owned());
        }
    }

    /// The kernel enforced nothing.
    pub(crate) fn none() -> Self {
        let lines = LINES.iter().filter(|line| !MEASURED.contains(line));
        Self {
            means: None,
            not_enforced: lines.map(|line| (*line).to_owned()).collect(),
        }
    }

    /// `enforced: MEANS`, `partly_enforced: MEANS; not enforced: LINES`, or `not_enforced`.
    pub(crate) fn level(&self) -> String {
        match &self.means {
            None => NOT_ENFORCED.to_owned(),
            Some(means) if self.not_enforced.is_empty() => format!("enforced: {means}"),
            Some(means) => format!(
                "partly_enforced: {means}; not enforced: {}",
                self.not_enforced.join(", ")
            ),
        }
    }

    pub(crate) const fn is_nothing(&self) -> bool {
        self.means.is_none()
    }

    /// Whether every restriction is enforced.
    pub(crate) const fn is_whole(&self) -> bool {
        self.not_enforced.is_empty()
    }

    /// Each of the five lines with its state. It is partly enforced if only some of its restrictions are.
    pub(crate) fn confinement(&self) -> BTreeMap<&'static str, &'static str> {
        let is_open = |line: &&&str| self.not_enforced.iter().any(|open| open == **line);
        let state = |lines: &[&str]| match lines.iter().filter(is_open).count() {
            0 => ENFORCED,
            open if open == lines.len() => NOT_ENFORCED,
            _ => PARTLY_ENFORCED,
        };
        CONFINEMENT.map(|(name, lines)| (name, state(lines))).into()
    }

    /// Every restriction, and whether it was enforced.
    pub(crate) fn lines(&self) -> BTreeMap<&'static str, bool> {
        let is_enforced = |line: &str| !self.not_enforced.iter().any(|other| other == line);
        LINES.iter().map(|line| (*line, is_enforced(line))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_enforced_only_when_every_restriction_is() {
        let all = Isolation::with("x+y".to_owned(), &[]);
        assert_eq!(all.level(), "enforced: x+y");
        assert!(all.lines().values().all(|is| *is));
        let part = Isolation::with("x".to_owned(), &["metadata", "processes"]);
        assert_eq!(
            part.level(),
            "partly_enforced: x; not enforced: metadata, processes"
        );
        assert_eq!(part.lines().values().filter(|is| !**is).count(), 2);
        let mut unseen = all.bounded_by(&[Controller::Pids]);
        assert_eq!(unseen.level(), "enforced: x+y+cgroup-pids");
        unseen.open_line("written_bytes");
        assert_eq!(
            unseen.bounded_by(&Controller::ALL).level(),
            "partly_enforced: x+y+cgroup-pids+cgroup; not enforced: written_bytes"
        );
        assert_eq!(
            part.confinement().into_iter().collect::<Vec<_>>(),
            [
                ("child_process", PARTLY_ENFORCED),
                ("network", ENFORCED),
                ("path", ENFORCED),
                ("secret", PARTLY_ENFORCED),
                ("write", PARTLY_ENFORCED),
            ]
        );
        let none = Isolation::none();
        assert!(none.confinement().values().all(|state| *state == NOT_ENFORCED));
        assert_eq!(none.level(), "not_enforced");
        assert_eq!(none.lines().values().filter(|is| **is).count(), MEASURED.len());
    }
}
