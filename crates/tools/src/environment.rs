//! The environment variables that a command receives. Wakeful's own environment holds provider keys, so
//! only variables named here are passed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent_folder::AgentFolder;
use crate::{git_identity, system_paths};

/// Passed if they are set.
const PASSED: [&str; 7] = ["PATH", "LANG", "USER", "LOGNAME", "SHELL", "TZ", "LANGUAGE"];

/// Prefix of the locale variables, which are all passed.
const PASSED_PREFIX: &str = "LC_";

/// The `PATH` of a command when Wakeful has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// No terminal is attached: no colors, no pager that waits for a key, no password prompt.
const FIXED: [(&str, &str); 4] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The environment of a command whose private folder sets further variables, among them `HOME`.
pub(crate) fn of_command(
    ours: &BTreeMap<String, String>,
    temporary: &Path,
    folder: &AgentFolder,
) -> BTreeMap<String, String> {
    let passes = |name: &str| PASSED.contains(&name) || name.starts_with(PASSED_PREFIX);
    let mut theirs: BTreeMap<String, String> = ours
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    theirs
        .entry("PATH".to_owned())
        .or_insert_with(|| DEFAULT_PATH.to_owned());
    theirs.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    theirs.extend(system_paths::variables(ours));
    theirs.extend(git_identity::variables(ours).iter().cloned());
    theirs.extend(folder.variables());
    theirs.insert("TMPDIR".to_owned(), temporary.to_string_lossy().into_owned());
    theirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_variables_pass() {
        let ours = [
            "PATH",
            "HOME",
            "LC_ALL",
            "LCX",
            "OPENAI_API_KEY",
            "LD_PRELOAD",
            "WAKEFUL_HOME",
            "TERM",
        ];
        let ours = ours.map(|name| (name.to_owned(), format!("our {name}"))).into();
        let mut theirs = of_command(&ours, Path::new("/t"), &AgentFolder::temporary(Path::new("/t")));
        assert_eq!(theirs.remove("HOME").as_deref(), Some("/t"));
        assert_eq!(theirs.remove("CARGO_HOME").as_deref(), Some("/t/.cache/cargo"));
        // Caches, and the name of this machine's user.
        theirs.retain(|name, value| {
            !value.starts_with("/t/.cache") && !name.contains("_AUTHOR_") && !name.contains("_COMMITTER_")
        });
        let expected = [
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "our LC_ALL"),
            ("PAGER", "cat"),
            ("PATH", "our PATH"),
            ("TERM", "dumb"),
            ("TMPDIR", "/t"),
        ];
        assert_eq!(
            theirs,
            expected
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        );
    }

    #[test]
    fn a_command_has_a_path_even_if_wakeful_has_none() {
        let theirs = of_command(
            &BTreeMap::new(),
            Path::new("/t"),
            &AgentFolder::temporary(Path::new("/t")),
        );
        assert_eq!(theirs.get("PATH").map(String::as_str), Some(DEFAULT_PATH));
    }
}
