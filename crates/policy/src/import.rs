//! Imports lists of permissions as other agent programs write them in their settings: entries such as
//! `Bash(npm run test:*)`, `Read(~/.zshrc)` or `WebFetch(domain:example.com)` in `permissions.allow`, `ask` and
//! `deny`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::document::PolicyProblem;
use crate::names::EntityNames;

/// Maximum number of entries: as many as a folder may have policies.
pub const ENTRIES_MAX: usize = crate::document::POLICIES_MAX;

/// Which list an entry is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportedList {
    Allow,
    Ask,
    Deny,
}

/// The lists of a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionLists {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

/// Where relative patterns begin.
#[derive(Debug, Clone)]
pub struct ImportPaths {
    /// The user's home folder, for `~/`.
    pub user_home: String,
    /// The folder of the project, for `./` and for patterns without a root.
    pub project: String,
    /// The name of the file, for the questions of imported policies.
    pub file: String,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// Cedar text, one policy per entry.
    pub text: String,
    /// How many entries became policies.
    pub count: usize,
    /// The entries that could not be expressed, with the reason.
    pub refused: Vec<(String, String)>,
    /// What imported entries do not cover, for people.
    pub notes: Vec<String>,
}

/// Converts lists to policies over these tools.
pub fn import(
    lists: &PermissionLists,
    paths: &ImportPaths,
    tools: &BTreeSet<String>,
) -> Result<Import, PolicyProblem> {
    let total = lists.allow.len() + lists.ask.len() + lists.deny.len();
    let problem = |message: String| PolicyProblem {
        file: "permissions".to_owned(),
        line: 1,
        message,
    };
    if total > ENTRIES_MAX {
        return Err(problem(format!(
            "has {total} entries, at most {ENTRIES_MAX} are allowed"
        )));
    }
    let importer = Importer {
        names: EntityNames::new().map_err(|error| problem(error.to_string()))?,
        paths,
        tools,
    };
    let mut done = Import::default();
    let (mut restricts_paths, mut restricts_commands) = (false, false);
    for (list, entries) in [
        (ImportedList::Deny, &lists.deny),
        (ImportedList::Ask, &lists.ask),
        (ImportedList::Allow, &lists.allow),
    ] {
        for entry in entries {
            match importer.policies(list, entry) {
                Ok(policies) => {
                    done.text.push_str(&policies);
                    done.count += 1;
                    if list != ImportedList::Allow {
                        restricts_paths |= names_paths(entry);
                        restricts_commands |= entry.starts_with("Bash(");
                    }
                }
                Err(reason) => done.refused.push((entry.clone(), reason)),
            }
        }
    }
    if restricts_paths {
        done.notes.push(PATHS_NOTE.to_owned());
    }
    if restricts_commands {
        done.notes.push(COMMANDS_NOTE.to_owned());
    }
    Ok(done)
}

/// What a policy on paths does not cover.
const PATHS_NOTE: &str = "policies on paths do not apply to commands, so `cat .env` can still read a denied file; \
    `wakeful agent set AGENT --deny-path PATH` hides a path from commands and file tools";

/// What a policy on the beginning of a command does not cover.
const COMMANDS_NOTE: &str = "a policy on a command matches only its beginning, so `true; curl x` is not matched by \
    `Bash(curl:*)`; hosts and paths that the sandbox does not allow stay out of reach";

/// Whether an entry is about paths.
fn names_paths(entry: &str) -> bool {
    let name = entry.split_once('(').map_or(entry, |(name, _)| name);
    !matches!(name, "Bash" | "WebFetch")
}

struct Importer<'a> {
    names: EntityNames,
    paths: &'a ImportPaths,
    tools: &'a BTreeSet<String>,
}

/// The tools of other programs and ours for the same purpose.
const TOOLS: [(&str, &[&str]); 9] = [
    ("Bash", &["ExecCommand"]),
    ("Read", &["ReadFile", "ListFiles", "SearchFiles"]),
    ("Glob", &["ListFiles"]),
    ("LS", &["ListFiles"]),
    ("Grep", &["SearchFiles"]),
    ("Edit", &["EditFile", "WriteFile", "ApplyPatch"]),
    ("MultiEdit", &["EditFile", "ApplyPatch"]),
    ("Write", &["WriteFile"]),
    ("WebFetch", &["WebFetch"]),
];

impl Importer<'_> {
    fn policies(&self, list: ImportedList, entry: &str) -> Result<String, String> {
        let (name, pattern) = match entry.split_once('(') {
            None => (entry, None),
            Some((name, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or("it has no closing parenthesis")?;
                (name, Some(pattern))
            }
        };
        let ours = TOOLS
            .iter()
            .find(|(theirs, _)| *theirs == name)
            .map(|(_, ours)| *ours);
        let ours = ours.ok_or("there is no tool for the same purpose")?;
        let ours: Vec<&str> = ours
            .iter()
            .copied()
            .filter(|tool| self.tools.contains(*tool))
            .collect();
        if ours.is_empty() {
            return Err("there is no tool for the same purpose".to_owned());
        }
        let clause = match (name, pattern) {
            (_, None | Some("" | "*" | "**")) => String::new(),
            ("Bash", Some(pattern)) => self.command(list, pattern)?,
            ("WebFetch", Some(pattern)) => self.host(pattern)?,
            (_, Some(pattern)) => self.path(list, pattern)?,
        };
        let actions: Vec<String> = ours
            .iter()
            .map(|tool| self.names.action(tool).to_string())
            .collect();
        let action = actions.join(", ");
        let shown: String = entry.chars().filter(|c| !c.is_control()).take(150).collect();
        let (head, word) = match list {
            ImportedList::Allow => (String::new(), "permit"),
            ImportedList::Ask => {
                let reason = format!("imported from {}: {shown}", self.paths.file);
                (format!("@ask({})\n", self.names.quoted(&reason)), "forbid")
            }
            ImportedList::Deny => (String::new(), "forbid"),
        };
        let mut text = String::new();
        let _infallible = write!(
            text,
            "@description({})\n{head}{word} (principal, action in [{action}], resource){clause};\n\n",
            self.names.quoted(&shown)
        );
        Ok(text)
    }

    /// A command matches only if it is one simple command: a prefix says nothing about the rest of a line with
    /// operators. What is denied or asks also matches longer lines that begin like it.
    fn command(&self, list: ImportedList, pattern: &str) -> Result<String, String> {
        let (prefix, is_prefix) = match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
            Some(prefix) => (prefix, true),
            None => (pattern, false),
        };
        if prefix.contains('*') {
            return Err("a command may have `*` only at its end".to_owned());
        }
        if prefix.trim().is_empty() {
            return Err("it names no command".to_owned());
        }
        let quoted = self.names.quoted(prefix.trim());
        let mut matches = format!("context.command.text == {quoted}");
        if is_prefix {
            // The prefix ends at a word: `npm test` does not match `npm testing`.
            let like = self.like(&format!("{} ", prefix.trim()));
            matches = format!("({matches} || context.command.text like {like})");
        }
        let simple = if list == ImportedList::Allow {
            " && context.command.is_simple"
        } else {
            ""
        };
        Ok(format!("\nwhen {{ context has command && {matches}{simple} }}"))
    }

    fn host(&self, pattern: &str) -> Result<String, String> {
        let host = pattern
            .strip_prefix("domain:")
            .ok_or("only `domain:HOST` is supported for hosts")?
            .to_ascii_lowercase();
        let (suffix, is_wildcard) = match host.strip_prefix("*.") {
            Some(suffix) => (suffix, true),
            None => (host.as_str(), false),
        };
        if suffix.is_empty()
            || !suffix
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
        {
            return Err("it is not a host name".to_owned());
        }
        let matches = if is_wildcard {
            format!("resource.host like \"*.{suffix}\"")
        } else {
            format!("resource.host == {}", self.names.quoted(suffix))
        };
        Ok(format!("\nwhen {{ resource is Host && {matches} }}"))
    }

    fn path(&self, list: ImportedList, pattern: &str) -> Result<String, String> {
        let ImportPaths {
            user_home, project, ..
        } = self.paths;
        let full = if let Some(rest) = pattern.strip_prefix("//") {
            format!("/{rest}")
        } else if let Some(rest) = pattern.strip_prefix("~/") {
            format!("{user_home}/{rest}")
        } else {
            // A single slash means the folder of the settings, as in these programs.
            let rest = pattern.trim_start_matches("./").trim_start_matches('/');
            format!("{project}/{rest}")
        };
        if full.split('/').any(|part| part == "..") {
            return Err("`..` is not supported in paths".to_owned());
        }
        let (fixed, stars) = match full.split_once('*') {
            None => (full.as_str(), None),
            Some((fixed, rest)) => (fixed, Some(rest)),
        };
        let matches = match stars {
            None => format!("resource.path == {}", self.names.quoted(fixed)),
            // `/**` matches the folder's contents at every depth, as `*` does in Cedar.
            // It also matches the folder itself, which is what a list or a search of the folder names.
            Some("*" | "*/*") if fixed.len() > 1 && fixed.ends_with('/') => format!(
                "(resource.path == {} || resource.path like {})",
                self.names.quoted(fixed.trim_end_matches('/')),
                self.like(fixed)
            ),
            // A single star does not cross folders, which Cedar cannot express: only a denial may be broader.
            Some(_) if list == ImportedList::Allow => {
                return Err("only `/**` at the end is supported in a path that is allowed".to_owned());
            }
            Some(_) => format!("resource.path like {}", self.like(fixed)),
        };
        Ok(format!("\nwhen {{ resource is Path && {matches} }}"))
    }

    /// A pattern that matches everything that begins with a text.
    fn like(&self, prefix: &str) -> String {
        let quoted = self.names.quoted(prefix);
        let open = quoted.strip_suffix('"').unwrap_or(&quoted).replace('*', "\\*");
        format!("{open}*\"")
    }
}
