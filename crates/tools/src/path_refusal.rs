//! Explains the errors in a command's output that the sandbox caused. Programs report only that a path is busy,
//! read-only or forbidden, which does not tell a person or a model what to change.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wakeful_core::id::AgentId;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use crate::command_paths::CommandPaths;
use crate::guidance::KINDS;

/// Most explanations of one result. The first errors of a command usually cause the others.
const FINDINGS_MAX: usize = 5;

/// Most protected places that one path may stand for.
const PLACES_MAX: usize = 3;

/// Most lines of each stream that are examined, so that the time for a preview stays below a millisecond.
const LINES_MAX: usize = 4_000;

/// How programs name the errors that the sandbox causes, in lower case, and whether only a write causes them.
const ERRORS: [(&str, bool); 4] = [
    ("read-only file system", true),
    ("resource busy", true),
    ("permission denied", false),
    ("operation not permitted", false),
];

/// What one command could reach, for explanations.
#[derive(Debug, Default)]
pub(crate) struct PathRefusals {
    workspace: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    closed: Vec<PathBuf>,
    /// Protected places, relative to the workspace.
    protected: Vec<PathBuf>,
    agent_id: Option<AgentId>,
    /// Entries of the agent's lists, which a flag replaces.
    allowed_reads: Vec<String>,
    unprotected: Vec<String>,
    is_read_only: bool,
}

impl PathRefusals {
    pub(crate) fn of(paths: &CommandPaths, workspace: &Path, act: &ToolRequest) -> Self {
        let below = |path: &PathBuf| path.strip_prefix(workspace).ok().map(Path::to_owned);
        Self {
            workspace: workspace.to_owned(),
            readable: paths.readable.clone(),
            writable: paths.writable.clone(),
            closed: paths.closed.clone(),
            protected: paths.read_only.iter().filter_map(below).collect(),
            agent_id: Some(act.agent_id.clone()),
            allowed_reads: act.scope.readable_paths.iter().cloned().collect(),
            unprotected: act.scope.unprotected_paths.iter().cloned().collect(),
            is_read_only: act.is_read_only,
        }
    }

    /// The explanations for a result, each once.
    pub(crate) fn findings(&self, done: &ToolOutcome) -> Vec<String> {
        let content: Value = serde_json::from_str(&done.content).unwrap_or_default();
        let mut findings = Vec::new();
        for stream in ["stderr_preview", "stdout_preview"] {
            let text = content.get(stream).and_then(Value::as_str).unwrap_or_default();
            for finding in text.lines().take(LINES_MAX).filter_map(|line| self.of_line(line)) {
                if findings.len() < FINDINGS_MAX && !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        findings
    }

    fn of_line(&self, line: &str) -> Option<String> {
        // Lower case of ASCII only, so that positions are those of the line.
        let lower = line.to_ascii_lowercase();
        let mut found = ERRORS.iter();
        let (at, is_write) = found.find_map(|(text, is_write)| Some((lower.find(text)?, *is_write)))?;
        if is_write && self.is_read_only {
            return Some("this run is read-only: commands can write only to $TMPDIR".to_owned());
        }
        let (before, after) = line.split_at_checked(at)?;
        let before = without_script(before);
        let is_guidance = |word: &str| {
            KINDS
                .iter()
                .find(|kind| Path::new(word).ends_with(kind.file_name()))
        };
        if is_write && let Some(kind) = words(before).chain(words(after)).find_map(is_guidance) {
            return Some(format!(
                "{} instructs agents, so commands cannot change it: use EditFile or WriteFile, which ask a person",
                kind.file_name()
            ));
        }
        // Most programs name the path before the error, interpreters after it. A script's own path comes first.
        let mut words = words(after).chain(words(before).rev());
        let path = words.find(|word| self.is_path(word))?;
        self.of_path(Path::new(path), is_write)
    }

    fn is_path(&self, word: &str) -> bool {
        // Two slashes are what is left of a URL.
        (word.contains('/') && !word.starts_with("//")) || !self.protected_places(Path::new(word)).is_empty()
    }

    fn of_path(&self, path: &Path, is_write: bool) -> Option<String> {
        let places = self.protected_places(path);
        if !places.is_empty() {
            let names: Vec<_> = places.iter().map(|place| place.to_string_lossy()).collect();
            let allow = match names.as_slice() {
                [name] => self.allow("--unprotect", &self.unprotected, name),
                _ => self.allow_with("--unprotect"),
            };
            return Some(format!(
                "{} is protected, because programs outside the sandbox run or obey it: commands cannot change it; {allow}",
                names.join(" or ")
            ));
        }
        let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        let shown = path.display();
        if !path.is_absolute() {
            None
        } else if is_in(&self.closed) {
            Some(format!(
                "{shown} is denied to all commands of this agent: it may hold credentials, or is on its list of denied paths"
            ))
        } else if is_in(&self.writable) {
            None
        } else if is_write {
            Some(format!(
                "{shown} is outside what commands can write: use the workspace, or $TMPDIR for temporary files"
            ))
        } else if is_in(&self.readable) {
            None
        } else {
            let allow = self.allow("--allow-read", &self.allowed_reads, &path.to_string_lossy());
            Some(format!("{shown} is outside what commands can read; {allow}"))
        }
    }

    /// The protected places that a path of a command may be or be in. The command may have named it from any folder.
    fn protected_places(&self, path: &Path) -> Vec<&PathBuf> {
        let places = self.protected.iter();
        if path.is_absolute() {
            let Ok(below) = path.strip_prefix(&self.workspace) else {
                return Vec::new();
            };
            return places.filter(|place| below.starts_with(place)).collect();
        }
        let named = path.strip_prefix(".").unwrap_or(path);
        let prefixes = || named.ancestors().filter(|prefix| !prefix.as_os_str().is_empty());
        places
            .filter(|place| prefixes().any(|prefix| place.ends_with(prefix)))
            .take(PLACES_MAX)
            .collect()
    }

    /// What a person can do. The flag replaces its list, so the command repeats it.
    fn allow(&self, flag: &str, listed: &[String], entry: &str) -> String {
        let entries = listed.iter().map(String::as_str).chain([entry]);
        // The command's output chose the path, and a person may paste the text into a shell.
        if !entries.clone().all(is_plain) {
            return self.allow_with(flag);
        }
        let flags: Vec<String> = entries.map(|entry| format!("{flag} {entry}")).collect();
        format!(
            "a person can allow it: wakeful agent set {} {}",
            self.agent(),
            flags.join(" ")
        )
    }

    fn allow_with(&self, flag: &str) -> String {
        format!(
            "a person can allow it with {flag} of `wakeful agent set {}`",
            self.agent()
        )
    }

    fn agent(&self) -> &str {
        self.agent_id.as_ref().map(AgentId::as_str).unwrap_or_default()
    }
}

/// The parts of a line that may be paths, without quotes and punctuation.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]<>|=".contains(c);
    text.split(ends).filter(|word| !word.is_empty())
}

/// The text without the script and the line number that a shell puts first, as in `/bin/sh: 1: cannot create x`.
fn without_script(text: &str) -> &str {
    let Some((script, rest)) = text.split_once(": ") else {
        return text;
    };
    let Some((line, error)) = rest.split_once(": ") else {
        return text;
    };
    let number = line.strip_prefix("line ").unwrap_or(line);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !script.contains(' ') {
        error
    } else {
        text
    }
}

/// Whether a shell reads the text as one word without a special meaning.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@~".contains(c);
    !text.starts_with('-') && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals() -> PathRefusals {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        PathRefusals {
            workspace: "/project".into(),
            readable: paths(&["/usr", "/etc"]),
            writable: paths(&["/project", "/home/scratch"]),
            closed: paths(&["/home/me/.ssh"]),
            protected: paths(&[".git/config", ".git/hooks", "sub/.vscode"]),
            agent_id: AgentId::parse("main").ok(),
            allowed_reads: vec!["~/notes".to_owned()],
            ..PathRefusals::default()
        }
    }

    fn of_line(line: &str) -> String {
        refusals().of_line(line).unwrap_or_default()
    }

    #[test]
    fn a_write_to_a_protected_place_names_the_place_and_the_command() {
        let expected = |place: &str| {
            format!(
                "{place} is protected, because programs outside the sandbox run or obey it: commands cannot change it; \
                 a person can allow it: wakeful agent set main --unprotect {place}"
            )
        };
        for (line, place) in [
            (
                "error: could not write config file .git/config: Device or resource busy",
                ".git/config",
            ),
            (
                "error: could not write config file /project/.git/config: Device or resource busy",
                ".git/config",
            ),
            (
                "/bin/sh: 1: cannot create .git/hooks/pre-commit: Read-only file system",
                ".git/hooks",
            ),
            (
                "/bin/sh: 1: cannot create hooks: Read-only file system",
                ".git/hooks",
            ),
            (
                "rm: cannot remove ‘./.git/hooks/x’: Read-only file system",
                ".git/hooks",
            ),
            (
                "Error: EROFS: read-only file system, open '/project/sub/.vscode/tasks.json'",
                "sub/.vscode",
            ),
        ] {
            assert_eq!(of_line(line), expected(place), "{line}");
        }
    }

    #[test]
    fn a_guidance_file_is_named_and_not_the_shell() {
        let line = "/bin/sh: 1: cannot create AGENTS.md: Read-only file system";
        let expected = "AGENTS.md instructs agents, so commands cannot change it: use EditFile or WriteFile, which ask a person";
        assert_eq!(of_line(line), expected);
        let line = "/opt/x/run.sh: line 12: /srv/y: Read-only file system";
        assert!(
            of_line(line).starts_with("/srv/y is outside"),
            "{}",
            of_line(line)
        );
    }

    #[test]
    fn a_path_outside_is_explained_by_what_was_refused() {
        let read = "/home/me/notes.txt is outside what commands can read; a person can allow it: \
                    wakeful agent set main --allow-read ~/notes --allow-read /home/me/notes.txt";
        for (line, expected) in [
            ("cat: /home/me/notes.txt: Permission denied", read),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/me/notes.txt'",
                read,
            ),
            (
                "cat: /home/me/.ssh/id: Permission denied",
                "/home/me/.ssh/id is denied to all commands of this agent: it may hold credentials, or is on its list of denied paths",
            ),
            (
                "touch: cannot touch '/tmp/x': Read-only file system",
                "/tmp/x is outside what commands can write: use the workspace, or $TMPDIR for temporary files",
            ),
        ] {
            assert_eq!(of_line(line), expected, "{line}");
        }
    }

    #[test]
    fn ordinary_errors_and_text_are_not_explained() {
        for line in [
            "sh: 1: ./script.sh: Permission denied",
            "/project/script.sh: line 3: /project/x: Permission denied",
            "/project/script.sh: /home/scratch/x: Read-only file system",
            "cat: /etc/secret: Permission denied",
            "fatal: unable to access 'https://example.com/x': Permission denied",
            "permission denied",
            "all of /home/me/notes.txt is fine",
        ] {
            assert_eq!(of_line(line), "", "{line}");
        }
    }

    #[test]
    fn a_path_that_a_shell_reads_otherwise_is_not_part_of_a_command() {
        let said = of_line("cat: /home/me/$(reboot): Permission denied");
        assert!(!said.contains("set main --allow-read"), "{said}");
        let said = of_line("cat: /home/me/a&b: Permission denied");
        assert!(
            said.ends_with("a person can allow it with --allow-read of `wakeful agent set main`"),
            "{said}"
        );
    }

    #[test]
    fn a_name_that_several_places_have_is_not_part_of_a_command() {
        let mut refusals = refusals();
        refusals.protected.push("nested/.git/config".into());
        let said =
            refusals.of_line("error: could not write config file .git/config: Device or resource busy");
        let expected = ".git/config or nested/.git/config is protected, because programs outside the sandbox run or obey \
                        it: commands cannot change it; a person can allow it with --unprotect of `wakeful agent set main`";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn explanations_are_few_and_not_repeated() {
        let lines: String = (0..50)
            .map(|n| format!("cat: /home/me/{}: Permission denied\n", n / 2))
            .collect();
        let content = serde_json::json!({"stderr_preview": lines, "stdout_preview": lines}).to_string();
        let findings = refusals().findings(&crate::outcome::succeeded(content));
        assert_eq!(findings.len(), FINDINGS_MAX);
        assert!(findings[4].starts_with("/home/me/4 "), "{findings:?}");
    }

    #[test]
    fn a_read_only_run_is_named_as_the_reason() {
        let refusals = PathRefusals {
            is_read_only: true,
            ..refusals()
        };
        let said = refusals.of_line("/bin/sh: 1: cannot create x: Read-only file system");
        assert_eq!(
            said.as_deref(),
            Some("this run is read-only: commands can write only to $TMPDIR")
        );
    }
}
