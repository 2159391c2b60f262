//! The environment variables that a command receives. Wakeful's own environment holds provider keys, so
//! only variables named here are passed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::agent_folder::AgentFolder;
use crate::{git_identity, system_paths};

/// Passed if they are set.
const PASSED: [&str; 7] = ["PATH", "LANG", "USER", "LOGNAME", "SHELL", "TZ", "LANGUAGE"];

/// Certificates of authorities that programs trust in addition to their own, such as that of a company's proxy.
/// Passed if the command can read them; a program refuses to start with a file that it cannot open.
const CERTIFICATES: [&str; 12] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "CARGO_HTTP_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
];

/// Prefix of the locale variables, which are all passed.
const PASSED_PREFIX: &str = "LC_";

/// The `PATH` of a command when Wakeful has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// No terminal is attached: no colors, no pager that waits for a key, no password prompt, no search for a newer
/// package manager.
const FIXED: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("npm_config_update_notifier", "false"),
];

/// The environment of a command whose private folder sets further variables, among them `HOME`, and which can read
/// these folders.
pub(crate) fn of_command(
    ours: &BTreeMap<String, String>,
    temporary: &Path,
    folder: &AgentFolder,
    readable: &[PathBuf],
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
    theirs.extend(certificates(ours, readable));
    theirs.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    theirs.extend(system_paths::variables(ours));
    theirs.extend(git_identity::variables(ours).iter().cloned());
    theirs.extend(folder.variables());
    theirs.insert("TMPDIR".to_owned(), temporary.to_string_lossy().into_owned());
    theirs
}

/// The variables that name readable certificates.
fn certificates(ours: &BTreeMap<String, String>, readable: &[PathBuf]) -> Vec<(String, String)> {
    let is_readable = |value: &String| {
        let found = Path::new(value).canonicalize();
        found.is_ok_and(|path| readable.iter().any(|folder| path.starts_with(folder)))
    };
    let set = CERTIFICATES.iter().filter_map(|name| ours.get_key_value(*name));
    set.filter(|(_, value)| is_readable(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
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
        let mut theirs = of_command(
            &ours,
            Path::new("/t"),
            &AgentFolder::temporary(Path::new("/t")),
            &[],
        );
        assert_eq!(theirs.remove("HOME").as_deref(), Some("/t"));
        assert_eq!(theirs.remove("CARGO_HOME").as_deref(), Some("/t/.cache/cargo"));
        // Caches, and the name of this machine's user.
        theirs.retain(|name, value| {
            !value.starts_with("/t/.cache") && !name.contains("_AUTHOR_") && !name.contains("_COMMITTER_")
        });
        let expected = [
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("npm_config_update_notifier", "false"),
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
            &[],
        );
        assert_eq!(theirs.get("PATH").map(String::as_str), Some(DEFAULT_PATH));
    }

    #[test]
    fn certificates_pass_if_the_command_can_read_them() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        std::fs::create_dir_all(root.join("system")).expect("a folder");
        for file in ["system/ca.pem", "private.pem"] {
            std::fs::write(root.join(file), "x").expect("a file");
        }
        // A link in a readable folder to a file outside it.
        std::os::unix::fs::symlink("../private.pem", root.join("system/link.pem")).expect("a link");
        let path = |name: &str| root.join(name).display().to_string();
        let ours = BTreeMap::from([
            ("SSL_CERT_FILE".to_owned(), path("system/ca.pem")),
            ("NODE_EXTRA_CA_CERTS".to_owned(), path("private.pem")),
            ("PIP_CERT".to_owned(), path("system/link.pem")),
            ("CURL_CA_BUNDLE".to_owned(), path("system/missing.pem")),
            ("OTHER".to_owned(), path("system/ca.pem")),
        ]);
        let passed = certificates(&ours, &[root.join("system")]);
        assert_eq!(passed, [("SSL_CERT_FILE".to_owned(), path("system/ca.pem"))]);
    }
}
