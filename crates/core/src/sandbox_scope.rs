//! What the sandbox of an agent allows beyond its workspace: folders, hosts and ports. It is a part of the
//! agent's settings, so a change applies to the next action.

mod path;
mod restriction;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network_scope::HostRules;
use crate::problem::Problem;
use crate::secret::check_name;

/// Maximum number of entries of each list. Every entry costs a mount or a rule for each command.
pub const SCOPE_ENTRIES_MAX: usize = 64;

/// Maximum length of a path or host in a list: `PATH_MAX` of the kernel.
const ENTRY_BYTES_MAX: usize = 4_096;

/// How many of the lists are paths; they come first.
const PATH_LISTS: usize = 4;

/// The name that stands for the hosts of the usual package registries.
pub const PACKAGES: &str = "packages";

/// The placeholder for the agent's id in a path.
pub const AGENT_ID_PLACEHOLDER: &str = "{agentId}";

/// What the sandbox of an agent allows beyond its workspace and its temporary folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxScope {
    /// Folders and files that may be read. Absolute or below `~/`, with an optional `{agentId}`, without patterns.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub readable_paths: BTreeSet<String>,
    /// Folders that may be written, and read.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub writable_paths: BTreeSet<String>,
    /// Paths that may not be accessed, even below an allowed one.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub denied_paths: BTreeSet<String>,
    /// Protected places of the workspace, such as `.git/hooks`, that may be written nevertheless.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unprotected_paths: BTreeSet<String>,
    /// Hosts that may be connected to: `HOST`, `HOST:PORT`, `*.DOMAIN` or `packages`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub allowed_hosts: BTreeSet<String>,
    /// Hosts that may not be connected to, even if a pattern allows them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub denied_hosts: BTreeSet<String>,
    /// Ports of servers in the sandbox that are published on the loopback address of this machine.
    #[serde(
        skip_serializing_if = "BTreeSet::is_empty",
        deserialize_with = "crate::json::whole_numbers"
    )]
    pub published_ports: BTreeSet<u16>,
    /// Names of secrets that commands may receive.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub allowed_secrets: BTreeSet<String>,
}

impl SandboxScope {
    /// The lists of paths and hosts with the names of their fields.
    fn lists(&self) -> [(&'static str, &BTreeSet<String>); 6] {
        [
            ("readable_paths", &self.readable_paths),
            ("writable_paths", &self.writable_paths),
            ("denied_paths", &self.denied_paths),
            ("unprotected_paths", &self.unprotected_paths),
            ("allowed_hosts", &self.allowed_hosts),
            ("denied_hosts", &self.denied_hosts),
        ]
    }

    /// The scope of a command that may send nothing and change nothing outside the workspace.
    #[must_use]
    pub fn confined(&self) -> Self {
        Self {
            readable_paths: self.readable_paths.clone(),
            denied_paths: self.denied_paths.clone(),
            ..Self::default()
        }
    }

    /// The same for a command that may reach the listed hosts.
    #[must_use]
    pub fn confined_to_hosts(&self) -> Self {
        Self {
            allowed_hosts: self.allowed_hosts.clone(),
            denied_hosts: self.denied_hosts.clone(),
            ..self.confined()
        }
    }

    /// Checks the number and the length of the entries, that hosts are patterns, and that paths can be enforced.
    pub fn check_bounds(&self) -> Result<(), Problem> {
        let bad = |field: &str, message: String, hint: &str| {
            Err(Problem::new(
                "bad_setting",
                format!("sandbox.{field}: {message}"),
                hint,
            ))
        };
        for (field, list) in self.lists() {
            if list.len() > SCOPE_ENTRIES_MAX {
                let message = format!(
                    "has {} entries, at most {SCOPE_ENTRIES_MAX} are allowed",
                    list.len()
                );
                return bad(field, message, "use fewer");
            }
            if let Some(entry) = list.iter().find(|entry| !is_entry(entry)) {
                let shown: String = entry.escape_default().take(80).collect();
                let message = format!("{shown:?} is empty, too long, or contains a control character");
                return bad(field, message, "correct or remove this entry");
            }
        }
        for (field, list) in self.lists().into_iter().take(PATH_LISTS) {
            let check = match field {
                "unprotected_paths" => path::check_inside,
                _ => path::check,
            };
            let wrong = |entry: &String| Some((entry.clone(), check(entry).err()?));
            if let Some((entry, why)) = list.iter().find_map(wrong) {
                let shown = entry.escape_default();
                return bad(field, format!("\"{shown}\" {}", why.message), why.hint);
            }
        }
        if self.allowed_secrets.len() > SCOPE_ENTRIES_MAX {
            let message = format!(
                "has {} entries, at most {SCOPE_ENTRIES_MAX} are allowed",
                self.allowed_secrets.len()
            );
            return bad("allowed_secrets", message, "use fewer");
        }
        if let Some(problem) = self
            .allowed_secrets
            .iter()
            .find_map(|name| check_name(name).err())
        {
            return bad("allowed_secrets", problem.message, &problem.hint);
        }
        if self.published_ports.len() > SCOPE_ENTRIES_MAX || self.published_ports.contains(&0) {
            let message = format!("must be at most {SCOPE_ENTRIES_MAX} ports between 1 and 65535");
            return bad("published_ports", message, "correct the list");
        }
        HostRules::parse(self).map(drop)
    }
}

fn is_entry(entry: &str) -> bool {
    !entry.is_empty() && entry.len() <= ENTRY_BYTES_MAX && !entry.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_whole_numbers_in_every_spelling() {
        let read = |ports: &str| {
            let text = format!("{{\"published_ports\": {ports}}}");
            serde_json::from_str::<SandboxScope>(&text).map(|scope| scope.published_ports)
        };
        assert_eq!(read("[3000.0, 80]").expect("ports"), [80, 3000].into());
        for wrong in ["[80.5]", "[70000]", "[-1]", "[\"80\"]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_empty_entry_or_a_control_character_is_refused() {
        for entry in ["", "a\nb", "a\0"] {
            let scope = SandboxScope {
                allowed_hosts: [entry.to_owned()].into(),
                ..SandboxScope::default()
            };
            let problem = scope.check_bounds().expect_err("a problem");
            assert!(
                problem.message.starts_with("sandbox.allowed_hosts"),
                "{problem:?}"
            );
        }
        let many = SandboxScope {
            readable_paths: (0..=SCOPE_ENTRIES_MAX).map(|n| format!("/{n}")).collect(),
            ..SandboxScope::default()
        };
        assert!(many.check_bounds().is_err());
        assert!(SandboxScope::default().check_bounds().is_ok());
    }
}
