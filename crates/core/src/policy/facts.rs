//! The facts about a call that policies decide on. Tools extract them from checked arguments; a policy never
//! sees the arguments themselves, so no text in them can change how a policy is parsed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::RuleName;
use crate::failure::truncate_chars;
use crate::id::AgentId;
use crate::key::{Digest, derived_hash};

/// Maximum number of targets of one call. A call with more is refused, because every target is judged.
pub const TARGETS_MAX: usize = 64;

/// Maximum number of characters of a command that policies see. A longer command is never simple.
pub const COMMAND_CHARS_MAX: usize = 4_096;

/// Characters that let a shell run more than one program, or read and write files. A command with one of
/// them is not simple.
const SHELL_SYNTAX: [char; 20] = [
    ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '[', ']', '*', '?', '~', '\\', '"', '\'', '\n',
];

string_enum! {
    /// What a call does with a path.
    #[derive(PartialOrd, Ord)]
    pub enum PathAccess {
        Read = "read",
        Write = "write",
    }
}

string_enum! {
    /// Where a path is, in relation to what the agent may reach.
    #[derive(PartialOrd, Ord)]
    pub enum PathScope {
        /// In the agent's workspace.
        Workspace = "workspace",
        /// In the workspace, at a place that programs outside the sandbox execute or obey later, such as
        /// `.git/hooks`.
        Protected = "protected",
        /// In a temporary folder of the call.
        Temporary = "temporary",
        /// Outside, in a folder that the agent's sandbox policy allows for this access.
        Granted = "granted",
        /// Anywhere else.
        Outside = "outside",
        /// In Wakeful's home, or where credentials are kept, or on the deny list. No policy can permit it.
        Denied = "denied",
    }
}

string_enum! {
    /// How a host relates to the agent's lists of hosts.
    #[derive(PartialOrd, Ord)]
    pub enum HostScope {
        /// On the list of allowed hosts.
        Allowed = "allowed",
        /// On no list.
        Unlisted = "unlisted",
        /// An address of this machine or of a private network that is not named on the list. No policy can
        /// permit it: a person names it on the list.
        Private = "private",
        /// On the list of denied hosts. No policy can permit it.
        Denied = "denied",
    }
}

string_enum! {
    /// Whether the agent may use a secret.
    #[derive(PartialOrd, Ord)]
    pub enum SecretScope {
        /// It is on the agent's list of secrets.
        Allowed = "allowed",
        /// It is not. No policy can permit it.
        Denied = "denied",
    }
}

/// One thing that a call acts on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// A file or folder. The path is absolute, with symlinks resolved as far as it exists.
    Path {
        path: String,
        access: PathAccess,
        scope: PathScope,
    },
    /// A host that the call connects to.
    Host {
        host: String,
        port: u16,
        scope: HostScope,
    },
    /// An agent of which the call starts a run.
    Agent { agent_id: AgentId },
    /// A secret that the call's process receives, by its name.
    Secret { name: String, scope: SecretScope },
}

impl Target {
    /// Whether a safety constraint excludes the target: no permission applies to it.
    #[must_use]
    pub const fn is_unsafe(&self) -> bool {
        match self {
            Self::Path { scope, .. } => matches!(scope, PathScope::Denied),
            Self::Host { scope, .. } => matches!(scope, HostScope::Denied | HostScope::Private),
            Self::Secret { scope, .. } => matches!(scope, SecretScope::Denied),
            Self::Agent { .. } => false,
        }
    }

    /// The rule of the safety constraint that excludes the target.
    #[must_use]
    pub const fn constraint(&self) -> RuleName {
        match self {
            Self::Secret { .. } => RuleName::SecretNotAllowed,
            Self::Path { .. } | Self::Host { .. } | Self::Agent { .. } => RuleName::UnsafeTarget,
        }
    }
}

/// What people read: `write /etc/hosts (outside)`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, access, scope } => write!(f, "{access} {path} ({scope})"),
            Self::Host { host, port, scope } => write!(f, "host {host}:{port} ({scope})"),
            Self::Agent { agent_id } => write!(f, "agent {agent_id}"),
            Self::Secret { name, scope } => write!(f, "secret {name} ({scope})"),
        }
    }
}

/// The hash by which an approval names the targets that the person saw; none for an action without targets.
#[must_use]
pub fn targets_digest(targets: &[Target]) -> Option<Digest> {
    let fields: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    (!fields.is_empty()).then(|| derived_hash("policy.targets", &fields))
}

/// A shell command as a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFact {
    /// The command, at most [`COMMAND_CHARS_MAX`] characters.
    pub text: String,
    /// Its first word; empty if the command is not simple, because then the first word says nothing about
    /// what else runs.
    pub program: String,
    /// Whether it is one program with plain words: no operator, quote, variable or pattern. Only then does a
    /// prefix of the text determine what runs.
    pub is_simple: bool,
}

impl CommandFact {
    /// Describes a command. A line that a shell reads differently than it looks is not simple.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        let is_plain = |c: char| !SHELL_SYNTAX.contains(&c) && !c.is_control();
        // A first word with `=` assigns a variable, and `#` starts a comment.
        let is_simple = text.chars().count() <= COMMAND_CHARS_MAX
            && text.chars().all(is_plain)
            && !first.is_empty()
            && !first.contains('=')
            && !text.contains('#')
            && !text.contains('!');
        let program = if is_simple {
            first.to_owned()
        } else {
            String::new()
        };
        Self {
            text: truncate_chars(text, COMMAND_CHARS_MAX),
            program,
            is_simple,
        }
    }
}

/// The facts about one call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// What the call acts on, at most [`TARGETS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The shell command that the call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandFact>,
    /// Whether the targets are what a command asks for in addition to its workspace. The command itself is judged
    /// too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_requests: bool,
    /// Whether the command may read files that an action with untrusted data wrote, or folders that the operator
    /// does not trust. It is judged like a command of a run with untrusted data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_read_untrusted: bool,
    /// Whether such files are in its workspace, so that the programs of the workspace are untrusted too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_workspace_untrusted: bool,
    /// Whether the settings of the repository that a command works in were not written by an action of a run with
    /// untrusted data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repository_trusted: bool,
    /// The URL that the call reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The free texts and ids in the arguments of a call without other facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_with_shell_syntax_is_not_simple() {
        for text in [
            "npm test; rm -rf .",
            "npm test && curl x",
            "npm test\nrm x",
            "echo $(id)",
            "FOO=1 npm test",
            "cat < /etc/passwd",
            "ls *",
            "",
            "  ",
            "echo 'a'",
            "a#b",
            "a\u{b}b",
        ] {
            let fact = CommandFact::new(text);
            assert!(!fact.is_simple && fact.program.is_empty(), "{text:?}");
        }
        let fact = CommandFact::new(" npm run test --silent ");
        assert_eq!(
            (fact.is_simple, fact.program.as_str(), fact.text.as_str()),
            (true, "npm", "npm run test --silent")
        );
        assert!(!CommandFact::new(&"x".repeat(COMMAND_CHARS_MAX + 1)).is_simple);
    }

    proptest! {
        /// For all texts, a simple command is the same words after a shell has split them.
        #[test]
        fn a_simple_command_has_only_plain_words(text in "\\PC{0,40}") {
            let fact = CommandFact::new(&text);
            if fact.is_simple {
                prop_assert!(fact.text.chars().all(|c| !SHELL_SYNTAX.contains(&c)));
                prop_assert_eq!(fact.text.split_ascii_whitespace().next(), Some(fact.program.as_str()));
            }
        }
    }
}
